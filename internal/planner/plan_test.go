package planner

import (
	"testing"
	"time"
	_ "time/tzdata" // so that the zones do not depend on the machine
)

const (
	berlin    = "Europe/Berlin"
	newYork   = "America/New_York"
	lordHowe  = "Australia/Lord_Howe"
	apia      = "Pacific/Apia"
	troll     = "Antarctica/Troll"
	kathmandu = "Asia/Kathmandu"
	johns     = "America/St_Johns" // until 2011, set clocks back from 00:01 to 23:01 of the previous day
)

var (
	weekdays = []int{1, 2, 3, 4, 5}
	allDays  = []int{1, 2, 3, 4, 5, 6, 7}
)

func calendar(t testing.TB, zone string, days []int, from, to int, holidays ...string) *Calendar {
	t.Helper()
	location, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCalendar(location, days, holidays, from, to)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// parseTime parses a time with its offset, as the tables have it.
func parseTime(t testing.TB, s string) time.Time {
	t.Helper()
	if s == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// same compares a time with one of a table and shows it with the offset of the table.
func same(t testing.TB, what string, got time.Time, want string) {
	t.Helper()
	if w := parseTime(t, want); !got.Equal(w) {
		t.Errorf("%s: %s, want %s", what, got.In(w.Location()).Format(time.RFC3339Nano), want)
	}
}
