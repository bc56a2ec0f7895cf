package sequence_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// simKind is what is special about a contact.
type simKind int

const (
	simPlain simKind = iota
	simNoEmail
	simSuppressed
	simOptedOut
	simUnreachable // no address, and nothing but emails
)

// simRef is a simulation that is slow but obviously correct. It knows nothing of the distance between
// the emails of a sequence, so a template has one email.
type simRef struct {
	simOrg
	zone     *time.Location
	cap      int
	gap      time.Duration
	now, end time.Time // zero means no end
	steps    []simStep
	links    []simLink
	contacts []*simContact
	sent     []time.Time
}

type simContact struct {
	id    string
	kind  simKind
	steps map[int]*simState // by index
}

// simState is the progress of a step.
type simState struct {
	fixed, due, over time.Time
	link             *simLink // that decided
	passed, moved    bool
	last             bool      // of several that it waits for
	action           string    // once it is planned
	at               time.Time // then
	subject          string
	subjectless      bool
}

const simTick = 15 * time.Minute

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// date returns the date of an instant in the organization's time zone, as midnight in UTC.
func (r *simRef) date(t time.Time) time.Time {
	y, m, d := t.In(r.zone).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// at returns the first instant at which clocks show that hour of a date, or a later one.
func (r *simRef) at(date time.Time, hour int) time.Time {
	want := date.Add(time.Duration(hour) * time.Hour)
	t := time.Date(date.Year(), date.Month(), date.Day(), hour, 0, 0, 0, r.zone).Add(-4 * time.Hour).UTC()
	for {
		local := t.In(r.zone)
		if !r.date(t).Add(time.Duration(local.Hour())*time.Hour + time.Duration(local.Minute())*time.Minute).Before(want) {
			return t
		}
		t = t.Add(simTick)
	}
}

func (r *simRef) businessDay(date time.Time) bool {
	return slices.Contains(r.Days, (int(date.Weekday())+6)%7+1) && !slices.Contains(r.Holidays, date.Format(time.DateOnly))
}

// open reports whether a message may be sent.
func (r *simRef) open(t time.Time) bool {
	from, to, h := r.Window.From, r.Window.To, t.In(r.zone).Hour()
	inside := h >= from && h < to
	if from > to {
		inside = h >= from || h < to
	}
	return inside && r.businessDay(r.date(t))
}

// closedBetween reports whether there is a time between two instants at which no message may be
// sent.
func (r *simRef) closedBetween(from, to time.Time) bool {
	return r.first(from, func(t time.Time) bool { return !t.Before(to) || !r.open(t) }).Before(to)
}

// first returns the first instant from t on that fits.
func (r *simRef) first(t time.Time, fit func(time.Time) bool) time.Time {
	for !fit(t) {
		t = t.Truncate(simTick).Add(simTick)
	}
	return t
}

// wait returns when a delay ends, and whether its hour had passed.
func (r *simRef) wait(t time.Time, n int, unit string, hour int) (time.Time, bool) {
	date := r.date(t)
	switch unit {
	case "minutes":
		return t.Add(time.Duration(n) * time.Minute), false
	case "hours":
		return t.Add(time.Duration(n) * time.Hour), false
	case "days":
		date = date.AddDate(0, 0, n)
	case "business_days":
		for n > 0 {
			if date = date.AddDate(0, 0, 1); r.businessDay(date) {
				n--
			}
		}
	default:
		return t, false
	}
	to := r.at(date, hour)
	return later(to, t), to.Before(t)
}

// fix computes the due time of a step, after those of the steps before it.
func (r *simRef) fix(c *simContact, s *simStep, now time.Time) *simState {
	state := c.steps[s.Index]
	if !state.fixed.IsZero() {
		return state
	}
	var fired []simState // the result of the transitions that have fired
	incoming, all := 0, false
	for i := range r.links {
		l := &r.links[i]
		if l.To != s.Index {
			continue
		}
		incoming, all = incoming+1, all || l.All
		from := r.fix(c, &r.steps[slices.IndexFunc(r.steps, func(s simStep) bool { return s.Index == l.From })], now)
		at, base := from.fixed, from.due
		if l.Type == completes {
			at, base = from.over, from.over
		}
		if at.IsZero() {
			continue
		}
		pre, passed := r.wait(base, l.Pre, l.PreUnit, s.Hour)
		due, passedToo := r.wait(pre, l.Post, l.PostUnit, s.Hour)
		if l.PostUnit != "" {
			passed = passedToo
		}
		fired = append(fired, simState{fixed: at, due: later(due, at), link: l, passed: passed || due.Before(at)})
	}
	byDue := func(a, b simState) int { return a.due.Compare(b.due) }
	switch {
	case incoming == 0:
		at := r.at(r.date(r.now).AddDate(0, 0, s.Day), s.Hour)
		state.due, state.passed = later(at, r.now), at.Before(r.now)
	case len(fired) == 0 || all && len(fired) < incoming:
		return state
	case all:
		*state = slices.MaxFunc(fired, byDue)
		state.last = incoming > 1
	default:
		*state = slices.MinFunc(fired, func(a, b simState) int { return cmp.Or(a.fixed.Compare(b.fixed), byDue(a, b)) })
	}
	if s.Type == "auto_email" {
		opening := r.first(state.due, r.open)
		state.due, state.moved = opening, !opening.Equal(state.due)
	}
	state.fixed = now
	return state
}

// ownHour returns the hour of a step that counts in days, or 0.
func (r *simRef) ownHour(s *simStep) int {
	isRoot := true
	for _, l := range r.links {
		if l.To == s.Index {
			if isRoot = false; strings.HasSuffix(l.PreUnit, "days") || strings.HasSuffix(l.PostUnit, "days") {
				return s.Hour
			}
		}
	}
	if isRoot {
		return s.Hour
	}
	return 0
}

// slot returns when the sender may send the next message. One that did not fit into the cap of a day
// waits for the hour of its step, if that is in the window.
func (r *simRef) slot(m simMessage, t time.Time) time.Time {
	if n := len(r.sent); n > 0 {
		t = later(t, r.sent[n-1].Add(r.gap))
	}
	onDate := map[time.Time]int{}
	isOverflow := false
	for _, s := range r.sent {
		onDate[r.date(s)]++
		isOverflow = isOverflow || r.cap > 0 && onDate[r.date(s)] >= r.cap && !r.date(s).Before(r.date(m.state.due))
	}
	return r.first(t, func(t time.Time) bool {
		own := r.at(r.date(t), r.ownHour(m.step))
		waits := isOverflow && t.Before(own) && r.open(own) && r.date(own).Equal(r.date(t))
		return r.open(t) && (r.cap == 0 || onDate[r.date(t)] < r.cap) && !waits
	})
}

// simMessage is a message that waits to be sent.
type simMessage struct {
	c     *simContact
	step  *simStep
	state *simState
}

// plan moves from one instant to the next. At each it first ends steps, and then sends a message.
func (r *simRef) plan() {
	for _, c := range r.contacts {
		c.steps = map[int]*simState{}
		for _, s := range r.steps {
			c.steps[s.Index] = &simState{}
		}
	}
	byIndex := slices.SortedFunc(slices.Values(r.steps), func(a, b simStep) int { return a.Index - b.Index })
	for clock, again := r.now, true; again; {
		again = false
		var over time.Time // when the next step ends
		var mails []simMessage
		for _, c := range r.contacts {
			if c.kind > simNoEmail {
				continue
			}
			for i := range byIndex {
				s := &byIndex[i]
				state := r.fix(c, s, clock)
				switch mail := s.Type == "auto_email"; {
				case state.fixed.IsZero() || state.action != "":
				case !r.end.IsZero() && !state.due.Before(r.end):
					state.action, state.at = "skip", state.due
				case mail && c.kind == simPlain:
					mails = append(mails, simMessage{c, s, state})
				case over.IsZero() || state.due.Before(over):
					over = state.due
				}
			}
		}
		slices.SortStableFunc(mails, func(a, b simMessage) int { return a.state.due.Compare(b.state.due) })
		var slot time.Time
		if len(mails) > 0 {
			slot = r.slot(mails[0], later(mails[0].state.due, clock))
		}
		switch {
		case !over.IsZero() && (slot.IsZero() || !over.After(slot)):
			clock, again = over, true
			for _, c := range r.contacts {
				for _, s := range r.steps {
					if state := c.steps[s.Index]; state.action == "" && state.due.Equal(over) && (s.Type != "auto_email" || c.kind == simNoEmail) {
						state.over, state.at, state.action = over, over, "task"
						if state.subject = s.Subject; s.Type == "auto_email" {
							state.action, state.subject = "skip", ""
						}
					}
				}
			}
		case !slot.IsZero() && !r.end.IsZero() && !slot.Before(r.end):
			again = true
			mails[0].state.action, mails[0].state.at = "skip", mails[0].state.due
		case !slot.IsZero():
			clock, again = slot, true
			r.sent = append(r.sent, slot)
			mails[0].send(slot)
		}
	}
}

// send sends a message.
func (m simMessage) send(at time.Time) {
	m.state.action, m.state.at, m.state.over = "send", at, at
	m.state.subject, m.state.subjectless = m.step.Subject, m.step.Subject == ""
}

// agrees requires that plans equal those of the reference, and that their reasons are correct.
func (r *simRef) agrees(t *testing.T, plans []simPlan) {
	t.Helper()
	if len(plans) != len(r.contacts) {
		t.Fatalf("%d contacts are simulated, want %d", len(plans), len(r.contacts))
	}
	for i, p := range plans {
		c := r.contacts[i]
		if p.Contact != c.id || len(p.Steps) != len(r.steps) {
			t.Fatalf("contact %d is %s with %d steps, want %s with %d", i, p.Contact, len(p.Steps), c.id, len(r.steps))
		}
		for _, got := range p.Steps {
			s := r.steps[slices.IndexFunc(r.steps, func(s simStep) bool { return s.Index == got.Index })]
			want := c.steps[s.Index]
			due, action, subject, missing := time.Time{}, cmp.Or(want.action, "skip"), "", []string{}
			if got.Due != nil {
				due = *got.Due
			}
			if got.Subject != nil {
				subject = *got.Subject
			}
			if want.subjectless {
				missing = []string{"subject"}
			}
			if got.Type != s.Type || got.Action != action || !due.Equal(want.at) || subject != want.subject || !slices.Equal(got.Missing, missing) || (got.Message == nil) != (action == "skip") {
				t.Errorf("contact %d, step %d: %s %s %s (%s) %q %v, want %s %s %s %q %v", i, s.Index, got.Type, got.Action, due, got.Reason, subject, got.Missing,
					s.Type, action, want.at, want.subject, missing)
			}
			r.says(t, fmt.Sprintf("contact %d, step %d", i, s.Index), got.Reason, c.kind, &s, want)
		}
	}
}

// says requires that a reason is correct and complete.
func (r *simRef) says(t *testing.T, what, reason string, kind simKind, s *simStep, want *simState) {
	t.Helper()
	ended := want.action == "skip" && want.over.IsZero()
	says := map[string]bool{
		"opted out":                     kind == simOptedOut,
		"is suppressed":                 kind == simSuppressed,
		"waits for step":                kind <= simNoEmail && want.fixed.IsZero(),
		"the campaign ends before then": ended,
		"no email address":              kind == simUnreachable || kind == simNoEmail && s.Type == "auto_email" && want.action == "skip" && !ended,
		"that time has passed":          want.passed,
		fmt.Sprintf("day %d of the sequence at %02d:00", s.Day, s.Hour): !want.fixed.IsZero() && want.link == nil,
	}
	if want.link != nil {
		says[fmt.Sprintf("step %d was ", want.link.From)] = true
		says["was due"] = want.link.Type == scheduled
		says["the last of the "] = want.last
		for _, d := range []struct {
			n    int
			unit string
		}{{want.link.Pre, want.link.PreUnit}, {want.link.Post, want.link.PostUnit}} {
			if d.unit != "" {
				unit := strings.ReplaceAll(d.unit, "_", " ")
				if d.n == 1 {
					unit = unit[:len(unit)-1]
				}
				says[fmt.Sprint(d.n, " ", unit)] = true
			}
		}
	}
	waited := want.action == "send" && want.at.After(want.due)
	if !waited && !ended || want.moved {
		says["moved to the next sending window"] = want.moved
	}
	if capped, gapped := strings.Contains(reason, "daily cap"), strings.Contains(reason, "the sender's previous message"); !ended && (capped || gapped) != waited || capped && r.cap == 0 || gapped && r.gap == 0 {
		t.Errorf("%s: waits for the sender = %t, but the reason is %q", what, waited, reason)
	}
	if closed := r.closedBetween(want.due, want.at); waited && r.gap < simTick && strings.Contains(reason, "sending window") != (closed || want.moved) && !strings.Contains(reason, "daily cap") {
		t.Errorf("%s: window closed while waiting = %t, but the reason is %q", what, closed, reason)
	}
	if strings.Contains(reason, "window closed before it could be sent") && waited && !r.closedBetween(want.due, want.at) {
		t.Errorf("%s: the window was not closed while waiting, but the reason is %q", what, reason)
	}
	for words, so := range says {
		if strings.Contains(reason, words) != so {
			t.Errorf("%s: contains %q should be %t: %q", what, words, so, reason)
		}
	}
}

// holds checks the invariants of every plan.
func (r *simRef) holds(t *testing.T, plans []simPlan) {
	t.Helper()
	var sent []time.Time
	onDate := map[time.Time]int{}
	for i, p := range plans {
		last := -1
		for _, s := range p.Steps {
			if s.Index <= last {
				t.Errorf("contact %d: step %d is planned after step %d", i, s.Index, last)
			}
			last = s.Index
			if s.Due != nil && s.Due.Before(r.now) || s.Due != nil && s.Due.Before(r.contacts[i].steps[s.Index].due) {
				t.Errorf("contact %d, step %d: at %s, before it is due", i, s.Index, s.Due)
			}
			if s.Action != "skip" && !r.end.IsZero() && !s.Due.Before(r.end) {
				t.Errorf("contact %d, step %d: at %s, after the end", i, s.Index, s.Due)
			}
			if s.Action != "send" {
				continue
			}
			if !r.open(*s.Due) {
				t.Errorf("contact %d, step %d: sent at %s, outside the window", i, s.Index, s.Due)
			}
			sent = append(sent, *s.Due)
			onDate[r.date(*s.Due)]++
		}
	}
	slices.SortFunc(sent, time.Time.Compare)
	for i := range sent {
		if r.cap > 0 && onDate[r.date(sent[i])] > r.cap {
			t.Errorf("%d messages are sent on the date of %s", onDate[r.date(sent[i])], sent[i])
		}
		if i > 0 && sent[i].Sub(sent[i-1]) < r.gap {
			t.Errorf("messages at %s and %s are too near", sent[i-1], sent[i])
		}
	}
}
