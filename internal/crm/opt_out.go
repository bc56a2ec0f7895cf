package crm

import (
	"errors"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/store"
)

// ReasonOptedOut is the reason of the suppressions that opting a contact out adds. They are removed
// when no contact with the address has opted out any more. Suppressions with another reason stay until
// someone deletes them.
const ReasonOptedOut = "opted_out"

// contactChanged keeps the suppressions of a contact's addresses in step with do_not_contact, so that an opt-out covers every
// contact with one of them.
func (c *CRM) contactChanged(tx *store.Tx, before, after *Contact) error {
	switch {
	case after == nil:
		return nil
	case before == nil:
		before = &Contact{}
	case before.DoNotContact && !after.DoNotContact:
		return c.liftOptOut(tx, before, after)
	}
	return c.suppressAddresses(tx, after, func(email string) bool {
		// The suppression of an address that the contact had may have been deleted on purpose.
		return !before.DoNotContact || !before.hasAddress(email)
	})
}

// suppressAddresses suppresses those addresses of a contact that has opted out for which isNew returns true.
func (c *CRM) suppressAddresses(tx *store.Tx, contact *Contact, isNew func(string) bool) error {
	if !contact.DoNotContact {
		return nil
	}
	for _, email := range contact.Addresses() {
		if isNew(email) {
			if err := c.SuppressEmail(tx, email, ReasonOptedOut); err != nil {
				return err
			}
		}
	}
	return nil
}

// liftOptOut removes the suppressions that an opt-out has added of the addresses that the contact still has, unless
// another contact with the address has opted out.
func (c *CRM) liftOptOut(tx *store.Tx, before, contact *Contact) error {
	for _, email := range contact.Addresses() {
		if before.hasAddress(email) {
			if err := c.liftSuppressions(tx, contact.ID, email); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *CRM) liftSuppressions(tx *store.Tx, contact uuid.UUID, email string) error {
	ids, err := c.ContactsWith(tx, email)
	if err != nil {
		return err
	}
	recipients := c.Recipients(tx)
	for _, id := range ids {
		if to, _, err := recipients.Reach(id); err != nil || to.OptedOut && id != contact {
			return err
		}
	}
	suppressions, err := c.Suppressions.Table.IDs(tx, bySubject, []byte(address.Key(email)), 0)
	if err != nil {
		return err
	}
	for _, id := range suppressions {
		doc, err := c.Suppressions.Get(tx, id)
		if err == nil && doc.Record.Reason == ReasonOptedOut {
			err = c.Suppressions.Delete(tx, id, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// optedOut returns the addresses of all contacts that have opted out. It leaves out contacts that
// cannot be read.
func (c *CRM) optedOut(tx *store.Tx) (emails []string, err error) {
	ids, err := c.Contacts.Matching(tx, "email")
	recipients := c.Recipients(tx)
	for _, id := range ids {
		to, _, err := recipients.Reach(id)
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return nil, err
		}
		if err == nil && to.OptedOut {
			emails = append(emails, to.Email)
		}
	}
	return emails, err
}
