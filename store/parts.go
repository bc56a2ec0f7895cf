package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

// Parts are numbered values of a record that are too many to be stored in it. They are read and
// written by number. They have no keys and no history, and are deleted only explicitly.
type Parts struct{ bucket string }

// NewParts declares parts.
func NewParts(name string) *Parts { return &Parts{bucket: name + partSuffix} }

const (
	partSuffix  = ".part"
	partKeySize = 16 + 4
)

func partKey(owner uuid.UUID, n uint32) []byte {
	return binary.BigEndian.AppendUint32(append(make([]byte, 0, partKeySize), owner[:]...), n)
}

// Put writes a part and replaces an existing one.
func (p *Parts) Put(tx *Tx, owner uuid.UUID, n uint32, value []byte) {
	key := partKey(owner, n)
	tx.putSealed(p.bucket, key, value)
}

// PutReserve is the number of bytes that a value for PutOwned leaves free at its beginning.
const PutReserve = 4

// PutOwned is Put without a copy. The store keeps value and fills its first PutReserve bytes. The
// caller must not change it afterwards.
func (p *Parts) PutOwned(tx *Tx, owner uuid.UUID, n uint32, value []byte) {
	key := partKey(owner, n)
	binary.BigEndian.PutUint32(value, crc32.Update(tx.place(p.bucket, key), castagnoli, value[PutReserve:]))
	tx.put(p.bucket, key, value)
}

// Get reads a part. It returns nil if the part does not exist. The bytes are valid until the
// transaction ends.
func (p *Parts) Get(tx *Tx, owner uuid.UUID, n uint32) (value []byte, err error) {
	key := partKey(owner, n)
	v, err := tx.read(p.bucket, key)
	if err != nil || v == nil {
		return nil, err
	}
	return p.open(tx, key, v)
}

// Readable is Get for a part that is not needed: it treats a damaged part like one that does not exist.
func (p *Parts) Readable(tx *Tx, owner uuid.UUID, n uint32) []byte {
	value, _ := p.Get(tx, owner, n) // the only error is damage, which was counted and logged
	return value
}

// Before is Get for the part as it was when the transaction began.
func (p *Parts) Before(tx *Tx, owner uuid.UUID, n uint32) ([]byte, error) {
	return p.Get(tx.Before(), owner, n)
}

func (p *Parts) open(tx *Tx, key, v []byte) ([]byte, error) {
	value, err := unseal(tx.place(p.bucket, key), v)
	if err != nil {
		return nil, tx.unreadable(p.bucket, key, err)
	}
	return value, nil
}

// Scan calls fn for all parts of a record in order. The bytes are valid until the transaction ends.
func (p *Parts) Scan(tx *Tx, owner uuid.UUID, fn func(n uint32, value []byte) error) error {
	return p.scan(tx, owner, func(key, value []byte, err error) error {
		if err != nil {
			return err
		}
		return fn(binary.BigEndian.Uint32(key[len(owner):]), value)
	})
}

// ScanReadable is Scan without the damaged parts, of which it returns the number.
func (p *Parts) ScanReadable(tx *Tx, owner uuid.UUID, fn func(n uint32, value []byte) error) (damaged int, err error) {
	err = p.scan(tx, owner, func(key, value []byte, err error) error {
		if err != nil || len(key) != partKeySize {
			damaged++
			return nil
		}
		return fn(binary.BigEndian.Uint32(key[len(owner):]), value)
	})
	return damaged, err
}

// scan calls fn for all parts of a record, with the error of reading those that are damaged.
func (p *Parts) scan(tx *Tx, owner uuid.UUID, fn func(key, value []byte, err error) error) error {
	return tx.scan(p.bucket, owner[:], within(owner[:], func(key, v []byte) (bool, error) {
		value, err := p.open(tx, key, v)
		return true, fn(key, value, err)
	}))
}

// Owners returns the records that have parts.
func (p *Parts) Owners(tx *Tx) (owners []uuid.UUID, err error) {
	return tx.owners(p.bucket, partKeySize)
}

// owners returns the ids with which the keys of a size begin.
func (tx *Tx) owners(bucket string, keySize int) (owners []uuid.UUID, err error) {
	err = tx.look(bucket, nil, func(key, _ []byte) (bool, error) {
		if len(key) == keySize && (len(owners) == 0 || owners[len(owners)-1] != uuid.UUID(key[:16])) {
			owners = append(owners, uuid.UUID(key[:16]))
		}
		return true, nil
	})
	return owners, err
}

// nearby is the number of cursor steps that cost less than a seek.
const nearby = 4

// Each calls fn for the parts of a record with the given ascending numbers. A missing part is an
// error. The bytes are valid until the transaction ends.
func (p *Parts) Each(tx *Tx, owner uuid.UUID, numbers []uint32, fn func(n uint32, value []byte) error) error {
	var cursor *bolt.Cursor
	if b := tx.bucket(p.bucket); b != nil && tx.writes[p.bucket] == nil {
		cursor = b.Cursor()
	}
	var at, v []byte
	key, place := partKey(owner, 0), tx.place(p.bucket, owner[:])
	for _, n := range numbers {
		binary.BigEndian.PutUint32(key[16:], n)
		switch {
		case cursor == nil: // the transaction has written parts itself
			at, v = key, tx.get(p.bucket, key)
		case at == nil:
			at, v = cursor.Seek(key)
		default: // it is often close to the last one
			for steps := 0; bytes.Compare(at, key) < 0 && at != nil; steps++ {
				if steps == nearby {
					at, v = cursor.Seek(key)
					break
				}
				at, v = cursor.Next()
			}
		}
		if v == nil || !bytes.Equal(at, key) {
			return tx.unreadable(p.bucket, key, fmt.Errorf("%w: it is missing", ErrDamaged))
		}
		value, err := unseal(crc32.Update(place, castagnoli, key[16:]), v)
		if err != nil {
			return tx.unreadable(p.bucket, key, err)
		}
		if err := fn(n, value); err != nil {
			return err
		}
	}
	return nil
}

// Delete deletes up to limit parts of a record, starting with the number from. It reports whether
// there are more.
func (p *Parts) Delete(tx *Tx, owner uuid.UUID, from uint32, limit int) (more bool, err error) {
	deleted := 0
	err = tx.scan(p.bucket, partKey(owner, from), within(owner[:], func(key, _ []byte) (bool, error) {
		if deleted == limit {
			more = true
			return false, nil
		}
		deleted++
		tx.delete(p.bucket, key)
		return true, nil
	}))
	return more, err
}

// Verify reads all parts of the transaction's organization and reports unreadable ones.
func (p *Parts) Verify(tx *Tx, report Report) error {
	tx.verifying = true
	return tx.scan(p.bucket, nil, func(key, v []byte) (bool, error) {
		if len(key) != partKeySize {
			report(false, "%s: the key %x is not the key of a part", p.bucket, key)
		} else if _, err := p.open(tx, key, v); err != nil {
			report(false, "%v", err)
		}
		return true, nil
	})
}
