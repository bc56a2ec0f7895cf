package sequence

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"prospector/internal/mail"
	"prospector/internal/turn"
	"prospector/store"
)

// Transport delivers messages.
type Transport interface {
	// Send delivers a message. Immediately before it sends the content it calls mayContinue, and
	// cancels the message if that returns false.
	Send(ctx context.Context, m *mail.Message, mayContinue func() bool) mail.Result
}

// outgoing is a message that was claimed: it is stored with the status queued.
type outgoing struct {
	org         uuid.UUID
	message     store.Doc[Message]
	sequence    store.Doc[Sequence]
	sender      uuid.UUID
	email       *mail.Message
	transport   Transport
	stopVersion uint64 // see Engine.stopVersion; when the message was claimed
}

// result is the result of an outgoing message.
type result struct {
	*outgoing
	mail.Result
	byService bool          // the service stopped before the mail server answered
	stored    chan struct{} // closed when the result is stored, or cannot be stored now; then nil
}

const (
	// maxWindow limits how many messages are claimed at the same time: as many as a fast server
	// takes while results are stored.
	maxWindow = 256
	// saveRetryDelay is the delay after which storing results is tried again.
	saveRetryDelay = time.Second
	// maxHeld is how long a connection keeps the result of a message, to store it together with the
	// handover of the next one.
	maxHeld = 50 * time.Millisecond
)

// dispatcher hands claimed messages to their transports and stores the results. It runs up to
// connections goroutines that send and one per organization that stores results, and none of them while
// there is nothing to do. Organizations take turns at the connections and share the window, and one whose
// results cannot be stored does not delay the others.
type dispatcher struct {
	engine      *Engine
	log         *slog.Logger
	connections int

	running sync.WaitGroup

	mu      sync.Mutex        // guards everything below
	claimed map[uuid.UUID]int // by organization: messages that are claimed, in flight, or whose results are not stored
	total   int               // of all organizations
	window  int               // how many may be claimed
	queue   turn.Queue[*outgoing]
	senders int // goroutines that send

	unsaved map[uuid.UUID]*batch // what is to be stored, by organization
	saving  map[uuid.UUID]bool   // the organizations for which a goroutine stores results and handovers
	failing map[uuid.UUID]bool   // those whose results could not be stored
	storing int                  // results that are being stored
	// lackCapacity are the organizations whose due messages wait for capacity.
	lackCapacity map[uuid.UUID]bool

	backoff *backoff               // nil while the mail server works
	counts  map[mail.Status]uint64 // of results, for metrics
	// accepted are the last recipients that the mail server accepted, by sender.
	accepted map[uuid.UUID][2]acceptance
}

func newDispatcher(e *Engine) *dispatcher {
	return &dispatcher{
		engine: e, log: e.Options.Log, connections: e.Options.Connections, window: 2 * e.Options.Connections,
		claimed: map[uuid.UUID]int{}, unsaved: map[uuid.UUID]*batch{}, saving: map[uuid.UUID]bool{},
		failing: map[uuid.UUID]bool{}, lackCapacity: map[uuid.UUID]bool{},
		counts: map[mail.Status]uint64{}, accepted: map[uuid.UUID][2]acceptance{},
	}
}

// capacity returns how many messages of an organization may be claimed: none when ctx has ended. Only
// write transactions claim, and they run one at a time.
func (d *dispatcher) capacity(ctx context.Context, org uuid.UUID) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ctx.Err() != nil {
		return 0
	}
	return d.capacityOf(org)
}

// capacityOf returns how many messages of an organization may be claimed. Organizations that wait for
// capacity have equal shares of the window. One that has no claimed message may claim one, so that it takes
// part in the turns at once. The caller holds d.mu.
func (d *dispatcher) capacityOf(org uuid.UUID) int {
	sharing := len(d.lackCapacity)
	if !d.lackCapacity[org] {
		sharing++
	}
	claimed, least := d.claimed[org], 0
	if claimed == 0 {
		least = 1
	}
	return max(least, min(d.window-d.total, d.window/sharing-claimed))
}

// claim counts a message as claimed.
func (d *dispatcher) claim(org uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.claimed[org]++
	d.total++
}

// unclaim ends the claim of messages.
func (d *dispatcher) unclaim(messages []*outgoing) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range messages {
		d.unclaimOne(m)
	}
}

// unclaimOne ends the claim of a message. The caller holds d.mu.
func (d *dispatcher) unclaimOne(m *outgoing) {
	d.total--
	if d.claimed[m.org]--; d.claimed[m.org] == 0 {
		delete(d.claimed, m.org)
	}
}

// abandon ends the claim of messages whose transaction was not committed.
func (d *dispatcher) abandon(ctx context.Context, messages []*outgoing) {
	d.unclaim(messages)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.startSaving(ctx)
}

// dispatch queues messages that were claimed, and starts goroutines that send them.
func (d *dispatcher) dispatch(ctx context.Context, messages []*outgoing) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range messages {
		d.queue.Add(m.org, m)
	}
	for range min(d.connections-d.senders, d.queue.Len()) {
		d.senders++
		d.running.Go(func() { d.send(ctx) })
	}
}

// nextQueued returns the next message of the queue. It returns nil if the queue is empty; with
// mayEnd, the calling goroutine must end then.
func (d *dispatcher) nextQueued(mayEnd bool) *outgoing {
	d.mu.Lock()
	defer d.mu.Unlock()
	m, ok := d.queue.Next()
	if !ok && mayEnd {
		d.senders--
	}
	return m
}

// noteResult draws the conclusions from a result that concern the mail server.
func (d *dispatcher) noteResult(res result) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.updateBackoff(res)
	d.noteAcceptance(res)
	d.counts[res.Status]++
}

// advanceWithCapacity advances an organization as soon as there is capacity for its messages.
func (d *dispatcher) advanceWithCapacity(ctx context.Context, org uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lackCapacity[org] = true
	d.startSaving(ctx)
}
