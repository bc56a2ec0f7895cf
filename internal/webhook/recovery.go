package webhook

import (
	"context"
	"time"

	"github.com/google/uuid"

	"prospector/store"
)

// An endpoint has recovered when an attempt succeeds after others failed. The deliveries that wait
// for a retry are then due at once. Such an early attempt does not count in the retry schedule. An
// endpoint that refuses some events and accepts others seems to recover again and again. The early
// attempts of a delivery therefore have increasing delays between them, which are those of the retry
// schedule.

// early is the state of the early attempts of a delivery since its last attempt by the schedule.
type early struct {
	Scheduled int64 `json:"scheduled,omitzero"`    // when the next attempt by the schedule is due
	Failed    int   `json:"early_failed,omitzero"` // the number of early attempts
	After     int64 `json:"early_after,omitzero"`  // the next early attempt is not due before then
}

// isEarly reports whether the delivery is due before its time in the retry schedule.
func (d *delivery) isEarly() bool { return d.Due < d.Scheduled }

// endEarly returns a delivery whose early attempt failed to its retry schedule.
func (w *Webhooks) endEarly(tx *store.Tx, d *delivery, retryAfter time.Time) {
	delay := w.RetrySchedule[min(d.Failed, len(w.RetrySchedule)-1)]
	d.Failed++
	d.After = tx.Now().Add(delay).UnixMilli()
	d.Scheduled = max(d.Scheduled, retryAfter.UnixMilli())
	d.Due = d.Scheduled
}

// recover makes the waiting deliveries of a subscription due if the outcomes show that its endpoint
// has recovered. was is the subscription before the outcomes. A back-off is not ended: the sender
// makes no attempt before it is over.
func (w *Webhooks) recover(tx *store.Tx, was *Subscription, outcomes []outcome) error {
	failed, recovered := was.ConsecutiveFailures > 0, false
	for i := range outcomes {
		if o := &outcomes[i]; o.url == was.URL {
			recovered = failed && o.succeeded()
			failed = failed || !o.succeeded()
		}
	}
	if !recovered || was.Status != Active {
		return nil
	}
	more, err := w.makeDueEarly(tx, was.ID)
	if err == nil && more {
		_, err = tx.Enqueue(recoverKind, tx.Now(), jobPayload{Subscription: was.ID})
	}
	return err
}

// makeDueEarly makes one batch of the waiting deliveries due as soon as they may be, and reports
// whether there may be more.
func (w *Webhooks) makeDueEarly(tx *store.Tx, subscription uuid.UUID) (more bool, err error) {
	now, changed := tx.Now().UnixMilli(), false
	more, err = w.forEachPending(tx, subscription, now+1, func(tx *store.Tx, old store.Doc[delivery]) error {
		d := old.Record
		at := max(now, d.After)
		if at >= d.Due {
			return nil
		}
		d.Due, d.Scheduled, changed = at, d.Due, true
		_, err := w.deliveries.Update(tx, old, d, nil)
		return err
	})
	return more && changed, err
}

func (w *Webhooks) recoverJob(ctx context.Context, job store.Job) error {
	return w.runInBatches(ctx, job, func(tx *store.Tx, subscription uuid.UUID) (more bool, err error) {
		if more, err = w.makeDueEarly(tx, subscription); err != nil {
			return false, err
		}
		org := tx.Org()
		tx.AfterCommit(func() { w.Sender.deliveriesAdded(org, []uuid.UUID{subscription}) })
		if !more {
			err = tx.Done(job.ID)
		}
		return more, err
	})
}
