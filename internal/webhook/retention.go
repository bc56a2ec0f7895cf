package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/store"
)

const (
	// clearKind removes what waits for a subscription that was deleted; hurryKind makes due what waits for one; expireKind removes attempts
	// that are past their time.
	clearKind  = "webhook.clear"
	hurryKind  = "webhook.hurry"
	expireKind = "webhook.expire"
	// stepMost is how many are removed or made due at once: more would keep other writers waiting for longer than they notice.
	stepMost = 500
	// lookEvery is how long a job for what is past its time waits at most before it looks: the setting may have changed.
	lookEvery = 24 * time.Hour
)

// work is what the jobs of the package are about.
type work struct {
	Subscription uuid.UUID `json:"subscription"`
}

// clearJob removes the deliveries to a subscription that is gone, some with each commit.
func (w *Webhooks) clearJob(ctx context.Context, job store.Job) error {
	return w.inSteps(ctx, job, func(tx *store.Tx, subscription uuid.UUID) (more bool, err error) {
		if more, err = w.each(tx, subscription, 0, w.remove); err != nil || more {
			return more, err
		}
		_, err = w.pending.Delete(tx, subscription, 0, 1)
		return false, errors.Join(err, tx.Done(job.ID))
	})
}

// hurry makes some of what waits for a subscription due, and tells whether there is more.
func (w *Webhooks) hurry(tx *store.Tx, subscription uuid.UUID) (more bool, err error) {
	now := tx.Now().UnixMilli()
	return w.each(tx, subscription, now+1, func(tx *store.Tx, old store.Doc[delivery]) error {
		d := old.Record
		d.Due = now
		_, err := w.deliveries.Update(tx, old, d, nil)
		return err
	})
}

func (w *Webhooks) hurryJob(ctx context.Context, job store.Job) error {
	return w.inSteps(ctx, job, func(tx *store.Tx, subscription uuid.UUID) (more bool, err error) {
		if err := w.atOnce(tx, subscription); err != nil {
			return false, err
		}
		if more, err = w.hurry(tx, subscription); err != nil || more {
			return more, err
		}
		return false, tx.Done(job.ID)
	})
}

// each does something with some of the deliveries to a subscription that are due at from or later, and tells whether there are more.
func (w *Webhooks) each(tx *store.Tx, subscription uuid.UUID, from int64, do func(*store.Tx, store.Doc[delivery]) error) (more bool, err error) {
	var ids []uuid.UUID
	err = w.deliveries.Range(tx, byDue, dueKey(subscription, from), func(key []byte, id uuid.UUID) bool {
		if uuid.UUID(key[:16]) == subscription {
			ids = append(ids, id)
			return len(ids) < stepMost
		}
		return false
	})
	for _, id := range ids {
		if err != nil {
			return false, err
		}
		var doc store.Doc[delivery]
		if doc, err = w.deliveries.Get(tx, id); err == nil {
			err = do(tx, doc)
		}
	}
	return len(ids) == stepMost, err
}

// keepExpiring sees to it that somebody removes what a tally counts when it is past its time.
func (w *Webhooks) keepExpiring(tx *store.Tx, subscription uuid.UUID, t *tally) error {
	if t.Expiring || t.All.count() == 0 && !t.DeletedAt.Valid() {
		return nil
	}
	t.Expiring = true
	_, err := tx.Enqueue(expireKind, tx.Now().Add(min(w.Retention, lookEvery)), work{Subscription: subscription})
	return err
}

// expireJob removes the attempts of a subscription that are past their time, and what is counted of a deleted one when nothing is
// left of it.
func (w *Webhooks) expireJob(ctx context.Context, job store.Job) error {
	return w.inSteps(ctx, job, func(tx *store.Tx, subscription uuid.UUID) (more bool, err error) {
		old, err := w.tallies.Get(tx, subscription)
		if fault.CodeOf(err) == fault.NotFound {
			return false, tx.Done(job.ID)
		}
		if err != nil {
			return false, err
		}
		t := old.Record
		next, more, err := w.expire(tx, subscription, &t)
		if err != nil {
			return false, err
		}
		switch {
		case more:
		case !next.IsZero():
			err = tx.Reschedule(job.ID, next, 0)
		case t.DeletedAt.Valid():
			return false, errors.Join(w.tallies.Delete(tx, old), tx.Done(job.ID))
		default:
			t.Expiring = false
			err = tx.Done(job.ID)
		}
		if err != nil {
			return false, err
		}
		_, err = w.tallies.Update(tx, old, t, nil)
		return more, err
	})
}

// expire removes some of what is past its time. When there is no more of it, next is when to look again; zero when nothing is left.
func (w *Webhooks) expire(tx *store.Tx, subscription uuid.UUID, t *tally) (next time.Time, more bool, err error) {
	for range stepMost {
		if t.All.count() == 0 {
			if ends := t.DeletedAt.Std().Add(w.Retention); t.DeletedAt.Valid() && tx.Now().Before(ends) {
				return w.lookAgain(tx, ends), false, nil
			}
			return time.Time{}, false, nil
		}
		_, rec, err := w.attempts.decode(tx, subscription, t.All.First)
		if err != nil {
			return time.Time{}, false, err
		}
		if ends := rec.CreatedAt.Std().Add(w.Retention); tx.Now().Before(ends) {
			return w.lookAgain(tx, ends), false, nil
		}
		if err := w.attempts.removeOldest(tx, t, rec); err != nil {
			return time.Time{}, false, err
		}
	}
	return time.Time{}, true, nil
}

// lookEvenly keeps the job from running for every single attempt.
const lookEvenly = time.Minute

func (w *Webhooks) lookAgain(tx *store.Tx, ends time.Time) time.Time {
	soonest, latest := tx.Now().Add(lookEvenly), tx.Now().Add(lookEvery)
	switch {
	case ends.Before(soonest):
		return soonest
	case ends.After(latest):
		return latest
	}
	return ends
}

// inSteps does a job in as many transactions as it needs.
func (w *Webhooks) inSteps(ctx context.Context, job store.Job, step func(tx *store.Tx, subscription uuid.UUID) (more bool, err error)) error {
	var todo work
	if err := json.Unmarshal(job.Payload, &todo); err != nil {
		return err
	}
	for more := true; more; {
		err := w.store.Update(ctx, job.Org, store.Actor{Operation: job.Kind}, func(tx *store.Tx) (err error) {
			more, err = step(tx, todo.Subscription)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
