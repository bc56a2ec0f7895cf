package planner

import "time"

// StepHistory is what has happened to one step of a sequence. Fields are zero for what has not
// happened yet.
type StepHistory struct {
	ScheduledAt time.Time // when its due time was computed
	Due         time.Time
	EndedAt     time.Time // when it was sent, completed or skipped, or failed
	Outcome     Outcome   // how it ended
	Reason      string    // of its due time, as returned by Schedule; simulations repeat it
}

// Due is the due time of a step that was scheduled by this call.
type Due struct {
	Step   int // position in the template
	At     time.Time
	Reason string
}

// Schedule returns every step that has no due time yet and can get one from what has happened. Such
// a step is scheduled at the time now, which also fires the transitions that wait for that. history
// has the steps by position and is not changed; missing entries mean that nothing has happened. The
// caller adds the result to the history. A second call then returns none of these steps again.
func Schedule(t *Template, c *Calendar, start time.Time, history []StepHistory, now time.Time) []Due {
	f := newScheduling(t, c, start, history)
	var dues []Due
	for _, i := range f.scheduleAll(nil, instantOf(now)) {
		s := &f.states[i]
		dues = append(dues, Due{Step: i, At: s.due.time(), Reason: s.why.reason(&t.steps[i])})
	}
	return dues
}

// scheduling is the state of a sequence while its steps are being scheduled.
type scheduling struct {
	*Template
	cal       *Calendar
	start     instant
	states    []state // by position of the step
	planned   *plannedTimes
	notBefore instant // of messages
	expected  instant // overdue messages are expected to be sent then at the earliest
}

func newScheduling(t *Template, c *Calendar, start time.Time, history []StepHistory) *scheduling {
	f := &scheduling{Template: t, cal: c, start: instantOf(start), states: make([]state, len(t.steps))}
	f.planned = t.plannedTimes(c, f.start)
	f.begin(history)
	return f
}

// state is the progress of a step.
type state struct {
	scheduled, due, ended instant // as in StepHistory
	why                   cause   // of the due time
	before                bool    // scheduled earlier; the reason is in the history, not in why
	end                   Outcome
}

// isDecided reports whether the step has a due time or no longer needs one.
func (s *state) isDecided() bool { return s.scheduled != 0 || s.ended != 0 }

func (f *scheduling) begin(history []StepHistory) {
	for i := range min(len(history), len(f.states)) {
		p := &history[i]
		f.states[i] = state{scheduled: instantOf(p.ScheduledAt), due: instantOf(p.Due), ended: instantOf(p.EndedAt), end: p.Outcome}
	}
}

// scheduleAll schedules every step that can be, and appends their positions to scheduled. One pass
// is enough because the order is topological.
func (f *scheduling) scheduleAll(scheduled []int, now instant) []int {
	for _, i := range f.order {
		if f.scheduleStep(i, now) {
			scheduled = append(scheduled, i)
		}
	}
	return scheduled
}

// scheduleStep schedules a step that has no due time yet, if its transitions allow it.
func (f *scheduling) scheduleStep(i int, now instant) bool {
	s := &f.states[i]
	if s.isDecided() {
		return false
	}
	due, why, can := f.templateDue(&f.steps[i])
	if !can {
		return false
	}
	if f.steps[i].Action == Send {
		open := f.cal.nextOpen(due)
		why.moved = open != due
		due, why = f.keepDistance(i, open, why)
	}
	s.scheduled, s.due, s.why = now, due, why
	return true
}

// templateDue computes the due time of a step by the template alone. can is false while the step waits
// for transitions.
func (f *scheduling) templateDue(s *step) (at instant, why cause, can bool) {
	if len(s.in) == 0 {
		at = f.cal.first(f.cal.dateOf(f.start)+date(s.Day), s.Hour)
		if at < f.start {
			at, why.passed = f.start, true
		}
	} else {
		fired, ok := f.decidingTransition(s)
		if !ok {
			return at, why, false
		}
		at, why.link, why.passed = fired.due, fired.link, fired.passed
		if fired.link.Type == Completes {
			why.end = f.states[fired.link.from].end
		}
	}
	return at, why, true
}

// firedTransition is a transition that has fired, with the due time that it leads to.
type firedTransition struct {
	link    *link
	at, due instant
	passed  bool // the computed time had passed, so the due time is later
}

// decidingTransition returns the transition that determines the due time of a step: the first one
// that fired or, if all are required, the one with the latest due time.
func (f *scheduling) decidingTransition(s *step) (deciding firedTransition, ok bool) {
	for i := range s.in {
		next, fired := f.firedBy(&s.in[i])
		switch {
		case !fired && s.all:
			return firedTransition{}, false
		case !fired, ok && !s.all && deciding.at < next.at:
			continue
		}
		f.applyDelays(&next, s.Hour)
		if !ok || next.beats(deciding, s.all) {
			deciding, ok = next, true
		}
	}
	return deciding, ok
}

// firedBy reports whether a transition has fired, and when.
func (f *scheduling) firedBy(l *link) (firedTransition, bool) {
	from := &f.states[l.from]
	switch l.Type {
	case Scheduled:
		return firedTransition{link: l, at: from.scheduled, due: from.due}, from.scheduled != 0
	case Completes:
		return firedTransition{link: l, at: from.ended, due: from.ended}, from.ended != 0
	}
	return firedTransition{}, false
}

// applyDelays adds the delays of a transition. A step is never due before its transition fired.
func (f *scheduling) applyDelays(next *firedTransition, hour int) {
	var pre, post bool
	next.due, pre = f.cal.later(next.due, next.link.Pre, hour)
	next.due, post = f.cal.later(next.due, next.link.Post, hour)
	next.passed = post || pre && next.link.Post.Unit == ""
	if next.due < next.at {
		next.due, next.passed = next.at, true
	}
}

func (a firedTransition) beats(b firedTransition, all bool) bool {
	if !all && a.at != b.at {
		return a.at < b.at
	}
	if a.due != b.due {
		return a.due < b.due != all
	}
	return a.link.From < b.link.From
}

// later returns the time after a delay for a step of the given hour, and whether that hour had
// passed.
func (c *Calendar) later(m instant, d Delay, hour int) (later instant, passed bool) {
	n := max(d.N, 0)
	switch d.Unit {
	case Minutes:
		return addUnits(m, n, minute), false
	case Hours:
		return addUnits(m, n, 60*minute), false
	case Days:
		from := c.dateOf(m)
		later = c.first(min(from+date(min(n, int(horizon))), max(from, horizon)), hour)
	case BusinessDays:
		later = c.first(c.businessDay(c.dateOf(m), n), hour)
	default:
		return m, false
	}
	if later < m {
		return m, true
	}
	return later, false
}

// addUnits adds n units, but not beyond the horizon.
func addUnits(m instant, n int, unit instant) instant {
	far := instantAt(int64(horizon) * day)
	if room := max(far-m, 0); instant(n) > room/unit {
		return max(m, far)
	}
	return m + instant(n)*unit
}
