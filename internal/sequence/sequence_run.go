package sequence

import (
	"time"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/outreach"
	"prospector/internal/planner"
	"prospector/internal/shape"
	"prospector/internal/template"
	"prospector/store"
)

// sequenceRun is a sequence in a transaction: it is loaded, changed and saved.
type sequenceRun struct {
	x *engineTx

	doc          store.Doc[Sequence] // as stored; without an ID while the sequence is new
	s            Sequence            // as changed
	campaign     *outreach.Campaign  // nil if it was deleted or is damaged
	compiled     *template.Compiled  // nil until it is needed
	recipient    crm.Recipient
	contactFound bool
	damage       error // why the campaign or the contact cannot be read: the sequence can be stopped and nothing else

	events      []sequenceEvent // to emit, in order
	cancelTasks []uuid.UUID     // open Tasks that are no longer needed
	claimed     []*outgoing     // its messages that were claimed
}

// load loads a sequence, which may have been read before.
func (x *engineTx) load(doc store.Doc[Sequence]) (*sequenceRun, error) {
	doc, err := x.engine.sequences.Reload(x.tx, doc)
	if err != nil {
		return nil, err
	}
	r := &sequenceRun{x: x, doc: doc, s: doc.Record.clone()}
	return r, r.loadReferences()
}

// loadReferences loads the campaign and the contact, as far as they can be read.
func (r *sequenceRun) loadReferences() (err error) {
	if r.campaign, err = r.x.campaign(r.s.CampaignID); err == nil {
		r.recipient, r.contactFound, err = r.x.recipients.Read(r.s.ContactID)
	}
	if store.IsDamagedRecord(err) {
		r.damage, err = err, nil
	}
	return err
}

// template returns the content that the sequence started with.
func (r *sequenceRun) template() (_ *template.Compiled, err error) {
	if r.compiled == nil {
		r.compiled, err = r.x.template(r.s.state.Template, r.s.state.Version)
	}
	return r.compiled, err
}

// isRunning reports whether steps of the sequence may happen now: it is active, and its campaign
// sends.
func (r *sequenceRun) isRunning() bool {
	return r.s.Status == SequenceActive && r.damage == nil && r.campaign != nil && r.campaign.IsSending()
}

// advance does what is due and needs no slot of the sender, and schedules the steps that follow. It
// stops the sequence instead if it must stop. A sequence that has not started starts if it can.
func (r *sequenceRun) advance() error {
	switch r.s.Status {
	case SequenceNotStarted:
		return r.begin()
	case SequenceActive:
		if stopped, err := r.stopIfMust(); stopped || err != nil {
			return err
		}
		return r.proceed()
	}
	return nil
}

// reviewAndAdvance is advance after a change that may have given held steps the values that they lack.
func (r *sequenceRun) reviewAndAdvance() error {
	if r.s.Status == SequenceActive {
		if stopped, err := r.stopIfMust(); stopped || err != nil {
			return err
		}
		if err := r.reviewHeldSteps(); err != nil {
			return err
		}
	}
	return r.advance()
}

// advanceIfReadable is advance for a sequence whose step has ended. If a record that it needs is damaged, the
// end of the step is kept and the sequence waits.
func (r *sequenceRun) advanceIfReadable() error { return store.ExceptDamaged(r.advance()) }

// stopIfMust stops the sequence if something requires it, and reports whether it did.
func (r *sequenceRun) stopIfMust() (stopped bool, err error) {
	reason, err := r.mustStop()
	if err != nil || reason == "" {
		return false, err
	}
	return true, r.stop(reason)
}

// mustStop is stopReason that also claims the address of the recipient, which another sequence may have.
func (r *sequenceRun) mustStop() (reason StopReason, err error) {
	if reason, err = r.stopReason(); err != nil || reason != "" {
		return reason, err
	}
	return r.mustGiveWay()
}

// mustGiveWay claims the address of the recipient. It returns StopDuplicateAddress if another sequence has it.
func (r *sequenceRun) mustGiveWay() (reason StopReason, err error) {
	claimedBy, err := r.claimAddress()
	if claimedBy.Valid {
		reason, r.s.DuplicateOf = StopDuplicateAddress, claimedBy
	}
	return reason, err
}

// proceed is advance for a sequence that need not stop. It fails because of a damaged record only if it has
// done nothing else.
func (r *sequenceRun) proceed() (err error) {
	r.s.state.LacksAddress = r.recipient.Email == ""
	hasPerformed := false
	for more := true; more; {
		if more, err = r.schedule(); err != nil {
			return err
		}
		performed := false
		if r.isRunning() {
			performed, err = r.performDue()
			hasPerformed = hasPerformed || performed
			if err != nil && !(hasPerformed && store.IsGone(err)) {
				return err
			}
		}
		more = more || performed
	}
	if r.s.isFinished() {
		r.s.Status = SequenceCompleted
		r.events = append(r.events, sequenceEvent{name: "completed"})
	}
	return nil
}

// schedule computes the due times of the steps that follow from the history, and reports whether
// there were any.
func (r *sequenceRun) schedule() (scheduled bool, err error) {
	c, err := r.template()
	if err != nil {
		return false, err
	}
	cal, err := r.x.cal()
	if err != nil {
		return false, err
	}
	r.pushEmails(c, cal, time.Time{})
	dues := planner.Schedule(c.Plan, cal, r.s.StartedAt.Std(), r.s.plannerHistory(c), r.x.now)
	for _, d := range dues {
		step := &c.Content.Steps[d.Step]
		at, reason, err := r.notBeforePostponed(step, d.At, d.Reason)
		if err != nil {
			return false, err
		}
		r.s.History = append(r.s.History, HistoryStep{
			StepIndex: step.Index, Type: step.Type, Status: StepWaiting, DueAt: shape.At(at), Reason: reason,
			TemplateVersion: int(r.s.state.Version),
		})
		r.s.state.Steps = append(r.s.state.Steps, stepState{ScheduledAt: shape.At(r.x.now)})
	}
	return len(dues) > 0, nil
}

// performDue does the due steps that need no slot of the sender, and reports whether there were
// any. A step that needs a record which is damaged or gone stays due and does not keep the others from happening.
func (r *sequenceRun) performDue() (performed bool, damage error) {
	for i := range r.s.History {
		at, needsSlot, waits := r.s.due(i)
		if !waits || needsSlot || at.After(r.x.now) {
			continue
		}
		var err error
		switch h := &r.s.History[i]; {
		case h.MessageID.Valid && i != r.s.nextEmail(): // an earlier email is tried again
			r.s.state.Steps[i].NeedsSlot = true
		case h.MessageID.Valid:
			err = r.resendOrDrop(i)
		case h.Type == template.AutoEmail:
			r.finishStep(i, StepSkipped, outreach.NoAddress)
		default:
			err = r.createTask(i)
		}
		if store.IsGone(err) {
			damage = err
			continue
		}
		if err != nil {
			return performed, err
		}
		performed = true
	}
	return performed, damage
}

// dueEmail returns the position in the history of the next email, if it is due and needs a slot of
// the sender.
func (r *sequenceRun) dueEmail() (i int, found bool) {
	if i = r.s.nextEmail(); i < 0 {
		return i, false
	}
	at, needsSlot, waits := r.s.due(i)
	return i, waits && needsSlot && !at.After(r.x.now)
}

// finishStep sets the final status of a step. The reason, if there is one, is added to that of its
// due time.
func (r *sequenceRun) finishStep(i int, status StepStatus, reason string) {
	h := &r.s.History[i]
	h.Status, h.At = status, shape.At(r.x.now)
	state := &r.s.state.Steps[i]
	state.Retry, state.NeedsSlot, state.NotBefore = shape.Time{}, false, shape.Time{}
	if reason != "" {
		h.Reason += "; " + reason
	}
	if r.s.Status != SequenceActive {
		return
	}
	r.events = append(r.events, sequenceEvent{name: "step_completed", step: &endedStep{h.StepIndex}})
	if h.Type == template.AutoEmail && (status == StepSkipped || status == StepFailed) {
		r.s.state.MarkUnsent(h.StepIndex, h.MessageID)
	}
}

var sequenceShape = shape.Of[Sequence]()

// save stores the sequence, updates the campaign counters, emits events and cancels Tasks.
func (r *sequenceRun) save() error {
	r.showContact()
	r.s.updateSummary()
	if err := r.write(); err != nil {
		return err
	}
	for _, m := range r.claimed {
		m.sequence = r.doc
	}
	if r.isRunning() && r.s.NextDueAt.Valid() {
		r.x.needsAdvancing = true
	}
	for _, event := range r.events {
		if err := r.emit(event); err != nil {
			return err
		}
	}
	return r.cancelOpenTasks()
}

// write inserts or updates the sequence, and updates the campaign counters.
func (r *sequenceRun) write() (err error) {
	if r.doc.ID == uuid.Nil {
		r.doc, err = r.x.engine.sequences.Insert(r.x.tx, r.s.ID, r.s)
	} else {
		before := r.doc.Record
		if err := r.x.count(&before, -1); err != nil {
			return err
		}
		fields := sequenceShape.Diff(&before, &r.s)
		r.doc, err = r.x.engine.sequences.Update(r.x.tx, r.doc, r.s, fields)
	}
	if err != nil {
		return err
	}
	return r.x.count(&r.s, 1)
}
