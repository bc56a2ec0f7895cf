package store

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"prospector/internal/fault"
)

// DamagedRecord is the error of reading a record, or a part or set of it, whose stored bytes are not those
// that were written. It wraps ErrDamaged.
type DamagedRecord struct {
	Table string // or the name of the parts or sets
	ID    uuid.UUID
	isSet bool // or a part
	cause error
}

// MissingRecord returns the error for a record to which a key leads, although it does not exist.
func MissingRecord(table string, id uuid.UUID) error {
	return &DamagedRecord{Table: table, ID: id, cause: fmt.Errorf("%w: a key leads to a record that does not exist", ErrDamaged)}
}

func (e *DamagedRecord) Error() string { return fmt.Sprintf("%s %s: %v", e.Table, e.ID, e.cause) }

func (e *DamagedRecord) Unwrap() error { return e.cause }

// fault returns the error that a caller receives.
func (e *DamagedRecord) fault() *fault.Error {
	message, detail := "the record %s of %s is damaged and cannot be read; delete it or ask the operator to recover it from a backup",
		"the record is damaged"
	if e.isSet {
		message, detail = "the data of the record %s in %s is damaged and cannot be read; ask the operator to run 'prospector check'",
			"the data of the record is damaged"
	}
	f := fault.New(fault.Damaged, message, e.ID, e.Table)
	f.Details = []fault.Detail{{Path: e.Table, Message: detail, ID: e.ID.String()}}
	return f
}

// As makes a damaged record a refusal, for whom a refused record is no failure.
func (e *DamagedRecord) As(target any) bool {
	refused, ok := target.(**fault.Error)
	if ok {
		*refused = e.fault()
	}
	return ok
}

// IsGone reports whether a record does not exist or is damaged.
func IsGone(err error) bool { return IsDamagedRecord(err) || fault.CodeOf(err) == fault.NotFound }

// ExceptDamaged returns nil for the damage of a single record, for who goes on without it.
func ExceptDamaged(err error) error {
	if IsDamagedRecord(err) {
		return nil
	}
	return err
}

// IsDamagedRecord reports whether an error is about one record. Other damage, such as that of a tombstone,
// may affect any record of the table.
func IsDamagedRecord(err error) bool {
	var damaged *DamagedRecord
	return errors.As(err, &damaged)
}

// entryKey identifies a record or another entry of a bucket.
type entryKey struct {
	org    uuid.UUID
	bucket string
	key    string
}

// damagedEntries are the unreadable records and other entries that were found since the store was opened.
type damagedEntries struct {
	mu    sync.Mutex
	known map[entryKey]bool // whether it was logged
	count atomic.Int64      // of known
}

// add adds an entry and reports whether it is to be logged now. An entry is logged once.
func (d *damagedEntries) add(k entryKey, log bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		d.known = map[entryKey]bool{}
	}
	logged := d.known[k]
	d.known[k] = logged || log
	d.count.Store(int64(len(d.known)))
	return log && !logged
}

// remove removes the entries that match.
func (d *damagedEntries) remove(match func(entryKey) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.known, func(k entryKey, _ bool) bool { return match(k) })
	d.count.Store(int64(len(d.known)))
}

// DamagedRecords returns the number of unreadable records, parts and sets that were found since the store was
// opened and that still exist. A page that was lost when the file was rebuilt, or that cannot be read, counts
// as one.
func (s *Store) DamagedRecords() int { return int(s.damaged.count.Load() + s.lostPages.Load()) }

// unreadable returns the error of reading an entry: a DamagedRecord, unless the cause is no damage. Damage is counted,
// and logged when it is found the first time, unless a check finds it, which reports it itself.
func (tx *Tx) unreadable(bucket string, key []byte, cause error) error {
	table, isRecord := strings.CutSuffix(bucket, recSuffix)
	e := &DamagedRecord{Table: strings.TrimSuffix(strings.TrimSuffix(table, partSuffix), setSuffix), cause: cause}
	copy(e.ID[:], key) // of a part or a chunk of a set, the key begins with the id of the record that it belongs to
	isRecord = isRecord && len(key) == 16
	e.isSet = !isRecord
	if !errors.Is(cause, ErrDamaged) {
		return fmt.Errorf("%s %s: %w", e.Table, e.ID, cause)
	}
	if !tx.store.damaged.add(entryKey{tx.org, bucket, string(key)}, !tx.verifying) {
		return e
	}
	if log := tx.store.opt.Log; isRecord {
		log.Error("record is damaged and left out of lists", "organization", tx.org, "table", table, "id", e.ID, "error", cause)
	} else {
		log.Error("store entry is damaged", "organization", tx.org, "bucket", bucket, "key", hex.EncodeToString(key), "error", cause)
	}
	return e
}

// replaced removes an entry from the damaged ones once the transaction, which has written or deleted it, is committed.
func (tx *Tx) replaced(bucket string, key []byte) {
	damaged := &tx.store.damaged
	if damaged.count.Load() == 0 || !isSealed(bucket) {
		return
	}
	k := entryKey{tx.org, bucket, string(key)}
	missing := k // a missing chunk of the same set
	if strings.HasSuffix(bucket, setSuffix) {
		missing.key = k.key[:min(len(key), 16)]
	}
	tx.AfterCommit(func() { damaged.remove(func(other entryKey) bool { return other == k || other == missing }) })
}

// DamagedIDs returns the unreadable records of the organization that were found since the store was
// opened, by table.
func (s *Store) DamagedIDs(org uuid.UUID) map[string][]uuid.UUID {
	s.damaged.mu.Lock()
	defer s.damaged.mu.Unlock()
	found := map[string][]uuid.UUID{}
	for k := range s.damaged.known {
		if table, isRecord := strings.CutSuffix(k.bucket, recSuffix); isRecord && k.org == org && len(k.key) == 16 {
			found[table] = append(found[table], uuid.UUID([]byte(k.key)))
		}
	}
	for _, ids := range found {
		slices.SortFunc(ids, CompareIDs)
	}
	return found
}

// HasDamaged reports whether a damaged record of the table in the transaction's organization was found since
// the store was opened. After Verify it reports whether there is one.
func (t *AnyTable) HasDamaged(tx *Tx) bool {
	return len(tx.store.DamagedIDs(tx.org)[t.core.name]) > 0
}

// DeleteDamaged deletes a record that cannot be read. The keys of the record are not known, so it reads
// all keys of the table.
func (tx *Tx) DeleteDamaged(table string, id uuid.UUID) error {
	rec := table + recSuffix
	tx.delete(rec, id[:])
	tx.setSequence(rec, max(tx.sequence(rec), 1)-1)
	isOwn := func(key, value []byte) bool {
		of, ok := tx.recordOf(key, value)
		return ok && of == id
	}
	for _, bucket := range tx.keyBuckets(table) {
		tx.deleteWhere(bucket, isOwn)
	}
	if tx.bucket(table+logSuffix) == nil { // the table has no change log
		return nil
	}
	prev := uint64(0)
	for c := range tx.readableChanges(table) {
		if c.ID == id {
			prev = c.Number
		}
	}
	number := tx.logChange(table, historyKept, Change{Op: Deleted, ID: id, Prev: prev, Actor: tx.actor})
	tx.put(goneBucket(table), id[:], numberKey(number))
	return nil
}

// recordOf returns the record of the organization to which a unique or secondary key leads.
func (tx *Tx) recordOf(key, value []byte) (id uuid.UUID, ok bool) {
	switch {
	case len(value) == 0 && len(key) > 16: // a secondary key, which ends with the id
		return uuid.UUID(key[len(key)-16:]), true
	case len(value) == 16:
		return uuid.UUID(value), true
	case len(value) == 32 && bytes.HasPrefix(value, tx.org[:]): // a global key
		return uuid.UUID(value[16:]), true
	}
	return uuid.Nil, false
}

// deleteWhere deletes the entries of a bucket for which match returns true.
func (tx *Tx) deleteWhere(bucket string, match func(key, value []byte) bool) {
	for key, value := range tx.scanWhileWriting(bucket, nil) {
		if match(key, value) {
			tx.delete(bucket, key)
		}
	}
}

// Raw returns the stored bytes of a record, and its public part if it can be told apart without the
// checksum. Either may be wrong: it is what can be saved of a damaged record.
func (tx *Tx) Raw(table string, id uuid.UUID) (value, public []byte) {
	value = tx.get(table+recSuffix, id[:])
	if len(value) < valueHead+1 {
		return value, nil
	}
	sealed := append([]byte(nil), value...)
	if sealed[0] != valueFormat && sealed[0] != touchedFormat {
		sealed[0] = valueFormat
	}
	placeSum := tx.placeSum(table+recSuffix, id[:])
	binary.BigEndian.PutUint32(sealed[1:], crc32.Update(placeSum, castagnoli, sealed[5:]))
	if _, _, public, err := decodeValue(placeSum, sealed); err == nil {
		return value, public
	}
	return value, nil
}
