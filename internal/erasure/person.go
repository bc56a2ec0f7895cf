package erasure

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/shape"
	"prospector/store"
)

// erasedText stands for what was erased from a text.
const erasedText = "[erased]"

// person is what is known of somebody who is erased. It removes them from texts and JSON.
type person struct {
	// Addresses are the canonical addresses of the person. Whatever has one of them is about the person.
	Addresses []string    `json:"addresses"`
	Texts     []string    `json:"texts"` // addresses as they are spelled, full names, phone numbers and URLs
	IDs       []string    `json:"ids"`   // of the contacts, those that were merged into them, and the Tasks of their sequences
	Names     [][2]string `json:"names"` // first and last

	forms *forms
	// kept are the custom fields of contacts that are not personal.
	kept map[string]bool
}

func (p *person) add(texts ...string) {
	for _, text := range texts {
		if len(text) > 3 && !slices.Contains(p.Texts, text) {
			p.Texts = append(p.Texts, text)
		}
	}
}

func (p *person) addIDs(ids ...uuid.UUID) {
	for _, id := range ids {
		if text := id.String(); !slices.Contains(p.IDs, text) {
			p.IDs = append(p.IDs, text)
		}
	}
}

// addName adds a full name, in both orders.
func (p *person) addName(first, last string) {
	if first != "" && last != "" && !slices.Contains(p.Names, [2]string{first, last}) {
		p.add(first+" "+last, last+", "+first)
		p.Names = append(p.Names, [2]string{first, last})
	}
}

// minPhone is the number of digits that tell a phone number from other numbers.
const minPhone = 7

func (p *person) addPhone(number string) {
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, number)
	if len(digits) >= minPhone {
		p.add(number)
	}
}

func (p *person) has(email string) bool { return slices.Contains(p.Addresses, address.Key(email)) }

// matches reports whether a stored value may contain the person, also without mentioning it.
func (p *person) matches(value []byte) bool {
	lower := asciiLower(string(value))
	return slices.ContainsFunc(p.Texts, func(text string) bool { return strings.Contains(lower, asciiLower(text)) }) ||
		slices.ContainsFunc(p.IDs, func(id string) bool { return strings.Contains(lower, id) })
}

// isNamed reports whether the cells of a row mention the person, whose first and last names may be in two cells or in
// two members of a JSON object.
func (p *person) isNamed(cells []string) bool {
	return slices.ContainsFunc(cells, func(cell string) bool { return p.matches([]byte(cell)) }) ||
		slices.ContainsFunc(p.Names, func(name [2]string) bool { return hasName(cells, name[0]) && hasName(cells, name[1]) })
}

func hasName(cells []string, name string) bool {
	return slices.ContainsFunc(cells, func(cell string) bool {
		return strings.EqualFold(strings.TrimSpace(cell), name) || strings.Contains(asciiLower(cell), `"`+asciiLower(name)+`"`)
	})
}

// asciiLower returns a text in lower case. It keeps its length, unlike that of strings.ToLower.
func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// edit returns a stored value without the person, or nil if it does not contain the person. A value may have bytes
// before its JSON. It is a store.Edit.
func (p *person) edit(at store.Place, isPrivate bool, value []byte) []byte {
	if !p.matches(value) {
		return nil
	}
	e := edit{person: p, isEvent: p.forms.personal(at.Bucket).Events}
	if start := bytes.IndexAny(value, "{["); start >= 0 && start < 32 {
		for _, end := range []string{"", "}"} { // members of Previews are stored without their last brace
			whole := jsontext.Value(string(value[start:]) + end)
			if !whole.IsValid() {
				continue
			}
			edited, changed := e.value(whole, nil, p.forms.of(at.Bucket, isPrivate), false)
			if !changed {
				return nil
			}
			return append(slices.Clone(value[:start]), bytes.TrimSuffix(edited, []byte(end))...)
		}
	}
	edited := p.text(string(value))
	if edited == string(value) {
		return nil
	}
	return []byte(edited)
}

// text returns a text without the person.
func (p *person) text(s string) string {
	for _, text := range p.Texts {
		kept, rest := "", s
		for {
			at := strings.Index(asciiLower(rest), asciiLower(text))
			if at < 0 {
				break
			}
			kept, rest = kept+rest[:at]+erasedText, rest[at+len(text):]
		}
		s = kept + rest
	}
	return s
}

// edit removes a person from the JSON of one value.
type edit struct {
	*person
	isEvent bool // what is about the person becomes an event about something that is gone
}

// value returns a value without the person. f is the field that has it, and s describes it if it is an object; both may be
// nil. isOf tells that it is in an object about the person.
func (e *edit) value(v jsontext.Value, f *shape.Field, s *shape.Struct, isOf bool) (jsontext.Value, bool) {
	if isOf && f != nil && f.Personal != "" {
		blank := jsontext.Value(f.Blank(`"` + erasedText + `"`))
		return blank, !isBlank(v) && string(v) != string(blank)
	}
	switch v.Kind() {
	case jsontext.KindString:
		return e.string(v, f)
	case jsontext.KindBeginArray:
		var items []jsontext.Value
		if json.Unmarshal(v, &items) != nil {
			return v, false
		}
		out, changed := jsontext.Value("["), false
		for _, item := range items {
			edited, is := e.value(item, nil, s, false)
			changed = changed || is
			if is && f != nil && f.Personal == shape.PersonalAddress && string(edited) == `"`+erasedText+`"` {
				continue // an address is there or not
			}
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, edited...)
		}
		return append(out, ']'), changed
	case jsontext.KindBeginObject:
		return e.object(v, s)
	}
	return v, false
}

func isBlank(v jsontext.Value) bool {
	return slices.Contains([]string{"null", `""`, "[]", "{}"}, string(v))
}

func (e *edit) string(v jsontext.Value, f *shape.Field) (jsontext.Value, bool) {
	var s string
	if json.Unmarshal(v, &s) != nil || isIDOrTime(s) {
		return v, false
	}
	erased := e.text(s)
	if inner := jsontext.Value(s); strings.HasPrefix(s, "{") && inner.IsValid() { // such as a stored answer
		edited, _ := e.value(inner, nil, nil, false)
		erased = string(edited)
	}
	switch {
	case erased == s:
		return v, false
	case erased == erasedText && f != nil && f.Personal == shape.PersonalAddress: // it must be an address or nothing
		return jsontext.Value(f.Blank(`"` + erasedText + `"`)), true
	}
	return encode(erased), true
}

type member struct {
	name      string
	key, json jsontext.Value // as they are stored
}

func membersOf(v jsontext.Value) (members []member, ok bool) {
	d := jsontext.NewDecoder(bytes.NewReader(v))
	_, _ = d.ReadToken()
	for d.PeekKind() == jsontext.KindString {
		key, err := d.ReadValue()
		if err != nil {
			return nil, false
		}
		m := member{key: slices.Clone(key)}
		value, err := d.ReadValue()
		if err != nil || json.Unmarshal(m.key, &m.name) != nil {
			return nil, false
		}
		m.json = slices.Clone(value)
		members = append(members, m)
	}
	return members, true
}

func (e *edit) object(v jsontext.Value, s *shape.Struct) (jsontext.Value, bool) {
	members, ok := membersOf(v)
	if !ok {
		return v, false
	}
	isOf := e.isAbout(members, s)
	if isOf && e.isEvent && s == nil {
		return goneEvent(v, members)
	}
	out, changed := jsontext.Value("{"), false
	for _, m := range members {
		if isOf && strings.HasPrefix(m.name, shape.CustomPrefix) && !e.kept[m.name] {
			changed = true
			continue
		}
		f := e.forms.field(s, m.name)
		edited, is := e.value(m.json, f, e.forms.inside(f), isOf)
		changed = changed || is
		if len(out) > 1 {
			out = append(out, ',')
		}
		key := m.key
		if erased := e.text(m.name); erased != m.name {
			key, changed = encode(erased), true
		}
		out = append(append(append(out, key...), ':'), edited...)
	}
	return append(out, '}'), changed
}

// isAbout reports whether an object is about the person: it has an id or an address of the person, or data that is about
// the person.
func (e *edit) isAbout(members []member, s *shape.Struct) bool {
	for _, m := range members {
		f := e.forms.field(s, m.name)
		if m.name == "id" && len(m.json) > 2 && slices.Contains(e.IDs, string(m.json[1:len(m.json)-1])) {
			return true
		}
		if inner := e.forms.inside(f); inner != nil && m.json.Kind() == jsontext.KindBeginObject && f.Component != "" {
			if of, ok := membersOf(m.json); ok && e.isAbout(of, inner) {
				return true
			}
		}
		if f == nil || f.Personal != shape.PersonalAddress {
			continue
		}
		var one string
		var many []string
		if json.Unmarshal(m.json, &one) == nil && e.has(one) || json.Unmarshal(m.json, &many) == nil && slices.ContainsFunc(many, e.has) {
			return true
		}
	}
	return false
}

// goneEvent returns the data of an event about a record that is gone, in place of that which waits.
func goneEvent(v jsontext.Value, members []member) (jsontext.Value, bool) {
	at := slices.IndexFunc(members, func(m member) bool { return m.name == "id" })
	if at < 0 || len(members) == 1 || len(members) == 2 && members[1].name == "deleted" {
		return v, false
	}
	return jsontext.Value(`{"id":` + string(members[at].json) + `,"deleted":true}`), true
}

// isIDOrTime reports whether a text is an id or a time, whose digits may look like a phone number.
func isIDOrTime(s string) bool {
	_, noID := uuid.Parse(s)
	_, noTime := time.Parse(time.RFC3339, s)
	return noID == nil || noTime == nil
}

func encode(s string) jsontext.Value {
	b, _ := jsontext.AppendQuote(nil, s)
	return b
}
