package record

import (
	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

// Change is one entry in the history of a record.
type Change struct {
	At        shape.Time    `json:"at" rule:"required"`
	Change    string        `json:"change" rule:"enum=created|updated|deleted"`
	Fields    []string      `json:"fields" doc:"The fields that the update changed."`
	Operation string        `json:"operation" doc:"The operation that caused the change: update_contact, or delete_tag if the deletion of a tag changed the record."`
	UserID    uuid.NullUUID `json:"user_id"`
	KeyID     uuid.NullUUID `json:"key_id"`
	RequestID shape.Text    `json:"request_id"`
}

var changeNames = map[store.Op]string{store.Created: "created", store.Updated: "updated", store.Deleted: "deleted"}

// History returns the retained changes of a record, newest first. It also works for a deleted
// record.
func (k *kind) History(tx *store.Tx, id uuid.UUID) ([]Change, error) {
	var changes []Change
	err := tx.History(k.table.Name(), id, func(c store.Change) (bool, error) {
		entry := Change{
			At: shape.At(c.At), Change: changeNames[c.Op], Fields: c.Fields, Operation: c.Actor.Operation,
			UserID: orNull(c.Actor.User), KeyID: orNull(c.Actor.Key), RequestID: shape.Text(c.Actor.RequestID),
		}
		if entry.Fields == nil {
			entry.Fields = []string{}
		}
		changes = append(changes, entry)
		return true, nil
	})
	return changes, err
}

func orNull(id uuid.UUID) uuid.NullUUID { return uuid.NullUUID{UUID: id, Valid: id != uuid.Nil} }
