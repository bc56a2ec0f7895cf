// Package record implements the life cycle of records of any kind: create, read, update, delete,
// batches, imports, history, references between kinds, custom fields and events. A feature declares
// a kind as a struct with tags and the Rules that tags cannot express. The package knows no kind
// itself.
package record

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

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

func headOf[T any](rec *T) *Head { return any(rec).(interface{ head() *Head }).head() }

// Rules describe a kind beyond its struct.
type Rules[T any] struct {
	Object       string // the singular name, used by tags and events: "contact"
	Entity       string // the plural name, used in paths, schemas and references: "contacts"
	DefaultSort  string // -created_at when empty
	Silent       bool   // emits no events
	ShortHistory bool   // changes often: the table keeps a one-day change log
	// Example is a record for the documentation of events.
	Example T
	// Triggers are the kind's events beside created, updated and deleted.
	Triggers []store.Trigger
	// UpdateEvents returns the events that an update emits. If it is nil, every update emits
	// "updated".
	UpdateEvents  func(before, after *T) []string
	NoDeleteEvent bool // a deletion emits no event
	Unique        []store.Unique[T]
	Keys          []store.Key[T]
	// Match lists the fields by which a batch finds records, each with a function that normalizes
	// values for comparison. Records with an external_id are also found by that.
	Match map[string]func(string) string
	// Check adds the problems of a record to p; before is nil for a new record. It may also
	// normalize the record.
	Check func(tx *store.Tx, before, after *T, p *fault.Problems) error
	// CheckEntry checks a string in the list field Entries, with its path in the body. The record
	// itself has no duplicates, so that positions differ from the body.
	Entries    string
	CheckEntry func(rec *T, at, entry string, p *fault.Problems)
	// UpdateTogether lists fields that an update must set together or not at all.
	UpdateTogether []string
	// AfterUpdate is called in the same transaction after a record was changed. An error undoes the
	// change.
	AfterUpdate func(tx *store.Tx, before, after *T) error
	// MayDelete is called before anything is written. An error refuses the deletion.
	MayDelete func(tx *store.Tx, rec *T) error
	// AfterDelete is called in the same transaction after a record and all references to it were
	// deleted. An error undoes the deletion.
	AfterDelete func(tx *store.Tx, rec *T) error
	// NameKey returns the value of the unique key "name" for a name among the records that can be
	// referred to from records of the object. It is nil if names are not unique.
	NameKey func(name, object string) []byte
	// CheckReference returns why records of the object cannot refer to rec, or "" if they can.
	CheckReference func(rec *T, object string) string
	// Customs returns the custom fields that an entity has in the organization of the transaction.
	// It is required if T embeds shape.Custom.
	Customs func(tx *store.Tx, entity string) (*filter.CustomFields, error)
}

// Kind is a kind of record with its table and its lists.
type Kind[T any] struct {
	Rules[T]
	Table *store.Table[T]
	List  *index.Kind

	shape *shape.Struct
	refs  []shape.Field
	set   *Set
}

// Set is the set of all kinds of the service. Kinds refer to each other by entity.
type Set struct {
	kinds []related
}

// related is the interface through which kinds of different types use each other.
type related interface {
	entity() string
	ReferenceProblem(tx *store.Tx, id uuid.UUID, object string) (string, error)
	// release removes every reference to the record.
	release(tx *store.Tx, entity string, id uuid.UUID) error
	// needs reports whether the kind has a required reference to the entity.
	needs(entity string) bool
	bury(tx *store.Tx, tomb store.Tombstone) error
	sweep(tx *store.Tx, tomb store.Tombstone) (more bool, err error)
	// named finds a record by its name or by a match field.
	named(tx *store.Tx, by, text, object string) (id uuid.UUID, found bool, err error)
	matchFields() []string
	holds(tx *store.Tx, field uuid.UUID, value string) (uuid.UUID, bool, error)
	verify(tx *store.Tx, report store.Report) error
	list() *index.Kind
	source() (_ store.Source, emits bool)
}

// Lists returns the list definition of each kind.
func (s *Set) Lists() []*index.Kind {
	lists := make([]*index.Kind, len(s.kinds))
	for i, k := range s.kinds {
		lists[i] = k.list()
	}
	return lists
}

// Verify checks every table of the transaction's organization against its keys and its change log.
func (s *Set) Verify(tx *store.Tx, report store.Report) error {
	for _, k := range s.kinds {
		if err := k.verify(tx, report); err != nil {
			return err
		}
	}
	return nil
}

// Add creates the kind of the struct T, which must embed Head, and adds it to the set.
func Add[T any](set *Set, r Rules[T]) *Kind[T] {
	if r.DefaultSort == "" {
		r.DefaultSort = "-created_at"
	}
	k := &Kind[T]{Rules: r, shape: shape.Of[T](), set: set}
	unique, keys := r.Unique, append(k.referenceKeys(), r.Keys...)
	for field, fold := range r.Match {
		keys = append(keys, matchKey(k.textField(field), field, fold))
	}
	if k.shape.Field(externalID) != nil {
		unique = append(unique, externalIDs(k.textField(externalID)))
	}
	var customs func(*store.Tx) (*filter.CustomFields, error)
	if k.shape.HasCustom() {
		customs = func(tx *store.Tx) (*filter.CustomFields, error) { return r.Customs(tx, r.Entity) }
		keys = append(keys, store.Key[T]{Name: customKey, Of: k.customKeys})
	}
	k.Table = NewTable(r.Entity, unique, keys)
	if r.ShortHistory {
		k.Table = k.Table.ShortHistory()
	}
	k.List = index.NewKind(r.Entity, r.DefaultSort, k.Table, customs)
	set.kinds = append(set.kinds, k)
	return k
}

// WithArticle returns the name of the kind with its article: "an account view".
func (k *Kind[T]) WithArticle() string {
	one := strings.ReplaceAll(k.Object, "_", " ")
	if strings.ContainsAny(one[:1], "aeio") {
		return "an " + one
	}
	return "a " + one
}

// Get returns a record.
func (k *Kind[T]) Get(tx *store.Tx, id uuid.UUID) (store.Doc[T], error) { return k.Table.Get(tx, id) }

// Draft is a new record, decoded from a body but not stored yet. Drafts are decoded before the
// transaction begins, because all writers would wait for it.
type Draft[T any] struct {
	record   T
	body     shape.Value
	problems fault.Problems
}

// NewDraft decodes a body. Create reports its problems together with those found later.
func NewDraft[T any](body shape.Value) Draft[T] {
	d := Draft[T]{body: body}
	shape.Decode(body, &d.record, shape.Create, &d.problems)
	return d
}

// Open returns the decoded record and its problems.
func (d Draft[T]) Open() (T, fault.Problems) { return d.record, d.problems }

// PathOf returns the path of the first occurrence of an id in a list of the body.
func (d Draft[T]) PathOf(key string, id uuid.UUID) string {
	for i, item := range d.body.Get(key).Items {
		if given, err := shape.ParseID(item.Text); err == nil && given == id {
			return fmt.Sprintf("%s[%d]", key, i)
		}
	}
	return key
}

// Create stores a new record. If the draft has problems, Create returns all of them in one error
// and stores nothing.
func (k *Kind[T]) Create(tx *store.Tx, d Draft[T]) (store.Doc[T], error) {
	return k.CreateAs(tx, tx.NewID(), d, nil)
}

// CreateAs is like Create with a given id. If set is not nil, it may set fields that no body can
// set.
func (k *Kind[T]) CreateAs(tx *store.Tx, id uuid.UUID, d Draft[T], set func(*T)) (store.Doc[T], error) {
	rec, p := d.record, d.problems
	headOf(&rec).begin(id, tx.Now())
	if set != nil {
		set(&rec)
	}
	if err := k.decodeCustom(tx, d.body, &rec, &p); err != nil {
		return store.Doc[T]{}, err
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
	return doc, k.emit(tx, "created", id, doc.JSON)
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
	var p fault.Problems
	old, err := k.Table.Get(tx, id)
	if err != nil {
		return store.Doc[T]{}, err
	}
	if err := cond.check(old.Version()); err != nil {
		return store.Doc[T]{}, err
	}
	rec := old.Record
	shape.Decode(body, &rec, shape.Update, &p)
	if err := k.decodeCustom(tx, body, &rec, &p); err != nil {
		return store.Doc[T]{}, err
	}
	if err := k.check(tx, &old.Record, &rec, body, &p); err != nil {
		return store.Doc[T]{}, err
	}
	return k.Replace(tx, old, rec)
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
	if err != nil {
		return store.Doc[T]{}, err
	}
	if k.AfterUpdate != nil {
		if err := k.AfterUpdate(tx, &old.Record, &rec); err != nil {
			return store.Doc[T]{}, err
		}
	}
	events := []string{"updated"}
	if k.UpdateEvents != nil {
		events = k.UpdateEvents(&old.Record, &rec)
	}
	for _, event := range events {
		if err := k.emit(tx, event, doc.ID, doc.JSON); err != nil {
			return store.Doc[T]{}, err
		}
	}
	return doc, nil
}

// Delete deletes a record and removes every reference to it. If another record requires it, Delete
// returns an error with the code in_use.
func (k *Kind[T]) Delete(tx *store.Tx, id uuid.UUID, cond Precondition) error {
	old, err := k.Table.Get(tx, id)
	if err != nil {
		return err
	}
	if err := cond.check(old.Version()); err != nil {
		return err
	}
	rec := old.Record
	if k.MayDelete != nil {
		if err := k.MayDelete(tx, &rec); err != nil {
			return err
		}
	}
	for _, other := range k.set.kinds {
		if err := other.release(tx, k.Entity, id); err != nil {
			return err
		}
	}
	if old, err = k.Table.Get(tx, id); err != nil { // release changes a record that refers to itself
		return err
	}
	if err := k.Table.Delete(tx, old); err != nil {
		return err
	}
	if k.AfterDelete != nil {
		if err := k.AfterDelete(tx, &rec); err != nil {
			return err
		}
	}
	if k.NoDeleteEvent {
		return nil
	}
	gone, err := json.Marshal(struct {
		ID uuid.UUID `json:"id"`
	}{id})
	if err != nil {
		return err
	}
	return k.emit(tx, "deleted", id, gone)
}

func (k *Kind[T]) emit(tx *store.Tx, event string, id uuid.UUID, data []byte) error {
	if k.Silent {
		return nil
	}
	return tx.Emit(store.Event{Trigger: k.Object + "." + event, ID: id, Data: data})
}
