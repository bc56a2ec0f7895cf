package shape

import (
	"fmt"
	"net/mail"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // time zones must not depend on the host
)

// formats maps the names of formats to functions that return a string in the form in which it is
// stored, or an error that describes what is wrong with it.
var formats = map[string]func(string) (string, error){
	"email":     func(s string) (string, error) { return s, checkEmail(s) },
	"domain":    Domain,
	"time_zone": func(s string) (string, error) { return s, checkTimeZone(s) },
}

// HasFormat reports whether text satisfies the format of the field, such as an email address.
func (f *Field) HasFormat(text string) bool {
	check := formats[f.Format]
	if check == nil {
		return true
	}
	_, err := check(text)
	return err == nil
}

// maxEmail is the maximum length of an address in bytes. Mail servers need not accept longer ones
// (RFC 5321, 4.5.3.1.3).
const maxEmail = 254

// checkEmail accepts a bare addr-spec: no display name, comment or surrounding space.
func checkEmail(s string) error {
	if len(s) > maxEmail {
		return fmt.Errorf("must be at most %d bytes, not %d", maxEmail, len(s))
	}
	a, err := mail.ParseAddress(s)
	if err != nil || (&mail.Address{Address: a.Address}).String() != "<"+s+">" {
		return fmt.Errorf("%s is not an email address", Quote(s))
	}
	return nil
}

// notZones matches names that time.LoadLocation may accept but that are not IANA zones: the zone of
// the host, and variants of the database.
var notZones = regexp.MustCompile(`^(Local|localtime|posixrules|Factory|posix/.*|right/.*)$`)

func checkTimeZone(s string) error {
	if _, err := time.LoadLocation(s); err != nil || notZones.MatchString(s) {
		return fmt.Errorf("%s is not an IANA time zone such as Europe/Berlin", Quote(s))
	}
	return nil
}

var domainLabel = regexp.MustCompile(`^[\p{L}\p{M}\p{Nd}_]([\p{L}\p{M}\p{Nd}_-]*[\p{L}\p{M}\p{Nd}_])?$`)

// Domain returns the lower-case domain of a website, without scheme, user, www, port, path and
// query.
func Domain(s string) (string, error) {
	bad := fmt.Errorf("%s is not a website or domain such as acme.example", Quote(s))
	d := strings.TrimSpace(Fold(s))
	_, rest, hasScheme := strings.Cut(d, "//")
	if hasScheme {
		d = rest
	}
	if end := strings.IndexAny(d, "/?#"); end >= 0 {
		d = d[:end]
	}
	if at := strings.LastIndex(d, "@"); at >= 0 {
		if !hasScheme {
			return "", bad // an email address, not a website
		}
		d = d[at+1:]
	}
	d, _, _ = strings.Cut(d, ":")
	d = strings.TrimSuffix(d, ".")
	if bare := strings.TrimPrefix(d, "www."); strings.Contains(bare, ".") {
		d = bare
	}
	if !strings.Contains(d, ".") || len(d) > 253 {
		return "", bad
	}
	for label := range strings.SplitSeq(d, ".") {
		if !domainLabel.MatchString(label) {
			return "", bad
		}
	}
	return d, nil
}
