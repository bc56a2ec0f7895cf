package store

import (
	"sync/atomic"
	"time"
)

var durationBounds = [...]time.Duration{
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 30 * time.Second,
}

// Durations is how long something took: how often it was done, how long that was in all, and how often it was done
// within each of some bounds.
type Durations struct {
	Count  uint64
	Sum    time.Duration
	Within map[time.Duration]uint64
}

// Timings collects durations. Its zero value is ready, and it is safe for concurrent use.
type Timings struct {
	sum    atomic.Int64
	counts [len(durationBounds) + 1]atomic.Uint64 // each without those of the bounds before it; the last is over all bounds
}

// Add counts one.
func (t *Timings) Add(d time.Duration) {
	d = max(0, d) // a clock may be set back
	i := 0
	for i < len(durationBounds) && d > durationBounds[i] {
		i++
	}
	t.sum.Add(int64(d))
	t.counts[i].Add(1)
}

// Read gives what was counted so far.
func (t *Timings) Read() Durations {
	d := Durations{Sum: time.Duration(t.sum.Load()), Within: map[time.Duration]uint64{}}
	for i := range t.counts {
		d.Count += t.counts[i].Load()
		if i < len(durationBounds) {
			d.Within[durationBounds[i]] = d.Count
		}
	}
	return d
}

// Stopwatch measures by the store's clock how long something takes: what it gives tells the time since.
func (s *Store) Stopwatch() func() time.Duration {
	began := s.opt.Clock()
	return func() time.Duration { return s.opt.Clock().Sub(began) }
}
