package rows

import (
	"net/mail"
	"slices"
	"strings"
	"unicode"

	"prospector/internal/address"
)

// Email returns the first address in a cell such as "mailto:a@b", "Ann <a@b>" or "a@b; c@d", and the
// other addresses in it.
func Email(text string) (first string, others []string, ok bool) {
	text = strings.TrimFunc(strings.Map(visible, text), isBlank)
	if text = withoutMailto(text); address.IsEmail(text) {
		return text, nil, true
	}
	if a, err := mail.ParseAddress(text); err == nil && address.IsEmail(a.Address) {
		return a.Address, nil, true
	}
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",;|/<>()[]", r) }) {
		others = append(others, emailsIn(part)...)
	}
	if len(others) == 0 {
		return "", nil, false
	}
	unique := others[:0]
	for _, email := range others {
		if !slices.Contains(unique, email) {
			unique = append(unique, email)
		}
	}
	return unique[0], unique[1:], true
}

// emailsIn returns the addresses in a text, also after a label such as "private:". A blank separates only whole addresses:
// in "ann lee@x.example" and "ann@x.examp le" it finds none, because these are mistyped addresses and not those of lee and ann.
func emailsIn(text string) (emails []string) {
	for _, word := range strings.Fields(text) {
		email := withoutMailto(strings.Trim(word, `"'.:`))
		switch {
		case address.IsEmail(email) && strings.Contains(address.DomainOf(email), "."):
			emails = append(emails, email)
		case !strings.HasSuffix(word, ":"):
			return nil
		}
	}
	return emails
}

func withoutMailto(text string) string {
	if len(text) > 7 && strings.EqualFold(text[:7], "mailto:") {
		text, _, _ = strings.Cut(text[7:], "?")
	}
	return text
}

func isBlank(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || visible(r) == -1 }
