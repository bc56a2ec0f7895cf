package cmd

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"prospector/internal/crm"
	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/store"
)

const (
	demoOrg = "Northwind Demo"
	demoKey = "demo"
)

func demoCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "demo", Short: "Serve a demo organization with fictional records", Args: noArgs,
		Example: "  prospector demo --addr 127.0.0.1:8080",
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := loadConfig(c, func(own *Config) { own.DataDir, own.Log.Level = "./demo-data", "warn" })
			if err != nil {
				return err
			}
			return serve(cfg, prepareDemo)
		},
	}
	c.Flags().String("addr", "", "`address` to listen on (default 127.0.0.1:8080)")
	c.Flags().String("speed", "", "how many `times` as fast campaigns run (default 1); it has no effect until there are campaigns")
	return c
}

// prepareDemo puts the demo organization into the store, unless it is there, makes a fresh key in place of the one
// before, and gives what to tell the user.
func prepareDemo(ctx context.Context, s *Service, url string) (string, error) {
	org, err := demoOrganization(ctx, s)
	if err != nil {
		return "", err
	}
	var key string
	var someone uuid.UUID
	err = s.Store.Update(ctx, org, store.Actor{Operation: "demo"}, func(tx *store.Tx) error {
		if s.Identity.Users.Table.Count(tx) == 0 { // it is new, or was not finished
			if err := fillDemo(tx, s); err != nil {
				return err
			}
		}
		if key, err = freshKey(tx, s); err != nil {
			return err
		}
		someone, err = promising(tx, s)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("demo: %w", err)
	}
	return demoText(url, key, someone), nil
}

// promising is the first by last name whom the list that the demo suggests has; anybody when it has no one any more.
func promising(tx *store.Tx, s *Service) (uuid.UUID, error) {
	var best, anybody crm.Contact
	err := s.CRM.Contacts.Table.Scan(tx, func(d store.Doc[crm.Contact]) (bool, error) {
		c := d.Record
		listed := strings.Contains(string(c.Title), "VP") && c.Scoring.HeatScore == "hot" && !c.DoNotContact
		if listed && (best.ID == uuid.Nil || c.LastName < best.LastName) {
			best = c
		}
		anybody = c
		return true, nil
	})
	if best.ID == uuid.Nil {
		best = anybody
	}
	return best.ID, err
}

func demoText(base, key string, someone uuid.UUID) string {
	auth := fmt.Sprintf("-H 'Authorization: Bearer %s'", key)
	body := "-H 'Content-Type: application/json'"
	return fmt.Sprintf(`
Prospector is running at %s with a demo organization, %q.
API key: %s

Three things to try:

1. Who am I?
   curl -s %s %s/v1/me

2. Who is a VP, is hot, and may be contacted? By last name, with an exact total:
   curl -s %s %s %s/v1/contacts/list -d '{"filters": [{"field": "title", "condition": "contains", "value": "vp"}, {"field": "scoring.heat_score", "condition": "is", "value": "hot"}, {"field": "do_not_contact", "condition": "is", "value": false}], "sort": "last_name", "page_size": 5}'

3. Someone opts out; the list above no longer has them:
   curl -s -X PATCH %s %s %s/v1/contacts/%s -d '{"do_not_contact": true}'

Ctrl-C stops it.
`, base, demoOrg, key, auth, base, auth, body, base, auth, body, base, someone)
}

// demoOrganization finds the demo organization, or makes it.
func demoOrganization(ctx context.Context, s *Service) (uuid.UUID, error) {
	all, err := s.organizations()
	if err != nil {
		return uuid.Nil, err
	}
	for _, o := range all {
		if o.Name == demoOrg {
			return o.ID, nil
		}
	}
	org, err := orgCreate.do(ctx, s, body{Fields: map[string]any{"name": demoOrg}})
	return org.ID, err
}

// freshKey makes a new demo key and deactivates the one before.
func freshKey(tx *store.Tx, s *Service) (string, error) {
	held, err := s.Identity.ListKeys(tx)
	if err != nil {
		return "", err
	}
	for _, k := range held {
		if k.Active && k.Name == demoKey {
			if _, err := s.Identity.DeactivateKey(tx, k.ID); err != nil {
				return "", err
			}
		}
	}
	v, err := body{Fields: map[string]any{"name": demoKey, "access": identity.Admin}}.value()
	if err != nil {
		return "", err
	}
	_, key, err := s.Identity.CreateKey(tx, record.NewDraft[identity.Key](v))
	return key, err
}

// fillDemo makes a user, tags, custom fields, accounts with their contacts, and what is going on with them. Everything in it
// is invented; every domain is reserved for examples.
func fillDemo(tx *store.Tx, s *Service) error {
	d := demoMaker{tx: tx}
	owner := create(&d, s.Identity.Users.Create, map[string]any{
		"email": "ada@northwind.example", "first_name": "Ada", "last_name": "Marsh", "title": "Account Executive",
	})
	tag := func(object, name, color string) uuid.UUID {
		return create(&d, s.CRM.Tags.Create, map[string]any{"name": name, "color": color, "object_type": object})
	}
	accountTags := []uuid.UUID{tag("account", "Key account", "purple"), tag("account", "Partner", "blue"), tag("account", "Churn risk", "red")}
	contactTags := []uuid.UUID{tag("contact", "Champion", "green"), tag("contact", "Decision maker", "berry"), tag("contact", "Met at a fair", "yellow")}

	field := func(entity, key, label, typ string, more map[string]any) {
		fields := map[string]any{"entity": entity, "key": key, "label": label, "data_type": typ}
		maps.Copy(fields, more)
		create(&d, s.CRM.Fields.Create, fields)
	}
	field("accounts", "tier", "Tier", "enum", map[string]any{"allowed_values": demoTiers})
	field("accounts", "ships_worldwide", "Ships worldwide", "boolean", map[string]any{"ai": map[string]any{"question": "Does the company ship worldwide?"}})
	field("contacts", "languages", "Languages", "multi_select", map[string]any{"allowed_values": demoLanguages})

	for i := range 60 {
		name := pick(companyFirst, i) + " " + pick(companySecond, i*7+i/len(companyFirst))
		domain := strings.ToLower(strings.ReplaceAll(name, " ", "-")) + ".example"
		place := demoPlaces[i%len(demoPlaces)]
		account := create(&d, s.CRM.Accounts.Create, map[string]any{
			"name": name, "website": domain, "industry": pick(industries, i), "employee_count": 12 + i*i*3,
			"annual_revenue": (1 + i%9) * 1_250_000, "founded_year": 1961 + i, "country": place.country, "location": place.city,
			"description": fmt.Sprintf("%s makes %s for customers in %s.", name, pick(products, i), place.country),
			"source":      "demo", "owner_id": owner, "tags": some(accountTags, i), "custom_field_tier": pick(demoTiers, i/2),
		})
		var contact uuid.UUID
		for j := range 5 {
			n := i*5 + j
			first, last := pick(firstNames, n*3+j), pick(lastNames, n*5+i)
			contact = create(&d, s.CRM.Contacts.Create, map[string]any{
				"account_id": account, "first_name": first, "last_name": last, "title": pick(titles, n),
				"email":        strings.ToLower(first+"."+last) + "@" + domain,
				"linkedin_url": fmt.Sprintf("https://linkedin.example/in/%s-%s-%d", strings.ToLower(first), strings.ToLower(last), n),
				"phone_number": fmt.Sprintf("+1 555 01%02d %03d", n%100, n), "location": place.city, "source": "demo",
				"do_not_contact": n%17 == 0 && n > 0, "scoring": map[string]any{"heat_score": pick(heats, n/2)}, "tags": some(contactTags, n),
				"custom_field_languages": demoLanguages[n%3 : n%3+1+n%2],
			})
		}
		if i%3 == 0 {
			s.demoDeal(&d, i, owner, account, contact)
		}
	}
	return d.err
}

// demoDeal makes an opportunity with an account, and what is to be done for it.
func (s *Service) demoDeal(d *demoMaker, i int, owner, account, contact uuid.UUID) {
	day := d.tx.Now().AddDate(0, 0, i)
	create(d, s.CRM.Opportunities.Create, map[string]any{
		"name": "Framework contract", "account_id": account, "contact_id": contact, "owner_id": owner, "stage": pick(demoStages, i/3),
		"amount": 5000 + i*750, "currency": "EUR", "close_date": day.Format(time.DateOnly),
	})
	create(d, s.CRM.Tasks.Create, map[string]any{
		"title": "Send the offer", "type": "email", "due_at": day, "account_id": account, "contact_id": contact, "owner_id": owner,
	})
	create(d, s.CRM.Meetings.Create, map[string]any{
		"title": "Product demo", "starts_at": day, "ends_at": day.Add(time.Hour), "location": "Online", "account_id": account, "contact_id": contact, "owner_id": owner,
	})
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
	v, err := body{Fields: fields}.value()
	if err != nil {
		d.err = err
		return uuid.Nil
	}
	doc, err := make(d.tx, record.NewDraft[T](v))
	d.err = err
	return doc.ID
}

func pick(list []string, i int) string { return list[i%len(list)] }

// some gives none, one or two of the tags.
func some(tags []uuid.UUID, i int) []uuid.UUID {
	return tags[i%3 : min(len(tags), i%3+i%4)]
}
