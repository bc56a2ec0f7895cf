package sequence

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

// sequenceClock is the clock that sequences follow. It never goes back, not even after a crash or
// when the wall clock is set back: a scaled clock shows no time later than the limit that is stored
// on disk.
type sequenceClock struct {
	store *store.Store
	parts *store.Parts
	log   *slog.Logger
	speed float64 // as configured

	scale timeScale

	mu           sync.Mutex // guards shown and limit, which only a scaled clock uses
	shown, limit time.Time  // the latest time shown, and the latest that may be shown
}

// storedClock is the stored form of a clock. Nothing is stored while the clock is the wall clock.
type storedClock struct {
	Wall  shape.Time `json:"wall"`
	Time  shape.Time `json:"time"`
	Speed float64    `json:"speed"`
	Until shape.Time `json:"until"` // the latest time that a scaled clock may have shown
}

// now returns the time in a transaction.
func (c *sequenceClock) now(tx *store.Tx) time.Time { return c.at(tx.Now()) }

// at returns the time at a wall-clock time.
func (c *sequenceClock) at(wall time.Time) time.Time {
	t := c.scale.at(wall)
	if !c.scale.isScaled() {
		return t
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.After(c.limit) {
		t = c.limit
	}
	if t.After(c.shown) {
		c.shown = t
	}
	return c.shown
}

// limitRetry is when to try again, by the wall clock, while a scaled clock stands still at its
// limit.
const limitRetry = 100 * time.Millisecond

// wallAt returns the wall-clock time at which the clock shows t. It is in the future as long as the
// clock has not reached t.
func (c *sequenceClock) wallAt(tx *store.Tx, t time.Time) time.Time {
	wall := c.scale.wallAt(t)
	if c.scale.isScaled() && t.After(c.now(tx)) && !wall.After(tx.Now()) {
		return tx.Now().Add(limitRetry)
	}
	return wall
}

// ahead returns how far the clock is ahead of the wall clock.
func (c *sequenceClock) ahead() time.Duration {
	wall := c.store.Now()
	return c.at(wall).Sub(wall)
}

// start continues the clock from where it was. A clock that was ahead runs on at normal speed until
// the wall clock has caught up. A scaled clock stands still while the service does not run.
func (c *sequenceClock) start(ctx context.Context) error {
	wall := c.store.Now()
	stored, err := c.read()
	if err != nil {
		return err
	}
	now := stored.timeAt(wall)
	switch {
	case c.speed == 1 && !now.After(wall):
		if !stored.Wall.Valid() {
			return nil
		}
		return c.write(ctx, nil)
	case c.speed == 1 && stored.Speed == 1:
		c.scale = timeScale{stored.Wall.Std(), stored.Time.Std(), 1}
		return nil
	}
	c.scale = timeScale{wall, now, c.speed}
	c.shown = now
	return c.raiseLimit(ctx)
}

// timeAt returns the time at which the clock continues.
func (s *storedClock) timeAt(wall time.Time) time.Time {
	switch {
	case !s.Wall.Valid():
		return wall
	case s.Speed == 1:
		scale := timeScale{s.Wall.Std(), s.Time.Std(), 1}
		return scale.at(wall)
	}
	return s.Until.Std()
}

func (c *sequenceClock) read() (stored storedClock, err error) {
	err = c.store.View(uuid.Nil, func(tx *store.Tx) error {
		body := c.parts.Readable(tx, uuid.Nil, clockPart) // without it, the clock shows the wall-clock time
		if len(body) == 0 {
			return nil
		}
		return json.Unmarshal(body, &stored)
	})
	return stored, err
}

func (c *sequenceClock) write(ctx context.Context, body []byte) error {
	return c.store.Update(ctx, uuid.Nil, store.Actor{Operation: "serve"}, func(tx *store.Tx) error {
		c.parts.Put(tx, uuid.Nil, clockPart, body)
		return nil
	})
}

// setLimit stores the latest time that the clock may show, and then allows it.
func (c *sequenceClock) setLimit(ctx context.Context, limit time.Time) error {
	body, err := json.Marshal(storedClock{
		shape.At(c.scale.wall), shape.At(c.scale.time), c.scale.speed, shape.At(limit),
	})
	if err == nil {
		err = c.write(ctx, body)
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = limit
	return nil
}

const (
	limitInterval = time.Second     // how often the limit of a scaled clock is raised, by the wall clock
	limitAhead    = 3 * time.Second // how far ahead it is; after a crash the clock continues at the limit
)

func (c *sequenceClock) raiseLimit(ctx context.Context) error {
	return c.setLimit(ctx, c.scale.at(c.store.Now().Add(limitAhead)))
}

// extend raises the limit of a scaled clock.
func (c *sequenceClock) extend(ctx context.Context) error {
	if !c.scale.isScaled() {
		return nil
	}
	return c.raiseLimit(ctx)
}

// run raises the limit of a scaled clock regularly until ctx ends.
func (c *sequenceClock) run(ctx context.Context) {
	if !c.scale.isScaled() {
		return
	}
	tick := time.NewTicker(limitInterval)
	defer tick.Stop()
	for failing := false; ctx.Err() == nil; {
		err := c.extend(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			c.log.Warn("the sequence clock stands still: its time cannot be stored", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// stop stores the time of a scaled clock, so it continues from there and not from its limit.
func (c *sequenceClock) stop(ctx context.Context) {
	if !c.scale.isScaled() {
		return
	}
	if err := c.setLimit(ctx, c.at(c.store.Now())); err != nil {
		c.log.Warn("the sequence clock will continue slightly ahead of where it stopped", "error", err)
	}
}
