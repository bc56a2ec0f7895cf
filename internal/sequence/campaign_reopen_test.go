package sequence_test

import (
	"fmt"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/service"
	"prospector/store"
)

// TestReopen completes or archives a campaign by mistake and reopens it a week later. What its end has stopped
// continues at the planned distance, and nothing else does.
func TestReopen(t *testing.T) {
	for _, c := range []struct{ name, end, reason string }{
		{"completed", `{"status": "completed"}`, "campaign_ended"},
		{"archived", `{"status": "archived"}`, "campaign_archived"},
		{"end_date", `{"end_date": "2026-03-02"}`, "campaign_ended"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newEngineFixture(t)
			ann, optedOut, replied, left, gone, refused := p.contact("ann@x.example"), p.contact("out@x.example"), p.contact("replied@x.example"), p.contact("left@x.example"), p.contact("gone@x.example"), p.contact("no@x.example")
			p.patchContact(refused, `{"do_not_contact": true}`)
			all := []string{ann, optedOut, replied, left, gone, refused}
			campaign := p.campaign(all, nil, []simStep{simMail(0, 0, 9), simCall(1, 0, 9), simMail(2, 1, 10), simCall(3, 4, 11)})
			audience := "/v1/audiences/" + p.Read.Get(campaign).Is(200).Text("data.audiences.0.id")
			p.Write.Post(campaign+"/reopen", `{}`).Fails(409, "invalid_transition", "only a completed or archived campaign can be reopened: it is active")
			p.to("03-02 12:00")
			p.Write.Post("/v1/contacts/"+replied+"/replied", `{}`).Is(200)
			p.Write.Patch(campaign, c.end).Is(200)
			p.to("03-03 06:00")
			ended := "03-02 12:00"
			if c.name == "end_date" {
				ended = "03-03 00:00"
			}
			task := *p.is(campaign, ann, "stopped "+c.reason, "0 captured 03-02 09:00", "1 skipped 03-02 09:00 at "+ended, "2 skipped 03-03 10:00 at "+ended, "3 skipped 03-06 11:00 at "+ended).History[1].Task

			// Meanwhile some must not be written to any more.
			p.patchContact(optedOut, `{"do_not_contact": true}`)
			p.Write.Post(audience+"/contacts/remove", apptest.ContactIDs(left)).Is(200)
			p.Write.Delete("/v1/contacts/" + gone).Is(204)
			p.to("03-09 12:00")
			if c.name == "end_date" {
				p.Write.Post(campaign+"/reopen", `{}`).Fails(422, "validation_failed", `end_date: "2026-03-02" has passed: give a later day, or null`)
				p.Write.Post(campaign+"/reopen", `{"end_date": "2026-03-08"}`).Fails(422, "validation_failed", `end_date: "2026-03-08" has passed`)
			}
			res := p.Write.Post(campaign+"/reopen", `{"end_date": null}`).Is(200)
			if got := res.Text("data.status"); got != "paused" || res.Value("data.end_date") != nil {
				t.Errorf("the campaign is %s until %v", got, res.Value("data.end_date"))
			}
			p.app.Work()
			// Nothing is sent while it is paused.
			p.is(campaign, ann, "active", "0 captured 03-02 09:00", "1 task_open 03-02 09:00 at 03-09 12:00", "2 waiting 03-09 12:00 | waits: the campaign is paused", "3 waiting 03-12 11:00")
			if got := p.Read.Get("/v1/tasks/" + task).Is(200).Text("data.status"); got != "open" {
				t.Errorf("the Task is %s", got)
			}
			p.is(campaign, optedOut, "stopped opted_out", "0 captured 03-02 09:00", "1 skipped 03-02 09:00 at "+ended, "2 skipped 03-03 10:00 at "+ended, "3 skipped 03-06 11:00 at "+ended)
			p.is(campaign, refused, "not_started opted_out")
			p.to("03-10 08:00")
			p.Write.Patch(campaign, `{"status": "active"}`).Is(200)
			p.to("03-20 12:00")
			p.sentAll("ann@x.example 0 03-02 09:00", "out@x.example 0 03-02 09:00", "replied@x.example 0 03-02 09:00", "left@x.example 0 03-02 09:00", "gone@x.example 0 03-02 09:00", "ann@x.example 2 03-10 08:00")
			for contact, want := range map[string]string{optedOut: "stopped opted_out", replied: "stopped replied"} {
				if s := p.sequence(campaign, contact); s.Status+" "+*s.Reason != want {
					t.Errorf("a sequence is %s %s, want %s", s.Status, *s.Reason, want)
				}
			}
			for _, contact := range []string{left, gone} {
				if s := p.sequence(campaign, contact); s.Status != "stopped" {
					t.Errorf("the sequence of a contact who left is %s", s.Status)
				}
			}
			p.agrees(campaign)
		})
	}
}

// TestReopenNewcomers reopens a campaign in which people awaited confirmation when it ended, and that others have
// joined since. Nobody of them gets a message before they are admitted.
func TestReopenNewcomers(t *testing.T) {
	l := withLeads(t, 10, "")
	l.add(100, "Lead")
	optedOut := "/v1/contacts/" + l.Write.Post("/v1/contacts", `{"email": "out@x.example", "first_name": "Out", "title": "Lead", "do_not_contact": true}`).Is(201).ID()
	l.run()
	l.counts(10, 100, "opted_out 1")
	l.Write.Patch(l.campaign, `{"status": "completed"}`).Is(200)
	l.run()
	l.counts(0, 0, "")
	l.add(3, "Lead")
	l.run()
	l.Write.Post(l.campaign+"/reopen", `{}`).Is(200)
	l.run()
	l.counts(10, 103, "opted_out 1")
	l.Write.Patch(l.campaign, `{"status": "active"}`).Is(200)
	l.run()
	l.Write.Patch(optedOut, `{"do_not_contact": false}`).Is(200)
	l.run()
	l.counts(10, 104, "")
	for _, want := range []int{10, 114} {
		l.afterDays(33)
		if res := l.Read.Get(l.campaign + "/stats").Is(200); res.Int("data.messages_sent") != want || res.Int("data.completed") != want {
			t.Errorf("%d messages were to be sent: %s", want, res.Body)
		}
		if want == 10 {
			l.counts(0, 104, "")
			l.admit(104)
		}
	}
	l.checkConsistency()
}

// TestReopenMany reopens a campaign while the job that stops its sequences has not run, twice, and kills the service
// in between.
func TestReopenMany(t *testing.T) {
	p := newEngineFixture(t)
	ids := p.contacts(700)
	campaign := p.campaign(ids, nil, []simStep{simMail(0, 0, 9), simMail(1, 1, 9)})
	p.to("03-02 12:00")
	for range 2 {
		p.Write.Patch(campaign, `{"status": "completed"}`).Is(200)
		p.Write.Post(campaign+"/reopen", `{}`).Is(200)
		p.app.Restart()
	}
	p.Write.Patch(campaign, `{"status": "active"}`).Is(200)
	p.to("03-04 12:00")
	stats := p.Read.Get(campaign + "/stats").Is(200)
	if done, sent := stats.Int("data.completed"), stats.Int("data.messages_captured"); done != len(ids) || sent != 2*len(ids) {
		t.Errorf("%d are completed with %d messages: %s", done, sent, stats.Body)
	}
	p.agrees(campaign)
}

// TestReopenInFlight completes and reopens a campaign while a message is being sent. The message is sent once.
func TestReopenInFlight(t *testing.T) {
	for _, stage := range []string{"RCPT", apptest.MailContent} {
		t.Run(stage, func(t *testing.T) {
			m := newMailer(t)
			ids := apptest.ContactsOf(m.Org, "bob")
			gate, at := m.gate(stage)
			campaign := m.sends(twoMails, "", ids...)
			m.app.Work()
			apptest.Receive(t, at, "a message")
			m.Write.Patch(campaign, `{"status": "completed"}`).Is(200)
			m.app.Work()
			m.Write.Post(campaign+"/reopen", `{}`).Is(200)
			m.app.Work()
			m.Write.Patch(campaign, `{"status": "active"}`).Is(200)
			m.server.Reply(nil)
			gate <- ""
			m.run()
			m.arrived("bob Hello bob")
			m.after(2 * time.Hour)
			m.arrived("bob Hello bob", "bob Re: Hello bob")
			m.wantSequence(campaign, ids[0], "completed sent sent")
			m.counted(campaign)
			m.checkConsistency()
		})
	}
}

// TestReopenHeld checks that the hold of a campaign outlives its end, and that a campaign whose captured messages would
// be continued by real ones is held.
func TestReopenHeld(t *testing.T) {
	m := capturing(t)
	ids := apptest.ContactsOf(m.Org, "bob", "eve")
	before := m.sends(twoMails, "", ids[:1]...)
	running := m.sends(twoMails, "", ids[1:]...)
	m.run()
	m.Write.Patch(before, `{"status": "completed"}`).Is(200)
	m.run()
	m.restartWith("smtp")
	m.held(running, "active", "transport_changed", "captured")
	m.Write.Patch(running, `{"status": "archived"}`).Is(200)
	m.held(running, "archived", "", "")
	for _, campaign := range []string{before, running} {
		m.Write.Post(campaign+"/reopen", `{}`).Is(200)
		m.run()
		m.held(campaign, "paused", "transport_changed", "captured")
		m.Write.Patch(campaign, `{"status": "active"}`).Fails(409, "campaign_held", "transport_changed")
	}
	m.after(24 * time.Hour)
	m.arrived()
	m.lacks(before, `{}`, "overdue", "captured")
}

// TestReopenInactiveOwner checks that a reopened campaign does not start for an owner who cannot send.
func TestReopenInactiveOwner(t *testing.T) {
	p := newEngineFixture(t)
	bea := p.Admin.Post("/v1/users", `{"email": "bea@acme.example"}`).Is(201).ID()
	campaign := p.campaign(p.contacts(1), map[string]any{"owner_id": bea}, []simStep{simMail(0, 0, 9), simMail(1, 1, 9)})
	p.Write.Patch(campaign, `{"status": "completed"}`).Is(200)
	p.Admin.Post("/v1/users/"+bea+"/deactivate", nil).Is(200)
	p.Write.Post(campaign+"/reopen", `{}`).Is(200)
	p.Write.Patch(campaign, `{"status": "active"}`).Fails(422, "validation_failed", "owner_id: the user is deactivated")
	p.Write.Patch(campaign, fmt.Sprintf(`{"status": "active", "owner_id": %q}`, p.User)).Is(200)
	p.to("03-03 12:00")
	p.sentAll("c0@x.example 0 03-02 09:00", "c0@x.example 1 03-03 09:00")
	p.agrees(campaign)
}

// TestReopenRestored reopens a campaign that had ended before a backup was taken, in the restored data.
func TestReopenRestored(t *testing.T) {
	p := newEngineFixture(t, func(cfg *service.Config) { cfg.Mail.RecipientGap = 0 })
	campaign := p.campaign(p.contacts(1), nil, []simStep{simMail(0, 0, 9), simMail(1, 1, 9)})
	p.Write.Patch(campaign, `{"status": "completed"}`).Is(200)
	p.app.Work()
	if err := p.app.Outreach.HoldAll(t.Context(), store.HoldReason("restored")); err != nil {
		t.Fatal(err)
	}
	res := p.Write.Post(campaign+"/reopen", `{}`).Is(200)
	if got := res.Text("data.held.reason"); got != "restored" {
		t.Errorf("held because of %q", got)
	}
}

// TestHoldTrashed holds a restored or copied store with a draft and an archived campaign in the trash. They are held when
// they are restored from it and could send.
func TestHoldTrashed(t *testing.T) {
	for _, reason := range []store.HoldReason{store.HeldRestored, store.HeldCopied} {
		t.Run(string(reason), func(t *testing.T) {
			p := newEngineFixture(t)
			archived := p.campaign(p.contacts(1), nil, []simStep{simMail(0, 0, 9), simMail(1, 1, 9)})
			draft := "/v1/campaigns/" + p.Write.Post(archived+"/clone", fmt.Sprintf(`{"name": "Draft", "audience_ids": [%q]}`, p.Read.Get(archived).Is(200).Text("data.audiences.0.id"))).Is(201).ID()
			p.to("03-02 12:00")
			p.Write.Patch(archived, `{"status": "archived"}`).Is(200)
			for _, campaign := range []string{archived, draft} {
				p.Write.Delete(campaign).Is(204)
			}
			if err := p.app.Outreach.HoldAll(t.Context(), reason); err != nil {
				t.Fatal(err)
			}
			for _, campaign := range []string{archived, draft} {
				p.Write.Post(campaign+"/restore", nil).Is(200)
			}
			p.Write.Post(archived+"/reopen", `{}`).Is(200)
			for _, campaign := range []string{archived, draft} {
				if got := p.Read.Get(campaign).Is(200).Text("data.held.reason"); got != string(reason) {
					t.Errorf("%s is held because of %q", campaign, got)
				}
				p.Write.Patch(campaign, `{"status": "active"}`).Fails(409, "campaign_held", string(reason))
			}
			p.to("03-05 12:00")
			p.sentAll("c0@x.example 0 03-02 09:00")
			p.agrees(archived)
		})
	}
}
