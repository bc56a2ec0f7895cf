package index

import (
	"prospector/internal/shape"
	"prospector/store"
)

// Customs are the custom fields of a kind in one organization, at one moment. They never change.
type Customs struct {
	*shape.Customs
	fields []Field // as Customs.Fields
}

// NewCustoms makes the custom fields of a kind. In an index they have the name of their id: a later field with the same
// key is another one.
func NewCustoms(fields []shape.CustomField) *Customs {
	c := &Customs{Customs: shape.NewCustoms(fields)}
	for _, f := range fields {
		name := customName + f.ID.String()
		c.fields = append(c.fields, Field{Field: f.Field, Custom: true, Sortable: f.Type != shape.TypeMulti, name: name, column: columnName + name})
	}
	return c
}

// NoCustoms are those of a kind that has none.
var NoCustoms = NewCustoms(nil)

// customName begins the names of custom fields in an index.
const customName = "~c"

// Customs gives the custom fields that the kind has in a transaction.
func (k *Kind) Customs(tx *store.Tx) (*Customs, error) {
	if k.customs == nil {
		return NoCustoms, nil
	}
	return k.customs(tx)
}

// find gives the custom field that has the key, nil when there is none.
func (c *Customs) find(key string) *Field {
	for i := range c.fields {
		if c.fields[i].Key == key {
			return &c.fields[i]
		}
	}
	return nil
}

// has tells whether a custom field that a row or an index has is still one.
func (c *Customs) has(name string) bool {
	for i := range c.fields {
		if c.fields[i].name == name {
			return true
		}
	}
	return false
}

// customValue is a value of a custom field. Which field that is the name says, whatever has its key now.
type customValue struct {
	field *Field
	value value
}

// customValues gives the values of a record's custom fields.
func (c *Customs) customValues(custom shape.Custom) []customValue {
	var values []customValue
	for key, v := range custom {
		if f := c.find(key); f != nil {
			values = append(values, customValue{f, f.customValue(v)})
		}
	}
	return values
}

func (f *Field) customValue(v any) value {
	switch v := v.(type) {
	case string:
		if f.Type == shape.TypeDate {
			return valueOf(shape.Date(v))
		}
		return textValue(v)
	case float64:
		return value{has: true, num: v}
	case bool:
		return boolValue(v)
	case []any:
		list := make([]string, 0, len(v))
		for _, entry := range v {
			if s, is := entry.(string); is {
				list = append(list, s)
			}
		}
		return valueOf(list)
	}
	return value{}
}
