package planner

import (
	"cmp"
	"slices"
	"time"
)

// reference is a slow and obviously correct planner. It examines one quarter of an hour after the
// other.
type reference struct {
	zone     *time.Location
	days     []int
	holidays []string
	from, to int
	tick     int64 // seconds per step; the bounds of dates, hours and clock changes are multiples of it
	cap      int
	gap      time.Duration
	sent     []time.Time
}

func (r *reference) open(t time.Time) bool {
	local := t.In(r.zone)
	weekday := int(local.Weekday())
	if weekday == 0 {
		weekday = 7
	}
	if !slices.Contains(r.days, weekday) || slices.Contains(r.holidays, local.Format(time.DateOnly)) {
		return false
	}
	if r.from < r.to {
		return local.Hour() >= r.from && local.Hour() < r.to
	}
	return local.Hour() >= r.from || local.Hour() < r.to
}

// first returns the first time from t on for which ok holds.
func (r *reference) first(t time.Time, ok func(time.Time) bool) time.Time {
	for !ok(t) {
		t = time.Unix((t.Unix()/r.tick+1)*r.tick, 0).UTC()
	}
	return t
}

func (r *reference) opening(t time.Time) time.Time { return r.first(t, r.open) }

// at returns the first time at or after an hour of a date.
func (r *reference) at(d time.Time, hour int) time.Time {
	want := d.Format("2006-01-02 ") + time.Date(2000, 1, 1, hour, 0, 0, 0, time.UTC).Format("15:04")
	return r.first(d.Add(-36*time.Hour), func(t time.Time) bool { return t.In(r.zone).Format("2006-01-02 15:04") >= want })
}

// date returns the local date of a time, as its midnight in UTC.
func (r *reference) date(t time.Time) time.Time {
	y, m, d := t.In(r.zone).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

func (r *reference) after(t time.Time, d Delay, hour int) time.Time {
	to := r.date(t)
	switch d.Unit {
	case Minutes:
		return t.Add(time.Duration(d.N) * time.Minute)
	case Hours:
		return t.Add(time.Duration(d.N) * time.Hour)
	case Days:
		to = to.AddDate(0, 0, d.N)
	case BusinessDays:
		utc := reference{zone: time.UTC, days: r.days, holidays: r.holidays, to: 24}
		for n := d.N; n > 0; {
			to = to.AddDate(0, 0, 1)
			if utc.open(to) {
				n--
			}
		}
	default:
		return t
	}
	return latest(r.at(to, hour), t)
}

// due computes the due time of a step after those of the steps it waits for, and stores it.
func (r *reference) due(steps []Step, transitions []Transition, start time.Time, past []StepHistory, i int, now time.Time) {
	if past[i].settled() {
		return
	}
	var incoming, fired []Transition
	var at, due []time.Time
	all := false
	for _, tr := range transitions {
		if tr.To != steps[i].Index {
			continue
		}
		incoming = append(incoming, tr)
		all = all || tr.RequireAll
		from := slices.IndexFunc(steps, func(s Step) bool { return s.Index == tr.From })
		r.due(steps, transitions, start, past, from, now)
		p := past[from]
		when, base := p.ScheduledAt, p.Due
		if tr.Type == Completes {
			when, base = p.EndedAt, p.EndedAt
		}
		if when.IsZero() {
			continue
		}
		leads := r.after(r.after(base, tr.Pre, steps[i].Hour), tr.Post, steps[i].Hour)
		fired, at, due = append(fired, tr), append(at, when), append(due, latest(leads, when))
	}
	var result time.Time
	switch {
	case len(incoming) == 0:
		result = latest(r.at(r.date(start).AddDate(0, 0, steps[i].Day), steps[i].Hour), start)
	case len(fired) == 0 || all && len(fired) < len(incoming):
		return
	case all:
		result = slices.MaxFunc(due, time.Time.Compare)
	default:
		earliest := slices.MinFunc(at, time.Time.Compare)
		for j := range due {
			if at[j].Equal(earliest) && (result.IsZero() || due[j].Before(result)) {
				result = due[j]
			}
		}
	}
	if steps[i].Action == Send {
		result = r.opening(result)
	}
	past[i].ScheduledAt, past[i].Due = now, result
}

// slot returns the first time from t on at which the sender may send.
func (r *reference) slot(t time.Time) time.Time {
	if n := len(r.sent); n > 0 {
		t = latest(t, r.sent[n-1].Add(r.gap))
	}
	return r.first(t, func(t time.Time) bool {
		n := 0
		for _, s := range r.sent {
			if r.date(s).Equal(r.date(t)) {
				n++
			}
		}
		return r.open(t) && (r.cap == 0 || n < r.cap)
	})
}

// mail is a pending message of the reference.
type mail struct {
	contact, step int
	due           time.Time
}

// contact is a sequence of the reference.
type contact struct {
	Sequence
	steps       []Step
	transitions []Transition
	past        []StepHistory
	plan        []Planned
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
			}
		}
		for i := range c.steps {
			r.due(c.steps, c.transitions, c.Start, c.past, i, latest(now, c.Start))
		}
	}
	for {
		var mails []mail
		var over, slot time.Time
		for order, c := range contacts {
			for i, p := range c.past {
				if p.ScheduledAt.IsZero() || c.plan[i].Action != "" {
					continue
				}
				at := latest(p.Due, clock)
				if c.steps[i].Action == Send && c.SkipMail == "" && (c.End.IsZero() || at.Before(c.End)) {
					if s := r.slot(at); slot.IsZero() || s.Before(slot) {
						slot = s
					}
					mails = append(mails, mail{order, i, p.Due})
				} else if over.IsZero() || at.Before(over) {
					over = at
				}
			}
		}
		switch {
		case over.IsZero() && slot.IsZero():
			for _, c := range contacts {
				for i := range c.plan {
					if c.plan[i].Action == "" {
						c.plan[i].Action = Skip
					}
				}
			}
			return
		case !over.IsZero() && (slot.IsZero() || !over.After(slot)):
			clock = over
			for _, c := range contacts {
				c.finish(clock)
			}
		default:
			clock = slot
			mails = slices.DeleteFunc(mails, func(m mail) bool { return m.due.After(slot) })
			slices.SortFunc(mails, func(a, b mail) int {
				if p := contacts[a.contact].Prioritized; p != contacts[b.contact].Prioritized {
					return map[bool]int{true: -1, false: 1}[p]
				}
				return cmp.Or(a.due.Compare(b.due), a.contact-b.contact, contacts[a.contact].steps[a.step].Index-contacts[b.contact].steps[b.step].Index)
			})
			c, i := contacts[mails[0].contact], mails[0].step
			c.plan[i] = Planned{Step: i, Action: Skip, At: c.past[i].Due}
			if c.End.IsZero() || slot.Before(c.End) {
				c.plan[i] = Planned{Step: i, Action: Send, At: slot}
				c.past[i].EndedAt = slot
				r.sent = append(r.sent, slot)
			}
		}
		for _, c := range contacts {
			for i := range c.steps {
				r.due(c.steps, c.transitions, c.Start, c.past, i, clock)
			}
		}
	}
}

// finish ends the tasks and skipped steps that end at a time.
func (c *contact) finish(clock time.Time) {
	for i, p := range c.past {
		if p.ScheduledAt.IsZero() || c.plan[i].Action != "" || p.Due.After(clock) {
			continue
		}
		ended := !c.End.IsZero() && !clock.Before(c.End)
		if c.steps[i].Action == Send && c.SkipMail == "" && !ended {
			continue
		}
		c.plan[i] = Planned{Step: i, Action: c.steps[i].Action, At: p.Due}
		if ended || c.steps[i].Action == Send {
			c.plan[i].Action = Skip
		}
		if !ended {
			c.past[i].EndedAt = clock
		}
	}
}
