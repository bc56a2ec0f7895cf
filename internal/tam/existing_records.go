package tam

import (
	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/store"
)

// recordOf finds the record of a member. refused reports that the member must not be imported,
// because it is suppressed or erased.
func (t *TAM) recordOf(tx *store.Tx, k memberKey) (id uuid.UUID, found, refused bool, err error) {
	if k.isPerson {
		if k.isErased || t.crm.IsSuppressed(tx, k.email) {
			return id, false, true, nil
		}
		id, found, err = t.contactOf(tx, k.source, k.email, k.linkedIn)
		return id, found, false, err
	}
	if t.crm.IsCompanySuppressed(tx, k.website) {
		return id, false, true, nil
	}
	id, found, err = t.accountOf(tx, k.source, k.website)
	return id, found, false, err
}

// accountOf finds the Account of a company: the one that was imported from it, or else one with the
// same website.
func (t *TAM) accountOf(tx *store.Tx, source, website string) (id uuid.UUID, found bool, err error) {
	if t.crm.Accounts.Table.Count(tx) == 0 {
		return uuid.Nil, false, nil
	}
	id, found, err = crm.FindBySource(tx, t.crm.Accounts, source)
	if err == nil && !found && website != "" {
		id, found, err = t.crm.Accounts.Find(tx, "website", website)
	}
	return id, found, err
}

// contactOf finds the Contact of a person: the one that was imported from the person, or else one
// with the same email, or else one with the same LinkedIn URL.
func (t *TAM) contactOf(tx *store.Tx, source, email, linkedIn string) (id uuid.UUID, found bool, err error) {
	if t.crm.Contacts.Table.Count(tx) == 0 {
		return uuid.Nil, false, nil
	}
	id, found, err = crm.FindBySource(tx, t.crm.Contacts, source)
	if err == nil && !found && email != "" {
		var ids []uuid.UUID
		if ids, err = t.crm.ContactsWith(tx, email); len(ids) > 0 {
			id, found = ids[0], true
		}
	}
	if err == nil && !found && linkedIn != "" {
		id, found, err = t.crm.Contacts.Find(tx, "linkedin_url", linkedIn)
	}
	return id, found, err
}
