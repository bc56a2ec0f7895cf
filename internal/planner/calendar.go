package planner

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"
)

// Calendar is what an organization calls a day, a business day, and the hours in which it sends. It may be shared.
type Calendar struct {
	zone     *time.Location
	business [7]bool  // by weekday, Sunday is 0
	weekly   int      // how many of them
	holidays []date   // ascending; only those on a day of business
	reopens  []date   // by holiday: the next business day
	windows  []window // in which it sends, in their order
	last     atomic.Pointer[span]
}

// date is a day of the local calendar, counted from 1970-01-01.
type date int64

// window is a part of the local day, in its seconds.
type window struct{ from, to int64 }

// span is a stretch of time, in Unix seconds, in which the zone keeps its offset. Not every bound is a change of it.
type span struct{ start, end, offset int64 }

const (
	hour = 3600
	day  = 24 * hour
	// widest is more than any zone is away from UTC, and more than any clock change.
	widest = 26 * hour
)

// horizon is about the latest day that a delay leads to: far enough for anybody, and a year that can still be written with four
// digits.
const horizon date = 2567654 // 8999-12-31

// NewCalendar is the calendar of a zone: its business days (1 is Monday, 7 Sunday), its holidays ("2006-01-02"), and the hours
// between which it sends. From 0 to 24 is all day; a window whose end is not after its beginning goes over midnight.
func NewCalendar(zone *time.Location, businessDays []int, holidays []string, from, to int) (*Calendar, error) {
	if from < 0 || from > 23 || to < 1 || to > 24 {
		return nil, fmt.Errorf("a sending window from %d to %d: must begin at 0 to 23 and end at 1 to 24", from, to)
	}
	c := &Calendar{zone: zone, windows: []window{{int64(from) * hour, int64(to) * hour}}}
	if from >= to {
		c.windows = []window{{0, int64(to) * hour}, {int64(from) * hour, day}}
	}
	for _, d := range businessDays {
		if d < 1 || d > 7 {
			return nil, fmt.Errorf("business day %d: must be 1 (Monday) to 7 (Sunday)", d)
		}
		if !c.business[d%7] {
			c.business[d%7] = true
			c.weekly++
		}
	}
	if c.weekly == 0 {
		return nil, errors.New("no business days: at least one is needed")
	}
	for _, h := range holidays {
		d, err := parseDate(h)
		if err != nil {
			return nil, fmt.Errorf("holiday %w", err)
		}
		if c.business[d.weekday()] {
			c.holidays = append(c.holidays, d)
		}
	}
	slices.Sort(c.holidays)
	c.holidays = slices.Compact(c.holidays)
	c.reopens = make([]date, len(c.holidays))
	for i := len(c.holidays) - 1; i >= 0; i-- {
		c.reopens[i] = c.nextBusiness(c.holidays[i])
	}
	return c, nil
}

// nextBusiness is the first business day after a date. Of many holidays in a row it asks the first alone.
func (c *Calendar) nextBusiness(d date) date {
	for d++; !c.business[d.weekday()]; d++ {
	}
	if i, holiday := slices.BinarySearch(c.holidays, d); holiday {
		return c.reopens[i]
	}
	return d
}

func parseDate(s string) (date, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return 0, fmt.Errorf("%q: must be a date such as 2006-01-02", s)
	}
	return date(t.Unix() / day), nil
}

// DayAfter is the first instant after a date ("2006-01-02"): when something that includes the date is over.
func (c *Calendar) DayAfter(d string) (time.Time, error) {
	parsed, err := parseDate(d)
	if err != nil {
		return time.Time{}, err
	}
	return c.first(parsed+1, 0).time(), nil
}

// Open tells whether messages may go out at an instant: on a business day that is no holiday, within the sending window.
func (c *Calendar) IsOpen(t time.Time) bool { return c.opening(t.Unix()).start == t.Unix() }

// Opening is the first open instant that is not before t: t itself if it is open.
func (c *Calendar) NextOpen(t time.Time) time.Time {
	sec := t.Unix()
	if open := c.opening(sec).start; open != sec {
		return time.Unix(open, 0).UTC()
	}
	return t.UTC()
}

// stretch is some time of one date, in Unix seconds, all of which is open. It may go on behind its end.
type stretch struct {
	start, end int64
	date       date
}

// enter is the first instant of a stretch that is not before m, which must not be after it.
func (s stretch) enter(m instant) instant {
	if m.unix() >= s.start {
		return m
	}
	return instantAt(s.start)
}

// opening is the first open stretch from a second on: it begins then, if that is open. It goes on from one piece of time to the
// next, each of them of one local date and one offset.
func (c *Calendar) opening(sec int64) stretch {
	for {
		s := c.span(sec)
		d := dateOf(sec + s.offset)
		if !c.isBusiness(d) {
			sec = s.leave(c.nextBusiness(d) - 1)
			continue
		}
		midnight := int64(d)*day - s.offset
		for _, w := range c.windows {
			if start, end := max(sec, midnight+w.from), min(s.end, midnight+w.to); start < end {
				return stretch{start, end, d}
			}
		}
		sec = s.leave(d)
	}
}

// leave is when the span or a date within it ends, whichever comes first.
func (s span) leave(d date) int64 { return min(s.end, int64(d+1)*day-s.offset) }

// dateOf is the local date of a instant.
func (c *Calendar) dateOf(m instant) date {
	sec := m.unix()
	return dateOf(sec + c.span(sec).offset)
}

// first is the first instant whose local clock is at or after that hour of the date: when clocks skip the hour, the instant at which
// they do; when they show it twice, the first time.
func (c *Calendar) first(d date, h int) instant {
	local := int64(d)*day + int64(h)*hour
	s := c.span(local - c.span(local).offset)
	if sec := local - s.offset; sec < s.end && sec-widest >= s.start {
		return instantAt(sec)
	}
	for sec := local - widest; ; sec = s.end {
		s = c.span(sec)
		if sec = max(sec, local-s.offset); sec < s.end {
			return instantAt(sec)
		}
	}
}

// span is the span of an instant. The last one is remembered: most questions are about the same months.
func (c *Calendar) span(sec int64) span {
	if s := c.last.Load(); s != nil && s.start <= sec && sec < s.end {
		return *s
	}
	s := c.bounds(sec)
	// Past the changes that a zone lists, Go begins a span with its year, even when the last listed change is in it.
	if s.start != math.MinInt64 && c.bounds(s.start).end <= sec {
		s.start = sec
	}
	c.last.Store(&s)
	return s
}

func (c *Calendar) bounds(sec int64) span {
	t := time.Unix(sec, 0).In(c.zone)
	_, offset := t.Zone()
	s := span{start: math.MinInt64, end: math.MaxInt64, offset: int64(offset)}
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		s.start = start.Unix()
	}
	if !end.IsZero() {
		s.end = end.Unix()
	}
	// There, Go takes each year for 365 days: the last day of a leap year comes after the end of its span.
	if s.end <= sec {
		s.end = (sec/day + 1) * day
	}
	return s
}

// isBusiness tells whether a date is a business day and no holiday.
func (c *Calendar) isBusiness(d date) bool {
	if !c.business[d.weekday()] {
		return false
	}
	if len(c.holidays) == 0 {
		return true
	}
	_, holiday := slices.BinarySearch(c.holidays, d)
	return !holiday
}

// businessDay is the n-th business day after a date, the date itself for 0.
func (c *Calendar) businessDay(d date, n int) date {
	for n > 0 && d < horizon {
		weeks := (n - 1) / c.weekly // so that the last step ends on a business day
		if weeks == 0 {
			if d++; c.isBusiness(d) {
				n--
			}
			continue
		}
		weeks = min(weeks, int(horizon-d)/7+1)
		after := d + date(7*weeks)
		n -= weeks*c.weekly - c.holidaysThrough(after) + c.holidaysThrough(d)
		d = after
	}
	return d
}

func (c *Calendar) holidaysThrough(d date) int {
	n, _ := slices.BinarySearch(c.holidays, d+1)
	return n
}

func dateOf(local int64) date {
	d := local / day
	if local%day < 0 {
		d--
	}
	return date(d)
}

// weekday is 0 on Sundays; 1970-01-01 was a Thursday.
func (d date) weekday() int { return int(((d+4)%7 + 7) % 7) }
