// Package address decides when two spellings of an email address, a mail domain, a website or a
// LinkedIn URL mean the same thing. Each has a canonical form, and every comparison in the service
// uses it. The package is pure: it knows no record, no store and no network.
package address

import (
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// MaxEmail is the maximum length of an email address in bytes. Mail servers need not accept longer
// ones (RFC 5321, 4.5.3.1.3).
const MaxEmail = 254

// Version changes whenever canonical forms of email addresses, mail domains or LinkedIn URLs change.
// Keys that are made of them are then rebuilt.
const Version = "1 " + idna.UnicodeVersion

// Key returns the canonical form of an email address for comparison. For a text that is not an
// address, which may have been stored by an earlier version, it returns the text trimmed and in lower
// case.
func Key(email string) string {
	email = strings.TrimSpace(email)
	at := strings.LastIndexByte(email, '@')
	if domain, err := mailDomain(email[at+1:]); at > 0 && err == nil {
		return Fold(email[:at]) + "@" + domain
	}
	return Fold(email)
}

// IsEmail reports whether a text is exactly one address (an addr-spec of RFC 5322 without display
// name, comment and surrounding space) to which a message can be sent: it has no control character
// and, before the @, no invisible one, and its domain is valid.
func IsEmail(email string) bool {
	if len(email) > MaxEmail || !utf8.ValidString(email) || strings.ContainsFunc(email, IsLineBreak) {
		return false
	}
	a, err := mail.ParseAddress(email)
	if err != nil || (&mail.Address{Address: a.Address}).String() != "<"+email+">" {
		return false
	}
	domain := DomainOf(email)
	if strings.ContainsFunc(strings.TrimSuffix(email, domain), func(r rune) bool { return unicode.Is(unicode.Cf, r) }) {
		return false
	}
	_, err = mailDomain(domain)
	return err == nil
}

// WithASCIIDomain returns an address or a Message-ID as it is sent: with its domain in ASCII. A text
// that is ASCII already, or whose domain cannot be converted, is returned unchanged.
func WithASCIIDomain(email string) string {
	if IsASCII(email) {
		return email
	}
	at := strings.LastIndexByte(email, '@') + 1
	if domain, err := mailDomain(email[at:]); err == nil {
		return email[:at] + domain
	}
	return email
}

// DomainOf returns the part of an address after its last @.
func DomainOf(email string) string { return email[strings.LastIndexByte(email, '@')+1:] }

// mailDomain returns the canonical form of the domain of an address, which may be an address literal
// such as [192.0.2.1].
func mailDomain(domain string) (string, error) {
	if strings.HasPrefix(domain, "[") && strings.HasSuffix(domain, "]") && IsASCII(domain) {
		return strings.ToLower(domain), nil
	}
	return Domain(domain)
}

// Fold returns a text in lower case and in Unicode normalization form C.
func Fold(s string) string {
	if IsASCII(s) {
		return strings.ToLower(s)
	}
	return norm.NFC.String(strings.ToLower(norm.NFC.String(s)))
}

// IsLineBreak reports whether some reader takes a character for the end of a line or of a text.
func IsLineBreak(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// IsASCII reports whether a text has only ASCII characters.
func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
