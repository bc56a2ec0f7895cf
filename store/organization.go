package store

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"prospector/internal/fault"
)

var (
	goneOrgs    = []byte("gone")
	trashBucket = []byte("trash")
)

// maxTrashPerCommit is how many entries of a deleted organization one commit takes out of the file, so that others do not wait.
const maxTrashPerCommit = 5_000

// Organizations lists every organization by its id.
func (s *Store) Organizations() ([]uuid.UUID, error) {
	var orgs []uuid.UUID
	err := guard(func() error {
		return s.db.View(func(btx *bolt.Tx) error {
			return btx.Bucket(orgsBucket).ForEachBucket(func(k []byte) error {
				org, err := uuid.FromBytes(k)
				if org != uuid.Nil {
					orgs = append(orgs, org)
				}
				return err
			})
		})
	})
	return orgs, err
}

// DropOrganization deletes the organization of the transaction with all that it has, whatever else the transaction writes.
// Nothing of it can be found or written after the commit; its room in the file is made free by EmptyTrash.
func (tx *Tx) DropOrganization() {
	tx.mustWrite()
	tx.bytes++
	tx.raw = func(btx *bolt.Tx) error {
		if err := tx.dropShared(btx); err != nil {
			return err
		}
		gone, err := btx.CreateBucketIfNotExists(goneOrgs)
		if err != nil {
			return err
		}
		if err := gone.Put(tx.org[:], tx.now.AppendFormat(nil, time.RFC3339)); err != nil || tx.orgBkt == nil {
			return err
		}
		trash, err := btx.CreateBucketIfNotExists(trashBucket)
		if err != nil {
			return err
		}
		return btx.MoveBucket(tx.org[:], btx.Bucket(orgsBucket), trash)
	}
}

// dropShared deletes what an organization has beside the others: its jobs' places in the queues and its global keys.
func (tx *Tx) dropShared(btx *bolt.Tx) error {
	return btx.ForEach(func(name []byte, b *bolt.Bucket) error {
		bucket := sharedPrefix + string(name)
		queue, marks := bucket == dueShared, bucket == incompleteShared
		if !queue && !marks && !strings.HasPrefix(string(name), globalPrefix) {
			return nil
		}
		var drop [][]byte // bbolt's cursors do not like to be deleted under
		err := b.ForEach(func(k, v []byte) error {
			of := v
			switch {
			case queue:
				of = k[min(8, len(k)):]
			case marks:
				of = k
			}
			if bytes.HasPrefix(of, tx.org[:]) {
				drop = append(drop, k)
			}
			return nil
		})
		for _, k := range drop {
			if err == nil {
				err = b.Delete(k)
			}
		}
		return err
	})
}

// isGone refuses to bring a deleted organization back to life, as a request would that was let in before.
func isGone(btx *bolt.Tx, org uuid.UUID) error {
	if gone := btx.Bucket(goneOrgs); gone != nil && gone.Get(org[:]) != nil {
		return fault.New(fault.NotFound, "the organization was deleted")
	}
	return nil
}

// EmptyTrash deletes what is left of deleted organizations, some of it with each commit.
func (s *Store) EmptyTrash(ctx context.Context) error {
	for more := true; more; {
		err := s.View(uuid.Nil, func(tx *Tx) error {
			more = false
			if trash := tx.btx.Bucket(trashBucket); trash != nil {
				first, _ := trash.Cursor().First()
				more = first != nil
			}
			return nil
		})
		if err != nil || !more {
			return err
		}
		err = s.Update(ctx, uuid.Nil, Actor{}, func(tx *Tx) error {
			tx.bytes++
			tx.raw = func(btx *bolt.Tx) error {
				_, err := empty(btx.Bucket(trashBucket), maxTrashPerCommit)
				return err
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// empty deletes up to most entries of a bucket and of those in it, and tells how many of them are left to be deleted.
func empty(b *bolt.Bucket, limit int) (left int, err error) {
	var keys, buckets [][]byte
	c := b.Cursor()
	for k, v := c.First(); k != nil && len(keys)+len(buckets) < limit; k, v = c.Next() {
		if v == nil {
			buckets = append(buckets, bytes.Clone(k))
		} else {
			keys = append(keys, bytes.Clone(k))
		}
	}
	for _, k := range keys {
		if err := b.Delete(k); err != nil {
			return 0, err
		}
	}
	left = limit - len(keys)
	for _, k := range buckets {
		if left <= 0 {
			return 0, nil
		}
		if left, err = empty(b.Bucket(k), left); err != nil || left <= 0 {
			return 0, err
		}
		if err := b.DeleteBucket(k); err != nil {
			return 0, err
		}
		left--
	}
	return left, nil
}
