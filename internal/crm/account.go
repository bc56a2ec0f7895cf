package crm

import (
	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// Account is a company that the organization sells to.
type Account struct {
	record.Head
	Name          string        `json:"name" rule:"required,line"`
	Website       shape.Text    `json:"website" rule:"format=website" doc:"Stored as a lower-case domain without scheme, www and path. On a host that many companies share, such as linkedin.com, the path is kept."`
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
	OtherIDs      []string      `json:"other_external_ids" label:"Other external IDs" rule:"maxlen=20,personal=id" doc:"The record's ids in further systems, each unique within the entity. They find the record, as external_id does."`
	Common
	Origin Origin `json:"-"`
}

// Private returns the part of the record that is stored but never returned by the API.
func (a *Account) Private() any { return &a.Origin }

func (c *CRM) accountRules() record.Rules[Account] {
	return record.Rules[Account]{
		Object: "account", Entity: "accounts", Example: accountExample,
		Check: func(_ *store.Tx, _, a *Account, _ *fault.Problems) error {
			a.Website = shape.Text(c.hosts.Website(string(a.Website)))
			a.OtherIDs = distinct(a.OtherIDs, string(a.ExternalID), shape.Fold)
			return nil
		},
		Undo:  &record.UndoRules[Account]{InUse: c.isAccountInUse},
		Merge: &record.MergeRules[Account]{Fold: foldAccount, SourceOf: func(a *Account) string { return a.Origin.SourceID }},
		Match: record.MatchRules{
			Fields: matchFields("accounts", c.hosts), Version: c.hosts.Version(), Identity: c.accountIdentity(),
		},
		Import: record.ImportRules[Account]{IsErased: c.namesErased},
		Alike: &record.Alike[Account]{
			Key: accountNameKey, Version: nameVersion,
			Prefix: func(a *Account) string { return AccountNameKey(a.Name, "") }, Common: c.commonOfAccounts,
		},
		Keys: []store.Key[Account]{
			sourceKey(func(a *Account) *Origin { return &a.Origin }),
			store.TextKey(byLinkedIn, accountLinkedIn).At(address.Version),
		},
	}
}

// byLinkedIn is the secondary key that finds accounts by the canonical form of their LinkedIn URL.
const byLinkedIn = "linkedin"

func accountLinkedIn(a *Account) string { return address.LinkedIn(string(a.LinkedinURL)) }
