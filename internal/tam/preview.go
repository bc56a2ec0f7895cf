package tam

import (
	"encoding/binary"
	"math"

	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

// Status is where a Preview is on its way.
type Status string

const (
	Preparing Status = "PREPARING"
	Ready     Status = "READY"
	Failed    Status = "FAILED"
	Cancelled Status = "CANCELLED"
)

// Why a Preview failed.
const (
	catalogueEmpty = "catalogue_empty"
	tooManyMembers = "too_many_members"
	signalDeleted  = "signal_deleted"
	viewDeleted    = "view_deleted"
	tagDeleted     = "tag_deleted"
	internalFault  = "internal"
)

// Preview is a fixed selection of companies and people, as it is listed. Its members are kept beside it.
type Preview struct {
	PreviewID         uuid.UUID          `json:"preview_id" label:"Preview ID" rule:"required"`
	RequestID         uuid.UUID          `json:"request_id" label:"Request ID" rule:"required"`
	Status            Status             `json:"status" rule:"required,enum=PREPARING|READY|FAILED|CANCELLED"`
	Request           *PreviewRequest    `json:"request" rule:"required"`
	Result            *PreviewResult     `json:"result" doc:"Null before READY."`
	FailureReason     shape.Text         `json:"failure_reason" rule:"enum=catalogue_empty|too_many_members|signal_deleted|view_deleted|tag_deleted|internal" doc:"Why it is FAILED: the catalogue had nothing, there were more than 500,000 members, or something that the request named was deleted. Another try needs another request_id."`
	OperationID       uuid.NullUUID      `json:"operation_id" label:"Operation ID" doc:"The Import that was accepted."`
	Totals            *PreviewTotals     `json:"totals" doc:"Null before READY."`
	ContactsByAccount *ContactsByAccount `json:"contacts_by_account" doc:"The selected people by whether the Account of their employer is new; null before READY."`
	Research          *Research          `json:"research"`
	Balance           *Balance           `json:"tam_import_balance" label:"TAM import balance" doc:"Deprecated, and null: reading a Preview calculates no balance."`
	Progress          shape.Number       `json:"progress" doc:"From 0 to 1."`
	CreatedAt         shape.Time         `json:"created_at" rule:"required"`
	UpdatedAt         shape.Time         `json:"updated_at" rule:"required"`

	kept kept
}

// kept is what a Preview keeps and does not show.
type kept struct {
	Named   resolved `json:"named"`
	Ready   bool     `json:"ready,omitzero"`
	Members int      `json:"members"`
	Pages   int      `json:"pages"` // of the directory, see directory.go
}

// Private is kept beside the record and never answered.
func (p *Preview) Private() any { return &p.kept }

// PreviewResult is what became of the rows that a Preview is made of.
type PreviewResult struct {
	Accounts  Counts                 `json:"accounts"`
	Contacts  Counts                 `json:"contacts"`
	Qualifier *QualifierAvailability `json:"qualifier"`
}

// Counts are rows of one kind: matched = eligible + duplicate_source_rows + the sum of exclusions, eligible = new + existing.
type Counts struct {
	Matched    int            `json:"matched" doc:"The member rows: of people only those at companies that are neither duplicates nor left out before people are looked at."`
	Eligible   int            `json:"eligible"`
	New        int            `json:"new"`
	Existing   int            `json:"existing"`
	Duplicates int            `json:"duplicate_source_rows"`
	Exclusions map[string]int `json:"exclusions" doc:"How many are left out, by the reason."`
}

// QualifierAvailability is whether companies could be researched.
type QualifierAvailability struct {
	Available bool       `json:"available"`
	Signal    Signal     `json:"signal"`
	Reason    shape.Text `json:"reason"`
}

// PreviewTotals are the counts of the whole Preview.
type PreviewTotals struct {
	Companies CompanyTotals `json:"companies"`
	People    PersonTotals  `json:"people"`
}

// CompanyTotals are those of companies.
type CompanyTotals struct {
	Matched  int `json:"matched"`
	Eligible int `json:"eligible"`
	New      int `json:"new"`
	Existing int `json:"existing"`
	Excluded int `json:"excluded"`
}

// PersonTotals are those of people.
type PersonTotals struct {
	Matched  int `json:"matched"`
	Eligible int `json:"eligible"`
	Excluded int `json:"excluded"`
}

// ContactsByAccount is the people who are selected, by whether their employer's Account is new.
type ContactsByAccount struct {
	NewAccounts      ContactCounts `json:"new_accounts"`
	ExistingAccounts ContactCounts `json:"existing_accounts"`
}

// ContactCounts are people by whether they are Contacts already.
type ContactCounts struct {
	New      int `json:"new"`
	Existing int `json:"existing"`
	Total    int `json:"total"`
}

// Research is how far the Qualifier's research is.
type Research struct {
	Status     ResearchStatus `json:"status" rule:"required,enum=not_started|dispatched|running|completed|failed|skipped"`
	Reason     shape.Text     `json:"reason" doc:"Why not one company could be asked about, or why most failed of those of which there is not one answer."`
	FieldID    uuid.NullUUID  `json:"field_id"`
	FieldName  shape.Text     `json:"field_name"`
	Question   shape.Text     `json:"question"`
	Passed     shape.Number   `json:"passed" rule:"integer,min=0"`
	NotMatched shape.Number   `json:"not_matched" rule:"integer,min=0"`
	Failed     shape.Number   `json:"failed" rule:"integer,min=0"`
	StartedAt  shape.Time     `json:"started_at"`
	FinishedAt shape.Time     `json:"finished_at"`
	Cost       *Cost          `json:"cost" doc:"The estimate while PREPARING, the actual cost once READY."`
}

// ResearchStatus is how far research is.
type ResearchStatus string

const (
	researchNotStarted ResearchStatus = "not_started"
	researchDispatched ResearchStatus = "dispatched" // the first question is being sent
	researchRunning    ResearchStatus = "running"    // the first answer is in
	researchCompleted  ResearchStatus = "completed"
	researchFailed     ResearchStatus = "failed" // not one company could be asked about
	researchSkipped    ResearchStatus = "skipped"
)

// Cost is what research costs, in AI signal credits.
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

// cost is what so many answers about so many companies cost.
func (t *TAM) cost(companies, units int) Cost {
	return Cost{
		UnitProduct: "ai_signal", RateBasis: "list", UnitRate: shape.NumberOf(t.UnitRate),
		Companies: shape.NumberOf(float64(companies)), Units: shape.NumberOf(float64(units)),
	}
}

// credits is what so many answers cost, without the noise of fractions that are not binary.
func (t *TAM) credits(units int) shape.Number {
	const parts = 1e6
	return shape.NumberOf(math.Round(float64(units)*t.UnitRate*parts) / parts)
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

// Balance is how much of the month's limits Imports have used.
type Balance struct {
	BillingMode string         `json:"billing_mode" rule:"enum=platform|usage_based"`
	Limited     bool           `json:"limited"`
	Period      BalancePeriod  `json:"period"`
	Accounts    BalanceCounter `json:"accounts"`
	Contacts    BalanceCounter `json:"contacts"`
	Exceeded    *bool          `json:"exceeded"`
}

// BalancePeriod is the month that is counted.
type BalancePeriod struct {
	Kind  string     `json:"kind" rule:"enum=calendar_month"`
	Start shape.Time `json:"start" rule:"required"`
	End   shape.Time `json:"end" rule:"required"`
}

// BalanceCounter is the balance of one kind of record; a limit of null is none.
type BalanceCounter struct {
	Limit       shape.Number `json:"limit" rule:"integer"`
	Used        int          `json:"used"`
	Remaining   shape.Number `json:"remaining" rule:"integer"`
	WouldAdd    shape.Number `json:"would_add" rule:"integer"`
	AfterImport shape.Number `json:"after_import" rule:"integer"`
	OverBy      shape.Number `json:"over_by" rule:"integer"`
}

const byRequest = "request"

func newPreviews() *store.Table[Preview] {
	return store.NewTable("previews", []store.Unique[Preview]{{
		Name: byRequest, Of: func(p *Preview) []byte { return p.RequestID[:] },
	}}, nil)
}

// The members of a Preview have ids that hold their ordinal: the first half is the Preview's, which no other id has, and the
// second the ordinal and some of the Preview's random bits. So a member is found by its id with nothing to look up, and a
// preparation that starts over gives the same ids.

func memberID(preview uuid.UUID, ordinal int) uuid.UUID {
	id := preview
	id[8] = preview[8]&0xc0 | preview[15]&0x3f // the variant stays
	binary.BigEndian.PutUint32(id[9:], uint32(ordinal))
	return id
}

// ordinalOf gives the ordinal in a member's id, -1 for an id that is none of the Preview's.
func ordinalOf(preview, member uuid.UUID) int {
	ordinal := int(binary.BigEndian.Uint32(member[9:]))
	if memberID(preview, ordinal) != member {
		return -1
	}
	return ordinal
}
