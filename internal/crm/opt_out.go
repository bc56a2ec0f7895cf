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
	if after == nil {
		return nil
	}
	if before == nil {
		before = &Contact{}
	}
	for _, email := range after.Addresses() {
		hadIt := before.hasAddress(email)
		var err error
		switch {
		case after.DoNotContact && !(before.DoNotContact && hadIt):
			// The suppression of an address that the contact had may have been deleted on purpose.
			err = c.SuppressEmail(tx, email, ReasonOptedOut)
		case before.DoNotContact && !after.DoNotContact && hadIt:
			err = c.liftSuppressions(tx, after.ID, email)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// liftSuppressions removes the suppressions of an address that an opt-out has added, unless another contact with the address
// has opted out.
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
