package shape

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// MemberText gives a text of a record, as the store has it, by the beginning of its member: "key":". That must stand nowhere else in
// the record, which is so where no object in it has the key: within a text a quote has a backslash before it. To decode the whole
// record would take ten times as long.
func MemberText(public, member string) string {
	m := NewMembers(public)
	return m.Text(member)
}

// Members gives several members of a record, as MemberText does. It is fastest when they are asked for in the order in which they
// stand in the record.
type Members struct {
	public string
	rest   string // behind what was found last
}

// NewMembers gives the members of a record as the store has it.
func NewMembers(public string) Members { return Members{public, public} }

// find goes to what is behind the beginning of a member.
func (m *Members) find(member string) bool {
	for _, part := range [...]string{m.rest, m.public} {
		if _, rest, found := strings.Cut(part, member); found {
			m.rest = rest
			return true
		}
	}
	return false
}

// Flag tells whether a member is true. It is named by its beginning: "key":
func (m *Members) Flag(member string) bool {
	return m.find(member) && strings.HasPrefix(m.rest, "true")
}

// Text gives the text of a member, "" when there is none. It is named by its beginning: "key":"
func (m *Members) Text(member string) string {
	if !m.find(member) {
		return ""
	}
	rest, end := m.rest, 0
	for ; rest[end] != '"'; end++ {
		if rest[end] == '\\' {
			end++ // whatever is behind it is no end
		}
	}
	m.rest = rest[end:]
	if text := rest[:end]; strings.IndexByte(text, '\\') < 0 {
		return text
	}
	text, err := jsontext.AppendUnquote(nil, `"`+rest[:end]+`"`)
	if err != nil {
		panic(err) // the store has checked that it is what was written
	}
	return string(text)
}
