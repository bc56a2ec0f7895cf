package outreach

import (
	"context"

	"github.com/google/uuid"

	"prospector/store"
)

// PauseRestored pauses every active campaign of a restored store. What these campaigns sent after
// the backup was taken is not in the store.
func (o *Outreach) PauseRestored(ctx context.Context) error {
	_, err := o.changeCampaigns(ctx, "restore", func(c *Campaign) bool {
		if c.Status != CampaignActive {
			return false
		}
		c.Status, c.state.Restored = CampaignPaused, true
		return true
	})
	return err
}

// ResumeRestored activates the campaigns that PauseRestored paused, except those whose status was
// changed since. It returns how many campaigns it activated.
func (o *Outreach) ResumeRestored(ctx context.Context) (campaigns int, err error) {
	return o.changeCampaigns(ctx, "resume", func(c *Campaign) bool {
		if !c.state.Restored {
			return false
		}
		c.Status, c.state.Restored = CampaignActive, false
		return true
	})
}

// changeCampaigns applies change to the campaigns of all organizations, in one transaction per
// organization. change reports whether it changed the campaign.
func (o *Outreach) changeCampaigns(
	ctx context.Context, operation string, change func(*Campaign) bool,
) (changed int, err error) {
	orgs, err := o.store.Organizations()
	if err != nil {
		return 0, err
	}
	for _, org := range orgs {
		n := 0
		err := o.store.Update(ctx, org, store.Actor{Operation: operation}, func(tx *store.Tx) (err error) {
			n, err = o.changeCampaignsOf(tx, change)
			return err
		})
		if err != nil {
			return changed, err
		}
		changed += n
	}
	return changed, nil
}

func (o *Outreach) changeCampaignsOf(tx *store.Tx, change func(*Campaign) bool) (changed int, err error) {
	var ids []uuid.UUID
	if err := tx.RecordIDs(o.Campaigns.Table.Name(), func(id uuid.UUID) { ids = append(ids, id) }); err != nil {
		return 0, err
	}
	for _, id := range ids {
		doc, err := o.Campaigns.Get(tx, id)
		if err != nil {
			return changed, err
		}
		rec := doc.Record
		if !change(&rec) {
			continue
		}
		if _, err := o.Campaigns.Replace(tx, doc, rec); err != nil {
			return changed, err
		}
		changed++
	}
	return changed, nil
}
