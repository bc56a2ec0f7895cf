package store

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

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
	if e.isSet {
		f := fault.New(fault.Damaged, "the data of the record %s in %s is damaged and cannot be read; ask the operator to run 'prospector check'",
			e.ID, e.Table)
		f.Details = []fault.Detail{{Path: e.Table, Message: "the data of the record is damaged", ID: e.ID.String()}}
		return f
	}
	f := fault.New(fault.Damaged, "the record %s of %s is damaged and cannot be read; delete it or ask the operator to recover it from a backup",
		e.ID, e.Table)
	f.Details = []fault.Detail{{Path: e.Table, Message: "the record is damaged", ID: e.ID.String()}}
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

// IsGone reports whether a record does not exist or cannot be read.
func IsGone(err error) bool {
	return errors.Is(err, ErrDamaged) || fault.CodeOf(err) == fault.NotFound
}

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

// recordKey identifies a record in the store. For another entry of a bucket, table is the name of the bucket, and
// entry is the key.
type recordKey struct {
	org   uuid.UUID
	table string
	id    uuid.UUID
	entry string
}

// damagedRecords are the unreadable records and other entries that were found since the store was opened.
type damagedRecords struct {
	mu    sync.Mutex
	known map[recordKey]bool // whether it was logged
	count atomic.Int64       // of known
}

// add adds a record and reports whether it is to be logged now. A record is logged once.
func (d *damagedRecords) add(k recordKey, log bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		d.known = map[recordKey]bool{}
	}
	logged := d.known[k]
	d.known[k] = logged || log
	d.count.Store(int64(len(d.known)))
	return log && !logged
}

func (d *damagedRecords) has(k recordKey) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, has := d.known[k]
	return has
}

// removeIf removes the records for which gone returns true.
func (d *damagedRecords) removeIf(gone func(recordKey) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for k := range d.known {
		if gone(k) {
			delete(d.known, k)
		}
	}
	d.count.Store(int64(len(d.known)))
}

// DamagedRecords returns the number of unreadable records, parts and sets that were found since the store was
// opened and that still exist. A page that was lost when the file was rebuilt, or that cannot be read, counts
// as one.
func (s *Store) DamagedRecords() int { return int(s.damaged.count.Load() + s.lostPages.Load()) }

// unreadable returns the error of a record that cannot be read. Damage is counted, and logged when it
// is found the first time, unless a check finds it, which reports it itself.
func (tx *Tx) unreadable(table string, id uuid.UUID, cause error) error {
	if !errors.Is(cause, ErrDamaged) {
		return fmt.Errorf("%s %s: %w", table, id, cause)
	}
	if tx.store.damaged.add(recordKey{org: tx.org, table: table, id: id}, !tx.verifying) {
		tx.store.opt.Log.Error("record is damaged and left out of lists", "organization", tx.org, "table", table, "id", id, "error", cause)
	}
	return &DamagedRecord{Table: table, ID: id, cause: cause}
}

// unreadableEntry is unreadable for a part or a chunk of a set. Its key begins with the id of the record that
// it belongs to.
func (tx *Tx) unreadableEntry(bucket string, key []byte, cause error) error {
	tx.foundDamaged(bucket, key, cause)
	e := &DamagedRecord{Table: strings.TrimSuffix(strings.TrimSuffix(bucket, partSuffix), setSuffix), isSet: true, cause: cause}
	copy(e.ID[:], key)
	return e
}

// foundDamaged counts a damaged entry that is not a record, and logs it like unreadable does.
func (tx *Tx) foundDamaged(bucket string, key []byte, cause error) {
	if tx.store.damaged.add(recordKey{org: tx.org, table: bucket, entry: string(key)}, !tx.verifying) {
		tx.store.opt.Log.Error("store entry is damaged", "organization", tx.org, "bucket", bucket, "key", hex.EncodeToString(key), "error", cause)
	}
}

// replaced removes a record from the damaged ones once the transaction, which has written or deleted
// it, is committed.
func (tx *Tx) replaced(table string, id uuid.UUID) {
	damaged := &tx.store.damaged
	if damaged.count.Load() == 0 {
		return
	}
	key := recordKey{org: tx.org, table: table, id: id}
	tx.AfterCommit(func() { damaged.removeIf(func(k recordKey) bool { return k == key }) })
}

// replacedEntry is replaced for an entry that is not a record.
func (tx *Tx) replacedEntry(bucket string, entry []byte) {
	damaged := &tx.store.damaged
	if damaged.count.Load() == 0 {
		return
	}
	key := recordKey{org: tx.org, table: bucket, entry: string(entry)}
	missing := key // a missing chunk of the same set
	if strings.HasSuffix(bucket, setSuffix) {
		missing.entry = key.entry[:min(len(entry), 16)]
	}
	if damaged.has(key) || damaged.has(missing) {
		tx.AfterCommit(func() { damaged.removeIf(func(k recordKey) bool { return k == key || k == missing }) })
	}
}

// DamagedIDs returns the unreadable records of the organization that were found since the store was
// opened, by table.
func (s *Store) DamagedIDs(org uuid.UUID) map[string][]uuid.UUID {
	s.damaged.mu.Lock()
	defer s.damaged.mu.Unlock()
	found := map[string][]uuid.UUID{}
	for k := range s.damaged.known {
		if k.org == org && k.entry == "" {
			found[k.table] = append(found[k.table], k.id)
		}
	}
	for _, ids := range found {
		slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
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
	rec := table + ".rec"
	tx.delete(rec, id[:])
	tx.setSequence(rec, max(tx.sequence(rec), 1)-1)
	isOwn := func(key, value []byte) bool {
		if len(value) == 0 { // a secondary key, which ends with the id
			return len(key) > 16 && uuid.UUID(key[len(key)-16:]) == id
		}
		return bytes.Equal(value, id[:]) || len(value) == 32 && bytes.Equal(value, append(tx.org[:], id[:]...))
	}
	for _, bucket := range tx.keyBuckets(table) {
		if err := tx.deleteWhere(bucket, isOwn); err != nil {
			return err
		}
	}
	tx.replaced(table, id)
	log := table + ".log"
	if tx.bucket(log) == nil { // the table has no change log
		return nil
	}
	prev, err := tx.lastChangeOf(log, id)
	if err != nil {
		return err
	}
	number, err := tx.logChange(table, historyKept, Change{Op: Deleted, ID: id, Prev: prev, Actor: tx.actor})
	tx.put(goneBucket(table), id[:], numberKey(number))
	return err
}

// keyBuckets returns the buckets of the unique and secondary keys of a table.
func (tx *Tx) keyBuckets(table string) (buckets []string) {
	if tx.orgBkt != nil {
		_ = tx.orgBkt.ForEachBucket(func(name []byte) error { // the function never fails
			if n := string(name); strings.HasPrefix(n, table+".uniq.") || strings.HasPrefix(n, table+".key.") {
				buckets = append(buckets, n)
			}
			return nil
		})
	}
	_ = tx.btx.ForEach(func(name []byte, _ *bolt.Bucket) error {
		if n := string(name); strings.HasPrefix(n, globalPrefix+table+".") {
			buckets = append(buckets, sharedPrefix+n)
		}
		return nil
	})
	return buckets
}

// lastChangeOf returns the number of the newest change of a record that the log has, or 0.
func (tx *Tx) lastChangeOf(log string, id uuid.UUID) (number uint64, err error) {
	err = tx.look(log, nil, func(key, value []byte) (bool, error) {
		// An unreadable change is skipped: the history of the record is then shorter.
		if c, err := tx.decodeChange(log, key, value); err == nil && c.ID == id {
			number = c.Number
		}
		return true, nil
	})
	return number, err
}

// deleteWhere deletes the entries of a bucket for which match returns true.
func (tx *Tx) deleteWhere(bucket string, match func(key, value []byte) bool) error {
	return tx.scan(bucket, nil, func(key, value []byte) (bool, error) {
		if match(key, value) {
			tx.delete(bucket, key)
		}
		return true, nil
	})
}
