package store

import (
	"bytes"
	"context"
	"slices"
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

// maxTrashPerCommit is how many entries of a deleted organization one commit removes, so that other
// writers do not wait long.
const maxTrashPerCommit = 5_000

// Organizations returns the ids of all organizations.
func (s *Store) Organizations() ([]uuid.UUID, error) {
	var orgs []uuid.UUID
	err := s.read(func(btx *bolt.Tx) (err error) {
		orgs, err = organizations(btx)
		return err
	})
	return slices.DeleteFunc(orgs, func(org uuid.UUID) bool { return org == uuid.Nil }), err
}

// organizations returns the ids of all organizations, and uuid.Nil if it has data.
func organizations(btx *bolt.Tx) (orgs []uuid.UUID, err error) {
	for _, name := range bucketNames(btx.Bucket(orgsBucket), "") {
		org, err := uuid.FromBytes([]byte(name))
		if err != nil {
			return nil, err
		}
		orgs = append(orgs, org)
	}
	return orgs, nil
}

// DropOrganization deletes the organization of the transaction and everything it has. Other writes
// of the transaction are discarded. After the commit nothing of the organization can be found or
// written. EmptyTrash frees its space in the file.
func (tx *Tx) DropOrganization() {
	tx.mustWrite()
	tx.bytes++
	tx.AfterCommit(func() { tx.store.damaged.remove(func(k entryKey) bool { return k.org == tx.org }) })
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

// dropShared deletes the organization's entries in the shared buckets: queued jobs, marks and
// global keys.
func (tx *Tx) dropShared(btx *bolt.Tx) error {
	return btx.ForEach(func(name []byte, b *bolt.Bucket) error {
		bucket := sharedPrefix + string(name)
		queue, marks := bucket == dueShared, bucket == incompleteShared
		if !queue && !marks && !strings.HasPrefix(string(name), globalPrefix) {
			return nil
		}
		var drop [][]byte // collected first: a bbolt cursor must not delete while it iterates
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

// isGone returns an error for a deleted organization, so that a request that was authorized earlier
// cannot recreate it.
func isGone(btx *bolt.Tx, org uuid.UUID) error {
	if gone := btx.Bucket(goneOrgs); gone != nil && gone.Get(org[:]) != nil {
		return fault.New(fault.NotFound, "the organization was deleted")
	}
	return nil
}

// EmptyTrash removes the data of deleted organizations from the file, in several commits.
func (s *Store) EmptyTrash(ctx context.Context) error {
	for {
		org, err := Read(s, uuid.Nil, func(tx *Tx) ([]byte, error) { return firstDeleted(tx.btx), nil })
		if err != nil || org == nil {
			return err
		}
		err = s.updateRaw(ctx, func(btx *bolt.Tx) error {
			org := firstDeleted(btx)
			if org == nil {
				return nil
			}
			trash := btx.Bucket(trashBucket)
			left, err := empty(trash.Bucket(org), maxTrashPerCommit)
			if err == nil && left > 0 {
				err = trash.DeleteBucket(org)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
}

// firstDeleted returns the first organization in the trash that was deleted, or nil.
func firstDeleted(btx *bolt.Tx) (org []byte) {
	trash := btx.Bucket(trashBucket)
	if trash == nil {
		return nil
	}
	c := trash.Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if !isArriving(btx, k) {
			return bytes.Clone(k)
		}
	}
	return nil
}

// empty deletes up to limit entries of a bucket and of the buckets within it. It returns how much
// of the limit is left.
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
