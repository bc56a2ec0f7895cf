package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/record"
	"prospector/internal/service"
	"prospector/internal/shape"
	"prospector/internal/tam"
	"prospector/store"
)

const (
	// DefaultCompanies is how large a market the demo makes up.
	DefaultCompanies = 20_000
	demoPeople       = 3 // of each
	// demoSignal is the key of the field that the companies of a Preview are asked about.
	demoSignal = "hiring"
)

// demoMarket describes a market by what the demo is interested in, and whom there.
const demoMarket = `{"request_id": %q,
	"company_filters": {"filtering_rules": {"operator": "and", "filters": [
		{"field": "country", "condition": "is", "value": %q}, {"field": "employee_count", "condition": "greater_than", "value": 50}]}},
	"contact_filters": {"include_keywords": ["chief", "vp", "head of", "director"], "exclude_keywords": ["assistant"]},
	"exclude_companies_without_titles": true,
	"qualifier_signal_id": %s, "qualifier_rule": %s}`

// The demo has a Preview of one country to look at, and has imported that of another.
const (
	shownCountry    = "Germany"
	importedCountry = "Austria"
)

// isInMarket says the same of one company, as far as its own fields tell.
func isInMarket(c *catalog.Company) bool {
	return c.Country == shownCountry && c.EmployeeCount.Float > 50 && c.Website != "" && strings.Contains(string(c.Description), "It is hiring")
}

// fillMarket makes up a catalogue, unless there is one of the size.
func fillMarket(ctx context.Context, s *service.Service, opt Options) error {
	have := 0
	err := s.Store.View(catalog.Org, func(tx *store.Tx) error {
		have = s.Catalog.Companies.Count(tx)
		return nil
	})
	if err != nil || have >= opt.Companies {
		return err
	}
	return s.Catalog.Generate(ctx, s.Store, catalog.Generation{Companies: opt.Companies, PeoplePerCompany: demoPeople, Seed: 1}, opt.Progress)
}

// knowMarket makes Accounts of the first two companies of the market and suppresses the third, so that a Preview shows what that
// comes to.
func knowMarket(s *service.Service, d *demoMaker, market []catalog.Company) {
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
func firstOfMarket(s *service.Service) (market []catalog.Company, err error) {
	err = s.Store.View(catalog.Org, func(tx *store.Tx) error {
		return s.Catalog.Companies.Scan(tx, func(d store.Doc[catalog.Company]) (bool, error) {
			if isInMarket(&d.Record) {
				market = append(market, d.Record)
			}
			return len(market) < 3, nil
		})
	})
	return market, err
}

// firstSelected is the website of the first company that is selected in a Preview.
func firstSelected(s *service.Service, org, preview uuid.UUID) (website string, err error) {
	yes := true
	var page struct {
		Members []struct {
			Data catalog.Company `json:"data"`
		} `json:"members"`
	}
	err = s.Store.View(org, func(tx *store.Tx) error {
		answer, err := s.TAM.ReadMembers(tx, preview, tam.PageQuery{Page: 1, Size: filter.DefaultPageSize, Filter: tam.MemberFilter{Kind: "company", Selected: &yes}})
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

// showMarket gives a Preview that can be imported: a new one when the one before was.
func showMarket(ctx context.Context, s *service.Service, org uuid.UUID) (p tam.Preview, err error) {
	for n := 1; ; n++ {
		p, err = previewMarket(ctx, s, org, fmt.Sprintf("01a1e000-0000-7000-8000-%012d", n), shownCountry)
		if err != nil || !p.OperationID.Valid {
			return p, err
		}
	}
}

// importMarket has the Preview of a market imported.
func importMarket(ctx context.Context, s *service.Service, org uuid.UUID) error {
	p, err := previewMarket(ctx, s, org, "01a1e000-0000-7000-8001-000000000001", importedCountry)
	if err != nil || p.Status != tam.Ready {
		return err
	}
	err = s.Store.Update(ctx, org, demoActor, func(tx *store.Tx) error {
		_, _, err := s.TAM.Accept(tx, p.PreviewID)
		return err
	})
	if code := fault.CodeOf(err); code == fault.NothingToImport || code == fault.ImportLimitExceeded { // in a small market, or by the user's doing
		return nil
	}
	s.Worker.Once(ctx)
	return err
}

// previewMarket prepares a Preview of a market, unless there is one.
func previewMarket(ctx context.Context, s *service.Service, org uuid.UUID, requestID, country string) (p tam.Preview, err error) {
	var id uuid.UUID
	err = s.Store.Update(ctx, org, demoActor, func(tx *store.Tx) error {
		signal, rule := "null", "null"
		fields, err := s.CRM.ListFields(tx, "accounts")
		for _, f := range fields {
			if f.Key == demoSignal && f.AI != nil {
				signal, rule = fmt.Sprintf("%q", f.ID), `{"value": true}`
			}
		}
		if err != nil {
			return err
		}
		request, err := shape.ParseObject(fmt.Appendf(nil, demoMarket, requestID, country, signal, rule))
		if err != nil {
			return err
		}
		doc, _, err := s.TAM.Prepare(tx, tam.NewDraft(request))
		id = doc.ID
		if fault.CodeOf(err) == fault.RequestIDReused { // the user has changed the field since
			err = nil
		}
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
