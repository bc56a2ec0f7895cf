package outreach

import (
	"context"
	"time"

	"github.com/google/uuid"

	"prospector/internal/planner"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/internal/template"
	"prospector/store"
)

// SimulateBody selects the contacts of a simulation, and a page of the result.
type SimulateBody struct {
	ContactIDs shape.IDs `json:"contact_ids" rule:"nonempty,maxlen=10000" doc:"They need not be in an audience of the campaign. Defaults to all contacts in its audiences."`
	Page       int       `json:"page" rule:"min=1,default=1" doc:"The page number, starting at 1."`
	PageSize   int       `json:"page_size" rule:"min=1,max=500,default=50" doc:"The number of entries per page."`
}

// Simulation is what a campaign would do for a contact from now on.
type Simulation struct {
	ContactID uuid.UUID       `json:"contact_id"`
	Steps     []SimulatedStep `json:"steps"`
}

// SimulatedStep is a step of a simulation.
type SimulatedStep struct {
	StepIndex int               `json:"step_index"`
	Type      template.StepType `json:"type" rule:"enum=auto_email|manual_email|auto_linkedin_connection|auto_linkedin_message|call|task|gift"`
	Action    planner.Action    `json:"action" rule:"enum=send|task|skip|hold" doc:"hold: the email waits until its missing values are filled in, or the step waits for one that does, or the contact awaits confirmation."`
	Done      bool              `json:"done" doc:"The step has ended already, at due_at. Its text is not repeated."`
	DueAt     shape.Time        `json:"due_at" doc:"When the email is sent, given the daily cap and minimum gap of its sender, or when the Task is due. Null for a step that is never due."`
	Reason    string            `json:"reason" doc:"Why the step is due then, or why it is skipped or held."`
	Rendered
}

// Reasons why an email is skipped. The engine uses the same ones.
const (
	NoAddress = "the contact has no email address"
	NoOwner   = "the campaign has no owner to send it"
)

// Progress is the sequence of a contact in a campaign.
type Progress struct {
	ID       uuid.UUID
	Template *template.Compiled // the content that the sequence started with
	Start    time.Time
	History  []planner.StepHistory
	// Withheld, SkipMail and NotBefore are those of planner.Sequence, as far as the sequence itself tells.
	Withheld  []planner.Action
	SkipMail  string
	NotBefore time.Time
	HasTask   []bool // by position of the step: it has an open Task; nil if none has
	// Ended is why nothing more happens in the sequence: a reason of the API, and in words. It is
	// empty if the sequence continues.
	Ended, Description string
	// Awaits is set if the sequence has not started because its contact awaits confirmation. There is no Template then.
	Awaits bool
}

// SimulationPage is a page of a simulation.
type SimulationPage struct {
	JSON           []byte // a Simulation of each contact, separated by commas
	Page, PageSize int
	Total          int
	Summary        SimulationSummary
}

// Simulate computes what a campaign would do if it were active from now on: contacts continue their
// sequences, and those without one start now. It changes nothing and sends nothing, and assumes that
// Tasks are completed when they are due. Emails are planned behind what the sender has sent and behind
// the sender's other active campaigns. It leaves out contacts and campaigns that are damaged.
func (o *Outreach) Simulate(
	ctx context.Context, tx *store.Tx, campaign uuid.UUID, d record.Draft[SimulateBody],
) (page SimulationPage, err error) {
	doc, err := o.Campaigns.Get(tx, campaign)
	if err != nil {
		return page, err
	}
	s := &simulation{Outreach: o, ctx: ctx, tx: tx, campaign: &doc.Record, now: o.engine.Now(tx)}
	if err := s.prepare(); err != nil {
		return page, err
	}
	if err := s.readContacts(d); err != nil {
		return page, err
	}
	if err := s.plan(); err != nil {
		return page, err
	}
	body, _ := d.Open()
	page = SimulationPage{Page: body.Page, PageSize: body.PageSize, Total: len(s.contacts)}
	if page.Summary, err = s.summary(); err != nil {
		return page, err
	}
	from := len(s.contacts)
	if body.Page-1 <= len(s.contacts)/body.PageSize {
		from = min(from, (body.Page-1)*body.PageSize)
	}
	page.JSON, err = s.render(s.contacts[from:min(from+body.PageSize, len(s.contacts))])
	return page, err
}

// simulation is the simulation of a campaign.
type simulation struct {
	*Outreach
	ctx      context.Context
	tx       *store.Tx
	campaign *Campaign
	now, end time.Time
	newest   *template.Compiled // for contacts that start now
	skipMail reason             // why no email can be sent at all
	contacts []simulatedContact
	tokens   *TokenValues
}

// reason is why something does not happen: a reason of the API, and in words.
type reason struct{ key, text string }

// prepare reads what all contacts have in common.
func (s *simulation) prepare() error {
	c := s.campaign
	version, err := s.TemplateVersion(s.tx, c.TemplateID.UUID)
	if err != nil {
		return err
	}
	if s.newest, err = s.CompiledTemplate(s.tx, c.TemplateID.UUID, version); err != nil {
		return err
	}
	if s.end, err = s.CampaignEnd(s.tx, c); err != nil {
		return err
	}
	if !s.identity.Users.Table.Has(s.tx, c.OwnerID.UUID) { // a campaign created without a user has no owner
		s.skipMail = reason{"no_owner", NoOwner}
	}
	s.tokens = s.TokenValues(s.tx, c.OwnerID.UUID)
	return nil
}

// CampaignEnd returns the time from which on nothing is sent for a campaign. It is zero if the
// campaign has no end_date.
func (o *Outreach) CampaignEnd(tx *store.Tx, c *Campaign) (time.Time, error) {
	if c.EndDate == "" {
		return time.Time{}, nil
	}
	cal, err := o.Calendar(tx)
	if err != nil {
		return time.Time{}, err
	}
	return cal.DayAfter(string(c.EndDate))
}
