package tam

import (
	"context"
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

// evidenceMost is how many bytes of evidence are kept: every member has them.
const evidenceMost = 1000

// checked is a qualification whose answer is one that the field can hold, and which takes no more room than it should.
func (q Question) checked(found Qualification) Qualification {
	if found.Status != "" {
		return Qualification{Status: found.Status, Reason: found.Reason}
	}
	field := crm.Field{Key: "answer", DataType: q.Type, AllowedValues: q.Allowed}
	key := shape.CustomPrefix + field.Key
	var held shape.Custom
	var p fault.Problems
	shape.DecodeCustom(shape.Value{Kind: shape.Object, Members: []shape.Member{{Key: key, Value: found.Answer}}}, &held,
		shape.NewCustoms([]shape.CustomField{field.Custom()}), &p)
	switch {
	case p.Count() > 0:
		return Qualification{Status: ResearchFailed, Reason: InvalidAnswer}
	case held[key] == nil:
		return Qualification{Status: ResearchUnanswered, Reason: noAnswer}
	}
	if c := found.Confidence; c.Float < 0 || c.Float > 1 {
		found.Confidence = shape.Number{}
	}
	if len(found.Evidence) > evidenceMost {
		cut := evidenceMost
		for !utf8.RuneStart(found.Evidence[cut]) {
			cut--
		}
		found.Evidence = found.Evidence[:cut]
	}
	return found
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
