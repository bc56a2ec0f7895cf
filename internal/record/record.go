// Package record is the life of a record of any kind: created, read, changed and deleted by strict bodies, with its
// references checked, its events emitted and its lists described. A feature declares a kind as a struct with tags and
// the few rules that tags cannot say; it knows no kind itself.
package record

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// Head is what every record begins with. A record embeds it.
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

// Rules are what a kind has beyond its struct.
type Rules[T any] struct {
	Object       string // "contact": how tags and events call it
	Entity       string // "contacts": its path, its schema, what a reference to it names
	DefaultSort  string // -created_at when empty
	Silent       bool   // emits no events
	ShortHistory bool   // changes often: the table keeps a one-day change log
	// Example is such a record, for those who want to know what its events look like.
	Example T
	// Triggers are the kind's events beside created, updated and deleted.
	Triggers []store.Trigger
	// UpdateEvents returns the events that an update emits. If it is nil, every update emits "updated".
	UpdateEvents  func(before, after *T) []string
	NoDeleteEvent bool // a deletion emits no event
	Unique        []store.Unique[T]
	Keys          []store.Key[T]
	// Match gives, for fields by which a batch finds records, the form in which their texts are compared. Records that have an
	// external_id are also found by that.
	Match map[string]func(string) string
	// Check notes what is wrong with a record; before is nil for a new one. It may also put the record in order.
	Check func(tx *store.Tx, before, after *T, p *fault.Problems) error
	// CheckEntry notes what is wrong with a text of the list that Entries names, at its place in the body: a record has each once.
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
	// Customs returns the custom fields that an entity has in the organization of the transaction. It
	// is required if T embeds shape.Custom.
	Customs func(tx *store.Tx, entity string) (*index.Customs, error)
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

// Set is the kinds of a service, which refer to each other by their entity.
type Set struct {
	kinds []related
}

// related is a kind as the others see it.
type related interface {
	entity() string
	ReferenceProblem(tx *store.Tx, id uuid.UUID, object string) (string, error)
	// release takes every reference to the record away.
	release(tx *store.Tx, entity string, id uuid.UUID) error
	// needs tells whether its records cannot be without one of the entity.
	needs(entity string) bool
	bury(tx *store.Tx, tomb store.Tombstone) error
	sweep(tx *store.Tx, tomb store.Tombstone) (more bool, err error)
	// named finds a record by its name, or by one of the fields by which its kind is matched.
	named(tx *store.Tx, by, text, object string) (id uuid.UUID, found bool, err error)
	matchFields() []string
	holds(tx *store.Tx, field uuid.UUID, value string) (uuid.UUID, bool, error)
	verify(tx *store.Tx, report store.Report) error
	list() *index.Kind
	source() (_ store.Source, emits bool)
}

// Lists gives what the lists of each kind need to know.
func (s *Set) Lists() []*index.Kind {
	lists := make([]*index.Kind, len(s.kinds))
	for i, k := range s.kinds {
		lists[i] = k.list()
	}
	return lists
}

// Verify holds every table of the transaction's organization against its keys and its log.
func (s *Set) Verify(tx *store.Tx, report store.Report) error {
	for _, k := range s.kinds {
		if err := k.verify(tx, report); err != nil {
			return err
		}
	}
	return nil
}

// Add declares the kind T, a struct that embeds Head, and adds it to the set.
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
	var customs func(*store.Tx) (*index.Customs, error)
	if k.shape.HasCustom() {
		customs = func(tx *store.Tx) (*index.Customs, error) { return r.Customs(tx, r.Entity) }
		keys = append(keys, store.Key[T]{Name: customKey, Of: k.customKeys})
	}
	k.Table = store.NewTable(r.Entity, unique, keys)
	if r.ShortHistory {
		k.Table = k.Table.ShortHistory()
	}
	k.List = index.NewKind(r.Entity, r.DefaultSort, k.Table, customs)
	set.kinds = append(set.kinds, k)
	return k
}

// InWords is a record of the kind in words: "an account view".
func (k *Kind[T]) WithArticle() string {
	one := strings.ReplaceAll(k.Object, "_", " ")
	if strings.ContainsAny(one[:1], "aeio") {
		return "an " + one
	}
	return "a " + one
}

// Get reads a record.
func (k *Kind[T]) Get(tx *store.Tx, id uuid.UUID) (store.Doc[T], error) { return k.Table.Get(tx, id) }

// Draft is a record to be, decoded from a body. Decoding needs no transaction, and all writers would wait for it there.
type Draft[T any] struct {
	record   T
	body     shape.Value
	problems fault.Problems
}

// NewDraft decodes a body. What is wrong with it is kept for Create to report with the rest.
func NewDraft[T any](body shape.Value) Draft[T] {
	d := Draft[T]{body: body}
	shape.Decode(body, &d.record, shape.Create, &d.problems)
	return d
}

// Open gives what was decoded, and what is wrong with it.
func (d Draft[T]) Open() (T, fault.Problems) { return d.record, d.problems }

// Place is where in a list of the body an id stands first.
func (d Draft[T]) PathOf(key string, id uuid.UUID) string {
	for i, item := range d.body.Get(key).Items {
		if given, err := shape.ParseID(item.Text); err == nil && given == id {
			return fmt.Sprintf("%s[%d]", key, i)
		}
	}
	return key
}

// Create makes a record from a draft. All that is wrong with its body is reported at once, and then nothing is made.
func (k *Kind[T]) Create(tx *store.Tx, d Draft[T]) (store.Doc[T], error) {
	return k.CreateAs(tx, tx.NewID(), d, nil)
}

// CreateAs makes a record under an id of the caller's, who may set what no body can.
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

// Insert makes a record that the caller vouches for: it is as the rules of its kind want it, and what it refers to is there.
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

// Precondition refuses a change to a record of the version; a nil one refuses nothing.
type Precondition func(version string) error

func (c Precondition) check(version string) error {
	if c == nil {
		return nil
	}
	return c(version)
}

// Update changes a record by a body: what is absent stays, null clears. A body that leaves the record as it was writes
// nothing.
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

// Replace writes rec in the place of old, with a new updated_at and an event, unless they are the same.
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

// Delete removes a record and every reference to it. One that another cannot be without is in_use.
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
	if old, err = k.Table.Get(tx, id); err != nil { // it may have referred to itself
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
