package demo

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"

	"prospector/internal/record"
	"prospector/internal/service"
	"prospector/internal/shape"
	"prospector/store"
)

// fillDemo makes a user, tags, custom fields, accounts with their contacts, and what is going on with them. Everything in it
// is invented; every domain is reserved for examples.
func fillDemo(d *demoMaker, s *service.Service, org demoOrg) {
	owner := create(d, s.Identity.Users.Create, map[string]any{
		"email": org.email, "first_name": org.first, "last_name": org.last, "title": "Account Executive",
	})
	tag := func(object, name, color string) uuid.UUID {
		return create(d, s.CRM.Tags.Create, map[string]any{"name": name, "color": color, "object_type": object})
	}
	accountTags := []uuid.UUID{tag("account", "Key account", "purple"), tag("account", "Partner", "blue"), tag("account", "Churn risk", "red")}
	contactTags := []uuid.UUID{tag("contact", "Champion", "green"), tag("contact", "Decision maker", "berry"), tag("contact", "Met at a fair", "yellow")}

	field := func(entity, key, label, typ string, more map[string]any) {
		fields := map[string]any{"entity": entity, "key": key, "label": label, "data_type": typ}
		maps.Copy(fields, more)
		create(d, s.CRM.Fields.Create, fields)
	}
	field("accounts", "tier", "Tier", "enum", map[string]any{"allowed_values": demoTiers})
	field("accounts", demoSignal, "Hiring", "boolean", map[string]any{"ai": map[string]any{"question": "Is the company hiring?"}})
	field("contacts", "languages", "Languages", "multi_select", map[string]any{"allowed_values": demoLanguages})

	for i := org.from; i < org.from+org.accounts; i++ {
		deal := demoDeal{owner: owner, company: pick(companyFirst, i) + " " + pick(companySecond, i*7+i/len(companyFirst)), product: pick(products, i)}
		domain := strings.ToLower(strings.ReplaceAll(deal.company, " ", "-")) + ".example"
		place := demoPlaces[i%len(demoPlaces)]
		deal.account = create(d, s.CRM.Accounts.Create, map[string]any{
			"name": deal.company, "website": domain, "industry": pick(industries, i), "employee_count": 12 + i*i*3,
			"annual_revenue": (1 + i%9) * 1_250_000, "founded_year": 1961 + i%60, "country": place.country, "location": place.city,
			"description": fmt.Sprintf("%s makes %s for customers in %s.", deal.company, deal.product, place.country),
			"source":      "demo", "owner_id": owner, "tags": some(accountTags, i), "custom_field_tier": pick(demoTiers, i/2),
		})
		for j := range 5 {
			n := i*5 + j
			first, last := pick(firstNames, n*3+j), pick(lastNames, n*5+i)
			deal.contact, deal.person = create(d, s.CRM.Contacts.Create, map[string]any{
				"account_id": deal.account, "first_name": first, "last_name": last, "title": pick(titles, n),
				"email":        strings.ToLower(first+"."+last) + "@" + domain,
				"linkedin_url": fmt.Sprintf("https://linkedin.example/in/%s-%s-%d", strings.ToLower(first), strings.ToLower(last), n),
				"phone_number": fmt.Sprintf("+1 555 01%02d %03d", n%100, n), "location": place.city, "source": "demo",
				"do_not_contact": n%17 == 0 && n > 0, "scoring": map[string]any{"heat_score": pick(heats, n/2)}, "tags": some(contactTags, n),
				"custom_field_languages": demoLanguages[n%3 : n%3+1+n%2],
			}), first+" "+last
		}
		if i%3 == 0 {
			makeDeal(s, d, deal, i/3)
		}
	}
}

// demoDeal is what is being sold to whom.
type demoDeal struct {
	owner, account, contact  uuid.UUID
	company, product, person string
}

// makeDeal makes an opportunity with an account and what belongs to its stage: what was done until then, and what comes next.
func makeDeal(s *service.Service, d *demoMaker, deal demoDeal, n int) {
	stage := demoStages[n%len(demoStages)]
	day := func(days int) time.Time { return d.tx.Now().Truncate(time.Hour).AddDate(0, 0, days) }
	about := func(fields map[string]any) map[string]any {
		maps.Copy(fields, map[string]any{"account_id": deal.account, "contact_id": deal.contact, "owner_id": deal.owner})
		return fields
	}
	closes := day(20 + n)
	if stage.next == "" {
		closes = day(-3 - n)
	}
	create(d, s.CRM.Opportunities.Create, about(map[string]any{
		"name": deal.company + ": " + deal.product, "stage": stage.name, "amount": 5000 + n*2250, "currency": "EUR", "close_date": closes.Format(time.DateOnly),
	}))
	create(d, s.CRM.Meetings.Create, about(map[string]any{
		"title": "First conversation with " + deal.person, "starts_at": day(-30 - n), "ends_at": day(-30 - n).Add(time.Hour), "status": "completed", "location": "Online",
	}))
	create(d, s.CRM.Tasks.Create, about(map[string]any{
		"title": stage.done + " " + deal.person, "type": "email", "status": "completed", "due_at": day(-10),
	}))
	if stage.next == "" {
		return
	}
	create(d, s.CRM.Tasks.Create, about(map[string]any{"title": stage.next + " " + deal.person, "type": stage.by, "due_at": day(1 + n%5)}))
	create(d, s.CRM.Meetings.Create, about(map[string]any{
		"title": "Next steps with " + deal.person, "starts_at": day(3 + n%9), "ends_at": day(3 + n%9).Add(time.Hour), "location": "Online",
	}))
}

// demoMaker creates records until one fails.
type demoMaker struct {
	tx  *store.Tx
	err error
}

func create[T any](d *demoMaker, make func(*store.Tx, record.Draft[T]) (store.Doc[T], error), fields map[string]any) uuid.UUID {
	if d.err != nil {
		return uuid.Nil
	}
	v, err := object(fields)
	if err != nil {
		d.err = err
		return uuid.Nil
	}
	return createFrom(d, make, v)
}

func createFrom[T any](d *demoMaker, make func(*store.Tx, record.Draft[T]) (store.Doc[T], error), v shape.Value) uuid.UUID {
	doc, err := make(d.tx, record.NewDraft[T](v))
	d.err = err
	return doc.ID
}

// object is what the kinds of records make a record from.
func object(fields map[string]any) (shape.Value, error) {
	raw, err := json.Marshal(fields)
	if err != nil {
		return shape.Value{}, err
	}
	return shape.ParseObject(raw)
}

func pick(list []string, i int) string { return list[i%len(list)] }

// some gives none, one or two of the tags.
func some(tags []uuid.UUID, i int) []uuid.UUID {
	return tags[i%3 : min(len(tags), i%3+i%4)]
}
