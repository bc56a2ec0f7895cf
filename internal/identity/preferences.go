package identity

import (
	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// Preferences are what the console remembers for a user. The service does not interpret them.
type Preferences struct {
	Values shape.Value `json:"values" rule:"required,component=PreferenceValues" doc:"An object of at most 16 KiB. Its members belong to the console."`
}

const maxPreferences = 16 << 10

func newPreferences() *store.Table[Preferences] {
	return store.NewTable[Preferences]("preferences", nil, nil).Unlogged()
}

// PreferencesOf returns the preferences of a user, which are empty at first.
func (i *Identity) PreferencesOf(tx *store.Tx, user uuid.UUID) (Preferences, error) {
	doc, err := i.preferences.Get(tx, user)
	if fault.CodeOf(err) == fault.NotFound {
		return Preferences{Values: shape.Value{Kind: shape.Object}}, nil
	}
	return doc.Record, err
}

// SetPreferences replaces the preferences of a user.
func (i *Identity) SetPreferences(tx *store.Tx, user uuid.UUID, p Preferences) error {
	var problems fault.Problems
	data, err := json.Marshal(p.Values)
	switch {
	case err != nil:
		return err
	case p.Values.Kind != shape.Object:
		problems.Invalid("values", "must be an object")
	case len(data) > maxPreferences:
		problems.Invalid("values", "must have at most %d bytes, not %d", maxPreferences, len(data))
	}
	if err := problems.Err(); err != nil {
		return err
	}
	return put(tx, i.preferences, user, p)
}

// put inserts or replaces the record with an id, which may be damaged.
func put[T any](tx *store.Tx, table *store.Table[T], id uuid.UUID, rec T) error {
	old, err := table.Get(tx, id)
	if store.IsDamagedRecord(err) {
		if err = tx.DeleteDamaged(table.Name(), id); err == nil {
			_, err = table.Insert(tx, id, rec)
		}
		return err
	}
	if fault.CodeOf(err) == fault.NotFound {
		_, err = table.Insert(tx, id, rec)
		return err
	}
	if err == nil {
		_, err = table.Update(tx, old, rec, nil)
	}
	return err
}
