package sequence

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/outreach"
	"prospector/internal/shape"
	"prospector/internal/template"
	"prospector/store"
)

// Pausing a campaign, holding it and reaching a sender's cap rewrite no sequence. What a waiting step
// waits for is therefore determined when the sequence is read.

// Explain returns sequences as they are shown. Given their stored JSON, it adds to the reason of each
// waiting step what the step waits for, and replaces a next_due_at that has passed.
func (e *Engine) Explain(org uuid.UUID, records [][]byte) ([][]byte, error) {
	shown := make([][]byte, len(records))
	err := e.store.View(org, func(tx *store.Tx) error {
		x := e.newEngineTx(tx)
		for i, stored := range records {
			var err error
			if shown[i], err = x.explainRecord(stored); err != nil {
				return err
			}
		}
		return nil
	})
	return shown, err
}

func (x *engineTx) explainRecord(stored []byte) ([]byte, error) {
	id, err := shape.ParseID(shape.MemberText(string(stored), `"id":"`))
	if err != nil {
		return nil, err
	}
	if !x.engine.sequences.Has(x.tx, id) { // an organization was replaced meanwhile
		return stored, nil
	}
	r, err := x.load(store.Doc[Sequence]{ID: id})
	if err != nil {
		return nil, err
	}
	if r.s.Status != SequenceActive || !r.s.hasStep(StepWaiting) || r.campaign == nil && r.damage == nil {
		return stored, nil // without a campaign it is about to be stopped
	}
	if err := r.explain(); err != nil {
		return nil, err
	}
	return json.Marshal(&r.s)
}

// explain adds what its steps wait for to the sequence, which must not be saved afterwards.
func (r *sequenceRun) explain() error {
	blocked := r.blockedBy()
	r.s.NextDueAt = shape.Time{}
	for i := range r.s.History {
		h := &r.s.History[i]
		if h.Status != StepWaiting {
			continue
		}
		if r.damage != nil {
			h.Reason += waitsForRepair
			continue
		}
		at, reason, err := r.waitsFor(i)
		if store.IsDamagedRecord(err) {
			at, reason, err = time.Time{}, waitsForRepair, nil
		}
		if err != nil {
			return err
		}
		if blocked != "" {
			reason = blocked
			if !at.After(r.x.now) {
				at = time.Time{}
			}
		}
		h.Reason += reason
		if !at.IsZero() && (!r.s.NextDueAt.Valid() || at.Before(r.s.NextDueAt.Std())) {
			r.s.NextDueAt = shape.At(at)
		}
	}
	return nil
}

// waitsForRepair is the reason of a step that needs a record which cannot be read.
const waitsForRepair = "; waits: the campaign, its template, its owner or the contact is damaged"

// blockedBy returns why no step of the sequence happens, or "".
func (r *sequenceRun) blockedBy() string {
	switch c := r.campaign; {
	case c == nil: // it is damaged
	case c.Held != nil:
		return "; waits: the campaign is held (" + string(c.Held.Reason) + ")"
	case c.Status == outreach.CampaignPaused:
		return "; waits: the campaign is paused"
	case !c.IsSending():
		return "; waits: the campaign is being released"
	}
	return ""
}

// waitsFor returns when a waiting step happens at the earliest, and why not before. The time is zero if
// it cannot be told.
func (r *sequenceRun) waitsFor(i int) (at time.Time, reason string, err error) {
	x := r.x
	h := &r.s.History[i]
	at, needsSlot, waits := r.s.due(i)
	isEmail := h.Type == template.AutoEmail
	if next := r.s.nextEmail(); isEmail && next >= 0 && r.s.History[next].Status == StepHeld {
		if !at.After(x.now) {
			at = time.Time{}
		}
		return at, fmt.Sprintf("; waits for the email of step %d, which is held", r.s.History[next].StepIndex), nil
	}
	switch {
	case !waits:
		return x.now, "; its message is being sent", nil
	case at.After(x.now):
		if h.MessageID.Valid { // the server deferred it, or could not be reached
			return at, "; waits for the mail server", nil
		}
		return at, "", nil
	case isEmail && x.engine.Options.Transport(r.campaign.OwnerID.UUID) != nil:
		if until := x.engine.dispatcher.backoffUntil(x.tx.Now()); !until.IsZero() {
			return x.engine.clock.scale.at(until), "; waits for the mail server", nil
		}
	}
	if !needsSlot {
		return x.now, "", nil
	}
	from, err := x.sender(r.campaign.OwnerID.UUID)
	if err != nil {
		return at, "", err
	}
	hour, err := r.hourOf(i)
	if err != nil {
		return at, "", err
	}
	slot := from.ledger.NextAtHour(at, x.now, hour)
	return slot.At, from.ledger.Reason(slot), nil
}
