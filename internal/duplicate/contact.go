package duplicate

import (
	"slices"
	"strings"
	"unicode/utf8"

	"prospector/internal/address"
	"prospector/internal/match"
)

// Contact is what tells a contact from others.
type Contact struct {
	Name     match.Person
	Emails   []string // canonical; those of roles are not among them
	LinkedIn string   // canonical, or ""
	Phones   []string // as match.Phone returns them
	Account  string   // or ""
}

// AddEmail adds an address, unless it belongs to a role.
func (c *Contact) AddEmail(email string) {
	if email = address.Key(email); email != "" && !match.IsRole(email) {
		c.Emails = append(c.Emails, email)
	}
}

// AddPhone adds a number.
func (c *Contact) AddPhone(number string) {
	if number = match.Phone(number); number != "" {
		c.Phones = append(c.Phones, number)
	}
}

// Contacts are the rules of contacts.
func Contacts() Rules[Contact] {
	return Rules[Contact]{Keys: contactKeys, Score: scoreContacts, Compatible: compatibleContacts, Doubtful: areDifferentlyNamed, Signature: contactSignature}
}

func contactKeys(c *Contact, add func(kind byte, values ...string)) {
	for _, email := range c.Emails {
		add('e', email)
	}
	if c.LinkedIn != "" {
		add('l', c.LinkedIn)
	}
	for _, phone := range c.Phones {
		add(Number, match.PhoneKey(phone))
	}
	if c.Account == "" || c.Name.IsEmpty() {
		return
	}
	first, last := c.Name.Words()
	for _, word := range last {
		add('n', c.Account, word)
	}
	if len(last) == 0 {
		add('n', c.Account, first[0]) // the only name may be the last one
	}
	if !c.Name.IsFull() {
		return
	}
	add('s', c.Account, c.Name.Key())
	// A last name with a typo, or of which only the initial is known, has the same first or the same last letters.
	name := strings.Join(last, "")
	_, size := utf8.DecodeRuneInString(name)
	add('i', c.Account, first[0], name[:size])
	add('t', c.Account, first[0], name[max(0, len(name)-2):])
}

func haveCommon(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool { return slices.Contains(b, x) })
}

func haveCommonPhone(a, b *Contact) bool {
	return slices.ContainsFunc(a.Phones, func(x string) bool {
		return slices.ContainsFunc(b.Phones, func(y string) bool { return match.SamePhone(x, y) })
	})
}

// contradicts reports whether two LinkedIn URLs are known and differ.
func contradicts(a, b string) bool { return a != "" && b != "" && a != b }

// hasFirst reports whether two first names are known and compatible.
func hasFirst(n match.Names) bool { return n.First > match.Missing && n.First != match.Initial }

// compatibleContacts reports whether two contacts may be in one group: their names are compatible, or they are of one person
// who has changed the last name, or share a personal address.
func compatibleContacts(a, b *Contact) bool {
	if contradicts(a.LinkedIn, b.LinkedIn) {
		return false
	}
	if haveCommon(a.Emails, b.Emails) || a.LinkedIn != "" && a.LinkedIn == b.LinkedIn {
		return true
	}
	n := match.Compare(&a.Name, &b.Name)
	return n.Compatible() || hasFirst(n) && haveCommonPhone(a, b)
}

// areDifferentlyNamed reports whether two contacts have names of different people, who may share an address.
func areDifferentlyNamed(a, b *Contact) bool {
	n := match.Compare(&a.Name, &b.Name)
	return !n.Compatible() && !hasFirst(n)
}

func contactSignature(c *Contact) string {
	first, last := c.Name.Words()
	return strings.Join([]string{strings.Join(first, " "), strings.Join(last, " "), strings.Join(c.Emails, " "), c.LinkedIn, strings.Join(c.Phones, " "), c.Account}, "\x00")
}

// scoreContacts compares two contacts. An address or a LinkedIn URL identifies a person; a number or an account is a sign
// only together with the name.
func scoreContacts(a, b *Contact, number bool) (m Match) {
	if contradicts(a.LinkedIn, b.LinkedIn) {
		return m
	}
	set := func(r Reasons, is bool) bool {
		if is {
			m.Reasons |= r
		}
		return is
	}
	email := set(SameEmail, haveCommon(a.Emails, b.Emails))
	linkedIn := set(SameLinkedIn, a.LinkedIn != "" && a.LinkedIn == b.LinkedIn)
	phone := set(SamePhone, number && haveCommonPhone(a, b))
	account := set(SameAccount, a.Account != "" && a.Account == b.Account)
	names := match.Compare(&a.Name, &b.Name)
	if !names.Compatible() {
		m.Score = scoreOtherName(email, linkedIn, phone, account, names, &m.Reasons)
		return m
	}
	m.Reasons |= reasonOf(names)
	first, last := penalties[names.First], penalties[names.Last]
	if names.Swapped {
		first.sure, first.likely = first.sure+0.01, first.likely+0.03
	}
	switch {
	case email || linkedIn:
		m.Score = 0.97 - max(first.sure, last.sure)
		for _, also := range []bool{email && linkedIn, phone, account} {
			if also {
				m.Score += 0.01
			}
		}
	case phone && account:
		m.Score = 0.96 - first.likely - last.likely
	case phone, account:
		m.Score = 0.9 - first.likely - last.likely
	}
	if !email && !linkedIn && haveCommonDomain(a.Emails, b.Emails) {
		m.Score -= 0.04 // each has an own address there
	}
	m.Score = round(m.Score)
	return m
}

// penalties are what the likeness of a part of the name takes from the score: if something else identifies the person, and if
// nothing does.
var penalties = map[match.Likeness]struct{ sure, likely float64 }{
	match.Equal: {}, match.Half: {0.01, 0.05}, match.Nickname: {0.01, 0.04}, match.Typo: {0.02, 0.07}, match.Initial: {0.02, 0.09}, match.Missing: {0.03, 0.2},
}

// scoreOtherName is the score of contacts with incompatible names. With the same first name, the last name may have
// changed.
func scoreOtherName(email, linkedIn, phone, account bool, names match.Names, reasons *Reasons) float64 {
	if hasFirst(names) && (email || linkedIn || phone) {
		*reasons |= OtherLastName
		switch {
		case email:
			return 0.93
		case linkedIn:
			return 0.91
		case account:
			return 0.86
		}
		return 0.82
	}
	*reasons |= DifferentNames
	if email {
		return differentNames
	}
	return 0
}

func reasonOf(n match.Names) (r Reasons) {
	if n.First == match.Equal && n.Last == match.Equal {
		r = SameName
	}
	if n.Swapped {
		r |= SwappedNames
	}
	for _, like := range []match.Likeness{n.First, n.Last} {
		switch like {
		case match.Missing:
			r |= MissingName
		case match.Initial:
			r |= Initial
		case match.Typo:
			r |= Typo
		case match.Nickname:
			r |= Nickname
		case match.Half:
			r |= PartOfName
		}
	}
	return r
}

// haveCommonDomain reports whether both have an address of their own at one domain.
func haveCommonDomain(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool {
		return slices.ContainsFunc(b, func(y string) bool { return x != y && address.DomainOf(x) == address.DomainOf(y) })
	})
}

// round makes sums of hundredths exact.
func round(score float64) float64 { return min(1, max(0, float64(int(score*100+0.5))/100)) }
