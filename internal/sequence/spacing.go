package sequence

import (
	"cmp"
	"time"

	"prospector/internal/planner"
	"prospector/internal/shape"
	"prospector/internal/template"
)

// The emails of a sequence are sent in the order of their due times, and each is at least as far from
// the others as the template plans. An email that is sent late pushes the following ones.

// nextEmail returns the position in the history of the email that is sent next, or -1. While an email
// is in flight or cannot be sent, no other one is sent.
func (s *Sequence) nextEmail() int {
	next := -1
	for i := range s.History {
		h := &s.History[i]
		if h.Type != template.AutoEmail || h.Status.isFinal() {
			continue
		}
		if next < 0 || compareDue(h, &s.History[next]) < 0 {
			next = i
		}
	}
	return next
}

// position returns the position in the history of the step that has an index in the content of the sequence, or -1.
func (s *Sequence) position(index int) int {
	for i := range s.History {
		if s.History[i].StepIndex == index && !s.state.Steps[i].Gone {
			return i
		}
	}
	return -1
}

// inFlight reports whether the message of a step was handed to the dispatcher.
func (s *Sequence) inFlight(i int) bool {
	h := &s.History[i]
	return h.Status == StepWaiting && h.MessageID.Valid && !s.state.Steps[i].Retry.Valid()
}

func compareDue(a, b *HistoryStep) int {
	return cmp.Or(a.DueAt.Std().Compare(b.DueAt.Std()), cmp.Compare(a.StepIndex, b.StepIndex))
}

// pushEmails moves the due times of waiting emails that are too close to another one, and reports
// whether there were any. An email that is overdue is expected to be sent at the time now at the
// earliest, or when it was due if now is zero.
func (r *sequenceRun) pushEmails(c *template.Compiled, cal *planner.Calendar, now time.Time) (pushed bool) {
	for _, d := range planner.Push(c.Plan, cal, r.s.StartedAt.Std(), r.s.plannerHistory(c), now) {
		index := c.Content.Steps[d.Step].Index
		i := r.s.position(index)
		if h := &r.s.History[i]; !r.s.inFlight(i) {
			h.DueAt, h.Reason, pushed = shape.At(d.At), d.Reason, true
		}
	}
	return pushed
}

// sendNext sends the next email of the sequence, and reports whether it changed the sequence. An email
// that must wait for the hour of its step is noted on the agenda. If an earlier email is in flight or
// cannot be sent, the due one is pushed behind it.
func (r *sequenceRun) sendNext(a *agenda, from *sender, t Transport) (hasChanged bool, err error) {
	if r.damage != nil {
		return false, r.damage
	}
	i, found := r.dueEmail()
	if !found {
		c, err := r.template()
		if err != nil {
			return false, err
		}
		cal, err := r.x.cal()
		return err == nil && r.pushEmails(c, cal, r.x.now), err
	}
	hour, err := r.hourOf(i)
	if err != nil {
		return false, err
	}
	slot := from.ledger.NextAtHour(r.s.History[i].DueAt.Std(), r.x.now, hour)
	if slot.At.After(r.x.now) {
		a.noteNext(slot.At)
		return false, nil
	}
	return true, r.sendEmail(i, from, t, slot)
}

// hourOf returns the own hour of a step of the history.
func (r *sequenceRun) hourOf(i int) (int, error) {
	c, err := r.template()
	if err != nil {
		return 0, err
	}
	return c.Plan.Hour(c.Step(r.s.History[i].StepIndex).Position), nil
}
