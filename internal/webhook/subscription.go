package webhook

import (
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// Subscription is an endpoint that receives events.
type Subscription struct {
	record.Head
	URL         string     `json:"url" rule:"required,maxlen=2000,confidential" doc:"The endpoint. An https URL with a public address, without a user name or a fragment. API keys with read access see only its scheme and host, and cannot filter, sort or search by it."`
	Triggers    []string   `json:"triggers" rule:"required" doc:"The events to send: trigger keys, object.* for all events of an object, or * for all events."`
	Description shape.Text `json:"description" rule:"maxlen=1000,long"`
	Status      Status     `json:"status" rule:"enum=active|paused|disabled,default=active" doc:"While the subscription is not active, new events are not queued and pending deliveries wait. You can set it to active or paused. The service sets it to disabled."`

	DisabledReason      Reason     `json:"disabled_reason" rule:"readonly,enum=backlog|gone|failing" doc:"Why the service disabled the subscription: too many pending deliveries, the endpoint answered 410, or every attempt failed for five days."`
	ConsecutiveFailures int        `json:"consecutive_failures" rule:"readonly" doc:"The number of failed attempts since the last success."`
	LastSuccessAt       shape.Time `json:"last_success_at" rule:"readonly"`
	LastFailureAt       shape.Time `json:"last_failure_at" rule:"readonly"`

	private privateSubscription
}

// privateSubscription holds the fields of a subscription that are never returned.
type privateSubscription struct {
	Secrets secrets `json:"secrets"`
	// FailingSince is the time of the first failed attempt since the last success or since the
	// subscription became active.
	FailingSince shape.Time `json:"failing_since"`
}

// Endpoint returns the URL without its path and query, which may contain a secret.
func (s *Subscription) Endpoint() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// Private returns the fields that are stored and never returned.
func (s *Subscription) Private() any { return &s.private }

// Status says whether a subscription receives events.
type Status string

const (
	Active   Status = "active"
	Paused   Status = "paused"
	Disabled Status = "disabled"
)

// Reason says why a subscription is disabled. The empty value is returned as null.
type Reason = shape.Text

const (
	backlog Reason = "backlog"
	gone    Reason = "gone"
	failing Reason = "failing"
)

func (w *Webhooks) subscriptionRules() record.Rules[Subscription] {
	return record.Rules[Subscription]{
		Object: "webhook_subscription", Entity: "subscriptions", Events: record.EventRules[Subscription]{None: true},
		History: record.HistoryRules{Short: true},
		Check:   w.checkSubscription, AfterChange: w.endDeliveries, Entries: "triggers",
		CheckEntry: func(_ *Subscription, at, key string, p *fault.Problems) {
			if !w.isValidKey(key) {
				p.Invalid(at, "%s is not a trigger key, object.* or *", shape.Quote(key))
			}
		},
	}
}

func (w *Webhooks) checkSubscription(tx *store.Tx, before, s *Subscription, p *fault.Problems) error {
	if before == nil || before.URL != s.URL {
		if wrong := w.addresses.CheckURL(s.URL); wrong != "" && !p.Has("url") {
			p.Invalid("url", "%s", wrong)
		}
	}
	if before == nil && w.Subscriptions.Table.Count(tx) >= maxSubscriptions {
		return fault.New(fault.TooManySubscriptions, "an organization can have at most %d subscriptions; delete one first", maxSubscriptions)
	}
	if s.Status == Disabled && (before == nil || before.Status != Disabled) {
		p.Invalid("status", "must be one of: active, paused; only the service disables a subscription")
	}
	if before != nil && before.Status != Active && s.Status == Active && len(s.private.Secrets) == 0 {
		p.Invalid("status", "the subscription has no secret because its organization was imported; rotate the secret first")
	}
	if before != nil && before.Status != s.Status {
		s.DisabledReason, s.private.FailingSince = "", shape.Time{}
	}
	return nil
}

// isValidKey reports whether a subscription can name key: a trigger, object.* or *.
func (c *TriggerRegistry) isValidKey(key string) bool {
	object, all := strings.CutSuffix(key, ".*")
	if all {
		_, known := c.sources[object]
		return known
	}
	return key == allTriggers || slices.ContainsFunc(c.Triggers, func(t Trigger) bool { return t.Key == key })
}

// maxSubscriptions bounds how many deliveries one event can cause. An organization that has more from an earlier
// version keeps them.
const maxSubscriptions = 50

// allTriggers is the key that matches every event.
const allTriggers = "*"

// Create creates a subscription and returns its secret, which cannot be read again.
func (w *Webhooks) Create(
	tx *store.Tx, draft record.Draft[Subscription],
) (doc store.Doc[Subscription], secret string, err error) {
	doc, err = w.Subscriptions.CreateAs(tx, tx.NewID(), draft, func(s *Subscription) {
		secret = s.private.Secrets.renew(tx.Now())
	})
	if err == nil {
		w.settings.Next(tx)
	}
	return doc, secret, err
}

// RotateSecret adds a new secret to a subscription and returns it. The old one signs deliveries for
// another day.
func (w *Webhooks) RotateSecret(tx *store.Tx, id uuid.UUID) (doc store.Doc[Subscription], secret string, err error) {
	old, err := w.Subscriptions.Get(tx, id)
	if err != nil {
		return doc, "", err
	}
	rec := old.Record
	secret = rec.private.Secrets.renew(tx.Now())
	rec.UpdatedAt = shape.At(tx.Now())
	if doc, err = w.Subscriptions.Table.Update(tx, old, rec, []string{"secret"}); err == nil {
		err = w.changed(tx, id)
	}
	return doc, secret, err
}

// Update changes a subscription. When it becomes active or gets another URL, its pending deliveries
// become due.
func (w *Webhooks) Update(
	tx *store.Tx, id uuid.UUID, cond record.Precondition, body shape.Value,
) (doc store.Doc[Subscription], err error) {
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
	more, err := w.makeDue(tx, id)
	if err == nil && more {
		_, err = tx.Enqueue(makeDueKind, tx.Now(), jobPayload{Subscription: id})
	}
	return doc, err
}

// endDeliveries deletes the pending deliveries of a subscription that was deleted with its secret. Its attempts are kept
// for the retention time.
func (w *Webhooks) endDeliveries(tx *store.Tx, s, after *Subscription) error {
	if after != nil {
		return nil
	}
	if _, err := w.deleted.Insert(tx, s.ID, deletedSubscription{shape.At(tx.Now())}); err != nil {
		return err
	}
	if err := w.scheduleExpiry(tx); err != nil {
		return err
	}
	if err := w.changed(tx, s.ID); err != nil {
		return err
	}
	_, err := tx.Enqueue(clearKind, tx.Now(), jobPayload{Subscription: s.ID})
	return err
}

// Restored makes a subscription that was restored from a backup receive events.
func (w *Webhooks) Restored(tx *store.Tx, id uuid.UUID) error {
	if err := w.deleted.DeleteUntyped(tx, id); err != nil && fault.CodeOf(err) != fault.NotFound {
		return err
	}
	return w.changed(tx, id)
}

// changed makes the change of a subscription visible to Emit and, after the commit, to the sender.
func (w *Webhooks) changed(tx *store.Tx, id uuid.UUID) error {
	w.settings.Next(tx)
	return w.endBackOff(tx, id)
}

// disable disables a subscription. It stays disabled until a user activates it.
func (w *Webhooks) disable(tx *store.Tx, old store.Doc[Subscription], rec Subscription, why Reason) error {
	rec.Status, rec.DisabledReason, rec.UpdatedAt = Disabled, why, shape.At(tx.Now())
	if _, err := w.Subscriptions.Table.Update(tx, old, rec, []string{"status", "disabled_reason"}); err != nil {
		return err
	}
	org := tx.Org()
	tx.AfterCommit(func() {
		w.Log.Warn("webhook subscription disabled", "organization", org, "subscription", rec.ID, "reason", string(why))
	})
	return w.changed(tx, rec.ID)
}

// subscribersByTrigger maps a trigger key to the active subscriptions that want it, in order of
// creation.
type subscribersByTrigger map[string][]uuid.UUID

// readActive leaves out damaged subscriptions, which receive no events.
func (w *Webhooks) readActive(tx *store.Tx) (subscribersByTrigger, error) {
	active := subscribersByTrigger{}
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
	return slices.ContainsFunc(s.Triggers, func(key string) bool {
		return key == t.Key || key == t.Object+".*" || key == allTriggers
	})
}

// testKey is the trigger of test events.
const testKey = "webhook.test"

// source describes the events that this package emits itself: tests of subscriptions.
func (w *Webhooks) source() store.Source {
	return store.Source{
		Object:   "webhook",
		Triggers: []store.Trigger{{Event: "test", Description: "A test of the subscription was requested."}},
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
