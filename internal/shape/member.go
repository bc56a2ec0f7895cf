package shape

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// MemberText returns the string value of one member of a stored record, or "" if it has none. Decoding the whole record
// would take many times as long.
func MemberText(public, key string) string {
	m := NewMembers(public)
	return m.Text(key)
}

// Members reads several members of a stored record, like MemberText. It is fastest if they are read
// in the order in which the record has them. A member of a nested object has a key such as "scoring.heat_score".
type Members struct {
	public string // compact JSON, as the store writes it
	next   int    // where the member after the one that was found last begins
}

// NewMembers returns a reader for the members of a stored record.
func NewMembers(public string) Members { return Members{public: public} }

// find returns the JSON value of a member, or "". It looks at the members after the one that was found last, and then at the
// others.
func (m *Members) find(key string) string {
	if outer, inner, isNested := strings.Cut(key, "."); isNested {
		object := m.find(outer)
		if object == "" || object[0] != '{' {
			return ""
		}
		members := NewMembers(object)
		return members.find(inner)
	}
	start := m.next
	for at, isRound := start, false; ; {
		if at+2 >= len(m.public) || m.public[at] == '}' { // the end, or no record
			if isRound || start == 0 {
				return ""
			}
			at, isRound = 0, true
		}
		if isRound && at >= start {
			return ""
		}
		name := at + 2 // behind a brace or a comma, and a quote
		value := endOfText(m.public, name) + 2
		end := endOfValue(m.public, value)
		if m.public[name:value-2] == key {
			m.next = end
			return m.public[value:end]
		}
		at = end
	}
}

// endOfText returns the index of the quote that ends the text at start.
func endOfText(s string, start int) int {
	for i := start; ; {
		i += strings.IndexByte(s[i:], '"')
		backslashes := 0
		for s[i-1-backslashes] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 {
			return i
		}
		i++
	}
}

// endOfValue returns the index behind the value at start.
func endOfValue(s string, start int) int {
	depth := 0
	for i := start; ; i++ {
		switch s[i] {
		case '"':
			i = endOfText(s, i+1)
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i
			}
			if depth == 0 {
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
}

// Flag reports whether a member is true.
func (m *Members) Flag(key string) bool { return m.find(key) == "true" }

// Plain returns the value of a member as people write it, or "" if it is absent, null or an object.
// Lists are joined with commas, and true and false become yes and no.
func (m *Members) Plain(key string) string {
	switch value := m.find(key); {
	case value == "" || value == "null" || value[0] == '{':
		return ""
	case value[0] == '"':
		return unquoted(value)
	case value[0] == '[':
		return strings.Join(texts(value), ", ")
	case value == "true":
		return "yes"
	case value == "false":
		return "no"
	default:
		return value
	}
}

// Texts returns the strings of a member that is a list.
func (m *Members) Texts(key string) []string { return texts(m.find(key)) }

// Text returns the string value of a member, or "" if it is absent or null.
func (m *Members) Text(key string) string {
	if value := m.find(key); value != "" && value[0] == '"' {
		return unquoted(value)
	}
	return ""
}

// texts returns the strings at the beginning of a list.
func texts(list string) (entries []string) {
	if !strings.HasPrefix(list, "[") {
		return nil
	}
	for at := 1; at < len(list) && list[at] == '"'; {
		end := endOfText(list, at+1) + 1
		entries = append(entries, unquoted(list[at:end]))
		at = end + 1
	}
	return entries
}

// unquoted returns the content of a JSON string.
func unquoted(quoted string) string {
	if strings.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		panic(err) // the store verified the checksum, so this cannot happen
	}
	return string(text)
}
