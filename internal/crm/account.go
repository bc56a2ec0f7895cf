package crm

import (
	"github.com/google/uuid"

	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// Account is a company that the organization sells to.
type Account struct {
	record.Head
	Name          string        `json:"name" rule:"required"`
	Website       shape.Text    `json:"website" rule:"format=domain" doc:"Stored as a lower-case domain without scheme, www and path."`
	Industry      shape.Text    `json:"industry"`
	EmployeeCount shape.Number  `json:"employee_count" rule:"integer,min=0"`
	AnnualRevenue shape.Number  `json:"annual_revenue"`
	FoundedYear   shape.Number  `json:"founded_year" rule:"integer,min=0"`
	Description   shape.Text    `json:"description" rule:"maxlen=100000,long"`
	Country       shape.Text    `json:"country"`
	Location      shape.Text    `json:"location"`
	LinkedinURL   shape.Text    `json:"linkedin_url" label:"LinkedIn URL"`
	PhoneNumber   shape.Text    `json:"phone_number"`
	Source        Source        `json:"source" rule:"fixed,default=api"`
	OwnerID       uuid.NullUUID `json:"owner_id" label:"Owner" rule:"ref=users"`
	Notes         shape.Text    `json:"notes" rule:"maxlen=100000,long"`
	Common
	Origin Origin `json:"-"`
}

// Private returns the part of the record that is stored but never returned by the API.
func (a *Account) Private() any { return &a.Origin }

var accountRules = record.Rules[Account]{
	Object: "account", Entity: "accounts", Example: accountExample,
	Match: matchable["accounts"],
	Keys:  []store.Key[Account]{sourceKey(func(a *Account) *Origin { return &a.Origin })},
}
