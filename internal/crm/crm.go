// Package crm owns the records that a sales team works with: accounts, contacts and the tags on them.
package crm

import (
	"prospector/internal/record"
)

// CRM holds the kinds of this package.
type CRM struct {
	Accounts *record.Kind[Account]
	Contacts *record.Kind[Contact]
	Tags     *record.Kind[Tag]
}

// New declares the kinds in the set, which must have the users already.
func New(set *record.Set) *CRM {
	return &CRM{
		Accounts: record.Add(set, accountRules),
		Contacts: record.Add(set, contactRules),
		Tags:     record.Add(set, tagRules),
	}
}
