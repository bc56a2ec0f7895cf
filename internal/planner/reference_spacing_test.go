package planner

import (
	"cmp"
	"slices"
	"time"
)

// contact is a sequence of the reference.
type contact struct {
	Sequence
	steps       []Step
	transitions []Transition
	past        []StepHistory
	plan        []Planned
	planned     []plannedByReference
	stuck       Action // why no further message is sent
	isIdeal     bool   // its planned times are being computed
}

// plannedByReference is a step as the template plans it.
type plannedByReference struct {
	at       time.Time
	base     time.Time   // by the template alone
	via      *Transition // nil for a step that counts from the start
	anchor   int         // position of the step from which it counts in minutes and hours
	business bool
}

func (c *contact) position(index int) int {
	return slices.IndexFunc(c.steps, func(s Step) bool { return s.Index == index })
}

// planIdeal plans a step at a time that was determined by a transition, or without one.
func (c *contact) planIdeal(r *reference, i int, at time.Time, via *Transition) {
	p := &c.planned[i]
	*p = plannedByReference{at: at, base: at, via: via, anchor: i}
	if c.steps[i].Action == Send {
		p.at = r.opening(at)
	}
	if via == nil {
		return
	}
	p.business = via.Pre.Unit == BusinessDays || via.Post.Unit == BusinessDays
	if !p.business && via.Pre.Unit != Days && via.Post.Unit != Days {
		from := c.planned[c.position(via.From)]
		p.anchor, p.business = from.anchor, from.business
	}
}

// begin computes the planned times and their order: those of a sequence without limits in which
// every step happens when it is due.
func (c *contact) begin(r *reference) {
	ideal := &contact{
		Sequence: Sequence{Template: c.Template, Start: c.Start}, steps: c.steps, transitions: c.transitions,
		planned: make([]plannedByReference, len(c.steps)), past: make([]StepHistory, len(c.steps)), isIdeal: true,
	}
	for now := c.Start; !now.IsZero(); {
		for i := range c.steps {
			r.due(ideal, i, now)
		}
		ideal.push(r)
		var tasks, mails []int
		for i, p := range ideal.past {
			switch {
			case p.ScheduledAt.IsZero() || !p.EndedAt.IsZero():
			case c.steps[i].Action == Send:
				mails = append(mails, i)
			default:
				tasks = append(tasks, i)
			}
		}
		byDue := func(a, b int) int {
			return cmp.Or(ideal.past[a].Due.Compare(ideal.past[b].Due), c.steps[a].Index-c.steps[b].Index)
		}
		slices.SortFunc(tasks, byDue)
		slices.SortFunc(mails, byDue)
		switch {
		case len(tasks) > 0 && (len(mails) == 0 || !ideal.past[mails[0]].Due.Before(ideal.past[tasks[0]].Due)):
			now = ideal.past[tasks[0]].Due
			for _, i := range tasks {
				if ideal.past[i].Due.Equal(now) {
					ideal.past[i].EndedAt = now
				}
			}
		case len(mails) > 0:
			now = ideal.past[mails[0]].Due
			ideal.past[mails[0]].EndedAt = now
		default:
			now = time.Time{}
		}
	}
	c.planned = ideal.planned
}

// byBase returns the positions of the steps in the order in which the template plans them.
func (c *contact) byBase() []int {
	return slices.SortedStableFunc(slices.Values(c.Template.order), func(a, b int) int { return c.planned[a].base.Compare(c.planned[b].base) })
}

// push moves the messages that are too close to others.
func (c *contact) push(r *reference) {
	for _, i := range c.byBase() {
		if p := &c.past[i]; c.steps[i].Action == Send && !p.ScheduledAt.IsZero() && p.EndedAt.IsZero() {
			if p.Due = c.apart(r, i, p.Due); c.isIdeal {
				c.planned[i].at = p.Due
			}
		}
	}
}

// apart returns the first time from at on at which a message is far enough from the others.
func (c *contact) apart(r *reference, i int, at time.Time) time.Time {
	at = r.opening(latest(at, c.NotBefore))
	order := c.byBase()
	for other, p := range c.past {
		isEarlier := slices.Index(order, other) < slices.Index(order, i)
		switch {
		case other == i || c.steps[other].Action != Send || p.ScheduledAt.IsZero(), p.Outcome == Skipped, p.Outcome == Failed:
		case !p.EndedAt.IsZero():
			at = latest(at, r.opening(c.least(r, other, i, p.EndedAt)))
		case isEarlier:
			at = latest(at, r.opening(c.least(r, other, i, p.Due)))
		}
	}
	return at
}

// least returns when a message may be sent at the earliest if another is sent at a time.
func (c *contact) least(r *reference, other, i int, sent time.Time) time.Time {
	first, last := c.planned[other], c.planned[i]
	_, clock := split(r, last.base)
	var path []*Transition
	step := i
	for step != other && c.planned[step].via != nil {
		path = append(path, c.planned[step].via)
		step = c.position(c.planned[step].via.From)
	}
	follows := step == other
	order := c.byBase()
	if !follows && slices.Index(order, other) > slices.Index(order, i) {
		first, last = last, first
	}
	base := first.base
	if follows {
		base = first.at
	}
	isSameDay := r.date(base).Equal(r.date(last.base))
	if follows {
		isSameDay = r.date(first.at).Equal(r.date(last.at))
	}
	switch {
	case follows && !isSameDay:
		for _, tr := range slices.Backward(path) {
			hour := c.steps[c.position(tr.To)].Hour
			sent = r.after(r.after(sent, tr.Pre, hour), tr.Post, hour)
		}
		return sent
	case isSameDay || first.anchor == last.anchor:
		return sent.Add(max(0, last.base.Sub(base)))
	}
	date, from, to := r.date(sent), r.date(base), r.date(last.base)
	if to.Before(from) {
		to = from
	}
	if !last.business {
		return r.clock(date.AddDate(0, 0, int(to.Sub(from)/(24*time.Hour))), clock)
	}
	utc := reference{zone: time.UTC, days: r.days, holidays: r.holidays, to: 24}
	n := 0
	for d := from.AddDate(0, 0, 1); !d.After(to); d = d.AddDate(0, 0, 1) {
		if utc.open(d) {
			n++
		}
	}
	for n > 0 {
		if date = date.AddDate(0, 0, 1); utc.open(date) {
			n--
		}
	}
	return r.clock(date, clock)
}

func split(r *reference, t time.Time) (date time.Time, clock string) {
	return r.date(t), t.In(r.zone).Format("15:04:05")
}

// clock returns the first time at or after a time of a date. Such a time may be between two ticks.
func (r *reference) clock(d time.Time, clock string) time.Time {
	want := d.Format("2006-01-02 ") + clock
	fine := *r
	fine.tick = 1
	near := r.first(d.Add(-36*time.Hour), func(t time.Time) bool {
		return t.Add(time.Duration(r.tick)*time.Second).In(r.zone).Format("2006-01-02 15:04:05") >= want
	})
	return fine.first(near, func(t time.Time) bool { return t.In(r.zone).Format("2006-01-02 15:04:05") >= want })
}

// advance computes the due times of all steps at a time.
func (c *contact) advance(r *reference, now time.Time) {
	c.push(r)
	for _, i := range c.Template.order {
		r.due(c, i, now)
	}
	c.push(r)
}

// next returns the message of a contact that is sent next, or -1.
func (c *contact) next() int {
	next := -1
	for i, p := range c.past {
		if c.steps[i].Action != Send || p.ScheduledAt.IsZero() || c.plan[i].Action != "" {
			continue
		}
		if next < 0 || cmp.Or(p.Due.Compare(c.past[next].Due), c.steps[i].Index-c.steps[next].Index) < 0 {
			next = i
		}
	}
	return next
}
