package address

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

var errWebsite = errors.New("not a website")

// SplitWebsite returns the host and the path of a website in the form in which they are stored: the
// host in lower case without scheme, user, www, port and trailing dot, and the path with its leading
// and without a trailing slash, or "". Query and fragment are dropped. A website without a valid
// domain of at least two labels is an error.
func SplitWebsite(website string) (host, path string, err error) {
	host = strings.TrimSpace(website)
	_, rest, hasScheme := strings.Cut(host, "//")
	if hasScheme {
		host = rest
	}
	if end := strings.IndexAny(host, "?#"); end >= 0 {
		host = host[:end]
	}
	if slash := strings.IndexByte(host, '/'); slash >= 0 {
		host, path = host[:slash], strings.TrimRight(host[slash:], "/")
	}
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		if !hasScheme {
			return "", "", errWebsite // an email address
		}
		host = host[at+1:]
	}
	host, _, _ = strings.Cut(strings.ToLower(host), ":")
	host = strings.TrimSuffix(host, ".")
	if bare := strings.TrimPrefix(host, "www."); strings.Contains(bare, ".") {
		host = bare
	}
	if domain, err := Domain(host); err != nil || !strings.Contains(domain, ".") {
		return "", "", errWebsite
	}
	return host, path, nil
}

// Website returns the canonical form of a website: its domain in ASCII without www, and its path in
// lower case if it has one. For a text that is not a website it returns the text trimmed and in lower
// case.
func Website(website string) string {
	host, path, err := SplitWebsite(website)
	if err != nil {
		return Fold(strings.TrimSpace(website))
	}
	return HostOf(host) + Fold(path)
}

// HostOf returns the canonical domain of a website, or "" if it has none.
func HostOf(website string) string {
	host, _, err := SplitWebsite(website)
	if err != nil {
		return ""
	}
	domain, _ := Domain(host) // SplitWebsite has checked it
	if bare := strings.TrimPrefix(domain, "www."); strings.Contains(bare, ".") {
		return bare
	}
	return domain
}

// Hosts tells websites that identify a company from those on shared hosts, where many companies live.
// A nil *Hosts knows the embedded list.
type Hosts struct {
	more map[string]bool
}

//go:embed shared_hosts.txt
var sharedHostsText string

// sharedHosts are the embedded shared hosts.
var sharedHosts = func() map[string]bool {
	hosts := map[string]bool{}
	for line := range strings.Lines(sharedHostsText) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			hosts[line] = true
		}
	}
	return hosts
}()

// anySuffix ends an entry such as amazon.*, which stands for the name under every public suffix.
const anySuffix = ".*"

// NewHosts returns the embedded shared hosts and more of them. Each is a domain, which includes its
// subdomains, or a name under any public suffix such as amazon.*.
func NewHosts(more []string) (*Hosts, error) {
	h := &Hosts{more: map[string]bool{}}
	for _, entry := range more {
		name, wild := strings.CutSuffix(strings.TrimSpace(entry), anySuffix)
		host, err := Domain(name)
		if err != nil || wild == strings.Contains(host, ".") {
			return nil, fmt.Errorf("%q is not a domain", entry)
		}
		if wild {
			host += anySuffix
		}
		h.more[strings.TrimPrefix(host, "www.")] = true
	}
	return h, nil
}

// Version changes whenever the keys of websites change: with the function that makes them, the list
// of shared hosts or the public suffix list.
func (h *Hosts) Version() string {
	sum := sha256.New()
	fmt.Fprintln(sum, "1", Version, publicsuffix.List, sharedHostsText)
	if h != nil {
		fmt.Fprintln(sum, slices.Sorted(maps.Keys(h.more)))
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// IsShared reports whether the canonical domain of a website is a shared host or below one.
func (h *Hosts) IsShared(domain string) bool {
	for name := range Domains(domain) {
		if h.has(name) {
			return true
		}
	}
	name, _, _ := strings.Cut(registrable(domain), ".")
	return name != "" && h.has(name+anySuffix)
}

func (h *Hosts) has(name string) bool { return sharedHosts[name] || h != nil && h.more[name] }

// Website returns a website in the form in which it is stored: the domain, with the path only if the
// host is shared. A text that is not a website is returned unchanged.
func (h *Hosts) Website(website string) string {
	host, path, err := SplitWebsite(website)
	switch {
	case err != nil:
		return website
	case path != "" && h.IsShared(HostOf(host)):
		return host + path
	}
	return host
}

// Key returns what identifies the company that a website belongs to: the registrable domain. It is ""
// for a website that identifies nobody: one on a shared host, or a public suffix itself.
func (h *Hosts) Key(website string) string {
	domain := HostOf(website)
	if domain == "" || h.IsShared(domain) {
		return ""
	}
	return registrable(domain)
}

// registrable returns the registrable domain of a canonical domain by the public suffix list, or ""
// for a public suffix. An IP address is its own.
func registrable(domain string) string {
	if _, err := netip.ParseAddr(domain); err == nil {
		return domain
	}
	name, err := publicsuffix.EffectiveTLDPlusOne(domain)
	if err != nil {
		return ""
	}
	return name
}
