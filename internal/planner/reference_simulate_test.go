package planner

import (
	"cmp"
	"slices"
	"time"
)

// slot returns the first time from t on at which the sender may send a message that was due at a
// time, for a step with an own hour.
func (r *reference) slot(t, due time.Time, own int) time.Time {
	if n := len(r.sent); n > 0 {
		t = latest(t, r.sent[n-1].Add(r.gap))
	}
	perDate := map[time.Time]int{}
	isOverflow := false
	for _, s := range r.sent {
		d := r.date(s)
		perDate[d]++
		isOverflow = isOverflow || r.cap > 0 && perDate[d] >= r.cap && !d.Before(r.date(due))
	}
	return r.first(t, func(t time.Time) bool {
		d := r.date(t)
		if !r.open(t) || r.cap > 0 && perDate[d] >= r.cap {
			return false
		}
		if !isOverflow || own == AnyHour {
			return true
		}
		hour := r.at(d, own)
		return !t.Before(hour) || !r.open(hour) || !r.date(hour).Equal(d)
	})
}

// mail is a pending message of the reference.
type mail struct {
	contact, step int
	due, slot     time.Time
}

// own returns the own hour of a step.
func (c *contact) own(i int) int {
	isRoot, inDays := true, false
	for _, tr := range c.transitions {
		if tr.To == c.steps[i].Index {
			isRoot = false
			for _, u := range []Unit{tr.Pre.Unit, tr.Post.Unit} {
				inDays = inDays || u == Days || u == BusinessDays
			}
		}
	}
	if isRoot || inDays {
		return c.steps[i].Hour
	}
	return AnyHour
}

// simulate proceeds from one time to the next and examines every step of every sequence each time.
func (r *reference) simulate(now time.Time, contacts []*contact) {
	clock := now
	for _, c := range contacts {
		c.past = append(slices.Clone(c.History), make([]StepHistory, len(c.steps)-len(c.History))...)
		c.plan = make([]Planned, len(c.steps))
		for i, p := range c.past {
			if c.plan[i] = (Planned{Step: i}); !p.EndedAt.IsZero() {
				c.plan[i] = Planned{Step: i, Action: c.steps[i].Action, At: p.EndedAt, Done: true}
				if p.Outcome == Skipped {
					c.plan[i].Action = Skip
				}
			}
		}
		c.begin(r)
		c.advance(r, latest(now, c.Start))
	}
	for {
		var mails []mail
		var over, slot time.Time
		for order, c := range contacts {
			c.settle(clock)
			next := c.next()
			for i, p := range c.past {
				if p.ScheduledAt.IsZero() || c.plan[i].Action != "" {
					continue
				}
				at := latest(p.Due, clock)
				isMail := c.steps[i].Action == Send && c.SkipMail == ""
				switch {
				case isMail && (c.stuck != "" || i != next || c.ended(at)):
				case isMail && (c.Withheld == nil || c.Withheld[i] == ""):
					s := r.slot(at, p.Due, c.own(i))
					if slot.IsZero() || s.Before(slot) {
						slot = s
					}
					mails = append(mails, mail{order, i, p.Due, s})
				case over.IsZero() || at.Before(over):
					over = at
				}
			}
		}
		switch {
		case over.IsZero() && slot.IsZero():
			for _, c := range contacts {
				c.close()
			}
			return
		case !over.IsZero() && (slot.IsZero() || !over.After(slot)):
			clock = over
			for _, c := range contacts {
				c.finish(clock)
			}
		default:
			clock = slot
			r.send(contacts, slices.DeleteFunc(mails, func(m mail) bool { return m.slot.After(slot) }), slot)
		}
		for _, c := range contacts {
			c.advance(r, clock)
		}
	}
}

// send sends the first of the messages that can be sent at a time.
func (r *reference) send(contacts []*contact, mails []mail, slot time.Time) {
	slices.SortFunc(mails, func(a, b mail) int {
		if p := contacts[a.contact].Prioritized; p != contacts[b.contact].Prioritized {
			return map[bool]int{true: -1, false: 1}[p]
		}
		return cmp.Or(a.due.Compare(b.due), a.contact-b.contact, contacts[a.contact].steps[a.step].Index-contacts[b.contact].steps[b.step].Index)
	})
	c, i := contacts[mails[0].contact], mails[0].step
	if c.ended(slot) {
		c.endMail()
		return
	}
	c.plan[i] = Planned{Step: i, Action: Send, At: slot}
	c.past[i].EndedAt = slot
	r.sent = append(r.sent, slot)
}

// settle decides what becomes of the next message if it is not sent.
func (c *contact) settle(clock time.Time) {
	if c.SkipMail != "" {
		return
	}
	if c.stuck == Skip {
		c.endMail()
	}
	next := c.next()
	if next < 0 || c.stuck != "" {
		return
	}
	if c.Withheld != nil && c.Withheld[next] == Hold && !c.ended(latest(c.past[next].Due, clock)) {
		c.stuck = Hold
		c.plan[next] = Planned{Step: next, Action: Hold, At: c.past[next].Due}
	}
}

// ended reports whether the campaign has ended at a time.
func (c *contact) ended(at time.Time) bool { return !c.End.IsZero() && !at.Before(c.End) }

// endMail skips all messages that are not sent yet, because the campaign ends.
func (c *contact) endMail() {
	c.stuck = Skip
	for i, p := range c.past {
		if c.steps[i].Action == Send && !p.ScheduledAt.IsZero() && c.plan[i].Action == "" {
			c.plan[i] = Planned{Step: i, Action: Skip, At: p.Due}
		}
	}
}

// finish ends the tasks and skipped steps that end at a time.
func (c *contact) finish(clock time.Time) {
	next := c.next()
	for i, p := range c.past {
		if p.ScheduledAt.IsZero() || c.plan[i].Action != "" || p.Due.After(clock) {
			continue
		}
		ended := c.ended(clock)
		if c.steps[i].Action == Send && c.SkipMail == "" && (ended || i != next || c.Withheld == nil || c.Withheld[i] != Skip || c.stuck != "") {
			continue
		}
		c.plan[i] = Planned{Step: i, Action: c.steps[i].Action, At: p.Due}
		if ended || c.steps[i].Action == Send {
			c.plan[i].Action = Skip
		}
		if !ended {
			c.past[i].EndedAt = clock
			if c.steps[i].Action == Send {
				c.past[i].Outcome = Skipped
			}
		}
	}
}

// close plans the steps that are never due.
func (c *contact) close() {
	for _, i := range c.byBase() {
		if c.plan[i].Action != "" {
			continue
		}
		c.plan[i].Action = Skip
		if !c.past[i].ScheduledAt.IsZero() {
			if c.plan[i].Action = Hold; c.stuck != Hold || c.ended(c.past[i].Due) {
				c.plan[i] = Planned{Step: i, Action: Skip, At: c.past[i].Due}
			}
			continue
		}
		for _, tr := range c.transitions {
			from := c.position(tr.From)
			p := c.past[from]
			if tr.To != c.steps[i].Index || tr.Type == Scheduled && !p.ScheduledAt.IsZero() || !p.EndedAt.IsZero() && tr.Type == Completes {
				continue
			}
			if c.plan[from].Action == Hold {
				c.plan[i].Action = Hold
			}
			break
		}
	}
}
