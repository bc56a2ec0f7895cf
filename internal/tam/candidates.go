package tam

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/catalog"
	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/shape"
	"prospector/internal/turn"
	"prospector/store"
)

// candidateIDs returns the companies that a request describes, in the requested order, up to
// max_candidates, and the number of all of them. It is step 1 of the selection.
func (t *TAM) candidateIDs(ctx context.Context, r *PreviewRequest, named resolved) (ids []uuid.UUID, total int, err error) {
	var p fault.Problems
	return t.selectCompanies(ctx, r.selection(named, &p), r.search().MaxCandidates)
}

func (t *TAM) selectCompanies(ctx context.Context, s filter.Selection, limit int) ([]uuid.UUID, int, error) {
	compile := func(_ *store.Tx, cs *filter.CustomFields) (*filter.Plan, error) {
		var p fault.Problems
		plan := filter.CompileSelection(t.catalog.CompanyList.Kind, cs, s, &p)
		return plan, p.Err()
	}
	return t.index.Select(ctx, catalog.Org, t.catalog.CompanyList, compile, limit)
}

// maxRuleCounts is the number of rules that are counted for a Preview that matches nothing.
const maxRuleCounts = 50

// ruleCounts returns how many companies each rule of a request leaves, together with all rules before it.
func (t *TAM) ruleCounts(ctx context.Context, r *PreviewRequest, named resolved) ([]RuleCount, error) {
	var p fault.Problems
	all := r.selection(named, &p)
	var so filter.Selection
	counts := []RuleCount{}
	count := func(path string) error {
		_, total, err := t.selectCompanies(ctx, so, 1)
		counts = append(counts, RuleCount{path, total})
		return err
	}
	for _, part := range all.Filters {
		for _, rule := range rulesOf(part) {
			if so.Filters = append(so.Filters, rule); len(counts) == maxRuleCounts {
				return counts, nil
			}
			if err := count(rule.Path); err != nil {
				return nil, err
			}
		}
	}
	for _, words := range all.Search {
		so.Search = append(so.Search, words)
		if err := count(words.Path); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// rulesOf divides a filter into the parts that must all match.
func rulesOf(f filter.FilterAt) (rules []filter.FilterAt) {
	path, items := f.Path, f.Filter.Items
	if f.Filter.Kind == shape.Object {
		if f.Filter.Get("operator").Text == "or" {
			return []filter.FilterAt{f}
		}
		path, items = path+".filters", f.Filter.Get("filters").Items
	}
	for i, item := range items {
		rules = append(rules, filter.FilterAt{Path: fmt.Sprintf("%s[%d]", path, i), Filter: shape.Value{Kind: shape.List, Items: []shape.Value{item}}})
	}
	return rules
}

// sourceCompany is the part of a company that the selection needs. public is the JSON of the whole
// company.
type sourceCompany struct {
	id      string
	name    string
	website string
	public  string
}

// sourcePerson is the part of a person that the selection needs. public is the JSON of the whole
// person.
type sourcePerson struct {
	id        string
	order     string // the folded id, for sorting
	title     string
	seniority string
	country   string
	email     string
	linkedIn  string
	public    string
}

func newSourceCompany(public string) sourceCompany {
	return sourceCompany{
		id: shape.MemberText(public, "id"), name: shape.MemberText(public, "name"),
		website: shape.MemberText(public, "website"), public: public,
	}
}

func newSourcePerson(public string) sourcePerson {
	id := shape.MemberText(public, "id")
	return sourcePerson{
		id: id, order: shape.Fold(id), title: shape.MemberText(public, "title"),
		seniority: shape.MemberText(public, "seniority"), country: shape.MemberText(public, "country"),
		email: shape.MemberText(public, "email"), linkedIn: shape.MemberText(public, "linkedin_url"), public: public,
	}
}

// readCompanies reads companies of the catalog.
func (t *TAM) readCompanies(ids []uuid.UUID) ([]sourceCompany, error) {
	companies := make([]sourceCompany, len(ids))
	err := t.store.View(catalog.Org, func(tx *store.Tx) error {
		records := tx.Reader(t.catalog.Companies.Name())
		for i, id := range ids {
			_, public, err := records.Public(id)
			if err != nil {
				return err
			}
			if public == nil {
				return fmt.Errorf("company %s of the catalog does not exist", id)
			}
			companies[i] = newSourceCompany(string(public))
		}
		return nil
	})
	return companies, err
}

// readPeople reads the people of a company that a filter matches, sorted by id.
func (t *TAM) readPeople(tx *store.Tx, records *store.Reader, company string, filter *personFilter) ([]sourcePerson, error) {
	ids, err := t.catalog.EmployeeIDs(tx, company, maxMembers+1)
	if err != nil {
		return nil, err
	}
	people := make([]sourcePerson, 0, len(ids))
	for _, id := range ids {
		_, public, err := records.Public(id)
		if err != nil {
			return nil, err
		}
		if p := newSourcePerson(string(public)); filter.match(&p) {
			people = append(people, p)
		}
	}
	slices.SortFunc(people, func(a, b sourcePerson) int {
		if a.order != b.order {
			return strings.Compare(a.order, b.order)
		}
		return strings.Compare(a.id, b.id)
	})
	return people, nil
}

// countDistinct returns how many companies remain when companies with the same website count once,
// as in step 2 of the selection.
func (t *TAM) countDistinct(ctx context.Context, ids []uuid.UUID) (int, error) {
	seen, count := map[fingerprint]bool{}, 0
	for chunk := range slices.Chunk(ids, companiesPerRead) {
		turn.Pause(ctx)
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		default:
		}
		companies, err := t.readCompanies(chunk)
		if err != nil {
			return 0, err
		}
		for _, c := range companies {
			key := t.catalog.WebsiteKey(c.website)
			if website := fingerprintOf(key); key == "" || !seen[website] {
				seen[website] = true
				count++
			}
		}
	}
	return count, nil
}
