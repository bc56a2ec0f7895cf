package filter

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
	AtLeast     Condition = "at_least"
	AtMost      Condition = "at_most"
	Between     Condition = "between" // a list of two values, both included
	IsBefore    Condition = "is_before"
	IsAfter     Condition = "is_after"
	IsEmpty     Condition = "is_empty"
	IsNotEmpty  Condition = "is_not_empty"
)

// AllConditions lists every condition that some type of field accepts.
var AllConditions = []Condition{
	Is, IsNot, Equals, Contains, NotContains, IsEmpty, IsNotEmpty, IsBefore, IsAfter, GreaterThan, LessThan,
	AtLeast, AtMost, Between,
}

var conditionsByType = map[shape.Type][]Condition{
	shape.TypeText:      {Is, IsNot, Equals, Contains, NotContains, IsEmpty, IsNotEmpty},
	shape.TypeEnum:      {Is, IsNot, IsEmpty, IsNotEmpty},
	shape.TypeMulti:     {Is, IsNot, Contains, NotContains, IsEmpty, IsNotEmpty},
	shape.TypeNumber:    {Is, IsNot, Equals, GreaterThan, LessThan, AtLeast, AtMost, Between, IsEmpty, IsNotEmpty},
	shape.TypeDate:      {Is, IsBefore, IsAfter, GreaterThan, LessThan, AtLeast, AtMost, Between, IsEmpty, IsNotEmpty},
	shape.TypeDateTime:  {Is, IsBefore, IsAfter, GreaterThan, LessThan, AtLeast, AtMost, Between, IsEmpty, IsNotEmpty},
	shape.TypeBoolean:   {Is, IsNot, Equals, IsEmpty, IsNotEmpty},
	shape.TypeReference: {Is, IsNot, IsEmpty, IsNotEmpty},
}

// Conditions returns the conditions that the field accepts.
func (f *Field) Conditions() []Condition { return conditionsByType[f.Type] }

// AcceptsList reports whether a rule on the field with the condition may have a list of values.
func (f *Field) AcceptsList(c Condition) bool {
	return c == Is || c == IsNot || c == Between || f.Type == shape.TypeMulti
}
