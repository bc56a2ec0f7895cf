package sequence

import (
	"context"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/mail"
	"prospector/internal/outreach"
	"prospector/internal/shape"
	"prospector/store"
)

// MailStatus is whether messages can be sent.
type MailStatus struct {
	Transport     string     `json:"transport" rule:"enum=outbox|smtp" doc:"What delivers messages. outbox captures them and sends nothing."`
	Status        string     `json:"status" rule:"enum=ok|unavailable" doc:"unavailable while no message can be sent because of the mail server."`
	Stage         shape.Text `json:"stage" doc:"The stage of the SMTP dialog that fails: connect, TLS, greeting, EHLO, STARTTLS, login or MAIL FROM."`
	RetryAt       shape.Time `json:"retry_at" doc:"When sending is tried again."`
	InFlight      int        `json:"in_flight" doc:"The number of messages that are being handed to the mail server, of all organizations."`
	HeldCampaigns int        `json:"held_campaigns" doc:"The number of campaigns of the organization that are held."`
}

// MailStatus returns whether messages of an organization can be sent.
func (e *Engine) MailStatus(tx *store.Tx) (s MailStatus, err error) {
	stats := e.MailStats()
	s = MailStatus{Transport: e.TransportName(uuid.Nil), Status: "ok", Stage: shape.Text(stats.OutageStage), InFlight: stats.InFlight}
	if stats.OutageStage != "" {
		s.Status, s.RetryAt = "unavailable", shapeTime(e.dispatcher.backoffUntil(tx.Now()))
	}
	ids, err := e.outreach.CampaignsWith(tx, outreach.CampaignActive, outreach.CampaignPaused)
	if err != nil {
		return s, err
	}
	for _, id := range ids {
		c, err := e.outreach.Campaigns.Get(tx, id)
		if err != nil {
			return s, err
		}
		if c.Record.Held != nil {
			s.HeldCampaigns++
		}
	}
	return s, nil
}

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

// TestMail connects to the mail server and logs in. With an address it sends one message there.
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

// SendToSelf sends a message from a user to the same user. It leaves nothing in the outbox, and does not count
// for the sender's cap and gap.
func (e *Engine) SendToSelf(ctx context.Context, user mail.Address, subject, body string) TestSend {
	result := TestSend{To: user.Email, Subject: subject, Detail: nothingSent}
	if prober, ok := e.Options.Transport(uuid.Nil).(Prober); ok {
		stages := prober.Probe(ctx, e.testMessage(user, user, subject, body))
		last := stages[len(stages)-1]
		result.Sent, result.Detail = last.OK, last.Detail
	}
	return result
}

// UserAddress returns the address of a user as a sender. It is empty if the user does not exist.
func (e *Engine) UserAddress(org, user uuid.UUID) (from mail.Address, err error) {
	err = e.store.View(org, func(tx *store.Tx) error {
		s, err := e.newEngineTx(tx).sender(user)
		if err == nil {
			from = s.address
		}
		return err
	})
	if fault.CodeOf(err) == fault.NotFound {
		err = nil
	}
	return from, err
}
