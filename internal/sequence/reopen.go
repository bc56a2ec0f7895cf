package sequence

import (
	"context"

	"github.com/google/uuid"

	"prospector/internal/outreach"
	"prospector/internal/record"
	"prospector/store"
)

type reopenWork struct {
	Campaign uuid.UUID
}

// Reopen makes a completed or archived campaign paused, and lets the sequences continue that its end has
// stopped. A job does that. Nothing is sent before it has ended, even if the campaign becomes active.
func (e *Engine) Reopen(
	tx *store.Tx, id uuid.UUID, d record.Draft[outreach.ReopenBody],
) (doc store.Doc[outreach.Campaign], err error) {
	if err := e.awaitStopJobs(tx); err != nil {
		return doc, err
	}
	job, err := tx.Enqueue(reopenJob, tx.Now(), reopenWork{Campaign: id})
	if err != nil {
		return doc, err
	}
	if doc, err = e.outreach.Reopen(tx, id, d, job); err != nil {
		return doc, err
	}
	err = e.withEngine(tx, func(x *engineTx) error { return x.checkTransport(id) })
	if err != nil {
		return doc, err
	}
	return e.outreach.Campaigns.Get(tx, id)
}

func (e *Engine) runReopenJob(ctx context.Context, job store.Job, work reopenWork) error {
	return e.runSweep(ctx, job, sweep{
		find: func(tx *store.Tx) ([]uuid.UUID, error) {
			return e.contactsToStart(tx, startWork{Campaign: uuid.NullUUID{UUID: work.Campaign, Valid: true}})
		},
		change: func(x *engineTx, contact uuid.UUID) error { return x.rejoin(work.Campaign, contact) },
		end: func(tx *store.Tx, job uuid.UUID) error {
			err := e.outreach.EndReopen(tx, work.Campaign, job)
			if err != nil && !isUnreadable(err) {
				return err
			}
			if err := e.advanceNow(tx); err != nil {
				return err
			}
			return tx.Done(job)
		},
	})
}

// rejoin lets the sequence of a contact in a reopened campaign continue if the end of the campaign has stopped
// it. If something else would have stopped it meanwhile, it stays stopped for that reason. One that has never started
// awaits confirmation. It is idempotent.
func (x *engineTx) rejoin(campaign, contact uuid.UUID) error {
	c, err := x.campaign(campaign)
	if err != nil || c == nil || !c.IsRunning() {
		return err
	}
	id, exists := x.engine.sequences.Find(x.tx, byCampaignAndContact, store.PairKey(campaign, contact))
	if !exists {
		return nil
	}
	r, err := x.load(store.Doc[Sequence]{ID: id})
	if err != nil || !r.s.endedWithCampaign() {
		return err
	}
	if !r.s.StartedAt.Valid() { // nobody has confirmed that it begins now
		r.s.state.Unconfirmed = true
	} else {
		reason, err := r.mustStop()
		if err != nil {
			return err
		}
		if reason != "" {
			r.s.Reason = reason
			return r.save()
		}
	}
	if err := r.resume(nil); err != nil {
		return err
	}
	return r.save()
}

// endedWithCampaign reports whether the end of its campaign has stopped the sequence.
func (s *Sequence) endedWithCampaign() bool {
	return s.Status == SequenceStopped && (s.Reason == StopCampaignEnded || s.Reason == StopCampaignArchived)
}
