package tam

import (
	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/store"
)

// accountOf finds the Account that a company is: the one that was made from it or, when there is none, one with its website.
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

// contactOf finds the Contact that a person is: the one that was made from the person or, when there is none, one with the same
// email, else with the same LinkedIn URL.
func (t *TAM) contactOf(tx *store.Tx, source, email, linkedIn string) (id uuid.UUID, found bool, err error) {
	if t.crm.Contacts.Table.Count(tx) == 0 {
		return uuid.Nil, false, nil
	}
	id, found, err = crm.FindBySource(tx, t.crm.Contacts, source)
	if err == nil && !found && email != "" {
		id, found, err = t.crm.Contacts.Find(tx, "email", email)
	}
	if err == nil && !found && linkedIn != "" {
		id, found, err = t.crm.Contacts.Find(tx, "linkedin_url", linkedIn)
	}
	return id, found, err
}
