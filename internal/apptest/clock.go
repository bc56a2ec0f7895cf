package apptest

import (
	"sync"
	"time"
)

// Clock is a clock that advances only when the test moves it.
type Clock struct {
	mu   sync.Mutex
	now  time.Time
	tick time.Duration // by which each reading moves it
}

// Start is the time at which the clock of every test starts, a Monday morning.
var Start = time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(c.tick)
	return c.now
}

// Tick makes each reading move the clock by d.
func (c *Clock) Tick(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick = d
}

// Advance moves the clock forward by d.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
