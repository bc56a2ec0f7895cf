package outreach

import (
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// ReopenBody is the new last day of a campaign that is reopened.
type ReopenBody struct {
	EndDate shape.Date `json:"end_date" doc:"The new last day. Null removes it. Required if the present one has passed."`
}

// Reopen makes a completed or archived campaign paused. A hold that it had when it ended holds it again.
// Nothing is sent for it until EndReopen is called with the same job. A campaign that has not ended is
// refused with invalid_transition.
func (o *Outreach) Reopen(
	tx *store.Tx, id uuid.UUID, d record.Draft[ReopenBody], job uuid.UUID,
) (store.Doc[Campaign], error) {
	body, p := d.Open()
	doc, err := o.Campaigns.Get(tx, id)
	if err != nil {
		return doc, err
	}
	if err := p.Err(); err != nil {
		return doc, err
	}
	rec := doc.Record
	if !rec.IsFinished() {
		return doc, fault.New(fault.InvalidTransition,
			"only a completed or archived campaign can be reopened: it is %s", rec.Status)
	}
	if d.Given("end_date").Kind != shape.Absent {
		rec.EndDate = body.EndDate
	}
	hasPassed, err := o.hasPassed(tx, &rec)
	if err != nil {
		return doc, err
	}
	if hasPassed {
		p.Invalid("end_date", "%s has passed: give a later day, or null", shape.Quote(string(rec.EndDate)))
		return doc, p.Err()
	}
	rec.Status, rec.Held, rec.state.Suspended = CampaignPaused, rec.state.Suspended, nil
	rec.state.Reopening = job
	return o.Campaigns.Replace(tx, doc, rec)
}

// hasPassed reports whether the last day of a campaign has passed.
func (o *Outreach) hasPassed(tx *store.Tx, c *Campaign) (bool, error) {
	end, err := o.CampaignEnd(tx, c)
	return !end.IsZero() && !end.After(o.engine.Now(tx)), err
}

// CloneBody is what a copy of a campaign does not share with it.
type CloneBody struct {
	Name        string    `json:"name" rule:"required,maxlen=255,line"`
	AudienceIDs shape.IDs `json:"audience_ids" rule:"required,maxlen=1000" doc:"The audiences of the new campaign. It has none of the other one."`
}

// cloned are the fields that a copy of a campaign has from it.
var cloned = []string{"template_id", "owner_id", "prioritized", "missing_values", "admit"}

// Clone creates a draft with the template, the owner and the settings of a campaign, and with other audiences.
// A last day that has passed is left out.
func (o *Outreach) Clone(tx *store.Tx, id uuid.UUID, d record.Draft[CloneBody]) (store.Doc[Campaign], error) {
	_, p := d.Open()
	doc, err := o.Campaigns.Get(tx, id)
	if err != nil {
		return doc, err
	}
	if err := p.Err(); err != nil {
		return doc, err
	}
	fields := cloned
	hasPassed, err := o.hasPassed(tx, &doc.Record)
	if err != nil {
		return doc, err
	}
	if !hasPassed {
		fields = append(fields[:len(fields):len(fields)], "end_date")
	}
	stored, err := shape.ParseObject(doc.JSON)
	if err != nil {
		return doc, err
	}
	copied := shape.Value{Kind: shape.Object}
	for _, key := range fields {
		copied.Members = append(copied.Members, shape.Member{Key: key, Value: stored.Get(key)})
	}
	for _, key := range []string{"name", "audience_ids"} {
		copied.Members = append(copied.Members, shape.Member{Key: key, Value: d.Given(key)})
	}
	return o.Campaigns.Create(tx, record.NewDraft[Campaign](copied))
}
