package outreach

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/mail"
	"prospector/internal/planner"
	"prospector/internal/shape"
)

// sender is whom the messages of campaigns come from, with what they have sent.
type sender struct {
	user   *identity.User // nil when there is none: a campaign that was made without a user has no owner
	from   mail.Address
	values values
	ledger *planner.Ledger
	sent   bool // something since it was read
}

// standing is what a sender has sent, as it is kept in the store.
type standing struct {
	Last   shape.Time  `json:"last"`
	Capped shape.Time  `json:"capped"`
	Opened shape.Time  `json:"opened"`
	Days   [2]standDay `json:"days"`
}

type standDay struct {
	Date int `json:"date"`
	Sent int `json:"sent"`
}

// sender reads a sender.
func (e *engine) sender(id uuid.UUID) (*sender, error) {
	if s := e.senders[id]; s != nil {
		return s, nil
	}
	s := &sender{}
	user, err := e.identity.Users.Get(e.tx, id)
	switch {
	case err == nil:
		u := &user.Record
		s.user, s.from = u, mail.Address{Name: strings.TrimSpace(string(u.FirstName) + " " + string(u.LastName)), Email: u.Email}
		if s.values, err = e.senderValues(e.tx, id); err != nil {
			return nil, err
		}
	case fault.CodeOf(err) != fault.NotFound:
		return nil, err
	}
	cal, err := e.calendar()
	if err != nil {
		return nil, err
	}
	s.ledger = planner.NewLedger(cal, e.DailyCap, e.MinGap)
	body, err := e.sentBy.Get(e.tx, id, 0)
	if err != nil {
		return nil, err
	}
	if body != nil {
		var was standing
		if err := json.Unmarshal(body, &was); err != nil {
			return nil, err
		}
		s.ledger.Restore(was.planner())
	}
	e.senders[id] = s
	return s, nil
}

func (s *standing) planner() planner.LedgerState {
	out := planner.LedgerState{Last: timeOf(s.Last), Capped: timeOf(s.Capped), Opened: timeOf(s.Opened)}
	for i, d := range s.Days {
		out.Days[i] = planner.Day{Date: d.Date, Sent: d.Sent}
	}
	return out
}

func timeOf(t shape.Time) time.Time {
	if !t.Valid() {
		return time.Time{}
	}
	return t.Std()
}

func timeFrom(t time.Time) shape.Time {
	if t.IsZero() {
		return shape.Time{}
	}
	return shape.At(t)
}

// closeSenders keeps what was sent.
func (e *engine) closeSenders() error {
	for id, s := range e.senders {
		if !s.sent {
			continue
		}
		is := s.ledger.State()
		keep := standing{Last: timeFrom(is.Last), Capped: timeFrom(is.Capped), Opened: timeFrom(is.Opened)}
		for i, d := range is.Days {
			keep.Days[i] = standDay{d.Date, d.Sent}
		}
		body, err := json.Marshal(&keep)
		if err != nil {
			return err
		}
		e.sentBy.Put(e.tx, id, 0, body)
		s.sent = false
	}
	return nil
}

// valuesFor are what tokens stand for in messages of the sender to a recipient.
func (s *sender) valuesFor(to *crm.Recipient) *values {
	s.values.recipient(to)
	return &s.values
}
