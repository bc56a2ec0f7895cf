// Package record implements the life cycle of records of any kind: create, read, update, delete,
// batches, imports, history, references between kinds, custom fields and events. A feature declares
// a kind as a struct with tags and the Rules that tags cannot express. The package knows no kind
// itself.
package record

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/shape"
	"prospector/store"
)

// Head holds the fields that every record has. Every record struct embeds it.
type Head struct {
	ID        uuid.UUID  `json:"id" label:"ID" rule:"readonly,required"`
	CreatedAt shape.Time `json:"created_at" rule:"readonly,required"`
	UpdatedAt shape.Time `json:"updated_at" rule:"readonly,required"`
}

func (h *Head) head() *Head { return h }

func (h *Head) begin(id uuid.UUID, now time.Time) {
	h.ID, h.CreatedAt, h.UpdatedAt = id, shape.At(now), shape.At(now)
}

func headOf(rec any) *Head { return rec.(interface{ head() *Head }).head() }

// Rules describe a kind beyond its struct.
type Rules[T any] struct {
	Object       string // the singular name, used by tags and events: "contact"
	Entity       string // the plural name, used in paths, schemas and references: "contacts"
	Table        string // the name of the table, if it is not Entity
	DefaultSort  string // -created_at when empty
	Silent       bool   // emits no events
	ShortHistory bool   // changes often: the table keeps a one-day change log
	KeepsValues  bool   // the history has values
	Undoable     bool   // what operations do to the records can be undone; it needs KeepsValues
	// Example is a record for the documentation of events.
	Example T
	// Triggers are the kind's events beside created, updated and deleted.
	Triggers []store.Trigger
	// UpdateEvents returns the events that an update emits. If it is nil, every update emits
	// "updated".
	UpdateEvents  func(before, after *T) []string
	NoUpdateEvent bool // records do not change
	NoDeleteEvent bool // a deletion emits no event
	Unique        []store.Unique[T]
	Keys          []store.Key[T]
	// Match lists the fields by which a batch finds records, each with a function that normalizes
	// values for comparison. Records with an external_id are also found by that.
	Match map[string]func(string) string
	// MatchesToo names, by field in Match, a secondary key with further values of a record by which an import finds it, such as
	// its other addresses. rows.Further names the field that has them.
	MatchesToo map[string]string
	// Fold finishes the fields of a record that others are merged into. all begins with the record itself.
	Fold func(into *T, all []*T)
	// MatchVersion changes whenever a function in Match returns other values, so that the stored keys
	// are rebuilt.
	MatchVersion string
	// Identifies reports whether a text in one of the fields in Match identifies a record, so that an
	// import may find a record by it without being told to. If it is nil, every text does.
	Identifies func(field, text string) bool
	// Identity tells whether a record that was found by an external_id or a match field may be the one that a row means.
	// It may be nil.
	Identity *Identity
	// Alike finds the record that a row of an import means when nothing else identifies it.
	Alike *Alike[T]
	// Check adds the problems of a record to p; before is nil for a new record. It may also
	// normalize the record.
	Check func(tx *store.Tx, before, after *T, p *fault.Problems) error
	// CheckEntry checks a string in the list field Entries, with its path in the body. The record
	// itself has no duplicates, so that positions differ from the body.
	Entries    string
	CheckEntry func(rec *T, at, entry string, p *fault.Problems)
	// UpdateTogether lists fields that an update must set together or not at all.
	UpdateTogether []string
	// Changed is called in the same transaction after a record was created, when before is nil, changed, or deleted with all
	// references to it, when after is nil. An error undoes the change.
	Changed func(tx *store.Tx, before, after *T) error
	// MayDelete is called before anything is written. An error refuses the deletion. A damaged record can always be
	// deleted.
	MayDelete func(tx *store.Tx, rec *T) error
	// Losses returns what records of other kinds lose when the record is deleted, besides references to it.
	Losses func(rec *T) []Loss
	// HasTrash keeps deleted records in a trash, from which they can be restored.
	HasTrash bool
	// Forget is called when a record is gone for good: when it is deleted permanently, or removed from the trash. It may be
	// nil.
	Forget func(tx *store.Tx, id uuid.UUID) error
	// Revive is called before a record of the trash is created again, and may change it. An error refuses. force is that of
	// Restore. It may be nil.
	Revive func(tx *store.Tx, rec *T, force bool) error
	// IsMinor reports whether the history leaves out a change that follows from other records. It may be nil.
	IsMinor func(c *store.Change) bool
	// SetsOf returns the sets that a record belongs to, such as audiences. The trash keeps them, and AfterRestore
	// gets them when the record is restored, after Changed. Both may be nil.
	SetsOf func(tx *store.Tx, id uuid.UUID) ([]uuid.UUID, error)
	// MayRestore is called when a record was restored, before Changed, with the record as it was in the trash and as it
	// is now, in which references and values that do not exist any more are gone. An error undoes it.
	MayRestore   func(tx *store.Tx, id uuid.UUID, trashed, restored []byte, force bool) error
	AfterRestore func(tx *store.Tx, rec *T, sets []uuid.UUID) error
	// InUse reports whether a record that an operation added is in use since, so that undoing the operation leaves it.
	// MayUndo reports whether undoing an operation may set a field of a record to a value. TakeBack is called before a record
	// is deleted that the operation added. All may be nil.
	InUse    func(tx *store.Tx, id uuid.UUID, use Use) (bool, error)
	MayUndo  func(tx *store.Tx, operation uuid.UUID, rec *T, field string, to jsontext.Value) (bool, error)
	TakeBack func(tx *store.Tx, operation, id uuid.UUID) error
	// Confirm is called after an update with what the record was before, and the body, which may say what the record has already.
	Confirm func(tx *store.Tx, before *T, body shape.Value) error
	// CanMerge makes Merge possible. SourceOf returns another id by which merged records are found, or "". It
	// may be nil.
	CanMerge bool
	SourceOf func(*T) string
	// NameKey returns the value of the unique key "name" for a name among the records that can be
	// referred to from records of the object. It is nil if names are not unique.
	NameKey func(name, object string) []byte
	// NewNamed returns the body of a record that an import creates because it has no record of this
	// name.
	NewNamed func(name, object string) shape.Value
	// CheckReference returns why records of the object cannot refer to rec, or "" if they can.
	CheckReference func(rec *T, object string) string
	// Customs returns the custom fields that an entity has in the organization of the transaction.
	// It is required if T embeds shape.Custom.
	Customs func(tx *store.Tx, entity string) (*filter.CustomFields, error)
}

// Kind is a kind of record with its table and its lists.
//
// The compiler generates its methods again for every kind in every package that mentions one, so
// what does not depend on T is in kind.
type Kind[T any] struct {
	kind
	Table     *store.Table[T]
	TrashList *index.Kind // nil if the kind has no trash

	trash *store.Table[Trashed[T]]
}

// Set is the set of all kinds of the service. Kinds refer to each other by entity.
type Set struct {
	// Losing is called before records lose a value that was deleted. It may be nil.
	Losing LosingHook
	// Deleting makes the deletion of one record, from which others lose values, an operation. Restoring undoes what else
	// that operation has changed when the record is restored. Both may be nil.
	Deleting  DeletionHook
	Restoring RestorationHook

	kinds  []*kind
	others []*index.Kind // see AddLists
}

// AddLists adds lists of records that are not of a kind in the set.
func (s *Set) AddLists(lists ...*index.Kind) { s.others = append(s.others, lists...) }

// Lists returns the list of each kind, and those that were added.
func (s *Set) Lists() []*index.Kind {
	lists := make([]*index.Kind, len(s.kinds), len(s.kinds)+len(s.others))
	for i, k := range s.kinds {
		lists[i] = k.List
	}
	return append(lists, s.others...)
}

// ListNamed returns the list that is called so, such as "contacts", or nil.
func (s *Set) ListNamed(entity string) *index.Kind {
	lists := s.Lists()
	if i := slices.IndexFunc(lists, func(l *index.Kind) bool { return l.Entity == entity }); i >= 0 {
		return lists[i]
	}
	return nil
}

// Verify checks every table of the transaction's organization against its keys and its change log, and the parts that
// the kinds share.
func (s *Set) Verify(tx *store.Tx, report store.Report) error {
	for _, k := range s.kinds {
		if err := errors.Join(k.verify(tx, report), k.verifyTrash(tx, report)); err != nil {
			return err
		}
	}
	return errors.Join(trashJobs.Verify(tx, report), NewErasures().parts.Verify(tx, report))
}

// verify leaves out the keys of custom fields while a field is damaged, because they cannot be computed.
func (k *kind) verify(tx *store.Tx, report store.Report) error {
	if k.merged != nil {
		if err := k.merged.Verify(tx, report); err != nil {
			return err
		}
	}
	if k.shape.HasCustom() {
		fields, err := k.customs(tx, k.Entity)
		if err != nil {
			return err
		}
		if fields.Incomplete {
			return k.table.VerifyExcept(tx, report, customKey)
		}
	}
	return k.table.Verify(tx, report)
}

// Add creates the kind of the struct T, which must embed Head, and adds it to the set.
func Add[T any](set *Set, r Rules[T]) *Kind[T] {
	k := &Kind[T]{kind: kind{Object: r.Object, Entity: r.Entity, rules: untyped(&r), shape: shape.Of[T](), set: set}}
	k.flat = map[string]*shape.Field{}
	for _, f := range k.shape.Flat() {
		k.flat[f.Key] = &f
	}
	unique, keys := r.Unique, []store.Key[T]{}
	for _, f := range k.references(new(T)) {
		of := func(_ *store.Tx, rec *T) ([][]byte, error) { return idKeys(&f, rec), nil }
		keys = append(keys, store.Key[T]{Name: f.Key, Of: of})
	}
	keys = append(keys, r.Keys...)
	for field, fold := range r.Match {
		text := k.textField(field)
		keys = append(keys, store.TextKey(MatchKey(field), func(rec *T) string { return fold(text(rec)) }).At(r.MatchVersion))
	}
	if r.Alike != nil {
		keys = append(keys, store.TextKey(AlikeKey, r.Alike.Key).At(r.Alike.Version))
	}
	if k.shape.Field(externalID) != nil {
		unique = append(unique, externalIDs[T](&k.kind))
	}
	var customs func(*store.Tx) (*filter.CustomFields, error)
	if k.shape.HasCustom() {
		customs = func(tx *store.Tx) (*filter.CustomFields, error) { return r.Customs(tx, r.Entity) }
		of := func(tx *store.Tx, rec *T) ([][]byte, error) { return k.customKeys(tx, rec) }
		keys = append(keys, store.Key[T]{Name: customKey, Of: of})
	}
	k.Table = NewTable(cmp.Or(r.Table, r.Entity), unique, keys)
	if r.ShortHistory {
		k.Table = k.Table.ShortHistory()
	}
	if r.KeepsValues {
		k.Table = k.Table.KeepsValues()
	}
	if r.Undoable {
		k.Table = k.Table.Journaled()
	}
	if r.Undoable || r.HasTrash {
		k.reverser = k
	}
	k.table = &k.Table.AnyTable
	k.List = index.NewKind(r.Entity, cmp.Or(r.DefaultSort, "-created_at"), k.Table, customs)
	if slices.ContainsFunc(k.refs, func(f shape.Field) bool { return f.Named }) {
		k.List.FindName = func(tx *store.Tx, f *filter.Field, name string) (uuid.UUID, bool, error) {
			return k.set.find(f.Ref).FindNamed(tx, name, k.Object)
		}
	}
	if r.CheckReference != nil {
		k.checkReference = func(tx *store.Tx, id uuid.UUID, object string) (string, error) {
			doc, err := k.Table.Get(tx, id)
			if err != nil {
				return "", err
			}
			return r.CheckReference(&doc.Record, object), nil
		}
	}
	k.ops = importingOf(k, ImportRules[T]{})
	k.ops.identity = r.Identity
	if r.Alike != nil {
		k.ops.alike = func(tx *store.Tx, rec any) (uuid.UUID, int, error) { return k.alike(tx, r.Alike, rec.(*T)) }
		k.ops.nameOf = func(rec any) string { return r.Alike.Key(rec.(*T)) }
	}
	set.kinds = append(set.kinds, &k.kind)
	if r.HasTrash {
		k.addTrash(customs)
	}
	if r.CanMerge {
		k.declareMerged()
	}
	return k
}

// OnCheck lets check add problems of a record like Rules.Check, after that. Features that depend on the kind call it when they are
// constructed.
func (k *Kind[T]) OnCheck(check func(tx *store.Tx, before, after *T, p *fault.Problems) error) {
	k.checks = append(k.checks, untypedCheck(check))
}

// OnChange lets changed be called like Rules.Changed, after that and in the order of the calls of OnChange.
func (k *Kind[T]) OnChange(changed func(tx *store.Tx, before, after *T) error) {
	k.changes = append(k.changes, untypedChange(changed))
}

// Get returns a record. If it was merged into another, the error names that one.
func (k *Kind[T]) Get(tx *store.Tx, id uuid.UUID) (store.Doc[T], error) {
	doc, err := k.Table.Get(tx, id)
	if err != nil {
		return doc, k.missing(tx, id, err)
	}
	return doc, nil
}

// Create stores a new record. If the draft has problems, Create returns all of them in one error
// and stores nothing.
func (k *Kind[T]) Create(tx *store.Tx, d Draft[T]) (store.Doc[T], error) {
	return k.CreateAs(tx, tx.NewID(), d, nil)
}

// CreateAs is like Create with a given id. If set is not nil, it may set fields that no body can
// set.
func (k *Kind[T]) CreateAs(tx *store.Tx, id uuid.UUID, d Draft[T], set func(*T)) (store.Doc[T], error) {
	d, err := d.withIDs(tx, &k.kind)
	if err != nil {
		return store.Doc[T]{}, err
	}
	rec, p := d.record, d.problems
	headOf(&rec).begin(id, tx.Now())
	if set != nil {
		set(&rec)
	}
	if err := k.check(tx, nil, &rec, d.body, &p); err != nil {
		return store.Doc[T]{}, err
	}
	return k.insert(tx, id, rec)
}

// Insert stores a new record without checking it. The caller guarantees that it satisfies the rules
// of its kind and that the records it refers to exist.
func (k *Kind[T]) Insert(tx *store.Tx, rec T) (store.Doc[T], error) {
	id := tx.NewID()
	headOf(&rec).begin(id, tx.Now())
	return k.insert(tx, id, rec)
}

func (k *Kind[T]) insert(tx *store.Tx, id uuid.UUID, rec T) (store.Doc[T], error) {
	doc, err := k.Table.Insert(tx, id, rec)
	if err != nil {
		return store.Doc[T]{}, err
	}
	if err := k.changed(tx, nil, &rec); err != nil {
		return store.Doc[T]{}, err
	}
	return doc, k.emit(tx, createdEvent, store.Event{ID: id, Data: doc.JSON})
}

// Precondition returns an error if a record of the given version must not be changed. A nil
// Precondition allows every change.
type Precondition func(version string) error

func (c Precondition) check(version string) error {
	if c == nil {
		return nil
	}
	return c(version)
}

// Update changes a record: absent members keep their value, null clears a field. If the body
// changes nothing, Update writes nothing.
func (k *Kind[T]) Update(tx *store.Tx, id uuid.UUID, cond Precondition, body shape.Value) (store.Doc[T], error) {
	old, err := k.Get(tx, id)
	if err == nil {
		err = cond.check(old.Version())
	}
	if err != nil {
		return store.Doc[T]{}, err
	}
	return k.change(tx, old, body)
}

// change is Update of a record that was read.
func (k *Kind[T]) change(tx *store.Tx, old store.Doc[T], body shape.Value) (store.Doc[T], error) {
	body, err := k.withIDs(tx, body)
	if err != nil {
		return store.Doc[T]{}, err
	}
	rec := old.Record
	var p fault.Problems
	shape.Decode(body, &rec, shape.Update, &p)
	if err := k.check(tx, &old.Record, &rec, body, &p); err != nil {
		return store.Doc[T]{}, err
	}
	doc, err := k.Replace(tx, old, rec)
	if err == nil && k.confirm != nil {
		err = k.confirm(tx, &old.Record, body)
	}
	return doc, err
}

// Replace stores rec in place of old, sets updated_at and emits events. It does nothing if they are
// equal.
func (k *Kind[T]) Replace(tx *store.Tx, old store.Doc[T], rec T) (store.Doc[T], error) {
	changed := k.shape.Diff(&old.Record, &rec)
	if len(changed) == 0 {
		return old, nil
	}
	headOf(&rec).UpdatedAt = shape.At(tx.Now())
	doc, err := k.Table.Update(tx, old, rec, changed)
	if err == nil {
		err = k.updated(tx, &old.Record, &rec, changed, doc.JSON)
	}
	if err != nil {
		return store.Doc[T]{}, err
	}
	return doc, nil
}

// Delete deletes a record and removes every reference to it. If another record requires it, Delete
// returns an error with the code in_use. A kind that has a trash keeps the record there. A damaged record
// is always deleted, even if others require it: the rules of its kind see a record that has nothing but its id.
func (k *Kind[T]) Delete(tx *store.Tx, id uuid.UUID, cond Precondition) error {
	remove := func() error { return k.remove(tx, id, cond, k.trash != nil) }
	isOperation, err := k.isOperation(tx, id)
	if err != nil {
		return err
	}
	if !isOperation {
		return remove()
	}
	return k.set.Deleting(tx, k.Entity, id, remove)
}

func (k *Kind[T]) remove(tx *store.Tx, id uuid.UUID, cond Precondition, keep bool) error {
	old, err := k.Get(tx, id)
	if store.IsDamagedRecord(err) {
		var rec T
		headOf(&rec).ID = id
		return k.deleteDamaged(tx, &rec, cond)
	}
	if err == nil {
		err = cond.check(old.Version())
	}
	if err != nil {
		return err
	}
	rec := old.Record
	if err := k.beforeDelete(tx, &rec, false); err != nil {
		return err
	}
	if keep {
		var sets []uuid.UUID
		if k.setsOf != nil {
			if sets, err = k.setsOf(tx, id); err != nil {
				return err
			}
		}
		if err := k.toTrash(tx, rec, sets); err != nil {
			return err
		}
	}
	if old, err = k.Table.Get(tx, id); err != nil { // the record may have referred to itself
		return err
	}
	if err := k.Table.Delete(tx, old); err != nil {
		return err
	}
	if keep {
		k.table.JournalLast(tx)
	} else if err := k.forgetRecord(tx, id); err != nil {
		return err
	}
	return k.deleted(tx, &rec)
}
