package filter

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prospector/internal/fault"
	"prospector/internal/shape"
)

// FuzzCompile compiles arbitrary bodies. The compiler rejects a body with problems that have a
// path, or returns a plan that decides every record and orders them strictly.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		`{"filters": [{"field": "name", "condition": "contains", "value": "x"}], "sort": "-size,name", "search": "a b"}`,
		`{"filters": {"operator": "or", "filters": [
			{"field": "tags", "condition": "not_contains", "value": ["0190b2f0-0000-7000-8000-000000000000"]}, {"filters": []}]}}`,
		`{"filters": [{"field": "at", "condition": "is", "value": ["2026-03-01", "2026-03-01T00:00:00+01:00"]},
			{"field": "size", "condition": "less_than", "value": 1e999}]}`,
		`{"filters": [{"field": "flag", "condition": "is", "value": [true]},
			{"field": "day", "condition": "is_before", "value": "2026-03-01"}], "page": 3}`,
		`{"filters": [{"field": "color", "condition": "is_not", "value": "red"}, {"field": "owner", "condition": "is_empty"}]}`,
		`{"filters": [{"field": "at", "condition": "between", "value": ["2026-03-01", "2026-03-01T00:00:00+01:00"]},
			{"field": "size", "condition": "at_least", "value": -1}, {"field": "day", "condition": "at_most", "value": "2026-03-01"}]}`,
		`{"filters": {"filters": 1}, "sort": "remark"}`,
		`{"filters": [[]], "sort": ","}`,
		`{"filters": {"field": "name"}}`,
	} {
		f.Add([]byte(seed))
	}
	rows := []*Row{
		rowOf(f, `{"id": "0190b2f0-0000-7000-8000-000000000001"}`),
		rowOf(f, `{"id": "0190b2f0-0000-7000-8000-000000000002", "name": "Xa", "size": -1, "color": "red",
			"day": "0001-01-01", "at": "9999-12-31T23:59:59.999Z", "owner": "0190b2f0-0000-7000-8000-000000000000",
			"tags": ["0190b2f0-0000-7000-8000-000000000000"], "flag": true, "remark": "b"}`),
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		plan, err := compileBody(string(body))
		if err != nil {
			var e *fault.Error
			if !errors.As(err, &e) || e.Code == fault.Internal {
				t.Fatalf("rejected with %v", err)
			}
			for _, d := range e.Details {
				if d.Path == "" && !strings.Contains(string(body), `""`) || d.Message == "" {
					t.Fatalf("a problem without a path or a message: %+v", d)
				}
			}
			return
		}
		for _, r := range rows {
			plan.Match(r) // must not panic
			if plan.Compare(r, r) != 0 {
				t.Fatal("a record differs from itself")
			}
		}
		if a, b := plan.Compare(rows[0], rows[1]), plan.Compare(rows[1], rows[0]); a != -b || a == 0 {
			t.Fatalf("compared as %d and, in the other order, as %d", a, b)
		}
	})
}

// The rule tag of page_size has the limits that the constants name.
func TestPageLimits(t *testing.T) {
	f := shape.Of[PageLimit]().Field("page_size")
	if f.Default != strconv.Itoa(DefaultPageSize) || f.Max == nil || *f.Max != MaxPageSize {
		t.Errorf("page_size has the default %s and the maximum %v", f.Default, f.Max)
	}
}

// Problems of a selection are reported under the path of the part that has them.
func TestSelectionProblems(t *testing.T) {
	filterOf := func(body string) shape.Value {
		v, err := shape.ParseObject([]byte(`{"filter": ` + body + `}`))
		if err != nil {
			t.Fatal(err)
		}
		return v.Get("filter")
	}
	tooMany := make([]SortAt, maxSortKeys+3)
	for i := range tooMany {
		tooMany[i] = SortAt{Path: fmt.Sprintf("sort[%d]", i), Field: "name"}
	}
	for _, c := range []struct {
		name string
		s    Selection
		code fault.Code
		want []string // paths
	}{
		{name: "empty"},
		{name: "valid", s: Selection{
			Filters: []FilterAt{{"a", shape.Value{}}, {"b", filterOf(`[]`)}},
			Sort:    []SortAt{{"s", "name", true}},
		}},
		{"filters", Selection{Filters: []FilterAt{
			{"company_filters.filtering_rules", filterOf(`{"filters": [{"field": "nope", "condition": "is", "value": 1}]}`)},
			{"search_input.filters", filterOf(`[{"field": "size", "condition": "is", "value": "x"}]`)},
			{"view", filterOf(`"x"`)},
		}}, fault.InvalidFilter, []string{
			"company_filters.filtering_rules.filters[0].field", "search_input.filters[0].value", "view",
		}},
		{"sort", Selection{Sort: []SortAt{
			{"group", "topics", false}, {"rules[0]", "nope", true}, {"rules[1]", "remark", true}, {"rules[2]", "size", true},
		}}, fault.InvalidSort, []string{"group", "rules[0]", "rules[1]"}},
		{"search", Selection{Search: []SearchAt{
			{"a", strings.Repeat("word ", maxSearchWords)}, {"b", strings.Repeat("word ", maxSearchWords+1)},
		}}, fault.InvalidFilter, []string{"b"}},
		{"too many sort keys", Selection{Sort: tooMany}, fault.InvalidSort, []string{fmt.Sprintf("sort[%d]", maxSortKeys)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := compileSelection(c.s)
			var code fault.Code
			var got []string
			if e := (*fault.Error)(nil); errors.As(err, &e) {
				code = e.Code
				for _, d := range e.Details {
					got = append(got, d.Path)
				}
			}
			if code != c.code || !slices.Equal(got, c.want) {
				t.Errorf("%s at %v, want %s at %v", code, got, c.code, c.want)
			}
		})
	}
}
