package console

import (
	"encoding/json"
	"regexp"
	"strings"
)

// curl is an example command, split at the address of the service.
type curl struct{ Before, After string }

var inQuotes = regexp.MustCompile(`"\$[A-Z_]+"`)

// newCurl returns the command of a request. $KEY and ids are shell variables.
func newCurl(verb, path string, public bool, body json.RawMessage) curl {
	c := curl{Before: "curl "}
	if verb != "GET" && (verb != "POST" || body == nil) {
		c.Before += "-X " + verb + " "
	}
	if strings.Contains(path, "$") {
		c.Before, path = c.Before+`"`, path+`"`
	}
	c.After = path
	if !public {
		c.After += " \\\n  -H \"Authorization: Bearer $KEY\""
	}
	if body != nil {
		text := strings.ReplaceAll(indented(body, "  "), "'", `'\''`)
		text = inQuotes.ReplaceAllStringFunc(text, func(s string) string { return `"'` + strings.Trim(s, `"`) + `'"` })
		c.After += " \\\n  -H 'Content-Type: application/json' \\\n  -d '" + text + "'"
	}
	return c
}

// variable returns the name of the shell variable for a member or parameter.
func variable(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }
