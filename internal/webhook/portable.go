package webhook

import (
	"errors"

	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

// Portions returns what the package has in the store of an organization, besides the kinds.
func (w *Webhooks) Portions() []store.Portion {
	const left = "deliveries belong to the installation that makes them"
	waiting := store.Personal{Events: true} // counted by the data of the events
	return []store.Portion{
		{Counter: w.settings, WhyLeft: left}, {Table: w.newEvents, WhyLeft: left, Personal: waiting},
		{Table: w.deliveries, WhyLeft: left, Personal: waiting}, {Table: w.attempts, WhyLeft: left, Personal: waiting},
		{Table: w.deleted, WhyLeft: left}, {Parts: w.formerAttempts, WhyLeft: left, Personal: waiting},
		{Parts: w.formerBackOffs, WhyLeft: left}, {Table: w.formerCounters, WhyLeft: left},
		{Parts: w.events, WhyLeft: left, Personal: store.Personal{Entity: "webhook_events", Events: true}},
		{Parts: w.backOffs, WhyLeft: left}, {Parts: w.expiry, WhyLeft: left},
		{Parts: w.pending, WhyLeft: left, Check: w.verifyPending},
	}
}

// Arrived pauses the subscriptions of an organization that was imported, because their secrets stayed behind: they send
// nothing until a new one is made and they are activated.
func (w *Webhooks) Arrived(tx *store.Tx) error {
	var ids []uuid.UUID
	err := w.Subscriptions.Table.Scan(tx, func(d store.Doc[Subscription]) (bool, error) {
		ids = append(ids, d.ID)
		return true, nil
	})
	for _, id := range ids {
		if err == nil {
			err = w.arrived(tx, id)
		}
	}
	return err
}

func (w *Webhooks) arrived(tx *store.Tx, id uuid.UUID) error {
	old, err := w.Subscriptions.Table.Get(tx, id)
	if err != nil {
		return err
	}
	rec := old.Record
	if rec.Status == Active {
		rec.Status, rec.UpdatedAt = Paused, shape.At(tx.Now())
		_, err = w.Subscriptions.Table.Update(tx, old, rec, []string{"status"})
	}
	return errors.Join(err, w.Restored(tx, id))
}
