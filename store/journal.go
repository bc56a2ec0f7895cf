package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// The journal of an operation lists everything that it changed, in order, so that the operation can be undone: the
// changes of journaled tables, by their numbers, and what else features add to it. A transaction that
// changes something on behalf of an operation adds one part to the operation's journal when it ends. The journal
// follows the actor of each change, so that changes which a tombstone makes are in the journal of the operation that
// added it.
var journalParts = NewParts("operations.journal")

// JournalPart is what one transaction changed on behalf of an operation.
type JournalPart struct {
	Steps []JournalStep `json:"steps,omitempty"` // in order
	Swept []ChangeRange `json:"swept,omitempty"` // changes that tombstones made
}

// JournalStep is a range of changes or, if Kind is not empty, something else that a feature has added.
type JournalStep struct {
	ChangeRange
	Kind string // tells which feature it belongs to
	Data json.RawMessage
}

// ChangeRange are consecutive changes of a table. Some of them may belong to another operation or to none.
type ChangeRange struct {
	Table string
	First uint64
	Count uint64
}

// MarshalJSON encodes the range as an array, because a journal may have as many as an operation has changes.
func (r ChangeRange) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "[%q,%d,%d]", r.Table, r.First, r.Count), nil
}

// UnmarshalJSON decodes what MarshalJSON has encoded.
func (r *ChangeRange) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&r.Table, &r.First, &r.Count})
}

// MarshalJSON encodes a range of changes like a ChangeRange, and anything else as an array of two.
func (s JournalStep) MarshalJSON() ([]byte, error) {
	if s.Kind == "" {
		return s.ChangeRange.MarshalJSON()
	}
	return json.Marshal([]any{s.Kind, s.Data})
}

// UnmarshalJSON decodes what MarshalJSON has encoded.
func (s *JournalStep) UnmarshalJSON(b []byte) error {
	var items []json.RawMessage
	if err := json.Unmarshal(b, &items); err != nil {
		return err
	}
	if len(items) == 3 {
		return s.ChangeRange.UnmarshalJSON(b)
	}
	return json.Unmarshal(b, &[]any{&s.Kind, &s.Data})
}

// journalNote is an addition to a journal that has not been written yet.
type journalNote struct {
	operation uuid.UUID
	step      JournalStep
	swept     bool
}

// journalChange notes a change of a record on behalf of an operation.
func (tx *Tx) journalChange(operation uuid.UUID, table string, number uint64, swept bool) {
	if operation != uuid.Nil {
		tx.note(journalNote{operation, JournalStep{ChangeRange: ChangeRange{table, number, 1}}, swept})
	}
}

// AddToJournal adds a step to the journal of the transaction's operation. It does nothing in a transaction that
// belongs to none.
func (tx *Tx) AddToJournal(kind string, data any) error {
	if tx.actor.OperationID == uuid.Nil {
		return nil
	}
	b, err := json.Marshal(data)
	if err == nil {
		tx.note(journalNote{operation: tx.actor.OperationID, step: JournalStep{Kind: kind, Data: b}})
	}
	return err
}

func (tx *Tx) note(n journalNote) {
	before := len(tx.journal)
	tx.journal = append(tx.journal, n)
	if tx.undo != nil {
		*tx.undo = append(*tx.undo, func() { tx.journal = tx.journal[:before] })
	}
}

// HasJournal reports whether the transaction itself has changed something on behalf of an operation.
func (tx *Tx) HasJournal(operation uuid.UUID) bool {
	return slices.ContainsFunc(tx.journal, func(n journalNote) bool { return n.operation == operation })
}

// writeJournal writes what the transaction has noted.
func (tx *Tx) writeJournal() error {
	notes := tx.journal
	tx.journal = nil
	for len(notes) > 0 {
		operation := notes[0].operation
		var part JournalPart
		notes = slices.DeleteFunc(notes, func(n journalNote) bool {
			if n.operation != operation {
				return false
			}
			part.add(n)
			return true
		})
		b, err := json.Marshal(part)
		if err != nil {
			return err
		}
		journalParts.Put(tx, operation, journalParts.next(tx, operation), b)
	}
	return nil
}

// add adds a note, and joins a change to the range that it continues.
func (p *JournalPart) add(n journalNote) {
	if n.swept {
		if i := len(p.Swept) - 1; i < 0 || !p.Swept[i].grow(&n.step) {
			p.Swept = append(p.Swept, n.step.ChangeRange)
		}
	} else if i := len(p.Steps) - 1; i < 0 || p.Steps[i].Kind != "" || !p.Steps[i].grow(&n.step) {
		p.Steps = append(p.Steps, n.step)
	}
}

// grow adds the change that follows the range, and reports false for another one.
func (r *ChangeRange) grow(by *JournalStep) bool {
	if by.Kind != "" || r.Table != by.Table || r.First+r.Count != by.First {
		return false
	}
	r.Count++
	return true
}

// next returns the number after that of the last part of a record.
func (p *Parts) next(tx *Tx, owner uuid.UUID) uint32 {
	last, found := p.Last(tx, owner)
	if !found {
		return 0
	}
	return last + 1
}

// Last returns the number of the last part of a record.
func (p *Parts) Last(tx *Tx, owner uuid.UUID) (last uint32, found bool) {
	keep := func(key []byte) {
		if len(key) == partKeySize && bytes.HasPrefix(key, owner[:]) {
			if n := binary.BigEndian.Uint32(key[len(owner):]); !found || n > last {
				last, found = n, true
			}
		}
	}
	end := partKey(owner, ^uint32(0))
	if b := tx.bucket(p.bucket); b != nil {
		c := b.Cursor()
		key, _ := c.Seek(end)
		if key == nil {
			key, _ = c.Last()
		} else if !bytes.Equal(key, end) {
			key, _ = c.Prev()
		}
		keep(key)
	}
	if w := tx.writes[p.bucket]; w != nil {
		w.Descend(string(end), func(key string, _ []byte) bool {
			keep([]byte(key))
			return false
		})
	}
	return last, found
}

// LastJournalPart returns the number of the last part of an operation's journal.
func (tx *Tx) LastJournalPart(operation uuid.UUID) (last uint32, found bool) {
	return journalParts.Last(tx, operation)
}

// ReadJournal returns a part of the journal of an operation. A part that does not exist is empty.
func (tx *Tx) ReadJournal(operation uuid.UUID, number uint32) (part JournalPart, err error) {
	b, err := journalParts.Get(tx, operation, number)
	if err != nil || b == nil {
		return part, err
	}
	return readJournalPart(operation, b)
}

func readJournalPart(operation uuid.UUID, value []byte) (part JournalPart, err error) {
	if err := json.Unmarshal(value, &part); err != nil {
		return part, fmt.Errorf("journal of operation %s: %w", operation, err)
	}
	return part, nil
}

// EachJournalPart calls fn for the parts of the journal of an operation in order.
func (tx *Tx) EachJournalPart(operation uuid.UUID, fn func(JournalPart) error) error {
	return journalParts.Scan(tx, operation, func(_ uint32, value []byte) error {
		part, err := readJournalPart(operation, value)
		if err != nil {
			return err
		}
		return fn(part)
	})
}

// DeleteJournal deletes up to limit parts of the journal of an operation, and reports whether there are more.
func (tx *Tx) DeleteJournal(operation uuid.UUID, limit int) (more bool, err error) {
	return journalParts.Delete(tx, operation, 0, limit)
}

// VerifyJournals checks the journals of the transaction's organization.
func (tx *Tx) VerifyJournals(report Report) error { return journalParts.Verify(tx, report) }
