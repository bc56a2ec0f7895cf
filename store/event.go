package store

import "github.com/google/uuid"

// Event is something that happened to an object of the organization, with the object as GET returns
// it.
type Event struct {
	Trigger string
	ID      uuid.UUID // of the object
	Data    []byte
	Changed []string // the fields that an update changed
	// Extra is a struct whose members the event adds to those of the object. Nil adds none.
	Extra any
}

// Source is a kind of object that emits events.
type Source struct {
	Object   string // the first part of its trigger keys
	Triggers []Trigger
	Example  any // an object as the API returns it
	// Read returns the current object as GET does. A deleted object is not_found.
	Read func(tx *Tx, id uuid.UUID) ([]byte, error)
}

// Trigger is a kind of event of an object.
type Trigger struct {
	Event       string // the second part of the trigger key
	Description string
	Gone        bool // the object was deleted: the event has only its id
	// Example is the object at that time, if the example of the Source does not fit. It has
	// another type if the event adds members.
	Example any
	Changed []string // an example of the fields that an update changed
}

// Emit passes an event to Options.Events, inside this transaction.
func (tx *Tx) Emit(e Event) error {
	if tx.store.opt.Events == nil {
		return nil
	}
	return tx.store.opt.Events(tx, e)
}
