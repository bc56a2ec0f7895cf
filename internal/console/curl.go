package console

import (
	"encoding/json"
	"regexp"
	"strings"
)

// curl is an example command, split at the address of the service.
type curl struct{ Before, After string }

var inQuotes = regexp.MustCompile(`"\$[A-Z_]+"`)

// The credentials that a request may need instead of an API key.
const (
	noCredential      = "none"
	sessionCredential = "session"
)

// newCurl returns the command of a request with a body or the parts of a form. $KEY and ids are shell variables.
// cookie is the name of the cookie of a session.
func newCurl(verb, path, credential, cookie string, body json.RawMessage, form []string) curl {
	c := curl{Before: "curl "}
	if verb != "GET" && (verb != "POST" || body == nil && form == nil) {
		c.Before += "-X " + verb + " "
	}
	if strings.Contains(path, "$") {
		c.Before, path = c.Before+`"`, path+`"`
	}
	c.After = path
	switch credential {
	case noCredential:
	case sessionCredential:
		c.After += " \\\n  -H \"Cookie: " + cookie + "=$SESSION\" \\\n  -H 'X-Prospector-Console: 1'"
		if verb != "GET" {
			c.After += " \\\n  -H \"Origin: $ORIGIN\""
		}
	default:
		c.After += " \\\n  -H \"Authorization: Bearer $KEY\""
	}
	if body != nil {
		text := strings.ReplaceAll(indented(body, "  "), "'", `'\''`)
		text = inQuotes.ReplaceAllStringFunc(text, func(s string) string { return `"'` + strings.Trim(s, `"`) + `'"` })
		c.After += " \\\n  -H 'Content-Type: application/json' \\\n  -d '" + text + "'"
	}
	for _, part := range form {
		c.After += " \\\n  -F '" + part + "'"
	}
	return c
}

// variable returns the name of the shell variable for a member or parameter.
func variable(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }
