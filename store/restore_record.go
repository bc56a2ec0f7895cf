package store

import (
	"errors"
	"fmt"

	"github.com/google/uuid"

	"prospector/internal/fault"
)

// RestoreRecord writes a record of another store, such as a backup. The record must be missing or
// damaged here, and is created again under the same id. adjust may change it first; it gets a pointer to
// the type of the table's records.
func RestoreRecord(tx *Tx, t ShapedTable, from *Tx, id uuid.UUID, adjust func(rec any) error) error {
	core := t.untyped()
	d, private, err := core.getUndecoded(from, id)
	if err != nil {
		return err
	}
	switch _, _, err := core.getUndecoded(tx, id); {
	case err == nil:
		return fmt.Errorf("%s %s exists and is not damaged", core.name, id)
	case errors.Is(err, ErrDamaged):
		if err := tx.DeleteDamaged(core.name, id); err != nil {
			return err
		}
	case fault.CodeOf(err) != fault.NotFound:
		return err
	}
	rec := core.newRecord()
	if err := core.unmarshal(id, d.JSON, private, rec); err != nil {
		return err
	}
	if err := adjust(rec); err != nil {
		return err
	}
	tx.delete(goneBucket(core.name), id[:])
	_, err = core.insertAfter(tx, doc{ID: id}, rec, nil)
	return err
}
