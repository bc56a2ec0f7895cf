package sequence_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/service"
)

// stagesOf tests the mail server, and returns the stages as "connect ok" or "login failed". The last
// stage is followed by its detail.
func stagesOf(t *testing.T, org *apptest.Org, body any) (stages []string, detail string) {
	t.Helper()
	res := org.Admin.Post("/v1/mail/test", body).Is(200)
	for i := range res.Value("data.stages").([]any) {
		at := fmt.Sprintf("data.stages.%d.", i)
		outcome := " failed"
		if res.Value(at+"ok") == true {
			outcome = " ok"
		}
		stages, detail = append(stages, res.Text(at+"stage")+outcome), res.Text(at+"detail")
	}
	return stages, detail
}

// A test of the mail server shows how far it gets.
func TestMailTest(t *testing.T) {
	const to = `{"to": "bill@initech.example"}`
	login := func(cfg *service.Config) { cfg.Mail.SMTP.Username, cfg.Mail.SMTP.Password = "ada", mailSecret }
	starttls := func(cfg *service.Config) { cfg.Mail.SMTP.TLS = "starttls" }
	for _, c := range []struct {
		name   string
		change func(*service.Config)
		server func(*apptest.MailServer)
		body   string
		want   []string
		detail string
		mails  int
	}{
		{"without an address", nil, nil, `{}`, []string{"connect ok", "greeting ok", "EHLO ok"}, "", 0},
		{"with an address", nil, nil, to, []string{"connect ok", "greeting ok", "EHLO ok", "message ok"}, "", 1},
		{"with a login", login, func(s *apptest.MailServer) { s.Login("ada", mailSecret) }, to, []string{"connect ok", "greeting ok", "EHLO ok", "login ok", "message ok"}, "", 1},
		{"a refused login", login, func(s *apptest.MailServer) { s.Login("ada", "another") }, to, []string{"connect ok", "greeting ok", "EHLO ok", "login failed"}, "535 5.7.8 not you", 0},
		{"no server", nil, (*apptest.MailServer).Down, to, []string{"connect failed"}, "connection refused", 0},
		{"no greeting", nil, func(s *apptest.MailServer) { s.Reply(apptest.Answering("greeting", "554 5.3.2 go away")) }, to, []string{"connect ok", "greeting failed"}, "554 5.3.2 go away", 0},
		{"no encryption", starttls, nil, to, []string{"connect ok", "greeting ok", "EHLO ok", "STARTTLS failed"}, "not offered by the server", 0},
		{"a refused sender", nil, func(s *apptest.MailServer) { s.Reply(apptest.Answering("MAIL", "550 5.7.1 not from you")) }, to, []string{"connect ok", "greeting ok", "EHLO ok", "message failed"}, "550 5.7.1 not from you", 0},
		{"a refused recipient", nil, func(s *apptest.MailServer) { s.Reply(apptest.Answering("RCPT", "550 5.1.1 nobody")) }, to, []string{"connect ok", "greeting ok", "EHLO ok", "message failed"}, "550 5.1.1 nobody", 0},
		{"a refused message", nil, func(s *apptest.MailServer) { s.Reply(apptest.Answering(apptest.MailContent, "554 5.7.1 spam")) }, to, []string{"connect ok", "greeting ok", "EHLO ok", "message failed"}, "554 5.7.1 spam", 0},
		{"later", nil, func(s *apptest.MailServer) { s.Reply(apptest.Answering("RCPT", "451 4.7.1 later")) }, to, []string{"connect ok", "greeting ok", "EHLO ok", "message failed"}, "451 4.7.1 later", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMailer(t, func(cfg *service.Config) {
				if c.change != nil {
					c.change(cfg)
				}
			})
			if c.server != nil {
				c.server(m.server)
			}
			stages, detail := stagesOf(t, m.Org, c.body)
			if !slices.Equal(stages, c.want) || !strings.Contains(detail, c.detail) || strings.Contains(detail, mailSecret) {
				t.Errorf("the stages are %q, the last with %q; want %q with %q", stages, detail, c.want, c.detail)
			}
			if mails := m.server.Mails(); len(mails) != c.mails || len(mails) > 0 && (mails[0].To[0] != "bill@initech.example" || mails[0].Header.Get("Subject") != "Prospector can send email") {
				t.Errorf("the server accepted %+v", mails)
			}
			if len(m.outbox()) != 0 || len(m.suppressed()) != 0 {
				t.Errorf("the test left %v and %v", m.outbox(), m.suppressed())
			}
			m.ready("") // a test is no outage
		})
	}
}

// The outbox transport has nothing to test. Only admins test.
func TestMailTestOutbox(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	stages, detail := stagesOf(t, org, `{"to": "bill@initech.example"}`)
	if !slices.Equal(stages, []string{"transport ok"}) || !strings.Contains(detail, "nothing is sent") {
		t.Errorf("the stages are %q: %s", stages, detail)
	}
	if stages, _ = stagesOf(t, org, nil); len(stages) != 1 {
		t.Errorf("without a body the stages are %q", stages)
	}
	org.Write.Post("/v1/mail/test", `{}`).Fails(403, "forbidden", "admin")
	org.Read.Get("/v1/mail/status").Fails(403, "forbidden", "write")
	org.Admin.Post("/v1/mail/test", `{"to": "bill"}`).Fails(422, "validation_failed", `to: "bill" is not an email address`)
	org.Write.Get("/v1/mail/status").Is(200, `{"data": {"transport": "outbox", "status": "ok", "stage": null, "retry_at": null, "in_flight": 0, "held_campaigns": 0}, "meta": {"timestamp": "<time>"}}`)
}

// Trouble with mail is visible in its status, and the service stays ready.
func TestMailStatus(t *testing.T) {
	m := newMailer(t)
	bob := m.Admin.Post("/v1/users", `{"email": "bob@acme.example"}`).Is(201).ID()
	ids := apptest.ContactsOf(m.Org, "ann", "bob")
	m.sends(apptest.OneMail, "", ids...)
	m.sends(apptest.OneMail, `, "owner_id": "`+bob+`"`, ids...)
	m.Admin.Post("/v1/users/"+bob+"/deactivate", nil).Is(200)
	m.server.Down()
	m.run()
	m.ready("connect")
	status := m.Admin.Get("/v1/mail/status").Is(200)
	retry, err := time.Parse(time.RFC3339, status.Text("data.retry_at"))
	if err != nil || !retry.After(m.app.Clock.Now()) || status.Text("data.transport") != "smtp" || status.Int("data.held_campaigns") != 1 {
		t.Errorf("the status is %s (%v)", status.Body, err)
	}
	m.server.Up()
	m.after(time.Hour)
	m.after(time.Hour)
	m.ready("")
	m.arrived("ann Hello ann", "bob Hello bob")
}

// Each outcome of a message has its event, and the end of a step says which step it was.
func TestMessageEvents(t *testing.T) {
	m := newMailer(t)
	rec := apptest.NewReceiver(t)
	rec.Subscribe(m.Org, "message.*", "sequence.step_completed")
	m.server.Reply(func(stage, to string) string {
		name, _, _ := strings.Cut(to, "@")
		return map[string]string{"RCPT gone": "550 5.1.1 nobody", apptest.MailContent + " spam": "554 5.7.1 spam", apptest.MailContent + " lost": apptest.MailDrop}[stage+" "+name]
	})
	m.sends(twoMails, "", apptest.ContactsOf(m.Org, "fine", "gone", "spam", "lost")...)
	m.run()
	m.after(2 * time.Hour)
	m.app.Deliver()
	var got []string
	for _, h := range rec.Take() {
		e := h.Event(t)
		if err := m.app.CheckEvent(e.TriggerKey, []byte(h.Body)); err != nil {
			t.Errorf("%s: %v", h.Body, err)
		}
		var data struct {
			To, Status string
			Email      string `json:"contact_email"`
			Step       *int   `json:"step_index"`
		}
		if err := json.Unmarshal(e.Data, &data); err != nil || data.Step == nil {
			t.Fatalf("%s (%v)", h.Body, err)
		}
		name, _, _ := strings.Cut(data.To+data.Email, "@")
		got = append(got, fmt.Sprintf("%s %s %d", e.TriggerKey, name, *data.Step))
		if event, isMessage := strings.CutPrefix(e.TriggerKey, "message."); isMessage {
			if event == "bounced" {
				event = "failed"
			}
			if data.Status != event {
				t.Errorf("%s has status %q: %s", e.TriggerKey, data.Status, h.Body)
			}
		}
	}
	want := []string{
		"message.sent fine 0", "message.sent fine 1", "message.failed gone 0", "message.bounced gone 0",
		"message.failed spam 0", "message.failed spam 1", "message.unknown lost 0", "message.unknown lost 1",
		"sequence.step_completed fine 0", "sequence.step_completed fine 1", "sequence.step_completed gone 0",
		"sequence.step_completed spam 0", "sequence.step_completed spam 1", "sequence.step_completed lost 0", "sequence.step_completed lost 1",
	}
	if !slices.Equal(apptest.Sorted(got), apptest.Sorted(want)) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(apptest.Sorted(got), "\n"), strings.Join(apptest.Sorted(want), "\n"))
	}
}
