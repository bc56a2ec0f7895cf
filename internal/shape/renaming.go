package shape

import (
	"reflect"
	"strings"

	"github.com/google/uuid"
)

// Renaming gives the records of an organization other ids. It finds ids by their type. A type that has ids in other
// forms, such as JSON that it does not decode, has a method Rename(*Renaming) error.
type Renaming struct {
	ID func(uuid.UUID) uuid.UUID
	// IsReference reports whether the values of a field are ids.
	IsReference func(entity, field string) bool
}

type renamer interface{ Rename(*Renaming) error }

// Rename renames the ids in the value that v points to.
func (r *Renaming) Rename(v any) error { return r.value(reflect.ValueOf(v).Elem()) }

// Fields is Rename for the Rename method of a struct, which it does not call again.
func (r *Renaming) Fields(v any) error { return r.fields(reflect.ValueOf(v).Elem()) }

func (r *Renaming) value(v reflect.Value) error {
	if v.Type() == uuidType {
		v.Set(reflect.ValueOf(r.ID(v.Interface().(uuid.UUID))))
		return nil
	}
	if v.CanAddr() {
		if own, has := v.Addr().Interface().(renamer); has {
			return own.Rename(r)
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return r.value(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() <= reflect.Complex128 { // bytes and numbers
			return nil
		}
		for i := range v.Len() {
			if err := r.value(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		return r.entries(v)
	case reflect.Struct:
		return r.fields(v)
	}
	return nil
}

func (r *Renaming) fields(v reflect.Value) error {
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			if err := r.value(v.Field(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// entries renames the keys and the values of a map.
func (r *Renaming) entries(v reflect.Value) error {
	if v.IsNil() {
		return nil
	}
	renamed := reflect.MakeMapWithSize(v.Type(), v.Len())
	for entries := v.MapRange(); entries.Next(); {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		key.Set(entries.Key())
		value.Set(entries.Value())
		if err := r.value(key); err != nil {
			return err
		}
		if err := r.value(value); err != nil {
			return err
		}
		renamed.SetMapIndex(key, value)
	}
	v.Set(renamed)
	return nil
}

// Filters renames the ids in the filters of a list.
func (r *Renaming) Filters(entity string, v *Value) {
	if field := v.Get("field"); field.Kind == String {
		if !r.IsReference(entity, field.Text) {
			return
		}
		for i := range v.Members {
			if v.Members[i].Key == "value" {
				r.Texts(&v.Members[i].Value)
			}
		}
		return
	}
	for i := range v.Members {
		r.Filters(entity, &v.Members[i].Value)
	}
	for i := range v.Items {
		r.Filters(entity, &v.Items[i])
	}
}

// Body renames the ids in a body that changes a record.
func (r *Renaming) Body(entity string, v *Value) {
	for i := range v.Members {
		field := strings.TrimPrefix(strings.TrimPrefix(v.Members[i].Key, "add_"), "remove_")
		if r.IsReference(entity, field) {
			r.Texts(&v.Members[i].Value)
		}
	}
}

// Texts renames all strings in a value that are ids.
func (r *Renaming) Texts(v *Value) {
	if id, err := uuid.Parse(v.Text); v.Kind == String && err == nil {
		v.Text = r.ID(id).String()
	}
	for i := range v.Members {
		r.Texts(&v.Members[i].Value)
	}
	for i := range v.Items {
		r.Texts(&v.Items[i])
	}
}
