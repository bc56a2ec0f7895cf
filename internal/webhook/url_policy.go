package webhook

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

// urlMax is how many characters a url may have.
const urlMax = 2000

// loopbackNames are the names that this machine has for itself, after RFC 6761 and the hosts files of the usual systems.
var loopbackNames = []string{"localhost", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback",
	"localhost.localdomain", "localhost4.localdomain4", "localhost6.localdomain6"}

// checkURL says what is wrong with a subscription's url, in words that go on from the field's name, or "" when it is
// fine. A host need not resolve yet; but one that is an address, in whatever spelling some client would take for one, is
// judged here, so that whoever subscribes hears of it at once. It is no replacement for control.
func (p addressPolicy) checkURL(text string) string {
	switch {
	case utf8.RuneCountInString(text) > urlMax:
		return fmt.Sprintf("must have at most %d characters", urlMax)
	case !utf8.ValidString(text), strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return "must not have spaces or control characters in it"
	case strings.Contains(text, "#"):
		return "must not have a fragment (# and what follows it)"
	}
	u, err := url.Parse(text)
	switch {
	case p.allowPrivate && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == ""):
		return "must be an http or https URL such as http://127.0.0.1:8080/in"
	case err != nil || !p.allowPrivate && u.Scheme != "https" || u.Hostname() == "":
		return "must be an https URL such as https://hooks.example.com/in"
	case u.User != nil:
		return "must not have a user name or password in it"
	}
	if strings.ContainsFunc(u.RawQuery, func(r rune) bool { return r > unicode.MaxASCII }) {
		return "must have its query percent-encoded"
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "must have a port from 1 to 65535, or none"
		}
	}
	return p.checkHost(u.Hostname())
}

// checkHost judges the host of a url, without brackets and port.
func (p addressPolicy) checkHost(host string) string {
	if strings.Contains(host, ":") {
		addr, err := netip.ParseAddr(host)
		if err != nil || strings.ContainsFunc(addr.Zone(), func(r rune) bool { return !ofName(r) && r != '.' }) {
			return "must have a valid IPv6 address between the brackets"
		}
		return p.checkAddr(addr)
	}
	name := strings.ToLower(host)
	if strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) {
		var err error
		// The very mapping that net/http dials by: full-width digits become digits, and so on.
		if name, err = idna.Lookup.ToASCII(host); err != nil || !utf8.ValidString(host) {
			return "must have a valid host name"
		}
	}
	if wrong := p.checkName(name); wrong != "" {
		return wrong
	}
	// A client that reads the labels that begin with xn-- and maps what it read may find an address in them. They need not
	// be valid labels for that, nor for DNS, so what is wrong with them is no reason to refuse.
	read, _ := idna.Punycode.ToUnicode(name)
	if read == name {
		return ""
	}
	mapped, _ := idna.Lookup.ToASCII(read)
	switch {
	case numeric(lastLabel(mapped)), isLoopbackName(mapped):
		return p.checkName(mapped)
	case numeric(lastLabel(read)):
		return notFourNumbers
	}
	return ""
}

const notFourNumbers = "must write an IPv4 address as four decimal numbers with dots between them"

// checkName judges a host name in ASCII and lower case. A last label that is a number makes it an IPv4 address for some
// client (127.1, 0x7f.1, 0177.0.0.1, 2130706433), and is the end of no name: then only the one plain spelling will do.
func (p addressPolicy) checkName(name string) string {
	if numeric(lastLabel(name)) {
		addr, err := netip.ParseAddr(name)
		if err != nil {
			return notFourNumbers
		}
		return p.checkAddr(addr)
	}
	if isLoopbackName(name) && !p.allowPrivate {
		return notPublic
	}
	bare := strings.TrimSuffix(name, ".")
	if len(bare) > 253 {
		return "must have a valid host name"
	}
	for label := range strings.SplitSeq(bare, ".") {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, func(r rune) bool { return !ofName(r) }) {
			return "must have a valid host name"
		}
	}
	return ""
}

const notPublic = "must not name a loopback, private, link-local or other special address"

func (p addressPolicy) checkAddr(addr netip.Addr) string {
	switch {
	case !p.refuses(addr):
		return ""
	case p.allowPrivate:
		return "must not name a cloud's metadata service, nor a multicast or broadcast address"
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

// numeric reports whether a label is a number, with the digits of any script or as 0x7f, 0o177 or 0b1.
func numeric(label string) bool {
	if len(label) > 1 && label[0] == '0' && strings.IndexByte("xob", label[1]) >= 0 {
		return strings.Trim(label[2:], "0123456789abcdef") == ""
	}
	return label != "" && !strings.ContainsFunc(label, func(r rune) bool { return !unicode.IsDigit(r) })
}

// ofName reports whether a host's name may have r in it. Underscores are in none that is registered and in many that
// resolve.
func ofName(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
}
