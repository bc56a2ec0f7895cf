package sequence_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/service"
)

func (m *mailer) merge(into, from, more string) *apptest.Response {
	m.t.Helper()
	return m.Write.Post("/v1/contacts/"+into+"/merge", fmt.Sprintf(`{"ids": [%q]%s}`, from, more))
}

// received returns how many messages the server has accepted for some names.
func (m *mailer) received(names ...string) (n int) {
	for _, mail := range m.server.Mails() {
		if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(mail.To[0], name+"@") }) {
			n++
		}
	}
	return n
}

// TestMergeInFlight merges two contacts of a campaign while the message to one is being sent. The person gets it once.
func TestMergeInFlight(t *testing.T) {
	m := newMailer(t, func(cfg *service.Config) { cfg.Mail.MinGap = 10 * time.Minute })
	gate, at := m.gate("DATA")
	ids := map[string]string{}
	for _, name := range []string{"ann", "bob"} {
		ids[name+"@initech.example"] = apptest.ContactsOf(m.Org, name)[0]
	}
	m.sends(twoMails, "", ids["ann@initech.example"], ids["bob@initech.example"])
	m.app.Work()
	first := apptest.Receive(t, at, "a message")
	into := ids["ann@initech.example"]
	if into == ids[first] {
		into = ids["bob@initech.example"]
	}
	m.merge(into, ids[first], fmt.Sprintf(`, "fields": {"email": %q}`, ids[first])).Is(200)
	gate <- "354 go ahead"
	m.run()
	m.server.Reply(nil)
	m.after(24 * time.Hour)
	if n := m.received("ann", "bob"); n != 2 {
		t.Errorf("the person got %d messages of a sequence of two", n)
	}
	m.checkConsistency()
}

// TestMergeBothInFlight refuses to merge contacts who both get a message at this moment.
func TestMergeBothInFlight(t *testing.T) {
	m := newMailer(t)
	gate, at := m.gate("DATA")
	ids := apptest.ContactsOf(m.Org, "ann", "bob")
	m.sends(apptest.OneMail, "", ids...)
	m.app.Work()
	for range ids {
		apptest.Receive(t, at, "a message")
	}
	m.merge(ids[0], ids[1], "").Fails(503, "unavailable", "is being sent: try again in a moment")
	gate <- "354 go ahead"
	gate <- "354 go ahead"
	m.run()
	m.merge(ids[0], ids[1], "").Is(200)
}

// TestRemerge merges two contacts, undoes that, changes one of them, and undoes the undo. The person is treated like one who
// was merged only then.
func TestRemerge(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(m *mailer, campaign, ann, bob string)
		sequence string // of bob, if there is one
		received int
	}{
		"nothing": {func(*mailer, string, string, string) {}, "completed sent sent", 3},
		"opted out": {func(m *mailer, _, ann, _ string) {
			m.Write.Patch("/v1/contacts/"+ann, `{"do_not_contact": true}`).Is(200)
		}, "stopped:opted_out sent skipped", 2},
		"replied": {func(m *mailer, _, ann, _ string) {
			m.Write.Post("/v1/contacts/"+ann+"/replied", nil).Is(200)
		}, "stopped:replied sent skipped", 2},
		"further": {func(m *mailer, campaign, ann, bob string) { // ann gets the second message, and bob later
			until := m.app.Clock.Now().Add(72 * time.Hour).Format(time.RFC3339)
			m.Write.Post("/v1/sequences/"+m.listedSequence(campaign, bob).ID+"/postpone", map[string]string{"until": until}).Is(200)
			m.Write.Post("/v1/sequences/"+m.listedSequence(campaign, ann).ID+"/restart", `{"from": "next"}`).Is(200)
			m.after(2 * time.Hour)
		}, "", 3},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMailer(t)
			ids := apptest.ContactsOf(m.Org, "ann", "bob")
			ann, bob := ids[0], ids[1]
			campaign := m.sends(twoMails, "", ids...)
			m.run() // both get the first message
			merge := m.merge(bob, ann, "").Is(200).Text("meta.operation_id")
			m.run()
			back := apptest.Undo(t, m.app, m.Org, merge, apptest.Undone(2))
			c.change(m, campaign, ann, bob)
			m.run()
			m.Write.Post("/v1/operations/"+back+"/undo", nil).Is(202)
			m.run()
			m.after(7 * 24 * time.Hour)
			m.Read.Get("/v1/contacts/"+ann).Fails(404, "not_found", "merged into")
			if c.sequence != "" {
				m.wantSequence(campaign, bob, c.sequence)
			}
			if n := m.received("ann", "bob"); n != c.received {
				t.Errorf("the person got %d messages, want %d", n, c.received)
			}
			if name == "opted out" {
				m.Read.Get("/v1/contacts/"+bob).Has(200, `{"data": {"do_not_contact": true}}`)
			}
			m.checkConsistency()
		})
	}
}

// TestRepliedAfterTheEnd: somebody whose sequence has ended replies. Nothing is sent again with what others get again.
func TestRepliedAfterTheEnd(t *testing.T) {
	m := newMailer(t, oneByOne)
	m.dropping(anyone)
	ids := m.people("ann@a.example", "bob@b.example", "cat@c.example", "dan@a.example", "eve@b.example")
	campaign := m.sends(apptest.OneMail, "", ids...)
	m.run()
	m.minutes(10)
	m.held(campaign, "active", "delivery_unknown", "")
	m.server.Reply(nil)
	m.Write.Post("/v1/contacts/"+ids[0]+"/replied", nil).Is(200)
	res := m.Write.Post(campaign+"/release", `{"unknown": "retry", "overdue": "send"}`).Is(200)
	if n := res.Int("data.may_duplicate"); n != 4 {
		t.Errorf("%d messages may be sent twice, want 4: %s", n, res.Body)
	}
	m.minutes(60)
	m.wantSequence(campaign, ids[0], "completed unknown")
	m.wantSequence(campaign, ids[1], "completed sent")
	if got := m.Write.Post(campaign+"/retry", `{"status": ["unknown"]}`).Is(200).Int("data.queued"); got != 0 {
		t.Errorf("%d messages to somebody who has replied are tried again", got)
	}

	// Somebody who was stopped and then replied is not restarted with others, but alone.
	stopped := m.sends(twoMails, "", ids[1:3]...)
	m.run()
	m.minutes(5)
	for _, id := range ids[1:3] {
		m.Write.Post("/v1/sequences/"+m.listedSequence(stopped, id).ID+"/stop", `{"reason": "manual"}`).Is(200)
	}
	m.Write.Post("/v1/contacts/"+ids[1]+"/replied", nil).Is(200)
	m.Write.Post(stopped+"/restart", `{"reasons": ["manual"]}`).Has(200, `{"data": {"restarted": 1, "kept": {"replied": 1}}}`)
	m.Write.Post("/v1/sequences/"+m.listedSequence(stopped, ids[1]).ID+"/restart", `{"from": "next"}`).Is(200)
}

// TestRetrySuperseded merges somebody with an unknown message into somebody who got it. It is not tried again.
func TestRetrySuperseded(t *testing.T) {
	m := newMailer(t)
	m.dropping(func(to string) bool { return strings.HasPrefix(to, "ann@") })
	ids := apptest.ContactsOf(m.Org, "ann", "bob")
	campaign := m.sends(apptest.OneMail, "", ids...)
	m.run()
	m.is("ann", 0, "unknown", "no answer")
	m.server.Reply(nil)
	m.merge(ids[1], ids[0], "").Is(200)
	m.Write.Patch("/v1/contacts/"+ids[1], `{"email": "carl@initech.example"}`).Is(200)
	m.Write.Post(campaign+"/retry", `{"status": ["unknown"]}`).Is(200)
	m.after(24 * time.Hour)
	if n := m.received("carl"); n != 0 {
		t.Error("the person got the message a second time")
	}
}

// TestMergeKeepsConfirmation checks that a merge starts nobody who awaits confirmation, or who was not in the campaign.
func TestMergeKeepsConfirmation(t *testing.T) {
	l := withLeads(t, 10, "")
	mute := l.Write.Post("/v1/contacts", `{"first_name": "Mu", "last_name": "Te", "title": "Lead"}`).Is(201).ID()
	l.run()
	l.counts(10, 0, "no_address 1")
	waiting := l.add(60, "Lead")
	l.run()
	l.counts(10, 60, "no_address 1")
	l.merge(mute, waiting[0], "").Is(200)
	l.run()
	l.counts(10, 60, "")

	outsider := l.add(1, "Clerk")[0]
	another := l.Write.Post("/v1/contacts", `{"first_name": "Al", "last_name": "So", "title": "Lead"}`).Is(201).ID()
	l.run()
	l.counts(10, 60, "no_address 1")
	l.merge(outsider, another, fmt.Sprintf(`, "fields": {"title": %q}`, another)).Is(200)
	l.run()
	l.counts(10, 61, "")
}
