package filter

import (
	"bytes"
	"slices"
	"time"

	"github.com/google/uuid"

	"prospector/internal/shape"
)

// Plan is a query compiled against a kind. Match and Compare define its result: the records that
// match, in the order of the sort.
type Plan struct {
	Page     int
	PageSize int

	Kind    *Kind
	Custom  *CustomFields
	Filter  Filter
	Sort    []SortKey // at least one
	Words   []string  // each must be the prefix of a word in the searched fields; folded, distinct
	Members *Members  // nil unless the plan is restricted by Within

	selection bool // compiled by CompileSelection: words are searched in other fields
}

// Filter is a rule or a combination of filters. The zero Filter matches every record.
type Filter struct {
	Rule    *Rule // if set, the other fields are not used
	Any     bool  // one of Filters must match, else all
	Filters []Filter
}

// IsEmpty reports whether the filter has no rule and no filters, and so matches every record.
func (f *Filter) IsEmpty() bool { return f.Rule == nil && len(f.Filters) == 0 }

// Rule is one comparison. The type of its field decides which operands it has.
type Rule struct {
	Field     *Field
	Condition Condition
	Texts     []string // texts, enum keys and ids; case-folded if the rule searches within a text, else canonical
	Spans     []Span   // numbers, booleans, dates and times

	textSet map[string]bool // Texts
}

// Span is a half-open interval: From is in it and To is not.
type Span struct{ From, To float64 }

// Members is the set of records that a plan is restricted to.
type Members struct{ IDs []uuid.UUID } // ascending

// Has reports whether the record is a member. A nil set has every record.
func (m *Members) Has(id uuid.UUID) bool {
	if m == nil {
		return true
	}
	_, found := slices.BinarySearchFunc(m.IDs, id, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return found
}

// Only returns a plan that matches only records with the given ids, which must be ascending. Ids
// that no record has are ignored.
func (p *Plan) Only(ids []uuid.UUID) *Plan {
	restricted := *p
	restricted.Members = &Members{ids}
	return &restricted
}

// And returns a plan that matches only records which other matches too. Both must be plans of lists of the same
// kind.
func (p *Plan) And(other *Plan) *Plan {
	restricted := *p
	restricted.Filter = allOf(other.Filter, p.Filter)
	restricted.Words = distinct(slices.Concat(p.Words, other.Words))
	return &restricted
}

// IsNewestFirst reports whether the plan lists all records, ordered by when they were created, the newest
// first.
func (p *Plan) IsNewestFirst() bool {
	return p.Filter.IsEmpty() && len(p.Words) == 0 && p.Members == nil && len(p.Sort) == 1 && p.Sort[0].Desc &&
		p.Sort[0].Field == p.Kind.Field("created_at")
}

// AppendCreated appends the member created_at of a record that was created at the time that its id has.
// An id never has an earlier time than its record, and ids are ascending. Records that have this member
// are therefore in the order of their ids, and every record with a lower id was created before.
func AppendCreated(b []byte, id uuid.UUID) []byte {
	sec, nsec := id.Time().UnixTime()
	return append(shape.At(time.Unix(sec, nsec)).AppendTo(append(b, `"created_at":"`...)), '"')
}

// Where returns a plan that matches only records with the id in the field. It panics if the kind
// does not have the field or the field does not hold ids.
func (p *Plan) Where(field string, id uuid.UUID) *Plan {
	f, text := p.Kind.Field(field), id.String()
	if f == nil || !f.HasUUIDs() {
		panic("filter: " + p.Kind.Entity + " have no ids in the field " + field)
	}
	rule := &Rule{Field: f, Condition: Is, Texts: []string{text}, textSet: map[string]bool{text: true}}
	restricted := *p
	restricted.Filter = allOf(Filter{Rule: rule}, p.Filter)
	return &restricted
}

// allOf returns a filter that matches the records which all filters match.
func allOf(filters ...Filter) (all Filter) {
	for _, f := range filters {
		if !f.IsEmpty() {
			all.Filters = append(all.Filters, f)
		}
	}
	return all
}
