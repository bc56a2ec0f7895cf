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

// export returns all records of an export and the number of records in each call of use. It calls
// between after each.
func (w *fixture) export(
	k *Kind, body string, between func(time int, cs *filter.CustomFields),
) (records [][]byte, sizes []int) {
	w.t.Helper()
	_, err := w.engine.Export(w.t.Context(), w.org, k, listQuery(things, body), func(cs *filter.CustomFields, lines []byte) error {
		given := slices.Clone(lines)
		some := slices.Collect(bytes.Lines(given))
		for _, line := range some {
			records = append(records, bytes.TrimSuffix(line, []byte("\n")))
		}
		sizes = append(sizes, len(some))
		between(len(sizes), cs)
		if !bytes.Equal(given, lines) {
			w.t.Errorf("%s: %s became %s during use", body, given, lines)
		}
		return nil
	})
	if err != nil {
		w.t.Fatalf("%s: %v", body, err)
	}
	return records, sizes
}

// An export has the records of all pages of the same list.
func TestExport(t *testing.T) {
	w := newFixture(t, 151)
	times := 30
	if raceDetector { // ten times as slow, and the test is sequential
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
				t.Fatalf("%s\nhas %d: %s\nwant %d: %s", body, len(got), got, want.Total, want.Records)
			}
		}
	}
}

// insertMany inserts copies of a thing that differ in their size only.
func (w *fixture) insertMany(n int, like thing) {
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

// maxReadAhead is the number of records that an export may have read when use is called for the
// first time.
const maxReadAhead = (exportAhead + 1) * exportChunk

// Records are changed during the first call of use, when the next chunks may have been read
// already. Records of later chunks are exported as they are then, in their original position.
// Records that were deleted or no longer match are left out. Records that only match now are not
// added.
func TestExportDuringChanges(t *testing.T) {
	for _, small := range []int{20, 10_000} {
		w := newFixture(t, 152)
		w.close()
		w.opt.maxSmall, w.opt.maxBatchDocs = small, 300
		w.open()
		w.insertMany(maxReadAhead+exportChunk+200, thing{Color: "red", Name: "before"})
		w.flushAll()
		w.update(func(tx *store.Tx) error { return upsert(tx, thing{ID: w.ids[3], Color: "blue"}) })
		later, last := maxReadAhead+10, maxReadAhead+exportChunk+199
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
		got, sizes := w.export(things, `{"sort": "size", "filters": [
			{"field": "color", "condition": "is", "value": "red"}]}`, change)
		if want := append(slices.Repeat([]int{exportChunk}, exportAhead+1), exportChunk-2, 198); !slices.Equal(sizes, want) {
			t.Errorf("chunks of %v records, want %v", sizes, want)
		}
		want := slices.Clone(w.ids)
		for _, missing := range []int{last, later + 2, later + 1, 3} { // from the end
			want = slices.Delete(want, missing, missing+1)
		}
		if len(got) != len(want) {
			t.Fatalf("%d records, want %d", len(got), len(want))
		}
		for i, public := range got {
			name := "before"
			if want[i] == w.ids[later] || want[i] == w.ids[last-50] {
				name = "after"
			}
			hasID := bytes.Contains(public, fmt.Appendf(nil, `"id":%q`, want[i]))
			if !hasID || !bytes.Contains(public, fmt.Appendf(nil, `"name":%q`, name)) {
				t.Errorf("record %d is %s, want %s %s", i, public, want[i], name)
			}
		}
	}
}

// A value that is deleted during the first call of use is in no chunk that is read later.
func TestExportDuringDeletion(t *testing.T) {
	w := newFixture(t, 153)
	tag := w.newReference("tags")
	field := w.newField("again", shape.TypeText)
	again := shape.Custom{shape.CustomPrefix + "again": "quagga"}
	w.insertMany(maxReadAhead+50, thing{Tags: shape.IDs{tag}, Custom: again})
	w.flushAll()
	for _, id := range []uuid.UUID{tag, field} {
		got, _ := w.export(things, `{"sort": "size"}`, func(time int, cs *filter.CustomFields) {
			if time == 1 {
				w.deleteDefinition(id, 1)
			}
			has := cs.Find(shape.CustomPrefix+"again") != nil
			if (time == 1 || time > exportAhead+1) && has != (id == tag || time == 1) {
				t.Errorf("call %d has the custom field: %t", time, has)
			}
		})
		if len(got) != len(w.ids) {
			t.Fatalf("%d records, want %d", len(got), len(w.ids))
		}
		for i, public := range got {
			late := i >= maxReadAhead
			for word, isDeleted := range map[string]bool{tag.String(): id == field || late, "quagga": id == field && late} {
				if (i < exportChunk || late) && bytes.Contains(public, []byte(word)) == isDeleted {
					t.Fatalf("%s: record %d is %s", word, i, public)
				}
			}
		}
	}
}

// An export of the records with a tag, or with a value in a custom field, leaves out the records
// that lose it during the export, whether they are swept or not.
func TestExportNoLongerMatches(t *testing.T) {
	w := newFixture(t, 156)
	tag, field := w.newReference("tags"), w.newField("again", shape.TypeText)
	again := shape.Custom{shape.CustomPrefix + "again": "quagga"}
	w.insertMany(maxReadAhead+50, thing{Tags: shape.IDs{tag}, Custom: again})
	w.flushAll()
	for body, id := range map[string]uuid.UUID{
		filterBody("tags", filter.Contains, tag):                  tag,
		filterBody(shape.CustomPrefix+"again", filter.IsNotEmpty): field,
	} {
		_, sizes := w.export(things, body, func(time int, _ *filter.CustomFields) {
			if time == 1 {
				w.deleteDefinition(id, 1)
			}
		})
		if sizes[0] != exportChunk || sizes[exportAhead+1] != 0 {
			t.Errorf("%s has chunks of %v records", body, sizes)
		}
	}
}

// No transaction is open during use, so a slow client never pins one.
func TestExportHoldsNoTransaction(t *testing.T) {
	w := newFixture(t, 154)
	w.insertMany(3*exportChunk, thing{Name: "n"})
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
		defer func() { open = recover() == nil }() // bbolt panics if the transaction has ended
		tx.RecordCount("not asked for before")
		return true
	}
	w.must(w.store.View(w.org, func(tx *store.Tx) error {
		if !isOpen(tx) {
			t.Fatal("isOpen does not recognize an open transaction")
		}
		return nil
	}))
	_, sizes := w.export(&k, `{}`, func(_ int, cs *filter.CustomFields) {
		mu.Lock()
		used = append(used, txs[cs]) // others may still be read
		mu.Unlock()
		for i, tx := range used {
			if isOpen(tx) {
				t.Errorf("transaction %d of %d is open during use", i+1, len(used))
			}
		}
		w.update(w.insert)
		w.agree(`{"page_size": 500}`)
	})
	if !slices.Equal(sizes, []int{exportChunk, exportChunk, exportChunk}) {
		t.Errorf("chunks of %v records", sizes)
	}
}

// An invalid query calls use never, and an empty list calls it once. An error of use ends the
// export.
func TestExportEnds(t *testing.T) {
	w := newFixture(t, 155)
	used := 0
	enough := errors.New("enough")
	export := func(body string, then error) error {
		used = 0
		_, err := w.engine.Export(w.t.Context(), w.org, things, listQuery(things, body), func(_ *filter.CustomFields, lines []byte) error {
			used += 1 + 1000*bytes.Count(lines, []byte("\n"))
			return then
		})
		return err
	}
	none := filterBody("name", filter.Is, "no such")
	if err := export(none, nil); err != nil || used != 1 {
		t.Errorf("an empty table: used %d, %v", used, err)
	}
	w.insertMany(2*exportChunk, thing{Name: "n"})
	for body, want := range map[string]int{
		none:                          1,
		`{}`:                          2 + 1000*2*exportChunk,
		`{"page": 7, "page_size": 3}`: 2 + 1000*2*exportChunk,
	} {
		if err := export(body, nil); err != nil || used != want {
			t.Errorf("%s: used %d, want %d, %v", body, used, want, err)
		}
	}
	if err := export(`{}`, enough); !errors.Is(err, enough) || used != 1+1000*exportChunk {
		t.Errorf("used %d after an error, %v", used, err)
	}
	for body, code := range map[string]fault.Code{
		filterBody(shape.CustomPrefix+"none", filter.IsEmpty): fault.InvalidFilter,
		`{"sort": "none"}`: fault.InvalidSort,
	} {
		if err := export(body, nil); fault.CodeOf(err) != code || used != 0 {
			t.Errorf("%s: used %d, %v", body, used, err)
		}
	}
	// An export of another organization has none of these records.
	w.org = uuid.New()
	if err := export(`{}`, nil); err != nil || used != 1 {
		t.Errorf("another organization: used %d, %v", used, err)
	}
}
