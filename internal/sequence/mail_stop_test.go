package sequence_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/service"
	"prospector/store"
)

// mailStop is a request after whose acknowledgment nothing is sent to a contact.
type mailStop struct {
	name   string
	do     func(m *mailer, campaign, contact string)
	reason string // of the sequence; empty if it resumes
}

func mailStops() []mailStop {
	return []mailStop{
		{"opts out", func(m *mailer, _, contact string) {
			m.Write.Patch("/v1/contacts/"+contact, `{"do_not_contact": true}`).Is(200)
		}, "opted_out"},
		{"address suppressed", func(m *mailer, _, _ string) {
			m.Admin.Post("/v1/suppressions", `{"email": "BOB@initech.example"}`).Is(201)
		}, "suppressed"},
		{"domain suppressed", func(m *mailer, _, _ string) {
			m.Admin.Post("/v1/suppressions", `{"domain": "initech.example"}`).Is(201)
		}, "suppressed"},
		{"leaves", func(m *mailer, campaign, contact string) {
			audience := m.Read.Get(campaign).Is(200).Text("data.audiences.0.id")
			m.Write.Post("/v1/audiences/"+audience+"/contacts/remove", apptest.ContactIDs(contact)).Is(200)
		}, "left_audience"},
		{"deleted", func(m *mailer, _, contact string) { m.Write.Delete("/v1/contacts/" + contact).Is(204) }, "contact_deleted"},
		{"stopped", func(m *mailer, campaign, contact string) {
			m.Write.Post(campaign+"/sequences/"+m.listedSequence(campaign, contact).ID+"/stop", `{"reason": "replied"}`).Is(200)
		}, "replied"},
		{"paused", func(m *mailer, campaign, _ string) { m.Write.Patch(campaign, `{"status": "paused"}`).Is(200) }, ""},
		{"completed", func(m *mailer, campaign, _ string) {
			m.Write.Patch(campaign, `{"status": "completed"}`).Is(200)
		}, "campaign_ended"},
		{"archived", func(m *mailer, campaign, _ string) {
			m.Write.Patch(campaign, `{"status": "archived"}`).Is(200)
		}, "campaign_archived"},
	}
}

// TestMailStopRetry checks that a message that waits for a retry is not sent after a request that
// stops it was acknowledged.
func TestMailStopRetry(t *testing.T) {
	for _, c := range mailStops() {
		t.Run(c.name, func(t *testing.T) {
			m := newMailer(t)
			bob := apptest.ContactsOf(m.Org, "bob")[0]
			m.server.Reply(apptest.Answering("RCPT", "450 4.2.1 busy"))
			campaign := m.sends(twoMails, "", bob)
			m.run()
			m.is("bob", 0, "retrying", "busy")
			c.do(m, campaign, bob)
			m.server.Reply(nil)
			m.after(24 * time.Hour)
			m.arrived()
			m.ends(c, campaign, bob)
		})
	}
}

// TestMailStopWithoutMessage stops sequences whose message waits for a retry and was removed by a repair of the store.
func TestMailStopWithoutMessage(t *testing.T) {
	for _, c := range mailStops() {
		if c.reason == "" {
			continue // it goes on
		}
		t.Run(c.name, func(t *testing.T) {
			m := newMailer(t)
			bob := apptest.ContactsOf(m.Org, "bob")[0]
			m.server.Reply(apptest.Answering("RCPT", "450 4.2.1 busy"))
			campaign := m.sends(twoMails, "", bob)
			m.run()
			m.is("bob", 0, "retrying", "busy")
			message := uuid.MustParse(m.message("bob", 0).ID)
			err := m.app.Store.Update(t.Context(), m.ID, store.Actor{}, func(tx *store.Tx) error { return tx.DeleteDamaged("messages", message) })
			if err != nil {
				t.Fatal(err)
			}
			c.do(m, campaign, bob)
			m.server.Reply(nil)
			m.after(24 * time.Hour)
			m.arrived()
			m.wantSequence(campaign, bob, "stopped:"+c.reason+" skipped")
		})
	}
}

// ends requires that a sequence was stopped before anything arrived. A paused one continues when it
// is resumed.
func (m *mailer) ends(c mailStop, campaign, contact string) {
	m.t.Helper()
	if c.reason == "" {
		m.Write.Patch(campaign, `{"status": "active"}`).Is(200)
		m.run()
		m.arrived("bob Hello bob")
		m.wantSequence(campaign, contact, "active sent waiting")
		return
	}
	m.wantSequence(campaign, contact, "stopped:"+c.reason+" skipped")
	m.is("bob", 0, "failed", "the sequence was stopped: "+c.reason)
	m.counted(campaign)
	m.checkConsistency()
}

// TestMailStopQueue checks that messages that wait behind others at a slow server are not sent
// after a request that stops them was acknowledged. Messages that the server already had are sent.
func TestMailStopQueue(t *testing.T) {
	for _, c := range mailStops() {
		t.Run(c.name, func(t *testing.T) {
			m := newMailer(t)
			// As many as are sent concurrently wait at the gate, and bob is queued behind them.
			var names, others []string
			for i := range mailLines {
				names = append(names, fmt.Sprint("other", i))
				others = append(others, fmt.Sprintf("other%d Hello other%d", i, i))
			}
			gate, at := make(chan struct{}), make(chan string, mailLines)
			open := func() { close(gate) }
			t.Cleanup(func() {
				if open != nil {
					open()
				}
			})
			m.server.Reply(func(stage, to string) string {
				if stage == apptest.MailContent && strings.HasPrefix(to, "other") {
					at <- to
					<-gate
				}
				return ""
			})
			crowd := m.sends(apptest.OneMail, "", apptest.ContactsOf(m.Org, names...)...)
			m.app.Work()
			for range mailLines {
				apptest.Receive(t, at, "a message")
			}
			bob := apptest.ContactsOf(m.Org, "bob")[0]
			campaign := m.sends(twoMails, "", bob)
			m.app.Work()
			m.is("bob", 0, "queued", "")
			m.wantSequence(campaign, bob, "active waiting")
			c.do(m, campaign, bob)
			open()
			open = nil
			m.run()
			m.after(24 * time.Hour)
			got := m.Read.Get(crowd + "/stats").Is(200).Int("data.messages_sent")
			if got != mailLines || m.server.Reached("RCPT", "bob@initech.example") > 0 {
				t.Errorf("%d other messages were sent; bob was addressed %d times", got, m.server.Reached("RCPT", "bob@initech.example"))
			}
			if c.reason == "" {
				m.Write.Patch(campaign, `{"status": "active"}`).Is(200)
				m.run()
				m.arrived(append(others, "bob Hello bob")...)
				return
			}
			m.arrived(others...)
			m.wantSequence(campaign, bob, "stopped:"+c.reason+" skipped")
			m.is("bob", 0, "failed", "the sequence was stopped: "+c.reason)
			m.counted(campaign)
			m.checkConsistency()
		})
	}
}

// TestMailStopOnItsWay checks that a message in flight when its sequence stops is recorded with its
// result, and that nothing follows it.
func TestMailStopOnItsWay(t *testing.T) {
	for _, c := range []struct{ answer, status, text string }{
		{"", "sent", ""}, {apptest.MailDrop, "unknown", "no answer"}, {"451 4.3.0 not now", "failed", "451 4.3.0"}, {"554 no", "failed", "554 no"},
	} {
		t.Run(c.status+c.answer, func(t *testing.T) {
			m := newMailer(t)
			gate, at := m.gate(apptest.MailContent)
			bob := apptest.ContactsOf(m.Org, "bob")[0]
			campaign := m.sends(twoMails, "", bob)
			m.app.Work()
			apptest.Receive(t, at, "a message")
			m.Write.Post(campaign+"/sequences/"+m.listedSequence(campaign, bob).ID+"/stop", `{"reason": "manual"}`).Is(200)
			m.wantSequence(campaign, bob, "stopped:manual waiting")
			gate <- c.answer
			m.run()
			m.after(24 * time.Hour)
			m.is("bob", 0, c.status, c.text)
			if n := m.server.Reached(apptest.MailContent, "bob@initech.example"); n != 1 {
				t.Errorf("the message was sent %d times, want 1", n)
			}
			want := map[string]string{"451 4.3.0 not now": "skipped"}[c.answer]
			if want == "" {
				want = c.status
			}
			m.wantSequence(campaign, bob, "stopped:manual "+want)
			m.counted(campaign)
			m.checkConsistency()
		})
	}
}

// TestMailOldAddress checks that nothing is sent to an address that is suppressed while a message
// to it waits, even if the contact has another address by then.
func TestMailOldAddress(t *testing.T) {
	m := newMailer(t)
	bob := apptest.ContactsOf(m.Org, "bob")[0]
	m.server.Reply(apptest.Answering("RCPT", "450 4.2.1 busy"))
	m.sends(apptest.OneMail, "", bob)
	m.run()
	m.Write.Patch("/v1/contacts/"+bob, `{"email": "robert@initech.example"}`).Is(200)
	m.Admin.Post("/v1/suppressions", `{"email": "bob@initech.example"}`).Is(201)
	m.server.Reply(nil)
	m.after(24 * time.Hour)
	for _, mail := range m.server.Mails() {
		if mail.To[0] == "bob@initech.example" {
			t.Error("a message was sent to the suppressed address")
		}
	}
}

// TestMailSenders checks that each sender respects the cap and the gap with a mail server, and that
// prioritized campaigns go first.
func TestMailSenders(t *testing.T) {
	m := newMailer(t, func(cfg *service.Config) { cfg.Mail.DailyCap, cfg.Mail.MinGap = 3, time.Minute })
	atTen := strings.Replace(apptest.OneMail, `"index": 0,`, `"index": 0, "hour": 10,`, 1) // after all sequences have started
	slow := m.sends(atTen, "", apptest.ContactsOf(m.Org, "s0", "s1", "s2")...)
	first := m.sends(atTen, `, "prioritized": true`, apptest.ContactsOf(m.Org, "p0", "p1")...)
	user := m.Admin.Post("/v1/users", `{"email": "eve@acme.example", "first_name": "Eve"}`).Is(201).ID()
	m.sends(atTen, fmt.Sprintf(`, "owner_id": %q`, user), apptest.ContactsOf(m.Org, "e0")...)
	counts := func(minutes, want int) {
		t.Helper()
		if n := len(m.server.Mails()); n != want {
			t.Errorf("after %d minutes %d messages arrived, want %d", minutes, n, want)
		}
	}
	m.run()
	m.arrived()
	m.after(time.Hour)
	counts(0, 2)
	m.arrived("e0 Hello e0", "p0 Hello p0")
	for minute := 1; minute <= 30; minute++ {
		m.after(time.Minute - time.Millisecond)
		counts(minute-1, min(2+minute-1, 4))
		m.after(time.Millisecond)
		counts(minute, min(2+minute, 4))
	}
	if p, s := m.Read.Get(first+"/stats").Int("data.messages_sent"), m.Read.Get(slow+"/stats").Int("data.messages_sent"); p != 2 || s != 1 {
		t.Errorf("sent %d messages of the prioritized campaign and %d of the other", p, s)
	}
	m.after(24 * time.Hour)
	m.after(time.Minute)
	counts(24*60, 6)
	for _, mail := range m.server.Mails() {
		if from := map[bool]string{true: "eve@acme.example", false: "ada@acme.example"}[mail.To[0] == "e0@initech.example"]; mail.From != from || !strings.Contains(mail.Header.Get("From"), from) {
			t.Errorf("message to %s has the wrong sender: %s, %s", mail.To, mail.From, mail.Header.Get("From"))
		}
	}
}

// TestMailTransportChanged checks that messages waiting for a retry are captured if the service
// restarts without a mail server, and that the campaign is held when it restarts with one.
func TestMailTransportChanged(t *testing.T) {
	m := newMailer(t)
	ids := apptest.ContactsOf(m.Org, "bob")
	m.server.Reply(apptest.Answering("RCPT", "450 4.2.1 busy"))
	campaign := m.sends(twoMails, "", ids...)
	m.run()
	m.server.Reply(nil)
	m.app.Stop()
	m.app.Config.Mail.Transport = "outbox"
	m.app.Start()
	m.after(5 * time.Minute)
	m.is("bob", 0, "captured", "")
	m.app.Stop()
	m.app.Config.Mail.Transport = "smtp"
	m.app.Start()
	m.after(24 * time.Hour)
	m.arrived() // the campaign is held, because bob never received the first message
	m.Write.Post(campaign+"/release", `{"overdue": "send", "captured": "keep"}`).Is(200)
	m.run()
	m.wantSequence(campaign, ids[0], "completed captured sent")
	m.arrived("bob Hello bob") // what follows a captured message starts a thread
	if in := m.server.Mails()[0].Header.Get("In-Reply-To"); in != "" {
		t.Errorf("In-Reply-To = %s, want none", in)
	}
}
