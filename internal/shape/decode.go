package shape

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"prospector/internal/fault"
)

// Mode is the purpose for which an object is decoded.
type Mode int

const (
	Create  Mode = iota // a new record or another input: defaults apply, fixed fields may be set
	Update              // changes to an existing record: absent members keep their value
	Partial             // may turn out to be new or a change: nothing is required
	shown               // a record as the API returns it: like Create, with read-only members
)

// Decode sets the members of object in into, a pointer to a struct, and adds every problem to p. In
// mode Update, absent members keep their value, null clears a field, and read-only members are
// accepted if they equal the current value. Decode replaces slices and maps and never modifies
// them, so a copy of the record may share them.
func Decode(object Value, into any, mode Mode, p *fault.Problems) {
	d := decoder{mode: mode, p: p}
	d.object(object, reflect.ValueOf(into).Elem(), "")
}

type decoder struct {
	mode Mode
	p    *fault.Problems
}

// forNew returns the decoder for a value that is new even if the record around it is updated.
func (d *decoder) forNew() *decoder {
	if d.mode == shown {
		return d
	}
	return &decoder{mode: Create, p: d.p}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func (d *decoder) object(v Value, dst reflect.Value, path string) {
	s := OfType(dst.Type())
	given := make([]bool, len(s.Fields))
	edits := map[int]edit{} // by index of the field
	for _, m := range v.Members {
		at := join(path, m.Key)
		i, known := s.byKey[m.Key]
		if known && d.mode == Update && s.Fields[i].Input {
			known = false
		}
		if !known {
			forCustom := s.custom != nil && strings.HasPrefix(m.Key, CustomPrefix) // DecodeCustom decodes these
			if !forCustom && !(d.mode == Update && s.edits(m, edits)) {
				d.p.Invalid(at, "unknown field")
			}
			continue
		}
		f := &s.Fields[i]
		field := dst.FieldByIndex(f.index)
		if f.ReadOnly && d.mode == Create {
			d.p.Invalid(at, "read-only field")
			continue
		}
		if f.UpdateOnly && d.mode == Create {
			d.p.Invalid(at, "cannot be set at creation")
			continue
		}
		if f.ReadOnly && d.mode != shown || f.Fixed && d.mode == Update {
			d.unchanged(m.Value, field, f, at)
			continue
		}
		if given[i] = !f.isNone(m.Value); given[i] {
			d.value(m.Value, field, f, at)
		} else {
			field.Set(f.zero())
		}
		if (f.Required || f.NonEmpty) && f.hasNone(m.Value) {
			d.p.Invalid(at, "must not be empty")
		}
	}
	for i := range s.Fields {
		f := &s.Fields[i]
		field := dst.FieldByIndex(f.index)
		if e, edited := edits[i]; edited {
			d.edit(e, f, field, path)
		}
		if (d.mode == Create || d.mode == shown) && !given[i] && field.IsZero() {
			field.Set(f.zero())
		}
		at := join(path, f.Key)
		required := f.Required && !f.ReadOnly && d.mode != Partial && !(f.Input && d.mode == Update)
		if required && !given[i] && field.IsZero() && !d.p.Has(at) {
			d.p.Invalid(at, "required")
		}
	}
}

// isNone reports whether v means no value: null, or "" for a type that is a JSON string.
func (f *Field) isNone(v Value) bool {
	return v.Kind == Null || v.Kind == String && v.Text == "" && isString(f.typ)
}

// hasNone reports whether v is an empty list for a slice or an empty object for a map.
func (f *Field) hasNone(v Value) bool {
	switch f.typ.Kind() {
	case reflect.Slice:
		return v.Kind == List && len(v.Items) == 0
	case reflect.Map:
		return v.Kind == Object && len(v.Members) == 0
	}
	return false
}

// zero returns the value of a field that is not set: its default, or no value.
func (f *Field) zero() reflect.Value {
	v := reflect.New(f.typ).Elem()
	switch kind := f.typ.Kind(); {
	case isObject(f.typ):
		for _, inner := range OfType(f.typ).Fields {
			v.FieldByIndex(inner.index).Set(inner.zero())
		}
	case f.Default == "":
	case kind == reflect.String:
		v.SetString(f.Default)
	case kind == reflect.Bool:
		v.SetBool(f.Default == "true")
	case kind == reflect.Int:
		v.SetInt(int64(number(f.Key, f.Default)))
	default:
		panic("shape: no default for " + f.typ.String())
	}
	return v
}

// unchanged accepts a read-only member only if it equals the current value.
func (d *decoder) unchanged(v Value, field reflect.Value, f *Field, path string) {
	copied := reflect.New(f.typ).Elem()
	var quiet fault.Problems
	if v.Kind != Null {
		(&decoder{mode: shown, p: &quiet}).value(v, copied, f, path)
	}
	if quiet.Err() != nil || !same(copied, field) {
		d.p.Invalid(path, "read-only field")
	}
}

func (d *decoder) value(v Value, dst reflect.Value, f *Field, path string) {
	switch dst.Type() {
	case valueType:
		dst.Set(reflect.ValueOf(v))
		return
	case numberType:
		if n, ok := d.number(v, f, path); ok {
			dst.Set(reflect.ValueOf(NumberOf(n)))
		}
		return
	case dateType:
		parsed(d, v, dst, path, "a date such as 2026-03-01", ParseDate)
		return
	case timeType:
		parsed(d, v, dst, path, "a time such as 2026-03-01T09:30:00Z", ParseTime)
		return
	case uuidType:
		if f.Named && v.Kind == String {
			if _, err := ParseID(v.Text); err != nil {
				d.p.Invalid(path, NoSuchName, Quote(v.Text))
				return
			}
		}
		parsed(d, v, dst, path, "a UUID", ParseID)
		return
	case nullUUIDType:
		var id uuid.NullUUID
		id.Valid = parsed(d, v, reflect.ValueOf(&id.UUID).Elem(), path, "a UUID", ParseID)
		dst.Set(reflect.ValueOf(id))
		return
	}
	switch dst.Kind() {
	case reflect.String:
		d.text(v, dst, f, path)
	case reflect.Bool:
		switch v.Kind {
		case Bool:
			dst.SetBool(v.True)
		case String:
			d.p.Invalid(path, "%s is not true or false", Quote(v.Text))
		default:
			d.p.Invalid(path, "must be true or false")
		}
	case reflect.Int:
		if n, ok := d.number(v, f, path); ok {
			dst.SetInt(int64(n))
		}
	case reflect.Slice:
		d.list(v, dst, f, path)
	case reflect.Map:
		d.keyed(v, dst, f, path)
	case reflect.Pointer: // an optional object; copies of the record may share it, so it is replaced
		object := reflect.New(dst.Type().Elem())
		if dst.IsNil() {
			d = d.forNew()
		} else {
			object.Elem().Set(dst.Elem())
		}
		d.value(v, object.Elem(), f, path)
		dst.Set(object)
	case reflect.Struct:
		if v.Kind != Object {
			d.p.Invalid(path, "must be an object")
			return
		}
		d.object(v, dst, path)
	default:
		panic("shape: cannot decode into " + dst.Type().String())
	}
}

// NoSuchName is the problem of a reference by a name that no record has.
const NoSuchName = "%s is neither an id nor a known name"

func parsed[T any](d *decoder, v Value, dst reflect.Value, path, want string, parse func(string) (T, error)) bool {
	if v.Kind != String {
		d.p.Invalid(path, "must be %s", want)
		return false
	}
	got, err := parse(v.Text)
	if err != nil {
		d.p.Invalid(path, "%v", err)
		return false
	}
	dst.Set(reflect.ValueOf(got))
	return true
}

func (d *decoder) text(v Value, dst reflect.Value, f *Field, path string) {
	if v.Kind != String {
		d.p.Invalid(path, "must be a string")
		return
	}
	text, err := f.checkText(v.Text)
	if err != nil {
		d.p.Invalid(path, "%v", err)
		return
	}
	dst.SetString(text)
}

// checkText returns s in the form in which it is stored. The empty string means no value and
// satisfies every rule except required.
func (f *Field) checkText(s string) (string, error) {
	switch {
	case s == "":
		return s, nil
	case strings.Contains(s, "\x00"):
		return "", errors.New("must not contain NUL characters")
	case utf8.RuneCountInString(s) > f.MaxLen:
		return "", fmt.Errorf("must be at most %d characters, not %d", f.MaxLen, utf8.RuneCountInString(s))
	case f.Enum != nil && !slices.Contains(f.Enum, s):
		return "", fmt.Errorf("%s is not one of: %s", Quote(s), strings.Join(f.Enum, ", "))
	case f.Pattern != nil && !f.Pattern.MatchString(s):
		return "", errors.New(f.Hint)
	case f.Format != "":
		return formats[f.Format](s)
	}
	return s, nil
}

func (d *decoder) number(v Value, f *Field, path string) (float64, bool) {
	whole := f.Integer || f.typ.Kind() == reflect.Int
	n := ParseNumber(v.Text)
	switch {
	case v.Kind == String && whole:
		d.p.Invalid(path, "%s is not an integer", Quote(v.Text))
	case v.Kind == String:
		d.p.Invalid(path, "%s is not a number", Quote(v.Text))
	case v.Kind != Num && whole:
		d.p.Invalid(path, "must be an integer")
	case v.Kind != Num:
		d.p.Invalid(path, "must be a number")
	case math.Abs(n) > MaxNumber:
		d.p.Invalid(path, "must be between -2^53 and 2^53")
	case whole && n != math.Trunc(n):
		d.p.Invalid(path, "%s is not an integer", cut(v.Text))
	case f.Min != nil && f.Max != nil && (n < *f.Min || n > *f.Max):
		d.p.Invalid(path, "must be between %v and %v, not %s", *f.Min, *f.Max, cut(v.Text))
	case f.Min != nil && n < *f.Min:
		d.p.Invalid(path, "must be at least %v, not %s", *f.Min, cut(v.Text))
	default:
		return n, true
	}
	return 0, false
}

// list decodes a list. Each entry must satisfy the rules of the field. Lists of plain values are
// sets, so duplicates are dropped. Lists of objects are ordered and may contain equal objects.
func (d *decoder) list(v Value, dst reflect.Value, f *Field, path string) {
	if v.Kind != List {
		d.p.Invalid(path, "must be a list")
		return
	}
	if f.MaxLen > 0 && len(v.Items) > f.MaxLen {
		d.p.Invalid(path, "must have at most %d entries, not %d", f.MaxLen, len(v.Items))
		return
	}
	entry := *f
	entry.typ = dst.Type().Elem()
	entry.MaxLen = MaxText
	d = d.forNew()
	out := reflect.MakeSlice(dst.Type(), 0, len(v.Items))
	seen := make(map[any]bool, len(v.Items))
	for i, item := range v.Items {
		e := reflect.New(entry.typ).Elem()
		before, at := d.p.Count(), fmt.Sprintf("%s[%d]", path, i)
		if item.Kind == String && item.Text == "" && !isObject(entry.typ) {
			d.p.Invalid(at, "must not be empty")
			continue
		}
		d.value(item, e, &entry, at)
		if d.p.Count() > before && !isObject(entry.typ) {
			continue // later rules must not see an invalid entry
		}
		if !isObject(entry.typ) && entry.typ.Comparable() {
			if seen[e.Interface()] {
				continue
			}
			seen[e.Interface()] = true
		}
		out = reflect.Append(out, e)
	}
	dst.Set(out)
}

// edit holds the entries that a body adds to a list and removes from it.
type edit struct{ add, remove Value }

// edits stores m in into if it is the add_ or remove_ member of a list, and reports whether it is.
func (s *Struct) edits(m Member, into map[int]edit) bool {
	for i := range s.Fields {
		f := &s.Fields[i]
		e := into[i]
		switch {
		case !f.Edits:
			continue
		case m.Key == "add_"+f.Key:
			e.add = m.Value
		case m.Key == "remove_"+f.Key:
			e.remove = m.Value
		default:
			continue
		}
		into[i] = e
		return true
	}
	return false
}

// edit applies an edit to a list. The list itself has been decoded before.
func (d *decoder) edit(e edit, f *Field, list reflect.Value, path string) {
	read := func(verb string, v Value) (entries reflect.Value, has map[any]bool) {
		entries, has = reflect.New(list.Type()).Elem(), map[any]bool{}
		if v.Kind != Absent && v.Kind != Null {
			d.list(v, entries, f, join(path, verb+f.Key))
		}
		for i := range entries.Len() {
			has[entries.Index(i).Interface()] = true
		}
		return entries, has
	}
	adds, added := read("add_", e.add)
	_, removed := read("remove_", e.remove)
	for entry := range removed {
		if added[entry] {
			d.p.Invalid(join(path, "remove_"+f.Key), "%v is also in add_%s", entry, f.Key)
		}
	}
	edited, has := reflect.MakeSlice(list.Type(), 0, list.Len()+adds.Len()), map[any]bool{}
	for _, from := range []reflect.Value{list, adds} {
		for i := range from.Len() {
			if entry := from.Index(i); !removed[entry.Interface()] && !has[entry.Interface()] {
				has[entry.Interface()] = true
				edited = reflect.Append(edited, entry)
			}
		}
	}
	if edited.Len() > f.MaxLen && edited.Len() > list.Len() {
		d.p.Invalid(join(path, f.Key), "must have at most %d entries, not %d", f.MaxLen, edited.Len())
	}
	list.Set(edited)
}
