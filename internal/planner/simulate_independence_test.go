package planner

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Without a cap and a gap, sequences that start the same template now do not affect one another:
// the plan and the reasons of each are the same as for it alone.
func TestSimulateIndependence(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	for range rounds(300) {
		data := randomBytes(random, 300)
		c := (*choices)(&data)
		now := c.instant(t)
		r := c.reference(t, now)
		cal := calendar(t, r.zone.String(), r.days, r.from, r.to, r.holidays...)
		ledger := NewLedger(cal, 0, 0)
		first := c.contact(cal, now)
		var sequences []Sequence
		for range 5 {
			sequences = append(sequences, Sequence{Template: first.Template, Start: now, Prioritized: c.below(3) == 0,
				SkipMail: pick(c, "", "", "first reason", "second reason"), End: pick(c, time.Time{}, now.AddDate(0, 0, 2))})
		}
		for i, plan := range simulate(t, ledger, now, sequences) {
			alone := simulate(t, ledger, now, sequences[i:i+1])[0]
			if got, want := shown(r.zone, plan), shown(r.zone, alone); got != want {
				t.Fatalf("sequence %d:\n%swant\n%s", i, got, want)
			}
		}
	}
}
