package tam

import (
	"context"

	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/research"
)

// Researcher answers questions about companies.
type Researcher interface {
	// Research answers a question about a company. When there is no answer, the status and the
	// reason of the Qualification explain why. The caller checks whether the answer has the type
	// that the question wants. The only error is that of an ended context.
	Research(ctx context.Context, q research.Question, c *catalog.Company) (research.Qualification, error)
	// Costly reports whether getting an answer a second time would take time or money. The answers
	// of a costly Researcher are stored until the preparation ends.
	Costly() bool
}

// question returns what a request asks about companies.
func (named *resolved) question() research.Question {
	return research.Question{Text: named.Signal.Question, Type: crm.DataType(named.Signal.DataType), Allowed: named.Allowed, Field: named.Field}
}
