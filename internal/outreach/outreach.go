// Package outreach owns whom the organization writes to and how: audiences of contacts, sequence templates, and the campaigns that
// run a template against audiences. It knows nothing of the target market and of webhooks: they meet in the store.
package outreach

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/crm"
	"prospector/internal/identity"
	"prospector/internal/mail"
	"prospector/internal/planner"
	"prospector/internal/record"
	"prospector/internal/worker"
	"prospector/store"
)

// Outreach holds the kinds of this package.
type Outreach struct {
	Audiences *record.Kind[Audience]
	Templates *record.Kind[Template]
	Campaigns *record.Kind[Campaign]
	// SequenceList and MessageList are the lists of what the engine does.
	SequenceList *index.Kind
	MessageList  *index.Kind
	Options

	store     *store.Store
	identity  *identity.Identity
	crm       *crm.CRM
	members   *store.Sets  // the contacts of audiences
	versions  *store.Parts // see template_version.go
	sequences *store.Table[Sequence]
	messages  *store.Table[Message]
	counts    *store.Parts  // what is counted of the sequences of a campaign
	sentBy    *store.Parts  // what senders have sent
	kept      *store.Parts  // see clock.go
	stops     store.Counter // of sequences that were stopped

	clock   clock
	limit   limit  // see clock_keep.go
	secret  []byte // see unsubscribe.go
	courses courses
	// calendars are those of the organizations.
	calendars *store.Derived[*planner.Calendar]
	post      *post
	engaged   *engine // see engage
}

// Options are the settings of the package.
type Options struct {
	// DailyCap is how many messages a sender sends on a day, and MinGap how much time is between two; 0 is no limit.
	DailyCap int
	MinGap   time.Duration
	// Speed is how many times as fast as the wall's the clock of sequences runs.
	Speed float64
	// PublicURL is the base of links in messages.
	PublicURL string
	// Transport gives what takes the messages of a sender to their recipients; nil: they stay in the outbox.
	Transport func(sender uuid.UUID) Transport
	// Lines is how many messages are handed to transports at the same time.
	Lines int
	// Log is told what an operator should know.
	Log *slog.Logger
}

// New declares what the package keeps in the store, and has the contacts that go leave their audiences.
func New(st *store.Store, set *record.Set, id *identity.Identity, c *crm.CRM, opt Options) *Outreach {
	opt.Speed = cmp.Or(opt.Speed, 1)
	o := &Outreach{
		Options: opt, store: st, identity: id, crm: c,
		members: store.NewSets("audiences.members"), versions: store.NewParts("templates.versions"),
		sequences: newSequences(), messages: newMessages(), counts: store.NewParts("campaigns.counts"), sentBy: store.NewParts("senders.sent"),
		kept: store.NewParts("outreach"), stops: store.NewCounter("sequence_stops"), courses: courses{all: map[courseID]*course{}},
	}
	o.calendars = store.NewDerived(id.Organizations.Table.Counter(), o.readCalendar)
	o.post = newPost(o)
	o.SequenceList = index.NewKind("sequences", "-started_at", o.sequences, nil)
	o.MessageList = index.NewKind("outbox", "-created_at", o.messages, nil)
	o.SequenceList.ReadOnly, o.MessageList.ReadOnly = true, true
	o.Audiences = record.Add(set, o.audienceRules())
	o.Templates = record.Add(set, o.templateRules())
	o.Campaigns = record.Add(set, o.campaignRules())
	return o
}

// Start makes the package ready to send: its clock goes on, and of what was on its way when the service ended nobody can know.
func (o *Outreach) Start(ctx context.Context) error {
	if err := o.startClock(ctx); err != nil {
		return err
	}
	if err := o.readSecret(ctx); err != nil {
		return err
	}
	orgs, err := o.store.Organizations()
	for _, org := range orgs {
		if err == nil {
			err = o.recover(ctx, org)
		}
	}
	return err
}

// recover ends what was on its way in an organization, and looks at it anew: its clock may be another than it was, and nobody has
// promised to go on with what waited for room alone.
func (o *Outreach) recover(ctx context.Context, org uuid.UUID) error {
	return o.store.Update(ctx, org, store.Actor{Operation: "serve"}, func(tx *store.Tx) error {
		ids, err := o.messages.IDs(tx, bySending, []byte(bySending), 0)
		if err != nil {
			return err
		}
		came := make([]result, len(ids))
		for i, id := range ids {
			doc, err := o.messages.Get(tx, id)
			if err != nil {
				return err
			}
			came[i] = result{&outgoing{message: doc, sequence: store.Doc[Sequence]{ID: doc.Record.SequenceID}}, mail.Result{Status: mail.Unknown, Text: "the service ended while the message was on its way"}}
		}
		if len(came) > 0 {
			o.Log.Warn("messages were on their way when the service ended: whether they have gone is unknown, and they are not sent again", "organization", org, "messages", len(came))
			if err := o.engage(tx, func(e *engine) error { return e.record(came) }); err != nil {
				return err
			}
		}
		return o.OrganizationChanged(tx, nil, nil)
	})
}

// Wait returns when nothing is on its way and what came of it is written down.
func (o *Outreach) Wait() { o.post.running.Wait() }

// Lists gives what lists need to know.
func (o *Outreach) Lists() []*index.Kind { return []*index.Kind{o.SequenceList, o.MessageList} }

// Jobs are the jobs of the package.
func (o *Outreach) Jobs() map[string]worker.Handler {
	return map[string]worker.Handler{
		dropJob: o.dropMembers, advanceJob: o.advance, beginJob: o.beginSome, beginAllJob: o.beginAll, cleanUpJob: o.cleanUp,
	}
}

// Verify holds what the transaction's organization has of the package, beside its records, against itself.
func (o *Outreach) Verify(tx *store.Tx, report store.Report) error {
	for _, part := range []interface {
		Verify(*store.Tx, store.Report) error
	}{o.members, o.versions, o.sequences, o.messages, o.counts, o.sentBy, o.kept} {
		if err := part.Verify(tx, report); err != nil {
			return err
		}
	}
	return o.verifyCounts(tx, report)
}

// verifyCounts counts the sequences of each campaign.
func (o *Outreach) verifyCounts(tx *store.Tx, report store.Report) error {
	counted := map[uuid.UUID]*tally{}
	err := o.sequences.Scan(tx, func(doc store.Doc[Sequence]) (bool, error) {
		t := counted[doc.Record.CampaignID]
		if t == nil {
			t = &tally{Reasons: map[string]int{}, Steps: map[int]*steps{}}
			counted[doc.Record.CampaignID] = t
		}
		t.add(&doc.Record, 1)
		return true, nil
	})
	if err != nil {
		return err
	}
	for campaign, is := range counted {
		kept, err := o.tallyOf(tx, campaign)
		if err != nil {
			return err
		}
		if kept.Active != is.Active || kept.Completed != is.Completed || kept.Stopped != is.Stopped || kept.Sent != is.Sent || kept.Failed != is.Failed || kept.Tasks != is.Tasks {
			report(false, "campaign %s: what is counted of its sequences is not what they are", campaign)
		}
	}
	return nil
}

// stirred is a number that is another whenever something has happened that may keep a message from going.
func (o *Outreach) stirred(tx *store.Tx) uint64 {
	return tx.LastChange(o.Campaigns.Table.Name()) + tx.LastChange(o.Audiences.Table.Name()) + tx.LastChange(o.crm.Suppressions.Table.Name()) + o.stops.Of(tx)
}

// wanted tells whether a message that is about to be handed over may still go.
func (o *Outreach) wanted(m *outgoing) (wanted bool) {
	err := o.store.View(m.org, func(tx *store.Tx) error {
		if wanted = o.stirred(tx) == m.seen; wanted {
			return nil
		}
		e := &engine{Outreach: o, tx: tx, now: o.now(tx), read: o.crm.Recipients(tx), campaigns: map[uuid.UUID]*Campaign{}}
		w, err := e.walk(m.sequence)
		if err != nil {
			return err
		}
		why, err := w.obstacle()
		wanted = err == nil && why == "" && w.goes() && o.refusal(tx, m.letter.To.Email, false) == ""
		return err
	})
	if err != nil {
		o.Log.Error("it cannot be told whether a message is still wanted, so it is not sent now", "message", m.message.ID, "error", err)
	}
	return wanted && err == nil
}

// actingUser is the user whom the transaction's key acts for.
func actingUser(tx *store.Tx) uuid.NullUUID {
	user := tx.Actor().User
	return uuid.NullUUID{UUID: user, Valid: user != uuid.Nil}
}
