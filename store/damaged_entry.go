package store

import (
	"bytes"
	"slices"
	"strings"
)

// DamagedEntries calls fn for each unreadable part, job and tombstone of the organization, and for each unreadable
// chunk of a set that DropDamagedEntries cannot restore.
func (tx *Tx) DamagedEntries(fn func(bucket string, key, value []byte)) error {
	for _, table := range tx.tables() {
		err := tx.look(table+".rec", nil, func(key, value []byte) (bool, error) {
			if len(key) != 16 {
				fn(table+".rec", key, value)
			}
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	for _, s := range tx.sets() {
		if err := s.lostChunks(tx, func(key, value []byte) { fn(s.chunks, key, value) }); err != nil {
			return err
		}
	}
	for _, bucket := range tx.sealedBuckets() {
		if strings.HasSuffix(bucket, setSuffix) {
			continue
		}
		err := tx.look(bucket, nil, func(key, value []byte) (bool, error) {
			if _, err := unseal(tx.place(bucket, key), value); err != nil {
				fn(bucket, key, value)
			}
			return true, nil
		})
		if err != nil {
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
	for _, bucket := range tx.sealedBuckets() {
		var jobs [][]byte
		err := tx.deleteWhere(bucket, func(key, value []byte) bool {
			_, err := unseal(tx.place(bucket, key), value)
			if err != nil && bucket == jobsBucket {
				jobs = append(jobs, bytes.Clone(key))
			}
			return err != nil
		})
		if err != nil {
			return err
		}
		if len(jobs) == 0 {
			continue
		}
		err = tx.deleteWhere(dueShared, func(key, _ []byte) bool {
			return len(key) == dueKeySize && bytes.Equal(key[8:24], tx.org[:]) &&
				slices.ContainsFunc(jobs, func(id []byte) bool { return bytes.Equal(id, key[24:]) })
		})
		if err != nil {
			return err
		}
	}
	for _, table := range tx.tables() {
		isNoID := func(key, _ []byte) bool { return len(key) != 16 }
		if err := tx.deleteWhere(table+".rec", isNoID); err != nil {
			return err
		}
	}
	return nil
}

// sealedBuckets returns the buckets of the organization with checksums that are neither records nor
// change logs.
func (tx *Tx) sealedBuckets() (buckets []string) {
	if tx.orgBkt == nil {
		return nil
	}
	_ = tx.orgBkt.ForEachBucket(func(name []byte) error { // the function never fails
		n := string(name)
		if isSealed(n) && !strings.HasSuffix(n, ".rec") && !strings.HasSuffix(n, logSuffix) {
			buckets = append(buckets, n)
		}
		return nil
	})
	return buckets
}
