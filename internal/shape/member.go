package shape

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// MemberText returns the string value of one member of a stored record. member is the start of the
// member as it is encoded, "key":". It must occur only once in the record, which holds if no nested
// object has the same key, because quotes inside strings are escaped. Decoding the whole record
// would take ten times as long.
func MemberText(public, member string) string {
	m := NewMembers(public)
	return m.Text(member)
}

// Members reads several members of a stored record, like MemberText. It is fastest if they are read
// in the order in which the record has them.
type Members struct {
	public string
	rest   string // what follows the member found last
}

// NewMembers returns a reader for the members of a stored record.
func NewMembers(public string) Members { return Members{public, public} }

// find moves to the value of a member.
func (m *Members) find(member string) bool {
	for _, part := range [...]string{m.rest, m.public} {
		if _, rest, found := strings.Cut(part, member); found {
			m.rest = rest
			return true
		}
	}
	return false
}

// Flag reports whether a member is true. member is its encoded start, "key":
func (m *Members) Flag(member string) bool {
	return m.find(member) && strings.HasPrefix(m.rest, "true")
}

// Plain returns the value of a member as people write it, or "" if it is absent, null or an object.
// Lists are joined with commas, and true and false become yes and no. member is its encoded start,
// "key":
func (m *Members) Plain(member string) string {
	if !m.find(member) {
		return ""
	}
	switch m.rest[0] {
	case '"':
		m.rest = m.rest[1:]
		return m.text()
	case 't':
		return "yes"
	case 'f':
		return "no"
	case '[':
		return strings.Join(m.texts(), ", ")
	case 'n', '{':
		return ""
	}
	return m.rest[:strings.IndexAny(m.rest, ",}")]
}

// Texts returns the strings of a member that is a list. member is its encoded start, "key":
func (m *Members) Texts(member string) []string {
	if !m.find(member) || m.rest[0] != '[' {
		return nil
	}
	return m.texts()
}

func (m *Members) texts() (entries []string) {
	for m.rest = m.rest[1:]; m.rest[0] == '"' || m.rest[0] == ','; m.rest = m.rest[1:] {
		if m.rest[0] == '"' {
			m.rest = m.rest[1:]
			entries = append(entries, m.text())
		}
	}
	return entries
}

// Text returns the string value of a member, or "" if it is absent or null. member is its encoded
// start, "key":"
func (m *Members) Text(member string) string {
	if !m.find(member) {
		return ""
	}
	return m.text()
}

// text reads a string, of which the opening quote was read before, up to its closing quote.
func (m *Members) text() string {
	rest, end := m.rest, 0
	for ; rest[end] != '"'; end++ {
		if rest[end] == '\\' {
			end++ // skip the escaped character
		}
	}
	m.rest = rest[end:]
	if text := rest[:end]; strings.IndexByte(text, '\\') < 0 {
		return text
	}
	text, err := jsontext.AppendUnquote(nil, `"`+rest[:end]+`"`)
	if err != nil {
		panic(err) // the store verified the checksum, so this cannot happen
	}
	return string(text)
}
