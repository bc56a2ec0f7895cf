package sequence

import "time"

// timeScale converts wall-clock time to the time that sequences follow. The zero value is the wall
// clock. Any other runs from an anchor at its own speed.
type timeScale struct {
	wall, time time.Time // the anchor: it showed time at wall
	speed      float64
}

// endOfTime is the last millisecond of the year 9999, the latest time that can be stored. A fast
// clock reaches it and stays there.
const endOfTime = 253402300799999

// maxAhead limits how far in the future a job is scheduled, by the wall clock.
const maxAhead = 100 * 365 * 24 * time.Hour

// at returns the time at a wall-clock time.
func (s *timeScale) at(wall time.Time) time.Time {
	if s.wall.IsZero() {
		return wall.UTC().Truncate(time.Millisecond)
	}
	passed := float64(max(0, wall.Sub(s.wall))) / float64(time.Millisecond)
	return time.UnixMilli(min(endOfTime, s.time.UnixMilli()+int64(min(passed*s.speed, endOfTime)))).UTC()
}

// wallAt returns the first millisecond of the wall clock at which the time is t, at most maxAhead
// after the anchor.
func (s *timeScale) wallAt(t time.Time) time.Time {
	if s.wall.IsZero() || t.IsZero() {
		return t
	}
	left := min(t.UnixMilli(), endOfTime) - s.time.UnixMilli()
	if left <= 0 {
		return s.wall
	}
	ahead := float64(left) * float64(time.Millisecond) / s.speed
	if ahead >= float64(maxAhead) {
		return s.wall.Add(maxAhead)
	}
	wall := s.wall.Add(time.Duration(ahead)).Truncate(time.Millisecond)
	for s.at(wall).UnixMilli() < s.time.UnixMilli()+left { // floating point may have rounded down
		wall = wall.Add(time.Millisecond)
	}
	return wall
}

// perSecond returns how far the time advances in a second of the wall clock.
func (s *timeScale) perSecond() time.Duration {
	if s.wall.IsZero() {
		return time.Second
	}
	return max(time.Millisecond, time.Duration(s.speed*float64(time.Second)))
}

// isScaled reports whether the speed is not that of the wall clock. The time must then be
// persisted, because it cannot be computed from the wall clock alone.
func (s *timeScale) isScaled() bool { return !s.wall.IsZero() && s.speed != 1 }
