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

// delivery is an event on its way to one subscription. It stays until the event is delivered or given up.
type delivery struct {
	Subscription uuid.UUID      `json:"subscription"`
	Event        uuid.UUID      `json:"event"`
	Trigger      string         `json:"trigger"`
	Object       uuid.UUID      `json:"object"`
	Data         jsontext.Value `json:"data,omitzero"` // absent for what the event itself has
	Due          int64          `json:"due"`           // when the next attempt is to be made, in Unix milliseconds
	Tries        int            `json:"tries"`         // the attempts since it was last asked for
	Attempts     int            `json:"attempts"`      // all there were
	// Asked counts how often redelivery was asked for, so that an attempt which began before does not count for it.
	Asked int `json:"asked"`
}

// byDue is the key under which deliveries stand in the order that they are due, subscription by subscription.
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

// deliveryID is made of the event and the subscription: there is one delivery of the one to the other. It begins like the
// event's, so that deliveries stand in the order of their events.
func deliveryID(event, subscription uuid.UUID) uuid.UUID {
	mixed := uuid.NewSHA1(subscription, event[:])
	return uuid.UUID(append(event[:8:8], mixed[8:]...))
}

// Emit writes an event down for every active subscription that wants it, in the transaction of its change. Its data is there once,
// for as long as a delivery needs it.
func (w *Webhooks) Emit(tx *store.Tx, e store.Event) error {
	active, err := w.active.Of(tx)
	wanted := active[e.Trigger]
	if err != nil || len(wanted) == 0 {
		return err
	}
	event := tx.NewID()
	w.events.Put(tx, event, 0, e.Data)
	for _, subscription := range wanted {
		if err := w.enqueue(tx, delivery{Subscription: subscription, Event: event, Trigger: e.Trigger, Object: e.ID}); err != nil {
			return err
		}
	}
	org := tx.Org()
	tx.AfterCommit(func() { w.Sender.arrived(org, wanted) })
	return nil
}

// enqueue puts a delivery into the queue of its subscription, due at once. A subscription that too many wait for is disabled.
func (w *Webhooks) enqueue(tx *store.Tx, d delivery) error {
	d.Due = tx.Now().UnixMilli()
	if _, err := w.deliveries.Insert(tx, deliveryID(d.Event, d.Subscription), d); err != nil {
		return err
	}
	waiting, err := w.count(tx, d.Subscription, 1)
	if err != nil || waiting < w.MaxPending {
		return err
	}
	doc, err := w.Subscriptions.Get(tx, d.Subscription)
	if err != nil || doc.Record.Status != Active {
		return err
	}
	return w.disable(tx, doc, doc.Record, backlog)
}

// remove takes a delivery out of the queue, and with the last of an event its data.
func (w *Webhooks) remove(tx *store.Tx, doc store.Doc[delivery]) error {
	if err := w.deliveries.Delete(tx, doc); err != nil {
		return err
	}
	if _, err := w.count(tx, doc.Record.Subscription, -1); err != nil {
		return err
	}
	event := doc.Record.Event
	// The first half of an event's id is that of its deliveries, and of no other event's.
	var first uuid.UUID
	copy(first[:8], event[:8])
	if other, found := w.deliveries.First(tx, first); found && [8]byte(other[:8]) == [8]byte(event[:8]) {
		return nil
	}
	_, err := w.events.Delete(tx, event, 0, 1)
	return err
}

// count counts deliveries that begin or cease to wait for a subscription, and gives how many there are then.
func (w *Webhooks) count(tx *store.Tx, subscription uuid.UUID, by int) (waiting int, err error) {
	if waiting, err = w.waiting(tx, subscription); err == nil {
		waiting += by
		w.pending.Put(tx, subscription, 0, binary.BigEndian.AppendUint64(nil, uint64(waiting)))
	}
	return waiting, err
}

// waiting is how many deliveries wait for a subscription.
func (w *Webhooks) waiting(tx *store.Tx, subscription uuid.UUID) (int, error) {
	v, err := w.pending.Get(tx, subscription, 0)
	if err != nil || len(v) != 8 {
		return 0, err
	}
	return int(binary.BigEndian.Uint64(v)), nil
}

// due gives up to most deliveries of a subscription that are due and not taken, and takes them. more tells that there may be
// others; else next is when the first of them is due, zero when there is none. One that cannot be read is in the error and keeps
// no other from being delivered.
func (w *Webhooks) due(tx *store.Tx, subscription uuid.UUID, most int, taken map[uuid.UUID]bool) (due []store.Doc[delivery], more bool, next time.Time, err error) {
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
		if more = !taken[id] && len(ids) == most; !more && !taken[id] {
			ids = append(ids, id)
		}
		return !more
	})
	for _, id := range ids {
		taken[id] = true
		doc, failed := w.deliveries.Get(tx, id)
		if failed == nil && doc.Record.Data == nil {
			doc.Record.Data, failed = w.data(tx, doc.Record.Event)
		}
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		doc.JSON = nil // the record has it all
		due = append(due, doc)
	}
	return due, more, next, err
}

// data is the data of an event.
func (w *Webhooks) data(tx *store.Tx, event uuid.UUID) ([]byte, error) {
	data, err := w.events.Get(tx, event, 0)
	if err == nil && data == nil {
		err = fmt.Errorf("webhook event %s: %w: its data is not there", event, store.ErrDamaged)
	}
	return bytes.Clone(data), err
}
