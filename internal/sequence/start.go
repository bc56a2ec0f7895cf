package sequence

import (
	"context"
	"encoding/json"
	"math"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/outreach"
	"prospector/store"
)

// Sequences are started in jobs, because there may be many. A start job names what to start. A
// start-all job, of which an organization has at most one, enqueues a start job for every active
// campaign.
const (
	startJob    = "sequences.begin"
	startAllJob = "sequences.begin_all"
)

// startWork is what a start job starts: the sequences of everybody in a campaign, of one audience
// of a campaign, or of contacts in all of their campaigns.
type startWork struct {
	Campaign uuid.NullUUID
	Audience uuid.NullUUID
	Contacts []byte // packed ids
}

func (e *Engine) enqueueStart(tx *store.Tx, work startWork) error {
	_, err := tx.Enqueue(startJob, tx.Now(), work)
	return err
}

func (e *Engine) runStartJob(ctx context.Context, job store.Job) error {
	var work startWork
	if err := json.Unmarshal(job.Payload, &work); err != nil {
		return err
	}
	if work.Contacts != nil {
		return e.forEach(ctx, job, unpackIDs(work.Contacts), (*engineTx).startInAllCampaigns, (*store.Tx).Done)
	}
	var contacts []uuid.UUID
	err := e.store.View(job.Org, func(tx *store.Tx) (err error) {
		contacts, err = e.contactsToStart(tx, work)
		return err
	})
	if err != nil {
		return err
	}
	return e.forEach(ctx, job, contacts, func(x *engineTx, contact uuid.UUID) error {
		return x.startIn(work.Campaign.UUID, contact)
	}, (*store.Tx).Done)
}

// contactsToStart returns the contacts of a campaign for whom a start job starts sequences.
func (e *Engine) contactsToStart(tx *store.Tx, work startWork) ([]uuid.UUID, error) {
	if work.Audience.Valid {
		return e.outreach.AttachedMembers(tx, work.Audience.UUID)
	}
	doc, err := e.outreach.Campaigns.Get(tx, work.Campaign.UUID)
	if fault.CodeOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return e.outreach.CampaignContacts(tx, &doc.Record, math.MaxInt)
}

func (e *Engine) runStartAllJob(ctx context.Context, job store.Job) error {
	return e.store.Update(ctx, job.Org, store.Actor{Operation: startAllJob}, func(tx *store.Tx) error {
		e.releaseJob(tx, startAllJobPart)
		ids, err := e.outreach.CampaignsWithStatus(tx, outreach.CampaignActive, 0)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := e.enqueueStart(tx, startWork{Campaign: uuid.NullUUID{UUID: id, Valid: true}}); err != nil {
				return err
			}
		}
		return tx.Done(job.ID)
	})
}

// startInAllCampaigns starts the sequences of a contact in all active campaigns whose audiences
// contain it.
func (x *engineTx) startInAllCampaigns(contact uuid.UUID) error {
	campaigns, err := x.engine.outreach.CampaignsOf(x.tx, contact)
	if err != nil {
		return err
	}
	for _, id := range campaigns {
		if err := x.startIn(id, contact); err != nil {
			return err
		}
	}
	return nil
}

// startIn starts the sequence of a contact in a campaign, if the campaign is active and the contact
// never had a sequence in it.
func (x *engineTx) startIn(campaign, contact uuid.UUID) error {
	c, err := x.campaign(campaign)
	if err != nil || c == nil || c.Status != outreach.CampaignActive {
		return err
	}
	key := store.PairKey(campaign, contact)
	if _, exists := x.engine.sequences.Find(x.tx, byCampaignAndContact, key); exists {
		return nil
	}
	version, err := x.currentVersion(c.TemplateID.UUID)
	if err != nil {
		return err
	}
	return x.start(c, version, contact)
}
