package record

import (
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/shape"
	"prospector/store"
)

// Rules describe a kind beyond its struct. Only Object and Entity are required; what a kind does not need stays empty. A nil
// pointer means that records of the kind cannot do this: without Trash, a deletion is permanent.
type Rules[T any] struct {
	Object      string // the singular name, used by tags and events: "contact"
	Entity      string // the plural name, used in paths, schemas and references: "contacts"
	Table       string // the name of the table, if it is not Entity
	DefaultSort string // -created_at when empty
	// Example is a record for the documentation of events.
	Example T
	Unique  []store.Unique[T]
	Keys    []store.Key[T]
	// Customs returns the custom fields that an entity has in the organization of the transaction.
	// It is required if T embeds shape.Custom.
	Customs func(tx *store.Tx, entity string) (*filter.CustomFields, error)

	// Check adds the problems of a record to p; before is nil for a new record. It may also
	// normalize the record.
	Check func(tx *store.Tx, before, after *T, p *fault.Problems) error
	// CheckEntry checks a string in the list field Entries, with its path in the body. The record
	// itself has no duplicates, so that positions differ from the body.
	Entries    string
	CheckEntry func(rec *T, at, entry string, p *fault.Problems)
	// CheckReference returns why records of the object cannot refer to rec, or "" if they can.
	CheckReference func(rec *T, object string) string
	// UpdateTogether lists fields that an update must set together or not at all.
	UpdateTogether []string
	// AfterUpdate is called after an update, also one that changes nothing, with what the record was before, and the body.
	AfterUpdate func(tx *store.Tx, before *T, body shape.Value) error
	// AfterChange is called in the same transaction after a record was created, when before is nil, changed, or deleted with
	// all references to it, when after is nil. An error undoes the change.
	AfterChange func(tx *store.Tx, before, after *T) error

	// MayDelete is called before anything is written. An error refuses the deletion. A damaged record can always be
	// deleted.
	MayDelete func(tx *store.Tx, rec *T) error
	// Losses returns what records of other kinds lose when the record is deleted, besides references to it.
	Losses func(rec *T) []Loss
	// Forget is called when a record is gone for good: when it is deleted permanently, or removed from the trash.
	Forget func(tx *store.Tx, id uuid.UUID) error

	History HistoryRules
	Events  EventRules[T]
	Names   *NameRules // if names are unique
	Match   MatchRules
	Alike   *Alike[T] // finds the record that a row of an import means when nothing else identifies it
	Import  ImportRules[T]
	Trash   *TrashRules[T]
	Undo    *UndoRules[T] // needs History.KeepsValues
	Merge   *MergeRules[T]
}

// HistoryRules are what the history of a record has.
type HistoryRules struct {
	Short       bool // records change often: the table keeps a one-day change log
	KeepsValues bool // the history has values
	// IsMinor reports whether the history leaves out a change that follows from other records. It may be nil.
	IsMinor func(c *store.Change) bool
}

// EventRules are the events of a kind. If none is given, records emit created, updated and deleted.
type EventRules[T any] struct {
	None     bool // the kind has no events
	NoUpdate bool // records do not change
	NoDelete bool // a deletion emits no event
	// More are the events beside created, updated and deleted.
	More []store.Trigger
	// OfUpdate returns the events that an update emits. If it is nil, every update emits "updated".
	OfUpdate func(before, after *T) []string
}

// NameRules are those of a kind whose records can be referred to by a unique name.
type NameRules struct {
	// Key returns the value of the unique key "name" for a name among the records that can be
	// referred to from records of the object.
	Key func(name, object string) []byte
	// New returns the body of a record that an import creates because it has no record of this
	// name. If it is nil, imports create none.
	New func(name, object string) shape.Value
}

// MatchRules are how batches and imports find records. Records with an external_id are also found by that.
type MatchRules struct {
	// Fields are the fields by which records are found, each with a function that normalizes values for comparison.
	Fields map[string]func(string) string
	// Version changes whenever a function in Fields returns other values, so that the stored keys are rebuilt.
	Version string
	// Further names, by field, a secondary key with further values of a record by which an import finds it, such as
	// its other addresses. rows.Further names the field that has them.
	Further map[string]string
	// Identifies reports whether a text in one of the fields identifies a record, so that an
	// import may find a record by it without being told to. If it is nil, every text does.
	Identifies func(field, text string) bool
	// Identity tells whether a record that was found by an external_id or a field may be the one that a row means.
	// It may be nil.
	Identity *Identity
}

// isShared reports whether several records may have a value.
func (m *MatchRules) isShared(value string) bool {
	return m.Identity != nil && m.Identity.IsShared != nil && m.Identity.IsShared(value)
}

// ImportRules are what imports of a kind do besides creating and updating records. All may be nil.
type ImportRules[T any] struct {
	// Add stores a draft and reports whether it is new. If it is nil, records are created as by Create.
	Add func(*store.Tx, Draft[T]) (id uuid.UUID, created bool, err error)
	// Key returns what is equal for records of which Add adds only one.
	Key func(*T) string
	// IsErased reports whether a text names a person who was erased. A row with such a text is skipped.
	IsErased func(tx *store.Tx, text string) bool
	// IsSuppressed reports whether nothing is sent to a record.
	IsSuppressed func(*store.Tx, *T) bool
	// OptOut is the field with which a record opts out, if the kind has one.
	OptOut OptOut
}

// OptOut is a boolean field with which a record opts out of something. An import sets it, but takes it back only with
// ReplaceOptOuts.
type OptOut struct {
	Field string
	// By is the field whose value opts out if its row is skipped, and Skipped opts it out.
	By      string
	Skipped func(tx *store.Tx, value string, isDoubtful bool) error
	// Record opts out a record that a skipped row without such a value means.
	Record func(tx *store.Tx, id uuid.UUID, isDoubtful bool) error
	// Doubt notes whether the opt-out of a record that an import has written comes from a value that could not be read. The undo
	// of the import takes such an opt-out back.
	Doubt func(tx *store.Tx, id uuid.UUID, isDoubtful bool) error
}

// TrashRules are those of a kind that keeps deleted records in a trash, from which they can be restored. All may be nil.
type TrashRules[T any] struct {
	// SetsOf returns the sets that a record belongs to, such as audiences. The trash keeps them for AfterRestore.
	SetsOf func(tx *store.Tx, id uuid.UUID) ([]uuid.UUID, error)
	// BeforeRestore is called before a record of the trash is created again, and may change it. An error refuses. force is
	// that of Restore.
	BeforeRestore func(tx *store.Tx, rec *T, force bool) error
	// MayRestore is called when a record was restored, before AfterChange, with the record as it was in the trash and as it
	// is now, in which references and values that do not exist any more are gone. An error undoes it.
	MayRestore func(tx *store.Tx, id uuid.UUID, trashed, restored []byte, force bool) error
	// AfterRestore is called with the sets that the record belonged to, after AfterChange.
	AfterRestore func(tx *store.Tx, rec *T, sets []uuid.UUID) error
}

// UndoRules are those of a kind of which it can be undone what operations do to the records. All may be nil.
type UndoRules[T any] struct {
	// InUse reports whether a record that an operation added is in use since, so that undoing the operation leaves it.
	InUse func(tx *store.Tx, id uuid.UUID, use Use) (bool, error)
	// MaySet reports whether undoing an operation may set a field of a record to a value.
	MaySet func(tx *store.Tx, operation uuid.UUID, rec *T, field string, to jsontext.Value) (bool, error)
	// BeforeDelete is called before a record is deleted that the operation added.
	BeforeDelete func(tx *store.Tx, operation, id uuid.UUID) error
}

// MergeRules are those of a kind whose records can be merged. All may be nil.
type MergeRules[T any] struct {
	// SourceOf returns another id by which merged records are found, or "".
	SourceOf func(*T) string
	// Fold finishes the fields of a record that others are merged into. all begins with the record itself.
	Fold func(into *T, all []*T)
}
