package store

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
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
	err = tx.look(lostShared, nil, func(_, value []byte) (bool, error) {
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

// tables returns the tables of the organization.
func (tx *Tx) tables() (tables []string) {
	if tx.orgBkt == nil {
		return nil
	}
	_ = tx.orgBkt.ForEachBucket(func(name []byte) error { // the function never fails
		if table, is := strings.CutSuffix(string(name), ".rec"); is {
			tables = append(tables, table)
		}
		return nil
	})
	return tables
}

// lostValue is the value of a record that is gone. Like every value of an unknown format, it is damaged.
var lostValue = []byte{0}

// MarkLost adds a damaged record for each record of the organization that is gone and whose id the change
// log or a key still has. Such a record can be found, deleted and restored like any damaged one.
func (tx *Tx) MarkLost() error {
	tables := tx.tables()
	_ = tx.btx.ForEach(func(name []byte, _ *bolt.Bucket) error { // a table may be gone altogether, but not its global keys
		if key, isGlobal := strings.CutPrefix(string(name), globalPrefix); isGlobal {
			table, _, _ := strings.Cut(key, ".")
			tables = append(tables, table)
		}
		return nil
	})
	for _, table := range tables {
		ids, err := tx.lostIDs(table)
		if err != nil {
			return err
		}
		for id := range ids {
			tx.put(table+".rec", id[:], lostValue)
			_ = tx.unreadable(table, id, ErrDamaged)
		}
	}
	return nil
}

// removeOutdated takes out what the change log contradicts: a rebuild may have found an earlier version of a page.
func (tx *Tx) removeOutdated() error {
	for _, table := range tx.tables() {
		rec := table + ".rec"
		last, err := tx.lastChanges(table)
		if err != nil {
			return err
		}
		for id, c := range last {
			v := tx.get(rec, id[:])
			if _, _, _, err := decodeValue(tx.place(rec, id[:]), v); err != nil || changeOf(v) >= c.Number {
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
	log, last := table+logSuffix, map[uuid.UUID]Change{}
	err := tx.look(log, nil, func(key, value []byte) (bool, error) {
		if c, err := tx.decodeChange(log, key, value); err == nil {
			last[c.ID] = c
		}
		return true, nil
	})
	return last, err
}

// lostIDs returns the ids of records that should exist and do not.
func (tx *Tx) lostIDs(table string) (map[uuid.UUID]bool, error) {
	rec := table + ".rec"
	lost, present := map[uuid.UUID]bool{}, 0
	last, err := tx.lastChanges(table)
	for id, c := range last {
		if c.Op != Deleted && id != uuid.Nil && tx.get(rec, id[:]) == nil {
			lost[id] = true
		}
	}
	if err == nil {
		err = tx.look(rec, nil, func(_, _ []byte) (bool, error) { present++; return true, nil })
	}
	wanted := int(tx.sequence(rec)) - present
	add := func(id uuid.UUID) {
		if len(lost) < wanted && last[id].Op != Deleted && tx.get(rec, id[:]) == nil {
			lost[id] = true
		}
	}
	for _, bucket := range tx.keyBuckets(table) {
		if err != nil || len(lost) >= wanted && !strings.HasPrefix(bucket, sharedPrefix) {
			continue
		}
		err = tx.look(bucket, nil, func(key, value []byte) (bool, error) {
			switch {
			case len(value) == 0 && len(key) > 16:
				add(uuid.UUID(key[len(key)-16:]))
			case len(value) == 16:
				add(uuid.UUID(value))
			case len(value) == 32 && bytes.HasPrefix(value, tx.org[:]):
				if id := uuid.UUID(value[16:]); last[id].Op != Deleted && tx.get(rec, id[:]) == nil {
					lost[id] = true // whatever the table counts: its count may be gone too
				}
			}
			return true, nil
		})
	}
	return lost, err
}

// CorrectCounts corrects the record counts of the organization's tables. It calls fn for each table that
// counts more records than it has: so many are gone, and their ids are not known.
func (tx *Tx) CorrectCounts(fn func(table string, missing int)) error {
	for _, table := range tx.tables() {
		rec, n := table+".rec", 0
		err := tx.look(rec, nil, func(_, _ []byte) (bool, error) { n++; return true, nil })
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

// countLostPages reads how many pages were lost.
func (s *Store) countLostPages() error {
	return s.db.View(func(btx *bolt.Tx) error {
		if b := btx.Bucket(lostBucket); b != nil {
			s.lostPages.Store(int64(b.Stats().KeyN))
		}
		return nil
	})
}
