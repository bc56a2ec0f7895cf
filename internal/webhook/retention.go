package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

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
		before := w.deliveries.Count(tx)
		if more, err = w.forEachPending(tx, subscription, 0, w.remove); err == nil {
			_, err = w.addPending(tx, subscription, w.deliveries.Count(tx)-before)
		}
		if err != nil || more {
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

// scheduleExpiry schedules the job that deletes the old attempts of the organization, unless it is scheduled.
func (w *Webhooks) scheduleExpiry(tx *store.Tx) error {
	return tx.EnqueueOnce(w.expiry, 0, expireKind, tx.Now().Add(min(w.Retention, maxExpireDelay)))
}

// expireJob deletes the attempts of an organization that are older than the retention time, and what is known of
// subscriptions that were deleted before it.
func (w *Webhooks) expireJob(ctx context.Context, job store.Job) error {
	return w.runInBatches(ctx, job, func(tx *store.Tx, _ uuid.UUID) (more bool, err error) {
		next, more, err := w.expire(tx)
		if err != nil || more {
			return more, err
		}
		isOnly := bytes.Equal(w.expiry.Readable(tx, tx.Org(), 0), job.ID[:]) // up to format 9 each subscription had one
		switch {
		case !isOnly:
			return false, tx.Done(job.ID)
		case next.IsZero():
			w.expiry.Put(tx, tx.Org(), 0, nil)
			return false, tx.Done(job.ID)
		}
		return false, tx.Reschedule(job.ID, w.nextExpireRun(tx, next), 0)
	})
}

// expire deletes one batch of old attempts. If more is false, next is when there are others; zero if nothing is left.
func (w *Webhooks) expire(tx *store.Tx) (next time.Time, more bool, err error) {
	from := uuid.UUID{}
	for range maxPerTransaction {
		id, found := w.attempts.First(tx, from)
		if !found {
			return w.forgetDeleted(tx, time.Time{})
		}
		doc, err := w.attempts.Get(tx, id)
		ended := doc.Record.CreatedAt.Std()
		isDamaged := store.IsDamagedRecord(err)
		if isDamaged {
			ended, err = timeOf(id), nil
		}
		if ends := ended.Add(w.Retention); err == nil && tx.Now().Before(ends) {
			return w.forgetDeleted(tx, ends)
		}
		switch {
		case isDamaged:
			err = tx.DeleteDamaged(w.attempts.Name(), id)
		case err == nil:
			err = w.attempts.Delete(tx, doc)
		}
		if err != nil {
			return time.Time{}, false, err
		}
		from = following(id)
	}
	return time.Time{}, true, nil
}

// forgetDeleted forgets the subscriptions that were deleted a retention time ago. It returns before, or when the next
// one is to be forgotten if that is sooner.
func (w *Webhooks) forgetDeleted(tx *store.Tx, before time.Time) (next time.Time, more bool, err error) {
	next = before
	err = w.deleted.Scan(tx, func(d store.Doc[deletedSubscription]) (bool, error) {
		ends := d.Record.DeletedAt.Std().Add(w.Retention)
		if !tx.Now().Before(ends) {
			return true, w.deleted.Delete(tx, d)
		}
		if next.IsZero() || ends.Before(next) {
			next = ends
		}
		return true, nil
	})
	return next, false, err
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
