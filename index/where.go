package index

import (
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
)

// Where restricts a plan to the records that have an id in a field.
func (p *Plan) Where(field string, id uuid.UUID) *Plan {
	var problems fault.Problems
	text := func(s string) shape.Value { return shape.Value{Kind: shape.String, Text: s} }
	rule := (&compiler{kind: p.kind, customs: p.customs, p: &problems}).rule(shape.Value{Kind: shape.Object, Members: []shape.Member{
		{Key: "field", Value: text(field)}, {Key: "condition", Value: text(string(Is))}, {Key: "value", Value: text(id.String())},
	}}, field)
	if err := problems.Err(); err != nil {
		panic("index: " + err.Error())
	}
	restricted := *p
	restricted.filter = Filter{subs: []Filter{rule}}
	if !p.filter.isEmpty() {
		restricted.filter.subs = append(restricted.filter.subs, p.filter)
	}
	return &restricted
}
