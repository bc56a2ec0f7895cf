package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/fault"
)

// table does the work of a Table. Its methods take a record as a pointer to the type that the table
// was declared with.
type table struct {
	name        string
	rec         string // the bucket of its records
	unlogged    bool
	keepsValues bool          // see KeepsValues
	journaled   bool          // see Journaled
	kept        time.Duration // how long its change log is kept
	unique      []uniqueKey
	keys        []secondaryKey
	shape       *Shape // nil for a table whose records are not completed
	newRecord   func() any
}

func (t *table) has(tx *Tx, id uuid.UUID) bool { return tx.get(t.rec, id[:]) != nil }

// find returns the value of a record, which may be on a damaged page.
func (t *table) find(tx *Tx, id uuid.UUID) (v []byte, err error) {
	if v, err = tx.tryGet(t.rec, id[:]); err == nil && v == nil {
		err = fault.ErrNotFound
	}
	return v, err
}

// get reads a record into the zero record rec.
func (t *table) get(tx *Tx, id uuid.UUID, rec any) (doc, error) {
	d, private, err := t.getUndecoded(tx, id)
	if err == nil {
		d.JSON = bytes.Clone(d.JSON)
		err = t.unmarshal(id, d.JSON, private, rec)
	}
	return d, err
}

func (t *table) getUndecoded(tx *Tx, id uuid.UUID) (_ doc, private []byte, err error) {
	v, err := t.find(tx, id)
	if err != nil {
		return doc{}, nil, err
	}
	return t.open(tx, id, v)
}

// isUnchanged reports whether reading the record again would return the same.
func (t *table) isUnchanged(tx *Tx, old doc) (bool, error) {
	corrections, err := tx.corrections(t.name)
	if err != nil || !corrections.none() {
		return false, err
	}
	now, _, err := t.getUndecoded(tx, old.ID)
	return err == nil && now.Change == old.Change && bytes.Equal(now.JSON, old.JSON), nil
}

// each calls fn for the readable records in order of creation, with what is stored of each, until fn returns false.
// What is damaged is counted and logged.
func (t *table) each(tx *Tx, fn func(d doc, private, stored []byte) (more bool, err error)) error {
	for key, value := range tx.scanWhileWriting(t.rec, nil) {
		if len(key) != 16 {
			continue // check reports it
		}
		d, private, err := t.open(tx, uuid.UUID(key), value)
		if IsDamagedRecord(err) {
			continue
		}
		if err != nil {
			return err
		}
		if more, err := fn(d, private, value); err != nil || !more {
			return err
		}
	}
	return nil
}

// scan is each with the decoded records.
func (t *table) scan(tx *Tx, fn func(d doc, rec any) (more bool, err error)) error {
	return t.each(tx, func(d doc, private, _ []byte) (bool, error) {
		rec := t.newRecord()
		if err := t.unmarshal(d.ID, d.JSON, private, rec); err != nil {
			return false, err
		}
		return fn(d, rec)
	})
}

// decode reads a value into the zero record rec. The JSON in the result is valid until the
// transaction ends.
func (t *table) decode(tx *Tx, id uuid.UUID, v []byte, rec any) (doc, error) {
	d, private, err := t.open(tx, id, v)
	if err == nil {
		err = t.unmarshal(id, d.JSON, private, rec)
	}
	return d, err
}

// privatePart returns a pointer to the private part of a record, or nil if records of its type have none.
func privatePart(rec any) any {
	if p, has := rec.(interface{ Private() any }); has {
		return p.Private()
	}
	return nil
}

// unmarshal decodes the two parts of a record into the zero record rec.
func (t *table) unmarshal(id uuid.UUID, public, private []byte, rec any) error {
	if err := json.Unmarshal(public, rec); err != nil {
		return fmt.Errorf("%s %s: %w", t.name, id, err)
	}
	// A record that was written before its kind had private data has no private part.
	if part := privatePart(rec); part != nil && len(private) > 0 {
		if err := json.Unmarshal(private, part); err != nil {
			return fmt.Errorf("%s %s: private part: %w", t.name, id, err)
		}
	}
	return nil
}

// open reads a value without decoding the record.
func (t *table) open(tx *Tx, id uuid.UUID, v []byte) (d doc, private []byte, err error) {
	corrections, err := tx.corrections(t.name)
	if err != nil {
		return doc{}, nil, err
	}
	return corrections.open(tx, t.rec, id, tx.placeSum(t.rec, id[:]), v)
}

// insertAgain inserts a record that was deleted, with its deletion as the change before.
func (t *table) insertAgain(tx *Tx, id uuid.UUID, rec any, before []byte, fields []string) (doc, error) {
	old, gone := doc{ID: id, JSON: before}, tx.get(goneBucket(t.name), id[:])
	if len(gone) == 8 {
		old.Change = binary.BigEndian.Uint64(gone)
		tx.delete(goneBucket(t.name), id[:])
	}
	return t.insertAfter(tx, old, rec, fields)
}

// insertAfter inserts a record under the id of old, which has the change before and what the record was before that.
func (t *table) insertAfter(tx *Tx, old doc, rec any, fields []string) (doc, error) {
	if t.has(tx, old.ID) {
		return doc{}, fmt.Errorf("%s %s: already exists", t.name, old.ID)
	}
	d, err := t.write(tx, old, nil, rec, Created, fields)
	if err == nil {
		tx.setSequence(t.rec, tx.sequence(t.rec)+1)
	}
	return d, err
}

func (t *table) update(tx *Tx, old doc, was, rec any, fields []string) (doc, error) {
	if err := t.current(tx, old); err != nil {
		return doc{}, err
	}
	return t.write(tx, old, was, rec, Updated, fields)
}

func (t *table) touch(tx *Tx, old doc, rec any, fields []string) error {
	if err := t.current(tx, old); err != nil {
		return err
	}
	change, err := t.log(tx, old, Updated, fields)
	if err != nil {
		return err
	}
	version := old.version
	if len(old.applied) > 0 { // the version must not be that of the record without its corrections
		version = change
		if err := t.rekey(tx, old, rec, rec); err != nil {
			return err
		}
	}
	_, err = t.put(tx, old.ID, change, version, rec)
	return err
}

func (t *table) remove(tx *Tx, old doc, was any) error {
	if err := t.current(tx, old); err != nil {
		return err
	}
	if err := t.rekey(tx, old, was, nil); err != nil {
		return err
	}
	tx.delete(t.rec, old.ID[:])
	tx.setSequence(t.rec, tx.sequence(t.rec)-1)
	number, err := t.log(tx, old, Deleted, nil)
	if number > 0 {
		tx.put(goneBucket(t.name), old.ID[:], numberKey(number))
	}
	return err
}

// write writes rec in place of was, which is nil for a new record.
func (t *table) write(tx *Tx, old doc, was, rec any, op Op, fields []string) (doc, error) {
	if err := t.rekey(tx, old, was, rec); err != nil {
		return doc{}, err
	}
	change, err := t.log(tx, old, op, fields)
	if err != nil {
		return doc{}, err
	}
	return t.put(tx, old.ID, change, change, rec)
}

// put writes a record.
func (t *table) put(tx *Tx, id uuid.UUID, change, version uint64, rec any) (_ doc, err error) {
	d := doc{ID: id, Change: change, revision: revision{version: version}}
	if d.JSON, err = json.Marshal(rec, json.Deterministic(true)); err != nil {
		return doc{}, fmt.Errorf("%s %s: %w", t.name, id, err)
	}
	var private []byte
	if part := privatePart(rec); part != nil {
		if private, err = json.Marshal(part); err != nil {
			return doc{}, fmt.Errorf("%s %s: private part: %w", t.name, id, err)
		}
	}
	tx.put(t.rec, id[:], encodeValue(tx.placeSum(t.rec, id[:]), change, version, private, d.JSON))
	return d, nil
}

// log appends the corrections that were applied to a record, and then the change itself, to the
// change log.
func (t *table) log(tx *Tx, old doc, op Op, fields []string) (number uint64, err error) {
	if t.unlogged {
		return 0, nil
	}
	number = old.Change
	for i := range old.applied {
		c := &old.applied[i]
		fields, err := c.fields()
		if err != nil {
			return 0, fmt.Errorf("%s %s: %w", t.name, old.ID, err)
		}
		entry := Change{Op: Updated, ID: old.ID, Prev: number, Fields: fields, Actor: c.actor, Swept: true}
		if number, err = t.logWith(tx, entry, c.before); err != nil {
			return 0, err
		}
	}
	if op == swept {
		return number, nil
	}
	return t.logWith(tx, Change{Op: op, ID: old.ID, Prev: number, Fields: fields, Actor: tx.actor}, old.JSON)
}

// logWith appends a change with the values of its fields in the record before, if the table keeps them.
func (t *table) logWith(tx *Tx, c Change, before []byte) (number uint64, err error) {
	if t.keepsValues && len(c.Fields) > 0 {
		if c.Values, err = memberValues(before, c.Fields); err != nil {
			return 0, fmt.Errorf("%s %s: %w", t.name, c.ID, err)
		}
	}
	number = tx.logChange(t.name, t.kept, c)
	if t.journaled {
		tx.journalChange(c.Actor.OperationID, t.name, number, c.Swept)
	}
	return number, nil
}

// current returns an error for a record that was changed since it was read, because its old keys
// would be computed from outdated values.
func (t *table) current(tx *Tx, old doc) error {
	if v := tx.get(t.rec, old.ID[:]); v == nil || changeOf(v) != old.Change {
		return fmt.Errorf("%s %s: changed since it was read", t.name, old.ID)
	}
	return nil
}
