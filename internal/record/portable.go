package record

import (
	"github.com/go-json-experiment/json"

	"prospector/internal/shape"
	"prospector/store"
)

// Portions returns what the kinds have in the store.
func (s *Set) Portions() []store.Portion {
	portions := []store.Portion{
		{Parts: trashJobs, Rename: store.RenamePacked},
		{Parts: NewErasedAddresses().parts}, {Counter: NewErasedAddresses().count},
	}
	for _, k := range s.kinds {
		portions = append(portions, store.Portion{Table: k.table, Check: k.verify})
		if k.mergedPortion.Table != nil {
			portions = append(portions, k.mergedPortion)
		}
	}
	return portions
}

// Payloads returns the types of the payloads of jobs, by kind.
func (s *Set) Payloads() map[string]func() any {
	return map[string]func() any{SweepJob: func() any { return new(sweepWork) }, TrashJob: nil}
}

// Rename renames the ids in the private part of a record of the trash.
func (t *Trashed[T]) Rename(r *shape.Renaming) error {
	if err := r.Rename(&t.Record); err != nil {
		return err
	}
	if err := r.Rename(&t.DeletedBy); err != nil {
		return err
	}
	return t.kept.renamePrivate(r, new(T))
}

// renamePrivate renames the ids in the private part of a record of the type of rec, but not what is beside it.
func (k *kept) renamePrivate(r *shape.Renaming, rec any) error {
	if err := setPrivate(rec, k.Private); err != nil {
		return err
	}
	p, has := rec.(interface{ Private() any })
	if !has || len(k.Private) == 0 {
		return nil
	}
	err := r.Rename(p.Private())
	if err == nil {
		k.Private, err = privateOf(rec)
	}
	return err
}

// declareMerged declares what is left of records that were merged.
func (k *Kind[T]) declareMerged() {
	k.merged = newMerged(k.Entity)
	k.mergedPortion = store.Portion{Table: k.merged, RenameRow: func(r *shape.Renaming, rec any) error {
		m := rec.(*merged)
		if m.Original != nil {
			var original T
			if err := json.Unmarshal(m.Original, &original); err != nil {
				return err
			}
			if err := r.Rename(&original); err != nil {
				return err
			}
			var err error
			if m.Original, err = json.Marshal(&original, json.Deterministic(true)); err != nil {
				return err
			}
			if err := m.Kept.renamePrivate(r, &original); err != nil {
				return err
			}
		}
		return r.Rename(m)
	}}
}
