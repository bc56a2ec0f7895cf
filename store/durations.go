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

// Durations is a histogram of durations: their number, their sum, and how many were within each
// bound.
type Durations struct {
	Count  uint64
	Sum    time.Duration
	Within map[time.Duration]uint64
}

// Timings collects durations. Its zero value is ready to use, and it is safe for concurrent use.
type Timings struct {
	sum    atomic.Int64
	counts [len(durationBounds) + 1]atomic.Uint64 // by bound, not cumulative; the last is above all bounds
}

// Add records a duration.
func (t *Timings) Add(d time.Duration) {
	d = max(0, d) // the clock may have been set back
	i := 0
	for i < len(durationBounds) && d > durationBounds[i] {
		i++
	}
	t.sum.Add(int64(d))
	t.counts[i].Add(1)
}

// Read returns a copy of the histogram.
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

// Stopwatch starts to measure time by the store's clock. The result returns the time elapsed since
// then.
func (s *Store) Stopwatch() func() time.Duration {
	began := s.opt.Clock()
	return func() time.Duration { return s.opt.Clock().Sub(began) }
}
