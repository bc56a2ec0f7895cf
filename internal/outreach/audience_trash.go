package outreach

import (
	"slices"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// An audience in the trash keeps its contacts. They are nowhere shown as its members, because that starts with the
// audience or its campaigns, and no campaign has a deleted one. Contacts that are deleted, merged or restored leave and
// join it as if it were not deleted. When it is gone for good, its contacts are dropped.

// reviveAudience makes an audience true again that was in the trash. A dynamic one whose filters name something that was
// deleted since would have other contacts than anybody wants: it is refused, or static with the contacts that it had.
func (o *Outreach) reviveAudience(tx *store.Tx, a *Audience, force bool) error {
	if a.isLive() {
		var p fault.Problems
		if err := o.checkFilters(tx, nil, a, &p); err != nil {
			return err
		}
		switch err := p.Err(); {
		case err == nil:
		case !force:
			return fault.New(fault.InvalidFilter, "the audience cannot be dynamic again (%s); restore what its filters name first, "+
				"or restore it with force as a static one", err)
		default:
			a.Type, a.Filters, a.Search = staticAudience, shape.Value{}, ""
		}
	}
	n, err := o.members.Count(tx, a.ID)
	if store.IsDamagedRecord(err) {
		return nil // check reports it
	}
	a.ContactCount = n
	return err
}

// changeTrashed adds a contact to an audience in the trash or removes it. It does nothing if the audience is gone for
// good.
func (o *Outreach) changeTrashed(
	tx *store.Tx, audience, contact uuid.UUID, change func(*store.Tx, uuid.UUID, []uuid.UUID) ([]uuid.UUID, error),
) error {
	if !o.Audiences.IsTrashed(tx, audience) {
		return nil
	}
	_, err := change(tx, audience, []uuid.UUID{contact})
	return err
}

// isRecount reports whether a change of an audience is only a new number of contacts, unless somebody added or removed
// them.
func isRecount(c *store.Change) bool {
	return slices.Equal(c.Fields, []string{"contact_count"}) &&
		c.Actor.Operation != "add_audience_contacts" && c.Actor.Operation != "remove_audience_contacts"
}
