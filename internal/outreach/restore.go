package outreach

import (
	"context"

	"github.com/google/uuid"

	"prospector/store"
)

// PauseRestored pauses every active campaign of a store that was restored: what they have sent since is not known to it.
func (o *Outreach) PauseRestored(ctx context.Context) error {
	_, err := o.each(ctx, "restore", func(c *Campaign) bool {
		if c.Status != CampaignActive {
			return false
		}
		c.Status, c.held.Restored = CampaignPaused, true
		return true
	})
	return err
}

// ResumeRestored makes active what PauseRestored has paused, unless somebody has decided otherwise since, and tells how many
// campaigns that are.
func (o *Outreach) ResumeRestored(ctx context.Context) (campaigns int, err error) {
	return o.each(ctx, "resume", func(c *Campaign) bool {
		if !c.held.Restored {
			return false
		}
		c.Status, c.held.Restored = CampaignActive, false
		return true
	})
}

// each changes campaigns of all organizations, those of one in one transaction, and tells how many it has changed.
func (o *Outreach) each(ctx context.Context, operation string, change func(*Campaign) bool) (changed int, err error) {
	orgs, err := o.store.Organizations()
	if err != nil {
		return 0, err
	}
	for _, org := range orgs {
		n := 0
		err := o.store.Update(ctx, org, store.Actor{Operation: operation}, func(tx *store.Tx) error {
			var ids []uuid.UUID
			if err := tx.RecordIDs(o.Campaigns.Table.Name(), func(id uuid.UUID) { ids = append(ids, id) }); err != nil {
				return err
			}
			n = 0
			for _, id := range ids {
				doc, err := o.Campaigns.Get(tx, id)
				if err != nil {
					return err
				}
				rec := doc.Record
				if !change(&rec) {
					continue
				}
				if _, err := o.Campaigns.Replace(tx, doc, rec); err != nil {
					return err
				}
				n++
			}
			return nil
		})
		if err != nil {
			return changed, err
		}
		changed += n
	}
	return changed, nil
}
