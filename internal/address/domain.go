package address

import (
	"errors"
	"iter"
	"strings"

	"golang.org/x/net/idna"
)

const (
	maxDomain = 253 // RFC 1035, 2.3.4, without the trailing dot
	maxLabel  = 63
	// maxSpelling is the length in bytes above which a spelling is not converted: the conversion takes
	// quadratic time.
	maxSpelling = 1000
)

var errDomain = errors.New("not a domain")

// profile is UTS #46, non-transitional. It accepts underscores and hyphens in any position, because
// such names exist in the DNS; isLabel refuses what the DNS cannot have.
var profile = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(),
	idna.StrictDomainName(false), idna.CheckHyphens(false))

// Domain returns the canonical form of a domain: in ASCII by IDNA, in lower case and without a
// trailing dot. A name that the DNS cannot have is an error.
func Domain(name string) (string, error) {
	if len(name) > maxSpelling {
		return "", errDomain
	}
	if ascii := strings.ToLower(name); IsASCII(name) && !strings.Contains(ascii, "xn--") {
		return checked(ascii)
	}
	ascii, err := profile.ToASCII(name)
	if err != nil {
		return "", errDomain
	}
	// A label that is encoded although it need not be would be another spelling of the same name.
	decoded, err := profile.ToUnicode(ascii)
	if err != nil {
		return "", errDomain
	}
	if again, err := profile.ToASCII(decoded); err != nil || again != ascii {
		return "", errDomain
	}
	return checked(ascii)
}

// checked returns a name in ASCII and lower case without its trailing dot if every label is valid.
func checked(name string) (string, error) {
	name = strings.TrimSuffix(name, ".")
	if len(name) > maxDomain {
		return "", errDomain
	}
	for label := range strings.SplitSeq(name, ".") {
		if !isLabel(label) {
			return "", errDomain
		}
	}
	return name, nil
}

func isLabel(label string) bool {
	if label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	for i := range len(label) {
		c := label[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// Domains yields the canonical form of a domain and of its parent domains, the most specific first.
func Domains(domain string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for more := domain != ""; more && yield(domain); {
			_, domain, more = strings.Cut(domain, ".")
		}
	}
}
