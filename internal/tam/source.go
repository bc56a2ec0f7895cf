package tam

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// candidates gives the companies that a request is about, in its order: step 1 of the selection.
func (t *TAM) candidates(r *PreviewRequest, named resolved) ([]uuid.UUID, error) {
	ids, _, err := t.Index.Select(CatalogOrg, t.CompanyList, func(cs *index.Customs) (*index.Plan, error) {
		var p fault.Problems
		plan := index.CompileSelection(t.CompanyList, cs, r.selection(named, &p), &p)
		return plan, p.Err()
	}, r.search().MaxCandidates)
	return ids, err
}

// sourceCompany is what the selection needs to know of a company; public is all of it.
type sourceCompany struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Website string `json:"website"`
	public  []byte
}

// sourcePerson is the same of a person.
type sourcePerson struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	Seniority   string `json:"seniority"`
	Country     string `json:"country"`
	Email       string `json:"email"`
	LinkedinURL string `json:"linkedin_url"`
	public      []byte
}

// readCompanies reads companies of the catalogue.
func (t *TAM) readCompanies(ids []uuid.UUID) ([]sourceCompany, error) {
	companies := make([]sourceCompany, len(ids))
	err := t.store.View(CatalogOrg, func(tx *store.Tx) error {
		records := tx.Reader(t.Companies.Name())
		for i, id := range ids {
			_, public, err := records.Public(id)
			if err != nil {
				return err
			}
			if public == nil {
				return fmt.Errorf("company %s of the catalogue is gone", id)
			}
			companies[i].public = bytes.Clone(public)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range companies {
		if err := json.Unmarshal(companies[i].public, &companies[i]); err != nil {
			return nil, err
		}
	}
	return companies, nil
}

// readPeople reads the people of a company that a filter matches, in the order of their ids.
func (t *TAM) readPeople(tx *store.Tx, records *store.Reader, company string, filter *personFilter) ([]sourcePerson, error) {
	ids, err := t.People.IDs(tx, byCompany, []byte(company), membersMost+1)
	if err != nil {
		return nil, err
	}
	var people []sourcePerson
	for _, id := range ids {
		_, public, err := records.Public(id)
		if err != nil {
			return nil, err
		}
		var p sourcePerson
		if err := json.Unmarshal(public, &p); err != nil {
			return nil, err
		}
		if filter.match(&p) {
			p.public = bytes.Clone(public)
			people = append(people, p)
		}
	}
	slices.SortFunc(people, func(a, b sourcePerson) int {
		return cmp.Or(cmp.Compare(shape.Fold(a.ID), shape.Fold(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	return people, nil
}

// distinct tells how many companies are kept when of those that share a website the first stays: step 2 of the selection.
func (t *TAM) distinct(ids []uuid.UUID) (int, error) {
	seen, kept := map[string]bool{}, 0
	for chunk := range slices.Chunk(ids, readMost) {
		companies, err := t.readCompanies(chunk)
		if err != nil {
			return 0, err
		}
		for _, c := range companies {
			if c.Website == "" || !seen[c.Website] {
				seen[c.Website] = true
				kept++
			}
		}
	}
	return kept, nil
}
