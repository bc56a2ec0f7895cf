// Package webhook owns the subscriptions to events and what becomes of an event: it is written down in the transaction of its
// change for every active subscription that wants it, signed and sent in the background until it is delivered or given up, and
// every attempt is on record. It does not know what the events tell of.
package webhook

import (
	"crypto/x509"
	"log/slog"
	"net"
	"time"

	"github.com/google/uuid"

	"prospector/internal/record"
	"prospector/internal/worker"
	"prospector/store"
)

// Options are the settings of the package.
type Options struct {
	// AllowPrivateNetworks lets subscriptions name, and deliveries reach, addresses that are not public, and http.
	AllowPrivateNetworks bool
	// Timeout is how long an endpoint may take to answer.
	Timeout time.Duration
	// RetrySchedule is how long after each failed attempt the next one is made. After the last of them an event is given up.
	RetrySchedule []time.Duration
	// Retention is how long attempts stay on record.
	Retention time.Duration
	// MaxPending is how many deliveries may wait for a subscription before it is disabled.
	MaxPending int
	// Concurrency is how many attempts are begun at the same time.
	Concurrency int
	// Agent is what deliveries call themselves.
	Agent string
	// Log is told what an operator should know.
	Log *slog.Logger

	// Resolver and RootCAs are those of the system when nil.
	Resolver *net.Resolver
	RootCAs  *x509.CertPool
}

// Webhooks holds the subscriptions, what waits to be delivered to them, and the record of what was.
type Webhooks struct {
	*TriggerRegistry
	Subscriptions *record.Kind[Subscription]
	// Sender delivers what waits, while it runs.
	Sender *Sender
	Options

	store      *store.Store
	addresses  addressPolicy
	settings   store.Counter // of the changes to subscriptions, without how they fare
	active     *store.Derived[wanting]
	deliveries *store.Table[delivery]
	events     *store.Parts // the data of events that deliveries wait for
	pending    *store.Parts // how many deliveries wait, by subscription
	rests      *store.Parts // see rest.go
	tallies    *store.Table[tally]
	attempts   attempts
}

// New declares what the package keeps in the store. The sources are what events tell of.
func New(st *store.Store, set *record.Set, sources []store.Source, opt Options) (*Webhooks, error) {
	w := &Webhooks{
		Options: opt, store: st, addresses: addressPolicy{allowPrivate: opt.AllowPrivateNetworks}, settings: store.NewCounter("webhook_settings"),
		deliveries: newDeliveries(), events: store.NewParts("webhook_events"), pending: store.NewParts("webhook_pending"), rests: store.NewParts("webhook_rests"),
		tallies: newTallies(), attempts: newAttempts(),
	}
	w.Subscriptions = record.Add(set, w.subscriptionRules())
	w.active = store.NewDerived(w.settings, w.readActive)
	var err error
	if w.TriggerRegistry, err = newTriggerRegistry(append(sources, w.source())); err != nil {
		return nil, err
	}
	w.Sender = newSender(w)
	return w, nil
}

// Jobs are the jobs of the package.
func (w *Webhooks) Jobs() map[string]worker.Handler {
	return map[string]worker.Handler{clearKind: w.clearJob, hurryKind: w.hurryJob, expireKind: w.expireJob}
}

// Verify holds all that the transaction's organization has of the package against its keys and checksums.
func (w *Webhooks) Verify(tx *store.Tx, report store.Report) error {
	for _, part := range []interface {
		Verify(*store.Tx, store.Report) error
	}{w.deliveries, w.events, w.pending, w.rests, w.tallies, w.attempts.all, w.attempts.succeeded, w.attempts.failed, w.attempts.ofEvent} {
		if err := part.Verify(tx, report); err != nil {
			return err
		}
	}
	return w.verifyPending(tx, report)
}

// Pending is how many deliveries wait, of all organizations.
func (w *Webhooks) Pending() (pending int, err error) {
	orgs, err := w.store.Organizations()
	for _, org := range orgs {
		if err == nil {
			err = w.store.View(org, func(tx *store.Tx) error {
				pending += w.deliveries.Count(tx)
				return nil
			})
		}
	}
	return pending, err
}

// verifyPending counts what waits for each subscription, and looks for the data of each event.
func (w *Webhooks) verifyPending(tx *store.Tx, report store.Report) error {
	waiting := map[uuid.UUID]int{}
	err := w.deliveries.Scan(tx, func(d store.Doc[delivery]) (bool, error) {
		waiting[d.Record.Subscription]++
		if d.Record.Data == nil {
			if _, err := w.data(tx, d.Record.Event); err != nil {
				report(false, "%v", err)
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	return w.Subscriptions.Table.Scan(tx, func(d store.Doc[Subscription]) (bool, error) {
		if counted, err := w.waiting(tx, d.ID); err == nil && counted != waiting[d.ID] {
			report(false, "webhook subscription %s: %d deliveries wait, its count says %d", d.ID, waiting[d.ID], counted)
		}
		return true, nil
	})
}
