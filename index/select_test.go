package index

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// code is a record whose id is a text, which the store does not know it by.
type code struct {
	ID   string       `json:"id"`
	Name shape.Text   `json:"name" rule:"searched"`
	Size shape.Number `json:"size"`
}

var (
	codeTable = store.NewTable[code]("codes", nil, nil)
	codes     = NewKind("codes", "name", codeTable, nil)
)

// filterOf is a filter as a body has it.
func filterOf(v any) shape.Value {
	b, err := json.Marshal(map[string]any{"filter": v})
	must(err)
	o, err := shape.ParseObject(b)
	must(err)
	return o.Get("filter")
}

// randomSelection has some filters, words and keys, each of them perhaps none.
func randomSelection(r *rand.Rand, k known) Selection {
	var s Selection
	for range r.IntN(3) {
		s.Filters = append(s.Filters, FilterAt{"f", filterOf([]any{randomFilter(r, k, 2)})})
	}
	for range r.IntN(3) {
		s.Words = append(s.Words, piece(r, pick(r, pick(r, [][]string{nastyTexts, topicTexts, topicTexts}))))
	}
	for range r.IntN(3) {
		if f := pick(r, k.fields); f.Sortable {
			s.Sort = append(s.Sort, SortAt{"s", f.Key, r.IntN(2) == 0})
		}
	}
	return s
}

func compileSelection(s Selection) Compiled {
	return func(cs *Customs) (*Plan, error) {
		var p fault.Problems
		return CompileSelection(things, cs, s, &p), p.Err()
	}
}

// agreeSelection holds a selection against the predicate. Nothing may be written meanwhile.
func (w *world) agreeSelection(s Selection, most int) {
	w.t.Helper()
	ids, total, err := w.engine.Select(w.org, things, compileSelection(s), most)
	w.must(err)
	w.must(w.store.View(w.org, func(tx *store.Tx) error {
		cs, err := thingCustoms(tx)
		w.must(err)
		plan, err := compileSelection(s)(cs)
		w.must(err)
		want, err := matching(tx, plan)
		if total != len(want) || !slices.EqualFunc(ids, want[:min(most, len(want))], func(id uuid.UUID, k keyed) bool { return id == k.id }) {
			w.t.Fatalf("%+v\nhas %d: %v\nnot %d: %v", s, total, ids, len(want), want)
		}
		return err
	}))
}

// Words are looked for in the searched fields: each must begin some word of a name, a remark or a topic.
func TestSelectionWords(t *testing.T) {
	r := rowOf(t, `{"id": "0190b2f0-0000-7000-8000-000000000002", "name": "Acme Böse", "remark": "makes, mostly: anvils", "mail": "sales@acme.example", "color": "red",
		"topics": ["Road runner", "tnt"]}`)
	for words, want := range map[string]bool{
		"": true, "ac": true, "ACME": true, "acmes": false, "anv": true, "road": true, "RUN": true, "unner": false, "tnt acme bö makes": true, "tnt coyote": false,
		"sales": false, "red": false, "example": false, "-": true, "road-tn": true,
	} {
		for _, split := range [][]string{{words}, strings.Fields(words)} {
			plan, err := compileSelection(Selection{Words: split})(NoCustoms)
			if err != nil || plan.Match(r) != want {
				t.Errorf("%q matches: %t, %v", split, !want, err)
			}
		}
	}
	// The search of a list looks at all texts, and only at those.
	for search, want := range map[string]bool{"sales": true, "anvils acme": true, "road": false, "tnt": false} {
		plan, err := compileBody(t, fmt.Sprintf(`{"search": %q}`, search))
		if err != nil || plan.Match(r) != want {
			t.Errorf("a list finds %q: %t, %v", search, !want, err)
		}
	}
}

// What is wrong with a selection is told by the path that each part has.
func TestSelectionProblems(t *testing.T) {
	many := make([]SortAt, maxSortKeys+3)
	for i := range many {
		many[i] = SortAt{fmt.Sprintf("sort[%d]", i), "name", false}
	}
	for _, c := range []struct {
		s    Selection
		want []string // code and path
	}{
		{Selection{}, nil},
		{Selection{Filters: []FilterAt{{"a", shape.Value{}}, {"b", filterOf([]any{})}}, Sort: []SortAt{{"s", "name", true}}}, nil},
		{Selection{Filters: []FilterAt{
			{"company_filters.filtering_rules", filterOf(map[string]any{"filters": []any{map[string]any{"field": "nope", "condition": "is", "value": 1}}})},
			{"search_input.filters", filterOf([]any{map[string]any{"field": "size", "condition": "is", "value": "x"}})},
			{"view", filterOf("x")},
		}}, []string{"invalid_filter company_filters.filtering_rules.filters[0].field", "invalid_filter search_input.filters[0].value", "invalid_filter view"}},
		{Selection{Sort: []SortAt{{"group", "topics", false}, {"rules[0]", "nope", true}, {"rules[1]", "remark", true}, {"rules[2]", "size", true}}},
			[]string{"invalid_sort group", "invalid_sort rules[0]", "invalid_sort rules[1]"}},
		{Selection{Sort: many}, []string{fmt.Sprintf("invalid_sort sort[%d]", maxSortKeys)}},
	} {
		_, err := compileSelection(c.s)(NoCustoms)
		var got []string
		if e, is := err.(*fault.Error); is {
			for _, d := range e.Details {
				got = append(got, fmt.Sprint(e.Code, " ", d.Path))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, not %v", c.s, got, c.want)
		}
	}
}

// A selection sees every write that was answered, whatever of it the index has, and gives no more than is asked for.
func TestSelectSees(t *testing.T) {
	w := newWorld(t, 5)
	selected := func(most, wantIDs, wantTotal int) {
		t.Helper()
		ids, total, err := w.engine.Select(w.org, things, compileSelection(Selection{Words: []string{"okapi"}}), most)
		if err != nil || len(ids) != wantIDs || total != wantTotal {
			t.Errorf("%d ids of %d, not %d of %d: %v", len(ids), total, wantIDs, wantTotal, err)
		}
	}
	selected(10, 0, 0)
	for i := range 60 {
		w.many(1, thing{Topics: []string{"The Okapi"}, Name: "x"})
		w.many(1, thing{Mail: "okapi"})
		selected(20, min(20, i+1), i+1)
		selected(0, 0, i+1)
		if i%9 == 0 {
			w.settle()
		}
	}
	w.check()
}

// Where the id is a text, ties are ordered by it, without case, in the direction of the last key; then by the order of creation.
func TestTextIDTies(t *testing.T) {
	w := newWorld(t, 6)
	letters := []string{"a", "A", "b", "B", "c", "É", "é", "10", "9"}
	type stored struct {
		code
		id uuid.UUID
	}
	var all []stored
	for round := range 12 {
		w.update(func(tx *store.Tx) error {
			for range 25 {
				s := stored{code{ID: pick(w.rand, letters) + pick(w.rand, letters), Name: shape.Text(pick(w.rand, []string{"", "x", "X", "y"}))}, tx.NewID()}
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
			w.must(w.engine.shelf(w.org, codes).settle())
		}
		k := known{fields: codes.Fields, records: len(all)}
		for range 20 {
			w.agreeOn(codes, randomBody(w.rand, k))
		}
		for _, desc := range []bool{false, true} {
			slices.SortFunc(all, func(a, b stored) int {
				an, bn := value{has: a.Name != "", fold: shape.Fold(string(a.Name))}, value{has: b.Name != "", fold: shape.Fold(string(b.Name))}
				return cmp.Or(compareValues(&an, &bn, desc), directed(cmp.Or(strings.Compare(shape.Fold(a.ID), shape.Fold(b.ID)), strings.Compare(string(a.id[:]), string(b.id[:]))), desc))
			})
			var want []string
			for _, s := range all {
				want = append(want, s.ID)
			}
			var got []string
			body := fmt.Sprintf(`{"sort": "%sname", "page_size": 500}`, map[bool]string{true: "-"}[desc])
			w.must(w.engine.List(w.org, codes, func(cs *Customs) (*Plan, error) { return compileFor(codes, cs, body) }, func(p Page) error {
				for _, r := range p.Records {
					var c code
					w.must(json.Unmarshal(r, &c))
					got = append(got, c.ID)
				}
				return nil
			}))
			if !slices.Equal(got, want) {
				t.Fatalf("%s: %v\nnot %v", body, got, want)
			}
		}
	}
	if got := sortName(codes.tied([]sortKey{{field: codes.field("id"), desc: true}, {field: codes.field("name")}})); got != "-id,name" {
		t.Errorf("a sort by id becomes %s", got)
	}
}
