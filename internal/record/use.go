package record

import (
	"bytes"
	"slices"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/store"
)

// Referrers are what records of a kind lose when a record is deleted: a reference to it, or a value of a custom field.
type Referrers struct {
	Kind  *index.Kind
	Field string
	Value string      // the id in the field; empty for a custom field
	IDs   []uuid.UUID // of the records, ordered
}

// Uses returns the references to a record by kind and field, also those that no record has. It fails with not_found if
// the record does not exist.
func (k *Kind[T]) Uses(tx *store.Tx, id uuid.UUID) (uses []Referrers, err error) {
	doc, err := k.Get(tx, id)
	if err != nil {
		return nil, err
	}
	for _, loss := range k.losses(&doc.Record, uuid.NullUUID{}) {
		other := k.set.find(loss.Entity)
		ids, err := other.referrers(tx, &loss.Value)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(ids, store.CompareIDs)
		uses = append(uses, Referrers{other.List, loss.Value.Field, loss.Value.Value, slices.Compact(ids)})
	}
	return uses, nil
}

// referrers returns the records with a lost value. Those of a custom field are found under each of its values.
func (k *kind) referrers(tx *store.Tx, lost *store.Tombstone) (ids []uuid.UUID, err error) {
	if lost.Value != "" {
		return k.table.IDs(tx, lost.Key, lost.Prefix, 0)
	}
	err = k.table.Range(tx, lost.Key, lost.Prefix, func(key []byte, id uuid.UUID) bool {
		if !bytes.HasPrefix(key, lost.Prefix) {
			return false
		}
		ids = append(ids, id)
		return true
	})
	return ids, err
}
