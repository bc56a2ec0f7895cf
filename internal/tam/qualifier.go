package tam

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// Signal is the AI-filled field that decides which companies pass, as it was when the Preview was
// requested.
type Signal struct {
	ID       uuid.UUID     `json:"id" rule:"required"`
	Name     string        `json:"name"`
	Question string        `json:"question"`
	DataType string        `json:"data_type" rule:"enum=text|number|boolean|date|enum|multi_select"`
	Rule     QualifierRule `json:"rule"`
}

// findQualifier resolves the Qualifier of a request, if it has one, and adds problems for a rule
// that does not fit the field.
func (t *TAM) findQualifier(tx *store.Tx, r *PreviewRequest, named *resolved, p *fault.Problems) error {
	const idPath, rulePath = "qualifier_signal_id", "qualifier_rule"
	hasID, hasRule := r.QualifierSignalID.Valid || p.Has(idPath), r.QualifierRule != nil || p.Has(rulePath)
	switch {
	case hasRule && !hasID:
		p.Invalid(idPath, "required together with qualifier_rule")
	case hasID && !hasRule:
		p.Invalid(rulePath, "required together with qualifier_signal_id")
	}
	if !r.QualifierSignalID.Valid {
		return nil
	}
	doc, err := t.crm.Fields.Get(tx, r.QualifierSignalID.UUID)
	if fault.CodeOf(err) == fault.NotFound {
		p.Invalid(idPath, "does not exist, or is not an AI-filled field of accounts")
		return nil
	}
	field := doc.Record
	switch {
	case err != nil:
		return err
	case field.AI == nil:
		p.Invalid(idPath, "the field is not AI-filled")
		return nil
	case r.QualifierRule == nil || p.Has(rulePath):
		return nil
	}
	rule := *r.QualifierRule
	if rule.Operator == "contains" && field.DataType != crm.TextField && field.DataType != crm.MultiSelectField {
		p.Invalid(rulePath+".operator", "must be equals: contains requires a text or multi_select field, not %s", field.DataType)
	}
	if why := rule.mismatch(&field); why != "" {
		p.Invalid(rulePath+".value", "%s", why)
	}
	named.Signal = &Signal{ID: doc.ID, Name: field.Label, Question: field.AI.Question, DataType: string(field.DataType), Rule: rule}
	named.Allowed, named.Field = field.AllowedValues, string(field.AI.Field)
	return nil
}

// mismatch returns why a field can never have the value of the rule, or "" if it can.
func (r *QualifierRule) mismatch(f *crm.Field) string {
	v := r.Value
	switch f.DataType {
	case crm.BooleanField:
		if v.Kind != shape.Bool {
			return "must be true or false, because the field is boolean"
		}
		return ""
	case crm.NumberField:
		if v.Kind != shape.Num {
			return "must be a number, because the field is a number"
		}
		return ""
	}
	switch {
	case v.Kind == shape.String && v.Text != "":
	case f.DataType == crm.MultiSelectField:
		return "must be a string: one of the allowed values of the field"
	default:
		return fmt.Sprintf("must be a string, because the field is of type %s", f.DataType)
	}
	if f.DataType == crm.DateField {
		if _, err := shape.ParseDate(v.Text); err != nil {
			return err.Error()
		}
	}
	allowed := func(s string) bool {
		return s == v.Text || r.Operator == "contains" && shape.Fold(s) == shape.Fold(v.Text)
	}
	if len(f.AllowedValues) > 0 && !slices.ContainsFunc(f.AllowedValues, allowed) {
		return "must be one of the allowed values of the field"
	}
	return ""
}

// accepts reports whether an answer passes. The answer must have the field's type.
func (r *QualifierRule) accepts(answer shape.Value) bool {
	wanted := r.Value
	switch answer.Kind {
	case shape.Bool:
		return answer.True == wanted.True
	case shape.Num:
		return shape.ParseNumber(answer.Text) == shape.ParseNumber(wanted.Text)
	case shape.List:
		if r.Operator == "contains" {
			return slices.ContainsFunc(answer.Items, func(v shape.Value) bool { return shape.Fold(v.Text) == shape.Fold(wanted.Text) })
		}
		return len(answer.Items) == 1 && answer.Items[0].Text == wanted.Text
	}
	if r.Operator == "contains" {
		return strings.Contains(shape.Fold(answer.Text), shape.Fold(wanted.Text))
	}
	return answer.Text == wanted.Text
}
