package record

import (
	"errors"
	"slices"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/store"
)

// Set is the set of all kinds of the service. Kinds refer to each other by entity.
type Set struct {
	// Losing is called before records lose a value that was deleted. It may be nil.
	Losing LosingHook
	// Deleting makes the deletion of one record, from which others lose values, an operation. Restoring undoes what else
	// that operation has changed when the record is restored. Both may be nil.
	Deleting  DeletionHook
	Restoring RestorationHook

	kinds  []*kind
	others []*index.Kind // see AddLists
}

// AddLists adds lists of records that are not of a kind in the set.
func (s *Set) AddLists(lists ...*index.Kind) { s.others = append(s.others, lists...) }

// Lists returns the list of each kind, and those that were added.
func (s *Set) Lists() []*index.Kind {
	lists := make([]*index.Kind, len(s.kinds), len(s.kinds)+len(s.others))
	for i, k := range s.kinds {
		lists[i] = k.List
	}
	return append(lists, s.others...)
}

// ListNamed returns the list that is called so, such as "contacts", or nil.
func (s *Set) ListNamed(entity string) *index.Kind {
	lists := s.Lists()
	if i := slices.IndexFunc(lists, func(l *index.Kind) bool { return l.Entity == entity }); i >= 0 {
		return lists[i]
	}
	return nil
}

// verify checks the records of the kind and its trash. It leaves out the keys of custom fields while a field is damaged, because
// they cannot be computed.
func (k *kind) verify(tx *store.Tx, report store.Report) error {
	except := ""
	if k.shape.HasCustom() {
		fields, err := k.customs(tx, k.Entity)
		if err != nil {
			return err
		}
		if fields.Incomplete {
			except = customKey
		}
	}
	return errors.Join(k.table.VerifyExcept(tx, report, except), k.verifyTrash(tx, report))
}

// find returns the kind of an entity, or nil.
func (s *Set) find(entity string) *kind {
	for _, k := range s.kinds {
		if k.Entity == entity {
			return k
		}
	}
	return nil
}

// ofTable returns the kind with a table, or nil.
func (s *Set) ofTable(table string) *kind {
	for _, k := range s.kinds {
		if k.table.Name() == table {
			return k
		}
	}
	return nil
}

// DeleteDamaged deletes a damaged record of any kind, with all references to it. It reports false for a
// table that is not of a kind in the set.
func (s *Set) DeleteDamaged(tx *store.Tx, table string, id uuid.UUID) (ok bool, err error) {
	k := s.ofTable(table)
	switch {
	case k == nil:
		return false, nil
	case k.typed != nil:
		return true, k.typed.deleteDamaged(tx, id, nil)
	}
	if err := tx.DeleteDamaged(table, id); err != nil { // nothing refers to a record of a trash
		return true, err
	}
	return true, k.forgetRecord(tx, id)
}
