package planner

import (
	"cmp"
	"slices"
	"time"
)

// The messages of a sequence are at least as far apart as the template plans them, whatever delays
// one of them: its sender's cap and gap, a late task, a pause or an outage. The distance is that of
// their planned times. It counts in days where the template does, so a message that is
// planned three business days after another at 09:00 is sent at 09:00, three business days after the
// other one was really sent.

// plannedTimes are the times at which a template plans its steps if nothing delays them.
type plannedTimes struct {
	start instant
	steps []plannedStep // by position
	order []int         // positions by base
	rank  []int         // by position: its place in order
}

type plannedStep struct {
	at   instant // zero for a step that is never due
	date date
	// base is the planned time by the template alone. at is in the sending window, and as far from other
	// messages as their base times.
	base  instant
	day   date  // of base
	clock int64 // of base: local time of the day, in seconds
	link  *link // the deciding transition; nil without incoming transitions
	// anchor is the step from which the planned time counts in minutes and hours only, which is the
	// step itself if it counts in days.
	anchor     int
	isBusiness bool // the days up to the anchor are business days
}

func (t *Template) plannedTimes(c *Calendar, start instant) *plannedTimes {
	n := len(t.steps)
	p := &plannedTimes{start: start, steps: make([]plannedStep, n), rank: make([]int, n)}
	f := scheduling{Template: t, cal: c, start: start, states: make([]state, n), planned: p}
	p.order = slices.Clone(t.order)
	for now, ok := start, true; ok; now, ok = f.endNext() {
		for _, i := range t.order {
			if f.states[i].isDecided() {
				continue
			}
			if at, why, can := f.templateDue(&t.steps[i]); can {
				p.plan(&f, i, at, why.link)
				p.sort(t)
				f.states[i].scheduled, f.states[i].due = now, p.steps[i].at
				f.pushPlanned(i)
			}
		}
		for _, i := range p.order {
			f.pushPlanned(i)
		}
	}
	return p
}

// pushPlanned does what push does with a planned time.
func (f *scheduling) pushPlanned(i int) {
	if f.push(i) {
		due := f.states[i].due
		f.planned.steps[i].at, f.planned.steps[i].date = due, f.cal.dateOf(due)
	}
}

// sort orders the steps by the times that the template plans.
func (p *plannedTimes) sort(t *Template) {
	slices.SortFunc(p.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(p.steps[a].base, p.steps[b].base), cmp.Compare(t.steps[a].position, t.steps[b].position))
	})
	for place, i := range p.order {
		p.rank[i] = place
	}
}

// plan plans a step at the time that the template determines by a transition, or without one.
func (p *plannedTimes) plan(f *scheduling, i int, at instant, by *link) {
	local := at.unix() + f.cal.offsetPeriod(at.unix()).offset
	step := plannedStep{at: at, base: at, day: dateOf(local), link: by, anchor: i}
	step.clock = local - int64(step.day)*day
	if f.steps[i].Action == Send {
		step.at = f.cal.nextOpen(at)
	}
	step.date = f.cal.dateOf(step.at)
	if by != nil && by.countsInDays() {
		step.isBusiness = by.Pre.Unit == BusinessDays || by.Post.Unit == BusinessDays
	} else if by != nil {
		step.anchor, step.isBusiness = p.steps[by.from].anchor, p.steps[by.from].isBusiness
	}
	p.steps[i] = step
}

// endNext ends what is due next: all tasks of one instant, and then its messages, one at a time. ok is
// false if all steps have ended.
func (f *scheduling) endNext() (now instant, ok bool) {
	next := -1
	for i := range f.states {
		if f.isOpen(i) && (next < 0 || f.endsBefore(i, next)) {
			next = i
		}
	}
	if next < 0 {
		return 0, false
	}
	now = f.states[next].due
	for i := range f.states {
		if i == next || f.isOpen(i) && f.states[i].due == now && f.steps[i].Action != Send {
			f.states[i].ended = now
		}
	}
	return now, true
}

// isOpen reports whether a step has a due time and has not ended.
func (f *scheduling) isOpen(i int) bool { return f.states[i].scheduled != 0 && f.states[i].ended == 0 }

// endsBefore reports whether a step ends before another one if nothing delays them.
func (f *scheduling) endsBefore(i, other int) bool {
	a, b := &f.states[i], &f.states[other]
	if a.due != b.due {
		return a.due < b.due
	}
	if isMail := f.steps[i].Action == Send; isMail != (f.steps[other].Action == Send) {
		return !isMail
	}
	return f.steps[i].Index < f.steps[other].Index
}

// spacing is the distance to another message that determined a due time.
type spacing struct {
	from   int     // index of the step of the other message, plus 1; zero if there is none
	days   Delay   // the distance; without a unit, exact has it
	exact  instant // the distance in microseconds
	isLate bool    // the other message was sent later than planned
}

// keepDistance returns the first time from at on at which the message of a step is far enough from
// the other messages of its sequence: from those that were sent, and from the due times of those that
// are planned before it. If that is later than at, why is changed to say so.
func (f *scheduling) keepDistance(i int, at instant, why cause) (instant, cause) {
	if at < f.notBefore {
		at, why.recipientGap = f.cal.nextOpen(f.notBefore), true
	}
	for other := range f.steps {
		from := &f.states[other]
		if other == i || f.steps[other].Action != Send || from.scheduled == 0 {
			continue
		}
		isSent := from.ended != 0
		sent := max(from.due, f.expected)
		switch {
		case isSent && (from.end == Skipped || from.end == Failed):
			continue
		case isSent:
			sent = from.ended
		case f.planned.rank[other] > f.planned.rank[i]:
			continue
		}
		if f.keepsDistance(other, i) {
			continue
		}
		least, distance := f.distanceFrom(other, i, sent)
		if least <= at {
			continue
		}
		if open := f.cal.nextOpen(least); open > at {
			distance.from = f.steps[other].Index + 1
			distance.isLate = isSent && f.planned.rank[other] < f.planned.rank[i]
			at, why.moved, why.spacing = open, open != least, distance
		}
	}
	return at, why
}

// keepsDistance reports whether the transitions of the template alone keep a step far enough from
// another: it counts from the end of the other one, whatever happens. They do not if the other one
// has begun again since the step was scheduled.
func (f *scheduling) keepsDistance(other, i int) bool {
	if scheduled, over := f.states[i].scheduled, f.states[other].ended; scheduled != 0 && (over == 0 || over > scheduled) {
		return false
	}
	first, last := &f.planned.steps[other], &f.planned.steps[i]
	if first.date == last.date && first.anchor != last.anchor {
		return false
	}
	for i != other {
		s := &f.steps[i]
		if len(s.in) != 1 || s.in[0].Type != Completes {
			return false
		}
		i = s.in[0].from
	}
	return true
}

// distanceFrom returns when the message of step i may be sent at the earliest if that of another step
// is sent at a time, given the distance that the template plans between the two.
func (f *scheduling) distanceFrom(other, i int, sent instant) (least instant, s spacing) {
	first, last := &f.planned.steps[other], &f.planned.steps[i]
	clock := last.clock
	if least, sum, follows := f.replay(other, i, sent); follows {
		if first.date != last.date {
			return least, spacing{days: sum}
		}
		s.exact = max(0, last.base-first.at)
		return sent + s.exact, s
	}
	if f.planned.rank[other] > f.planned.rank[i] {
		first, last = last, first
	}
	if first.day == last.day || first.anchor == last.anchor {
		s.exact = max(0, last.base-first.base)
		return sent + s.exact, s
	}
	d, day := f.cal.dateOf(sent), max(first.day, last.day)
	if last.isBusiness {
		s.days = Delay{f.cal.businessDays(first.day, day), BusinessDays}
		return f.cal.firstAt(f.cal.businessDay(d, s.days.N), clock), s
	}
	s.days = Delay{int(day - first.day), Days}
	return f.cal.firstAt(d+date(s.days.N), clock), s
}

// replay applies the transitions that lead from one step to another, as planned, to a time at which
// the first one happens. The sum of the delays has no unit if they have several. ok is false if no
// transitions lead from one to the other.
func (f *scheduling) replay(from, to int, at instant) (over instant, sum Delay, ok bool) {
	if from == to {
		return at, Delay{}, true
	}
	l := f.planned.steps[to].link
	if l == nil {
		return 0, Delay{}, false
	}
	if over, sum, ok = f.replay(from, l.from, at); !ok {
		return 0, Delay{}, false
	}
	for _, d := range [...]Delay{l.Pre, l.Post} {
		over, _ = f.cal.later(over, d, f.steps[to].Hour)
		switch {
		case d.Unit == "":
		case sum.Unit == "" || sum.Unit == d.Unit:
			sum = Delay{sum.N + d.N, d.Unit}
		default:
			sum.Unit = mixed
		}
	}
	return over, sum, true
}

// mixed is the unit of a sum of delays with several units.
const mixed Unit = "mixed"

// push moves the due time of a waiting message if it is too close to another one, and reports whether
// it did.
func (f *scheduling) push(i int) bool {
	s := &f.states[i]
	if !f.hasDueMessage(i) {
		return false
	}
	at, why := f.keepDistance(i, s.due, s.why)
	if at == s.due {
		return false
	}
	s.due, s.why = at, why
	return true
}

// hasDueMessage reports whether a step is a message that has a due time and has not ended.
func (f *scheduling) hasDueMessage(i int) bool {
	return f.steps[i].Action == Send && f.isOpen(i)
}

// Push returns the new due times of messages that have a due time and are not sent yet, where other
// messages of the sequence went out late. Call it with the current history after a step has ended or
// was scheduled, and store the result before the next call, which then returns none of them again.
// Due times never become earlier. A message that is due before now is expected to be sent now at the
// earliest; if now is zero, when it is due.
//
// A caller must send the messages of a sequence in the order of their due times, and none before the
// one before it has ended.
func Push(t *Template, c *Calendar, start time.Time, history []StepHistory, now time.Time) (moved []Due) {
	f := newScheduling(t, c, start, history)
	f.expected = instantOf(now)
	for _, i := range f.planned.order {
		if f.push(i) {
			s := &f.states[i]
			moved = append(moved, Due{Step: i, At: s.due.time(), Reason: pushedReason(history[i].Reason, s.why)})
		}
	}
	return moved
}
