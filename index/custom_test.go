package index

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/shape"
	"prospector/store"
)

// newField creates a custom field.
func (w *fixture) newField(key string, typ shape.Type) (id uuid.UUID) {
	w.t.Helper()
	w.update(func(tx *store.Tx) error {
		id = tx.NewID()
		return w.define(tx, definition{ID: id, Key: key, Type: typ})
	})
	return id
}

// fill sets the custom field with the key in the records that which selects, and removes every
// other custom field from them.
func (w *fixture) fill(key string, which func(i int, v *thing) bool) (filled int) {
	w.t.Helper()
	w.update(func(tx *store.Tx) error {
		defs, err := definitions(tx)
		if err != nil {
			return err
		}
		d := defs[slices.IndexFunc(defs, func(d store.Doc[definition]) bool { return d.Record.Key == key })].Record
		for i, id := range w.ids {
			doc, err := thingTable.Get(tx, id)
			if err != nil {
				return err
			}
			v := doc.Record
			if !which(i, &v) {
				continue
			}
			v.Custom = shape.Custom{shape.CustomPrefix + key: customValueFor(w.rand, &d)}
			filled++
			if _, err := thingTable.Update(tx, doc, v, nil); err != nil {
				return err
			}
		}
		return nil
	})
	return filled
}

// A custom field is deleted and another one is created with the same key. The new field is empty,
// whatever records, segments and memory still have of the old one.
func TestFieldCreatedAgain(t *testing.T) {
	w := newFixture(t, 141)
	var log bytes.Buffer
	w.close()
	w.opt.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	w.open()
	for len(w.ids) < 60 {
		w.update(w.insert)
	}
	const key = shape.CustomPrefix + "again"
	sorted := `{"page_size": 500, "sort": %q}`
	types := slices.Concat(customTypes, []shape.Type{shape.TypeText, shape.TypeText})
	times := 2
	if raceDetector { // ten times as slow, and the test is sequential
		times, types = 1, types[len(types)-3:]
	}
	for i := range times { // each type comes after several others
		w.rand.Shuffle(len(types), func(i, j int) { types[i], types[j] = types[j], types[i] })
		for _, typ := range types {
			id := w.newField("again", typ)
			when := fmt.Sprintf("%s again", typ)
			w.wantTotal(filterBody(key, filter.IsEmpty), len(w.ids), when)
			w.wantTotal(filterBody(key, filter.IsNotEmpty), 0, when)
			for _, word := range []string{"quag", "zebu", "ql", "ñan"} {
				plan, page := w.list(fmt.Sprintf(`{"search": %q}`, word))
				w.checkPage(word, plan, page)
			}
			if typ != shape.TypeMulti {
				w.agree(fmt.Sprintf(sorted, "-"+key))
				_, got := w.list(fmt.Sprintf(sorted, key))
				_, want := w.list(fmt.Sprintf(sorted, "id"))
				if !slices.EqualFunc(got.Records, want.Records, slices.Equal) {
					t.Fatalf("%s: sorting by an empty field differs from sorting by id", when)
				}
			}
			filled := w.fill("again", func(n int, _ *thing) bool { return n%(2+i) == 0 })
			look := func() {
				t.Helper()
				w.wantTotal(filterBody(key, filter.IsNotEmpty), filled, when)
				k := w.known()
				k.fields = k.fields[slices.IndexFunc(k.fields, func(f filter.Field) bool { return f.Key == key }):][:1]
				for range 6 {
					w.agree(randomBody(w.rand, k))
				}
				if typ != shape.TypeMulti {
					w.agree(fmt.Sprintf(sorted, key))
					w.agree(fmt.Sprintf(sorted, "-"+key+",name"))
				}
			}
			look()
			w.flushAll()
			look()
			filled += w.fill("again", func(n int, v *thing) bool { return n%7 == 3 && v.Custom[key] == nil })
			look() // some values are in segments, some in the overlay
			w.deleteDefinition(id, pick(w.rand, []int{0, 1, 20}))
			w.check()
			for body, code := range map[string]fault.Code{
				filterBody(key, filter.IsEmpty): fault.InvalidFilter,
				fmt.Sprintf(sorted, key):        fault.InvalidSort,
			} {
				if _, _, err := w.tryList(body); fault.CodeOf(err) != code {
					t.Fatalf("%s with a deleted field: %v", body, err)
				}
			}
		}
	}
	w.close()
	if log.Len() > 0 { // the index was never damaged
		t.Error(log.String())
	}
	w.open()
}
