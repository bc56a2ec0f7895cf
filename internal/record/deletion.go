package record

import (
	"bytes"

	"github.com/google/uuid"

	"prospector/store"
)

// The deletion of one record from which others lose values is an operation: a tag that is taken out of contacts, the
// values of a custom field, an account that contacts have. Restoring the record undoes the rest of that operation, so
// there is no second list of what a deletion does.

// DeletionHook calls remove, which deletes a record, on behalf of a new operation.
type DeletionHook func(tx *store.Tx, entity string, id uuid.UUID, remove func() error) error

// isOperation reports whether the deletion of a record becomes an operation: the record goes to the trash, the transaction
// belongs to no operation, and other records lose something.
func (k *Kind[T]) isOperation(tx *store.Tx, id uuid.UUID) (bool, error) {
	if k.trash == nil || k.set.Deleting == nil || tx.Actor().OperationID != uuid.Nil {
		return false, nil
	}
	doc, found, err := k.Lookup(tx, id)
	if !found { // a damaged record goes without an operation
		return false, store.ExceptDamaged(err)
	}
	for _, loss := range k.losses(&doc.Record, uuid.NullUUID{}) {
		found, err := k.set.find(loss.Entity).loses(tx, &loss.Value)
		if err != nil || found {
			return found, err
		}
	}
	return false, nil
}

// loses reports whether a record of the kind has a value that is to be lost.
func (k *kind) loses(tx *store.Tx, lost *store.Tombstone) (found bool, err error) {
	err = k.table.Range(tx, lost.Key, lost.Prefix, func(key []byte, _ uuid.UUID) bool {
		found = bytes.HasPrefix(key, lost.Prefix)
		return false
	})
	return found, err
}
