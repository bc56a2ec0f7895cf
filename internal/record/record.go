// Package record is the life of a record of any kind: created, read, changed and deleted by strict bodies, with its
// references checked, its events emitted and its lists described. A feature declares a kind as a struct with tags and
// the few rules that tags cannot say; it knows no kind itself.
package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

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

func headOf[T any](rec *T) *Head { return any(rec).(interface{ head() *Head }).head() }

// Rules are what a kind has beyond its struct.
type Rules[T any] struct {
	Object      string // "contact": how tags and events call it
	Entity      string // "contacts": its path, its schema, what a reference to it names
	DefaultSort string // -created_at when empty
	Silent      bool   // emits no events
	Unique      []store.Unique[T]
	// Check notes what is wrong with a record; before is nil for a new one. It may also put the record in order.
	Check func(tx *store.Tx, before, after *T, p *fault.Problems)
	// Fits says why a record cannot be referred to from records of the object; empty when it can.
	Fits func(rec *T, object string) string
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
type Set struct{ kinds []related }

// related is a kind as the others see it.
type related interface {
	entity() string
	// misfit says why id cannot be referred to from records of the object, empty when it can.
	misfit(tx *store.Tx, id uuid.UUID, object string) (string, error)
	// release takes every reference to the record away.
	release(tx *store.Tx, entity string, id uuid.UUID) error
	verify(tx *store.Tx, problem func(format string, args ...any)) error
	list() *index.Kind
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
func (s *Set) Verify(tx *store.Tx, problem func(format string, args ...any)) error {
	for _, k := range s.kinds {
		if err := k.verify(tx, problem); err != nil {
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
	var keys []store.Key[T]
	for _, f := range k.shape.Fields {
		if f.Ref != "" {
			switch f.Get(new(T)).(type) {
			case uuid.NullUUID, shape.IDs:
			default:
				panic("record: " + r.Entity + "." + f.Key + " is a reference of a type that is not looked after")
			}
			k.refs = append(k.refs, f)
			keys = append(keys, store.Key[T]{Name: f.Key, Of: func(rec *T) [][]byte { return idKeys(&f, rec) }})
		}
	}
	k.Table = store.NewTable(r.Entity, r.Unique, keys)
	k.List = index.NewKind(r.Entity, r.DefaultSort, k.Table)
	set.kinds = append(set.kinds, k)
	return k
}

// refIDs are the ids that a reference field names.
func refIDs(f *shape.Field, rec any) []uuid.UUID {
	switch v := f.Get(rec).(type) {
	case uuid.NullUUID:
		if v.Valid {
			return []uuid.UUID{v.UUID}
		}
	case shape.IDs:
		return v
	}
	return nil
}

func idKeys(f *shape.Field, rec any) [][]byte {
	var keys [][]byte
	for _, id := range refIDs(f, rec) {
		keys = append(keys, id[:])
	}
	return keys
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

// Create makes a record from a draft. All that is wrong with its body is reported at once, and then nothing is made.
func (k *Kind[T]) Create(tx *store.Tx, d Draft[T]) (store.Doc[T], error) {
	return k.CreateAs(tx, tx.NewID(), d, nil)
}

// CreateAs makes a record under an id of the caller's, who may set what no body can.
func (k *Kind[T]) CreateAs(tx *store.Tx, id uuid.UUID, d Draft[T], set func(*T)) (store.Doc[T], error) {
	rec, p := d.record, d.problems
	h := headOf(&rec)
	h.ID, h.CreatedAt, h.UpdatedAt = id, shape.At(tx.Now()), shape.At(tx.Now())
	if set != nil {
		set(&rec)
	}
	if err := k.check(tx, nil, &rec, d.body, &p); err != nil {
		return store.Doc[T]{}, err
	}
	doc, err := k.Table.Insert(tx, id, rec)
	if err != nil {
		return store.Doc[T]{}, err
	}
	return doc, k.emit(tx, "created", doc.JSON)
}

// Precondition refuses a change to a record of the version; a nil one refuses nothing.
type Precondition func(version uint64) error

func (c Precondition) check(version uint64) error {
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
	if err := cond.check(old.Change); err != nil {
		return store.Doc[T]{}, err
	}
	rec := old.Record
	shape.Decode(body, &rec, shape.Update, &p)
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
	return doc, k.emit(tx, "updated", doc.JSON)
}

// Delete removes a record and every reference to it.
func (k *Kind[T]) Delete(tx *store.Tx, id uuid.UUID, cond Precondition) error {
	old, err := k.Table.Get(tx, id)
	if err != nil {
		return err
	}
	if err := cond.check(old.Change); err != nil {
		return err
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
	gone, err := json.Marshal(struct {
		ID uuid.UUID `json:"id"`
	}{id})
	if err != nil {
		return err
	}
	return k.emit(tx, "deleted", gone)
}

func (k *Kind[T]) emit(tx *store.Tx, event string, data []byte) error {
	if k.Silent {
		return nil
	}
	return tx.Emit(store.Event{Trigger: k.Object + "." + event, Data: data})
}

// check notes references to what is not there and what the kind's own rules find.
func (k *Kind[T]) check(tx *store.Tx, before, after *T, body shape.Value, p *fault.Problems) error {
	for _, f := range k.refs {
		var held []uuid.UUID
		if before != nil {
			held = refIDs(&f, before)
		}
		kept := make(map[uuid.UUID]bool, len(held))
		for _, id := range held {
			kept[id] = true
		}
		var places map[uuid.UUID]string
		for _, id := range refIDs(&f, after) {
			if kept[id] {
				continue
			}
			why, err := k.set.misfit(tx, f.Ref, id, k.Object)
			if err != nil {
				return err
			}
			if why != "" {
				if places == nil {
					places = placesOf(&f, body)
				}
				p.Invalid(cmp.Or(places[id], f.Key), "%s", why)
			}
		}
	}
	if k.Check != nil {
		k.Check(tx, before, after, p)
	}
	return p.Err()
}

// placesOf is where in the body each reference of a field stands.
func placesOf(f *shape.Field, body shape.Value) map[uuid.UUID]string {
	given := body.Get(f.Key)
	places := map[uuid.UUID]string{}
	if id, err := shape.ParseID(given.Text); err == nil {
		places[id] = f.Key
	}
	for i, item := range slices.Backward(given.Items) { // one that stands twice is where it stands first
		if id, err := shape.ParseID(item.Text); err == nil {
			places[id] = fmt.Sprintf("%s[%d]", f.Key, i)
		}
	}
	return places
}

func (s *Set) misfit(tx *store.Tx, entity string, id uuid.UUID, object string) (string, error) {
	for _, k := range s.kinds {
		if k.entity() == entity {
			return k.misfit(tx, id, object)
		}
	}
	return "", fmt.Errorf("record: %s refers to %s, which is no kind", object, entity)
}

func (k *Kind[T]) entity() string { return k.Entity }

func (k *Kind[T]) list() *index.Kind { return k.List }

func (k *Kind[T]) verify(tx *store.Tx, problem func(format string, args ...any)) error {
	return k.Table.Verify(tx, problem)
}

func (k *Kind[T]) misfit(tx *store.Tx, id uuid.UUID, object string) (string, error) {
	if k.Fits == nil {
		if !k.Table.Has(tx, id) {
			return "names nothing that exists", nil
		}
		return "", nil
	}
	doc, err := k.Table.Get(tx, id)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return "names nothing that exists", nil
	case err != nil:
		return "", err
	}
	return k.Fits(&doc.Record, object), nil
}

// release nulls the references of this kind's records to one that is going. It is a clean-up: the records keep their
// updated_at and emit nothing, but the change log has it.
func (k *Kind[T]) release(tx *store.Tx, entity string, id uuid.UUID) error {
	for _, f := range k.refs {
		if f.Ref != entity {
			continue
		}
		bearers, err := k.Table.IDs(tx, f.Key, id[:])
		if err != nil {
			return err
		}
		for _, bearer := range bearers {
			doc, err := k.Table.Get(tx, bearer)
			if err != nil {
				return err
			}
			rec := doc.Record
			dropRef(&f, &rec, id)
			if _, err := k.Table.Update(tx, doc, rec, []string{f.Key}); err != nil {
				return err
			}
		}
	}
	return nil
}

func dropRef(f *shape.Field, rec any, id uuid.UUID) {
	switch v := f.Get(rec).(type) {
	case uuid.NullUUID:
		f.Set(rec, uuid.NullUUID{})
	case shape.IDs:
		f.Set(rec, slices.DeleteFunc(slices.Clone(v), func(e uuid.UUID) bool { return e == id }))
	}
}
