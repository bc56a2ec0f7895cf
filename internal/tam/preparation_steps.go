package tam

import (
	"hash/maphash"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/catalog"
	"prospector/internal/research"
	"prospector/store"
)

// The selection has six steps:
//
//  1. The index finds the companies that the request describes (candidateIDs).
//  2. Of the companies that share a website, all but the first are duplicates (checkCompany).
//  3. Existing Accounts, if the request wants so, and suppressed companies are left out (checkCompany).
//  4. The people that match the request are added (loadPeople). Duplicates and suppressed people are left out (checkPerson).
//  5. Companies without people are left out, if the request wants so (checkCandidate).
//  6. Research decides which of the remaining companies pass (askAll, qualify).

// candidate is a company that the selection looks at, with those of its people that match the
// request.
type candidate struct {
	row        row
	people     []sourcePerson // until checkPeople has turned them into rows
	personRows []row
	// found is the result of research. It is nil if no question was asked about the company.
	found *research.Qualification
	err   error // why research could not continue
}

// isKept reports whether no step has left the company out yet.
func (c *candidate) isKept() bool { return c.row.importable() }

// checkCompanies reads companies and takes them through steps 2 and 3.
func (p *preparation) checkCompanies(ids []uuid.UUID) ([]candidate, error) {
	companies, err := p.tam.readCompanies(ids)
	if err != nil {
		return nil, err
	}
	candidates := make([]candidate, len(companies))
	return candidates, p.tam.store.View(p.org, func(tx *store.Tx) error {
		for i := range companies {
			if candidates[i].row, err = p.checkCompany(tx, &companies[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// loadPeople reads the people of the companies that are kept.
func (p *preparation) loadPeople(candidates []candidate) error {
	return p.tam.store.View(catalog.Org, func(tx *store.Tx) (err error) {
		records := tx.Reader(p.tam.catalog.People.Name())
		for i := range candidates {
			c := &candidates[i]
			if !c.isKept() {
				continue
			}
			if c.people, err = p.tam.readPeople(tx, records, c.row.source, p.filter); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkPeople takes companies and their people through steps 4 and 5.
func (p *preparation) checkPeople(candidates []candidate) error {
	return p.tam.store.View(p.org, func(tx *store.Tx) error {
		for i := range candidates {
			if err := p.checkCandidate(tx, &candidates[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkCompany takes one company through steps 2 and 3.
func (p *preparation) checkCompany(tx *store.Tx, c *sourceCompany) (row, error) {
	r := row{source: c.id, company: c.id, website: c.website, data: c.public, companyName: c.name}
	var err error
	if _, r.existing, err = p.tam.accountOf(tx, c.id, c.website); err != nil {
		return r, err
	}
	if key := p.tam.catalog.WebsiteKey(c.website); key != "" {
		website := fingerprintOf(key)
		r.duplicate, p.seenWebsites[website] = p.seenWebsites[website], true
	}
	switch {
	case r.duplicate:
	case r.existing && p.request.search().ExcludeCompaniesInTAM:
		r.reason = alreadyInTAM
	case p.tam.crm.IsCompanySuppressed(tx, c.website):
		r.reason = suppressed
	}
	return r, nil
}

// checkCandidate takes a company and its people through steps 4 and 5.
func (p *preparation) checkCandidate(tx *store.Tx, c *candidate) error {
	kept := 0
	c.personRows = make([]row, 0, len(c.people))
	for i := range c.people {
		r, err := p.checkPerson(tx, c, &c.people[i])
		if err != nil {
			return err
		}
		if r.importable() {
			kept++
		}
		c.personRows = append(c.personRows, r)
	}
	c.people = nil
	needsPeople := p.request.ExcludeCompaniesWithoutTitles || p.request.search().WithTitles
	if needsPeople && kept == 0 && c.isKept() {
		c.row.reason = noMatchingTitles
	}
	return nil
}

func (p *preparation) checkPerson(tx *store.Tx, c *candidate, person *sourcePerson) (row, error) {
	r := row{
		person: true, source: person.id, company: c.row.source, data: person.public, companyName: c.row.companyName,
		employerExisting: c.row.existing,
	}
	var err error
	if _, r.existing, err = p.tam.contactOf(tx, person.id, person.email, person.linkedIn); err != nil {
		return r, err
	}
	r.duplicate = p.isDuplicate(person)
	if !r.duplicate && p.tam.crm.IsSuppressed(tx, person.email) {
		r.reason = suppressed
	}
	return r, nil
}

// isDuplicate reports whether a person shares an email or a LinkedIn URL with an earlier person
// that is not a duplicate.
func (p *preparation) isDuplicate(person *sourcePerson) bool {
	var fingerprints []fingerprint
	if email := address.Key(person.email); email != "" {
		fingerprints = append(fingerprints, fingerprintOf(email))
	}
	if url := address.LinkedIn(person.linkedIn); url != "" {
		fingerprints = append(fingerprints, fingerprintOf("//"+url)) // the slashes distinguish it from an email
	}
	if slices.ContainsFunc(fingerprints, func(f fingerprint) bool { return p.seenPeople[f] }) {
		return true
	}
	for _, f := range fingerprints {
		p.seenPeople[f] = true
	}
	return false
}

// fingerprint is a 128-bit hash of a website, an email or a LinkedIn URL. It saves memory, because
// a preparation may see a million of them.
type fingerprint [2]uint64

// fingerprintSeeds are random, so that nobody can construct collisions.
var fingerprintSeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func fingerprintOf(text string) fingerprint {
	return fingerprint{maphash.String(fingerprintSeeds[0], text), maphash.String(fingerprintSeeds[1], text)}
}

// qualify is step 6, for a company that research was asked about. The verdict also applies to its
// people.
func (p *preparation) qualify(c *candidate) error {
	if c.err != nil || c.found == nil {
		return c.err
	}
	v := &verdict{}
	switch n := &p.outcomes; {
	case !c.found.ReachedProvider():
		n.unasked++
		n.reason = c.found.Reason
	case c.found.Status != "":
		n.failed++
		if c.found.Status == research.StatusFailed {
			n.failures[c.found.Reason]++
		}
	default:
		passed := p.named.Signal.Rule.accepts(c.found.Answer)
		v.qualified = &passed
		if passed {
			n.passed++
		} else {
			n.notMatched++
		}
	}
	var err error
	if v.qualification, err = c.found.Encode(); err != nil {
		return err
	}
	c.row.applyVerdict(v)
	for i := range c.personRows {
		c.personRows[i].applyVerdict(v)
	}
	return nil
}
