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

// isEquivalent reports whether two requests ask for the same Preview. Different spellings of a
// filter or a number, and a different order of a list whose order has no effect, make no
// difference.
func (r *PreviewRequest) isEquivalent(other *PreviewRequest) bool {
	return bytes.Equal(r.canonical(), other.canonical())
}

// canonical returns a form of the request that is the same for equivalent requests.
func (r *PreviewRequest) canonical() []byte {
	m := *r
	in := r.search()
	rules := sortRules(in.SortingRules, "", &fault.Problems{})
	in.SortingRules = shape.Value{}
	in.FilteringRules, in.GroupingRule = canonicalFilter(in.FilteringRules), canonicalValue(in.GroupingRule)
	in.TitleSearch = sorted(in.TitleSearch)
	if e := in.TitleEnrichment; e != nil {
		in.TitleEnrichment = &TitleEnrichment{e.Condition, sorted(e.Criterias)}
	}
	m.SearchInput = &in
	m.CompanyFilters.FilteringRules = canonicalFilter(m.CompanyFilters.FilteringRules)
	f := &m.ContactFilters
	f.IncludeKeywords, f.ExcludeKeywords, f.Countries = sorted(f.IncludeKeywords), sorted(f.ExcludeKeywords), sorted(f.Countries)
	m.TagIDs, m.ContactTagIDs = sortedIDs(m.TagIDs), sortedIDs(m.ContactTagIDs)
	if q := m.QualifierRule; q != nil {
		m.QualifierRule = &QualifierRule{q.Operator, canonicalValue(q.Value)}
	}
	var text []byte
	for _, rule := range rules {
		text = append(strconv.AppendBool(append(text, rule.Field...), rule.Desc), ',')
	}
	b, err := json.Marshal(&m, json.Deterministic(true))
	if err != nil {
		panic(err) // cannot happen: the request was decoded from JSON
	}
	return append(text, b...)
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

func sortedIDs(ids shape.IDs) shape.IDs {
	return slices.SortedFunc(slices.Values(ids), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
}

// canonicalFilter returns a filter as an expression object with an operator. An empty filter
// becomes absent.
func canonicalFilter(v shape.Value) shape.Value {
	if v.Kind == shape.List {
		v = shape.Value{Kind: shape.Object, Members: []shape.Member{{Key: "filters", Value: v}}}
	}
	v = canonicalValue(withOperators(v))
	if v.Kind != shape.Object || len(v.Get("filters").Items) == 0 {
		return shape.Value{} // an empty filter matches everything
	}
	return v
}

// canonicalValue returns a value with sorted object members and one spelling for equal numbers.
// Null becomes absent.
func canonicalValue(v shape.Value) shape.Value {
	switch v.Kind {
	case shape.Null:
		return shape.Value{}
	case shape.Num:
		v.Text = strconv.FormatFloat(shape.ParseNumber(v.Text), 'g', -1, 64)
	case shape.List:
		v.Items = slices.Clone(v.Items)
		for i := range v.Items {
			v.Items[i] = canonicalValue(v.Items[i])
		}
	case shape.Object:
		v.Members = slices.SortedFunc(slices.Values(v.Members), func(a, b shape.Member) int { return cmp.Compare(a.Key, b.Key) })
		for i := range v.Members {
			v.Members[i].Value = canonicalValue(v.Members[i].Value)
		}
	}
	return v
}
