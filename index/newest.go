package index

import (
	"bytes"
	"errors"
	"path/filepath"

	"github.com/blevesearch/bleve/v2/util"
	bolt "go.etcd.io/bbolt"
)

// errUnbegun says that whoever made the index was killed before anything was written to it. That is no damage.
var errUnbegun = errors.New("nothing was written to it yet")

// keepNewest removes all but the newest snapshot from the root file of an index that is not open, and gives the names of
// the newest one's segments. Where bleve cannot read the newest it would go on from an older one, under numbers that are
// taken: what it writes is mixed with what was there, or removed for being older than the newest, until nothing of the
// index can be read.
func keepNewest(path string) (segments []string, err error) {
	err = guarded(func() (err error) {
		options := *bolt.DefaultOptions
		options.Timeout = lockTime
		db, err := bolt.Open(filepath.Join(path, rootFile), 0o600, &options)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		var older [][]byte
		err = db.View(func(tx *bolt.Tx) (err error) {
			segments, older, err = snapshots(tx)
			return err
		})
		if err != nil || len(older) == 0 { // nothing to wait for the disk for
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

// snapshots gives the segments of the newest snapshot, and the keys of the others.
func snapshots(tx *bolt.Tx) (segments []string, older [][]byte, err error) {
	all := tx.Bucket(util.BoltSnapshotsBucket)
	if all == nil {
		return nil, nil, errUnbegun
	}
	c := all.Cursor()
	newest, _ := c.Last()
	if newest == nil {
		return nil, nil, errUnbegun
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
