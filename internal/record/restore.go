package record

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

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

// verifyTrash reports records that exist and are in the trash as well.
func (k *kind) verifyTrash(tx *store.Tx, report store.Report) error {
	live := k.set.find(k.trashOf)
	if live == nil {
		return nil
	}
	return k.table.Range(tx, byDeletion, nil, func(_ []byte, id uuid.UUID) bool {
		if live.table.Has(tx, id) {
			report(false, "%s %s exists and is in the trash: delete it with permanent=true, and restore it from the trash", live.Entity, id)
		}
		return true
	})
}

// DropReferences removes the references of a record to records that no longer exist, and returns the
// names of the changed fields. If a required reference is among them, it returns an error. A table that
// is not of a kind in the set has no references.
func (s *Set) DropReferences(tx *store.Tx, table string, rec any) (changed []string, err error) {
	at := slices.IndexFunc(s.kinds, func(k *kind) bool { return k.table.Name() == table })
	if at < 0 {
		return nil, nil
	}
	for _, f := range s.kinds[at].refs {
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
