package webhook

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// Subscription is an endpoint that wants to know of events.
type Subscription struct {
	record.Head
	URL         string     `json:"url" rule:"required,maxlen=2000" doc:"Where events are sent to: https, without a user or a fragment, and on a public address."`
	Triggers    []string   `json:"triggers" rule:"required" doc:"Which events it wants: keys of triggers, object.* for all of an object, or * for all there are."`
	Description shape.Text `json:"description" rule:"maxlen=1000,long"`
	Status      Status     `json:"status" rule:"enum=active|paused|disabled,default=active" doc:"While it is not active no event is kept for it, and what waits goes on waiting. It can be set to active and paused; the service disables it."`

	DisabledReason      Reason     `json:"disabled_reason" rule:"readonly,enum=backlog|gone|failing" doc:"Why the service has disabled it: too many deliveries wait, the endpoint answered 410, or nothing but failures for five days."`
	ConsecutiveFailures int        `json:"consecutive_failures" rule:"readonly" doc:"The failed attempts since the last that succeeded."`
	LastSuccessAt       shape.Time `json:"last_success_at" rule:"readonly"`
	LastFailureAt       shape.Time `json:"last_failure_at" rule:"readonly"`

	kept keptSubscription
}

// keptSubscription is what a subscription keeps to itself.
type keptSubscription struct {
	Secrets secrets `json:"secrets"`
	// FailingSince is when the first of the attempts failed since the last that succeeded, or since it was made active.
	FailingSince shape.Time `json:"failing_since"`
}

// Private is not answered.
func (s *Subscription) Private() any { return &s.kept }

// Status is whether a subscription gets events.
type Status string

const (
	Active   Status = "active"
	Paused   Status = "paused"
	Disabled Status = "disabled"
)

// Reason is why a subscription is disabled; its empty form is answered as null.
type Reason = shape.Text

const (
	backlog Reason = "backlog"
	gone    Reason = "gone"
	failing Reason = "failing"
)

func (w *Webhooks) subscriptionRules() record.Rules[Subscription] {
	return record.Rules[Subscription]{
		Object: "webhook_subscription", Entity: "subscriptions", Silent: true, ShortHistory: true,
		Check: w.checkSubscription, Entries: "triggers",
		CheckEntry: func(_ *Subscription, at, key string, p *fault.Problems) {
			if !w.isKnown(key) {
				p.Invalid(at, "must be the key of a trigger, object.* or *, not %q", key)
			}
		},
	}
}

func (w *Webhooks) checkSubscription(tx *store.Tx, before, s *Subscription, p *fault.Problems) error {
	if before == nil || before.URL != s.URL {
		if wrong := w.addresses.checkURL(s.URL); wrong != "" && !p.Has("url") {
			p.Invalid("url", "%s", wrong)
		}
	}
	if before == nil && w.Subscriptions.Table.Count(tx) >= subscriptionsMost {
		p.Invalid("url", "is one too many: an organization has %d subscriptions at most", subscriptionsMost)
	}
	if s.Status == Disabled && (before == nil || before.Status != Disabled) {
		p.Invalid("status", "must be active or paused: only the service disables a subscription")
	}
	if before != nil && before.Status != s.Status {
		s.DisabledReason, s.kept.FailingSince = "", shape.Time{}
	}
	return nil
}

// isKnown tells whether a subscription can name it: a trigger, all of an object, or all.
func (c *TriggerRegistry) isKnown(key string) bool {
	object, all := strings.CutSuffix(key, ".*")
	if all {
		_, known := c.sources[object]
		return known
	}
	return key == everything || slices.ContainsFunc(c.Triggers, func(t Trigger) bool { return t.Key == key })
}

// subscriptionsMost bounds how many deliveries one event can make, in the transaction that others wait for.
const subscriptionsMost = 2_000

// everything is what a subscription names that wants every event.
const everything = "*"

// Create makes a subscription, and gives its secret: it cannot be read again.
func (w *Webhooks) Create(tx *store.Tx, draft record.Draft[Subscription]) (doc store.Doc[Subscription], secret string, err error) {
	doc, err = w.Subscriptions.CreateAs(tx, tx.NewID(), draft, func(s *Subscription) {
		secret = s.kept.Secrets.renew(tx.Now())
	})
	if err == nil {
		w.settings.Next(tx)
		_, err = w.tallies.Insert(tx, doc.ID, tally{})
	}
	return doc, secret, err
}

// RotateSecret gives a subscription a new secret. For a day, deliveries are signed with the old one as well.
func (w *Webhooks) RotateSecret(tx *store.Tx, id uuid.UUID) (doc store.Doc[Subscription], secret string, err error) {
	old, err := w.Subscriptions.Get(tx, id)
	if err != nil {
		return doc, "", err
	}
	rec := old.Record
	secret = rec.kept.Secrets.renew(tx.Now())
	rec.UpdatedAt = shape.At(tx.Now())
	if doc, err = w.Subscriptions.Table.Update(tx, old, rec, []string{"secret"}); err == nil {
		err = w.changed(tx, id)
	}
	return doc, secret, err
}

// Update changes a subscription. Made active again, or given another url, it gets at once what has waited.
func (w *Webhooks) Update(tx *store.Tx, id uuid.UUID, cond record.Precondition, body shape.Value) (doc store.Doc[Subscription], err error) {
	old, err := w.Subscriptions.Get(tx, id)
	if err != nil {
		return doc, err
	}
	if doc, err = w.Subscriptions.Update(tx, id, cond, body); err != nil {
		return doc, err
	}
	if err := w.changed(tx, id); err != nil {
		return doc, err
	}
	was, is := &old.Record, &doc.Record
	if is.Status != Active || was.Status == Active && was.URL == is.URL {
		return doc, nil
	}
	more, err := w.hurry(tx, id)
	if err == nil && more {
		_, err = tx.Enqueue(hurryKind, tx.Now(), work{Subscription: id})
	}
	return doc, err
}

// Delete removes a subscription with its secret, and what waits for it. The record of its attempts stays for its time.
func (w *Webhooks) Delete(tx *store.Tx, id uuid.UUID, cond record.Precondition) error {
	if err := w.Subscriptions.Delete(tx, id, cond); err != nil {
		return err
	}
	old, err := w.tallies.Get(tx, id)
	if err != nil {
		return err
	}
	t := old.Record
	t.DeletedAt = shape.At(tx.Now())
	if err := w.keepExpiring(tx, id, &t); err != nil {
		return err
	}
	if _, err := w.tallies.Update(tx, old, t, nil); err != nil {
		return err
	}
	if err := w.changed(tx, id); err != nil {
		return err
	}
	_, err = tx.Enqueue(clearKind, tx.Now(), work{Subscription: id})
	return err
}

// changed notes that a subscription is another, and tells the sender once the transaction is on the disk.
func (w *Webhooks) changed(tx *store.Tx, id uuid.UUID) error {
	w.settings.Next(tx)
	return w.atOnce(tx, id)
}

// disable disables a subscription, which then waits for somebody to look at it.
func (w *Webhooks) disable(tx *store.Tx, old store.Doc[Subscription], rec Subscription, why Reason) error {
	rec.Status, rec.DisabledReason, rec.UpdatedAt = Disabled, why, shape.At(tx.Now())
	if _, err := w.Subscriptions.Table.Update(tx, old, rec, []string{"status", "disabled_reason"}); err != nil {
		return err
	}
	org := tx.Org()
	tx.AfterCommit(func() {
		w.Log.Warn("a webhook subscription is disabled", "organization", org, "subscription", rec.ID, "reason", string(why))
	})
	return w.changed(tx, rec.ID)
}

// wanting are the active subscriptions of an organization by the triggers that they want, each in the order of creation.
type wanting map[string][]uuid.UUID

func (w *Webhooks) readActive(tx *store.Tx) (wanting, error) {
	active := wanting{}
	err := w.Subscriptions.Table.Scan(tx, func(d store.Doc[Subscription]) (bool, error) {
		if d.Record.Status != Active {
			return true, nil
		}
		for _, t := range w.TriggerRegistry.Triggers {
			if d.Record.wants(&t) {
				active[t.Key] = append(active[t.Key], d.ID)
			}
		}
		return true, nil
	})
	return active, err
}

func (s *Subscription) wants(t *Trigger) bool {
	return slices.ContainsFunc(s.Triggers, func(key string) bool { return key == t.Key || key == t.Object+".*" || key == everything })
}

// testKey is the event that only a test of a subscription is.
const testKey = "webhook.test"

// source is what the package emits events about itself: the subscription under test.
func (w *Webhooks) source() store.Source {
	return store.Source{
		Object:   "webhook",
		Triggers: []store.Trigger{{Event: "test", Description: "A test of the subscription was asked for."}},
		Example:  &exampleSubscription,
		Read:     w.Subscriptions.Table.Public,
	}
}

var exampleSubscription = record.Example[Subscription](`{
	"id": "019caeb1-4f20-7b90-8c11-2a7de05b9f36", "created_at": "2026-03-02T13:16:21.536Z", "updated_at": "2026-03-02T13:16:21.536Z",
	"url": "https://hooks.example.com/prospector", "triggers": ["contact.*", "tam_import.completed"],
	"description": "Keeps the warehouse up to date", "status": "active", "disabled_reason": null,
	"consecutive_failures": 0, "last_success_at": "2026-03-02T13:17:04.210Z", "last_failure_at": null
}`)
