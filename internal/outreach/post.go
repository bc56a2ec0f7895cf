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
	Send(ctx context.Context, m *mail.Message) mail.Result
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

// withheld is the status of a message that was not handed over after all.
const withheld mail.Status = 0

const (
	// inHandMost is how many messages may be on their way. What is on its way when the machine dies is unknown afterwards.
	inHandMost = 256
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
	inHand   int // messages that are reserved for, on their way, or not written down
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

// reserve makes room for as many messages as may be handed over: none when the service ends. Whoever reserves hands over, nothing at
// the least.
func (p *post) reserve(ctx context.Context) (room int) {
	now := p.outreach.store.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil {
		return 0
	}
	room = inHandMost - p.inHand
	if h := p.holds[uuid.Nil]; h != nil { // one goes first, to see whether it can
		if room = 1 - p.inHand; now.Before(h.until) {
			room = 0
		}
	}
	room = max(0, room)
	p.inHand += room
	return room
}

// held tells until when no message of a sender is handed over, and whether one is to go first then.
func (p *post) held(sender uuid.UUID, now time.Time) (until time.Time, held, one bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, of := range []uuid.UUID{uuid.Nil, sender} {
		if h := p.holds[of]; h != nil {
			one = true
			if now.Before(h.until) && h.until.After(until) {
				until, held = h.until, true
			}
		}
	}
	return until, held, one
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
	for status := mail.Sent; status <= mail.Unwelcome; status++ {
		s.HandedOver[status.String()] = p.results[status]
	}
	return s
}

// starve notes that messages of an organization wait for room alone.
func (p *post) starve(org uuid.UUID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starved[org] = true
}

// hand hands messages over, for which the caller had reserved room.
func (p *post) hand(ctx context.Context, out []*outgoing, room int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inHand -= room - len(out)
	p.queue = append(p.queue, out...)
	for _, m := range out {
		p.bySender[m.sender]++
	}
	for ; p.sending < min(p.lines, len(p.queue)); p.sending++ {
		p.running.Go(func() { p.send(ctx) })
	}
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
			r.Result = m.transport.Send(last, m.letter)
		}
		p.take(ctx, r)
	}
}

// stuck tells whether sending was held after a message was claimed.
func (p *post) stuck(m *outgoing) bool {
	_, held, _ := p.held(m.sender, p.outreach.store.Now())
	return held
}

// take takes what came of a message, and has it written down.
func (p *post) take(ctx context.Context, r result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notice(r)
	p.results[r.Status]++
	p.came = append(p.came, r)
	if !p.records {
		p.records = true
		p.running.Go(func() { p.record(ctx) })
	}
}

// notice learns from what came of a message whether any can be sent.
func (p *post) notice(r result) {
	switch r.Status {
	case withheld:
	case mail.Trouble:
		p.holdBack(uuid.Nil, r)
	case mail.Unwelcome:
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
		if p.inHand-len(p.came) < inHandMost {
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
	p.mu.Lock()
	p.inHand -= len(results)
	for _, r := range results {
		if p.bySender[r.sender]--; p.bySender[r.sender] == 0 {
			delete(p.bySender, r.sender)
		}
	}
	p.mu.Unlock()
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

// has tells whether a message of a sender is on its way.
func (p *post) has(sender uuid.UUID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bySender[sender] > 0
}
