package record

import (
	"slices"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

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
