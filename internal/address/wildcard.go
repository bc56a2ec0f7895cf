package address

import "strings"

// wildcards begin the spellings of a domain with its subdomains, the longest first.
var wildcards = []string{"*@", "*.", "@"}

// CutWildcard returns the domain of *@acme.example, @acme.example or *.acme.example, all of which stand for
// the domain with its subdomains. It reports false for a text without such a beginning.
func CutWildcard(text string) (domain string, ok bool) {
	text = strings.TrimSpace(text)
	for _, prefix := range wildcards {
		if domain, ok = strings.CutPrefix(text, prefix); ok {
			return domain, true
		}
	}
	return "", false
}

// IsPublicSuffix reports whether a website or domain is one below which everybody can register domains,
// such as co.uk, by the public suffix list.
func IsPublicSuffix(website string) bool {
	domain := HostOf(website)
	return domain != "" && registrable(domain) == ""
}
