package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// Format returns the format of the stores that this program writes.
func Format() int { return len(migrations) }

// migration converts a store from one format to the next.
type migration func(*bolt.Tx) error

// migrations are ordered, and entries are only ever added. The format of a store is the number of
// migrations it has seen. The first one stands for the layout that create writes.
var migrations = []migration{
	func(*bolt.Tx) error { return nil },
	func(*bolt.Tx) error { return nil }, // touched values have a format that older programs cannot read
	releaseHeldJobs,
	dropUniqueSuppressions,
	func(*bolt.Tx) error { return nil }, // webhook events are stored before they are fanned out, which older programs never do
	func(*bolt.Tx) error { return nil }, // users have credentials and sessions, which older programs do not keep in step with them
	func(*bolt.Tx) error { return nil }, // accounts and contacts have a key of their names, which Store.UseShapes builds
	func(*bolt.Tx) error { return nil }, // the change log has values and operations, and settings have a trash, which older programs ignore
	func(*bolt.Tx) error { return nil }, // contacts have other addresses, which older programs would drop and not look at before they send
	dropAttemptNumbers,
}

var heldBucket = []byte("held")

// releaseHeldJobs moves the jobs of the bucket "held" to the queue. Programs up to format 2 could
// keep jobs there.
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

// dropUniqueSuppressions removes the unique keys of suppressions. Up to format 3 an address had one
// key per spelling. Now all suppressions of an address have the same secondary key, which
// Store.UseShapes builds.
func dropUniqueSuppressions(btx *bolt.Tx) error { return dropBuckets(btx, "suppressions.uniq.what") }

// dropAttemptNumbers removes what led to the attempts of webhooks. Up to format 9 they were parts; Webhooks.Upgrade makes
// records of them.
func dropAttemptNumbers(btx *bolt.Tx) error {
	return dropBuckets(btx, "webhook_attempts.succeeded.part", "webhook_attempts.failed.part", "webhook_attempts.event.part")
}

// dropBuckets removes buckets of all organizations.
func dropBuckets(btx *bolt.Tx, names ...string) error {
	orgs := btx.Bucket(orgsBucket)
	return orgs.ForEachBucket(func(org []byte) error {
		for _, name := range names {
			if err := orgs.Bucket(org).DeleteBucket([]byte(name)); err != nil && !errors.Is(err, berrors.ErrBucketNotFound) {
				return err
			}
		}
		return nil
	})
}

// migrate runs the migrations that the store has not seen. Each runs in its own transaction, which
// also records the new format. A store with a newer format is refused and left unchanged.
func (s *Store) migrate() error {
	known := uint64(len(s.opt.migrations))
	var format uint64
	err := s.db.View(func(btx *bolt.Tx) error {
		v := btx.Bucket(metaBucket).Get(formatKey)
		if len(v) != 8 {
			return fmt.Errorf("%w: its format is missing (restore a backup)", ErrDamaged)
		}
		format = binary.BigEndian.Uint64(v)
		return nil
	})
	if err != nil {
		return err
	}
	if format > known {
		return fmt.Errorf("the store has format %d, but this program supports formats up to %d; use a newer prospector", format, known)
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
		s.opt.Log.Info("store migrated", "format", format+1)
	}
	return nil
}
