package shape

import "reflect"

// Personal says what a field tells about a person. It is empty for a field that tells nothing. An erasure removes personal
// values from what it finds of a person.
type Personal string

const (
	PersonalValue   Personal = "value"
	PersonalAddress Personal = "address" // by which a record is known to be of a person
	PersonalID      Personal = "id"      // in another system
)

// Inside returns the struct that describes the objects in the values of the field, or nil if there are none.
func (f *Field) Inside() *Struct {
	if t := f.innermost(); isObject(t) {
		return OfType(t)
	}
	return nil
}

// innermost returns the type of the values in the field, in lists and maps at any depth.
func (f *Field) innermost() reflect.Type {
	t := f.typ
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	return t
}

// IsFreeText reports whether the values of the field are, or contain, texts that are not chosen from a list.
func (f *Field) IsFreeText() bool {
	t := f.innermost()
	return isText(t) && f.Enum == nil || t == valueType
}

// Blank returns the JSON of the value that tells nothing. text stands for a text that cannot be null.
func (f *Field) Blank(text string) string {
	switch {
	case f.typ.Kind() == reflect.Slice:
		return "[]"
	case f.typ.Kind() == reflect.Map:
		return "{}"
	case f.typ.Kind() == reflect.String && f.typ != textType && f.typ != dateType && f.Required:
		return text
	}
	return "null"
}
