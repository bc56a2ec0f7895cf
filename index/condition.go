package index

import "prospector/internal/shape"

// Condition is the name of a comparison in a filter rule.
type Condition string

const (
	Is          Condition = "is"
	IsNot       Condition = "is_not"
	Equals      Condition = "equals"
	Contains    Condition = "contains"
	NotContains Condition = "not_contains"
	GreaterThan Condition = "greater_than"
	LessThan    Condition = "less_than"
	IsBefore    Condition = "is_before"
	IsAfter     Condition = "is_after"
	IsEmpty     Condition = "is_empty"
	IsNotEmpty  Condition = "is_not_empty"
)

var conditions = map[shape.Type][]Condition{
	shape.TypeText:      {Is, IsNot, Equals, Contains, NotContains, IsEmpty, IsNotEmpty},
	shape.TypeEnum:      {Is, IsNot, IsEmpty, IsNotEmpty},
	shape.TypeMulti:     {Is, IsNot, Contains, NotContains, IsEmpty, IsNotEmpty},
	shape.TypeNumber:    {Is, IsNot, Equals, GreaterThan, LessThan, IsEmpty, IsNotEmpty},
	shape.TypeDate:      {Is, IsBefore, IsAfter, GreaterThan, LessThan, IsEmpty, IsNotEmpty},
	shape.TypeDateTime:  {Is, IsBefore, IsAfter, GreaterThan, LessThan, IsEmpty, IsNotEmpty},
	shape.TypeBoolean:   {Is, IsNot, Equals, IsEmpty, IsNotEmpty},
	shape.TypeReference: {Is, IsNot, IsEmpty, IsNotEmpty},
}

// AllConditions are the conditions of any type.
var AllConditions = []Condition{Is, IsNot, Equals, Contains, NotContains, IsEmpty, IsNotEmpty, IsBefore, IsAfter, GreaterThan, LessThan}

// Conditions are those that the field accepts.
func (f *Field) Conditions() []Condition { return conditions[f.Type] }

// takesList tells whether a rule may name several values.
func takesList(t shape.Type, c Condition) bool {
	return c == Is || c == IsNot || t == shape.TypeMulti
}
