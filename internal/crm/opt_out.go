package crm

import (
	"errors"

	"prospector/internal/address"
	"prospector/store"
)

// ReasonOptedOut is the reason of the suppressions that opting a contact out adds. They are removed
// when no contact with the address has opted out any more. Suppressions with another reason stay until
// someone deletes them.
const ReasonOptedOut = "opted_out"

// contactUpdated keeps the suppression of a contact's address in step with do_not_contact and calls
// the hook. The hook comes first when the contact opts out, so that its own sequences stop for that
// reason, and last when it opts in again, so that nothing is suppressed any more.
func (c *CRM) contactUpdated(tx *store.Tx, before, after *Contact) error {
	if before.DoNotContact && !after.DoNotContact && address.Key(string(before.Email)) == address.Key(string(after.Email)) {
		if err := c.releaseOptOut(tx, after); err != nil {
			return err
		}
	}
	if c.hooks.ContactChanged != nil {
		if err := c.hooks.ContactChanged(tx, before, after); err != nil {
			return err
		}
	}
	if before.DoNotContact && address.Key(string(before.Email)) == address.Key(string(after.Email)) {
		return nil // nothing new: the suppression may have been deleted on purpose
	}
	return c.suppressOptOut(tx, after)
}

// suppressOptOut suppresses the address of a contact that has opted out, so that the opt-out covers
// every contact with the address.
func (c *CRM) suppressOptOut(tx *store.Tx, contact *Contact) error {
	if !contact.DoNotContact || contact.Email == "" {
		return nil
	}
	return c.SuppressEmail(tx, string(contact.Email), ReasonOptedOut)
}

// releaseOptOut removes the suppression that an opt-out has added, unless another contact with the
// address has opted out.
func (c *CRM) releaseOptOut(tx *store.Tx, contact *Contact) error {
	if contact.Email == "" {
		return nil
	}
	ids, err := c.Contacts.FindAll(tx, "email", string(contact.Email))
	if err != nil {
		return err
	}
	recipients := c.Recipients(tx)
	for _, id := range ids {
		if _, optedOut, _, err := recipients.Reach(id); err != nil || optedOut && id != contact.ID {
			return err
		}
	}
	suppressions, err := c.Suppressions.Table.IDs(tx, bySubject, []byte(address.Key(string(contact.Email))), 0)
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
		email, optedOut, _, err := recipients.Reach(id)
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return nil, err
		}
		if err == nil && optedOut {
			emails = append(emails, email)
		}
	}
	return emails, err
}
