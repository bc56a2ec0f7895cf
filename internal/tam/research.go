package tam

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/shape"
)

// Researcher answers questions about companies.
type Researcher interface {
	// Research answers a question about a company, or says in the status and the reason why there is no answer. Whether an
	// answer is of the type that the question wants is for the caller to check. An error says that ctx has ended.
	Research(ctx context.Context, q Question, c *Company) (Qualification, error)
	// Costly tells whether an answer is to be kept while a preparation goes on: to get it again would take time, or money.
	Costly() bool
}

// Question is what is asked about companies: that of an AI-filled field, and what its answers are like.
type Question struct {
	Text    string
	Type    crm.DataType
	Allowed []string // the values of an enum or a multi_select
}

// question is what a request has asked about companies.
func (named *resolved) question() Question {
	return Question{Text: named.Signal.Question, Type: crm.DataType(named.Signal.DataType), Allowed: named.Allowed}
}

// Qualification is the answer that research gave, or why there is none.
type Qualification struct {
	Answer     shape.Value  `json:"answer" rule:"optional"`
	Confidence shape.Number `json:"confidence" rule:"optional" doc:"From 0 to 1."`
	Evidence   shape.Text   `json:"evidence" rule:"optional" doc:"What the answer relies on."`
	Source     shape.Text   `json:"source" rule:"optional" doc:"Who gave the answer."`
	Status     shape.Text   `json:"status" rule:"optional,enum=failed|unanswered"`
	Reason     shape.Text   `json:"reason" rule:"optional"`
}

// The statuses of a Qualification that is no answer.
const (
	ResearchFailed     = "failed"
	ResearchUnanswered = "unanswered"
)

// Reasons that are not a researcher's own.
const (
	providerNotConfigured = "provider_not_configured"
	// ProviderUnreachable says that no connection came about, so that nothing was asked.
	ProviderUnreachable = "provider_unreachable"
	// InvalidAnswer says that what came is not of the field's type.
	InvalidAnswer = "invalid_answer"
	noAnswer      = "no_answer"
)

// isAsked tells whether the question has reached anybody.
func (q *Qualification) isAsked() bool {
	return q.Status != ResearchFailed || q.Reason != providerNotConfigured && q.Reason != ProviderUnreachable
}

const (
	// evidenceMost is how many bytes of evidence are kept: every member has them.
	evidenceMost = 1000
	// wordMost is how many bytes a reason or a source has at most.
	wordMost = 200
)

// checked is a qualification whose answer is one that the field can hold, and which takes no more room than it should: whoever
// gave it is not trusted.
func (q Question) checked(found Qualification) Qualification {
	if found.Status != "" {
		return Qualification{Status: found.Status, Reason: cut(found.Reason, wordMost)}
	}
	field := crm.Field{Key: "answer", DataType: q.Type, AllowedValues: q.Allowed}
	key := shape.CustomPrefix + field.Key
	var held shape.Custom
	var p fault.Problems
	shape.DecodeCustom(shape.Value{Kind: shape.Object, Members: []shape.Member{{Key: key, Value: found.Answer}}}, &held,
		shape.NewCustoms([]shape.CustomField{field.Custom()}), &p)
	switch answer := held[key].(type) {
	case nil:
		if p.Count() > 0 {
			return Qualification{Status: ResearchFailed, Reason: InvalidAnswer}
		}
		return Qualification{Status: ResearchUnanswered, Reason: noAnswer}
	case []any: // each once
		found.Answer = shape.Value{Kind: shape.List}
		for _, entry := range answer {
			found.Answer.Items = append(found.Answer.Items, shape.Value{Kind: shape.String, Text: entry.(string)})
		}
	}
	if c := found.Confidence; !(c.Float >= 0 && c.Float <= 1) { // which NaN is not
		found.Confidence = shape.Number{}
	}
	found.Evidence, found.Source = cut(found.Evidence, evidenceMost), cut(found.Source, wordMost)
	return found
}

// cut is the beginning of a text, as valid UTF-8.
func cut(s shape.Text, most int) shape.Text {
	if len(s) > most {
		for most > 0 && !utf8.RuneStart(s[most]) {
			most--
		}
		s = s[:most]
	}
	return shape.Text(strings.ToValidUTF8(string(s), "\uFFFD"))
}

// encode gives the qualification as members have it.
func (q *Qualification) encode() ([]byte, error) {
	if q.Status != "" {
		return json.Marshal(struct {
			Status shape.Text `json:"status"`
			Reason shape.Text `json:"reason"`
		}{q.Status, q.Reason})
	}
	return json.Marshal(struct {
		Answer     shape.Value  `json:"answer"`
		Confidence shape.Number `json:"confidence"`
		Evidence   shape.Text   `json:"evidence"`
		Source     shape.Text   `json:"source"`
	}{q.Answer, q.Confidence, q.Evidence, q.Source})
}
