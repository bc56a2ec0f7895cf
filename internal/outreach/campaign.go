package outreach

import (
	"slices"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// CampaignStatus is how far a campaign is.
type CampaignStatus string

const (
	CampaignDraft     CampaignStatus = "draft"
	CampaignActive    CampaignStatus = "active"
	CampaignPaused    CampaignStatus = "paused"
	CampaignCompleted CampaignStatus = "completed"
	CampaignArchived  CampaignStatus = "archived"
)

// moves are what a campaign of each status may become; archived it may become from every one.
var moves = map[CampaignStatus][]CampaignStatus{
	CampaignDraft:  {CampaignActive},
	CampaignActive: {CampaignPaused, CampaignCompleted},
	CampaignPaused: {CampaignActive, CampaignCompleted},
}

// Campaign runs a sequence template against audiences.
type Campaign struct {
	record.Head
	Name         string         `json:"name" rule:"required,maxlen=255"`
	Status       CampaignStatus `json:"status" rule:"default=draft,enum=draft|active|paused|completed|archived" doc:"draft becomes active; active and paused become each other and completed; every one becomes archived. A new campaign is draft, active or paused."`
	Prioritized  bool           `json:"prioritized" doc:"Its messages go before those of the sender's other campaigns."`
	EndDate      shape.Date     `json:"end_date" doc:"The last day on which anything goes out, in the organization's time zone."`
	TemplateID   uuid.NullUUID  `json:"template_id" label:"Template" rule:"required,ref=sequence-templates" doc:"Another can be chosen while the campaign is a draft."`
	TemplateName string         `json:"template_name" rule:"readonly"`
	Audiences    []AudienceName `json:"audiences" rule:"readonly"`
	OwnerID      uuid.NullUUID  `json:"owner_id" label:"Owner" rule:"ref=users" doc:"Who sends. The user of the key when nobody is named."`

	// AudienceIDs are the audiences that a new campaign begins with.
	AudienceIDs shape.IDs `json:"-" input:"audience_ids" rule:"required,ref=audiences,maxlen=1000"`

	held held
}

// AudienceName is an audience as a campaign names it.
type AudienceName struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
}

// held is what a campaign keeps to itself.
type held struct {
	// Restored says that it was active in a backup, and is paused since that was restored.
	Restored bool `json:"restored,omitzero"`
}

// Private is kept beside the record and never answered.
func (c *Campaign) Private() any { return &c.held }

// The keys under which campaigns stand beside what they refer to.
const (
	byAudience = "audience"
	byStatus   = "status"
)

func (o *Outreach) campaignRules() record.Rules[Campaign] {
	return record.Rules[Campaign]{
		Object: "campaign", Entity: "campaigns", Example: campaignExample, Check: o.checkCampaign, NoDeleteEvent: true,
		Triggers: []store.Trigger{
			{Event: "activated", Description: "A campaign became active."},
			{Event: "paused", Description: "A campaign was paused.", Example: campaignAs(CampaignPaused)},
			{Event: "completed", Description: "A campaign was completed, by hand or because its end_date has passed.", Example: campaignAs(CampaignCompleted)},
			{Event: "archived", Description: "A campaign was archived.", Example: campaignAs(CampaignArchived)},
		},
		UpdateEvents: func(before, after *Campaign) []string {
			switch {
			case before.Status == after.Status:
				return []string{"updated"}
			case after.Status == CampaignActive:
				return []string{"activated"}
			}
			return []string{string(after.Status)}
		},
		Keys: []store.Key[Campaign]{{Name: byAudience, Of: func(_ *store.Tx, c *Campaign) ([][]byte, error) {
			var keys [][]byte
			for i := range c.Audiences {
				keys = append(keys, c.Audiences[i].ID[:])
			}
			return keys, nil
		}}, store.TextKey(byStatus, func(c *Campaign) string { return string(c.Status) })},
		AfterUpdate: o.campaignChanged,
		MayDelete: func(_ *store.Tx, c *Campaign) error {
			if c.Status != CampaignDraft && c.Status != CampaignArchived {
				return fault.New(fault.InvalidTransition, "a campaign that is %s cannot be deleted: archive it first", c.Status)
			}
			return nil
		},
	}
}

// checkCampaign holds a campaign to the moves that it may make, and fills in what follows from what it names.
func (o *Outreach) checkCampaign(tx *store.Tx, before, c *Campaign, p *fault.Problems) error {
	if !c.OwnerID.Valid {
		c.OwnerID = actingUser(tx)
	}
	if before == nil && (c.Status == CampaignCompleted || c.Status == CampaignArchived) {
		p.Invalid("status", "must be one of draft, active, paused in a new campaign")
	}
	if p.Err() != nil { // what it names may not be there
		return nil
	}
	if before == nil {
		for _, id := range c.AudienceIDs {
			if err := o.attach(tx, c, id); err != nil {
				return err
			}
		}
	} else {
		if before.Status != c.Status && c.Status != CampaignArchived && !slices.Contains(moves[before.Status], c.Status) {
			return fault.New(fault.InvalidTransition, "status cannot become %s: the campaign is %s", c.Status, before.Status)
		}
		if before.TemplateID != c.TemplateID && before.Status != CampaignDraft {
			return fault.New(fault.InvalidTransition, "template_id cannot be changed: the campaign is %s", before.Status)
		}
		if before.Status != c.Status {
			c.held.Restored = false // somebody has decided
		}
	}
	if before == nil || before.TemplateID != c.TemplateID {
		t, err := o.Templates.Get(tx, c.TemplateID.UUID)
		if err != nil {
			return err
		}
		c.TemplateName = t.Record.Name
	}
	if before == nil && c.Status == CampaignActive {
		return o.start(tx, c)
	}
	return nil
}

// start begins the sequences of a campaign, and takes those further that have begun.
func (o *Outreach) start(tx *store.Tx, c *Campaign) error {
	if err := o.promiseBegin(tx, beginWork{Campaign: uuid.NullUUID{UUID: c.ID, Valid: true}}); err != nil {
		return err
	}
	return o.wake(tx)
}

// campaignChanged lets the sequences of a campaign begin, go on or end as it does.
func (o *Outreach) campaignChanged(tx *store.Tx, before, after *Campaign) error {
	lost := slices.ContainsFunc(before.Audiences, func(a AudienceName) bool { return !after.has(a.ID) })
	gained := slices.ContainsFunc(after.Audiences, func(a AudienceName) bool { return !before.has(a.ID) })
	if gained {
		if err := o.settled(tx); err != nil {
			return err
		}
	}
	if after.over() && after.Status != before.Status || lost {
		if err := o.recheckCampaign(tx, after.ID); err != nil {
			return err
		}
	}
	if after.Status == CampaignActive && before.Status != CampaignActive {
		return o.start(tx, after)
	}
	for _, a := range after.Audiences {
		if !before.has(a.ID) && after.Status == CampaignActive {
			work := beginWork{Campaign: uuid.NullUUID{UUID: after.ID, Valid: true}, Audience: uuid.NullUUID{UUID: a.ID, Valid: true}}
			if err := o.promiseBegin(tx, work); err != nil {
				return err
			}
		}
	}
	if !after.goesOn() {
		return nil
	}
	return o.wake(tx) // another owner, priority or end_date may have something be due
}

// attach adds an audience to those of a campaign.
func (o *Outreach) attach(tx *store.Tx, c *Campaign, audience uuid.UUID) error {
	doc, err := o.Audiences.Get(tx, audience)
	if err == nil {
		c.Audiences = append(slices.Clip(c.Audiences), AudienceName{ID: doc.ID, Name: doc.Record.Name})
	}
	return err
}

func (c *Campaign) has(audience uuid.UUID) bool {
	return slices.ContainsFunc(c.Audiences, func(a AudienceName) bool { return a.ID == audience })
}

// goesOn tells whether a campaign takes contacts through its template, or would if it were not paused.
func (c *Campaign) goesOn() bool { return c.Status == CampaignActive || c.Status == CampaignPaused }

// over tells whether a campaign takes nobody any more.
func (c *Campaign) over() bool { return c.Status == CampaignCompleted || c.Status == CampaignArchived }

// notEnrollable says that a campaign takes nobody.
func notEnrollable(c *Campaign) error {
	return fault.New(fault.CampaignNotEnrollable, "the campaign is %s: it takes nobody", c.Status)
}

// AudiencesBody names audiences.
type AudiencesBody struct {
	AudienceIDs shape.IDs `json:"audience_ids" rule:"required,maxlen=1000"`
}

// AttachAudiences adds audiences to a campaign; those that it has already are ignored.
func (o *Outreach) AttachAudiences(tx *store.Tx, id uuid.UUID, d record.Draft[AudiencesBody]) (store.Doc[Campaign], error) {
	body, p := d.Open()
	doc, err := o.Campaigns.Get(tx, id)
	if err != nil {
		return doc, err
	}
	rec := doc.Record
	for _, audience := range body.AudienceIDs {
		if rec.has(audience) {
			continue
		}
		why, err := o.Audiences.ReferenceProblem(tx, audience, o.Campaigns.Object)
		if err == nil && why == "" {
			err = o.attach(tx, &rec, audience)
		}
		if err != nil {
			return doc, err
		}
		if why != "" {
			p.Invalid(d.PathOf("audience_ids", audience), "%s", why)
		}
	}
	if err := p.Err(); err != nil {
		return doc, err
	}
	if rec.over() {
		return doc, notEnrollable(&rec)
	}
	return o.Campaigns.Replace(tx, doc, rec)
}

// DetachAudiences takes audiences from a campaign, which keeps at least one; those that it has not are ignored.
func (o *Outreach) DetachAudiences(tx *store.Tx, id uuid.UUID, body AudiencesBody) (store.Doc[Campaign], error) {
	doc, err := o.Campaigns.Get(tx, id)
	if err != nil {
		return doc, err
	}
	rec := doc.Record
	rec.Audiences = slices.DeleteFunc(slices.Clone(rec.Audiences), func(a AudienceName) bool { return slices.Contains(body.AudienceIDs, a.ID) })
	if len(rec.Audiences) == 0 {
		return doc, fault.New(fault.LastAudience, "a campaign keeps at least one audience: attach another first")
	}
	return o.Campaigns.Replace(tx, doc, rec)
}

// renameAudience writes the new name of an audience into the campaigns that have it. It follows from the audience, and is no change
// that anybody made to them.
func (o *Outreach) renameAudience(tx *store.Tx, a *Audience) error {
	return o.mention(tx, byAudience, a.ID, "audiences", func(c *Campaign) {
		c.Audiences = slices.Clone(c.Audiences)
		for i := range c.Audiences {
			if c.Audiences[i].ID == a.ID {
				c.Audiences[i].Name = a.Name
			}
		}
	})
}

// mention changes what the campaigns that stand under a key say of the record that they name.
func (o *Outreach) mention(tx *store.Tx, key string, id uuid.UUID, field string, change func(*Campaign)) error {
	ids, err := o.Campaigns.Table.IDs(tx, key, id[:], 0)
	if err != nil {
		return err
	}
	for _, campaign := range ids {
		doc, err := o.Campaigns.Get(tx, campaign)
		if err != nil {
			return err
		}
		rec := doc.Record
		change(&rec)
		if err := o.Campaigns.Table.Touch(tx, doc, rec, []string{field}); err != nil {
			return err
		}
	}
	return nil
}
