package record

import (
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/store"
)

// The ways back. There are three. Two of them end in putBack, which creates a record again without what does not exist any
// more, or in setFields, which checks the record like an update:
//
//	the undo of an operation (package undo reads its journal backwards)
//	└─ Set.Reverse, for each change
//	   ├─ the operation created the record:  undoCreation → Delete, into the trash
//	   ├─ it deleted or merged the record:   undoDeletion → tryRestore → restore or unmerge → putBack
//	   └─ it updated the record:             undoUpdates → setFields, without what leaveOut takes away
//
//	a record of the trash (POST .../restore)
//	└─ Kind.Restore → restore → putBack
//	   └─ through Set.Restoring, if others lost values with the record: package undo calls Set.Reverse for these
//
//	a record of a backup (the command restore, which writes it as it was)
//	└─ Set.MayReturn → Set.DropReferences → Set.MayRestore
//
// The undo of the undo of a merge merges again: Set.Remerge → mergeAgain. This file and undo_updates.go have undos, restore.go
// the others.

// Undoing is an operation that is being undone.
type Undoing struct {
	Operation uuid.UUID
	Since     time.Time // when it began
	// Guarded has TrashRules.MayRestore asked about records that get back what the deletion of another one took from them, with
	// Force. What is refused stays as it is or, if Strict is set, is an error.
	Guarded, Force, Strict bool
	AlreadyBack            uuid.UUID // a record that was restored before
	Dry                    *Dry      // set for a dry run
}

// Dry remembers what a dry run would have done in its earlier transactions, which were all reverted.
type Dry struct {
	gone, back, reverted map[uuid.UUID]bool
	fields               map[lostField]bool // custom fields that came back
}

// lostField is a field that all records of an entity have lost.
type lostField struct{ entity, field string }

// NewDry returns a Dry for one dry run.
func NewDry() *Dry {
	return &Dry{gone: map[uuid.UUID]bool{}, back: map[uuid.UUID]bool{}, reverted: map[uuid.UUID]bool{},
		fields: map[lostField]bool{}}
}

// Reversal is what became of a record when an operation was undone. Several of its members may be set if only some
// fields went back.
type Reversal struct {
	Undone       bool
	ChangedSince bool
	InUse        bool
	OptedOut     bool
	NotPossible  bool
	Gone         bool
}

// Use tells which use of a record that an operation added matters.
type Use struct {
	Since uuid.UUID            // only what was created after this id matters
	Stays func(uuid.UUID) bool // whether another record stays
}

// Reverse undoes a change of an operation. It must be given the changes from the newest to the oldest, and what sweeps have
// changed after all others, because it refers to what comes back. The updates of a record are undone together with the
// newest of them. It returns true if the record must be counted now: each is counted once.
func (s *Set) Reverse(tx *store.Tx, u *Undoing, table string, number uint64) (r Reversal, counts bool, err error) {
	k := s.ofTable(table)
	if k == nil || k.typed == nil || s.find(k.Entity+trashSuffix) == nil { // journals have none of these
		return r, false, nil
	}
	c, found, err := tx.ReadChange(table, number)
	if err != nil || !found || c.Actor.OperationID != u.Operation {
		if errors.Is(err, store.ErrDamaged) {
			return Reversal{Gone: true}, true, nil
		}
		return r, false, err
	}
	direct, swept, err := k.undoables(tx, c.ID, u)
	if err != nil {
		return r, false, err
	}
	changes := direct
	if c.Swept {
		changes = swept
	}
	switch c.Op {
	case store.Created:
		r, err = k.typed.undoCreation(tx, u, c.ID, c.Prev == 0)
		return r, true, err
	case store.Deleted:
		r, err = k.typed.undoDeletion(tx, u, c.ID)
		return r, true, err
	}
	updates := slices.DeleteFunc(slices.Clone(changes), func(p undoable) bool { return p.op != store.Updated })
	if len(updates) == 0 || updates[0].number != number {
		return r, false, nil
	}
	r, err = k.typed.undoUpdates(tx, u, c.ID, updates, c.Swept && u.Guarded)
	if u.Dry != nil && r.Undone {
		u.Dry.reverted[c.ID] = true
	}
	return r, len(updates) == len(changes) && (!c.Swept || len(direct) == 0), err
}

// Sweeping reports whether records that an operation has changed by a tombstone are still being rewritten.
func (s *Set) Sweeping(tx *store.Tx, operation uuid.UUID) (bool, error) {
	for _, k := range s.kinds {
		tombs, err := tx.Tombstones(k.table.Name())
		if err != nil {
			return false, err
		}
		for i := range tombs {
			if tombs[i].Actor.OperationID == operation {
				return true, nil
			}
		}
	}
	return false, nil
}

// MergeConflict reports whether a merge into a record, or the undo of one, cannot be undone now, because the record was
// merged, deleted or erased, or because others were merged into it since. by is the operation that did so, if it was one.
func (s *Set) MergeConflict(tx *store.Tx, entity string, operation, into uuid.UUID) (by uuid.UUID, conflict bool, err error) {
	k := s.find(entity)
	if k == nil || k.merged == nil {
		return uuid.Nil, true, nil
	}
	if !k.table.Has(tx, into) {
		by, err = k.typed.removedBy(tx, into)
		return by, true, err
	}
	ids, err := k.merged.IDs(tx, mergedInto, into[:], 0)
	if err != nil {
		return uuid.Nil, false, err
	}
	err = k.merged.Each(tx, ids, func(m store.Doc[merged]) error {
		if store.CompareIDs(m.Record.Kept.Operation, operation) > 0 { // ids are in the order of creation
			by, conflict = m.Record.Kept.Operation, true
		}
		return nil
	})
	return by, conflict, err
}

// removedBy returns the operation that deleted or merged a record, or none.
func (k *Kind[T]) removedBy(tx *store.Tx, id uuid.UUID) (by uuid.UUID, err error) {
	if k.trash.Has(tx, id) {
		doc, err := k.trash.Get(tx, id)
		return doc.Record.kept.Operation, err
	}
	doc, _, err := lookup(k.merged.Get(tx, id))
	return doc.Record.Kept.Operation, err
}

// lost returns what is to be said about a record that is not there any more.
func (k *Kind[T]) lost(tx *store.Tx, id uuid.UUID) Reversal {
	if k.trash.Has(tx, id) || k.merged != nil && k.merged.Has(tx, id) {
		return Reversal{ChangedSince: true}
	}
	return Reversal{Gone: true}
}

// undoCreation puts a record that an operation added into the trash. isNew is false if it had been there before.
func (k *Kind[T]) undoCreation(tx *store.Tx, u *Undoing, id uuid.UUID, isNew bool) (Reversal, error) {
	if !k.Table.Has(tx, id) {
		if k.merged != nil {
			if m, err := k.merged.Get(tx, id); err == nil && m.Record.Kept.Operation == tx.Actor().OperationID {
				return Reversal{Undone: true}, nil // the merge was done again
			}
		}
		return k.lost(tx, id), nil
	}
	rules := k.rules.Undo
	if rules == nil { // of a kind with a trash
		rules = &UndoRules[T]{}
	}
	if rules.InUse != nil {
		use := Use{Stays: func(id uuid.UUID) bool { return u.Dry == nil || !u.Dry.gone[id] && !u.Dry.reverted[id] }}
		if !isNew {
			use.Since = u.Operation
		}
		if used, err := rules.InUse(tx, id, use); err != nil || used {
			return Reversal{InUse: true}, err
		}
	}
	err := tx.Try(func() error {
		if rules.BeforeDelete != nil {
			if err := rules.BeforeDelete(tx, u.Operation, id); err != nil {
				return err
			}
		}
		return k.Delete(tx, id, nil)
	})
	if fault.Refusal(err) != nil {
		return Reversal{InUse: true}, nil
	}
	if err != nil {
		return Reversal{}, err
	}
	if u.Dry != nil {
		u.Dry.gone[id] = true
	}
	return Reversal{Undone: true}, nil
}

// undoDeletion restores a record that an operation deleted, or merged into another.
func (k *Kind[T]) undoDeletion(tx *store.Tx, u *Undoing, id uuid.UUID) (r Reversal, err error) {
	switch {
	case k.Table.Has(tx, id):
		return Reversal{Undone: id == u.AlreadyBack, ChangedSince: id != u.AlreadyBack}, nil
	case k.trash.Has(tx, id):
		if u.Dry != nil {
			if err := k.noteFields(tx, u.Dry, id); err != nil {
				return r, err
			}
		}
		r, err = k.tryRestore(tx, func(withoutID bool) ([]string, error) {
			_, lost, err := k.restore(tx, id, false, withoutID)
			return lost, err
		})
	case k.merged != nil && k.merged.Has(tx, id):
		m, err := k.merged.Get(tx, id)
		if err != nil || m.Record.Kept.Operation != u.Operation || m.Record.Original == nil {
			return Reversal{ChangedSince: err == nil, Gone: err != nil}, nil
		}
		if r, err = k.tryRestore(tx, func(withoutID bool) ([]string, error) { return k.unmerge(tx, m, withoutID) }); err != nil {
			return r, err
		}
	default:
		return Reversal{Gone: true}, nil
	}
	if err == nil && r.Undone && u.Dry != nil {
		u.Dry.back[id] = true
	}
	return r, err
}

// tryRestore calls restore, and again without the external_id if another record has that now.
func (k *Kind[T]) tryRestore(tx *store.Tx, restore func(withoutID bool) (lost []string, err error)) (r Reversal, err error) {
	for _, withoutID := range []bool{false, true} {
		var lost []string
		err = tx.Try(func() (err error) {
			lost, err = restore(withoutID)
			return err
		})
		if err == nil {
			return Reversal{Undone: true, NotPossible: withoutID || len(lost) > 0}, nil
		}
		if fault.CodeOf(err) != fault.ExternalIDTaken {
			break
		}
	}
	if fault.Refusal(err) != nil {
		err = nil
	}
	return Reversal{NotPossible: true}, err
}

// UnmergedStep is the kind of a step in a journal that says that a merged record came back. Set.Remerge takes it back.
const UnmergedStep = "unmerged"

// Unmerged is the data of such a step.
type Unmerged struct {
	Entity string    `json:"entity"`
	ID     uuid.UUID `json:"id"`
	Into   uuid.UUID `json:"into"`
}

// unmerge creates a record again that was merged into another.
func (k *Kind[T]) unmerge(tx *store.Tx, m store.Doc[merged], withoutID bool) (lost []string, err error) {
	var rec T
	if err := decode(m.Record.Original, m.Record.Kept.Private, &rec); err != nil {
		return nil, err
	}
	if err := k.merged.Delete(tx, m); err != nil {
		return nil, err
	}
	if _, lost, err = k.putBack(tx, m.ID, rec, m.Record.Original, m.Record.Kept.Sets, false, withoutID); err != nil {
		return nil, err
	}
	return lost, tx.AddToJournal(UnmergedStep, Unmerged{k.Entity, m.ID, m.Record.Into})
}

// Remerge merges a record again that an undo has brought back. What else belongs to the record was moved before.
func (s *Set) Remerge(tx *store.Tx, u Unmerged) error {
	k := s.find(u.Entity)
	if k == nil || !k.table.Has(tx, u.ID) || !k.table.Has(tx, u.Into) {
		return nil
	}
	return k.typed.mergeAgain(tx, u.ID, u.Into)
}

func (k *Kind[T]) mergeAgain(tx *store.Tx, id, into uuid.UUID) error {
	old, err := k.Table.Get(tx, id)
	if err != nil {
		return err
	}
	budget := mergeBudget
	if err := k.redirect(tx, id, into, &budget); err != nil {
		return err
	}
	return k.toMerged(tx, &old, into)
}

// noteFields notes the custom fields that come back with a record of the trash in a dry run.
func (k *Kind[T]) noteFields(tx *store.Tx, dry *Dry, id uuid.UUID) error {
	if k.rules.Losses == nil {
		return nil
	}
	doc, err := k.trash.Get(tx, id)
	if err != nil {
		return err
	}
	for _, loss := range k.rules.Losses(&doc.Record.Record) {
		dry.fields[lostField{loss.Entity, loss.Value.Field}] = true
	}
	return nil
}
