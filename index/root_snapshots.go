package index

import (
	"bytes"
	"errors"
	"path/filepath"

	"github.com/blevesearch/bleve/v2/util"
	bolt "go.etcd.io/bbolt"
)

// errNotStarted reports that the process that created the index was killed before it wrote
// anything. The index is not damaged.
var errNotStarted = errors.New("nothing was written to the index yet")

// keepNewest removes all but the newest snapshot from the root file of an index that is not open.
// It returns the segment files of the newest one.
//
// If bleve cannot read the newest snapshot, it continues from an older one under numbers that are
// already in use. New data is then mixed with old data or removed as outdated, until the whole
// index is unreadable.
func keepNewest(path string) (segments []string, err error) {
	err = recoverDamage(func() (err error) {
		options := *bolt.DefaultOptions
		options.Timeout = lockTimeout
		db, err := bolt.Open(filepath.Join(path, rootFile), 0o600, &options)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		var older [][]byte
		err = db.View(func(tx *bolt.Tx) (err error) {
			segments, older, err = rootSnapshots(tx)
			return err
		})
		if err != nil || len(older) == 0 { // no need for an fsync
			return err
		}
		return db.Update(func(tx *bolt.Tx) (err error) {
			for _, key := range older {
				err = errors.Join(err, tx.Bucket(util.BoltSnapshotsBucket).DeleteBucket(key))
			}
			return err
		})
	})
	return segments, err
}

// rootSnapshots returns the segment files of the newest snapshot and the keys of the older ones.
func rootSnapshots(tx *bolt.Tx) (segments []string, older [][]byte, err error) {
	all := tx.Bucket(util.BoltSnapshotsBucket)
	if all == nil {
		return nil, nil, errNotStarted
	}
	c := all.Cursor()
	newest, _ := c.Last()
	if newest == nil {
		return nil, nil, errNotStarted
	}
	for key, _ := c.Prev(); key != nil; key, _ = c.Prev() {
		older = append(older, bytes.Clone(key))
	}
	snapshot := all.Bucket(newest)
	err = snapshot.ForEachBucket(func(key []byte) error {
		if file := snapshot.Bucket(key).Get(util.BoltPathKey); file != nil {
			segments = append(segments, string(file))
		}
		return nil
	})
	return segments, older, err
}
