package record

import (
	"strings"

	"github.com/go-json-experiment/json"

	"prospector/store"
)

// The events that kinds of records have.
const (
	createdEvent = "created"
	updatedEvent = "updated"
	deletedEvent = "deleted"
	// restoredEvent is emitted in place of createdEvent when a record comes back from the trash.
	restoredEvent = "restored"
)

// Sources returns the event sources of the kinds that emit events.
func (s *Set) Sources() []store.Source {
	var sources []store.Source
	for _, k := range s.kinds {
		if source, emits := k.source(); emits {
			sources = append(sources, source)
		}
	}
	return sources
}

func (k *kind) source() (_ store.Source, emits bool) {
	if k.silent {
		return store.Source{}, false
	}
	a := k.WithArticle()
	a = strings.ToUpper(a[:1]) + a[1:]
	triggers := []store.Trigger{{Event: createdEvent, Description: a + " was created.", Example: k.newExample}}
	if !k.noUpdateEvent {
		triggers = append(triggers, store.Trigger{
			Event: updatedEvent, Description: a + " was changed.", Changed: []string{k.exampleChange()},
		})
	}
	if !k.noDeleteEvent {
		triggers = append(triggers, store.Trigger{Event: deletedEvent, Description: a + " was deleted.", Gone: true})
	}
	if k.hasTrash {
		triggers = append(triggers, store.Trigger{Event: restoredEvent, Description: a + " was restored from the trash."})
	}
	return store.Source{
		Object: k.Object, Triggers: append(triggers, k.triggers...), Example: k.example, Read: k.table.Public,
	}, true
}

// exampleChange returns a field that an update can change.
func (k *kind) exampleChange() string {
	for _, f := range k.shape.Fields {
		if !f.ReadOnly && !f.Input {
			return f.Key
		}
	}
	panic("record: " + k.Entity + " has no field that can change")
}

// Example decodes an example record. It panics on invalid JSON, because examples are constants.
func Example[T any](text string) T {
	var rec T
	if err := json.Unmarshal([]byte(text), &rec, json.RejectUnknownMembers(true)); err != nil {
		panic("record: decode example: " + err.Error())
	}
	return rec
}
