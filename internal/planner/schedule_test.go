package planner

import (
	"math"
	"slices"
	"testing"
	"time"
)

// after is a transition from step 0 to step 1.
func after(typ TransitionType, delays ...Delay) Transition {
	tr := Transition{From: 0, To: 1, Type: typ}
	for i, d := range delays {
		*[]*Delay{&tr.Pre, &tr.Post}[i] = d
	}
	return tr
}

// Steps without incoming transitions count from the start.
func TestScheduleRoot(t *testing.T) {
	for _, c := range []struct {
		name, zone   string
		action       Action
		day, hour    int
		start        string
		want, reason string
	}{
		{"later that day", berlin, Task, 0, 9, "2026-11-16T08:00:00+01:00", "2026-11-16T09:00:00+01:00", "day 0 of the sequence at 09:00"},
		{"just then", berlin, Task, 0, 9, "2026-11-16T09:00:00+01:00", "2026-11-16T09:00:00+01:00", "day 0 of the sequence at 09:00"},
		{"past", berlin, Task, 0, 9, "2026-11-16T09:00:00.5+01:00", "2026-11-16T09:00:00.5+01:00", "day 0 of the sequence at 09:00; that time has passed, due at once"},
		{"over a month end", berlin, Task, 2, 9, "2026-01-30T12:00:00+01:00", "2026-02-01T09:00:00+01:00", "day 2 of the sequence at 09:00"},
		{"onto a leap day", berlin, Task, 1, 9, "2028-02-28T12:00:00+01:00", "2028-02-29T09:00:00+01:00", "day 1 of the sequence at 09:00"},
		{"a year later", berlin, Task, 365, 0, "2026-11-16T12:00:00+01:00", "2027-11-16T00:00:00+01:00", "day 365 of the sequence at 00:00"},
		{"the day is the zone's, not UTC's", newYork, Task, 1, 9, "2026-11-17T02:00:00Z", "2026-11-17T09:00:00-05:00", "day 1 of the sequence at 09:00"},
		{"over a clock change", berlin, Task, 1, 9, "2026-03-28T09:00:00+01:00", "2026-03-29T09:00:00+02:00", "day 1 of the sequence at 09:00"},
		{"in the second of two hours", berlin, Task, 0, 2, "2026-10-25T02:30:00+01:00", "2026-10-25T02:30:00+01:00", "day 0 of the sequence at 02:00; that time has passed, due at once"},
		{"onto a date that is skipped", apia, Task, 1, 9, "2011-12-29T12:00:00-10:00", "2011-12-31T00:00:00+14:00", "day 1 of the sequence at 09:00"},
		{"a task on a Saturday stays", berlin, Task, 5, 20, "2026-11-16T08:00:00+01:00", "2026-11-21T20:00:00+01:00", "day 5 of the sequence at 20:00"},
		{"a message does not", berlin, Send, 5, 20, "2026-11-16T08:00:00+01:00", "2026-11-23T09:00:00+01:00", "day 5 of the sequence at 20:00; moved to the next sending window"},
		{"nor on a holiday", berlin, Send, 1, 10, "2026-11-16T08:00:00+01:00", "2026-11-18T09:00:00+01:00", "day 1 of the sequence at 10:00; moved to the next sending window"},
		{"nor before the window", berlin, Send, 0, 7, "2026-11-16T08:00:00+01:00", "2026-11-16T09:00:00+01:00", "day 0 of the sequence at 07:00; that time has passed, due at once; moved to the next sending window"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cal := calendar(t, c.zone, weekdays, 9, 17, "2026-11-17")
			tmpl := New([]Step{{Index: 0, Action: c.action, Day: c.day, Hour: c.hour}}, nil)
			start := parseTime(t, c.start)
			dues := Schedule(tmpl, cal, start, nil, start)
			if len(dues) != 1 {
				t.Fatal(dues)
			}
			same(t, c.name, dues[0].At, c.want)
			if dues[0].Reason != c.reason {
				t.Errorf("%q, want %q", dues[0].Reason, c.reason)
			}
		})
	}
}

// A transition counts its delays from the due time of its step, or from when that step ended.
func TestScheduleTransition(t *testing.T) {
	const scheduled = "2026-11-13T10:00:00+01:00" // a Friday
	for _, c := range []struct {
		name                 string
		zone                 string
		action               Action
		hour                 int
		tr                   Transition
		scheduled, due, over string
		want, reason         string
	}{
		{"scheduled, at once", berlin, Task, 9, after(Scheduled), scheduled, "2026-11-16T11:00:00+01:00", "", "2026-11-16T11:00:00+01:00", "when step 0 was due"},
		{"completes, at once", berlin, Task, 9, after(Completes), scheduled, scheduled, "2026-11-16T11:00:00.25+01:00", "2026-11-16T11:00:00.25+01:00", "when step 0 was completed"},
		{"minutes", berlin, Task, 9, after(Completes, Delay{1, Minutes}), scheduled, scheduled, "2026-11-16T23:59:30+01:00", "2026-11-17T00:00:30+01:00", "1 minute after step 0 was completed"},
		{"hours are exact over a clock change", berlin, Task, 9, after(Scheduled, Delay{24, Hours}), "2026-03-28T09:00:00+01:00", "2026-03-28T09:00:00+01:00", "", "2026-03-29T10:00:00+02:00", "24 hours after step 0 was due"},
		{"days are dates over a clock change", berlin, Task, 9, after(Scheduled, Delay{1, Days}), "2026-03-28T09:00:00+01:00", "2026-03-28T09:00:00+01:00", "", "2026-03-29T09:00:00+02:00", "1 day after step 0 was due"},
		{"days lead to the hour", berlin, Task, 14, after(Scheduled, Delay{2, Days}), scheduled, "2026-11-16T11:00:00+01:00", "", "2026-11-18T14:00:00+01:00", "2 days after step 0 was due"},
		{"no days lead to the hour too", berlin, Task, 14, after(Scheduled, Delay{0, Days}), scheduled, "2026-11-16T11:00:00+01:00", "", "2026-11-16T14:00:00+01:00", "0 days after step 0 was due"},
		{"never earlier", berlin, Task, 9, after(Scheduled, Delay{0, Days}), scheduled, "2026-11-16T11:00:00+01:00", "", "2026-11-16T11:00:00+01:00", "0 days after step 0 was due; that time has passed, due at once"},
		{"business days over a weekend", berlin, Task, 9, after(Completes, Delay{2, BusinessDays}), scheduled, scheduled, "2026-11-20T11:00:00+01:00", "2026-11-24T09:00:00+01:00", "2 business days after step 0 was completed"},
		{"business days over a holiday", berlin, Task, 9, after(Completes, Delay{1, BusinessDays}), scheduled, scheduled, "2026-11-16T11:00:00+01:00", "2026-11-18T09:00:00+01:00", "1 business day after step 0 was completed"},
		{"no business days, on a Saturday", berlin, Task, 9, after(Completes, Delay{0, BusinessDays}), scheduled, scheduled, "2026-11-21T08:00:00+01:00", "2026-11-21T09:00:00+01:00", "0 business days after step 0 was completed"},
		{"both delays", berlin, Task, 9, after(Scheduled, Delay{1, Days}, Delay{90, Minutes}), scheduled, "2026-11-18T11:00:00+01:00", "", "2026-11-19T10:30:00+01:00", "1 day and 90 minutes after step 0 was due"},
		{"both the other way round", berlin, Task, 9, after(Scheduled, Delay{13, Hours}, Delay{1, Days}), scheduled, "2026-11-18T11:00:00+01:00", "", "2026-11-20T09:00:00+01:00", "13 hours and 1 day after step 0 was due"},
		{"not before it fired", berlin, Task, 9, after(Scheduled, Delay{1, Hours}), "2026-11-18T12:00:00+01:00", "2026-11-16T11:00:00+01:00", "", "2026-11-18T12:00:00+01:00", "1 hour after step 0 was due; that time has passed, due at once"},
		{"a message moves to the opening", berlin, Send, 8, after(Completes, Delay{1, Days}), scheduled, scheduled, "2026-11-20T11:00:00+01:00", "2026-11-23T09:00:00+01:00", "1 day after step 0 was completed; moved to the next sending window"},
		{"the date is the zone's", kathmandu, Task, 0, after(Completes, Delay{1, Days}), scheduled, scheduled, "2026-11-16T18:20:00Z", "2026-11-18T00:00:00+05:45", "1 day after step 0 was completed"},
		{"a date that is skipped", apia, Task, 9, after(Completes, Delay{1, Days}), "2011-12-28T12:00:00-10:00", "2011-12-28T12:00:00-10:00", "2011-12-29T12:00:00-10:00", "2011-12-31T00:00:00+14:00", "1 day after step 0 was completed"},
		{"an end without bound", "UTC", Task, 9, after(Completes, Delay{math.MaxInt, Days}), scheduled, scheduled, scheduled, "8999-12-31T09:00:00Z", "9223372036854775807 days after step 0 was completed"},
		{"an end without bound in minutes", "UTC", Task, 9, after(Completes, Delay{math.MaxInt, Minutes}), scheduled, scheduled, scheduled, "8999-12-31T00:00:00Z", "9223372036854775807 minutes after step 0 was completed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cal := calendar(t, c.zone, weekdays, 9, 17, "2026-11-17")
			tmpl := New([]Step{{Index: 0, Action: Task}, {Index: 1, Action: c.action, Day: 300, Hour: c.hour}}, []Transition{c.tr})
			past := []StepHistory{{ScheduledAt: parseTime(t, c.scheduled), Due: parseTime(t, c.due), EndedAt: parseTime(t, c.over)}}
			dues := Schedule(tmpl, cal, past[0].ScheduledAt, past, past[0].ScheduledAt.Add(1000*time.Hour))
			if len(dues) != 1 || dues[0].Step != 1 {
				t.Fatal(dues)
			}
			same(t, c.name, dues[0].At, c.want)
			if dues[0].Reason != c.reason {
				t.Errorf("%q, want %q", dues[0].Reason, c.reason)
			}
		})
	}
}

func TestScheduleHugeBusinessDays(t *testing.T) {
	cal := calendar(t, "UTC", []int{3}, 9, 17)
	at, _ := cal.after(parseTime(t, "2026-11-16T00:00:00Z"), Delay{math.MaxInt, BusinessDays}, 9)
	if y := at.Year(); y != 8999 && y != 9000 {
		t.Errorf("%s, want about the year 9000", at)
	}
}

// With several transitions, the first that fired decides, or the last if all are required.
func TestScheduleSeveral(t *testing.T) {
	at := func(h int) time.Time { return time.Date(2026, 11, 16, h, 0, 0, 0, time.UTC) }
	hours := func(from, n int, typ TransitionType, all bool) Transition {
		return Transition{From: from, To: 9, Type: typ, Pre: Delay{n, Hours}, RequireAll: all}
	}
	scheduled := func(due int) StepHistory { return StepHistory{ScheduledAt: at(0), Due: at(due)} }
	ended := func(due, over int, end Outcome) StepHistory {
		return StepHistory{ScheduledAt: at(0), Due: at(due), EndedAt: at(over), Outcome: end}
	}
	over := func(due, over int) StepHistory { return ended(due, over, Completed) }
	for _, c := range []struct {
		name        string
		transitions []Transition
		past        []StepHistory
		want        int // hour of the due time; -1: not due
		reason      string
	}{
		{"none fired", []Transition{hours(1, 1, Completes, false), hours(2, 1, Completes, false)}, []StepHistory{scheduled(1), scheduled(2)}, -1, ""},
		{"one fired", []Transition{hours(1, 1, Completes, false), hours(2, 1, Completes, false)}, []StepHistory{scheduled(1), over(2, 5)}, 6, "1 hour after step 2 was completed"},
		{"the first, though it leads further", []Transition{hours(1, 9, Completes, false), hours(2, 1, Completes, false)}, []StepHistory{over(1, 3), over(2, 5)}, 12, "9 hours after step 1 was completed"},
		{"fixed before it was over", []Transition{hours(1, 1, Completes, false), hours(2, 9, Scheduled, false)}, []StepHistory{over(1, 3), scheduled(2)}, 11, "9 hours after step 2 was due"},
		{"at once: the earlier due time", []Transition{hours(1, 5, Scheduled, false), hours(2, 2, Scheduled, false)}, []StepHistory{scheduled(1), scheduled(2)}, 4, "2 hours after step 2 was due"},
		{"at once and alike: the lower index", []Transition{hours(2, 2, Scheduled, false), hours(1, 3, Scheduled, false)}, []StepHistory{scheduled(1), scheduled(2)}, 4, "3 hours after step 1 was due"},
		{"skipped", []Transition{hours(1, 1, Completes, false)}, []StepHistory{ended(1, 5, Skipped), scheduled(2)}, 6, "1 hour after step 1 was skipped"},
		{"failed", []Transition{hours(1, 1, Completes, false)}, []StepHistory{ended(1, 5, Failed), scheduled(2)}, 6, "1 hour after step 1 failed"},
		{"unknown", []Transition{hours(1, 0, Completes, false)}, []StepHistory{ended(1, 5, Unknown), scheduled(2)}, 5, "0 hours after step 1 ended with unknown delivery"},
		{"failed, of no account", []Transition{hours(1, 2, Scheduled, false)}, []StepHistory{ended(1, 5, Failed), scheduled(2)}, 3, "2 hours after step 1 was due"},
		{"all, one is missing", []Transition{hours(1, 1, Completes, true), hours(2, 1, Completes, false)}, []StepHistory{scheduled(1), over(2, 5)}, -1, ""},
		{"all: the latest due time", []Transition{hours(1, 9, Completes, false), hours(2, 1, Completes, true)}, []StepHistory{over(1, 3), over(2, 5)}, 12, "9 hours after step 1 was completed; the last of the 2 transitions it waits for"},
		{"all and alike: the lower index", []Transition{hours(2, 1, Completes, true), hours(1, 3, Completes, true)}, []StepHistory{over(1, 3), over(2, 5)}, 6, "3 hours after step 1 was completed; the last of the 2 transitions it waits for"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cal := calendar(t, "UTC", allDays, 0, 24)
			tmpl := New([]Step{{Index: 1, Action: Task}, {Index: 2, Action: Task}, {Index: 9, Action: Task}}, c.transitions)
			dues := Schedule(tmpl, cal, at(0), c.past, at(23))
			if c.want < 0 {
				if len(dues) != 0 {
					t.Errorf("%v", dues)
				}
				return
			}
			if want := []Due{{Step: 2, At: at(c.want), Reason: c.reason}}; !slices.Equal(dues, want) {
				t.Errorf("%v, want %v", dues, want)
			}
		})
	}
}

// Scheduling a step fires the transitions that wait for that, transitively, whatever the order of
// the steps.
func TestScheduleChain(t *testing.T) {
	cal := calendar(t, "UTC", weekdays, 9, 17)
	start := parseTime(t, "2026-11-20T16:30:00Z") // a Friday
	tmpl := New([]Step{
		{Index: 30, Action: Send, Hour: 9},
		{Index: 20, Action: Send, Hour: 9},
		{Index: 10, Action: Task, Day: 0, Hour: 0},
		{Index: 40, Action: Task, Hour: 9},
	}, []Transition{
		{From: 20, To: 30, Type: Scheduled, Pre: Delay{1, BusinessDays}},
		{From: 10, To: 20, Type: Scheduled, Pre: Delay{1, Hours}},
		{From: 30, To: 40, Type: Completes},
		{From: 77, To: 10, Type: Scheduled}, // unknown step
	})
	dues := Schedule(tmpl, cal, start, nil, start)
	want := []Due{
		{2, start, "day 0 of the sequence at 00:00; that time has passed, due at once"},
		{1, parseTime(t, "2026-11-23T09:00:00Z").UTC(), "1 hour after step 10 was due; moved to the next sending window"},
		{0, parseTime(t, "2026-11-24T09:00:00Z").UTC(), "1 business day after step 20 was due"},
	}
	if !slices.EqualFunc(dues, want, func(a, b Due) bool { return a.Step == b.Step && a.At.Equal(b.At) && a.Reason == b.Reason }) {
		t.Fatalf("%v, want %v", dues, want)
	}
	past := make([]StepHistory, 4)
	for _, d := range dues {
		past[d.Step] = StepHistory{ScheduledAt: start, Due: d.At}
	}
	if again := Schedule(tmpl, cal, start, past, start.Add(time.Hour)); len(again) != 0 {
		t.Errorf("scheduled a second time: %v", again)
	}
	// Two transitions to a step fire in one pass. The one with the earlier due time decides, although
	// it is found later.
	tmpl = New([]Step{{Index: 0, Action: Task}, {Index: 1, Action: Task}, {Index: 2, Action: Task}}, []Transition{
		{From: 0, To: 1, Type: Scheduled, Pre: Delay{3, Hours}}, {From: 0, To: 2, Type: Scheduled}, {From: 2, To: 1, Type: Scheduled},
	})
	for _, d := range Schedule(tmpl, cal, start, nil, start) {
		if !d.At.Equal(start) {
			t.Errorf("step %d is due at %s, want the start", d.Step, d.At)
		}
	}
}
