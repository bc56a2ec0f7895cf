package filter

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/google/uuid"

	"prospector/internal/shape"
)

// Row is a record as filters and sorts see it. It is immutable.
type Row struct {
	ID     uuid.UUID
	Values []Value // in the order of Kind.Fields
	Custom []CustomValue
}

// CustomValue is the value of a custom field. Field may have been deleted since the row was
// decoded.
type CustomValue struct {
	Field *Field
	Value Value
}

// Value returns the row's value of a field. The result must not be changed.
func (r *Row) Value(f *Field) *Value {
	if !f.Custom {
		return &r.Values[f.position]
	}
	for i := range r.Custom {
		if r.Custom[i].Field.Name == f.Name {
			return &r.Custom[i].Value
		}
	}
	return &noValue
}

var noValue Value

// Without returns the row without the given texts: deleted[key] has the texts to remove from the built-in field
// with the key, and what replaces each, or "". It returns r itself if r has none of them.
func (r *Row) Without(k *Kind, deleted map[string]map[string]string) *Row {
	out := r
	for key, texts := range deleted {
		f := k.Field(key)
		if f == nil {
			continue
		}
		v := r.Values[f.position]
		isDeleted := func(s string) bool { _, is := texts[s]; return is }
		switch {
		case v.List == nil && isDeleted(v.Text) && texts[v.Text] != "":
			v.Fold = texts[v.Text]
			v.Text = v.Fold
		case v.List == nil && isDeleted(v.Text):
			v = Value{}
		case v.List != nil && slices.ContainsFunc(*v.List, isDeleted):
			v = ValueOf(slices.DeleteFunc(slices.Clone(*v.List), isDeleted))
		default:
			continue
		}
		if out == r {
			out = &Row{ID: r.ID, Values: slices.Clone(r.Values), Custom: r.Custom}
		}
		out.Values[f.position] = v
	}
	return out
}

// Bytes estimates the memory that the row uses.
func (r *Row) Bytes() int {
	n := int(unsafe.Sizeof(*r))
	n += len(r.Values)*int(unsafe.Sizeof(Value{})) + len(r.Custom)*int(unsafe.Sizeof(CustomValue{}))
	for i := range r.Values {
		n += r.Values[i].bytes()
	}
	for i := range r.Custom {
		n += r.Custom[i].Value.bytes()
	}
	return n
}

// Value is the value of a field. Numbers, booleans and times are in Num: a date is the start of its
// day and a time is in milliseconds since 1970, both UTC. Texts, enum keys and references are in
// Text, in canonical form if the field has one. Lists are in List.
type Value struct {
	IsSet bool
	Num   float64
	Text  string
	Fold  string    // the text as it is stored, case-folded
	List  *[]string // a pointer, so that values can be compared with ==
}

// ValueOf returns the Value of a field of a record. It panics if the type of v is not supported.
func ValueOf(v any) Value {
	switch v := v.(type) {
	case shape.Number:
		return Value{IsSet: v.Valid, Num: v.Float}
	case int:
		return Value{IsSet: true, Num: float64(v)}
	case bool:
		return boolValue(v)
	case shape.Date:
		if v == "" {
			return Value{}
		}
		day, err := startOfDay(string(v))
		return Value{IsSet: err == nil, Num: day}
	case shape.Time:
		return Value{IsSet: v.Valid(), Num: float64(v.Milli())}
	case uuid.UUID:
		return textValue(v.String())
	case uuid.NullUUID:
		if !v.Valid {
			return Value{}
		}
		return textValue(v.UUID.String())
	case []string:
		return Value{IsSet: len(v) > 0, List: &v}
	case shape.IDs:
		list := make([]string, len(v))
		for i, id := range v {
			list[i] = id.String()
		}
		return Value{IsSet: len(list) > 0, List: &list}
	}
	if typed := reflect.ValueOf(v); typed.Kind() == reflect.String { // string types such as a status
		return textValue(typed.String())
	}
	panic(fmt.Sprintf("filter: unsupported type %T", v))
}

func textValue(s string) Value { return Value{IsSet: s != "", Text: s, Fold: shape.Fold(s)} }

func boolValue(b bool) Value {
	if b {
		return Value{IsSet: true, Num: 1}
	}
	return Value{IsSet: true}
}

// startOfDay parses a date and returns its start in UTC, in milliseconds since 1970.
func startOfDay(s string) (float64, error) {
	t, err := time.Parse(time.DateOnly, s)
	return float64(t.UnixMilli()), err
}

// Words returns the case-folded words of a text, or of all entries of a list.
func (v *Value) Words() (all []string) {
	if v.List == nil {
		return strings.FieldsFunc(v.Fold, isSeparator)
	}
	for _, s := range *v.List {
		all = append(all, shape.Words(s)...)
	}
	return all
}

// hasWord reports whether one of the Words begins with a word.
func (v *Value) hasWord(word string) bool {
	if v.List == nil {
		return textHasWord(v.Fold, word)
	}
	return slices.ContainsFunc(*v.List, func(s string) bool { return textHasWord(shape.Fold(s), word) })
}

// textHasWord is hasWord for a case-folded text. It does not split the text, because lists evaluate it for
// many thousands of rows.
func textHasWord(text, word string) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(text[:from+at])
		if isSeparator(before) { // as is the result at the start of the text
			return true
		}
		from += at + 1
	}
}

func isSeparator(r rune) bool { return !shape.InWord(r) }

func (v *Value) bytes() int {
	n := 2 * len(v.Text)
	if v.List != nil {
		n += 64 * len(*v.List)
	}
	return n
}
