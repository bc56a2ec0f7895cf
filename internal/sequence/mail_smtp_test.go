package sequence_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/service"
)

// TestMailOutcomes checks how the reply of the server affects a message, its recipient and the
// sequence.
func TestMailOutcomes(t *testing.T) {
	m := newMailer(t)
	cases := []struct {
		name, stage, answer string
		status, text, goes  string
		bounced             bool
	}{
		{"fine", "", "", "sent", "", "completed sent sent", false},
		{"nobody", "RCPT", "550 5.1.1 no such user", "failed", "550 5.1.1 no such user", "stopped:suppressed failed skipped", true},
		{"moved", "RCPT", "551 5.1.6 went away", "failed", "551 5.1.6", "stopped:suppressed failed skipped", true},
		{"unlike", "RCPT", "553 5.1.3 no address", "failed", "553 5.1.3", "stopped:suppressed failed skipped", true},
		{"policy", "RCPT", "550 5.7.1 not from you", "failed", "550 5.7.1 not from you", "completed failed sent", false},
		{"full", "RCPT", "552 5.2.2 mailbox full", "failed", "552 5.2.2", "completed failed sent", false},
		{"other", "RCPT", "554 5.1.1 no", "failed", "554 5.1.1", "stopped:suppressed failed skipped", true},
		{"unsure", "RCPT", "550 4.1.1 no", "failed", "550 4.1.1", "completed failed sent", false},
		{"nodata", "DATA", "554 5.5.1 nothing valid", "failed", "554 5.5.1", "completed failed sent", false},
		{"spam", apptest.MailContent, "550 5.7.1 spam", "failed", "550 5.7.1 spam", "completed failed sent", false},
		{"dropped", apptest.MailContent, apptest.MailDrop, "unknown", "no answer after the content", "completed unknown sent", false},
	}
	var names []string
	for _, c := range cases {
		names = append(names, c.name)
	}
	m.server.Reply(func(stage, to string) string {
		for _, c := range cases {
			if c.name+"@initech.example" == to && c.stage == stage && m.server.Reached(stage, to) == 1 {
				return c.answer
			}
		}
		return ""
	})
	ids := apptest.ContactsOf(m.Org, names...)
	campaign := m.sends(twoMails, "", ids...)
	m.run()
	m.after(time.Hour)
	m.after(24 * time.Hour)

	var bounced, arrived []string
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := &mailer{m.Org, t, m.app, m.server}
			m.is(c.name, 0, c.status, c.text)
			m.wantSequence(campaign, ids[i], c.goes)
		})
		if c.bounced {
			bounced = append(bounced, c.name+"@initech.example bounce")
			continue
		}
		arrived = append(arrived, c.name+" Hello "+c.name)
		switch c.status {
		case "failed": // the second message is the first that arrives
		case "unknown":
			arrived = append(arrived, c.name+" Hello "+c.name)
		default:
			arrived = append(arrived, c.name+" Re: Hello "+c.name)
		}
		m.is(c.name, 1, "sent", "")
	}
	m.arrived(arrived...)
	slices.Sort(bounced)
	if got := m.suppressed(); !slices.Equal(got, bounced) {
		t.Errorf("suppressions = %q, want %q", got, bounced)
	}
	stats := m.Read.Get(campaign + "/stats").Is(200)
	if sent, failed := stats.Int("data.messages_sent"), stats.Int("data.messages_failed"); sent != 1+7 || failed != 10 {
		t.Errorf("stats report %d sent and %d failed: %s", sent, failed, stats.Body)
	}
	m.ready("")
	m.checkConsistency()
}

// TestMailRetry checks that a message that the server temporarily rejects is retried after exactly
// 5, 15 and 60 minutes and then every 4 hours, and fails after a day.
func TestMailRetry(t *testing.T) {
	m := newMailer(t)
	ids := apptest.ContactsOf(m.Org, "never", "late", "content")
	m.server.Reply(func(stage, to string) string {
		switch n := m.server.Reached(stage, to); {
		case to == "never@initech.example" && stage == "RCPT":
			return "450 4.2.1 busy"
		case to == "late@initech.example" && stage == "DATA" && n < 4:
			return "451 4.3.0 not now"
		case to == "content@initech.example" && stage == apptest.MailContent && n < 2:
			return "452 4.3.1 no room"
		}
		return ""
	})
	campaign := m.sends(twoMails, "", ids...)
	m.run()
	tries := 1
	for _, wait := range []time.Duration{5 * time.Minute, 15 * time.Minute, time.Hour, 4 * time.Hour, 4 * time.Hour, 4 * time.Hour, 4 * time.Hour, 4 * time.Hour} {
		m.is("never", 0, "retrying", "450 4.2.1 busy")
		m.wantSequence(campaign, ids[0], "active waiting")
		if next := m.listedSequence(campaign, ids[0]).Next; next == nil || !next.Equal(m.app.Clock.Now().Add(wait)) {
			t.Errorf("after %d attempts the next is at %v, want %v from now", tries, next, wait)
		}
		m.after(wait - time.Millisecond)
		if n := m.server.Reached("RCPT", "never@initech.example"); n != tries {
			t.Errorf("%d attempts, want %d", n, tries)
		}
		m.after(time.Millisecond)
		tries++
		if n := m.server.Reached("RCPT", "never@initech.example"); n != tries {
			t.Errorf("%d attempts after %v, want %d", n, wait, tries)
		}
	}
	m.is("never", 0, "failed", "450 4.2.1 busy")
	m.wantSequence(campaign, ids[0], "active failed waiting")
	m.is("late", 0, "sent", "")
	m.is("content", 0, "sent", "")
	m.wantSequence(campaign, ids[1], "completed sent sent")
	m.server.Reply(nil)
	m.after(24 * time.Hour)
	m.arrived("late Hello late", "content Hello content", "never Hello never", "late Re: Hello late", "content Re: Hello content")
	if len(m.suppressed()) > 0 {
		t.Errorf("suppressions = %q", m.suppressed())
	}
	m.checkConsistency()
}

// TestMailRetryRestart checks that a retry happens on time and with the same content after a
// restart.
func TestMailRetryRestart(t *testing.T) {
	m := newMailer(t)
	ids := apptest.ContactsOf(m.Org, "bob")
	m.server.Reply(func(stage, _ string) string {
		if stage == "RCPT" {
			return "450 4.2.1 busy"
		}
		return ""
	})
	campaign := m.sends(apptest.OneMail, "", ids...)
	m.run()
	was := m.message("bob", 0)
	m.server.Reply(nil)
	m.app.Restart()
	m.run()
	m.arrived()
	m.after(5 * time.Minute)
	m.arrived("bob Hello bob")
	m.wantSequence(campaign, ids[0], "completed sent")
	if now := m.message("bob", 0); now.ID != was.ID || now.Headers["Message-ID"] != was.Headers["Message-ID"] || m.server.Mails()[0].Header.Get("Message-ID") != was.Headers["Message-ID"] {
		t.Errorf("the message changed between attempts: before %+v, after %+v", was, now)
	}
	m.app.Restart()
	m.after(48 * time.Hour)
	m.arrived("bob Hello bob")
}

// TestMailStops checks that the engine stops at once while the mail server does not answer before the content of a
// message, which is sent after the restart, and that it waits for the answer to the content.
func TestMailStops(t *testing.T) {
	for stage, want := range map[string]int{"greeting": 0, "EHLO": 0, "RCPT": 0, "DATA": 0, apptest.MailContent: 1} {
		t.Run(stage, func(t *testing.T) {
			m := newMailer(t, func(cfg *service.Config) { cfg.Limits.ShutdownTime = 24 * time.Hour })
			gate, at := m.gate(stage)
			bob := apptest.ContactsOf(m.Org, "bob")[0]
			campaign := m.sends(apptest.OneMail, "", bob)
			ctx, stop := context.WithCancel(t.Context())
			m.app.Worker.Once(ctx)
			apptest.Receive(t, at, "a message")
			stop()
			if want == 1 {
				gate <- ""
			}
			m.app.Sequences.Wait()
			m.server.Reply(nil)
			m.app.Restart()
			if n := len(m.server.Mails()); n != want {
				t.Errorf("%d messages arrived before the restart, want %d", n, want)
			}
			m.after(time.Minute)
			m.arrived("bob Hello bob")
			m.wantSequence(campaign, bob, "completed sent")
			m.checkConsistency()
		})
	}
}

// TestMailRetryWindow checks that a message is retried only while the sending window is open.
func TestMailRetryWindow(t *testing.T) {
	m := newMailer(t)
	m.Admin.Patch("/v1/organization", `{"sending_window": {"from_hour": 9, "to_hour": 10}}`).Is(200)
	ids := apptest.ContactsOf(m.Org, "bob")
	m.server.Reply(func(stage, to string) string {
		if stage == "RCPT" && m.server.Reached(stage, to) < 4 {
			return "450 4.2.1 busy"
		}
		return ""
	})
	campaign := m.sends(apptest.OneMail, "", ids...)
	m.run()
	m.after(5 * time.Minute)
	m.after(15 * time.Minute) // it is 9:20, and the next attempt would be at 10:20
	m.after(time.Hour)
	m.after(22*time.Hour + 39*time.Minute)
	m.arrived()
	m.wantSequence(campaign, ids[0], "active waiting")
	m.after(time.Minute)
	m.arrived("bob Hello bob")
	m.wantSequence(campaign, ids[0], "completed sent")
}

// TestMailBounceStopsAll checks that all sequences of a contact stop when the mailbox does not
// exist, including steps that would follow immediately.
func TestMailBounceStopsAll(t *testing.T) {
	m := newMailer(t)
	m.server.Reply(func(stage, to string) string {
		if stage == "RCPT" && to == "bob@initech.example" {
			return "550 5.1.1 no such user"
		}
		return ""
	})
	bob := apptest.ContactsOf(m.Org, "bob")[0]
	later := m.sends(`"steps": [{"index": 0, "day": 1, "type": "auto_email", "subject": "Other", "message": "Hi"}]`, "", bob)
	m.run()
	first := m.sends(`"steps": [{"index": 0, "type": "auto_email", "subject": "Hello", "message": "Hi"}, {"index": 1, "type": "call"}, {"index": 2, "type": "auto_email", "message": "Hi"}],
		"transitions": [{"from_step_index": 0, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_COMPLETES"},
			{"from_step_index": 0, "to_step_index": 2, "transition_type": "PREVIOUS_STEP_COMPLETES"}]`, "", bob)
	m.run()
	m.after(48 * time.Hour)
	m.arrived()
	m.wantSequence(later, bob, "stopped:suppressed skipped")
	if c := m.listedSequence(first, bob); c.Status != "stopped" || c.Reason != "suppressed" || c.History[0].Status != "failed" {
		t.Errorf("the sequence is %+v", c)
	}
	if n := m.server.Reached("RCPT", "bob@initech.example"); n != 1 {
		t.Errorf("unexpected number of attempts to address bob: %d", n)
	}
	for _, status := range m.Read.Post("/v1/tasks/list", `{}`).Is(200).Column("status") {
		if status != "cancelled" {
			t.Errorf("unexpected Task status %s", status)
		}
	}
	if n := m.Read.Get(first + "/stats").Is(200).Int("data.tasks_open"); n != 0 {
		t.Errorf("%d Tasks are still open", n)
	}
	m.checkConsistency()
}
