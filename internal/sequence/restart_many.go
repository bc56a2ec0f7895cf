package sequence

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/outreach"
	"prospector/internal/shape"
	"prospector/store"
)

// RestartManyBody selects stopped sequences of a campaign.
type RestartManyBody struct {
	Reasons     []StopReason `json:"reasons" rule:"nonempty,maxlen=20,enum=opted_out|suppressed|duplicate_address|left_audience|contact_deleted|campaign_ended|campaign_archived|replied|manual" doc:"The sequences that were stopped for these reasons."`
	SequenceIDs shape.IDs    `json:"sequence_ids" rule:"nonempty,maxlen=10000" doc:"These sequences. Alternatively, give reasons."`
	DryRun      bool         `json:"dry_run" doc:"Only return what would happen."`
	Expect      *int         `json:"expect" rule:"min=0" doc:"How many sequences you expect to be restarted. If it is another number, nothing happens."`
}

// Restarted is the result of restarting many sequences.
type Restarted struct {
	Restarted int            `json:"restarted" doc:"The number of sequences that continue."`
	Kept      map[string]int `json:"kept" doc:"The number of those that stay as they are, by reason: why they cannot be written to, their status if it is not stopped, or repeat if they have begun again and would send emails a second time. Restart those one by one."`
}

// RestartPlan is what restarting many sequences does.
type RestartPlan struct {
	Restarted
	sequences []uuid.UUID
}

// restartJob is the kind of job that restarts many sequences.
const restartJob = "sequences.restart"

// AwaitStops waits until everything that stops sequences of an organization has done so.
func (e *Engine) AwaitStops(ctx context.Context, org uuid.UUID) error {
	return e.runPendingStopJobs(ctx, org)
}

// PlanRestart returns which of the given sequences of a campaign can be restarted, and why the others
// cannot. Those of other campaigns are ignored.
func (e *Engine) PlanRestart(tx *store.Tx, campaign uuid.UUID, ids []uuid.UUID) (plan RestartPlan, err error) {
	plan.Kept = map[string]int{}
	doc, err := e.outreach.Campaigns.Get(tx, campaign)
	if err != nil {
		return plan, err
	}
	if !doc.Record.IsRunning() {
		return plan, outreach.NotEnrollable(&doc.Record)
	}
	x := e.newEngineTx(tx)
	for _, id := range ids {
		r, err := x.load(store.Doc[Sequence]{ID: id})
		if isUnreadable(err) {
			continue
		}
		if err != nil {
			return plan, err
		}
		if r.s.CampaignID != campaign {
			continue
		}
		var refused *fault.Error
		switch err := r.checkRestart(false); {
		case err == nil && r.s.state.Replied:
			plan.Kept[string(StopReplied)]++
		case err == nil && r.s.repeats(false) > 0:
			plan.Kept["repeat"]++
		case err == nil:
			plan.sequences = append(plan.sequences, id)
		case errors.As(err, &refused) && len(refused.Details) > 0:
			plan.Kept[refused.Details[0].Message]++
		case store.IsDamagedRecord(err):
			plan.Kept["damaged"]++
		default:
			return plan, err
		}
	}
	plan.Restarted.Restarted = len(plan.sequences)
	return plan, nil
}

// RestartMany restarts the sequences of a plan. Those that cannot be restarted any more stay stopped.
func (e *Engine) RestartMany(tx *store.Tx, plan RestartPlan) (Restarted, error) {
	if err := e.awaitStopJobs(tx); err != nil {
		return plan.Restarted, err
	}
	if len(plan.sequences) > maxStopsPerChange {
		_, err := tx.Enqueue(restartJob, tx.Now(), packIDs(plan.sequences...))
		return plan.Restarted, err
	}
	return plan.Restarted, e.withEngine(tx, func(x *engineTx) error {
		for _, id := range plan.sequences {
			if err := x.resumeIfPossible(id); err != nil {
				return err
			}
		}
		return nil
	})
}

// resumeIfPossible resumes a stopped sequence, unless it cannot be restarted.
func (x *engineTx) resumeIfPossible(id uuid.UUID) error {
	r, err := x.load(store.Doc[Sequence]{ID: id})
	if err != nil {
		return err
	}
	var refused *fault.Error
	if err := r.checkRestart(false); errors.As(err, &refused) || err == nil && r.s.state.Replied {
		return nil
	} else if err != nil {
		return err
	}
	if r.s.repeats(false) > 0 {
		return nil
	}
	r.s.state.Unconfirmed = false
	if err := r.resume(r.s.failedSinceLastEmail()); err != nil {
		return err
	}
	return r.save()
}

// runRestartJob restarts the sequences of a job.
func (e *Engine) runRestartJob(ctx context.Context, job store.Job) error {
	return e.drain(ctx, job, (*engineTx).resumeIfPossible)
}

// drain calls do for the first sequences of a job and leaves the others to another one, in the same
// transaction. After a crash nothing is repeated for a sequence that somebody has changed since.
func (e *Engine) drain(ctx context.Context, job store.Job, do func(*engineTx, uuid.UUID) error) error {
	var packed []byte
	if err := json.Unmarshal(job.Payload, &packed); err != nil {
		return err
	}
	ids := unpackIDs(packed)
	n := min(len(ids), maxPerTransaction)
	return e.store.Update(ctx, job.Org, store.Actor{Operation: job.Kind}, func(tx *store.Tx) error {
		err := e.withEngine(tx, func(x *engineTx) error {
			for _, id := range ids[:n] {
				if err := do(x, id); err != nil && !isUnreadable(err) { // the others go on
					return err
				}
			}
			return nil
		})
		if err == nil && n < len(ids) {
			_, err = tx.Enqueue(job.Kind, tx.Now(), packIDs(ids[n:]...))
		}
		if err != nil {
			return err
		}
		return tx.Done(job.ID)
	})
}
