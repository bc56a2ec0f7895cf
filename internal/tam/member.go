package tam

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/internal/research"
	"prospector/internal/shape"
	"prospector/store"
)

// Why a member is left out.
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

// Member is one row of a Preview: a company, or a person of the company before it.
type Member struct {
	MemberID                   uuid.UUID               `json:"member_id" rule:"required"`
	SourceOrdinal              int                     `json:"source_ordinal"`
	Kind                       string                  `json:"kind" rule:"enum=company|person"`
	SourceID                   shape.Text              `json:"source_id"`
	CompanyID                  shape.Text              `json:"company_id"`
	Selected                   bool                    `json:"selected" doc:"It is importable, and was not removed."`
	IsImportable               bool                    `json:"is_importable"`
	IsQualified                *bool                   `json:"is_qualified" doc:"The verdict of the Qualifier; null without an answer."`
	PreparationExclusionReason shape.Text              `json:"preparation_exclusion_reason" rule:"enum=ALREADY_IN_TAM|SUPPRESSED|NO_MATCHING_TITLES|QUALIFIER_NOT_MATCHED"`
	IsDuplicateSourceRow       bool                    `json:"is_duplicate_source_row"`
	Existing                   *bool                   `json:"existing"`
	ExclusionReason            shape.Text              `json:"exclusion_reason" rule:"enum=QUALIFIER_FAILED|EXCLUDED_BY_USER"`
	Data                       shape.Value             `json:"data" rule:"required,component=MemberData" doc:"The fields of the catalogue; of a person also company_name."`
	Qualification              *research.Qualification `json:"qualification"`
}

// row is a member on its way into the store.
type row struct {
	ordinal   int
	person    bool
	source    string // its id in the catalogue
	company   string // that of its company
	website   string // of a company
	duplicate bool
	existing  bool
	// employerExisting of a person is existing of the company.
	employerExisting bool
	reason           string // of preparation
	failed           bool   // research gave no answer, and nothing else was against it
	verdict          *verdict
	data             string // JSON
	companyName      string // what data has beside its own fields, of a person
}

func (r *row) importable() bool { return !r.duplicate && r.reason == "" && !r.failed }

// verdict is what the Qualifier says of a company, and so of its people.
type verdict struct {
	qualified     *bool  // nil without an answer
	qualification []byte // JSON
}

// judge gives a row a verdict, which is a reason against it where there is none before.
func (r *row) judge(v *verdict) {
	kept := r.importable()
	switch r.verdict = v; {
	case !kept:
	case v.qualified == nil:
		r.failed = true
	case !*v.qualified:
		r.reason = notMatched
	}
}

// A stored member is a byte of flags and the JSON of the member up to what changes: whether it is selected, and the reason
// when not.
const (
	flagImportable = 1 << iota
	flagFailed     // research failed
)

// encode gives the member as it is stored, behind the room that the store wants.
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
	b = quoted(b, r.source)
	b = append(b, `,"company_id":`...)
	b = quoted(b, r.company)
	b = append(b, `,"is_importable":`...)
	b = strconv.AppendBool(b, r.importable())
	b = append(b, `,"is_qualified":`...)
	b = append(b, qualified...)
	b = append(b, `,"preparation_exclusion_reason":`...)
	b = quoted(b, r.reason)
	b = append(b, `,"is_duplicate_source_row":`...)
	b = strconv.AppendBool(b, r.duplicate)
	b = append(b, `,"existing":`...)
	b = strconv.AppendBool(b, r.existing)
	b = append(b, `,"data":`...)
	b = r.appendData(b)
	b = append(b, `,"qualification":`...)
	return append(b, qualification...)
}

// appendData appends the fields of the catalogue, to those of a person the name of the company.
func (r *row) appendData(b []byte) []byte {
	if !r.person {
		return append(b, r.data...)
	}
	b = append(b, r.data[:len(r.data)-1]...) // without the brace
	b = append(b, `,"company_name":`...)
	return append(quoted(b, r.companyName), '}')
}

// quoted appends a text as JSON; an empty one is null.
func quoted(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	b, _ = jsontext.AppendQuote(b, s) // a text of the store is valid UTF-8
	return b
}

// sourceOf is the source_id of a stored member.
func sourceOf(stored []byte) (string, error) {
	var m struct {
		SourceID string `json:"source_id"`
	}
	err := json.Unmarshal(append(slices.Clone(stored[1:]), '}'), &m)
	return m.SourceID, err
}

// appendMember appends a stored member as it is answered.
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
	return append(quoted(b, reason), '}')
}
