package webhook

import (
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/store"
)

// Trigger is a kind of event that a subscription can name.
type Trigger struct {
	Key         string   `json:"key"`
	Description string   `json:"description"`
	Example     Envelope `json:"example" rule:"component=Event"`

	Object string       `json:"-"`
	Gone   bool         `json:"-"` // the data is a Gone
	Record reflect.Type `json:"-"` // type of the data otherwise
}

// TriggerRegistry lists every kind of event.
type TriggerRegistry struct {
	Triggers []Trigger
	sources  map[string]store.Source // by object
}

// newTriggerRegistry builds the registry from the sources, with an example of each kind of event.
func newTriggerRegistry(sources []store.Source) (*TriggerRegistry, error) {
	c := &TriggerRegistry{sources: map[string]store.Source{}}
	for _, s := range sources {
		c.sources[s.Object] = s
		for _, t := range s.Triggers {
			key := s.Object + "." + t.Event
			if t.Example == nil {
				t.Example = s.Example
			}
			data, err := exampleData(t)
			if err != nil {
				return nil, fmt.Errorf("example of trigger %s: %w", key, err)
			}
			c.Triggers = append(c.Triggers, Trigger{
				Key: key, Description: t.Description, Object: s.Object, Gone: t.Gone, Record: reflect.TypeOf(t.Example).Elem(),
				Example: envelope(exampleEvent, key, exampleOrg, eventDetail{User: exampleUser, Changed: t.Changed}, data),
			})
		}
	}
	return c, nil
}

func exampleData(t store.Trigger) ([]byte, error) {
	full, err := json.Marshal(t.Example, json.Deterministic(true))
	if err != nil || !t.Gone {
		return full, err
	}
	var gone Gone
	if err := json.Unmarshal(full, &gone); err != nil {
		return nil, err
	}
	return json.Marshal(gone)
}

// The examples share one organization. The example event is later than every time in the example
// records.
var (
	exampleEvent = uuid.MustParse("019cd74b-e0bd-74cf-bbd0-63257982bd64")
	exampleOrg   = uuid.MustParse("019cd6c2-8c00-7438-ae6b-a7bca9d37914")
	exampleUser  = uuid.MustParse("019cd6c2-8c00-7a4e-9c0b-5be1f0a7d2c3")
)
