package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

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
	// DefaultCompanies is the number of companies in the market of the demo.
	DefaultCompanies = 20_000
	peoplePerCompany = 3

	// productsField is the key of the custom field that research answers for each company of a Preview.
	productsField = "products"
	// wantedProduct is the answer that the companies of a Preview must have.
	wantedProduct = "Salesforce"
)

// marketRequest describes the market that the demo is interested in, and the people there.
const marketRequest = `{"request_id": %q,
	"company_filters": {"filtering_rules": {"operator": "and", "filters": [
		{"field": "country", "condition": "is", "value": %q},
		{"field": "employee_count", "condition": "greater_than", "value": 50}]}},
	"contact_filters": {"include_keywords": ["chief", "vp", "head of", "director"], "exclude_keywords": ["assistant"]},
	"exclude_companies_without_titles": true,
	"qualifier_signal_id": %s, "qualifier_rule": %s}`

// The Preview of one country is left for the user to look at and import. That of the other is
// imported.
const (
	previewCountry = "Germany"
	importCountry  = "France"
)

// The request ids of the Previews. They are fixed, so that a second run finds the same Previews.
const (
	previewRequestID = "01a1e000-0000-7000-8000-%012d"
	importRequestID  = "01a1e000-0000-7000-8001-000000000001"
)

// isInMarket reports whether a company matches marketRequest in previewCountry.
func isInMarket(c *catalog.Company) bool {
	return c.Country == previewCountry && c.EmployeeCount.Float > 50 && c.Website != "" && slices.Contains(c.Technologies, wantedProduct)
}

// fillMarket generates a catalog, unless there is one of at least that size. Meanwhile /readyz reports how
// far it is.
func (d *Demo) fillMarket(ctx context.Context) error {
	s, companies := d.service, d.opt.Companies
	existing := 0
	err := s.Store.View(catalog.Org, func(tx *store.Tx) error {
		existing = s.Catalog.Companies.Count(tx)
		return nil
	})
	if err != nil || existing >= companies {
		return err
	}
	fmt.Fprint(d.opt.Out, d.guide.early())
	report := func(done, total int) {
		s.API.SetPreparing(fmt.Sprintf("the demo is generating its market: %d of %d records", done, total))
		d.opt.Progress(done, total)
	}
	report(0, companies*(1+peoplePerCompany))
	market := catalog.Generation{Companies: companies, PeoplePerCompany: peoplePerCompany, Seed: 1}
	return s.Catalog.Generate(ctx, s.Store, market, report)
}

// companiesToKnow returns the first three companies of the market.
func companiesToKnow(s *service.Service) (market []catalog.Company, err error) {
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

// addKnownCompanies creates accounts for the first two companies and suppresses the third, so that a
// Preview shows how it treats them. It leaves alone what exists.
func addKnownCompanies(c *creator, s *service.Service, companies []catalog.Company) {
	for i, company := range companies {
		exists, err := find(c.tx, s.CRM.Accounts, func(a *crm.Account) bool { return a.Website == company.Website })
		if err != nil && c.err == nil {
			c.err = err
		}
		if exists != uuid.Nil {
			continue
		}
		if i < 2 {
			create(c, s.CRM.Accounts.Create, map[string]any{
				"name": company.Name, "website": company.Website, "industry": company.Industry,
				"country": company.Country, "source": "demo",
			})
			continue
		}
		create(c, func(tx *store.Tx, draft record.Draft[crm.Suppression]) (store.Doc[crm.Suppression], error) {
			doc, _, err := s.CRM.Suppress(tx, draft)
			return doc, err
		}, map[string]any{"domain": company.Website, "reason": "asked not to be contacted"})
	}
}

// firstSelected returns the website of the first company that is selected in a Preview.
func firstSelected(s *service.Service, org, preview uuid.UUID) (website string, err error) {
	yes := true
	var page struct {
		Members []struct {
			Data catalog.Company `json:"data"`
		} `json:"members"`
	}
	err = s.Store.View(org, func(tx *store.Tx) error {
		query := tam.PageQuery{Page: 1, Size: filter.DefaultPageSize, Filter: tam.MemberFilter{Kind: "company", Selected: &yes}}
		answer, err := s.TAM.ReadMembers(tx, preview, query)
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

// ensurePreview returns a Preview that was not imported yet.
func ensurePreview(ctx context.Context, s *service.Service, org uuid.UUID) (p tam.Preview, err error) {
	for n := 1; ; n++ {
		p, err = previewMarket(ctx, s, org, fmt.Sprintf(previewRequestID, n), previewCountry)
		if err != nil || !p.OperationID.Valid {
			return p, err
		}
	}
}

// ensureImport imports the Preview of importCountry, unless that was done before.
func ensureImport(ctx context.Context, s *service.Service, org uuid.UUID) error {
	p, err := previewMarket(ctx, s, org, importRequestID, importCountry)
	if err != nil || p.Status != tam.Ready {
		return err
	}
	plan, err := s.TAM.PlanImport(ctx, org, p.PreviewID, tam.ImportMax{})
	if err != nil {
		return err
	}
	err = s.Store.Update(ctx, org, actor, func(tx *store.Tx) error {
		_, _, err := s.TAM.Accept(tx, plan)
		return err
	})
	switch fault.CodeOf(err) {
	case fault.NothingToImport, fault.ImportLimitExceeded: // in a small market, or by the user's own limit
		return nil
	}
	s.Worker.Once(ctx)
	return err
}

// previewMarket returns the Preview with the request id, which it prepares if needed.
func previewMarket(
	ctx context.Context, s *service.Service, org uuid.UUID, requestID, country string,
) (p tam.Preview, err error) {
	var id uuid.UUID
	err = s.Store.Update(ctx, org, actor, func(tx *store.Tx) error {
		signal, rule := "null", "null"
		fields, _, err := s.CRM.ListFields(tx, "accounts")
		for _, f := range fields {
			if f.Key == productsField && f.AI != nil {
				signal, rule = fmt.Sprintf("%q", f.ID), fmt.Sprintf(`{"operator": "contains", "value": %q}`, wantedProduct)
			}
		}
		if err != nil {
			return err
		}
		request, err := shape.ParseObject(fmt.Appendf(nil, marketRequest, requestID, country, signal, rule))
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
