package store

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/fault"
)

// Table is a typed table that every organization has. The JSON of T is the public part of a record.
// If *T has a method Private() any, the value behind the pointer that it returns is stored beside
// the public part and never shown.
type Table[T any] struct {
	name     string
	rec      string // the bucket of its records
	unlogged bool
	kept     time.Duration // how long its change log is kept
	unique   []Unique[T]
	keys     []Key[T]
	shape    *Shape // nil for a table whose records are not completed
}

// Unique declares that no two records of an organization have the same key. Records with an empty
// key have none. If Global is set, the key is unique in the installation, and Store.Lookup finds
// the record and its organization by it.
type Unique[T any] struct {
	Name   string
	Of     func(*T) []byte
	Global bool
	// Taken returns the error for a record whose key belongs to the record other. It is nil for
	// keys that callers cannot make collide.
	Taken func(rec *T, other uuid.UUID) error
}

// Key declares a secondary key: the values under which a record can be found.
type Key[T any] struct {
	Name string
	Of   func(*Tx, *T) ([][]byte, error)
}

// TextKey returns a key with one text value. Records with an empty text have none.
func TextKey[T any](name string, text func(*T) string) Key[T] {
	return Key[T]{Name: name, Of: func(_ *Tx, rec *T) ([][]byte, error) {
		if s := text(rec); s != "" {
			return [][]byte{[]byte(s)}, nil
		}
		return nil, nil
	}}
}

// Doc is a record with its metadata.
type Doc[T any] struct {
	ID     uuid.UUID
	Change uint64 // the number of the change that wrote it
	Record T
	JSON   []byte // the public part

	version uint64       // the number of its last change that was not a touch
	applied []correction // to the stored record when it was read
	// completed reports that the stored record lacked members, which were added.
	completed bool
}

// NewTable declares a table.
func NewTable[T any](name string, unique []Unique[T], keys []Key[T]) *Table[T] {
	return &Table[T]{name: name, rec: name + ".rec", kept: historyKept, unique: unique, keys: keys}
}

// ShortHistory makes the table keep its change log for a day. It is for records that change often.
func (t *Table[T]) ShortHistory() *Table[T] {
	t.kept = shortHistoryKept
	return t
}

// HasShortHistory reports whether the change log is kept for a day only.
func (t *Table[T]) HasShortHistory() bool { return t.kept == shortHistoryKept }

// Unlogged makes a table without a change log: its records have no change number and no history.
func (t *Table[T]) Unlogged() *Table[T] {
	t.unlogged = true
	return t
}

// Name returns the name of the table, for Tx.Records and Tx.Changes.
func (t *Table[T]) Name() string { return t.name }

// Get reads a record. A missing one is not_found.
func (t *Table[T]) Get(tx *Tx, id uuid.UUID) (Doc[T], error) {
	v := tx.get(t.rec, id[:])
	if v == nil {
		return Doc[T]{}, fault.ErrNotFound
	}
	d, err := t.decode(tx, id, v)
	d.JSON = bytes.Clone(d.JSON)
	return d, err
}

// Reload reads a record again that was read or written before, perhaps in another transaction. It
// does not decode a record that has not changed.
func (t *Table[T]) Reload(tx *Tx, old Doc[T]) (Doc[T], error) {
	corrections, err := tx.corrections(t.name)
	if err != nil {
		return Doc[T]{}, err
	}
	if corrections.none() {
		now, _, err := t.GetUndecoded(tx, old.ID)
		if err == nil && now.Change == old.Change && bytes.Equal(now.JSON, old.JSON) {
			return old, nil
		}
	}
	return t.Get(tx, old.ID)
}

// Public returns the public part of a record.
func (t *Table[T]) Public(tx *Tx, id uuid.UUID) ([]byte, error) {
	d, err := t.Get(tx, id)
	return d.JSON, err
}

// GetUndecoded reads a record without decoding it: the result has no Record. Its JSON and the private part are valid
// until the transaction ends.
func (t *Table[T]) GetUndecoded(tx *Tx, id uuid.UUID) (d Doc[T], private []byte, err error) {
	v := tx.get(t.rec, id[:])
	if v == nil {
		return d, nil, fault.ErrNotFound
	}
	return t.open(tx, id, v)
}

// Has reports whether the record exists.
func (t *Table[T]) Has(tx *Tx, id uuid.UUID) bool { return tx.get(t.rec, id[:]) != nil }

// Count returns the number of records.
func (t *Table[T]) Count(tx *Tx) int { return tx.RecordCount(t.name) }

// decode reads a value. The JSON in the result is valid until the transaction ends.
func (t *Table[T]) decode(tx *Tx, id uuid.UUID, v []byte) (Doc[T], error) {
	d, private, err := t.open(tx, id, v)
	if err != nil {
		return Doc[T]{}, err
	}
	if err := json.Unmarshal(d.JSON, &d.Record); err != nil {
		return Doc[T]{}, fmt.Errorf("%s %s: %w", t.name, id, err)
	}
	// A record that was written before its kind had private data has no private part.
	if p, ok := any(&d.Record).(interface{ Private() any }); ok && len(private) > 0 {
		if err := json.Unmarshal(private, p.Private()); err != nil {
			return Doc[T]{}, fmt.Errorf("%s %s: private part: %w", t.name, id, err)
		}
	}
	return d, nil
}

// open reads a value without decoding the record.
func (t *Table[T]) open(tx *Tx, id uuid.UUID, v []byte) (d Doc[T], private []byte, err error) {
	corrections, err := tx.corrections(t.name)
	if err != nil {
		return d, nil, err
	}
	d.ID = id
	var public []byte
	d.Change, private, public, err = decodeValue(tx.place(t.rec, id[:]), v)
	if err == nil {
		d.version = versionOf(v)
		d.JSON, d.applied, err = corrections.apply(d.Change, public)
	}
	if err != nil {
		return Doc[T]{}, nil, fmt.Errorf("%s %s: %w", t.name, id, err)
	}
	d.completed = len(d.applied) > 0 && d.applied[len(d.applied)-1].before != nil
	return d, private, nil
}

// Insert writes a new record under id. If a unique key is taken, it returns the error that the key
// declares and writes nothing.
func (t *Table[T]) Insert(tx *Tx, id uuid.UUID, rec T) (Doc[T], error) {
	if t.Has(tx, id) {
		return Doc[T]{}, fmt.Errorf("%s %s: already exists", t.name, id)
	}
	d, err := t.write(tx, Doc[T]{ID: id}, rec, Created, nil)
	if err == nil {
		tx.setSequence(t.rec, tx.sequence(t.rec)+1)
	}
	return d, err
}

// Update replaces the record old, which this transaction has read, with rec. fields names the
// changed fields.
func (t *Table[T]) Update(tx *Tx, old Doc[T], rec T, fields []string) (Doc[T], error) {
	if err := t.current(tx, old); err != nil {
		return Doc[T]{}, err
	}
	return t.write(tx, old, rec, Updated, fields)
}

// Touch replaces the record old, which this transaction has read, with rec and keeps its version.
// It is for state that is not a change by anyone. It must not change what keys are made of.
func (t *Table[T]) Touch(tx *Tx, old Doc[T], rec T, fields []string) error {
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
	}
	_, err = t.put(tx, old.ID, change, version, &rec)
	return err
}

func (t *Table[T]) write(tx *Tx, old Doc[T], rec T, op Op, fields []string) (Doc[T], error) {
	var was *T
	if op != Created {
		was = &old.Record
	}
	if err := t.rekey(tx, old.ID, was, &rec, old.completed); err != nil {
		return Doc[T]{}, err
	}
	change, err := t.log(tx, old, op, fields)
	if err != nil {
		return Doc[T]{}, err
	}
	return t.put(tx, old.ID, change, change, &rec)
}

// put writes a record.
func (t *Table[T]) put(tx *Tx, id uuid.UUID, change, version uint64, rec *T) (_ Doc[T], err error) {
	d := Doc[T]{ID: id, Change: change, Record: *rec, version: version}
	if d.JSON, err = json.Marshal(rec, json.Deterministic(true)); err != nil {
		return Doc[T]{}, fmt.Errorf("%s %s: %w", t.name, id, err)
	}
	var private []byte
	if p, ok := any(rec).(interface{ Private() any }); ok {
		if private, err = json.Marshal(p.Private()); err != nil {
			return Doc[T]{}, fmt.Errorf("%s %s: private part: %w", t.name, id, err)
		}
	}
	tx.put(t.rec, id[:], encodeValue(tx.place(t.rec, id[:]), change, version, private, d.JSON))
	return d, nil
}

// log appends the corrections that were applied to a record, and then the change itself, to the
// change log.
func (t *Table[T]) log(tx *Tx, old Doc[T], op Op, fields []string) (number uint64, err error) {
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
		entry := Change{Op: Updated, ID: old.ID, Prev: number, Fields: fields, Actor: c.actor}
		number, err = tx.logChange(t.name, t.kept, entry)
		if err != nil {
			return 0, err
		}
	}
	if op == swept {
		return number, nil
	}
	return tx.logChange(t.name, t.kept, Change{Op: op, ID: old.ID, Prev: number, Fields: fields, Actor: tx.actor})
}

// current returns an error for a record that was changed since it was read, because its old keys
// would be computed from outdated values.
func (t *Table[T]) current(tx *Tx, old Doc[T]) error {
	if v := tx.get(t.rec, old.ID[:]); v == nil || changeOf(v) != old.Change {
		return fmt.Errorf("%s %s: changed since it was read", t.name, old.ID)
	}
	return nil
}

// Delete deletes a record that this transaction has read.
func (t *Table[T]) Delete(tx *Tx, old Doc[T]) error {
	if err := t.current(tx, old); err != nil {
		return err
	}
	if err := t.rekey(tx, old.ID, &old.Record, nil, old.completed); err != nil {
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

// rekey replaces the keys of was by those of is; either may be nil. It checks before it writes. If
// completed is set, was has members that it lacked when its keys were written, so keys of was may
// be missing.
func (t *Table[T]) rekey(tx *Tx, id uuid.UUID, was, is *T, completed bool) error {
	for _, u := range t.unique {
		before, after := u.key(was), u.key(is)
		if len(after) == 0 || bytes.Equal(before, after) && !completed {
			continue
		}
		if v := tx.get(u.bucket(t.name), after); v != nil && !bytes.Equal(v, u.value(tx.org, id)) {
			if u.Taken == nil {
				return fmt.Errorf("%s: unique key %s is taken", t.name, u.Name)
			}
			return u.Taken(is, uuid.UUID(v[len(v)-16:]))
		}
	}
	for _, u := range t.unique {
		before, after := u.key(was), u.key(is)
		if bytes.Equal(before, after) && !completed {
			continue
		}
		if len(before) > 0 && (!completed || bytes.Equal(tx.get(u.bucket(t.name), before), u.value(tx.org, id))) {
			tx.delete(u.bucket(t.name), before)
		}
		if len(after) > 0 {
			tx.put(u.bucket(t.name), after, u.value(tx.org, id))
		}
	}
	for _, k := range t.keys {
		before, err := k.of(tx, was)
		if err != nil {
			return err
		}
		after, err := k.of(tx, is)
		if err != nil {
			return err
		}
		if slices.EqualFunc(before, after, bytes.Equal) && !completed {
			continue
		}
		for _, key := range before {
			tx.delete(k.bucket(t.name), keyEntry(key, id))
		}
		for _, key := range after {
			tx.put(k.bucket(t.name), keyEntry(key, id), nil)
		}
	}
	return nil
}

func (u *Unique[T]) bucket(table string) string {
	if u.Global {
		return sharedPrefix + globalBucket(table, u.Name)
	}
	return table + ".uniq." + u.Name
}

const globalPrefix = "global."

func globalBucket(table, key string) string { return globalPrefix + table + "." + key }

func (u *Unique[T]) key(rec *T) []byte {
	if rec == nil {
		return nil
	}
	return bounded(u.Of(rec))
}

func (u *Unique[T]) value(org, id uuid.UUID) []byte {
	if u.Global {
		return append(org[:], id[:]...)
	}
	return id[:]
}

func (k *Key[T]) bucket(table string) string { return table + ".key." + k.Name }

func (k *Key[T]) of(tx *Tx, rec *T) ([][]byte, error) {
	if rec == nil {
		return nil, nil
	}
	return k.Of(tx, rec)
}

// keyEntry returns the bucket key of a record's secondary key.
func keyEntry(key []byte, id uuid.UUID) []byte { return append(keyPrefix(key), id[:]...) }

// keyPrefix returns a key with a terminator. All keys of a name have the same length or contain no
// zero byte, so that none is a prefix of another.
func keyPrefix(key []byte) []byte { return append(bytes.Clone(bounded(key)), 0) }

// bounded shortens keys to well below bbolt's limit. The hash distinguishes long keys with the same
// beginning.
func bounded(key []byte) []byte {
	const maxKey = 256
	if len(key) <= maxKey {
		return key
	}
	sum := sha256.Sum256(key)
	return append(bytes.Clone(key[:maxKey-len(sum)]), sum[:]...)
}

// Find returns the id of the record with the unique key.
func (t *Table[T]) Find(tx *Tx, name string, key []byte) (uuid.UUID, bool) {
	for _, u := range t.unique {
		if u.Name == name && !u.Global {
			if v := tx.get(u.bucket(t.name), bounded(key)); v != nil {
				return uuid.UUID(v), true
			}
			return uuid.Nil, false
		}
	}
	panic("store: table " + t.name + " has no unique key " + name)
}

// IDs returns the ids of up to limit records with a secondary key, oldest first. 0 means all.
func (t *Table[T]) IDs(tx *Tx, name string, key []byte, limit int) ([]uuid.UUID, error) {
	prefix := keyPrefix(key)
	var ids []uuid.UUID
	err := tx.look(t.name+".key."+name, prefix, func(k, _ []byte) (bool, error) {
		if !bytes.HasPrefix(k, prefix) {
			return false, nil
		}
		ids = append(ids, uuid.UUID(k[len(prefix):]))
		return len(ids) != limit, nil
	})
	return ids, err
}

// Range calls fn for the secondary keys of a name, starting at from, with the record of each, until
// fn returns false.
func (t *Table[T]) Range(tx *Tx, name string, from []byte, fn func(key []byte, id uuid.UUID) (more bool)) error {
	return tx.look(t.name+".key."+name, from, func(k, _ []byte) (bool, error) {
		end := len(k) - 16 - 1
		if end < 0 {
			return false, fmt.Errorf("%s: %w: %x is not a key of %s", t.name, ErrDamaged, k, name)
		}
		return fn(k[:end], uuid.UUID(k[end+1:])), nil
	})
}

// First returns the first id of a record that is not below the given one.
func (t *Table[T]) First(tx *Tx, from uuid.UUID) (id uuid.UUID, found bool) {
	_ = tx.look(t.rec, from[:], func(k, _ []byte) (bool, error) {
		found = len(k) == 16
		copy(id[:], k)
		return false, nil
	})
	return id, found
}

// Oldest returns the id of the oldest record with a secondary key.
func (t *Table[T]) Oldest(tx *Tx, name string, key []byte) (id uuid.UUID, found bool, err error) {
	ids, err := t.IDs(tx, name, key, 1)
	if err != nil || len(ids) == 0 {
		return uuid.Nil, false, err
	}
	return ids[0], true, nil
}

// Scan calls fn for every record in order of creation, until fn returns false. The JSON of a record
// is valid until the transaction ends.
func (t *Table[T]) Scan(tx *Tx, fn func(Doc[T]) (more bool, err error)) error {
	return tx.scan(t.rec, nil, func(key, value []byte) (bool, error) {
		if len(key) != 16 {
			return false, fmt.Errorf("%s: %w: the key %x is not an id", t.name, ErrDamaged, key)
		}
		d, err := t.decode(tx, uuid.UUID(key), value)
		if err != nil {
			return false, err
		}
		return fn(d)
	})
}

// Lookup finds the record with a global unique key, and its organization.
func (s *Store) Lookup(table, key string, value []byte) (org, id uuid.UUID, found bool, err error) {
	err = s.View(uuid.Nil, func(tx *Tx) error {
		if v := tx.get(sharedPrefix+globalBucket(table, key), bounded(value)); len(v) == 32 {
			org, id, found = uuid.UUID(v[:16]), uuid.UUID(v[16:]), true
		}
		return nil
	})
	return org, id, found, err
}

// Public returns the public part and the version.
func (d Doc[T]) Public() (public []byte, version string) { return d.JSON, d.Version() }

// Version identifies this form of the record among all that it ever has.
func (d Doc[T]) Version() string {
	version, last := strconv.FormatUint(d.version, 10), uint64(0)
	for i := range d.applied {
		last = max(last, d.applied[i].number)
	}
	if last > 0 {
		version += "-" + strconv.FormatUint(last, 10)
	}
	return version
}

// RecordType returns the type of the record.
func (Doc[T]) RecordType() reflect.Type { return reflect.TypeFor[T]() }
