package sequence

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/mail"
	"prospector/internal/outreach"
	"prospector/internal/planner"
	"prospector/internal/shape"
)

// sender is the owner of campaigns, who sends their emails.
type sender struct {
	user       *identity.User // nil if the campaign was created without a user
	address    mail.Address
	tokens     *outreach.TokenValues
	ledger     *planner.Ledger
	hasChanged bool // since it was loaded

	refusals []refusal // the last refusals in a row, see refusal.go
	paused   string    // why nothing is sent until a campaign of the sender is released; empty if it is
}

// TransportName returns the name of what delivers the messages of a sender.
func (e *Engine) TransportName(sender uuid.UUID) string {
	if e.Options.Transport(sender) == nil {
		return "outbox"
	}
	return "smtp"
}

// sender returns a sender with the ledger of what it has sent.
func (x *engineTx) sender(id uuid.UUID) (*sender, error) {
	if s := x.senders[id]; s != nil {
		return s, nil
	}
	s := &sender{tokens: x.engine.outreach.TokenValues(x.tx, id)}
	doc, err := x.engine.identity.Users.Get(x.tx, id)
	switch {
	case err == nil:
		u := &doc.Record
		name := strings.TrimSpace(string(u.FirstName) + " " + string(u.LastName))
		s.user, s.address = u, mail.Address{Name: name, Email: u.Email}
	case fault.CodeOf(err) != fault.NotFound:
		return nil, err
	}
	if err := x.loadLedger(id, s); err != nil {
		return nil, err
	}
	x.senders[id] = s
	return s, nil
}

// storedLedger is what is stored of a sender: planner.LedgerState, and how the mail server has treated
// it.
type storedLedger struct {
	Last   shape.Time   `json:"last"`
	Capped shape.Time   `json:"capped"`
	Opened shape.Time   `json:"opened"`
	Days   [2]ledgerDay `json:"days"`

	Refusals []refusal `json:"refusals,omitzero"`
	Paused   string    `json:"paused,omitzero"`
}

type ledgerDay struct {
	Date int `json:"date"`
	Sent int `json:"sent"`
}

// newLedger returns the ledger of a sender that has sent nothing.
func (x *engineTx) newLedger() (*planner.Ledger, error) {
	cal, err := x.cal()
	if err != nil {
		return nil, err
	}
	return planner.NewLedger(cal, x.engine.Options.DailyCap, x.engine.Options.MinGap), nil
}

// loadLedger loads what is stored of a sender into s.
func (x *engineTx) loadLedger(id uuid.UUID, s *sender) error {
	ledger, err := x.newLedger()
	if err != nil {
		return err
	}
	s.ledger = ledger
	body, err := x.engine.ledgers.Get(x.tx, id, 0)
	if err != nil || body == nil {
		return err
	}
	var stored storedLedger
	if err := json.Unmarshal(body, &stored); err != nil {
		return err
	}
	s.refusals, s.paused = stored.Refusals, stored.Paused
	state := planner.LedgerState{
		Last: stdTime(stored.Last), Capped: stdTime(stored.Capped), Opened: stdTime(stored.Opened),
	}
	for i, d := range stored.Days {
		state.Days[i] = planner.Day{Date: d.Date, Sent: d.Sent}
	}
	s.ledger.Restore(state)
	return nil
}

// saveLedgers stores the ledgers of senders that have changed.
func (x *engineTx) saveLedgers() error {
	for id, s := range x.senders {
		if !s.hasChanged {
			continue
		}
		state := s.ledger.State()
		stored := storedLedger{
			Last: shapeTime(state.Last), Capped: shapeTime(state.Capped), Opened: shapeTime(state.Opened),
			Refusals: s.refusals, Paused: s.paused,
		}
		for i, d := range state.Days {
			stored.Days[i] = ledgerDay{d.Date, d.Sent}
		}
		body, err := json.Marshal(&stored)
		if err != nil {
			return err
		}
		x.engine.ledgers.Put(x.tx, id, 0, body)
		s.hasChanged = false
	}
	return nil
}

// stdTime converts a time, where null is zero.
func stdTime(t shape.Time) time.Time {
	if !t.Valid() {
		return time.Time{}
	}
	return t.Std()
}

// shapeTime converts a time, where zero is null.
func shapeTime(t time.Time) shape.Time {
	if t.IsZero() {
		return shape.Time{}
	}
	return shape.At(t)
}
