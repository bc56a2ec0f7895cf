package webhook

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/store"
)

// Queued is a delivery that was asked for.
type Queued struct {
	SourceEventID uuid.UUID `json:"source_event_id" doc:"The id of the envelope, by which its attempts are found."`
}

// Test sends an event to a subscription, whatever it wants.
func (w *Webhooks) Test(tx *store.Tx, subscription uuid.UUID) (Queued, error) {
	doc, err := w.mustBeActive(tx, subscription)
	if err != nil {
		return Queued{}, err
	}
	if err := w.atOnce(tx, subscription); err != nil {
		return Queued{}, err
	}
	event := tx.NewID()
	return Queued{event}, w.enqueue(tx, delivery{Subscription: subscription, Event: event, Trigger: testKey, Object: subscription, Data: doc.JSON})
}

// Redeliver sends the event of an attempt once more, under the same envelope id and with its object as it is now.
func (w *Webhooks) Redeliver(tx *store.Tx, subscription, attempt uuid.UUID) (Queued, error) {
	if _, err := w.mustBeActive(tx, subscription); err != nil {
		return Queued{}, err
	}
	object, rec, err := w.find(tx, subscription, attempt)
	if err != nil {
		return Queued{}, err
	}
	event, err := uuid.Parse(rec.SourceEventID)
	if err != nil {
		return Queued{}, err
	}
	d := delivery{Subscription: subscription, Event: event, Trigger: rec.TriggerKey, Object: object, Attempts: rec.Attempt}
	for { // to the last attempt there was
		v, err := w.attempts.ofEvent.Get(tx, deliveryID(event, subscription), uint32(d.Attempts+1))
		if err != nil {
			return Queued{}, err
		}
		if v == nil {
			break
		}
		d.Attempts++
	}
	if err := w.atOnce(tx, subscription); err != nil {
		return Queued{}, err
	}
	if d.Data, err = w.render(tx, d.Trigger, object); err != nil {
		return Queued{}, err
	}
	waiting, err := w.deliveries.Get(tx, deliveryID(event, subscription))
	switch {
	case err == nil: // it is begun anew
		d.Due, d.Asked = tx.Now().UnixMilli(), waiting.Record.Asked+1
		_, err = w.deliveries.Update(tx, waiting, d, nil)
	case fault.CodeOf(err) == fault.NotFound:
		err = w.enqueue(tx, d)
	}
	return Queued{event}, err
}

// render gives an object as it is now.
func (w *Webhooks) render(tx *store.Tx, trigger string, object uuid.UUID) ([]byte, error) {
	kind, _, _ := strings.Cut(trigger, ".")
	source, known := w.sources[kind]
	if !known { // a version before this one knew it
		return json.Marshal(Gone{ID: object, Deleted: true})
	}
	data, err := source.Read(tx, object)
	if fault.CodeOf(err) == fault.NotFound {
		return json.Marshal(Gone{ID: object, Deleted: true})
	}
	return data, err
}

// mustBeActive refuses to send anything to a subscription that is not.
func (w *Webhooks) mustBeActive(tx *store.Tx, id uuid.UUID) (store.Doc[Subscription], error) {
	doc, err := w.Subscriptions.Get(tx, id)
	if err == nil && doc.Record.Status != Active {
		err = fault.New(fault.SubscriptionNotActive, "the subscription is %s; make it active first", doc.Record.Status)
	}
	return doc, err
}
