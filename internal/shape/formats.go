package shape

import (
	"errors"
	"net/mail"
	"net/url"
	"strings"
	"time"
	"unicode"
)

// formats turn a text into the form that is kept, or say what is wrong with it.
var formats = map[string]func(string) (string, error){
	"email":     func(s string) (string, error) { return s, checkEmail(s) },
	"domain":    Domain,
	"time_zone": func(s string) (string, error) { return s, checkTimeZone(s) },
}

// checkEmail accepts one addr-spec and nothing around it: no display name, comment or space.
func checkEmail(s string) error {
	a, err := mail.ParseAddress(s)
	if err != nil || (&mail.Address{Address: a.Address}).String() != "<"+s+">" {
		return errors.New("must be an email address such as ada@acme.example")
	}
	return nil
}

// checkTimeZone accepts IANA names. "Local" is what this machine happens to be set to, which is no name.
func checkTimeZone(s string) error {
	if _, err := time.LoadLocation(s); err != nil || s == "Local" {
		return errors.New("must be an IANA time zone such as Europe/Berlin")
	}
	return nil
}

// Domain is the lower-case domain of a website: without scheme, user, www, port, path and query.
func Domain(s string) (string, error) {
	bad := errors.New("must be a website or domain such as acme.example")
	d := strings.TrimSpace(Fold(s))
	if _, rest, ok := strings.Cut(d, "://"); ok {
		d = rest
	}
	d = strings.TrimPrefix(d, "//")
	u, err := url.Parse("//" + d)
	if err != nil {
		return "", bad
	}
	d = strings.TrimSuffix(strings.TrimPrefix(u.Hostname(), "www."), ".")
	if !strings.Contains(d, ".") || len(d) > 253 {
		return "", bad
	}
	for label := range strings.SplitSeq(d, ".") {
		if label == "" || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") ||
			strings.ContainsFunc(label, func(r rune) bool {
				return r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r)
			}) {
			return "", bad
		}
	}
	return d, nil
}
