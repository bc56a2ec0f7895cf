package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/internal/tam"
	"prospector/store"
)

const (
	// demoCompanies is how large a market the demo makes up.
	demoCompanies = 20_000
	demoPeople    = 3 // of each
	// demoRequest is the request_id of the demo's Preview: a second run finds it.
	demoRequest = "01a1e000-0000-7000-8000-000000000001"
)

// demoMarket is the market that the demo is interested in, and whom there.
const demoMarket = `{"request_id": "` + demoRequest + `",
	"company_filters": {"filtering_rules": {"operator": "and", "filters": [
		{"field": "country", "condition": "is", "value": "Germany"}, {"field": "employee_count", "condition": "greater_than", "value": 50}]}},
	"contact_filters": {"include_keywords": ["chief", "vp", "head of", "director"], "exclude_keywords": ["assistant"]},
	"exclude_companies_without_titles": true}`

// isInMarket says the same of one company.
func isInMarket(c *tam.Company) bool {
	return c.Country == "Germany" && c.EmployeeCount.Float > 50 && c.Website != ""
}

// fillMarket makes up a catalogue, unless there is one of the size.
func (s *Service) fillMarket(ctx context.Context, companies int) error {
	have := 0
	err := s.Store.View(tam.CatalogOrg, func(tx *store.Tx) error {
		have = s.TAM.Companies.Count(tx)
		return nil
	})
	if err != nil || have >= companies {
		return err
	}
	fmt.Fprintf(os.Stderr, "Making up a market of %d companies:\n", companies)
	report, finish := showProgress(os.Stderr, inRecords)
	defer finish()
	return s.TAM.Generate(ctx, s.Store, tam.Generation{Companies: companies, PeoplePerCompany: demoPeople, Seed: 1}, seldom(report))
}

// knowMarket makes Accounts of the first two companies of the market and suppresses the third, so that a Preview shows what that
// comes to.
func (s *Service) knowMarket(d *demoMaker, market []tam.Company) {
	for i, c := range market {
		if i < 2 {
			create(d, s.CRM.Accounts.Create, map[string]any{"name": c.Name, "website": c.Website, "industry": c.Industry, "country": c.Country, "source": "demo"})
			continue
		}
		create(d, func(tx *store.Tx, draft record.Draft[crm.Suppression]) (store.Doc[crm.Suppression], error) {
			doc, _, err := s.CRM.Suppress(tx, draft)
			return doc, err
		}, map[string]any{"domain": c.Website, "reason": "asked to be left alone"})
	}
}

// firstOfMarket gives three companies of the market.
func (s *Service) firstOfMarket() (market []tam.Company, err error) {
	err = s.Store.View(tam.CatalogOrg, func(tx *store.Tx) error {
		return s.TAM.Companies.Scan(tx, func(d store.Doc[tam.Company]) (bool, error) {
			if isInMarket(&d.Record) {
				market = append(market, d.Record)
			}
			return len(market) < 3, nil
		})
	})
	return market, err
}

// firstSelected is the website of the first company that is selected in a Preview.
func (s *Service) firstSelected(org, preview uuid.UUID) (website string, err error) {
	yes := true
	var page struct {
		Members []struct {
			Data tam.Company `json:"data"`
		} `json:"members"`
	}
	err = s.Store.View(org, func(tx *store.Tx) error {
		answer, err := s.TAM.ReadMembers(tx, preview, tam.PageAt{Page: 1, Size: 50, Filter: tam.MemberFilter{Kind: "company", Selected: &yes}})
		if err != nil {
			return err
		}
		return json.Unmarshal(answer.JSON, &page)
	})
	for _, m := range page.Members {
		if website = string(m.Data.Website); website != "" {
			break
		}
	}
	return website, err
}

// previewMarket prepares a Preview of the market, unless there is one.
func (s *Service) previewMarket(ctx context.Context, org uuid.UUID) (p tam.Preview, err error) {
	request, err := shape.ParseObject([]byte(demoMarket))
	if err != nil {
		return p, err
	}
	var id uuid.UUID
	err = s.Store.Update(ctx, org, store.Actor{Operation: "demo"}, func(tx *store.Tx) error {
		doc, _, err := s.TAM.Prepare(tx, tam.NewDraft(request))
		id = doc.ID
		return err
	})
	if err != nil {
		return p, err
	}
	s.Worker.Once(ctx)
	err = s.Store.View(org, func(tx *store.Tx) error {
		doc, err := s.TAM.Previews.Get(tx, id)
		p = doc.Record
		return err
	})
	return p, err
}
