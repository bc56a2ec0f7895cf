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
	// jitter is by how much of itself a delay is made shorter or longer, so that what failed together is not tried together.
	jitter = 0.1
	// retryAfterMost is the longest that an endpoint can put an attempt off.
	retryAfterMost = 24 * time.Hour
	// failingMost is how long nothing but failures is put up with.
	failingMost = 5 * 24 * time.Hour
)

// outcome is what became of an attempt.
type outcome struct {
	delivery   store.Doc[delivery]
	url        string // that was asked
	code       int    // the HTTP status, 0 when there was none
	class      class  // why it failed; empty when it did not
	took       time.Duration
	retryAfter time.Time
}

func (o *outcome) succeeded() bool { return o.class == "" }

// gone tells that the endpoint wants to hear nothing more.
func (o *outcome) gone() bool { return o.code == http.StatusGone }

func (o *outcome) attempt(id uuid.UUID, now time.Time, number int) Attempt {
	d := &o.delivery.Record
	a := Attempt{
		ID: id, SubscriptionID: d.Subscription, SourceEventID: d.Event.String(), TriggerKey: d.Trigger, Attempt: number,
		Status: Succeeded, DurationMS: int(o.took.Milliseconds()), CreatedAt: shape.At(now),
		ResponseCode: shape.Number{Float: float64(o.code), Valid: o.code != 0},
	}
	if !o.succeeded() {
		a.Status, a.Error = Failed, o.class.text(o.code)
	}
	return a
}

// record writes down what became of attempts to one subscription: the attempts themselves, what of the queue is done or put off,
// and how the subscription fares.
func (w *Webhooks) record(ctx context.Context, org, subscription uuid.UUID, outcomes []outcome) error {
	return w.store.Update(ctx, org, store.Actor{Operation: "webhook.deliver"}, func(tx *store.Tx) error {
		old, err := w.tallies.Get(tx, subscription)
		if err != nil {
			return err
		}
		to, err := w.Subscriptions.Get(tx, subscription)
		if err != nil && fault.CodeOf(err) != fault.NotFound { // it may have been deleted while the attempts were made
			return err
		}
		isThere, t := err == nil, old.Record
		for i := range outcomes {
			if err := w.recordOne(tx, &t, to.Record.URL, &outcomes[i]); err != nil {
				return fmt.Errorf("delivery %s: %w", outcomes[i].delivery.ID, err)
			}
		}
		if err := w.keepExpiring(tx, subscription, &t); err != nil {
			return err
		}
		if _, err := w.tallies.Update(tx, old, t, nil); err != nil || !isThere {
			return err
		}
		if err := w.keepRest(tx, subscription, to.Record.URL, outcomes); err != nil {
			return err
		}
		return w.fare(tx, to, outcomes)
	})
}

// recordOne writes down one attempt, and what becomes of its delivery. url is the one that the subscription has now.
func (w *Webhooks) recordOne(tx *store.Tx, t *tally, url string, o *outcome) error {
	d := o.delivery.Record
	now, err := w.deliveries.Get(tx, o.delivery.ID)
	isThere := err == nil
	if err != nil && fault.CodeOf(err) != fault.NotFound {
		return err
	}
	if isThere {
		d = now.Record
	}
	d.Attempts++
	if err := w.attempts.add(tx, t, o.attempt(tx.NewID(), tx.Now(), d.Attempts), d.Object, o.delivery.ID); err != nil || !isThere {
		return err
	}
	if d.Asked != o.delivery.Record.Asked { // it was asked for again meanwhile, and goes again
		_, err = w.deliveries.Update(tx, now, d, nil)
		return err
	}
	if o.succeeded() || o.url == url && d.Tries >= len(w.RetrySchedule) {
		return w.remove(tx, now)
	}
	if o.url == url {
		d.Due = w.nextTry(tx.Now(), d.Tries, o.retryAfter).UnixMilli()
		d.Tries++
	} // else the other endpoint gets it, at once
	_, err = w.deliveries.Update(tx, now, d, nil)
	return err
}

// nextTry is when to try again after so many tries before the one that failed.
func (w *Webhooks) nextTry(now time.Time, tries int, retryAfter time.Time) time.Time {
	delay := float64(w.RetrySchedule[tries])
	next := now.Add(time.Duration(delay * (1 - jitter + 2*jitter*rand.Float64())))
	if retryAfter.After(next) {
		return retryAfter
	}
	return next
}

// fare notes on a subscription how it fares, and disables it when that is hopeless.
func (w *Webhooks) fare(tx *store.Tx, doc store.Doc[Subscription], outcomes []outcome) error {
	rec, now := doc.Record, shape.At(tx.Now())
	var why Reason
	for i := range outcomes {
		o := &outcomes[i]
		if o.url != rec.URL {
			continue // it says nothing of the endpoint that the subscription has now
		}
		if o.succeeded() {
			rec.ConsecutiveFailures, rec.LastSuccessAt, rec.kept.FailingSince = 0, now, shape.Time{}
			continue
		}
		rec.ConsecutiveFailures++
		rec.LastFailureAt = now
		if !rec.kept.FailingSince.Valid() {
			rec.kept.FailingSince = now
		}
		switch {
		case o.gone():
			why = gone
		case tx.Now().Sub(rec.kept.FailingSince.Std()) >= failingMost:
			why = failing
		}
	}
	if why != "" && rec.Status == Active {
		return w.disable(tx, doc, rec, why)
	}
	return w.Subscriptions.Table.Touch(tx, doc, rec, []string{"consecutive_failures", "last_success_at", "last_failure_at"})
}
