package planner

import "time"

// StepHistory is what is known of one step of a sequence. What has not happened yet is zero.
type StepHistory struct {
	ScheduledAt time.Time // when its due time was fixed
	Due         time.Time
	EndedAt     time.Time // when it was sent, completed, skipped, or failed
	Outcome     Outcome   // how it is over
	Reason      string    // of its due time, as Fix gave it; for a simulation, which repeats it
}

// Due is a due time that is fixed now.
type Due struct {
	Step   int // its position in the template
	At     time.Time
	Reason string
}

// Fix gives every step that has no due time yet, and gets one by what has happened: it is fixed at the instant now, which also
// fires the transitions that wait for no more than that. The past of a step stands at its position and is left as it is; where it
// ends nothing has happened. The caller notes what it is given as the past: asked again, Fix gives the same steps no second time.
func Schedule(t *Template, c *Calendar, start time.Time, past []StepHistory, now time.Time) []Due {
	f := fixing{Template: t, cal: c, start: instantOf(start), states: make([]state, len(t.steps))}
	f.begin(past)
	var dues []Due
	for _, i := range f.fixAll(nil, instantOf(now)) {
		s := &f.states[i]
		dues = append(dues, Due{Step: i, At: s.due.time(), Reason: s.why.reason(&t.steps[i])})
	}
	return dues
}

// fixing is a sequence whose due times are being fixed.
type fixing struct {
	*Template
	cal    *Calendar
	start  instant
	states []state // of the step at each position
}

// state is how far a step has come.
type state struct {
	fixed, due, over instant // as in its StepHistory
	why              cause   // of the due time
	before           bool    // it was fixed before: of why, the past alone knows
	end              Outcome
}

// settled tells whether the step has a due time, or needs none any more.
func (s *state) settled() bool { return s.fixed != 0 || s.over != 0 }

func (f *fixing) begin(past []StepHistory) {
	for i := range min(len(past), len(f.states)) {
		p := &past[i]
		f.states[i] = state{fixed: instantOf(p.ScheduledAt), due: instantOf(p.Due), over: instantOf(p.EndedAt), end: p.Outcome}
	}
}

// fixAll fixes the due times that can be, and adds the positions of their steps to fixed. Steps come after those that they wait for,
// so that one pass finds all.
func (f *fixing) fixAll(fixed []int, now instant) []int {
	for _, i := range f.order {
		if f.fix(i, now) {
			fixed = append(fixed, i)
		}
	}
	return fixed
}

// fixSome is fixAll where something happened only to steps that lead to those places in the order, which it uses up. It looks at
// no other steps than those that may be due by that.
func (f *fixing) fixSome(fixed, places []int, now instant) []int {
	for len(places) > 0 {
		first := 0
		for j := range places {
			if places[j] < places[first] {
				first = j
			}
		}
		i := f.order[places[first]]
		places[first] = places[len(places)-1]
		places = places[:len(places)-1]
		if f.fix(i, now) {
			fixed = append(fixed, i)
			places = append(places, f.steps[i].out...)
		}
	}
	return fixed
}

// fix fixes the due time of a step, if it has none yet and can have one.
func (f *fixing) fix(i int, now instant) bool {
	s := &f.states[i]
	if s.settled() {
		return false
	}
	due, why, can := f.due(&f.steps[i])
	if can {
		s.fixed, s.due, s.why = now, due, why
	}
	return can
}

// due is when a step is due, if that can be said by now.
func (f *fixing) due(s *step) (at instant, why cause, can bool) {
	if len(s.in) == 0 {
		at = f.cal.first(f.cal.dateOf(f.start)+date(s.Day), s.Hour)
		if at < f.start {
			at, why.passed = f.start, true
		}
	} else {
		fired, ok := f.decide(s)
		if !ok {
			return at, why, false
		}
		at, why.link, why.passed = fired.due, fired.link, fired.passed
		if fired.link.Type == Completes {
			why.end = f.states[fired.link.from].end
		}
	}
	if s.Action == Send {
		open := f.cal.opening(at.unix()).enter(at)
		at, why.moved = open, open != at
	}
	return at, why, true
}

// firing is a transition that has fired, and the due time that it leads to.
type firing struct {
	link    *link
	at, due instant
	passed  bool // the due time is later than the delays say, because that had passed
}

// decide finds the transition that decides when a step is due: the first that fired or, where all are required, the one that
// leads to the latest due time.
func (f *fixing) decide(s *step) (decides firing, ok bool) {
	for i := range s.in {
		next, fired := f.fire(&s.in[i])
		switch {
		case !fired && s.all:
			return firing{}, false
		case !fired, ok && !s.all && decides.at < next.at:
			continue
		}
		f.lead(&next, s.Hour)
		if !ok || next.beats(decides, s.all) {
			decides, ok = next, true
		}
	}
	return decides, ok
}

// fire tells whether a transition has fired, and when.
func (f *fixing) fire(l *link) (firing, bool) {
	from := &f.states[l.from]
	switch l.Type {
	case Scheduled:
		return firing{link: l, at: from.fixed, due: from.due}, from.fixed != 0
	case Completes:
		return firing{link: l, at: from.over, due: from.over}, from.over != 0
	}
	return firing{}, false
}

// lead adds the delays of a transition to what they count from. Nothing is due before its transition fired.
func (f *fixing) lead(next *firing, hour int) {
	var pre, post bool
	next.due, pre = f.cal.over(next.due, next.link.Pre, hour)
	next.due, post = f.cal.over(next.due, next.link.Post, hour)
	next.passed = post || pre && next.link.Post.Unit == ""
	if next.due < next.at {
		next.due, next.passed = next.at, true
	}
}

func (a firing) beats(b firing, all bool) bool {
	if !all && a.at != b.at {
		return a.at < b.at
	}
	if a.due != b.due {
		return a.due < b.due != all
	}
	return a.link.From < b.link.From
}

// over is when a delay is over that begins at a instant, for a step of that hour, and whether that hour had passed.
func (c *Calendar) over(m instant, d Delay, hour int) (over instant, passed bool) {
	n := max(d.N, 0)
	switch d.Unit {
	case Minutes:
		return elapse(m, n, minute), false
	case Hours:
		return elapse(m, n, 60*minute), false
	case Days:
		from := c.dateOf(m)
		over = c.first(min(from+date(min(n, int(horizon))), max(from, horizon)), hour)
	case BusinessDays:
		over = c.first(c.businessDay(c.dateOf(m), n), hour)
	default:
		return m, false
	}
	if over < m {
		return m, true
	}
	return over, false
}

// elapse adds a number of units, as far as the horizon.
func elapse(m instant, n int, unit instant) instant {
	far := instantAt(int64(horizon) * day)
	if room := max(far-m, 0); instant(n) > room/unit {
		return max(m, far)
	}
	return m + instant(n)*unit
}
