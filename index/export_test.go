package index

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/shape"
	"prospector/store"
)

// export collects all that an export gives, and calls between each time that it gives some.
func (w *world) export(k *Kind, body string, between func(time int, cs *filter.CustomFields)) (records [][]byte, sizes []int) {
	w.t.Helper()
	err := w.engine.Export(w.org, k, listQuery(things, body), func(cs *filter.CustomFields, lines []byte) error {
		given := slices.Clone(lines)
		some := slices.Collect(bytes.Lines(given))
		for _, line := range some {
			records = append(records, bytes.TrimSuffix(line, []byte("\n")))
		}
		sizes = append(sizes, len(some))
		between(len(sizes), cs)
		if !bytes.Equal(given, lines) {
			w.t.Errorf("%s: %s became %s while it was used", body, given, lines)
		}
		return nil
	})
	if err != nil {
		w.t.Fatalf("%s: %v", body, err)
	}
	return records, sizes
}

// TestExport holds exports against all pages of the same list.
func TestExport(t *testing.T) {
	w := newWorld(t, 151)
	times := 30
	if raceDetector { // ten times as slow, and one at a time
		times = 4
	}
	for range times {
		w.change(1 + w.rand.IntN(30))
		w.disturb()
		for range 10 {
			body := w.body()
			got, _ := w.export(things, body, func(int, *filter.CustomFields) {})
			var want Page
			w.must(w.store.View(w.org, func(tx *store.Tx) error {
				plan, err := compileAt(t, tx, things, body)
				if err != nil {
					return err
				}
				plan.Page, plan.PageSize = 1, 100_000
				want, err = reference(tx, plan)
				want = want.clone()
				return err
			}))
			if !slices.EqualFunc(got, want.Records, slices.Equal) {
				t.Fatalf("%s\nhas %d: %s\nnot %d: %s", body, len(got), got, want.Total, want.Records)
			}
		}
	}
}

// many makes things that differ in their size only.
func (w *world) many(n int, like thing) {
	w.t.Helper()
	w.update(func(tx *store.Tx) error {
		for i := range n {
			like.ID, like.Size = tx.NewID(), shape.Number{Valid: true, Float: float64(i)}
			w.ids = append(w.ids, like.ID)
			if _, err := thingTable.Insert(tx, like.ID, like); err != nil {
				return err
			}
		}
		return nil
	})
}

// surely is how many records of an export may have been read when the first of them are used, and
// not one more.
const surely = (exportAhead + 1) * exportChunk

// TestExportMeanwhile changes records while the first part of an export is used; the next ones may
// have been read by then. Those that come later are as they are then, at the place that they had;
// what is deleted or no longer matches is left out, and what matches only now is not taken in.
func TestExportMeanwhile(t *testing.T) {
	for _, small := range []int{20, 10_000} {
		w := newWorld(t, 152)
		w.close()
		w.opt.maxSmall, w.opt.maxBatchDocs = small, 300
		w.open()
		w.many(surely+exportChunk+200, thing{Color: "red", Name: "before"})
		w.flushAll()
		w.update(func(tx *store.Tx) error { return upsert(tx, thing{ID: w.ids[3], Color: "blue"}) })
		later, last := surely+10, surely+exportChunk+199
		change := func(time int, _ *filter.CustomFields) {
			if time > 1 {
				return
			}
			w.update(func(tx *store.Tx) error {
				for i, v := range map[int]thing{
					0:         {Color: "red", Name: "too late"},
					3:         {Color: "red", Name: "matches now"},
					later:     {Color: "red", Name: "after"},
					later + 1: {Color: "blue", Name: "after"},
					last - 50: {Color: "red", Name: "after", Size: shape.Number{Valid: true, Float: -5}},
					last:      {Color: "blue"},
				} {
					v.ID = w.ids[i]
					if err := upsert(tx, v); err != nil {
						return err
					}
				}
				doc, err := thingTable.Get(tx, w.ids[later+2])
				if err != nil {
					return err
				}
				if err := thingTable.Delete(tx, doc); err != nil {
					return err
				}
				return upsert(tx, thing{ID: tx.NewID(), Color: "red", Name: "new"})
			})
		}
		got, sizes := w.export(things, `{"sort": "size", "filters": [{"field": "color", "condition": "is", "value": "red"}]}`, change)
		if want := append(slices.Repeat([]int{exportChunk}, exportAhead+1), exportChunk-2, 198); !slices.Equal(sizes, want) {
			t.Errorf("came as %v, not %v", sizes, want)
		}
		want := slices.Clone(w.ids)
		for _, gone := range []int{last, later + 2, later + 1, 3} { // the last first
			want = slices.Delete(want, gone, gone+1)
		}
		if len(got) != len(want) {
			t.Fatalf("%d records, not %d", len(got), len(want))
		}
		for i, public := range got {
			name := "before"
			if want[i] == w.ids[later] || want[i] == w.ids[last-50] {
				name = "after"
			}
			if !bytes.Contains(public, fmt.Appendf(nil, `"id":%q`, want[i])) || !bytes.Contains(public, fmt.Appendf(nil, `"name":%q`, name)) {
				t.Errorf("the %d. is %s, not %s %s", i, public, want[i], name)
			}
		}
	}
}

// What is deleted while the first part of an export is used is in none of those that are read after
// it.
func TestExportForgets(t *testing.T) {
	w := newWorld(t, 153)
	tag := w.mark("tags")
	field := w.field("again", shape.TypeText)
	w.many(surely+50, thing{Tags: shape.IDs{tag}, Custom: shape.Custom{shape.CustomPrefix + "again": "quagga"}})
	w.flushAll()
	for _, id := range []uuid.UUID{tag, field} {
		got, _ := w.export(things, `{"sort": "size"}`, func(time int, cs *filter.CustomFields) {
			if time == 1 {
				w.forget(id, 1)
			}
			if has := cs.Find(shape.CustomPrefix+"again") != nil; (time == 1 || time > exportAhead+1) && has != (id == tag || time == 1) {
				t.Errorf("the %d. time it knows the field: %t", time, has)
			}
		})
		if len(got) != len(w.ids) {
			t.Fatalf("%d records of %d", len(got), len(w.ids))
		}
		for i, public := range got {
			late := i >= surely
			for word, gone := range map[string]bool{tag.String(): id == field || late, "quagga": id == field && late} {
				if (i < exportChunk || late) && bytes.Contains(public, []byte(word)) == gone {
					t.Fatalf("%s: the %d. is %s", word, i, public)
				}
			}
		}
	}
}

// An export of what has a tag, or a value in a custom field, leaves out what has it no longer,
// swept up or not.
func TestExportNoLongerMatches(t *testing.T) {
	w := newWorld(t, 156)
	tag, field := w.mark("tags"), w.field("again", shape.TypeText)
	w.many(surely+50, thing{Tags: shape.IDs{tag}, Custom: shape.Custom{shape.CustomPrefix + "again": "quagga"}})
	w.flushAll()
	for body, id := range map[string]uuid.UUID{filterBody("tags", filter.Contains, tag): tag, filterBody(shape.CustomPrefix+"again", filter.IsNotEmpty): field} {
		_, sizes := w.export(things, body, func(time int, _ *filter.CustomFields) {
			if time == 1 {
				w.forget(id, 1)
			}
		})
		if sizes[0] != exportChunk || sizes[exportAhead+1] != 0 {
			t.Errorf("%s comes as %v", body, sizes)
		}
	}
}

// No transaction waits for the use of what it has read: whoever reads an export slowly keeps nobody
// from anything.
func TestExportHoldsNothing(t *testing.T) {
	w := newWorld(t, 154)
	w.many(3*exportChunk, thing{Name: "n"})
	w.flushAll()
	k := *things
	var mu sync.Mutex
	var used []*store.Tx
	txs := map[*filter.CustomFields]*store.Tx{}
	k.customs = func(tx *store.Tx) (*filter.CustomFields, error) {
		mu.Lock()
		defer mu.Unlock()
		cs, err := thingCustoms(tx)
		txs[cs] = tx
		return cs, err
	}
	isOpen := func(tx *store.Tx) (open bool) {
		defer func() { open = recover() == nil }() // bbolt refuses what is asked of one that has ended
		tx.RecordCount("not asked for before")
		return true
	}
	w.must(w.store.View(w.org, func(tx *store.Tx) error {
		if !isOpen(tx) {
			t.Fatal("an open one cannot be told")
		}
		return nil
	}))
	_, sizes := w.export(&k, `{}`, func(_ int, cs *filter.CustomFields) {
		mu.Lock()
		used = append(used, txs[cs]) // others may be at work
		mu.Unlock()
		for i, tx := range used {
			if isOpen(tx) {
				t.Errorf("of %d transactions the %d. is open", len(used), i+1)
			}
		}
		w.update(w.insert)
		w.agree(`{"page_size": 500}`)
	})
	if !slices.Equal(sizes, []int{exportChunk, exportChunk, exportChunk}) {
		t.Errorf("came as %v", sizes)
	}
}

// What is refused is not begun; an empty list is given once; and who has enough ends it.
func TestExportEnds(t *testing.T) {
	w := newWorld(t, 155)
	used := 0
	enough := errors.New("enough")
	export := func(body string, then error) error {
		used = 0
		return w.engine.Export(w.org, things, listQuery(things, body), func(_ *filter.CustomFields, lines []byte) error {
			used += 1 + 1000*bytes.Count(lines, []byte("\n"))
			return then
		})
	}
	none := filterBody("name", filter.Is, "no such")
	if err := export(none, nil); err != nil || used != 1 {
		t.Errorf("without a table: %d, %v", used, err)
	}
	w.many(2*exportChunk, thing{Name: "n"})
	for body, want := range map[string]int{none: 1, `{}`: 2 + 1000*2*exportChunk, `{"page": 7, "page_size": 3}`: 2 + 1000*2*exportChunk} {
		if err := export(body, nil); err != nil || used != want {
			t.Errorf("%s: %d, not %d, %v", body, used, want, err)
		}
	}
	if err := export(`{}`, enough); !errors.Is(err, enough) || used != 1+1000*exportChunk {
		t.Errorf("%d, %v", used, err)
	}
	for body, code := range map[string]fault.Code{filterBody(shape.CustomPrefix+"none", filter.IsEmpty): fault.InvalidFilter, `{"sort": "none"}`: fault.InvalidSort} {
		if err := export(body, nil); fault.CodeOf(err) != code || used != 0 {
			t.Errorf("%s: %d, %v", body, used, err)
		}
	}
	// One of another organization has nothing of this one.
	w.org = uuid.New()
	if err := export(`{}`, nil); err != nil || used != 1 {
		t.Errorf("another organization: %d, %v", used, err)
	}
}
