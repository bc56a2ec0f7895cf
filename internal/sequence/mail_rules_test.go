package sequence_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/service"
)

// draftTest sends the first email of a draft to its author.
const draftTest = `{` + draft + `, "step_index": 0}`

// TestTestMailsAreSuppressed checks that no test message goes to somebody who must not be written to.
func TestTestMailsAreSuppressed(t *testing.T) {
	m := newMailer(t)
	m.Admin.Post("/v1/suppressions", `{"email": "bill@initech.example"}`).Is(201)
	m.Admin.Post("/v1/suppressions", `{"domain": "globex.example"}`).Is(201)
	m.Write.Post("/v1/contacts", `{"email": "milton@initech.example", "do_not_contact": true}`).Is(201)
	for _, id := range m.Admin.Post("/v1/suppressions/list", `{"filters": [{"field": "reason", "condition": "is", "value": "opted_out"}]}`).Is(200).Column("id") {
		m.Admin.Delete("/v1/suppressions/" + id).Is(204)
	}
	for _, to := range []string{"bill@initech.example", "BILL@Initech.example", "hank@globex.example", "x@mail.globex.example", "Milton@initech.example"} {
		t.Run(to, func(t *testing.T) {
			m.Admin.In(t).Post("/v1/mail/test", map[string]string{"to": to}).Fails(409, "suppressed", to+" must not be written to")
		})
	}
	m.Write.Post("/v1/sequence-templates/test", draftTest).Is(200)
	m.Admin.Post("/v1/suppressions", `{"email": "ADA@acme.example"}`).Is(201)
	m.Write.Post("/v1/sequence-templates/test", draftTest).Fails(409, "suppressed", "ada@acme.example must not be written to")
	m.Admin.Post("/v1/mail/test", `{}`).Is(200) // nobody is written to
	if mails := m.server.Mails(); len(mails) != 1 {
		t.Errorf("the server accepted %+v", mails)
	}

	// The outbox transport sends nothing, and says the same.
	app := apptest.New(t)
	org := app.Org("Acme")
	org.Admin.Post("/v1/suppressions", `{"email": "bill@initech.example"}`).Is(201)
	org.Admin.Post("/v1/mail/test", `{"to": "bill@initech.example"}`).Fails(409, "suppressed", "")
}

// TestTestMailsCount checks that test messages count for the cap of their sender, and the emails of campaigns for
// theirs.
func TestTestMailsCount(t *testing.T) {
	m := newMailer(t, func(cfg *service.Config) { cfg.Mail.DailyCap, cfg.Mail.MinGap = 3, time.Minute })
	const to = `{"to": "peter@initech.example"}`
	m.Admin.Post("/v1/mail/test", to).Is(200)
	m.Write.Post("/v1/sequence-templates/test", draftTest).Is(200)
	m.sends(apptest.OneMail, "", apptest.ContactsOf(m.Org, "ann", "bob")...)
	m.run()
	m.after(time.Hour)
	if n := len(m.server.Mails()); n != 3 {
		t.Errorf("%d messages were sent on a day with a cap of 3", n)
	}
	m.Admin.Post("/v1/mail/test", to).Fails(409, "cap_reached", "daily cap of 3 is reached")
	m.Write.Post("/v1/sequence-templates/test", draftTest).Fails(409, "cap_reached", "daily cap of 3 is reached")
	m.app.Restart()
	m.Admin.Post("/v1/mail/test", to).Fails(409, "cap_reached", "")
	m.after(24 * time.Hour)
	m.Admin.Post("/v1/mail/test", to).Is(200)
	if n := len(m.server.Mails()); n != 5 {
		t.Errorf("%d messages were sent by the next day, want 5", n)
	}
}

// TestTestMailsOutsideSenderDomains checks that nobody sends a test message from an address that no campaign may send from.
func TestTestMailsOutsideSenderDomains(t *testing.T) {
	m := newMailer(t)
	eve := m.Write
	eve.Key = m.Admin.Post("/v1/api-keys", map[string]string{
		"name": "Eve", "user_id": m.Admin.Post("/v1/users", `{"email": "eve@elsewhere.example"}`).Is(201).ID(),
	}).Is(201).Text("data.key")
	eve.Post("/v1/sequence-templates/test", draftTest).Is(200)
	apptest.SetSenderDomains(t, m.app, m.Org, "acme.example")
	eve.Post("/v1/sequence-templates/test", draftTest).Fails(422, "validation_failed",
		`"eve@elsewhere.example" is outside the sender domains of the organization: acme.example`)
	m.Write.Post("/v1/sequence-templates/test", draftTest).Is(200)
	if mails := m.server.Mails(); len(mails) != 2 {
		t.Errorf("the server accepted %+v", mails)
	}
}

// TestTestMailsOfADay checks that an organization sends 50 test messages a day.
func TestTestMailsOfADay(t *testing.T) {
	m := newMailer(t, func(cfg *service.Config) { cfg.RateLimit.PerMinute = 0 })
	const to = `{"to": "peter@initech.example"}`
	for i := range 50 {
		if i%2 == 0 {
			m.Write.Post("/v1/sequence-templates/test", draftTest).Is(200)
		} else {
			m.Admin.Post("/v1/mail/test", to).Is(200)
		}
	}
	for range 2 {
		for _, res := range []*apptest.Response{m.Admin.Post("/v1/mail/test", to), m.Write.Post("/v1/sequence-templates/test", draftTest)} {
			res.Fails(429, "rate_limited", "50 test messages today")
			wait, err := strconv.Atoi(res.Header.Get("Retry-After"))
			if midnight := 15 * 60 * 60; err != nil || wait != midnight {
				t.Errorf("Retry-After is %q, want %d", res.Header.Get("Retry-After"), midnight)
			}
		}
	}
	m.Admin.Post("/v1/mail/test", `{}`).Is(200)
	other := m.app.Org("Umbrella")
	other.Admin.Post("/v1/mail/test", to).Is(200)
	m.app.Clock.Advance(15 * time.Hour)
	m.Admin.Post("/v1/mail/test", to).Is(200)
	if got, want := len(m.server.Mails()), 52; got != want {
		t.Errorf("the server accepted %d messages, want %d", got, want)
	}
}

// TestMailStatusHidesTheServer checks that the status of mail, which everyone who writes may read, has nothing about
// the mail server.
func TestMailStatusHidesTheServer(t *testing.T) {
	m := newMailer(t, func(cfg *service.Config) { cfg.Mail.SMTP.Username, cfg.Mail.SMTP.Password = "ada-at-relay", mailSecret })
	m.server.Login("ada-at-relay", "another")
	m.sends(apptest.OneMail, "", apptest.ContactsOf(m.Org, "ann")...)
	m.run()
	status := string(m.Write.Get("/v1/mail/status").Has(200, `{"data": {"status": "unavailable", "stage": "login"}}`).Body)
	for _, secret := range []string{"ada-at-relay", mailSecret, "127.0.0.1", "535", fmt.Sprint(m.app.Config.Mail.SMTP.Port)} {
		if strings.Contains(status, secret) {
			t.Errorf("the status shows %s: %s", secret, status)
		}
	}
	m.Read.Get("/v1/mail/status").Fails(403, "forbidden", "write")
}
