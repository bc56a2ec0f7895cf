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
		if k.source != nil {
			sources = append(sources, *k.source)
		}
	}
	return sources
}

// newSource describes the events of a kind: created, the given ones of updated, deleted and restored, and more.
func (k *kind) newSource(newExample any, hasUpdate, hasDelete, hasRestore bool, more []store.Trigger) *store.Source {
	a := k.WithArticle()
	a = strings.ToUpper(a[:1]) + a[1:]
	triggers := []store.Trigger{{Event: createdEvent, Description: a + " was created.", Example: newExample}}
	if hasUpdate {
		triggers = append(triggers, store.Trigger{
			Event: updatedEvent, Description: a + " was changed.", Changed: []string{k.exampleChange()},
		})
	}
	if hasDelete {
		triggers = append(triggers, store.Trigger{Event: deletedEvent, Description: a + " was deleted.", Gone: true})
	}
	if hasRestore {
		triggers = append(triggers, store.Trigger{Event: restoredEvent, Description: a + " was restored from the trash."})
	}
	return &store.Source{Object: k.Object, Triggers: append(triggers, more...), Example: k.example, Read: k.table.Public}
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
