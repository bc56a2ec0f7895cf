package shape

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // time zones must not depend on the host

	"prospector/internal/address"
)

// formats maps the names of formats to functions that return a string in the form in which it is
// stored, or an error that describes what is wrong with it.
var formats = map[string]func(string) (string, error){
	"email":     func(s string) (string, error) { return s, checkEmail(s) },
	"domain":    domain,
	"website":   website,
	"time_zone": func(s string) (string, error) { return s, checkTimeZone(s) },

	SuppressedEmail:  suppressedEmail,
	SuppressedDomain: suppressedDomain,
}

// The formats of what a suppression suppresses. Both also take *@acme.example, @acme.example and
// *.acme.example, of which they return the domain.
const (
	SuppressedEmail  = "suppressed_email"
	SuppressedDomain = "suppressed_domain"
)

// HasFormat reports whether text satisfies the format of the field, such as an email address.
func (f *Field) HasFormat(text string) bool { return CheckFormat(f.Format, text) == nil }

// CheckFormat returns what is wrong with a text in a format. Every text is right in an unknown one.
func CheckFormat(format, text string) error {
	check := formats[format]
	if check == nil {
		return nil
	}
	_, err := check(text)
	return err
}

// checkEmail accepts one address to which a message can be sent: no display name, comment or
// surrounding space.
func checkEmail(s string) error {
	if len(s) > address.MaxEmail {
		return fmt.Errorf("must be at most %d bytes, not %d", address.MaxEmail, len(s))
	}
	if !address.IsEmail(s) {
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

// domain returns the lower-case domain of a website, without scheme, user, www, port, path and
// query.
func domain(s string) (string, error) {
	host, _, err := splitWebsite(s)
	return host, err
}

// website is like domain and keeps the path. Whether it belongs to the website depends on the host
// (see address.Hosts), which the format does not know.
func website(s string) (string, error) {
	host, path, err := splitWebsite(s)
	return host + path, err
}

func splitWebsite(s string) (host, path string, err error) {
	if host, path, err = address.SplitWebsite(s); err != nil {
		err = notDomain(s)
	}
	return host, path, err
}

func notDomain(s string) error {
	return fmt.Errorf("%s is not a website or domain such as acme.example", Quote(s))
}

func suppressedEmail(s string) (string, error) {
	if _, isWildcard := address.CutWildcard(s); isWildcard || strings.Contains(s, "*") {
		return suppressedDomain(s)
	}
	return s, checkEmail(s)
}

func suppressedDomain(s string) (string, error) {
	name, isWildcard := address.CutWildcard(s)
	if !isWildcard {
		name = s
	}
	if strings.Contains(name, "*") {
		return "", fmt.Errorf("%s has a * in a place where it has no meaning; "+
			"*@acme.example suppresses the domain acme.example with its subdomains", Quote(s))
	}
	if _, err := address.Domain(name); isWildcard && err != nil {
		return "", notDomain(s)
	}
	host, err := domain(name)
	switch {
	case err != nil:
		return "", notDomain(s)
	case address.IsPublicSuffix(host):
		return "", fmt.Errorf("%s is a public suffix, below which anybody can have a domain; "+
			"suppress the domains below it one by one", Quote(host))
	}
	return host, nil
}
