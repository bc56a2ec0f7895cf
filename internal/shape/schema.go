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

// Nothing is the schema that no value satisfies: false.
var Nothing = &Schema{nothing: true}

func (s *Schema) MarshalJSON() ([]byte, error) {
	if s.nothing {
		return []byte("false"), nil
	}
	type plain Schema
	return json.Marshal((*plain)(s))
}

// Types is the type keyword. It is written as a string if it has one element.
type Types []string

func (t Types) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

// Properties is a map of schemas that keeps its order in JSON.
type Properties struct {
	keys    []string
	schemas []*Schema
}

// Set appends a property, or replaces the one with the same key. The receiver may be nil.
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

// View selects which side of a struct a schema describes.
type View string

const (
	Answer      View = ""       // a response: every field is present
	CreateInput View = "Create" // the body that creates a record, and every other input
	UpdateInput View = "Update" // the body that changes a record: nothing is required
)

// Components are the named schemas of a document.
type Components map[string]*Schema

// Of returns the schema of the type t. Structs become components, and the schema refers to them.
func (c Components) Of(t reflect.Type, view View) *Schema {
	return c.schema(&Field{typ: t, Required: true}, view)
}

// OfField returns the schema of a field outside of a struct, such as a query parameter.
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
		s.Description = strings.TrimSpace(f.Doc + " Read-only. Accepted if it equals the current value.")
	}
	return s
}

// nullable reports whether the field may be null: in an input if it is not required, in a response
// if its type can represent no value and it has no default.
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

// plain returns the schema of the type, without the rules of the field.
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
		if f.Named && view != Answer {
			return &Schema{Type: Types{"string"}, Description: "An id or a name."}
		}
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
		entry.typ, entry.Doc, entry.MaxLen = f.typ.Elem(), "", 0
		entry.Required, entry.ReadOnly, entry.Fixed = true, false, false
		s := &Schema{Type: Types{"array"}, Items: c.schema(&entry, f.entryView(view))}
		if view != Answer {
			s.MaxItems = f.MaxLen
			if f.Required || f.NonEmpty {
				s.MinItems = 1
			}
		}
		return s
	}
	panic("shape: no schema for " + f.typ.String())
}

// bounds adds the limits of a single value. Schemas of responses have no limits beyond the type.
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
	if f.Default != "" && view == CreateInput { // an update keeps absent members
		s.Default = f.zero().Interface()
	}
}

func orBound(given *float64, bound float64) *float64 {
	if given == nil {
		return &bound
	}
	return given
}

// orEmpty also allows the empty string, which means no value in an input. It leaves the format and the
// enum alone. Formats are annotations, and code generators derive a type only from a format that stands
// alone. In an enum, "" would be a value of the generated type.
func (s *Schema) orEmpty() {
	if s.Pattern != "" {
		s.Pattern = "^$|" + s.Pattern
	}
}

// orNullSchema also allows null. A nullable enum or reference becomes an anyOf, which code generators
// understand. So does a value with a default: generators make a property required if it has a default
// itself.
func orNullSchema(s *Schema) *Schema {
	if s.Enum == nil && s.Ref == "" && s.Default == nil {
		s.Type = append(s.Type, "null")
		return s
	}
	inner := *s
	inner.Description = ""
	return &Schema{AnyOf: []*Schema{&inner, {Type: Types{"null"}}}}
}

// object returns a reference to the component of the struct t, and adds the component on first use.
func (c Components) object(t reflect.Type, view View) *Schema {
	name := TypeName(t)
	if !strings.HasSuffix(name, "Body") { // a type named …Body is only used as an input
		name += string(view)
	}
	if _, ok := c[name]; !ok {
		s := &Schema{Type: Types{"object"}}
		c[name] = s
		for _, f := range OfType(t).Fields {
			if (f.ReadOnly || f.UpdateOnly) && view == CreateInput || f.Input && view != CreateInput {
				continue
			}
			s.Properties = s.Properties.Set(f.Key, c.schema(&f, view))
			if f.Edits && view == UpdateInput {
				s.Properties = s.Properties.
					Set("add_"+f.Key, c.edit(&f, "Entries to add to "+f.Key+".")).
					Set("remove_"+f.Key, c.edit(&f, "Entries to remove from "+f.Key+"."))
			}
			if view == Answer && !f.Optional || view == CreateInput && f.Required {
				s.Required = append(s.Required, f.Key)
			}
		}
		if view != Answer {
			s.Additional = Nothing
		}
		if OfType(t).HasCustom() {
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

// RefTo returns a reference to a component.
func RefTo(component string) *Schema { return &Schema{Ref: "#/components/schemas/" + component} }
