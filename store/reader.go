package store

import (
	"bytes"
	"hash/crc32"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

// Reader reads many records of a table by id. It looks up the table only once.
type Reader struct {
	tx     *Tx
	bucket string
	cursor *bolt.Cursor // nil if the table is empty
	apply  *corrections
	err    error // why the corrections cannot be read
	place  uint32
	key    uuid.UUID // kept here to avoid an allocation for each record
	at     []byte    // the key at the cursor, or nil
	strays int       // how many records in a row were not next to the one before
}

// Reader returns a reader of a table. It is valid until the transaction ends.
func (tx *Tx) Reader(table string) *Reader {
	r := &Reader{tx: tx, bucket: table + ".rec"}
	r.apply, r.err = tx.corrections(table)
	r.place = tx.place(r.bucket, nil)
	if b := tx.bucket(r.bucket); b != nil {
		r.cursor = b.Cursor()
	}
	return r
}

// Public returns the public part of a record and the number of the change that wrote it. The public
// part is nil if the record does not exist. The bytes are valid until the transaction ends.
func (r *Reader) Public(id uuid.UUID) (change uint64, public []byte, err error) {
	if r.err != nil {
		return 0, nil, r.err
	}
	r.key = id
	v, own := r.tx.own(r.bucket, r.key[:])
	if !own && r.cursor != nil {
		if v, err = r.tryFind(); err != nil {
			return 0, nil, r.tx.unreadable(r.bucket, r.key[:], err)
		}
	}
	if v == nil {
		return 0, nil, nil
	}
	return r.open(r.key[:], v)
}

// open returns the public part of a value and the number of the change that wrote it.
func (r *Reader) open(key, v []byte) (change uint64, public []byte, err error) {
	change, _, public, err = decodeValue(crc32.Update(r.place, castagnoli, key), v)
	if err == nil && !r.apply.none() {
		public, _, err = r.apply.apply(change, public)
	}
	if err != nil {
		return 0, nil, r.tx.unreadable(r.bucket, key, err)
	}
	return change, public, nil
}

// pass calls fn for an entry of the table, unless it is unreadable.
func (r *Reader) pass(
	key, value []byte, fn func(id uuid.UUID, change uint64, public []byte) (more bool, err error),
) (more bool, err error) {
	if len(key) != 16 {
		return true, nil // check reports it
	}
	change, public, err := r.open(key, value)
	switch {
	case IsDamagedRecord(err):
		return true, nil // it was counted and logged
	case err != nil:
		return false, err
	}
	return fn(uuid.UUID(key), change, public)
}

// tryFind is find for a file whose pages may be damaged.
func (r *Reader) tryFind() (v []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.at, r.cursor, err = nil, r.tx.bucket(r.bucket).Cursor(), recovered(p)
		}
	}()
	return r.find(), nil
}

// find returns the value of the key. Records are often read in ascending or descending order of
// their ids. Then the next one is beside the last, and one cursor step costs much less than a seek
// from the root.
func (r *Reader) find() (v []byte) {
	const stray = 8 // after this many misses the ids are not in order
	if r.at != nil && r.strays < stray {
		if bytes.Compare(r.key[:], r.at) < 0 {
			r.at, v = r.cursor.Prev()
		} else {
			r.at, v = r.cursor.Next()
		}
		if bytes.Equal(r.at, r.key[:]) {
			r.strays = 0
			return v
		}
		r.strays++
	}
	r.at, v = r.cursor.Seek(r.key[:])
	if !bytes.Equal(r.at, r.key[:]) {
		return nil
	}
	return v
}

// Records calls fn for the public part of every record of a table with an id above the given one,
// in order of creation, until fn returns false. It leaves out unreadable records. The bytes are valid
// until the transaction ends.
func (tx *Tx) Records(
	table string, above uuid.UUID, fn func(id uuid.UUID, change uint64, public []byte) (more bool, err error),
) error {
	r := tx.Reader(table)
	if r.err != nil {
		return r.err
	}
	return tx.scan(r.bucket, above[:], func(key, value []byte) (bool, error) {
		if bytes.Equal(key, above[:]) {
			return true, nil
		}
		return r.pass(key, value, fn)
	})
}

// RecordsDown is Records from the last record to the first. It does not see what the transaction itself
// has written.
func (tx *Tx) RecordsDown(table string, fn func(id uuid.UUID, public []byte) (more bool, err error)) error {
	r := tx.Reader(table)
	if r.err != nil || r.cursor == nil {
		return r.err
	}
	for key, value := r.cursor.Last(); key != nil; key, value = r.cursor.Prev() {
		more, err := r.pass(key, value, func(id uuid.UUID, _ uint64, public []byte) (bool, error) { return fn(id, public) })
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// LastID returns the greatest id in a table, or uuid.Nil.
func (tx *Tx) LastID(table string) (id uuid.UUID) {
	if b := tx.bucket(table + ".rec"); b != nil {
		key, _ := b.Cursor().Last()
		copy(id[:], key)
	}
	return id
}

// RecordCount returns the number of records of a table.
func (tx *Tx) RecordCount(table string) int { return int(tx.sequence(table + ".rec")) }

// RecordIDs calls fn for the id of every record of a table in order of creation, including
// unreadable records.
func (tx *Tx) RecordIDs(table string, fn func(id uuid.UUID)) error {
	return tx.scan(table+".rec", nil, func(key, _ []byte) (bool, error) {
		if len(key) == 16 {
			fn(uuid.UUID(key))
		}
		return true, nil
	})
}
