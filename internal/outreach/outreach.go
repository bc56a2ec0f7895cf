// Package outreach owns whom the organization writes to and how: audiences of contacts, sequence templates, and the campaigns that
// run a template against audiences. It knows nothing of the target market and of webhooks: they meet in the store.
package outreach

import (
	"time"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/internal/worker"
	"prospector/store"
)

// Outreach holds the kinds of this package.
type Outreach struct {
	Audiences *record.Kind[Audience]
	Templates *record.Kind[Template]
	Campaigns *record.Kind[Campaign]
	Options

	store    *store.Store
	identity *identity.Identity
	crm      *crm.CRM
	members  *store.Sets  // the contacts of audiences
	versions *store.Parts // see template_version.go
}

// Options are the settings of the package.
type Options struct {
	// DailyCap is how many messages a sender sends on a day, and MinGap how much time is between two; 0 is no limit.
	DailyCap int
	MinGap   time.Duration
}

// New declares what the package keeps in the store, and has the contacts that go leave their audiences.
func New(st *store.Store, set *record.Set, id *identity.Identity, c *crm.CRM, opt Options) *Outreach {
	o := &Outreach{
		Options: opt, store: st, identity: id, crm: c,
		members: store.NewSets("audiences.members"), versions: store.NewParts("templates.versions"),
	}
	o.Audiences = record.Add(set, o.audienceRules())
	o.Templates = record.Add(set, o.templateRules())
	o.Campaigns = record.Add(set, o.campaignRules())
	c.Hooks.ContactDeleted, id.Hooks.OrganizationChanged = o.contactDeleted, o.organizationChanged
	return o
}

// Jobs are the jobs of the package.
func (o *Outreach) Jobs() map[string]worker.Handler {
	return map[string]worker.Handler{dropJob: o.dropMembers, endJob: o.endCampaign}
}

// Verify holds what the transaction's organization has of the package, beside its records, against itself.
func (o *Outreach) Verify(tx *store.Tx, report store.Report) error {
	if err := o.members.Verify(tx, report); err != nil {
		return err
	}
	return o.versions.Verify(tx, report)
}

// actingUser is the user whom the transaction's key acts for.
func actingUser(tx *store.Tx) uuid.NullUUID {
	user := tx.Actor().User
	return uuid.NullUUID{UUID: user, Valid: user != uuid.Nil}
}
