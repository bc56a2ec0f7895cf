package outreach

import (
	"context"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

// anchor is a clock as it is kept in the store. The installation has none while its clock is the wall's.
type anchor struct {
	Wall  shape.Time `json:"wall"`
	Time  shape.Time `json:"time"`
	Speed float64    `json:"speed"`
	// Until is the latest time that a clock of its own speed may have shown.
	Until shape.Time `json:"until"`
}

// limit keeps a clock of its own speed from showing what a restart, or a wall's clock that is put back, could take back: nothing later
// than what is on the disk, and nothing earlier than what it has shown.
type limit struct {
	mu           sync.Mutex
	shown, until time.Time
}

// pass gives what the clock may show in place of a time.
func (l *limit) pass(t time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.After(l.until) {
		t = l.until
	}
	if t.After(l.shown) {
		l.shown = t
	}
	return l.shown
}

func (l *limit) raise(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = until
}

// now is the time by which the transaction's sequences go.
func (o *Outreach) now(tx *store.Tx) time.Time { return o.shows(tx.Now()) }

// shows is the time by which sequences go at a moment of the wall.
func (o *Outreach) shows(wall time.Time) time.Time {
	t := o.clock.at(wall)
	if o.clock.own() {
		t = o.limit.pass(t)
	}
	return t
}

// lookAgain is how long, by the wall, nobody looks whether a clock that stands still goes on.
const lookAgain = 100 * time.Millisecond

// wallAt is the moment of the wall at which sequences come to a time: it is not past as long as they have not.
func (o *Outreach) wallAt(tx *store.Tx, t time.Time) time.Time {
	wall := o.clock.when(t)
	if o.clock.own() && t.After(o.now(tx)) && !wall.After(tx.Now()) {
		return tx.Now().Add(lookAgain)
	}
	return wall
}

// ClockAhead is how far the clock of sequences is ahead of the wall's.
func (o *Outreach) ClockAhead() time.Duration {
	wall := o.store.Now()
	return o.shows(wall).Sub(wall)
}

// startClock lets the clock go on from where it was. At the wall's speed it goes on while the service does not run, and is the wall's
// again when that has caught up with it; at another it stands still meanwhile.
func (o *Outreach) startClock(ctx context.Context) error {
	wall := o.store.Now()
	was, err := o.readAnchor()
	if err != nil {
		return err
	}
	now := was.goesOn(wall)
	switch {
	case o.Speed == 1 && !now.After(wall):
		if !was.Wall.Valid() {
			return nil
		}
		return o.writeAnchor(ctx, nil)
	case o.Speed == 1 && was.Speed == 1:
		o.clock = clock{was.Wall.Std(), was.Time.Std(), 1}
		return nil
	}
	o.clock = clock{wall, now, o.Speed}
	o.limit.shown = now
	return o.keepAhead(ctx)
}

// goesOn is where a clock goes on that is started again.
func (a *anchor) goesOn(wall time.Time) time.Time {
	switch {
	case !a.Wall.Valid():
		return wall
	case a.Speed == 1:
		c := clock{a.Wall.Std(), a.Time.Std(), 1}
		return c.at(wall)
	}
	return a.Until.Std()
}

func (o *Outreach) readAnchor() (was anchor, err error) {
	err = o.store.View(uuid.Nil, func(tx *store.Tx) error {
		body, err := o.kept.Get(tx, uuid.Nil, anchorPart)
		if err != nil || len(body) == 0 {
			return err
		}
		return json.Unmarshal(body, &was)
	})
	return was, err
}

func (o *Outreach) writeAnchor(ctx context.Context, body []byte) error {
	return o.store.Update(ctx, uuid.Nil, store.Actor{Operation: "serve"}, func(tx *store.Tx) error {
		o.kept.Put(tx, uuid.Nil, anchorPart, body)
		return nil
	})
}

// keepUntil writes down the latest time that the clock may show from here on.
func (o *Outreach) keepUntil(ctx context.Context, until time.Time) error {
	body, err := json.Marshal(anchor{shape.At(o.clock.wall), shape.At(o.clock.time), o.clock.speed, shape.At(until)})
	if err == nil {
		err = o.writeAnchor(ctx, body)
	}
	if err == nil {
		o.limit.raise(until)
	}
	return err
}

const (
	// keepEvery is how often, by the wall, a clock of its own speed has written down how far it may come, and keepFor how far that is.
	// Where the process is killed it goes on from there.
	keepEvery = time.Second
	keepFor   = 3 * time.Second
)

// KeepTimeOnce lets a clock of its own speed go on for a while: it shows nothing that is not on the disk.
func (o *Outreach) KeepTimeOnce(ctx context.Context) error {
	if !o.clock.own() {
		return nil
	}
	return o.keepAhead(ctx)
}

func (o *Outreach) keepAhead(ctx context.Context) error {
	return o.keepUntil(ctx, o.clock.at(o.store.Now().Add(keepFor)))
}

// KeepTime lets a clock of its own speed go on until ctx ends. For one that goes as the wall's there is nothing to do.
func (o *Outreach) KeepTime(ctx context.Context) {
	if !o.clock.own() {
		return
	}
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for stands := false; ctx.Err() == nil; {
		err := o.KeepTimeOnce(ctx)
		if err != nil && !stands && ctx.Err() == nil {
			o.Log.Warn("the clock of sequences stands still: how far it has come cannot be written down", "error", err)
		}
		stands = err != nil
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// StopClock writes down how far the clock has come, so that it goes on from there. It must be called when nothing goes by the clock any more.
func (o *Outreach) StopClock(ctx context.Context) {
	if !o.clock.own() {
		return
	}
	if err := o.keepUntil(ctx, o.shows(o.store.Now())); err != nil {
		o.Log.Warn("the clock of sequences will go on a little later than where it was", "error", err)
	}
}
