package address

import "strings"

// LinkedIn returns the canonical form of a LinkedIn URL: in lower case, without scheme, country or
// mobile host, query and trailing slash.
func LinkedIn(url string) string {
	u := Fold(strings.TrimSpace(url))
	if _, rest, has := strings.Cut(u, "//"); has {
		u = rest
	}
	if end := strings.IndexAny(u, "?#"); end >= 0 {
		u = u[:end]
	}
	u = strings.TrimRight(u, "/")
	host, path, _ := strings.Cut(u, "/")
	if host = strings.TrimPrefix(host, "www."); strings.HasSuffix(host, ".linkedin.com") {
		host = "linkedin.com"
	}
	if path == "" {
		return host
	}
	return host + "/" + path
}
