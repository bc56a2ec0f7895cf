package shape

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// MemberText gives a text of a record, as the store has it, by the beginning of its member: "key":". That must stand nowhere else in
// the record, which is so where no object in it has the key: within a text a quote has a backslash before it. To decode the whole
// record would take ten times as long.
func MemberText(public, member string) string {
	_, rest, found := strings.Cut(public, member)
	if !found {
		return ""
	}
	end := 0
	for ; rest[end] != '"'; end++ {
		if rest[end] == '\\' {
			end++ // whatever is behind it is no end
		}
	}
	if text := rest[:end]; strings.IndexByte(text, '\\') < 0 {
		return text
	}
	text, err := jsontext.AppendUnquote(nil, `"`+rest[:end]+`"`)
	if err != nil {
		panic(err) // the store has checked that it is what was written
	}
	return string(text)
}
