// Package sequence owns the engine that takes contacts through the steps of campaigns, and the
// dispatcher that hands emails to a transport. It stores sequences, messages, campaign counters and
// what senders have sent.
//
// It reads campaigns, audiences and templates from package outreach and learns of their changes
// through hooks. It knows neither webhooks nor HTTP.
//
// An email goes from due to delivered in this order:
//
//	advance.go     the job that finds what is due in an organization
//	send.go        takes a slot of the sender, composes the message and claims it for the dispatcher
//	dispatcher.go  hands claimed messages to connections after the commit
//	connection.go  hands them to the transport, one after the other, each once batch.go has marked it as sending
//	batch.go       stores what begins and what has ended in an organization, in one transaction
//	results.go     stores the results and continues the sequences
//
// backoff.go delays sending while the mail server has problems.
//
// The other files:
//
//	the records                sequence.go, message.go
//	one in a transaction       engine_tx.go, sequence_run.go (load, advance, save)
//	what a step needs          spacing.go (its order), compose.go, task.go, sender.go (its slot), recipient.go
//	what makes it wait         held_step.go, hold.go (its campaign), refusal.go, unknown.go
//	changes of other features  changes.go, in their transactions
//	jobs                       jobs.go (which there are), bulk.go (how they change many sequences)
//	who gets a sequence        start.go, newcomers.go, enroll.go, admit.go
//	what stops it              stop.go, stop_jobs.go
//	what continues it          retry.go, restart.go, restart_many.go, reopen.go, release*.go
//	what changes it            skip.go (and postpones), correct.go, merge.go, ownership.go, erase.go
//	what is shown              explain.go, timeline.go, stats.go, counters.go, mail_status.go, event.go
//	what is planned            simulate.go, forecast*.go, planned.go
//	the service starts         starting.go (messages that were in flight), migrate.go (older stores)
//	the rest                   clock*.go, unsubscribe.go, test_mail.go, portable.go
package sequence

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/crm"
	"prospector/internal/identity"
	"prospector/internal/outreach"
	"prospector/store"
)

// Engine runs the sequences of all organizations.
type Engine struct {
	// SequenceList and MessageList are the lists of sequences and of the outbox.
	SequenceList *index.Kind
	MessageList  *index.Kind
	// Options must not change while the engine runs.
	Options Options

	store    *store.Store
	identity *identity.Identity
	crm      *crm.CRM
	outreach *outreach.Outreach

	sequences  *store.Table[Sequence]
	messages   *store.Table[Message]
	counters   *store.Parts  // by campaign, see counters.go
	ledgers    *store.Parts  // by sender, see sender.go
	recipients *store.Parts  // by hash of the address: the last email to it, see recipient.go
	parts      *store.Parts  // by organization, see jobs.go
	stops      store.Counter // counts stopped sequences
	newcomers  *store.Sets   // by change and audience: contacts who wait until the change has ended, see newcomers.go
	changes    *store.Parts  // by change: what is known of it, see newcomers.go
	ownChange  *store.TxValue[uuid.UUID]
	current    *store.TxValue[*engineTx]
	forecasts  *forecastCache

	clock         *sequenceClock
	unsubscribing signer
	dispatcher    *dispatcher
}

// Options are the settings of the engine.
type Options struct {
	DailyCap int           // messages per sender and day; 0 means no limit
	MinGap   time.Duration // between two messages of a sender
	// RecipientGap is the least time between two emails to an address from different sequences. 0
	// means none.
	RecipientGap time.Duration
	Speed        float64 // of the clock that sequences follow; 1, the default, is real time
	// PublicURL returns the base of the links in messages.
	PublicURL func() string
	// IsRunning reports whether a change of many records, such as an import, still runs.
	IsRunning func(tx *store.Tx, operation uuid.UUID) bool
	// Transport returns what delivers the messages of a sender. Nil means that they stay in the
	// outbox.
	Transport   func(sender uuid.UUID) Transport
	Connections int // how many messages are handed to transports at the same time
	// StopGrace is how long a message whose content is being sent may take when the engine stops.
	StopGrace time.Duration
	Log       *slog.Logger
}

// New declares the tables of the package and follows the changes of other features. Call Start before anything else.
func New(st *store.Store, id *identity.Identity, c *crm.CRM, o *outreach.Outreach, opt Options) *Engine {
	opt.Speed = cmp.Or(opt.Speed, 1)
	e := &Engine{
		Options: opt, store: st, identity: id, crm: c, outreach: o,
		sequences: newSequences(), messages: newMessages(),
		counters: store.NewParts("campaigns.counts"), ledgers: store.NewParts("senders.sent"),
		recipients: store.NewParts("recipients.last"),
		parts:      store.NewParts("outreach"), stops: store.NewCounter("sequence_stops"),
		current: store.NewTxValue[*engineTx](), forecasts: newForecastCache(),
		newcomers: store.NewSets("campaigns.newcomers"), changes: store.NewParts("campaigns.changes"),
		ownChange: store.NewTxValue[uuid.UUID](),
	}
	e.clock = &sequenceClock{store: st, parts: e.parts, log: opt.Log, speed: opt.Speed}
	e.dispatcher = newDispatcher(e)
	e.SequenceList = index.NewKind("sequences", "-started_at", e.sequences, nil)
	e.MessageList = index.NewKind("outbox", "-created_at", e.messages, nil)
	e.SequenceList.ReadOnly, e.MessageList.ReadOnly = true, true
	c.Follow(e)
	o.RunWith(e)
	id.Organizations.OnChange(e.organizationChanged)
	id.Users.OnChange(e.userChanged)
	c.Accounts.OnChange(e.accountChanged)
	c.Contacts.OnChange(e.contactChanged)
	c.Tasks.OnChange(e.taskChanged)
	c.Suppressions.OnChange(e.suppressionChanged)
	o.Templates.OnChange(e.templateChanged)
	o.Campaigns.OnChange(e.campaignChanged)
	return e
}

// Start makes the engine ready to run: it continues the clock, reads the secret of unsubscribe
// links, converts what the first edition stored, settles messages that were in flight when the process
// ended, and holds campaigns whose transport has changed.
func (e *Engine) Start(ctx context.Context) error {
	if err := e.clock.start(ctx); err != nil {
		return err
	}
	if err := e.readSecret(ctx); err != nil {
		return err
	}
	return e.startOrganizations(ctx)
}

// Wait returns when no message is in flight and all results are stored.
func (e *Engine) Wait() { e.dispatcher.running.Wait() }

// Lists returns the lists of the package.
func (e *Engine) Lists() []*index.Kind { return []*index.Kind{e.SequenceList, e.MessageList} }

// Now returns the time that sequences follow, in a transaction.
func (e *Engine) Now(tx *store.Tx) time.Time { return e.clock.now(tx) }

// ClockAhead returns how far the sequence clock is ahead of the wall clock.
func (e *Engine) ClockAhead() time.Duration { return e.clock.ahead() }

// RunClock keeps a clock with a speed other than 1 running until ctx ends.
func (e *Engine) RunClock(ctx context.Context) { e.clock.run(ctx) }

// ExtendClock lets a clock with a speed other than 1 run on for a moment. RunClock does so
// regularly.
func (e *Engine) ExtendClock(ctx context.Context) error { return e.clock.extend(ctx) }

// StopClock stores the time that the clock shows, so it continues from there. Call it when
// nothing else uses the engine.
func (e *Engine) StopClock(ctx context.Context) { e.clock.stop(ctx) }

// stopVersion changes whenever anything changes that can stop a message.
func (e *Engine) stopVersion(tx *store.Tx) uint64 {
	return tx.LastChange(e.outreach.Campaigns.Table.Name()) + tx.LastChange(e.outreach.Audiences.Table.Name()) +
		tx.LastChange(e.crm.Suppressions.Table.Name()) + e.stops.Of(tx)
}

// eachUnder calls visit for the records under a key, until it returns an error. It leaves out damaged records.
func eachUnder[T any](tx *store.Tx, table *store.Table[T], key string, value []byte, visit func(store.Doc[T]) error) error {
	ids, err := table.IDs(tx, key, value, 0)
	if err != nil {
		return err
	}
	return table.Each(tx, ids, visit)
}
