// Package offline answers questions about companies from the catalog alone, without a network. A question is answered by the field
// of the company that its custom field names.
package offline

import (
	"context"
	"slices"
	"strings"

	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/research"
	"prospector/internal/shape"
)

// Reasons why there is no answer.
const (
	// notInCatalog means that the field of the company is empty, or has none of the allowed values.
	notInCatalog = "not_in_catalogue"
	// notAnswerable means that no field is said to answer the question.
	notAnswerable = "question_not_answerable"
)

// confidence is that of all answers: the catalog says so.
const confidence = 1

// companies describes the fields that answer.
var companies = shape.Of[catalog.Company]()

// Fields answers from the fields of a company. The same company and question always lead to the same answer.
type Fields struct{}

// Costly returns false, because an answer takes microseconds.
func (Fields) Costly() bool { return false }

// Research answers a question about a company. The only error is that of an ended context.
func (Fields) Research(ctx context.Context, q research.Question, company *catalog.Company) (research.Qualification, error) {
	field := companies.Field(q.Field)
	if field == nil {
		return unanswered(notAnswerable), ctx.Err()
	}
	answer := answerOf(q, field.Get(company))
	if answer.Kind == shape.Null {
		return unanswered(notInCatalog), ctx.Err()
	}
	return research.Qualification{
		Answer: answer, Confidence: shape.NumberOf(confidence),
		Evidence: shape.Text(field.Key + ": " + shown(answer)), Source: shape.Text("catalog:" + field.Key),
	}, ctx.Err()
}

// answerOf returns the answer that the value of a field gives, or null.
func answerOf(q research.Question, value any) shape.Value {
	var texts []string
	switch value := value.(type) {
	case shape.Number:
		if value.Valid && value.Float != 0 { // in a catalog, 0 means unknown
			return shape.Value{Kind: shape.Num, Text: shape.TextOf(value)}
		}
		return shape.Value{Kind: shape.Null}
	case []string:
		texts = value
	default:
		texts = []string{strings.TrimSpace(shape.TextOf(value))}
	}
	if q.Type == crm.EnumField || q.Type == crm.MultiSelectField {
		texts = allowed(q.Allowed, texts)
	}
	switch {
	case len(texts) == 0 || texts[0] == "":
		return shape.Value{Kind: shape.Null}
	case q.Type != crm.MultiSelectField:
		return text(texts[0])
	}
	list := shape.Value{Kind: shape.List}
	for _, t := range texts {
		list.Items = append(list.Items, text(t))
	}
	return list
}

// allowed returns the allowed values that are among the texts, without regard to case.
func allowed(values, texts []string) (some []string) {
	for _, value := range values {
		if slices.ContainsFunc(texts, func(t string) bool { return shape.Fold(strings.TrimSpace(t)) == shape.Fold(value) }) {
			some = append(some, value)
		}
	}
	return some
}

// shown returns an answer as evidence.
func shown(answer shape.Value) string {
	if answer.Kind != shape.List {
		return answer.Text
	}
	var texts []string
	for _, item := range answer.Items {
		texts = append(texts, item.Text)
	}
	return strings.Join(texts, ", ")
}

func text(s string) shape.Value { return shape.Value{Kind: shape.String, Text: s} }

func unanswered(reason shape.Text) research.Qualification {
	return research.Qualification{Status: research.StatusUnanswered, Reason: reason}
}
