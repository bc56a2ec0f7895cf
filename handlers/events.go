package handlers

import (
	"reflect"
	"strings"

	"prospector/internal/shape"
	"prospector/internal/webhook"
)

// What a subscriber gets with every event (Standard Webhooks), and what becomes of the answer.
var (
	eventHeaders = []apiParameter{
		{Name: "webhook-id", In: "header", Required: true, Schema: text(shape.Schema{Format: "uuid"}),
			Description: "The id of the event. It is the same in every attempt: one that was seen before needs nothing more."},
		{Name: "webhook-timestamp", In: "header", Required: true, Schema: &shape.Schema{Type: shape.Types{"integer"}},
			Description: "When this attempt was made, as a Unix time. Refuse one that is minutes old."},
		{Name: "webhook-signature", In: "header", Required: true, Schema: text(shape.Schema{}),
			Description: "`v1,` and a signature in base64: the HMAC-SHA256 of id, timestamp and body with dots between them, under the secret " +
				"of the subscription. After the secret was rotated there is one for each secret of the last day, with spaces between; any will do."},
	}
	eventAnswers = map[string]*apiResponse{
		"2XX":     {Description: "The event was taken."},
		"410":     {Description: "Nobody is there any more: the subscription is disabled."},
		"default": {Description: "The attempt has failed, as it has without an answer. It is made again, later and later, until it is given up. Redirects are not followed."},
	}
)

const goneEvent = "GoneEvent"

// events documents what subscribers are sent: the request for each kind of event, and the schemas of its body. They are
// components of the document; Event is any of them, for an answer that shows one.
func (a *API) events(schemas shape.Components) map[string]map[string]*apiMethod {
	requests := map[string]map[string]*apiMethod{}
	event := &shape.Schema{AnyOf: []*shape.Schema{shape.RefTo(goneEvent)}}
	schemas[goneEvent] = eventSchema(schemas.Of(reflect.TypeFor[webhook.Gone](), shape.Answer))
	schemas[goneEvent].Description = "An event about what is gone: its deletion, or an earlier event that is delivered again after that."
	for _, t := range a.Webhooks.TriggerRegistry.Triggers {
		body := shape.RefTo(goneEvent)
		if !t.Gone {
			name := t.Record.Name() + "Event"
			if schemas[name] == nil {
				schemas[name] = eventSchema(schemas.Of(t.Record, shape.Answer), a.keysOf(t.Record)...)
				event.AnyOf = append(event.AnyOf, shape.RefTo(name))
			}
			body = &shape.Schema{AnyOf: []*shape.Schema{shape.RefTo(name), body}}
		}
		requests[t.Key] = map[string]*apiMethod{"post": eventMethod(&t, body)}
	}
	schemas["Event"] = event
	return requests
}

func eventMethod(t *webhook.Trigger, body *shape.Schema) *apiMethod {
	return &apiMethod{
		OperationID: "on_" + strings.ReplaceAll(t.Key, ".", "_"), Summary: strings.TrimSuffix(t.Description, "."),
		Description: "Sent to every active subscription that wants `" + t.Key + "`, at least once.",
		Tags:        []string{webhookGroup}, Security: &[]map[string][]string{}, Parameters: eventHeaders,
		Body:      &apiBody{Required: true, Content: map[string]apiMedia{"application/json": {Schema: body, Example: mustJSON(t.Example)}}},
		Responses: eventAnswers,
	}
}

// keysOf are the keys of the events that have such a record.
func (a *API) keysOf(record reflect.Type) []string {
	var keys []string
	for _, t := range a.Webhooks.TriggerRegistry.Triggers {
		if t.Record == record && !t.Gone {
			keys = append(keys, t.Key)
		}
	}
	return keys
}

// eventSchema is the envelope with such data, and with these keys if any are given.
func eventSchema(data *shape.Schema, keys ...string) *shape.Schema {
	own := shape.Components{}
	own.Of(reflect.TypeFor[webhook.Envelope](), shape.Answer)
	s := own["Envelope"]
	if keys != nil {
		s.Properties.Set("trigger_key", text(shape.Schema{Enum: keys, Description: "What happened."}))
	}
	s.Properties.Set("data", data)
	return s
}
