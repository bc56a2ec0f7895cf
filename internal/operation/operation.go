// Package operation keeps the record of every change of many records: bulk changes, imports, merges and undos. What an
// Operation changed is in the store's journal under its id, so that package undo can take it back. The package does
// not run anything.
package operation

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"prospector/internal/record"
	"prospector/internal/shape"
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

// Kind is what an Operation does.
type Kind string

const (
	Update    Kind = "update"
	Delete    Kind = "delete"
	Restore   Kind = "restore"
	Import    Kind = "import"
	TAMImport Kind = "tam_import"
	Merge     Kind = "merge"
	Undo      Kind = "undo"
	// Template brings the running sequences of a campaign to the newest content of its template. It cannot be undone:
	// the template is corrected again instead.
	Template Kind = "template"
	// Erasure erases a person. It cannot be undone or cancelled.
	Erasure Kind = "erasure"
)

// UndoTime is how long an Operation can be undone after it has ended, and how long it is kept.
const UndoTime = 30 * 24 * time.Hour

// Operation is a change of many records. Imports of files and of Previews have an Operation with their id.
type Operation struct {
	record.Head
	Kind       Kind               `json:"kind" rule:"required,enum=update|delete|restore|import|tam_import|merge|undo|template|erasure"`
	Entity     shape.Text         `json:"entity" doc:"What the records are. Null if they are of several kinds."`
	Status     Status             `json:"status" rule:"required,enum=running|completed|failed|cancelled"`
	DryRun     bool               `json:"dry_run" doc:"The Operation has only counted the records."`
	Progress   shape.Number       `json:"progress" doc:"From 0 to 1."`
	Matched    int                `json:"matched" doc:"The number of records that were selected, of groups of duplicates to merge, of rows of a file, or of changes to undo."`
	Changed    int                `json:"changed" doc:"The number of records that were changed, created or deleted, or of groups that were merged. Records that had the values already are not counted."`
	Failed     int                `json:"failed" doc:"The number of records that could not be changed, for example because they were deleted in the meantime, or of rows that were skipped."`
	Problems   []OperationProblem `json:"problems" doc:"Why records failed. Equal problems are grouped, and there are at most 100 groups. Those of an import are in the import."`
	UserID     uuid.NullUUID      `json:"user_id" label:"User" doc:"The user who started the Operation."`
	FinishedAt shape.Time         `json:"finished_at"`

	UndoableUntil shape.Time    `json:"undoable_until" doc:"Until when the Operation can be undone. Null if it cannot be, and while it runs."`
	UndoneBy      uuid.NullUUID `json:"undone_by" label:"Undone by" doc:"The Operation that undoes this one."`
	UndoOf        uuid.NullUUID `json:"undo_of" label:"Undo of" doc:"The Operation that this one undoes."`
	Undone        int           `json:"undone" doc:"How many records an undo has put back. One of which only some fields went back is also counted in kept."`
	Kept          *Kept         `json:"kept" doc:"How many records an undo did not put back, or not completely, and how many sequences a template left as they are, by reason. Null for other kinds."`

	Reason      shape.Text `json:"reason" doc:"Of kind erasure: why the person was erased."`
	Erased      []Erased   `json:"erased" doc:"Of kind erasure: what was erased, or would be, by kind."`
	Left        []Left     `json:"left" doc:"Of kind erasure: what may still tell something about the person. There are at most 1,000."`
	LeftOmitted int        `json:"left_omitted" doc:"How many fields left does not list."`

	State State `json:"-"`
}

// Erased counts what an erasure has removed, or would remove.
type Erased struct {
	Kind  string `json:"kind" doc:"The entity of the records, such as contacts, contacts-trash or preview_members. The person is taken out of records of others, which are counted too."`
	Count int    `json:"count"`
}

// Left is a field that an erasure has left.
type Left struct {
	Kind  string    `json:"kind" doc:"The entity of the record."`
	ID    uuid.UUID `json:"id"`
	Field string    `json:"field"`
	Why   string    `json:"why"`
}

// Kept counts the records that an undo did not put back, or not completely, and the sequences that a correction of the
// template left as they are.
type Kept struct {
	ChangedSince int `json:"changed_since" doc:"Records that were changed, merged or deleted after the Operation."`
	InUseSince   int `json:"in_use_since" doc:"Records that the Operation added and that are in use: by a message that went out, a task, a meeting, an opportunity, or a contact that stays."`
	OptedOut     int `json:"opted_out" doc:"Contacts whose opt-out or suppressed address stays."`
	NotPossible  int `json:"not_possible" doc:"Records for which something that they had is gone or taken: a tag, an account, an owner, a custom field, an external_id."`
	Gone         int `json:"gone" doc:"Records that were erased, deleted permanently or removed from the trash."`

	SentStepGone int `json:"sent_step_gone" doc:"Of kind template: sequences in which a step has happened that the newest text lacks."`
	OrderChanged int `json:"order_changed" doc:"Of kind template: sequences in which a step that has happened would come after one that has not, or in which the order of what has happened would be another."`
}

// Count counts a sequence that a correction left as it is.
func (k *Kept) Count(reason string) {
	switch reason {
	case "sent_step_gone":
		k.SentStepGone++
	case "order_changed":
		k.OrderChanged++
	}
}

// OperationProblem is why some records could not be changed.
type OperationProblem struct {
	Code    string    `json:"code" doc:"The code of the error that a single request would get."`
	Message string    `json:"message"`
	Count   int       `json:"count"`
	FirstID uuid.UUID `json:"first_id" doc:"The first record with this problem."`
}

// State is the part of an Operation that is stored but never shown. Its first fields tell what the Operation does. An undo
// reads them from the Operation that it undoes, and has them itself.
type State struct {
	By    store.Actor `json:"by"`
	Body  shape.Value `json:"body"`           // of a bulk update
	Force bool        `json:"force,omitzero"` // what dynamic audiences depend on may be deleted
	Final bool        `json:"final,omitzero"` // what is deleted does not go to the trash
	// Deleted is the record that a single deletion is about, and its undo.
	Deleted uuid.UUID `json:"deleted,omitzero"`
	// Merged are the records of a merge, and of its undo.
	Merged *Merged `json:"merged,omitzero"`
	// Groups says that many groups were merged, or that this is undone: each in a transaction, with a MergedStep.
	Groups bool `json:"groups,omitzero"`

	// How far the Operation has come, so that it goes on there after a restart.
	Done int     `json:"done"`          // how many records were tried
	Next uint32  `json:"next"`          // of package bulk: the part of the selection that comes next
	Undo *Cursor `json:"undo,omitzero"` // of package undo
}

// MergedStep is the kind of the step in a journal which says that the other changes of its transaction are a merge. Its data
// is a Merged.
const MergedStep = "merged"

// Merged are records that were merged into another.
type Merged struct {
	Into uuid.UUID   `json:"into"`
	IDs  []uuid.UUID `json:"ids"`
}

// MergeIn returns the merge that the changes of a transaction are, or nil.
func MergeIn(part *store.JournalPart) (m *Merged, err error) {
	for i := range part.Steps {
		if s := &part.Steps[i]; s.Kind == MergedStep {
			m = &Merged{}
			return m, json.Unmarshal(s.Data, m)
		}
	}
	return nil, nil
}

// Cursor is a position in the journal of an Operation that is being undone. It is undone backwards.
type Cursor struct {
	Phase int `json:"phase"`
	Part  int `json:"part"` // of the journal; -1 when the phase is done
	Done  int `json:"done"` // how many of the changes of the part are done
}

// Private returns the part of the record that is stored but never shown.
func (o *Operation) Private() any { return &o.State }

// Actor returns who acts for the Operation: the one who started it. What cannot be undone has no journal.
func (o *Operation) Actor() store.Actor {
	by := o.State.By
	if o.Kind != Template && o.Kind != Erasure {
		by.OperationID = o.ID
	}
	return by
}
