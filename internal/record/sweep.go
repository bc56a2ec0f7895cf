package record

import (
	"context"
	"encoding/json"

	"prospector/internal/fault"
	"prospector/store"
)

// SweepJob is the kind of the job that rewrites records which bear what is gone.
const SweepJob = "sweep"

// sweepMost is how many records a transaction rewrites: more would keep other writers waiting for longer than they notice.
const sweepMost = 250

// sweepWork is what such a job has to do.
type sweepWork struct {
	Entity string
	Tomb   store.Tombstone
}

// bury makes something gone from all records of the kind at once, and rewrites those that bear it: here when they are
// few, else in a job. Some are always rewritten here: lists tell by the changes of a table which moment comes after which.
func (k *Kind[T]) bury(tx *store.Tx, tomb store.Tombstone) error {
	tomb, err := k.Table.AddTombstone(tx, tomb)
	if err != nil {
		return err
	}
	more, err := k.sweep(tx, tomb)
	if err == nil && more {
		_, err = tx.Enqueue(SweepJob, tx.Now(), sweepWork{Entity: k.Entity, Tomb: tomb})
	}
	return err
}

func (k *Kind[T]) sweep(tx *store.Tx, tomb store.Tombstone) (more bool, err error) {
	return k.Table.Sweep(tx, tomb, sweepMost)
}

// Sweep does a job of the kind SweepJob: a transaction for every so many records, the last of which ends the job.
func (s *Set) Sweep(ctx context.Context, st *store.Store, job store.Job) error {
	var work sweepWork
	if err := json.Unmarshal(job.Payload, &work); err != nil {
		return err
	}
	k := s.find(work.Entity)
	if k == nil {
		return fault.New(fault.Internal, "sweep job for the unknown entity %q", work.Entity)
	}
	for more := true; more; {
		err := st.Update(ctx, job.Org, work.Tomb.Actor, func(tx *store.Tx) (err error) {
			if more, err = k.sweep(tx, work.Tomb); err == nil && !more {
				err = tx.Done(job.ID)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// find gives the kind of an entity, nil when there is none.
func (s *Set) find(entity string) related {
	for _, k := range s.kinds {
		if k.entity() == entity {
			return k
		}
	}
	return nil
}
