package filter

import "prospector/internal/shape"

// CustomFields are the custom fields that a kind has in one organization at one point in time. They
// are immutable.
type CustomFields struct {
	*shape.Customs
	ListFields []Field // in the order of Customs.Fields
	// Incomplete reports that a damaged field of the organization is missing. It may be one of another kind.
	Incomplete bool
}

// CustomNamePrefix begins the Name of every custom field. No key of a built-in field begins with
// it.
const CustomNamePrefix = "~c"

// NewCustomFields makes the fields of lists from custom fields.
func NewCustomFields(fields []shape.CustomField) *CustomFields {
	c := &CustomFields{Customs: shape.NewCustoms(fields)}
	for _, f := range fields {
		c.ListFields = append(c.ListFields, Field{
			Field: f.Field, Custom: true, Sortable: f.Type != shape.TypeMulti, Name: CustomNamePrefix + f.ID.String(),
		})
	}
	return c
}

// NoCustomFields is for kinds and organizations without custom fields.
var NoCustomFields = NewCustomFields(nil)

// byKey returns the field with the key, or nil if there is none.
func (c *CustomFields) byKey(key string) *Field {
	for i := range c.ListFields {
		if c.ListFields[i].Key == key {
			return &c.ListFields[i]
		}
	}
	return nil
}

// HasName reports whether a field with the name exists. It does not if the field was deleted, even
// if another field has its key now.
func (c *CustomFields) HasName(name string) bool {
	for i := range c.ListFields {
		if c.ListFields[i].Name == name {
			return true
		}
	}
	return false
}

// values returns the values that a record has of the custom fields. It leaves out keys that are not
// custom fields.
func (c *CustomFields) values(custom shape.Custom) []CustomValue {
	var values []CustomValue
	for key, v := range custom {
		if f := c.byKey(key); f != nil {
			values = append(values, CustomValue{f, f.customValue(v)})
		}
	}
	return values
}

func (f *Field) customValue(v any) Value {
	switch v := v.(type) {
	case string:
		if f.Type == shape.TypeDate {
			return ValueOf(shape.Date(v))
		}
		return textValue(v)
	case float64:
		return Value{IsSet: true, Num: v}
	case bool:
		return boolValue(v)
	case []any:
		list := make([]string, 0, len(v))
		for _, entry := range v {
			if s, is := entry.(string); is {
				list = append(list, s)
			}
		}
		return ValueOf(list)
	}
	return Value{}
}
