package index

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/shape"
	"prospector/store"
)

// FuzzAgreement uses its input as a list body or, if it is not a valid one, as the seed of a random
// list body. The engine agrees with the predicate while some records are in the index, some are in
// the overlay, and some have deleted values that are not swept yet.
func FuzzAgreement(f *testing.F) {
	for _, body := range []string{
		`{}`,
		`{"search": "an sm", "sort": "-mail,size"}`,
		`{"page": 9223372036854775807, "page_size": 500}`,
		`{"page": 3, "page_size": 7, "sort": "-id"}`,
		`{"filters": [{"field": "mail", "condition": "contains", "value": "son@"},
			{"field": "remark", "condition": "not_contains", "value": "long l"}]}`,
		`{"filters": {"operator": "or", "filters": [
			{"field": "size", "condition": "greater_than", "value": 0}, {"filters": []}]}}`,
		`{"filters": [{"field": "name", "condition": "is", "value": ["Ann", "\u0001"]},
			{"field": "tags", "condition": "contains", "value": "0190b2f0-0000-7000-8000-000000000000"}]}`,
		`{"filters": [{"field": "at", "condition": "is", "value": "2026-03-01"},
			{"field": "day", "condition": "is_before", "value": "9999-12-31"}], "sort": "at"}`,
		`{"filters": [{"field": "custom_field_text", "condition": "contains", "value": "qu"}],
			"sort": "-custom_field_text,owner", "search": "quag"}`,
		`{"filters": [{"field": "custom_field_text", "condition": "is_empty"},
			{"field": "tags", "condition": "is_not_empty"}], "sort": "custom_field_text"}`,
		`{"filters": [{"field": "groups", "condition": "is_not", "value": "00000000-0000-0000-0000-0000000000ab"},
			{"field": "blocks", "condition": "contains", "value": "OX"}]}`,
		`{"filters": [{"field": "email", "condition": "is", "value": "X@ZÜRICH.example"},
			{"field": "country", "condition": "is_not", "value": "norway"}], "sort": "-website,email", "search": "ex"}`,
		`{"filters": [{"field": "website", "condition": "is", "value": ["http://zürich.example/x", "linkedin.com/company/a"]},
			{"field": "email", "condition": "contains", "value": "ü"}]}`,
		`{"filters": [{"field": "size", "condition": "between", "value": [-1, 1.5]},
			{"field": "at", "condition": "at_most", "value": "2026-03-01"}, {"field": "day", "condition": "at_least", "value": "1970-01-01"}]}`,
		"seed 1", "seed 2", "seed 3", "",
	} {
		f.Add([]byte(body))
	}
	w := newLargeFixture(f, 91)
	for range 6 {
		w.change(40)
	}
	w.newField("text", shape.TypeText)
	tag, before := w.newReference("tags"), w.newField("again", shape.TypeDate)
	w.change(80)
	w.flushAll()
	w.change(30)
	w.deleteDefinition(tag, 1)
	w.deleteDefinition(before, 1)
	w.newField("again", shape.TypeNumber)
	w.change(10)
	f.Fuzz(func(t *testing.T, input []byte) {
		here := *w // with the t of this input
		here.t = t
		body := string(input)
		var err error
		here.must(w.store.View(w.org, func(tx *store.Tx) error {
			_, err = compileAt(t, tx, things, body)
			return nil
		}))
		if err == nil {
			here.agree(body)
			here.agreeFacets(body, here.known())
			few := body[:min(len(body), 100)] // at most 50 words
			here.agreeSelection(filter.Selection{Search: []filter.SearchAt{{Text: few}}}, 50)
			return
		}
		if fault.CodeOf(err) == fault.Internal {
			t.Fatal(err)
		}
		seed := [16]byte{}
		copy(seed[:], input)
		r := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(seed[:8]), binary.LittleEndian.Uint64(seed[8:])))
		here.agree(randomBody(r, here.known()))
		here.agreeSelection(randomSelection(r, here.known()), 1+r.IntN(100))
	})
}
