package console

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// value is what may stand in a place of a body, in words.
type value struct {
	Type     string // string, array of, one of
	Link     string // the named schema that the type is, or is made of
	Nullable bool
	Enum     []string
	Notes    []string // bounds and the like
	Text     string
	Fields   []field // of an object
	Forms    []value // of a choice
	Inside   string  // what fields and forms it has, in short
	Open     bool    // they are shown at once
}

// field is a member of an object.
type field struct {
	Name       string
	Pattern    bool   // the name is a pattern
	Presence   string // required, or may be absent: what is not expected
	Deprecated bool
	value
}

// reader puts schemas into words.
type reader struct {
	*document
	answers bool // of answers, where members are expected; in requests they are not
	links   bool // references stay links, else what they refer to is described in their place
}

// describe puts a schema into words. What is within already is not described once more: a schema may hold itself.
func (d reader) describe(s *schema, within ...string) value {
	if s == nil {
		return value{Type: "anything"}
	}
	s, nullable := s.settled()
	v := value{Nullable: nullable, Text: s.Description, Notes: s.notes()}
	for _, e := range s.Enum {
		if e != "" || !nullable {
			v.Enum = append(v.Enum, fmt.Sprint(e))
		}
	}
	if s.Const != nil {
		v.Enum = append(v.Enum, fmt.Sprint(s.Const))
	}
	forms, words := s.choice()
	switch {
	case s.Ref != "":
		v.refer(d, component(s.Ref), within)
	case len(forms) > 0:
		v.choose(d, forms, words, within)
	case s.Items != nil:
		v.hold("array of", d.describe(s.Items, within...))
	case s.keyed():
		v.hold("object of", d.describe(s.Additional, within...))
		if s.Names != nil && s.Names.Pattern != "" {
			v.Notes = append(v.Notes, "each key matches "+s.Names.Pattern)
		}
	case s.Type == nil:
		v.Type = "anything"
	default:
		v.Type = strings.Join(s.Type, " or ")
		if s.Format != "" {
			v.Type += " <" + s.Format + ">"
		}
		v.Fields = d.fields(s, within)
		if v.Fields != nil {
			v.Inside = plural(len(v.Fields), "property", "properties")
		}
	}
	return v
}

func (v *value) refer(d reader, name string, within []string) {
	v.Link = name
	named := d.Components.Schemas[name]
	if named == nil || d.links || slices.Contains(within, name) {
		return
	}
	inner := d.describe(named, append(slices.Clone(within), name)...)
	v.Fields, v.Forms, v.Enum = inner.Fields, inner.Forms, inner.Enum
	switch {
	case inner.Inside == "":
	case inner.Link != "": // a named list of something
		v.Inside = name + ": " + inner.Type + " " + inner.Inside
	default:
		v.Inside = name + ": " + inner.Inside
	}
	if v.Text == "" {
		v.Text = inner.Text
	}
}

// choose describes a choice: in one line when its forms are plain, else as a list.
func (v *value) choose(d reader, forms []*schema, words string, within []string) {
	var names []string
	for _, form := range forms {
		f := d.describe(form, within...)
		v.Forms = append(v.Forms, f)
		if f.Link == "" && f.Fields == nil && f.Forms == nil && f.Enum == nil && f.Notes == nil {
			names = append(names, f.Type)
		}
	}
	v.Type, v.Inside = words, plural(len(forms), "form", "forms")
	if len(names) == len(forms) && words != "all of" {
		v.Type, v.Forms, v.Inside = strings.Join(names, " or "), nil, ""
	}
}

// hold makes v a collection of what inner describes.
func (v *value) hold(words string, inner value) {
	v.Type, v.Link, v.Fields, v.Forms = strings.TrimSpace(words+" "+inner.Type), inner.Link, inner.Fields, inner.Forms
	v.Enum, v.Inside = inner.Enum, inner.Inside
	for _, n := range inner.Notes {
		v.Notes = append(v.Notes, "each "+n)
	}
	if v.Text == "" {
		v.Text = inner.Text
	}
}

func (d reader) fields(s *schema, within []string) []field {
	var fields []field
	for _, m := range s.Properties {
		f := field{Name: m.name, Deprecated: m.schema.Deprecated, value: d.describe(m.schema, within...)}
		switch required := slices.Contains(s.Required, m.name); {
		case required && !d.answers:
			f.Presence = "required"
		case !required && d.answers:
			f.Presence = "may be absent"
		}
		f.Open = d.answers && m.name == "data"
		fields = append(fields, f)
	}
	for _, m := range s.Patterns {
		fields = append(fields, field{Name: m.name, Pattern: true, value: d.describe(m.schema, within...)})
	}
	return fields
}

// notes are the bounds of a value.
func (s *schema) notes() []string {
	var notes []string
	add := func(note string) {
		if note != "" {
			notes = append(notes, note)
		}
	}
	add(between(s.MinLength, s.MaxLength, "character", "characters"))
	add(between(s.MinItems, s.MaxItems, "item", "items"))
	add(between(s.MinMembers, s.MaxMembers, "member", "members"))
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		add(number(*s.Minimum) + " to " + number(*s.Maximum))
	case s.Minimum != nil:
		add("at least " + number(*s.Minimum))
	case s.Maximum != nil:
		add("at most " + number(*s.Maximum))
	}
	if s.Pattern != "" {
		add("matches " + s.Pattern)
	}
	if s.Default != nil {
		var text string
		if json.Unmarshal(s.Default, &text) != nil {
			text = string(s.Default)
		}
		add("default " + text)
	}
	return notes
}

func between(low, high int, one, many string) string {
	switch {
	case low > 0 && high > 0:
		return fmt.Sprintf("%d to %s", low, plural(high, one, many))
	case high > 0:
		return "at most " + plural(high, one, many)
	case low > 0:
		return "at least " + plural(low, one, many)
	}
	return ""
}

func plural(n int, one, many string) string {
	if n == 1 {
		many = one
	}
	return strconv.Itoa(n) + " " + many
}

// number writes the largest numbers that JSON carries exactly as what they are.
func number(f float64) string {
	switch f {
	case 1 << 53:
		return "2⁵³"
	case -1 << 53:
		return "−2⁵³"
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
