// Package record implements the life cycle of records of any kind: create, read, update, delete,
// batches, imports, history, references between kinds, custom fields and events. A feature declares
// a kind as a struct with tags and the Rules that tags cannot express. The package knows no kind
// itself.
package record

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
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

// Get returns a record. If it was merged into another, the error names that one.
func (k *Kind[T]) Get(tx *store.Tx, id uuid.UUID) (store.Doc[T], error) {
	doc, err := k.Table.Get(tx, id)
	if err != nil {
		return doc, k.missing(tx, id, err)
	}
	return doc, nil
}

// Lookup is Get for callers that go on without the record: found is false if it does not exist.
func (k *Kind[T]) Lookup(tx *store.Tx, id uuid.UUID) (doc store.Doc[T], found bool, err error) {
	return lookup(k.Table.Get(tx, id))
}

// lookup makes an error that says that a record does not exist a result of its own.
func lookup[T any](doc store.Doc[T], err error) (_ store.Doc[T], found bool, _ error) {
	if fault.CodeOf(err) == fault.NotFound {
		return doc, false, nil
	}
	return doc, err == nil, err
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
	return k.update(tx, old, body)
}

// update is Update of a record that was read.
func (k *Kind[T]) update(tx *store.Tx, old store.Doc[T], body shape.Value) (store.Doc[T], error) {
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
	if err == nil && k.rules.AfterUpdate != nil {
		err = k.rules.AfterUpdate(tx, &old.Record, body)
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
		return k.deleteDamaged(tx, id, cond)
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
		if err := k.toTrash(tx, rec); err != nil {
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

// deleteDamaged deletes a record of which only the id is known.
func (k *Kind[T]) deleteDamaged(tx *store.Tx, id uuid.UUID, cond Precondition) error {
	if err := cond.check(""); err != nil { // its version is not known
		return err
	}
	var rec T
	headOf(&rec).ID = id
	if err := k.beforeDelete(tx, &rec, true); err != nil {
		return err
	}
	if err := tx.DeleteDamaged(k.table.Name(), id); err != nil {
		return err
	}
	if err := k.forgetRecord(tx, id); err != nil {
		return err
	}
	return k.deleted(tx, &rec)
}

// beforeDelete removes every reference to the record, or returns why it cannot be deleted. A damaged record can
// always be deleted. To records that require it, it is like one that was lost with its page.
func (k *Kind[T]) beforeDelete(tx *store.Tx, rec *T, isDamaged bool) error {
	if k.rules.MayDelete != nil && !isDamaged {
		if err := k.rules.MayDelete(tx, rec); err != nil {
			return err
		}
	}
	consent := Refuse
	if isDamaged {
		consent = Damaged
	}
	if err := k.set.lose(tx, k.losses(rec, uuid.NullUUID{}), consent); err != nil {
		return err
	}
	for other, f := range k.set.referencesTo(k.Entity) {
		if err := other.removeReferences(tx, f, headOf(rec).ID, isDamaged); err != nil {
			return err
		}
	}
	return nil
}

// forgetRecord removes what belongs to a record that is gone for good.
func (k *kind) forgetRecord(tx *store.Tx, id uuid.UUID) error {
	if k.forget == nil {
		return nil
	}
	return k.forget(tx, id)
}

// changed calls what is to be called after a change. before is nil for a new record, and after for one that was deleted.
func (k *Kind[T]) changed(tx *store.Tx, before, after *T) error {
	for _, call := range k.changes {
		if err := call(tx, before, after); err != nil {
			return err
		}
	}
	return nil
}

// updated completes an update of the fields changed: public is the new record.
func (k *Kind[T]) updated(tx *store.Tx, before, after *T, changed []string, public []byte) error {
	if err := k.changed(tx, before, after); err != nil {
		return err
	}
	events := []string{updatedEvent}
	if k.rules.Events.OfUpdate != nil {
		events = k.rules.Events.OfUpdate(before, after)
	}
	for _, event := range events {
		e := store.Event{ID: headOf(after).ID, Data: public}
		if event == updatedEvent {
			e.Changed = changed
		}
		if err := k.emit(tx, event, e); err != nil {
			return err
		}
	}
	return nil
}

// deleted completes the deletion of a record.
func (k *Kind[T]) deleted(tx *store.Tx, rec *T) error {
	if err := k.changed(tx, rec, nil); err != nil {
		return err
	}
	if k.rules.Events.NoDelete {
		return nil
	}
	return k.emitGone(tx, headOf(rec).ID)
}

// emitGone emits the event that a record was deleted.
func (k *kind) emitGone(tx *store.Tx, id uuid.UUID) error {
	gone, err := json.Marshal(struct {
		ID uuid.UUID `json:"id"`
	}{id})
	if err != nil {
		return err
	}
	return k.emit(tx, deletedEvent, store.Event{ID: id, Data: gone})
}

func (k *kind) emit(tx *store.Tx, event string, e store.Event) error {
	if k.source == nil {
		return nil
	}
	e.Trigger = k.Object + "." + event
	return tx.Emit(e)
}
