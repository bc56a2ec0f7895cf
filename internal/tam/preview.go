package tam

import (
	"encoding/binary"
	"math"

	"github.com/google/uuid"

	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// Status is the status of a Preview.
type Status string

const (
	Preparing Status = "PREPARING"
	Ready     Status = "READY"
	Failed    Status = "FAILED"
	Cancelled Status = "CANCELLED"
)

// The values of failure_reason.
const (
	catalogEmpty   = "catalogue_empty"
	tooManyMembers = "too_many_members"
	signalDeleted  = "signal_deleted"
	viewDeleted    = "view_deleted"
	tagDeleted     = "tag_deleted"
	internalError  = "internal"
)

// Preview is a fixed selection of companies and people of the catalog. Its members are stored
// separately.
type Preview struct {
	PreviewID         uuid.UUID          `json:"preview_id" label:"Preview ID" rule:"required"`
	RequestID         uuid.UUID          `json:"request_id" label:"Request ID" rule:"required"`
	Status            Status             `json:"status" rule:"required,enum=PREPARING|READY|FAILED|CANCELLED"`
	Request           *PreviewRequest    `json:"request" rule:"required"`
	Result            *PreviewResult     `json:"result" doc:"Null before READY."`
	FailureReason     shape.Text         `json:"failure_reason" rule:"enum=catalogue_empty|too_many_members|signal_deleted|view_deleted|tag_deleted|internal" doc:"Why the Preview is FAILED: the catalog is empty, there are more than 500,000 members, or something that the request refers to was deleted. To try again, use another request_id."`
	OperationID       uuid.NullUUID      `json:"operation_id" label:"Operation ID" doc:"The accepted Import of this Preview."`
	Totals            *PreviewTotals     `json:"totals" doc:"Null before READY."`
	ContactsByAccount *ContactsByAccount `json:"contacts_by_account" doc:"Selected people, grouped by whether the Account of their employer is new or exists. Null before READY."`
	Research          *Research          `json:"research"`
	Balance           *Balance           `json:"tam_import_balance" label:"TAM import balance" doc:"Deprecated. Always null, because reading a Preview does not calculate a balance."`
	Progress          shape.Number       `json:"progress" doc:"From 0 to 1."`
	AvailableTotal    shape.Number       `json:"available_total" rule:"integer" doc:"The number of companies in the catalog that the request describes. Null before they are counted."`
	Truncated         bool               `json:"truncated" doc:"There are more companies than search_input.max_candidates, so that some are missing."`
	CreatedAt         shape.Time         `json:"created_at" rule:"required"`
	UpdatedAt         shape.Time         `json:"updated_at" rule:"required"`

	private previewPrivate
}

// previewPrivate is the part of a Preview that is stored but never shown.
type previewPrivate struct {
	Named   resolved `json:"named"`
	Ready   bool     `json:"ready,omitzero"`
	Members int      `json:"members"`
	Pages   int      `json:"pages"` // of the directory, see member_directory.go
}

// Private returns the part of the record that is stored but never shown.
func (p *Preview) Private() any { return &p.private }

// PreviewResult counts the members of a Preview by the outcome of the preparation.
type PreviewResult struct {
	Accounts  Counts                 `json:"accounts"`
	Contacts  Counts                 `json:"contacts"`
	Qualifier *QualifierAvailability `json:"qualifier"`
	Available int                    `json:"available_total" doc:"The number of companies in the catalog that the request describes."`
	Truncated bool                   `json:"truncated" doc:"There are more companies than search_input.max_candidates, so that some are missing."`
	Rules     []RuleCount            `json:"rules" doc:"If no company matches: how many companies each rule leaves, together with all rules before it. Empty otherwise."`
}

// RuleCount is how many companies a rule of a request leaves, together with all rules before it.
type RuleCount struct {
	Path   string `json:"path" doc:"Where the rule is in the request. Rules of a view have the path of the view."`
	Leaves int    `json:"leaves"`
}

// Counts are the numbers of members of one kind. matched is the sum of eligible,
// duplicate_source_rows and all exclusions. eligible is the sum of new and existing.
type Counts struct {
	Matched    int            `json:"matched" doc:"All member rows. People are counted only at companies that are not duplicates and were not excluded before people were matched."`
	Eligible   int            `json:"eligible"`
	New        int            `json:"new"`
	Existing   int            `json:"existing"`
	Duplicates int            `json:"duplicate_source_rows"`
	Exclusions map[string]int `json:"exclusions" doc:"The number of excluded members by reason."`
}

// QualifierAvailability reports whether companies could be researched.
type QualifierAvailability struct {
	Available bool       `json:"available"`
	Signal    Signal     `json:"signal"`
	Reason    shape.Text `json:"reason"`
}

// PreviewTotals are the totals of a Preview.
type PreviewTotals struct {
	Companies CompanyTotals `json:"companies"`
	People    PersonTotals  `json:"people"`
}

// CompanyTotals are the totals of companies.
type CompanyTotals struct {
	Matched  int `json:"matched"`
	Eligible int `json:"eligible"`
	New      int `json:"new"`
	Existing int `json:"existing"`
	Excluded int `json:"excluded"`
}

// PersonTotals are the totals of people.
type PersonTotals struct {
	Matched  int `json:"matched"`
	Eligible int `json:"eligible"`
	Excluded int `json:"excluded"`
}

// ContactsByAccount counts the selected people by whether the Account of their employer is new or
// exists.
type ContactsByAccount struct {
	NewAccounts      ContactCounts `json:"new_accounts"`
	ExistingAccounts ContactCounts `json:"existing_accounts"`
}

// ContactCounts counts people by whether they are new or exist as Contacts.
type ContactCounts struct {
	New      int `json:"new"`
	Existing int `json:"existing"`
	Total    int `json:"total"`
}

// Research is the progress and the result of the Qualifier's research.
type Research struct {
	Status     ResearchStatus `json:"status" rule:"required,enum=not_started|dispatched|running|completed|failed|skipped"`
	Reason     shape.Text     `json:"reason" doc:"Why no provider could be asked. If a provider was asked but gave no answer at all, the most frequent reason of the failures."`
	FieldID    uuid.NullUUID  `json:"field_id"`
	FieldName  shape.Text     `json:"field_name"`
	Question   shape.Text     `json:"question"`
	Passed     shape.Number   `json:"passed" rule:"integer,min=0"`
	NotMatched shape.Number   `json:"not_matched" rule:"integer,min=0"`
	Failed     shape.Number   `json:"failed" rule:"integer,min=0"`
	StartedAt  shape.Time     `json:"started_at"`
	FinishedAt shape.Time     `json:"finished_at"`
	Cost       *Cost          `json:"cost" doc:"The estimate while the Preview is PREPARING, and the actual cost when it is READY."`
}

// ResearchStatus is the status of research.
type ResearchStatus string

const (
	researchNotStarted ResearchStatus = "not_started"
	researchDispatched ResearchStatus = "dispatched" // the first question is being asked
	researchRunning    ResearchStatus = "running"    // the first answer arrived
	researchCompleted  ResearchStatus = "completed"
	researchFailed     ResearchStatus = "failed" // no question reached a provider
	researchSkipped    ResearchStatus = "skipped"
)

// Cost is the cost of research, in AI signal credits.
type Cost struct {
	UnitProduct        string        `json:"unit_product"`
	Charged            bool          `json:"charged"`
	Companies          shape.Number  `json:"companies"`
	Units              shape.Number  `json:"units"`
	UnitRate           shape.Number  `json:"unit_rate"`
	Estimated          shape.Number  `json:"estimated_ai_signal_credits"`
	Actual             shape.Number  `json:"actual_ai_signal_credits"`
	RateBasis          string        `json:"rate_basis"`
	ChargedOperationID uuid.NullUUID `json:"charged_operation_id"`
}

// cost returns a Cost for a number of companies and answers, without credits.
func (t *TAM) cost(companies, units int) Cost {
	return Cost{
		UnitProduct: "ai_signal", RateBasis: "list", UnitRate: shape.NumberOf(t.UnitRate),
		Companies: shape.NumberOf(float64(companies)), Units: shape.NumberOf(float64(units)),
	}
}

// credits returns the price of a number of answers, rounded to hide floating-point noise.
func (t *TAM) credits(units int) shape.Number {
	const precision = 1e6
	return shape.NumberOf(math.Round(float64(units)*t.UnitRate*precision) / precision)
}

func (t *TAM) estimatedCost(companies int, qualified bool) Cost {
	units := companies
	if !qualified {
		units = 0
	}
	c := t.cost(companies, units)
	c.Estimated = t.credits(units)
	return c
}

const byRequest = "request"

func newPreviews() *store.Table[Preview] {
	return record.NewTable("previews", []store.Unique[Preview]{{
		Name: byRequest, Of: func(p *Preview) []byte { return p.RequestID[:] },
	}}, nil)
}

// memberID returns the id of a member, which contains its ordinal. The first half of the id is that
// of the Preview. The second half is the ordinal and some random bits of the Preview. A member is
// therefore found by its id without an index, and a preparation that starts over assigns the same
// ids.
func memberID(preview uuid.UUID, ordinal int) uuid.UUID {
	id := preview
	id[8] = preview[8]&0xc0 | preview[15]&0x3f // keeps the variant bits
	binary.BigEndian.PutUint32(id[9:], uint32(ordinal))
	return id
}

// ordinalOf returns the ordinal in the id of a member, or -1 if the id is not that of a member of
// the Preview.
func ordinalOf(preview, member uuid.UUID) int {
	ordinal := int(binary.BigEndian.Uint32(member[9:]))
	if memberID(preview, ordinal) != member {
		return -1
	}
	return ordinal
}
