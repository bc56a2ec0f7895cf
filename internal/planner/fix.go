package planner

import "time"

// Past is what is known of one step of a sequence. What has not happened yet is zero.
type Past struct {
	Fixed  time.Time // when its due time was fixed
	Due    time.Time
	Over   time.Time // when it was sent, completed, skipped, or failed
	Reason string    // of its due time, as Fix gave it; for a simulation, which repeats it
	// Skipped tells that it was over without having been done.
	Skipped bool
}

// settled tells whether the step has a due time, or needs none any more.
func (p *Past) settled() bool { return !p.Fixed.IsZero() || !p.Over.IsZero() }

// Due is a due time that is fixed now.
type Due struct {
	Step   int // its position in the template
	At     time.Time
	Reason string
}

// Fix gives every step that has no due time yet, and gets one by what has happened: it is fixed at the instant now, which also
// fires the transitions that wait for no more than that. The past of a step stands at its position and is left as it is; where it
// ends nothing has happened. The caller notes what it is given as the past: asked again, Fix gives the same steps no second time.
func Fix(t *Template, c *Calendar, start time.Time, past []Past, now time.Time) []Due {
	f := fixing{Template: t, cal: c, start: start, past: make([]Past, len(t.steps))}
	copy(f.past, past)
	return f.fixAll(nil, now)
}

// fixing is a sequence whose due times are being fixed.
type fixing struct {
	*Template
	cal   *Calendar
	start time.Time
	past  []Past
	ends  []ending // of a simulation: how each step came to be over
}

// fixAll adds the due times that are new to dues and notes them in the past. Steps come after those that they wait for, so that
// one pass finds all.
func (f *fixing) fixAll(dues []Due, now time.Time) []Due {
	for _, i := range f.order {
		dues, _ = f.fix(dues, i, now)
	}
	return dues
}

// fixSome is fixAll where something happened only to steps that lead to those places in the order, which it uses up. It looks at
// no other steps than those that may be due by that.
func (f *fixing) fixSome(dues []Due, places []int, now time.Time) []Due {
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
		var fixed bool
		if dues, fixed = f.fix(dues, i, now); fixed {
			places = append(places, f.steps[i].out...)
		}
	}
	return dues
}

// fix fixes the due time of a step, if it has none yet and can have one.
func (f *fixing) fix(dues []Due, i int, now time.Time) ([]Due, bool) {
	if f.past[i].settled() {
		return dues, false
	}
	at, reason, fixed := f.due(&f.steps[i])
	if !fixed {
		return dues, false
	}
	f.past[i].Fixed, f.past[i].Due, f.past[i].Reason = now, at, reason
	return append(dues, Due{Step: i, At: at, Reason: reason}), true
}

// due is when a step is due, if that is fixed by now.
func (f *fixing) due(s *step) (at time.Time, reason string, fixed bool) {
	why := cause{step: s}
	if len(s.in) == 0 {
		at = f.cal.at(f.cal.date(f.start)+date(s.Day), s.Hour)
		if at.Before(f.start) {
			at, why.passed = f.start.UTC(), true
		}
	} else {
		fired, ok := f.decide(s)
		if !ok {
			return at, "", false
		}
		at, why.link, why.passed = fired.due, fired.link, fired.passed
		if fired.link.Type == Completes {
			why.end = f.ending(fired.link.from)
		}
	}
	if s.Action == Send {
		open := f.cal.Opening(at)
		at, why.moved = open, !open.Equal(at)
	}
	return at, why.reason(), true
}

// ending is how a step that is over came to be so.
func (f *fixing) ending(step int) ending {
	switch {
	case f.past[step].Skipped:
		return skipped
	case f.ends != nil:
		return f.ends[step]
	}
	return happened
}

// firing is a transition that has fired, and the due time that it leads to.
type firing struct {
	link    *link
	at, due time.Time
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
		case !fired, ok && !s.all && next.at.After(decides.at):
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
	from := &f.past[l.from]
	switch l.Type {
	case Scheduled:
		return firing{link: l, at: from.Fixed, due: from.Due}, !from.Fixed.IsZero()
	case Completes:
		return firing{link: l, at: from.Over, due: from.Over}, !from.Over.IsZero()
	}
	return firing{}, false
}

// lead adds the delays of a transition to what they count from. Nothing is due before its transition fired.
func (f *fixing) lead(next *firing, hour int) {
	var pre, post bool
	next.due, pre = f.cal.after(next.due, next.link.Pre, hour)
	next.due, post = f.cal.after(next.due, next.link.Post, hour)
	next.passed = post || pre && next.link.Post.Unit == ""
	if next.due.Before(next.at) {
		next.due, next.passed = next.at, true
	}
	next.due = next.due.UTC()
}

func (a firing) beats(b firing, all bool) bool {
	if !all && !a.at.Equal(b.at) {
		return a.at.Before(b.at)
	}
	if !a.due.Equal(b.due) {
		return a.due.Before(b.due) != all
	}
	return a.link.From < b.link.From
}

// after is when a delay is over that begins at an instant, for a step of that hour, and whether that hour had passed.
func (c *Calendar) after(t time.Time, d Delay, hour int) (over time.Time, passed bool) {
	from := c.date(t)
	n := max(d.N, 0)
	switch d.Unit {
	case Minutes:
		return elapse(t, n, time.Minute), false
	case Hours:
		return elapse(t, n, time.Hour), false
	case Days:
		over = c.at(min(from+date(min(n, int(horizon))), max(from, horizon)), hour)
	case BusinessDays:
		over = c.at(c.businessDay(from, n), hour)
	default:
		return t, false
	}
	if over.Before(t) {
		return t, true
	}
	return over, false
}

// elapse adds a number of units, as far as the horizon.
func elapse(t time.Time, n int, unit time.Duration) time.Time {
	seconds := int64(unit / time.Second)
	room := max(int64(horizon)*day-t.Unix(), 0)
	if int64(n) > room/seconds {
		return latest(t, time.Unix(int64(horizon)*day, 0))
	}
	return time.Unix(t.Unix()+int64(n)*seconds, int64(t.Nanosecond()))
}
