package planner

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const noAddress = "the contact has no email address"

// shown formats a plan as lines: position, action, local time, reason.
func shown(zone *time.Location, plan []Planned) string {
	var b strings.Builder
	for _, p := range plan {
		at := "never"
		if !p.At.IsZero() {
			at = p.At.In(zone).Format("Mon 2006-01-02 15:04:05")
		}
		done := ""
		if p.Done {
			done = " (done)"
		}
		fmt.Fprintf(&b, "%d %s %s%s: %s\n", p.Step, p.Action, at, done, p.Reason)
	}
	return b.String()
}

func TestSimulate(t *testing.T) {
	cal := calendar(t, berlin, weekdays, 9, 17, "2026-11-17")
	start := parseTime(t, "2026-11-16T08:00:00+01:00") // a Monday; the Tuesday is a holiday
	at := func(s string) time.Time { return parseTime(t, s+":00+01:00") }
	// An email, a call two days after it was sent, an email one business day after the call, and an
	// independent email on day 4.
	steps := []Step{{0, Send, 0, 10}, {1, Task, 0, 11}, {2, Send, 0, 9}, {3, Send, 4, 18}}
	transitions := []Transition{
		{From: 0, To: 1, Type: Completes, Pre: Delay{2, Days}},
		{From: 1, To: 2, Type: Completes, Pre: Delay{1, Hours}, Post: Delay{1, BusinessDays}},
	}
	tmpl := New(steps, transitions)
	for _, c := range []struct {
		name      string
		now       string
		cap       int
		gap       time.Duration
		sequences []Sequence
		want      []string
	}{
		{"alone", "2026-11-16T08:00", 200, 30 * time.Second, []Sequence{{Template: tmpl, Start: start}}, []string{
			`0 send Mon 2026-11-16 10:00:00: day 0 of the sequence at 10:00
1 task Wed 2026-11-18 11:00:00: 2 days after step 0 was completed
2 send Thu 2026-11-19 09:00:00: 1 hour and 1 business day after step 1 was completed (assumed at its due time)
3 send Mon 2026-11-23 09:00:00: day 4 of the sequence at 18:00; moved to the next sending window
`}},
		{"prioritized first, then in order, with a gap", "2026-11-16T08:00", 200, 30 * time.Second, []Sequence{
			{Template: New(steps[:1], nil), Start: start}, {Template: New(steps[:1], nil), Start: start, Prioritized: true}, {Template: New(steps[:1], nil), Start: start}}, []string{
			"0 send Mon 2026-11-16 10:00:30: day 0 of the sequence at 10:00; 30s after the sender's previous message\n",
			"0 send Mon 2026-11-16 10:00:00: day 0 of the sequence at 10:00\n",
			"0 send Mon 2026-11-16 10:01:00: day 0 of the sequence at 10:00; 30s after the sender's previous message\n",
		}},
		{"a cap, over a holiday", "2026-11-16T08:00", 1, 0, []Sequence{{Template: New(steps[:1], nil), Start: start}, {Template: New(steps[:1], nil), Start: start}}, []string{
			"0 send Mon 2026-11-16 10:00:00: day 0 of the sequence at 10:00\n",
			"0 send Wed 2026-11-18 10:00:00: day 0 of the sequence at 10:00; the sender's daily cap of 1 was reached\n",
		}},
		{"a task that is over when the sender may send again", "2026-11-16T08:00", 1, 0, []Sequence{{Template: New(steps[:1], nil), Start: start}, {Template: New(steps[:1], nil), Start: start},
			{Template: New([]Step{{0, Task, 2, 9}, {1, Send, 0, 0}}, []Transition{after(Completes)}), Start: start, Prioritized: true}}, []string{
			"0 send Mon 2026-11-16 10:00:00: day 0 of the sequence at 10:00\n",
			"0 send Thu 2026-11-19 10:00:00: day 0 of the sequence at 10:00; the sender's daily cap of 1 was reached\n",
			"0 task Wed 2026-11-18 09:00:00: day 2 of the sequence at 09:00\n" +
				"1 send Wed 2026-11-18 09:00:00: when step 0 was completed (assumed at its due time)\n",
		}},
		{"no address", "2026-11-16T08:00", 0, 0, []Sequence{{Template: tmpl, Start: start, SkipMail: noAddress}}, []string{
			`0 skip Mon 2026-11-16 10:00:00: day 0 of the sequence at 10:00; the contact has no email address
1 task Wed 2026-11-18 11:00:00: 2 days after step 0 was skipped
2 skip Thu 2026-11-19 09:00:00: 1 hour and 1 business day after step 1 was completed (assumed at its due time); the contact has no email address
3 skip Mon 2026-11-23 09:00:00: day 4 of the sequence at 18:00; moved to the next sending window; the contact has no email address
`}},
		{"the end comes before", "2026-11-16T08:00", 0, 0, []Sequence{{Template: tmpl, Start: start, End: at("2026-11-18T11:00")}}, []string{
			`0 send Mon 2026-11-16 10:00:00: day 0 of the sequence at 10:00
1 skip Wed 2026-11-18 11:00:00: 2 days after step 0 was completed; the campaign ends before then
2 skip never: waits for step 1, which does not end before the campaign does
3 skip Mon 2026-11-23 09:00:00: day 4 of the sequence at 18:00; moved to the next sending window; the campaign ends before then
`}},
		{"the cap leaves no room before the end", "2026-11-16T08:00", 1, 0, []Sequence{{Template: New(steps[:1], nil), Start: start}, {Template: New(steps[:1], nil), Start: start, End: at("2026-11-18T00:00")}, {Template: New(steps[:1], nil), Start: start}}, []string{
			"0 send Mon 2026-11-16 10:00:00: day 0 of the sequence at 10:00\n",
			"0 skip Mon 2026-11-16 10:00:00: day 0 of the sequence at 10:00; the sender's daily cap of 1 was reached; the campaign ends before then\n",
			"0 send Wed 2026-11-18 10:00:00: day 0 of the sequence at 10:00; the sender's daily cap of 1 was reached\n",
		}},
		{"under way: one over, a task overdue", "2026-11-19T12:00", 0, 0, []Sequence{{Template: tmpl, Start: start, History: []StepHistory{
			{ScheduledAt: start, Due: at("2026-11-16T10:00"), EndedAt: at("2026-11-16T10:00"), Reason: "day 0 of the sequence at 10:00"},
			{ScheduledAt: at("2026-11-16T10:00"), Due: at("2026-11-18T11:00")},
			{},
			{ScheduledAt: start, Due: at("2026-11-23T09:00"), Reason: "as it was"},
		}}}, []string{
			`0 send Mon 2026-11-16 10:00:00 (done): day 0 of the sequence at 10:00
1 task Wed 2026-11-18 11:00:00: scheduled earlier
2 send Fri 2026-11-20 09:00:00: 1 hour and 1 business day after step 1 was completed (assumed now)
3 send Mon 2026-11-23 09:00:00: as it was
`}},
		{"overdue, and never a burst", "2026-11-19T16:59", 0, time.Minute, []Sequence{
			{Template: New(steps[:1], nil), Start: start, History: []StepHistory{{ScheduledAt: start, Due: at("2026-11-16T11:00"), Reason: "first"}}},
			{Template: New(steps[:1], nil), Start: start, History: []StepHistory{{ScheduledAt: start, Due: at("2026-11-16T10:00"), Reason: "second"}}},
			{Template: New(steps[:1], nil), Start: start, History: []StepHistory{{ScheduledAt: start, Due: at("2026-11-16T12:00"), Reason: "third"}}}}, []string{
			"0 send Fri 2026-11-20 09:00:00: first; overdue; 1m after the sender's previous message; moved to the next sending window\n",
			"0 send Thu 2026-11-19 16:59:00: second; overdue\n",
			"0 send Fri 2026-11-20 09:01:00: third; overdue; the sending window closed before it could be sent; 1m after the sender's previous message\n",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			plans := simulate(t, NewLedger(cal, c.cap, c.gap), at(c.now), c.sequences)
			for i, plan := range plans {
				if got := shown(cal.zone, plan); got != c.want[i] {
					t.Errorf("sequence %d:\n%swant\n%s", i, got, c.want[i])
				}
			}
		})
	}
}

// Simulate returns for a template with a cycle, which no template may have, and for one without
// steps.
func TestSimulateCycle(t *testing.T) {
	cal := calendar(t, "UTC", weekdays, 9, 17)
	now := parseTime(t, "2026-11-16T10:00:00Z")
	cycle := New([]Step{{Index: 0, Action: Send}, {Index: 1, Action: Task}, {Index: 2, Action: Task}},
		[]Transition{{From: 0, To: 1, Type: Completes}, {From: 1, To: 0, Type: Completes}, {From: 2, To: 2, Type: Scheduled}})
	for i, plan := range simulate(t, NewLedger(cal, 0, 0), now, []Sequence{{Template: New(nil, nil), Start: now}, {Template: cycle, Start: now}}) {
		if len(plan) != i*3 {
			t.Errorf("%v", plan)
		}
		for _, p := range plan {
			if p.Action != Skip || !p.At.IsZero() || p.Reason == "" {
				t.Errorf("%v", p)
			}
		}
	}
}

// market returns a hundred contacts of one sender in a template of ten steps, the maximum of a
// simulation.
func market(t testing.TB) (*Ledger, time.Time, []Sequence) {
	var steps []Step
	var transitions []Transition
	for i := range 10 {
		action := Send
		if i%3 == 2 {
			action = Task
		}
		steps = append(steps, Step{Index: i, Action: action, Hour: 9})
		if i > 0 {
			transitions = append(transitions, Transition{From: i - 1, To: i, Type: Completes, Pre: Delay{2, BusinessDays}})
		}
	}
	now := parseTime(t, "2026-11-16T12:00:00Z")
	sequences := make([]Sequence, 100)
	for i := range sequences {
		sequences[i] = Sequence{Template: New(steps, transitions), Start: now, Prioritized: i%7 == 0}
	}
	return NewLedger(calendar(t, berlin, weekdays, 9, 17, "2026-12-25", "2027-01-01"), 200, 30*time.Second), now, sequences
}

func BenchmarkSimulate(b *testing.B) {
	l, now, sequences := market(b)
	b.ReportAllocs()
	for b.Loop() {
		simulate(b, l, now, sequences)
	}
}

func BenchmarkSchedule(b *testing.B) {
	l, now, sequences := market(b)
	b.ReportAllocs()
	for b.Loop() {
		Schedule(sequences[0].Template, l.cal, now, nil, now)
	}
}
