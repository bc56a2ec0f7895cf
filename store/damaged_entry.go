package store

import (
	"bytes"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// DamagedEntries calls fn for each unreadable part, job and tombstone of the organization, and for each unreadable
// chunk of a set that DropDamagedEntries cannot restore.
func (tx *Tx) DamagedEntries(fn func(bucket string, key, value []byte)) error {
	in := func(bucket string) error {
		return tx.damagedIn(bucket, func(key, value []byte) { fn(bucket, key, value) })
	}
	for _, table := range bucketNames(tx.orgBkt, ".rec") {
		if err := in(table + ".rec"); err != nil {
			return err
		}
	}
	for _, s := range tx.sets() {
		if err := s.lostChunks(tx, func(key, value []byte) { fn(s.chunks, key, value) }); err != nil {
			return err
		}
	}
	for _, bucket := range tx.entryBuckets() {
		if strings.HasSuffix(bucket, setSuffix) {
			continue
		}
		if err := in(bucket); err != nil {
			return err
		}
	}
	return nil
}

// DropDamagedEntries deletes the unreadable parts, sets, jobs and tombstones of the organization. A set is first
// written again from its other direction.
func (tx *Tx) DropDamagedEntries() error {
	if err := tx.repairSets(false); err != nil {
		return err
	}
	buckets := tx.entryBuckets()
	for _, table := range bucketNames(tx.orgBkt, ".rec") {
		buckets = append(buckets, table+".rec")
	}
	jobs := map[string]bool{}
	for _, bucket := range buckets {
		err := tx.damagedIn(bucket, func(key, _ []byte) {
			tx.delete(bucket, key)
			if bucket == jobsBucket {
				jobs[string(key)] = true
			}
		})
		if err != nil {
			return err
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	return tx.deleteWhere(dueShared, func(key, _ []byte) bool {
		return len(key) == dueKeySize && bytes.Equal(key[8:24], tx.org[:]) && jobs[string(key[24:])]
	})
}

// damagedIn calls fn for the damaged entries of a bucket, which may delete them. Of a table these are the entries whose
// key is not the id of a record.
func (tx *Tx) damagedIn(bucket string, fn func(key, value []byte)) error {
	return tx.scan(bucket, nil, func(key, value []byte) (bool, error) {
		if strings.HasSuffix(bucket, ".rec") && len(key) != len(uuid.UUID{}) ||
			!strings.HasSuffix(bucket, ".rec") && tx.checkEntry(bucket, key, value) != nil {
			fn(key, value)
		}
		return true, nil
	})
}

// entryBuckets returns the buckets of the organization with checksums that are neither tables nor change logs.
func (tx *Tx) entryBuckets() []string {
	return slices.DeleteFunc(bucketNames(tx.orgBkt, ""), func(name string) bool {
		return !isSealed(name) || endsWith(name, ".rec", logSuffix)
	})
}
