package sequence

import (
	"cmp"
	"slices"
	"time"

	"prospector/internal/crm"
	"prospector/internal/mail"
	"prospector/internal/shape"
	"prospector/store"
)

// retryDelays are the delays after which a message is tried again when the server deferred it. The
// last one repeats.
var retryDelays = []time.Duration{5 * time.Minute, 15 * time.Minute, time.Hour, 4 * time.Hour}

// maxRetrying is how long a message is retried.
const maxRetrying = 24 * time.Hour

// storeResults stores the results of dispatched messages and continues their sequences.
func (x *engineTx) storeResults(results []result) error {
	for _, res := range results {
		doc, err := x.engine.messages.Reload(x.tx, res.message)
		if isUnreadable(err) { // it is damaged, or the organization was replaced
			continue
		}
		if err != nil {
			return err
		}
		if status := doc.Record.Status; status != MessageQueued && status != MessageSending {
			continue
		}
		if err := store.ExceptDamaged(x.storeResult(doc, res)); err != nil {
			return err
		}
	}
	return nil
}

// storeResult stores a result and draws the consequences for the recipient, the sender and the
// campaign.
func (x *engineTx) storeResult(doc store.Doc[Message], res result) error {
	res.Result = x.engine.dispatcher.judge(res)
	var from *sender
	err := x.updateKnown(res.sequence, func(r *sequenceRun) (err error) {
		if r.campaign != nil {
			// The campaign may have got another sender since.
			from, err = x.sender(cmp.Or(res.sender, r.campaign.OwnerID.UUID))
			if err := store.ExceptDamaged(err); err != nil {
				return err
			}
		}
		return r.storeResult(doc, res)
	})
	if err != nil {
		return err
	}
	if res.Status == mail.Bounced {
		if err := x.engine.crm.SuppressEmail(x.tx, doc.Record.To, crm.ReasonBounce); err != nil {
			return err
		}
	}
	if from == nil {
		return nil
	}
	if res.Status == mail.ServerUnavailable { // the message takes another slot
		from.ledger.Return(x.now)
		from.hasChanged = true
	}
	if err := x.noteRefusal(from, &doc.Record, res.Result); err != nil {
		return err
	}
	if err := x.noteBounce(doc.Record.CampaignID, res.Status); err != nil {
		return err
	}
	return x.noteUnknown(&doc.Record, res)
}

// storeResult updates a message and its step with the result, and continues the sequence.
func (r *sequenceRun) storeResult(doc store.Doc[Message], res result) error {
	i := slices.IndexFunc(r.s.History, func(h HistoryStep) bool { return h.MessageID.UUID == doc.ID })
	m := doc.Record
	m.Error = shape.Text(res.Text)
	state := &r.s.state.Steps[i]
	var retry time.Time
	if res.Status == mail.Deferred {
		retry = r.nextRetry(&m)
	}
	switch {
	case res.Status == mail.Sent:
		m.Status, m.Error = MessageSent, ""
		r.finishStep(i, StepSent, "")
	case res.Status == mail.Unknown:
		m.Status = MessageUnknown
		r.finishStep(i, StepUnknown, res.Text)
		state.Undecided = !res.byService
	case res.Status == mail.Rejected || res.Status == mail.Bounced || res.Status == mail.Deferred && retry.IsZero():
		m.Status = MessageFailed
		r.finishStep(i, StepFailed, res.Text)
	case r.s.Status != SequenceActive:
		m.Status = MessageFailed
		m.Error = cmp.Or(m.Error, shape.Text(stoppedBecause(r.s.Reason)))
		r.finishStep(i, StepSkipped, stoppedBecause(r.s.Reason))
	case res.Status == mail.Deferred:
		m.Status, state.Retry, state.NeedsSlot = MessageRetrying, shape.At(retry), true
	case res.Status == mail.ServerUnavailable:
		wall := r.x.tx.Now()
		if until := r.x.engine.dispatcher.backoffUntil(wall); !until.IsZero() {
			wall = until
		}
		m.Status, state.Retry, state.NeedsSlot = MessageRetrying, shape.At(r.x.engine.clock.scale.at(wall)), true
	default: // it was canceled before its content was sent
		m.Status, state.Retry = MessageQueued, shape.At(r.x.now)
	}
	saved, err := r.x.saveMessage(doc, m)
	if err == nil && res.Status == mail.Bounced {
		err = r.x.emitMessage(&saved.Record, "bounced")
	}
	if err != nil {
		return err
	}
	return r.advanceIfReadable()
}

// nextRetry counts a deferral of a message and returns when it is tried again. It is zero if the
// message was tried for long enough.
func (r *sequenceRun) nextRetry(m *Message) time.Time {
	if m.state.Deferrals == 0 {
		m.state.FirstTried = shape.At(r.x.now)
	}
	delay := retryDelays[min(m.state.Deferrals, len(retryDelays)-1)]
	m.state.Deferrals++
	at := r.x.now.Add(delay)
	if first := stdTime(m.state.FirstTried); !first.IsZero() && at.Sub(first) > maxRetrying {
		return time.Time{}
	}
	return at
}

// failMessage marks a message that was to be sent or retried as failed, because its step ends.
func (r *sequenceRun) failMessage(i int, reason string) error {
	return r.endMessage(i, MessageFailed, reason)
}

// endMessage sets the final status of the message of a step. One that is damaged or gone is not sent either.
func (r *sequenceRun) endMessage(i int, status MessageStatus, reason string) error {
	doc, err := r.x.engine.messages.Get(r.x.tx, r.s.History[i].MessageID.UUID)
	if store.IsGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	m := doc.Record
	m.Status, m.Error = status, shape.Text(reason)
	_, err = r.x.saveMessage(doc, m)
	return err
}
