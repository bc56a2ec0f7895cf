package handlers

import (
	"reflect"
	"strings"

	"prospector/internal/shape"
	"prospector/internal/webhook"
)

// The headers of every event (Standard Webhooks), and the meaning of the subscriber's response.
var (
	eventHeaders = []apiParameter{
		{Name: "webhook-id", In: "header", Required: true, Schema: text(shape.Schema{Format: "uuid"}),
			Description: "The id of the event, the same in every attempt. Use it to ignore events that you " +
				"have already processed."},
		{Name: "webhook-timestamp", In: "header", Required: true, Schema: &shape.Schema{Type: shape.Types{"integer"}},
			Description: "The time of this attempt as a Unix timestamp. Reject requests that are several minutes old."},
		{Name: "webhook-signature", In: "header", Required: true, Schema: text(shape.Schema{}),
			Description: "`v1,` followed by a base64 signature: the HMAC-SHA256 of id, timestamp and body, joined with dots, using the secret " +
				"of the subscription. For a day after a rotation, the header contains one signature per secret, separated by spaces. Accept the " +
				"request if any of them is valid."},
	}
	eventResponses = map[string]*apiResponse{
		"2XX":     {Description: "The event was received."},
		"410":     {Description: "The endpoint no longer exists. The subscription is disabled."},
		"default": {Description: "The attempt failed. It is retried with increasing delays until the last retry fails. A missing response is a failure too, and redirects are not followed."},
	}
)

const goneEvent = "GoneEvent"

// events documents the requests that subscribers receive, one per trigger, and adds the schemas of their
// bodies to the components. The component Event is any of these bodies.
func (a *API) events(schemas shape.Components) map[string]map[string]*apiMethod {
	requests := map[string]map[string]*apiMethod{}
	event := &shape.Schema{AnyOf: []*shape.Schema{shape.RefTo(goneEvent)}}
	schemas[goneEvent] = eventSchema(schemas.Of(reflect.TypeFor[webhook.Gone](), shape.Answer))
	schemas[goneEvent].Description = "An event about a deleted object: its deletion, or an earlier event that is redelivered after the deletion."
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
		Description: "Delivered at least once to every active subscription to `" + t.Key + "`.",
		Tags:        []string{webhookGroup}, Security: &[]map[string][]string{}, Parameters: eventHeaders,
		Body:      &apiBody{Required: true, Content: map[string]apiMedia{"application/json": {Schema: body, Example: mustJSON(t.Example)}}},
		Responses: eventResponses,
	}
}

// keysOf returns the keys of the triggers whose events contain this type of record.
func (a *API) keysOf(record reflect.Type) []string {
	var keys []string
	for _, t := range a.Webhooks.TriggerRegistry.Triggers {
		if t.Record == record && !t.Gone {
			keys = append(keys, t.Key)
		}
	}
	return keys
}

// eventSchema returns the schema of the event envelope with the given data. If keys are given, only they
// are allowed as trigger_key.
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
