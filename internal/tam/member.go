package tam

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/internal/catalog"
	"prospector/internal/research"
	"prospector/internal/shape"
	"prospector/store"
)

// The reasons why members are excluded.
const (
	alreadyInTAM     = "ALREADY_IN_TAM"
	suppressed       = "SUPPRESSED"
	noMatchingTitles = "NO_MATCHING_TITLES"
	notMatched       = "QUALIFIER_NOT_MATCHED"
	qualifierFailed  = "QUALIFIER_FAILED"
	excludedByUser   = "EXCLUDED_BY_USER"
)

// The kinds of members.
const (
	kindCompany = "company"
	kindPerson  = "person"
)

// Member is one row of a Preview: a company, or a person at the last company before it.
type Member struct {
	MemberID                   uuid.UUID               `json:"member_id" rule:"required"`
	SourceOrdinal              int                     `json:"source_ordinal"`
	Kind                       string                  `json:"kind" rule:"enum=company|person"`
	SourceID                   shape.Text              `json:"source_id" rule:"personal=id"`
	CompanyID                  shape.Text              `json:"company_id" rule:"personal"`
	Selected                   bool                    `json:"selected" doc:"The member is importable and was not excluded."`
	IsImportable               bool                    `json:"is_importable"`
	IsQualified                *bool                   `json:"is_qualified" doc:"The verdict of the Qualifier. Null without an answer."`
	PreparationExclusionReason shape.Text              `json:"preparation_exclusion_reason" rule:"enum=ALREADY_IN_TAM|SUPPRESSED|NO_MATCHING_TITLES|QUALIFIER_NOT_MATCHED"`
	IsDuplicateSourceRow       bool                    `json:"is_duplicate_source_row"`
	Existing                   *bool                   `json:"existing"`
	ExclusionReason            shape.Text              `json:"exclusion_reason" rule:"enum=QUALIFIER_FAILED|EXCLUDED_BY_USER"`
	Data                       shape.Value             `json:"data" rule:"required,component=MemberData" doc:"The fields of the company or person in the catalog. A person also has company_name."`
	Qualification              *research.Qualification `json:"qualification"`
}

// PersonData is the data of a member that is a person.
type PersonData struct {
	catalog.Person
	CompanyName shape.Text `json:"company_name" rule:"personal"`
}

// row is a member that is being prepared.
type row struct {
	ordinal   int
	person    bool
	source    string // the catalog id
	company   string // the catalog id of its company
	website   string // of a company
	duplicate bool
	existing  bool
	// employerExisting is set for a person whose company is existing.
	employerExisting bool
	reason           string // the preparation_exclusion_reason
	failed           bool   // research gave no answer, and no other reason excludes the member
	verdict          *verdict
	data             string // the JSON of the catalog record
	companyName      string // added to the data of a person
}

func (r *row) importable() bool { return !r.duplicate && r.reason == "" && !r.failed }

// verdict is the verdict of the Qualifier on a company and its people.
type verdict struct {
	qualified     *bool  // nil without an answer
	qualification []byte // JSON
}

// applyVerdict sets the verdict. It excludes the row if nothing else does and the verdict is not
// positive.
func (r *row) applyVerdict(v *verdict) {
	importable := r.importable()
	switch r.verdict = v; {
	case !importable:
	case v.qualified == nil:
		r.failed = true
	case !*v.qualified:
		r.reason = notMatched
	}
}

// A stored member is a byte of flags and the JSON of the member without its end. The end depends on
// whether the user excluded the member, and is added by appendMember.
const (
	flagImportable = 1 << iota
	flagFailed     // research failed
)

// encode returns the member as it is stored, after the header space that the store requires.
func (r *row) encode(preview uuid.UUID) []byte {
	kind, flags := kindCompany, byte(0)
	if r.person {
		kind = kindPerson
	}
	if r.importable() {
		flags |= flagImportable
	}
	if r.failed {
		flags |= flagFailed
	}
	qualified, qualification := "null", []byte("null")
	if r.verdict != nil {
		qualification = r.verdict.qualification
		if r.verdict.qualified != nil {
			qualified = strconv.FormatBool(*r.verdict.qualified)
		}
	}
	b := make([]byte, 0, len(r.data)+len(r.source)+len(r.company)+len(r.companyName)+len(qualification)+384)
	b = append(b, make([]byte, store.PutReserve)...)
	b = append(b, flags)
	b = append(b, `{"member_id":"`...)
	b = append(b, memberID(preview, r.ordinal).String()...)
	b = append(b, `","source_ordinal":`...)
	b = strconv.AppendInt(b, int64(r.ordinal), 10)
	b = append(b, `,"kind":"`...)
	b = append(b, kind...)
	b = append(b, `","source_id":`...)
	b = appendString(b, r.source)
	b = append(b, `,"company_id":`...)
	b = appendString(b, r.company)
	b = append(b, `,"is_importable":`...)
	b = strconv.AppendBool(b, r.importable())
	b = append(b, `,"is_qualified":`...)
	b = append(b, qualified...)
	b = append(b, `,"preparation_exclusion_reason":`...)
	b = appendString(b, r.reason)
	b = append(b, `,"is_duplicate_source_row":`...)
	b = strconv.AppendBool(b, r.duplicate)
	b = append(b, `,"existing":`...)
	b = strconv.AppendBool(b, r.existing)
	b = append(b, `,"data":`...)
	b = r.appendData(b)
	b = append(b, `,"qualification":`...)
	return append(b, qualification...)
}

// appendData appends the catalog record and, for a person, the name of the company.
func (r *row) appendData(b []byte) []byte {
	if !r.person {
		return append(b, r.data...)
	}
	b = append(b, r.data[:len(r.data)-1]...) // without the closing brace
	b = append(b, `,"company_name":`...)
	return append(appendString(b, r.companyName), '}')
}

// appendString appends a string as JSON. An empty string becomes null.
func appendString(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	b, _ = jsontext.AppendQuote(b, s) // stored strings are valid UTF-8
	return b
}

// sourceIDOf returns the source_id of a stored member.
func sourceIDOf(stored []byte) (string, error) {
	var m struct {
		SourceID string `json:"source_id"`
	}
	err := json.Unmarshal(append(slices.Clone(stored[1:]), '}'), &m)
	return m.SourceID, err
}

// preparationReason precedes the reason in a stored member. No string of the member contains it, because quotes are
// escaped there.
const preparationReason = `"preparation_exclusion_reason":"`

// reasonOf returns why a stored member is excluded, if it is. removed reports whether the user excluded it.
func reasonOf(stored []byte, removed bool) string {
	switch _, rest, found := bytes.Cut(stored[1:], []byte(preparationReason)); {
	case removed:
		return excludedByUser
	case stored[0]&flagFailed != 0:
		return qualifierFailed
	case found:
		reason, _, _ := bytes.Cut(rest, []byte(`"`))
		return string(reason)
	}
	return ""
}

// appendMember appends the JSON of a stored member. removed reports whether the user excluded it.
func appendMember(b, stored []byte, removed bool) []byte {
	flags, reason := stored[0], ""
	switch {
	case removed:
		reason = excludedByUser
	case flags&flagFailed != 0:
		reason = qualifierFailed
	}
	b = append(b, stored[1:]...)
	b = append(b, `,"selected":`...)
	b = strconv.AppendBool(b, flags&flagImportable != 0 && !removed)
	b = append(b, `,"exclusion_reason":`...)
	return append(appendString(b, reason), '}')
}
