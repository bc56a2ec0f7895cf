package webhook

import (
	"fmt"
	"reflect"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
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

// Trigger is a kind of event that a subscription can want.
type Trigger struct {
	Key         string   `json:"key"`
	Description string   `json:"description"`
	Example     Envelope `json:"example" rule:"component=Event"`

	Object string       `json:"-"`
	Gone   bool         `json:"-"` // the data has the object's id alone
	Record reflect.Type `json:"-"` // of what the data is otherwise
}

// Catalogue is every kind of event there is.
type Catalogue struct {
	Triggers []Trigger
	sources  map[string]store.Source // by object
}

// Gone is the data of an event about what is gone.
type Gone struct {
	ID      uuid.UUID `json:"id" rule:"required"`
	Deleted bool      `json:"deleted,omitzero" rule:"optional" doc:"True in an earlier event that is delivered again after the object was deleted."`
}

// NewCatalogue makes the catalogue of the sources, with an example of each kind of event.
func NewCatalogue(sources []store.Source) (*Catalogue, error) {
	c := &Catalogue{sources: map[string]store.Source{}}
	for _, s := range sources {
		c.sources[s.Object] = s
		for _, t := range s.Triggers {
			key := s.Object + "." + t.Event
			data, err := exampleData(s, t)
			if err != nil {
				return nil, fmt.Errorf("the example of %s: %w", key, err)
			}
			c.Triggers = append(c.Triggers, Trigger{
				Key: key, Description: t.Description, Object: s.Object, Gone: t.Gone, Record: reflect.TypeOf(s.Example).Elem(),
				Example: envelope(exampleEvent, key, exampleOrg, data),
			})
		}
	}
	return c, nil
}

func exampleData(s store.Source, t store.Trigger) ([]byte, error) {
	example := t.Example
	if example == nil {
		example = s.Example
	}
	full, err := json.Marshal(example, json.Deterministic(true))
	if err != nil || !t.Gone {
		return full, err
	}
	var gone Gone
	if err := json.Unmarshal(full, &gone); err != nil {
		return nil, err
	}
	return json.Marshal(gone)
}

// The examples are of one organization. The event is later than what the examples of records tell.
var (
	exampleEvent = uuid.MustParse("019cd74b-e0bd-74cf-bbd0-63257982bd64")
	exampleOrg   = uuid.MustParse("019cd6c2-8c00-7438-ae6b-a7bca9d37914")
)
