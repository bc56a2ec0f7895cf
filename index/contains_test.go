package index

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"prospector/internal/filter"
	"prospector/store"
)

// containsRules returns n rules that search for a piece of a text in the field remark.
func containsRules(r *rand.Rand, n int) []any {
	rules := make([]any, n)
	for i := range rules {
		text := pick(r, nastyTexts[1:])
		if r.IntN(2) == 0 {
			text += " " + pick(r, nastyTexts)
		}
		rule := map[string]any{
			"field": "remark", "condition": pick(r, []string{"contains", "contains", "not_contains"}), "value": piece(r, text),
		}
		rules[i] = rule
		switch r.IntN(6) {
		case 0:
			rules[i] = map[string]any{"filters": []any{rule}}
		case 1:
			other := map[string]any{"field": "flag", "condition": "is", "value": r.IntN(2) == 0}
			rules[i] = map[string]any{"operator": pick(r, []string{"and", "or"}), "filters": []any{rule, other}}
		case 2:
			rules[i] = map[string]any{"operator": pick(r, []string{"and", "or"}), "filters": containsRules(r, r.IntN(3))}
		}
	}
	return rules
}

// Rules on long texts are evaluated together, with the same result as each alone.
func TestManyContainsRules(t *testing.T) {
	w := newFixture(t, 7)
	for range 20 {
		w.change(30)
	}
	w.flushAll()
	for range 150 {
		operator := pick(w.rand, []string{"and", "or"})
		b, err := json.Marshal(map[string]any{"page_size": 500, "filters": map[string]any{
			"operator": operator, "filters": containsRules(w.rand, 1+w.rand.IntN(12)),
		}})
		w.must(err)
		w.agree(string(b))
	}
}

// evaluate calls fn with an evaluator of a list request for each segment. The evaluator keeps no rows. reads
// counts those that it reads.
func (w *fixture) evaluate(body string, fn func(e *evaluator, reads *int)) {
	w.t.Helper()
	s := w.engine.tableIndex(w.org, things)
	w.must(s.read(func(tx *store.Tx, at *snapshot) error {
		plan, err := compileAt(w.t, tx, things, body)
		if err != nil {
			return err
		}
		records := tx.Reader(thingTable.Name())
		for _, p := range at.segments {
			reads := 0
			e := &evaluator{segmentView: p, ctx: w.t.Context(), plan: plan, rows: map[uint32]*filter.Row{}, stored: func(doc uint32) *filter.Row {
				reads++
				_, public, err := records.Public(p.ids[doc])
				must(err)
				r, err := things.Row(plan.Custom, p.ids[doc], public)
				must(err)
				return r
			}}
			for i := range maxCachedRows {
				e.rows[uint32(p.size+i)] = nil
			}
			fn(e, &reads)
		}
		return nil
	}))
}

// However many rules search for phrases, each record is read once. However many search for words, the
// dictionary is read once.
func TestContainsReadsOnce(t *testing.T) {
	w := newFixture(t, 8)
	w.update(func(tx *store.Tx) error {
		for range 60 {
			if err := w.insert(tx); err != nil {
				return err
			}
		}
		return nil
	})
	w.flushAll()
	phrases := []string{" ", "-", "'", "@", ".", ", ", "! ", " -", "? ", ": "} // without a word that narrows the candidates
	for _, c := range []struct{ operator, condition string }{{"or", "contains"}, {"and", "not_contains"}} {
		t.Run(c.operator, func(t *testing.T) {
			var rules []any
			for _, text := range phrases {
				rules = append(rules, map[string]any{"field": "remark", "condition": c.condition, "value": text})
			}
			b, err := json.Marshal(map[string]any{"filters": map[string]any{"operator": c.operator, "filters": rules}})
			w.must(err)
			w.evaluate(string(b), func(e *evaluator, reads *int) {
				if e.matches(nil); *reads == 0 || *reads > e.size {
					t.Errorf("%d rules read %d records of %d", len(phrases), *reads, e.size)
				}
			})
		})
	}
	t.Run("words", func(t *testing.T) {
		var rules []string
		for c := 'a'; c <= 'z'; c++ {
			rules = append(rules, `{"field": "remark", "condition": "contains", "value": "`+string(c)+`"}`)
		}
		w.evaluate(`{"filters": [`+strings.Join(rules, ",")+`]}`, func(e *evaluator, _ *int) {
			e.rule(e.plan.Filter.Filters[0].Rule, nil)
			if len(e.words) != len(rules) {
				t.Errorf("one pass over the dictionary found %d of %d needles", len(e.words), len(rules))
			}
		})
	})
}

func TestNeedleSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	word := func(n int) string {
		b := make([]byte, 1+r.IntN(n))
		for i := range b {
			b[i] = "abcä"[r.IntN(5)]
		}
		return string(b)
	}
	for range 200 {
		needles := make([]string, 1+r.IntN(30))
		for i := range needles {
			needles[i] = word(4)
		}
		search := newNeedleSearch(needles)
		for range 20 {
			text := word(12)
			var want []int32
			for i, needle := range needles {
				if strings.Contains(text, needle) {
					want = append(want, int32(i))
				}
			}
			got := slices.Sorted(slices.Values(search.in(text)))
			if !slices.Equal(got, want) {
				t.Fatalf("%q contains %v of %q, want %v", text, got, needles, want)
			}
		}
	}
}
