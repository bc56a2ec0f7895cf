package index

import (
	"cmp"
	"context"
	"maps"
	"math/bits"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/filter"
	"prospector/store"
)

// Facets are the values of a field in the records that a query matches.
type Facets struct {
	Values   []FacetValue // the most frequent first, then by value
	Distinct int          // the number of values, of which Values may have only some
	Total    int          // the number of records that the query matches
	Empty    int          // the number of them without a value
	Damaged  int          // see Page
}

// FacetValue is a value and the number of records that have it. Text is set for texts, enum keys and ids, and
// Num for numbers, booleans and dates. Of a text that is compared in canonical form, Text is that form.
type FacetValue struct {
	Text  string
	Num   float64
	Count int
}

// Facets counts the values of a field in the records that a query matches, and returns the most frequent limit
// of them. It sees what List sees, and stops like List. field returns the field to count, which must not be a
// long text.
func (e *Engine) Facets(
	ctx context.Context, org uuid.UUID, k *Kind, query Query, field func(*filter.CustomFields) (*filter.Field, error), limit int,
) (facets Facets, err error) {
	r := &listRun{tableIndex: e.tableIndex(org, k), patience: listPatience}
	err = r.run(ctx, query, func(tx *store.Tx, plan *filter.Plan) error {
		f, err := field(plan.Custom)
		if err == nil {
			err = r.admit(r.scans)
		}
		if err != nil {
			return err
		}
		return r.withSnapshot(tx, func(tx *store.Tx, at *snapshot) (err error) {
			facets, err = r.facets(ctx, tx, at, plan, f, limit)
			return err
		})
	})
	return facets, err
}

func (s *tableIndex) facets(
	ctx context.Context, tx *store.Tx, at *snapshot, plan *filter.Plan, f *filter.Field, limit int,
) (facets Facets, err error) {
	rows := map[string]int{}
	scanned, err := s.eachRow(ctx, tx, at, plan, func(r *filter.Row) {
		if !plan.Match(r) {
			return
		}
		facets.Total++
		terms := facetTerms(f, r.Value(f))
		if len(terms) == 0 {
			facets.Empty++
		}
		for _, term := range terms {
			rows[term]++
		}
	})
	if err != nil {
		return facets, err
	}
	facets.Damaged = s.damagedIn(tx, at, scanned)
	runs := []*facetRun{rowFacets(rows)}
	err = recoverDamage(func() error {
		segments, err := s.matchSegments(ctx, tx.Reader(s.kind.table), at, plan)
		if err != nil {
			return err
		}
		for i := range segments {
			if err := ended(ctx); err != nil {
				return err
			}
			run, empty := segments[i].facets(f)
			facets.Total += segments[i].count
			facets.Empty += empty
			runs = append(runs, run)
		}
		return nil
	})
	if err == nil {
		err = facets.merge(ctx, f, runs, limit)
	}
	return facets, err
}

// facetTerms returns a term for each distinct value, as it is in a facetColumn.
func facetTerms(f *filter.Field, v *filter.Value) []string {
	switch {
	case !v.IsSet:
		return nil
	case f.IsNumeric():
		return []string{numberTerm(v.Num)}
	case v.List != nil:
		terms := slices.Sorted(slices.Values(*v.List))
		return slices.Compact(terms)
	}
	return []string{v.Text}
}

// facetRun is terms with the number of records that have each. Some counts may be zero.
type facetRun struct {
	terms  []string // ascending
	counts []int
}

func rowFacets(counts map[string]int) *facetRun {
	r := &facetRun{terms: slices.Sorted(maps.Keys(counts))}
	for _, term := range r.terms {
		r.counts = append(r.counts, counts[term])
	}
	return r
}

// facets counts the values of the field in the matches, and the matches without a value.
func (m *segmentMatches) facets(f *filter.Field) (run *facetRun, empty int) {
	c := m.segment.facetColumn(f)
	hidden := make([]bool, len(c.terms)+1) // of codes; deleted values are not swept yet
	deleted := m.segment.tombstones[f.Name]
	for text, by := range deleted {
		if at, found := slices.BinarySearch(c.terms, text); found {
			hidden[at+1] = by == ""
		}
	}
	hidden[0] = true
	counts := make([]int, len(c.terms)+1)
	if c.sets != nil {
		return &facetRun{c.terms, counts[1:]}, m.countSets(c.sets, hidden, counts)
	}
	one := func(doc uint32) {
		if code := c.codes[doc]; hidden[code] {
			empty++
		} else {
			counts[code]++
		}
	}
	if c.starts != nil {
		one = func(doc uint32) {
			has := false
			for _, code := range c.codes[c.starts[doc]:c.starts[doc+1]] {
				if !hidden[code] {
					counts[code]++
					has = true
				}
			}
			if !has {
				empty++
			}
		}
	}
	if m.docs != nil {
		m.docs.each(one)
	} else {
		for doc := range uint32(m.segment.size) {
			one(doc)
		}
	}
	return (&facetRun{c.terms, counts[1:]}).replacing(deleted), empty
}

// replacing returns the run with the values that replace deleted ones.
func (r *facetRun) replacing(deleted map[string]string) *facetRun {
	replaced := slices.ContainsFunc(r.terms, func(term string) bool { return deleted[term] != "" })
	if !replaced {
		return r
	}
	counts := map[string]int{}
	for i, term := range r.terms {
		counts[cmp.Or(deleted[term], term)] += r.counts[i]
	}
	return rowFacets(counts)
}

// countSets counts the matches in each set, and those in none.
func (m *segmentMatches) countSets(sets []docSet, hidden []bool, counts []int) (empty int) {
	in := m.docs
	if in == nil {
		in = fullSet(m.segment.size)
	}
	left := slices.Clone(in)
	for i, set := range sets {
		if hidden[i+1] {
			continue
		}
		n := 0
		for j, word := range set {
			n += bits.OnesCount64(word & in[j])
			left[j] &^= word
		}
		counts[i+1] = n
	}
	return left.count()
}

// merge adds up the runs and keeps the most frequent limit values.
func (f *Facets) merge(ctx context.Context, field *filter.Field, runs []*facetRun, limit int) error {
	type entry struct {
		term  string
		count int
	}
	order := func(a, b entry) int { return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.term, b.term)) }
	top := make([]entry, 0, 2*limit)
	full := false
	cut := func() {
		slices.SortFunc(top, order)
		if len(top) > limit {
			top, full = top[:limit], true
		}
	}
	for runs = withTerms(runs); len(runs) > 0; runs = withTerms(runs) {
		if f.Distinct&0xfff == 0 {
			if err := ended(ctx); err != nil {
				return err
			}
		}
		next := entry{term: runs[0].terms[0]}
		for _, r := range runs[1:] {
			next.term = min(next.term, r.terms[0])
		}
		for _, r := range runs {
			if r.terms[0] == next.term {
				next.count += r.counts[0]
				r.terms, r.counts = r.terms[1:], r.counts[1:]
			}
		}
		if next.count == 0 {
			continue
		}
		f.Distinct++
		if full && order(next, top[limit-1]) > 0 {
			continue
		}
		if top = append(top, next); len(top) == 2*limit {
			cut()
		}
	}
	cut()
	for _, t := range top {
		v := FacetValue{Text: t.term, Count: t.count}
		if field.IsNumeric() {
			v = FacetValue{Num: termNumber(t.term), Count: t.count}
		}
		f.Values = append(f.Values, v)
	}
	return nil
}

// withTerms removes the runs that have no terms left, and the terms at their beginning that no record has.
func withTerms(runs []*facetRun) []*facetRun {
	return slices.DeleteFunc(runs, func(r *facetRun) bool {
		for len(r.counts) > 0 && r.counts[0] == 0 {
			r.terms, r.counts = r.terms[1:], r.counts[1:]
		}
		return len(r.terms) == 0
	})
}
