package sequence

import (
	"context"
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

// handover is an outgoing message whose content is about to be sent. It is stored as sending before.
type handover struct {
	*outgoing
	isAgreed bool
	decided  chan struct{} // closed when isAgreed is set
}

// batch is what is stored for an organization in one transaction.
type batch struct {
	results   []result
	handovers []*handover
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

	mu        sync.Mutex // guards everything below
	claimed   int        // messages that are claimed, in flight, or whose results are not stored
	window    int        // how many may be
	queue     []*outgoing
	senders   int // goroutines that send
	results   []result
	handovers []*handover
	isSaving  bool // a goroutine stores results and handovers
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

// send sends queued messages until the queue is empty. The result of a message is stored in the
// transaction that agrees to hand over the next one, so that a message costs one commit, and a crash
// leaves at most one message per connection unknown.
func (d *dispatcher) send(ctx context.Context) {
	sendCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(shutdownGrace, cancel) })
	defer stop()
	c := connection{dispatcher: d, ctx: ctx}
	for {
		m := d.nextQueued(!c.hasUnstored())
		if m == nil && !c.hasUnstored() {
			return
		}
		if m == nil {
			c.store()
			continue
		}
		res := result{outgoing: m, stored: make(chan struct{})}
		isHandedOver := false
		if ctx.Err() == nil && !d.isBackedOff() && d.engine.isWanted(m) {
			res.Result = m.transport.Send(sendCtx, m.email, func() bool {
				isHandedOver = c.handOver(m)
				return isHandedOver
			})
		}
		d.noteResult(res)
		if isHandedOver {
			c.hold(res)
		} else {
			d.addResult(ctx, res)
		}
	}
}

// connection is a goroutine that sends messages one after the other.
type connection struct {
	*dispatcher
	ctx context.Context
	// last is the result of the last message that was handed over, if it may not be stored yet.
	last *result
	// isHeld reports whether last is not queued to be stored. It is guarded by dispatcher.mu.
	isHeld bool
}

// hold keeps a result until the next message is handed over, but not for long.
func (c *connection) hold(res result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.isHeld = &res, true
	time.AfterFunc(maxHeld, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.last == &res {
			c.queueHeld()
		}
	})
}

// queueHeld queues the held result to be stored. The caller holds c.mu.
func (c *connection) queueHeld() {
	if c.isHeld {
		c.isHeld = false
		c.results = append(c.results, *c.last)
		c.startSaving(c.ctx)
	}
}

// hasUnstored reports whether the result of the last message may not be stored yet.
func (c *connection) hasUnstored() bool { return c.last != nil }

// store returns when the result of the last message is stored.
func (c *connection) store() {
	c.mu.Lock()
	last := c.last
	c.queueHeld()
	c.last = nil
	c.mu.Unlock()
	<-last.stored
}

// handOver has the content of a message marked as being sent, right before it is. From then on a
// crash makes the message unknown; before, the message is still queued after a crash. handOver
// returns false if something has stopped the message, or if the commit fails.
func (c *connection) handOver(m *outgoing) bool {
	if c.hasUnstored() && c.last.org != m.org { // they cannot share a transaction
		c.store()
	}
	h := &handover{outgoing: m, decided: make(chan struct{})}
	c.mu.Lock()
	last := c.last
	c.queueHeld()
	c.last = nil
	c.handovers = append(c.handovers, h)
	c.startSaving(c.ctx)
	c.mu.Unlock()
	if last != nil {
		<-last.stored // in the same transaction, or before
	}
	<-h.decided
	return h.isAgreed
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

// agree marks the messages that are about to be sent as sending, except those that something has
// stopped.
func (x *engineTx) agree(handovers []*handover) error {
	for _, h := range handovers {
		h.isAgreed = false // the store may retry the transaction
		wanted, err := x.engine.isWantedIn(x.tx, h.outgoing)
		if err != nil {
			return err
		}
		doc, err := x.engine.messages.Reload(x.tx, h.message)
		if fault.CodeOf(err) == fault.NotFound { // the organization was replaced
			continue
		}
		if err != nil {
			return err
		}
		if !wanted || doc.Record.Status != MessageQueued {
			continue
		}
		m := doc.Record
		m.Status = MessageSending
		if h.message, err = x.engine.messages.Update(x.tx, doc, m, []string{"status"}); err != nil {
			return err
		}
		h.isAgreed = true
	}
	return nil
}

// noteResult draws the conclusions from a result that concern the mail server.
func (d *dispatcher) noteResult(res result) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.updateBackoff(res)
	d.noteAcceptance(res)
	d.counts[res.Status]++
}

// addResult queues a result to be stored.
func (d *dispatcher) addResult(ctx context.Context, res result) {
	d.mu.Lock()
	defer d.mu.Unlock()
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

// startSaving starts the goroutine that stores results and handovers, unless it runs. The caller holds
// d.mu.
func (d *dispatcher) startSaving(ctx context.Context) {
	if !d.isSaving {
		d.isSaving = true
		d.running.Go(func() { d.save(ctx) })
	}
}

// save stores results and handovers until there are none left.
func (d *dispatcher) save(ctx context.Context) {
	for {
		batches := d.takeBatches()
		if len(batches) == 0 {
			return
		}
		var all sync.WaitGroup
		for org, b := range batches {
			all.Go(func() { d.saveOrganization(ctx, org, b) })
		}
		all.Wait()
	}
}

// takeBatches takes what is to be stored, by organization. Organizations that waited for capacity
// and can have it now are included with nothing to store. If there is nothing to do the result is
// empty, and the calling goroutine must end.
func (d *dispatcher) takeBatches() map[uuid.UUID]*batch {
	d.mu.Lock()
	defer d.mu.Unlock()
	batches := map[uuid.UUID]*batch{}
	of := func(org uuid.UUID) *batch {
		if batches[org] == nil {
			batches[org] = &batch{}
		}
		return batches[org]
	}
	for _, res := range d.results {
		b := of(res.org)
		b.results = append(b.results, res)
	}
	for _, h := range d.handovers {
		b := of(h.org)
		b.handovers = append(b.handovers, h)
	}
	if len(d.results) > 0 { // as many as are sent while a transaction commits
		d.window = min(d.connections+4*len(d.results), maxWindow)
	}
	if d.claimed-len(d.results) < d.window {
		for org := range d.lackCapacity {
			of(org)
		}
		clear(d.lackCapacity)
	}
	d.results, d.handovers = nil, nil
	d.isSaving = len(batches) > 0
	return batches
}

// saveOrganization stores the results and handovers of an organization and advances its sequences in
// the same transaction, which claims the next messages. If that fails it agrees to no handover, and
// tries to store the results again. If ctx ends before that succeeds, the next process finds the
// messages as unknown.
func (d *dispatcher) saveOrganization(ctx context.Context, org uuid.UUID, b *batch) {
	messages := make([]*outgoing, len(b.results))
	for i, res := range b.results {
		messages[i] = res.outgoing
		defer close(res.stored)
	}
	d.release(messages)
	for {
		err := d.engine.advanceOnce(ctx, org, b, func(tx *store.Tx, more bool, next time.Time) error {
			switch {
			case more:
				return d.engine.advanceNow(tx)
			case !next.IsZero():
				return d.engine.scheduleAdvance(tx, next)
			}
			return nil
		})
		for _, h := range b.handovers {
			h.isAgreed = h.isAgreed && err == nil
			close(h.decided)
		}
		b.handovers = nil
		if err == nil || ctx.Err() != nil || fault.CodeOf(err) == fault.NotFound {
			return
		}
		d.log.Error("results of messages cannot be stored, retrying",
			"messages", len(b.results), "retry_in", saveRetryDelay, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(saveRetryDelay):
		}
	}
}
