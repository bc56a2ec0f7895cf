package outreach

import (
	"testing"
	"time"
)

// TestClock holds when against at: the moment of the wall is the first at which the clock shows the time, at whatever speed, and what
// lies centuries ahead takes no longer to find.
func TestClock(t *testing.T) {
	anchor := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	for _, speed := range []float64{0.001, 0.5, 1, 3, 86400, 1e6} {
		c := clock{anchor, anchor.AddDate(0, 1, 0), speed}
		for _, later := range []time.Duration{1, time.Millisecond, time.Second, time.Hour, 30 * 24 * time.Hour, 99 * 365 * 24 * time.Hour} {
			shown := c.time.Add(later).Truncate(time.Millisecond)
			wall := c.when(shown)
			if wall.Equal(anchor.Add(farAhead)) {
				continue
			}
			if c.at(wall).Before(shown) {
				t.Errorf("at speed %v it shows %s at %s, not %s", speed, c.at(wall), wall, shown)
			}
			if before := wall.Add(-2 * time.Millisecond); before.After(anchor) && !c.at(before).Before(shown) {
				t.Errorf("at speed %v it shows %s two milliseconds before it is told to", speed, shown)
			}
		}
		for _, never := range []time.Time{time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)} {
			if wall := c.when(never); !wall.After(anchor) || wall.After(anchor.Add(farAhead)) {
				t.Errorf("at speed %v the year 9999 ends at %s", speed, wall)
			}
		}
		last := c.at(anchor)
		for days := range 2000 {
			now := c.at(anchor.AddDate(0, 0, days))
			if now.Before(last) || now.Year() > 9999 {
				t.Fatalf("at speed %v it goes from %s to %s", speed, last, now)
			}
			last = now
		}
	}
}
