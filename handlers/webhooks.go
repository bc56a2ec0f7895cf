package handlers

import (
	"encoding/json"
	"net/http"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/webhook"
	"prospector/store"
)

// NewSubscription is a subscription with its secret, which is shown only when it is created or rotated.
type NewSubscription struct {
	webhook.Subscription
	Secret string `json:"secret" rule:"optional" doc:"The secret that signs deliveries. Only this response contains it; a replay for the same Idempotency-Key does not."`

	version string
}

func newSubscription(doc store.Doc[webhook.Subscription], secret string) NewSubscription {
	return NewSubscription{Subscription: doc.Record, Secret: secret, version: doc.Version()}
}

func (s NewSubscription) redact() (full, redacted any, version string) {
	return s, s.Subscription, s.version
}

// presentSubscription returns the JSON of a subscription as the caller may see it. The path and query of a
// URL often contain a token, which keys with read access must not learn.
func presentSubscription(c *call, public []byte) ([]byte, error) {
	if c.principal.Access != identity.Read {
		return public, nil
	}
	var s webhook.Subscription
	if err := json.Unmarshal(public, &s); err != nil {
		return nil, err
	}
	s.URL = s.Endpoint()
	return marshal(&s)
}

func presentSubscriptions(c *call, records [][]byte) ([][]byte, error) {
	shown := make([][]byte, len(records))
	for i, public := range records {
		var err error
		if shown[i], err = presentSubscription(c, public); err != nil {
			return nil, err
		}
	}
	return shown, nil
}

// attemptsOf returns a page of the attempts of a subscription.
func (a *API) attemptsOf(c *call, in webhook.AttemptQuery) (page[webhook.Attempt], error) {
	id, err := c.pathID(0)
	if err == nil {
		err = a.Store.View(c.org(), func(tx *store.Tx) error { return a.Webhooks.HadSubscription(tx, id) })
	}
	if err != nil {
		return page[webhook.Attempt]{}, err
	}
	kind, body := a.Webhooks.AttemptList, in.Body()
	query := whereID(c.compileQuery(kind, body, fault.Problems{}), "subscription_id", id)
	return readPage[webhook.Attempt](c, c.org(), kind, nil, body, query)
}

// webhookOperations returns the operations on webhook subscriptions and their deliveries.
func (a *API) webhookOperations() []Operation {
	const path = "/v1/webhooks/subscriptions"
	w := a.Webhooks
	facets := a.facetsOperation(w.AttemptList)
	facets.example = []byte(`{"field": "status", "filters": [{"field": "trigger_key", "condition": "is", "value": "contact.created"}]}`)
	return []Operation{
		withoutTx(Operation{
			Name: "list_webhook_triggers", Method: http.MethodGet, Path: "/v1/webhooks/triggers", Access: identity.Read,
			Summary: "List the triggers that a subscription can select, each with an example event",
		}, func(*call, nothing) (all[webhook.Trigger], error) { return w.Triggers, nil }),
		write(Operation{
			Name: "create_webhook_subscription", Method: http.MethodPost, Path: path,
			Access: identity.Admin, Status: http.StatusCreated, Codes: []fault.Code{fault.TooManySubscriptions},
			Summary: "Subscribe an endpoint to events; only this response contains the secret",
			example: []byte(`{"url": "https://hooks.example.com/prospector", "triggers": ["contact.*", "tam_import.completed"]}`),
		}, func(_ *call, tx *store.Tx, in createBody[webhook.Subscription]) (NewSubscription, error) {
			doc, secret, err := w.Create(tx, in.Draft)
			return newSubscription(doc, secret), err
		}),
		list[webhook.Subscription](Operation{
			Name: "list_webhook_subscriptions", Path: path + "/list",
			Summary: "List webhook subscriptions, with filters, search and sorting", present: presentSubscriptions,
		}, w.Subscriptions.List),
		read(Operation{
			Name: "get_webhook_subscription", Method: http.MethodGet, Path: path + "/{subscription_id}",
			Access:  identity.Read,
			Summary: "Get a webhook subscription with its delivery status",
		}, byID(func(c *call, tx *store.Tx, id uuid.UUID, _ nothing) (store.Doc[webhook.Subscription], error) {
			doc, err := w.Subscriptions.Get(tx, id)
			if err == nil {
				doc.JSON, err = presentSubscription(c, doc.JSON)
			}
			return doc, err
		})),
		write(Operation{
			Name: "update_webhook_subscription", Method: http.MethodPatch, Path: path + "/{subscription_id}",
			Access:  identity.Admin,
			Summary: "Update a webhook subscription; activating a paused subscription delivers its pending events",
			example: []byte(`{"status": "paused"}`),
		}, byID(func(c *call, tx *store.Tx, id uuid.UUID, in updateBody[webhook.Subscription]) (store.Doc[webhook.Subscription], error) {
			return w.Update(tx, id, ifMatch(c.request), in.body)
		})),
		write(Operation{
			Name: "delete_webhook_subscription", Method: http.MethodDelete, Path: path + "/{subscription_id}",
			Access: identity.Admin, Status: http.StatusNoContent,
			Summary: "Delete a webhook subscription and its secret; its delivery history stays",
		}, byID(func(c *call, tx *store.Tx, id uuid.UUID, _ nothing) (nothing, error) {
			return nothing{}, w.Subscriptions.Delete(tx, id, ifMatch(c.request))
		})),
		write(Operation{
			Name: "rotate_webhook_secret", Method: http.MethodPost, Path: path + "/{subscription_id}/rotate-secret",
			Access: identity.Admin,
			Summary: "Rotate the secret of a webhook subscription; for 24 hours, deliveries are signed with " +
				"the old secret too",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, _ nothing) (NewSubscription, error) {
			doc, secret, err := w.RotateSecret(tx, id)
			return newSubscription(doc, secret), err
		})),
		write(Operation{
			Name: "test_webhook_subscription", Method: http.MethodPost, Path: path + "/{subscription_id}/test",
			Access: identity.Admin, Status: http.StatusAccepted,
			Codes:   []fault.Code{fault.SubscriptionNotActive},
			Summary: "Send a webhook.test event to the endpoint, whatever its triggers",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, _ nothing) (webhook.Queued, error) {
			return w.Test(tx, id)
		})),
		withoutTx(Operation{
			Name: "list_webhook_deliveries", Method: http.MethodGet, Path: path + "/{subscription_id}/deliveries",
			Access: identity.Read, Codes: []fault.Code{fault.Timeout},
			Summary: "List the delivery attempts of a subscription, newest first, also after it was deleted",
		}, a.attemptsOf),
		list[webhook.Attempt](Operation{
			Name: "list_all_webhook_deliveries", Path: "/v1/webhook-deliveries/list",
			Summary: "List the delivery attempts of all subscriptions, with filters, search and sorting",
			example: []byte(`{"filters": [{"field": "status", "condition": "is", "value": "failed"}], "sort": "-duration_ms"}`),
		}, w.AttemptList),
		facets, a.exportOperation(w.AttemptList, nil),
		write(Operation{
			Name: "redeliver_webhook", Method: http.MethodPost, Path: path + "/{subscription_id}/deliveries/{attempt_id}/redeliver",
			Access: identity.Admin, Status: http.StatusAccepted,
			Codes:   []fault.Code{fault.SubscriptionNotActive},
			Summary: "Redeliver the event of an attempt with the current state of its object and the same event id",
		}, byID(func(c *call, tx *store.Tx, id uuid.UUID, _ nothing) (webhook.Queued, error) {
			attempt, err := c.pathID(1)
			if err != nil {
				return webhook.Queued{}, err
			}
			return w.Redeliver(tx, id, attempt)
		})),
		write(Operation{
			Name: "redeliver_failed_webhooks", Method: http.MethodPost, Path: path + "/{subscription_id}/redeliver-failed",
			Access:  identity.Admin,
			Codes:   []fault.Code{fault.SubscriptionNotActive},
			Summary: "Redeliver the events that were given up since a time, up to 1,000 per request",
			example: []byte(`{"since": "2026-04-01T09:00:00Z"}`),
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in webhook.RedeliverFailedBody) (webhook.Redelivered, error) {
			return w.RedeliverFailed(tx, id, in)
		})),
	}
}
