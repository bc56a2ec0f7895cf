package outreach

import (
	"context"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// Hold is why nothing is sent for a campaign until it is released. A campaign keeps its status while
// it is held.
type Hold struct {
	Reason HoldReason `json:"reason" rule:"enum=restored|transport_changed|sender_refused|bounce_rate|owner_inactive|mailbox_unusable"`
	Since  shape.Time `json:"since"`
	Detail string     `json:"detail" doc:"The reason in words, with the answer of the mail server if there was one."`
}

// HoldReason is why a campaign is held.
type HoldReason string

const (
	HeldRestored         HoldReason = "restored"          // it was running in a restored backup
	HeldTransportChanged HoldReason = "transport_changed" // it has captured messages, and now messages are sent
	HeldSenderRefused    HoldReason = "sender_refused"    // the mail server refuses its owner
	HeldBounceRate       HoldReason = "bounce_rate"       // too many of its messages bounced
	HeldOwnerInactive    HoldReason = "owner_inactive"    // its owner was deactivated
	HeldMailboxUnusable  HoldReason = "mailbox_unusable"  // the mailbox of its owner cannot be used
)

// MissingValues is what happens to an email in which a token without a fallback has no value.
type MissingValues string

const (
	HoldMissing MissingValues = "hold" // its step waits for the value
	SendMissing MissingValues = "send" // it is sent with nothing in that place
	SkipMissing MissingValues = "skip" // its step is skipped
)

// ErrHeld is the error for what a held campaign cannot do.
func ErrHeld(c *Campaign) error {
	return fault.New(fault.CampaignHeld, "the campaign is held (%s): %s", c.Held.Reason, c.Held.Detail)
}

// UpdateCampaign updates a campaign. Setting the status of a held campaign to active is refused, also if
// it is active already.
func (o *Outreach) UpdateCampaign(
	tx *store.Tx, id uuid.UUID, cond record.Precondition, body shape.Value,
) (store.Doc[Campaign], error) {
	doc, err := o.Campaigns.Update(tx, id, cond, body)
	if c := &doc.Record; err == nil && c.Held != nil && body.Get("status").Text == string(CampaignActive) {
		return doc, ErrHeld(c)
	}
	return doc, err
}

// Hold holds a running campaign. A campaign that is held already keeps its reason.
func (o *Outreach) Hold(tx *store.Tx, id uuid.UUID, reason HoldReason, detail string) error {
	return o.changeCampaign(tx, id, func(c *Campaign) {
		if !c.IsFinished() && c.Held == nil {
			c.Held = &Hold{Reason: reason, Since: shape.At(o.hooks.Now(tx)), Detail: detail}
		}
	})
}

// Release ends the hold of a campaign. Nothing is sent for it until EndRelease, so that what the
// release decided about its sequences can be applied first.
func (o *Outreach) Release(tx *store.Tx, id uuid.UUID) error {
	return o.changeCampaign(tx, id, func(c *Campaign) { c.Held, c.state.Releasing = nil, true })
}

// EndRelease lets a campaign that was released continue.
func (o *Outreach) EndRelease(tx *store.Tx, id uuid.UUID) error {
	return o.touchCampaign(tx, id, func(c *Campaign) { c.state.Releasing = false })
}

// SetTransport records what a campaign runs with.
func (o *Outreach) SetTransport(tx *store.Tx, id uuid.UUID, transport string) error {
	return o.touchCampaign(tx, id, func(c *Campaign) { c.Transport = shape.Text(transport) }, "transport")
}

// changeCampaign changes a campaign as a user would: with a new version, events and hooks.
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

const restoredDetail = "The campaign was restored from a backup. What it sent after the backup was taken is not known."

// HoldRestored holds every campaign of a restored store that can send. What it sent after the backup
// was taken is not in the store. A draft may have been activated then.
func (o *Outreach) HoldRestored(ctx context.Context) error {
	orgs, err := o.store.Organizations()
	if err != nil {
		return err
	}
	for _, org := range orgs {
		err := o.store.Update(ctx, org, store.Actor{Operation: "restore"}, func(tx *store.Tx) error {
			ids, err := o.CampaignsWith(tx, CampaignDraft, CampaignActive, CampaignPaused)
			if err != nil {
				return err
			}
			for _, id := range ids {
				err := o.Hold(tx, id, HeldRestored, restoredDetail)
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// CampaignsOfOwner returns the campaigns of an owner. It leaves out damaged campaigns.
func (o *Outreach) CampaignsOfOwner(tx *store.Tx, owner uuid.UUID) ([]uuid.UUID, error) {
	ids, err := o.Campaigns.Table.IDs(tx, byOwner, owner[:], 0)
	return o.Campaigns.Table.Readable(tx, ids), err
}

// CampaignsWith returns the campaigns with one of the statuses. It leaves out damaged campaigns.
func (o *Outreach) CampaignsWith(tx *store.Tx, statuses ...CampaignStatus) (ids []uuid.UUID, err error) {
	for _, status := range statuses {
		of, err := o.CampaignsWithStatus(tx, status, 0)
		if err != nil {
			return nil, err
		}
		ids = append(ids, of...)
	}
	return o.Campaigns.Table.Readable(tx, ids), nil
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
	rec.Held = &Hold{Reason: HeldRestored, Since: rec.UpdatedAt, Detail: restoredDetail}
	_, err = o.Campaigns.Replace(tx, doc, rec)
	return err
}
