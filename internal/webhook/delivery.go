package webhook

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/store"
)

// delivery is one event queued for one subscription. It exists until the event is delivered or
// given up.
type delivery struct {
	Subscription uuid.UUID      `json:"subscription"`
	Event        uuid.UUID      `json:"event"`
	Trigger      string         `json:"trigger"`
	Object       uuid.UUID      `json:"object"`
	Data         jsontext.Value `json:"data,omitzero"` // absent if the event itself has it
	Due          int64          `json:"due"`           // time of the next attempt, in Unix milliseconds
	Tries        int            `json:"tries"`         // attempts since delivery was last requested
	Attempts     int            `json:"attempts"`      // all attempts
	// Asked counts how often redelivery was requested. An attempt that started before the last
	// request does not count for it.
	Asked int `json:"asked"`
	early

	eventDetail

	data []byte // what is sent: Data, or that of the event
}

// byDue is the key that orders deliveries by subscription and due time.
const byDue = "due"

func newDeliveries() *store.Table[delivery] {
	return store.NewTable("webhook_deliveries", nil, []store.Key[delivery]{{
		Name: byDue,
		Of: func(_ *store.Tx, d *delivery) ([][]byte, error) {
			return [][]byte{dueKey(d.Subscription, d.Due)}, nil
		},
	}}).Unlogged()
}

func dueKey(subscription uuid.UUID, due int64) []byte {
	return binary.BigEndian.AppendUint64(subscription[:], uint64(due))
}

// deliveryID derives the id of a delivery from its event and subscription, because an event is
// delivered to a subscription at most once at a time. The id begins like that of the event, so that
// deliveries are ordered like their events.
func deliveryID(event, subscription uuid.UUID) uuid.UUID {
	mixed := uuid.NewSHA1(subscription, event[:])
	return uuid.UUID(append(event[:8:8], mixed[8:]...))
}

// enqueue adds a delivery that is due now to the queue of its subscription, and returns the number of its
// pending deliveries. A subscription with too many is disabled.
func (w *Webhooks) enqueue(tx *store.Tx, d delivery) (waiting int, err error) {
	d.Due = tx.Now().UnixMilli()
	if _, err := w.deliveries.Insert(tx, deliveryID(d.Event, d.Subscription), d); err != nil {
		return 0, err
	}
	waiting, err = w.addPending(tx, d.Subscription, 1)
	if err != nil || waiting < w.MaxPending {
		return waiting, err
	}
	doc, err := w.Subscriptions.Get(tx, d.Subscription)
	if err != nil || doc.Record.Status != Active {
		return waiting, err
	}
	return waiting, w.disable(tx, doc, doc.Record, backlog)
}

// remove deletes a delivery and, with the last one of an event, the data of the event. The caller counts the pending
// deliveries.
func (w *Webhooks) remove(tx *store.Tx, doc store.Doc[delivery]) error {
	if err := w.deliveries.Delete(tx, doc); err != nil {
		return err
	}
	event := doc.Record.Event
	// The deliveries of an event, and only those, share the first half of its id.
	var first uuid.UUID
	copy(first[:8], event[:8])
	if other, found := w.deliveries.First(tx, first); found && [8]byte(other[:8]) == [8]byte(event[:8]) {
		return nil
	}
	_, err := w.events.Delete(tx, event, 0, 1)
	return err
}

// addPending adds to the number of pending deliveries of a subscription and returns the new number.
func (w *Webhooks) addPending(tx *store.Tx, subscription uuid.UUID, by int) (waiting int, err error) {
	if waiting, err = w.pendingOf(tx, subscription); err == nil && by != 0 {
		waiting += by
		w.pending.Put(tx, subscription, 0, binary.BigEndian.AppendUint64(nil, uint64(waiting)))
	}
	return waiting, err
}

// pendingOf returns the number of pending deliveries of a subscription.
func (w *Webhooks) pendingOf(tx *store.Tx, subscription uuid.UUID) (int, error) {
	v, err := w.pending.Get(tx, subscription, 0)
	if err != nil || len(v) != 8 {
		return 0, err
	}
	return int(binary.BigEndian.Uint64(v)), nil
}

// due returns up to limit deliveries of a subscription that are due and not in taken, and adds them
// to taken. If more is true, there may be others. Otherwise next is when the first of the remaining
// deliveries becomes due; zero if there is none. A delivery that cannot be read is part of the
// error and does not keep the others from being delivered.
func (w *Webhooks) due(tx *store.Tx, subscription uuid.UUID, limit int, taken map[uuid.UUID]bool,
) (due []store.Doc[delivery], more bool, next time.Time, err error) {
	now := tx.Now().UnixMilli()
	var ids []uuid.UUID
	err = w.deliveries.Range(tx, byDue, subscription[:], func(key []byte, id uuid.UUID) bool {
		if uuid.UUID(key[:16]) != subscription {
			return false
		}
		if at := int64(binary.BigEndian.Uint64(key[16:])); at > now {
			next = time.UnixMilli(at)
			return false
		}
		if more = !taken[id] && len(ids) == limit; !more && !taken[id] {
			ids = append(ids, id)
		}
		return !more
	})
	for _, id := range ids {
		taken[id] = true
		doc, failed := w.deliveries.Get(tx, id)
		if doc.Record.data = doc.Record.Data; failed == nil && doc.Record.data == nil {
			doc.Record.data, failed = w.data(tx, doc.Record.Event)
		}
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		due = append(due, doc)
	}
	return due, more, next, err
}

// data reads the data of an event.
func (w *Webhooks) data(tx *store.Tx, event uuid.UUID) ([]byte, error) {
	data, err := w.events.Get(tx, event, 0)
	if err == nil && data == nil {
		err = fmt.Errorf("webhook event %s: %w: its data is missing", event, store.ErrDamaged)
	}
	return bytes.Clone(data), err
}
