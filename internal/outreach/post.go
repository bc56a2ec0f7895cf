package outreach

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/mail"
	"prospector/store"
)

// Transport takes messages to their recipients.
type Transport interface {
	// Send asks last before the content goes whether the message is still wanted.
	Send(ctx context.Context, m *mail.Message, wanted func() bool) mail.Result
}

// outgoing is a message that is on the disk as being on its way.
type outgoing struct {
	org       uuid.UUID
	message   store.Doc[Message]
	sequence  store.Doc[Sequence]
	sender    uuid.UUID
	letter    *mail.Message
	transport Transport
	seen      uint64 // see Outreach.stirred
}

// result is what came of handing a message over.
type result struct {
	*outgoing
	mail.Result
}

const (
	// inHandMost is how many messages may be on their way when many can be handed over while the results of others are written down.
	// What is on its way when the machine dies is unknown afterwards, so there are no more of them than that takes.
	inHandMost = 256
	// askAgain is how long others wait while one goes first, to see whether it can.
	askAgain = time.Second
	// When no message can be sent, sending holds for firstHold, and for twice as long each time, up to lastHold.
	firstHold = 5 * time.Second
	lastHold  = 5 * time.Minute
	// recordAgain is how long results wait that could not be written down.
	recordAgain = time.Second
	// lastWord is how long a message that is on its way when the service stops may take.
	lastWord = 20 * time.Second
)

// post hands messages to their transports and has what came of them written down. It has no goroutine while there is nothing to send.
type post struct {
	outreach *Outreach
	log      *slog.Logger
	lines    int // how many messages are handed over at the same time

	running  sync.WaitGroup
	mu       sync.Mutex
	inHand   int // messages that are claimed, on their way, or not written down
	window   int // how many may be
	queue    []*outgoing
	sending  int // goroutines that hand over
	came     []result
	records  bool               // a goroutine writes down what came
	bySender map[uuid.UUID]int  // messages that are on their way or not written down
	starved  map[uuid.UUID]bool // organizations whose messages wait for room

	holds   map[uuid.UUID]*hold    // by sender; everybody's stands under none
	results map[mail.Status]uint64 // how many there were of each
}

// hold is why no message can be sent, and until when none is tried.
type hold struct {
	why   string // the stage at which the trouble was met
	until time.Time
	delay time.Duration
}

func newPost(o *Outreach) *post {
	return &post{
		outreach: o, log: o.Log, lines: o.Lines, window: 2 * o.Lines, bySender: map[uuid.UUID]int{}, starved: map[uuid.UUID]bool{},
		holds: map[uuid.UUID]*hold{}, results: map[mail.Status]uint64{},
	}
}

// room tells how many messages may be claimed: none when the service ends. Those who claim do so one after the other, for it is done
// in transactions that write.
func (p *post) room(ctx context.Context) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil {
		return 0
	}
	return max(0, p.window-p.inHand)
}

// claim makes a message of a sender one that is in hand.
func (p *post) claim(sender uuid.UUID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inHand++
	p.bySender[sender]++
}

// release takes messages from those that are in hand.
func (p *post) release(messages []*outgoing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inHand -= len(messages)
	for _, m := range messages {
		if p.bySender[m.sender]--; p.bySender[m.sender] == 0 {
			delete(p.bySender, m.sender)
		}
	}
}

// held tells until when no message of a sender is handed over; zero when they are.
func (p *post) held(sender uuid.UUID, now time.Time) (until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, of := range []uuid.UUID{uuid.Nil, sender} {
		if h := p.holds[of]; h != nil && now.Before(h.until) && h.until.After(until) {
			until = h.until
		}
	}
	return until
}

// turn tells until when no message of a sender is claimed, and whether only one is then: after a hold one goes first, and what comes of
// it tells whether others can.
func (p *post) turn(sender uuid.UUID, now time.Time) (until time.Time, one bool) {
	until = p.held(sender, now)
	p.mu.Lock()
	defer p.mu.Unlock()
	everybody, own := p.holds[uuid.Nil] != nil, p.holds[sender] != nil
	if until.IsZero() && (everybody && p.inHand > 0 || own && p.bySender[sender] > 0) {
		until = now.Add(askAgain)
	}
	return until, everybody || own
}

// MailStats is how sending stands.
type MailStats struct {
	// Trouble is why nobody's messages can be sent: the stage at which it was met, and nothing of what the server said. It is empty when
	// no reason is known.
	Trouble     string
	SendersHeld int               // senders whose messages alone cannot be sent
	InHand      int               // messages that are on their way
	HandedOver  map[string]uint64 // since the service began, by what came of it
}

// MailStats tells how sending stands.
func (o *Outreach) MailStats() MailStats {
	p := o.post
	p.mu.Lock()
	defer p.mu.Unlock()
	s := MailStats{InHand: len(p.queue) + p.sending, HandedOver: map[string]uint64{}}
	for sender, h := range p.holds {
		switch {
		case !o.store.Now().Before(h.until.Add(lastHold)): // nobody has wanted to send for long, and nothing is known
		case sender == uuid.Nil:
			s.Trouble = h.why
		default:
			s.SendersHeld++
		}
	}
	for status := mail.Sent; status <= mail.SenderRejected; status++ {
		s.HandedOver[status.String()] = p.results[status]
	}
	return s
}

// starve notes that messages of an organization wait for room alone, and has them be looked at when there is some.
func (p *post) starve(ctx context.Context, org uuid.UUID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starved[org] = true
	p.writeAway(ctx)
}

// hand hands over messages that were claimed.
func (p *post) hand(ctx context.Context, out []*outgoing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, out...)
	for range min(p.lines-p.sending, len(p.queue)) { // those that send already may take long
		p.sending++
		p.running.Go(func() { p.send(ctx) })
	}
}

// disown gives up messages that were claimed in a transaction that was not written.
func (p *post) disown(ctx context.Context, out []*outgoing) {
	p.release(out)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writeAway(ctx)
}

// send hands over what is in the queue until it is empty.
func (p *post) send(ctx context.Context) {
	last, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(lastWord, cancel) })
	defer stop()
	for {
		p.mu.Lock()
		if len(p.queue) == 0 {
			p.sending--
			p.mu.Unlock()
			return
		}
		m := p.queue[0]
		p.queue = p.queue[1:]
		p.mu.Unlock()
		r := result{outgoing: m}
		if ctx.Err() == nil && !p.stuck(m) && p.outreach.wanted(m) {
			r.Result = m.transport.Send(last, m.letter, func() bool { return p.outreach.wanted(m) })
		}
		p.take(ctx, r)
	}
}

// stuck tells whether sending was held after a message was claimed.
func (p *post) stuck(m *outgoing) bool {
	return !p.held(m.sender, p.outreach.store.Now()).IsZero()
}

// take takes what came of a message, and has it written down.
func (p *post) take(ctx context.Context, r result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notice(r)
	p.results[r.Status]++
	p.came = append(p.came, r)
	p.writeAway(ctx)
}

// writeAway has what came be written down, and those be looked at who wait for room.
func (p *post) writeAway(ctx context.Context) {
	if !p.records {
		p.records = true
		p.running.Go(func() { p.record(ctx) })
	}
}

// notice learns from what came of a message whether any can be sent.
func (p *post) notice(r result) {
	switch r.Status {
	case mail.Canceled, mail.Unknown: // the server has said nothing
	case mail.ServerUnavailable:
		p.holdBack(uuid.Nil, r)
	case mail.SenderRejected:
		p.letGo(uuid.Nil)
		p.holdBack(r.sender, r)
	default:
		p.letGo(uuid.Nil)
		p.letGo(r.sender)
	}
}

// holdBack holds the messages of a sender, or everybody's. What was under way with the first that failed says nothing more.
func (p *post) holdBack(sender uuid.UUID, r result) {
	now := p.outreach.store.Now()
	h := p.holds[sender]
	if h == nil {
		h = &hold{}
		p.holds[sender] = h
	} else if now.Before(h.until) {
		return
	}
	h.delay = min(max(firstHold, 2*h.delay), lastHold)
	h.why, h.until = cmp.Or(r.Stage(), "unknown"), now.Add(h.delay)
	attrs := []any{"for", h.delay, "error", r.Text}
	if sender != uuid.Nil {
		attrs = append(attrs, "organization", r.org, "sender", sender)
	}
	p.log.Warn("mail cannot be sent and is held", attrs...)
}

// letGo ends a hold, if there is one.
func (p *post) letGo(sender uuid.UUID) {
	if p.holds[sender] != nil {
		delete(p.holds, sender)
		p.log.Info("mail is sent again")
	}
}

// record writes down what came of messages, those of one organization together, and in the same transaction takes its sequences
// further: that brings the next messages.
func (p *post) record(ctx context.Context) {
	for {
		p.mu.Lock()
		came := map[uuid.UUID][]result{}
		for _, r := range p.came {
			came[r.org] = append(came[r.org], r)
		}
		if len(p.came) > 0 {
			p.window = min(p.lines+4*len(p.came), inHandMost)
		}
		if p.inHand-len(p.came) < p.window {
			for org := range p.starved {
				came[org] = append(came[org], []result{}...)
			}
			clear(p.starved)
		}
		p.came = nil
		if len(came) == 0 {
			p.records = false
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		for org, results := range came {
			p.writeDown(ctx, org, results)
		}
	}
}

// writeDown writes results down. Those that cannot be, because the service ends, are unknown to the next one that starts.
func (p *post) writeDown(ctx context.Context, org uuid.UUID, results []result) {
	done := make([]*outgoing, len(results))
	for i, r := range results {
		done[i] = r.outgoing
	}
	p.release(done)
	for {
		err := p.outreach.pass(ctx, org, results, func(tx *store.Tx, more bool, next time.Time) error {
			switch {
			case more:
				return p.outreach.wake(tx)
			case !next.IsZero():
				return p.outreach.promise(tx, advancePart, advanceJob, next)
			}
			return nil
		})
		if err == nil || ctx.Err() != nil || fault.CodeOf(err) == fault.NotFound {
			return
		}
		p.log.Error("what came of messages cannot be written down yet", "messages", len(results), "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(recordAgain):
		}
	}
}
