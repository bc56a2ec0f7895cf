package index

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"prospector/internal/fault"
)

// FuzzAgreement takes its input for a list body and, when it is none, for the seed of one. A world of which some is in
// the index and some outside answers as the predicate does.
func FuzzAgreement(f *testing.F) {
	for _, body := range []string{
		`{}`, `{"search": "an sm", "sort": "-mail,size"}`, `{"page": 9223372036854775807, "page_size": 500}`, `{"page": 3, "page_size": 7, "sort": "-id"}`,
		`{"filters": [{"field": "mail", "condition": "contains", "value": "son@"}, {"field": "remark", "condition": "not_contains", "value": "long l"}]}`,
		`{"filters": {"operator": "or", "filters": [{"field": "size", "condition": "greater_than", "value": 0}, {"filters": []}]}}`,
		`{"filters": [{"field": "name", "condition": "is", "value": ["Ann", "\u0001"]}, {"field": "tags", "condition": "contains", "value": "0190b2f0-0000-7000-8000-000000000000"}]}`,
		`{"filters": [{"field": "at", "condition": "is", "value": "2026-03-01"}, {"field": "day", "condition": "is_before", "value": "9999-12-31"}], "sort": "at"}`,
		"seed 1", "seed 2", "seed 3", "",
	} {
		f.Add([]byte(body))
	}
	w := grown(f, 91)
	for range 6 {
		w.change(40)
	}
	w.settle()
	w.change(30)
	f.Fuzz(func(t *testing.T, input []byte) {
		here := *w // the failure is the input's
		here.t = t
		body := string(input)
		_, err := compileBody(t, body)
		if err == nil {
			here.agree(body)
			return
		}
		if fault.CodeOf(err) == fault.Internal {
			t.Fatal(err)
		}
		seed := [16]byte{}
		copy(seed[:], input)
		r := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(seed[:8]), binary.LittleEndian.Uint64(seed[8:])))
		here.agree(randomBody(r, len(w.ids)))
	})
}
