package sequence

import (
	"testing"
	"time"
)

// TestTimeScale checks that wallAt returns the first wall-clock time at which the scale shows a
// time, at any speed, and that times far in the future are found as quickly.
func TestTimeScale(t *testing.T) {
	anchor := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	for _, speed := range []float64{0.001, 0.5, 1, 3, 86400, 1e6} {
		s := timeScale{anchor, anchor.AddDate(0, 1, 0), speed}
		for _, later := range []time.Duration{
			1, time.Millisecond, time.Second, time.Hour, 30 * 24 * time.Hour, 99 * 365 * 24 * time.Hour,
		} {
			want := s.time.Add(later).Truncate(time.Millisecond)
			wall := s.wallAt(want)
			if wall.Equal(anchor.Add(maxAhead)) {
				continue
			}
			if s.at(wall).Before(want) {
				t.Errorf("speed %v: the time at %s is %s, want %s", speed, wall, s.at(wall), want)
			}
			if before := wall.Add(-2 * time.Millisecond); before.After(anchor) && !s.at(before).Before(want) {
				t.Errorf("speed %v: the time is %s two milliseconds before wallAt", speed, want)
			}
		}
		for _, never := range []time.Time{
			time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC),
		} {
			if wall := s.wallAt(never); !wall.After(anchor) || wall.After(anchor.Add(maxAhead)) {
				t.Errorf("speed %v: %s is at %s of the wall clock", speed, never, wall)
			}
		}
		last := s.at(anchor)
		for days := range 2000 {
			now := s.at(anchor.AddDate(0, 0, days))
			if now.Before(last) || now.Year() > 9999 {
				t.Fatalf("speed %v: the time goes from %s to %s", speed, last, now)
			}
			last = now
		}
	}
}
