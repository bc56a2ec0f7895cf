package sequence

import (
	"github.com/google/uuid"

	"prospector/internal/outreach"
	"prospector/internal/planner"
	"prospector/store"
)

// SenderLedger returns the ledger of what a sender has sent and queued. It is empty if what is stored is damaged.
func (e *Engine) SenderLedger(tx *store.Tx, id uuid.UUID) (*planner.Ledger, error) {
	x := e.newEngineTx(tx)
	from, err := x.sender(id)
	if store.IsDamagedRecord(err) {
		return x.newLedger()
	}
	if err != nil {
		return nil, err
	}
	return from.ledger, nil
}

// Progress returns a function that returns the sequence of a contact in a campaign, or nil if it has
// none or has not started.
func (e *Engine) Progress(tx *store.Tx, campaign uuid.UUID) func(contact uuid.UUID) (*outreach.Progress, error) {
	x := e.newEngineTx(tx)
	return func(contact uuid.UUID) (*outreach.Progress, error) {
		id, found := e.sequences.Find(tx, byCampaignAndContact, store.PairKey(campaign, contact))
		if !found {
			return nil, nil
		}
		doc, err := e.sequences.Get(tx, id)
		switch {
		case err != nil:
			return nil, err
		case doc.Record.Status == SequenceNotStarted && doc.Record.state.Unconfirmed:
			return &outreach.Progress{Awaits: true}, nil
		case doc.Record.Status == SequenceNotStarted:
			return nil, nil
		}
		p, err := x.progress(&doc.Record)
		return &p, err
	}
}

// Running calls visit for each active sequence of a campaign, until it returns an error. It leaves out
// sequences that are damaged, or whose template is.
func (e *Engine) Running(tx *store.Tx, campaign uuid.UUID, visit func(outreach.Progress) error) error {
	x := e.newEngineTx(tx)
	return eachUnder(tx, e.sequences, byCampaign, campaign[:], func(doc store.Doc[Sequence]) error {
		if doc.Record.Status != SequenceActive {
			return nil
		}
		p, err := x.progress(&doc.Record)
		if err == nil {
			err = visit(p)
		}
		return store.ExceptDamaged(err)
	})
}

// progress returns a sequence in the form that a simulation needs. A message in flight counts as sent
// now, and one that is tried again is due then.
func (x *engineTx) progress(s *Sequence) (p outreach.Progress, err error) {
	p = outreach.Progress{ID: s.ID, Start: s.StartedAt.Std()}
	if p.Template, err = x.template(s.state.Template, s.state.Version); err != nil {
		return p, err
	}
	p.History = s.plannerHistory(p.Template)
	if s.state.LacksAddress {
		p.SkipMail = outreach.NoAddress
	}
	next := s.nextEmail()
	for i := range s.History {
		h := &s.History[i]
		if s.state.Steps[i].Gone {
			continue
		}
		position := p.Template.Step(h.StepIndex).Position
		if i == next {
			p.NotBefore = stdTime(s.state.Steps[i].NotBefore)
		}
		switch h.Status {
		case StepHeld:
			if p.Withheld == nil {
				p.Withheld = make([]planner.Action, len(p.History))
			}
			p.Withheld[position] = planner.Hold
		case StepTaskOpen:
			if p.HasTask == nil {
				p.HasTask = make([]bool, len(p.History))
			}
			p.HasTask[position] = true
		}
		if h.Status != StepWaiting || !h.MessageID.Valid {
			continue
		}
		step := &p.History[position]
		if retry := s.state.Steps[i].Retry; retry.Valid() {
			step.Due = retry.Std()
		} else {
			step.EndedAt = x.now
		}
	}
	switch s.Status {
	case SequenceCompleted:
		p.Ended, p.Description = "completed", "the sequence is completed"
	case SequenceStopped:
		p.Ended, p.Description = string(s.Reason), stoppedBecause(s.Reason)
	}
	return p, nil
}
