package bulk

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/operation"
	"prospector/internal/shape"
	"prospector/store"
)

// Job is the kind of the job that runs an Operation.
const Job = "bulk"

const (
	// batchSize is how many records one transaction changes. Other writers wait while it runs.
	batchSize = 25
	// maxTries is how often the job is tried when something fails that no record is to blame for.
	maxTries = 10
	// maxProblems is the number of groups of problems.
	maxProblems = 100
)

// jobBody is the payload of a Job.
type jobBody struct {
	Operation uuid.UUID `json:"operation"`
}

// putSelection stores the ids of an Operation, batchSize in each part, or a group in each.
func (b *Bulk) putSelection(tx *store.Tx, id uuid.UUID, ids []uuid.UUID, groups [][]uuid.UUID) {
	for part, chunk := range append(slices.Collect(slices.Chunk(ids, batchSize)), groups...) {
		b.selection.Put(tx, id, uint32(part), packed(chunk))
	}
}

func packed(ids []uuid.UUID) []byte {
	value := make([]byte, 0, 16*len(ids))
	for _, id := range ids {
		value = append(value, id[:]...)
	}
	return value
}

func unpacked(value []byte) (ids []uuid.UUID) {
	for id := range slices.Chunk(value, 16) {
		ids = append(ids, uuid.UUID(id))
	}
	return ids
}

// run runs an Operation. Each transaction also removes the ids that it has tried, so that an Operation which was
// interrupted goes on where it was.
func (b *Bulk) run(ctx context.Context, job store.Job) error {
	var body jobBody
	if err := json.Unmarshal(job.Payload, &body); err != nil {
		return fmt.Errorf("decode job %s: %w", job.ID, err)
	}
	var by store.Actor
	err := b.store.View(job.Org, func(tx *store.Tx) error {
		doc, err := b.operations.Table.Get(tx, body.Operation)
		by = doc.Record.Actor()
		return err
	})
	if fault.CodeOf(err) == fault.NotFound && err != nil {
		return b.store.Update(ctx, job.Org, by, func(tx *store.Tx) error { return tx.Done(job.ID) })
	}
	for ended := false; err == nil && !ended; {
		err = b.store.Update(ctx, job.Org, by, func(tx *store.Tx) (err error) {
			if ended, err = b.step(tx, body.Operation); err == nil && ended {
				err = tx.Done(job.ID)
			}
			return err
		})
	}
	if err != nil && job.Tries >= maxTries && ctx.Err() == nil && fault.CodeOf(err) != fault.Unavailable {
		return b.fail(ctx, job, by, body.Operation)
	}
	return err
}

// step tries the next records, and reports whether the Operation has ended and nothing is left of it.
func (b *Bulk) step(tx *store.Tx, id uuid.UUID) (ended bool, err error) {
	doc, err := b.operations.Table.Get(tx, id)
	if err != nil {
		return false, err
	}
	o := doc.Record
	if o.Status != operation.Running {
		more, err := b.selection.Delete(tx, id, 0, 1000)
		return !more, err
	}
	stored, err := b.selection.Get(tx, id, o.State.Next)
	if err != nil {
		return false, err
	}
	size := batchSize
	if o.State.Force {
		size = 1 // an audience must be settled before anything is written
	}
	target := b.targets[slices.IndexFunc(b.targets, func(t Target) bool { return t.Entity == string(o.Entity) })]
	o.Problems = slices.Clone(o.Problems)
	ids, tried := unpacked(stored), 0
	if o.State.Groups && len(ids) > 0 {
		if err := tryGroup(tx, &o, &target, ids); err != nil {
			return false, err
		}
		tried, size = len(ids), 0
		o.State.Done++
	}
	for ; tried < min(len(ids), size) && !mustEnd(tx, &o, tried); tried++ {
		if err := try(tx, &o, &target, ids[tried]); err != nil {
			return false, err
		}
	}
	if left := ids[tried:]; len(left) > 0 {
		b.selection.Put(tx, id, o.State.Next, packed(left))
	} else {
		if _, err := b.selection.Delete(tx, id, o.State.Next, 1); err != nil {
			return false, err
		}
		o.State.Next++
	}
	if !o.State.Groups {
		o.State.Done += tried
	}
	o.Progress = shape.NumberOf(float64(100*o.State.Done/o.Matched) / 100)
	switch ended = o.State.Done == o.Matched; {
	case ended:
		_, err = b.operations.End(tx, doc, o, operation.Completed)
	case tried == 0:
		err = fmt.Errorf("operation %s: %w: its selection has fewer than %d records", id, store.ErrDamaged, o.Matched)
	default:
		_, err = b.operations.Put(tx, doc, o)
	}
	return ended, err
}

// mustEnd reports whether a transaction that has tried some records leaves the others to the next one. Before the deletion
// of an account, all of its contacts may be looked at: do they join a dynamic audience without it?
func mustEnd(tx *store.Tx, o *operation.Operation, tried int) bool {
	return o.Kind == operation.Delete && tried > 0 && tx.MustYield()
}

// try changes, deletes or restores one record. What it refuses is counted.
func try(tx *store.Tx, o *operation.Operation, target *Target, id uuid.UUID) error {
	changed, kept := true, ""
	err := tx.Try(func() (err error) {
		switch {
		case o.State.Final:
			return target.Remove(tx, id)
		case o.Kind == operation.Delete:
			return target.Delete(tx, id, o.State.Force)
		case o.Kind == operation.Restore:
			return target.Restore(tx, id, o.State.Force)
		}
		changed, kept, err = target.Update(tx, id, o.State.Body)
		return err
	})
	if err == nil && kept != "" {
		all := *o.Kept
		all.Count(kept)
		o.Kept = &all
		return nil
	}
	return count(o, changed, id, err)
}

// tryGroup merges the records of a group. Its journal says which they were, so that an undo takes the whole merge back.
func tryGroup(tx *store.Tx, o *operation.Operation, target *Target, ids []uuid.UUID) error {
	err := tx.Try(func() error {
		merged, err := target.Merge(tx, ids)
		if err != nil {
			return err
		}
		return tx.AddToJournal(operation.MergedStep, merged)
	})
	return count(o, true, ids[0], err)
}

// count counts what became of a record. What it refuses is a problem.
func count(o *operation.Operation, changed bool, id uuid.UUID, err error) error {
	if refused := fault.Refusal(err); refused != nil {
		addProblem(o, refused, id)
		return nil
	}
	if err == nil && changed {
		o.Changed++
	}
	return err
}

// addProblem counts a record that could not be changed.
func addProblem(o *operation.Operation, why *fault.Error, id uuid.UUID) {
	o.Failed++
	p := operation.OperationProblem{Code: string(why.Code), Message: why.Message, FirstID: id}
	if why.Code == fault.NotFound {
		p.Message = "the record does not exist; it may have been deleted"
	}
	at := slices.IndexFunc(o.Problems, func(q operation.OperationProblem) bool { return q.Code == p.Code && q.Message == p.Message })
	if at < 0 && len(o.Problems) >= maxProblems-1 {
		p.Code, p.Message = "other", "other problems"
		at = slices.IndexFunc(o.Problems, func(q operation.OperationProblem) bool { return q.Code == p.Code })
	}
	if at < 0 {
		at = len(o.Problems)
		o.Problems = append(o.Problems, p)
	}
	o.Problems[at].Count++
}

// fail ends an Operation that cannot continue. Its job runs again to remove what is left of it.
func (b *Bulk) fail(ctx context.Context, job store.Job, by store.Actor, id uuid.UUID) error {
	return b.store.Update(ctx, job.Org, by, func(tx *store.Tx) error {
		doc, err := b.operations.Table.Get(tx, id)
		if err != nil || doc.Record.Status != operation.Running {
			return err
		}
		if _, err := b.operations.End(tx, doc, doc.Record, operation.Failed); err != nil {
			return err
		}
		return tx.Reschedule(job.ID, tx.Now(), 0)
	})
}
