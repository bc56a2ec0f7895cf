package webhook

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/internal/shape"
)

// Envelope is the body of a delivery: an event with the object it is about.
type Envelope struct {
	ID         uuid.UUID      `json:"id" doc:"The id of the event. Every attempt to deliver it has the same id."`
	TriggerKey string         `json:"trigger_key" doc:"The kind of event."`
	CreatedAt  shape.Time     `json:"created_at" rule:"required" doc:"When the event happened."`
	OrgID      uuid.UUID      `json:"org_id" doc:"The organization that the object belongs to."`
	Data       jsontext.Value `json:"data" rule:"component=EventData" doc:"The object as GET returns it. For a deleted object, only its id."`
}

// envelope builds the envelope of an event. The id of the event contains its time.
func envelope(event uuid.UUID, trigger string, org uuid.UUID, data []byte) Envelope {
	sec, nsec := event.Time().UnixTime()
	return Envelope{ID: event, TriggerKey: trigger, CreatedAt: shape.At(time.Unix(sec, nsec)), OrgID: org, Data: data}
}

// Gone is the data of an event about a deleted object.
type Gone struct {
	ID      uuid.UUID `json:"id" rule:"required"`
	Deleted bool      `json:"deleted,omitzero" rule:"optional" doc:"True when an earlier event is redelivered after its object was deleted."`
}
