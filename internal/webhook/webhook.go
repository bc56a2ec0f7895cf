// Package webhook owns subscriptions to events and the delivery of events to them. It stores an event in the
// transaction of the change. In the background it queues the event for every subscription, signs it, sends it
// until it is delivered or given up, and stores every attempt. It does not know what the events are about.
package webhook

import (
	"cmp"
	"crypto/x509"
	"encoding/binary"
	"log/slog"
	"net"
	"time"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/egress"
	"prospector/internal/record"
	"prospector/internal/worker"
	"prospector/store"
)

// Options are the settings of the package.
type Options struct {
	// AllowPrivateNetworks allows URLs with addresses that are not public, and http.
	AllowPrivateNetworks bool
	// Timeout is how long an endpoint may take to answer.
	Timeout time.Duration
	// RetrySchedule has the delay after each failed attempt. After the last one the event is given
	// up.
	RetrySchedule []time.Duration
	// Retention is how long attempts are stored.
	Retention time.Duration
	// MaxPending is the number of pending deliveries at which a subscription is disabled.
	MaxPending int
	// Concurrency is how many attempts may be starting at the same time.
	Concurrency int
	// SlowAfter is when an attempt without an answer counts as waiting instead of starting. The default
	// is 50 ms.
	SlowAfter time.Duration
	// Agent is the User-Agent of deliveries.
	Agent string
	// Log receives messages for the operator.
	Log *slog.Logger

	// Resolver and RootCAs default to those of the system.
	Resolver *net.Resolver
	RootCAs  *x509.CertPool
}

// Webhooks holds the subscriptions, their pending deliveries and the attempts.
type Webhooks struct {
	*TriggerRegistry
	Subscriptions *record.Kind[Subscription]
	AttemptList   *index.Kind
	// Sender delivers pending events while it runs.
	Sender *Sender
	Options

	store      *store.Store
	addresses  egress.Policy
	settings   store.Counter // changes when a subscription changes, except its health
	active     *store.Derived[subscribersByTrigger]
	newEvents  *store.Table[newEvent]
	deliveries *store.Table[delivery]
	events     *store.Parts // data of events that are new or have pending deliveries
	pending    *store.Parts // number of pending deliveries, by subscription
	backOffs   *store.Parts // see retry_after.go
	attempts   *store.Table[Attempt]
	deleted    *store.Table[deletedSubscription]
	expiry     *store.Parts // the id of the expire job of each organization

	formerAttempts, formerBackOffs *store.Parts // see upgrade.go
	formerCounters                 *store.Table[deletedSubscription]
}

// New declares the tables of the package. The sources describe the events that exist.
func New(st *store.Store, set *record.Set, sources []store.Source, opt Options) (*Webhooks, error) {
	opt.SlowAfter = cmp.Or(opt.SlowAfter, slowAfter)
	w := &Webhooks{
		Options:    opt,
		store:      st,
		addresses:  egress.Policy{AllowPrivate: opt.AllowPrivateNetworks},
		settings:   store.NewCounter("webhook_settings"),
		newEvents:  newEvents(),
		deliveries: newDeliveries(),
		events:     store.NewParts("webhook_events"),
		pending:    store.NewParts("webhook_pending"),
		backOffs:   store.NewParts("webhook_back_offs"),
		attempts:   newAttempts(),
		deleted:    newDeletedSubscriptions("webhook_deleted"),
		expiry:     store.NewParts("webhook_expiry"),

		formerAttempts: store.NewParts("webhook_attempts"),
		formerBackOffs: store.NewParts("webhook_rests"),
		formerCounters: newDeletedSubscriptions("webhook_tallies"),
	}
	w.AttemptList = index.NewKind("webhook-deliveries", "-created_at", w.attempts, nil)
	w.AttemptList.ReadOnly = true
	w.Subscriptions = record.Add(set, w.subscriptionRules())
	w.active = store.NewDerived(w.settings, w.readActive)
	var err error
	if w.TriggerRegistry, err = newTriggerRegistry(append(sources, w.source())); err != nil {
		return nil, err
	}
	w.Sender = newSender(w)
	return w, nil
}

// Jobs returns the job handlers of the package.
func (w *Webhooks) Jobs() map[string]worker.Handler {
	return map[string]worker.Handler{
		clearKind: w.clearJob, makeDueKind: w.makeDueJob, recoverKind: w.recoverJob, expireKind: w.expireJob,
	}
}

// Pending returns the number of pending deliveries of all organizations. An event that is not fanned out yet
// counts as one for each of its subscriptions.
func (w *Webhooks) Pending() (pending int, err error) {
	orgs, err := w.store.Organizations()
	for _, org := range orgs {
		if err != nil {
			return pending, err
		}
		err = w.store.View(org, func(tx *store.Tx) error {
			pending += w.deliveries.Count(tx)
			return w.newEvents.Scan(tx, func(d store.Doc[newEvent]) (bool, error) {
				for _, id := range d.Record.Subscriptions {
					if w.Subscriptions.Table.Has(tx, id) {
						pending++
					}
				}
				return true, nil
			})
		})
	}
	return pending, err
}

// verifyPending compares the number of pending deliveries with the stored count of each
// subscription and checks that the data of each event exists. In an Update it corrects the counts and
// removes the deliveries and the new events whose data is gone.
func (w *Webhooks) verifyPending(tx *store.Tx, report store.Report) error {
	if err := w.pending.Verify(tx, report); err != nil {
		return err
	}
	waiting := map[uuid.UUID]int{}
	err := w.deliveries.Scan(tx, func(d store.Doc[delivery]) (bool, error) {
		if d.Record.Data == nil {
			switch data, err := w.events.Get(tx, d.Record.Event, 0); {
			case err != nil:
				report(false, "%v", err)
			case data == nil:
				report(tx.Writable(), "webhook delivery %s: the data of its event is gone", d.ID)
				if tx.Writable() {
					return true, w.deliveries.Delete(tx, d)
				}
			}
		}
		waiting[d.Record.Subscription]++
		return true, nil
	})
	if err != nil {
		return err
	}
	err = w.newEvents.Scan(tx, func(d store.Doc[newEvent]) (bool, error) {
		switch data, err := w.events.Get(tx, d.ID, 0); {
		case err != nil:
			report(false, "%v", err)
		case data == nil:
			report(tx.Writable(), "webhook event %s: its data is gone", d.ID)
			if tx.Writable() {
				return true, w.newEvents.Delete(tx, d)
			}
		}
		return true, nil
	})
	if err != nil || w.deliveries.HasDamaged(tx) { // what is damaged was counted for an unknown subscription
		return err
	}
	return w.Subscriptions.Table.Scan(tx, func(d store.Doc[Subscription]) (bool, error) {
		if counted, err := w.pendingOf(tx, d.ID); err == nil && counted != waiting[d.ID] {
			if tx.Writable() {
				w.pending.Put(tx, d.ID, 0, binary.BigEndian.AppendUint64(nil, uint64(waiting[d.ID])))
			}
			report(tx.Writable(), "webhook subscription %s: %d pending deliveries, but the stored count is %d", d.ID, waiting[d.ID], counted)
		}
		return true, nil
	})
}
