package operation

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/internal/worker"
	"prospector/store"
)

// Operations is the table of Operations.
type Operations struct {
	Table *store.Table[Operation]
	List  *index.Kind

	store *store.Store
	kinds *record.Set
}

const byRunning = "running"

// New declares the table of Operations on records of the kinds.
func New(st *store.Store, kinds *record.Set) *Operations {
	running := store.TextKey(byRunning, func(o *Operation) string {
		if o.Status != Running {
			return ""
		}
		return string(Running)
	})
	o := &Operations{Table: record.NewTable("operations", nil, []store.Key[Operation]{running}), store: st, kinds: kinds}
	o.List = index.NewKind("operations", "-created_at", o.Table, nil)
	o.List.ReadOnly = true
	kinds.Deleting = o.Delete
	return o
}

// Begin stores a new Operation of the transaction's actor. It is running, and a dry run or one without records is
// completed. The caller sets Kind, Entity, DryRun, Matched, the counts of a dry run, UndoOf and the State that it needs, and ID if it is not a
// new one.
func (o *Operations) Begin(tx *store.Tx, op Operation) (store.Doc[Operation], error) {
	if err := o.expire(tx); err != nil {
		return store.Doc[Operation]{}, err
	}
	if op.ID == uuid.Nil {
		op.ID = tx.NewID()
	}
	op.CreatedAt, op.UpdatedAt = shape.At(tx.Now()), shape.At(tx.Now())
	op.Status, op.Progress, op.Problems, op.Erased, op.Left = Running, shape.NumberOf(0), []OperationProblem{}, []Erased{}, []Left{}
	op.State.By = tx.Actor()
	op.UserID = uuid.NullUUID{UUID: op.State.By.User, Valid: op.State.By.User != uuid.Nil}
	if (op.Kind == Undo || op.Kind == Template) && op.Kept == nil {
		op.Kept = &Kept{}
	}
	return o.Table.Insert(tx, op.ID, op)
}

// Delete calls remove, which deletes a record and takes it out of others, on behalf of a new Operation. It implements
// record.DeletionHook.
func (o *Operations) Delete(tx *store.Tx, entity string, id uuid.UUID, remove func() error) error {
	operation := tx.NewID()
	tx.ActFor(operation)
	err := remove()
	tx.ActFor(uuid.Nil)
	if err != nil {
		return err
	}
	op := Operation{Kind: Delete, Entity: shape.Text(entity), Matched: 1, Changed: 1, State: State{Deleted: id}}
	op.ID = operation
	doc, err := o.Begin(tx, op)
	if err == nil {
		_, err = o.End(tx, doc, doc.Record, Completed)
	}
	return err
}

// Put stores the changed Operation op in place of old.
func (o *Operations) Put(tx *store.Tx, old store.Doc[Operation], op Operation) (store.Doc[Operation], error) {
	op.UpdatedAt = shape.At(tx.Now())
	return o.Table.Update(tx, old, op, []string{
		"changed", "erased", "failed", "finished_at", "kept", "left", "left_omitted", "matched", "problems", "progress", "status", "undoable_until", "undone", "undone_by", "updated_at",
	})
}

// End stores op as ended with the status. One that has changed something can be undone from then on.
func (o *Operations) End(tx *store.Tx, old store.Doc[Operation], op Operation, status Status) (store.Doc[Operation], error) {
	op.Status, op.FinishedAt = status, shape.At(tx.Now())
	op.State.Body = shape.Value{} // it may have personal values, and nothing needs it any more
	if status == Completed {
		op.Progress = shape.NumberOf(1)
	}
	if _, changed := tx.LastJournalPart(op.ID); changed || tx.HasJournal(op.ID) {
		until := tx.Now().Add(UndoTime)
		op.UndoableUntil = shape.At(until)
		if _, err := tx.Enqueue(ExpireJob, until, expireBody{op.ID}); err != nil {
			return old, err
		}
	}
	return o.Put(tx, old, op)
}

// Update changes a running Operation with fn and ends it if the status is no longer running. It does nothing if the
// Operation does not exist, as for imports that an earlier version accepted, or if it has ended.
func (o *Operations) Update(tx *store.Tx, id uuid.UUID, fn func(op *Operation)) error {
	doc, err := o.Table.Get(tx, id)
	if fault.CodeOf(err) == fault.NotFound || err == nil && doc.Record.Status != Running {
		return nil
	}
	if err != nil {
		return err
	}
	op := doc.Record
	if fn(&op); op.Status != Running {
		_, err = o.End(tx, doc, op, op.Status)
	} else {
		_, err = o.Put(tx, doc, op)
	}
	return err
}

// end deletes an Operation that can no longer be undone, with what an undo of it would need.
func (o *Operations) end(tx *store.Tx, id uuid.UUID) error {
	doc, err := o.Table.Get(tx, id)
	if m := doc.Record.State.Merged; err == nil && m != nil {
		if err := o.kinds.ForgetOriginals(tx, string(doc.Record.Entity), id, m.IDs); err != nil {
			return err
		}
	}
	return o.Forget(tx, id)
}

// Forget deletes an Operation that can no longer be undone, or that has changed nothing. It may be gone already.
func (o *Operations) Forget(tx *store.Tx, id uuid.UUID) error {
	doc, err := o.Table.Get(tx, id)
	if fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	return o.Table.Delete(tx, doc)
}

// Cancel ends a running Operation. What it has changed stays changed. One that has ended is refused with
// invalid_transition.
func (o *Operations) Cancel(tx *store.Tx, id uuid.UUID) (store.Doc[Operation], error) {
	doc, err := o.Table.Get(tx, id)
	if err != nil {
		return doc, err
	}
	if doc.Record.Status != Running {
		return doc, fault.New(fault.InvalidTransition, "the operation is %s; only a running one can be cancelled", doc.Record.Status)
	}
	if doc.Record.Kind == Erasure {
		return doc, fault.New(fault.InvalidTransition, "an erasure cannot be cancelled")
	}
	return o.End(tx, doc, doc.Record, Cancelled)
}

// Running returns up to limit running Operations.
func (o *Operations) Running(tx *store.Tx, limit int) ([]uuid.UUID, error) {
	return o.Table.IDs(tx, byRunning, []byte(Running), limit)
}

// IsRunning reports whether an Operation has not ended yet.
func (o *Operations) IsRunning(tx *store.Tx, id uuid.UUID) (bool, error) {
	doc, err := o.Table.Get(tx, id)
	if fault.CodeOf(err) == fault.NotFound {
		return false, nil
	}
	return err == nil && doc.Record.Status == Running, err
}

// maxExpired is the number of Operations that one transaction deletes.
const maxExpired = 20

// expire deletes some of the Operations that have nothing to undo and are older than UndoTime.
func (o *Operations) expire(tx *store.Tx) error {
	var old []store.Doc[Operation]
	err := o.Table.Scan(tx, func(doc store.Doc[Operation]) (more bool, err error) {
		if doc.Record.CreatedAt.Std().Add(UndoTime).After(tx.Now()) {
			return false, nil
		}
		if doc.Record.Status != Running && !doc.Record.UndoableUntil.Valid() {
			old = append(old, doc)
		}
		return len(old) < maxExpired, nil
	})
	for _, doc := range old {
		if err == nil {
			err = o.Table.Delete(tx, doc)
		}
	}
	return err
}

// ExpireJob is the kind of the job that deletes an Operation when it can no longer be undone.
const ExpireJob = "operations.expire"

// forgetGroups forgets the originals of the groups that an Operation has merged.
func (o *Operations) forgetGroups(ctx context.Context, org, id uuid.UUID) error {
	var merges []*Merged
	entity := ""
	err := o.store.View(org, func(tx *store.Tx) error {
		doc, err := o.Table.Get(tx, id)
		if err != nil || !doc.Record.State.Groups {
			return nil // it is gone, damaged, or no such Operation
		}
		entity = string(doc.Record.Entity)
		return tx.EachJournalPart(id, func(part store.JournalPart) error {
			m, err := MergeIn(&part)
			if m != nil {
				merges = append(merges, m)
			}
			return err
		})
	})
	for group := range slices.Chunk(merges, expireBatch) {
		if err == nil {
			err = o.store.Update(ctx, org, store.Actor{Operation: ExpireJob}, func(tx *store.Tx) error {
				for _, m := range group {
					if err := o.kinds.ForgetOriginals(tx, entity, id, m.IDs); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	return err
}

// expireBatch is the number of parts of a journal that one transaction deletes.
const expireBatch = 200

type expireBody struct {
	Operation uuid.UUID `json:"operation"`
}

// Jobs returns the handlers of the package's jobs.
func (o *Operations) Jobs() map[string]worker.Handler {
	return map[string]worker.Handler{ExpireJob: o.runExpire}
}

// runExpire deletes the journal of an Operation, and then the Operation.
func (o *Operations) runExpire(ctx context.Context, job store.Job) error {
	var body expireBody
	err := json.Unmarshal(job.Payload, &body)
	if err == nil {
		err = o.forgetGroups(ctx, job.Org, body.Operation)
	}
	for more := true; more && err == nil; {
		err = o.store.Update(ctx, job.Org, store.Actor{Operation: ExpireJob}, func(tx *store.Tx) (err error) {
			if more, err = tx.DeleteJournal(body.Operation, expireBatch); err != nil || more {
				return err
			}
			if err := o.end(tx, body.Operation); err != nil {
				return err
			}
			return tx.Done(job.ID)
		})
	}
	return err
}
