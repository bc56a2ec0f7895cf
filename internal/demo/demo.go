// Package demo fills a store with fictional data and shows what the service does with it: a market,
// two organizations, and a campaign that runs fast enough to watch. It uses the service as any
// caller of its packages does and must not know the command line.
package demo

import (
	"context"
	"fmt"
	"io"
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

// keyName is the name of the API keys that the demo creates.
const keyName = "demo"

// actor is recorded with every change that the demo makes.
var actor = store.Actor{Operation: "demo"}

// organization is an organization of the demo, with its user and the range of its accounts.
type organization struct {
	name, email, firstName, lastName string
	firstAccount, accounts           int
}

// organizations are two, to show that neither sees the data of the other. The campaign runs in the
// first.
var organizations = [...]organization{
	{"Northwind Demo", "ada@northwind.example", "Ada", "Marsh", 0, 60},
	{"Southgate Demo", "ben@southgate.example", "Ben", "Okoro", 60, 12},
}

// Options configure a demo.
type Options struct {
	URL       string // where the service is served
	Companies int    // the size of the market
	Progress  func(done, total int)
	Out       io.Writer // where Show prints
	Terminal  bool      // whether Out is a terminal
}

// Demo is a prepared demo.
type Demo struct {
	service *service.Service
	opt     Options
	org     uuid.UUID // the first organization
	guide   guide
	show    *campaignShow // nil at the speed of the wall clock
}

// Prepare creates the organizations of the demo unless they exist, and replaces the API keys of the demo
// that was run before.
func Prepare(ctx context.Context, s *service.Service, opt Options) (*Demo, error) {
	if err := checkStore(s); err != nil {
		return nil, err
	}
	d := &Demo{service: s, opt: opt, guide: guide{url: opt.URL, speed: s.Config.Sequences.Speed}}
	for i, org := range organizations {
		id, err := ensureOrganization(ctx, s, org.name)
		if err != nil {
			return nil, fmt.Errorf("demo: %w", err)
		}
		if i == 0 {
			d.org = id
		}
		err = s.Store.Update(ctx, id, actor, func(tx *store.Tx) error {
			if s.Identity.Users.Table.Count(tx) == 0 { // it is new, or was not finished
				c := &creator{tx: tx}
				if fillOrganization(c, s, org); c.err != nil {
					return c.err
				}
			}
			if d.guide.keys[i], err = replaceKey(tx, s); err != nil || i > 0 {
				return err
			}
			if d.guide.link, err = consoleLink(tx, s, org.email); err != nil {
				return err
			}
			d.guide.contact, err = promisingContact(tx, s)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("demo: %w", err)
		}
	}
	s.API.SetPreparing("the demo is being prepared")
	return d, nil
}

// Fill creates the market of the demo and its campaigns unless they exist. If the clock of sequences is
// fast, it also starts a campaign. The service may be serving requests, but its workers must not run.
func (d *Demo) Fill(ctx context.Context) error {
	if err := d.fill(ctx); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	d.service.API.SetPreparing("")
	return nil
}

func (d *Demo) fill(ctx context.Context) error {
	if err := d.fillMarket(ctx); err != nil {
		return err
	}
	known, err := companiesToKnow(d.service)
	if err != nil {
		return err
	}
	err = d.service.Store.Update(ctx, d.org, actor, func(tx *store.Tx) error {
		c := &creator{tx: tx}
		addKnownCompanies(c, d.service, known)
		return c.err
	})
	if err != nil {
		return err
	}
	return d.fillCampaigns(ctx)
}

// fillCampaigns creates what the guide shows of a market and of campaigns.
func (d *Demo) fillCampaigns(ctx context.Context) (err error) {
	s, org := d.service, d.org
	if d.guide.preview, err = ensurePreview(ctx, s, org); err != nil {
		return err
	}
	if d.guide.selectedWebsite, err = firstSelected(s, org, d.guide.preview.PreviewID); err != nil {
		return err
	}
	if err := ensureImport(ctx, s, org); err != nil {
		return err
	}
	if d.guide.draft, err = ensureDraft(ctx, s, org); err != nil || s.Config.Sequences.Speed == 1 {
		return err
	}
	d.show, err = startShow(ctx, s, org, d.opt)
	if d.show != nil {
		d.guide.running = d.show.campaign
	}
	return err
}

// Show prints what the campaign does until it is over, and then how to continue. It returns at
// once; what it starts ends with ctx.
func (d *Demo) Show(ctx context.Context) {
	guide := d.guide.text()
	if d.show == nil {
		fmt.Fprint(d.opt.Out, guide)
		return
	}
	d.show.run(ctx, guide)
}

// checkStore refuses a store that has organizations but none of the demo's.
func checkStore(s *service.Service) error {
	all, err := admin.Organizations(s)
	if err != nil || len(all) == 0 {
		return err
	}
	for _, o := range all {
		for _, demo := range organizations {
			if o.Name == demo.name {
				return nil
			}
		}
	}
	return fmt.Errorf("%s has organizations that are not the demo's; choose another directory with --data-dir",
		s.Config.DataDir)
}

// ensureOrganization returns the organization with the name, which it creates if needed.
func ensureOrganization(ctx context.Context, s *service.Service, name string) (uuid.UUID, error) {
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
	org, err := s.Identity.CreateOrganization(ctx, actor, v)
	return org.ID, err
}

// consoleLink returns a one-time link with which the demo's user signs in to the console.
func consoleLink(tx *store.Tx, s *service.Service, email string) (string, error) {
	user, err := s.Identity.UserWithEmail(tx, email)
	if err != nil {
		return "", err
	}
	link, err := s.Identity.Invite(tx, user.ID)
	return s.API.WelcomeURL(link.Token), err
}

// replaceKey creates a key and deactivates the demo's previous ones.
func replaceKey(tx *store.Tx, s *service.Service) (string, error) {
	existing, err := s.Identity.ListKeys(tx)
	if err != nil {
		return "", err
	}
	for _, k := range existing {
		if k.Active && k.Name == keyName {
			if _, err := s.Identity.DeactivateKey(tx, k.ID); err != nil {
				return "", err
			}
		}
	}
	v, err := object(map[string]any{"name": keyName, "access": identity.Admin})
	if err != nil {
		return "", err
	}
	_, key, err := s.Identity.CreateKey(tx, record.NewDraft[identity.Key](v))
	return key, err
}

// promisingContact returns the first contact, by last name, in the list that the guide suggests. If
// the list is empty, it returns any contact.
func promisingContact(tx *store.Tx, s *service.Service) (crm.Contact, error) {
	var best, other crm.Contact
	err := s.CRM.Contacts.Table.Scan(tx, func(d store.Doc[crm.Contact]) (bool, error) {
		c := d.Record
		listed := strings.Contains(string(c.Title), "VP") && c.Scoring.HeatScore == "hot" && !c.DoNotContact
		if listed && (best.ID == uuid.Nil || c.LastName < best.LastName) {
			best = c
		}
		other = c
		return true, nil
	})
	if best.ID == uuid.Nil {
		best = other
	}
	return best, err
}

// fullName returns the name of a contact.
func fullName(c *crm.Contact) string {
	return strings.TrimSpace(string(c.FirstName + " " + c.LastName))
}

// previewCounts returns how many companies and people of a Preview are selected.
func previewCounts(p *tam.Preview) string {
	if t := p.Totals; t != nil {
		return fmt.Sprintf(" (%d of %d companies, %d of %d people)",
			t.Companies.Eligible, t.Companies.Matched, t.People.Eligible, t.People.Matched)
	}
	return ""
}
