package filter

import (
	"fmt"
	"slices"
	"strings"

	"prospector/internal/fault"
	"prospector/internal/shape"
)

// The limits of a filter. One level of a filter is two levels of JSON, and the strict decoder
// accepts 512 of those.
const (
	maxFilterDepth  = 200
	maxFilterRules  = 1000
	maxFilterValues = 10_000 // in all rules together
	maxSearchWords  = 50
)

// Compile compiles the body of a list request. It adds every problem to p under its path, as
// invalid_filter or invalid_sort. The plan must not be used if there are problems.
func Compile(k *Kind, cs *CustomFields, q ListBody, p *fault.Problems) *Plan {
	c := &compiler{kind: k, custom: cs, p: p}
	return &Plan{
		Page: q.Page, PageSize: q.PageSize, Kind: k, Custom: cs,
		Words: distinct(c.words(q.Search, "search")), Sort: c.sort(q.Sort), Filter: c.filter(q.Filters, "filters"),
	}
}

// Check adds every problem of a filter to p, as Compile does. path is where the filter is in the
// request.
func Check(k *Kind, cs *CustomFields, filter shape.Value, path string, p *fault.Problems) {
	(&compiler{kind: k, custom: cs, p: p}).filter(filter, path)
}

// CheckSort adds a problem to p for each field that the kind cannot be sorted by.
func CheckSort(k *Kind, cs *CustomFields, sort string, p *fault.Problems) {
	(&compiler{kind: k, custom: cs, p: p}).sort(sort)
}

// HasField reports whether records of the kind have a field or custom field with the key.
func HasField(k *Kind, cs *CustomFields, key string) bool {
	return (&compiler{kind: k, custom: cs}).field(key) != nil
}

// FacetField returns the field with the key, of which values can be counted. It fails with validation_failed
// if there is none, or if its values are too many to be counted.
func FacetField(k *Kind, cs *CustomFields, key string) (*Field, error) {
	var p fault.Problems
	f := (&compiler{kind: k, custom: cs}).field(key)
	switch {
	case f == nil:
		p.Invalid("field", "%s is not a field of %s", shape.Quote(key), k.Entity)
	case f.Long || f.Type == shape.TypeDateTime || f.Key == "id":
		p.Invalid("field", "the values of %s cannot be counted; use a field with recurring values", shape.Quote(key))
	}
	return f, p.Err()
}

// CheckSearch adds a problem to p if a text has too many search words.
func CheckSearch(text, path string, p *fault.Problems) { (&compiler{p: p}).words(text, path) }

// words returns the words of a text to search for.
func (c *compiler) words(text, path string) []string {
	words := shape.Words(text)
	if len(words) > maxSearchWords {
		c.fail(path, "must have at most %d words, not %d", maxSearchWords, len(words))
		return nil
	}
	return words
}

func distinct(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}

type compiler struct {
	kind   *Kind
	custom *CustomFields
	p      *fault.Problems
	rules  int
	values int // in all rules
}

// field returns the field with the key, or nil if there is none.
func (c *compiler) field(key string) *Field {
	if f := c.kind.Field(key); f != nil {
		return f
	}
	return c.custom.byKey(key)
}

func (c *compiler) fail(path, format string, args ...any) {
	c.p.Add(fault.InvalidFilter, path, format, args...)
}

// filter compiles a filter: a list, all of which must match, or an expression.
func (c *compiler) filter(v shape.Value, path string) Filter {
	switch v.Kind {
	case shape.Absent, shape.Null:
	case shape.List:
		return Filter{Filters: c.list(v, path, 1)}
	case shape.Object:
		return c.expression(v, path, 1)
	default:
		c.fail(path, "must be a list of rules or an expression")
	}
	return Filter{}
}

func (c *compiler) list(v shape.Value, path string, depth int) []Filter {
	if depth > maxFilterDepth {
		c.fail(path, "must not be nested more than %d levels deep", maxFilterDepth)
		return nil
	}
	filters := make([]Filter, 0, len(v.Items))
	for i, item := range v.Items {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case item.Kind != shape.Object:
			c.fail(at, "must be a rule or an expression")
		case isExpression(item):
			filters = append(filters, c.expression(item, at, depth+1))
		default:
			filters = append(filters, c.rule(item, at))
		}
	}
	return filters
}

// isExpression distinguishes an expression from a rule in a list. An object with members of both is
// compiled as a rule, which reports those that a rule does not have.
func isExpression(v shape.Value) bool {
	has := func(key string) bool { return v.Get(key).Kind != shape.Absent }
	return !has("field") && (has("filters") || has("operator"))
}

func (c *compiler) expression(v shape.Value, path string, depth int) Filter {
	f := Filter{}
	for _, m := range v.Members {
		at := path + "." + m.Key
		switch m.Key {
		case "operator":
			switch {
			case m.Value.Kind != shape.String:
				c.fail(at, "must be one of: and, or")
			case m.Value.Text != "and" && m.Value.Text != "or":
				c.fail(at, "%s is not one of: and, or", shape.Quote(m.Value.Text))
			}
			f.Any = m.Value.Text == "or"
		case "filters":
			if m.Value.Kind != shape.List {
				c.fail(at, "must be a list of rules and expressions")
				continue
			}
			f.Filters = c.list(m.Value, at, depth)
		default:
			c.fail(at, "unknown field")
		}
	}
	if v.Get("filters").Kind == shape.Absent {
		c.fail(path+".filters", "required")
	}
	return f
}

func (c *compiler) rule(v shape.Value, path string) Filter {
	if c.rules++; c.rules > maxFilterRules {
		if c.rules == maxFilterRules+1 {
			c.fail(path, "a filter must have at most %d rules", maxFilterRules)
		}
		return Filter{}
	}
	for _, m := range v.Members {
		if m.Key != "field" && m.Key != "condition" && m.Key != "value" {
			c.fail(path+"."+m.Key, "unknown field")
		}
	}
	name, cond := v.Get("field"), v.Get("condition")
	f := c.field(name.Text)
	switch {
	case name.Kind == shape.Absent:
		c.fail(path+".field", "required")
	case name.Kind != shape.String:
		c.fail(path+".field", "must be a string")
	case f == nil:
		c.fail(path+".field", "%s is not a field of %s", shape.Quote(name.Text), c.kind.Entity)
	}
	switch {
	case cond.Kind == shape.Absent:
		c.fail(path+".condition", "required")
		return Filter{}
	case cond.Kind != shape.String:
		c.fail(path+".condition", "must be a string")
		return Filter{}
	case name.Kind != shape.String || f == nil:
		return Filter{}
	}
	r := &Rule{Field: f, Condition: Condition(cond.Text)}
	if !slices.Contains(f.Conditions(), r.Condition) {
		c.fail(path+".condition", "%s is not a condition of %s; use one of: %s",
			shape.Quote(cond.Text), f.Key, join(f.Conditions()))
		return Filter{}
	}
	c.operands(r, v.Get("value"), path+".value")
	return Filter{Rule: r}
}

func join(cs []Condition) string {
	names := make([]string, len(cs))
	for i, c := range cs {
		names[i] = string(c)
	}
	return strings.Join(names, ", ")
}
