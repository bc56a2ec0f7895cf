package tam

import (
	"hash/maphash"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/research"
	"prospector/store"
)

// selected is a company that was decided on, with those of its people who match.
type selected struct {
	row    row
	people []sourcePerson
	rows   []row // of the people
	// found is what research found, nil when the company was not asked about; err is why it could not go on.
	found *research.Qualification
	err   error
}

// kept tells whether nothing was found against a company yet.
func (s *selected) kept() bool { return s.row.importable() }

// choose takes companies through the steps 2 and 3 of the selection.
func (p *preparation) choose(ids []uuid.UUID) ([]selected, error) {
	companies, err := p.tam.readCompanies(ids)
	if err != nil {
		return nil, err
	}
	chosen := make([]selected, len(companies))
	return chosen, p.tam.store.View(p.org, func(tx *store.Tx) error {
		for i := range companies {
			if chosen[i].row, err = p.company(tx, &companies[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// meet reads the people of the companies that are kept.
func (p *preparation) meet(chosen []selected) error {
	return p.tam.store.View(catalog.Org, func(tx *store.Tx) (err error) {
		records := tx.Reader(p.tam.catalog.People.Name())
		for i := range chosen {
			if !chosen[i].kept() {
				continue
			}
			if chosen[i].people, err = p.tam.readPeople(tx, records, chosen[i].row.source, p.filter); err != nil {
				return err
			}
		}
		return nil
	})
}

// decide takes companies and their people through the steps 4 and 5.
func (p *preparation) decide(chosen []selected) error {
	return p.tam.store.View(p.org, func(tx *store.Tx) error {
		for i := range chosen {
			if err := p.people(tx, &chosen[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// company is steps 2 and 3: duplicates, companies that are Accounts already, and suppressed ones.
func (p *preparation) company(tx *store.Tx, c *sourceCompany) (row, error) {
	r := row{source: c.id, company: c.id, website: c.website, data: c.public, companyName: c.name}
	var err error
	if _, r.existing, err = p.tam.accountOf(tx, c.id, c.website); err != nil {
		return r, err
	}
	if c.website != "" {
		website := keyOf(c.website)
		r.duplicate, p.websites[website] = p.websites[website], true
	}
	switch {
	case r.duplicate:
	case r.existing && p.request.search().ExcludeCompaniesInTAM:
		r.reason = alreadyInTAM
	case p.tam.crm.IsDomainSuppressed(tx, c.website):
		r.reason = suppressed
	}
	return r, nil
}

// people is steps 4, of which the filter is done, and 5.
func (p *preparation) people(tx *store.Tx, s *selected) error {
	kept := 0
	s.rows = make([]row, 0, len(s.people))
	for i := range s.people {
		person := &s.people[i]
		r := row{
			person: true, source: person.id, company: s.row.source, data: person.public, companyName: s.row.companyName,
			employerExisting: s.row.existing,
		}
		var err error
		if _, r.existing, err = p.tam.contactOf(tx, person.id, person.email, person.linkedIn); err != nil {
			return err
		}
		r.duplicate = p.isRepeated(person)
		if !r.duplicate && p.tam.crm.IsSuppressed(tx, person.email) {
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
	var keys []key
	if email := crm.FoldEmail(person.email); email != "" {
		keys = append(keys, keyOf(email))
	}
	if url := crm.FoldLinkedIn(person.linkedIn); url != "" {
		keys = append(keys, keyOf("//"+url)) // no email has slashes there
	}
	if slices.ContainsFunc(keys, func(k key) bool { return p.reached[k] }) {
		return true
	}
	for _, k := range keys {
		p.reached[k] = true
	}
	return false
}

// key stands for a website, an email or a LinkedIn URL in memory: there may be a million of them.
type key [2]uint64

// seeds make keys that nobody can foresee, so that no two are alike.
var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func keyOf(text string) key {
	return key{maphash.String(seeds[0], text), maphash.String(seeds[1], text)}
}

// qualify is step 6, for a company that was asked about. Its people follow it.
func (p *preparation) qualify(s *selected) error {
	if s.err != nil || s.found == nil {
		return s.err
	}
	v := &verdict{}
	switch n := &p.researched; {
	case !s.found.ReachedProvider():
		n.unasked++
		n.reason = s.found.Reason
	case s.found.Status != "":
		n.failed++
		if s.found.Status == research.StatusFailed {
			n.failures[s.found.Reason]++
		}
	default:
		passed := p.named.Signal.Rule.accepts(s.found.Answer)
		v.qualified = &passed
		if passed {
			n.passed++
		} else {
			n.notMatched++
		}
	}
	var err error
	if v.qualification, err = s.found.Encode(); err != nil {
		return err
	}
	s.row.judge(v)
	for i := range s.rows {
		s.rows[i].judge(v)
	}
	return nil
}
