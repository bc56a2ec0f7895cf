package index

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/shape"
	"prospector/store"
)

// code is a record whose id is a text. The store has another id for it.
type code struct {
	ID   string       `json:"id"`
	Name shape.Text   `json:"name" rule:"searched"`
	Size shape.Number `json:"size"`
}

var (
	codeTable = store.NewTable[code]("codes", nil, nil)
	codes     = NewKind("codes", "name", codeTable, nil)
)

// filterOf returns a filter as it is in a decoded body.
func filterOf(v any) shape.Value {
	b, err := json.Marshal(map[string]any{"filter": v})
	must(err)
	o, err := shape.ParseObject(b)
	must(err)
	return o.Get("filter")
}

// randomSelection returns a selection with up to two filters, words and sort keys.
func randomSelection(r *rand.Rand, k known) filter.Selection {
	var s filter.Selection
	for range r.IntN(3) {
		s.Filters = append(s.Filters, filter.FilterAt{Path: "f", Filter: filterOf([]any{randomFilter(r, k, 2)})})
	}
	for range r.IntN(3) {
		s.Search = append(s.Search, filter.SearchAt{Text: piece(r, pick(r, pick(r, [][]string{nastyTexts, topicTexts, topicTexts})))})
	}
	for range r.IntN(3) {
		if f := pick(r, k.fields); f.Sortable {
			s.Sort = append(s.Sort, filter.SortAt{Path: "s", Field: f.Key, Desc: r.IntN(2) == 0})
		}
	}
	return s
}

func compileSelection(cs *filter.CustomFields, s filter.Selection) (*filter.Plan, error) {
	var p fault.Problems
	return filter.CompileSelection(things.Kind, cs, s, &p), p.Err()
}

func selectionQuery(s filter.Selection) Query {
	return func(_ *store.Tx, cs *filter.CustomFields) (*filter.Plan, error) { return compileSelection(cs, s) }
}

// agreeSelection compares a selection with the predicate. Nothing may be written concurrently.
func (w *fixture) agreeSelection(s filter.Selection, limit int) {
	w.t.Helper()
	ids, total, err := w.engine.Select(w.t.Context(), w.org, things, selectionQuery(s), limit)
	w.must(err)
	w.must(w.store.View(w.org, func(tx *store.Tx) error {
		cs, err := thingCustoms(tx)
		w.must(err)
		plan, err := compileSelection(cs, s)
		w.must(err)
		want, err := matching(tx, plan)
		hasID := func(id uuid.UUID, m match) bool { return id == m.id }
		if total != len(want) || !slices.EqualFunc(ids, want[:min(limit, len(want))], hasID) {
			w.t.Fatalf("%+v\nhas %d: %v\nwant %d: %v", s, total, ids, len(want), want)
		}
		return err
	}))
}

// Select sees every committed write, whether it is in the index or not, and returns at most limit
// ids.
func TestSelectSeesCommittedWrites(t *testing.T) {
	w := newFixture(t, 5)
	selected := func(most, wantIDs, wantTotal int) {
		t.Helper()
		ids, total, err := w.engine.Select(w.t.Context(), w.org, things, selectionQuery(filter.Selection{Search: []filter.SearchAt{{Text: "okapi"}}}), most)
		if err != nil || len(ids) != wantIDs || total != wantTotal {
			t.Errorf("%d ids of %d, want %d of %d: %v", len(ids), total, wantIDs, wantTotal, err)
		}
	}
	selected(10, 0, 0)
	for i := range 60 {
		w.insertMany(1, thing{Topics: []string{"The Okapi"}, Name: "x"})
		w.insertMany(1, thing{Mail: "okapi"})
		selected(20, min(20, i+1), i+1)
		selected(0, 0, i+1)
		if i%9 == 0 {
			w.flushAll()
		}
	}
	w.check()
}

// If the id is a text, ties are ordered by it, ignoring case, in the direction of the last key, and
// then by the id of the store.
func TestTextIDTies(t *testing.T) {
	w := newFixture(t, 6)
	letters := []string{"a", "A", "b", "B", "c", "É", "é", "10", "9"}
	type stored struct {
		code
		id uuid.UUID
	}
	var all []stored
	for round := range 12 {
		w.update(func(tx *store.Tx) error {
			for range 25 {
				s := stored{id: tx.NewID()}
				s.ID = pick(w.rand, letters) + pick(w.rand, letters)
				s.Name = shape.Text(pick(w.rand, []string{"", "x", "X", "y"}))
				if w.rand.IntN(2) == 0 {
					s.Size = shape.Number{Valid: true, Float: float64(w.rand.IntN(3))}
				}
				all = append(all, s)
				if _, err := codeTable.Insert(tx, s.id, s.code); err != nil {
					return err
				}
			}
			return nil
		})
		if round%3 == 1 {
			w.must(w.engine.tableIndex(w.org, codes).flushAll())
		}
		k := known{fields: codes.Fields, records: len(all)}
		for range 20 {
			w.agreeOn(codes, randomBody(w.rand, k))
		}
		for _, desc := range []bool{false, true} {
			slices.SortFunc(all, func(a, b stored) int {
				nameA, nameB := filter.ValueOf(a.Name), filter.ValueOf(b.Name)
				byID := cmp.Or(
					strings.Compare(shape.Fold(a.ID), shape.Fold(b.ID)), bytes.Compare(a.id[:], b.id[:]),
				)
				if desc {
					byID = -byID
				}
				return cmp.Or(filter.CompareValues(&nameA, &nameB, desc), byID)
			})
			var want []string
			for _, s := range all {
				want = append(want, s.ID)
			}
			var got []string
			body := fmt.Sprintf(`{"sort": "%sname", "page_size": 500}`, map[bool]string{true: "-"}[desc])
			w.must(w.engine.List(w.t.Context(), w.org, codes, listQuery(codes, body), func(p Page) error {
				for _, r := range p.Records {
					var c code
					w.must(json.Unmarshal(r, &c))
					got = append(got, c.ID)
				}
				return nil
			}))
			if !slices.Equal(got, want) {
				t.Fatalf("%s: %v\nwant %v", body, got, want)
			}
		}
	}
	if keys, ok := codes.ParseSort("-id,name"); !ok || filter.SortName(keys) != "-id,name" {
		t.Errorf("the sort -id,name becomes %s", filter.SortName(keys))
	}
}
