package record

import (
	"crypto/sha256"
	"fmt"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// customKey is the secondary key that finds records by the custom fields that they have a value
// for.
const customKey = "custom"

// decodeCustom sets the custom fields in the body, as they are defined in this transaction.
func (k *kind) decodeCustom(tx *store.Tx, body shape.Value, rec any, p *fault.Problems) error {
	custom := k.shape.Custom(rec)
	if custom == nil {
		return nil
	}
	fields, err := k.customs(tx, k.Entity)
	if err != nil {
		return err
	}
	shape.DecodeCustom(body, custom, fields.Customs, p)
	return nil
}

// customKeys returns a key for each custom field that has a value. A field with allowed values has
// a key for each of its values.
func (k *kind) customKeys(tx *store.Tx, rec any) ([][]byte, error) {
	custom := *k.shape.Custom(rec)
	if len(custom) == 0 {
		return nil, nil
	}
	fields, err := k.customs(tx, k.Entity)
	if err != nil {
		return nil, err
	}
	var keys [][]byte
	for _, f := range fields.Fields {
		switch v := custom[f.Key].(type) {
		case nil:
		case []any:
			for _, entry := range v {
				keys = append(keys, valueKey(f.ID, fmt.Sprint(entry)))
			}
		case string:
			if f.Enum == nil {
				v = ""
			}
			keys = append(keys, valueKey(f.ID, v))
		default:
			keys = append(keys, valueKey(f.ID, ""))
		}
	}
	return keys, nil
}

// valueKey returns the key of a field and one of its allowed values. All keys have the same length.
func valueKey(field uuid.UUID, value string) []byte {
	sum := sha256.Sum256([]byte(value))
	return append(field[:], sum[:8]...)
}

// RemoveCustomField removes a custom field from all records of an entity, also from those in the trash, in one
// transaction.
func (s *Set) RemoveCustomField(tx *store.Tx, entity string, field *shape.CustomField) error {
	for _, k := range s.kinds {
		if k.Entity != entity && k.trashOf != entity {
			continue
		}
		if err := k.dropValue(tx, CustomLoss(entity, field).Value, sweepBatch); err != nil {
			return err
		}
	}
	return nil
}

// FindCustomValue returns the oldest record of the entity that has the value in a custom field with
// allowed values.
func (s *Set) FindCustomValue(tx *store.Tx, entity string, field uuid.UUID, value string) (uuid.UUID, bool, error) {
	return s.find(entity).table.Oldest(tx, customKey, valueKey(field, value))
}
