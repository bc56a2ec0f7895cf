package tam

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
)

// means tells whether two requests ask for the same: what is written otherwise, or in another order where the order says
// nothing, is the same.
func (r *PreviewRequest) means(other *PreviewRequest) bool {
	return bytes.Equal(r.meaning(), other.meaning())
}

func (r *PreviewRequest) meaning() []byte {
	m := *r
	in := r.search()
	rules := sortRules(in.SortingRules, "", &fault.Problems{})
	in.SortingRules = shape.Value{}
	in.FilteringRules, in.GroupingRule = plainFilter(in.FilteringRules), plainValue(in.GroupingRule)
	in.TitleSearch = sorted(in.TitleSearch)
	if e := in.TitleEnrichment; e != nil {
		in.TitleEnrichment = &TitleEnrichment{e.Condition, sorted(e.Criterias)}
	}
	m.SearchInput = &in
	m.CompanyFilters.FilteringRules = plainFilter(m.CompanyFilters.FilteringRules)
	f := &m.ContactFilters
	f.IncludeKeywords, f.ExcludeKeywords, f.Countries = sorted(f.IncludeKeywords), sorted(f.ExcludeKeywords), sorted(f.Countries)
	m.TagIDs, m.ContactTagIDs = sortedIDs(m.TagIDs), sortedIDs(m.ContactTagIDs)
	if q := m.QualifierRule; q != nil {
		m.QualifierRule = &QualifierRule{q.Operator, plainValue(q.Value)}
	}
	var text []byte
	for _, rule := range rules {
		text = append(strconv.AppendBool(append(text, rule.Field...), rule.Desc), ',')
	}
	b, err := json.Marshal(&m, json.Deterministic(true))
	if err != nil {
		panic(err) // it came from JSON
	}
	return append(text, b...)
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

func sortedIDs(ids shape.IDs) shape.IDs {
	return slices.SortedFunc(slices.Values(ids), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
}

// plainFilter is a filter in one of the forms that it can be written in.
func plainFilter(v shape.Value) shape.Value {
	if v.Kind == shape.List {
		v = shape.Value{Kind: shape.Object, Members: []shape.Member{{Key: "filters", Value: v}}}
	}
	v = plainValue(withOperators(v))
	if v.Kind != shape.Object || len(v.Get("filters").Items) == 0 {
		return shape.Value{} // it matches everything, as none does
	}
	return v
}

// plainValue is a value with the members of its objects in order, and its numbers in one form.
func plainValue(v shape.Value) shape.Value {
	switch v.Kind {
	case shape.Null:
		return shape.Value{}
	case shape.Num:
		v.Text = strconv.FormatFloat(shape.ParseNumber(v.Text), 'g', -1, 64)
	case shape.List:
		v.Items = slices.Clone(v.Items)
		for i := range v.Items {
			v.Items[i] = plainValue(v.Items[i])
		}
	case shape.Object:
		v.Members = slices.SortedFunc(slices.Values(v.Members), func(a, b shape.Member) int { return cmp.Compare(a.Key, b.Key) })
		for i := range v.Members {
			v.Members[i].Value = plainValue(v.Members[i].Value)
		}
	}
	return v
}
