package tam

import (
	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/store"
)

// selected is a company that was decided on, with those of its people who match.
type selected struct {
	row    row
	people []sourcePerson
	rows   []row // of the people
}

// kept tells whether nothing was found against a company yet.
func (s *selected) kept() bool { return s.row.importable() }

// selectRows takes companies through the steps 2 to 6 of the selection, and gives the members that come of them in order.
func (p *preparation) selectRows(ids []uuid.UUID) ([]row, error) {
	companies, err := p.readCompanies(ids)
	if err != nil {
		return nil, err
	}
	chosen := make([]selected, len(companies))
	err = p.store.View(p.org, func(tx *store.Tx) error {
		for i := range companies {
			if chosen[i].row, err = p.company(tx, &companies[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = p.store.View(CatalogOrg, func(tx *store.Tx) error {
		records := tx.Reader(p.People.Name())
		for i := range chosen {
			if !chosen[i].kept() {
				continue
			}
			if chosen[i].people, err = p.readPeople(tx, records, companies[i].ID, p.filter); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = p.store.View(p.org, func(tx *store.Tx) error {
		for i := range chosen {
			if err := p.people(tx, &chosen[i]); err != nil {
				return err
			}
		}
		return nil
	})
	var rows []row
	for i := range chosen {
		p.qualify(&chosen[i])
		rows = append(append(rows, chosen[i].row), chosen[i].rows...)
	}
	return rows, err
}

// company is steps 2 and 3: duplicates, companies that are Accounts already, and suppressed ones.
func (p *preparation) company(tx *store.Tx, c *sourceCompany) (row, error) {
	r := row{source: c.ID, company: c.ID, website: c.Website, data: c.public, companyName: c.Name}
	var err error
	if r.existing, err = isAccount(tx, p.crm, c); err != nil {
		return r, err
	}
	r.duplicate = c.Website != "" && p.websites[c.Website]
	p.websites[c.Website] = true
	switch {
	case r.duplicate:
	case r.existing && p.request.search().ExcludeCompaniesInTAM:
		r.reason = alreadyInTAM
	case p.crm.SuppressedDomain(tx, c.Website):
		r.reason = suppressed
	}
	return r, nil
}

// people is steps 4, of which the filter is done, and 5.
func (p *preparation) people(tx *store.Tx, s *selected) error {
	kept := 0
	for i := range s.people {
		person := &s.people[i]
		r := row{
			person: true, source: person.ID, company: s.row.source, data: person.public, companyName: s.row.companyName,
			employerExisting: s.row.existing,
		}
		var err error
		if r.existing, err = isContact(tx, p.crm, person); err != nil {
			return err
		}
		r.duplicate = p.isRepeated(person)
		if !r.duplicate && p.crm.Suppressed(tx, person.Email) {
			r.reason = suppressed
		}
		if r.importable() {
			kept++
		}
		s.rows = append(s.rows, r)
	}
	s.people = nil
	wanted := p.request.ExcludeCompaniesWithoutTitles || p.request.search().WithTitles
	if wanted && kept == 0 && s.kept() {
		s.row.reason = noMatchingTitles
	}
	return nil
}

// isRepeated tells whether a person shares an email or a LinkedIn URL with a member before that is no duplicate.
func (p *preparation) isRepeated(person *sourcePerson) bool {
	var names []name
	if email := crm.FoldEmail(person.Email); email != "" {
		names = append(names, nameOf('e', email))
	}
	if url := crm.FoldLinkedIn(person.LinkedinURL); url != "" {
		names = append(names, nameOf('l', url))
	}
	for _, n := range names {
		if p.reached[n] {
			return true
		}
	}
	for _, n := range names {
		p.reached[n] = true
	}
	return false
}

// qualify is step 6. There is nobody yet who could be asked, so every company that is to be researched fails to be.
func (p *preparation) qualify(s *selected) {
	if p.named.Signal == nil || !s.kept() {
		return
	}
	p.unasked++
	s.row.failed = providerNotConfigured
	for i := range s.rows {
		if s.rows[i].importable() {
			s.rows[i].failed = providerNotConfigured
		}
	}
}
