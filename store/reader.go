package store

import (
	"bytes"
	"errors"
	"hash/crc32"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

// Reader reads many records of a table by id. It looks up the table only once.
type Reader struct {
	tx     *Tx
	table  string
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
	r := &Reader{tx: tx, table: table, bucket: table + ".rec"}
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
			return 0, nil, r.tx.unreadable(r.table, id, err)
		}
	}
	if v == nil {
		return 0, nil, nil
	}
	change, _, public, err = decodeValue(crc32.Update(r.place, castagnoli, r.key[:]), v)
	if err == nil && !r.apply.none() {
		public, _, err = r.apply.apply(change, public)
	}
	if err != nil {
		return 0, nil, r.tx.unreadable(r.table, id, err)
	}
	return change, public, nil
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
	read, err := tx.recordReader(table, fn)
	if err != nil {
		return err
	}
	return tx.scan(table+".rec", above[:], func(key, value []byte) (bool, error) {
		if bytes.Equal(key, above[:]) {
			return true, nil
		}
		return read(key, value)
	})
}

// RecordsDown is Records from the last record to the first. It does not see what the transaction itself
// has written.
func (tx *Tx) RecordsDown(table string, fn func(id uuid.UUID, public []byte) (more bool, err error)) error {
	read, err := tx.recordReader(table, func(id uuid.UUID, _ uint64, public []byte) (bool, error) { return fn(id, public) })
	b := tx.bucket(table + ".rec")
	if err != nil || b == nil {
		return err
	}
	c := b.Cursor()
	for key, value := c.Last(); key != nil; key, value = c.Prev() {
		if more, err := read(key, value); err != nil || !more {
			return err
		}
	}
	return nil
}

// recordReader returns a function that calls fn for an entry of a table, unless the entry is unreadable.
func (tx *Tx) recordReader(
	table string, fn func(id uuid.UUID, change uint64, public []byte) (more bool, err error),
) (func(key, value []byte) (more bool, err error), error) {
	bucket := table + ".rec"
	corrections, err := tx.corrections(table)
	return func(key, value []byte) (bool, error) {
		if len(key) != 16 {
			return true, nil // check reports it
		}
		id := uuid.UUID(key)
		change, _, public, err := decodeValue(tx.place(bucket, key), value)
		if err == nil {
			public, _, err = corrections.apply(change, public)
		}
		switch {
		case errors.Is(err, ErrDamaged):
			_ = tx.unreadable(table, id, err)
			return true, nil
		case err != nil:
			return false, tx.unreadable(table, id, err)
		}
		return fn(id, change, public)
	}, err
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
