package sequence_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/address"
	"prospector/internal/apptest"
	"prospector/internal/service"
)

// contact creates a contact with an address, or without one if it is empty.
func (p *engineFixture) contact(email string) string {
	p.t.Helper()
	body := map[string]any{"first_name": "Lee", "last_name": "Park"}
	if email != "" {
		body["email"] = email
	}
	return p.Write.Post("/v1/contacts", body).Is(201).ID()
}

func (p *engineFixture) patchContact(id, body string) {
	p.t.Helper()
	p.Write.Patch("/v1/contacts/"+id, body).Is(200)
	p.app.Work()
}

// isDuplicate requires that the sequence of a contact is stopped because that of another one writes
// to the same address.
func (p *engineFixture) isDuplicate(campaign, contact, of string) {
	p.t.Helper()
	s := p.sequence(campaign, contact)
	if s == nil || s.Status != "stopped" || s.Reason == nil || *s.Reason != "duplicate_address" {
		p.t.Fatalf("the sequence is %+v, want a duplicate", s)
	}
	if used := p.sequence(campaign, of); s.DuplicateOf == nil || *s.DuplicateOf != used.ID {
		p.t.Errorf("the sequence is a duplicate of %v, want %s", s.DuplicateOf, used.ID)
	}
	if s.Started.IsZero() == (len(s.History) > 0) {
		p.t.Errorf("the sequence started at %s and has the history %+v", s.Started, s.History)
	}
}

// writesOnce requires that no address gets two messages of a step of a campaign.
func (p *engineFixture) writesOnce() {
	p.t.Helper()
	seen := map[string]bool{}
	for _, m := range p.outbox() {
		key := fmt.Sprintf("%s of step %d of %s", address.Key(m.To), m.Step, m.Campaign)
		if seen[key] {
			p.t.Errorf("%s gets two messages", key)
		}
		seen[key] = true
	}
}

// Contacts that share an address are one recipient, whatever their spellings and audiences.
func TestSharedAddress(t *testing.T) {
	p := newEngineFixture(t)
	ann, second, third, bo := p.contact("Ann@Bücher.example"), p.contact("ann@xn--bcher-kva.example"), p.contact("ANN@BÜCHER.EXAMPLE"), p.contact("bo@x.example")
	audiences := []string{simAudience(p.Org, ann, second, bo), simAudience(p.Org, third, bo)}
	campaign := p.campaign(nil, map[string]any{"audience_ids": audiences}, []simStep{simMail(0, 0, 9), simMail(1, 1, 9), simMail(2, 2, 9)})
	p.is(campaign, ann, "active", "0 captured 03-02 09:00", "1 waiting 03-03 09:00", "2 waiting 03-04 09:00")
	p.isDuplicate(campaign, second, ann)
	p.isDuplicate(campaign, third, ann)
	p.sentAll("Ann@Bücher.example 0 03-02 09:00", "bo@x.example 0 03-02 09:00")
	stats := p.Read.Get(campaign + "/stats").Is(200)
	if stats.Int("data.enrolled") != 4 || stats.Int("data.stopped_by_reason.duplicate_address") != 2 || stats.Int("data.active") != 2 {
		t.Errorf("the statistics are %s", stats.Body)
	}

	// Another campaign writes to the address itself.
	other := p.campaign([]string{third}, nil, []simStep{simMail(0, 0, 9)})
	p.is(other, third, "completed", "0 captured 03-02 09:00")

	// The others do not take over.
	p.Write.Post(campaign+"/sequences/"+p.sequence(campaign, ann).ID+"/stop", `{"reason": "manual"}`).Is(200)
	p.patchContact(second, `{"title": "CEO"}`)
	p.app.Restart()
	p.to("03-02 12:00")
	p.isDuplicate(campaign, second, ann)

	// An address that changes to one that is written to.
	p.patchContact(bo, `{"email": "aNN@bücher.example"}`)
	p.isDuplicate(campaign, bo, ann)
	p.to("03-10 09:00")
	p.sentAll("Ann@Bücher.example 0 03-02 09:00", "bo@x.example 0 03-02 09:00", "ANN@BÜCHER.EXAMPLE 0 03-02 09:00")
	p.writesOnce()
	p.agrees(campaign)
}

// An address that a sequence has written to stays its own after the contact has another one, and an
// address that it never wrote to does not.
func TestClaimedAddress(t *testing.T) {
	p := newEngineFixture(t)
	ann := p.contact("ann@x.example")
	campaign := p.campaign([]string{ann}, nil, []simStep{simMail(0, 0, 9), simMail(1, 1, 9)})
	p.patchContact(ann, `{"email": "ann@y.example"}`)
	late := p.contact("ANN@x.example")
	p.Write.Post(campaign+"/enroll", enrolling("Late", late)).Is(200)
	p.app.Work()
	p.isDuplicate(campaign, late, ann)
	p.patchContact(late, `{"email": "late@x.example"}`) // a stopped sequence does not start again
	p.isDuplicate(campaign, late, ann)
	p.patchContact(ann, `{"email": "ann@x.example"}`) // back to its own
	p.to("03-04 09:00")
	p.is(campaign, ann, "completed", "0 captured 03-02 09:00", "1 captured 03-03 09:00")
	p.sentAll("ann@x.example 0 03-02 09:00", "ann@x.example 1 03-03 09:00")

	// A contact without an address claims none, and stops when it gets one that is taken.
	without := p.contact("")
	mixed := p.campaign([]string{ann, without}, nil, []simStep{simMail(0, 0, 9), simCall(1, 1, 9), simMail(2, 2, 9)})
	p.is(mixed, without, "active", "0 skipped 03-04 09:00 | no email address", "1 waiting 03-05 09:00", "2 waiting 03-06 09:00")
	p.patchContact(without, `{"email": "Ann@X.example"}`)
	p.isDuplicate(mixed, without, ann)
	p.writesOnce()
	p.agrees(campaign)
	p.agrees(mixed)
}

// An address becomes free if the sequence that was to use it never started.
func TestUnclaimedAddress(t *testing.T) {
	p := newEngineFixture(t)
	ann := p.Write.Post("/v1/contacts", `{"email": "ann@x.example", "do_not_contact": true}`).Is(201).ID()
	bo := p.contact("bo@x.example")
	campaign := p.campaign([]string{ann, bo}, nil, []simStep{simMail(0, 0, 9)})
	p.is(campaign, ann, "not_started opted_out")
	p.patchContact(ann, `{"email": "bo@X.example"}`)
	p.is(campaign, ann, "not_started opted_out")
	p.patchContact(ann, `{"do_not_contact": false}`)
	p.isDuplicate(campaign, ann, bo)
	p.agrees(campaign)
}

// recipientGap sets mail.recipient_gap, which tests otherwise leave off.
func recipientGap(d time.Duration) func(*service.Config) {
	return func(cfg *service.Config) { cfg.Mail.RecipientGap = d }
}

// Two emails to an address from different sequences of an organization keep mail.recipient_gap.
func TestRecipientGap(t *testing.T) {
	const waits = "; waits because the recipient just got an email of another sequence"
	for _, c := range []struct {
		name   string
		gap    time.Duration
		window simWindow
		second string // when the second campaign writes
		reason string
	}{
		{"twelve hours", 12 * time.Hour, simWindow{0, 24}, "03-02 21:00", waits},
		{"until the window opens", 12 * time.Hour, simWindow{8, 18}, "03-03 08:00", waits},
		{"off", 0, simWindow{0, 24}, "03-02 09:00", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newEngineFixture(t, recipientGap(c.gap))
			p.Admin.Patch("/v1/organization", simOrg{"UTC", simWeek, []string{}, c.window}).Is(200)
			ann, again := p.contact("ann@x.example"), p.contact("ANN@X.example")
			p.campaign([]string{ann}, nil, []simStep{simMail(0, 0, 9)})
			second := simCampaign(p.Org, simAudience(p.Org, again), nil, []simStep{simMail(0, 0, 9), simMail(1, 1, 9)})
			expected := simulatedSends(simulated(t, p.Org, second, nil))
			p.Write.Patch(second, `{"status": "active"}`).Is(200)
			p.app.Work()
			s := p.sequence(second, again)
			if first := s.History[0]; !strings.Contains(first.Reason, c.reason) {
				t.Errorf("the step is %s: %s", first.line(), first.Reason)
			}
			if c.gap > 0 && (s.Next == nil || minute(*s.Next) != c.second) {
				t.Errorf("the next step is due at %v", s.Next)
			}
			p.app.Restart()
			p.to("03-05 09:00")
			sent := p.outbox(apptest.IsRule("campaign_id", apptest.IDIn(second)))
			if len(sent) != 2 || minute(sent[0].Created) != c.second {
				t.Errorf("the second campaign sent %+v", sent)
			}
			if got := p.sends(apptest.IsRule("campaign_id", apptest.IDIn(second))); len(expected) != 2 || got[0] != expected[0] {
				t.Errorf("sent %v, simulated %v", got, expected)
			}
			p.agrees(second)
		})
	}
}

// A gap that is set later counts from the emails that went out while there was none.
func TestRecipientGapSetLater(t *testing.T) {
	p := newEngineFixture(t, recipientGap(0))
	p.Admin.Patch("/v1/organization", simOrg{"UTC", simWeek, []string{}, simWindow{0, 24}}).Is(200)
	ann, again := p.contact("ann@x.example"), p.contact("ANN@X.example")
	p.campaign([]string{ann}, nil, []simStep{simMail(0, 0, 9)})
	p.sentAll("ann@x.example 0 03-02 09:00")
	p.app.Stop()
	p.app.Config.Mail.RecipientGap = 12 * time.Hour
	p.app.Start()
	p.campaign([]string{again}, nil, []simStep{simMail(0, 0, 9)})
	p.to("03-02 20:59")
	p.sentAll("ann@x.example 0 03-02 09:00")
	p.to("03-02 21:00")
	p.sentAll("ann@x.example 0 03-02 09:00", "ANN@X.example 0 03-02 21:00")
}

// The gap is between different sequences, and within an organization.
func TestRecipientGapWithin(t *testing.T) {
	p := newEngineFixture(t, recipientGap(12*time.Hour))
	campaign := p.campaign([]string{p.contact("ann@x.example")}, nil, []simStep{simMail(0, 0, 9), simMail(1, 0, 9)}, simAfter(0, 1, completes, "1 hours"))
	stranger := &engineFixture{p.app.Org("Globex"), t, p.app}
	stranger.Admin.Patch("/v1/organization", simUTC).Is(200)
	elsewhere := stranger.campaign([]string{stranger.contact("ann@x.example")}, nil, []simStep{simMail(0, 0, 9)})
	p.to("03-02 10:00")
	p.sentAll("ann@x.example 0 03-02 09:00", "ann@x.example 1 03-02 10:00")
	stranger.sentAll("ann@x.example 0 03-02 09:00")
	p.agrees(campaign)
	stranger.agrees(elsewhere)
}

// After a change of address the next email starts a new thread, which the following ones continue.
func TestThreadAfterAddressChange(t *testing.T) {
	m := newMailer(t)
	ann := apptest.ContactsOf(m.Org, "ann")[0]
	m.sends(hourly("Hello {{recipient.first_name}}", "", "", ""), "", ann)
	m.run()
	m.after(time.Hour)
	m.Write.Patch("/v1/contacts/"+ann, `{"email": "ann.lee@initech.example"}`).Is(200)
	m.after(time.Hour)
	m.Write.Patch("/v1/contacts/"+ann, `{"email": "Ann.Lee@Initech.example"}`).Is(200) // the same address
	m.after(time.Hour)
	var got []string
	for _, mail := range m.server.Mails() {
		got = append(got, fmt.Sprintf("%s %s %d", mail.To[0], mail.Header.Get("Subject"), len(strings.Fields(mail.Header.Get("References")))))
	}
	want := []string{"ann@initech.example Hello ann 0", "ann@initech.example Re: Hello ann 1", "ann.lee@initech.example Hello ann 0", "Ann.Lee@Initech.example Re: Hello ann 1"}
	if !slices.Equal(got, want) {
		t.Errorf("the server got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
