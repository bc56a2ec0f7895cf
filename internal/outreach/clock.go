package outreach

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

// clock is the time by which sequences go: that of the wall, or one that runs faster from an anchor on.
type clock struct {
	wall, time time.Time // the anchor: what it showed at a moment of the wall; zero where it is the wall's
	speed      float64
}

// anchor is a clock as it is kept in the store.
type anchor struct {
	Wall  shape.Time `json:"wall"`
	Time  shape.Time `json:"time"`
	Speed float64    `json:"speed"`
}

// at is what the clock shows at a moment of the wall.
func (c *clock) at(wall time.Time) time.Time {
	if c.wall.IsZero() {
		return wall.UTC().Truncate(time.Millisecond)
	}
	passed := float64(max(0, wall.Sub(c.wall))) / float64(time.Millisecond)
	return time.UnixMilli(min(endOfTime, c.time.UnixMilli()+int64(min(passed*c.speed, endOfTime)))).UTC()
}

// endOfTime is the last millisecond of the year 9999: a clock that runs fast comes to it, and no later time can be written.
const endOfTime = 253402300799999

// farAhead is how far ahead, by the wall, something is looked at again that is due even later.
const farAhead = 100 * 365 * 24 * time.Hour

// when is the first moment of the wall, to the millisecond, at which the clock shows a time, unless that is farAhead.
func (c *clock) when(t time.Time) time.Time {
	if c.wall.IsZero() || t.IsZero() {
		return t
	}
	left := min(t.UnixMilli(), endOfTime) - c.time.UnixMilli()
	if left <= 0 {
		return c.wall
	}
	ahead := float64(left) * float64(time.Millisecond) / c.speed
	if ahead >= float64(farAhead) {
		return c.wall.Add(farAhead)
	}
	wall := c.wall.Add(time.Duration(ahead)).Truncate(time.Millisecond)
	for c.at(wall).UnixMilli() < c.time.UnixMilli()+left {
		wall = wall.Add(time.Millisecond)
	}
	return wall
}

// second is how far the clock goes in a second of the wall's.
func (c *clock) second() time.Duration {
	if c.wall.IsZero() {
		return time.Second
	}
	return max(time.Millisecond, time.Duration(c.speed*float64(time.Second)))
}

// now is the time by which the transaction's sequences go.
func (o *Outreach) now(tx *store.Tx) time.Time { return o.clock.at(tx.Now()) }

// Numbers of what the engine keeps for each organization, and the anchor for the installation.
const (
	anchorPart  uint32 = iota // in the installation's own
	reachedPart               // how far the clock had come
	advancePart               // the job that advances the sequences
	beginPart                 // the job that begins sequences in all campaigns
	recheckPart               // the job that looks at all sequences again
	secretPart                // in the installation's own: what links to unsubscribe are signed with
)

// startClock lets the clock go on from where it was. One that runs at another speed than the wall's stands still while nothing runs:
// what it had come to is kept with whatever it had a part in.
func (o *Outreach) startClock(ctx context.Context) error {
	wall := o.store.Now()
	var was anchor
	err := o.store.View(uuid.Nil, func(tx *store.Tx) error {
		body, err := o.kept.Get(tx, uuid.Nil, anchorPart)
		if err != nil || body == nil {
			return err
		}
		return json.Unmarshal(body, &was)
	})
	if err != nil {
		return err
	}
	if !was.Wall.Valid() && o.Speed == 1 {
		return nil
	}
	now := wall
	if was.Wall.Valid() {
		old := clock{was.Wall.Std(), was.Time.Std(), was.Speed}
		if now = old.at(wall); was.Speed != 1 {
			if now, err = o.reached(old.time); err != nil {
				return err
			}
		}
	}
	o.clock = clock{wall, now.Truncate(time.Millisecond), o.Speed}
	return o.store.Update(ctx, uuid.Nil, store.Actor{Operation: "serve"}, func(tx *store.Tx) error {
		body, err := json.Marshal(anchor{shape.At(wall), shape.At(o.clock.time), o.Speed})
		if err == nil {
			o.kept.Put(tx, uuid.Nil, anchorPart, body)
		}
		return err
	})
}

// reached is the latest time that any organization has come to by a clock that ran at a speed of its own.
func (o *Outreach) reached(from time.Time) (time.Time, error) {
	orgs, err := o.store.Organizations()
	for _, org := range orgs {
		if err != nil {
			break
		}
		err = o.store.View(org, func(tx *store.Tx) error {
			body, err := o.kept.Get(tx, org, reachedPart)
			if len(body) == 8 {
				if at := time.UnixMilli(int64(binary.BigEndian.Uint64(body))).UTC(); at.After(from) {
					from = at
				}
			}
			return err
		})
	}
	return from, err
}

// noteTime keeps how far the clock has come, where that cannot be told by the wall.
func (o *Outreach) noteTime(tx *store.Tx, now time.Time) {
	if !o.clock.wall.IsZero() && o.clock.speed != 1 {
		o.kept.Put(tx, tx.Org(), reachedPart, binary.BigEndian.AppendUint64(nil, uint64(now.UnixMilli())))
	}
}

// promise has a job of the organization be due then, or when it is already if that is sooner. There is one of each part.
func (o *Outreach) promise(tx *store.Tx, part uint32, kind string, at time.Time) error {
	at = o.clock.when(at)
	body, err := o.kept.Get(tx, tx.Org(), part)
	if err != nil {
		return err
	}
	if len(body) == 16 {
		job, err := tx.Job(uuid.UUID(body))
		if err == nil {
			if !job.Due.After(at) {
				return nil
			}
			return tx.Reschedule(job.ID, at, 0)
		}
	}
	id, err := tx.Enqueue(kind, at, nil)
	if err == nil {
		o.kept.Put(tx, tx.Org(), part, id[:])
	}
	return err
}

// redeem ends a job of promise that begins now: what is promised from here on is another's.
func (o *Outreach) redeem(tx *store.Tx, part uint32) { o.kept.Put(tx, tx.Org(), part, nil) }
