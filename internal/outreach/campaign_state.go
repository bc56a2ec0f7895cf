package outreach

import (
	"slices"

	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

// What the engine records in campaigns while it runs them, and what follows from other records.

// CompleteCampaign completes a campaign whose end_date has passed.
func (o *Outreach) CompleteCampaign(tx *store.Tx, id uuid.UUID) error {
	return o.changeCampaign(tx, id, func(c *Campaign) {
		c.Status = CampaignCompleted
		c.suspendHold()
	})
}

// SetTransport records what a campaign runs with.
func (o *Outreach) SetTransport(tx *store.Tx, id uuid.UUID, transport string) error {
	return o.touchCampaign(tx, id, func(c *Campaign) { c.Transport = shape.Text(transport) }, "transport")
}

// SetNewcomers records how many people await confirmation.
func (o *Outreach) SetNewcomers(tx *store.Tx, id uuid.UUID, n int) error {
	return o.touchCampaign(tx, id, func(c *Campaign) { c.Newcomers = n }, "newcomers")
}

// EmitNewcomers emits an event if people await confirmation.
func (o *Outreach) EmitNewcomers(tx *store.Tx, id uuid.UUID) error {
	doc, err := o.Campaigns.Get(tx, id)
	if err != nil || doc.Record.Newcomers == 0 {
		return ignoreNotFound(err)
	}
	return tx.Emit(store.Event{Trigger: o.Campaigns.Object + ".newcomers", ID: id, Data: doc.JSON})
}

// BeginAsking makes everybody who joins a campaign await confirmation, until EndAsking is called with the same job.
func (o *Outreach) BeginAsking(tx *store.Tx, id, job uuid.UUID) error {
	return o.touchCampaign(tx, id, func(c *Campaign) { c.state.Asking = job })
}

// EndAsking ends what BeginAsking began.
func (o *Outreach) EndAsking(tx *store.Tx, id, job uuid.UUID) error {
	return o.touchCampaign(tx, id, func(c *Campaign) { endJob(&c.state.Asking, job) })
}

// EndReopen ends what a job had to do for a campaign that was reopened.
func (o *Outreach) EndReopen(tx *store.Tx, id, job uuid.UUID) error {
	return o.touchCampaign(tx, id, func(c *Campaign) { endJob(&c.state.Reopening, job) })
}

// endJob forgets a job that a campaign waits for, unless the campaign was reopened again since.
func endJob(awaited *uuid.UUID, job uuid.UUID) {
	if *awaited == job {
		*awaited = uuid.Nil
	}
}

// MigrateCampaign converts a running campaign of the first edition. hasSequences is whether it has
// been active. The first edition paused campaigns of a restored backup; they are active and held
// now.
func (o *Outreach) MigrateCampaign(tx *store.Tx, id uuid.UUID, hasSequences bool) error {
	doc, err := o.Campaigns.Get(tx, id)
	if err != nil {
		return err
	}
	rec := doc.Record
	rec.state.Begun = rec.state.Begun || hasSequences || rec.Status == CampaignActive
	if !rec.state.Restored {
		return o.Campaigns.Table.Touch(tx, doc, rec, nil)
	}
	rec.state.Restored = false
	rec.Status = CampaignActive
	rec.Held = &Hold{Reason: HeldRestored, Since: rec.UpdatedAt, Detail: storeHeldDetails[HeldRestored]}
	_, err = o.Campaigns.Replace(tx, doc, rec)
	return err
}

// updateAudienceName copies the name of a renamed audience into its campaigns.
func (o *Outreach) updateAudienceName(tx *store.Tx, a *Audience) error {
	return o.touchCampaigns(tx, byAudience, a.ID, "audiences", func(c *Campaign) {
		c.Audiences = slices.Clone(c.Audiences)
		for i := range c.Audiences {
			if c.Audiences[i].ID == a.ID {
				c.Audiences[i].Name = a.Name
			}
		}
	})
}

// updateTemplateName copies the name of a renamed template into its campaigns.
func (o *Outreach) updateTemplateName(tx *store.Tx, t *Template) error {
	return o.touchCampaigns(tx, byTemplate, t.ID, "template_name", func(c *Campaign) { c.TemplateName = t.Name })
}

// touchCampaigns changes a field of the campaigns that have id under a key. The field follows from
// another record, so the campaigns keep their versions.
func (o *Outreach) touchCampaigns(
	tx *store.Tx, key string, id uuid.UUID, field string, change func(*Campaign),
) error {
	campaigns, err := o.Campaigns.Table.IDs(tx, key, id[:], 0)
	if err != nil {
		return err
	}
	for _, campaign := range o.Campaigns.Table.Readable(tx, campaigns) {
		if err := o.touchCampaign(tx, campaign, change, field); err != nil {
			return err
		}
	}
	return nil
}

// changeCampaign changes a campaign as a user would: with a new version and events.
func (o *Outreach) changeCampaign(tx *store.Tx, id uuid.UUID, change func(*Campaign)) error {
	doc, err := o.Campaigns.Get(tx, id)
	if err != nil {
		return err
	}
	rec := doc.Record
	change(&rec)
	_, err = o.Campaigns.Replace(tx, doc, rec)
	return err
}

// touchCampaign changes what is nobody's edit. The campaign keeps its version.
func (o *Outreach) touchCampaign(tx *store.Tx, id uuid.UUID, change func(*Campaign), fields ...string) error {
	doc, err := o.Campaigns.Get(tx, id)
	if err != nil {
		return err
	}
	rec := doc.Record
	change(&rec)
	return o.Campaigns.Table.Touch(tx, doc, rec, fields)
}
