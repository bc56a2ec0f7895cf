package index

import (
	"slices"
	"strings"
)

// Schema is what GET /v1/schemas/{entity} answers: what its lists accept, read from the same definition.
type Schema struct {
	Entity      string        `json:"entity"`
	DefaultSort string        `json:"default_sort"`
	Fields      []SchemaField `json:"fields"`
}

// SchemaField describes one field.
type SchemaField struct {
	Key        string        `json:"key"`
	Label      string        `json:"label"`
	Type       string        `json:"type" rule:"enum=text|number|boolean|date|datetime|enum|multi|reference"`
	ReadOnly   bool          `json:"read_only"`
	Custom     bool          `json:"custom"`
	Sortable   bool          `json:"sortable"`
	Filterable bool          `json:"filterable"`
	Conditions []Condition   `json:"conditions" rule:"enum=is|is_not|equals|contains|not_contains|is_empty|is_not_empty|is_before|is_after|greater_than|less_than"`
	Enum       *EnumSettings `json:"enum_field_settings"`
}

// EnumSettings lists the keys that a field can have, with their names for people.
type EnumSettings struct {
	AllowedValues []string          `json:"allowed_values"`
	Labels        map[string]string `json:"labels"`
}

// Schema describes the kind with its custom fields.
func (k *Kind) Schema(cs *Customs) Schema {
	s := Schema{Entity: k.Entity, DefaultSort: k.DefaultSort}
	for _, f := range slices.Concat(k.Fields, cs.fields) {
		sf := SchemaField{
			Key: f.Key, Label: f.Label, Type: string(f.Type), ReadOnly: k.ReadOnly || f.ReadOnly || f.Fixed,
			Custom: f.Custom, Sortable: f.Sortable, Filterable: true, Conditions: f.Conditions(),
		}
		if f.Enum != nil {
			sf.Enum = &EnumSettings{AllowedValues: f.Enum, Labels: map[string]string{}}
			for _, key := range f.Enum {
				if sf.Enum.Labels[key] = key; !f.Custom { // those of a custom field are meant for people already
					sf.Enum.Labels[key] = label(key)
				}
			}
		}
		s.Fields = append(s.Fields, sf)
	}
	return s
}

// label is a key for people: "tam_import" is "Tam import".
func label(key string) string {
	s := strings.ReplaceAll(key, "_", " ")
	return strings.ToUpper(s[:1]) + s[1:]
}
