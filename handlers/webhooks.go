package handlers

import (
	"net/http"
	"reflect"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/webhook"
	"prospector/store"
)

// NewSubscription is a subscription with a new secret, the only time that it is shown.
type NewSubscription struct {
	webhook.Subscription
	Secret string `json:"secret" rule:"optional" doc:"What deliveries are signed with, in this answer alone: an answer repeated for an Idempotency-Key is without it."`

	version string
}

func newSubscription(doc store.Doc[webhook.Subscription], secret string) NewSubscription {
	return NewSubscription{Subscription: doc.Record, Secret: secret, version: doc.Version()}
}

func (s NewSubscription) secret() (shown, kept any, version string) {
	return s, s.Subscription, s.version
}

// attemptPage is a page of attempts, as they are stored.
type attemptPage struct {
	query   webhook.AttemptQuery
	records [][]byte
	total   int
}

func (attemptPage) output() outputSource {
	return outputSource{typ: reflect.TypeFor[webhook.Attempt](), list: true}
}

func (p attemptPage) list(a *API) ([]byte, error) {
	return a.listEnvelope(p.records, paginate(p.query.Page, p.query.PageSize, p.total)), nil
}

// webhookOperations are those of subscriptions to events, and of what was delivered to them.
func (a *API) webhookOperations() []Operation {
	const path = "/v1/webhooks/subscriptions"
	w := a.Webhooks
	return []Operation{
		plain(Operation{
			Name: "list_webhook_triggers", Method: http.MethodGet, Path: "/v1/webhooks/triggers", Access: identity.Read,
			Summary: "List the events that a subscription can want, each with an example of what is sent",
		}, func(*call, nothing) (all[webhook.Trigger], error) { return w.Triggers, nil }),
		write(Operation{
			Name: "create_webhook_subscription", Method: http.MethodPost, Path: path, Access: identity.Admin, Status: http.StatusCreated,
			Summary: "Subscribe an endpoint to events; its secret is in this answer alone",
			example: []byte(`{"url": "https://hooks.example.com/prospector", "triggers": ["contact.*", "tam_import.completed"]}`),
		}, func(_ *call, tx *store.Tx, in creates[webhook.Subscription]) (NewSubscription, error) {
			doc, secret, err := w.Create(tx, in.Draft)
			return newSubscription(doc, secret), err
		}),
		listing[webhook.Subscription](Operation{
			Name: "list_webhook_subscriptions", Path: path + "/list", Summary: "List webhook subscriptions, filtered, searched and sorted",
		}, w.Subscriptions.List),
		read(Operation{
			Name: "get_webhook_subscription", Method: http.MethodGet, Path: path + "/{subscription_id}", Access: identity.Read,
			Summary: "Read a webhook subscription, and how it fares",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, _ nothing) (store.Doc[webhook.Subscription], error) {
			return w.Subscriptions.Get(tx, id)
		})),
		write(Operation{
			Name: "update_webhook_subscription", Method: http.MethodPatch, Path: path + "/{subscription_id}", Access: identity.Admin,
			Summary: "Change a webhook subscription: pause it, or make it active again, which delivers what has waited",
			example: []byte(`{"status": "paused"}`),
		}, byID(func(c *call, tx *store.Tx, id uuid.UUID, in updates[webhook.Subscription]) (store.Doc[webhook.Subscription], error) {
			return w.Update(tx, id, ifMatch(c.request), in.Value)
		})),
		write(Operation{
			Name: "delete_webhook_subscription", Method: http.MethodDelete, Path: path + "/{subscription_id}", Access: identity.Admin, Status: http.StatusNoContent,
			Summary: "Delete a webhook subscription: nothing more is delivered, its secret is gone, and its delivery history stays",
		}, byID(func(c *call, tx *store.Tx, id uuid.UUID, _ nothing) (nothing, error) {
			return nothing{}, w.Delete(tx, id, ifMatch(c.request))
		})),
		write(Operation{
			Name: "rotate_webhook_secret", Method: http.MethodPost, Path: path + "/{subscription_id}/rotate-secret", Access: identity.Admin,
			Summary: "Give a webhook subscription a new secret; for 24 hours deliveries are signed with the old one too",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, _ nothing) (NewSubscription, error) {
			doc, secret, err := w.RotateSecret(tx, id)
			return newSubscription(doc, secret), err
		})),
		write(Operation{
			Name: "test_webhook_subscription", Method: http.MethodPost, Path: path + "/{subscription_id}/test", Access: identity.Admin, Status: http.StatusAccepted,
			Codes: []fault.Code{fault.SubscriptionNotActive}, Summary: "Send webhook.test to the endpoint, whatever it wants to know",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, _ nothing) (webhook.Queued, error) {
			return w.Test(tx, id)
		})),
		read(Operation{
			Name: "list_webhook_deliveries", Method: http.MethodGet, Path: path + "/{subscription_id}/deliveries", Access: identity.Read,
			Summary: "List the attempts to deliver to a subscription, also to one that was deleted, the newest first",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in webhook.AttemptQuery) (attemptPage, error) {
			records, total, err := w.Attempts(tx, id, in)
			return attemptPage{in, records, total}, err
		})),
		write(Operation{
			Name: "redeliver_webhook", Method: http.MethodPost, Path: path + "/{subscription_id}/deliveries/{attempt_id}/redeliver", Access: identity.Admin, Status: http.StatusAccepted,
			Codes: []fault.Code{fault.SubscriptionNotActive}, Summary: "Deliver the event of an attempt again, with its object as it is now and under the same envelope id",
		}, byID(func(c *call, tx *store.Tx, id uuid.UUID, _ nothing) (webhook.Queued, error) {
			attempt, err := c.pathID(1)
			if err != nil {
				return webhook.Queued{}, err
			}
			return w.Redeliver(tx, id, attempt)
		})),
	}
}
