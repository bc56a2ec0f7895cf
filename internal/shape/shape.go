// Package shape defines records and inputs as Go structs with tags. One struct is the only
// definition of a kind: the strict decoder, the JSON Schema in the API document and the fields of
// list queries are derived from it. The package owns the value types, the decoder and the schema.
// It knows no kind of record, no store and no HTTP.
//
// The tags of a field:
//
//	json:"first_name"       the key
//	input:"contact_ids"     with json:"-": the key of a member that is accepted at creation only
//	label:"First name"      the display name; derived from the key if absent
//	rule:"required,min=0"   what a value must satisfy, see parseRules
//	pattern:"^[a-z]+$"      a regular expression for strings, or for the keys of a map
//	hint:"must have …"      the pattern in words, used as the error message
//	doc:"…"                 the description in the API document
package shape

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"

	"prospector/internal/address"
)

// Type is the type of a field in list queries, as GET /v1/schemas/{entity} names it.
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

// MaxText is the maximum length of a string in characters unless its field has the rule maxlen.
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
	Type    Type // empty if list queries cannot use it: objects, and lists of objects without ids
	Enum    []string
	Ref     string // the entity that a reference points to
	Default string

	Required   bool // must have a value
	ReadOnly   bool // set only by the service
	Fixed      bool // set at creation, read-only afterwards
	UpdateOnly bool // set only by updates
	Input      bool // accepted at creation only, never returned
	Optional   bool // may be absent from responses
	Integer    bool
	Long       bool // long text that lists cannot be sorted by
	Grams      bool // indexed by n-grams: fast substring search, slower writes
	Searched   bool // keyword searches in Previews look at this field
	Edits      bool // an update can also use add_<key> and remove_<key>
	Named      bool // references can also be given by name, which package record replaces by ids
	// Personal says that the field tells something about the person that a record is of or refers to.
	Personal Personal
	// Confidential fields are shown in part to API keys with read access, which cannot filter, sort or
	// search by them.
	Confidential bool

	NonEmpty bool // a list that is given has entries; one that is required always has

	MaxLen  int // characters of a text, entries of a list or a map
	Min     *float64
	Max     *float64
	Pattern *regexp.Regexp
	Hint    string // the pattern in words
	Format  string
	// Component is the name of the schema of a value that a struct cannot describe.
	Component string

	index []int
	typ   reflect.Type
	id    []int // index of the id in the objects of a list, else nil
}

// Struct is the description of a struct type.
type Struct struct {
	Name   string
	Type   reflect.Type
	Fields []Field
	byKey  map[string]int
	custom []int // index of the field of type Custom, nil if there is none
}

var described sync.Map // reflect.Type → *Struct; a cache, as descriptions never change

// Field returns the field with the key, or nil.
func (s *Struct) Field(key string) *Field {
	if i, known := s.byKey[key]; known {
		return &s.Fields[i]
	}
	return nil
}

// Of returns the description of the struct type T.
func Of[T any]() *Struct { return OfType(reflect.TypeFor[T]()) }

// OfType returns the description of the struct type t.
func OfType(t reflect.Type) *Struct {
	if s, ok := described.Load(t); ok {
		return s.(*Struct)
	}
	s := &Struct{Name: TypeName(t), Type: t, byKey: map[string]int{}}
	s.collect(t, nil)
	for i, f := range s.Fields {
		s.byKey[f.Key] = i
	}
	described.Store(t, s)
	return s
}

// TypeName returns the name of a type. That of Trashed[Contact] is TrashedContact.
func TypeName(t reflect.Type) string {
	name, args, generic := strings.Cut(t.Name(), "[")
	if !generic {
		return name
	}
	return name + strings.TrimSuffix(args[strings.LastIndexAny(args, "./")+1:], "]")
}

func (s *Struct) collect(t reflect.Type, at []int) {
	for i := range t.NumField() {
		sf := t.Field(i)
		index := append(slices.Clone(at), i)
		if sf.Anonymous || sf.Type.Kind() == reflect.Struct && sf.Tag.Get("json") == ",embed" {
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
		f := Field{
			Key: key, Input: input != "", Label: sf.Tag.Get("label"), Doc: sf.Tag.Get("doc"),
			index: index, typ: sf.Type,
		}
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
		case f.Format == "email" || f.Format == SuppressedEmail:
			f.MaxLen = address.MaxEmail
		case isText(sf.Type):
			f.MaxLen = MaxText
		}
		s.Fields = append(s.Fields, f)
	}
}

// parseRules reads the rule tag: flags such as required, readonly and fixed, which set the fields
// of Field of the same name, and
//
//	maxlen=N     at most N characters of a string, or N entries of a list or map
//	min=N max=N  the range of a number
//	enum=a|b     the allowed values
//	ref=contacts the entity that a reference points to
//	default=V    the value of a field that is absent at creation
//	format=F     one of the formats in formats.go
//	line         no control characters, for names and titles: they are printed in logs, on terminals and
//	             in headers of emails
//	component=C  the schema of a value that a struct cannot describe
//	personal     what tells something about a person, see Personal. personal=address is an address of the
//	             person, and personal=id what identifies the person elsewhere
//
// It panics on an unknown rule, which is a programming error.
func (f *Field) parseRules(tag string) {
	flags := map[string]*bool{
		"required": &f.Required, "readonly": &f.ReadOnly, "fixed": &f.Fixed, "updateonly": &f.UpdateOnly, "optional": &f.Optional,
		"integer": &f.Integer, "long": &f.Long, "grams": &f.Grams, "searched": &f.Searched, "edits": &f.Edits, "named": &f.Named,
		"nonempty": &f.NonEmpty, "confidential": &f.Confidential,
	}
	for _, rule := range strings.Split(tag, ",") {
		name, arg, _ := strings.Cut(rule, "=")
		if flag := flags[name]; flag != nil {
			*flag = true
			continue
		}
		switch name {
		case "":
		case "personal":
			f.Personal = cmp.Or(Personal(arg), PersonalValue)
		case "line":
			f.Pattern, f.Hint = linePattern, lineHint
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

// linePattern has the same meaning in Go and in JSON Schema.
var linePattern = regexp.MustCompile(`^[^\x00-\x1f\x7f-\x9f]*$`)

const lineHint = "must not contain control characters such as line breaks"

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

// isString reports whether the values of t are JSON strings.
func isString(t reflect.Type) bool {
	return t.Kind() == reflect.String || t == timeType || t == uuidType || t == nullUUIDType
}

// isScalar reports whether t is a struct or array type that represents a single JSON value.
func isScalar(t reflect.Type) bool {
	switch t {
	case numberType, timeType, uuidType, nullUUIDType, valueType:
		return true
	}
	return false
}

// isObject reports whether the values of t are JSON objects with their own members.
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

// IsBool reports whether the field is a boolean, which may be optional.
func (f *Field) IsBool() bool {
	return f.typ.Kind() == reflect.Bool || f.typ.Kind() == reflect.Pointer && f.typ.Elem().Kind() == reflect.Bool
}

// Get returns the value of the field in rec, a pointer to its struct.
func (f *Field) Get(rec any) any {
	return reflect.ValueOf(rec).Elem().FieldByIndex(f.index).Interface()
}

// Accumulates reports whether the field is a list of texts that is neither of references nor custom, so that an import adds
// to it.
func (f *Field) Accumulates() bool {
	return f.Type == TypeMulti && f.Ref == "" && !strings.HasPrefix(f.Key, CustomPrefix)
}

// Set assigns v to the field in rec, a pointer to its struct.
func (f *Field) Set(rec, v any) {
	reflect.ValueOf(rec).Elem().FieldByIndex(f.index).Set(reflect.ValueOf(v))
}

// Flat returns the fields that list queries can use. Fields of a nested object have keys such as
// "object.field". Lists and maps of objects appear as the ids of the objects.
func (s *Struct) Flat() []Field {
	var flat []Field
	for _, f := range s.Fields {
		if f.Input {
			continue
		}
		if isObject(f.typ) {
			for _, inner := range OfType(f.typ).Flat() {
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

// Diff returns the keys of the fields in which the records a and b, given as pointers, differ.
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

// same compares values as the API returns them: nil and empty slices are equal, and so are nil and
// empty maps, also within objects.
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

// Humanize returns the display name for a key: "first_name" becomes "First name".
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

// IsLine reports whether the field has the rule line.
func (f *Field) IsLine() bool { return f.Pattern == linePattern }
