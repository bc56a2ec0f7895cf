package sequence_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// retries retries messages of a campaign and requires how many are queued and how many of them may
// arrive twice.
func (m *mailer) retries(campaign, body string, queued, mayDuplicate int) {
	m.t.Helper()
	res := m.Write.Post(campaign+"/retry", body).Is(200)
	if q, d := res.Int("data.queued"), res.Int("data.may_duplicate"); q != queued || d != mayDuplicate {
		m.t.Errorf("retry %s: %d queued and %d may arrive twice, want %d and %d", body, q, d, queued, mayDuplicate)
	}
}

// failing is a campaign of four contacts: bob's and eve's first emails have failed, cat's has
// arrived but is unknown, and dan's was sent.
func failing(t *testing.T) (m *mailer, campaign string, ids []string) {
	t.Helper()
	m = newMailer(t)
	m.server.Reply(func(stage, to string) string {
		switch name, _, _ := strings.Cut(to, "@"); {
		case stage == "RCPT" && (name == "bob" || name == "eve"):
			return "550 5.7.1 not now"
		case stage == apptest.MailContent && name == "cat":
			return apptest.MailDrop
		}
		return ""
	})
	ids = apptest.ContactsOf(m.Org, "bob", "eve", "cat", "dan")
	campaign = m.sends(twoMails, "", ids...)
	m.run()
	m.server.Reply(nil)
	m.wantSequence(campaign, ids[0], "active failed waiting")
	m.wantSequence(campaign, ids[2], "active unknown waiting")
	m.wantSequence(campaign, ids[3], "active sent waiting")
	return m, campaign, ids
}

// TestRetry checks which steps a retry selects, and that their messages are sent.
func TestRetry(t *testing.T) {
	for _, c := range []struct {
		name, body           string // %s is bob's sequence
		queued, mayDuplicate int
		arrived              []string
	}{
		{"failed", `{"status": ["failed"]}`, 2, 0, []string{"bob Hello bob", "eve Hello eve"}},
		{"unknown", `{"status": ["unknown"]}`, 1, 1, []string{"cat Hello cat"}},
		{"both", `{"status": ["failed", "unknown"]}`, 3, 1, []string{"bob Hello bob", "eve Hello eve", "cat Hello cat"}},
		{"one sequence", `{"status": ["failed", "unknown"], "sequence_ids": ["%s"]}`, 1, 0, []string{"bob Hello bob"}},
		{"the step", `{"status": ["failed"], "step_index": 0}`, 2, 0, []string{"bob Hello bob", "eve Hello eve"}},
		{"another step", `{"status": ["failed", "unknown"], "step_index": 1}`, 0, 0, nil},
		{"a foreign sequence", `{"status": ["failed"], "sequence_ids": ["019cadc6-9a80-7016-bed5-38064f22d782"]}`, 0, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, campaign, ids := failing(t)
			body := strings.ReplaceAll(c.body, "%s", m.listedSequence(campaign, ids[0]).ID)
			before := m.Dump()
			m.retries(campaign, strings.Replace(body, "{", `{"dry_run": true, `, 1), c.queued, c.mayDuplicate)
			if m.Dump() != before {
				t.Error("a trial has changed something")
			}
			m.retries(campaign, body, c.queued, c.mayDuplicate)
			m.run()
			m.arrived(append(c.arrived, "dan Hello dan", "cat Hello cat")...)
			m.retries(campaign, body, 0, 0)
			stats := m.Read.Get(campaign + "/stats").Is(200) // a step counts once
			if sent, failed := stats.Int("data.messages_sent"), stats.Int("data.messages_failed"); sent != 1+c.queued || failed != 3-c.queued {
				t.Errorf("the stats count %d sent and %d failed", sent, failed)
			}
			m.after(time.Hour)
			for _, id := range ids { // the second emails follow in any case
				s := m.listedSequence(campaign, id)
				if s.Status != "completed" || s.History[1].Status != "sent" {
					t.Errorf("%+v", s)
				}
			}
			m.checkConsistency()
		})
	}
}

// TestRetryCompleted checks that a retry continues a sequence that is completed, and keeps the order
// and the thread of its emails.
func TestRetryCompleted(t *testing.T) {
	m, campaign, ids := failing(t)
	m.after(time.Hour)
	m.wantSequence(campaign, ids[0], "completed failed sent")
	m.retries(campaign, `{"status": ["failed", "unknown"]}`, 3, 1)
	m.run()
	m.after(time.Hour)
	for _, id := range ids {
		m.wantSequence(campaign, id, "completed sent sent")
	}
	m.checkConsistency()
}

// TestRetryFailsAgain checks that a message that fails again can be tried again.
func TestRetryFailsAgain(t *testing.T) {
	m, campaign, ids := failing(t)
	m.server.Reply(apptest.Answering("RCPT", "550 5.7.1 not yet"))
	m.retries(campaign, `{"status": ["failed"]}`, 2, 0)
	m.run()
	m.wantSequence(campaign, ids[0], "active failed waiting")
	m.server.Reply(nil)
	m.retries(campaign, `{"status": ["failed"]}`, 2, 0)
	m.run()
	m.arrived("dan Hello dan", "cat Hello cat", "bob Hello bob", "eve Hello eve")
	m.checkConsistency()
}

// TestRetryNewAddress checks that a message that is tried again goes to the contact's new address, and
// that stopped sequences are left alone.
func TestRetryNewAddress(t *testing.T) {
	m, campaign, ids := failing(t)
	m.Write.Patch("/v1/contacts/"+ids[0], `{"email": "robert@initech.example"}`).Is(200)
	m.Write.Patch("/v1/contacts/"+ids[1], `{"do_not_contact": true}`).Is(200)
	m.run()
	m.wantSequence(campaign, ids[1], "stopped:opted_out failed skipped")
	m.retries(campaign, `{"status": ["failed"]}`, 1, 0)
	m.run()
	m.arrived("dan Hello dan", "cat Hello cat", "robert Hello bob")
	m.wantSequence(campaign, ids[1], "stopped:opted_out failed skipped")
	m.retries(campaign, fmt.Sprintf(`{"status": ["failed"], "sequence_ids": [%q]}`, m.listedSequence(campaign, ids[1]).ID), 0, 0)
	m.checkConsistency()
}

// TestRetryBounced checks that a bounced message can be tried again only after its contact can be
// written to again.
func TestRetryBounced(t *testing.T) {
	m := newMailer(t)
	ids := apptest.ContactsOf(m.Org, "bob")
	m.server.Reply(apptest.Answering("RCPT", "550 5.1.1 unknown"))
	campaign := m.sends(apptest.OneMail, "", ids...)
	m.run()
	m.server.Reply(nil)
	m.retries(campaign, `{"status": ["failed"]}`, 0, 0)
	m.run()
	m.wantSequence(campaign, ids[0], "completed failed")
	m.arrived()
	m.Admin.Delete("/v1/suppressions/" + m.Read.Post("/v1/suppressions/list", `{}`).Is(200).Column("id")[0]).Is(204)
	m.retries(campaign, `{"status": ["failed"]}`, 1, 0)
	m.run()
	m.arrived("bob Hello bob")
}

// TestRetryRefused checks the requests that a retry refuses.
func TestRetryRefused(t *testing.T) {
	m, campaign, ids := failing(t)
	m.Write.Post(campaign+"/retry", `{}`).Fails(422, "validation_failed", "status: required")
	m.Write.Post(campaign+"/retry", `{"status": []}`).Fails(422, "validation_failed", "status: ")
	m.Write.Post(campaign+"/retry", `{"status": ["sent"]}`).Fails(422, "validation_failed", `"sent" is not one of: failed, unknown`)
	m.Write.Post(campaign+"/retry", `{"status": ["failed"], "step_index": 0.5}`).Fails(422, "validation_failed", "step_index: ")
	m.Write.Post(campaign+"/retry", `{"status": ["failed"], "sequence_ids": []}`).Fails(422, "validation_failed", "sequence_ids: must not be empty")
	m.Read.Post(campaign+"/retry", `{"status": ["failed"]}`).Fails(403, "forbidden", "")
	m.app.Org("Umbrella").Write.Post(campaign+"/retry", `{"status": ["failed"]}`).Fails(404, "not_found", "")

	// What is tried again in a paused campaign waits until the campaign continues.
	m.Write.Patch(campaign, `{"status": "paused"}`).Is(200)
	m.retries(campaign, fmt.Sprintf(`{"status": ["failed"], "sequence_ids": [%q]}`, m.listedSequence(campaign, ids[0]).ID), 1, 0)
	m.run()
	m.arrived("dan Hello dan", "cat Hello cat")
	m.Write.Patch(campaign, `{"status": "active"}`).Is(200)
	m.run()
	m.arrived("dan Hello dan", "cat Hello cat", "bob Hello bob")

	for _, status := range []string{"completed", "archived"} {
		m.Write.Patch(campaign, fmt.Sprintf(`{"status": %q}`, status)).Is(200)
		m.Write.Post(campaign+"/retry", `{"status": ["failed"]}`).Fails(409, "invalid_transition", "the campaign is "+status)
	}
	m.run()
	m.arrived("dan Hello dan", "cat Hello cat", "bob Hello bob")
}

// TestRetryMany checks that very many messages are tried again in the background, and that a restart
// loses none.
func TestRetryMany(t *testing.T) {
	const n = 450
	m := newMailer(t)
	m.server.Reply(func(stage, to string) string {
		if stage == apptest.MailContent && !strings.HasPrefix(to, "p0@") {
			return "554 5.6.0 odd"
		}
		return ""
	})
	var addresses []string
	for i := range n {
		addresses = append(addresses, fmt.Sprintf("p%d@d%d.example", i, i%2)) // two domains pause no sender
	}
	campaign := m.sends(apptest.OneMail, "", m.people(addresses...)...)
	m.run()
	m.statuses(map[string]int{"failed": n - 1, "sent": 1})
	m.server.Reply(nil)
	m.retries(campaign, `{"status": ["failed"]}`, n-1, 0)
	m.app.Restart()
	m.run()
	m.statuses(map[string]int{"failed": n - 1, "sent": n})
	if got := len(m.server.Mails()); got != n {
		t.Errorf("%d messages arrived, want %d", got, n)
	}
	stats := m.Read.Get(campaign + "/stats").Is(200)
	if sent, failed := stats.Int("data.messages_sent"), stats.Int("data.messages_failed"); sent != n || failed != 0 {
		t.Errorf("the stats count %d sent and %d failed", sent, failed)
	}
	m.checkConsistency()
}

// TestRetryPostponed checks that an email which is tried again waits until the time to which its sequence is postponed.
func TestRetryPostponed(t *testing.T) {
	m := newMailer(t)
	bob := apptest.ContactsOf(m.Org, "bob")[0]
	m.server.Reply(apptest.Answering("RCPT", "550 5.7.1 not now"))
	campaign := m.sends(twoMails, "", bob)
	m.run()
	m.server.Reply(nil)
	until := m.app.Clock.Now().Add(50 * time.Hour)
	m.Write.Post("/v1/sequences/"+m.listedSequence(campaign, bob).ID+"/postpone", map[string]any{"until": until.Format(time.RFC3339)}).Is(200)
	m.retries(campaign, `{"status": ["failed"]}`, 1, 0)
	m.run()
	m.after(49 * time.Hour)
	m.arrived()
	m.after(24 * time.Hour)
	m.arrived("bob Hello bob")
	m.checkConsistency()
}

// TestChangedAddressQueued changes the address of a contact while the mail server decides about the old one. The message goes
// to the new address only.
func TestChangedAddressQueued(t *testing.T) {
	m := newMailer(t)
	bob := apptest.ContactsOf(m.Org, "bob")[0]
	gate, at := m.gate("RCPT")
	m.sends(twoMails, "", bob)
	m.app.Work()
	apptest.Receive(t, at, "a message")
	m.Write.Patch("/v1/contacts/"+bob, `{"email": "right@globex.example"}`).Is(200)
	m.server.Reply(nil)
	gate <- ""
	m.run()
	m.after(10 * time.Minute)
	m.arrived("right@globex.example Hello bob")
	m.checkConsistency()
}
