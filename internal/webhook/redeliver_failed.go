package webhook

import (
	"errors"

	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

// RedeliverFailedBody selects the events that are delivered again.
type RedeliverFailedBody struct {
	Since      shape.Time `json:"since" rule:"required" doc:"Only events whose last attempt failed at this time or later."`
	TriggerKey shape.Text `json:"trigger_key" doc:"Only events of this kind."`
	DryRun     bool       `json:"dry_run" doc:"Only count the events."`
}

// Redelivered is the result of a redelivery of failed events.
type Redelivered struct {
	Queued    int `json:"queued" doc:"The number of events that are delivered again. With dry_run, that would be."`
	Remaining int `json:"remaining" doc:"The number of further events. Repeat the request for them."`
}

// maxRedelivered is how many events one request delivers again, so that other writers do not wait long.
const maxRedelivered = 1000

// RedeliverFailed queues the events that were given up since a time again, the oldest first. Events that are
// pending are left to their schedule, so that the request can be repeated. It returns SubscriptionNotActive
// unless the subscription is active.
func (w *Webhooks) RedeliverFailed(tx *store.Tx, subscription uuid.UUID, in RedeliverFailedBody) (Redelivered, error) {
	if _, err := w.mustBeActive(tx, subscription); err != nil {
		return Redelivered{}, err
	}
	numbers, err := w.givenUp(tx, subscription, in)
	if err != nil {
		return Redelivered{}, err
	}
	now := numbers[max(0, len(numbers)-maxRedelivered):]
	result := Redelivered{Queued: len(now), Remaining: len(numbers) - len(now)}
	for i := len(now) - 1; i >= 0 && !in.DryRun; i-- {
		about, rec, err := w.attempts.decode(tx, subscription, now[i])
		if err != nil {
			return result, err
		}
		if _, err := w.redeliver(tx, subscription, about, rec); err != nil {
			return result, err
		}
	}
	return result, nil
}

// givenUp returns the numbers of the last attempts of events that are no longer tried, newest first.
func (w *Webhooks) givenUp(tx *store.Tx, subscription uuid.UUID, in RedeliverFailedBody) (numbers []uint32, err error) {
	doc, err := w.counters.Get(tx, subscription)
	if err != nil {
		return nil, err
	}
	failed := w.attemptsWithStatus(tx, subscription, doc.Record, Failed)
	for i := range failed.count {
		number, err := failed.number(i)
		var rec Attempt
		if err == nil {
			_, rec, err = w.attempts.decode(tx, subscription, number)
		}
		if errors.Is(err, store.ErrDamaged) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if rec.CreatedAt.Std().Before(in.Since.Std()) {
			break
		}
		if in.TriggerKey != "" && rec.TriggerKey != string(in.TriggerKey) {
			continue
		}
		isLast, err := w.isLastAttempt(tx, rec)
		if err != nil {
			return nil, err
		}
		if isLast {
			numbers = append(numbers, number)
		}
	}
	return numbers, nil
}

// isLastAttempt reports whether no attempt of the event follows or will follow.
func (w *Webhooks) isLastAttempt(tx *store.Tx, rec Attempt) (bool, error) {
	event, err := uuid.Parse(rec.SourceEventID)
	if err != nil {
		return false, err
	}
	delivery := deliveryID(event, rec.SubscriptionID)
	later, err := w.attempts.byEvent.Get(tx, delivery, uint32(rec.Attempt+1))
	// The only error is that the number of the attempt that follows is damaged.
	return later == nil && err == nil && !w.deliveries.Has(tx, delivery), nil
}
