// Package shape says what a JSON value may look like. A Go struct with tags is the one definition of a record or an
// input: the strict decoder, the JSON Schema of the API document and the fields of a list are all read from it.
// It knows no kind of record, no store and no HTTP.
//
// The tags of a field:
//
//	json:"first_name"       its key
//	input:"contact_ids"     beside json:"-": the key of what is taken at creation, and is no part of the record
//	label:"First name"      its name for people, made from the key when absent
//	rule:"required,maxlen=80"  what a value must satisfy, see parseRules
//	pattern:"^[a-z]+$"      a regular expression that text must match, and of a map its keys
//	hint:"must have …"      the same in words, for who did not
//	doc:"…"                 a sentence for the API document
package shape

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"
)

// Type is the type of a field as schemas name it.
type Type string

const (
	TypeText      Type = "text"
	TypeNumber    Type = "number"
	TypeBoolean   Type = "boolean"
	TypeDate      Type = "date"
	TypeDateTime  Type = "datetime"
	TypeEnum      Type = "enum"
	TypeMulti     Type = "multi"
	TypeReference Type = "reference"
)

// MaxText is the most characters a text may have unless its field says otherwise.
const MaxText = 10_000

// Enumerated is implemented by string types whose allowed values are computed, for example from a
// list of kinds, so that a tag need not repeat them.
type Enumerated interface {
	Values() []string
}

// Field is one member of a struct.
type Field struct {
	Key     string
	Label   string
	Doc     string
	Type    Type // empty for what a list cannot filter: objects, and lists of objects without ids
	Enum    []string
	Ref     string // the entity that a reference names
	Default string

	Required   bool // must have a value
	ReadOnly   bool // set by the service alone
	Fixed      bool // set at creation, read-only afterwards
	UpdateOnly bool // set by updates alone
	Input      bool // taken at creation alone, and never answered
	Optional   bool // may be missing from answers
	Integer    bool
	Long       bool // long text, which lists do not sort by
	Grams      bool // text of which lists find any piece quickly, at a price when it is written
	Searched   bool // a selection's words are looked for in it
	Edits      bool // a list that an update can also add to and remove from, by add_<key> and remove_<key>

	MaxLen  int // characters of a text, entries of a list or a map
	Min     *float64
	Max     *float64
	Pattern *regexp.Regexp
	Hint    string // the pattern in words
	Format  string
	// Component names the schema of a value that the struct cannot describe.
	Component string

	index []int
	typ   reflect.Type
	id    []int // where the objects of a list have their ids, nil for all else
}

// Struct is the description of a struct type.
type Struct struct {
	Name   string
	Fields []Field
	byKey  map[string]int
	custom []int // where the custom fields are, nil for a struct that has none
}

var described sync.Map // reflect.Type → *Struct; descriptions never change

// Field gives the field that has the key, nil when there is none.
func (s *Struct) Field(key string) *Field {
	if i, known := s.byKey[key]; known {
		return &s.Fields[i]
	}
	return nil
}

// Of describes the struct type T.
func Of[T any]() *Struct { return OfType(reflect.TypeFor[T]()) }

// OfType describes the struct type t.
func OfType(t reflect.Type) *Struct { return describe(t) }

func describe(t reflect.Type) *Struct {
	if s, ok := described.Load(t); ok {
		return s.(*Struct)
	}
	s := &Struct{Name: t.Name(), byKey: map[string]int{}}
	s.collect(t, nil)
	for i, f := range s.Fields {
		s.byKey[f.Key] = i
	}
	described.Store(t, s)
	return s
}

func (s *Struct) collect(t reflect.Type, at []int) {
	for i := range t.NumField() {
		sf := t.Field(i)
		index := append(slices.Clone(at), i)
		if sf.Anonymous {
			s.collect(sf.Type, index)
			continue
		}
		if sf.Type == customType {
			s.custom = index
			continue
		}
		key, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		input := sf.Tag.Get("input")
		if key == "-" {
			key = input
		}
		if key == "" {
			continue
		}
		f := Field{Key: key, Input: input != "", Label: sf.Tag.Get("label"), Doc: sf.Tag.Get("doc"), index: index, typ: sf.Type}
		if f.Label == "" {
			f.Label = Humanize(key)
		}
		if p := sf.Tag.Get("pattern"); p != "" {
			f.Pattern, f.Hint = regexp.MustCompile(p), sf.Tag.Get("hint")
		}
		if f.Pattern == nil && sf.Type.Kind() == reflect.Map {
			f.Pattern, f.Hint = keyPattern, keyHint
		}
		if e, ok := reflect.Zero(sf.Type).Interface().(Enumerated); ok {
			f.Enum = e.Values()
		}
		f.parseRules(sf.Tag.Get("rule"))
		if sf.Type.Kind() == reflect.Slice {
			f.id = idIn(sf.Type.Elem())
		}
		f.Type = f.listType()
		switch {
		case f.MaxLen > 0:
		case f.Format == "email":
			f.MaxLen = emailMost
		case isText(sf.Type):
			f.MaxLen = MaxText
		}
		s.Fields = append(s.Fields, f)
	}
}

// parseRules reads the rule tag. A rule that it does not know is a mistake of the programmer and panics.
func (f *Field) parseRules(tag string) {
	for _, rule := range strings.Split(tag, ",") {
		name, arg, _ := strings.Cut(rule, "=")
		switch name {
		case "":
		case "required":
			f.Required = true
		case "readonly":
			f.ReadOnly = true
		case "fixed":
			f.Fixed = true
		case "updateonly":
			f.UpdateOnly = true
		case "optional":
			f.Optional = true
		case "integer":
			f.Integer = true
		case "long":
			f.Long = true
		case "grams":
			f.Grams = true
		case "searched":
			f.Searched = true
		case "edits":
			f.Edits = true
		case "maxlen":
			f.MaxLen = int(number(rule, arg))
		case "min":
			n := number(rule, arg)
			f.Min = &n
		case "max":
			if isText(f.typ) {
				panic(fmt.Sprintf("shape: field %s has the rule %q, which is for numbers; use maxlen", f.Key, rule))
			}
			n := number(rule, arg)
			f.Max = &n
		case "enum":
			f.Enum = strings.Split(arg, "|")
		case "ref":
			f.Ref = arg
		case "default":
			f.Default = arg
		case "format":
			f.Format = arg
		case "component":
			f.Component = arg
		default:
			panic(fmt.Sprintf("shape: field %s has the unknown rule %q", f.Key, rule))
		}
	}
}

func number(rule, arg string) float64 {
	n, err := strconv.ParseFloat(arg, 64)
	if err != nil {
		panic(fmt.Sprintf("shape: rule %q: %v", rule, err))
	}
	return n
}

var (
	textType     = reflect.TypeFor[Text]()
	numberType   = reflect.TypeFor[Number]()
	dateType     = reflect.TypeFor[Date]()
	timeType     = reflect.TypeFor[Time]()
	uuidType     = reflect.TypeFor[uuid.UUID]()
	nullUUIDType = reflect.TypeFor[uuid.NullUUID]()
	valueType    = reflect.TypeFor[Value]()
	customType   = reflect.TypeFor[Custom]()
)

func isText(t reflect.Type) bool {
	return t.Kind() == reflect.String && t != dateType
}

// isString tells the types whose values are JSON strings.
func isString(t reflect.Type) bool {
	return t.Kind() == reflect.String || t == timeType || t == uuidType || t == nullUUIDType
}

// isScalar tells the struct and array types that stand for one JSON value.
func isScalar(t reflect.Type) bool {
	switch t {
	case numberType, timeType, uuidType, nullUUIDType, valueType:
		return true
	}
	return false
}

// isObject tells the types whose values are JSON objects with members of their own.
func isObject(t reflect.Type) bool { return t.Kind() == reflect.Struct && !isScalar(t) }

func (f *Field) listType() Type {
	switch f.typ {
	case numberType:
		return TypeNumber
	case dateType:
		return TypeDate
	case timeType:
		return TypeDateTime
	case uuidType, nullUUIDType:
		return TypeReference
	}
	switch f.typ.Kind() {
	case reflect.Bool:
		return TypeBoolean
	case reflect.Int:
		return TypeNumber
	case reflect.String:
		if f.Enum != nil {
			return TypeEnum
		}
		return TypeText
	case reflect.Slice:
		if e := f.typ.Elem(); e == uuidType || isText(e) || f.id != nil {
			return TypeMulti
		}
	case reflect.Map:
		if isObject(f.typ.Elem()) {
			return TypeMulti
		}
	}
	return ""
}

// IsBool tells whether the field is true, false or, as far as that is possible, neither.
func (f *Field) IsBool() bool {
	return f.typ.Kind() == reflect.Bool || f.typ.Kind() == reflect.Pointer && f.typ.Elem().Kind() == reflect.Bool
}

// Get gives the value of the field in rec, a pointer to its struct.
func (f *Field) Get(rec any) any {
	return reflect.ValueOf(rec).Elem().FieldByIndex(f.index).Interface()
}

// Set sets the field in rec, a pointer to its struct.
func (f *Field) Set(rec, v any) {
	reflect.ValueOf(rec).Elem().FieldByIndex(f.index).Set(reflect.ValueOf(v))
}

// Flat gives the fields that a list filters and sorts by: those of a nested object as "object.field". Objects in a list or a
// map stand there as their ids.
func (s *Struct) Flat() []Field {
	var flat []Field
	for _, f := range s.Fields {
		if f.Input {
			continue
		}
		if isObject(f.typ) {
			for _, inner := range describe(f.typ).Flat() {
				inner.Key = f.Key + "." + inner.Key
				inner.index = append(slices.Clone(f.index), inner.index...)
				flat = append(flat, inner)
			}
			continue
		}
		if f.Type != "" {
			flat = append(flat, f)
		}
	}
	return flat
}

// Diff names the fields in which two records, given as pointers, differ.
func (s *Struct) Diff(a, b any) []string {
	av, bv := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	var changed []string
	for _, f := range s.Fields {
		if !same(av.FieldByIndex(f.index), bv.FieldByIndex(f.index)) {
			changed = append(changed, f.Key)
		}
	}
	if s.custom != nil {
		changed = append(changed, diffCustom(*s.Custom(a), *s.Custom(b))...)
	}
	return changed
}

// same compares by what is answered: no list and an empty one are alike, and so are no map and an empty one, also within
// objects.
func same(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Map:
		if a.Len() != b.Len() {
			return false
		}
		for entries := a.MapRange(); entries.Next(); {
			if other := b.MapIndex(entries.Key()); !other.IsValid() || !same(entries.Value(), other) {
				return false
			}
		}
		return true
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return same(a.Elem(), b.Elem())
	}
	return a.Equal(b)
}

// Humanize is a key for people.
func Humanize(key string) string {
	words := strings.Split(key, "_")
	for i, w := range words {
		switch {
		case w == "id" || w == "url":
			words[i] = strings.ToUpper(w)
		case i == 0 && w != "":
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, " ")
}
