package sequence

import (
	"context"
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
		kept, err := r.whyKept()
		switch {
		case err != nil:
			return plan, err
		case kept != "":
			plan.Kept[kept]++
		default:
			plan.sequences = append(plan.sequences, id)
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
	ids := plan.sequences
	return plan.Restarted, e.changeMany(tx, ids, (*engineTx).resumeIfPossible, restartJob, packIDs(ids...))
}

// whyKept returns why a restart of many sequences leaves this one as it is, or "".
func (r *sequenceRun) whyKept() (string, error) {
	err := r.checkRestart(false)
	refused, isRefused := errors.AsType[*fault.Error](err)
	switch {
	case isRefused && len(refused.Details) > 0:
		return refused.Details[0].Message, nil
	case isRefused: // the campaign has ended
		return string(refused.Code), nil
	case err != nil:
		return "", err
	case r.s.state.Replied:
		return string(StopReplied), nil
	case r.s.repeats(false) > 0:
		return "repeat", nil
	}
	return "", nil
}

// resumeIfPossible resumes a stopped sequence, unless it cannot be restarted.
func (x *engineTx) resumeIfPossible(id uuid.UUID) error {
	r, err := x.load(store.Doc[Sequence]{ID: id})
	if err != nil {
		return err
	}
	if kept, err := r.whyKept(); kept != "" || err != nil {
		return err
	}
	r.s.state.Unconfirmed = false
	if err := r.resume(r.s.failedSinceLastEmail()); err != nil {
		return err
	}
	return r.save()
}
