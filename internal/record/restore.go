package record

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// RestorationHook calls restore, which puts a record back, and undoes what else the operation has changed that deleted the
// record. If the operation has deleted other records too, or cannot be undone any more, it only calls restore. force is that
// of Restore.
type RestorationHook func(tx *store.Tx, deletion, id uuid.UUID, force bool, restore func() error) error

// Restore creates a record of the trash again under its id. The record has its fields and belongs to its sets
// again, as far as they still exist. References to records that are gone are empty; if a required one is among
// them, Restore fails. A record that is not in the trash is not_found. force is passed to TrashRules.MayRestore.
//
// Records from which its deletion alone took a value get that back, unless they have another value since. TrashRules.MayRestore of
// their kinds may refuse that, and so the restoration.
func (k *Kind[T]) Restore(tx *store.Tx, id uuid.UUID, force bool) (doc store.Doc[T], err error) {
	restore := func() (err error) {
		doc, _, err = k.restore(tx, id, force, false)
		return err
	}
	deletion := k.deletionOf(tx, id)
	if deletion == uuid.Nil || k.set.Restoring == nil {
		err = restore()
		return doc, err
	}
	if err := k.checkUnreferenced(tx, id); err != nil {
		return doc, err
	}
	if err := k.set.Restoring(tx, deletion, id, force, restore); err != nil {
		return doc, err
	}
	return k.Table.Get(tx, id) // it may have referred to itself
}

// restore is Restore that also returns the fields that the record has lost. withoutID takes its external_id, too.
func (k *Kind[T]) restore(tx *store.Tx, id uuid.UUID, force, withoutID bool) (doc store.Doc[T], lost []string, err error) {
	old, err := k.trash.Get(tx, id)
	if err != nil {
		return doc, nil, k.missing(tx, id, err)
	}
	rec := old.Record.Record
	if err := setPrivate(&rec, old.Record.kept.Private); err != nil {
		return doc, nil, err
	}
	if err := k.checkUnreferenced(tx, id); err != nil {
		return doc, nil, err
	}
	if err := k.trash.Delete(tx, old); err != nil {
		return doc, nil, err
	}
	return k.putBack(tx, id, rec, old.JSON, old.Record.kept.Sets, force, withoutID)
}

// putBack creates a record again. before is its public part as it was, and sets are those that it belonged to.
func (k *Kind[T]) putBack(
	tx *store.Tx, id uuid.UUID, rec T, before []byte, sets []uuid.UUID, force, withoutID bool,
) (doc store.Doc[T], lost []string, err error) {
	was := rec
	if f := k.shape.Field(externalID); withoutID && f != nil {
		f.Set(&rec, shape.Text(""))
		if others := k.shape.Field(otherIDs); others != nil {
			others.Set(&rec, []string{})
		}
	}
	if _, err := k.set.DropReferences(tx, k.table.Name(), &rec); err != nil {
		return doc, nil, err
	}
	if err := k.dropCustom(tx, &rec); err != nil {
		return doc, nil, err
	}
	lost = k.shape.Diff(&was, &rec)
	fields := lost
	if before := k.rules.Trash.BeforeRestore; before != nil {
		if err := before(tx, &rec, force); err != nil {
			return doc, nil, err
		}
		fields = k.shape.Diff(&was, &rec)
	}
	headOf(&rec).UpdatedAt = shape.At(tx.Now())
	if doc, err = k.Table.InsertAgain(tx, id, rec, before, fields); err == nil {
		k.table.JournalLast(tx)
	}
	if err == nil && k.mayRestore != nil {
		err = k.mayRestore(tx, id, before, doc.JSON, force)
	}
	if err == nil {
		err = k.changed(tx, nil, &rec)
	}
	if after := k.rules.Trash.AfterRestore; err == nil && after != nil {
		err = after(tx, &rec, sets)
	}
	if err == nil {
		err = k.emit(tx, restoredEvent, store.Event{ID: id, Data: doc.JSON})
	}
	return doc, lost, err
}

// MayRestore returns why a record of a backup cannot be used. It has been written already, and before is its public part
// in the backup.
func (s *Set) MayRestore(tx *store.Tx, table string, id uuid.UUID, before []byte) error {
	k := s.ofTable(table)
	if k == nil || k.mayRestore == nil {
		return nil
	}
	_, after, err := tx.Reader(table).Public(id)
	if err != nil {
		return err
	}
	return k.mayRestore(tx, id, before, after, false)
}

// MayRefuseToRestore reports whether the kind, or one whose records get something back with its own, has a rule MayRestore.
func (k *kind) MayRefuseToRestore() bool {
	for other := range k.set.referencesTo(k.Entity) {
		if other.mayRestore != nil {
			return true
		}
	}
	return k.mayRestore != nil || k.hasLosses
}

// checkUnreferenced refuses to restore a record while references to it are still being removed, because new references would
// be removed with them.
func (k *kind) checkUnreferenced(tx *store.Tx, id uuid.UUID) error {
	for _, other := range k.set.kinds {
		tombs, err := tx.Tombstones(other.table.Name())
		if err != nil {
			return err
		}
		for i := range tombs {
			if tombs[i].Value == id.String() || bytes.Equal(tombs[i].Prefix, id[:]) {
				return &fault.Error{Code: fault.Unavailable, Wait: time.Second,
					Message: "references to this " + k.Object + " are still being removed; try again in a moment"}
			}
		}
	}
	return nil
}

// dropCustom removes the values of custom fields that do not exist any more, and those that the field no
// longer allows.
func (k *kind) dropCustom(tx *store.Tx, rec any) error {
	custom := k.shape.Custom(rec)
	if custom == nil {
		return nil
	}
	fields, err := k.customs(tx, k.Entity)
	if err != nil {
		return err
	}
	*custom = maps.Clone(*custom)
	for key, value := range *custom {
		switch f := fields.Customs.Find(key); {
		case f == nil && fields.Incomplete: // it may be the field that cannot be read
		case f == nil:
			delete(*custom, key)
		default:
			if value = f.Allowed(value); value == nil {
				delete(*custom, key)
			} else {
				(*custom)[key] = value
			}
		}
	}
	return nil
}

// deletionOf returns the operation that deleted a record of the trash, or none.
func (k *Kind[T]) deletionOf(tx *store.Tx, id uuid.UUID) uuid.UUID {
	if k.trash == nil {
		return uuid.Nil
	}
	doc, err := k.trash.Get(tx, id)
	if err != nil { // restoring the record says why
		return uuid.Nil
	}
	return doc.Record.kept.Operation
}

// MayReturn returns why a record of a backup cannot be created again: it is in the trash, or was merged into another. A
// record of a trash cannot if it exists again.
func (s *Set) MayReturn(tx *store.Tx, table string, id uuid.UUID) error {
	k := s.ofTable(table)
	if k == nil {
		return nil
	}
	if live := s.find(k.trashOf); live != nil && live.table.Has(tx, id) {
		return fmt.Errorf("%s %s is not in the trash any more", live.Entity, id)
	}
	if trash := s.find(k.Entity + trashSuffix); trash != nil && trash.table.Has(tx, id) {
		return fmt.Errorf("%s %s is in the trash: restore it from there", k.Entity, id)
	}
	if k.merged == nil || !k.merged.Has(tx, id) {
		return nil
	}
	into, _, err := k.Survivor(tx, id)
	if err != nil {
		return err
	}
	return fmt.Errorf("%s %s was merged into %s: undo that merge, or correct that one", k.Entity, id, into)
}

// DropReferences removes the references of a record to records that no longer exist, and returns the
// names of the changed fields. If a required reference is among them, it returns an error. A table that
// is not of a kind in the set has no references.
func (s *Set) DropReferences(tx *store.Tx, table string, rec any) (changed []string, err error) {
	k := s.ofTable(table)
	if k == nil {
		return nil, nil
	}
	for _, f := range k.refs {
		if f.Input {
			continue
		}
		target := s.find(f.Ref)
		exists := func(id uuid.UUID) bool { return target != nil && target.table.Has(tx, id) }
		ids, kept := refIDs(&f, rec), []uuid.UUID{}
		for _, id := range ids {
			if target != nil && !exists(id) {
				if id, _, err = target.Survivor(tx, id); err != nil {
					return nil, err
				}
			}
			if exists(id) {
				kept = append(kept, id)
			}
		}
		if slices.Equal(kept, ids) {
			continue
		}
		if _, many := f.Get(rec).(shape.IDs); !many && len(kept) == 1 { // it was merged
			changed = append(changed, f.Key)
			f.Set(rec, uuid.NullUUID{UUID: kept[0], Valid: true})
			continue
		}
		if f.Required {
			var p fault.Problems
			p.Invalid(f.Key, "%s does not exist; restore it first", ids[0])
			return nil, p.Err()
		}
		changed = append(changed, f.Key)
		if _, many := f.Get(rec).(shape.IDs); many {
			f.Set(rec, shape.IDs(kept))
		} else {
			f.Set(rec, uuid.NullUUID{})
		}
	}
	return changed, nil
}
