package store

import (
	"bytes"
	"hash/crc32"
	"iter"

	"github.com/google/uuid"
)

// Reader reads many records of a table by id. It looks up the table only once.
type Reader struct {
	tx          *Tx
	bucket      string
	cursor      *nearCursor // nil if the table is empty
	corrections *corrections
	err         error     // why the corrections cannot be read
	placeSum    uint32    // without the key
	id          uuid.UUID // kept here to avoid an allocation for each record
}

// Reader returns a reader of a table. It is valid until the transaction ends.
func (tx *Tx) Reader(table string) *Reader {
	r := &Reader{tx: tx, bucket: table + recSuffix}
	r.corrections, r.err = tx.corrections(table)
	r.placeSum = tx.placeSum(r.bucket, nil)
	if b := tx.bucket(r.bucket); b != nil {
		r.cursor = &nearCursor{Cursor: b.Cursor()}
	}
	return r
}

// Public returns the public part of a record and the number of the change that wrote it. The public
// part is nil if the record does not exist. The bytes are valid until the transaction ends.
func (r *Reader) Public(id uuid.UUID) (change uint64, public []byte, err error) {
	if r.err != nil {
		return 0, nil, r.err
	}
	r.id = id
	v, isWritten := r.tx.written(r.bucket, r.id[:])
	if !isWritten && r.cursor != nil {
		if v, err = r.tryFind(); err != nil {
			return 0, nil, r.tx.unreadable(r.bucket, r.id[:], err)
		}
	}
	if v == nil {
		return 0, nil, nil
	}
	return r.open(v)
}

// tryFind finds the value of the record in a file whose pages may be damaged.
func (r *Reader) tryFind() (v []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.cursor, err = &nearCursor{Cursor: r.tx.bucket(r.bucket).Cursor()}, recovered(p)
		}
	}()
	return r.cursor.find(r.id[:]), nil
}

// open returns the public part of the record in a value, and the number of the change that wrote it.
func (r *Reader) open(v []byte) (change uint64, public []byte, err error) {
	d, _, err := r.corrections.open(r.tx, r.bucket, r.id, crc32.Update(r.placeSum, castagnoli, r.id[:]), v)
	return d.Change, d.JSON, err
}

// pass calls fn for an entry of the table, unless it is unreadable.
func (r *Reader) pass(
	key, value []byte, fn func(id uuid.UUID, change uint64, public []byte) (more bool, err error),
) (more bool, err error) {
	if len(key) != 16 {
		return true, nil // check reports it
	}
	r.id = uuid.UUID(key)
	change, public, err := r.open(value)
	switch {
	case IsDamagedRecord(err):
		return true, nil // it was counted and logged
	case err != nil:
		return false, err
	}
	return fn(uuid.UUID(key), change, public)
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
	for key, value := range tx.scanWhileWriting(r.bucket, above[:]) {
		if bytes.Equal(key, above[:]) {
			continue
		}
		if more, err := r.pass(key, value, fn); err != nil || !more {
			return err
		}
	}
	return nil
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
	if b := tx.bucket(table + recSuffix); b != nil {
		key, _ := b.Cursor().Last()
		copy(id[:], key)
	}
	return id
}

// RecordCount returns the number of records of a table.
func (tx *Tx) RecordCount(table string) int { return int(tx.sequence(table + recSuffix)) }

// RecordIDs returns the id of every record of a table in order of creation, including unreadable records.
func (tx *Tx) RecordIDs(table string) iter.Seq[uuid.UUID] {
	return func(yield func(uuid.UUID) bool) {
		for key := range tx.scanWhileWriting(table+recSuffix, nil) {
			if len(key) == 16 && !yield(uuid.UUID(key)) {
				return
			}
		}
	}
}
