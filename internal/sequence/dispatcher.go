package sequence

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/mail"
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
	stored chan struct{} // closed when the result is stored
}

const (
	// maxWindow limits how many messages are claimed at the same time: as many as a fast server
	// takes while results are stored.
	maxWindow = 256
	// saveRetryDelay is the delay after which storing results is tried again.
	saveRetryDelay = time.Second
	// shutdownGrace is how long a message in flight may take when the service stops.
	shutdownGrace = 20 * time.Second
)

// dispatcher hands claimed messages to their transports and stores the results. It runs up to
// connections goroutines that send and one that stores results, and none of them while there is
// nothing to do.
type dispatcher struct {
	engine      *Engine
	log         *slog.Logger
	connections int

	running sync.WaitGroup

	mu       sync.Mutex // guards everything below
	claimed  int        // messages that are claimed, in flight, or whose results are not stored
	window   int        // how many may be
	queue    []*outgoing
	senders  int // goroutines that send
	results  []result
	isSaving bool // a goroutine stores results
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
		lackCapacity: map[uuid.UUID]bool{}, counts: map[mail.Status]uint64{},
		accepted: map[uuid.UUID][2]acceptance{},
	}
}

// capacity returns how many messages may be claimed: none when ctx has ended. Only write
// transactions claim, and they run one at a time.
func (d *dispatcher) capacity(ctx context.Context) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ctx.Err() != nil {
		return 0
	}
	return max(0, d.window-d.claimed)
}

// claim counts a message as claimed.
func (d *dispatcher) claim() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.claimed++
}

// release ends the claim of messages.
func (d *dispatcher) release(messages []*outgoing) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.claimed -= len(messages)
}

// abandon ends the claim of messages whose transaction was not committed.
func (d *dispatcher) abandon(ctx context.Context, messages []*outgoing) {
	d.release(messages)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.startSaving(ctx)
}

// dispatch queues messages that were claimed, and starts goroutines that send them.
func (d *dispatcher) dispatch(ctx context.Context, messages []*outgoing) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue = append(d.queue, messages...)
	for range min(d.connections-d.senders, len(d.queue)) {
		d.senders++
		d.running.Go(func() { d.send(ctx) })
	}
}

// send sends queued messages until the queue is empty. It hands over the content of a message only
// when the result of the one before is stored, so that a crash leaves at most one message per
// connection unknown.
func (d *dispatcher) send(ctx context.Context) {
	sendCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(shutdownGrace, cancel) })
	defer stop()
	var previous chan struct{} // closed when the result of the previous message is stored; nil if it is
	for {
		m := d.nextQueued(previous == nil)
		if m == nil && previous == nil {
			return
		}
		if m == nil {
			<-previous
			previous = nil
			continue
		}
		res := result{outgoing: m, stored: make(chan struct{})}
		if ctx.Err() == nil && !d.isBackedOff() && d.engine.isWanted(m) {
			res.Result = m.transport.Send(sendCtx, m.email, func() bool {
				if previous != nil {
					<-previous
				}
				return d.engine.handOver(sendCtx, m)
			})
		}
		d.addResult(ctx, res)
		previous = res.stored
	}
}

// nextQueued returns the next message of the queue. It returns nil if the queue is empty; with
// mayEnd, the calling goroutine must end then.
func (d *dispatcher) nextQueued(mayEnd bool) *outgoing {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queue) == 0 {
		if mayEnd {
			d.senders--
		}
		return nil
	}
	m := d.queue[0]
	d.queue = d.queue[1:]
	return m
}

// isWanted reports whether a claimed message may still be sent: nothing has stopped its sequence
// since. If that cannot be read, the message is not sent now.
func (e *Engine) isWanted(m *outgoing) (wanted bool) {
	err := e.store.View(m.org, func(tx *store.Tx) (err error) {
		wanted, err = e.isWantedIn(tx, m)
		return err
	})
	if err != nil {
		e.Options.Log.Error("cannot check whether a message may still be sent, not sending it now",
			"message", m.message.ID, "error", err)
	}
	return wanted && err == nil
}

func (e *Engine) isWantedIn(tx *store.Tx, m *outgoing) (bool, error) {
	if e.stopVersion(tx) == m.stopVersion {
		return true, nil
	}
	r, err := e.newEngineTx(tx).load(m.sequence)
	if err != nil {
		return false, err
	}
	reason, err := r.stopReason()
	return err == nil && reason == "" && r.isRunning() && e.outreach.Refusal(tx, m.email.To.Email, false) == "", err
}

// errUnwanted ends the transaction of a message that is not handed over.
var errUnwanted = errors.New("the message is not wanted any more")

// handOver commits that the content of a message is being sent, right before it is. From then on a
// crash makes the message unknown; before, the message is still queued after a crash. handOver
// returns false if something has stopped the message, or if the commit fails.
func (e *Engine) handOver(ctx context.Context, m *outgoing) bool {
	err := e.store.Update(ctx, m.org, engineActor, func(tx *store.Tx) error {
		wanted, err := e.isWantedIn(tx, m)
		if err != nil {
			return err
		}
		doc, err := e.messages.Reload(tx, m.message)
		if err != nil {
			return err
		}
		if !wanted || doc.Record.Status != MessageQueued {
			return errUnwanted
		}
		rec := doc.Record
		rec.Status = MessageSending
		m.message, err = e.messages.Update(tx, doc, rec, []string{"status"})
		return err
	})
	if err != nil && !errors.Is(err, errUnwanted) && ctx.Err() == nil {
		e.Options.Log.Error("cannot record that a message is being sent, not sending it now",
			"message", m.message.ID, "error", err)
	}
	return err == nil
}

// addResult queues a result to be stored.
func (d *dispatcher) addResult(ctx context.Context, res result) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.updateBackoff(res)
	d.noteAcceptance(res)
	d.counts[res.Status]++
	d.results = append(d.results, res)
	d.startSaving(ctx)
}

// advanceWithCapacity advances an organization as soon as there is capacity for its messages.
func (d *dispatcher) advanceWithCapacity(ctx context.Context, org uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lackCapacity[org] = true
	d.startSaving(ctx)
}

// startSaving starts the goroutine that stores results, unless it runs. The caller holds d.mu.
func (d *dispatcher) startSaving(ctx context.Context) {
	if !d.isSaving {
		d.isSaving = true
		d.running.Go(func() { d.save(ctx) })
	}
}

// save stores results until there are none left.
func (d *dispatcher) save(ctx context.Context) {
	for {
		results := d.takeResults()
		if len(results) == 0 {
			return
		}
		for org, of := range results {
			d.saveOrganization(ctx, org, of)
		}
	}
}

// takeResults takes the results to store, by organization. Organizations that waited for capacity
// and can have it now are included without results. If there is nothing to do the result is empty,
// and the calling goroutine must end.
func (d *dispatcher) takeResults() map[uuid.UUID][]result {
	d.mu.Lock()
	defer d.mu.Unlock()
	byOrg := map[uuid.UUID][]result{}
	for _, res := range d.results {
		byOrg[res.org] = append(byOrg[res.org], res)
	}
	if len(d.results) > 0 { // as many as are sent while a transaction commits
		d.window = min(d.connections+4*len(d.results), maxWindow)
	}
	if d.claimed-len(d.results) < d.window {
		for org := range d.lackCapacity {
			if _, hasResults := byOrg[org]; !hasResults {
				byOrg[org] = nil
			}
		}
		clear(d.lackCapacity)
	}
	d.results = nil
	d.isSaving = len(byOrg) > 0
	return byOrg
}

// saveOrganization stores the results of an organization and advances its sequences in the same
// transaction, which claims the next messages. If ctx ends before that succeeds, the next process
// finds the messages as unknown.
func (d *dispatcher) saveOrganization(ctx context.Context, org uuid.UUID, results []result) {
	messages := make([]*outgoing, len(results))
	for i, res := range results {
		messages[i] = res.outgoing
		defer close(res.stored)
	}
	d.release(messages)
	for {
		err := d.engine.advanceOnce(ctx, org, results, func(tx *store.Tx, more bool, next time.Time) error {
			switch {
			case more:
				return d.engine.advanceNow(tx)
			case !next.IsZero():
				return d.engine.scheduleAdvance(tx, next)
			}
			return nil
		})
		if err == nil || ctx.Err() != nil || fault.CodeOf(err) == fault.NotFound {
			return
		}
		d.log.Error("results of messages cannot be stored, retrying",
			"messages", len(results), "retry_in", saveRetryDelay, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(saveRetryDelay):
		}
	}
}
