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

// Mode says what an object is decoded for.
type Mode int

const (
	Create Mode = iota // a new record or an input: defaults apply, fixed fields may be set
	Update             // over an existing record: what is absent stays
)

// Decode sets the members of object in into, a pointer to a struct, and notes every problem by its path. Under Update
// an absent member stays and null clears; read-only members are accepted when they say what is already there.
// The slices of into are replaced, never written into, so that a copy of the record may share them.
func Decode(object Value, into any, mode Mode, p *fault.Problems) {
	d := decoder{mode: mode, p: p}
	d.object(object, reflect.ValueOf(into).Elem(), "")
}

type decoder struct {
	mode Mode
	p    *fault.Problems
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func (d *decoder) object(v Value, dst reflect.Value, path string) {
	s := describe(dst.Type())
	given := make([]bool, len(s.Fields))
	var edits []edit
	for _, m := range v.Members {
		at := join(path, m.Key)
		i, known := s.byKey[m.Key]
		if !known {
			if e, is := s.edit(m); is && d.mode == Update {
				edits = append(edits, e)
			} else if s.custom == nil || !strings.HasPrefix(m.Key, CustomPrefix) { // those are for DecodeCustom
				d.p.Invalid(at, "is not a known field")
			}
			continue
		}
		f := &s.Fields[i]
		field := dst.FieldByIndex(f.index)
		if f.ReadOnly && d.mode == Create {
			d.p.Invalid(at, "is read-only")
			continue
		}
		if f.ReadOnly || f.Fixed && d.mode == Update {
			d.unchanged(m.Value, field, f, at)
			continue
		}
		given[i] = m.Value.Kind != Null
		// An empty text is no value, just as null is.
		if m.Value.Kind == Null || m.Value.Kind == String && m.Value.Text == "" && field.Kind() == reflect.String {
			field.Set(f.zero())
		} else {
			d.value(m.Value, field, f, at)
		}
		if f.Required && m.Value.Kind == List && len(m.Value.Items) == 0 {
			d.p.Invalid(at, "must not be empty")
		}
	}
	d.edit(edits, dst, path)
	for i := range s.Fields {
		f := &s.Fields[i]
		field := dst.FieldByIndex(f.index)
		if d.mode == Create && !given[i] && field.IsZero() {
			field.Set(f.zero())
		}
		at := join(path, f.Key)
		missing := field.IsZero() && (!given[i] || field.Kind() == reflect.String)
		if f.Required && !f.ReadOnly && missing && !d.p.Has(at) {
			d.p.Invalid(at, "is required")
		}
	}
}

// zero is what a field holds when nothing is said: its default, or no value.
func (f *Field) zero() reflect.Value {
	v := reflect.New(f.typ).Elem()
	switch kind := f.typ.Kind(); {
	case kind == reflect.Struct && !isScalar(f.typ):
		for _, inner := range describe(f.typ).Fields {
			v.FieldByIndex(inner.index).Set(inner.zero())
		}
	case f.Default == "":
	case kind == reflect.String:
		v.SetString(f.Default)
	case kind == reflect.Int:
		v.SetInt(int64(number(f.Key, f.Default)))
	default:
		panic("shape: no default for " + f.typ.String())
	}
	return v
}

// unchanged lets a read-only member pass when it repeats what is there.
func (d *decoder) unchanged(v Value, field reflect.Value, f *Field, path string) {
	copied := reflect.New(f.typ).Elem()
	var quiet fault.Problems
	if v.Kind != Null {
		(&decoder{mode: Create, p: &quiet}).value(v, copied, f, path)
	}
	if quiet.Err() != nil || !same(copied, field) {
		d.p.Invalid(path, "is read-only")
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
		if v.Kind != Bool {
			d.p.Invalid(path, "must be true or false")
			return
		}
		dst.SetBool(v.True)
	case reflect.Int:
		if n, ok := d.number(v, f, path); ok {
			dst.SetInt(int64(n))
		}
	case reflect.Slice:
		d.list(v, dst, f, path)
	case reflect.Pointer: // an object that may be absent; that of another copy of the record is not written into
		object := reflect.New(dst.Type().Elem())
		if !dst.IsNil() {
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
		d.p.Invalid(path, "must be a text")
		return
	}
	text, err := f.checkText(v.Text)
	if err != nil {
		d.p.Invalid(path, "%v", err)
		return
	}
	dst.SetString(text)
}

// checkText gives the form of a text that is kept. An empty text is no value and satisfies everything but required.
func (f *Field) checkText(s string) (string, error) {
	switch {
	case s == "":
		return s, nil
	case strings.Contains(s, "\x00"):
		return "", fmt.Errorf("must not contain the character NUL")
	case utf8.RuneCountInString(s) > f.Max:
		return "", fmt.Errorf("must have at most %d characters", f.Max)
	case f.Enum != nil && !slices.Contains(f.Enum, s):
		return "", fmt.Errorf("must be one of %s", strings.Join(f.Enum, ", "))
	case f.Pattern != nil && !f.Pattern.MatchString(s):
		return "", errors.New(f.Says)
	case f.Format != "":
		return formats[f.Format](s)
	}
	return s, nil
}

func (d *decoder) number(v Value, f *Field, path string) (float64, bool) {
	whole := f.Integer || f.typ.Kind() == reflect.Int
	n := ParseNumber(v.Text)
	switch {
	case v.Kind != Num && whole:
		d.p.Invalid(path, "must be an integer")
	case v.Kind != Num:
		d.p.Invalid(path, "must be a number")
	case math.Abs(n) > MaxNumber:
		d.p.Invalid(path, "must be between -2^53 and 2^53")
	case whole && n != math.Trunc(n):
		d.p.Invalid(path, "must be an integer")
	case f.Min != nil && f.MaxNum != nil && (n < *f.Min || n > *f.MaxNum):
		d.p.Invalid(path, "must be between %v and %v", *f.Min, *f.MaxNum)
	case f.Min != nil && n < *f.Min:
		d.p.Invalid(path, "must be at least %v", *f.Min)
	default:
		return n, true
	}
	return 0, false
}

// list decodes a list whose entries each satisfy the rules of its field. An entry that stands twice is kept once:
// the lists of records are sets.
func (d *decoder) list(v Value, dst reflect.Value, f *Field, path string) {
	if v.Kind != List {
		d.p.Invalid(path, "must be a list")
		return
	}
	if f.Max > 0 && len(v.Items) > f.Max {
		d.p.Invalid(path, "must have at most %d entries", f.Max)
		return
	}
	entry := *f
	entry.typ = dst.Type().Elem()
	entry.Max = TextMax
	out := reflect.MakeSlice(dst.Type(), 0, len(v.Items))
	seen := make(map[any]bool, len(v.Items))
	for i, item := range v.Items {
		e := reflect.New(entry.typ).Elem()
		before, at := d.p.Count(), fmt.Sprintf("%s[%d]", path, i)
		if item.Kind == String && item.Text == "" {
			d.p.Invalid(at, "must not be empty")
			continue
		}
		d.value(item, e, &entry, at)
		if d.p.Count() > before {
			continue // a later rule must not complain of what stands in its place
		}
		if entry.typ.Comparable() {
			if seen[e.Interface()] {
				continue
			}
			seen[e.Interface()] = true
		}
		out = reflect.Append(out, e)
	}
	dst.Set(out)
}

// edit is a member that adds to a list, or removes from it.
type edit struct {
	field  *Field
	remove bool
	member Member
}

func (s *Struct) edit(m Member) (edit, bool) {
	key, remove := strings.CutPrefix(m.Key, "remove_")
	if !remove {
		key, _ = strings.CutPrefix(m.Key, "add_")
	}
	if i, known := s.byKey[key]; known && key != m.Key && s.Fields[i].Edits {
		return edit{&s.Fields[i], remove, m}, true
	}
	return edit{}, false
}

// edit adds to lists and removes from them, after the lists themselves were set.
func (d *decoder) edit(edits []edit, dst reflect.Value, path string) {
	added := map[any]bool{}
	for _, remove := range []bool{false, true} {
		for _, e := range edits {
			if e.remove != remove || e.member.Value.Kind == Null {
				continue
			}
			list := dst.FieldByIndex(e.field.index)
			named := reflect.New(list.Type()).Elem()
			at := join(path, e.member.Key)
			d.list(e.member.Value, named, e.field, at)
			has := map[any]bool{}
			for i := range named.Len() {
				entry := named.Index(i).Interface()
				if has[entry] = true; remove && added[entry] {
					d.p.Invalid(at, "names %v, which is also to be added", entry)
				}
				added[entry] = !remove
			}
			edited := reflect.MakeSlice(list.Type(), 0, list.Len()+named.Len())
			for i := range list.Len() {
				if entry := list.Index(i); !has[entry.Interface()] || !remove {
					edited = reflect.Append(edited, entry)
					delete(has, entry.Interface())
				}
			}
			for i := range named.Len() {
				if entry := named.Index(i); has[entry.Interface()] && !remove {
					edited = reflect.Append(edited, entry)
				}
			}
			if edited.Len() > e.field.Max && edited.Len() > list.Len() {
				d.p.Invalid(join(path, e.field.Key), "must have at most %d entries", e.field.Max)
			}
			list.Set(edited)
		}
	}
}
