package filter

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/shape"
)

// Field is a field that lists can filter and sort by.
type Field struct {
	shape.Field
	Sortable bool
	Custom   bool
	// Name is the key of a built-in field. The name of a custom field is derived from its id: a
	// custom field that is deleted and created again under the same key has another name.
	Name string

	position  int                 // in Row.Values; built-in fields only
	canonical func(string) string // nil if values are compared as they are
	isHidden  bool                // see Kind.ForReaders
}

// IsNumeric reports whether values of the field are compared as numbers: numbers, booleans, dates
// and times.
func (f *Field) IsNumeric() bool {
	switch f.Type {
	case shape.TypeNumber, shape.TypeBoolean, shape.TypeDate, shape.TypeDateTime:
		return true
	}
	return false
}

// Kind describes the records of one entity to lists: their fields and their default sort.
type Kind struct {
	Entity      string
	DefaultSort string
	Fields      []Field
	ReadOnly    bool           // callers cannot change any field
	Hosts       *address.Hosts // the shared hosts of websites; nil for the embedded list

	byKey  map[string]int
	idText *Field // the id field if it is a text, else nil

	hasConfidential bool
	shape           *shape.Struct
	decode          func(public []byte) (any, error)
}

// NewKind describes the records of type T. It panics if T has a field that lists do not support.
func NewKind[T any](entity, defaultSort string) *Kind {
	k := &Kind{Entity: entity, DefaultSort: defaultSort, byKey: map[string]int{}, shape: shape.Of[T]()}
	for _, f := range k.shape.Flat() {
		ValueOf(f.Listed(new(T))) // panics on an unsupported type now instead of in a list
		position := len(k.Fields)
		k.byKey[f.Key] = position
		k.Fields = append(k.Fields, Field{
			Field: f, Sortable: f.Type != shape.TypeMulti && !f.Long, Name: f.Key, position: position,
		})
		k.Fields[position].setCanonical()
		k.hasConfidential = k.hasConfidential || f.Confidential
		if f.Searched && f.Type != shape.TypeText && (f.Type != shape.TypeMulti || f.HasUUIDs()) {
			panic(fmt.Sprintf("filter: field %s of %s is marked as searched but has no text", f.Key, entity))
		}
	}
	if id := k.Field("id"); id != nil && id.Type == shape.TypeText {
		k.idText = id
	}
	k.decode = func(public []byte) (any, error) {
		rec := new(T)
		return rec, json.Unmarshal(public, rec)
	}
	return k
}

// Field returns the built-in field with the key, or nil if there is none.
func (k *Kind) Field(key string) *Field {
	if i, known := k.byKey[key]; known {
		return &k.Fields[i]
	}
	return nil
}

// ForReaders returns the kind as API keys with read access can query it: confidential fields are not
// searched, and filters and sorts do not know them.
func (k *Kind) ForReaders() *Kind {
	if !k.hasConfidential {
		return k
	}
	r := *k
	r.Fields, r.byKey = slices.Clone(k.Fields), maps.Clone(k.byKey)
	for i := range r.Fields {
		if f := &r.Fields[i]; f.Confidential {
			f.isHidden = true
			delete(r.byKey, f.Key)
		}
	}
	if r.idText != nil {
		r.idText = r.Field("id")
	}
	return &r
}

// Decode decodes the public JSON of a record. It returns a pointer to the record and its custom
// fields.
func (k *Kind) Decode(public []byte) (rec any, custom shape.Custom, err error) {
	if rec, err = k.decode(public); err != nil {
		return nil, nil, err
	}
	if c := k.shape.Custom(rec); c != nil {
		custom = *c
	}
	return rec, custom, nil
}

// Row decodes the public JSON of a record into the values of its fields.
func (k *Kind) Row(cs *CustomFields, id uuid.UUID, public []byte) (*Row, error) {
	rec, custom, err := k.Decode(public)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", k.Entity, id, err)
	}
	r := &Row{ID: id, Values: make([]Value, len(k.Fields))}
	for i := range k.Fields {
		r.Values[i] = k.Fields[i].canonicalValue(ValueOf(k.Fields[i].Listed(rec)))
	}
	if custom != nil {
		r.Custom = cs.values(custom)
	}
	return r, nil
}
