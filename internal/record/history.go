package record

import (
	"slices"

	"github.com/google/uuid"

	"prospector/internal/fault"
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
	// MergedFrom is the record whose change this was.
	MergedFrom uuid.NullUUID `json:"merged_from" doc:"Set if this was a change of another record, which was merged into this one later: its id."`
}

var changeNames = map[store.Op]string{store.Created: "created", store.Updated: "updated", store.Deleted: "deleted"}

// History returns the retained changes of a record and of those that were merged into it, newest first. It also
// works for a deleted record.
func (k *kind) History(tx *store.Tx, id uuid.UUID) ([]Change, error) {
	changes, err := k.changesOf(tx, id)
	if err != nil {
		return nil, err
	}
	others, err := k.MergedInto(tx, id)
	if err != nil || len(others) == 0 {
		return changes, err
	}
	for _, other := range others {
		more, err := k.changesOf(tx, other)
		if err != nil && fault.CodeOf(err) != fault.NotFound { // its changes have expired
			return nil, err
		}
		for i := range more {
			more[i].MergedFrom = orNull(other)
		}
		changes = append(changes, more...)
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return b.At.Std().Compare(a.At.Std()) })
	return changes, nil
}

func (k *kind) changesOf(tx *store.Tx, id uuid.UUID) ([]Change, error) {
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
