package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"prospector/internal/fault"
)

// arrivalPrefix begins the keys under which the bucket meta has the organizations that are arriving.
const arrivalPrefix = "arrival."

// Arrival is an organization that is being written by several commits. It is in the trash until it is complete, so
// nothing can see it before, and an Arrival that was interrupted is removed like a deleted organization.
type Arrival struct {
	store *Store
	org   uuid.UUID
	last  uint64 // the highest of its ids, as idSource counts
}

// Arrive begins an organization that does not exist.
func (s *Store) Arrive(ctx context.Context, org uuid.UUID) (*Arrival, error) {
	if err := s.EmptyTrash(ctx); err != nil { // it may have been deleted
		return nil, err
	}
	a := &Arrival{store: s, org: org}
	err := s.Update(ctx, uuid.Nil, Actor{}, func(tx *Tx) error {
		if tx.btx.Bucket(orgsBucket).Bucket(org[:]) != nil || tx.get(metaShared, a.mark()) != nil {
			return fault.New(fault.InvalidTransition, "the organization %s exists", org)
		}
		tx.put(metaShared, a.mark(), tx.now.AppendFormat(nil, "2006-01-02T15:04:05Z07:00"))
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.arrivals.Add(1) // values that were derived from a deleted organization with this id are void
	return a, nil
}

func (a *Arrival) mark() []byte { return append([]byte(arrivalPrefix), a.org[:]...) }

// Update is Store.Update in the organization that arrives, without Options.Finish. Jobs that it enqueues are due when the
// organization is complete.
func (a *Arrival) Update(ctx context.Context, actor Actor, fn func(*Tx) error) error {
	return a.store.updateAs(ctx, a, a.org, actor, fn)
}

// Complete makes the organization visible, with its jobs, in one commit.
func (a *Arrival) Complete(ctx context.Context) error {
	changed := map[string]uint64{}
	err := a.store.updateRaw(ctx, func(btx *bolt.Tx) error { return a.moveIn(btx, changed) })
	if err == nil && a.store.opt.Committed != nil {
		a.store.opt.Committed(ctx, a.org, changed)
	}
	return err
}

func (a *Arrival) moveIn(btx *bolt.Tx, changed map[string]uint64) error {
	trash, orgs, due := btx.Bucket(trashBucket), btx.Bucket(orgsBucket), btx.Bucket(dueBucket)
	if trash == nil || trash.Bucket(a.org[:]) == nil {
		return fmt.Errorf("the organization %s has no data", a.org)
	}
	if err := trash.MoveBucket(a.org[:], orgs); err != nil {
		return err
	}
	arrived := newTx(a.store, btx, a.org)
	err := arrived.EachJob(func(j Job) error { return due.Put(j.dueKey(), []byte{}) })
	if err != nil {
		return err
	}
	for _, table := range bucketNames(arrived.orgBkt, logSuffix) {
		changed[table] = arrived.LastChange(table)
	}
	a.store.ids.last = max(a.store.ids.last, a.last)
	if gone := btx.Bucket(goneOrgs); gone != nil {
		if err := gone.Delete(a.org[:]); err != nil {
			return err
		}
	}
	return btx.Bucket(metaBucket).Delete(a.mark())
}

// Abandon removes what was written of the organization. It does nothing once that is complete.
func (a *Arrival) Abandon(ctx context.Context) error {
	return a.store.abandonArrivals(ctx, a.mark())
}

// AbandonArrivals removes the organizations whose arrival was interrupted when the process ended.
func (s *Store) AbandonArrivals(ctx context.Context) error {
	return s.abandonArrivals(ctx, []byte(arrivalPrefix))
}

// abandonArrivals removes the organizations whose marks begin with a prefix.
func (s *Store) abandonArrivals(ctx context.Context, prefix []byte) error {
	marks, err := Read(s, uuid.Nil, func(tx *Tx) (marks [][]byte, err error) {
		for key := range within(prefix, tx.scan(metaShared, prefix)) {
			marks = append(marks, bytes.Clone(key))
		}
		return marks, nil
	})
	if err != nil || len(marks) == 0 {
		return err
	}
	for _, mark := range marks {
		org, err := uuid.FromBytes(bytes.TrimPrefix(mark, []byte(arrivalPrefix)))
		if err != nil {
			return err
		}
		err = s.updateRaw(ctx, func(btx *bolt.Tx) error {
			return errors.Join(newTx(s, btx, org).dropShared(btx), btx.Bucket(metaBucket).Delete(mark))
		})
		if err != nil {
			return err
		}
	}
	return s.EmptyTrash(ctx)
}

// isArriving reports whether an organization in the trash is not there to be removed.
func isArriving(btx *bolt.Tx, org []byte) bool {
	return btx.Bucket(metaBucket).Get(append([]byte(arrivalPrefix), org...)) != nil
}

// noteID makes ids that are made after the arrival greater than this one of it.
func (a *Arrival) noteID(id uuid.UUID) {
	if id.Version() == 7 {
		at := binary.BigEndian.Uint64(id[:])
		a.last = max(a.last, at>>16<<12|at&0xfff)
	}
}

// arrive makes a transaction one of an organization that arrives.
func (tx *Tx) arrive(a *Arrival) {
	tx.arrival = a
	if trash := tx.btx.Bucket(trashBucket); trash != nil {
		tx.orgBkt = trash.Bucket(tx.org[:])
	}
}

// waitsForArrival reports whether the writes to a bucket are left to Complete.
func waitsForArrival(bucket string) bool {
	return strings.HasPrefix(bucket, sharedPrefix) && !strings.HasPrefix(bucket, sharedPrefix+globalPrefix)
}

// createOrganization creates the bucket of the transaction's organization.
func (tx *Tx) createOrganization() (*bolt.Bucket, error) {
	orgs := tx.btx.Bucket(orgsBucket)
	if tx.arrival != nil {
		var err error
		if orgs, err = tx.btx.CreateBucketIfNotExists(trashBucket); err != nil {
			return nil, err
		}
	}
	return orgs.CreateBucketIfNotExists(tx.org[:])
}
