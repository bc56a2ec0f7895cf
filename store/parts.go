package store

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"

	"github.com/google/uuid"
)

// Parts are numbered values of a record that are too many to be stored in it. They are read and
// written by number. They have no keys and no history, and are deleted only explicitly.
type Parts struct{ bucket string }

// NewParts declares parts.
func NewParts(name string) *Parts { return &Parts{bucket: name + partSuffix} }

const partKeySize = 16 + 4

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
	binary.BigEndian.PutUint32(value, crc32.Update(tx.placeSum(p.bucket, key), castagnoli, value[PutReserve:]))
	tx.put(p.bucket, key, value)
}

// Get reads a part. It returns nil if the part does not exist. The bytes are valid until the
// transaction ends.
func (p *Parts) Get(tx *Tx, owner uuid.UUID, n uint32) (value []byte, err error) {
	key := partKey(owner, n)
	v, err := tx.tryGet(p.bucket, key)
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

func (p *Parts) open(tx *Tx, key, v []byte) ([]byte, error) {
	value, err := unseal(tx.placeSum(p.bucket, key), v)
	if err != nil {
		return nil, tx.unreadable(p.bucket, key, err)
	}
	return value, nil
}

// Scan calls fn for all parts of a record in order. The bytes are valid until the transaction ends.
func (p *Parts) Scan(tx *Tx, owner uuid.UUID, fn func(n uint32, value []byte) error) error {
	for part, err := range p.walk(tx, owner[:]) {
		if err == nil {
			err = fn(part.number, part.value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ScanReadable is Scan without the damaged parts, of which it returns the number.
func (p *Parts) ScanReadable(tx *Tx, owner uuid.UUID, fn func(n uint32, value []byte) error) (damaged int, err error) {
	for part, unreadable := range p.walk(tx, owner[:]) {
		if unreadable != nil {
			damaged++
		} else if err = fn(part.number, part.value); err != nil {
			break
		}
	}
	return damaged, err
}

// part is a part of a record.
type part struct {
	owner  uuid.UUID
	number uint32
	value  []byte
}

// walk returns the parts whose keys have a prefix, readable or not, each with the error of reading it. The loop may write
// parts.
func (p *Parts) walk(tx *Tx, prefix []byte) iter.Seq2[part, error] {
	return func(yield func(part, error) bool) {
		for key, v := range within(prefix, tx.scanWhileWriting(p.bucket, prefix)) {
			var found part
			var err error
			if len(key) == partKeySize {
				found = part{owner: uuid.UUID(key), number: binary.BigEndian.Uint32(key[16:])}
				found.value, err = p.open(tx, key, v)
			} else {
				err = tx.unreadable(p.bucket, key, fmt.Errorf("%w: the key %x is not the key of a part", ErrDamaged, key))
			}
			if !yield(found, err) {
				return
			}
		}
	}
}

// EachPart calls fn for all parts. It leaves out damaged ones.
func (p *Parts) EachPart(tx *Tx, fn func(owner uuid.UUID, n uint32, value []byte) error) error {
	for part, unreadable := range p.walk(tx, nil) {
		if unreadable == nil {
			if err := fn(part.owner, part.number, part.value); err != nil {
				return err
			}
		}
	}
	return nil
}

// Owners returns the records that have parts.
func (p *Parts) Owners(tx *Tx) ([]uuid.UUID, error) { return tx.owners(p.bucket, partKeySize), nil }

// owners returns the ids with which the keys of a size begin.
func (tx *Tx) owners(bucket string, keySize int) (owners []uuid.UUID) {
	for key := range tx.scan(bucket, nil) {
		if len(key) == keySize && (len(owners) == 0 || owners[len(owners)-1] != uuid.UUID(key[:16])) {
			owners = append(owners, uuid.UUID(key[:16]))
		}
	}
	return owners
}

// Each calls fn for the parts of a record with the given ascending numbers. A missing part is an
// error. The bytes are valid until the transaction ends.
func (p *Parts) Each(tx *Tx, owner uuid.UUID, numbers []uint32, fn func(n uint32, value []byte) error) error {
	find := func(key []byte) []byte { return tx.get(p.bucket, key) } // the transaction may have written parts itself
	if b := tx.bucket(p.bucket); b != nil && tx.writes[p.bucket] == nil {
		find = (&nearCursor{Cursor: b.Cursor()}).find
	}
	key, placeSum := partKey(owner, 0), tx.placeSum(p.bucket, owner[:])
	for _, n := range numbers {
		binary.BigEndian.PutUint32(key[16:], n)
		v := find(key)
		if v == nil {
			return tx.unreadable(p.bucket, key, fmt.Errorf("%w: it is missing", ErrDamaged))
		}
		value, err := unseal(crc32.Update(placeSum, castagnoli, key[16:]), v)
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
	for key := range within(owner[:], tx.scanWhileWriting(p.bucket, partKey(owner, from))) {
		if deleted == limit {
			return true, nil
		}
		deleted++
		tx.delete(p.bucket, key)
	}
	return false, nil
}

// Verify reads all parts of the transaction's organization and reports unreadable ones.
func (p *Parts) Verify(tx *Tx, report Report) error {
	tx.verifying = true
	for _, err := range p.walk(tx, nil) {
		if err != nil {
			report(false, "%v", err)
		}
	}
	return nil
}
