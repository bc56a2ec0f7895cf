package sequence

import (
	"math"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/fault"
	"prospector/store"
)

// EraseContact deletes the sequences and messages of a contact that was deleted, the Tasks that its sequences created, and
// what is known of the last email to its addresses. The statistics of campaigns no longer count them.
func (e *Engine) EraseContact(tx *store.Tx, contact uuid.UUID, addresses []string) error {
	err := e.withEngine(tx, func(x *engineTx) error {
		return eachUnder(tx, e.sequences, byAnyContact, contact[:], func(doc store.Doc[Sequence]) error {
			if err := x.count(&doc.Record, -1); err != nil {
				return err
			}
			if err := e.sequences.Delete(tx, doc); err != nil {
				return err
			}
			return e.eraseTasks(tx, &doc.Record)
		})
	})
	if err != nil {
		return err
	}
	err = eachUnder(tx, e.messages, ofContact, contact[:], func(doc store.Doc[Message]) error {
		return e.messages.Delete(tx, doc)
	})
	for _, email := range addresses {
		if err == nil {
			_, err = e.recipients.Delete(tx, recipientID(address.Key(email)), 0, math.MaxInt)
		}
	}
	return err
}

// eraseTasks deletes the Tasks that a sequence created, whose texts have values of its contact.
func (e *Engine) eraseTasks(tx *store.Tx, s *Sequence) error {
	for _, task := range s.tasks() {
		if err := e.crm.Tasks.Erase(tx, task, nil); err != nil && fault.CodeOf(err) != fault.NotFound {
			return err
		}
	}
	return nil
}

func (s *Sequence) tasks() (ids []uuid.UUID) {
	for i := range s.History {
		if task := s.History[i].TaskID; task.Valid {
			ids = append(ids, task.UUID)
		}
	}
	return ids
}

// Traces are what the engine has of a contact.
type Traces struct {
	Sequences, Messages []uuid.UUID
	Tasks               []uuid.UUID // that the sequences created
	Addresses           []string    // to which emails went, or will
}

// TracesOf returns what the engine has of a contact.
func (e *Engine) TracesOf(tx *store.Tx, contact uuid.UUID) (t Traces, err error) {
	if t.Sequences, err = e.sequences.IDs(tx, byAnyContact, contact[:], 0); err != nil {
		return t, err
	}
	err = e.sequences.Each(tx, t.Sequences, func(doc store.Doc[Sequence]) error {
		t.Tasks = append(t.Tasks, doc.Record.tasks()...)
		t.Addresses = append(t.Addresses, doc.Record.state.Addresses...)
		return nil
	})
	if err != nil {
		return t, err
	}
	if t.Messages, err = e.messages.IDs(tx, ofContact, contact[:], 0); err != nil {
		return t, err
	}
	err = e.messages.Each(tx, t.Messages, func(doc store.Doc[Message]) error {
		t.Addresses = append(t.Addresses, doc.Record.To)
		return nil
	})
	slices.Sort(t.Addresses)
	t.Addresses = slices.Compact(t.Addresses)
	return t, err
}
