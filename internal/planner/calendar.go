package planner

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"
)

// Calendar has the time zone, the business days and the sending window of an organization. It is
// safe for concurrent use.
type Calendar struct {
	zone             *time.Location
	business         [7]bool  // by weekday, Sunday is 0
	weekly           int      // number of business days per week
	holidays         []date   // ascending; only those on business days
	nextAfterHoliday []date   // for each holiday, the next business day
	windows          []window // sending windows, in order
	last             atomic.Pointer[offsetPeriod]
}

// date is a local date, in days since 1970-01-01.
type date int64

// window is a part of the local day, in seconds.
type window struct{ from, to int64 }

// offsetPeriod is a period, in Unix seconds, in which the zone has one UTC offset. Adjacent periods
// may have the same offset.
type offsetPeriod struct{ start, end, offset int64 }

const (
	hour = 3600
	day  = 24 * hour
	// maxOffset is larger than any UTC offset and any clock change.
	maxOffset = 26 * hour
)

// horizon is about the latest date that a delay leads to. Its year still has four digits.
const horizon date = 2567654 // 8999-12-31

// NewCalendar returns the calendar of a zone with its business days (1 is Monday, 7 is Sunday), its
// holidays ("2006-01-02"), and the hours between which it sends. From 0 to 24 is the whole day. A
// window whose end is not after its start spans midnight.
func NewCalendar(zone *time.Location, businessDays []int, holidays []string, from, to int) (*Calendar, error) {
	if from < 0 || from > 23 || to < 1 || to > 24 {
		return nil, fmt.Errorf("sending window from %d to %d: must start at 0 to 23 and end at 1 to 24", from, to)
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
		return nil, errors.New("no business days: at least one is required")
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
	c.nextAfterHoliday = make([]date, len(c.holidays))
	for i := len(c.holidays) - 1; i >= 0; i-- {
		c.nextAfterHoliday[i] = c.nextBusiness(c.holidays[i])
	}
	return c, nil
}

// nextBusiness returns the first business day after d. Runs of holidays are resolved through
// nextAfterHoliday.
func (c *Calendar) nextBusiness(d date) date {
	for d++; !c.business[d.weekday()]; d++ {
	}
	if i, holiday := slices.BinarySearch(c.holidays, d); holiday {
		return c.nextAfterHoliday[i]
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

// DayNumber returns the local date of a time, in days since 1970-01-01. DayText formats it.
func (c *Calendar) DayNumber(t time.Time) int { return int(c.dateOf(instantOf(t))) }

// DayText formats the date with a DayNumber ("2006-01-02").
func DayText(number int) string { return time.Unix(int64(number)*day, 0).UTC().Format(time.DateOnly) }

// DayAfter returns the first instant after a date ("2006-01-02"): when something that includes the
// date ends.
func (c *Calendar) DayAfter(d string) (time.Time, error) {
	parsed, err := parseDate(d)
	if err != nil {
		return time.Time{}, err
	}
	return c.first(parsed+1, 0).time(), nil
}

// IsOpen reports whether messages may be sent at t: on a business day that is not a holiday, within
// the sending window.
func (c *Calendar) IsOpen(t time.Time) bool { return c.opening(t.Unix()).start == t.Unix() }

// NextOpen returns the first time from t on at which messages may be sent.
func (c *Calendar) NextOpen(t time.Time) time.Time {
	return c.nextOpen(instantOf(t)).time()
}

func (c *Calendar) nextOpen(m instant) instant { return c.opening(m.unix()).enter(m) }

// openPeriod is a part of one date, in Unix seconds, in which messages may be sent. The next period
// may follow immediately.
type openPeriod struct {
	start, end int64
	date       date
}

// enter returns the first instant of the period from m on. m must not be after the period.
func (s openPeriod) enter(m instant) instant {
	if m.unix() >= s.start {
		return m
	}
	return instantAt(s.start)
}

// opening returns the first open period from a second on. It starts then if messages may be sent
// then. The search proceeds in pieces that have one local date and one UTC offset.
func (c *Calendar) opening(sec int64) openPeriod {
	for {
		s := c.offsetPeriod(sec)
		d := dateOf(sec + s.offset)
		if !c.isBusiness(d) {
			sec = s.endOfDate(c.nextBusiness(d) - 1)
			continue
		}
		midnight := int64(d)*day - s.offset
		for _, w := range c.windows {
			if start, end := max(sec, midnight+w.from), min(s.end, midnight+w.to); start < end {
				return openPeriod{start, end, d}
			}
		}
		sec = s.endOfDate(d)
	}
}

// endOfDate returns the end of a date, or of the period if that comes first.
func (s offsetPeriod) endOfDate(d date) int64 { return min(s.end, int64(d+1)*day-s.offset) }

// dateOf returns the local date of an instant.
func (c *Calendar) dateOf(m instant) date {
	sec := m.unix()
	return dateOf(sec + c.offsetPeriod(sec).offset)
}

// first returns the first instant whose local time is at or after that hour of the date. If clocks
// skip the hour, that is when they do; if they show it twice, the first time.
func (c *Calendar) first(d date, h int) instant { return c.firstAt(d, int64(h)*hour) }

// firstAt is first for a time of the day, in seconds.
func (c *Calendar) firstAt(d date, clock int64) instant {
	local := int64(d)*day + clock
	s := c.offsetPeriod(local - c.offsetPeriod(local).offset)
	if sec := local - s.offset; sec < s.end && sec-maxOffset >= s.start {
		return instantAt(sec)
	}
	for sec := local - maxOffset; ; sec = s.end {
		s = c.offsetPeriod(sec)
		if sec = max(sec, local-s.offset); sec < s.end {
			return instantAt(sec)
		}
	}
}

// offsetPeriod returns the period that contains a second. It caches the last result, because most
// calls are about the same months.
func (c *Calendar) offsetPeriod(sec int64) offsetPeriod {
	if s := c.last.Load(); s != nil && s.start <= sec && sec < s.end {
		return *s
	}
	s := c.bounds(sec)
	// After the last transition that a zone lists, Go starts a period with the year, even if the last
	// listed transition is within it.
	if s.start != math.MinInt64 && c.bounds(s.start).end <= sec {
		s.start = sec
	}
	c.last.Store(&s)
	return s
}

func (c *Calendar) bounds(sec int64) offsetPeriod {
	t := time.Unix(sec, 0).In(c.zone)
	_, offset := t.Zone()
	s := offsetPeriod{start: math.MinInt64, end: math.MaxInt64, offset: int64(offset)}
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		s.start = start.Unix()
	}
	if !end.IsZero() {
		s.end = end.Unix()
	}
	// For these years Go assumes 365 days, so the last day of a leap year is after the end of its period.
	if s.end <= sec {
		s.end = (sec/day + 1) * day
	}
	return s
}

// isBusiness reports whether a date is a business day and not a holiday.
func (c *Calendar) isBusiness(d date) bool {
	_, isHoliday := slices.BinarySearch(c.holidays, d)
	return c.business[d.weekday()] && !isHoliday
}

// businessDay returns the n-th business day after a date, or the date itself for 0.
func (c *Calendar) businessDay(d date, n int) date {
	for n > 0 && d < horizon {
		weeks := (n - 1) / c.weekly // the remainder ends on a business day
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

// businessDays returns the number of business days after one date, up to another that is not before
// it.
func (c *Calendar) businessDays(from, to date) int {
	weeks := int(to-from) / 7
	n := weeks*c.weekly - c.holidaysThrough(to) + c.holidaysThrough(from)
	for d := from + date(7*weeks) + 1; d <= to; d++ {
		if c.business[d.weekday()] {
			n++
		}
	}
	return n
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

// weekday is 0 on Sundays. 1970-01-01 was a Thursday.
func (d date) weekday() int { return int(((d+4)%7 + 7) % 7) }
