package console

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// value describes a schema in words.
type value struct {
	Type     string // such as "string", "array of" or "one of"
	Link     string // the named schema that the type is, or consists of
	Nullable bool
	Enum     []string
	Notes    []string // limits and the default
	Text     string
	Fields   []field // of an object
	Forms    []value // of a choice
	Inside   string  // summary of Fields and Forms
	Open     bool    // Fields and Forms are initially visible
}

// field is a member of an object.
type field struct {
	Name       string
	Pattern    bool   // the name is a pattern
	Presence   string // "required" or "may be absent", if that differs from what a reader expects
	Deprecated bool
	value
}

// describer describes the schemas of a document.
type describer struct {
	*document
	responses bool // members are expected to be present, unlike in requests
	links     bool // references stay links; otherwise the schema is described in place
}

// describe returns the description of a schema. References to schemas in within stay links, because a
// schema may contain itself.
func (d describer) describe(s *schema, within ...string) value {
	if s == nil {
		return value{Type: "anything"}
	}
	s, nullable := s.simplified()
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
		v.collect("array of", d.describe(s.Items, within...))
	case s.isMap():
		v.collect("object of", d.describe(s.Additional, within...))
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

// refer describes a reference to a named schema.
func (v *value) refer(d describer, name string, within []string) {
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

// choose describes a choice: in one line if its alternatives are simple types, otherwise as a list.
func (v *value) choose(d describer, forms []*schema, words string, within []string) {
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

// collect makes v a collection of inner.
func (v *value) collect(words string, inner value) {
	v.Type, v.Link, v.Fields, v.Forms = strings.TrimSpace(words+" "+inner.Type), inner.Link, inner.Fields, inner.Forms
	v.Enum, v.Inside = inner.Enum, inner.Inside
	for _, n := range inner.Notes {
		v.Notes = append(v.Notes, "each "+n)
	}
	if v.Text == "" {
		v.Text = inner.Text
	}
}

func (d describer) fields(s *schema, within []string) []field {
	var fields []field
	for _, m := range s.Properties {
		f := field{Name: m.name, Deprecated: m.schema.Deprecated, value: d.describe(m.schema, within...)}
		switch required := slices.Contains(s.Required, m.name); {
		case required && !d.responses:
			f.Presence = "required"
		case !required && d.responses:
			f.Presence = "may be absent"
		}
		f.Open = d.responses && m.name == "data"
		fields = append(fields, f)
	}
	for _, m := range s.Patterns {
		fields = append(fields, field{Name: m.name, Pattern: true, value: d.describe(m.schema, within...)})
	}
	return fields
}

// notes returns the limits and the default of a value.
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

// number formats a number. The limits of exact integers in JSON are written as powers.
func number(f float64) string {
	switch f {
	case 1 << 53:
		return "2⁵³"
	case -1 << 53:
		return "−2⁵³"
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
