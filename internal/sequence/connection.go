package sequence

import (
	"context"
	"sync/atomic"
	"time"

	"prospector/internal/address"
	"prospector/internal/crm"
	"prospector/internal/mail"
	"prospector/store"
)

// send sends queued messages until the queue is empty. The result of a message is stored in the
// transaction that agrees to hand over the next one, so that a message costs one commit, and a crash
// leaves at most one message per connection unknown.
func (d *dispatcher) send(ctx context.Context) {
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
			res.Result, isHandedOver = c.sendOne(m)
			res.byService = ctx.Err() != nil
		}
		res.Text = hideToken(res.Text, m.email.Unsubscribe)
		d.noteResult(res)
		if isHandedOver {
			c.keepResult(res)
		} else {
			d.mu.Lock()
			d.addResult(ctx, res)
			d.mu.Unlock()
		}
	}
}

// sendOne sends a message, and reports whether its content was handed over. When the engine stops before that, the message is
// canceled at once. Afterwards it has a while, because without an answer nobody knows whether it was delivered.
func (c *connection) sendOne(m *outgoing) (res mail.Result, isHandedOver bool) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.ctx))
	defer cancel()
	var isLast atomic.Bool
	stop := context.AfterFunc(c.ctx, func() {
		if isLast.Load() {
			time.AfterFunc(c.engine.Options.StopGrace, cancel)
		} else {
			cancel()
		}
	})
	defer stop()
	res = m.transport.Send(ctx, m.email, func() bool {
		isLast.Store(true)
		isHandedOver = c.ctx.Err() == nil && c.handOver(m)
		return isHandedOver
	})
	if ctx.Err() != nil && !isHandedOver {
		return mail.Result{Status: mail.Canceled}, false
	}
	return res, isHandedOver
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

// keepResult keeps a result until the next message is handed over, but not for long.
func (c *connection) keepResult(res result) {
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
		c.addResult(c.ctx, *c.last)
	}
}

// hasUnstored reports whether the result of the last message may not be stored yet.
func (c *connection) hasUnstored() bool { return c.last != nil }

// store returns when the result of the last message is stored, or cannot be stored now.
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
// returns false if something has stopped the message, if the commit fails, or if earlier results of the
// organization cannot be stored.
func (c *connection) handOver(m *outgoing) bool {
	if c.hasUnstored() && c.last.org != m.org { // they cannot share a transaction
		c.store()
	}
	h := &handover{outgoing: m, decided: make(chan struct{})}
	c.mu.Lock()
	last := c.last
	c.queueHeld()
	c.last = nil
	c.addHandover(c.ctx, h)
	c.mu.Unlock()
	if last != nil {
		<-last.stored // in the same transaction, or before
	}
	<-h.decided
	return h.isAgreed
}

// isWanted reports whether a claimed message may still be sent: nothing has stopped its sequence
// since, its contact has the same address, and its campaign the same sender. If that cannot be read, the message is not sent now.
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
	return err == nil && reason == "" && r.isRunning() && r.campaign.OwnerID.UUID == m.sender &&
		address.Key(m.email.To.Email) == address.Key(r.recipient.Email) && e.outreach.Refusal(tx, crm.Reach{Email: m.email.To.Email}) == "", err
}
