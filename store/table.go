package store

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/google/uuid"
)

// Table is a typed table that every organization has. The JSON of T is the public part of a record.
// If *T has a method Private() any, the value behind the pointer that it returns is stored beside
// the public part and never shown.
//
// The compiler generates its methods again for every type of record in every package that mentions
// such a table. They must therefore stay short: table does the work, without knowing T.
type Table[T any] struct {
	AnyTable
}

// AnyTable is what the tables of all types have in common.
type AnyTable struct {
	core table // not embedded, so that a Table does not get its methods
}

// Doc is a record with its metadata.
type Doc[T any] struct {
	ID     uuid.UUID
	Change uint64 // the number of the change that wrote it
	Record T
	JSON   []byte // the public part

	revision
}

// doc is a Doc without its record.
type doc struct {
	ID     uuid.UUID
	Change uint64
	JSON   []byte

	revision
}

// revision describes the stored form of a record.
type revision struct {
	version uint64       // the number of its last change that was not a touch
	applied []correction // to the stored record when it was read
	// completed reports that the stored record lacked members, which were added.
	completed bool
}

func typed[T any](d doc, rec T) Doc[T] {
	return Doc[T]{ID: d.ID, Change: d.Change, Record: rec, JSON: d.JSON, revision: d.revision}
}

func result[T any](d doc, rec T, err error) (Doc[T], error) {
	if err != nil {
		return Doc[T]{}, err
	}
	return typed(d, rec), nil
}

func untyped[T any](d *Doc[T]) doc {
	return doc{ID: d.ID, Change: d.Change, JSON: d.JSON, revision: d.revision}
}

// NewTable declares a table.
func NewTable[T any](name string, unique []Unique[T], keys []Key[T]) *Table[T] {
	t := table{name: name, rec: name + recSuffix, kept: historyKept, newRecord: func() any { return new(T) }}
	for _, u := range unique {
		t.unique = append(t.unique, untypedUnique(u))
	}
	for _, k := range keys {
		t.keys = append(t.keys, untypedKey(k))
	}
	return &Table[T]{AnyTable{t}}
}

// ShortHistory makes the table keep its change log for a day. It is for records that change often.
func (t *Table[T]) ShortHistory() *Table[T] {
	t.core.kept = shortHistoryKept
	return t
}

// Unlogged makes a table without a change log: its records have no change number and no history.
func (t *Table[T]) Unlogged() *Table[T] {
	t.core.unlogged = true
	return t
}

// WithShape declares the shape of the table's records.
func (t *Table[T]) WithShape(s Shape) *Table[T] {
	t.core.shape = &s
	return t
}

// Get reads a record. A missing one is not_found.
func (t *Table[T]) Get(tx *Tx, id uuid.UUID) (Doc[T], error) {
	var rec T
	d, err := t.core.get(tx, id, &rec)
	return result(d, rec, err)
}

// GetUndecoded reads a record without decoding it: the result has no Record. Its JSON and the private part are valid
// until the transaction ends.
func (t *Table[T]) GetUndecoded(tx *Tx, id uuid.UUID) (_ Doc[T], private []byte, err error) {
	d, private, err := t.core.getUndecoded(tx, id)
	var none T
	return typed(d, none), private, err
}

// Reload reads a record again that was read or written before, perhaps in another transaction. It
// does not decode a record that has not changed.
func (t *Table[T]) Reload(tx *Tx, old Doc[T]) (Doc[T], error) {
	switch same, err := t.core.isUnchanged(tx, untyped(&old)); {
	case err != nil:
		return Doc[T]{}, err
	case same:
		return old, nil
	}
	return t.Get(tx, old.ID)
}

// Insert writes a new record under id. If a unique key is taken, it returns the error that the key
// declares and writes nothing.
func (t *Table[T]) Insert(tx *Tx, id uuid.UUID, rec T) (Doc[T], error) {
	d, err := t.core.insertAfter(tx, doc{ID: id}, &rec, nil)
	return result(d, rec, err)
}

// InsertAgain is Insert for a record that was deleted: it continues the history of the record. before is the public part
// that the record had, and fields are the names of those that differ in rec.
func (t *Table[T]) InsertAgain(tx *Tx, id uuid.UUID, rec T, before []byte, fields []string) (Doc[T], error) {
	d, err := t.core.insertAgain(tx, id, &rec, before, fields)
	return result(d, rec, err)
}

// Update replaces the record old, which this transaction has read, with rec. fields names the
// changed fields.
func (t *Table[T]) Update(tx *Tx, old Doc[T], rec T, fields []string) (Doc[T], error) {
	d, err := t.core.update(tx, untyped(&old), &old.Record, &rec, fields)
	return result(d, rec, err)
}

// Touch replaces the record old, which this transaction has read, with rec and keeps its version.
// It is for state that is not a change by anyone. It must not change what keys are made of.
func (t *Table[T]) Touch(tx *Tx, old Doc[T], rec T, fields []string) error {
	return t.core.touch(tx, untyped(&old), &rec, fields)
}

// Delete deletes a record that this transaction has read.
func (t *Table[T]) Delete(tx *Tx, old Doc[T]) error {
	return t.core.remove(tx, untyped(&old), &old.Record)
}

// DeleteUntyped deletes a record of which the caller knows only the id.
func (t *AnyTable) DeleteUntyped(tx *Tx, id uuid.UUID) error {
	rec := t.core.newRecord()
	old, err := t.core.get(tx, id, rec)
	if err != nil {
		return err
	}
	return t.core.remove(tx, old, rec)
}

// Scan calls fn for every record in order of creation, until fn returns false. It leaves out damaged
// records: Count minus the records that it found is their number. The JSON of a record is valid until
// the transaction ends.
func (t *Table[T]) Scan(tx *Tx, fn func(Doc[T]) (more bool, err error)) error {
	return t.core.scan(tx, func(d doc, rec any) (bool, error) { return fn(typed(d, *rec.(*T))) })
}

// Each calls fn for the records with the given ids, until it returns an error. It leaves out damaged records.
func (t *Table[T]) Each(tx *Tx, ids []uuid.UUID, fn func(Doc[T]) error) error {
	for _, id := range ids {
		d, err := t.Get(tx, id)
		if IsDamagedRecord(err) {
			continue
		}
		if err == nil {
			err = fn(d)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Readable returns the ids without those of damaged records.
func (t *AnyTable) Readable(tx *Tx, ids []uuid.UUID) []uuid.UUID {
	return slices.DeleteFunc(slices.Clone(ids), func(id uuid.UUID) bool {
		_, _, err := t.core.getUndecoded(tx, id)
		return IsDamagedRecord(err)
	})
}

// Name returns the name of the table, for Tx.Records and Tx.Changes.
func (t *AnyTable) Name() string { return t.core.name }

// HasShortHistory reports whether the change log is kept for a day only.
func (t *AnyTable) HasShortHistory() bool { return t.core.kept == shortHistoryKept }

// Written returns the records that the transaction has written or deleted so far, ordered by id.
func (t *AnyTable) Written(tx *Tx) (ids []uuid.UUID) {
	if w := tx.writes[t.core.name+recSuffix]; w != nil {
		w.Scan(func(key string, _ []byte) bool {
			ids = append(ids, uuid.UUID([]byte(key)))
			return true
		})
	}
	return ids
}

// Has reports whether the record exists.
func (t *AnyTable) Has(tx *Tx, id uuid.UUID) bool { return t.core.has(tx, id) }

// Count returns the number of records.
func (t *AnyTable) Count(tx *Tx) int { return tx.RecordCount(t.core.name) }

// Public returns the public part of a record.
func (t *AnyTable) Public(tx *Tx, id uuid.UUID) ([]byte, error) {
	d, err := t.core.get(tx, id, t.core.newRecord())
	return d.JSON, err
}

// First returns the first id of a record that is not below the given one.
func (t *AnyTable) First(tx *Tx, from uuid.UUID) (id uuid.UUID, found bool) {
	for k := range tx.scan(t.core.rec, from[:]) {
		copy(id[:], k)
		return id, len(k) == 16
	}
	return id, false
}

// Public returns the public part and the version.
func (d Doc[T]) Public() (public []byte, version string) { return d.JSON, d.Version() }

// RecordType returns the type of the record.
func (Doc[T]) RecordType() reflect.Type { return reflect.TypeFor[T]() }

// Version identifies this form of the record among all that it ever has.
func (r revision) Version() string {
	version, last := strconv.FormatUint(r.version, 10), uint64(0)
	for i := range r.applied {
		last = max(last, r.applied[i].number)
	}
	if last > 0 {
		version += "-" + strconv.FormatUint(last, 10)
	}
	return version
}
