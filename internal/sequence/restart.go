package sequence

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/outreach"
	"prospector/internal/planner"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/internal/template"
	"prospector/store"
)

// RestartBody says where a sequence continues.
type RestartBody struct {
	From   shape.Text `json:"from" rule:"required,enum=next|start" doc:"next continues with the first step that was not sent. start begins again, with the newest content of the template."`
	Repeat bool       `json:"repeat" doc:"Required if emails were sent or may have been sent that the contact would get a second time: to begin again, and for next after the sequence has begun again."`
}

const restartFromStart = "start"

// RestartSequence restarts a stopped sequence whose reason no longer holds or, from its start, a completed
// one. Everything else is refused with invalid_transition and the reason, and a campaign that has ended
// with campaign_not_enrollable.
func (e *Engine) RestartSequence(tx *store.Tx, id uuid.UUID, d record.Draft[RestartBody]) (store.Doc[Sequence], error) {
	body, p := d.Open()
	return e.changeSequence(tx, id, p, func(r *sequenceRun) error {
		fromStart := body.From == restartFromStart
		if err := r.checkRestart(fromStart); err != nil {
			return err
		}
		if n := r.s.repeats(fromStart); n > 0 && !body.Repeat {
			p.Invalid("repeat", "required, because %d emails of the sequence were sent or may have been: true sends them again", n)
			return p.Err()
		}
		r.s.state.Unconfirmed, r.s.state.Replied = false, false
		if !fromStart {
			return r.resume(r.s.failedSinceLastEmail())
		}
		r.keepMessageCounts()
		return r.repeat()
	})
}

// changeSequence changes one sequence for a request, and returns it.
func (e *Engine) changeSequence(
	tx *store.Tx, id uuid.UUID, p fault.Problems, change func(*sequenceRun) error,
) (doc store.Doc[Sequence], err error) {
	if doc, err = e.sequences.Get(tx, id); err != nil {
		return doc, err
	}
	if err := p.Err(); err != nil {
		return doc, err
	}
	if err := e.awaitStopJobs(tx); err != nil {
		return doc, err
	}
	if err := e.withEngine(tx, func(x *engineTx) error { return x.update(id, change) }); err != nil {
		return doc, err
	}
	return e.sequences.Get(tx, id)
}

// refusedTransition is the error for what a sequence cannot do. what is the field that says why not.
func refusedTransition(field, value, format string, args ...any) *fault.Error {
	err := fault.New(fault.InvalidTransition, format, args...)
	err.Details = []fault.Detail{{Path: field, Message: value}}
	return err
}

// checkRestart fails if the sequence cannot be restarted, and says why.
func (r *sequenceRun) checkRestart(fromStart bool) error {
	switch {
	case r.damage != nil:
		return r.damage
	case r.campaign == nil:
		return fault.New(fault.CampaignNotEnrollable, "the campaign was deleted")
	case !r.campaign.IsRunning():
		return outreach.NotEnrollable(r.campaign)
	case r.s.Status == SequenceCompleted && !fromStart:
		return refusedTransition("status", string(r.s.Status), "the sequence is completed: it can only begin again from its start")
	case r.s.Status != SequenceStopped && r.s.Status != SequenceCompleted:
		return refusedTransition("status", string(r.s.Status), "the sequence is %s: only one that has ended can be restarted", r.s.Status)
	}
	if err := r.checkNoneInFlight(); err != nil {
		return err
	}
	reason, err := r.stopReason()
	if err != nil {
		return err
	}
	var other uuid.NullUUID
	if reason == "" {
		if other, err = r.claimAddress(); err != nil {
			return err
		}
		if r.s.state.Superseded {
			other = r.s.DuplicateOf
		}
		if r.s.state.Superseded || other.Valid {
			reason = StopDuplicateAddress
		}
	}
	if reason == "" {
		return nil
	}
	refused := refusedTransition("reason", string(reason), "the sequence cannot be restarted: %s", reason)
	if other.Valid {
		refused.Details[0].ID = other.UUID.String()
	}
	return refused
}

// repeats returns how many emails that the contact has got, or may have got, a restart can send again. Those of earlier runs
// are among them, because the sequence has begun again since.
func (s *Sequence) repeats(fromStart bool) int {
	n := s.state.Earlier.Sent + s.state.Earlier.Unknown
	if fromStart {
		n += s.countSteps(StepSent, StepUnknown)
	}
	return n
}

// checkNoneInFlight fails while a message of the sequence is being sent.
func (r *sequenceRun) checkNoneInFlight() error {
	if steps := r.s.stepsWhere(r.s.inFlight); len(steps) > 0 {
		return r.s.errInFlight(steps[0])
	}
	return nil
}

// errInFlight is the error for a step that cannot change while its message is being sent.
func (s *Sequence) errInFlight(i int) error {
	return refusedTransition("step_index", "in flight", "the message of step %d is being sent: try again in a moment", s.History[i].StepIndex)
}

// resume continues a stopped sequence: the steps that the stop skipped wait again, and so do the failed emails
// at the given positions. Tasks that the stop canceled are open again. Due times that have passed count from
// now.
func (r *sequenceRun) resume(failed []int) error {
	if !r.s.StartedAt.Valid() { // it was stopped before it could start
		r.s.Status, r.s.Reason, r.s.DuplicateOf = SequenceNotStarted, "", uuid.NullUUID{}
		return r.begin()
	}
	r.s.Status, r.s.Reason, r.s.DuplicateOf = SequenceActive, "", uuid.NullUUID{}
	for i := range r.s.History {
		h := &r.s.History[i]
		if h.MessageID.Valid && (h.Status == StepFailed || h.Status == StepSkipped) {
			r.s.state.MarkUnsent(h.StepIndex, h.MessageID)
		}
		stop := strings.LastIndex(h.Reason, "; "+stoppedMark)
		if h.Status != StepSkipped || stop < 0 {
			continue
		}
		h.Status, h.At, h.MessageID = StepWaiting, shape.Time{}, uuid.NullUUID{}
		h.Reason, _, _ = strings.Cut(h.Reason[:stop], heldReason)
		if h.TaskID.Valid {
			if err := r.reopenTask(i); err != nil {
				return err
			}
		}
	}
	for _, i := range slices.Backward(failed) { // a step removes those that followed from it
		r.reopenStep(i)
		h := &r.s.History[i]
		h.MessageID = uuid.NullUUID{}
		h.Reason += "; tried again"
	}
	if err := r.delayOverdue("restart"); err != nil {
		return err
	}
	r.events = append(r.events, sequenceEvent{name: "started"})
	return r.proceed()
}

// failedSinceLastEmail returns the positions of the emails that have failed since the last one that the
// contact may have got.
func (s *Sequence) failedSinceLastEmail() []int {
	return s.stepsWhere(func(i int) bool {
		h := &s.History[i]
		return h.Type == template.AutoEmail && h.Status == StepFailed && !slices.ContainsFunc(s.History, func(o HistoryStep) bool {
			return o.Type == template.AutoEmail && (o.Status == StepSent || o.Status == StepCaptured || o.Status == StepUnknown) &&
				!o.At.Std().Before(h.At.Std())
		})
	})
}

// reopenTask opens the canceled Task of a step again. If the Task was deleted the step makes another one, and
// if it was done meanwhile so is the step.
func (r *sequenceRun) reopenTask(i int) error {
	h := &r.s.History[i]
	tasks := r.x.engine.crm.Tasks
	doc, err := tasks.Get(r.x.tx, h.TaskID.UUID)
	switch {
	case isUnreadable(err):
		h.TaskID = uuid.NullUUID{}
		return nil
	case err != nil:
		return err
	case doc.Record.Status == crm.TaskCompleted:
		r.finishStep(i, StepDone, "")
		return nil
	}
	rec := doc.Record
	rec.Status = crm.TaskOpen
	h.Status, h.At = StepTaskOpen, shape.At(r.x.now)
	_, err = tasks.Replace(r.x.tx, doc, rec)
	return err
}

// delayOverdue moves the due times of waiting steps that have passed: the first one is due now, and the
// others keep the distance that the template plans. because is what their times count from.
func (r *sequenceRun) delayOverdue(because string) error {
	c, err := r.template()
	if err != nil {
		return err
	}
	cal, err := r.x.cal()
	if err != nil {
		return err
	}
	var steps []int
	byPosition := map[int]int{}
	for i := range r.s.History {
		if h := &r.s.History[i]; h.Status == StepWaiting && !h.MessageID.Valid {
			position := c.Step(h.StepIndex).Position
			steps, byPosition[position] = append(steps, position), i
		}
	}
	start, history := r.s.StartedAt.Std(), r.s.plannerHistory(c)
	for _, d := range planner.Resume(c.Plan, cal, start, history, steps, r.x.now) {
		h := &r.s.History[byPosition[d.Step]]
		h.DueAt = shape.At(d.At)
		h.Reason += "; that time has passed, counted from the " + because
	}
	return nil
}

// repeat begins the sequence again. What it did before stays in the outbox and in the Tasks.
func (r *sequenceRun) repeat() error {
	r.s.Status, r.s.Reason, r.s.StartedAt, r.s.History = SequenceNotStarted, "", shape.Time{}, []HistoryStep{}
	r.s.DuplicateOf = uuid.NullUUID{}
	r.s.state.Steps, r.s.state.Thread, r.s.state.ThreadAddress = nil, template.Thread{}, ""
	r.compiled = nil
	return r.begin()
}

// messageCounts count messages of a sequence that its history no longer has.
type messageCounts struct {
	Sent     int `json:"sent,omitzero"`
	Captured int `json:"captured,omitzero"`
	Failed   int `json:"failed,omitzero"`
	Unknown  int `json:"unknown,omitzero"` // those of Failed that may have been sent
}

// keepMessageCounts adds the messages of the history to those of earlier runs.
func (r *sequenceRun) keepMessageCounts() {
	earlier := &r.s.state.Earlier
	for i := range r.s.History {
		switch h := &r.s.History[i]; {
		case !h.MessageID.Valid:
		case h.Status == StepSent:
			earlier.Sent++
		case h.Status == StepCaptured:
			earlier.Captured++
		default:
			earlier.Failed++
			if h.Status == StepUnknown {
				earlier.Unknown++
			}
		}
	}
}
