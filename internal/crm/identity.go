package crm

import (
	"slices"
	"strings"

	"prospector/internal/address"
	"prospector/internal/match"
	"prospector/internal/record"
	"prospector/internal/shape"
)

// identityEnd separates the parts of the description of a record for record.Identity. No part contains it.
const identityEnd = "\x1f"

func described(parts ...string) string {
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(part, identityEnd, " ")
	}
	return strings.Join(parts, identityEnd)
}

func parts(description string) []string {
	all := strings.Split(description, identityEnd)
	return append(all, make([]string, max(0, 5-len(all)))...)
}

// addressesIn returns the canonical addresses in the parts of a contact.
func addressesIn(parts []string) (keys []string) {
	for _, email := range append([]string{parts[2]}, strings.Fields(parts[4])...) {
		if email != "" {
			keys = append(keys, address.Key(email))
		}
	}
	return keys
}

// compareParts compares values that both have.
func compareParts(a, b string, canonical func(string) string) (same, differ bool) {
	if a, b = canonical(a), canonical(b); a == "" || b == "" {
		return false, false
	}
	return a == b, a != b
}

// show returns the parts of a description that people know a record by.
func show(description string) string {
	p := parts(description)
	text := strings.TrimSpace(p[0] + " " + p[1])
	switch {
	case text == "" && p[2] == "":
		return p[3]
	case text == "":
		return p[2]
	case p[2] != "":
		return text + " (" + p[2] + ")"
	}
	return text
}

// contactIdentity compares contacts by their first and last name, email address and LinkedIn URL.
var contactIdentity = &record.Identity{
	Of: func(rec any) string {
		c := rec.(*Contact)
		return described(string(c.FirstName), string(c.LastName), string(c.Email), string(c.LinkedinURL), strings.Join(personal(c.OtherEmails), " "))
	},
	Stored: func(m *shape.Members) string {
		first := m.Text(`"first_name":"`)
		last := m.Text(`"last_name":"`)
		email := m.Text(`"email":"`)
		others := strings.Join(otherTexts(m), " ")
		return described(first, last, email, m.Text(`"linkedin_url":"`), others)
	},
	Agrees: func(a, b string) (agrees, differs bool) {
		x, y := parts(a), parts(b)
		agrees = slices.ContainsFunc(addressesIn(x), func(email string) bool { return slices.Contains(addressesIn(y), email) })
		p, q := match.NewPerson(x[0], x[1]), match.NewPerson(y[0], y[1])
		if !p.IsEmpty() && !q.IsEmpty() {
			n := match.Compare(&p, &q)
			agrees, differs = agrees || n.Compatible() && (n.First > match.Missing || n.Last > match.Missing), !n.Compatible()
		}
		for i, canonical := range map[int]func(string) string{2: address.Key, 3: address.LinkedIn} {
			same, other := compareParts(x[i], y[i], canonical)
			agrees, differs = agrees || same, differs || other
		}
		return agrees, differs
	},
	Fit: func(field, value, a, b string) record.Fit {
		if field != "email" {
			return record.Fits
		}
		x, y := parts(a), parts(b)
		p, q := match.NewPerson(x[0], x[1]), match.NewPerson(y[0], y[1])
		if p.IsEmpty() || q.IsEmpty() {
			return record.Unknown
		}
		n := match.Compare(&p, &q)
		switch {
		case n.Compatible(), n.First > match.Missing && !match.IsRole(value): // who has changed the last name
			return record.Fits
		}
		return record.Apart
	},
	IsShared: match.IsRole, Show: show,
}

// accountIdentity compares accounts by their name, website and LinkedIn URL.
func (c *CRM) accountIdentity() *record.Identity {
	return &record.Identity{
		Of: func(rec any) string {
			a := rec.(*Account)
			return described(a.Name, "", string(a.Website), string(a.LinkedinURL))
		},
		Stored: func(m *shape.Members) string {
			name := m.Text(`"name":"`)
			website := m.Text(`"website":"`)
			return described(name, "", website, m.Text(`"linkedin_url":"`))
		},
		Agrees: func(a, b string) (agrees, differs bool) {
			x, y := parts(a), parts(b)
			for i, canonical := range map[int]func(string) string{0: companyName, 2: c.hosts.Key, 3: address.LinkedIn} {
				same, other := compareParts(x[i], y[i], canonical)
				agrees, differs = agrees || same, differs || other
			}
			return agrees, differs
		},
		Fit:      func(_, _, _, _ string) record.Fit { return record.Fits },
		IsShared: func(string) bool { return false }, Show: show,
	}
}

func companyName(name string) string {
	bare, _ := match.Company(name)
	return bare
}
