package shape

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/fault"
)

// CustomPrefix begins the key that a custom field has in a record.
const CustomPrefix = "custom_field_"

// multiMax is how many entries a custom list may have.
const multiMax = 1000

// Custom is the custom fields of a record that have a value, by their keys with the prefix. A value is what JSON makes
// of it: string, float64, bool, or a []any of strings. A struct has it as a field with the tag json:",embed".
type Custom map[string]any

// CustomField is a field that an organization has given an entity.
type CustomField struct {
	Field
	ID uuid.UUID
}

// NewCustomField makes a field of one of the types that a custom field can have; allowed are the values of an enum or of
// a multi.
func NewCustomField(id uuid.UUID, key, label string, typ Type, allowed []string) CustomField {
	types := map[Type]reflect.Type{
		TypeText: textType, TypeEnum: textType, TypeNumber: numberType, TypeBoolean: reflect.TypeFor[bool](), TypeDate: dateType,
		TypeMulti: reflect.TypeFor[[]string](),
	}
	f := CustomField{ID: id, Field: Field{Key: CustomPrefix + key, Label: label, Type: typ, MaxLen: MaxText, typ: types[typ]}}
	switch typ {
	case TypeEnum:
		f.Enum = allowed
	case TypeMulti:
		f.Enum, f.MaxLen = allowed, multiMax
	}
	return f
}

// Customs are the custom fields of an entity in one organization, at one moment.
type Customs struct {
	Fields []CustomField
	byKey  map[string]int
}

// NewCustoms is a set of fields.
func NewCustoms(fields []CustomField) *Customs {
	c := &Customs{Fields: fields, byKey: make(map[string]int, len(fields))}
	for i, f := range fields {
		c.byKey[f.Key] = i
	}
	return c
}

// Find gives the field that has the key, nil when there is none.
func (c *Customs) Find(key string) *CustomField {
	if i, known := c.byKey[key]; known {
		return &c.Fields[i]
	}
	return nil
}

// Custom gives the custom fields of rec, a pointer to the struct; nil when the struct has none.
func (s *Struct) Custom(rec any) *Custom {
	if s.custom == nil {
		return nil
	}
	return reflect.ValueOf(rec).Elem().FieldByIndex(s.custom).Addr().Interface().(*Custom)
}

// HasCustom tells whether the struct has custom fields.
func (s *Struct) HasCustom() bool { return s.custom != nil }

// DecodeCustom sets the custom fields that are members of the object, and notes every problem by its path. null and what
// is empty clear one. The map of into is replaced, never written into.
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

// custom gives a value as it is kept, nil for none.
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

// diffCustom names the custom fields in which two records differ.
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

// openToCustom lets an object have custom fields: which there are, and of which type, GET /v1/fields says. Code generators
// pass patternProperties over and make a map of an open object; so it is open, and the names of an input close it again.
func (s *Schema) openToCustom(view View) {
	key := CustomPrefix + "[a-z][a-z0-9_]{0,62}"
	value := &Schema{
		Description: "A custom field of the organization, as GET /v1/fields lists them; there when it has a value.",
		AnyOf: []*Schema{{Type: Types{"string"}}, {Type: Types{"number"}}, {Type: Types{"boolean"}},
			{Type: Types{"array"}, Items: &Schema{Type: Types{"string"}}}},
	}
	if view != Answer {
		value.AnyOf = append(value.AnyOf, &Schema{Type: Types{"null"}})
		s.Names = &Schema{Pattern: "^(" + strings.Join(append(slices.Clone(s.Properties.keys), key), "|") + ")$"}
	}
	s.Patterns = s.Patterns.Set("^"+key+"$", value)
	s.Additional = &Schema{}
}
