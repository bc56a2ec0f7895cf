package shape

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	stdjson "encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Fingerprint identifies the JSON members of the struct. It changes when a member is added, removed or moved, and when
// its JSON type or its default changes, at any depth.
func (s *Struct) Fingerprint() string {
	var b strings.Builder
	s.describeMembers(&b, nil)
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:16])
}

func (s *Struct) describeMembers(b *strings.Builder, outer []reflect.Type) {
	b.WriteByte('{')
	for _, f := range s.Fields {
		if f.Input {
			continue
		}
		fmt.Fprintf(b, "%q:", f.Key)
		describeType(b, f.typ, outer)
		if f.Default != "" {
			fmt.Fprintf(b, "=%q", f.Default)
		}
		if f.Optional {
			b.WriteByte('?')
		}
		b.WriteByte(',')
	}
	if s.HasCustom() {
		b.WriteString("custom")
	}
	b.WriteByte('}')
}

// describeType writes what the JSON of a type looks like. outer has the structs around it, for types that contain
// themselves.
func describeType(b *strings.Builder, t reflect.Type, outer []reflect.Type) {
	if encodesItself(t) {
		b.WriteString(t.Name())
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		b.WriteByte('*')
		describeType(b, t.Elem(), outer)
	case reflect.Slice, reflect.Array:
		b.WriteString("[]")
		describeType(b, t.Elem(), outer)
	case reflect.Map:
		b.WriteString("map ")
		describeType(b, t.Elem(), outer)
	case reflect.Struct:
		if slices.Contains(outer, t) {
			b.WriteString("...")
			return
		}
		OfType(t).describeMembers(b, append(outer, t))
	default:
		b.WriteString(t.Kind().String())
	}
}

var encoders = []reflect.Type{
	reflect.TypeFor[json.MarshalerTo](), reflect.TypeFor[stdjson.Marshaler](), reflect.TypeFor[encoding.TextMarshaler](),
}

// encodesItself reports whether the JSON of a type does not follow from its fields.
func encodesItself(t reflect.Type) bool {
	return slices.ContainsFunc(encoders, func(e reflect.Type) bool { return t.Implements(e) })
}

// SetDefaults adds to a stored record the members that it lacks and that have a default, also in the objects within it.
// The members are added behind the others. It returns public itself if there is nothing to add.
func (s *Struct) SetDefaults(public []byte) ([]byte, error) {
	if !s.hasDefaults(nil) {
		return public, nil
	}
	filled, err := s.fill(public)
	if err != nil {
		return nil, err
	}
	if len(filled) == len(public) { // members are only ever added
		return public, nil
	}
	return filled, nil
}

func (s *Struct) hasDefaults(outer []*Struct) bool {
	if slices.Contains(outer, s) {
		return false
	}
	return slices.ContainsFunc(s.Fields, func(f Field) bool {
		if f.Input {
			return false
		}
		if f.Default != "" {
			return true
		}
		inner := nestedStruct(f.typ)
		return inner != nil && inner.hasDefaults(append(outer, s))
	})
}

// nestedStruct describes the objects that a value of the type is or contains; nil if there are none.
func nestedStruct(t reflect.Type) *Struct {
	for !encodesItself(t) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			t = t.Elem()
		case reflect.Struct:
			return OfType(t)
		default:
			return nil
		}
	}
	return nil
}

// fill copies an object, with the defaults of members that it lacks behind the others. It keeps other values as they
// are.
func (s *Struct) fill(object jsontext.Value) (jsontext.Value, error) {
	if object.Kind() != jsontext.KindBeginObject {
		return object, nil
	}
	out, given := jsontext.Value("{"), make([]bool, len(s.Fields))
	add := func(name, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	err := eachMember(object, func(name, value jsontext.Value) (err error) {
		key, err := jsontext.AppendUnquote(nil, name)
		if err != nil {
			return err
		}
		if i, known := s.byKey[string(key)]; known {
			given[i] = true
			if inner := nestedStruct(s.Fields[i].typ); inner != nil && inner.hasDefaults(nil) {
				value, err = fillNested(s.Fields[i].typ, inner, value)
			}
		}
		add(name, value)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, f := range s.Fields {
		if given[i] || f.Input || f.Optional {
			continue
		}
		if zero := f.zero(); !zero.IsZero() {
			value, err := json.Marshal(zero.Interface(), json.Deterministic(true))
			if err != nil {
				return nil, err
			}
			add([]byte(`"`+f.Key+`"`), value)
		}
	}
	return append(out, '}'), nil
}

// fillNested fills the objects in a value of the type.
func fillNested(t reflect.Type, inner *Struct, value jsontext.Value) (jsontext.Value, error) {
	switch t.Kind() {
	case reflect.Pointer:
		return fillNested(t.Elem(), inner, value)
	case reflect.Slice, reflect.Array:
		var items []jsontext.Value
		if err := json.Unmarshal(value, &items); err != nil || items == nil {
			return value, err
		}
		for i, item := range items {
			var err error
			if items[i], err = fillNested(t.Elem(), inner, item); err != nil {
				return nil, err
			}
		}
		return json.Marshal(items)
	case reflect.Map:
		if value.Kind() != jsontext.KindBeginObject {
			return value, nil
		}
		out := jsontext.Value("{")
		err := eachMember(value, func(name, member jsontext.Value) error {
			member, err := fillNested(t.Elem(), inner, member)
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(append(append(out, name...), ':'), member...)
			return err
		})
		return append(out, '}'), err
	}
	return inner.fill(value)
}

// eachMember calls fn for the members of an object, with the name as it is quoted.
func eachMember(object jsontext.Value, fn func(name, value jsontext.Value) error) error {
	d := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() == jsontext.KindString {
		name, err := d.ReadValue()
		if err != nil {
			return err
		}
		name = name.Clone()
		value, err := d.ReadValue()
		if err != nil {
			return err
		}
		if err := fn(name, value.Clone()); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}
