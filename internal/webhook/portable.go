package webhook

import (
	"errors"

	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

// Portions returns what exports of an organization take along, besides the kinds.
func (w *Webhooks) Portions() []store.Portion {
	const left = "deliveries belong to the installation that makes them"
	return []store.Portion{
		{Counter: w.settings, Left: left}, {Table: w.newEvents, Left: left}, {Table: w.deliveries, Left: left},
		{Table: w.attempts, Left: left}, {Table: w.deleted, Left: left}, {Parts: w.formerAttempts, Left: left},
		{Parts: w.formerBackOffs, Left: left}, {Table: w.formerCounters, Left: left},
		{Parts: w.events, Left: left}, {Parts: w.pending, Left: left}, {Parts: w.backOffs, Left: left}, {Parts: w.expiry, Left: left},
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
