package sequence_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// dropping makes the mail server close the connection after the content of messages to these addresses.
func (m *mailer) dropping(drops func(to string) bool) {
	m.server.Reply(func(stage, to string) string {
		if stage == apptest.MailContent && drops(to) {
			return apptest.MailDrop
		}
		return ""
	})
}

func anyone(string) bool { return true }

// spread returns n addresses over this many domains.
func spread(n, domains int) (addresses []string) {
	for i := range n {
		addresses = append(addresses, fmt.Sprintf("p%d@d%d.example", i, i%domains))
	}
	return addresses
}

// TestDeliveryUnknown checks that a mail server that closes the connection after the content does not
// burn the list: the campaign is held, which the mail status and the log say, and nobody gets a reply
// to an email that never arrived.
func TestDeliveryUnknown(t *testing.T) {
	const n = 200
	m := newMailer(t)
	m.dropping(anyone)
	campaign := m.sends(twoMails, "", m.people(spread(n, 10)...)...)
	m.run()
	m.after(24 * time.Hour)
	m.held(campaign, "active", "delivery_unknown", "the server closed the connection")
	unknown := 0
	for _, p := range m.outbox() {
		if p.Status == "unknown" {
			unknown++
		}
	}
	if unknown < 5 || unknown > 5+2*mailLines {
		t.Errorf("%d messages are unknown", unknown)
	}
	status := m.Admin.Get("/v1/mail/status").Is(200)
	if status.Text("data.status") != "delivery_unknown" || status.Int("data.held_campaigns") != 1 {
		t.Errorf("the mail status is %s", status.Body)
	}
	if log := m.app.Log.String(); !strings.Contains(log, "the mail server does not confirm messages, campaign held") || !strings.Contains(log, apptest.IDIn(campaign)) {
		t.Errorf("the log says %s", log)
	}
	m.lacks(campaign, `{"overdue": "send"}`, "unknown")
	m.lacks(campaign, `{}`, "unknown", "overdue")
	m.server.Reply(nil)
	res := m.releases(campaign, `{"overdue": "send", "unknown": "keep"}`, [3]int{n, 0, 0})
	if got := res.Int("data.may_duplicate"); got != 0 {
		t.Errorf("%d may be delivered twice", got)
	}
	m.run()
	m.ready("")
	m.after(24 * time.Hour)
	m.statuses(map[string]int{"unknown": unknown, "sent": 2*n - unknown})
	perhaps := map[string]string{} // the unknown messages, by recipient
	for _, p := range m.outbox() {
		switch {
		case p.Status == "unknown":
			perhaps[p.To] = p.Headers["Message-ID"]
		case p.Step == 1 && perhaps[p.To] != "" && (strings.HasPrefix(p.Subject, "Re:") || p.Headers["References"] != ""):
			t.Errorf("%s got the reply %q to a message that is unknown", p.To, p.Subject)
		}
	}
	m.counted(campaign)
	m.checkConsistency()
}

// TestDeliveryUnknownRow checks when unknown messages hold a campaign: the letters are the domains of
// unknown messages, + is an accepted and ! a refused one, ? one that the server defers, and ~ one that
// a crash of the service leaves unknown.
func TestDeliveryUnknownRow(t *testing.T) {
	times := func(n int, row string) string { return strings.Repeat(row+" ", n) }
	for _, c := range []struct {
		name, row string
		held      bool
	}{
		{"five over three domains", "a b c a b", true},
		{"four", "a b c d", false},
		{"five over two domains", "a b a b a", false},
		{"the sixth brings the third domain", "a b a b a c", true},
		{"an accepted one between", "a b + c a b", false},
		{"a refused one between", "a b ! c a b", false},
		{"a deferred one between", "a b ? c a b", true},
		{"nine of one domain", times(9, "a"), false},
		{"ten of one domain", times(10, "a"), true},
		{"ten of fifty", times(9, "a + + + +") + "a", true},
		{"ten of fifty-one", "a " + times(8, "a + + + +") + times(9, "+") + "a", false},
		{"a crash", "a b ~ c a", false},
		{"five beside a crash", "a b ~ c a b", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMailer(t, oneByOne)
			var addresses []string
			for i, domain := range strings.Fields(c.row) {
				addresses = append(addresses, fmt.Sprintf("p%d@%s.example", i, strings.NewReplacer("+", "fine", "!", "refused", "?", "later", "~", "crash").Replace(domain)))
			}
			at := make(chan string, 1)
			gate := make(chan struct{})
			m.server.Reply(func(stage, to string) string {
				switch domain := to[strings.IndexByte(to, '@')+1:]; {
				case stage != apptest.MailContent || domain == "fine.example":
					return ""
				case domain == "refused.example":
					return "554 5.7.1 no"
				case domain == "later.example":
					return "451 4.3.0 later"
				case domain == "crash.example":
					at <- to
					<-gate
				}
				return apptest.MailDrop
			})
			campaign := m.sends(apptest.OneMail, "", m.people(addresses...)...)
			for _, to := range addresses {
				if strings.HasSuffix(to, "@crash.example") {
					ctx, stop := context.WithCancel(t.Context())
					m.app.Worker.Once(ctx)
					apptest.Receive(t, at, "a message")
					stop()
					m.app.Crash()
					close(gate)
					m.app.Start()
					m.app.Clock.Advance(time.Minute)
					continue
				}
				m.run()
				m.app.Clock.Advance(time.Minute)
			}
			reason := ""
			if c.held {
				reason = "delivery_unknown"
			}
			m.held(campaign, "active", reason, "")
			m.checkConsistency()
		})
	}
}

// unconfirmed is a campaign of six contacts that is held because the first emails to five of them are
// unknown. The last email is overdue.
func unconfirmed(t *testing.T) (m *mailer, campaign string, ids []string) {
	t.Helper()
	m = newMailer(t, oneByOne)
	m.dropping(anyone)
	ids = m.people("ann@a.example", "bob@b.example", "cat@c.example", "dan@a.example", "eve@b.example", "fay@c.example")
	campaign = m.sends(twoMails, "", ids...)
	m.run()
	m.minutes(10)
	m.held(campaign, "active", "delivery_unknown", "")
	m.statuses(map[string]int{"unknown": 5})
	m.server.Reply(nil)
	return m, campaign, ids
}

// TestReleaseUnknown checks what a release does about messages that the mail server did not confirm, also
// if the service crashes before the release is applied.
func TestReleaseUnknown(t *testing.T) {
	for _, c := range []struct {
		unknown, overdue string
		counts           [3]int
		mayDuplicate     int
		ann, fay         string
		subjects         []string // of all messages to ann
		second           time.Duration
	}{
		{"sent", "send", [3]int{1, 0, 0}, 0, "completed sent sent", "completed sent sent", []string{"Hello ann", "Re: Hello ann"}, time.Hour},
		{"keep", "send", [3]int{1, 0, 0}, 0, "completed unknown sent", "completed sent sent", []string{"Hello ann", "Hello ann"}, time.Hour},
		{"keep", "skip", [3]int{0, 1, 0}, 0, "completed unknown sent", "completed skipped sent", []string{"Hello ann", "Hello ann"}, time.Hour},
		{"retry", "send", [3]int{1, 0, 0}, 5, "completed sent sent", "completed sent sent", []string{"Hello ann", "Hello ann", "Re: Hello ann"}, 0},
		{"retry", "skip", [3]int{0, 1, 0}, 5, "completed sent sent", "completed skipped sent", []string{"Hello ann", "Hello ann", "Re: Hello ann"}, 0},
	} {
		for _, crash := range []bool{false, true} {
			t.Run(fmt.Sprint(c.unknown, " ", c.overdue, " ", crash), func(t *testing.T) {
				t.Parallel()
				m, campaign, ids := unconfirmed(t)
				body := fmt.Sprintf(`{"unknown": %q, "overdue": %q}`, c.unknown, c.overdue)
				before := m.Dump()
				m.releases(campaign, strings.Replace(body, "{", `{"dry_run": true, `, 1), c.counts)
				if m.Dump() != before {
					t.Error("a trial has changed something")
				}
				if got := m.releases(campaign, body, c.counts).Int("data.may_duplicate"); got != c.mayDuplicate {
					t.Errorf("%d may be delivered twice, want %d", got, c.mayDuplicate)
				}
				if crash {
					m.app.Crash()
					m.app.Start()
				}
				m.run()
				m.ready("")
				m.minutes(40)
				if n := len(m.to("ann@a.example")); c.second == time.Hour && n != 1 { // an unknown message counts for the distance
					t.Errorf("ann has %d messages before the hour is over", n)
				}
				m.minutes(40)
				m.after(2 * time.Hour)
				m.wantSequence(campaign, ids[0], c.ann)
				m.wantSequence(campaign, ids[5], c.fay)
				var subjects []string
				for _, p := range m.to("ann@a.example") {
					subjects = append(subjects, p.Subject)
					if isReply := strings.HasPrefix(p.Subject, "Re:"); isReply != (p.Headers["References"] != "") {
						t.Errorf("%q has the references %q", p.Subject, p.Headers["References"])
					}
				}
				if !slices.Equal(subjects, c.subjects) {
					t.Errorf("ann got %q, want %q", subjects, c.subjects)
				}
				m.held(campaign, "active", "", "")
				if c.unknown != "retry" { // else steps count once, and messages twice
					m.counted(campaign)
				}
				m.checkConsistency()
			})
		}
	}
}

// to returns the messages to an address, the first first.
func (m *mailer) to(address string) []posted {
	m.t.Helper()
	return slices.DeleteFunc(m.outbox(), func(p posted) bool { return p.To != address })
}

// TestReleaseUnknownOnce checks that a release decides only about messages that no release has decided
// about, leaves alone who must not be written to, and that another row holds the campaign again.
func TestReleaseUnknownOnce(t *testing.T) {
	m, campaign, ids := unconfirmed(t)
	m.Write.Post(campaign+"/release", `{"unknown": "perhaps"}`).Fails(422, "validation_failed", `"perhaps" is not one of: sent, retry, keep`)
	m.releases(campaign, `{"unknown": "keep", "overdue": "send"}`, [3]int{1, 0, 0})
	m.run()
	m.is2("fay@c.example", "sent")
	m.dropping(anyone)
	m.after(2 * time.Hour) // the second emails
	m.minutes(10)
	m.held(campaign, "active", "delivery_unknown", "")
	m.Write.Patch("/v1/contacts/"+ids[1], `{"do_not_contact": true}`).Is(200)
	m.server.Reply(nil)
	m.app.Restart()
	res := m.releases(campaign, `{"unknown": "retry", "overdue": "send", "dry_run": true}`, [3]int{1, 0, 0})
	if got := res.Int("data.may_duplicate"); got != 4 { // neither bob's nor the five of the first row
		t.Errorf("%d may be delivered twice, want 4", got)
	}
	m.releases(campaign, `{"unknown": "retry", "overdue": "send"}`, [3]int{1, 0, 0})
	m.minutes(10)
	m.after(24 * time.Hour)
	m.statuses(map[string]int{"unknown": 10, "sent": 1 + 4 + 1})
	m.held(campaign, "active", "", "")
	m.checkConsistency()
}

// is2 requires the status of the only message to an address.
func (m *mailer) is2(address, status string) {
	m.t.Helper()
	if all := m.to(address); len(all) != 1 || all[0].Status != status {
		m.t.Errorf("the messages to %s are %+v, want one that is %s", address, all, status)
	}
}

// TestSimulateUnknown checks that a simulation starts a new thread behind a message that is unknown.
func TestSimulateUnknown(t *testing.T) {
	m, campaign, ids := unconfirmed(t)
	res := m.Read.Post(campaign+"/simulate", map[string]any{"contact_ids": ids[:1]}).Is(200)
	if got := res.Text("data.0.steps.1.subject"); got != "Hello ann" {
		t.Errorf("the simulation replies with %q", got)
	}
}
