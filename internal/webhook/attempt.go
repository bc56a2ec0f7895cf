package webhook

import (
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// Attempt is one HTTP request to the endpoint of a subscription. It is written once, in the transaction that records
// the outcome.
type Attempt struct {
	ID             uuid.UUID     `json:"id" label:"ID"`
	SubscriptionID uuid.UUID     `json:"subscription_id" label:"Subscription" doc:"The subscription may have been deleted."`
	SourceEventID  uuid.UUID     `json:"source_event_id" label:"Event" doc:"The id of the envelope. Retries have the same id."`
	TriggerKey     string        `json:"trigger_key"`
	Attempt        int           `json:"attempt" rule:"min=1" doc:"The number of the attempt to deliver the envelope, from 1."`
	Status         AttemptStatus `json:"status" rule:"enum=succeeded|failed"`
	DurationMS     int           `json:"duration_ms"`
	CreatedAt      shape.Time    `json:"created_at" doc:"When the attempt ended and was stored."`
	ResponseCode   shape.Number  `json:"response_code" rule:"integer" doc:"The HTTP status of the answer. Null without an answer."`
	Error          shape.Text    `json:"error" doc:"Why the attempt failed: dns, connect, tls, timeout, redirect or http_ with the status, followed by a description."`

	about subject
}

// AttemptStatus is the result of an attempt.
type AttemptStatus string

const (
	Succeeded AttemptStatus = "succeeded"
	Failed    AttemptStatus = "failed"
)

// subject is what the event of an attempt is about. Redelivery needs it.
type subject struct {
	Object uuid.UUID `json:"object"`
	eventDetail
}

// Private returns the part that is stored beside the attempt and never shown.
func (a *Attempt) Private() any { return &a.about }

// delivery returns the id of the delivery that the attempt was made for.
func (a *Attempt) delivery() uuid.UUID { return deliveryID(a.SourceEventID, a.SubscriptionID) }

// The keys of attempts.
const (
	byEvent  = "event"  // the delivery, which is one event for one subscription
	byFailed = "failed" // only failed attempts: the subscription and the time
)

func newAttempts() *store.Table[Attempt] {
	return record.NewTable("webhook_attempts", nil, []store.Key[Attempt]{
		{Name: byEvent, Of: func(_ *store.Tx, a *Attempt) ([][]byte, error) {
			id := a.delivery()
			return [][]byte{id[:]}, nil
		}},
		{Name: byFailed, Of: func(_ *store.Tx, a *Attempt) ([][]byte, error) {
			if a.Status != Failed {
				return nil, nil
			}
			return [][]byte{dueKey(a.SubscriptionID, a.CreatedAt.Milli())}, nil
		}},
	}).ShortHistory()
}

// later returns how many attempts to deliver the same event followed an attempt.
func (w *Webhooks) later(tx *store.Tx, a *Attempt) (n int, err error) {
	delivery := a.delivery()
	ids, err := w.attempts.IDs(tx, byEvent, delivery[:], 0)
	for _, id := range ids {
		if store.CompareIDs(id, a.ID) > 0 {
			n++
		}
	}
	return n, err
}

// deletedSubscription is a subscription that was deleted. Its attempts are kept for the retention time, and so is this.
type deletedSubscription struct {
	DeletedAt shape.Time `json:"deleted_at"`
}

func newDeletedSubscriptions(name string) *store.Table[deletedSubscription] {
	return store.NewTable[deletedSubscription](name, nil, nil).Unlogged()
}

// HadSubscription returns not_found unless a subscription exists, or was deleted less than the retention time ago.
func (w *Webhooks) HadSubscription(tx *store.Tx, id uuid.UUID) error {
	if !w.Subscriptions.Table.Has(tx, id) && !w.deleted.Has(tx, id) {
		return fault.ErrNotFound
	}
	return nil
}

// AttemptQuery selects a page of the attempts of a subscription, newest first.
type AttemptQuery struct {
	Page          int           `json:"page" rule:"min=1,default=1" doc:"The page number, from 1."`
	PageSize      int           `json:"page_size" rule:"min=1,max=100,default=50" doc:"The number of attempts per page."`
	Status        AttemptStatus `json:"status" rule:"enum=succeeded|failed" doc:"Only attempts with this status."`
	SourceEventID shape.Text    `json:"source_event_id" doc:"Only attempts to deliver the envelope with this id."`
	TriggerKey    shape.Text    `json:"trigger_key" doc:"Only attempts to deliver events of this kind."`
	From          shape.Time    `json:"from" doc:"Only attempts whose created_at is not earlier."`
	Before        shape.Time    `json:"before" doc:"Only attempts whose created_at is earlier."`
}

// Body returns the query as the body of a list.
func (q *AttemptQuery) Body() filter.ListBody {
	rules := shape.Value{Kind: shape.List}
	text := func(s string) shape.Value { return shape.Value{Kind: shape.String, Text: s} }
	where := func(field string, condition filter.Condition, value string) {
		if value != "" {
			rules.Items = append(rules.Items, shape.Value{Kind: shape.Object, Members: []shape.Member{
				{Key: "field", Value: text(field)}, {Key: "condition", Value: text(string(condition))}, {Key: "value", Value: text(value)},
			}})
		}
	}
	if event := string(q.SourceEventID); event != "" {
		id, _ := shape.ParseID(event) // what is not an id finds nothing, because no event has the zero id
		where("source_event_id", filter.Is, id.String())
	}
	where("status", filter.Is, string(q.Status))
	where("trigger_key", filter.Is, string(q.TriggerKey))
	if q.From.Valid() {
		where("created_at", filter.AtLeast, q.From.String())
	}
	if q.Before.Valid() {
		where("created_at", filter.IsBefore, q.Before.String())
	}
	// Ids are in the order in which attempts were stored, also if the clock was set back.
	return filter.ListBody{Filters: rules, Sort: "-id", Page: q.Page, PageLimit: filter.PageLimit{PageSize: q.PageSize}}
}
