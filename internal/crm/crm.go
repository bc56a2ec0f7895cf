// Package crm owns the records that a sales team works with: accounts, contacts, opportunities, tasks and meetings, the tags
// and custom fields on them, views of accounts, and the list of those whom nothing may be sent to.
package crm

import (
	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/record"
	"prospector/store"
)

// CRM holds the kinds of this package.
type CRM struct {
	Accounts      *record.Kind[Account]
	Contacts      *record.Kind[Contact]
	Opportunities *record.Kind[Opportunity]
	Tasks         *record.Kind[Task]
	Meetings      *record.Kind[Meeting]
	Tags          *record.Kind[Tag]
	Fields        *record.Kind[Field]
	Views         *record.Kind[AccountView]
	Suppressions  *record.Kind[Suppression]

	Hooks Hooks

	set    *record.Set
	custom *store.Derived[map[string]*index.Customs]
}

// Hooks are what others do, in the same transaction, when something becomes of a record. They are set before anything is written.
type Hooks struct {
	ContactChanged func(tx *store.Tx, before, after *Contact) error
	ContactDeleted func(tx *store.Tx, contact uuid.UUID) error
	// TaskClosed is told of a task that was open and is not any more, or is gone: after is nil then.
	TaskClosed func(tx *store.Tx, task uuid.UUID, after *Task) error
	// Suppressed and Released are told of what comes onto the list of suppressions, and leaves it.
	Suppressed func(tx *store.Tx, s *Suppression) error
	Released   func(tx *store.Tx, s *Suppression) error
}

// New declares the kinds in the set, which must have the users already.
func New(set *record.Set) *CRM {
	c := &CRM{set: set}
	c.Accounts = addEntity(c, accountRules)
	c.Contacts = addEntity(c, c.contactRules())
	c.Opportunities = addEntity(c, opportunityRules)
	c.Tasks = addEntity(c, c.taskRules())
	c.Meetings = addEntity(c, meetingRules)
	c.Tags = record.Add(set, tagRules)
	c.Fields = record.Add(set, c.fieldRules())
	c.custom = store.NewDerived(c.Fields.Table.Counter(), c.readFields)
	c.Views = record.Add(set, c.viewRules())
	c.Suppressions = record.Add(set, c.suppressionRules())
	return c
}
