package admin

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/internal/address"
)

// erasedText stands for what was erased from a text.
const erasedText = "[erased]"

// personal are the members that describe a person, in objects that have the person's address.
var personal = []string{
	"first_name", "last_name", "full_name", "name", "contact_name", "email", "contact_email", "to", "title", "phone_number",
	"linkedin_url", "location", "notes", "subject", "body", "headers", "external_id", "addresses", "thread_address",
}

// eraser removes a person from texts and JSON.
type eraser struct {
	email string      // canonical
	Texts []string    `json:"texts"` // the address as it is spelled, full names, phone numbers and URLs
	IDs   []string    `json:"ids"`   // of the contacts, those that were merged into them, and the Tasks of their sequences
	Names [][2]string `json:"names"` // first and last
}

func (e *eraser) add(texts ...string) {
	for _, text := range texts {
		if len(text) > 3 && !slices.Contains(e.Texts, text) {
			e.Texts = append(e.Texts, text)
		}
	}
}

func (e *eraser) addIDs(ids ...uuid.UUID) {
	for _, id := range ids {
		if text := id.String(); !slices.Contains(e.IDs, text) {
			e.IDs = append(e.IDs, text)
		}
	}
}

// matches reports whether a stored value may contain the person, also without mentioning it.
func (e *eraser) matches(value []byte) bool {
	return e.mentions(value) || slices.ContainsFunc(e.IDs, func(id string) bool { return bytes.Contains(value, []byte(id)) })
}

// mentions reports whether a stored value has the address or a name of the person.
func (e *eraser) mentions(value []byte) bool {
	lower := asciiLower(string(value))
	return slices.ContainsFunc(e.Texts, func(text string) bool { return strings.Contains(lower, asciiLower(text)) })
}

// isNamed reports whether the cells of a row mention the person, whose first and last names may be in two cells or in
// two members of a JSON object.
func (e *eraser) isNamed(cells []string) bool {
	return slices.ContainsFunc(cells, func(cell string) bool { return e.matches([]byte(cell)) }) ||
		slices.ContainsFunc(e.Names, func(name [2]string) bool { return hasName(cells, name[0]) && hasName(cells, name[1]) })
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
// before its JSON.
func (e *eraser) edit(value []byte) []byte {
	if !e.matches(value) {
		return nil
	}
	if at := bytes.IndexAny(value, "{["); at >= 0 && at < 32 {
		for _, end := range []string{"", "}"} { // members of Previews are stored without their last brace
			whole := jsontext.Value(string(value[at:]) + end)
			if !whole.IsValid() {
				continue
			}
			edited, changed := e.json(whole, "", false)
			if !changed {
				return nil
			}
			return append(slices.Clone(value[:at]), bytes.TrimSuffix(edited, []byte(end))...)
		}
	}
	edited := e.text(string(value))
	if edited == string(value) {
		return nil
	}
	return []byte(edited)
}

// text returns a text without the person.
func (e *eraser) text(s string) string {
	for _, text := range e.Texts {
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

// json returns a value without the person. ofPerson tells that the value is in an object with the address.
func (e *eraser) json(v jsontext.Value, name string, ofPerson bool) (jsontext.Value, bool) {
	isPersonal := ofPerson && (slices.Contains(personal, name) || strings.HasPrefix(name, "custom_field_"))
	switch v.Kind() {
	case jsontext.KindString:
		if isPersonal && string(v) != `""` {
			return jsontext.Value("null"), true
		}
		var s string
		if json.Unmarshal(v, &s) != nil || isIDOrTime(s) {
			return v, false
		}
		erased := e.text(s)
		if inner := jsontext.Value(s); strings.HasPrefix(s, "{") && inner.IsValid() { // such as a stored answer
			edited, _ := e.json(inner, "", false)
			erased = string(edited)
		}
		if erased == s {
			return v, false
		}
		return encode(erased), true
	case jsontext.KindBeginArray:
		var items []jsontext.Value
		if json.Unmarshal(v, &items) != nil {
			return v, false
		}
		out := jsontext.Value("[")
		changed := false
		for i, item := range items {
			edited, is := e.json(item, name, false)
			changed = changed || is
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, edited...)
		}
		return append(out, ']'), changed
	case jsontext.KindBeginObject:
		return e.object(v, ofPerson)
	}
	return v, false
}

func (e *eraser) object(v jsontext.Value, ofPerson bool) (jsontext.Value, bool) {
	type member struct{ name, value jsontext.Value }
	var members []member
	d := jsontext.NewDecoder(bytes.NewReader(v))
	_, _ = d.ReadToken()
	for d.PeekKind() == jsontext.KindString {
		name, err := d.ReadValue()
		if err != nil {
			return v, false
		}
		name = slices.Clone(name)
		value, err := d.ReadValue()
		if err != nil {
			return v, false
		}
		members = append(members, member{name, slices.Clone(value)})
		var s string
		if value.Kind() == jsontext.KindString && json.Unmarshal(value, &s) == nil {
			ofPerson = ofPerson || address.Key(s) == e.email || string(name) == `"id"` && slices.Contains(e.IDs, s)
		}
	}
	isPerson := slices.ContainsFunc(members, func(m member) bool { return string(m.name) == `"last_name"` })
	out, changed := jsontext.Value("{"), false
	for i, m := range members {
		var name string
		_ = json.Unmarshal(m.name, &name)
		edited, is := e.json(m.value, name, ofPerson)
		if name == "title" && !isPerson && edited.Kind() == jsontext.KindNull && is { // a Task must have one
			edited = encode(erasedText)
		}
		changed = changed || is
		if i > 0 {
			out = append(out, ',')
		}
		key := m.name
		if erased := e.text(name); erased != name {
			key, changed = encode(erased), true
		}
		out = append(append(append(out, key...), ':'), edited...)
	}
	return append(out, '}'), changed
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
