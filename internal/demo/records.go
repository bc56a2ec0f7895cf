package demo

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"

	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/internal/service"
	"prospector/internal/shape"
	"prospector/store"
)

// fillOrganization creates a user, tags, custom fields, accounts with their contacts, and deals. All
// of it is fictional, and every domain is reserved for examples.
func fillOrganization(c *creator, s *service.Service, org organization) {
	owner := create(c, s.Identity.Users.Create, map[string]any{
		"email": org.email, "first_name": org.firstName, "last_name": org.lastName, "title": "Account Executive", "access": identity.Admin,
	})
	tag := func(object, name, color string) uuid.UUID {
		return create(c, s.CRM.Tags.Create, map[string]any{"name": name, "color": color, "object_type": object})
	}
	accountTags := []uuid.UUID{
		tag("account", "Key account", "purple"), tag("account", "Partner", "blue"), tag("account", "Churn risk", "red"),
	}
	contactTags := []uuid.UUID{
		tag("contact", "Champion", "green"), tag("contact", "Decision maker", "berry"),
		tag("contact", "Met at a fair", "yellow"),
	}

	field := func(entity, key, label, typ string, more map[string]any) {
		fields := map[string]any{"entity": entity, "key": key, "label": label, "data_type": typ}
		maps.Copy(fields, more)
		create(c, s.CRM.Fields.Create, fields)
	}
	field("accounts", "tier", "Tier", "enum", map[string]any{"allowed_values": tiers})
	field("accounts", productsField, "Products", "multi_select", map[string]any{
		"allowed_values": []string{"HubSpot", wantedProduct, "SAP", "Slack", "Zendesk"},
		"ai":             map[string]any{"question": "Which of the products that we connect to does the company use?", "field": "technologies"},
	})
	field("contacts", "languages", "Languages", "multi_select", map[string]any{"allowed_values": languages})

	for i := org.firstAccount; i < org.firstAccount+org.accounts; i++ {
		d := deal{
			owner: owner, product: pick(products, i),
			company: pick(companyFirst, i) + " " + pick(companySecond, i*7+i/len(companyFirst)),
		}
		domain := strings.ToLower(strings.ReplaceAll(d.company, " ", "-")) + ".example"
		place := towns[i%len(towns)]
		d.account = create(c, s.CRM.Accounts.Create, map[string]any{
			"name": d.company, "website": domain, "industry": pick(industries, i), "employee_count": 12 + i*i*3,
			"annual_revenue": (1 + i%9) * 1_250_000, "founded_year": 1961 + i%60,
			"country": place.country, "location": place.city,
			"description": fmt.Sprintf("%s makes %s for customers in %s.", d.company, d.product, place.country),
			"source":      "demo", "owner_id": owner, "tags": some(accountTags, i), "custom_field_tier": pick(tiers, i/2),
		})
		for j := range 5 {
			n := i*5 + j
			first, last := pick(firstNames, n*3+j), pick(lastNames, n*5+i)
			profile := fmt.Sprintf("https://linkedin.example/in/%s-%s-%d", strings.ToLower(first), strings.ToLower(last), n)
			d.contact = create(c, s.CRM.Contacts.Create, map[string]any{
				"account_id": d.account, "first_name": first, "last_name": last, "title": pick(titles, n),
				"email": strings.ToLower(first+"."+last) + "@" + domain, "linkedin_url": profile,
				"phone_number": fmt.Sprintf("+1 555 01%02d %03d", n%100, n), "location": place.city, "source": "demo",
				"do_not_contact": n%17 == 0 && n > 0, "scoring": map[string]any{"heat_score": pick(heats, n/2)},
				"tags": some(contactTags, n), "custom_field_languages": languages[n%3 : n%3+1+n%2],
			})
			d.person = first + " " + last
		}
		if i%3 == 0 {
			createDeal(c, s, d, i/3)
		}
	}
}

// deal is what is sold, and to whom.
type deal struct {
	owner, account, contact  uuid.UUID
	company, product, person string
}

// createDeal creates an opportunity, with the tasks and meetings that belong to its stage.
func createDeal(c *creator, s *service.Service, d deal, n int) {
	stage := stages[n%len(stages)]
	day := func(days int) time.Time { return c.tx.Now().Truncate(time.Hour).AddDate(0, 0, days) }
	about := func(fields map[string]any) map[string]any {
		maps.Copy(fields, map[string]any{"account_id": d.account, "contact_id": d.contact, "owner_id": d.owner})
		return fields
	}
	closes := day(20 + n)
	if stage.next == "" {
		closes = day(-3 - n)
	}
	create(c, s.CRM.Opportunities.Create, about(map[string]any{
		"name": d.company + ": " + d.product, "stage": stage.name, "amount": 5000 + n*2250, "currency": "EUR",
		"close_date": closes.Format(time.DateOnly),
	}))
	create(c, s.CRM.Meetings.Create, about(map[string]any{
		"title": "First conversation with " + d.person, "starts_at": day(-30 - n), "ends_at": day(-30 - n).Add(time.Hour),
		"status": "completed", "location": "Online",
	}))
	create(c, s.CRM.Tasks.Create, about(map[string]any{
		"title": stage.done + " " + d.person, "type": "email", "status": "completed", "due_at": day(-10),
	}))
	if stage.next == "" {
		return
	}
	create(c, s.CRM.Tasks.Create, about(map[string]any{
		"title": stage.next + " " + d.person, "type": stage.nextType, "due_at": day(n%5 - 1), // some are due today, or were yesterday
	}))
	create(c, s.CRM.Meetings.Create, about(map[string]any{
		"title": "Next steps with " + d.person, "starts_at": day(3 + n%9), "ends_at": day(3 + n%9).Add(time.Hour),
		"location": "Online",
	}))
}

// creator creates records until one fails.
type creator struct {
	tx  *store.Tx
	err error
}

type createFunc[T any] func(*store.Tx, record.Draft[T]) (store.Doc[T], error)

// create creates a record from its fields and returns its id.
func create[T any](c *creator, with createFunc[T], fields map[string]any) uuid.UUID {
	if c.err != nil {
		return uuid.Nil
	}
	v, err := object(fields)
	if err != nil {
		c.err = err
		return uuid.Nil
	}
	return createFrom(c, with, v)
}

func createFrom[T any](c *creator, with createFunc[T], v shape.Value) uuid.UUID {
	doc, err := with(c.tx, record.NewDraft[T](v))
	c.err = err
	return doc.ID
}

// object returns fields as a request body has them.
func object(fields map[string]any) (shape.Value, error) {
	raw, err := json.Marshal(fields)
	if err != nil {
		return shape.Value{}, err
	}
	return shape.ParseObject(raw)
}

func pick(list []string, i int) string { return list[i%len(list)] }

// some returns at most two of the tags.
func some(tags []uuid.UUID, i int) []uuid.UUID {
	return tags[i%3 : min(len(tags), i%3+i%4)]
}
