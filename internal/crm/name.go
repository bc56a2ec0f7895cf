package crm

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/match"
	"prospector/internal/record"
	"prospector/internal/shape"
)

// ByName is the secondary key that finds contacts by their full name and account, and accounts by
// their name and country, however they are spelled. See ContactNameKey and AccountNameKey.
const ByName = record.AlikeKey

// ContactNameKey returns the key of a contact with a full name at an account, which may be none. A
// contact without a first and a last name has no key, "".
func ContactNameKey(first, last string, account uuid.NullUUID) string {
	if first, last = foldText(first), foldText(last); first == "" || last == "" {
		return ""
	}
	key := foldText(first+" "+last) + record.AlikeEnd
	if account.Valid {
		key += account.UUID.String()
	}
	return key
}

// AccountNameKey returns the key of an account with a name and a country, which may be unknown. All
// keys of a name begin with the key of the name without a country.
func AccountNameKey(name, country string) string {
	if name = foldText(name); name == "" {
		return ""
	}
	return name + record.AlikeEnd + foldText(country)
}

func contactNameKey(c *Contact) string {
	return ContactNameKey(string(c.FirstName), string(c.LastName), c.AccountID)
}

func accountNameKey(a *Account) string { return AccountNameKey(a.Name, string(a.Country)) }

// maxFolded is the length in bytes above which a folded text is shortened: longer keys would be shortened
// by the store, and their common beginning lost.
const maxFolded = 100

// foldText returns a text in the form in which name keys compare it: in lower case and in Unicode
// normalization form C, trimmed, with single spaces and without control characters.
func foldText(s string) string {
	s = strings.Join(strings.FieldsFunc(address.Fold(s), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if len(s) > maxFolded {
		sum := sha256.Sum256([]byte(s))
		s = strings.ToValidUTF8(s[:maxFolded-32], "") + hex.EncodeToString(sum[:16])
	}
	return s
}

// isSameContact reports whether two contacts of the same name and account may be the same person.
func isSameContact(stored *shape.Members, c *Contact) bool {
	return !differ(stored.Text(`"email":"`), c.Email, address.Key) &&
		!differ(stored.Text(`"linkedin_url":"`), c.LinkedinURL, address.LinkedIn) &&
		(c.AccountID.Valid || !differ(stored.Text(`"phone_number":"`), c.PhoneNumber, phoneKey)) &&
		!record.AreApart(stored.Text(`"external_id":"`), string(c.ExternalID))
}

func phoneKey(number string) string { return match.PhoneKey(match.Phone(number)) }

// isSameAccount reports whether two accounts of the same name may be the same company.
func (c *CRM) isSameAccount(stored *shape.Members, a *Account) bool {
	return !differ(stored.Text(`"website":"`), a.Website, c.hosts.Key) &&
		!differ(stored.Text(`"country":"`), a.Country, foldText) &&
		!record.AreApart(stored.Text(`"external_id":"`), string(a.ExternalID))
}

// differ reports whether two values are both known and not the same.
func differ(stored string, given shape.Text, canonical func(string) string) bool {
	if stored == "" || given == "" || stored == string(given) {
		return false
	}
	x, y := canonical(stored), canonical(string(given))
	return x != "" && y != "" && x != y
}
