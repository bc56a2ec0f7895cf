// Package console is the web page that the service shows at its address.
package console

import (
	_ "embed"
	"html"
	"strings"
)

//go:embed page.html
var page string

// Page is the static page, with the version in it.
func Page(version string) []byte {
	return []byte(strings.ReplaceAll(page, "{{version}}", html.EscapeString(version)))
}
