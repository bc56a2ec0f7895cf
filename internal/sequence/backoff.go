package sequence

import (
	"cmp"
	"time"

	"github.com/google/uuid"

	"prospector/internal/mail"
)

// When the mail server does not accept any message, or none of a sender, the dispatcher backs off:
// it sends nothing for minBackoff, then for twice as long each time, up to maxBackoff. After each
// delay it sends a single message as a probe.
const (
	minBackoff = 5 * time.Second
	maxBackoff = 5 * time.Minute
	// probeWait is how long the other messages wait at a time while a probe is in flight.
	probeWait = time.Second
)

// backoff is a delay of sending.
type backoff struct {
	stage string // of the SMTP dialog, at which the problem occurred
	until time.Time
	delay time.Duration
}

// backoffUntil returns until when no message of a sender is sent. It is zero if messages are sent.
func (d *dispatcher) backoffUntil(sender uuid.UUID, now time.Time) (until time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, key := range []uuid.UUID{uuid.Nil, sender} {
		if b := d.backoffs[key]; b != nil && now.Before(b.until) && b.until.After(until) {
			until = b.until
		}
	}
	return until
}

// isBackedOff reports whether the dispatcher has backed off since a message was claimed.
func (d *dispatcher) isBackedOff(m *outgoing) bool {
	return !d.backoffUntil(m.sender, d.engine.store.Now()).IsZero()
}

// mayClaim returns until when no message of a sender may be claimed, which is zero if one may be,
// and whether only one may be, as a probe.
func (d *dispatcher) mayClaim(sender uuid.UUID, now time.Time) (until time.Time, onlyOne bool) {
	until = d.backoffUntil(sender, now)
	d.mu.Lock()
	defer d.mu.Unlock()
	forAll, forSender := d.backoffs[uuid.Nil] != nil, d.backoffs[sender] != nil
	if until.IsZero() && (forAll && d.claimed > 0 || forSender && d.bySender[sender] > 0) {
		until = now.Add(probeWait)
	}
	return until, forAll || forSender
}

// updateBackoffs starts, extends or ends back-offs after a result. The caller holds d.mu.
func (d *dispatcher) updateBackoffs(res result) {
	switch res.Status {
	case mail.Canceled, mail.Unknown: // the server has not responded
	case mail.ServerUnavailable:
		d.backOff(uuid.Nil, res)
	case mail.SenderRejected:
		d.endBackoff(uuid.Nil)
		d.backOff(res.sender, res)
	default:
		d.endBackoff(uuid.Nil)
		d.endBackoff(res.sender)
	}
}

// backOff delays the messages of a sender, or all if sender is uuid.Nil. It ignores the failures of
// messages that were in flight with the first one that failed.
func (d *dispatcher) backOff(sender uuid.UUID, res result) {
	now := d.engine.store.Now()
	b := d.backoffs[sender]
	if b == nil {
		b = &backoff{}
		d.backoffs[sender] = b
	} else if now.Before(b.until) {
		return
	}
	b.delay = min(max(minBackoff, 2*b.delay), maxBackoff)
	b.stage, b.until = cmp.Or(res.Stage(), "unknown"), now.Add(b.delay)
	attrs := []any{"retry_in", b.delay, "error", res.Text}
	if sender != uuid.Nil {
		attrs = append(attrs, "organization", res.org, "sender", sender)
	}
	d.log.Warn("mail cannot be sent, backing off", attrs...)
}

// endBackoff ends a back-off, if there is one.
func (d *dispatcher) endBackoff(sender uuid.UUID) {
	if d.backoffs[sender] != nil {
		delete(d.backoffs, sender)
		d.log.Info("mail is sent again")
	}
}

// MailStats is the state of sending.
type MailStats struct {
	// OutageStage is the stage of the SMTP dialog at which all messages fail. It contains nothing
	// of the server's response. It is empty while no outage is known.
	OutageStage      string
	SendersBackedOff int               // senders whose messages alone cannot be sent
	InFlight         int               // messages that are queued or being sent
	Results          map[string]uint64 // since the start of the process, by status
}

// MailStats returns the state of sending.
func (e *Engine) MailStats() MailStats {
	d := e.dispatcher
	d.mu.Lock()
	defer d.mu.Unlock()
	s := MailStats{InFlight: len(d.queue) + d.senders, Results: map[string]uint64{}}
	for sender, b := range d.backoffs {
		switch {
		case !e.store.Now().Before(b.until.Add(maxBackoff)): // nothing was tried for long
		case sender == uuid.Nil:
			s.OutageStage = b.stage
		default:
			s.SendersBackedOff++
		}
	}
	for status := mail.Sent; status <= mail.SenderRejected; status++ {
		s.Results[status.String()] = d.counts[status]
	}
	return s
}
