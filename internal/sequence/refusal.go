package sequence

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/mail"
	"prospector/internal/outreach"
	"prospector/internal/shape"
	"prospector/store"
)

// A mail server that refuses one recipient and one that refuses everything from a sender often give
// the same answer. This file tells them apart, so that a misconfigured sender does not suppress a
// whole list.

const (
	// acceptedWithin is how recently the server must have accepted another recipient from a sender
	// for an unexplained refusal of a recipient to count as a bounce.
	acceptedWithin = time.Hour
	// A sender is paused after maxRefusals refusals in a row over at least minRefusalDomains domains. As
	// many unknown messages hold a campaign.
	maxRefusals       = 5
	minRefusalDomains = 3
	// A campaign is held when maxBounces of its last bounceWindow messages bounced.
	maxBounces   = 10
	bounceWindow = 50
)

// refusal is a message that the server refused because of its sender or its content.
type refusal struct {
	Message  uuid.UUID `json:"message"`
	Sequence uuid.UUID `json:"sequence"`
	Domain   string    `json:"domain"`
}

// acceptance is a recipient that the mail server accepted.
type acceptance struct {
	to string // its canonical address
	at time.Time
}

// noteAcceptance records the last two recipients that the server accepted from a sender. A restart
// forgets them, because the server may be another one then. The caller holds d.mu.
func (d *dispatcher) noteAcceptance(res result) {
	if res.Status != mail.Sent {
		return
	}
	last, to := d.accepted[res.sender], address.Key(res.message.Record.To)
	if last[0].to != to {
		last[1] = last[0]
	}
	last[0] = acceptance{to, d.engine.store.Now()}
	d.accepted[res.sender] = last
}

// judge decides what an unexplained refusal of a recipient means: a bounce if the server has just
// accepted another recipient from the sender.
func (d *dispatcher) judge(res result) mail.Result {
	if res.Status != mail.RecipientRejected {
		return res.Result
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	judged := mail.Result{Status: mail.Rejected, Text: res.Text}
	to := address.Key(res.message.Record.To)
	for _, a := range d.accepted[res.sender] {
		if a.to != "" && a.to != to && d.engine.store.Now().Sub(a.at) <= acceptedWithin {
			judged.Status = mail.Bounced
		}
	}
	return judged
}

// noteRefusal counts the refusals of a sender in a row. When there are too many, it queues their
// messages again and holds the campaigns of the sender.
func (x *engineTx) noteRefusal(s *sender, m *Message, res mail.Result) error {
	switch res.Status {
	case mail.Sent, mail.Bounced: // a server that judges the recipient accepts the sender
		s.refusals, s.hasChanged = nil, len(s.refusals) > 0 || s.hasChanged
		return nil
	case mail.Rejected:
	default:
		return nil
	}
	c, err := x.campaign(m.CampaignID)
	if err != nil {
		return err
	}
	if c != nil && c.Held != nil && c.Held.Reason == outreach.HeldSenderRefused { // it was in flight
		return x.update(m.SequenceID, func(r *sequenceRun) error { return r.requeue(m.ID) })
	}
	s.refusals = append(slices.Clip(s.refusals), refusal{m.ID, m.SequenceID, domainOf(m.To)})
	s.refusals = s.refusals[max(0, len(s.refusals)-maxRefusals):]
	s.hasChanged = true
	var domains []string
	for _, r := range s.refusals {
		domains = append(domains, r.Domain)
	}
	if !isRowOfFailures(domains) {
		return nil
	}
	refused := s.refusals
	s.refusals = nil
	return x.pauseSender(s, refused, res.Text)
}

// isRowOfFailures reports whether the domains of messages that failed in a row are so many, and of so
// many kinds, that the mail server or the sender is at fault.
func isRowOfFailures(domains []string) bool {
	different := slices.Compact(slices.Sorted(slices.Values(domains)))
	return len(domains) >= maxRefusals && len(different) >= minRefusalDomains
}

// resumeSender ends the pause of a sender. Other campaigns of the sender stay held.
func (e *Engine) resumeSender(tx *store.Tx, id uuid.UUID) error {
	return e.withEngine(tx, func(x *engineTx) error {
		s, err := x.sender(id)
		if err != nil {
			return err
		}
		s.paused, s.hasChanged = "", true
		return nil
	})
}

// pauseSender holds the campaigns of a sender, and queues the messages that the server refused
// again. They wait for the release of their campaigns.
func (x *engineTx) pauseSender(s *sender, refused []refusal, answer string) error {
	if s.user == nil {
		return nil
	}
	detail := fmt.Sprintf("The mail server refused %d messages of %s in a row: %s", len(refused), s.user.Email, answer)
	s.paused, s.hasChanged = detail, true
	if err := x.holdCampaignsOf(s.user.ID, outreach.HeldSenderRefused, detail); err != nil {
		return err
	}
	x.engine.Options.Log.Warn("the mail server refuses a sender, campaigns held",
		"organization", x.tx.Org(), "sender", s.user.ID, "refused", len(refused), "answer", answer)
	for _, r := range refused {
		err := x.update(r.Sequence, func(run *sequenceRun) error { return run.requeue(r.Message) })
		if err != nil {
			return err
		}
	}
	return nil
}

// requeue queues the failed message of a step again, if the sequence has not been stopped.
func (r *sequenceRun) requeue(message uuid.UUID) error {
	i := slices.IndexFunc(r.s.History, func(h HistoryStep) bool {
		return h.Status == StepFailed && h.MessageID.UUID == message
	})
	if i < 0 || r.s.Status == SequenceStopped {
		return nil
	}
	doc, err := r.x.engine.messages.Get(r.x.tx, message)
	if err != nil {
		return err
	}
	m := doc.Record
	m.Status = MessageQueued
	if _, err := r.x.saveMessage(doc, m); err != nil {
		return err
	}
	r.reopenStep(i)
	r.s.state.MarkQueued(r.s.History[i].StepIndex, m.state.HeaderID)
	// Several emails of the sequence may have been refused. With slots they are sent in order.
	state := &r.s.state.Steps[i]
	state.Retry, state.NeedsSlot = shape.At(r.x.now), true
	return nil
}

// noteBounce records in the counters of a campaign whether a message bounced, and holds the campaign
// if too many did.
func (x *engineTx) noteBounce(campaign uuid.UUID, status mail.Status) error {
	switch status {
	case mail.Sent, mail.Bounced, mail.Rejected:
	default:
		return nil
	}
	c, err := x.countersOf(campaign)
	if err != nil {
		return err
	}
	c.Recent = c.Recent << 1 & (1<<bounceWindow - 1)
	if status != mail.Bounced {
		return nil
	}
	c.Recent |= 1
	bounced := bits.OnesCount64(c.Recent)
	if bounced < maxBounces {
		return nil
	}
	c.Recent = 0
	return x.hold(campaign, outreach.HeldBounceRate,
		fmt.Sprintf("%d of the last %d messages of the campaign bounced.", bounced, bounceWindow))
}
