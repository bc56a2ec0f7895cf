package crm

import (
	"strings"

	"github.com/google/uuid"

	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// ReasonDamaged is the reason of a suppression whose record was damaged. Its reason is not known any more.
const ReasonDamaged = "damaged"

// StandIn deletes a damaged suppression and puts a new one in its place, so that what it suppresses stays suppressed.
// It reports whether the entity is that of suppressions, and whether a key still has what was suppressed. Otherwise
// nothing is left to suppress, but the sequences that the suppression stopped do not start again.
func (c *CRM) StandIn(tx *store.Tx, entity string, id uuid.UUID) (ok, replaced bool, err error) {
	if entity != c.Suppressions.Entity {
		return false, false, nil
	}
	var subjects []string
	err = c.Suppressions.Table.Range(tx, bySubject, nil, func(key []byte, of uuid.UUID) bool {
		if of == id {
			subjects = append(subjects, string(key))
		}
		return true
	})
	if err == nil {
		err = tx.DeleteDamaged(entity, id)
	}
	for _, subject := range subjects {
		if err != nil {
			return true, false, err
		}
		now := shape.At(tx.Now())
		rec := Suppression{Head: record.Head{ID: id, CreatedAt: now, UpdatedAt: now}, Reason: ReasonDamaged}
		hash, isErased := strings.CutPrefix(subject, erasedSubject)
		switch {
		case isErased:
			rec.Reason, rec.erased.Hash = ReasonErased, hash
		case strings.Contains(subject, "@"):
			rec.Email = shape.Text(subject)
		default:
			rec.Domain = shape.Text(subject)
		}
		_, err = c.Suppressions.Table.InsertAgain(tx, id, rec, nil, nil)
		id = tx.NewID() // of another spelling that the record had
	}
	return true, len(subjects) > 0, err
}

// IsStandIn reports whether a record is one that StandIn has put in the place of a damaged one.
func (c *CRM) IsStandIn(tx *store.Tx, entity string, id uuid.UUID) bool {
	if entity != c.Suppressions.Entity {
		return false
	}
	doc, err := c.Suppressions.Get(tx, id)
	return err == nil && doc.Record.Reason == ReasonDamaged
}
