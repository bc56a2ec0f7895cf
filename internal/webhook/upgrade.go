package webhook

import (
	"bytes"
	"context"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/store"
)

// Up to format 9, attempts were parts of their subscription: the id of the object, the JSON of the attempt, and after
// a line break that of the detail of its event, if it has one. A table had the counters of each subscription, and back-offs
// had another name.

// formerErrors are the errors that earlier versions stored for dnsFailure.
var formerErrors = []string{
	"dns: the host name could not be resolved",
	"blocked_address: the host resolves to an address that deliveries may not use",
}

// formerAttempt is the place of an attempt.
type formerAttempt struct {
	subscription uuid.UUID
	number       uint32
}

// Upgrade makes records of the attempts that earlier versions have stored, once for a store. Damaged ones stay where
// they are, so that a check reports them.
func (w *Webhooks) Upgrade(ctx context.Context) error {
	if err := store.UpgradeEach(ctx, w.store, "webhook-attempts", w.formerAttemptsOf, w.upgradeAttempt); err != nil {
		return err
	}
	if err := store.UpgradeEach(ctx, w.store, "webhook-counters", w.countersOf, w.upgradeCounters); err != nil {
		return err
	}
	return store.UpgradeEach(ctx, w.store, "webhook-back-offs", w.formerBackOffs.Owners, w.upgradeBackOff)
}

// formerAttemptsOf returns the attempts of all subscriptions that can be read.
func (w *Webhooks) formerAttemptsOf(tx *store.Tx) (all []formerAttempt, err error) {
	subscriptions, err := w.formerAttempts.Owners(tx)
	for _, id := range subscriptions {
		if err != nil {
			return nil, err
		}
		_, err = w.formerAttempts.ScanReadable(tx, id, func(number uint32, _ []byte) error {
			all = append(all, formerAttempt{id, number})
			return nil
		})
	}
	return all, err
}

func (w *Webhooks) upgradeAttempt(tx *store.Tx, at formerAttempt) error {
	v, err := w.formerAttempts.Get(tx, at.subscription, at.number)
	if err != nil {
		return err
	}
	public, detail, _ := bytes.Cut(v[len(uuid.UUID{}):], []byte{'\n'})
	var a Attempt
	if err := json.Unmarshal(public, &a); err != nil {
		return err
	}
	if len(detail) > 0 {
		if err := json.Unmarshal(detail, &a.about.eventDetail); err != nil {
			return err
		}
	}
	a.about.Object = uuid.UUID(v[:len(uuid.UUID{})])
	if slices.Contains(formerErrors, string(a.Error)) {
		a.Error = dnsFailure.text(0)
	}
	if _, err := w.attempts.Insert(tx, a.ID, a); err != nil {
		return err
	}
	if _, err := w.formerAttempts.Delete(tx, at.subscription, at.number, 1); err != nil {
		return err
	}
	return w.scheduleExpiry(tx)
}

func (w *Webhooks) countersOf(tx *store.Tx) ([]uuid.UUID, error) {
	return slices.Collect(tx.RecordIDs(w.formerCounters.Name())), nil
}

// upgradeCounters removes the counters of a subscription. Those of a deleted one say when it was deleted.
func (w *Webhooks) upgradeCounters(tx *store.Tx, subscription uuid.UUID) error {
	return w.formerCounters.Each(tx, []uuid.UUID{subscription}, func(d store.Doc[deletedSubscription]) error {
		if d.Record.DeletedAt.Valid() {
			if _, err := w.deleted.Insert(tx, subscription, d.Record); err != nil {
				return err
			}
			if err := w.scheduleExpiry(tx); err != nil {
				return err
			}
		}
		return w.formerCounters.Delete(tx, d)
	})
}

func (w *Webhooks) upgradeBackOff(tx *store.Tx, subscription uuid.UUID) error {
	until := w.formerBackOffs.Readable(tx, subscription, 0)
	if until == nil {
		return nil
	}
	w.backOffs.Put(tx, subscription, 0, bytes.Clone(until))
	_, err := w.formerBackOffs.Delete(tx, subscription, 0, 1)
	return err
}
