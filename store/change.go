package store

import (
	"encoding/binary"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
)

// Op is the kind of a change.
type Op byte

const (
	Created Op = 'c'
	Updated Op = 'u'
	Deleted Op = 'd'

	swept Op = 's' // rewritten with its corrections; each correction has its own entry in the log
)

// Change is an entry in the change log of a table. Change numbers count up from 1 for each
// organization and table.
type Change struct {
	Number uint64
	Prev   uint64 // the previous change of the same record, 0 for its first: the record's history is this chain
	Op     Op
	ID     uuid.UUID
	At     time.Time
	Actor  Actor
	// Swept says that a tombstone made the change on behalf of an operation.
	Swept bool
	// Fields are the names of the fields that an update changed, or that a record which was inserted again lost.
	Fields []string
	// Values are the values of Fields before the change, as JSON. One that was absent is empty. They are nil if the
	// table does not keep values, if the version that wrote the entry did not, or if they were erased.
	Values [][]byte
}

func (c *Change) encode() []byte {
	b := make([]byte, 0, 128)
	b = append(b, byte(c.Op))
	b = binary.BigEndian.AppendUint64(b, c.Prev)
	b = binary.BigEndian.AppendUint64(b, uint64(c.At.UnixMilli()))
	b = append(b, c.ID[:]...)
	b = append(b, c.Actor.Key[:]...)
	b = append(b, c.Actor.User[:]...)
	for _, s := range []string{c.Actor.Operation, c.Actor.RequestID, strings.Join(c.Fields, ",")} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = appendOperationID(b, c.Actor.OperationID, c.Swept)
	return appendValues(b, c.Values)
}

// What precedes the id of the operation in an entry. Most changes belong to none.
const (
	noOperation    = 0
	ofOperation    = 1
	sweptOperation = 2 // Change.Swept
)

func appendOperationID(b []byte, id uuid.UUID, swept bool) []byte {
	switch {
	case id == uuid.Nil:
		return append(b, noOperation)
	case swept:
		return append(append(b, sweptOperation), id[:]...)
	}
	return append(append(b, ofOperation), id[:]...)
}

func (tx *Tx) decodeChange(log string, key, value []byte) (Change, error) {
	b, err := unseal(tx.placeSum(log, key), value)
	if err != nil {
		return Change{}, fmt.Errorf("change %x: %w", key, err)
	}
	const fixed = 1 + 8 + 8 + 3*16
	bad := fmt.Errorf("change %x: %w: it has an unknown format", key, ErrDamaged)
	if len(b) < fixed || len(key) != 8 {
		return Change{}, bad
	}
	c := Change{
		Number: binary.BigEndian.Uint64(key),
		Op:     Op(b[0]),
		Prev:   binary.BigEndian.Uint64(b[1:]),
		At:     time.UnixMilli(int64(binary.BigEndian.Uint64(b[9:]))).UTC(),
		ID:     uuid.UUID(b[17:33]),
	}
	c.Actor.Key, c.Actor.User = uuid.UUID(b[33:49]), uuid.UUID(b[49:65])
	rest := b[fixed:]
	var fields string
	for _, s := range []*string{&c.Actor.Operation, &c.Actor.RequestID, &fields} {
		n, used := binary.Uvarint(rest)
		if used <= 0 || n > uint64(len(rest)-used) {
			return Change{}, bad
		}
		*s = string(rest[used : used+int(n)])
		rest = rest[used+int(n):]
	}
	if fields != "" {
		c.Fields = strings.Split(fields, ",")
	}
	if len(rest) == 0 { // an entry of an earlier version
		return c, nil
	}
	kind := rest[0]
	if rest = rest[1:]; kind > sweptOperation || kind != noOperation && len(rest) < len(c.Actor.OperationID) {
		return Change{}, bad
	}
	if kind != noOperation {
		c.Swept = kind == sweptOperation
		rest = rest[copy(c.Actor.OperationID[:], rest):]
	}
	if c.Values, err = decodeValues(rest, len(c.Fields)); err != nil {
		return Change{}, fmt.Errorf("change %x: %w", key, err)
	}
	return c, nil
}

func numberKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// The log is trimmed as it grows: every trimEvery appends remove up to maxTrim expired entries. The
// log stays bounded without a background job.
const (
	trimEvery = 16
	maxTrim   = 2 * trimEvery
)

// logChange appends a change to the log of the table and returns its number.
func (tx *Tx) logChange(table string, kept time.Duration, c Change) uint64 {
	log := table + logSuffix
	c.Number = tx.sequence(log) + 1
	c.At = tx.now
	tx.setSequence(log, c.Number)
	tx.putChange(log, c)
	if c.Number%trimEvery == 0 {
		tx.trim(table, kept)
	}
	return c.Number
}

func (tx *Tx) putChange(log string, c Change) { tx.putSealed(log, numberKey(c.Number), c.encode()) }

// logEntry is an entry of a change log. err says why the change cannot be read.
type logEntry struct {
	Change
	key, value []byte
	err        error
}

// walkLog returns the entries of the change log of a table, readable or not, starting at a key. The loop may write to the
// log.
func (tx *Tx) walkLog(table string, from []byte) iter.Seq[logEntry] {
	return func(yield func(logEntry) bool) {
		log := table + logSuffix
		for key, value := range tx.scanWhileWriting(log, from) {
			if c, err := tx.decodeChange(log, key, value); !yield(logEntry{c, key, value, err}) {
				return
			}
		}
	}
}

// trim removes expired entries. It continues where the last trim of the same transaction stopped,
// so that a large transaction does not scan its own deletions repeatedly.
func (tx *Tx) trim(table string, kept time.Duration) {
	if tx.trimmed == nil {
		tx.trimmed = map[string]uint64{}
	}
	removed := 0
	for e := range tx.walkLog(table, numberKey(tx.trimmed[table])) {
		if e.err != nil {
			continue // a damaged entry must not make writes fail
		}
		tx.trimmed[table] = e.Number
		if removed == maxTrim || tx.now.Sub(e.At) < kept {
			return
		}
		tx.delete(table+logSuffix, e.key)
		if e.Op == Deleted {
			tx.delete(goneBucket(table), e.ID[:])
		}
		removed++
	}
}

// LastChange returns the number of the last change of a table, 0 if there was none.
func (tx *Tx) LastChange(table string) uint64 { return tx.sequence(table + logSuffix) }

// History calls fn for the changes of a record, newest first, until fn returns false or the entries
// have expired. A deleted record has a history as long as the log has its deletion. An unknown
// record is not_found.
func (tx *Tx) History(table string, id uuid.UUID, fn func(Change) (more bool, err error)) error {
	found := false
	err := tx.changesOf(table, id, func(c Change) (bool, error) {
		if tx.now.Sub(c.At) >= historyKept {
			return false, nil
		}
		found = true
		return fn(c)
	})
	if err == nil && !found && tx.get(table+recSuffix, id[:]) == nil {
		return fault.ErrNotFound
	}
	return err
}

// changesOf calls fn for the changes of a record that are stored, newest first, until fn returns false.
func (tx *Tx) changesOf(table string, id uuid.UUID, fn func(Change) (more bool, err error)) error {
	var number uint64
	if v := tx.get(table+recSuffix, id[:]); v != nil {
		number = changeOf(v)
	} else if v := tx.get(goneBucket(table), id[:]); len(v) == 8 {
		number = binary.BigEndian.Uint64(v)
	}
	for number > 0 {
		c, found, err := tx.ReadChange(table, number)
		if err != nil {
			return err
		}
		if !found || c.ID != id {
			break
		}
		if more, err := fn(c); err != nil || !more {
			return err
		}
		number = c.Prev
	}
	return nil
}

// ReadChange returns an entry of the change log of a table. found is false if it was trimmed.
func (tx *Tx) ReadChange(table string, number uint64) (c Change, found bool, err error) {
	log, key := table+logSuffix, numberKey(number)
	value := tx.get(log, key)
	if value == nil {
		return c, false, nil
	}
	c, err = tx.decodeChange(log, key, value)
	return c, err == nil, err
}

// Changes calls fn for the changes of a table after the given number, in order, until fn returns
// false.
func (tx *Tx) Changes(table string, after uint64, fn func(Change) (more bool, err error)) error {
	for e := range tx.walkLog(table, numberKey(after+1)) {
		if e.err != nil {
			return e.err
		}
		if more, err := fn(e.Change); err != nil || !more {
			return err
		}
	}
	return nil
}

// readableChanges returns the readable entries of the change log of a table in order.
func (tx *Tx) readableChanges(table string) iter.Seq[Change] {
	return func(yield func(Change) bool) {
		for e := range tx.walkLog(table, nil) {
			if e.err == nil && !yield(e.Change) {
				return
			}
		}
	}
}
