package sequence

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/internal/template"
	"prospector/store"
)

// SkipBody selects the step of a sequence that is skipped.
type SkipBody struct {
	StepIndex *int `json:"step_index" rule:"min=0" doc:"The step. Required if several steps wait."`
}

// SkipStep skips a step of an active sequence that waits, is held or has an open Task. The steps that count
// from its end follow. A message in flight is refused with invalid_transition.
func (e *Engine) SkipStep(tx *store.Tx, id uuid.UUID, d record.Draft[SkipBody]) (store.Doc[Sequence], error) {
	body, p := d.Open()
	return e.changeSequence(tx, id, p, func(r *sequenceRun) error {
		if err := r.checkActive(); err != nil {
			return err
		}
		i, err := r.s.stepToSkip(body.StepIndex)
		if err != nil {
			return err
		}
		if r.s.inFlight(i) {
			return r.s.errInFlight(i)
		}
		if err := r.skipStep(i, "skipped by request"); err != nil {
			return err
		}
		return r.advance()
	})
}

// checkActive fails with invalid_transition unless the sequence is active. A sequence that something has stopped
// is not, even if its status follows later.
func (r *sequenceRun) checkActive() error {
	if r.s.Status != SequenceActive {
		return refusedTransition("status", string(r.s.Status), "the sequence is %s, not active", r.s.Status)
	}
	reason, err := r.stopReason()
	if err == nil && reason != "" {
		return refusedTransition("reason", string(reason), "the sequence is about to be stopped: %s", reason)
	}
	return err
}

// stepToSkip returns the position of the open step with an index or, without one, of the only open step.
func (s *Sequence) stepToSkip(index *int) (int, error) {
	var open []int
	var indexes []string
	for i := range s.History {
		h := &s.History[i]
		if h.Status.isFinal() {
			continue
		}
		if index != nil && h.StepIndex == *index {
			return i, nil
		}
		open, indexes = append(open, i), append(indexes, strconv.Itoa(h.StepIndex))
	}
	if index == nil && len(open) == 1 {
		return open[0], nil
	}
	var p fault.Problems
	if index != nil {
		p.Invalid("step_index", "step %d does not wait; these do: %s", *index, strings.Join(indexes, ", "))
	} else {
		p.Invalid("step_index", "required, because several steps wait: %s", strings.Join(indexes, ", "))
	}
	return 0, p.Err()
}

// skipStep ends a step that has not ended: its Task is canceled, and its message fails.
func (r *sequenceRun) skipStep(i int, reason string) error {
	switch h := &r.s.History[i]; {
	case h.Status == StepTaskOpen:
		r.cancelTasks = append(r.cancelTasks, h.TaskID.UUID)
	case h.MessageID.Valid:
		if err := r.failMessage(i, reason); err != nil {
			return err
		}
	}
	r.finishStep(i, StepSkipped, reason)
	return nil
}

// PostponeBody says until when a sequence waits.
type PostponeBody struct {
	Until shape.Time `json:"until" rule:"required" doc:"A time in the future. No step of the sequence is due before it."`
}

// Postpone delays the steps of an active sequence that are due before a time. The distances between emails
// stay. It is refused with invalid_transition while a message is in flight, or if nothing waits for a time.
func (e *Engine) Postpone(tx *store.Tx, id uuid.UUID, d record.Draft[PostponeBody]) (store.Doc[Sequence], error) {
	body, p := d.Open()
	until := body.Until
	if until.Valid() && !until.Std().After(e.clock.now(tx)) {
		p.Invalid("until", "must be in the future")
	}
	return e.changeSequence(tx, id, p, func(r *sequenceRun) error {
		if err := r.checkActive(); err != nil {
			return err
		}
		if err := r.checkNoneInFlight(); err != nil {
			return err
		}
		if !r.s.hasStep(StepWaiting, StepHeld) {
			return refusedTransition("status", string(StepTaskOpen), "the sequence waits for its Task: change when that is due")
		}
		return r.postpone(until)
	})
}

func (r *sequenceRun) postpone(until shape.Time) error {
	cal, err := r.x.cal()
	if err != nil {
		return err
	}
	r.s.state.Postponed = until
	for i := range r.s.History {
		h := &r.s.History[i]
		if h.Status != StepWaiting && h.Status != StepHeld {
			continue
		}
		at := until.Std()
		if h.Type == template.AutoEmail {
			at = cal.NextOpen(at)
		}
		if h.DueAt.Std().Before(at) {
			h.DueAt, h.Reason = shape.At(at), postponedReason(h.Reason, until)
		}
	}
	return r.reviewAndAdvance()
}

// postponedReason adds to the reason of a due time that it was postponed. It replaces what was added before.
func postponedReason(reason string, until shape.Time) string {
	const mark = "; postponed until "
	because, _, _ := strings.Cut(reason, mark)
	return because + mark + until.Std().UTC().Format(time.RFC3339)
}

// notBeforePostponed returns a due time that is not before the time to which a request has postponed the
// sequence, and its reason.
func (r *sequenceRun) notBeforePostponed(step *template.Step, due time.Time, reason string) (time.Time, string, error) {
	until := stdTime(r.s.state.Postponed)
	if !due.Before(until) {
		return due, reason, nil
	}
	if step.Type == template.AutoEmail {
		cal, err := r.x.cal()
		if err != nil {
			return due, reason, err
		}
		until = cal.NextOpen(until)
	}
	return until, postponedReason(reason, r.s.state.Postponed), nil
}
