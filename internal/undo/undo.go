// Package undo takes back what an Operation has changed. There is one mechanism for all kinds of Operations: their
// journal is read backwards, and each step is reversed by the package that it belongs to. An undo is an Operation with a
// journal of its own, so it can be undone in the same way.
package undo

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/operation"
	"prospector/internal/record"
	"prospector/internal/worker"
	"prospector/store"
)

// Undos undoes Operations.
type Undos struct {
	Options
	store      *store.Store
	kinds      *record.Set
	operations *operation.Operations
}

// Options connect the package with the features whose changes it undoes.
type Options struct {
	// Steps reverse the steps that features have added to a journal, by their kinds.
	Steps map[string]func(tx *store.Tx, data json.RawMessage) error
	// Unmerged is called when the merge of records into another was undone.
	Unmerged func(tx *store.Tx, entity string, records []uuid.UUID) error
}

// New returns the undos of a service.
func New(st *store.Store, kinds *record.Set, operations *operation.Operations, opt Options) *Undos {
	u := &Undos{Options: opt, store: st, kinds: kinds, operations: operations}
	kinds.Restoring = u.Restore
	return u
}

// Job is the kind of the job that runs an undo.
const Job = "undo"

type jobBody struct {
	Operation uuid.UUID `json:"operation"`
}

// Jobs returns the handlers of the package's jobs.
func (u *Undos) Jobs() map[string]worker.Handler { return map[string]worker.Handler{Job: u.run} }

// Start accepts the undo of an Operation. It is refused with not_undoable if the Operation cannot be undone or no longer,
// with operation_running while it or its sweep runs, with already_undone, and with undo_conflict if another Operation
// must be undone first.
func (u *Undos) Start(tx *store.Tx, id uuid.UUID, dryRun bool) (doc store.Doc[operation.Operation], err error) {
	target, err := u.operations.Table.Get(tx, id)
	if err != nil {
		return doc, err
	}
	if err := u.check(tx, &target.Record); err != nil {
		return doc, err
	}
	if doc, err = u.begin(tx, target, dryRun, false); err == nil {
		_, err = tx.Enqueue(Job, tx.Now(), jobBody{doc.ID})
	}
	return doc, err
}

// begin stores the undo of an Operation.
func (u *Undos) begin(
	tx *store.Tx, target store.Doc[operation.Operation], dryRun, force bool,
) (doc store.Doc[operation.Operation], err error) {
	op, id := target.Record, target.ID
	steps, err := countSteps(tx, id)
	if err != nil {
		return doc, err
	}
	last, _ := tx.LastJournalPart(id)
	doc, err = u.operations.Begin(tx, operation.Operation{
		Kind: operation.Undo, Entity: op.Entity, DryRun: dryRun, Matched: steps, UndoOf: uuid.NullUUID{UUID: id, Valid: true},
		State: operation.State{Undo: &operation.Cursor{Part: int(last)}, Force: force, Deleted: op.State.Deleted, Merged: op.State.Merged, Groups: op.State.Groups},
	})
	if err != nil || dryRun {
		return doc, err
	}
	op.UndoneBy = uuid.NullUUID{UUID: doc.ID, Valid: true}
	_, err = u.operations.Put(tx, target, op)
	return doc, err
}

// Restore calls restore, which puts a deleted record back, and undoes what else its deletion has changed: the first changes
// at once, the others in a job. If the Operation has deleted other records too, or can be undone no longer, Restore only
// calls restore. If a record among the first would join a dynamic audience, that is refused with in_use, or the audience
// becomes static with force. It implements record.RestorationHook.
func (u *Undos) Restore(tx *store.Tx, deletion, id uuid.UUID, force bool, restore func() error) error {
	target, err := u.operations.Table.Get(tx, deletion)
	if store.IsGone(err) {
		return restore()
	}
	if err != nil {
		return err
	}
	// An undo that could not put the record back has put nothing else back. It is tried again.
	if op := &target.Record; op.State.Deleted != id || !op.UndoableUntil.Valid() || !op.UndoableUntil.Std().After(tx.Now()) {
		return restore()
	}
	doc, err := u.begin(tx, target, false, force)
	if err != nil {
		return err
	}
	by := tx.Actor().OperationID
	if by == uuid.Nil {
		tx.ActForUndo(doc.ID) // with the record itself, so that undoing the undo deletes it again
	}
	if err = restore(); err == nil {
		tx.ActForUndo(doc.ID)
		err = u.undoFirst(tx, target, doc.ID, force)
	}
	tx.ActFor(by)
	return err
}

// undoFirst undoes the first changes of an undo, and leaves the others to its job.
func (u *Undos) undoFirst(tx *store.Tx, target store.Doc[operation.Operation], id uuid.UUID, force bool) error {
	r := &run{Undos: u, id: id, undoing: record.Undoing{
		Operation: target.ID, Since: target.Record.CreatedAt.Std(), AlreadyBack: target.Record.State.Deleted,
		Guarded: true, Force: force, Strict: true,
	}}
	ended, err := r.step(tx)
	if err != nil || ended {
		return err
	}
	_, err = tx.Enqueue(Job, tx.Now(), jobBody{id})
	return err
}

// check refuses an Operation that cannot be undone.
func (u *Undos) check(tx *store.Tx, op *operation.Operation) error {
	sweeping, err := u.kinds.Sweeping(tx, op.ID)
	switch {
	case err != nil:
		return err
	case op.Status == operation.Running:
		return fault.New(fault.OperationRunning, "the operation is running; wait until it has ended, or cancel it")
	case sweeping:
		return fault.New(fault.OperationRunning, "records that refer to what the operation deleted are still being changed; try again in a moment")
	case op.UndoneBy.Valid:
		return &fault.Error{Code: fault.AlreadyUndone, Message: "the operation was undone by " + op.UndoneBy.UUID.String(),
			Details: []fault.Detail{{Path: "undone_by", Message: "undoes the operation", ID: op.UndoneBy.UUID.String()}}}
	case op.DryRun:
		return fault.New(fault.NotUndoable, "the operation was a dry run, which has changed nothing")
	case op.Kind == operation.Template:
		return fault.New(fault.NotUndoable, "a correction of the text is corrected again rather than undone: change the template and correct again")
	case op.Kind == operation.Erasure:
		return fault.New(fault.NotUndoable, "an erasure cannot be undone")
	case op.State.Final:
		return fault.New(fault.NotUndoable, "the operation has deleted records permanently")
	case !op.UndoableUntil.Valid():
		return fault.New(fault.NotUndoable, "the operation has changed nothing that could be undone")
	case !op.UndoableUntil.Std().After(tx.Now()):
		return fault.New(fault.NotUndoable, "the operation could be undone until %s", op.UndoableUntil)
	}
	if m := op.State.Merged; m != nil {
		return u.checkMerge(tx, op, m)
	}
	return nil
}

// checkMerge refuses the undo of a merge, or that of its undo, whose records were merged again, deleted or erased.
func (u *Undos) checkMerge(tx *store.Tx, op *operation.Operation, m *operation.Merged) error {
	by, conflict, err := u.kinds.MergeConflict(tx, string(op.Entity), op.ID, m.Into)
	if err != nil || !conflict {
		return err
	}
	e := &fault.Error{Code: fault.UndoConflict, Message: "the merged record was deleted or merged again"}
	if by != uuid.Nil {
		e.Message += fmt.Sprintf("; undo operation %s first", by)
		e.Details = []fault.Detail{{Path: "operation_id", Message: "must be undone first", ID: by.String()}}
	}
	return e
}

// countSteps returns the number of changes in a journal.
func countSteps(tx *store.Tx, id uuid.UUID) (n int, err error) {
	err = tx.EachJournalPart(id, func(part store.JournalPart) error {
		for _, s := range append(part.Steps, swept(part.Swept)...) {
			n += int(max(1, s.Count))
		}
		return nil
	})
	return n, err
}

// swept returns the changes of sweeps as steps.
func swept(ranges []store.ChangeRange) []store.JournalStep {
	steps := make([]store.JournalStep, len(ranges))
	for i, r := range ranges {
		steps[i].ChangeRange = r
	}
	return steps
}
