package filter

import (
	"prospector/internal/fault"
	"prospector/internal/shape"
)

// Selection is a query that is assembled from several parts of a request, each with its own path.
type Selection struct {
	Filters []FilterAt // all must match
	Search  []SearchAt // each word must be the prefix of a word in the searched fields
	Sort    []SortAt   // the default sort if empty
}

// FilterAt is a filter with the path that its problems are reported under.
type FilterAt struct {
	Path   string
	Filter shape.Value
}

// SearchAt is a text to search for with the path that its problems are reported under.
type SearchAt struct {
	Path string
	Text string
}

// SortAt is a sort key with the path that its problems are reported under.
type SortAt struct {
	Path  string
	Field string
	Desc  bool
}

// CompileSelection compiles a selection. It adds every problem to p under its path, as
// invalid_filter or invalid_sort.
func CompileSelection(k *Kind, cs *CustomFields, s Selection, p *fault.Problems) *Plan {
	c := &compiler{kind: k, custom: cs, p: p}
	plan := &Plan{Kind: k, Custom: cs, selection: true}
	for _, search := range s.Search {
		plan.Words = append(plan.Words, c.words(search.Text, search.Path)...)
	}
	plan.Words = distinct(plan.Words)
	var filters []Filter
	for _, f := range s.Filters {
		c.rules, c.values = 0, 0
		filters = append(filters, c.filter(f.Filter, f.Path))
	}
	plan.Filter = allOf(filters...)
	plan.Sort = c.sortAt(s.Sort)
	return plan
}
