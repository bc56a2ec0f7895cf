package shape

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// Schema is a JSON Schema (2020-12) as the API document uses it.
type Schema struct {
	Ref         string      `json:"$ref,omitempty"`
	Type        Types       `json:"type,omitempty"`
	Format      string      `json:"format,omitempty"`
	Description string      `json:"description,omitempty"`
	Enum        []string    `json:"enum,omitempty"`
	Default     any         `json:"default,omitempty"`
	Pattern     string      `json:"pattern,omitempty"`
	MinLength   int         `json:"minLength,omitempty"`
	MaxLength   int         `json:"maxLength,omitempty"`
	Minimum     *float64    `json:"minimum,omitempty"`
	Maximum     *float64    `json:"maximum,omitempty"`
	Items       *Schema     `json:"items,omitempty"`
	MinItems    int         `json:"minItems,omitempty"`
	MaxItems    int         `json:"maxItems,omitempty"`
	Properties  *Properties `json:"properties,omitempty"`
	Required    []string    `json:"required,omitempty"`
	AnyOf       []*Schema   `json:"anyOf,omitempty"`
	OneOf       []*Schema   `json:"oneOf,omitempty"`
	Patterns    *Properties `json:"patternProperties,omitempty"`
	Additional  *Schema     `json:"additionalProperties,omitempty"`
	Names       *Schema     `json:"propertyNames,omitempty"`
	MinMembers  int         `json:"minProperties,omitempty"`
	MaxMembers  int         `json:"maxProperties,omitempty"`

	nothing bool
}

// Nothing is the schema that no value satisfies.
var Nothing = &Schema{nothing: true}

func (s *Schema) MarshalJSON() ([]byte, error) {
	if s.nothing {
		return []byte("false"), nil
	}
	type plain Schema
	return json.Marshal((*plain)(s))
}

// Types is the type keyword: one name, or several where null is among them.
type Types []string

func (t Types) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

// Properties keeps the members of an object in the order a reader expects them.
type Properties struct {
	keys    []string
	schemas []*Schema
}

// Set adds a property at the end, or puts it in the place of the one that has the key.
func (p *Properties) Set(key string, s *Schema) *Properties {
	if p == nil {
		p = &Properties{}
	}
	if i := slices.Index(p.keys, key); i >= 0 {
		p.schemas[i] = s
		return p
	}
	p.keys, p.schemas = append(p.keys, key), append(p.schemas, s)
	return p
}

func (p *Properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, key := range p.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(key)
		b.Write(append(name, ':'))
		schema, err := json.Marshal(p.schemas[i])
		if err != nil {
			return nil, err
		}
		b.Write(schema)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// View is the side from which a schema looks at a struct.
type View string

const (
	Answer      View = ""       // as the service answers it: every field is there
	CreateInput View = "Create" // what creates it, and every other input
	UpdateInput View = "Update" // what changes it: nothing is required
)

// Components are the named schemas of a document.
type Components map[string]*Schema

// Of is the schema of the type t; structs become components that are referred to.
func (c Components) Of(t reflect.Type, view View) *Schema {
	return c.schema(&Field{typ: t, Required: true}, view)
}

// OfField is the schema of a field that stands alone, such as a parameter.
func (c Components) OfField(f *Field) *Schema {
	s := c.plain(f, CreateInput)
	f.bounds(s, CreateInput)
	return s
}

func (c Components) schema(f *Field, view View) *Schema {
	s := c.plain(f, view)
	if f.typ.Kind() != reflect.Slice {
		f.bounds(s, view)
	}
	if f.nullable(view) {
		if view != Answer && isString(f.typ) {
			s.orEmpty()
		}
		s = orNullSchema(s)
	}
	s.Description = f.Doc
	if view == UpdateInput && (f.ReadOnly || f.Fixed) {
		s.Description = strings.TrimSpace(f.Doc + " Read-only: accepted when it says what is already there.")
	}
	return s
}

// nullable tells whether null may stand for the field: in an input wherever nothing is required, in an answer where
// the type has a form for no value and nothing keeps it from being used.
func (f *Field) nullable(view View) bool {
	switch {
	case f.Required || f.typ == valueType && f.Component == "":
		return false
	case view != Answer:
		return true
	case f.Default != "":
		return false
	}
	switch f.typ {
	case textType, numberType, dateType, timeType, nullUUIDType, valueType:
		return true
	}
	return f.typ.Kind() == reflect.Pointer
}

// plain is the schema of the type alone.
func (c Components) plain(f *Field, view View) *Schema {
	if f.Component != "" {
		return RefTo(f.Component)
	}
	switch f.typ {
	case valueType:
		return &Schema{}
	case numberType:
		if f.Integer {
			return &Schema{Type: Types{"integer"}}
		}
		return &Schema{Type: Types{"number"}}
	case dateType:
		return &Schema{Type: Types{"string"}, Format: "date"}
	case timeType:
		return &Schema{Type: Types{"string"}, Format: "date-time"}
	case uuidType, nullUUIDType:
		return &Schema{Type: Types{"string"}, Format: "uuid"}
	}
	switch f.typ.Kind() {
	case reflect.String:
		return &Schema{Type: Types{"string"}}
	case reflect.Bool:
		return &Schema{Type: Types{"boolean"}}
	case reflect.Int:
		return &Schema{Type: Types{"integer"}}
	case reflect.Struct:
		return c.object(f.typ, view)
	case reflect.Pointer:
		return c.plain(&Field{typ: f.typ.Elem()}, view)
	case reflect.Map:
		s := &Schema{Type: Types{"object"}, Additional: c.plain(&Field{typ: f.typ.Elem()}, f.entryView(view))}
		if view != Answer {
			s.Names, s.MaxMembers = &Schema{Pattern: f.Pattern.String()}, f.MaxLen
			if f.Required {
				s.MinMembers = 1
			}
		}
		return s
	case reflect.Slice:
		entry := *f
		entry.typ, entry.Doc, entry.Required, entry.MaxLen, entry.ReadOnly, entry.Fixed = f.typ.Elem(), "", true, 0, false, false
		s := &Schema{Type: Types{"array"}, Items: c.schema(&entry, f.entryView(view))}
		if view != Answer {
			s.MaxItems = f.MaxLen
			if f.Required {
				s.MinItems = 1
			}
		}
		return s
	}
	panic("shape: no schema for " + f.typ.String())
}

// bounds writes the limits of a single value. Answers carry no limits beyond their type.
func (f *Field) bounds(s *Schema, view View) {
	if f.Enum != nil {
		s.Enum = f.Enum
	}
	if view == Answer {
		return
	}
	s.Minimum, s.Maximum = f.Min, f.Max
	if f.typ == numberType {
		s.Minimum, s.Maximum = orBound(f.Min, -MaxNumber), orBound(f.Max, MaxNumber)
	}
	if isText(f.typ) && f.Enum == nil {
		s.MaxLength = f.MaxLen
		if f.Required {
			s.MinLength = 1
		}
		if f.Pattern != nil {
			s.Pattern = f.Pattern.String()
		}
		if f.Format == "email" {
			s.Format = "email"
		}
	}
	if f.Default != "" && view == CreateInput { // in an update what is absent stays
		s.Default = f.zero().Interface()
	}
}

func orBound(given *float64, bound float64) *float64 {
	if given == nil {
		return &bound
	}
	return given
}

// orEmpty allows the empty text, which in an input is no value either. A format needs nothing: it is an annotation,
// and code generators make a type of it only where it stands alone.
func (s *Schema) orEmpty() {
	if s.Enum != nil {
		s.Enum = append(slices.Clone(s.Enum), "")
	}
	if s.Pattern != "" {
		s.Pattern = "^$|" + s.Pattern
	}
}

// orNullSchema allows null beside s. A nullable enum or reference is written as anyOf, which code generators understand.
func orNullSchema(s *Schema) *Schema {
	if s.Enum == nil && s.Ref == "" {
		s.Type = append(s.Type, "null")
		return s
	}
	inner := *s
	inner.Description, inner.Default = "", nil
	return &Schema{AnyOf: []*Schema{&inner, {Type: Types{"null"}}}, Default: s.Default}
}

// object refers to the component for the struct t, which is made when it is first asked for.
func (c Components) object(t reflect.Type, view View) *Schema {
	name := t.Name()
	if !strings.HasSuffix(name, "Body") { // a …Body is only ever an input
		name += string(view)
	}
	if _, ok := c[name]; !ok {
		s := &Schema{Type: Types{"object"}}
		c[name] = s
		for _, f := range describe(t).Fields {
			if (f.ReadOnly || f.UpdateOnly) && view == CreateInput || f.Input && view != CreateInput {
				continue
			}
			s.Properties = s.Properties.Set(f.Key, c.schema(&f, view))
			if f.Edits && view == UpdateInput {
				s.Properties = s.Properties.Set("add_"+f.Key, c.edit(&f, "Added to "+f.Key+".")).Set("remove_"+f.Key, c.edit(&f, "Taken from "+f.Key+"."))
			}
			if view == Answer && !f.Optional || view == CreateInput && f.Required {
				s.Required = append(s.Required, f.Key)
			}
		}
		if view != Answer {
			s.Additional = Nothing
		}
		if describe(t).HasCustom() {
			s.openToCustom(view)
		}
	}
	return RefTo(name)
}

func (c Components) edit(f *Field, doc string) *Schema {
	s := orNullSchema(c.plain(f, UpdateInput))
	s.Description = doc
	return s
}

// RefTo refers to a component.
func RefTo(component string) *Schema { return &Schema{Ref: "#/components/schemas/" + component} }
