package store

import (
	"bytes"
	"strings"

	"github.com/google/uuid"
)

// DamagedEntries calls fn for each unreadable part, job and tombstone of the organization, and for each unreadable
// chunk of a set that DropDamagedEntries cannot restore.
func (tx *Tx) DamagedEntries(fn func(bucket string, key, value []byte)) {
	for _, s := range tx.sets() {
		s.lostChunks(tx, func(key, value []byte) { fn(s.chunks, key, value) })
	}
	for _, bucket := range tx.sealedBuckets(logSuffix, setSuffix) {
		for key, value := range tx.damagedIn(bucket) {
			fn(bucket, key, value)
		}
	}
}

// DropDamagedEntries deletes the unreadable parts, sets, jobs and tombstones of the organization. A set is first
// written again from its other direction.
func (tx *Tx) DropDamagedEntries() error {
	if err := tx.repairSets(false); err != nil {
		return err
	}
	jobs := map[string]bool{}
	for _, bucket := range tx.sealedBuckets(logSuffix) {
		for key := range tx.damagedIn(bucket) {
			if tx.delete(bucket, key); bucket == jobsBucket {
				jobs[string(key)] = true
			}
		}
	}
	if len(jobs) > 0 {
		tx.deleteWhere(dueShared, func(key, _ []byte) bool {
			return len(key) == dueKeySize && bytes.Equal(key[8:24], tx.org[:]) && jobs[string(key[24:])]
		})
	}
	return nil
}

// damagedIn returns the damaged entries of a bucket, which the loop may delete. In a table these are the entries whose key
// is not the id of a record: a damaged record is deleted by its id.
func (tx *Tx) damagedIn(bucket string) entrySeq {
	return func(yield func(key, value []byte) bool) {
		isTable := strings.HasSuffix(bucket, recSuffix)
		for key, value := range tx.scanWhileWriting(bucket, nil) {
			isDamaged := isTable && len(key) != len(uuid.UUID{}) || !isTable && tx.checkEntry(bucket, key, value) != nil
			if isDamaged && !yield(key, value) {
				return
			}
		}
	}
}
