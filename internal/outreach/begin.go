package outreach

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/store"
)

// Sequences begin in jobs, for they may be many: one for all campaigns of the organization, or one for what its work names.
const (
	beginJob    = "sequences.begin"
	beginAllJob = "sequences.begin_all"
)

// beginWork is whom sequences may begin for: everybody in a campaign, those of one of its audiences, or contacts in whatever campaigns
// have them.
type beginWork struct {
	Campaign uuid.NullUUID
	Audience uuid.NullUUID
	Contacts []byte // their ids
}

func (o *Outreach) promiseBegin(tx *store.Tx, work beginWork) error {
	_, err := tx.Enqueue(beginJob, tx.Now(), work)
	return err
}

// joined begins the sequences of contacts who came into an audience, if anything runs for it.
func (o *Outreach) joined(tx *store.Tx, audience uuid.UUID, contacts []uuid.UUID) error {
	campaigns, err := o.Campaigns.Table.IDs(tx, byAudience, audience[:], 1)
	if err != nil || len(campaigns) == 0 || len(contacts) == 0 {
		return err
	}
	if err := o.settled(tx); err != nil {
		return err
	}
	return o.promiseBegin(tx, beginWork{Contacts: packIDs(contacts...)})
}

// beginSome begins the sequences that a job is for.
func (o *Outreach) beginSome(ctx context.Context, job store.Job) error {
	var work beginWork
	if err := json.Unmarshal(job.Payload, &work); err != nil {
		return err
	}
	if work.Contacts != nil {
		return o.chunks(ctx, job, unpackIDs(work.Contacts), (*engine).beginWherever, (*store.Tx).Done)
	}
	var contacts []uuid.UUID
	err := o.store.View(job.Org, func(tx *store.Tx) (err error) {
		contacts, err = o.toBegin(tx, work)
		return err
	})
	if err != nil {
		return err
	}
	return o.chunks(ctx, job, contacts, func(e *engine, contact uuid.UUID) error {
		return e.beginIn(work.Campaign.UUID, contact)
	}, (*store.Tx).Done)
}

// toBegin gives whom sequences of a campaign may begin for.
func (o *Outreach) toBegin(tx *store.Tx, work beginWork) ([]uuid.UUID, error) {
	if work.Audience.Valid {
		return o.members.All(tx, work.Audience.UUID)
	}
	doc, err := o.Campaigns.Get(tx, work.Campaign.UUID)
	if fault.CodeOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return o.contacts(tx, &doc.Record, math.MaxInt)
}

// beginAll promises to begin the sequences of all campaigns that are active.
func (o *Outreach) beginAll(ctx context.Context, job store.Job) error {
	return o.store.Update(ctx, job.Org, store.Actor{Operation: beginAllJob}, func(tx *store.Tx) error {
		o.redeem(tx, beginPart)
		ids, err := o.Campaigns.Table.IDs(tx, byStatus, []byte(CampaignActive), 0)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := o.promiseBegin(tx, beginWork{Campaign: uuid.NullUUID{UUID: id, Valid: true}}); err != nil {
				return err
			}
		}
		return tx.Done(job.ID)
	})
}

// beginWherever begins the sequences of a contact in all campaigns that have it.
func (e *engine) beginWherever(contact uuid.UUID) error {
	audiences, err := e.members.Owners(e.tx, contact)
	if err != nil {
		return err
	}
	var campaigns []uuid.UUID
	for _, audience := range audiences {
		of, err := e.Campaigns.Table.IDs(e.tx, byAudience, audience[:], 0)
		if err != nil {
			return err
		}
		campaigns = append(campaigns, of...)
	}
	slices.SortFunc(campaigns, store.CompareIDs)
	for _, id := range slices.Compact(campaigns) {
		if err := e.beginIn(id, contact); err != nil {
			return err
		}
	}
	return nil
}

// beginIn begins the sequence of a contact in a campaign that is active. There is one ever.
func (e *engine) beginIn(campaign, contact uuid.UUID) error {
	c, err := e.campaign(campaign)
	if err != nil || c == nil || c.Status != CampaignActive {
		return err
	}
	if _, begun := e.sequences.Find(e.tx, bySubject, store.PairKey(campaign, contact)); begun {
		return nil
	}
	version, known := e.versionOf[c.TemplateID.UUID]
	if !known {
		t, err := e.Templates.Get(e.tx, c.TemplateID.UUID)
		if err != nil {
			return err
		}
		version = t.Record.state.Version
		e.versionOf[c.TemplateID.UUID] = version
	}
	return e.begin(c, version, contact)
}
