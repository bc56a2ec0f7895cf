package crm

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
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

// nameVersion changes whenever a name key changes.
const nameVersion = "3 " + match.Version + " " + address.Version

// ContactNameKey returns the key of a contact with a full name at an account, which may be none. A
// contact without a first and a last name has no key, "". No key is the beginning of another.
func ContactNameKey(first, last string, account uuid.NullUUID) string {
	person := match.NewPerson(first, last)
	key := person.Key()
	if key == "" {
		return ""
	}
	key = shortened(key) + record.AlikeEnd
	if account.Valid {
		key += account.UUID.String()
	}
	return key + record.AlikeEnd
}

// AccountNameKey returns the key of an account with a name and a country, which may be unknown. All
// keys of a name begin with the key of the name without a country.
func AccountNameKey(name, country string) string {
	name = match.Fold(strings.Join(strings.FieldsFunc(address.Fold(name), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Pd, r)
	}), " "))
	if name == "" {
		return ""
	}
	return shortened(name) + record.AlikeEnd + foldText(country)
}

func contactNameKey(c *Contact) string {
	return ContactNameKey(string(c.FirstName), string(c.LastName), c.AccountID)
}

func accountNameKey(a *Account) string { return AccountNameKey(a.Name, string(a.Country)) }

// foldText returns a text in lower case and in Unicode normalization form C, trimmed, with single spaces and without control
// characters.
func foldText(s string) string {
	return shortened(strings.Join(strings.FieldsFunc(address.Fold(s), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " "))
}

// maxFolded is the length in bytes above which a part of a key is shortened: longer keys would be shortened by the store, and
// their common beginning lost.
const maxFolded = 100

func shortened(s string) string {
	if len(s) > maxFolded {
		sum := sha256.Sum256([]byte(s))
		s = strings.ToValidUTF8(s[:maxFolded-32], "") + hex.EncodeToString(sum[:16])
	}
	return s
}

// commonOfContacts counts what two contacts of the same name and account have in common, for record.Alike.
func commonOfContacts(stored *shape.Members, c *Contact) int {
	n := 0
	for _, one := range []comparison{
		{"email", c.Email, address.Key, true},
		{"title", c.Title, foldText, false},
		{"phone_number", c.PhoneNumber, phoneKey, !c.AccountID.Valid},
		{"linkedin_url", c.LinkedinURL, address.LinkedIn, true},
	} {
		if one.count(stored, &n); n < 0 {
			return -1
		}
	}
	p, q := match.NewPerson(stored.Text("first_name"), stored.Text("last_name")), match.NewPerson(string(c.FirstName), string(c.LastName))
	if !match.Compare(&p, &q).Compatible() || record.AreApart(record.StoredIDs(stored), append(slices.Clip(c.OtherIDs), string(c.ExternalID))) {
		return -1
	}
	return n
}

func phoneKey(number string) string { return match.PhoneKey(match.Phone(number)) }

// commonOfAccounts counts what two accounts of the same name have in common, for record.Alike.
func (c *CRM) commonOfAccounts(stored *shape.Members, a *Account) int {
	n := 0
	for _, one := range []comparison{
		{"website", a.Website, c.hosts.Key, true},
		{"industry", a.Industry, foldText, false},
		{"country", a.Country, foldText, true},
		{"location", a.Location, foldText, false},
		{"linkedin_url", a.LinkedinURL, address.LinkedIn, false},
		{"phone_number", a.PhoneNumber, phoneKey, false},
	} {
		if one.count(stored, &n); n < 0 {
			return -1
		}
	}
	if record.AreApart(record.StoredIDs(stored), append(slices.Clip(a.OtherIDs), string(a.ExternalID))) {
		return -1
	}
	return n
}

// comparison compares a member of a stored record with a value.
type comparison struct {
	member    string
	given     shape.Text
	canonical func(string) string
	tells     bool // different values tell records apart
}

// count adds 1 if both values are known and the same. If they tell the records apart, n becomes -1.
func (c *comparison) count(stored *shape.Members, n *int) {
	text := stored.Text(c.member)
	switch x, y := c.canonical(text), c.canonical(string(c.given)); {
	case text == "" || c.given == "" || x == "" || y == "":
	case x == y:
		*n++
	case c.tells:
		*n = -1
	}
}
