package outreach

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// Hold is why nothing is sent for a campaign until it is released. A campaign keeps its status while
// it is held.
type Hold struct {
	Reason HoldReason `json:"reason" rule:"enum=restored|copied|imported|moved|transport_changed|sender_refused|bounce_rate|delivery_unknown|owner_inactive|sender_not_allowed|mailbox_unusable"`
	Since  shape.Time `json:"since"`
	Detail string     `json:"detail" doc:"The reason in words, with the answer of the mail server if there was one."`
}

// HoldReason is why a campaign is held.
type HoldReason string

const (
	HeldRestored         HoldReason = "restored"           // it was running in a restored backup
	HeldCopied           HoldReason = "copied"             // the store file is a copy
	HeldImported         HoldReason = "imported"           // its organization is a copy of another one
	HeldMoved            HoldReason = "moved"              // its organization was exported in order to continue elsewhere
	HeldTransportChanged HoldReason = "transport_changed"  // it has captured messages, and now messages are sent
	HeldSenderRefused    HoldReason = "sender_refused"     // the mail server refuses its owner
	HeldBounceRate       HoldReason = "bounce_rate"        // too many of its messages bounced
	HeldDeliveryUnknown  HoldReason = "delivery_unknown"   // the mail server does not confirm its messages
	HeldOwnerInactive    HoldReason = "owner_inactive"     // its owner was deactivated
	HeldSenderNotAllowed HoldReason = "sender_not_allowed" // the address of its owner is outside the sender domains
	HeldMailboxUnusable  HoldReason = "mailbox_unusable"   // the mailbox of its owner cannot be used
)

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

// ErrHeld is the error for what a held campaign cannot do.
func ErrHeld(c *Campaign) error {
	return fault.New(fault.CampaignHeld, "the campaign is held (%s): %s", c.Held.Reason, c.Held.Detail)
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

// Hold holds a running campaign. A campaign that is held already keeps its reason. But one that came from where it was
// held because it moved is held here because it was imported.
func (o *Outreach) Hold(tx *store.Tx, id uuid.UUID, reason HoldReason, detail string) error {
	return o.changeCampaign(tx, id, func(c *Campaign) {
		if !c.IsFinished() && canHold(c.Held) {
			c.Held = o.newHold(tx, reason, detail)
		}
	})
}

// canHold reports whether a hold can be replaced by another one.
func canHold(h *Hold) bool { return h == nil || h.Reason == HeldMoved }

func (o *Outreach) newHold(tx *store.Tx, reason HoldReason, detail string) *Hold {
	return &Hold{Reason: reason, Since: shape.At(o.engine.Now(tx)), Detail: detail}
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
	return o.touchCampaign(tx, id, func(c *Campaign) {
		if c.state.Asking == job { // else it was reopened again since
			c.state.Asking = uuid.Nil
		}
	})
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

// storeHeldDetails say why campaigns of a held store are held.
var storeHeldDetails = map[HoldReason]string{
	HeldRestored: "The campaign was restored from a backup. What it sent after the backup was taken is not known.",
	HeldCopied:   "The store file was copied. What was sent from the other file since then is not known.",
	HeldImported: "The organization was imported. What the installation that exported it has sent since then is not known.",
	HeldMoved:    "The organization was exported in order to continue in another installation.",
}

// HoldAll holds every campaign that can send, because the store was restored or copied. What they sent since is not in
// it. A draft may have been activated meanwhile, and a campaign in the trash restored.
func (o *Outreach) HoldAll(ctx context.Context, by store.HoldReason) error {
	orgs, err := o.store.Organizations()
	if err != nil {
		return err
	}
	for _, org := range orgs {
		err := o.store.Update(ctx, org, store.Actor{Operation: "hold"}, func(tx *store.Tx) error { return o.holdCampaigns(tx, by) })
		if err != nil {
			return err
		}
	}
	return nil
}

// HoldOrganization holds every campaign of the transaction's organization that can send, and those that become active
// until the organization is released.
func (o *Outreach) HoldOrganization(tx *store.Tx, by store.HoldReason) error {
	tx.HoldOrganization(by)
	return o.holdCampaigns(tx, by)
}

func (o *Outreach) holdCampaigns(tx *store.Tx, by store.HoldReason) error {
	reason := HoldReason(by)
	ids, err := o.CampaignsWith(tx, CampaignDraft, CampaignActive, CampaignPaused)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := o.Hold(tx, id, reason, storeHeldDetails[reason]); err != nil {
			return err
		}
	}
	return errors.Join(o.suspendEnded(tx, reason), o.holdTrashed(tx, reason))
}

// suspendEnded lets campaigns of a held store that have ended be held when they are reopened.
func (o *Outreach) suspendEnded(tx *store.Tx, reason HoldReason) error {
	ids, err := o.CampaignsWith(tx, CampaignCompleted, CampaignArchived)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := o.touchCampaign(tx, id, func(c *Campaign) { o.suspend(tx, c, reason) }); err != nil {
			return err
		}
	}
	return nil
}

// HoldRestored holds a campaign that was restored from a backup, or lets it be held when it is reopened.
func (o *Outreach) HoldRestored(tx *store.Tx, id uuid.UUID) error {
	err := o.touchCampaign(tx, id, func(c *Campaign) {
		o.forgetJobs(tx, c)
		if c.IsFinished() {
			o.suspend(tx, c, HeldRestored)
		}
	})
	if err != nil {
		return err
	}
	return o.Hold(tx, id, HeldRestored, storeHeldDetails[HeldRestored])
}

// suspend lets a campaign that has ended be held when it is reopened.
func (o *Outreach) suspend(tx *store.Tx, c *Campaign, reason HoldReason) {
	if canHold(c.state.Suspended) {
		c.state.Suspended = o.newHold(tx, reason, storeHeldDetails[reason])
	}
}

// holdTrashed lets the campaigns in the trash of a held store be held when they are restored and activated or reopened.
func (o *Outreach) holdTrashed(tx *store.Tx, reason HoldReason) error {
	var ids []uuid.UUID
	err := o.Campaigns.EachTrashed(tx, func(c *Campaign) { ids = append(ids, c.ID) })
	if err != nil {
		return err
	}
	for _, id := range ids {
		rec, err := o.Campaigns.GetTrashed(tx, id)
		if err != nil {
			return err
		}
		if rec.IsFinished() {
			o.suspend(tx, &rec, reason)
		} else if canHold(rec.Held) {
			rec.Held = o.newHold(tx, reason, storeHeldDetails[reason])
		}
		if err := o.Campaigns.ReplaceTrashed(tx, rec); err != nil {
			return err
		}
	}
	return nil
}

// holdWithStore holds a campaign that becomes active while outbound traffic of the whole store is held.
func (o *Outreach) holdWithStore(tx *store.Tx, before, c *Campaign) error {
	if c.Held != nil || !becomesActive(before, c) {
		return nil
	}
	by, err := tx.Held()
	if reason := HoldReason(by.Reason); err == nil && !by.Since.IsZero() {
		c.Held = o.newHold(tx, reason, storeHeldDetails[reason])
	}
	return err
}

// CampaignsOfOwner returns the campaigns of an owner. It leaves out damaged campaigns.
func (o *Outreach) CampaignsOfOwner(tx *store.Tx, owner uuid.UUID) ([]uuid.UUID, error) {
	ids, err := o.Campaigns.Table.IDs(tx, byOwner, owner[:], 0)
	return o.Campaigns.Table.Readable(tx, ids), err
}

// HeldWith returns a held campaign and those of its owner that are held for the same reason, the oldest first.
func (o *Outreach) HeldWith(tx *store.Tx, c *Campaign) (held []Campaign, err error) {
	if !c.OwnerID.Valid {
		return []Campaign{*c}, nil
	}
	ids, err := o.CampaignsOfOwner(tx, c.OwnerID.UUID)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(ids, store.CompareIDs)
	err = o.Campaigns.Table.Each(tx, ids, func(doc store.Doc[Campaign]) error {
		if other := &doc.Record; other.Held != nil && other.Held.Reason == c.Held.Reason {
			held = append(held, *other)
		}
		return nil
	})
	return held, err
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
	rec.Held = &Hold{Reason: HeldRestored, Since: rec.UpdatedAt, Detail: storeHeldDetails[HeldRestored]}
	_, err = o.Campaigns.Replace(tx, doc, rec)
	return err
}
