package filter

import (
	"slices"

	"github.com/google/uuid"

	"prospector/internal/shape"
)

// EachRule calls fn for each rule of a filter that may be invalid.
func EachRule(v shape.Value, fn func(rule shape.Value)) {
	if v.Get("field").Kind != shape.Absent {
		fn(v)
	}
	for _, item := range v.Items {
		EachRule(item, fn)
	}
	for _, item := range v.Get("filters").Items {
		EachRule(item, fn)
	}
}

// RuleIDs returns the ids in the value of a rule.
func RuleIDs(rule shape.Value) (ids []uuid.UUID) {
	value := rule.Get("value")
	for _, v := range append(slices.Clone(value.Items), value) {
		if id, err := shape.ParseID(v.Text); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// Mentions reports whether a filter has a rule about a field that has an id as a value or, without an id, any rule about
// the field.
func Mentions(filters shape.Value, field, id string) (found bool) {
	EachRule(filters, func(rule shape.Value) {
		if rule.Get("field").Text != field {
			return
		}
		found = found || id == "" || slices.ContainsFunc(RuleIDs(rule), func(other uuid.UUID) bool { return other.String() == id })
	})
	return found
}
