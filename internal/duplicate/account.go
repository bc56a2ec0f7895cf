package duplicate

import (
	"strings"

	"prospector/internal/match"
)

// Account is what tells an account from others.
type Account struct {
	Name, LegalForm string // as match.Company returns them
	Website         string // its key, or ""
	LinkedIn        string
	Country         string // folded
	Phone           string
}

// Accounts are the rules of accounts.
func Accounts() Rules[Account] {
	return Rules[Account]{
		Keys: accountKeys, Score: func(a, b *Account, _ bool) Match { return scoreAccounts(a, b) },
		Compatible: func(a, b *Account) bool { return scoreAccounts(a, b).Score >= MinScore && !areOtherForms(a, b) },
		Doubtful:   func(a, b *Account) bool { return false },
		Signature: func(a *Account) string {
			return strings.Join([]string{a.Name, a.LegalForm, a.Website, a.LinkedIn, a.Country, a.Phone}, "\x00")
		},
	}
}

// areOtherForms reports whether two accounts are companies of one name with other legal forms and nothing else in common.
func areOtherForms(a, b *Account) bool {
	isSame := a.Website != "" && a.Website == b.Website || a.LinkedIn != "" && a.LinkedIn == b.LinkedIn
	return contradicts(a.LegalForm, b.LegalForm) && !isSame
}

func accountKeys(a *Account, add func(kind byte, values ...string)) {
	for _, key := range []struct {
		kind  byte
		value string
	}{{'w', a.Website}, {'l', a.LinkedIn}, {'n', a.Name}} {
		if key.value != "" {
			add(key.kind, key.value)
		}
	}
}

// scoreAccounts compares two accounts. A website or a LinkedIn URL identifies a company, and the name does if neither the
// country nor the website contradicts.
func scoreAccounts(a, b *Account) (m Match) {
	if contradicts(a.LinkedIn, b.LinkedIn) {
		return m
	}
	website, linkedIn := a.Website != "" && a.Website == b.Website, a.LinkedIn != "" && a.LinkedIn == b.LinkedIn
	sameName := a.Name != "" && a.Name == b.Name
	country, otherCountry := a.Country != "" && a.Country == b.Country, contradicts(a.Country, b.Country)
	phone := match.SamePhone(a.Phone, b.Phone)
	form, otherForm := a.LegalForm != b.LegalForm, contradicts(a.LegalForm, b.LegalForm)
	for _, r := range []struct {
		is     bool
		reason Reasons
	}{
		{website, SameWebsite}, {linkedIn, SameLinkedIn}, {sameName, SameName}, {country, SameCountry}, {otherCountry, OtherCountry}, {phone, SamePhone},
		{sameName && form && !otherForm, LegalForm}, {sameName && otherForm, OtherLegalForm}, {!sameName, DifferentNames},
	} {
		if r.is {
			m.Reasons |= r.reason
		}
	}
	switch {
	case website || linkedIn:
		m.Score = accountScore(sameName, strings.HasPrefix(a.Name, b.Name+" ") || strings.HasPrefix(b.Name, a.Name+" "))
		if otherCountry {
			m.Score -= 0.1
		}
		if !website && a.Website != "" && b.Website != "" {
			m.Score -= 0.06
		}
	case sameName && !otherCountry && !contradicts(a.Website, b.Website):
		m.Score = 0.87
		if country || phone {
			m.Score += 0.06
		}
		switch {
		case otherForm:
			m.Score -= 0.2
		case form:
			m.Score -= 0.03
		}
	}
	m.Score = round(m.Score)
	return m
}

func accountScore(sameName, partOfName bool) float64 {
	switch {
	case sameName:
		return 0.98
	case partOfName:
		return 0.92
	}
	return 0.88
}
