package index

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"prospector/store"
)

// someIDs are those of some records, of none or of all, and some that no record has.
func (w *world) someIDs() (ids []uuid.UUID) {
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

func within(compile Compiled, ids []uuid.UUID) Compiled {
	return func(cs *Customs) (*Plan, error) {
		plan, err := compile(cs)
		if err != nil {
			return nil, err
		}
		return plan.Within(func(*store.Tx) ([]uuid.UUID, error) { return ids, nil }), nil
	}
}

// agreeWithin holds a page, a selection and an export of some records against the predicate. Nothing may be written meanwhile.
func (w *world) agreeWithin(k *Kind, body string, ids []uuid.UUID) {
	w.t.Helper()
	bare := func(cs *Customs) (*Plan, error) { return compileFor(k, cs, body) }
	compile := within(bare, ids)
	var page, want Page
	w.must(w.engine.List(w.org, k, compile, func(p Page) error { page = p.clone(); return nil }))
	selected, total, err := w.engine.Select(w.org, k, compile, 40)
	w.must(err)
	var lines []byte
	w.must(w.engine.Export(w.org, k, compile, func(_ *Customs, some []byte) error { lines = append(lines, some...); return nil }))

	w.must(w.store.View(w.org, func(tx *store.Tx) error {
		cs, err := k.Customs(tx)
		w.must(err)
		plan, err := bare(cs)
		w.must(err)
		rows, err := matching(tx, plan)
		rows = slices.DeleteFunc(rows, func(r keyed) bool { return !slices.Contains(ids, r.id) })
		var all []byte
		for i, r := range rows {
			_, public, err := tx.Reader(k.table).Public(r.id)
			w.must(err)
			all = append(append(all, public...), '\n')
			if i/plan.PageSize == plan.Page-1 {
				want.Records = append(want.Records, slices.Clone(public))
			}
		}
		if page.Total != len(rows) || !slices.EqualFunc(page.Records, want.Records, slices.Equal) {
			w.t.Fatalf("%s within %v\nhas %d: %s\nnot %d: %s", body, ids, page.Total, page.Records, len(rows), want.Records)
		}
		if total != len(rows) || !slices.EqualFunc(selected, rows[:min(40, len(rows))], func(id uuid.UUID, r keyed) bool { return id == r.id }) {
			w.t.Fatalf("%s within %v\nselects %d: %v\nnot %d: %v", body, ids, total, selected, len(rows), rows)
		}
		if !bytes.Equal(lines, all) {
			w.t.Fatalf("%s within %v\nexports %s\nnot %s", body, ids, lines, all)
		}
		return err
	}))
}

// TestASetIsReadInTheMomentOfItsList: a record that is written with its place in a set is in the list or not, and a set that cannot be read is
// the list's error.
func TestASetIsReadInTheMomentOfItsList(t *testing.T) {
	w := newWorld(t, 161)
	sets, owner := store.NewSets("some"), uuid.New()
	members := func(cs *Customs) (*Plan, error) {
		plan, err := compileWith(cs, `{"page_size": 500}`)
		return plan.Within(func(tx *store.Tx) ([]uuid.UUID, error) { return sets.All(tx, owner) }), err
	}
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
			w.settle()
		}
		w.must(w.engine.List(w.org, things, members, func(p Page) error {
			if want := 2 * (round + 1); p.Total != want || len(p.Records) != want {
				return fmt.Errorf("after %d rounds it has %d", round+1, p.Total)
			}
			return nil
		}))
	}
	broken := errors.New("broken")
	compile := func(cs *Customs) (*Plan, error) {
		plan, err := compileWith(cs, `{}`)
		return plan.Within(func(*store.Tx) ([]uuid.UUID, error) { return nil, broken }), err
	}
	unused := func(Page) error { t.Error("a list whose set cannot be read has a page"); return nil }
	if err := w.engine.List(w.org, things, compile, unused); !errors.Is(err, broken) {
		t.Errorf("it says %v", err)
	}
}
