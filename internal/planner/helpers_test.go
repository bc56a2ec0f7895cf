package planner

import (
	"context"
	"testing"
	"time"
)

func simulate(t testing.TB, l *Ledger, now time.Time, sequences []Sequence) [][]Planned {
	t.Helper()
	plans, err := Simulate(context.Background(), l, now, sequences)
	if err != nil {
		t.Fatal(err)
	}
	return plans
}

// These methods give tests access to the internals with a time.Time instead of an instant.

func (c *Calendar) at(d date, h int) time.Time { return c.first(d, h).time() }

func (c *Calendar) date(t time.Time) date { return c.dateOf(instantOf(t)) }

func (c *Calendar) after(t time.Time, d Delay, hour int) (over time.Time, passed bool) {
	m, passed := c.later(instantOf(t), d, hour)
	return m.time(), passed
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (p *StepHistory) settled() bool { return !p.ScheduledAt.IsZero() || !p.EndedAt.IsZero() }

// positions returns 0 to n-1.
func positions(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}
