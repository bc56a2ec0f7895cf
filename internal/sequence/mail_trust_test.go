package sequence_test

import (
	"fmt"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// TestSenderStaysPaused checks that nothing is tried for a refused sender until a campaign of the
// sender is released, also not for campaigns that become active or change their owner meanwhile.
func TestSenderStaysPaused(t *testing.T) {
	const answer = "550 5.7.1 not from you"
	m := newMailer(t, oneByOne)
	m.server.Reply(apptest.Answering("RCPT", answer))
	owner := m.Read.Get("/v1/me").Is(200).Text("data.user_id")
	zoe := m.Admin.Post("/v1/users", `{"email": "zoe@acme.example"}`).Is(201).ID()
	refused := m.sends(apptest.OneMail, "", m.people("a@a.example", "b@b.example", "c@c.example", "d@d.example", "e@e.example")...)
	later := m.sends(`"steps": [{"index": 0, "day": 3, "hour": 9, "type": "auto_email", "subject": "Later", "message": "Hi"}]`, fmt.Sprintf(`, "owner_id": %q`, zoe), apptest.ContactsOf(m.Org, "zed")...)
	m.run()
	m.minutes(5)
	m.held(refused, "active", "sender_refused", answer)
	created := m.sends(apptest.OneMail, "", apptest.ContactsOf(m.Org, "new")...)
	m.Write.Patch(later, fmt.Sprintf(`{"owner_id": %q}`, owner)).Is(200)
	m.minutes(2)
	m.held(created, "active", "sender_refused", answer)
	m.held(later, "active", "sender_refused", answer)
	if n := m.server.Reached("RCPT", "new@initech.example"); n != 0 {
		t.Errorf("%d attempts for a refused sender", n)
	}
	m.server.Reply(nil)
	m.app.Restart()
	m.releases(created, `{"overdue": "send"}`, [3]int{1, 0, 0})
	m.minutes(2)
	m.is("new", 0, "sent", "")
	m.held(refused, "active", "sender_refused", answer)
	m.releases(refused, `{"overdue": "send"}`, [3]int{5, 0, 0})
	m.minutes(6)
	m.statuses(map[string]int{"sent": 6})
	m.checkConsistency()
}

// TestAnswerQuotesLink checks that an answer of the mail server that quotes the unsubscribe link does
// not reveal it.
func TestAnswerQuotesLink(t *testing.T) {
	m := newMailer(t)
	m.server.Reply(apptest.Answering(apptest.MailContent, "554 5.6.0 blocked URL "+apptest.MailLink))
	bob := apptest.ContactsOf(m.Org, "bob")[0]
	campaign := m.sends(apptest.OneMail, "", bob)
	m.run()
	m.is("bob", 0, "failed", "blocked URL <http")
	m.is("bob", 0, "failed", "/u/[hidden]>")
	m.wantSequence(campaign, bob, "completed failed")
}

// TestAddressChangedBeforeRetry checks that a message which waits to be sent again does not go to an
// address that the contact no longer has.
func TestAddressChangedBeforeRetry(t *testing.T) {
	m := newMailer(t)
	ids := apptest.ContactsOf(m.Org, "bob", "eve")
	m.server.Reply(apptest.Answering("RCPT", "450 4.2.1 busy"))
	campaign := m.sends(apptest.OneMail, "", ids...)
	m.run()
	m.Write.Patch("/v1/contacts/"+ids[0], `{"email": "robert@initech.example"}`).Is(200)
	m.Write.Patch("/v1/contacts/"+ids[1], `{"email": null}`).Is(200)
	m.server.Reply(nil)
	m.after(24 * time.Hour)
	m.wantSequence(campaign, ids[0], "completed sent")
	m.wantSequence(campaign, ids[1], "completed skipped")
	if n := m.server.Reached(apptest.MailContent, "bob@initech.example") + m.server.Reached(apptest.MailContent, "eve@initech.example"); n != 0 {
		t.Errorf("%d messages went to a former address", n)
	}
	m.arrived("robert Hello bob")
	m.checkConsistency()
}

// TestAddressChangedInFlight checks that the message to the new address is sent once, also if the sequences
// are advanced while the server has not answered yet.
func TestAddressChangedInFlight(t *testing.T) {
	m := newMailer(t)
	ids := apptest.ContactsOf(m.Org, "bob")
	m.server.Reply(apptest.Answering("RCPT", "450 4.2.1 busy"))
	campaign := m.sends(apptest.OneMail, "", ids...)
	m.run()
	m.Write.Patch("/v1/contacts/"+ids[0], `{"email": "robert@initech.example"}`).Is(200)
	gate, at := m.holdMessages()
	m.app.Clock.Advance(time.Hour)
	m.app.Work()
	apptest.Receive(t, at, "a message")
	m.sends(apptest.OneMail, "", apptest.ContactsOf(m.Org, "eve")...) // advances the sequences
	m.app.Clock.Advance(time.Hour)
	m.app.Work()
	apptest.Receive(t, at, "another message")
	close(gate)
	m.run()
	m.wantSequence(campaign, ids[0], "completed sent")
	m.arrived("robert Hello bob", "eve Hello eve")
	m.checkConsistency()
}

// TestGapAfterOutage checks that the messages of a sender keep their gap when the mail server works
// again, and that those which could not be sent do not count against the cap.
func TestGapAfterOutage(t *testing.T) {
	m := newMailer(t, limits(4, time.Minute))
	m.server.Reply(apptest.Answering("MAIL", "421 4.3.2 closing"))
	campaign := m.sends(apptest.OneMail, "", apptest.ContactsOf(m.Org, "a", "b", "c", "d")...)
	m.run()
	m.minutes(3)
	m.server.Reply(nil)
	for arrived := 0; arrived < 4; {
		m.after(time.Minute)
		n := len(m.server.Mails())
		if n > arrived+1 {
			t.Fatalf("%d messages arrived within a minute", n-arrived)
		}
		if arrived = n; m.app.Clock.Now().After(apptest.Start.Add(24 * time.Hour)) {
			t.Fatal("not all messages arrived on that day")
		}
	}
	m.statuses(map[string]int{"sent": 4})
	m.counted(campaign)
}

// TestRepliedSharedAddress checks that a reply stops the sequences to the address, whichever contact
// it was recorded on.
func TestRepliedSharedAddress(t *testing.T) {
	p := newEngineFixture(t)
	ids := p.contacts(1)
	steps := []simStep{simMail(0, 0, 9), simMail(1, 1, 9)}
	campaign := p.campaign(ids, nil, steps)
	p.to("03-02 10:00")
	other := p.Write.Post("/v1/contacts", `{"email": "C0@X.example", "first_name": "Twin"}`).Is(201).ID()
	p.Write.Post("/v1/contacts/"+other+"/replied", nil).Is(200, `{"data": {"stopped": 1}, "meta": {"timestamp": "<time>"}}`)
	p.is(campaign, ids[0], "stopped replied", "0 captured 03-02 09:00", "1 skipped 03-03 09:00 at 03-02 10:00")
}

// TestBlankName checks that a name of spaces counts as missing, and that spaces around one are not sent.
func TestBlankName(t *testing.T) {
	m := newMailer(t)
	blank := m.Write.Post("/v1/contacts", `{"email": "blank@initech.example", "first_name": "   "}`).Is(201).ID()
	eve := m.Write.Post("/v1/contacts", `{"email": "eve@initech.example", "first_name": "Eve "}`).Is(201).ID()
	m.sends(`"steps": [{"index": 0, "type": "auto_email", "subject": "Hello {{recipient.first_name|there}}!", "message": "Hi"}]`, "", blank, eve)
	m.run()
	m.arrived("blank Hello there!", "eve Hello Eve!")
}

// TestInvisibleInAddress checks that an address with an invisible character before the @ is refused.
func TestInvisibleInAddress(t *testing.T) {
	org := apptest.New(t).Org("Acme")
	for _, email := range []string{"bo\u200bb@initech.example", "bob\u00ad@initech.example", "\ufeffbob@initech.example"} {
		t.Run(email, func(t *testing.T) {
			org.Write.Post("/v1/contacts", map[string]any{"email": email}).Fails(422, "validation_failed", "is not an email address")
			org.Admin.Post("/v1/suppressions", map[string]any{"email": email}).Fails(422, "validation_failed", "is not an email address")
		})
	}
}
