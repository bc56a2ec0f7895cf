package crm

import (
	"slices"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/match"
	"prospector/internal/shape"
	"prospector/store"
)

// ReasonBounce is the reason of the suppression of an address that does not exist.
const ReasonBounce = "bounce"

// A contact is written to at one address. The others identify the person, and an opt-out at any of them covers the person.
// Role addresses such as info@ belong to several people: as other addresses they say nothing about the contact.

// byOtherAddress is the secondary key that finds contacts by their other addresses.
const byOtherAddress = "other_address"

var otherAddresses = store.Key[Contact]{Name: byOtherAddress, Version: address.Version, Of: func(_ *store.Tx, c *Contact) ([][]byte, error) {
	var keys [][]byte
	for _, email := range personal(c.OtherEmails) {
		keys = append(keys, []byte(address.Key(email)))
	}
	return keys, nil
}}

// personal returns the addresses that are no role addresses.
func personal(emails []string) []string {
	return slices.DeleteFunc(slices.Clone(emails), match.IsRole)
}

// Addresses returns the address that a contact is written to, and the others that identify the person.
func (c *Contact) Addresses() []string {
	others := personal(c.OtherEmails)
	if c.Email == "" {
		return others
	}
	return append([]string{string(c.Email)}, others...)
}

// hasAddress reports whether an address is one of those of a contact.
func (c *Contact) hasAddress(email string) bool {
	key := address.Key(email)
	return slices.ContainsFunc(c.Addresses(), func(own string) bool { return address.Key(own) == key })
}

// DropAddresses takes addresses from the contact.
func (c *Contact) DropAddresses(drop func(email string) bool) {
	if drop(string(c.Email)) {
		c.Email = ""
	}
	c.OtherEmails = slices.DeleteFunc(slices.Clone(c.OtherEmails), drop)
}

// ContactsWith returns the contacts that have an address: those that are written to at it, and then those who merely have it.
func (c *CRM) ContactsWith(tx *store.Tx, email string) ([]uuid.UUID, error) {
	ids, err := c.Contacts.FindAll(tx, "email", email)
	if err != nil {
		return nil, err
	}
	others, err := c.Contacts.Table.IDs(tx, byOtherAddress, []byte(address.Key(email)), 0)
	for _, id := range others {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// IsCovered reports whether one of some other addresses is suppressed for a reason that is about the person, and not only about
// the address: anything but a bounce.
func (c *CRM) IsCovered(tx *store.Tx, others []string) bool {
	if len(others) == 0 || c.Suppressions.Table.Count(tx) == 0 {
		return false
	}
	return slices.ContainsFunc(personal(others), func(email string) bool {
		ids, err := c.Suppressions.Table.IDs(tx, bySubject, []byte(address.Key(email)), 0)
		if err != nil {
			return true // a list that cannot be read must not let anything through
		}
		for _, id := range ids {
			if doc, err := c.Suppressions.Get(tx, id); err != nil || doc.Record.Reason != ReasonBounce {
				return true
			}
		}
		return c.IsErased(tx, email)
	})
}

// distinct returns the values that are there for the first time, without one that is the main one.
func distinct(values []string, main string, key func(string) string) []string {
	seen := map[string]bool{key(main): true}
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool {
		k := key(v)
		isKnown := seen[k]
		seen[k] = true
		return isKnown || k == ""
	})
}

// foldContact keeps the addresses and numbers of contacts that are merged into another.
func foldContact(into *Contact, all []*Contact) {
	for _, c := range all {
		if c.Email != "" {
			into.OtherEmails = append(into.OtherEmails, string(c.Email))
		}
		if c.PhoneNumber != "" {
			into.OtherPhones = append(into.OtherPhones, string(c.PhoneNumber))
		}
	}
	into.OtherEmails = distinct(into.OtherEmails, string(into.Email), address.Key)
	into.OtherPhones = distinct(into.OtherPhones, string(into.PhoneNumber), phoneKey)
	into.OtherIDs = remainingIDs(&into.Common, &all[0].Common, all[0].OtherIDs)
	into.Origin.DoubtfulOptOut = uuid.Nil
}

// foldAccount keeps the external ids of an account that others are merged into.
func foldAccount(into *Account, all []*Account) {
	into.OtherIDs = remainingIDs(&into.Common, &all[0].Common, all[0].OtherIDs)
}

// remainingIDs returns the further external ids of a record that others are merged into, among them its external_id if it takes
// that of another. Those of the others lead to it without being its own.
func remainingIDs(into, first *Common, others []string) []string {
	return distinct(append(slices.Clip(others), string(first.ExternalID)), string(into.ExternalID), shape.Fold)
}

// otherTexts returns the other addresses of a stored contact that identify the person.
func otherTexts(m *shape.Members) []string { return personal(m.Texts("other_emails")) }
