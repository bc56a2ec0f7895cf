package store

import (
	"encoding/json"
	"strings"

	"github.com/google/uuid"
)

// LostPage is a page of the store file that could not be read when the file was rebuilt.
type LostPage struct {
	Organization uuid.UUID `json:"organization"` // uuid.Nil for what all organizations share
	Bucket       string    `json:"bucket"`       // what was on the page, or empty for a list of buckets
	Page         uint64    `json:"page"`
	Cause        string    `json:"cause"`
	Raw          []byte    `json:"raw"` // the first page
}

// lostBucket has the lost pages until check --repair --drop has reported them.
var lostBucket = []byte("lost")

const lostShared = sharedPrefix + "lost"

// LostPages returns the pages that were lost when the file was rebuilt, until ForgetLostPages is called.
func (tx *Tx) LostPages() (lost []LostPage, err error) {
	err = tx.scan(lostShared, nil, func(_, value []byte) (bool, error) {
		var l LostPage
		err := json.Unmarshal(value, &l)
		lost = append(lost, l)
		return true, err
	})
	return lost, err
}

// ForgetLostPages removes the list of lost pages.
func (tx *Tx) ForgetLostPages() error {
	tx.AfterCommit(func() { tx.store.lostPages.Store(0) })
	return tx.deleteWhere(lostShared, func([]byte, []byte) bool { return true })
}

// lostValue is the value of a record that is gone. Like every value of an unknown format, it is damaged.
var lostValue = []byte{0}

// MarkLost adds a damaged record for each record of the organization that is gone and whose id the change
// log or a key still has. Such a record can be found, deleted and restored like any damaged one.
func (tx *Tx) MarkLost() error {
	tables := bucketNames(tx.orgBkt, recSuffix)
	for _, key := range globalBuckets(tx.btx) { // a table may be gone altogether, but not its global keys
		table, _, _ := strings.Cut(strings.TrimPrefix(key, globalPrefix), ".")
		tables = append(tables, table)
	}
	for _, table := range tables {
		ids, err := tx.lostIDs(table)
		if err != nil {
			return err
		}
		for id := range ids {
			tx.put(table+recSuffix, id[:], lostValue)
			tx.AfterCommit(func() { _ = tx.unreadable(table+recSuffix, id[:], ErrDamaged) }) // what is written counts as replaced until then
		}
	}
	return nil
}

// removeOutdated takes out what the change log contradicts: a rebuild may have found an earlier version of a page.
func (tx *Tx) removeOutdated() error {
	for _, table := range bucketNames(tx.orgBkt, recSuffix) {
		rec := table + recSuffix
		last, err := tx.lastChanges(table)
		if err != nil {
			return err
		}
		for id, c := range last {
			v := tx.get(rec, id[:])
			if _, _, _, err := decodeValue(tx.placeSum(rec, id[:]), v); err != nil || changeOf(v) >= c.Number {
				continue
			}
			if c.Op == Deleted {
				tx.delete(rec, id[:])
			} else {
				tx.put(rec, id[:], lostValue)
			}
		}
	}
	return nil
}

// lastChanges returns the last change of each record that the change log has.
func (tx *Tx) lastChanges(table string) (map[uuid.UUID]Change, error) {
	last := map[uuid.UUID]Change{}
	return last, tx.readableChanges(table, func(c Change) error { last[c.ID] = c; return nil })
}

// countEntries returns the number of entries of a bucket, readable or not.
func (tx *Tx) countEntries(bucket string) (n int, err error) {
	err = tx.scan(bucket, nil, func(_, _ []byte) (bool, error) { n++; return true, nil })
	return n, err
}

// lostIDs returns the ids of records that should exist and do not.
func (tx *Tx) lostIDs(table string) (map[uuid.UUID]bool, error) {
	rec := table + recSuffix
	lost := map[uuid.UUID]bool{}
	last, err := tx.lastChanges(table)
	for id, c := range last {
		if c.Op != Deleted && id != uuid.Nil && tx.get(rec, id[:]) == nil {
			lost[id] = true
		}
	}
	if err != nil {
		return nil, err
	}
	present, err := tx.countEntries(rec)
	wanted := int(tx.sequence(rec)) - present
	for _, bucket := range tx.keyBuckets(table) {
		if err != nil || len(lost) >= wanted && !strings.HasPrefix(bucket, sharedPrefix) {
			continue
		}
		err = tx.scan(bucket, nil, func(key, value []byte) (bool, error) {
			id, ok := tx.recordOf(key, value)
			isGlobal := len(value) == 32 // then whatever the table counts: its count may be gone too
			if ok && (isGlobal || len(lost) < wanted) && last[id].Op != Deleted && tx.get(rec, id[:]) == nil {
				lost[id] = true
			}
			return true, nil
		})
	}
	return lost, err
}

// CorrectCounts corrects the record counts of the organization's tables. It calls fn for each table that
// counts more records than it has: so many are gone, and their ids are not known.
func (tx *Tx) CorrectCounts(fn func(table string, missing int)) error {
	for _, table := range bucketNames(tx.orgBkt, recSuffix) {
		rec := table + recSuffix
		n, err := tx.countEntries(rec)
		if err != nil {
			return err
		}
		if missing := int(tx.sequence(rec)) - n; missing > 0 {
			fn(table, missing)
		}
		tx.setSequence(rec, uint64(n))
	}
	return nil
}
