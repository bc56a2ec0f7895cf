package planner

import (
	"strings"
	"testing"
	"time"
)

func TestDateAtHour(t *testing.T) {
	for _, c := range []struct {
		name, zone, date string
		hour             int
		want             string
	}{
		{"winter", berlin, "2026-01-15", 9, "2026-01-15T09:00:00+01:00"},
		{"summer", berlin, "2026-07-15", 9, "2026-07-15T09:00:00+02:00"},
		{"before clocks go forward", berlin, "2026-03-29", 1, "2026-03-29T01:00:00+01:00"},
		{"the hour that is skipped", berlin, "2026-03-29", 2, "2026-03-29T03:00:00+02:00"},
		{"after it", berlin, "2026-03-29", 3, "2026-03-29T03:00:00+02:00"},
		{"the hour that comes twice", berlin, "2026-10-25", 2, "2026-10-25T02:00:00+02:00"},
		{"after it", berlin, "2026-10-25", 3, "2026-10-25T03:00:00+01:00"},
		{"skipped overseas", newYork, "2026-03-08", 2, "2026-03-08T03:00:00-04:00"},
		{"twice overseas", newYork, "2026-11-01", 1, "2026-11-01T01:00:00-04:00"},
		{"after it", newYork, "2026-11-01", 2, "2026-11-01T02:00:00-05:00"},
		{"half an hour is skipped, 02:00 to 02:30", lordHowe, "2026-10-04", 2, "2026-10-04T02:30:00+11:00"},
		{"half an hour comes twice, 02:00 to 01:30", lordHowe, "2026-04-05", 1, "2026-04-05T01:00:00+11:00"},
		{"02:00 comes once: the clocks never got there before", lordHowe, "2026-04-05", 2, "2026-04-05T02:00:00+10:30"},
		{"two hours are skipped, 01:00 to 03:00", troll, "2026-03-29", 1, "2026-03-29T03:00:00+02:00"},
		{"two hours are skipped", troll, "2026-03-29", 2, "2026-03-29T03:00:00+02:00"},
		{"two hours come twice, 03:00 to 01:00", troll, "2026-10-25", 2, "2026-10-25T02:00:00+02:00"},
		{"after them", troll, "2026-10-25", 3, "2026-10-25T03:00:00Z"},
		{"the day before the one that is skipped", apia, "2011-12-29", 23, "2011-12-29T23:00:00-10:00"},
		{"the date that is skipped", apia, "2011-12-30", 9, "2011-12-31T00:00:00+14:00"},
		{"the day after", apia, "2011-12-31", 0, "2011-12-31T00:00:00+14:00"},
		{"three quarters of an hour", kathmandu, "2026-05-05", 9, "2026-05-05T09:00:00+05:45"},
		{"the last day of a leap year, where Go ends its year a day early", berlin, "2028-12-31", 9, "2028-12-31T09:00:00+01:00"},
		{"and in a far one", berlin, "2096-12-31", 9, "2096-12-31T09:00:00+01:00"},
		{"a minute of the next day comes before its evening", johns, "2010-11-07", 0, "2010-11-07T00:00:00-02:30"},
		{"the next hour", johns, "2010-11-07", 1, "2010-11-07T01:00:00-03:30"},
		{"leap day", "UTC", "2028-02-29", 0, "2028-02-29T00:00:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := parseDate(c.date)
			if err != nil {
				t.Fatal(err)
			}
			cal := calendar(t, c.zone, allDays, 0, 24)
			same(t, c.name, cal.at(d, c.hour), c.want)
		})
	}
}

func TestNextOpen(t *testing.T) {
	for _, c := range []struct {
		name, zone string
		days       []int
		from, to   int
		holidays   []string
		at, want   string
	}{
		{"open", berlin, weekdays, 9, 17, nil, "2026-11-16T10:30:00.5+01:00", "2026-11-16T10:30:00.5+01:00"},
		{"its first instant", berlin, weekdays, 9, 17, nil, "2026-11-16T09:00:00+01:00", "2026-11-16T09:00:00+01:00"},
		{"a instant before", berlin, weekdays, 9, 17, nil, "2026-11-16T08:59:59.999+01:00", "2026-11-16T09:00:00+01:00"},
		{"its last instant", berlin, weekdays, 9, 17, nil, "2026-11-16T16:59:59.999+01:00", "2026-11-16T16:59:59.999+01:00"},
		{"closing", berlin, weekdays, 9, 17, nil, "2026-11-16T17:00:00+01:00", "2026-11-17T09:00:00+01:00"},
		{"Friday evening", berlin, weekdays, 9, 17, nil, "2026-11-20T18:00:00+01:00", "2026-11-23T09:00:00+01:00"},
		{"Saturday, all day open", berlin, weekdays, 0, 24, nil, "2026-11-21T12:00:00+01:00", "2026-11-23T00:00:00+01:00"},
		{"over Christmas into the new year", berlin, weekdays, 9, 17, []string{"2026-12-25", "2026-12-24", "2026-12-28", "2026-12-29", "2026-12-30", "2026-12-31", "2027-01-01"}, "2026-12-23T20:00:00+01:00", "2027-01-04T09:00:00+01:00"},
		{"end of February", "UTC", allDays, 9, 17, nil, "2026-02-28T17:00:00Z", "2026-03-01T09:00:00Z"},
		{"leap day", "UTC", allDays, 9, 17, nil, "2028-02-28T17:00:00Z", "2028-02-29T09:00:00Z"},
		{"one day a week, which is a holiday", "UTC", []int{3}, 9, 17, []string{"2026-11-18"}, "2026-11-16T10:00:00Z", "2026-11-25T09:00:00Z"},
		{"over midnight, late", berlin, weekdays, 22, 6, nil, "2026-11-16T23:00:00+01:00", "2026-11-16T23:00:00+01:00"},
		{"over midnight, early", berlin, weekdays, 22, 6, nil, "2026-11-17T05:59:00+01:00", "2026-11-17T05:59:00+01:00"},
		{"over midnight, closed", berlin, weekdays, 22, 6, nil, "2026-11-17T06:00:00+01:00", "2026-11-17T22:00:00+01:00"},
		{"Saturday's early hours are Saturday's", berlin, weekdays, 22, 6, nil, "2026-11-21T00:00:00+01:00", "2026-11-23T00:00:00+01:00"},
		{"Monday's early hours are Monday's", berlin, weekdays, 22, 6, nil, "2026-11-22T23:00:00+01:00", "2026-11-23T00:00:00+01:00"},
		{"before a holiday the window ends at midnight", berlin, weekdays, 22, 6, []string{"2026-11-18"}, "2026-11-18T00:00:00+01:00", "2026-11-19T00:00:00+01:00"},
		{"clocks go forward into the window", berlin, allDays, 2, 4, nil, "2026-03-29T01:30:00+01:00", "2026-03-29T03:00:00+02:00"},
		{"clocks go forward over the window", berlin, allDays, 2, 3, nil, "2026-03-29T01:30:00+01:00", "2026-03-30T02:00:00+02:00"},
		{"clocks go back into the window", berlin, allDays, 2, 3, nil, "2026-10-25T02:59:59+02:00", "2026-10-25T02:59:59+02:00"},
		{"and it is open a second time", berlin, allDays, 1, 3, nil, "2026-10-25T02:30:00+01:00", "2026-10-25T02:30:00+01:00"},
		{"clocks that go back open a window again", newYork, allDays, 0, 1, nil, "2026-11-01T01:30:00-04:00", "2026-11-02T00:00:00-05:00"},
		{"a change of two hours opens", troll, allDays, 2, 4, nil, "2026-03-29T00:30:00Z", "2026-03-29T03:00:00+02:00"},
		{"a change of two hours back opens again", troll, allDays, 1, 3, nil, "2026-10-25T03:00:00+02:00", "2026-10-25T01:00:00Z"},
		{"half an hour forward opens", lordHowe, allDays, 2, 3, nil, "2026-10-04T01:59:59+10:30", "2026-10-04T02:30:00+11:00"},
		{"half an hour back opens again", lordHowe, allDays, 1, 2, nil, "2026-04-05T02:00:00+11:00", "2026-04-05T01:30:00+10:30"},
		{"a date that is skipped", apia, allDays, 9, 17, nil, "2011-12-29T17:00:00-10:00", "2011-12-31T09:00:00+14:00"},
		{"and was a Friday", apia, weekdays, 9, 17, nil, "2011-12-29T17:00:00-10:00", "2012-01-02T09:00:00+14:00"},
		{"a window without a clock change in Kathmandu", kathmandu, []int{7, 1}, 10, 12, nil, "2026-11-17T00:00:00Z", "2026-11-22T10:00:00+05:45"},
		{"a Sunday of one minute", johns, []int{7}, 0, 1, nil, "2010-11-06T23:30:00-02:30", "2010-11-07T00:00:00-02:30"},
		{"and its second part", johns, []int{7}, 0, 1, nil, "2010-11-06T23:30:00-03:30", "2010-11-07T00:00:00-03:30"},
		{"the last day of a leap year", newYork, allDays, 9, 17, nil, "2040-12-31T08:00:00-05:00", "2040-12-31T09:00:00-05:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cal := calendar(t, c.zone, c.days, c.from, c.to, c.holidays...)
			at := parseTime(t, c.at)
			got := cal.NextOpen(at)
			same(t, c.name, got, c.want)
			if !cal.IsOpen(got) || cal.IsOpen(at) != got.Equal(at) {
				t.Errorf("IsOpen at %s is %v, at the result %v", c.at, cal.IsOpen(at), cal.IsOpen(got))
			}
		})
	}
}

func TestBusinessDays(t *testing.T) {
	for _, c := range []struct {
		name     string
		days     []int
		holidays []string
		n        int
		from     string
		want     string
	}{
		{"the day itself, though a Saturday", weekdays, nil, 0, "2026-11-21", "2026-11-21"},
		{"Monday to Tuesday", weekdays, nil, 1, "2026-11-16", "2026-11-17"},
		{"Friday to Monday", weekdays, nil, 1, "2026-11-20", "2026-11-23"},
		{"Saturday to Monday", weekdays, nil, 1, "2026-11-21", "2026-11-23"},
		{"a week", weekdays, nil, 5, "2026-11-18", "2026-11-25"},
		{"a week from a Sunday", weekdays, nil, 5, "2026-11-22", "2026-11-27"},
		{"four days over a weekend", weekdays, nil, 4, "2026-11-19", "2026-11-25"},
		{"a holiday between", weekdays, []string{"2026-11-17"}, 2, "2026-11-16", "2026-11-19"},
		{"a holiday on a Saturday counts for nothing", weekdays, []string{"2026-11-21"}, 2, "2026-11-19", "2026-11-23"},
		{"a holiday given twice", weekdays, []string{"2026-11-17", "2026-11-17"}, 5, "2026-11-16", "2026-11-24"},
		{"a whole week of holidays", weekdays, []string{"2026-11-16", "2026-11-17", "2026-11-18", "2026-11-19", "2026-11-20"}, 5, "2026-11-15", "2026-11-27"},
		{"month end", weekdays, nil, 1, "2026-01-30", "2026-02-02"},
		{"over a leap day", weekdays, nil, 2, "2028-02-28", "2028-03-01"},
		{"one day a week", []int{3}, nil, 10, "2026-11-18", "2027-01-27"},
		{"every day", allDays, nil, 365, "2026-11-16", "2027-11-16"},
		{"a thousand", weekdays, nil, 1000, "2026-11-16", "2030-09-16"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cal := calendar(t, "UTC", c.days, 0, 24, c.holidays...)
			from, _ := parseDate(c.from)
			got := cal.businessDay(from, c.n)
			if shown := time.Unix(int64(got)*day, 0).UTC().Format(time.DateOnly); shown != c.want {
				t.Errorf("%s, want %s", shown, c.want)
			}
		})
	}
}

func TestNewCalendarErrors(t *testing.T) {
	for want, make := range map[string]func() (*Calendar, error){
		"no business days": func() (*Calendar, error) { return NewCalendar(time.UTC, nil, nil, 0, 24) },
		"business day 0":   func() (*Calendar, error) { return NewCalendar(time.UTC, []int{0}, nil, 0, 24) },
		"business day 8":   func() (*Calendar, error) { return NewCalendar(time.UTC, []int{8}, nil, 0, 24) },
		"from 24 to 24":    func() (*Calendar, error) { return NewCalendar(time.UTC, allDays, nil, 24, 24) },
		"from 0 to 0":      func() (*Calendar, error) { return NewCalendar(time.UTC, allDays, nil, 0, 0) },
		`"2026-02-29"`:     func() (*Calendar, error) { return NewCalendar(time.UTC, allDays, []string{"2026-02-29"}, 0, 24) },
	} {
		if _, err := make(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %s", err, want)
		}
	}
}

func TestDayAfter(t *testing.T) {
	for _, c := range [][3]string{
		{berlin, "2026-03-28", "2026-03-29T00:00:00+01:00"},
		{berlin, "2026-03-29", "2026-03-30T00:00:00+02:00"},
		{apia, "2011-12-29", "2011-12-31T00:00:00+14:00"},
		{newYork, "2028-02-28", "2028-02-29T00:00:00-05:00"},
	} {
		got, err := calendar(t, c[0], weekdays, 9, 17).DayAfter(c[1])
		if err != nil {
			t.Fatal(err)
		}
		same(t, c[1], got, c[2])
	}
	if _, err := calendar(t, berlin, weekdays, 9, 17).DayAfter("2026-13-01"); err == nil {
		t.Error("no error for month 13")
	}
}
