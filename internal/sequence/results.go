package sequence

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/mail"
	"prospector/internal/shape"
	"prospector/store"
)

// retryDelays are the delays after which a message is tried again when the server deferred it.
// After the last one it has failed.
var retryDelays = []time.Duration{5 * time.Minute, 15 * time.Minute, 60 * time.Minute}

// storeResults stores the results of dispatched messages and continues their sequences.
func (x *engineTx) storeResults(results []result) error {
	for _, res := range results {
		doc, err := x.engine.messages.Reload(x.tx, res.message)
		if fault.CodeOf(err) == fault.NotFound { // the organization was replaced
			continue
		}
		if err != nil {
			return err
		}
		if doc.Record.Status != MessageSending {
			continue
		}
		err = x.updateKnown(res.sequence, func(r *sequenceRun) error { return r.storeResult(doc, res) })
		if err != nil {
			return err
		}
		if res.Status == mail.Bounced {
			if err := x.engine.crm.SuppressEmail(x.tx, doc.Record.To, "bounce"); err != nil {
				return err
			}
		}
	}
	return nil
}

// storeResult updates a message and its step with the result, and continues the sequence.
func (r *sequenceRun) storeResult(doc store.Doc[Message], res result) error {
	i := slices.IndexFunc(r.s.History, func(h HistoryStep) bool { return h.MessageID.UUID == doc.ID })
	m := doc.Record
	m.Error = shape.Text(res.Text)
	retryAt := func(at time.Time) {
		m.Status, r.s.state.Steps[i].Retry = MessageRetrying, shape.At(at)
	}
	if res.Status == mail.Deferred {
		m.state.Deferrals++
	}
	isFinal := res.Status == mail.Rejected || res.Status == mail.Bounced ||
		res.Status == mail.Deferred && m.state.Deferrals > len(retryDelays)
	switch {
	case res.Status == mail.Sent:
		m.Status, m.Error = MessageSent, ""
		r.finishStep(i, StepSent, "")
	case res.Status == mail.Unknown:
		m.Status = MessageUnknown
		r.finishStep(i, StepUnknown, res.Text)
	case isFinal:
		m.Status = MessageFailed
		r.finishStep(i, StepFailed, res.Text)
	case r.s.Status != SequenceActive:
		m.Status = MessageFailed
		m.Error = cmp.Or(m.Error, shape.Text(stoppedBecause(r.s.Reason)))
		r.finishStep(i, StepSkipped, stoppedBecause(r.s.Reason))
	case res.Status == mail.Deferred:
		retryAt(r.x.now.Add(retryDelays[m.state.Deferrals-1]))
	case res.Status == mail.ServerUnavailable || res.Status == mail.SenderRejected:
		wall := r.x.tx.Now()
		if until := r.x.engine.dispatcher.backoffUntil(res.sender, wall); !until.IsZero() {
			wall = until
		}
		retryAt(r.x.engine.clock.scale.at(wall))
	default: // it was canceled before its content was sent
		retryAt(r.x.now)
	}
	if _, err := r.x.saveMessage(doc, m); err != nil {
		return err
	}
	return r.advance()
}

// failMessage marks a message that was to be retried as failed, because its sequence stops.
func (r *sequenceRun) failMessage(id uuid.UUID, reason StopReason) error {
	doc, err := r.x.engine.messages.Get(r.x.tx, id)
	if err != nil {
		return err
	}
	m := doc.Record
	m.Status, m.Error = MessageFailed, shape.Text(stoppedBecause(reason))
	_, err = r.x.saveMessage(doc, m)
	return err
}
