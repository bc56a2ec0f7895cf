package tam

import (
	"context"

	"prospector/internal/crm"
)

// Question is what is asked about companies: that of an AI-filled field, and what its answers are like.
type Question struct {
	Text    string
	Type    crm.DataType
	Allowed []string // the values of an enum or a multi_select
}

// Researcher answers questions about companies.
type Researcher interface {
	// Research answers a question about a company, or says in the status and the reason why there is no answer. Whether an
	// answer is of the type that the question wants is for the caller to check. An error says that ctx has ended.
	Research(ctx context.Context, q Question, c *Company) (Qualification, error)
	// Costly tells whether an answer is to be kept while a preparation goes on: to get it again would take time, or money.
	Costly() bool
}

// The statuses of a Qualification that is no answer.
const (
	ResearchFailed     = "failed"
	ResearchUnanswered = "unanswered"
)

// Why research fails before anybody is asked. Other reasons are the researcher's own.
const (
	providerNotConfigured = "provider_not_configured"
	// ProviderUnreachable says that no connection came about.
	ProviderUnreachable = "provider_unreachable"
)
