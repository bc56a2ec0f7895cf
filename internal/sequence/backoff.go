package sequence

import (
	"cmp"
	"time"

	"prospector/internal/mail"
)

// When the mail server cannot be reached or accepts no connection, the dispatcher backs off: it
// sends nothing for minBackoff, then for twice as long each time, up to maxBackoff. After each
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

// backoffUntil returns until when no message is sent. It is zero if messages are sent.
func (d *dispatcher) backoffUntil(now time.Time) (until time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if b := d.backoff; b != nil && now.Before(b.until) {
		return b.until
	}
	return time.Time{}
}

// isBackedOff reports whether the dispatcher has backed off.
func (d *dispatcher) isBackedOff() bool { return !d.backoffUntil(d.engine.store.Now()).IsZero() }

// mayClaim returns until when no message may be claimed, which is zero if one may be, and whether
// only one may be, as a probe.
func (d *dispatcher) mayClaim(now time.Time) (until time.Time, onlyOne bool) {
	until = d.backoffUntil(now)
	d.mu.Lock()
	defer d.mu.Unlock()
	if until.IsZero() && d.backoff != nil && d.total > 0 {
		until = now.Add(probeWait)
	}
	return until, d.backoff != nil
}

// updateBackoff starts, extends or ends the back-off after a result. It ignores the failures of
// messages that were in flight with the first one that failed. The caller holds d.mu.
func (d *dispatcher) updateBackoff(res result) {
	switch res.Status {
	case mail.Canceled, mail.Unknown: // the server has not responded
	case mail.ServerUnavailable:
		now := d.engine.store.Now()
		if d.backoff == nil {
			d.backoff = &backoff{}
		} else if now.Before(d.backoff.until) {
			return
		}
		b := d.backoff
		b.delay = min(max(minBackoff, 2*b.delay), maxBackoff)
		b.stage, b.until = cmp.Or(res.Stage(), "unknown"), now.Add(b.delay)
		d.log.Warn("mail cannot be sent, backing off", "retry_in", b.delay, "error", res.Text)
	default:
		if d.backoff != nil {
			d.backoff = nil
			d.log.Info("mail is sent again")
		}
	}
}

// MailStats is the state of sending.
type MailStats struct {
	// OutageStage is the stage of the SMTP dialog at which all messages fail. It contains nothing
	// of the server's response. It is empty while no outage is known.
	OutageStage string
	InFlight    int               // messages that are queued or being sent
	Results     map[string]uint64 // since the start of the process, by status
}

// MailStats returns the state of sending.
func (e *Engine) MailStats() MailStats {
	d := e.dispatcher
	d.mu.Lock()
	defer d.mu.Unlock()
	s := MailStats{InFlight: d.queue.Len() + d.senders, Results: map[string]uint64{}}
	if b := d.backoff; b != nil && e.store.Now().Before(b.until.Add(maxBackoff)) { // else nothing was tried for long
		s.OutageStage = b.stage
	}
	for status := mail.Sent; status <= mail.ServerUnavailable; status++ {
		s.Results[status.String()] = d.counts[status]
	}
	return s
}
