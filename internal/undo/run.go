package undo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/operation"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

const (
	// batchSize is how many changes one transaction undoes at most. Each may take references out of as many others, or
	// bring them back.
	batchSize = 50
	// maxTries is how often the job is tried when something fails that no record is to blame for.
	maxTries = 10
)

// The phases of an undo. What sweeps have changed comes last, because it refers to what the steps bring back.
const (
	stepsPhase = iota
	sweptPhase
	allPhases
)

// errDry reverts what a dry run has done in a transaction.
var errDry = errors.New("dry run")

// run runs an undo. Each transaction stores how far it has come, so that an undo which was interrupted goes on where it
// was. A dry run starts over, because what it remembers is lost with the process.
func (u *Undos) run(ctx context.Context, job store.Job) error {
	var body jobBody
	if err := json.Unmarshal(job.Payload, &body); err != nil {
		return fmt.Errorf("decode job %s: %w", job.ID, err)
	}
	r := &run{Undos: u, id: body.Operation}
	err := r.begin(ctx, job.Org)
	if fault.CodeOf(err) == fault.NotFound {
		return u.store.Update(ctx, job.Org, r.by, func(tx *store.Tx) error { return tx.Done(job.ID) })
	}
	for ended := false; err == nil && !ended; {
		err = u.store.Update(ctx, job.Org, r.by, func(tx *store.Tx) (err error) {
			if ended, err = r.step(tx); err == nil && ended {
				err = tx.Done(job.ID)
			}
			return err
		})
	}
	if err != nil && job.Tries >= maxTries && ctx.Err() == nil && fault.CodeOf(err) != fault.Unavailable {
		return r.fail(ctx, job)
	}
	return err
}

// run is one run of the job of an undo.
type run struct {
	*Undos
	id      uuid.UUID
	by      store.Actor
	undoing record.Undoing
}

func (r *run) begin(ctx context.Context, org uuid.UUID) error {
	var isDry bool
	err := r.store.View(org, func(tx *store.Tx) error {
		doc, err := r.operations.Table.Get(tx, r.id)
		if err != nil {
			return err
		}
		op := &doc.Record
		target, err := r.operations.Table.Get(tx, op.UndoOf.UUID)
		if err != nil {
			return err
		}
		r.by, isDry = op.Actor(), op.DryRun
		r.by.Undo = true
		r.undoing = record.Undoing{
			Operation: target.ID, Since: target.Record.CreatedAt.Std(), Guarded: op.State.Deleted != uuid.Nil, Force: op.State.Force,
		}
		return nil
	})
	if err != nil || !isDry {
		return err
	}
	r.undoing.Dry = record.NewDry()
	return r.store.Update(ctx, org, r.by, func(tx *store.Tx) error {
		doc, err := r.operations.Table.Get(tx, r.id)
		if err != nil || doc.Record.Status != operation.Running {
			return err
		}
		op := doc.Record
		last, _ := tx.LastJournalPart(r.undoing.Operation)
		op.State.Undo, op.State.Done, op.Undone, op.Kept = &operation.Cursor{Part: int(last)}, 0, 0, &operation.Kept{}
		_, err = r.operations.Put(tx, doc, op)
		return err
	})
}

// step undoes the next changes, and reports whether the undo has ended.
func (r *run) step(tx *store.Tx) (ended bool, err error) {
	doc, err := r.operations.Table.Get(tx, r.id)
	if err != nil || doc.Record.Status != operation.Running {
		return true, err
	}
	op := doc.Record
	cursor, kept := *op.State.Undo, *op.Kept
	op.State.Undo, op.Kept = &cursor, &kept
	reverse := func() error {
		for n := 0; cursor.Phase < allPhases; {
			isGroup := op.State.Groups && cursor.Phase == stepsPhase
			done, err := r.reversePart(tx, &op, n)
			if err != nil {
				return err
			}
			if n += done; r.mustPause(tx, &op, n) || isGroup && n > 0 {
				return nil
			}
		}
		return nil
	}
	if r.undoing.Dry == nil {
		err = reverse()
	} else {
		_ = tx.Try(func() error {
			err = reverse()
			return errDry
		})
	}
	if err != nil {
		return false, err
	}
	op.Progress = shape.NumberOf(float64(100*op.State.Done/max(1, op.Matched)) / 100)
	if ended = cursor.Phase == allPhases; !ended {
		_, err = r.operations.Put(tx, doc, op)
		return false, err
	}
	if m := op.State.Merged; m != nil && r.Unmerged != nil && r.undoing.Dry == nil {
		if err := r.Unmerged(tx, string(op.Entity), append([]uuid.UUID{m.Into}, m.IDs...)); err != nil {
			return false, err
		}
	}
	_, err = r.operations.End(tx, doc, op, operation.Completed)
	return true, err
}

// mustPause reports whether the transaction ends after it has undone some changes. A merge is undone in one transaction,
// because nothing may see a part of that.
func (r *run) mustPause(tx *store.Tx, op *operation.Operation, done int) bool {
	return op.State.Merged == nil && done > 0 && (done >= batchSize || tx.MustYield())
}

// reversePart undoes changes of the part of the journal at the cursor, and moves the cursor. It returns how many it has
// undone.
func (r *run) reversePart(tx *store.Tx, op *operation.Operation, before int) (done int, err error) {
	c := op.State.Undo
	part, err := tx.ReadJournal(r.undoing.Operation, uint32(c.Part))
	if err != nil {
		return 0, err
	}
	steps := part.Steps
	if c.Phase == sweptPhase {
		steps = swept(part.Swept)
	}
	group, err := operation.MergeIn(&part)
	if err != nil {
		return 0, err
	}
	if c.Phase != stepsPhase || !op.State.Groups {
		group = nil
	}
	if group != nil {
		_, conflict, err := r.kinds.MergeConflict(tx, string(op.Entity), r.undoing.Operation, group.Into)
		if err != nil {
			return 0, err
		}
		if conflict {
			op.Kept.ChangedSince++
			steps = nil
		}
	}
	skip := c.Done
	for i := len(steps) - 1; i >= 0; i-- {
		s := &steps[i]
		count := int(max(1, s.Count))
		if skip >= count {
			skip -= count
			continue
		}
		for n := count - 1 - skip; n >= 0; n-- {
			if group == nil && r.mustPause(tx, op, before+done) {
				return done, nil
			}
			if err := r.reverse(tx, op, s, n); err != nil {
				return done, err
			}
			c.Done, op.State.Done, done = c.Done+1, op.State.Done+1, done+1
		}
		skip = 0
	}
	if group != nil && len(steps) > 0 {
		if err := r.endGroup(tx, op, group); err != nil {
			return done, err
		}
	}
	if c.Part, c.Done = c.Part-1, 0; c.Part < 0 {
		last, _ := tx.LastJournalPart(r.undoing.Operation)
		c.Phase, c.Part = c.Phase+1, int(last)
	}
	return done, nil
}

// endGroup completes the undo of the merge of a group, which is a merge for the undo of the undo.
func (r *run) endGroup(tx *store.Tx, op *operation.Operation, m *operation.Merged) error {
	if r.undoing.Dry != nil {
		return nil
	}
	if r.Unmerged != nil {
		if err := r.Unmerged(tx, string(op.Entity), append([]uuid.UUID{m.Into}, m.IDs...)); err != nil {
			return err
		}
	}
	return tx.AddToJournal(operation.MergedStep, m)
}

// reverse undoes the change n of a step.
func (r *run) reverse(tx *store.Tx, op *operation.Operation, s *store.JournalStep, n int) error {
	if s.Kind != "" {
		reverse := r.Steps[s.Kind]
		if reverse == nil || r.undoing.Dry != nil && op.State.Merged == nil && !op.State.Groups { // of a merge, a dry run reverts all at once
			return nil
		}
		return reverse(tx, s.Data)
	}
	result, counts, err := r.kinds.Reverse(tx, &r.undoing, s.Table, s.First+uint64(n))
	if err != nil || !counts {
		return err
	}
	if result.Undone {
		op.Undone++
		op.Changed++
	}
	for _, k := range []struct {
		is    bool
		count *int
	}{
		{result.ChangedSince, &op.Kept.ChangedSince}, {result.InUse, &op.Kept.InUseSince}, {result.OptedOut, &op.Kept.OptedOut},
		{result.NotPossible, &op.Kept.NotPossible}, {result.Gone, &op.Kept.Gone},
	} {
		if k.is {
			*k.count++
		}
	}
	return nil
}

// fail ends an undo that cannot continue.
func (r *run) fail(ctx context.Context, job store.Job) error {
	return r.store.Update(ctx, job.Org, r.by, func(tx *store.Tx) error {
		doc, err := r.operations.Table.Get(tx, r.id)
		if err == nil && doc.Record.Status == operation.Running {
			_, err = r.operations.End(tx, doc, doc.Record, operation.Failed)
		}
		if err != nil {
			return err
		}
		return tx.Done(job.ID)
	})
}
