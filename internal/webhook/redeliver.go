package webhook

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/store"
)

// Queued is the answer to a request for a delivery.
type Queued struct {
	SourceEventID uuid.UUID `json:"source_event_id" doc:"The id of the envelope. Use it to find the attempts to deliver it."`
}

// Test queues a test event for a subscription, whatever its triggers are. It returns
// SubscriptionNotActive unless the subscription is active.
func (w *Webhooks) Test(tx *store.Tx, subscription uuid.UUID) (Queued, error) {
	doc, err := w.mustBeActive(tx, subscription)
	if err != nil {
		return Queued{}, err
	}
	if err := w.endBackOff(tx, subscription); err != nil {
		return Queued{}, err
	}
	event := tx.NewID()
	_, err = w.enqueue(tx, delivery{
		Subscription: subscription, Event: event, Trigger: testKey, Object: subscription, Data: doc.JSON,
		eventDetail: eventDetail{User: tx.Actor().User},
	})
	return Queued{event}, err
}

// Redeliver queues the event of an attempt again, with the same envelope id and the current state
// of its object. It returns SubscriptionNotActive unless the subscription is active.
func (w *Webhooks) Redeliver(tx *store.Tx, subscription, attempt uuid.UUID) (Queued, error) {
	if _, err := w.mustBeActive(tx, subscription); err != nil {
		return Queued{}, err
	}
	doc, err := w.attempts.Get(tx, attempt)
	if err == nil && doc.Record.SubscriptionID != subscription {
		err = fault.ErrNotFound
	}
	if err != nil {
		return Queued{}, err
	}
	return w.redeliver(tx, &doc.Record)
}

func (w *Webhooks) redeliver(tx *store.Tx, a *Attempt) (Queued, error) {
	later, err := w.later(tx, a)
	if err != nil {
		return Queued{}, err
	}
	d := delivery{
		Subscription: a.SubscriptionID, Event: a.SourceEventID, Trigger: a.TriggerKey, Object: a.about.Object,
		Attempts: a.Attempt + later, eventDetail: a.about.eventDetail,
	}
	if err := w.endBackOff(tx, a.SubscriptionID); err != nil {
		return Queued{}, err
	}
	if d.Data, err = w.render(tx, &d); err != nil {
		return Queued{}, err
	}
	waiting, err := w.deliveries.Get(tx, a.delivery())
	switch {
	case err == nil: // still pending: start its retry schedule again
		d.Due, d.Asked = tx.Now().UnixMilli(), waiting.Record.Asked+1
		_, err = w.deliveries.Update(tx, waiting, d, nil)
	case fault.CodeOf(err) == fault.NotFound:
		_, err = w.enqueue(tx, d)
	}
	return Queued{a.SourceEventID}, err
}

// render returns the current data of an event: its object, or a Gone if it was deleted.
func (w *Webhooks) render(tx *store.Tx, d *delivery) ([]byte, error) {
	kind, _, _ := strings.Cut(d.Trigger, ".")
	source, known := w.sources[kind]
	isGone := func(t Trigger) bool { return t.Key == d.Trigger && t.Gone }
	// The trigger may be from an older version. The object of a deletion may have been restored since.
	if !known || slices.ContainsFunc(w.Triggers, isGone) {
		return json.Marshal(Gone{ID: d.Object, Deleted: true})
	}
	data, err := source.Read(tx, d.Object)
	if fault.CodeOf(err) == fault.NotFound {
		return json.Marshal(Gone{ID: d.Object, Deleted: true})
	}
	if err != nil {
		return nil, err
	}
	return d.addTo(data), nil
}

// mustBeActive returns the subscription, or SubscriptionNotActive if it is not active.
func (w *Webhooks) mustBeActive(tx *store.Tx, id uuid.UUID) (store.Doc[Subscription], error) {
	doc, err := w.Subscriptions.Get(tx, id)
	if err == nil && doc.Record.Status != Active {
		err = fault.New(fault.SubscriptionNotActive, "the subscription is %s; set its status to active first", doc.Record.Status)
	}
	return doc, err
}
