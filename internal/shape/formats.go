package shape

import (
	"fmt"
	"net/mail"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // the zones must not depend on the machine
)

// formats turn a text into the form that is kept, or say what is wrong with it.
var formats = map[string]func(string) (string, error){
	"email":     func(s string) (string, error) { return s, checkEmail(s) },
	"domain":    Domain,
	"time_zone": func(s string) (string, error) { return s, checkTimeZone(s) },
}

// HasFormat tells whether a text is of the field's format, such as an email address.
func (f *Field) HasFormat(text string) bool {
	check := formats[f.Format]
	if check == nil {
		return true
	}
	_, err := check(text)
	return err == nil
}

// emailMost is how many bytes an address may have: no mail server need take a longer one (RFC 5321, 4.5.3.1.3).
const emailMost = 254

// checkEmail accepts one addr-spec and nothing around it: no display name, comment or space.
func checkEmail(s string) error {
	if len(s) > emailMost {
		return fmt.Errorf("must be at most %d bytes, not %d", emailMost, len(s))
	}
	a, err := mail.ParseAddress(s)
	if err != nil || (&mail.Address{Address: a.Address}).String() != "<"+s+">" {
		return fmt.Errorf("%s is not an email address", Quote(s))
	}
	return nil
}

// notZones are names that the zone database of a machine may have and that are no IANA zones: what the machine itself
// is set to, and other ways of counting time.
var notZones = regexp.MustCompile(`^(Local|localtime|posixrules|Factory|posix/.*|right/.*)$`)

func checkTimeZone(s string) error {
	if _, err := time.LoadLocation(s); err != nil || notZones.MatchString(s) {
		return fmt.Errorf("%s is not an IANA time zone such as Europe/Berlin", Quote(s))
	}
	return nil
}

var domainLabel = regexp.MustCompile(`^[\p{L}\p{M}\p{Nd}_]([\p{L}\p{M}\p{Nd}_-]*[\p{L}\p{M}\p{Nd}_])?$`)

// Domain is the lower-case domain of a website: without scheme, user, www, port, path and query.
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
			return "", bad // an email address is no website
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
