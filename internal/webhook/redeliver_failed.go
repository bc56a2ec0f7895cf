package webhook

import (
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
	now, all, err := w.givenUp(tx, subscription, in)
	if err != nil {
		return Redelivered{}, err
	}
	for i := range now {
		if in.DryRun {
			break
		}
		if _, err := w.redeliver(tx, &now[i]); err != nil {
			return Redelivered{}, err
		}
	}
	return Redelivered{Queued: len(now), Remaining: all - len(now)}, nil
}

// givenUp returns the last attempts of events that are no longer tried, oldest first and at most maxRedelivered of all.
func (w *Webhooks) givenUp(tx *store.Tx, subscription uuid.UUID, in RedeliverFailedBody) (last []Attempt, all int, err error) {
	var ids []uuid.UUID
	err = w.attempts.Range(tx, byFailed, dueKey(subscription, max(0, in.Since.Milli())), func(key []byte, id uuid.UUID) bool {
		if uuid.UUID(key[:16]) != subscription {
			return false
		}
		ids = append(ids, id)
		return true
	})
	if err != nil {
		return nil, 0, err
	}
	err = w.attempts.Each(tx, ids, func(d store.Doc[Attempt]) error {
		a := d.Record
		if in.TriggerKey != "" && a.TriggerKey != string(in.TriggerKey) || w.deliveries.Has(tx, a.delivery()) {
			return nil
		}
		later, err := w.later(tx, &a)
		if err != nil || later > 0 {
			return err
		}
		if all++; all <= maxRedelivered {
			last = append(last, a)
		}
		return nil
	})
	return last, all, err
}
