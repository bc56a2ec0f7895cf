package tam

import (
	"errors"
	"maps"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// ExcludeBody names members to remove. A company takes its people with it.
type ExcludeBody struct {
	CompanyIDs      []string    `json:"company_ids" rule:"maxlen=1000" doc:"The source_id of company rows."`
	PersonIDs       []string    `json:"person_ids" rule:"maxlen=1000" doc:"The source_id of person rows."`
	MemberIDs       []uuid.UUID `json:"member_ids" rule:"maxlen=1000"`
	CompanyWebsites []string    `json:"company_websites" rule:"maxlen=1000" doc:"Every company row that has one of these domains."`
}

// Exclusion is what an exclusion did.
type Exclusion struct {
	Excluded               ExcludedCounts `json:"excluded"`
	AlreadyExcluded        []string       `json:"already_excluded" doc:"What was named and is not selected any more, or never was."`
	UnknownIDs             []string       `json:"unknown_ids"`
	UnknownWebsites        []string       `json:"unknown_websites"`
	CompaniesWithoutPeople []string       `json:"companies_without_people" doc:"The source ids of companies that stay selected and lost their last selected person."`
}

// ExcludedCounts are the members that an exclusion removed.
type ExcludedCounts struct {
	Companies int `json:"companies"`
	Contacts  int `json:"contacts"`
}

// Exclude removes members from a Preview that is READY. What it does not have, or has not any more, is told and stops nothing.
func (t *TAM) Exclude(tx *store.Tx, id uuid.UUID, body ExcludeBody) (done Exclusion, err error) {
	doc, err := t.Previews.Get(tx, id)
	if err != nil {
		return done, err
	}
	switch p := &doc.Record; {
	case p.Status != Ready:
		return done, fault.New(fault.PreviewNotReady, "the Preview is %s; members can be removed from one that is READY", p.Status)
	case p.OperationID.Valid:
		return done, fault.New(fault.ImportAccepted, "an Import of the Preview was accepted; its members are fixed")
	}
	e := &exclusion{tam: t, tx: tx, doc: doc, sets: t.memberSetsOf(tx, id, doc.Record.kept.Members), removed: map[int]bool{}, done: Exclusion{
		AlreadyExcluded: []string{}, UnknownIDs: []string{}, UnknownWebsites: []string{}, CompaniesWithoutPeople: []string{},
	}}
	if err := e.name(body); err != nil {
		return done, err
	}
	if len(e.removed) > 0 {
		err = e.save()
	}
	return e.done, err
}

// exclusion is one that goes on. Nothing is removed before all is named: what is named twice is removed once.
type exclusion struct {
	tam     *TAM
	tx      *store.Tx
	doc     store.Doc[Preview]
	sets    *memberSets
	removed map[int]bool
	done    Exclusion
}

// name finds out what the body names, and what of it is to be removed.
func (e *exclusion) name(body ExcludeBody) error {
	asIs := func(s string) string { return s }
	for _, list := range []struct {
		given   []string
		kind    byte
		text    func(string) string // empty for what can be no name
		unknown *[]string
	}{
		{body.CompanyIDs, companyName, asIs, &e.done.UnknownIDs},
		{body.PersonIDs, personName, asIs, &e.done.UnknownIDs},
		{body.CompanyWebsites, websiteName, crm.FoldDomain, &e.done.UnknownWebsites},
	} {
		for _, s := range list.given {
			var found []int
			if text := list.text(s); text != "" {
				var err error
				if found, err = e.tam.lookUp(e.tx, e.doc.ID, e.doc.Record.kept.Pages, nameOf(list.kind, text)); err != nil {
					return err
				}
			}
			e.take(s, found, list.unknown)
		}
	}
	for _, id := range body.MemberIDs {
		var found []int
		if n := ordinalOf(e.doc.ID, id); n >= 0 && n < e.sets.members {
			found = []int{n}
		}
		e.take(id.String(), found, &e.done.UnknownIDs)
	}
	return e.sets.err
}

// take notes that members are to be removed, under what was given for them.
func (e *exclusion) take(given string, found []int, unknown *[]string) {
	if len(found) == 0 {
		note(unknown, given)
		return
	}
	chosen := slices.DeleteFunc(found, func(n int) bool { return !e.sets.isSelected(n) })
	if len(chosen) == 0 {
		note(&e.done.AlreadyExcluded, given)
	}
	for _, n := range chosen {
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

func note(list *[]string, s string) {
	if !slices.Contains(*list, s) {
		*list = append(*list, s)
	}
}

// save removes what was named, and counts it.
func (e *exclusion) save() error {
	ordinals := slices.Sorted(maps.Keys(e.removed))
	for _, n := range ordinals {
		e.sets.remove(n)
	}
	y := countsOf(&e.doc.Record)
	var lost []int        // companies that have lost a person
	company, end := -1, 0 // of the last of them
	for _, n := range ordinals {
		existing := e.sets.has(existingMembers, n)
		if !e.sets.has(people, n) {
			y.remove(false, existing, false)
			e.done.Excluded.Companies++
			continue
		}
		if n >= end {
			company = e.sets.companyOf(n)
			end = e.sets.endOf(company)
			lost = append(lost, company)
		}
		y.remove(true, existing, e.sets.has(existingMembers, company))
		e.done.Excluded.Contacts++
	}
	err := e.withoutPeople(lost)
	if err = errors.Join(err, e.sets.err); err != nil {
		return err
	}
	e.sets.save()
	rec := e.doc.Record
	y.put(&rec)
	rec.UpdatedAt = shape.At(e.tx.Now())
	_, err = e.tam.Previews.Update(e.tx, e.doc, rec, []string{"result", "totals", "contacts_by_account"})
	return err
}

// withoutPeople tells which of the companies are selected and have no selected person any more.
func (e *exclusion) withoutPeople(companies []int) error {
	var empty []uint32
	for _, company := range companies {
		left := false
		for person, end := company+1, e.sets.endOf(company); person < end && !left; person++ {
			left = e.sets.isSelected(person)
		}
		if !left && e.sets.isSelected(company) {
			empty = append(empty, uint32(company))
		}
	}
	return e.tam.members.Each(e.tx, e.doc.ID, empty, func(_ uint32, stored []byte) error {
		source, err := sourceOf(stored)
		e.done.CompaniesWithoutPeople = append(e.done.CompaniesWithoutPeople, source)
		return err
	})
}
