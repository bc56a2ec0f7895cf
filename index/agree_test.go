package index

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/filter"
	"prospector/internal/shape"
	"prospector/store"
)

// known is what lists can ask for at one point in time.
type known struct {
	fields  []filter.Field
	ids     []uuid.UUID // of existing and deleted references
	records int
}

// known returns what lists can ask for now.
func (w *fixture) known() known {
	k := known{fields: things.Fields, ids: w.past, records: len(w.ids)}
	w.must(w.store.View(w.org, func(tx *store.Tx) error {
		cs, err := thingCustoms(tx)
		if err != nil {
			return err
		}
		k.fields = slices.Concat(k.fields, cs.ListFields)
		defs, err := definitions(tx)
		for _, d := range defs {
			if d.Record.Type == "" {
				k.ids = append(k.ids, d.ID)
			}
		}
		return err
	}))
	k.ids = append(append(k.ids, groupIDs...), uuid.Max) // and one that never existed
	return k
}

// body returns a random list body.
func (w *fixture) body() string { return randomBody(w.rand, w.known()) }

// randomBody returns a list body with a random filter, sort, search and page.
func randomBody(r *rand.Rand, k known) string {
	body := map[string]any{"page": 1 + r.IntN(4), "page_size": 1 + r.IntN(30)}
	if r.IntN(5) == 0 {
		body["page"] = 1 + r.IntN(max(1, k.records/body["page_size"].(int)+2))
	}
	if r.IntN(4) > 0 {
		body["filters"] = []any{randomFilter(r, k, 3)}
	}
	if r.IntN(3) > 0 {
		var keys []string
		for range 1 + r.IntN(3) {
			f := pick(r, k.fields)
			if f.Sortable {
				keys = append(keys, pick(r, []string{"", "-"})+f.Key)
			}
		}
		body["sort"] = strings.Join(keys, ",")
	}
	if r.IntN(4) == 0 {
		second := pick(r, [][]string{nastyTexts, customTexts, topicTexts})
		body["search"] = piece(r, pick(r, nastyTexts)) + " " + piece(r, pick(r, second))
	}
	b, _ := json.Marshal(body)
	return string(b)
}

// piece returns a random substring of a text.
func piece(r *rand.Rand, s string) string {
	runes := []rune(s)
	if len(runes) == 0 {
		return s
	}
	from := r.IntN(len(runes))
	return string(runes[from : from+1+r.IntN(min(6, len(runes)-from))])
}

func randomFilter(r *rand.Rand, k known, depth int) any {
	if depth > 0 && r.IntN(2) == 0 {
		subs := []any{}
		for range r.IntN(4) {
			subs = append(subs, randomFilter(r, k, depth-1))
		}
		return map[string]any{"operator": pick(r, []string{"and", "or"}), "filters": subs}
	}
	f := pick(r, k.fields)
	cond := pick(r, f.Conditions())
	rule := map[string]any{"field": f.Key, "condition": cond}
	if cond == filter.IsEmpty || cond == filter.IsNotEmpty {
		return rule
	}
	one := func() any { return operandFor(r, k, &f, cond) }
	rule["value"] = one()
	if cond == filter.Between {
		rule["value"] = ordered(one(), one())
		return rule
	}
	if f.AcceptsList(cond) && r.IntN(3) == 0 {
		rule["value"] = []any{one(), one()}
	}
	return rule
}

// ordered returns the bounds of a range. A date and a time of one day may be in either order, so texts
// are compared by their dates only if these differ.
func ordered(a, b any) []any {
	greater := false
	switch x := a.(type) {
	case float64:
		greater = x > b.(float64)
	case string:
		if b := b.(string); x[:min(10, len(x))] == b[:min(10, len(b))] {
			return []any{x, x}
		}
		greater = x > b.(string)
	}
	if greater {
		a, b = b, a
	}
	return []any{a, b}
}

func operandFor(r *rand.Rand, k known, f *filter.Field, cond filter.Condition) any {
	if f.Enum != nil {
		return pick(r, f.Enum)
	}
	switch f.Type {
	case shape.TypeNumber:
		return pick(r, nastyNumbers)
	case shape.TypeBoolean:
		return r.IntN(2) == 0
	case shape.TypeDate:
		return pick(r, nastyDays[1:])
	case shape.TypeDateTime:
		return pick(r, append(nastyTimes[1:], nastyDays[1:]...))
	case shape.TypeReference, shape.TypeMulti:
		if !f.HasUUIDs() {
			return pick(r, pick(r, [][]string{nastyTexts[1:], topicTexts}))
		}
		return pick(r, k.ids).String()
	}
	text := pick(r, nastyTexts[1:])
	if f.Custom && r.IntN(2) == 0 {
		text = pick(r, customTexts)
	}
	if f.IsCanonical() && r.IntN(4) > 0 {
		text = pick(r, spellings[1:])
	}
	if cond == filter.Contains || cond == filter.NotContains {
		text = piece(r, text+pick(r, []string{"", " ", " " + pick(r, nastyTexts)}))
	}
	return text
}

// agree compares a page of the engine with the predicate, in one transaction.
func (w *fixture) agree(body string) {
	w.t.Helper()
	w.agreeOn(things, body)
}

func (w *fixture) agreeOn(k *Kind, body string) {
	w.t.Helper()
	s := w.engine.tableIndex(w.org, k)
	for {
		if err := s.load(); err != nil {
			w.t.Fatal(err)
		}
		var got, want Page
		err := w.store.View(w.org, func(tx *store.Tx) error {
			plan, err := compileAt(w.t, tx, k, body)
			if err != nil {
				return err
			}
			if got, err = (&listRun{tableIndex: s, scans: true}).page(w.t.Context(), tx, plan); err != nil {
				return err
			}
			got = got.clone()
			want, err = reference(tx, plan)
			return err
		})
		if errors.Is(err, errStaleTx) || errors.Is(err, errUnloaded) {
			continue
		}
		if err != nil {
			w.t.Fatalf("%s: %v", body, err)
		}
		if got.Total != want.Total || !slices.EqualFunc(got.Records, want.Records, slices.Equal) {
			w.t.Fatalf("%s\nhas %d: %s\nwant %d: %s", body, got.Total, got.Records, want.Total, want.Records)
		}
		return
	}
}

// matchOf returns the match of a row, as a sorted run returns it.
func matchOf(p *filter.Plan, r *filter.Row) match {
	m := newMatch(p)
	fillMatch(p, r, &m)
	return m
}

// clone returns a copy that remains valid after the transaction.
func (p Page) clone() Page {
	for i, r := range p.Records {
		p.Records[i] = slices.Clone(r)
	}
	return p
}

// reference returns the page of a plan by the predicate alone.
func reference(tx *store.Tx, plan *filter.Plan) (Page, error) {
	rows, err := matching(tx, plan)
	page := Page{Total: len(rows)}
	records := tx.Reader(plan.Kind.Entity)
	for i := (plan.Page - 1) * plan.PageSize; i < min(plan.Page*plan.PageSize, len(rows)) && err == nil; i++ {
		var public []byte
		_, public, err = records.Public(rows[i].id)
		page.Records = append(page.Records, slices.Clone(public))
	}
	return page, err
}

// matching returns all matches of the predicate, in order.
func matching(tx *store.Tx, plan *filter.Plan) (rows []match, err error) {
	err = tx.Records(plan.Kind.Entity, uuid.Nil, func(id uuid.UUID, _ uint64, b []byte) (bool, error) {
		r, err := plan.Kind.Row(plan.Custom, id, b)
		if err == nil && plan.Match(r) {
			rows = append(rows, matchOf(plan, r))
		}
		return true, err
	})
	slices.SortFunc(rows, func(a, b match) int { return compareMatches(plan, &a, &b) })
	return rows, err
}

// disturb does to the index what may happen to it between lists.
func (w *fixture) disturb() {
	w.t.Helper()
	switch s := w.engine.tableIndex(w.org, things); w.rand.IntN(12) {
	case 0:
		w.close()
		w.open()
	case 1:
		w.unloadIndex(s)
	case 2: // leave it half built
		w.must(s.rebuildBecause(errors.New("test")))
		for range w.rand.IntN(4) {
			_, err := s.flush()
			w.must(err)
		}
	case 3:
		w.check()
	case 4, 5, 6, 7:
		w.flushAll()
	}
}

// soaked returns soak if PROSPECTOR_SOAK is set, raced if the race detector makes everything ten times as slow, and
// otherwise n.
func soaked(soak, n, raced int) int {
	switch {
	case os.Getenv("PROSPECTOR_SOAK") != "":
		return soak
	case raceDetector:
		return raced
	}
	return n
}

func TestAgreement(t *testing.T) {
	seeds, rounds := soaked(20, 2, 1), soaked(40, 15, 8)
	for seed := range uint64(seeds) {
		w := newFixture(t, seed)
		for range rounds {
			w.change(1 + w.rand.IntN(30))
			w.disturb()
			k := w.known()
			for range 20 {
				w.agree(randomBody(w.rand, k))
				w.agreeSelection(randomSelection(w.rand, k), 1+w.rand.IntN(60))
				w.agreeWithin(things, randomBody(w.rand, k), w.someIDs())
				w.agreeFacets(randomBody(w.rand, k), k)
			}
		}
		w.check()
		w.flushAll()
		w.check()
		w.sweep()
		w.flushAll()
		w.check()
		w.agree(`{"page_size": 500, "sort": "owner"}`)
		w.agreeSelection(filter.Selection{Search: []filter.SearchAt{{Text: "o"}}}, len(w.ids))
	}
}
