// Package outreach owns whom an organization writes to and with what: audiences of contacts,
// sequence templates with their versions, and the campaigns that run a template for audiences.
//
// It does not run anything. Package sequence, which imports it, runs the sequences of campaigns and
// learns of changes as the Engine and from the kinds. The package knows neither the target market nor webhooks.
package outreach

import (
	"time"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/crm"
	"prospector/internal/identity"
	"prospector/internal/planner"
	"prospector/internal/record"
	"prospector/internal/template"
	"prospector/internal/worker"
	"prospector/store"
)

// Outreach holds the kinds of records of this package.
type Outreach struct {
	Audiences *record.Kind[Audience]
	Templates *record.Kind[Template]
	Campaigns *record.Kind[Campaign]

	store     *store.Store
	identity  *identity.Identity
	crm       *crm.CRM
	engine    Engine
	index     *index.Engine
	members   *store.Sets          // the contacts of audiences
	versions  *store.Parts         // see template_version.go
	rejoining *store.TxValue[bool] // set in a transaction that restores or merges contacts
	calendars *store.Derived[*planner.Calendar]
	footers   *store.Derived[string]
	compiled  cache[compiledKey, *template.Compiled]

	// Of dynamic audiences. Without what these caches know, an audience is refreshed and contacts are looked at again,
	// and contact_count may be wrong until a pending job has run.
	plans      cache[uuid.UUID, cachedPlan]
	settled    cache[uuid.UUID, basis]     // by audience: when it was settled last
	recounting cache[uuid.UUID, uuid.UUID] // by audience: the job that will correct contact_count
	joinChecks cache[lostValue, joinCheck]
}

// maxCached is how many values each cache of dynamic audiences keeps.
const maxCached = 10_000

// Engine runs the sequences of campaigns. What it does runs in the transaction of the change, and an error undoes that.
type Engine interface {
	// ContactsAdded is called when contacts join an audience that is attached to a campaign.
	ContactsAdded(tx *store.Tx, audience uuid.UUID, contacts []uuid.UUID, why Joining) error
	// ChangeEnded is called when a change that Joining names has ended.
	ChangeEnded(tx *store.Tx, change uuid.UUID) error
	// ContactsRemoved is called when contacts leave an audience.
	ContactsRemoved(tx *store.Tx, contacts []uuid.UUID) error
	// TransportName returns the name of the transport that delivers the messages of a sender.
	TransportName(sender uuid.UUID) string
	// Now returns the time that sequences follow, which may run faster than the wall clock.
	Now(tx *store.Tx) time.Time
	// SenderLedger returns the ledger of what a sender has sent.
	SenderLedger(tx *store.Tx, sender uuid.UUID) (*planner.Ledger, error)
	// HiddenLink returns what stands for the unsubscribe link of a message in everything that the API
	// returns.
	HiddenLink() string
	// RecipientFree returns when an address may get an email of a sequence, given the emails of
	// other sequences. It is zero if it may get one now.
	RecipientFree(tx *store.Tx, email string, sequence uuid.UUID) (time.Time, error)
	// Progress returns a function that returns the sequence of a contact in a campaign, or nil if it
	// has none.
	Progress(tx *store.Tx, campaign uuid.UUID) func(contact uuid.UUID) (*Progress, error)
	// Running calls visit for each running sequence of a campaign, until it returns an error.
	Running(tx *store.Tx, campaign uuid.UUID, visit func(Progress) error) error
}

// RunWith sets the engine. It must be called once, before any record changes.
func (o *Outreach) RunWith(e Engine) { o.engine = e }

// UseIndex sets where Matching and the jobs look for contacts. The index is opened when all kinds are declared.
func (o *Outreach) UseIndex(lists *index.Engine) { o.index = lists }

// Joining is why contacts join an audience.
type Joining struct {
	// Named is set if somebody named the contacts to add them.
	Named bool
	// Change is the change of many records that makes them join. Nil stands for the operation that the transaction acts
	// for, or the transaction itself.
	Change uuid.UUID
	// Ask is set if they await confirmation in campaigns that have been active, however few they are.
	Ask bool
}

// New declares the kinds in the set, which must already contain the users and the contacts.
func New(st *store.Store, set *record.Set, id *identity.Identity, c *crm.CRM) *Outreach {
	o := &Outreach{
		store: st, identity: id, crm: c,
		members: store.NewSets(membersName), versions: store.NewParts("templates.versions"),
		rejoining: store.NewTxValue[bool](),
		compiled:  cache[compiledKey, *template.Compiled]{max: 256},
		plans:     cache[uuid.UUID, cachedPlan]{max: maxCached},
		settled:   cache[uuid.UUID, basis]{max: maxCached}, recounting: cache[uuid.UUID, uuid.UUID]{max: maxCached},
		joinChecks: cache[lostValue, joinCheck]{max: maxCached},
	}
	o.calendars = store.NewDerived(id.Organizations.Table.Counter(), o.readCalendar)
	o.footers = store.NewDerived(id.Organizations.Table.Counter(), o.readFooter)
	o.Audiences = record.Add(set, o.audienceRules())
	o.Templates = record.Add(set, o.templateRules())
	o.Campaigns = record.Add(set, o.campaignRules())
	set.Losing = o.losing
	id.Organizations.OnCheck(o.checkFooter)
	c.UseAudiences(o)
	c.Fields.OnCheck(o.checkField)
	c.Fields.OnChange(o.fieldChanged)
	return o
}

// Jobs returns the handlers of the package's jobs.
func (o *Outreach) Jobs() map[string]worker.Handler {
	return map[string]worker.Handler{dropMembersJob: o.runDropMembersJob, refreshJob: o.runRefreshJob}
}

const membersName = "audiences.members"

// MembersName returns the name of the sets of the contacts of audiences.
func (*Outreach) MembersName() string { return membersName }

// actingUser returns the user of the API key that the transaction acts for, if there is one.
func actingUser(tx *store.Tx) uuid.NullUUID {
	user := tx.Actor().User
	return uuid.NullUUID{UUID: user, Valid: user != uuid.Nil}
}
