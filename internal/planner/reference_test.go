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
func (r *reference) due(c *contact, i int, now time.Time) {
	steps, transitions, start, past := c.steps, c.transitions, c.Start, c.past
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
		r.due(c, from, now)
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
	var via *Transition
	switch {
	case len(incoming) == 0:
		result = latest(r.at(r.date(start).AddDate(0, 0, steps[i].Day), steps[i].Hour), start)
	case len(fired) == 0 || all && len(fired) < len(incoming):
		return
	default:
		best := slices.MinFunc(positions(len(fired)), func(a, b int) int {
			if all {
				return cmp.Or(due[b].Compare(due[a]), fired[a].From-fired[b].From)
			}
			return cmp.Or(at[a].Compare(at[b]), due[a].Compare(due[b]), fired[a].From-fired[b].From)
		})
		result, via = due[best], &fired[best]
	}
	if c.isIdeal {
		c.planIdeal(r, i, result, via)
	}
	if c.steps[i].Action == Send {
		result = c.apart(r, i, r.opening(result))
	}
	past[i].ScheduledAt, past[i].Due = now, result
}
