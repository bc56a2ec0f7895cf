package planner

import (
	"context"
	"errors"
	"testing"
	"time"
)

// follow returns a template of an email and two follow-ups, each so long after the one before.
func follow(typ TransitionType, d Delay) *Template {
	return New([]Step{{0, Send, 0, 10}, {1, Send, 3, 9}, {2, Send, 6, 9}}, []Transition{
		{From: 0, To: 1, Type: typ, Pre: d}, {From: 1, To: 2, Type: typ, Pre: d},
	})
}

// A campaign that was paused from Monday to Friday sends one email, and the follow-ups as long after
// it as the template plans.
func TestSimulateAfterPause(t *testing.T) {
	cal := calendar(t, berlin, weekdays, 8, 18)
	start := parseTime(t, "2026-11-16T08:00:00+01:00") // a Monday
	resumed := parseTime(t, "2026-11-27T15:00:00+01:00")
	roots := New([]Step{{0, Send, 0, 10}, {1, Send, 1, 9}, {2, Send, 3, 9}, {3, Send, 3, 11}}, nil)
	mixed := New([]Step{{0, Send, 0, 10}, {1, Task, 0, 9}, {2, Send, 0, 9}}, []Transition{
		{From: 0, To: 1, Type: Scheduled, Pre: Delay{1, BusinessDays}}, {From: 1, To: 2, Type: Scheduled, Pre: Delay{2, Days}},
	})
	const first = "0 send Fri 2026-11-27 15:00:00: day 0 of the sequence at 10:00; overdue\n"
	for _, c := range []struct {
		name     string
		template *Template
		want     string
	}{
		{"business days", follow(Scheduled, Delay{3, BusinessDays}), first +
			"1 send Wed 2026-12-02 09:00:00: 3 business days after step 0 was due; 3 business days after the email of step 0, which was sent late\n" +
			"2 send Mon 2026-12-07 09:00:00: 3 business days after step 1 was due; 6 business days after the email of step 0, which was sent late\n"},
		{"days", follow(Scheduled, Delay{3, Days}), first +
			"1 send Mon 2026-11-30 09:00:00: 3 days after step 0 was due; 3 days after the email of step 0, which was sent late\n" +
			"2 send Thu 2026-12-03 09:00:00: 3 days after step 1 was due; 6 days after the email of step 0, which was sent late\n"},
		{"hours", follow(Scheduled, Delay{30, Hours}), first +
			"1 send Mon 2026-11-30 08:00:00: 30 hours after step 0 was due; 30 hours after the email of step 0, which was sent late; moved to the next sending window\n" +
			"2 send Tue 2026-12-01 14:00:00: 30 hours after step 1 was due; 30 hours after the email of step 1\n"},
		{"after completion", follow(Completes, Delay{3, BusinessDays}), first +
			"1 send Wed 2026-12-02 09:00:00: 3 business days after step 0 was completed\n" +
			"2 send Mon 2026-12-07 09:00:00: 3 business days after step 1 was completed\n"},
		{"days of the sequence", roots, first +
			"1 send Mon 2026-11-30 08:00:00: day 1 of the sequence at 09:00; 1 day after the email of step 0, which was sent late; moved to the next sending window\n" +
			"2 send Wed 2026-12-02 09:00:00: day 3 of the sequence at 09:00; 2 days after the email of step 1\n" +
			"3 send Wed 2026-12-02 11:00:00: day 3 of the sequence at 11:00; 2 days after the email of step 1\n"},
		{"a task between, which stays", mixed, first +
			"1 task Tue 2026-11-17 09:00:00: 1 business day after step 0 was due\n" +
			"2 send Wed 2026-12-02 09:00:00: 2 days after step 1 was due; as long after the email of step 0, which was sent late, as the template plans\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			history := make([]StepHistory, len(c.template.steps))
			for _, d := range Schedule(c.template, cal, start, nil, start) {
				history[d.Step] = StepHistory{ScheduledAt: start, Due: d.At, Reason: d.Reason}
			}
			plan := simulate(t, NewLedger(cal, 0, 0), resumed, []Sequence{{Template: c.template, Start: start, History: history}})[0]
			if got := shown(cal.zone, plan); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
			played(t, c.template, cal, start, resumed, history, plan)
		})
	}
}

// played plays a sequence with Push and Schedule, as the engine does, and compares it with its plan.
func played(t *testing.T, tmpl *Template, cal *Calendar, start, now time.Time, history []StepHistory, plan []Planned) {
	t.Helper()
	for range plan {
		for more := true; more; {
			for _, d := range Push(tmpl, cal, start, history, time.Time{}) {
				history[d.Step].Due, history[d.Step].Reason = d.At, d.Reason
			}
			if again := Push(tmpl, cal, start, history, time.Time{}); len(again) > 0 {
				t.Fatalf("pushed again: %v", again)
			}
			dues := Schedule(tmpl, cal, start, history, now)
			for _, d := range dues {
				history[d.Step] = StepHistory{ScheduledAt: now, Due: d.At, Reason: d.Reason}
			}
			more = len(dues) > 0
		}
		next := -1
		for i, h := range history {
			if !h.ScheduledAt.IsZero() && h.EndedAt.IsZero() && (next < 0 || h.Due.Before(history[next].Due)) {
				next = i
			}
		}
		now = latest(now, history[next].Due)
		history[next].EndedAt = now
		if p := plan[next]; p.Action == Send && !p.At.Equal(now) {
			t.Errorf("step %d is sent at %s, and was planned for %s", next, now, p.At)
		}
	}
}

// An email that is sent after one that was planned behind it keeps the distance as well. Emails that
// were not sent do not count.
func TestPushReversed(t *testing.T) {
	cal := calendar(t, "UTC", weekdays, 8, 18)
	at := func(s string) time.Time { return parseTime(t, "2026-11-"+s+":00Z") }
	tmpl := New([]Step{{0, Task, 0, 9}, {1, Send, 0, 9}, {2, Send, 3, 9}}, []Transition{{From: 0, To: 1, Type: Completes}})
	history := []StepHistory{
		{ScheduledAt: at("16T08:00"), Due: at("16T09:00"), EndedAt: at("19T12:00")},
		{ScheduledAt: at("19T12:00"), Due: at("19T12:00"), Reason: "when step 0 was completed"},
		{ScheduledAt: at("16T08:00"), Due: at("19T09:00"), EndedAt: at("19T09:00")},
	}
	moved := Push(tmpl, cal, at("16T08:00"), history, time.Time{})
	if len(moved) != 1 || moved[0].Step != 1 || moved[0].Reason != "when step 0 was completed; 3 days after the email of step 2; moved to the next sending window" {
		t.Fatalf("%v", moved)
	}
	same(t, "pushed to", moved[0].At, "2026-11-23T08:00:00Z")
	for _, o := range []Outcome{Skipped, Failed} {
		history[2].Outcome = o
		if moved := Push(tmpl, cal, at("16T08:00"), history, time.Time{}); len(moved) > 0 {
			t.Errorf("outcome %d: %v", o, moved)
		}
	}
	// While the first one waits, the one behind it is pushed along.
	history[2] = StepHistory{ScheduledAt: at("16T08:00"), Due: at("23T09:00")}
	if moved := Push(tmpl, cal, at("16T08:00"), history, at("19T13:00")); len(moved) > 0 {
		t.Errorf("%v, although it is far enough", moved)
	}
	moved = Push(tmpl, cal, at("16T08:00"), history, at("25T13:00"))
	if len(moved) != 1 || moved[0].Step != 2 || moved[0].Reason != "scheduled earlier; 3 days after the email of step 1; moved to the next sending window" {
		t.Fatalf("%v", moved)
	}
	same(t, "pushed along to", moved[0].At, "2026-11-30T08:00:00Z")
}

// A message that did not fit into a day's cap is sent on the next business day, not before the hour
// of its step.
func TestSimulateOverflow(t *testing.T) {
	now := parseTime(t, "2026-11-20T09:00:00Z") // a Friday
	at := func(hour int) *Template { return New([]Step{{0, Send, 0, hour}}, nil) }
	soon := New([]Step{{0, Task, 0, 9}, {1, Send, 0, 15}}, []Transition{{From: 0, To: 1, Type: Completes, Pre: Delay{10, Minutes}}})
	for _, c := range []struct {
		name      string
		from, to  int
		templates []*Template
		want      []string // when the last step of each is sent
	}{
		{"at its hour, not at midnight", 0, 24, []*Template{at(9), at(9), at(9)}, []string{"20 09:00:00", "20 09:01:00", "23 09:00:00"}},
		{"the hours of others do not delay it", 0, 24, []*Template{at(9), at(9), at(17), at(10), at(10)}, []string{"20 09:00:00", "20 09:01:00", "24 17:00:00", "23 10:00:00", "23 10:01:00"}},
		{"the hour is before the window", 8, 18, []*Template{at(9), at(9), at(7)}, []string{"20 09:00:00", "20 09:01:00", "23 08:00:00"}},
		{"the hour is after the window", 8, 18, []*Template{at(9), at(9), at(20)}, []string{"20 09:00:00", "20 09:01:00", "23 08:00:00"}},
		{"minutes have no hour", 0, 24, []*Template{at(9), at(9), soon}, []string{"20 09:00:00", "20 09:01:00", "23 00:00:00"}},
		{"several days", 0, 24, []*Template{at(9), at(9), at(9), at(9), at(9)}, []string{"20 09:00:00", "20 09:01:00", "23 09:00:00", "23 09:01:00", "24 09:00:00"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sequences []Sequence
			for _, tmpl := range c.templates {
				sequences = append(sequences, Sequence{Template: tmpl, Start: now})
			}
			for i, plan := range simulate(t, NewLedger(calendar(t, "UTC", weekdays, c.from, c.to), 2, time.Minute), now, sequences) {
				if got := plan[len(plan)-1]; got.At.Format("02 15:04:05") != c.want[i] {
					t.Errorf("sequence %d is sent at %s (%s), want %s", i, got.At, got.Reason, c.want[i])
				}
			}
		})
	}
}

// What the sender has sent today counts, and sequences in the background take their slots first.
func TestSimulateBehindOthers(t *testing.T) {
	now := parseTime(t, "2026-11-16T10:00:00Z")
	ledger := NewLedger(calendar(t, "UTC", weekdays, 8, 18), 3, 0)
	ledger.Sent(now.Add(-time.Hour), 1)
	tmpl := New([]Step{{0, Send, 0, 9}}, nil)
	other := Sequence{Template: tmpl, Start: now.Add(-time.Hour), InBackground: true, History: []StepHistory{{ScheduledAt: now.Add(-time.Hour), Due: now.Add(-time.Hour)}}}
	plans := simulate(t, ledger, now, []Sequence{{Template: tmpl, Start: now}, other, {Template: tmpl, Start: now}})
	same(t, "the last of the day", plans[0][0].At, "2026-11-16T10:00:00Z")
	same(t, "the first of the next", plans[2][0].At, "2026-11-17T09:00:00Z")
	if plans[1] != nil {
		t.Errorf("a sequence in the background has a plan: %v", plans[1])
	}
	ledger = NewLedger(ledger.cal, 1, 0) // the cap was lowered
	today := Day{Date: int(ledger.cal.date(now)), Sent: 1}
	state := LedgerState{Last: now}
	state.Days[today.Date&1] = today
	ledger.Restore(state)
	same(t, "after a lower cap", ledger.NextAtHour(now, now, 11).At, "2026-11-17T11:00:00Z")
}

// A message without a value is held, and what follows it waits. The rest goes on.
func TestSimulateHeld(t *testing.T) {
	cal := calendar(t, "UTC", weekdays, 8, 18)
	now := parseTime(t, "2026-11-16T10:00:00Z")
	tmpl := New([]Step{{0, Send, 0, 11}, {1, Send, 1, 11}, {2, Task, 2, 9}, {3, Task, 0, 9}, {4, Send, 0, 9}}, []Transition{
		{From: 1, To: 3, Type: Completes, Pre: Delay{1, Days}}, {From: 3, To: 4, Type: Scheduled, Pre: Delay{1, Days}}})
	plans := simulate(t, NewLedger(cal, 0, 0), now, []Sequence{
		{Template: tmpl, Start: now, Withheld: []Action{Hold, "", "", "", ""}},
		{Template: tmpl, Start: now, Withheld: []Action{"", Skip, "", "", ""}, NotBefore: now.Add(5 * time.Hour)},
	})
	for i, want := range []string{
		`0 hold Mon 2026-11-16 11:00:00: day 0 of the sequence at 11:00; a token without a fallback has no value
1 hold never: waits for an earlier email, which is held
2 task Wed 2026-11-18 09:00:00: day 2 of the sequence at 09:00
3 hold never: waits for step 1, which is held
4 hold never: waits for step 3, which is held
`, `0 send Mon 2026-11-16 15:00:00: day 0 of the sequence at 11:00; delayed after another email to the address
1 skip Tue 2026-11-17 11:00:00: day 1 of the sequence at 11:00; a token without a fallback has no value
2 task Wed 2026-11-18 09:00:00: day 2 of the sequence at 09:00
3 task Wed 2026-11-18 09:00:00: 1 day after step 1 was skipped
4 send Thu 2026-11-19 09:00:00: 1 day after step 3 was due
`} {
		if got := shown(cal.zone, plans[i]); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
}

func TestSimulateCanceled(t *testing.T) {
	l, now, sequences := market(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if plans, err := Simulate(ctx, l, now, sequences); plans != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%d plans and error %v", len(plans), err)
	}
}
