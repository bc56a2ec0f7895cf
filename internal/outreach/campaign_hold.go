package outreach

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/fault"
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

// ErrHeld is the error for what a held campaign cannot do.
func ErrHeld(c *Campaign) error {
	return fault.New(fault.CampaignHeld, "the campaign is held (%s): %s", c.Held.Reason, c.Held.Detail)
}

// Hold holds a running campaign. A campaign that is held already keeps its reason. But one that came from where it was
// held because it moved is held here because it was imported.
func (o *Outreach) Hold(tx *store.Tx, id uuid.UUID, reason HoldReason, detail string) error {
	return o.changeCampaign(tx, id, func(c *Campaign) {
		if !c.IsFinished() {
			o.hold(tx, c, reason, detail)
		}
	})
}

// hold holds a campaign, or lets it be held when it is reopened if it has ended.
func (o *Outreach) hold(tx *store.Tx, c *Campaign, reason HoldReason, detail string) {
	held := &c.Held
	if c.IsFinished() {
		held = &c.state.Suspended
	}
	if *held == nil || (*held).Reason == HeldMoved {
		*held = o.newHold(tx, reason, detail)
	}
}

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
	ended, err := o.CampaignsWith(tx, CampaignCompleted, CampaignArchived)
	if err != nil {
		return err
	}
	for _, id := range ended {
		if err := o.touchCampaign(tx, id, func(c *Campaign) { o.hold(tx, c, reason, storeHeldDetails[reason]) }); err != nil {
			return err
		}
	}
	return o.holdTrashed(tx, reason)
}

// HoldRestored holds a campaign that was restored from a backup, or lets it be held when it is reopened.
func (o *Outreach) HoldRestored(tx *store.Tx, id uuid.UUID) error {
	err := o.touchCampaign(tx, id, func(c *Campaign) {
		o.forgetJobs(tx, c)
		if c.IsFinished() {
			o.hold(tx, c, HeldRestored, storeHeldDetails[HeldRestored])
		}
	})
	if err != nil {
		return err
	}
	return o.Hold(tx, id, HeldRestored, storeHeldDetails[HeldRestored])
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
		o.hold(tx, &rec, reason, storeHeldDetails[reason])
		if err := o.Campaigns.ReplaceTrashed(tx, rec); err != nil {
			return err
		}
	}
	return nil
}

// suspendHold ends the hold of a campaign that ends. It holds the campaign again if that is reopened.
func (c *Campaign) suspendHold() {
	if c.Held != nil {
		c.state.Suspended, c.Held = c.Held, nil
	}
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
