package outreach

import (
	"slices"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// CampaignStatus is the stage of a campaign.
type CampaignStatus string

const (
	CampaignDraft     CampaignStatus = "draft"
	CampaignActive    CampaignStatus = "active"
	CampaignPaused    CampaignStatus = "paused"
	CampaignCompleted CampaignStatus = "completed"
	CampaignArchived  CampaignStatus = "archived"
)

// transitions are the statuses that can follow each status. Every status can become archived.
var transitions = map[CampaignStatus][]CampaignStatus{
	CampaignDraft:  {CampaignActive},
	CampaignActive: {CampaignPaused, CampaignCompleted},
	CampaignPaused: {CampaignActive, CampaignCompleted},
}

// MissingValues is what happens to an email in which a token without a fallback has no value.
type MissingValues string

const (
	HoldMissing MissingValues = "hold" // its step waits for the value
	SendMissing MissingValues = "send" // it is sent with nothing in that place
	SkipMissing MissingValues = "skip" // its step is skipped
)

// Admit is what becomes of newcomers when one change brings many into a campaign that has been active.
type Admit string

const (
	AdmitAsk       Admit = "ask"       // they await confirmation
	AdmitAutomatic Admit = "automatic" // they start
)

// Campaign runs a sequence template for the contacts of audiences.
type Campaign struct {
	record.Head
	Name         string         `json:"name" rule:"required,maxlen=255,line"`
	Status       CampaignStatus `json:"status" rule:"default=draft,enum=draft|active|paused|completed|archived" doc:"A new campaign is draft, active or paused. A draft can become active. An active campaign can become paused or completed, a paused one active or completed. Every campaign can be archived, and a completed or archived one can be reopened."`
	Prioritized  bool           `json:"prioritized" doc:"Its messages are sent before those of the sender's other campaigns."`
	EndDate      shape.Date     `json:"end_date" doc:"The last day on which anything is sent, in the organization's time zone."`
	TemplateID   uuid.NullUUID  `json:"template_id" label:"Template" rule:"required,ref=sequence-templates" doc:"Can be changed while the campaign is a draft."`
	TemplateName string         `json:"template_name" rule:"readonly"`
	Audiences    []AudienceName `json:"audiences" rule:"readonly"`
	OwnerID      uuid.NullUUID  `json:"owner_id" label:"Owner" rule:"ref=users" doc:"The sender. Defaults to the user of the API key."`
	// MissingValues is what happens to an email in which a token without a fallback has no value.
	MissingValues MissingValues `json:"missing_values" rule:"default=hold,enum=hold|send|skip" doc:"What happens to an email in which a token without a fallback has no value: its step is held until there is one, it is sent with nothing in that place, or its step is skipped."`
	// Admit is what becomes of newcomers when one change brings many.
	Admit     Admit      `json:"admit" rule:"default=ask,enum=ask|automatic" doc:"What happens when one change, such as an import or a new filter, would add more than 50 people and more than a fifth of those that the campaign had: they wait until you admit them, or they start."`
	Newcomers int        `json:"newcomers" rule:"readonly" doc:"How many people await confirmation. Admit them to start their sequences."`
	Transport shape.Text `json:"transport" rule:"readonly,enum=outbox|smtp" doc:"What the campaign runs with: outbox captures messages and sends nothing. Null while the campaign has never been active."`
	Held      *Hold      `json:"held" rule:"readonly" doc:"Why nothing is sent for the campaign until it is released. Null if it is not held."`

	// AudienceIDs are the audiences that a new campaign starts with.
	AudienceIDs shape.IDs `json:"-" input:"audience_ids" rule:"required,ref=audiences,maxlen=1000"`

	state campaignState
}

// AudienceName is an audience as campaigns show it.
type AudienceName struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
}

// campaignState is the private part of a campaign.
type campaignState struct {
	// Begun is set once the campaign has been active. From then on every contact in its audiences
	// has a sequence.
	Begun bool `json:"begun,omitzero"`
	// Asking is the job that gives a reopened campaign the contacts who joined while it had ended. Until it is done,
	// everybody who is not named awaits confirmation.
	Asking uuid.UUID `json:"asking,omitzero"`
	// Releasing is set while a job applies what the release of the campaign decided. Nothing is sent
	// until the job has ended.
	Releasing bool `json:"releasing,omitzero"`
	// Suspended is the hold that the campaign had when it ended. It holds the campaign again if that is
	// reopened.
	Suspended *Hold `json:"suspended,omitzero"`
	// Reopening is the job that lets the sequences of a reopened campaign continue. Nothing is sent
	// until it has ended.
	Reopening uuid.UUID `json:"reopening,omitzero"`
	// Restored was set by the first edition in a campaign that was active in a restored backup, and
	// that it paused.
	Restored bool `json:"restored,omitzero"`
}

// Private returns the part that is stored beside the record and never shown.
func (c *Campaign) Private() any { return &c.state }

// HasAudience reports whether an audience is attached to the campaign.
func (c *Campaign) HasAudience(audience uuid.UUID) bool {
	return slices.ContainsFunc(c.Audiences, func(a AudienceName) bool { return a.ID == audience })
}

// IsRunning reports whether the campaign is active or paused.
func (c *Campaign) IsRunning() bool { return c.Status == CampaignActive || c.Status == CampaignPaused }

// IsSending reports whether the campaign is active and nothing holds it.
func (c *Campaign) IsSending() bool {
	return c.Status == CampaignActive && c.Held == nil && !c.state.Releasing && !c.IsReopening()
}

// IsReopening reports whether the sequences of a reopened campaign are being prepared to continue.
func (c *Campaign) IsReopening() bool { return c.state.Reopening != uuid.Nil }

// HasBegun reports whether the campaign is or has been active, and has not ended.
func (c *Campaign) HasBegun() bool {
	return c.IsRunning() && (c.Status == CampaignActive || c.state.Begun)
}

// IsAsking reports whether everybody who joins now awaits confirmation.
func (c *Campaign) IsAsking() bool { return c.state.Asking != uuid.Nil }

// IsFinished reports whether the campaign is completed or archived.
func (c *Campaign) IsFinished() bool {
	return c.Status == CampaignCompleted || c.Status == CampaignArchived
}

// The keys by which campaigns are found. Those of references come with their fields.
const (
	byAudience = "audience"
	byStatus   = "status"
	byTemplate = "template_id"
	byOwner    = "owner_id"
)

func (o *Outreach) campaignRules() record.Rules[Campaign] {
	return record.Rules[Campaign]{
		Object: "campaign", Entity: "campaigns", Example: campaignExample, Check: o.checkCampaign,
		History: record.HistoryRules{KeepsValues: true, IsMinor: isCampaignMinor},
		Trash:   &record.TrashRules[Campaign]{BeforeRestore: o.reviveCampaign},
		Events: record.EventRules[Campaign]{
			NoDelete: true,
			More: []store.Trigger{
				{Event: "activated", Description: "A campaign became active."},
				{Event: "paused", Description: "A campaign was paused or reopened.", Example: campaignAs(CampaignPaused)},
				{
					Event: "completed", Example: campaignAs(CampaignCompleted),
					Description: "A campaign was completed, by a user or because its end_date has passed.",
				},
				{Event: "archived", Description: "A campaign was archived.", Example: campaignAs(CampaignArchived)},
				{
					Event: "held", Example: heldCampaign(),
					Description: "A campaign was held: nothing is sent for it until it is released. See held.",
				},
				{
					Event: "newcomers", Example: campaignWithNewcomers(),
					Description: "One change brought so many people into a campaign that they await confirmation. See newcomers.",
				},
				{Event: "released", Description: "A held campaign was released and continues."},
			},
			OfUpdate: func(before, after *Campaign) []string {
				switch {
				case before.Held == nil && after.Held != nil && becomesActive(before, after):
					return []string{"activated", "held"}
				case before.Held == nil && after.Held != nil:
					return []string{"held"}
				case before.Held != nil && after.Held == nil && !after.IsFinished():
					return []string{"released"}
				case before.Status == after.Status:
					return []string{"updated"}
				case after.Status == CampaignActive:
					return []string{"activated"}
				}
				return []string{string(after.Status)}
			},
		},
		Keys: []store.Key[Campaign]{{Name: byAudience, Of: func(_ *store.Tx, c *Campaign) ([][]byte, error) {
			var keys [][]byte
			for i := range c.Audiences {
				keys = append(keys, c.Audiences[i].ID[:])
			}
			return keys, nil
		}}, store.TextKey(byStatus, func(c *Campaign) string { return string(c.Status) })},
		MayDelete: func(_ *store.Tx, c *Campaign) error {
			if c.Status != CampaignDraft && c.Status != CampaignArchived {
				return fault.New(fault.InvalidTransition, "the campaign is %s: archive it before you delete it", c.Status)
			}
			return nil
		},
	}
}

// checkCampaign refuses changes of status and template that are not allowed, and derives the fields
// that follow from the others.
func (o *Outreach) checkCampaign(tx *store.Tx, before, c *Campaign, p *fault.Problems) error {
	if !c.OwnerID.Valid {
		c.OwnerID = actingUser(tx)
	}
	if before == nil && c.IsFinished() {
		p.Invalid("status", "%q is not one of: draft, active, paused, which a new campaign can have", c.Status)
	}
	if p.Err() != nil { // the template or an audience may not exist
		return nil
	}
	if before == nil {
		for _, id := range c.AudienceIDs {
			if err := o.attach(tx, c, id); err != nil {
				return err
			}
		}
	} else if err := o.checkCampaignUpdate(before, c); err != nil {
		return err
	}
	if err := o.checkOwner(tx, before, c, p); err != nil || p.Err() != nil {
		return err
	}
	if before == nil || before.TemplateID != c.TemplateID {
		t, err := o.Templates.Get(tx, c.TemplateID.UUID)
		if err != nil {
			return err
		}
		c.TemplateName = t.Record.Name
	}
	if err := o.holdWithStore(tx, before, c); err != nil || before != nil {
		return err
	}
	o.markBegun(c)
	return nil
}

// UpdateCampaign updates a campaign. Setting the status of a held campaign to active is refused, also if
// it is active already.
func (o *Outreach) UpdateCampaign(
	tx *store.Tx, id uuid.UUID, cond record.Precondition, body shape.Value,
) (store.Doc[Campaign], error) {
	before, err := o.Campaigns.Get(tx, id)
	if err != nil {
		return before, err
	}
	doc, err := o.Campaigns.Update(tx, id, cond, body)
	if err == nil && before.Record.Held != nil && doc.Record.Held != nil && body.Get("status").Text == string(CampaignActive) {
		return doc, ErrHeld(&doc.Record)
	}
	return doc, err
}

// becomesActive reports whether a change makes a campaign active. before is nil for a new one.
func becomesActive(before, c *Campaign) bool {
	return c.Status == CampaignActive && (before == nil || before.Status != CampaignActive)
}

// checkOwner refuses an owner who cannot send, when the campaign gets its owner and when it becomes
// active.
func (o *Outreach) checkOwner(tx *store.Tx, before, c *Campaign, p *fault.Problems) error {
	isNew := before == nil || before.OwnerID != c.OwnerID
	if !c.OwnerID.Valid || !isNew && !becomesActive(before, c) {
		return nil
	}
	problem, err := o.identity.SenderProblem(tx, c.OwnerID.UUID)
	if problem != "" {
		p.Invalid("owner_id", "%s", problem)
	}
	return err
}

func (o *Outreach) checkCampaignUpdate(before, c *Campaign) error {
	hasNewStatus := before.Status != c.Status
	if hasNewStatus && c.Status != CampaignArchived && !slices.Contains(transitions[before.Status], c.Status) {
		return fault.New(fault.InvalidTransition, "status cannot change from %s to %s", before.Status, c.Status)
	}
	if before.TemplateID != c.TemplateID && before.Status != CampaignDraft {
		return fault.New(fault.InvalidTransition,
			"template_id can only change while the campaign is a draft: it is %s", before.Status)
	}
	if hasNewStatus && c.Status == CampaignActive && before.Held != nil {
		return ErrHeld(before)
	}
	if c.IsFinished() {
		c.suspendHold()
	}
	o.markBegun(c)
	return nil
}

// markBegun records that a campaign is active, and what it runs with.
func (o *Outreach) markBegun(c *Campaign) {
	if c.Status != CampaignActive || c.state.Begun {
		return
	}
	c.state.Begun = true
	c.Transport = shape.Text(o.engine.TransportName(c.OwnerID.UUID))
}
