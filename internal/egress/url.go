package egress

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// maxURLLength is the maximum length of a URL in characters.
const maxURLLength = 2000

// loopbackNames are the names of this machine in RFC 6761 and in the hosts files of common systems.
var loopbackNames = []string{"localhost", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback",
	"localhost.localdomain", "localhost4.localdomain4", "localhost6.localdomain6"}

// CheckURL returns what is wrong with a URL that the service is to call, or "". The host need not resolve
// yet. A host that is an address, in any spelling that some client would accept as one, is checked
// here, so that the user learns of the problem at once. The check does not replace Control.
func (p Policy) CheckURL(text string) string {
	switch {
	case utf8.RuneCountInString(text) > maxURLLength:
		return fmt.Sprintf("must be at most %d characters, not %d", maxURLLength, utf8.RuneCountInString(text))
	case !utf8.ValidString(text), strings.ContainsFunc(text, unicode.IsSpace), strings.ContainsFunc(text, unicode.IsControl):
		return "must not contain spaces or control characters"
	case strings.Contains(text, "#"):
		return "must not have a fragment (the part after #)"
	}
	u, err := url.Parse(text)
	switch {
	case p.AllowPrivate && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == ""):
		return "must be an http or https URL such as http://127.0.0.1:8080/in"
	case err != nil || !p.AllowPrivate && u.Scheme != "https" || u.Hostname() == "":
		return "must be an https URL such as https://hooks.example.com/in"
	case u.User != nil:
		return "must not contain a user name or password"
	}
	if strings.ContainsFunc(u.RawQuery, func(r rune) bool { return r > unicode.MaxASCII }) {
		return "must have a percent-encoded query"
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "must have no port or one from 1 to 65535"
		}
	}
	return p.checkHost(u.Hostname())
}

// checkHost checks the host of a URL, without brackets and port.
func (p Policy) checkHost(host string) string {
	if strings.Contains(host, ":") {
		addr, err := netip.ParseAddr(host)
		if err != nil || strings.ContainsFunc(addr.Zone(), func(r rune) bool { return !isHostChar(r) && r != '.' }) {
			return "must have a valid IPv6 address between the brackets"
		}
		return p.checkAddr(addr)
	}
	name := strings.ToLower(host)
	if strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) {
		var err error
		// net/http applies the same mapping before it dials: full-width digits become digits, and so on.
		if name, err = idna.Lookup.ToASCII(host); err != nil || !utf8.ValidString(host) {
			return "must have a valid host name"
		}
	}
	if wrong := p.checkName(name); wrong != "" {
		return wrong
	}
	// A client that decodes labels beginning with xn-- and maps the result may find an address in
	// them. Neither that client nor DNS requires valid labels, so errors are ignored here.
	decoded, _ := idna.Punycode.ToUnicode(name)
	if decoded == name {
		return ""
	}
	mapped, _ := idna.Lookup.ToASCII(decoded)
	switch {
	case isNumeric(lastLabel(mapped)), isLoopbackName(mapped):
		return p.checkName(mapped)
	case isNumeric(lastLabel(decoded)):
		return notFourNumbers
	}
	return ""
}

const notFourNumbers = "must write an IPv4 address as four decimal numbers separated by dots"

// checkName checks a host name in ASCII and lower case. Some clients take a name whose last label
// is a number for an IPv4 address (127.1, 0x7f.1, 0177.0.0.1, 2130706433). No registered name ends
// so, and only the plain spelling of an address is accepted.
func (p Policy) checkName(name string) string {
	if isNumeric(lastLabel(name)) {
		addr, err := netip.ParseAddr(name)
		if err != nil {
			return notFourNumbers
		}
		return p.checkAddr(addr)
	}
	if isLoopbackName(name) && !p.AllowPrivate {
		return notPublic
	}
	bare := strings.TrimSuffix(name, ".")
	if len(bare) > 253 {
		return "must have a valid host name"
	}
	for label := range strings.SplitSeq(bare, ".") {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, func(r rune) bool { return !isHostChar(r) }) {
			return "must have a valid host name"
		}
	}
	return ""
}

const notPublic = "must not be a loopback, private, link-local or other special-purpose address"

func (p Policy) checkAddr(addr netip.Addr) string {
	switch {
	case !p.blocks(addr):
		return ""
	case p.AllowPrivate:
		return "must not be the address of a cloud metadata service, nor a multicast or broadcast address"
	}
	return notPublic
}

func isLoopbackName(name string) bool {
	name = strings.TrimSuffix(name, ".")
	return slices.Contains(loopbackNames, name) || strings.HasSuffix(name, ".localhost")
}

func lastLabel(name string) string {
	name = strings.TrimRight(name, ".")
	return name[strings.LastIndexByte(name, '.')+1:]
}

// isNumeric reports whether a label is a number, in the digits of any script or as 0x7f, 0o177 or
// 0b1.
func isNumeric(label string) bool {
	if len(label) > 1 && label[0] == '0' && strings.IndexByte("xob", label[1]) >= 0 {
		return strings.Trim(label[2:], "0123456789abcdef") == ""
	}
	return label != "" && !strings.ContainsFunc(label, func(r rune) bool { return !unicode.IsDigit(r) })
}

// isHostChar reports whether a host name may contain r. Registered names have no underscores, but
// many names that resolve do.
func isHostChar(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
}
