package crm

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

const (
	// maxFields is the number of custom fields that an entity may have.
	maxFields = 500
	// maxAllowed is the maximum length of an allowed value in characters.
	maxAllowed = 255
)

// DataType is the type of a custom field.
type DataType string

const (
	TextField        DataType = "text"
	NumberField      DataType = "number"
	BooleanField     DataType = "boolean"
	DateField        DataType = "date"
	EnumField        DataType = "enum"
	MultiSelectField DataType = "multi_select"
)

// listTypes maps the types of custom fields to the types that list queries use.
var listTypes = map[DataType]shape.Type{
	TextField:        shape.TypeText,
	NumberField:      shape.TypeNumber,
	BooleanField:     shape.TypeBoolean,
	DateField:        shape.TypeDate,
	EnumField:        shape.TypeEnum,
	MultiSelectField: shape.TypeMulti,
}

// Field is a custom field that the organization added to an entity. In records its key is
// custom_field_<key>.
type Field struct {
	record.Head
	Entity        Entity   `json:"entity" rule:"required,fixed"`
	Key           string   `json:"key" rule:"required,fixed" pattern:"^[a-z][a-z0-9_]{0,62}$" hint:"must be a lower-case letter followed by up to 62 lower-case letters, digits and underscores"`
	Label         string   `json:"label" rule:"maxlen=255,line" doc:"The display name. Derived from the key if absent."`
	DataType      DataType `json:"data_type" rule:"required,fixed,enum=text|number|boolean|date|enum|multi_select"`
	AllowedValues []string `json:"allowed_values" rule:"maxlen=1000" doc:"Required for enum and multi_select. A value that records use cannot be removed."`
	Personal      bool     `json:"personal" rule:"default=true" doc:"Values may tell something about a person. An erasure names those that it leaves in other records, and keeps no values of the person."`
	AI            *AI      `json:"ai" label:"AI" doc:"Makes this an AI-filled field. Only for accounts."`
}

// AI defines how research fills a field.
type AI struct {
	Question string     `json:"question" rule:"required"`
	Field    shape.Text `json:"field" doc:"The field of a company in the catalog that answers the question, such as technologies. Its type must fit. Without a model, only questions with a field are answered."`
}

// Custom returns the definition of the field in records.
func (f *Field) Custom() shape.CustomField {
	custom := shape.NewCustomField(f.ID, f.Key, f.Label, listTypes[f.DataType], f.AllowedValues)
	if f.Personal {
		custom.Personal = shape.PersonalValue
	}
	return custom
}

func (c *CRM) fieldRules() record.Rules[Field] {
	return record.Rules[Field]{
		Object: "field", Entity: "fields", Events: record.EventRules[Field]{None: true},
		Unique: []store.Unique[Field]{{
			Name: "key",
			Of:   func(f *Field) []byte { return []byte(string(f.Entity) + "\x00" + f.Key) },
			Taken: func(f *Field, _ []byte, other uuid.UUID) error {
				return fault.Taken(fault.FieldKeyTaken, "key", other.String(),
					"%q is the key of another field of %s", f.Key, f.Entity)
			},
		}},
		Check: c.checkField, Entries: "allowed_values", CheckEntry: checkAllowed,
		Trash: &record.TrashRules[Field]{BeforeRestore: func(tx *store.Tx, f *Field, _ bool) error {
			var p fault.Problems
			if err := c.checkFieldCount(tx, f, &p); err != nil {
				return err
			}
			return p.Err()
		}},
		Losses: func(f *Field) []record.Loss {
			if f.Key == "" { // it is damaged
				return nil
			}
			custom := f.Custom()
			return []record.Loss{record.CustomLoss(string(f.Entity), &custom)}
		},
		AfterChange: func(tx *store.Tx, f, after *Field) error {
			if f == nil || after != nil || f.Key == "" { // a damaged one has no key, so its values cannot be found
				return nil
			}
			custom := f.Custom()
			return c.set.RemoveCustomField(tx, string(f.Entity), &custom)
		},
	}
}

func checkAllowed(f *Field, at, value string, p *fault.Problems) {
	if n := utf8.RuneCountInString(value); n > maxAllowed {
		p.Invalid(at, "must be at most %d characters, not %d", maxAllowed, n)
	}
	if f.DataType == MultiSelectField && strings.ContainsAny(value, "|;") {
		p.Invalid(at, "must not contain | or ;, which separate values in tables")
	}
}

func (c *CRM) checkField(tx *store.Tx, before, f *Field, p *fault.Problems) error {
	if f.Label == "" {
		f.Label = shape.Humanize(f.Key)
	}
	chosen := f.DataType == EnumField || f.DataType == MultiSelectField
	switch {
	case f.DataType == "" || p.Has("data_type"):
	case chosen && len(f.AllowedValues) == 0 && !p.Has("allowed_values"):
		p.Invalid("allowed_values", "required for %s", f.DataType)
	case !chosen && len(f.AllowedValues) > 0:
		p.Invalid("allowed_values", "not allowed for %s", f.DataType)
	}
	if f.AI != nil && string(f.Entity) != c.Accounts.Entity && !p.Has("entity") {
		p.Invalid("ai", "not allowed for %s, only for accounts", f.Entity)
	} else {
		c.checkAnswering(before, f, p)
	}
	if before != nil {
		return c.checkRemoved(tx, before, f)
	}
	return c.checkFieldCount(tx, f, p)
}

// answering are the types of the fields of a company that can answer a question of a type.
var answering = map[DataType][]shape.Type{
	TextField:        {shape.TypeText},
	NumberField:      {shape.TypeNumber},
	BooleanField:     {shape.TypeBoolean},
	DateField:        {shape.TypeDate},
	EnumField:        {shape.TypeText, shape.TypeEnum},
	MultiSelectField: {shape.TypeText, shape.TypeEnum, shape.TypeMulti},
}

// checkAnswering refuses a field of companies that cannot answer the question of a field.
func (c *CRM) checkAnswering(before, f *Field, p *fault.Problems) {
	const path = "ai.field"
	isNew := f.AI != nil && f.AI.Field != "" && (before == nil || before.AI == nil || before.AI.Field != f.AI.Field)
	if !isNew || p.Has(path) || answering[f.DataType] == nil {
		return
	}
	key := string(f.AI.Field)
	var fitting []string
	for _, own := range c.set.ListNamed("companies").Fields {
		if slices.Contains(answering[f.DataType], own.Type) && own.MaxLen <= shape.MaxText {
			fitting = append(fitting, own.Key)
		}
	}
	switch {
	case slices.Contains(fitting, key):
	case len(fitting) == 0:
		p.Invalid(path, "no field of companies answers a %s", f.DataType)
	default:
		p.Invalid(path, "%s is not a field of companies that answers a %s; these do: %s", shape.Quote(key), f.DataType, strings.Join(fitting, ", "))
	}
}

// checkFieldCount refuses one more field than an entity may have.
func (c *CRM) checkFieldCount(tx *store.Tx, f *Field, p *fault.Problems) error {
	customs, err := c.customs(tx, string(f.Entity))
	if err == nil && len(customs.Fields) >= maxFields {
		p.Invalid("entity", "must have at most %d custom fields", maxFields)
	}
	return err
}

// Removed returns the allowed values that a field no longer has.
func (f *Field) Removed(after *Field) []string {
	return slices.DeleteFunc(slices.Clone(f.AllowedValues), func(v string) bool { return slices.Contains(after.AllowedValues, v) })
}

// checkRemoved refuses to remove an allowed value that records have.
func (c *CRM) checkRemoved(tx *store.Tx, before, after *Field) error {
	for _, v := range before.Removed(after) {
		id, held, err := c.set.FindCustomValue(tx, string(after.Entity), after.ID, v)
		if err != nil {
			return err
		}
		if held {
			return fault.Taken(fault.InUse, "allowed_values", id.String(),
				"cannot remove %s: a record has this value", shape.Quote(v))
		}
	}
	return nil
}

// customs returns the custom fields of an entity in the transaction's organization.
func (c *CRM) customs(tx *store.Tx, entity string) (*filter.CustomFields, error) {
	byEntity, err := c.custom.Of(tx)
	return cmp.Or(byEntity[entity], byEntity[otherEntities], filter.NoCustomFields), err
}

// otherEntities is the key of the custom fields of the entities that have none.
const otherEntities = ""

// CustomFields returns the custom fields of an entity in the transaction's organization.
func (c *CRM) CustomFields(tx *store.Tx, entity Entity) (*shape.Customs, error) {
	customs, err := c.customs(tx, string(entity))
	return customs.Customs, err
}

// readFields returns the custom fields of the transaction's organization by entity. A damaged field is
// missing: records keep its values, but nothing reads or changes them.
func (c *CRM) readFields(tx *store.Tx) (map[string]*filter.CustomFields, error) {
	all, damaged, err := c.ListFields(tx, "")
	fields := map[Entity][]shape.CustomField{otherEntities: nil}
	for i := range all {
		f := &all[i]
		fields[f.Entity] = append(fields[f.Entity], f.Custom())
	}
	byEntity := map[string]*filter.CustomFields{}
	for entity, list := range fields {
		customs := filter.NewCustomFields(list)
		customs.Incomplete = damaged > 0
		byEntity[string(entity)] = customs
	}
	return byEntity, err
}

// ListFields returns the custom fields of an entity, or of all entities if it is empty, ordered by
// entity and then by creation. damaged is the number of fields of all entities that cannot be read.
func (c *CRM) ListFields(tx *store.Tx, entity Entity) (fields []Field, damaged int, err error) {
	fields, damaged = []Field{}, c.Fields.Table.Count(tx)
	err = c.Fields.Table.Scan(tx, func(d store.Doc[Field]) (bool, error) {
		if entity == "" || d.Record.Entity == entity {
			fields = append(fields, d.Record)
		}
		damaged--
		return true, nil
	})
	slices.SortStableFunc(fields, func(a, b Field) int { return cmp.Compare(a.Entity, b.Entity) })
	return fields, damaged, err
}
