package tam

import (
	"errors"
	"maps"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// ExcludeBody lists members to exclude. Excluding a company also excludes its people.
type ExcludeBody struct {
	CompanyIDs      []string    `json:"company_ids" rule:"maxlen=1000" doc:"The source_id of company rows."`
	PersonIDs       []string    `json:"person_ids" rule:"maxlen=1000" doc:"The source_id of person rows."`
	MemberIDs       []uuid.UUID `json:"member_ids" rule:"maxlen=1000"`
	CompanyWebsites []string    `json:"company_websites" rule:"maxlen=1000" doc:"Every company row that has one of these domains."`
}

// Exclusion is the result of an exclusion.
type Exclusion struct {
	Excluded               ExcludedCounts `json:"excluded"`
	AlreadyExcluded        []string       `json:"already_excluded" doc:"Members of the request that were not selected before."`
	UnknownIDs             []string       `json:"unknown_ids"`
	UnknownWebsites        []string       `json:"unknown_websites"`
	CompaniesWithoutPeople []string       `json:"companies_without_people" doc:"The source ids of companies that are still selected but have no selected person any more."`
}

// ExcludedCounts are the numbers of members that were excluded.
type ExcludedCounts struct {
	Companies int `json:"companies"`
	Contacts  int `json:"contacts"`
}

// Exclude excludes members of a READY Preview. Members that do not exist or are not selected are
// reported in the result, and do not cause an error.
func (t *TAM) Exclude(tx *store.Tx, id uuid.UUID, body ExcludeBody) (done Exclusion, err error) {
	doc, err := t.Previews.Get(tx, id)
	if err != nil {
		return done, err
	}
	switch p := &doc.Record; {
	case p.Status != Ready:
		return done, fault.New(fault.PreviewNotReady, "the Preview is %s; members can only be excluded while it is READY", p.Status)
	case p.OperationID.Valid:
		return done, fault.New(fault.ImportAccepted, "an Import of the Preview was accepted, so its members can no longer change")
	}
	e := &exclusion{
		tam: t, tx: tx, doc: doc, sets: t.memberSetsOf(tx, id, doc.Record.private.Members), removed: map[int]bool{},
		done: Exclusion{
			AlreadyExcluded: []string{}, UnknownIDs: []string{}, UnknownWebsites: []string{}, CompaniesWithoutPeople: []string{},
		},
	}
	if err := e.resolve(body); err != nil {
		return done, err
	}
	if len(e.removed) > 0 {
		err = e.save()
	}
	return e.done, err
}

// exclusion is the state of one call of Exclude. It collects all members before it excludes any, so
// that a member that is listed twice is counted once.
type exclusion struct {
	tam     *TAM
	tx      *store.Tx
	doc     store.Doc[Preview]
	sets    *memberSets
	removed map[int]bool
	done    Exclusion
}

// resolve finds the members that the body lists.
func (e *exclusion) resolve(body ExcludeBody) error {
	unchanged := func(s string) []string { return []string{s} }
	for _, list := range []struct {
		given   []string
		kind    byte
		names   func(string) []string // that the directory may have
		unknown *[]string
	}{
		{body.CompanyIDs, companyName, unchanged, &e.done.UnknownIDs},
		{body.PersonIDs, personName, unchanged, &e.done.UnknownIDs},
		{body.CompanyWebsites, websiteName, e.tam.websiteNames, &e.done.UnknownWebsites},
	} {
		for _, s := range list.given {
			var found []int
			for _, name := range list.names(s) {
				more, err := e.tam.lookUp(e.tx, e.doc.ID, e.doc.Record.private.Pages, hashName(list.kind, name))
				if err != nil {
					return err
				}
				found = append(found, more...)
			}
			e.mark(s, found, list.unknown)
		}
	}
	for _, id := range body.MemberIDs {
		var found []int
		if n := ordinalOf(e.doc.ID, id); n >= 0 && n < e.sets.members {
			found = []int{n}
		}
		e.mark(id.String(), found, &e.done.UnknownIDs)
	}
	return e.sets.err
}

// websiteNames returns the names under which the directory of a Preview may have a website: its
// canonical form and, for Previews of earlier versions, the form in which the catalog stores it.
func (t *TAM) websiteNames(website string) []string {
	stored := t.catalog.StoredWebsite(website)
	switch canonical := address.Website(stored); {
	case stored == "":
		return nil
	case canonical == stored:
		return []string{canonical}
	default:
		return []string{canonical, stored}
	}
}

// mark marks the members that were found under a given id or website for exclusion.
func (e *exclusion) mark(given string, found []int, unknown *[]string) {
	if len(found) == 0 {
		appendUnique(unknown, given)
		return
	}
	selected := slices.DeleteFunc(found, func(n int) bool { return !e.sets.isSelected(n) })
	if len(selected) == 0 {
		appendUnique(&e.done.AlreadyExcluded, given)
	}
	for _, n := range selected {
		e.removed[n] = true
		if !e.sets.has(people, n) {
			for person, end := n+1, e.sets.endOf(n); person < end; person++ {
				if e.sets.isSelected(person) {
					e.removed[person] = true
				}
			}
		}
	}
}

func appendUnique(list *[]string, s string) {
	if !slices.Contains(*list, s) {
		*list = append(*list, s)
	}
}

// save excludes the marked members and updates the counts of the Preview.
func (e *exclusion) save() error {
	ordinals := slices.Sorted(maps.Keys(e.removed))
	for _, n := range ordinals {
		e.sets.remove(n)
	}
	counts := countsOf(&e.doc.Record)
	var affected []int    // companies that have an excluded person
	company, end := -1, 0 // the last of them, and the end of its people
	for _, n := range ordinals {
		existing := e.sets.has(existingMembers, n)
		if !e.sets.has(people, n) {
			counts.remove(false, existing, false)
			e.done.Excluded.Companies++
			continue
		}
		if n >= end {
			company = e.sets.companyOf(n)
			end = e.sets.endOf(company)
			affected = append(affected, company)
		}
		counts.remove(true, existing, e.sets.has(existingMembers, company))
		e.done.Excluded.Contacts++
	}
	err := e.findCompaniesWithoutPeople(affected)
	if err = errors.Join(err, e.sets.err); err != nil {
		return err
	}
	e.sets.save()
	rec := e.doc.Record
	counts.writeTo(&rec)
	rec.UpdatedAt = shape.At(e.tx.Now())
	_, err = e.tam.Previews.Update(e.tx, e.doc, rec, []string{"result", "totals", "contacts_by_account"})
	return err
}

// findCompaniesWithoutPeople reports which of the companies are selected but have no selected
// person any more.
func (e *exclusion) findCompaniesWithoutPeople(companies []int) error {
	var empty []uint32
	for _, company := range companies {
		hasPeople := false
		for person, end := company+1, e.sets.endOf(company); person < end && !hasPeople; person++ {
			hasPeople = e.sets.isSelected(person)
		}
		if !hasPeople && e.sets.isSelected(company) {
			empty = append(empty, uint32(company))
		}
	}
	return e.tam.members.Each(e.tx, e.doc.ID, empty, func(_ uint32, stored []byte) error {
		source, err := sourceIDOf(stored)
		e.done.CompaniesWithoutPeople = append(e.done.CompaniesWithoutPeople, source)
		return err
	})
}
