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
	// Kinds of jobs. They are stored. clearKind deletes the pending deliveries of a deleted
	// subscription, makeDueKind makes pending deliveries due, recoverKind those of an endpoint that
	// has recovered, expireKind deletes old attempts.
	clearKind   = "webhook.clear"
	makeDueKind = "webhook.hurry"
	recoverKind = "webhook.recover"
	expireKind  = "webhook.expire"
	// maxPerTransaction is how many records one transaction deletes or changes. More would make
	// other writers wait noticeably.
	maxPerTransaction = 500
	// maxExpireDelay bounds the delay of an expire job, because the retention setting may change.
	maxExpireDelay = 24 * time.Hour
)

// jobPayload is the payload of all jobs of this package.
type jobPayload struct {
	Subscription uuid.UUID `json:"subscription"`
}

// clearJob deletes the pending deliveries of a deleted subscription, one batch per transaction.
func (w *Webhooks) clearJob(ctx context.Context, job store.Job) error {
	return w.runInBatches(ctx, job, func(tx *store.Tx, subscription uuid.UUID) (more bool, err error) {
		if more, err = w.forEachPending(tx, subscription, 0, w.remove); err != nil || more {
			return more, err
		}
		_, err = w.pending.Delete(tx, subscription, 0, 1)
		return false, errors.Join(err, tx.Done(job.ID))
	})
}

// makeDue makes one batch of the pending deliveries of a subscription due and reports whether there
// are more.
func (w *Webhooks) makeDue(tx *store.Tx, subscription uuid.UUID) (more bool, err error) {
	now := tx.Now().UnixMilli()
	return w.forEachPending(tx, subscription, now+1, func(tx *store.Tx, old store.Doc[delivery]) error {
		d := old.Record
		d.Due, d.early = now, early{}
		_, err := w.deliveries.Update(tx, old, d, nil)
		return err
	})
}

func (w *Webhooks) makeDueJob(ctx context.Context, job store.Job) error {
	return w.runInBatches(ctx, job, func(tx *store.Tx, subscription uuid.UUID) (more bool, err error) {
		if err := w.endBackOff(tx, subscription); err != nil {
			return false, err
		}
		if more, err = w.makeDue(tx, subscription); err != nil || more {
			return more, err
		}
		return false, tx.Done(job.ID)
	})
}

// forEachPending calls do for one batch of the deliveries to a subscription that are due at from or
// later, and reports whether there are more.
func (w *Webhooks) forEachPending(
	tx *store.Tx, subscription uuid.UUID, from int64, do func(*store.Tx, store.Doc[delivery]) error,
) (more bool, err error) {
	var ids []uuid.UUID
	err = w.deliveries.Range(tx, byDue, dueKey(subscription, from), func(key []byte, id uuid.UUID) bool {
		if uuid.UUID(key[:16]) == subscription {
			ids = append(ids, id)
			return len(ids) < maxPerTransaction
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
	return len(ids) == maxPerTransaction, err
}

// ensureExpireJob schedules the job that deletes the old attempts of a subscription, unless it is
// scheduled already or not needed.
func (w *Webhooks) ensureExpireJob(tx *store.Tx, subscription uuid.UUID, t *attemptCounters) error {
	if t.Expiring || t.All.count() == 0 && !t.DeletedAt.Valid() {
		return nil
	}
	t.Expiring = true
	_, err := tx.Enqueue(expireKind, tx.Now().Add(min(w.Retention, maxExpireDelay)), jobPayload{Subscription: subscription})
	return err
}

// expireJob deletes the attempts of a subscription that are older than the retention time. It
// deletes the counters of a deleted subscription with its last attempt.
func (w *Webhooks) expireJob(ctx context.Context, job store.Job) error {
	return w.runInBatches(ctx, job, func(tx *store.Tx, subscription uuid.UUID) (more bool, err error) {
		old, err := w.counters.Get(tx, subscription)
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
			return false, errors.Join(w.counters.Delete(tx, old), tx.Done(job.ID))
		default:
			t.Expiring = false
			err = tx.Done(job.ID)
		}
		if err != nil {
			return false, err
		}
		_, err = w.counters.Update(tx, old, t, nil)
		return more, err
	})
}

// expire deletes one batch of old attempts. If more is false, next is when to run again; zero if
// nothing is left.
func (w *Webhooks) expire(tx *store.Tx, subscription uuid.UUID, t *attemptCounters) (next time.Time, more bool, err error) {
	for range maxPerTransaction {
		if t.All.count() == 0 {
			if ends := t.DeletedAt.Std().Add(w.Retention); t.DeletedAt.Valid() && tx.Now().Before(ends) {
				return w.nextExpireRun(tx, ends), false, nil
			}
			return time.Time{}, false, nil
		}
		rec, unreadable, err := w.oldestReadable(tx, subscription, t)
		if err != nil {
			return time.Time{}, false, err
		}
		ends := rec.CreatedAt.Std().Add(w.Retention)
		if unreadable == t.All.count() {
			ends = tx.Now().Add(w.Retention)
		}
		if tx.Now().Before(ends) {
			return w.nextExpireRun(tx, ends), false, nil
		}
		for ; unreadable > 0 && err == nil; unreadable-- {
			err = w.attempts.removeFirst(tx, t, subscription, w.attempts.statusOfFirst(tx, subscription, t))
		}
		if err == nil {
			err = w.attempts.removeOldest(tx, t, rec)
		}
		if err != nil {
			return time.Time{}, false, err
		}
	}
	return time.Time{}, true, nil
}

// oldestReadable returns the oldest attempt that is not damaged, and the number of damaged ones before it. Those ended
// before it did.
func (w *Webhooks) oldestReadable(tx *store.Tx, subscription uuid.UUID, t *attemptCounters) (rec Attempt, unreadable int, err error) {
	for ; unreadable < t.All.count(); unreadable++ {
		_, rec, err = w.attempts.decode(tx, subscription, t.All.First+uint32(unreadable))
		if !errors.Is(err, store.ErrDamaged) {
			return rec, unreadable, err
		}
	}
	return rec, unreadable, nil
}

// minExpireDelay keeps the job from running for every single attempt.
const minExpireDelay = time.Minute

func (w *Webhooks) nextExpireRun(tx *store.Tx, ends time.Time) time.Time {
	soonest, latest := tx.Now().Add(minExpireDelay), tx.Now().Add(maxExpireDelay)
	switch {
	case ends.Before(soonest):
		return soonest
	case ends.After(latest):
		return latest
	}
	return ends
}

// runInBatches calls step in one transaction after another until it reports that there is no more
// to do.
func (w *Webhooks) runInBatches(ctx context.Context, job store.Job,
	step func(tx *store.Tx, subscription uuid.UUID) (more bool, err error),
) error {
	var todo jobPayload
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
