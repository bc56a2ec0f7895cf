package crm

import (
	"slices"
	"strings"
	"unicode"

	"prospector/internal/address"
	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// ReasonErased is the reason of the suppression of a person who was erased. It has only a keyed hash of the address.
const ReasonErased = "erased"

// erasedHash is the private part of a suppression.
type erasedHash struct {
	Hash string `json:"hash,omitzero"`
}

// Private returns the part of the record that is stored but never returned by the API.
func (s *Suppression) Private() any { return &s.erased }

// erasedSubject begins the subject of an erased address. No address or domain begins so.
const erasedSubject = "#"

// erasedSubjectOf returns what stands for an address in the list of suppressions, or "" if nobody was erased.
func (c *CRM) erasedSubjectOf(tx *store.Tx, email string) (string, error) {
	hash, err := c.Erased.Find(tx, address.Key(email))
	if err != nil || hash == "" {
		return "", err
	}
	return erasedSubject + hash, nil
}

// IsErased reports whether the person with an address was erased, or if that is not known.
func (c *CRM) IsErased(tx *store.Tx, email string) bool {
	subject, err := c.erasedSubjectOf(tx, email)
	return err != nil || c.isListed(tx, subject)
}

// errErased refuses the address of a person who was erased. It must not name the address.
var errErased = &fault.Error{Code: fault.Erased, Message: "email: " + isErasedAddress, Details: []fault.Detail{{Path: "email", Message: isErasedAddress}}}

const isErasedAddress = "the address belongs to a person who was erased; an admin can allow it again by deleting the suppression with the reason erased"

// namesErased reports whether a text contains the address of a person who was erased.
func (c *CRM) namesErased(tx *store.Tx, text string) bool {
	if !strings.Contains(text, "@") || c.Erased.Count(tx) == 0 {
		return false
	}
	return slices.ContainsFunc(strings.FieldsFunc(text, isAroundAddress), func(word string) bool {
		word = strings.TrimPrefix(strings.Trim(word, ".:"), "mailto:")
		return address.IsEmail(word) && c.IsErased(tx, word)
	})
}

// isAroundAddress reports whether a character stands between addresses and other texts of a cell.
func isAroundAddress(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune(`,;|<>()[]{}"'`, r)
}

// SuppressErased replaces the suppressions of an address with one that has only its hash.
func (c *CRM) SuppressErased(tx *store.Tx, email string) error {
	hash, err := c.Erased.Add(tx, address.Key(email))
	if err != nil {
		return err
	}
	if _, listed, err := c.suppressionOf(tx, erasedSubject+hash); err != nil {
		return err
	} else if !listed {
		rec := Suppression{Reason: ReasonErased, erased: erasedHash{hash}}
		if _, err := c.Suppressions.Insert(tx, rec); err != nil {
			return err
		}
	}
	ids, err := c.Suppressions.Table.IDs(tx, bySubject, []byte(address.Key(email)), 0)
	if err != nil {
		return err
	}
	for _, id := range ids {
		doc, err := c.Suppressions.Table.Get(tx, id)
		if err == nil {
			err = c.Suppressions.Table.Delete(tx, doc) // the address stays suppressed, so nothing is released
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// FullName returns the name of a contact.
func (c *Contact) FullName() string { return joinNames(c.FirstName, c.LastName) }

func joinNames(first, last shape.Text) string {
	if first == "" || last == "" {
		return ""
	}
	return string(first) + " " + string(last)
}
