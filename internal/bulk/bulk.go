// Package bulk changes, deletes or restores many records at once. An Operation fixes its records when it is accepted. A
// job then changes them in short transactions, in the name of the caller. The package knows no kind of record:
// a Target is what it needs of one.
package bulk

import (
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/operation"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/internal/worker"
	"prospector/store"
)

// MaxRecords is the number of records that an Operation may have.
const MaxRecords = 1_000_000

// MaxRunning is how many Operations of an organization may be running.
const MaxRunning = 20

// Target is a kind of records that Operations can change.
type Target struct {
	Entity string
	// Update changes a record. If the record must stay as it is, kept is the reason, and that is no failure.
	Update func(tx *store.Tx, id uuid.UUID, body shape.Value) (changed bool, kept string, err error)
	// Delete deletes a record. With force it also detaches what would otherwise refuse it.
	Delete func(tx *store.Tx, id uuid.UUID, force bool) error
	// Restore restores a record of the trash, with force as in Kind.Restore. Remove removes it from there.
	Restore func(tx *store.Tx, id uuid.UUID, force bool) error
	Remove  func(tx *store.Tx, id uuid.UUID) error
	// Merge merges records that are the same. Those that do not exist any more are left out.
	Merge func(tx *store.Tx, ids []uuid.UUID) (operation.Merged, error)
}

// TargetOf makes a Target of a kind.
func TargetOf[T any](k *record.Kind[T]) Target {
	return Target{
		Entity: k.Entity,
		Update: func(tx *store.Tx, id uuid.UUID, body shape.Value) (bool, string, error) {
			before := ""
			doc, err := k.Update(tx, id, func(version string) error { before = version; return nil }, body)
			return err == nil && doc.Version() != before, "", err
		},
		Delete: func(tx *store.Tx, id uuid.UUID, force bool) error {
			if force {
				if err := k.ForceDelete(tx, id); err != nil {
					return err
				}
			}
			return k.Delete(tx, id, nil)
		},
		Restore: func(tx *store.Tx, id uuid.UUID, force bool) error {
			_, err := k.Restore(tx, id, force)
			return err
		},
		Remove: k.EraseTrashed,
	}
}

// Bulk accepts and runs Operations.
type Bulk struct {
	operations *operation.Operations
	store      *store.Store
	targets    []Target
	selection  *store.Parts // the ids that an Operation has not tried yet
}

// New returns the bulk operations on the targets.
func New(st *store.Store, operations *operation.Operations, targets ...Target) *Bulk {
	return &Bulk{operations: operations, store: st, targets: targets, selection: store.NewParts("operations.selection")}
}

// Jobs returns the handlers of the package's jobs.
func (b *Bulk) Jobs() map[string]worker.Handler { return map[string]worker.Handler{Job: b.run} }

// Request is an Operation to start.
type Request struct {
	Kind   operation.Kind // Update, Delete, Restore, Merge or Template
	Entity string
	IDs    []uuid.UUID   // distinct
	Groups [][]uuid.UUID // of records to merge, instead of IDs
	Body   shape.Value   // of the update
	DryRun bool
	Force  bool // see Target.Delete
	Final  bool // records that are in the trash are deleted
	// Changed and Kept are the counts of a dry run that has looked at each record.
	Changed int
	Kept    *operation.Kept
}

// Start accepts an Operation. More than MaxRunning of them are refused with rate_limited. A dry run is completed
// at once.
func (b *Bulk) Start(tx *store.Tx, r Request) (doc store.Doc[operation.Operation], err error) {
	doc, err = b.operations.Begin(tx, operation.Operation{
		Kind: r.Kind, Entity: shape.Text(r.Entity), DryRun: r.DryRun, Matched: len(r.IDs) + len(r.Groups),
		Changed: r.Changed, Kept: r.Kept,
		State: operation.State{Body: r.Body, Force: r.Force, Final: r.Final, Groups: len(r.Groups) > 0},
	})
	if err != nil {
		return doc, err
	}
	if r.DryRun || len(r.IDs)+len(r.Groups) == 0 {
		return b.operations.End(tx, doc, doc.Record, operation.Completed)
	}
	running, err := b.operations.Running(tx, MaxRunning+1)
	if err != nil {
		return doc, err
	}
	if len(running) > MaxRunning {
		return doc, fault.New(fault.RateLimited, "%d operations are running; wait until one has ended, or cancel one", MaxRunning)
	}
	b.putSelection(tx, doc.ID, r.IDs, r.Groups)
	_, err = tx.Enqueue(Job, tx.Now(), jobBody{doc.ID})
	return doc, err
}
