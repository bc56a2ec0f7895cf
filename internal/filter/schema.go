package filter

import (
	"slices"
	"strings"
)

// Schema is the answer of GET /v1/schemas/{entity}: the fields that the lists of an entity accept.
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
	Conditions []Condition   `json:"conditions" rule:"enum=is|is_not|equals|contains|not_contains|is_empty|is_not_empty|is_before|is_after|greater_than|less_than|at_least|at_most|between"`
	Enum       *EnumSettings `json:"enum_field_settings"`
}

// EnumSettings lists the values that a field accepts, with a label for each.
type EnumSettings struct {
	AllowedValues []string          `json:"allowed_values"`
	Labels        map[string]string `json:"labels"`
}

// Schema describes the kind, with the given custom fields.
func (k *Kind) Schema(cs *CustomFields) Schema {
	s := Schema{Entity: k.Entity, DefaultSort: k.DefaultSort}
	for _, f := range slices.Concat(k.Fields, cs.ListFields) {
		sf := SchemaField{
			Key: f.Key, Label: f.Label, Type: string(f.Type),
			ReadOnly: k.ReadOnly || f.ReadOnly || f.Fixed, Custom: f.Custom,
			Sortable: f.Sortable, Filterable: true, Conditions: f.Conditions(),
		}
		if f.isHidden {
			sf.Sortable, sf.Filterable, sf.Conditions = false, false, []Condition{}
		}
		if f.Enum != nil {
			sf.Enum = &EnumSettings{AllowedValues: f.Enum, Labels: map[string]string{}}
			for _, key := range f.Enum {
				sf.Enum.Labels[key] = key // users choose the values of custom fields as labels
				if !f.Custom {
					sf.Enum.Labels[key] = label(key)
				}
			}
		}
		s.Fields = append(s.Fields, sf)
	}
	return s
}

// label turns a key into a label: "tam_import" becomes "Tam import".
func label(key string) string {
	s := strings.ReplaceAll(key, "_", " ")
	return strings.ToUpper(s[:1]) + s[1:]
}
