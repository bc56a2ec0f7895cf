package filter

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/shape"
)

// Match reports whether a record is in the list.
func (p *Plan) Match(r *Row) bool {
	return p.Members.Has(r.ID) && p.Filter.match(r) && p.matchWords(r)
}

func (f *Filter) match(r *Row) bool {
	if f.Rule != nil {
		return f.Rule.match(r.Value(f.Rule.Field))
	}
	if f.IsEmpty() {
		return true
	}
	for i := range f.Filters {
		if f.Filters[i].match(r) == f.Any {
			return f.Any
		}
	}
	return !f.Any
}

func (r *Rule) match(v *Value) bool {
	switch r.Condition {
	case IsEmpty:
		return !v.IsSet
	case IsNotEmpty:
		return v.IsSet
	case IsNot:
		return !v.IsSet || !r.equalsAny(v)
	case NotContains:
		return !v.IsSet || !r.MatchContains(v)
	case Contains:
		return v.IsSet && r.MatchContains(v)
	}
	return v.IsSet && r.equalsAny(v)
}

// equalsAny reports whether a value equals one of the operands, or lies in one of the spans.
func (r *Rule) equalsAny(v *Value) bool {
	switch r.Field.Type {
	case shape.TypeText, shape.TypeEnum, shape.TypeReference:
		return r.textSet[v.Text]
	case shape.TypeMulti:
		return slices.ContainsFunc(*v.List, func(s string) bool { return r.textSet[s] })
	}
	for _, span := range r.Spans {
		if v.Num >= span.From && v.Num < span.To {
			return true
		}
	}
	return false
}

// MatchContains reports whether a text contains the operand, or a list contains all operands. The
// value must be set.
func (r *Rule) MatchContains(v *Value) bool {
	if r.Field.Type == shape.TypeText {
		return strings.Contains(v.Fold, r.Texts[0])
	}
	for t := range r.textSet {
		if !slices.Contains(*v.List, t) {
			return false
		}
	}
	return true
}

// matchWords reports whether each of the plan's words is the prefix of a word in the searched
// fields.
func (p *Plan) matchWords(r *Row) bool {
	for _, want := range p.Words {
		if !p.hasWord(r, want) {
			return false
		}
	}
	return true
}

// hasWord reports whether a word in the searched fields begins with want.
func (p *Plan) hasWord(r *Row, want string) bool {
	for i := range p.Kind.Fields {
		if p.Searches(&p.Kind.Fields[i]) && r.Values[i].hasWord(want) {
			return true
		}
	}
	for i := range r.Custom {
		if c := &r.Custom[i]; p.Searches(c.Field) && p.Custom.HasName(c.Field.Name) && c.Value.hasWord(want) {
			return true
		}
	}
	return false
}

// Searches reports whether the plan searches the field for its words. A list searches all texts. A
// selection searches the fields that are declared as searched.
func (p *Plan) Searches(f *Field) bool {
	if p.selection {
		return f.Searched
	}
	return f.Type == shape.TypeText && !f.isHidden
}

// Compare orders two records: by each sort key and, if all are equal, by CompareIDs.
func (p *Plan) Compare(a, b *Row) int {
	for _, key := range p.Sort {
		if c := CompareValues(a.Value(key.Field), b.Value(key.Field), key.Desc); c != 0 {
			return c
		}
	}
	return p.CompareIDs(a.ID, b.ID)
}

// CompareIDs orders two records that are equal in all sort keys: by id, in the direction of the
// last key.
func (p *Plan) CompareIDs(a, b uuid.UUID) int {
	return directed(bytes.Compare(a[:], b[:]), p.Sort[len(p.Sort)-1].Desc)
}

// CompareValues orders two values of one field. Values that are not set come last in both
// directions.
func CompareValues(a, b *Value, desc bool) int {
	switch {
	case a.IsSet && b.IsSet:
		if a.Num != b.Num {
			return directed(cmp.Compare(a.Num, b.Num), desc)
		}
		return directed(strings.Compare(a.Fold, b.Fold), desc)
	case a.IsSet:
		return -1
	case b.IsSet:
		return 1
	}
	return 0
}

func directed(order int, desc bool) int {
	if desc {
		return -order
	}
	return order
}
