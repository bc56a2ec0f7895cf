package record

import (
	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

// Loss is a value that all records of an entity lose at once: a reference to a record that is deleted or merged into
// another, or a deleted custom field.
type Loss struct {
	Entity string          // of the records that lose the value
	Value  store.Tombstone // without a number
}

// Consent is what happens to what depends on a lost value.
type Consent int

const (
	Refuse  Consent = iota // the loss is refused with in_use
	Force                  // it no longer follows the value
	Damaged                // as Force, without anything that takes long: the value is that of a damaged record
)

// LosingHook is called before a loss. An error refuses it.
type LosingHook func(tx *store.Tx, loss Loss, c Consent) error

// losses returns what other records lose when a record is deleted or, if by is valid, merged into the record by.
func (k *Kind[T]) losses(rec *T, by uuid.NullUUID) []Loss {
	all := k.lostReferences(headOf(rec).ID, by)
	if k.rules.Losses != nil {
		all = append(all, k.rules.Losses(rec)...)
	}
	return all
}

func (k *kind) lostReferences(id uuid.UUID, by uuid.NullUUID) (all []Loss) {
	for other, f := range k.set.referencesTo(k.Entity) {
		all = append(all, Loss{other.Entity, lostReference(f, id, by)})
	}
	return all
}

// lostReference is a reference to the record id in a field, which is removed or, if by is valid, replaced.
func lostReference(f *shape.Field, id uuid.UUID, by uuid.NullUUID) store.Tombstone {
	lost := store.Tombstone{Field: f.Key, Value: id.String(), Key: f.Key, Prefix: id[:]}
	if by.Valid {
		lost.By = by.UUID.String()
	}
	return lost
}

// CustomLoss is the loss of a custom field of an entity.
func CustomLoss(entity string, field *shape.CustomField) Loss {
	return Loss{entity, store.Tombstone{Field: field.Key, Key: customKey, Prefix: field.ID[:]}}
}

// lose calls the hook of the set.
func (s *Set) lose(tx *store.Tx, losses []Loss, c Consent) error {
	if s.Losing == nil {
		return nil
	}
	for _, l := range losses {
		if err := s.Losing(tx, l, c); err != nil {
			return err
		}
	}
	return nil
}

// ForceDelete must be called before Delete, in the same transaction, to detach what would otherwise refuse the deletion,
// but for records that require this one. It does nothing if the record does not exist.
func (k *Kind[T]) ForceDelete(tx *store.Tx, id uuid.UUID) error {
	return k.force(tx, id, uuid.NullUUID{})
}

// ForceMerge is like ForceDelete, before a Merge of ids into a record.
func (k *Kind[T]) ForceMerge(tx *store.Tx, into uuid.UUID, ids []uuid.UUID) error {
	for _, id := range ids {
		if err := k.force(tx, id, uuid.NullUUID{UUID: into, Valid: true}); err != nil {
			return err
		}
	}
	return nil
}

func (k *Kind[T]) force(tx *store.Tx, id uuid.UUID, by uuid.NullUUID) error {
	doc, found, err := k.Lookup(tx, id)
	if !found {
		return store.ExceptDamaged(err)
	}
	return k.set.lose(tx, k.losses(&doc.Record, by), Force)
}
