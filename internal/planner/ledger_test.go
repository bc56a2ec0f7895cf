package planner

import (
	"testing"
	"time"
)

// The rows of a case are sent one after the other through one ledger.
func TestLedger(t *testing.T) {
	type row struct{ due, at, reason string }
	for _, c := range []struct {
		name     string
		zone     string
		from, to int
		cap      int
		gap      time.Duration
		now      string
		rows     []row
	}{
		{"neither cap nor gap", berlin, 9, 17, 0, 0, "2026-11-16T10:00:00+01:00", []row{
			{"2026-11-16T10:00:00+01:00", "2026-11-16T10:00:00+01:00", ""},
			{"2026-11-16T10:00:00+01:00", "2026-11-16T10:00:00+01:00", ""},
			{"2026-11-16T09:30:00+01:00", "2026-11-16T10:00:00+01:00", "; overdue"},
		}},
		{"a gap", berlin, 9, 17, 0, 90 * time.Second, "2026-11-16T10:00:00+01:00", []row{
			{"2026-11-16T10:00:00+01:00", "2026-11-16T10:00:00+01:00", ""},
			{"2026-11-16T10:00:00+01:00", "2026-11-16T10:01:30+01:00", "; 1m30s after the sender's previous message"},
			{"2026-11-16T10:02:00+01:00", "2026-11-16T10:03:00+01:00", "; 1m30s after the sender's previous message"},
			{"2026-11-16T10:04:30+01:00", "2026-11-16T10:04:30+01:00", ""},
		}},
		{"a gap over closing time", berlin, 9, 17, 0, time.Hour, "2026-11-20T16:30:00+01:00", []row{
			{"2026-11-20T16:30:00+01:00", "2026-11-20T16:30:00+01:00", ""},
			{"2026-11-20T16:30:00+01:00", "2026-11-23T09:00:00+01:00", "; 1h after the sender's previous message; moved to the next sending window"},
			{"2026-11-20T16:59:00+01:00", "2026-11-23T10:00:00+01:00", "; the sending window closed before it could be sent; 1h after the sender's previous message"},
			{"2026-11-23T09:00:00+01:00", "2026-11-23T11:00:00+01:00", "; 1h after the sender's previous message"},
		}},
		{"a gap over two closing times", berlin, 9, 10, 0, 30 * time.Minute, "2026-11-20T09:30:00+01:00", []row{
			{"2026-11-20T09:30:00+01:00", "2026-11-20T09:30:00+01:00", ""},
			{"2026-11-20T09:30:00+01:00", "2026-11-23T09:00:00+01:00", "; 30m after the sender's previous message; moved to the next sending window"},
			{"2026-11-23T09:00:00+01:00", "2026-11-23T09:30:00+01:00", "; 30m after the sender's previous message"},
			{"2026-11-20T09:30:00+01:00", "2026-11-24T09:00:00+01:00", "; the sending window closed before it could be sent; 30m after the sender's previous message; moved to the next sending window"},
		}},
		{"a cap and closing time", berlin, 9, 10, 2, 40 * time.Minute, "2026-11-20T09:20:00+01:00", []row{
			{"2026-11-20T09:20:00+01:00", "2026-11-20T09:20:00+01:00", ""},
			{"2026-11-20T09:20:00+01:00", "2026-11-23T09:00:00+01:00", "; 40m after the sender's previous message; moved to the next sending window"},
			{"2026-11-20T09:20:00+01:00", "2026-11-23T09:40:00+01:00", "; the sending window closed before it could be sent; 40m after the sender's previous message"},
			{"2026-11-20T09:20:00+01:00", "2026-11-24T09:00:00+01:00", "; the sender's daily cap of 2 was reached; the sending window closed before it could be sent; 40m after the sender's previous message; moved to the next sending window"},
		}},
		{"a cap, over a weekend", berlin, 9, 17, 2, 30 * time.Second, "2026-11-20T10:00:00+01:00", []row{
			{"2026-11-20T10:00:00+01:00", "2026-11-20T10:00:00+01:00", ""},
			{"2026-11-20T10:00:00+01:00", "2026-11-20T10:00:30+01:00", "; 30s after the sender's previous message"},
			{"2026-11-20T10:00:00+01:00", "2026-11-23T09:00:00+01:00", "; the sender's daily cap of 2 was reached"},
			{"2026-11-20T11:00:00+01:00", "2026-11-23T09:00:30+01:00", "; the sender's daily cap of 2 was reached; 30s after the sender's previous message"},
			{"2026-11-23T09:00:00+01:00", "2026-11-24T09:00:00+01:00", "; the sender's daily cap of 2 was reached"},
			{"2026-11-25T12:00:00+01:00", "2026-11-25T12:00:00+01:00", ""},
		}},
		{"over midnight each date has its own cap", berlin, 22, 6, 1, 0, "2026-11-16T22:00:00+01:00", []row{
			{"2026-11-16T22:00:00+01:00", "2026-11-16T22:00:00+01:00", ""},
			{"2026-11-16T22:00:00+01:00", "2026-11-17T00:00:00+01:00", "; the sender's daily cap of 1 was reached"},
			{"2026-11-16T22:00:00+01:00", "2026-11-18T00:00:00+01:00", "; the sender's daily cap of 1 was reached"},
		}},
		{"now is closed", berlin, 9, 17, 0, 0, "2026-11-20T20:00:00+01:00", []row{
			{"2026-11-20T10:00:00+01:00", "2026-11-23T09:00:00+01:00", "; overdue; moved to the next sending window"},
		}},
		{"a cap on the day of 25 hours", newYork, 0, 24, 2, 0, "2026-10-30T23:00:00-04:00", []row{
			{"2026-10-30T23:00:00-04:00", "2026-10-30T23:00:00-04:00", ""},
			{"2026-10-30T23:00:00-04:00", "2026-10-30T23:00:00-04:00", ""},
			{"2026-10-30T23:30:00-04:00", "2026-11-02T00:00:00-05:00", "; the sender's daily cap of 2 was reached"},
		}},
		{"a date that is skipped", apia, 9, 17, 1, 0, "2011-12-29T09:00:00-10:00", []row{
			{"2011-12-29T09:00:00-10:00", "2011-12-29T09:00:00-10:00", ""},
			{"2011-12-29T09:00:00-10:00", "2012-01-02T09:00:00+14:00", "; the sender's daily cap of 1 was reached"},
		}},
	} {
		l := NewLedger(calendar(t, c.zone, weekdays, c.from, c.to), c.cap, c.gap)
		for _, r := range c.rows {
			slot := l.Next(parseTime(t, r.due), parseTime(t, c.now))
			same(t, c.name+", due "+r.due, slot.At, r.at)
			if got := l.Reason(slot); got != r.reason {
				t.Errorf("%s, due %s: %q, want %q", c.name, r.due, got, r.reason)
			}
			l.Take(slot)
			again := NewLedger(l.cal, c.cap, c.gap) // a restored ledger behaves the same
			again.Restore(l.State())
			l = again
		}
	}
}

// Messages sent earlier count: the last one for the gap, those of the local date for the cap.
func TestLedgerSent(t *testing.T) {
	l := NewLedger(calendar(t, newYork, weekdays, 9, 17), 5, time.Minute)
	l.Sent(parseTime(t, "2026-11-13T16:00:00-05:00"), 5) // Friday
	l.Sent(parseTime(t, "2026-11-16T12:00:00-05:00"), 4) // Monday
	l.Sent(parseTime(t, "2026-11-12T12:00:00-05:00"), 5) // too old to count
	now := parseTime(t, "2026-11-16T12:00:30-05:00")
	slot := l.Next(now, now)
	same(t, "the fifth", slot.At, "2026-11-16T12:01:00-05:00")
	l.Take(slot)
	same(t, "the sixth", l.Next(now, now).At, "2026-11-17T09:00:00-05:00")
}

// When clocks are set back over midnight, a date is shown again after a minute of the next one.
// Each of the two dates has one cap.
func TestLedgerDateAgain(t *testing.T) {
	l := NewLedger(calendar(t, johns, allDays, 0, 24), 1, 0)
	now := parseTime(t, "2010-11-06T23:30:00-02:30")
	for _, want := range []string{"2010-11-06T23:30:00-02:30", "2010-11-07T00:00:00-02:30", "2010-11-08T00:00:00-03:30"} {
		slot := l.Next(now, now)
		same(t, "one a day", slot.At, want)
		l.Take(slot)
	}
}

func TestShortDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{30 * time.Second: "30s", time.Minute: "1m", 90 * time.Minute: "1h30m", 2 * time.Hour: "2h", time.Hour + time.Second: "1h0m1s", 100 * time.Second: "1m40s"} {
		if got := shortDuration(d); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
