package research

import (
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/shape"
)

// Question is what a provider is asked about a company: the question of an AI-filled field, and the type of its answer.
type Question struct {
	Text    string
	Type    crm.DataType
	Allowed []string // the values of an enum or a multi_select
	Field   string   // the field of a company that answers the question, or ""
}

// Qualification is a provider's answer about one company, or the reason why there is no answer.
type Qualification struct {
	Answer     shape.Value  `json:"answer" rule:"optional"`
	Confidence shape.Number `json:"confidence" rule:"optional" doc:"From 0 to 1."`
	Evidence   shape.Text   `json:"evidence" rule:"optional" doc:"What the answer relies on."`
	Source     shape.Text   `json:"source" rule:"optional" doc:"Who gave the answer."`
	Status     shape.Text   `json:"status" rule:"optional,enum=failed|unanswered"`
	Reason     shape.Text   `json:"reason" rule:"optional" doc:"Why there is no answer, such as not_in_catalogue, question_not_answerable, not_known, no_answer, invalid_answer, answer_too_large, cut_off, refused, timeout, connection_broken, provider_not_configured, provider_unreachable or http_ with a status."`
}

// The statuses of a Qualification without an answer. With an answer, the status is empty.
const (
	StatusFailed     = "failed"
	StatusUnanswered = "unanswered"
)

// Reasons that do not depend on the provider.
const (
	// ProviderNotConfigured means that the settings name no provider.
	ProviderNotConfigured = "provider_not_configured"
	// ProviderUnreachable means that no connection could be established, so the question was not sent.
	ProviderUnreachable = "provider_unreachable"
	// InvalidAnswer means that the answer is not of the field's type.
	InvalidAnswer = "invalid_answer"
	noAnswer      = "no_answer"
)

// ReachedProvider reports whether the question reached a provider.
func (q *Qualification) ReachedProvider() bool {
	return q.Status != StatusFailed || q.Reason != ProviderNotConfigured && q.Reason != ProviderUnreachable
}

const (
	// maxEvidenceBytes bounds the evidence, because every member stores it.
	maxEvidenceBytes = 1000
	// maxReasonBytes bounds a reason or a source.
	maxReasonBytes = 200
)

// Check validates what a provider returned, because providers are not trusted. An answer that the field cannot hold becomes
// a failed Qualification with the reason InvalidAnswer. Evidence, source and reason are cut to their maximum length.
func (q Question) Check(found Qualification) Qualification {
	if found.Status != "" {
		return Qualification{Status: found.Status, Reason: truncate(found.Reason, maxReasonBytes)}
	}
	field := crm.Field{Key: "answer", DataType: q.Type, AllowedValues: q.Allowed}
	key := shape.CustomPrefix + field.Key
	var decoded shape.Custom
	var p fault.Problems
	shape.DecodeCustom(shape.Value{Kind: shape.Object, Members: []shape.Member{{Key: key, Value: found.Answer}}}, &decoded,
		shape.NewCustoms([]shape.CustomField{field.Custom()}), &p)
	switch answer := decoded[key].(type) {
	case nil:
		if p.Count() > 0 {
			return Qualification{Status: StatusFailed, Reason: InvalidAnswer}
		}
		return Qualification{Status: StatusUnanswered, Reason: noAnswer}
	case []any: // decoding removed duplicates
		found.Answer = shape.Value{Kind: shape.List}
		for _, entry := range answer {
			found.Answer.Items = append(found.Answer.Items, shape.Value{Kind: shape.String, Text: entry.(string)})
		}
	}
	if c := found.Confidence; !(c.Float >= 0 && c.Float <= 1) { // also true for NaN
		found.Confidence = shape.Number{}
	}
	found.Evidence, found.Source = truncate(found.Evidence, maxEvidenceBytes), truncate(found.Source, maxReasonBytes)
	return found
}

// truncate returns at most limit bytes of a string, as valid UTF-8.
func truncate(s shape.Text, limit int) shape.Text {
	if len(s) > limit {
		for limit > 0 && !utf8.RuneStart(s[limit]) {
			limit--
		}
		s = s[:limit]
	}
	return shape.Text(strings.ToValidUTF8(string(s), "\uFFFD"))
}

// Encode returns the qualification as the JSON that members contain.
func (q *Qualification) Encode() ([]byte, error) {
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
