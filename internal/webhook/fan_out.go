package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/store"
)

// The transaction of a change stores an event once, however many subscriptions want it. The sender fans
// it out afterwards: one delivery for each subscription that was active and wanted the event at the time
// of the change. Each event is fanned out in one transaction, so a crash neither loses nor repeats it.

// newEvent is an event that is not fanned out yet. Its data is stored like that of other events.
type newEvent struct {
	Trigger       string      `json:"trigger"`
	Object        uuid.UUID   `json:"object"`
	Subscriptions []uuid.UUID `json:"subscriptions"`

	eventDetail
}

func newEvents() *store.Table[newEvent] {
	return store.NewTable[newEvent]("webhook_new_events", nil, nil).Unlogged()
}

// Emit stores an event for the active subscriptions to its trigger, in the transaction of the change. The
// data of the event is stored until its last delivery is done.
func (w *Webhooks) Emit(tx *store.Tx, e store.Event) error {
	active, err := w.active.Of(tx)
	subscriptions := active[e.Trigger]
	if err != nil || len(subscriptions) == 0 {
		return err
	}
	detail, err := newDetail(tx, e)
	if err != nil {
		return err
	}
	event := tx.NewID()
	w.events.Put(tx, event, 0, detail.addTo(e.Data))
	_, err = w.newEvents.Insert(tx, event, newEvent{e.Trigger, e.ID, subscriptions, detail})
	org := tx.Org()
	tx.AfterCommit(func() { w.Sender.eventsAdded(org) })
	return err
}

// fanOut queues the oldest new events of an organization for their subscriptions, as many as fit into one
// transaction. It returns the subscriptions that have new deliveries, and whether there are more events.
// Damaged events are left out, like other damaged records, which the store logs and counts.
func (w *Webhooks) fanOut(ctx context.Context, org uuid.UUID) (to []fanOutTarget, more bool, err error) {
	err = w.store.Update(ctx, org, store.Actor{Operation: "webhook.fan_out"}, func(tx *store.Tx) error {
		f := fanOutTx{Webhooks: w, tx: tx, known: map[uuid.UUID]bool{}, tiers: map[uuid.UUID]tier{}}
		added, from := 0, uuid.UUID{}
		for more = true; more && added < maxPerTransaction; {
			var id uuid.UUID
			if id, more = w.newEvents.First(tx, from); !more {
				break
			}
			from = following(id)
			doc, err := w.newEvents.Get(tx, id)
			if errors.Is(err, store.ErrDamaged) {
				continue
			}
			if err != nil {
				return err
			}
			added += max(1, len(doc.Record.Subscriptions))
			if err := f.queue(doc); err != nil {
				return fmt.Errorf("event %s: %w", id, err)
			}
		}
		to = f.to
		return nil
	})
	return to, more && err == nil, err
}

// fanOutTx queues events for their subscriptions in one transaction.
type fanOutTx struct {
	*Webhooks
	tx    *store.Tx
	known map[uuid.UUID]bool // subscriptions, and whether they are open
	tiers map[uuid.UUID]tier // of those that have no new deliveries yet
	to    []fanOutTarget
}

// fanOutTarget is a subscription that has new deliveries. The tier applies if it has not been called since the
// service started.
type fanOutTarget struct {
	id   uuid.UUID
	tier tier
}

// isOpen reports whether events are queued for a subscription: it is neither deleted nor damaged nor disabled
// because of its backlog.
func (f *fanOutTx) isOpen(id uuid.UUID) (bool, error) {
	open, known := f.known[id]
	if known {
		return open, nil
	}
	doc, err := f.Subscriptions.Get(f.tx, id)
	if err != nil && fault.CodeOf(err) != fault.NotFound && !errors.Is(err, store.ErrDamaged) {
		return false, err
	}
	if !slices.ContainsFunc(f.to, func(t fanOutTarget) bool { return t.id == id }) {
		f.tiers[id] = initialTier(&doc.Record)
	}
	f.known[id] = err == nil && (doc.Record.Status != Disabled || doc.Record.DisabledReason != backlog)
	return f.known[id], nil
}

// queue queues an event for its subscriptions.
func (f *fanOutTx) queue(doc store.Doc[newEvent]) error {
	e, queued := &doc.Record, 0
	d := delivery{Event: doc.ID, Trigger: e.Trigger, Object: e.Object, eventDetail: e.eventDetail}
	for _, d.Subscription = range e.Subscriptions {
		open, err := f.isOpen(d.Subscription)
		if err != nil {
			return err
		}
		if !open {
			continue
		}
		waiting, err := f.enqueue(f.tx, d)
		if err != nil {
			return err
		}
		if waiting >= f.MaxPending {
			delete(f.known, d.Subscription) // it may be disabled now
		}
		if t, isNew := f.tiers[d.Subscription]; isNew {
			f.to = append(f.to, fanOutTarget{d.Subscription, t})
			delete(f.tiers, d.Subscription)
		}
		queued++
	}
	if queued == 0 {
		if _, err := f.events.Delete(f.tx, doc.ID, 0, 1); err != nil {
			return err
		}
	}
	return f.newEvents.Delete(f.tx, doc)
}

// following returns the smallest id that is greater than id.
func following(id uuid.UUID) uuid.UUID {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]++; id[i] != 0 {
			break
		}
	}
	return id
}

// eventsAdded reports that an organization has events to fan out.
func (s *Sender) eventsAdded(org uuid.UUID) { s.post(func() { s.unfanned[org] = true }) }

// startFanOuts starts a transaction for each organization that has events to fan out, unless one runs.
// Organizations take turns at the store.
func (s *Sender) startFanOuts(ctx context.Context) {
	for org := range s.unfanned {
		if s.fanning[org] {
			continue
		}
		delete(s.unfanned, org)
		s.fanning[org] = true
		s.busy++
		go func() {
			to, more, err := s.webhooks.fanOut(context.WithoutCancel(ctx), org)
			s.post(func() { s.fannedOut(org, to, more, err) })
		}()
	}
}

func (s *Sender) fannedOut(org uuid.UUID, to []fanOutTarget, more bool, err error) {
	s.busy--
	delete(s.fanning, org)
	for _, t := range to {
		s.refresh(org, t.id, t.tier)
	}
	if more {
		s.unfanned[org] = true
	}
	if err != nil && fault.CodeOf(err) != fault.NotFound { // NotFound: the organization was deleted
		s.log.Error("webhook events cannot be queued, will retry", "organization", org, "retry_in", recordRetryDelay, "error", err)
		time.AfterFunc(recordRetryDelay, func() { s.eventsAdded(org) })
	}
}
