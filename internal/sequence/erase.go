package sequence

import (
	"math"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/fault"
	"prospector/store"
)

// EraseContact deletes the sequences and messages of a contact that was deleted, the Tasks that its sequences created, and
// what is known of the last email to its address. The statistics of campaigns no longer count them. It returns how many
// sequences and messages there were.
func (e *Engine) EraseContact(tx *store.Tx, contact uuid.UUID, email string) (sequences, messages int, err error) {
	ids, err := e.sequences.IDs(tx, byAnyContact, contact[:], 0)
	if err != nil {
		return 0, 0, err
	}
	err = e.withEngine(tx, func(x *engineTx) error {
		return e.sequences.Each(tx, ids, func(doc store.Doc[Sequence]) error {
			sequences++
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
		return sequences, 0, err
	}
	if ids, err = e.messages.IDs(tx, ofContact, contact[:], 0); err != nil {
		return sequences, 0, err
	}
	err = e.messages.Each(tx, ids, func(doc store.Doc[Message]) error {
		messages++
		return e.messages.Delete(tx, doc)
	})
	if err == nil {
		_, err = e.recipients.Delete(tx, recipientID(address.Key(email)), 0, math.MaxInt)
	}
	return sequences, messages, err
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

// Of returns the number of sequences and messages of a contact, and the Tasks that its sequences created.
func (e *Engine) Of(tx *store.Tx, contact uuid.UUID) (sequences, messages int, tasks []uuid.UUID, err error) {
	ids, err := e.sequences.IDs(tx, byAnyContact, contact[:], 0)
	if err != nil {
		return 0, 0, nil, err
	}
	err = e.sequences.Each(tx, ids, func(doc store.Doc[Sequence]) error {
		tasks = append(tasks, doc.Record.tasks()...)
		return nil
	})
	if err != nil {
		return 0, 0, nil, err
	}
	sent, err := e.messages.IDs(tx, ofContact, contact[:], 0)
	return len(ids), len(sent), tasks, err
}
