package apptest

import (
	"sync"
	"time"
)

// Clock is a clock that stands still until it is moved.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Start is when every test begins: a Monday morning.
var Start = time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)

// Now is the time it is.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
