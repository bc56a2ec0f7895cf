package crm

import (
	"github.com/google/uuid"

	"prospector/internal/record"
	"prospector/internal/shape"
)

// Opportunity is a possible deal with an account.
type Opportunity struct {
	record.Head
	Name      string        `json:"name" rule:"required,line,personal"`
	AccountID uuid.NullUUID `json:"account_id" label:"Account" rule:"required,ref=accounts"`
	ContactID uuid.NullUUID `json:"contact_id" label:"Contact" rule:"ref=contacts"`
	OwnerID   uuid.NullUUID `json:"owner_id" label:"Owner" rule:"ref=users"`
	Stage     string        `json:"stage" rule:"default=prospecting,enum=prospecting|qualification|proposal|negotiation|won|lost"`
	Amount    shape.Number  `json:"amount"`
	Currency  shape.Text    `json:"currency"`
	CloseDate shape.Date    `json:"close_date"`
	Notes     shape.Text    `json:"notes" rule:"maxlen=100000,long,personal"`
	Common
}

var opportunityRules = record.Rules[Opportunity]{
	Object: "opportunity", Entity: "opportunities", Example: opportunityExample,
}
