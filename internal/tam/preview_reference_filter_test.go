package tam_test

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// refRow is a company or a person of the catalog as it is listed: nil where it has no value.
type refRow map[string]any

func (r refRow) text(field string) string {
	s, _ := r[field].(string)
	return s
}

var (
	refNumbers    = []string{"employee_count", "annual_revenue", "founded_year"}
	refMultis     = []string{"keywords", "technologies"}
	refShortTexts = []string{"id", "name", "website", "industry", "sub_industry", "country", "location", "linkedin_url", "phone_number"}
	refTexts      = append(slices.Clone(refShortTexts), "description")
	refSearched   = []string{"name", "description", "industry", "sub_industry", "keywords", "technologies", "website", "country", "location"}
)

// refLower returns a text in lower case.
func refLower(s string) string { return strings.Map(unicode.ToLower, s) }

// refWords returns the words of a text, consisting of letters and digits, in lower case.
func refWords(s string) []string {
	return strings.FieldsFunc(refLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func refList(value any) []any {
	if list, ok := value.([]any); ok {
		return list
	}
	return []any{value}
}

// refMatch evaluates a filter tree.
func refMatch(filter any, row refRow) bool {
	node, _ := filter.(map[string]any)
	inner, isTree := node["filters"].([]any)
	switch {
	case node == nil || isTree && len(inner) == 0:
		return true
	case !isTree:
		return refRule(row, node["field"].(string), node["condition"].(string), node["value"])
	}
	one := func(f any) bool { return refMatch(f, row) }
	if node["operator"] == "or" {
		return slices.ContainsFunc(inner, one)
	}
	return !slices.ContainsFunc(inner, func(f any) bool { return !one(f) })
}

func refRule(row refRow, field, condition string, value any) bool {
	has := row[field]
	list, isMulti := has.([]any)
	if has == nil || isMulti && len(list) == 0 {
		return condition == "is_not" || condition == "not_contains" || condition == "is_empty"
	}
	switch condition {
	case "is_empty":
		return false
	case "is_not_empty":
		return true
	case "greater_than":
		return has.(float64) > value.(float64)
	case "less_than":
		return has.(float64) < value.(float64)
	case "at_least":
		return has.(float64) >= value.(float64)
	case "at_most":
		return has.(float64) <= value.(float64)
	}
	any, all := false, true
	for _, wanted := range refList(value) {
		hit := has == wanted
		switch {
		case condition == "contains" || condition == "not_contains":
		case field == "country" || field == "website":
			hit = refLower(has.(string)) == refLower(wanted.(string))
		case field == "linkedin_url":
			hit = refProfile(has.(string)) == refProfile(wanted.(string))
		}
		switch {
		case isMulti:
			hit = slices.Contains(list, wanted)
		case condition == "contains" || condition == "not_contains":
			hit = strings.Contains(refLower(has.(string)), refLower(wanted.(string)))
		}
		any, all = any || hit, all && hit
	}
	switch condition {
	case "is", "equals":
		return any
	case "is_not":
		return !any
	case "contains":
		return all
	}
	return !all
}

// refFinds reports whether each search word is the beginning of a word of the company.
func refFinds(search string, row refRow) bool {
	var has []string
	for _, field := range refSearched {
		if row[field] == nil {
			continue
		}
		for _, text := range refList(row[field]) {
			has = append(has, refWords(text.(string))...)
		}
	}
	for _, word := range refWords(search) {
		if !slices.ContainsFunc(has, func(w string) bool { return strings.HasPrefix(w, word) }) {
			return false
		}
	}
	return true
}

// refKey is one key of a sort order.
type refKey struct {
	field string
	desc  bool
}

// refOrder reads the grouping and sorting rules of a request.
func refOrder(search map[string]any) (keys []refKey) {
	rules, _ := search["sorting_rules"].([]any)
	for _, rule := range rules {
		switch r := rule.(type) {
		case string:
			field, desc := strings.CutPrefix(r, "-")
			keys = append(keys, refKey{field, desc})
		case map[string]any:
			keys = append(keys, refKey{r["field"].(string), r["direction"] == "desc"})
		}
	}
	if len(keys) == 0 {
		keys = []refKey{{field: "name"}}
	}
	if group, ok := search["grouping_rule"].(map[string]any); ok {
		keys = append([]refKey{{field: group["field"].(string)}}, keys...)
	}
	return append(keys, refKey{"id", keys[len(keys)-1].desc})
}

// refCompare compares two companies. A missing value comes last in both directions.
func refCompare(keys []refKey, a, b refRow) int {
	for _, k := range keys {
		x, y := a[k.field], b[k.field]
		if x == nil || y == nil {
			if x == y {
				continue
			}
			if x == nil {
				return 1
			}
			return -1
		}
		var order int
		if n, isNumber := x.(float64); isNumber {
			order = cmp.Compare(n, y.(float64))
		} else {
			order = refByText(x.(string), y.(string))
		}
		if k.desc {
			order = -order
		}
		if order != 0 {
			return order
		}
	}
	return 0
}

// refByText compares texts by their code points, ignoring case.
func refByText(a, b string) int { return cmp.Compare(refLower(a), refLower(b)) }
