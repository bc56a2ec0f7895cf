package planner

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// choices turns bytes into decisions. After the last byte every decision is the first option.
type choices []byte

func (c *choices) below(n int) int {
	if len(*c) == 0 {
		return 0
	}
	b := int((*c)[0])
	*c = (*c)[1:]
	if n > 256 && len(*c) > 0 {
		b = b<<8 | int((*c)[0])
		*c = (*c)[1:]
	}
	return b % n
}

func pick[T any](c *choices, of ...T) T { return of[c.below(len(of))] }

// around are times near clock changes in both directions, a skipped date, leap days and ends of
// years.
var around = []string{
	"2026-11-16T10:00:00Z", "2026-03-29T00:30:00Z", "2026-10-25T00:30:00Z", "2026-03-08T06:00:00Z", "2026-11-01T05:00:00Z", "2026-10-03T15:00:00Z",
	"2026-04-04T14:30:00Z", "2011-12-30T08:00:00Z", "2028-02-28T20:00:00Z", "2026-12-31T20:00:00Z", "2028-12-30T20:00:00Z", "2096-12-30T20:00:00Z",
}

func (c *choices) instant(t testing.TB) time.Time {
	return parseTime(t, pick(c, around...)).Add(time.Duration(c.below(40)) * 15 * time.Minute).Add(time.Duration(c.below(3)) * 1500 * time.Millisecond)
}

func (c *choices) reference(t testing.TB, near time.Time) *reference {
	zone, err := time.LoadLocation(pick(c, "UTC", berlin, newYork, lordHowe, apia, troll, kathmandu))
	if err != nil {
		t.Fatal(err)
	}
	r := &reference{zone: zone, tick: 900, from: c.below(24), to: 1 + c.below(24), cap: c.below(4), gap: pick(c, 0, 30*time.Second, 7*time.Minute, 2*time.Hour)}
	if pick(c, false, false, true) {
		r.from, r.to = 0, 24
	}
	for i, set := 0, 1+c.below(127); i < 7; i++ {
		if set>>i&1 == 1 {
			r.days = append(r.days, i+1)
		}
	}
	for range c.below(4) {
		r.holidays = append(r.holidays, near.AddDate(0, 0, c.below(12)-2).Format(time.DateOnly))
	}
	return r
}

func (c *choices) delay() Delay {
	return pick(c, Delay{}, Delay{c.below(90), Minutes}, Delay{c.below(40), Hours}, Delay{c.below(5), Days}, Delay{c.below(7), BusinessDays})
}

func (c *choices) template() (steps []Step, transitions []Transition) {
	n := 1 + c.below(6)
	for i := range n {
		// Indexes are unique and unordered.
		steps = append(steps, Step{Index: (i*5 + 3) % 7, Action: pick(c, Send, Task), Day: c.below(6), Hour: c.below(24)})
	}
	for to := 1; to < n; to++ {
		for from := range to {
			if c.below(3) == 0 {
				transitions = append(transitions, Transition{From: steps[from].Index, To: steps[to].Index, Type: pick(c, Scheduled, Completes),
					Pre: c.delay(), Post: c.delay(), RequireAll: c.below(4) == 0})
			}
		}
	}
	return steps, transitions
}

// contact returns a sequence that starts before or at now. Some steps of one that started before
// may have ended.
func (c *choices) contact(cal *Calendar, now time.Time) *contact {
	steps, transitions := c.template()
	s := &contact{steps: steps, transitions: transitions, Sequence: Sequence{Template: New(steps, transitions), Start: now, Prioritized: c.below(4) == 0}}
	if c.below(5) == 0 {
		s.SkipMail = "the contact has no email address"
	}
	if c.below(3) == 0 {
		s.End = now.Add(time.Duration(c.below(200)-5) * time.Hour)
	}
	if c.below(6) == 0 {
		s.NotBefore = now.Add(time.Duration(c.below(100)-20) * time.Hour)
	}
	if c.below(4) == 0 {
		s.Withheld = make([]Action, len(steps))
		for i := range steps {
			s.Withheld[i] = pick(c, "", "", Hold, Skip)
		}
	}
	if c.below(2) == 0 {
		s.Start = now.Add(-time.Duration(c.below(100)) * time.Hour)
		s.History = make([]StepHistory, len(steps))
		for _, d := range Schedule(s.Template, cal, s.Start, nil, s.Start) {
			s.History[d.Step] = StepHistory{ScheduledAt: s.Start, Due: d.At, Reason: d.Reason}
			if over := d.At.Add(time.Duration(c.below(30)) * time.Hour); c.below(2) == 0 && over.Before(now) {
				s.History[d.Step].EndedAt = over
				s.History[d.Step].Outcome = pick(c, Completed, Completed, Skipped, Failed, Unknown)
			}
		}
	}
	return s
}

// agree builds a plan from the bytes and compares it with the reference and with the invariants of
// every plan.
func agree(t *testing.T, data []byte) {
	t.Helper()
	c := (*choices)(&data)
	now := c.instant(t)
	r := c.reference(t, now)
	cal, err := NewCalendar(r.zone, r.days, r.holidays, r.from, r.to)
	if err != nil {
		t.Fatal(err)
	}
	ledger := NewLedger(cal, r.cap, r.gap)
	for i := c.below(3); i > 0; i-- {
		at, n := now.Add(-time.Duration(i*c.below(20))*time.Hour/4), 1+c.below(2)
		if k := len(r.sent); k > 0 && at.Before(r.sent[k-1]) {
			continue
		}
		ledger.Sent(at, n)
		for range n {
			r.sent = append(r.sent, at)
		}
	}
	before := len(r.sent)
	var contacts []*contact
	var sequences []Sequence
	for range 1 + c.below(4) {
		contacts = append(contacts, c.contact(cal, now))
		sequences = append(sequences, contacts[len(contacts)-1].Sequence)
	}
	plans := simulate(t, ledger, now, sequences)
	if again := simulate(t, ledger, now, sequences); !reflect.DeepEqual(plans, again) {
		t.Fatalf("the same input led to another plan:\n%v\n%v", plans, again)
	}
	r.simulate(now, contacts)
	for i, plan := range plans {
		want := contacts[i]
		if len(plan) != len(want.plan) {
			t.Fatalf("sequence %d: %d planned steps, want %d", i, len(plan), len(want.plan))
		}
		for j, p := range plan {
			w := want.plan[j]
			if want.SkipMail != "" && p.Action == Skip && !want.End.IsZero() && !p.At.Before(want.End) && !w.At.Before(want.End) {
				p.At = w.At // of no account: nothing happens after the end
			}
			if p.Step != j || p.Action != w.Action || !p.At.Equal(w.At) || p.Done != w.Done {
				t.Errorf("sequence %d, step %d: %s at %s (%s), want %s at %s", i, j, p.Action, p.At, p.Reason, w.Action, w.At)
			}
			if p.Reason == "" && !p.Done {
				t.Errorf("sequence %d, step %d: no reason", i, j)
			}
			if p.Action != Send || p.Done {
				continue
			}
			if p.At.Before(now) || p.At.Before(want.past[j].Due) {
				t.Errorf("sequence %d, step %d: sent at %s, before it was due", i, j, p.At)
			}
			if !r.open(p.At) {
				t.Errorf("sequence %d, step %d: sent at %s, outside the window", i, j, p.At)
			}
		}
	}
	perDay := map[time.Time]int{}
	for i, at := range r.sent {
		if perDay[r.date(at)]++; i < before {
			continue
		}
		if r.cap > 0 && perDay[r.date(at)] > r.cap {
			t.Errorf("more than %d messages on the date of %s", r.cap, at)
		}
		if i > 0 && at.Sub(r.sent[i-1]) < r.gap {
			t.Errorf("%s and %s are less than %s apart", r.sent[i-1], at, r.gap)
		}
	}
}

func randomBytes(random *rand.Rand, n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return data
}

func TestRandomPlans(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	for range rounds(300) {
		data := randomBytes(random, 300)
		if agree(t, data); t.Failed() {
			t.Fatalf("with %q", data)
		}
	}
}

func FuzzPlan(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		f.Add(randomBytes(random, 200))
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) { agree(t, data) })
}

// Open periods and dates match a search minute by minute, also where clocks change at one minute
// past midnight.
func TestRandomOpenings(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range rounds(250) {
		data := randomBytes(random, 60)
		c := (*choices)(&data)
		near := c.instant(t)
		r := c.reference(t, near)
		if c.below(4) == 0 {
			near = parseTime(t, pick(c, "2010-11-07T02:00:00Z", "2010-03-14T03:00:00Z"))
			r.zone, _ = time.LoadLocation(johns)
		}
		r.tick = 60
		cal, err := NewCalendar(r.zone, r.days, r.holidays, r.from, r.to)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			at := near.Add(time.Duration(c.below(3000)-1500) * 100 * time.Second)
			if got, want := cal.NextOpen(at), r.opening(at); !got.Equal(want) {
				t.Errorf("%s, window %d to %d, days %v: NextOpen(%s) is %s, want %s", r.zone, r.from, r.to, r.days, at, got, want)
			}
			h := c.below(24)
			if got, want := cal.at(cal.date(at), h), r.at(r.date(at), h); !got.Equal(want) {
				t.Errorf("%s: the date of %s at %d is %s, want %s", r.zone, at, h, got, want)
			}
		}
	}
}

// rounds returns fewer rounds in short mode.
func rounds(n int) int {
	if testing.Short() {
		return n / 5
	}
	return n
}

// TestPlannedOnTime checks that every step happens at its planned time if nothing delays it. The
// transitions wait for the end of a step: one that counts from a due time may plan an email before the
// one it counts from, and each then pushes the other.
func TestPlannedOnTime(t *testing.T) {
	random := rand.New(rand.NewPCG(21, 22))
	for range rounds(2000) {
		data := randomBytes(random, 200)
		c := (*choices)(&data)
		now := c.instant(t)
		r := c.reference(t, now)
		cal := calendar(t, r.zone.String(), r.days, r.from, r.to, r.holidays...)
		steps, transitions := c.template()
		for i := range transitions {
			transitions[i].Type = Completes
		}
		template := New(steps, transitions)
		planned := template.plannedTimes(cal, instantOf(now))
		plan := simulate(t, NewLedger(cal, 0, 0), now, []Sequence{{Template: template, Start: now}})[0]
		for i, p := range plan {
			if want := planned.steps[i].at; want != 0 && !p.At.Equal(want.time()) {
				t.Fatalf("step %d: %s at %s (%s), want %s\n%+v\n%+v", steps[i].Index, p.Action, p.At, p.Reason, want.time(), steps, transitions)
			}
		}
	}
}
