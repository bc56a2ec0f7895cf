package store

import (
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// migration brings a store from the format of its place in the list to the next one.
type migration func(*bolt.Tx) error

// migrations are ordered and only ever grow. The format of a store is how many of them it has seen; the first one is
// the layout itself, which create writes.
var migrations = []migration{
	func(*bolt.Tx) error { return nil },
	func(*bolt.Tx) error { return nil }, // values that were touched have a format that older programs cannot read
	releaseHeldJobs,
}

var heldBucket = []byte("held")

// releaseHeldJobs moves jobs from the bucket "held", which programs up to format 2 could keep beside the queue, to the
// queue.
func releaseHeldJobs(btx *bolt.Tx) error {
	held := btx.Bucket(heldBucket)
	if held == nil {
		return nil
	}
	due := btx.Bucket(dueBucket)
	err := held.ForEach(func(k, v []byte) error { return due.Put(k, v) })
	if err != nil {
		return err
	}
	return btx.DeleteBucket(heldBucket)
}

// migrate runs what the store has not seen yet, each in a transaction of its own that also notes the new format.
// A store that has seen more than this program knows is refused and left alone.
func (s *Store) migrate() error {
	known := uint64(len(s.opt.migrations))
	var format uint64
	err := s.db.View(func(btx *bolt.Tx) error {
		v := btx.Bucket(metaBucket).Get(formatKey)
		if len(v) != 8 {
			return fmt.Errorf("%w: its format is not noted (restore a backup)", ErrDamaged)
		}
		format = binary.BigEndian.Uint64(v)
		return nil
	})
	if err != nil {
		return err
	}
	if format > known {
		return fmt.Errorf("the store has format %d, this program knows formats up to %d; use a newer prospector", format, known)
	}
	for ; format < known; format++ {
		err := s.db.Update(func(btx *bolt.Tx) error {
			if err := s.opt.migrations[format](btx); err != nil {
				return err
			}
			return btx.Bucket(metaBucket).Put(formatKey, binary.BigEndian.AppendUint64(nil, format+1))
		})
		if err != nil {
			return fmt.Errorf("migrate to format %d: %w", format+1, err)
		}
		s.opt.Log.Info("migrated the store", "format", format+1)
	}
	return nil
}
