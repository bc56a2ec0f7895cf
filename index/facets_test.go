package index

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"prospector/internal/filter"
	"prospector/internal/shape"
	"prospector/store"
)

// agreeFacets compares the facets of a random field with the predicate, in one transaction.
func (w *fixture) agreeFacets(body string, k known) {
	w.t.Helper()
	key, limit := pick(w.rand, k.fields).Key, 1+w.rand.IntN(8)
	s := w.engine.tableIndex(w.org, things)
	for {
		if err := s.load(); err != nil {
			w.t.Fatal(err)
		}
		var got, want Facets
		err := w.store.View(w.org, func(tx *store.Tx) error {
			plan, err := compileAt(w.t, tx, things, body)
			if err != nil {
				return err
			}
			f := fieldOf(plan.Custom, key)
			if f == nil || f.Long {
				return nil
			}
			err = s.withSnapshot(tx, func(tx *store.Tx, at *snapshot) (err error) {
				got, err = s.facets(w.t.Context(), tx, at, plan, f, limit)
				return err
			})
			if err == nil {
				want, err = referenceFacets(tx, plan, f, limit)
			}
			return err
		})
		if errors.Is(err, errStaleTx) || errors.Is(err, errUnloaded) {
			continue
		}
		if err != nil {
			w.t.Fatalf("%s: %v", body, err)
		}
		if got.Damaged = 0; !reflect.DeepEqual(got, want) {
			w.t.Fatalf("%s of %s\nhas %+v\nwant %+v", key, body, got, want)
		}
		return
	}
}

// fieldOf returns a field of things by its key.
func fieldOf(cs *filter.CustomFields, key string) *filter.Field {
	if f := things.Field(key); f != nil {
		return f
	}
	for i := range cs.ListFields {
		if cs.ListFields[i].Key == key {
			return &cs.ListFields[i]
		}
	}
	return nil
}

// referenceFacets counts by the predicate alone.
func referenceFacets(tx *store.Tx, plan *filter.Plan, f *filter.Field, limit int) (facets Facets, err error) {
	all := *plan
	all.Page, all.PageSize = 1, 1
	counts := map[FacetValue]int{}
	rows, err := matching(tx, &all)
	records := tx.Reader(plan.Kind.Entity)
	for _, m := range rows {
		_, public, err := records.Public(m.id)
		if err != nil {
			return facets, err
		}
		r, err := plan.Kind.Row(plan.Custom, m.id, public)
		if err != nil {
			return facets, err
		}
		facets.Total++
		v, seen := r.Value(f), map[FacetValue]bool{}
		switch {
		case !v.IsSet:
			facets.Empty++
		case f.Type == shape.TypeMulti:
			for _, text := range *v.List {
				seen[FacetValue{Text: text}] = true
			}
		case f.IsNumeric():
			seen[FacetValue{Num: v.Num}] = true
		default:
			seen[FacetValue{Text: v.Text}] = true
		}
		for value := range seen {
			counts[value]++
		}
	}
	for value, n := range counts {
		value.Count = n
		facets.Values = append(facets.Values, value)
	}
	slices.SortFunc(facets.Values, func(a, b FacetValue) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Num, b.Num), cmp.Compare(a.Text, b.Text))
	})
	facets.Distinct = len(facets.Values)
	facets.Values = facets.Values[:min(limit, facets.Distinct)]
	return facets, err
}

// Facets stop when their caller is gone.
func TestFacetsCancelled(t *testing.T) {
	w := newLargeFixture(t, 7)
	w.change(200)
	w.flushAll()
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	query := func(tx *store.Tx, _ *filter.CustomFields) (*filter.Plan, error) {
		return compileAt(t, tx, things, `{}`)
	}
	field := func(*filter.CustomFields) (*filter.Field, error) { return things.Field("name"), nil }
	if _, err := w.engine.Facets(ctx, w.org, things, query, field, 5); !errors.Is(err, gone) {
		t.Errorf("facets of a caller that is gone: %v", err)
	}
	facets, err := w.engine.Facets(t.Context(), w.org, things, query, field, 5)
	if err != nil || facets.Total != len(w.ids) {
		t.Errorf("%d of %d records are counted: %v", facets.Total, len(w.ids), err)
	}
}
