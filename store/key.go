package store

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// Unique declares that no two records of an organization have the same key. Records with an empty
// key have none. If Global is set, the key is unique in the installation, and Store.Lookup finds
// the record and its organization by it.
type Unique[T any] struct {
	Name   string
	Of     func(*T) []byte
	More   func(*T) [][]byte // further keys of the record, or nil
	Global bool
	// Taken returns the error for a record whose key belongs to the record other. It is nil for
	// keys that callers cannot make collide.
	Taken func(rec *T, key []byte, other uuid.UUID) error
}

// Key declares a secondary key: the values under which a record can be found.
type Key[T any] struct {
	Name string
	Of   func(*Tx, *T) ([][]byte, error)
	// Version changes whenever Of returns other values for a stored record, for example because
	// addresses are compared in another form. Store.UseShapes then rebuilds the key.
	Version string
}

// At returns the key with a version.
func (k Key[T]) At(version string) Key[T] {
	k.Version = version
	return k
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

// uniqueKey is a Unique for records of any type.
type uniqueKey struct {
	name   string
	of     func(rec any) [][]byte
	global bool
	taken  func(rec any, key []byte, other uuid.UUID) error
}

func untypedUnique[T any](u Unique[T]) uniqueKey {
	key := uniqueKey{name: u.Name, global: u.Global, of: func(rec any) [][]byte {
		keys := [][]byte{u.Of(rec.(*T))}
		if u.More != nil {
			keys = append(keys, u.More(rec.(*T))...)
		}
		return keys
	}}
	if u.Taken != nil {
		key.taken = func(rec any, taken []byte, other uuid.UUID) error { return u.Taken(rec.(*T), taken, other) }
	}
	return key
}

func (u *uniqueKey) bucket(table string) string {
	if u.global {
		return sharedPrefix + globalBucket(table, u.name)
	}
	return table + uniqueInfix + u.name
}

// keys returns the keys of a record, which may be nil.
func (u *uniqueKey) keys(rec any) (keys [][]byte) {
	if rec == nil {
		return nil
	}
	for _, key := range u.of(rec) {
		if key = bounded(key); len(key) > 0 && !has(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

func has(keys [][]byte, key []byte) bool {
	return slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, key) })
}

func (u *uniqueKey) value(org, id uuid.UUID) []byte {
	if u.global {
		return append(org[:], id[:]...)
	}
	return id[:]
}

// secondaryKey is a Key for records of any type.
type secondaryKey struct {
	name    string
	version string
	of      func(tx *Tx, rec any) ([][]byte, error)
}

func untypedKey[T any](k Key[T]) secondaryKey {
	return secondaryKey{k.Name, k.Version, func(tx *Tx, rec any) ([][]byte, error) { return k.Of(tx, rec.(*T)) }}
}

func (k *secondaryKey) bucket(table string) string { return keyBucket(table, k.name) }

// values returns the values of a record, which may be nil.
func (k *secondaryKey) values(tx *Tx, rec any) ([][]byte, error) {
	if rec == nil {
		return nil, nil
	}
	return k.of(tx, rec)
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

// rekey replaces the keys of was by those of is; either may be nil. It checks before it writes. If the record
// was completed when it was read, was has members that it lacked when its keys were written, so keys of was may
// be missing. If a tombstone was applied to it, it may have keys of what is stored.
func (t *table) rekey(tx *Tx, old doc, was, is any) error {
	id, completed := old.ID, old.completed
	stored, err := t.storedForm(tx, old)
	if err != nil {
		return err
	}
	for i := range t.unique {
		if err := t.checkUnique(tx, &t.unique[i], id, was, is, completed); err != nil {
			return err
		}
	}
	for i := range t.unique {
		u := &t.unique[i]
		before, after := u.keys(was), u.keys(is)
		if slices.EqualFunc(before, after, bytes.Equal) && !completed {
			continue
		}
		for _, key := range before {
			if !completed || bytes.Equal(tx.get(u.bucket(t.name), key), u.value(tx.org, id)) {
				tx.delete(u.bucket(t.name), key)
			}
		}
		for _, key := range after {
			tx.put(u.bucket(t.name), key, u.value(tx.org, id))
		}
	}
	for i := range t.keys {
		k := &t.keys[i]
		before, err := k.values(tx, was)
		if err != nil {
			return err
		}
		after, err := k.values(tx, is)
		if err != nil {
			return err
		}
		if slices.EqualFunc(before, after, bytes.Equal) && !completed && stored == nil {
			continue
		}
		more, err := k.values(tx, stored)
		if err != nil {
			return err
		}
		for _, key := range slices.Concat(before, more) {
			tx.delete(k.bucket(t.name), keyEntry(key, id))
		}
		for _, key := range after {
			tx.put(k.bucket(t.name), keyEntry(key, id), nil)
		}
	}
	return nil
}

// storedForm returns a record as it is stored, if corrections were applied to it when it was read, and nil
// otherwise.
func (t *table) storedForm(tx *Tx, old doc) (any, error) {
	if len(old.applied) == 0 {
		return nil, nil
	}
	v := tx.get(t.rec, old.ID[:])
	_, private, public, err := decodeValue(tx.placeSum(t.rec, old.ID[:]), v)
	if err != nil {
		return nil, tx.unreadable(t.rec, old.ID[:], err)
	}
	rec := t.newRecord()
	return rec, t.unmarshal(old.ID, public, private, rec)
}

// checkUnique returns an error if another record has the key of is.
func (t *table) checkUnique(tx *Tx, u *uniqueKey, id uuid.UUID, was, is any, completed bool) error {
	before := u.keys(was)
	for _, key := range u.keys(is) {
		if has(before, key) && !completed {
			continue
		}
		v := tx.get(u.bucket(t.name), key)
		if v == nil || bytes.Equal(v, u.value(tx.org, id)) {
			continue
		}
		if u.taken == nil {
			return fmt.Errorf("%s: unique key %s is taken", t.name, u.name)
		}
		return u.taken(is, key, uuid.UUID(v[len(v)-16:]))
	}
	return nil
}

// Find returns the id of the record with the unique key.
func (t *AnyTable) Find(tx *Tx, name string, key []byte) (uuid.UUID, bool) {
	for i := range t.core.unique {
		if u := &t.core.unique[i]; u.name == name && !u.global {
			if v := tx.get(u.bucket(t.core.name), bounded(key)); v != nil {
				return uuid.UUID(v), true
			}
			return uuid.Nil, false
		}
	}
	panic("store: table " + t.core.name + " has no unique key " + name)
}

// IDs returns the ids of up to limit records with a secondary key, oldest first. 0 means all.
func (t *AnyTable) IDs(tx *Tx, name string, key []byte, limit int) ([]uuid.UUID, error) {
	replaced, err := t.replacedBy(tx, name, key)
	if err != nil {
		return nil, err
	}
	var ids []uuid.UUID
	for _, prefix := range append(replaced, keyPrefix(key)) {
		n := 0
		for k := range within(prefix, tx.scan(keyBucket(t.core.name, name), prefix)) {
			ids = append(ids, uuid.UUID(k[len(prefix):]))
			if n++; n == limit {
				break
			}
		}
	}
	if len(replaced) > 0 {
		slices.SortFunc(ids, CompareIDs)
		ids = slices.Compact(ids)
	}
	if limit > 0 && len(ids) > limit {
		ids = ids[:limit]
	}
	return ids, nil
}

// Range calls fn for the secondary keys of a name, starting at from, with the record of each, until
// fn returns false.
func (t *AnyTable) Range(tx *Tx, name string, from []byte, fn func(key []byte, id uuid.UUID) (more bool)) error {
	for k := range tx.scan(keyBucket(t.core.name, name), from) {
		end := len(k) - 16 - 1
		if end < 0 {
			return fmt.Errorf("%s: %w: %x is not a key of %s", t.core.name, ErrDamaged, k, name)
		}
		if !fn(k[:end], uuid.UUID(k[end+1:])) {
			break
		}
	}
	return nil
}

// Oldest returns the id of the oldest record with a secondary key.
func (t *AnyTable) Oldest(tx *Tx, name string, key []byte) (id uuid.UUID, found bool, err error) {
	ids, err := t.IDs(tx, name, key, 1)
	if err != nil || len(ids) == 0 {
		return uuid.Nil, false, err
	}
	return ids[0], true, nil
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

// LookupPrefix calls fn for each record whose global unique key begins with prefix, and its organization.
func (s *Store) LookupPrefix(table, key string, prefix []byte, fn func(org, id uuid.UUID)) error {
	return s.View(uuid.Nil, func(tx *Tx) error {
		for _, v := range within(prefix, tx.scan(sharedPrefix+globalBucket(table, key), prefix)) {
			if len(v) == 32 {
				fn(uuid.UUID(v[:16]), uuid.UUID(v[16:]))
			}
		}
		return nil
	})
}
