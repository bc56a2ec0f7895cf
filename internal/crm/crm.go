// Package crm owns the records that a sales team works with: accounts, contacts, opportunities,
// tasks and meetings, their tags and custom fields, saved views of accounts, and the suppression
// list. It knows nothing of the market, of campaigns or of HTTP: other features react to changes of
// the kinds, one keeps the Audiences and one is the Follower.
package crm

import (
	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/duplicate"
	"prospector/internal/filter"
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
	Views         *record.Kind[View]
	Suppressions  *record.Kind[Suppression]
	Erased        *record.ErasedAddresses

	ContactDuplicates *Duplicates[Contact, duplicate.Contact]
	AccountDuplicates *Duplicates[Account, duplicate.Account]

	audiences Audiences
	follower  Follower
	hosts     *address.Hosts
	set       *record.Set
	custom    *store.Derived[map[string]*filter.CustomFields]
}

// Audiences is the feature that keeps the audiences of contacts.
type Audiences interface {
	// AudiencesOf returns the audiences that a contact belongs to. Follower.ContactRestored gets them when the contact
	// comes back from the trash.
	AudiencesOf(tx *store.Tx, contact uuid.UUID) ([]uuid.UUID, error)
	// ContactJoining is called when a contact has been merged with others or restored, with the records that it was
	// before.
	ContactJoining(tx *store.Tx, contact uuid.UUID, change IndirectChange) error
}

// Follower is the feature that writes to contacts. What it does runs in the transaction of the change, and an error undoes that.
type Follower interface {
	// ContactRestored is called when a contact comes back from the trash, with the audiences that it had.
	ContactRestored(tx *store.Tx, contact uuid.UUID, audiences []uuid.UUID) error
	// HasMessages reports whether a message to a contact with a later id than since went out, was captured or is in flight.
	HasMessages(tx *store.Tx, contact, since uuid.UUID) (bool, error)
	// IsRunning reports whether a contact is in a running sequence.
	IsRunning(tx *store.Tx, contact uuid.UUID) (bool, error)
	// ContactsMerging is called before contacts are merged into another.
	ContactsMerging(tx *store.Tx, into uuid.UUID, contacts []uuid.UUID) error
	// ContactsMerged is called when contacts are merged into another, before that one gets its new values.
	ContactsMerged(tx *store.Tx, into uuid.UUID, contacts []uuid.UUID) error
	// AccountsMerged is called when accounts have been merged into another.
	AccountsMerged(tx *store.Tx, accounts []uuid.UUID) error
}

// Follow lets f follow what happens to contacts. It must be called once, before any record changes.
func (c *CRM) Follow(f Follower) { c.follower = f }

// UseAudiences sets what keeps the audiences of contacts. It must be called once, before any record changes.
func (c *CRM) UseAudiences(a Audiences) { c.audiences = a }

// IndirectChange is a change of a contact that nobody made to the contact itself.
type IndirectChange struct {
	Before   [][]byte // the public JSON of the records that it was
	After    []byte
	SameTime bool // updated_at may have changed
	Force    bool // audiences that the contact would join become static; otherwise the change is refused
}

// New declares the kinds in the set, which must already contain the users. hosts decides which
// websites identify an account.
func New(set *record.Set, hosts *address.Hosts) *CRM {
	c := &CRM{Erased: record.NewErasedAddresses(), set: set, hosts: hosts}
	c.Accounts = addEntity(c, c.accountRules())
	c.Accounts.List.Hosts = hosts
	c.Contacts = addEntity(c, c.contactRules())
	c.Opportunities = addEntity(c, opportunityRules)
	c.Tasks = addEntity(c, taskRules)
	c.Meetings = addEntity(c, meetingRules)
	c.declareDuplicates()
	c.Tags = record.Add(set, tagRules)
	c.Fields = record.Add(set, c.fieldRules())
	c.custom = store.NewDerived(c.Fields.Table.Counter(), c.readFields)
	c.Views = record.Add(set, c.viewRules())
	c.Suppressions = record.Add(set, c.suppressionRules())
	return c
}
