package record

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/shape"
	"prospector/store"
)

// kind is the part of a Kind that does not depend on the type of its records, and through which
// kinds use each other. Its methods take a record as a pointer to its type.
type kind struct {
	Object, Entity string // see Rules
	List           *index.Kind

	rules
	table *store.AnyTable
	shape *shape.Struct
	flat  map[string]*shape.Field // Struct.Flat by key
	refs  []shape.Field
	set   *Set
	ops   importing

	reverser reverser // nil if nothing that operations do to the records can be undone

	merged        *store.Table[merged] // nil if records cannot be merged
	mergedPortion store.Portion
}

// rules are Rules for records of any type. Those that a kind does not have are nil.
type rules struct {
	silent              bool
	noUpdateEvent       bool
	noDeleteEvent       bool
	example, newExample any // a record, and how it was when it was created
	triggers            []store.Trigger
	match               map[string]func(string) string
	matchesToo          map[string]string
	identifies          func(field, text string) bool
	entries             string
	updateTogether      []string
	nameKey             func(name, object string) []byte
	newNamed            func(name, object string) shape.Value
	customs             func(tx *store.Tx, entity string) (*filter.CustomFields, error)
	updateEvents        func(before, after any) []string
	checks              []func(tx *store.Tx, before, after any, p *fault.Problems) error
	checkEntry          func(rec any, at, entry string, p *fault.Problems)
	foldAll             func(into any, all []any)
	changes             []func(tx *store.Tx, before, after any) error
	mayDelete           func(tx *store.Tx, rec any) error
	checkReference      func(tx *store.Tx, id uuid.UUID, object string) (string, error)
	setsOf              func(tx *store.Tx, id uuid.UUID) ([]uuid.UUID, error)
	afterRestore        func(tx *store.Tx, rec any, sets []uuid.UUID) error
	mayRestore          func(tx *store.Tx, id uuid.UUID, trashed, restored []byte, force bool) error
	lossesOf            func(rec any) []Loss
	hasTrash            bool
	forget              func(tx *store.Tx, id uuid.UUID) error
	revive              func(tx *store.Tx, rec any, force bool) error
	isMinor             func(c *store.Change) bool
	inUse               func(tx *store.Tx, id uuid.UUID, use Use) (bool, error)
	mayUndo             func(tx *store.Tx, operation uuid.UUID, rec any, field string, to jsontext.Value) (bool, error)
	takeBack            func(tx *store.Tx, operation, id uuid.UUID) error
	confirm             func(tx *store.Tx, before any, body shape.Value) error
	sourceOf            func(rec any) string
	trashOf             string // the entity whose deleted records these are
}

// untyped returns the rules but for checkReference, which reads a record.
func untyped[T any](r *Rules[T]) rules {
	fresh := r.Example
	headOf(&fresh).UpdatedAt = headOf(&fresh).CreatedAt
	u := rules{
		silent: r.Silent, noUpdateEvent: r.NoUpdateEvent, noDeleteEvent: r.NoDeleteEvent, example: &r.Example,
		newExample: &fresh, triggers: r.Triggers, match: r.Match, matchesToo: r.MatchesToo, identifies: r.Identifies, entries: r.Entries, updateTogether: r.UpdateTogether, nameKey: r.NameKey, newNamed: r.NewNamed, customs: r.Customs,
	}
	u.hasTrash, u.setsOf, u.mayRestore = r.HasTrash, r.SetsOf, r.MayRestore
	u.inUse, u.forget, u.isMinor, u.takeBack = r.InUse, r.Forget, r.IsMinor, r.TakeBack
	if r.Revive != nil {
		u.revive = func(tx *store.Tx, rec any, force bool) error { return r.Revive(tx, rec.(*T), force) }
	}
	if r.MayUndo != nil {
		u.mayUndo = func(tx *store.Tx, operation uuid.UUID, rec any, field string, to jsontext.Value) (bool, error) {
			return r.MayUndo(tx, operation, rec.(*T), field, to)
		}
	}
	if r.Confirm != nil {
		u.confirm = func(tx *store.Tx, before any, body shape.Value) error { return r.Confirm(tx, before.(*T), body) }
	}
	if r.Losses != nil {
		u.lossesOf = func(rec any) []Loss { return r.Losses(rec.(*T)) }
	}
	if r.SourceOf != nil {
		u.sourceOf = func(rec any) string { return r.SourceOf(rec.(*T)) }
	}
	if r.AfterRestore != nil {
		u.afterRestore = func(tx *store.Tx, rec any, sets []uuid.UUID) error { return r.AfterRestore(tx, rec.(*T), sets) }
	}
	if r.UpdateEvents != nil {
		u.updateEvents = func(before, after any) []string { return r.UpdateEvents(before.(*T), after.(*T)) }
	}
	if r.Check != nil {
		u.checks = append(u.checks, untypedCheck(r.Check))
	}
	if r.Changed != nil {
		u.changes = append(u.changes, untypedChange(r.Changed))
	}
	if r.Fold != nil {
		u.foldAll = func(into any, all []any) {
			records := make([]*T, len(all))
			for i := range all {
				records[i] = all[i].(*T)
			}
			r.Fold(into.(*T), records)
		}
	}
	if r.CheckEntry != nil {
		u.checkEntry = func(rec any, at, entry string, p *fault.Problems) { r.CheckEntry(rec.(*T), at, entry, p) }
	}
	if r.MayDelete != nil {
		u.mayDelete = func(tx *store.Tx, rec any) error { return r.MayDelete(tx, rec.(*T)) }
	}
	return u
}

func untypedCheck[T any](check func(tx *store.Tx, before, after *T, p *fault.Problems) error) func(*store.Tx, any, any, *fault.Problems) error {
	return func(tx *store.Tx, before, after any, p *fault.Problems) error {
		old, _ := before.(*T)
		return check(tx, old, after.(*T), p)
	}
}

func untypedChange[T any](changed func(tx *store.Tx, before, after *T) error) func(*store.Tx, any, any) error {
	return func(tx *store.Tx, before, after any) error {
		old, _ := before.(*T)
		rec, _ := after.(*T)
		return changed(tx, old, rec)
	}
}

// changed calls what is to be called after a change. before is nil for a new record, and after for one that was deleted.
func (k *kind) changed(tx *store.Tx, before, after any) error {
	for _, call := range k.changes {
		if err := call(tx, before, after); err != nil {
			return err
		}
	}
	return nil
}

// WithArticle returns the name of the kind with its article: "an account view".
func (k *kind) WithArticle() string {
	one := strings.ReplaceAll(k.Object, "_", " ")
	if strings.ContainsAny(one[:1], "aeio") {
		return "an " + one
	}
	return "a " + one
}

// updated completes an update of the fields changed: public is the new record.
func (k *kind) updated(tx *store.Tx, before, after any, changed []string, public []byte) error {
	if err := k.changed(tx, before, after); err != nil {
		return err
	}
	events := []string{updatedEvent}
	if k.updateEvents != nil {
		events = k.updateEvents(before, after)
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

// beforeDelete removes every reference to the record, or returns why it cannot be deleted. A damaged record can
// always be deleted. To records that require it, it is like one that was lost with its page.
func (k *kind) beforeDelete(tx *store.Tx, rec any, isDamaged bool) error {
	if k.mayDelete != nil && !isDamaged {
		if err := k.mayDelete(tx, rec); err != nil {
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
	for _, other := range k.set.kinds {
		if err := other.removeReferences(tx, k.Entity, headOf(rec).ID, isDamaged); err != nil {
			return err
		}
	}
	return nil
}

// DeleteDamaged deletes a damaged record of any kind, with all references to it. It reports false for a
// table that is not of a kind in the set.
func (s *Set) DeleteDamaged(tx *store.Tx, table string, id uuid.UUID) (ok bool, err error) {
	for _, k := range s.kinds {
		if k.table.Name() == table {
			rec := reflect.New(reflect.TypeOf(k.example).Elem()).Interface()
			headOf(rec).ID = id
			return true, k.deleteDamaged(tx, rec, nil)
		}
	}
	return false, nil
}

// deleteDamaged deletes a record of which only the id is known.
func (k *kind) deleteDamaged(tx *store.Tx, rec any, cond Precondition) error {
	if err := cond.check(""); err != nil { // its version is not known
		return err
	}
	if err := k.beforeDelete(tx, rec, true); err != nil {
		return err
	}
	if err := tx.DeleteDamaged(k.table.Name(), headOf(rec).ID); err != nil {
		return err
	}
	if err := k.forgetRecord(tx, headOf(rec).ID); err != nil {
		return err
	}
	return k.deleted(tx, rec)
}

// forgetRecord removes what belongs to a record that is gone for good.
func (k *kind) forgetRecord(tx *store.Tx, id uuid.UUID) error {
	if k.forget == nil {
		return nil
	}
	return k.forget(tx, id)
}

// deleted completes the deletion of a record.
func (k *kind) deleted(tx *store.Tx, rec any) error {
	if err := k.changed(tx, rec, nil); err != nil {
		return err
	}
	if k.noDeleteEvent {
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
	if k.silent {
		return nil
	}
	e.Trigger = k.Object + "." + event
	return tx.Emit(e)
}
