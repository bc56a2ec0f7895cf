package shape

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/fault"
)

// CustomPrefix starts the key of every custom field in a record.
const CustomPrefix = "custom_field_"

// maxMulti is the number of entries that a custom field of type multi may have.
const maxMulti = 1000

// Custom holds the custom fields of a record that have a value, by key including CustomPrefix. A
// value is a string, float64, bool or []any of strings, as encoding/json decodes it. A record
// struct has a field of this type with the tag json:",embed".
type Custom map[string]any

// CustomField is a field that an organization added to an entity.
type CustomField struct {
	Field
	ID uuid.UUID
}

// NewCustomField returns a custom field. allowed lists the values of the types enum and multi.
func NewCustomField(id uuid.UUID, key, label string, typ Type, allowed []string) CustomField {
	types := map[Type]reflect.Type{
		TypeText: textType, TypeEnum: textType, TypeNumber: numberType, TypeDate: dateType,
		TypeBoolean: reflect.TypeFor[bool](), TypeMulti: reflect.TypeFor[[]string](),
	}
	field := Field{Key: CustomPrefix + key, Label: label, Type: typ, MaxLen: MaxText, typ: types[typ]}
	f := CustomField{ID: id, Field: field}
	switch typ {
	case TypeEnum:
		f.Enum = allowed
	case TypeMulti:
		f.Enum, f.MaxLen = allowed, maxMulti
	}
	return f
}

// Allowed returns the part of a stored value that the field allows, or nil.
func (f *CustomField) Allowed(value any) any {
	switch v := value.(type) {
	case string:
		if f.Enum != nil && !slices.Contains(f.Enum, v) {
			return nil
		}
	case []any:
		allowed := slices.DeleteFunc(slices.Clone(v), func(entry any) bool {
			text, _ := entry.(string)
			return f.Enum != nil && !slices.Contains(f.Enum, text)
		})
		if len(allowed) == 0 {
			return nil
		}
		return allowed
	}
	return value
}

// Customs is a snapshot of the custom fields of an entity in one organization.
type Customs struct {
	Fields []CustomField
	byKey  map[string]int
}

// NewCustoms returns the set of the given fields.
func NewCustoms(fields []CustomField) *Customs {
	c := &Customs{Fields: fields, byKey: make(map[string]int, len(fields))}
	for i, f := range fields {
		c.byKey[f.Key] = i
	}
	return c
}

// Find returns the field with the key, or nil.
func (c *Customs) Find(key string) *CustomField {
	if i, known := c.byKey[key]; known {
		return &c.Fields[i]
	}
	return nil
}

// Custom returns a pointer to the custom fields of rec, which is a pointer to the struct. It
// returns nil if records of this type have no custom fields.
func (s *Struct) Custom(rec any) *Custom {
	if s.custom == nil {
		return nil
	}
	return reflect.ValueOf(rec).Elem().FieldByIndex(s.custom).Addr().Interface().(*Custom)
}

// HasCustom reports whether records of this type have custom fields.
func (s *Struct) HasCustom() bool { return s.custom != nil }

// DecodeCustom sets the custom fields that are members of object and adds every problem to p. null
// and empty values clear a field. DecodeCustom replaces the map in into and never modifies it.
func DecodeCustom(object Value, into *Custom, fields *Customs, p *fault.Problems) {
	var changed Custom
	d := decoder{mode: Update, p: p}
	for _, m := range object.Members {
		if !strings.HasPrefix(m.Key, CustomPrefix) {
			continue
		}
		f := fields.Find(m.Key)
		if f == nil {
			p.Invalid(m.Key, "unknown field")
			continue
		}
		if changed == nil {
			if changed = maps.Clone(*into); changed == nil {
				changed = Custom{}
			}
		}
		if v := d.custom(m.Value, f); v == nil {
			delete(changed, m.Key)
		} else {
			changed[m.Key] = v
		}
	}
	if changed != nil {
		*into = changed
	}
}

// custom returns a value in the form in which records store it, or nil for no value.
func (d *decoder) custom(v Value, f *CustomField) any {
	if f.isNone(v) {
		return nil
	}
	dst := reflect.New(f.typ).Elem()
	before := d.p.Count()
	d.value(v, dst, &f.Field, f.Key)
	if d.p.Count() > before {
		return nil
	}
	switch v := dst.Interface().(type) {
	case Number:
		return v.Float
	case bool:
		return v
	case []string:
		if len(v) == 0 {
			return nil
		}
		list := make([]any, len(v))
		for i := range v {
			list[i] = v[i]
		}
		return list
	}
	return dst.String()
}

// diffCustom returns the keys of the custom fields in which two records differ.
func diffCustom(a, b Custom) []string {
	var changed []string
	for key := range a {
		if !reflect.DeepEqual(a[key], b[key]) {
			changed = append(changed, key)
		}
	}
	for key := range b {
		if _, both := a[key]; !both {
			changed = append(changed, key)
		}
	}
	slices.Sort(changed)
	return changed
}

// openToCustom allows custom fields in the schema of an object. Code generators ignore
// patternProperties and turn an open object into a map, so the object is open. For inputs,
// propertyNames closes it again.
func (s *Schema) openToCustom(view View) {
	key := CustomPrefix + "[a-z][a-z0-9_]{0,62}"
	value := &Schema{
		Description: "A custom field of the organization. GET /v1/fields lists them. Fields without a value are absent.",
		AnyOf: []*Schema{
			{Type: Types{"string"}}, {Type: Types{"number"}}, {Type: Types{"boolean"}},
			{Type: Types{"array"}, Items: &Schema{Type: Types{"string"}}},
		},
	}
	if view != Answer {
		value.AnyOf = append(value.AnyOf, &Schema{Type: Types{"null"}})
		s.Names = &Schema{Pattern: "^(" + strings.Join(append(slices.Clone(s.Properties.keys), key), "|") + ")$"}
	}
	s.Patterns = s.Patterns.Set("^"+key+"$", value)
	s.Additional = &Schema{}
}
