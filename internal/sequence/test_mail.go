package sequence

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/mail"
	"prospector/internal/shape"
	"prospector/store"
)

// MailTestBody selects what a test of the mail server does.
type MailTestBody struct {
	To shape.Text `json:"to" rule:"format=email" doc:"Where to send a test message. Without it the test only connects and logs in."`
}

// MailTest is the result of a test of the mail server.
type MailTest struct {
	Stages []mail.StageResult `json:"stages"`
}

// Prober tries a mail server.
type Prober interface {
	Probe(ctx context.Context, m *mail.Message) []mail.StageResult
}

const nothingSent = "mail.transport is outbox: messages are captured in the outbox and nothing is sent"

// TestMailAs is TestMail for a user, see claimTest.
func (e *Engine) TestMailAs(ctx context.Context, org uuid.UUID, actor store.Actor, to string) (MailTest, error) {
	var from mail.Address
	err := e.store.Update(ctx, org, actor, func(tx *store.Tx) (err error) {
		from, err = e.claimTest(tx, actor.User, to)
		return err
	})
	if err != nil {
		return MailTest{}, err
	}
	return e.TestMail(ctx, from, to)
}

// TestMail connects to the mail server and logs in. With an address it sends one message there. It is for the
// operator, whom neither suppressions nor limits bind.
func (e *Engine) TestMail(ctx context.Context, from mail.Address, to string) (MailTest, error) {
	prober, ok := e.Options.Transport(uuid.Nil).(Prober)
	if !ok {
		return MailTest{[]mail.StageResult{{Stage: "transport", OK: true, Detail: nothingSent}}}, nil
	}
	var m *mail.Message
	if to != "" {
		if from.Email == "" {
			from.Email = to
		}
		m = e.testMessage(from, mail.Address{Email: to}, "Prospector can send email", "This message was sent to test the mail server of Prospector.\n")
	}
	return MailTest{prober.Probe(ctx, m)}, nil
}

func (e *Engine) testMessage(from, to mail.Address, subject, body string) *mail.Message {
	return &mail.Message{
		ID: uuid.NewString() + "@" + domainOf(from.Email), Date: e.store.Now(), From: from, To: to, Subject: subject, Body: body,
	}
}

// TestSend is the result of sending a message to the user who wrote it.
type TestSend struct {
	To      string `json:"to" doc:"The address of the user."`
	Subject string `json:"subject"`
	Sent    bool   `json:"sent"`
	Detail  string `json:"detail" doc:"Why the message was not sent."`
}

// SendToSelf sends a message from a user to the same user, see claimTest. It leaves nothing in the outbox.
func (e *Engine) SendToSelf(ctx context.Context, org uuid.UUID, actor store.Actor, subject, body string) (r TestSend, err error) {
	var user mail.Address
	err = e.store.Update(ctx, org, actor, func(tx *store.Tx) (err error) {
		if user, err = e.userAddress(tx, actor.User); err == nil {
			_, err = e.claimTest(tx, actor.User, user.Email)
		}
		return err
	})
	if err != nil {
		return r, err
	}
	r = TestSend{To: user.Email, Subject: subject, Detail: nothingSent}
	if prober, ok := e.Options.Transport(uuid.Nil).(Prober); ok {
		stages := prober.Probe(ctx, e.testMessage(user, user, subject, body))
		last := stages[len(stages)-1]
		r.Sent, r.Detail = last.OK, last.Detail
	}
	return r, nil
}

// userAddress returns the address of a user as a sender. It is empty if the user does not exist.
func (e *Engine) userAddress(tx *store.Tx, user uuid.UUID) (mail.Address, error) {
	s, err := e.newEngineTx(tx).sender(user)
	if err != nil {
		return mail.Address{}, err
	}
	return s.address, nil
}

// maxTests is how many test messages an organization may send on a day.
const maxTests = 50

// claimTest counts a test message that a user is about to send, and returns the user's address. It refuses a sender who
// cannot own a campaign, a recipient who must not be written to, and a message above the user's daily cap or above
// maxTests of the organization. A message that then cannot be sent still counts. With the transport outbox nothing is
// sent, and nothing counts. to may be empty.
func (e *Engine) claimTest(tx *store.Tx, user uuid.UUID, to string) (from mail.Address, err error) {
	if from, err = e.userAddress(tx, user); err != nil || to == "" {
		return from, err
	}
	if refused, err := e.refusesTest(tx, to); err != nil {
		return from, err
	} else if refused {
		return from, fault.New(fault.Suppressed, "%s must not be written to: the address or its domain is suppressed, or the contact has opted out", to)
	}
	if _, sends := e.Options.Transport(uuid.Nil).(Prober); !sends {
		return from, nil
	}
	if problem, err := e.identity.SenderProblem(tx, user); err != nil && fault.CodeOf(err) != fault.NotFound {
		return from, err
	} else if problem != "" {
		return from, fault.New(fault.ValidationFailed, "cannot send: %s", problem)
	}
	return from, e.withEngine(tx, func(x *engineTx) error {
		if err := x.countTest(); err != nil {
			return err
		}
		s, err := x.sender(user)
		if err != nil {
			return err
		}
		if s.ledger.IsFull(x.now) {
			return fault.New(fault.CapReached, "the sender's daily cap of %d is reached, and test messages count for it; try again tomorrow", e.Options.DailyCap)
		}
		s.ledger.Count(x.now)
		s.hasChanged = true
		return nil
	})
}

// refusesTest reports whether an address is suppressed, or a contact with it has opted out.
func (e *Engine) refusesTest(tx *store.Tx, to string) (bool, error) {
	contacts, err := e.crm.ContactsWith(tx, to)
	if err != nil {
		return false, err
	}
	recipients := e.crm.Recipients(tx)
	for _, id := range contacts {
		if of, _, err := recipients.Reach(id); err != nil || of.OptedOut {
			return of.OptedOut, err
		}
	}
	return e.crm.IsSuppressed(tx, to), nil
}

// testsPart is the part of the ledgers that has the number of test messages of the organization.
const testsPart = 1

// testDay is how many test messages an organization has sent on a local date.
type testDay struct {
	Date int `json:"date"`
	Sent int `json:"sent"`
}

// countTest counts one more test message of the organization.
func (x *engineTx) countTest() error {
	cal, err := x.cal()
	if err != nil {
		return err
	}
	body, err := x.engine.ledgers.Get(x.tx, x.tx.Org(), testsPart)
	if err != nil {
		return err
	}
	var day testDay
	if body != nil {
		if err := json.Unmarshal(body, &day); err != nil {
			return err
		}
	}
	if today := cal.DayNumber(x.now); day.Date != today {
		day = testDay{Date: today}
	}
	if day.Sent >= maxTests {
		refusal := fault.New(fault.RateLimited, "the organization has sent %d test messages today, which is the maximum; try again tomorrow", maxTests)
		if tomorrow, err := cal.DayAfter(time.Unix(int64(day.Date)*24*60*60, 0).UTC().Format(time.DateOnly)); err == nil {
			refusal.Wait = tomorrow.Sub(x.now)
		}
		return refusal
	}
	day.Sent++
	if body, err = json.Marshal(&day); err != nil {
		return err
	}
	x.engine.ledgers.Put(x.tx, x.tx.Org(), testsPart, body)
	return nil
}
