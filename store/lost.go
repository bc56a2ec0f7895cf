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
	for _, value := range tx.scan(lostShared, nil) {
		var l LostPage
		if err := json.Unmarshal(value, &l); err != nil {
			return lost, err
		}
		lost = append(lost, l)
	}
	return lost, nil
}

// ForgetLostPages removes the list of lost pages.
func (tx *Tx) ForgetLostPages() {
	tx.AfterCommit(func() { tx.store.lostPages.Store(0) })
	tx.deleteWhere(lostShared, func([]byte, []byte) bool { return true })
}

// lostValue is the value of a record that is gone. Like every value of an unknown format, it is damaged.
var lostValue = []byte{0}

// MarkLost adds a damaged record for each record of the organization that is gone and whose id the change
// log or a key still has. Such a record can be found, deleted and restored like any damaged one.
func (tx *Tx) MarkLost() {
	tables := bucketNames(tx.orgBkt, recSuffix)
	for _, key := range globalBuckets(tx.btx) { // a table may be gone altogether, but not its global keys
		table, _, _ := strings.Cut(strings.TrimPrefix(key, globalPrefix), ".")
		tables = append(tables, table)
	}
	for _, table := range tables {
		for id := range tx.lostIDs(table) {
			tx.put(table+recSuffix, id[:], lostValue)
			tx.AfterCommit(func() { _ = tx.unreadable(table+recSuffix, id[:], ErrDamaged) }) // what is written counts as replaced until then
		}
	}
}

// removeOutdated takes out what the change log contradicts: a rebuild may have found an earlier version of a page.
func (tx *Tx) removeOutdated() {
	for _, table := range bucketNames(tx.orgBkt, recSuffix) {
		rec := table + recSuffix
		for id, c := range tx.lastChanges(table) {
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
}

// lastChanges returns the last change of each record that the change log has.
func (tx *Tx) lastChanges(table string) map[uuid.UUID]Change {
	last := map[uuid.UUID]Change{}
	for c := range tx.readableChanges(table) {
		last[c.ID] = c
	}
	return last
}

// countEntries returns the number of entries of a bucket, readable or not.
func (tx *Tx) countEntries(bucket string) (n int) {
	for range tx.scan(bucket, nil) {
		n++
	}
	return n
}

// lostIDs returns the ids of records that should exist and do not.
func (tx *Tx) lostIDs(table string) map[uuid.UUID]bool {
	rec := table + recSuffix
	lost, last := map[uuid.UUID]bool{}, tx.lastChanges(table)
	for id, c := range last {
		if c.Op != Deleted && id != uuid.Nil && tx.get(rec, id[:]) == nil {
			lost[id] = true
		}
	}
	wanted := int(tx.sequence(rec)) - tx.countEntries(rec)
	for _, bucket := range tx.keyBuckets(table) {
		if len(lost) >= wanted && !strings.HasPrefix(bucket, sharedPrefix) {
			continue
		}
		for key, value := range tx.scan(bucket, nil) {
			id, ok := tx.recordOf(key, value)
			isGlobal := len(value) == 32 // then whatever the table counts: its count may be gone too
			if ok && (isGlobal || len(lost) < wanted) && last[id].Op != Deleted && tx.get(rec, id[:]) == nil {
				lost[id] = true
			}
		}
	}
	return lost
}

// CorrectCounts corrects the record counts of the organization's tables. It calls fn for each table that
// counts more records than it has: so many are gone, and their ids are not known.
func (tx *Tx) CorrectCounts(fn func(table string, missing int)) {
	for _, table := range bucketNames(tx.orgBkt, recSuffix) {
		rec := table + recSuffix
		n := tx.countEntries(rec)
		if missing := int(tx.sequence(rec)) - n; missing > 0 {
			fn(table, missing)
		}
		tx.setSequence(rec, uint64(n))
	}
}
