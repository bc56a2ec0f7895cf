package webhook

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

const (
	// jitter is the random part of a delay, so that deliveries that failed together are not retried
	// together.
	jitter = 0.1
	// maxRetryAfter bounds how long an endpoint can postpone an attempt.
	maxRetryAfter = 24 * time.Hour
	// disableAfterFailing is how long an endpoint may fail without a success before its
	// subscription is disabled.
	disableAfterFailing = 5 * 24 * time.Hour
)

// outcome is the result of an attempt.
type outcome struct {
	delivery   store.Doc[delivery]
	url        string       // that was called
	code       int          // the HTTP status; 0 without an answer
	class      failureClass // why it failed; empty on success
	duration   time.Duration
	retryAfter time.Time
}

func (o *outcome) succeeded() bool { return o.class == "" }

// gone reports whether the endpoint wants no further deliveries.
func (o *outcome) gone() bool { return o.code == http.StatusGone }

// attempt returns the attempt to make the delivery d.
func (o *outcome) attempt(tx *store.Tx, d *delivery) Attempt {
	a := Attempt{
		ID: tx.NewID(), SubscriptionID: d.Subscription, SourceEventID: d.Event, TriggerKey: d.Trigger, Attempt: d.Attempts,
		Status: Succeeded, DurationMS: int(o.duration.Milliseconds()), CreatedAt: shape.At(tx.Now()),
		ResponseCode: shape.Number{Float: float64(o.code), Valid: o.code != 0},
		about:        subject{d.Object, d.eventDetail},
	}
	if !o.succeeded() {
		a.Status, a.Error = Failed, o.class.text(o.code)
	}
	return a
}

// record stores the outcomes of attempts to one subscription: the attempts, the changes to its
// queue, and the health of the subscription.
func (w *Webhooks) record(ctx context.Context, org, subscription uuid.UUID, outcomes []outcome) error {
	return w.store.Update(ctx, org, store.Actor{Operation: "webhook.deliver"}, func(tx *store.Tx) error {
		to, err := w.Subscriptions.Get(tx, subscription)
		if err != nil && fault.CodeOf(err) != fault.NotFound { // NotFound: deleted while the attempts were in flight
			return err
		}
		exists, before := err == nil, w.deliveries.Count(tx)
		for i := range outcomes {
			if err := w.recordOutcome(tx, to.Record.URL, &outcomes[i]); err != nil {
				return fmt.Errorf("delivery %s: %w", outcomes[i].delivery.ID, err)
			}
		}
		if _, err := w.addPending(tx, subscription, w.deliveries.Count(tx)-before); err != nil {
			return err
		}
		if err := w.scheduleExpiry(tx); err != nil || !exists {
			return err
		}
		if err := w.storeBackOff(tx, subscription, to.Record.URL, outcomes); err != nil {
			return err
		}
		if err := w.updateHealth(tx, to, outcomes); err != nil {
			return err
		}
		return w.recover(tx, &to.Record, outcomes)
	})
}

// recordOutcome stores one attempt and updates its delivery. url is the current URL of the
// subscription.
func (w *Webhooks) recordOutcome(tx *store.Tx, url string, o *outcome) error {
	d := o.delivery.Record
	current, err := w.deliveries.Reload(tx, o.delivery)
	exists := err == nil
	if err != nil && fault.CodeOf(err) != fault.NotFound {
		return err
	}
	if exists {
		d = current.Record
	}
	d.Attempts++
	a := o.attempt(tx, &d)
	if _, err := w.attempts.Insert(tx, a.ID, a); err != nil || !exists {
		return err
	}
	if d.Asked != o.delivery.Record.Asked { // redelivery was requested while the attempt was in flight
		_, err = w.deliveries.Update(tx, current, d, nil)
		return err
	}
	switch {
	case o.succeeded():
		return w.remove(tx, current)
	case o.url != url: // the new URL gets it at once
	case d.isEarly() && len(w.RetrySchedule) > 0:
		w.endEarly(tx, &d, o.retryAfter)
	case d.Tries >= len(w.RetrySchedule):
		return w.remove(tx, current)
	default:
		d.Due, d.early = w.nextAttemptAt(tx.Now(), d.Tries, o.retryAfter).UnixMilli(), early{}
		d.Tries++
	}
	_, err = w.deliveries.Update(tx, current, d, nil)
	return err
}

// nextAttemptAt is when to retry. tries is the number of attempts before the one that failed.
func (w *Webhooks) nextAttemptAt(now time.Time, tries int, retryAfter time.Time) time.Time {
	delay := float64(w.RetrySchedule[tries])
	next := now.Add(time.Duration(delay * (1 - jitter + 2*jitter*rand.Float64())))
	if retryAfter.After(next) {
		return retryAfter
	}
	return next
}

// updateHealth updates the failure counters of a subscription and disables it if it is gone or has
// been failing for too long.
func (w *Webhooks) updateHealth(tx *store.Tx, doc store.Doc[Subscription], outcomes []outcome) error {
	rec, now := doc.Record, shape.At(tx.Now())
	var why Reason
	for i := range outcomes {
		o := &outcomes[i]
		if o.url != rec.URL {
			continue // it does not describe the current endpoint
		}
		if o.succeeded() {
			rec.ConsecutiveFailures, rec.LastSuccessAt, rec.private.FailingSince = 0, now, shape.Time{}
			continue
		}
		rec.ConsecutiveFailures++
		rec.LastFailureAt = now
		if !rec.private.FailingSince.Valid() {
			rec.private.FailingSince = now
		}
		switch {
		case o.gone():
			why = gone
		case tx.Now().Sub(rec.private.FailingSince.Std()) >= disableAfterFailing:
			why = failing
		}
	}
	if why != "" && rec.Status == Active {
		return w.disable(tx, doc, rec, why)
	}
	return w.Subscriptions.Table.Touch(tx, doc, rec, []string{"consecutive_failures", "last_success_at", "last_failure_at"})
}
