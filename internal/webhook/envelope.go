package webhook

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

// Envelope is the body of a delivery: an event with the object it is about.
type Envelope struct {
	ID         uuid.UUID      `json:"id" doc:"The id of the event. Every attempt to deliver it has the same id."`
	TriggerKey string         `json:"trigger_key" doc:"The kind of event."`
	CreatedAt  shape.Time     `json:"created_at" rule:"required" doc:"When the event happened."`
	OrgID      uuid.UUID      `json:"org_id" doc:"The organization that the object belongs to."`
	UserID     uuid.NullUUID  `json:"user_id" doc:"The user who made the change, in the console or with an API key. Null if the service made it."`
	Changed    []string       `json:"changed,omitzero" rule:"optional" doc:"The fields that the update changed. Only events with the key object.updated have it."`
	Data       jsontext.Value `json:"data" rule:"component=EventData" doc:"The object as GET returns it. For a deleted object, only its id."`
}

// envelope builds the envelope of an event. The id of the event contains its time.
func envelope(event uuid.UUID, trigger string, org uuid.UUID, detail eventDetail, data []byte) Envelope {
	return Envelope{
		ID: event, TriggerKey: trigger, CreatedAt: shape.At(timeOf(event)), OrgID: org,
		UserID: uuid.NullUUID{UUID: detail.User, Valid: detail.User != uuid.Nil}, Changed: detail.Changed, Data: data,
	}
}

// timeOf returns the time at which an id was made.
func timeOf(id uuid.UUID) time.Time { return time.Unix(id.Time().UnixTime()) }

// eventDetail is what an event says beside its object. Redelivery needs it after the delivery is
// gone, so it is also stored with each attempt.
type eventDetail struct {
	User    uuid.UUID      `json:"user,omitzero"` // who made the change, if it was a user
	Changed []string       `json:"changed,omitzero"`
	Extra   jsontext.Value `json:"extra,omitzero"` // an object with the members that the event adds to the data
}

func newDetail(tx *store.Tx, e store.Event) (d eventDetail, err error) {
	d.User, d.Changed = tx.Actor().User, e.Changed
	if e.Extra != nil {
		d.Extra, err = json.Marshal(e.Extra, json.Deterministic(true))
	}
	return d, err
}

// addTo returns the JSON of an object with the members of the event.
func (d *eventDetail) addTo(object []byte) []byte {
	if d.Extra == nil {
		return object
	}
	return slices.Concat(object[:len(object)-1], []byte(","), d.Extra[1:]) // neither is empty
}

// Gone is the data of an event about a deleted object.
type Gone struct {
	ID      uuid.UUID `json:"id" rule:"required"`
	Deleted bool      `json:"deleted,omitzero" rule:"optional" doc:"True when an earlier event is redelivered after its object was deleted."`
}
