package identity

import (
	"strings"

	"github.com/google/uuid"

	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// StandIn puts a new record in the place of a damaged organization or user, and reports whether the entity is one of
// them. Deleting them would cut off everything that belongs to them. The organization has the default settings, and
// the user is not active.
func (i *Identity) StandIn(tx *store.Tx, entity string, id uuid.UUID) (ok bool, err error) {
	name := "damaged-" + id.String()
	switch entity {
	case i.Organizations.Entity:
		if err := tx.DeleteDamaged(entity, id); err != nil {
			return true, err
		}
		_, err := i.Organizations.CreateAs(tx, id, record.NewDraft[Organization](object("name", name)), nil)
		return true, err
	case i.Users.Entity:
		org, err := i.Organizations.Get(tx, tx.Org())
		if err == nil {
			err = tx.DeleteDamaged(entity, id)
		}
		if err != nil {
			return true, err
		}
		domain := "damaged.invalid"
		if allowed := org.Record.SenderDomains; len(allowed) > 0 {
			domain = allowed[0]
		}
		draft := record.NewDraft[User](object("email", name+"@"+domain))
		_, err = i.Users.CreateAs(tx, id, draft, func(u *User) { u.Active = false })
		return true, err
	}
	return false, nil
}

// IsStandIn reports whether a record is one that StandIn has put in the place of a damaged one.
func (i *Identity) IsStandIn(tx *store.Tx, entity string, id uuid.UUID) bool {
	name := "damaged-" + id.String()
	switch entity {
	case i.Organizations.Entity:
		doc, err := i.Organizations.Get(tx, id)
		return err == nil && string(doc.Record.Name) == name
	case i.Users.Entity:
		doc, err := i.Users.Get(tx, id)
		return err == nil && strings.HasPrefix(string(doc.Record.Email), name+"@")
	}
	return false
}

// object returns a body with one member.
func object(key, text string) shape.Value {
	return shape.Value{Kind: shape.Object, Members: []shape.Member{{Key: key, Value: shape.Value{Kind: shape.String, Text: text}}}}
}
