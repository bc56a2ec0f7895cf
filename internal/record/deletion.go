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

// RestorationHook calls restore, which puts a record back, and undoes what else the operation has changed that deleted the
// record. If the operation has deleted other records too, or cannot be undone any more, it only calls restore. force is that
// of Restore.
type RestorationHook func(tx *store.Tx, deletion, id uuid.UUID, force bool, restore func() error) error

// isOperation reports whether the deletion of a record becomes an operation: the record goes to the trash, the transaction
// belongs to no operation, and other records lose something.
func (k *Kind[T]) isOperation(tx *store.Tx, id uuid.UUID) (bool, error) {
	if k.trash == nil || k.set.Deleting == nil || tx.Actor().OperationID != uuid.Nil {
		return false, nil
	}
	doc, err := k.Table.Get(tx, id)
	if store.IsGone(err) {
		return false, nil
	}
	if err != nil {
		return false, err
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

// noteFields notes the custom fields that come back with a record of the trash in a dry run.
func (k *Kind[T]) noteFields(tx *store.Tx, dry *Dry, id uuid.UUID) error {
	if k.lossesOf == nil {
		return nil
	}
	doc, err := k.trash.Get(tx, id)
	if err != nil {
		return err
	}
	for _, loss := range k.lossesOf(&doc.Record.Record) {
		dry.fields[lostField{loss.Entity, loss.Value.Field}] = true
	}
	return nil
}
