package sequence

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/internal/template"
	"prospector/store"
)

// RetryBody selects the messages of a campaign that are tried again.
type RetryBody struct {
	Status      []StepStatus `json:"status" rule:"required,maxlen=2,enum=failed|unknown" doc:"Which messages: failed, unknown, or both."`
	SequenceIDs shape.IDs    `json:"sequence_ids" rule:"nonempty,maxlen=10000" doc:"Only messages of these sequences."`
	StepIndex   shape.Number `json:"step_index" rule:"integer" doc:"Only messages of this step."`
	DryRun      bool         `json:"dry_run" doc:"Only return what would happen."`
}

// Retried is the result of a retry.
type Retried struct {
	Queued       int `json:"queued" doc:"The number of steps that are tried again."`
	MayDuplicate int `json:"may_duplicate" doc:"How many of them may already have delivered their message, which has status unknown."`
}

// retryJob is the kind of job that retries the messages of many sequences.
const retryJob = "sequences.retry"

// retryWork selects steps.
type retryWork struct {
	Sequences store.PackedIDs
	Statuses  []StepStatus
	Step      *int
}

// Retry queues steps of a campaign again whose messages have failed or are unknown. The messages are
// composed again, and take slots of the sender like any other. Sequences that were stopped, and
// those of contacts that must not be written to, are left as they are. A campaign that has ended is
// refused with invalid_transition.
func (e *Engine) Retry(tx *store.Tx, campaign uuid.UUID, d record.Draft[RetryBody]) (out Retried, err error) {
	body, p := d.Open()
	doc, err := e.outreach.Campaigns.Get(tx, campaign)
	if err != nil {
		return out, err
	}
	if err := p.Err(); err != nil {
		return out, err
	}
	if !doc.Record.IsRunning() {
		return out, fault.New(fault.InvalidTransition, "the campaign is %s: only active and paused campaigns send", doc.Record.Status)
	}
	work := retryWork{Statuses: body.Status}
	if body.StepIndex.Valid {
		work.Step = new(int(body.StepIndex.Float))
	}
	ids, err := e.sequences.IDs(tx, byFailed, campaign[:], 0)
	if err != nil {
		return out, err
	}
	var selected []uuid.UUID
	x := e.newEngineTx(tx)
	for _, id := range ids {
		if len(body.SequenceIDs) > 0 && !slices.Contains(body.SequenceIDs, id) {
			continue
		}
		r, err := x.load(store.Doc[Sequence]{ID: id})
		if err != nil {
			return out, err
		}
		reason, err := r.stopReason()
		if store.IsDamagedRecord(err) {
			continue
		}
		if err != nil {
			return out, err
		}
		steps := r.s.stepsToRetry(work)
		if reason != "" || len(steps) == 0 { // nothing may be sent to the contact, or there is nothing to send
			continue
		}
		selected = append(selected, id)
		out.Queued += len(steps)
		for _, i := range steps {
			if r.s.History[i].Status == StepUnknown {
				out.MayDuplicate++
			}
		}
	}
	if body.DryRun || len(selected) == 0 {
		return out, nil
	}
	if len(selected) > maxStopsPerChange {
		work.Sequences = packIDs(selected...)
		_, err := tx.Enqueue(retryJob, tx.Now(), work)
		return out, err
	}
	return out, e.withEngine(tx, func(x *engineTx) error {
		for _, id := range selected {
			if err := x.update(id, func(r *sequenceRun) error { return r.tryAgain(work) }); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *Engine) runRetryJob(ctx context.Context, job store.Job) error {
	var work retryWork
	if err := json.Unmarshal(job.Payload, &work); err != nil {
		return err
	}
	return e.forEach(ctx, job, unpackIDs(work.Sequences), func(x *engineTx, id uuid.UUID) error {
		return x.update(id, func(r *sequenceRun) error { return r.tryAgain(work) })
	}, (*store.Tx).Done)
}

// stepsToRetry returns the positions of the emails that a retry selects.
func (s *Sequence) stepsToRetry(work retryWork) (steps []int) {
	if !s.maySendAgain() {
		return nil
	}
	for i := range s.History {
		h := &s.History[i]
		if h.Type == template.AutoEmail && slices.Contains(work.Statuses, h.Status) &&
			(work.Step == nil || *work.Step == h.StepIndex) {
			steps = append(steps, i)
		}
	}
	return steps
}

// maySendAgain reports whether emails of the sequence may be sent again together with those of others: nobody has
// replied, and no other sequence has taken its place.
func (s *Sequence) maySendAgain() bool {
	return s.Status != SequenceStopped && !s.state.Superseded && !s.state.Replied
}

// tryAgain lets the selected steps of the sequence wait for their slots again.
func (r *sequenceRun) tryAgain(work retryWork) error {
	r.reopenEmails(r.s.stepsToRetry(work), "; tried again", shape.Time{})
	return r.advance()
}
