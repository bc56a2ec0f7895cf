package record

import (
	"context"
	"encoding/json"

	"prospector/internal/fault"
	"prospector/store"
)

// SweepJob is the kind of the job that rewrites records to which a tombstone applies.
const SweepJob = "sweep"

// sweepBatch is the number of records that one transaction rewrites. A larger batch would delay
// other writers noticeably.
const sweepBatch = 250

// sweepWork is the payload of a SweepJob.
type sweepWork struct {
	Entity string
	Tomb   store.Tombstone
}

// dropValue removes a value from all records of the kind at once by a tombstone, and rewrites the
// records to which it applies: up to limit immediately, the others in a job. It always rewrites
// at least one immediately, because the index orders snapshots by the changes of a table.
func (k *kind) dropValue(tx *store.Tx, tomb store.Tombstone, limit int) error {
	tomb, err := k.table.AddTombstone(tx, tomb)
	if err != nil {
		return err
	}
	more, err := k.table.Sweep(tx, tomb, limit)
	if err == nil && more {
		_, err = tx.Enqueue(SweepJob, tx.Now(), sweepWork{Entity: k.Entity, Tomb: tomb})
	}
	return err
}

// Sweep runs a SweepJob. It rewrites one batch per transaction, and the last transaction completes
// the job.
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
			if more, err = k.table.Sweep(tx, work.Tomb, sweepBatch); err == nil && !more {
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
