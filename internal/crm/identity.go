package crm

import (
	"slices"
	"strings"

	"prospector/internal/address"
	"prospector/internal/match"
	"prospector/internal/record"
	"prospector/internal/shape"
)

// contactIdentity compares contacts by their names, addresses and LinkedIn URLs.
var contactIdentity = &record.Identity{
	Of: func(rec any) record.Description {
		c := rec.(*Contact)
		return &contactDescription{string(c.FirstName), string(c.LastName), string(c.Email), personal(c.OtherEmails), string(c.LinkedinURL)}
	},
	Stored: func(m *shape.Members) record.Description {
		var d contactDescription
		d.first, d.last = m.Text("first_name"), m.Text("last_name")
		d.email, d.otherEmails = m.Text("email"), otherTexts(m)
		d.linkedIn = m.Text("linkedin_url")
		return &d
	},
	IsShared: match.IsRole,
}

// contactDescription is what is compared of contacts.
type contactDescription struct {
	first, last, email string
	otherEmails        []string // of the person
	linkedIn           string
}

func (d *contactDescription) Agrees(with record.Description) (agrees, differs bool) {
	other := with.(*contactDescription)
	keys := other.addressKeys()
	agrees = slices.ContainsFunc(d.addressKeys(), func(key string) bool { return slices.Contains(keys, key) })
	if names, known := d.compareNames(other); known {
		isAlike := names.Compatible() && (names.First > match.Missing || names.Last > match.Missing)
		agrees, differs = agrees || isAlike, !names.Compatible()
	}
	return compareTexts(agrees, differs, []textPair{
		{d.email, other.email, address.Key}, {d.linkedIn, other.linkedIn, address.LinkedIn},
	})
}

func (d *contactDescription) Fit(with record.Description, field, value string) record.Fit {
	if field != "email" {
		return record.Fits
	}
	names, known := d.compareNames(with.(*contactDescription))
	switch {
	case !known:
		return record.Unknown
	case names.Compatible(), names.First > match.Missing && !match.IsRole(value): // who has changed the last name
		return record.Fits
	}
	return record.Apart
}

// compareNames compares the names of two contacts, if both are known.
func (d *contactDescription) compareNames(other *contactDescription) (names match.Names, known bool) {
	p, q := match.NewPerson(d.first, d.last), match.NewPerson(other.first, other.last)
	if p.IsEmpty() || q.IsEmpty() {
		return names, false
	}
	return match.Compare(&p, &q), true
}

// addressKeys returns the canonical addresses of a contact.
func (d *contactDescription) addressKeys() (keys []string) {
	for _, email := range append([]string{d.email}, d.otherEmails...) {
		if email != "" {
			keys = append(keys, address.Key(email))
		}
	}
	return keys
}

func (d *contactDescription) String() string {
	return shownAs(strings.TrimSpace(d.first+" "+d.last), d.email, d.linkedIn)
}

// accountIdentity compares accounts by their names, websites and LinkedIn URLs.
func (c *CRM) accountIdentity() *record.Identity {
	return &record.Identity{
		Of: func(rec any) record.Description {
			a := rec.(*Account)
			return &accountDescription{c.hosts, a.Name, string(a.Website), string(a.LinkedinURL)}
		},
		Stored: func(m *shape.Members) record.Description {
			d := accountDescription{hosts: c.hosts, name: m.Text("name")}
			d.website, d.linkedIn = m.Text("website"), m.Text("linkedin_url")
			return &d
		},
	}
}

// accountDescription is what is compared of accounts.
type accountDescription struct {
	hosts                   *address.Hosts
	name, website, linkedIn string
}

func (d *accountDescription) Agrees(with record.Description) (agrees, differs bool) {
	other := with.(*accountDescription)
	return compareTexts(false, false, []textPair{
		{d.name, other.name, companyName}, {d.website, other.website, d.hosts.Key}, {d.linkedIn, other.linkedIn, address.LinkedIn},
	})
}

func (d *accountDescription) Fit(record.Description, string, string) record.Fit { return record.Fits }

func (d *accountDescription) String() string { return shownAs(d.name, d.website, d.linkedIn) }

func companyName(name string) string {
	bare, _ := match.Company(name)
	return bare
}

// textPair has a value of two records.
type textPair struct {
	a, b      string
	canonical func(string) string
}

// compareTexts adds whether values that both records have are the same, or differ.
func compareTexts(agrees, differs bool, pairs []textPair) (bool, bool) {
	for _, p := range pairs {
		if a, b := p.canonical(p.a), p.canonical(p.b); a != "" && b != "" {
			agrees, differs = agrees || a == b, differs || a != b
		}
	}
	return agrees, differs
}

// shownAs returns what people know a record by, such as "Ann Lee (ann@acme.example)".
func shownAs(name, address, linkedIn string) string {
	switch {
	case name != "" && address != "":
		return name + " (" + address + ")"
	case name == "" && address == "":
		return linkedIn
	}
	return name + address
}
