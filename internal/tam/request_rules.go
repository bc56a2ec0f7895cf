package tam

import (
	"fmt"
	"slices"
	"strings"

	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/shape"
)

// withOperators adds the operator "and" to every expression without an operator.
func withOperators(filter shape.Value) shape.Value {
	switch filter.Kind {
	case shape.List:
		return shape.Value{Kind: shape.List, Items: eachWithOperators(filter.Items)}
	case shape.Object:
		isExpression := false
		out := shape.Value{Kind: shape.Object, Members: slices.Clone(filter.Members)}
		for i, m := range out.Members {
			if m.Key == "filters" && m.Value.Kind == shape.List {
				isExpression = true
				out.Members[i].Value.Items = eachWithOperators(m.Value.Items)
			}
		}
		if isExpression && filter.Get("operator").Kind == shape.Absent {
			out.Members = append(out.Members, shape.Member{Key: "operator", Value: shape.Value{Kind: shape.String, Text: "and"}})
		}
		return out
	}
	return filter
}

func eachWithOperators(items []shape.Value) []shape.Value {
	out := make([]shape.Value, len(items))
	for i, item := range items {
		out[i] = withOperators(item)
	}
	return out
}

// selection returns the companies that the request describes. It adds problems of the sorting and
// grouping rules to p.
func (r *PreviewRequest) selection(named resolved, p *fault.Problems) filter.Selection {
	in := r.search()
	s := filter.Selection{Filters: []filter.FilterAt{
		{Path: "company_filters.filtering_rules", Filter: r.CompanyFilters.FilteringRules},
		{Path: "search_input.filtering_rules", Filter: in.FilteringRules},
	}}
	search := func(path string, rule *crm.SearchRule) {
		if rule != nil {
			s.Search = append(s.Search, filter.SearchAt{Path: path, Text: rule.Value})
		}
	}
	search("company_filters.searching_rule.value", r.CompanyFilters.SearchingRule)
	search("search_input.searching_rule.value", in.SearchingRule)
	for _, view := range named.Views {
		s.Filters = append(s.Filters, filter.FilterAt{Path: view.Path, Filter: view.Filters})
		search(view.Path, view.Search)
	}
	s.Sort = sortRules(in.SortingRules, "search_input.sorting_rules", p)
	if field := groupingField(in.GroupingRule, "search_input.grouping_rule", p); field != "" {
		if len(s.Sort) == 0 { // within a group, the default order applies
			s.Sort = []filter.SortAt{{Field: "name"}}
		}
		s.Sort = append([]filter.SortAt{{Path: "search_input.grouping_rule.field", Field: field}}, s.Sort...)
	}
	return s
}

// groupingField decodes a grouping rule, { field }. It returns "" without a rule.
func groupingField(given shape.Value, path string, p *fault.Problems) string {
	if given.Kind == shape.Absent || given.Kind == shape.Null {
		return ""
	}
	if given.Kind != shape.Object {
		p.Add(fault.InvalidSort, path, "must be an object")
		return ""
	}
	for _, m := range given.Members {
		if m.Key != "field" {
			p.Add(fault.InvalidSort, path+"."+m.Key, "unknown field")
		}
	}
	field := given.Get("field")
	if field.Kind != shape.String || field.Text == "" {
		p.Add(fault.InvalidSort, path+".field", "required, as a string")
		return ""
	}
	return field.Text
}

// sortRules decodes sorting rules. A rule is { field, direction }, or the field as a string, with a
// leading - for descending.
func sortRules(given shape.Value, path string, p *fault.Problems) []filter.SortAt {
	bad := func(at, format string, args ...any) { p.Add(fault.InvalidSort, at, format, args...) }
	if given.Kind != shape.List {
		if given.Kind != shape.Absent && given.Kind != shape.Null {
			bad(path, "must be a list")
		}
		return nil
	}
	var rules []filter.SortAt
	for i, item := range given.Items {
		at := fmt.Sprintf("%s[%d]", path, i)
		rule := filter.SortAt{Path: at}
		switch item.Kind {
		case shape.String:
			rule.Field, rule.Desc = strings.CutPrefix(item.Text, "-")
		case shape.Object:
			rule.Path = at + ".field"
			for _, m := range item.Members {
				switch {
				case m.Key != "field" && m.Key != "direction":
					bad(at+"."+m.Key, "unknown field")
				case m.Key == "direction" && m.Value.Text != "asc" && m.Value.Text != "desc":
					bad(at+".direction", "must be asc or desc")
				}
			}
			field := item.Get("field")
			if field.Kind != shape.String {
				bad(at+".field", "required, as a string")
				continue
			}
			rule.Field, rule.Desc = field.Text, item.Get("direction").Text == "desc"
		default:
			bad(at, "must be a string or an object with field and direction")
			continue
		}
		rules = append(rules, rule)
	}
	return rules
}
