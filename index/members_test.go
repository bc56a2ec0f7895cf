package index

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/filter"
	"prospector/store"
)

// someIDs returns the ids of some records, of none or of all, and some ids that no record has.
func (w *fixture) someIDs() (ids []uuid.UUID) {
	share := pick(w.rand, []int{0, 1, 10, 50, 100})
	for _, id := range w.ids {
		if w.rand.IntN(100) < share {
			ids = append(ids, id)
		}
	}
	for range w.rand.IntN(4) {
		near := uuid.New()
		if len(w.ids) > 0 {
			near = pick(w.rand, w.ids)
			near[15]++
		}
		ids = append(ids, near)
	}
	slices.SortFunc(ids, store.CompareIDs)
	return slices.Compact(ids)
}

// within restricts a query to the ids that members returns.
func within(query Query, members func(*store.Tx) ([]uuid.UUID, error)) Query {
	return func(tx *store.Tx, cs *filter.CustomFields) (*filter.Plan, error) {
		plan, err := query(tx, cs)
		if err != nil {
			return nil, err
		}
		ids, err := members(tx)
		return plan.Only(ids), err
	}
}

// agreeWithin compares a page, a selection and an export of some records with the predicate.
// Nothing may be written concurrently.
func (w *fixture) agreeWithin(k *Kind, body string, ids []uuid.UUID) {
	w.t.Helper()
	query := within(listQuery(k, body), func(*store.Tx) ([]uuid.UUID, error) { return ids, nil })
	var page, want Page
	w.must(w.engine.List(w.t.Context(), w.org, k, query, func(p Page) error { page = p.clone(); return nil }))
	selected, total, err := w.engine.Select(w.t.Context(), w.org, k, query, 40)
	w.must(err)
	var lines []byte
	_, err = w.engine.Export(w.t.Context(), w.org, k, query, func(_ *filter.CustomFields, some []byte) error {
		lines = append(lines, some...)
		return nil
	})
	w.must(err)

	w.must(w.store.View(w.org, func(tx *store.Tx) error {
		plan, err := compileAt(w.t, tx, k, body)
		w.must(err)
		matches, err := matching(tx, plan)
		matches = slices.DeleteFunc(matches, func(m match) bool { return !slices.Contains(ids, m.id) })
		var all []byte
		for i, m := range matches {
			_, public, err := tx.Reader(k.table).Public(m.id)
			w.must(err)
			all = append(append(all, public...), '\n')
			if i/plan.PageSize == plan.Page-1 {
				want.Records = append(want.Records, slices.Clone(public))
			}
		}
		if page.Total != len(matches) || !slices.EqualFunc(page.Records, want.Records, slices.Equal) {
			w.t.Fatalf("%s within %v\nhas %d: %s\nwant %d: %s",
				body, ids, page.Total, page.Records, len(matches), want.Records)
		}
		hasID := func(id uuid.UUID, m match) bool { return id == m.id }
		if total != len(matches) || !slices.EqualFunc(selected, matches[:min(40, len(matches))], hasID) {
			w.t.Fatalf("%s within %v\nselects %d: %v\nwant %d: %v", body, ids, total, selected, len(matches), matches)
		}
		if !bytes.Equal(lines, all) {
			w.t.Fatalf("%s within %v\nexports %s\nwant %s", body, ids, lines, all)
		}
		return err
	}))
}

// A query runs in the transaction of its list: a record that was added to a set in the transaction
// that created it is in a list of the set. An error of the query is returned by List.
func TestQueryRunsInTransactionOfList(t *testing.T) {
	w := newFixture(t, 161)
	sets, owner := store.NewSets("some"), uuid.New()
	query := within(listQuery(things, `{"page_size": 500}`), func(tx *store.Tx) ([]uuid.UUID, error) {
		return sets.All(tx, owner)
	})
	for round := range 40 {
		w.update(func(tx *store.Tx) error {
			for range 3 {
				if err := w.insert(tx); err != nil {
					return err
				}
			}
			_, err := sets.Add(tx, owner, w.ids[len(w.ids)-2:])
			return err
		})
		if round%5 == 0 {
			w.flushAll()
		}
		w.must(w.engine.List(w.t.Context(), w.org, things, query, func(p Page) error {
			if want := 2 * (round + 1); p.Total != want || len(p.Records) != want {
				return fmt.Errorf("after %d rounds the list has %d records", round+1, p.Total)
			}
			return nil
		}))
	}
	broken := errors.New("broken")
	query = within(listQuery(things, `{}`), func(*store.Tx) ([]uuid.UUID, error) { return nil, broken })
	unused := func(Page) error { t.Error("a list whose query fails has a page"); return nil }
	if err := w.engine.List(w.t.Context(), w.org, things, query, unused); !errors.Is(err, broken) {
		t.Errorf("List returns %v", err)
	}
}
