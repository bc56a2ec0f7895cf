// Package bulk changes or deletes many records at once. An Operation fixes its records when it is accepted. A
// job then changes them in short transactions, in the name of the caller. The package knows no kind of record:
// a Target is what it needs of one.
package bulk

import (
	"time"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/internal/worker"
	"prospector/store"
)

// Status is the status of an Operation.
type Status string

const (
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// The kinds of Operations.
const (
	updates = "update"
	deletes = "delete"
)

// MaxRecords is the number of records that an Operation may have.
const MaxRecords = 1_000_000

// MaxRunning is how many Operations of an organization may be running.
const MaxRunning = 20

// retention is how long Operations are kept after they were accepted.
const retention = 30 * 24 * time.Hour

// Operation changes or deletes a fixed number of records.
type Operation struct {
	record.Head
	Kind       string             `json:"kind" rule:"required,enum=update|delete"`
	Entity     string             `json:"entity" rule:"required"`
	Status     Status             `json:"status" rule:"required,enum=running|completed|failed|cancelled"`
	DryRun     bool               `json:"dry_run" doc:"The Operation has only counted the records."`
	Progress   shape.Number       `json:"progress" doc:"From 0 to 1."`
	Matched    int                `json:"matched" doc:"The number of records that were selected. It does not change."`
	Changed    int                `json:"changed" doc:"The number of records that were changed or deleted. Records that had the values already are not counted."`
	Failed     int                `json:"failed" doc:"The number of records that could not be changed, for example because they were deleted in the meantime."`
	Problems   []OperationProblem `json:"problems" doc:"Why records failed. Equal problems are grouped, and there are at most 100 groups."`
	UserID     uuid.NullUUID      `json:"user_id" label:"User" doc:"The user who started the Operation."`
	FinishedAt shape.Time         `json:"finished_at"`

	private private
}

// OperationProblem is why some records could not be changed.
type OperationProblem struct {
	Code    string    `json:"code" doc:"The code of the error that a single request would get."`
	Message string    `json:"message"`
	Count   int       `json:"count"`
	FirstID uuid.UUID `json:"first_id" doc:"The first record with this problem."`
}

// private is the part of an Operation that is stored but never shown.
type private struct {
	By   store.Actor `json:"by"`
	Body shape.Value `json:"body"` // of the update
	Next uint32      `json:"next"` // the part of the selection that comes next
	Done int         `json:"done"` // how many records were tried
}

// Private returns the part of the record that is stored but never shown.
func (o *Operation) Private() any { return &o.private }

// Target is a kind of records that Operations can change.
type Target struct {
	Entity string
	Update func(tx *store.Tx, id uuid.UUID, body shape.Value) (changed bool, err error)
	Delete func(tx *store.Tx, id uuid.UUID) error
}

// TargetOf makes a Target of a kind.
func TargetOf[T any](k *record.Kind[T]) Target {
	return Target{
		Entity: k.Entity,
		Update: func(tx *store.Tx, id uuid.UUID, body shape.Value) (bool, error) {
			before := ""
			doc, err := k.Update(tx, id, func(version string) error { before = version; return nil }, body)
			return err == nil && doc.Version() != before, err
		},
		Delete: func(tx *store.Tx, id uuid.UUID) error { return k.Delete(tx, id, nil) },
	}
}

// Bulk accepts and runs Operations.
type Bulk struct {
	Operations *store.Table[Operation]
	List       *index.Kind

	store     *store.Store
	targets   []Target
	selection *store.Parts // the ids that an Operation has not tried yet
}

const byRunning = "running"

// New declares the table of Operations.
func New(st *store.Store, targets ...Target) *Bulk {
	running := store.TextKey(byRunning, func(o *Operation) string {
		if o.Status != Running {
			return ""
		}
		return string(Running)
	})
	b := &Bulk{
		Operations: record.NewTable("operations", nil, []store.Key[Operation]{running}),
		store:      st, targets: targets, selection: store.NewParts("operations.selection"),
	}
	b.List = index.NewKind("operations", "-created_at", b.Operations, nil)
	b.List.ReadOnly = true
	return b
}

// Jobs returns the handlers of the package's jobs.
func (b *Bulk) Jobs() map[string]worker.Handler { return map[string]worker.Handler{Job: b.run} }

// Verify checks the Operations of the transaction's organization.
func (b *Bulk) Verify(tx *store.Tx, report store.Report) error {
	if err := b.Operations.Verify(tx, report); err != nil {
		return err
	}
	return b.selection.Verify(tx, report)
}

// Request is an Operation to start.
type Request struct {
	Entity string
	IDs    []uuid.UUID // distinct
	Body   shape.Value // of the update; absent to delete
	DryRun bool
}

// Start accepts an Operation. More than MaxRunning of them are refused with rate_limited. A dry run is completed
// at once.
func (b *Bulk) Start(tx *store.Tx, r Request) (store.Doc[Operation], error) {
	if err := b.expire(tx); err != nil {
		return store.Doc[Operation]{}, err
	}
	id, now := tx.NewID(), shape.At(tx.Now())
	o := Operation{
		Head: record.Head{ID: id, CreatedAt: now, UpdatedAt: now}, Kind: updates, Entity: r.Entity, Status: Running, DryRun: r.DryRun,
		Progress: shape.NumberOf(0), Matched: len(r.IDs), Problems: []OperationProblem{}, private: private{By: tx.Actor(), Body: r.Body},
	}
	o.UserID = uuid.NullUUID{UUID: tx.Actor().User, Valid: tx.Actor().User != uuid.Nil}
	if r.Body.Kind == shape.Absent {
		o.Kind = deletes
	}
	if r.DryRun || len(r.IDs) == 0 {
		o.finish(Completed, now)
		return b.Operations.Insert(tx, id, o)
	}
	running, err := b.Operations.IDs(tx, byRunning, []byte(Running), MaxRunning)
	if err != nil {
		return store.Doc[Operation]{}, err
	}
	if len(running) == MaxRunning {
		return store.Doc[Operation]{}, fault.New(fault.RateLimited, "%d operations are running; wait until one has ended, or cancel one", MaxRunning)
	}
	b.putSelection(tx, id, r.IDs)
	if _, err := tx.Enqueue(Job, tx.Now(), jobBody{id}); err != nil {
		return store.Doc[Operation]{}, err
	}
	return b.Operations.Insert(tx, id, o)
}

// Cancel ends a running Operation. Records that it has changed stay changed. One that has ended is refused with
// invalid_transition.
func (b *Bulk) Cancel(tx *store.Tx, id uuid.UUID) (store.Doc[Operation], error) {
	doc, err := b.Operations.Get(tx, id)
	if err != nil {
		return doc, err
	}
	if doc.Record.Status != Running {
		return doc, fault.New(fault.InvalidTransition, "the operation is %s; only a running one can be cancelled", doc.Record.Status)
	}
	o := doc.Record
	o.finish(Cancelled, shape.At(tx.Now()))
	return b.Operations.Update(tx, doc, o, []string{"status", "finished_at", "updated_at"})
}

// finish sets the final status.
func (o *Operation) finish(status Status, now shape.Time) {
	o.Status, o.FinishedAt, o.UpdatedAt = status, now, now
	if status == Completed {
		o.Progress = shape.NumberOf(1)
	}
}

// expire deletes some of the Operations that are older than the retention.
func (b *Bulk) expire(tx *store.Tx) error {
	var old []store.Doc[Operation]
	err := b.Operations.Scan(tx, func(doc store.Doc[Operation]) (more bool, err error) {
		if doc.Record.CreatedAt.Std().Add(retention).After(tx.Now()) {
			return false, nil
		}
		if doc.Record.Status != Running {
			old = append(old, doc)
		}
		return len(old) < MaxRunning, nil
	})
	for _, doc := range old {
		if err == nil {
			err = b.Operations.Delete(tx, doc)
		}
	}
	return err
}
