package webhook

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/internal/shape"
)

// Envelope is what is sent: an event with the object that it tells of.
type Envelope struct {
	ID         uuid.UUID      `json:"id" doc:"The id of the event, the same in every attempt to deliver it."`
	TriggerKey string         `json:"trigger_key" doc:"What happened."`
	CreatedAt  shape.Time     `json:"created_at" rule:"required" doc:"When it happened."`
	OrgID      uuid.UUID      `json:"org_id" doc:"The organization that the object is of."`
	Data       jsontext.Value `json:"data" rule:"component=EventData" doc:"The object as its GET shows it; of what is gone the id alone."`
}

// envelope is that of an event; when it happened is in its id.
func envelope(event uuid.UUID, trigger string, org uuid.UUID, data []byte) Envelope {
	sec, nsec := event.Time().UnixTime()
	return Envelope{ID: event, TriggerKey: trigger, CreatedAt: shape.At(time.Unix(sec, nsec)), OrgID: org, Data: data}
}

// Gone is the data of an event about what is gone.
type Gone struct {
	ID      uuid.UUID `json:"id" rule:"required"`
	Deleted bool      `json:"deleted,omitzero" rule:"optional" doc:"True in an earlier event that is delivered again after the object was deleted."`
}
