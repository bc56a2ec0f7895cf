package store

import (
	"bytes"
	"strings"

	"github.com/google/uuid"
)

// DamagedEntries calls fn for each unreadable part, job and tombstone of the organization, and for each unreadable
// chunk of a set that DropDamagedEntries cannot restore.
func (tx *Tx) DamagedEntries(fn func(bucket string, key, value []byte)) error {
	for _, s := range tx.sets() {
		if err := s.lostChunks(tx, func(key, value []byte) { fn(s.chunks, key, value) }); err != nil {
			return err
		}
	}
	return tx.eachDamaged(func(bucket string, key, value []byte) {
		if !strings.HasSuffix(bucket, setSuffix) {
			fn(bucket, key, value)
		}
	})
}

// DropDamagedEntries deletes the unreadable parts, sets, jobs and tombstones of the organization. A set is first
// written again from its other direction.
func (tx *Tx) DropDamagedEntries() error {
	if err := tx.repairSets(false); err != nil {
		return err
	}
	jobs := map[string]bool{}
	err := tx.eachDamaged(func(bucket string, key, _ []byte) {
		if tx.delete(bucket, key); bucket == jobsBucket {
			jobs[string(key)] = true
		}
	})
	if err != nil || len(jobs) == 0 {
		return err
	}
	return tx.deleteWhere(dueShared, func(key, _ []byte) bool {
		return len(key) == dueKeySize && bytes.Equal(key[8:24], tx.org[:]) && jobs[string(key[24:])]
	})
}

// eachDamaged calls fn for the damaged entries of all buckets that are not change logs. fn may delete them. In a table
// these are the entries whose key is not the id of a record: a damaged record is deleted by its id.
func (tx *Tx) eachDamaged(fn func(bucket string, key, value []byte)) error {
	for _, bucket := range tx.sealedBuckets(logSuffix) {
		err := tx.scanWhileWriting(bucket, nil, func(key, value []byte) (bool, error) {
			isTable := strings.HasSuffix(bucket, recSuffix)
			if isTable && len(key) != len(uuid.UUID{}) || !isTable && tx.checkEntry(bucket, key, value) != nil {
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
