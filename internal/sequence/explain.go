package sequence

import (
	"context"
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
// waiting step what the step waits for, and replaces next_due_at by what is planned. It fails if ctx ends.
func (e *Engine) Explain(ctx context.Context, org uuid.UUID, records [][]byte) ([][]byte, error) {
	shown := make([][]byte, len(records))
	err := e.store.View(org, func(tx *store.Tx) error {
		x := e.newEngineTx(tx)
		for i, stored := range records {
			var err error
			if shown[i], err = x.explainRecord(ctx, stored); err != nil {
				return err
			}
		}
		return nil
	})
	return shown, err
}

func (x *engineTx) explainRecord(ctx context.Context, stored []byte) ([]byte, error) {
	id, err := shape.ParseID(shape.MemberText(string(stored), "id"))
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
	if _, err := r.explain(ctx); err != nil {
		return nil, err
	}
	return json.Marshal(&r.s)
}

// explain adds what its steps wait for to the sequence, which must not be saved afterwards.
// It returns when each step of the history is planned, which is zero if it cannot be told.
func (r *sequenceRun) explain(ctx context.Context) (planned []time.Time, err error) {
	blocked := r.blockedBy()
	planned = make([]time.Time, len(r.s.History))
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
		if blocked != "" {
			h.Reason += blocked
			continue
		}
		at, reason, err := r.waitsFor(ctx, i)
		if store.IsDamagedRecord(err) {
			at, reason, err = time.Time{}, waitsForRepair, nil
		}
		if err != nil {
			return nil, err
		}
		planned[i] = at
		h.Reason += reason
		if !at.IsZero() && (!r.s.NextDueAt.Valid() || at.Before(r.s.NextDueAt.Std())) {
			r.s.NextDueAt = shape.At(at)
		}
	}
	return planned, nil
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
	case c.IsReopening():
		return "; waits: the campaign is being reopened"
	case !c.IsSending():
		return "; waits: the campaign is being released"
	}
	return ""
}

// waitsFor returns when a waiting step is planned to happen, and why not before. The time is zero if it cannot
// be told.
func (r *sequenceRun) waitsFor(ctx context.Context, i int) (at time.Time, reason string, err error) {
	x := r.x
	h := &r.s.History[i]
	at, needsSlot, waits := r.s.due(i)
	isEmail := h.Type == template.AutoEmail
	if next := r.s.nextEmail(); isEmail && next >= 0 && r.s.History[next].Status == StepHeld {
		return time.Time{}, fmt.Sprintf("; waits for the email of step %d, which is held", r.s.History[next].StepIndex), nil
	}
	if !waits {
		return x.now, "; its message is being sent", nil
	}
	var resumes time.Time
	if isEmail {
		resumes = x.mailResumes(r.campaign.OwnerID.UUID)
	}
	waitsForMail := at.After(x.now) && h.MessageID.Valid || !at.After(x.now) && !resumes.IsZero()
	at = later(at, later(x.now, resumes))
	if needsSlot {
		if at, reason, err = r.planned(ctx, i, at); err != nil {
			return at, "", err
		}
	}
	if waitsForMail { // the server deferred it, or cannot be reached
		reason = "; waits for the mail server"
	}
	return at, reason, nil
}

// planned returns when an email that is due at the time from is sent, and what delays it until then. The time is
// zero if it is not sent.
func (r *sequenceRun) planned(ctx context.Context, i int, from time.Time) (at time.Time, reason string, err error) {
	plan, err := r.x.forecastFor(ctx, r.campaign.OwnerID, r.s.ID)
	if err != nil {
		return at, "", err
	}
	c, err := r.template()
	if err != nil {
		return at, "", err
	}
	at, reason, found := plan.step(r.s.ID, c.Step(r.s.History[i].StepIndex).Position)
	switch {
	case !found:
		return at, fmt.Sprintf("; waits behind %d others of its sender", maxForecast), nil
	case at.IsZero():
		return at, reason, nil
	}
	return later(at, from), reason, nil
}
