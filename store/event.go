package store

import "github.com/google/uuid"

// Event is something that happened to an object of the organization, with the object as its GET shows it.
type Event struct {
	Trigger string
	ID      uuid.UUID // of the object
	Data    []byte
}

// Source is an object that events tell of.
type Source struct {
	Object   string // the first part of its triggers
	Triggers []Trigger
	Example  any // such an object, as it is answered
	// Read gives an object as its GET shows it now; one that is gone is not_found.
	Read func(tx *Tx, id uuid.UUID) ([]byte, error)
}

// Trigger is something that can happen to an object.
type Trigger struct {
	Event       string // the second part of its key
	Description string
	Gone        bool // the object is gone then: the event has its id alone
	Example     any  // the object at that moment, where the Source's does not fit
}

// Emit offers an event to whoever wants it, inside this transaction.
func (tx *Tx) Emit(e Event) error {
	if tx.store.opt.Events == nil {
		return nil
	}
	return tx.store.opt.Events(tx, e)
}
