package outreach

import (
	"time"

	"github.com/google/uuid"

	"prospector/store"
)

// clock is the time by which sequences go: that of the wall, or one that goes on from an anchor at a speed of its own.
type clock struct {
	wall, time time.Time // the anchor: what it showed at a moment of the wall; zero where it is the wall's
	speed      float64
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

// own tells whether the clock runs at another speed than the wall's, so that the wall does not tell what it has shown.
func (c *clock) own() bool { return !c.wall.IsZero() && c.speed != 1 }

// Numbers of what the engine keeps for each organization, and the anchor for the installation.
const (
	anchorPart  uint32 = iota // in the installation's own
	advancePart               // the job that advances the sequences
	beginPart                 // the job that begins sequences in all campaigns
	cleanUpPart               // the clean-ups that are not done, see cleanup.go
	secretPart                // in the installation's own: what links to unsubscribe are signed with
)

// promise has a job of the organization be due then, or when it is already if that is sooner. There is one of each part.
func (o *Outreach) promise(tx *store.Tx, part uint32, kind string, at time.Time) error {
	at = o.wallAt(tx, at)
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
