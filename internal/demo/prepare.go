package demo

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/admin"
	"prospector/internal/crm"
	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/internal/service"
	"prospector/internal/tam"
	"prospector/store"
)

const demoKey = "demo"

var demoActor = store.Actor{Operation: "demo"}

// demoOrgs are two, so that it can be seen that neither sees the other.
var demoOrgs = [...]demoOrg{
	{"Northwind Demo", "ada@northwind.example", "Ada", "Marsh", 0, 60},
	{"Southgate Demo", "ben@southgate.example", "Ben", "Okoro", 60, 12},
}

// demoOrg is an organization of the demo, with its user and which of the companies are its accounts.
type demoOrg struct {
	name, email, first, last string
	from, accounts           int
}

// Options describe a demo.
type Options struct {
	URL       string // where the service is served
	Companies int    // how many companies the market has
	Progress  func(done, total int)
}

// Prepare puts a market and the demo organizations into the store, unless they are there, makes fresh keys in place of the ones
// before, and gives what to tell the user.
func Prepare(ctx context.Context, s *service.Service, opt Options) (string, error) {
	told := demoTold{base: opt.URL}
	if err := isForDemo(s); err != nil {
		return "", err
	}
	if err := fillMarket(ctx, s, opt); err != nil {
		return "", fmt.Errorf("demo: %w", err)
	}
	market, err := firstOfMarket(s)
	if err != nil {
		return "", err
	}
	for i, org := range demoOrgs {
		id, err := demoOrganization(ctx, s, org.name)
		if err != nil {
			return "", err
		}
		err = s.Store.Update(ctx, id, demoActor, func(tx *store.Tx) error {
			if s.Identity.Users.Table.Count(tx) == 0 { // it is new, or was not finished
				d := &demoMaker{tx: tx}
				fillDemo(d, s, org)
				if i == 0 {
					knowMarket(s, d, market)
				}
				if d.err != nil {
					return d.err
				}
			}
			if told.keys[i], err = freshKey(tx, s); err != nil || i > 0 {
				return err
			}
			told.someone, err = promising(tx, s)
			return err
		})
		if err == nil && i == 0 {
			if told.preview, err = showMarket(ctx, s, id); err == nil {
				told.site, err = firstSelected(s, id, told.preview.PreviewID)
			}
			if err == nil {
				err = importMarket(ctx, s, id)
			}
			if err == nil {
				told.campaign, err = planOutreach(ctx, s, id)
			}
			if err == nil && s.Config.Sequences.Speed != 1 {
				told.speed = s.Config.Sequences.Speed
				told.running, err = showCampaign(ctx, s, id)
			}
		}
		if err != nil {
			return "", fmt.Errorf("demo: %w", err)
		}
	}
	return told.text(), nil
}

// isForDemo refuses a store that has organizations of its own and none of the demo's: nobody wants those there.
func isForDemo(s *service.Service) error {
	all, err := admin.Organizations(s)
	if err != nil || len(all) == 0 {
		return err
	}
	for _, o := range all {
		for _, demo := range demoOrgs {
			if o.Name == demo.name {
				return nil
			}
		}
	}
	return fmt.Errorf("%s has organizations that are not the demo's; --data-dir names another directory", s.Config.DataDir)
}

// promising is the first by last name whom the list that the demo suggests has; anybody when it has no one any more.
func promising(tx *store.Tx, s *service.Service) (crm.Contact, error) {
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
	return best, err
}

// demoTold is what the user is told of.
type demoTold struct {
	base     string
	keys     [len(demoOrgs)]string
	someone  crm.Contact
	campaign uuid.UUID
	speed    float64   // 0 when nothing runs
	running  uuid.UUID // a campaign
	preview  tam.Preview
	site     string // of a company in it
}

// counts says how many are selected.
func (d demoTold) counts() string {
	if t := d.preview.Totals; t != nil {
		return fmt.Sprintf(" (%d of %d companies, %d of %d people)", t.Companies.Eligible, t.Companies.Matched, t.People.Eligible, t.People.Matched)
	}
	return ""
}

func (d demoTold) text() string {
	curl := func(key, rest string) string {
		return fmt.Sprintf("curl -s -H 'Authorization: Bearer %s' %s", key, rest)
	}
	at := func(path string) string { return "'" + d.base + path + "'" } // shells make something of a ? and a &
	body := func(path, json string) string {
		return fmt.Sprintf("-H 'Content-Type: application/json' %s -d '%s'", at(path), json)
	}
	contact, preview := "/v1/contacts/"+d.someone.ID.String(), "/v1/tam/preview/"+d.preview.PreviewID.String()
	name := strings.TrimSpace(string(d.someone.FirstName + " " + d.someone.LastName))
	return fmt.Sprintf(`
Prospector is running at %s with two demo organizations, %q and %q.
The API is described at %s/docs.

API key: %s
Key of %s: %s

Things to try:

1. Who is a VP, is hot, and may be contacted? By last name, with an exact total:
   %s

2. A campaign is drafted for them. What would %s get, when, and why then? Nothing is sent; {} in place of the
   contact_ids shows it for all:
   %s
   %s opts out; the list no longer has that contact, the same simulation says that nothing would go there, and the history who did it:
   %s
   %s

3. A Preview of a market is ready: German companies with more than 50 employees that are hiring, and who decides there. Each
   company was asked about: its "qualification" is the answer with its evidence, here from the catalogue itself. The Preview says who is
   in, who is out and why%s; its members can be filtered. The other organization cannot see it: it is not found.
   %s
   %s
   %s
   Take one out, and the counts follow; import the rest, as was done with the Austrian ones, and see a moment later what became of both:
   %s
   %s
   %s
%s
Ctrl-C stops it.
`, d.base, demoOrgs[0].name, demoOrgs[1].name, d.base, d.keys[0], demoOrgs[1].name, d.keys[1],
		curl(d.keys[0], body("/v1/contacts/list", `{"filters": [{"field": "title", "condition": "contains", "value": "vp"}, {"field": "scoring.heat_score", "condition": "is", "value": "hot"}, {"field": "do_not_contact", "condition": "is", "value": false}], "sort": "last_name", "page_size": 5}`)),
		name, curl(d.keys[0], body("/v1/campaigns/"+d.campaign.String()+"/simulate", `{"contact_ids": ["`+d.someone.ID.String()+`"]}`)),
		name, curl(d.keys[0], "-X PATCH "+body(contact, `{"do_not_contact": true}`)), curl(d.keys[0], at(contact+"/history")),
		d.counts(), curl(d.keys[0], at(preview+"?page_size=5")), curl(d.keys[0], at(preview+"/members?selected=true&page_size=5")), curl(d.keys[1], at(preview)),
		curl(d.keys[0], body(preview+"/exclude", `{"company_websites": ["`+d.site+`"]}`)), curl(d.keys[0], "-X POST "+at(preview+"/import")),
		curl(d.keys[0], body("/v1/tam/imports/list", `{}`)), d.runs(curl, body))
}

// runs tells of the campaign that runs, if one does.
func (d demoTold) runs(curl, body func(string, string) string) string {
	if d.speed == 0 {
		return ""
	}
	return fmt.Sprintf(`
4. The campaign %q runs at %v times the speed of the clock. Its webhook tells below what happens. Where is each contact, and why?
   What was written to them? Nothing leaves this machine:
   %s
   %s
`, runningCampaign, d.speed, curl(d.keys[0], body("/v1/campaigns/"+d.running.String()+"/sequences/list", `{"page_size": 2}`)),
		curl(d.keys[0], body("/v1/outbox/list", `{"page_size": 2}`)))
}

// demoOrganization finds a demo organization, or makes it.
func demoOrganization(ctx context.Context, s *service.Service, name string) (uuid.UUID, error) {
	all, err := admin.Organizations(s)
	if err != nil {
		return uuid.Nil, err
	}
	for _, o := range all {
		if o.Name == name {
			return o.ID, nil
		}
	}
	v, err := object(map[string]any{"name": name})
	if err != nil {
		return uuid.Nil, err
	}
	org, err := s.Identity.CreateOrganization(ctx, demoActor, v)
	return org.ID, err
}

// freshKey makes a new demo key and deactivates the one before.
func freshKey(tx *store.Tx, s *service.Service) (string, error) {
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
	v, err := object(map[string]any{"name": demoKey, "access": identity.Admin})
	if err != nil {
		return "", err
	}
	_, key, err := s.Identity.CreateKey(tx, record.NewDraft[identity.Key](v))
	return key, err
}
