package shape

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// keyPattern is the pattern for the keys of a map whose field has no pattern tag.
var keyPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)

const keyHint = "the key must be 1 to 100 letters, digits, hyphens and underscores"

// keyed decodes an object whose keys the caller chooses into a map. Each member is decoded as new,
// and the result replaces the whole map.
func (d *decoder) keyed(v Value, dst reflect.Value, f *Field, path string) {
	if v.Kind != Object {
		d.p.Invalid(path, "must be an object")
		return
	}
	if f.MaxLen > 0 && len(v.Members) > f.MaxLen {
		d.p.Invalid(path, "must have at most %d entries, not %d", f.MaxLen, len(v.Members))
		return
	}
	entry := Field{typ: dst.Type().Elem(), MaxLen: MaxText}
	d = d.forNew()
	out := reflect.MakeMapWithSize(dst.Type(), len(v.Members))
	for _, m := range v.Members {
		at := join(path, m.Key)
		if !f.Pattern.MatchString(m.Key) {
			d.p.Invalid(at, "%s", f.Hint)
			continue
		}
		e := reflect.New(entry.typ).Elem()
		d.value(m.Value, e, &entry, at)
		out.SetMapIndex(reflect.ValueOf(m.Key).Convert(dst.Type().Key()), e)
	}
	dst.Set(out)
}

// entryView returns the view for the entries of a list or map. An update replaces the entries, so
// they use the view for creation. Entries that cannot be changed use the view of a response.
func (f *Field) entryView(view View) View {
	switch {
	case view != UpdateInput || !isObject(f.typ.Elem()):
		return view
	case f.ReadOnly || f.Fixed:
		return Answer
	}
	return CreateInput
}

// idIn returns the index of the field "id" of an object if it is a UUID or a string, or nil.
func idIn(t reflect.Type) []int {
	if !isObject(t) {
		return nil
	}
	for _, sf := range reflect.VisibleFields(t) {
		if key, _, _ := strings.Cut(sf.Tag.Get("json"), ","); key == "id" && (sf.Type == uuidType || isText(sf.Type)) {
			return sf.Index
		}
	}
	return nil
}

// OfObjects reports whether the field is a list or a map of objects. List queries see such a field
// as the ids of its objects.
func (f *Field) OfObjects() bool {
	return f.id != nil || f.typ.Kind() == reflect.Map && isObject(f.typ.Elem())
}

// HasUUIDs reports whether the values that list queries see are UUIDs.
func (f *Field) HasUUIDs() bool {
	switch {
	case f.id != nil:
		return f.typ.Elem().FieldByIndex(f.id).Type == uuidType
	case f.typ.Kind() == reflect.Slice:
		return f.typ.Elem() == uuidType
	}
	return f.Type == TypeReference
}

// Listed returns the value that list queries see for the field in rec, a pointer to its struct: the
// ids of a list or map of objects, and the plain value of any other field.
func (f *Field) Listed(rec any) any {
	if !f.OfObjects() {
		return f.Get(rec)
	}
	objects := reflect.ValueOf(rec).Elem().FieldByIndex(f.index)
	ids := make([]string, 0, objects.Len())
	if f.id == nil {
		for _, key := range objects.MapKeys() {
			ids = append(ids, key.String())
		}
		slices.Sort(ids)
		return ids
	}
	for i := range objects.Len() {
		id := objects.Index(i).FieldByIndex(f.id)
		if id.Type() == uuidType {
			ids = append(ids, id.Interface().(uuid.UUID).String())
		} else if id.Len() > 0 {
			ids = append(ids, id.String())
		}
	}
	return ids
}
