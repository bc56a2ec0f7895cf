package sequence

import (
	"context"
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
		steps, err := r.ifSendable(r.s.stepsToRetry(work))
		if err != nil {
			return out, err
		}
		if len(steps) == 0 {
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
	work.Sequences = packIDs(selected...)
	return out, e.changeMany(tx, selected, work.tryAgain, retryJob, work)
}

func (e *Engine) runRetryJob(ctx context.Context, job store.Job, work retryWork) error {
	return e.runSweep(ctx, job, sweep{
		find:   func(*store.Tx) ([]uuid.UUID, error) { return unpackIDs(work.Sequences), nil },
		change: work.tryAgain,
		end:    (*store.Tx).Done,
	})
}

// tryAgain lets the selected steps of a sequence wait for their slots again.
func (w retryWork) tryAgain(x *engineTx, id uuid.UUID) error {
	return x.update(id, func(r *sequenceRun) error {
		r.reopenEmails(r.s.stepsToRetry(w), "; tried again", shape.Time{})
		return r.advance()
	})
}

// stepsToRetry returns the positions of the emails that a retry selects.
func (s *Sequence) stepsToRetry(work retryWork) []int {
	return s.stepsWhere(func(i int) bool {
		h := &s.History[i]
		return s.maySendAgain() && h.Type == template.AutoEmail && slices.Contains(work.Statuses, h.Status) &&
			(work.Step == nil || *work.Step == h.StepIndex)
	})
}

// maySendAgain reports whether emails of the sequence may be sent again together with those of others: nobody has
// replied, and no other sequence has taken its place.
func (s *Sequence) maySendAgain() bool {
	return s.Status != SequenceStopped && !s.state.Superseded && !s.state.Replied
}

// ifSendable returns the positions of emails if they may be sent again, and none otherwise.
func (r *sequenceRun) ifSendable(steps []int) ([]int, error) {
	if len(steps) == 0 || !r.s.maySendAgain() {
		return nil, nil
	}
	if reason, err := r.stopReason(); err != nil || reason != "" {
		return nil, store.ExceptDamaged(err)
	}
	return steps, nil
}

// reopenEmails lets emails that have ended wait for their slots again, not before a time if it is
// valid, nor before that to which a request has postponed the sequence. Their messages are composed again.
func (r *sequenceRun) reopenEmails(steps []int, reason string, notBefore shape.Time) {
	for _, i := range slices.Backward(steps) { // a step removes those that followed from it
		h := &r.s.History[i]
		r.s.state.MarkUnsent(h.StepIndex, h.MessageID)
		r.reopenStep(i)
		h = &r.s.History[i]
		h.MessageID = uuid.NullUUID{}
		h.Reason += reason
		if state := &r.s.state.Steps[i]; notBefore.Std().After(state.NotBefore.Std()) {
			state.NotBefore = notBefore
		}
	}
}

// reopenStep lets a step that has ended wait again, at least as long as a request has postponed the sequence. It removes the
// steps that were scheduled because it had ended, unless something has come of them.
func (r *sequenceRun) reopenStep(i int) {
	h := &r.s.History[i]
	ended := h.At
	h.Status, h.At = StepWaiting, shape.Time{}
	r.s.state.Steps[i].Undecided, r.s.state.Steps[i].NotBefore = false, r.s.state.Postponed
	r.s.Status, r.s.Reason = SequenceActive, ""
	for j := len(r.s.History) - 1; j > i; j-- {
		later := &r.s.History[j]
		if later.Status == StepWaiting && !later.MessageID.Valid &&
			!r.s.state.Steps[j].ScheduledAt.Std().Before(ended.Std()) {
			r.s.History = append(r.s.History[:j:j], r.s.History[j+1:]...)
			r.s.state.Steps = append(r.s.state.Steps[:j:j], r.s.state.Steps[j+1:]...)
		}
	}
}
