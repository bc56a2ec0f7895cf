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
		ids := slices.Clone(refIDs(&f, rec))
		kept := slices.DeleteFunc(slices.Clone(ids), func(id uuid.UUID) bool { return !exists(id) })
		if len(kept) == len(ids) {
			continue
		}
		if f.Required {
			return nil, fault.New(fault.ValidationFailed, "%s: %s does not exist; restore it first", f.Key, ids[0])
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
