package outreach

import (
	"slices"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// AudiencesBody names audiences.
type AudiencesBody struct {
	AudienceIDs shape.IDs `json:"audience_ids" rule:"required,maxlen=1000"`
}

// AttachAudiences attaches audiences to a campaign. Those that are attached already are ignored. A
// completed or archived campaign is refused with campaign_not_enrollable.
func (o *Outreach) AttachAudiences(
	tx *store.Tx, id uuid.UUID, d record.Draft[AudiencesBody],
) (store.Doc[Campaign], error) {
	body, p := d.Open()
	doc, err := o.Campaigns.Get(tx, id)
	if err != nil {
		return doc, err
	}
	rec := doc.Record
	for _, audience := range body.AudienceIDs {
		if rec.HasAudience(audience) {
			continue
		}
		misfit, err := o.Audiences.ReferenceProblem(tx, audience, o.Campaigns.Object)
		if err == nil && misfit == "" {
			err = o.attach(tx, &rec, audience)
		}
		if err != nil {
			return doc, err
		}
		if misfit != "" {
			p.Invalid(d.PathOf("audience_ids", audience), "%s", misfit)
		}
	}
	if err := p.Err(); err != nil {
		return doc, err
	}
	if rec.IsFinished() {
		return doc, NotEnrollable(&rec)
	}
	return o.Campaigns.Replace(tx, doc, rec)
}

// DetachAudiences detaches audiences from a campaign. Those that are not attached are ignored.
// Detaching the last audience is refused with last_audience.
func (o *Outreach) DetachAudiences(tx *store.Tx, id uuid.UUID, body AudiencesBody) (store.Doc[Campaign], error) {
	doc, err := o.Campaigns.Get(tx, id)
	if err != nil {
		return doc, err
	}
	rec := doc.Record
	rec.Audiences = slices.DeleteFunc(slices.Clone(rec.Audiences), func(a AudienceName) bool {
		return slices.Contains(body.AudienceIDs, a.ID)
	})
	if len(rec.Audiences) == 0 {
		return doc, fault.New(fault.LastAudience, "a campaign needs at least one audience: attach another one first")
	}
	return o.Campaigns.Replace(tx, doc, rec)
}

// attach adds an audience to those of a campaign.
func (o *Outreach) attach(tx *store.Tx, c *Campaign, audience uuid.UUID) error {
	doc, err := o.Audiences.Get(tx, audience)
	if err == nil {
		c.Audiences = append(slices.Clip(c.Audiences), AudienceName{ID: doc.ID, Name: doc.Record.Name})
	}
	return err
}

// NotEnrollable is the error for a campaign that cannot take contacts in its status.
func NotEnrollable(c *Campaign) error {
	return fault.New(fault.CampaignNotEnrollable, "a campaign with status %s cannot take contacts", c.Status)
}
