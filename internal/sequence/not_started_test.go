package sequence_test

import (
	"testing"

	"prospector/internal/apptest"
)

// unreachable creates contacts who cannot be written to for each reason, and one who can.
func (p *engineFixture) unreachable() (fine, optedOut, suppressed, ofDomain, without string) {
	p.t.Helper()
	fine, suppressed, ofDomain, without = p.contact("fine@x.example"), p.contact("Sue@x.example"), p.contact("dom@blocked.example"), p.contact("")
	optedOut = p.Write.Post("/v1/contacts", `{"email": "out@x.example", "do_not_contact": true}`).Is(201).ID()
	p.Admin.Post("/v1/suppressions", `{"email": "sue@x.example"}`).Is(201)
	p.Admin.Post("/v1/suppressions", `{"domain": "blocked.example"}`).Is(201)
	return fine, optedOut, suppressed, ofDomain, without
}

// unsuppress deletes the suppression of an address or a domain.
func (p *engineFixture) unsuppress(field, value string) {
	p.t.Helper()
	list := p.Read.Post("/v1/suppressions/list", `{"filters": [`+apptest.IsRule(field, value)+`]}`).Is(200)
	p.Admin.Delete("/v1/suppressions/" + list.Text("data.0.id")).Is(204)
	p.app.Work()
}

// Everyone in an audience has a sequence. Those who cannot be written to start when the reason goes
// away.
func TestEveryContactAccounted(t *testing.T) {
	p := newEngineFixture(t)
	fine, optedOut, suppressed, ofDomain, without := p.unreachable()
	all := []string{fine, optedOut, suppressed, ofDomain, without}
	emails := p.campaign(all, nil, []simStep{simMail(0, 0, 9)})
	mixed := p.campaign(all, nil, []simStep{simMail(0, 0, 9), simCall(1, 1, 9)})
	p.is(emails, fine, "completed", "0 captured 03-02 09:00")
	for contact, reason := range map[string]string{optedOut: "opted_out", suppressed: "suppressed", ofDomain: "suppressed"} {
		for _, campaign := range []string{emails, mixed} {
			if s := p.is(campaign, contact, "not_started "+reason); !s.Started.IsZero() || s.Step != nil || s.Next != nil {
				t.Errorf("a sequence that has not started has %+v", s)
			}
		}
	}
	p.is(emails, without, "not_started no_address")
	p.is(mixed, without, "active", "0 skipped 03-02 09:00 | no email address", "1 waiting 03-03 09:00")
	stats := p.Read.Get(emails + "/stats").Is(200)
	for path, want := range map[string]int{
		"enrolled": 5, "not_started": 4, "completed": 1, "active": 0, "stopped": 0,
		"not_started_by_reason.opted_out": 1, "not_started_by_reason.suppressed": 2, "not_started_by_reason.no_address": 1,
	} {
		if got := stats.Int("data." + path); got != want {
			t.Errorf("%s is %d, want %d: %s", path, got, want, stats.Body)
		}
	}
	p.agrees(emails)
	p.agrees(mixed)

	// A restart changes nothing, and each starts when its reason goes away.
	p.app.Restart()
	p.to("03-03 10:00")
	p.is(emails, optedOut, "not_started opted_out")
	p.patchContact(optedOut, `{"do_not_contact": false}`)
	p.is(emails, optedOut, "completed", "0 captured 03-03 10:00 | that time has passed, due at once")
	p.unsuppress("email", "sue@x.example")
	p.is(emails, suppressed, "completed", "0 captured 03-03 10:00")
	p.is(emails, ofDomain, "not_started suppressed")
	p.unsuppress("domain", "blocked.example")
	p.is(emails, ofDomain, "completed", "0 captured 03-03 10:00")
	p.patchContact(without, `{"email": "new@x.example"}`)
	p.is(emails, without, "completed", "0 captured 03-03 10:00")
	p.writesOnce()
	p.agrees(emails)
	p.agrees(mixed)
}

// If another reason remains, the sequence shows that one.
func TestReasonsNotToStart(t *testing.T) {
	p := newEngineFixture(t)
	both := p.Write.Post("/v1/contacts", `{"email": "both@x.example", "do_not_contact": true}`).Is(201).ID()
	neither := p.Write.Post("/v1/contacts", `{"first_name": "Al", "last_name": "Bo", "do_not_contact": true}`).Is(201).ID()
	moving := p.contact("moving@x.example")
	p.Admin.Post("/v1/suppressions", `{"domain": "x.example"}`).Is(201)
	campaign := p.campaign([]string{both, neither, moving}, nil, []simStep{simMail(0, 0, 9)})
	p.is(campaign, both, "not_started opted_out")
	p.is(campaign, neither, "not_started opted_out")
	p.is(campaign, moving, "not_started suppressed")
	p.patchContact(both, `{"do_not_contact": false}`)
	p.is(campaign, both, "not_started suppressed")
	p.patchContact(neither, `{"do_not_contact": false}`)
	p.is(campaign, neither, "not_started no_address")
	p.patchContact(neither, `{"email": "al@x.example"}`)
	p.is(campaign, neither, "not_started suppressed")
	p.patchContact(neither, `{"email": null}`)
	p.is(campaign, neither, "not_started no_address")
	p.patchContact(moving, `{"email": "moving@y.example"}`)
	p.is(campaign, moving, "completed", "0 captured 03-02 09:00")
	p.patchContact(both, `{"do_not_contact": true}`)
	p.is(campaign, both, "not_started opted_out")
	p.sentAll("moving@y.example 0 03-02 09:00")
	p.agrees(campaign)
}

// Contacts who join while a campaign is paused have sequences. A campaign that was never active has
// none.
func TestJoiningWhilePaused(t *testing.T) {
	p := newEngineFixture(t)
	first, optedOut := p.contact("first@x.example"), p.Write.Post("/v1/contacts", `{"email": "out@x.example", "do_not_contact": true}`).Is(201).ID()
	steps := []simStep{simMail(0, 0, 9), simMail(1, 1, 9)}
	draft := simCampaign(p.Org, simAudience(p.Org, first, optedOut), nil, steps)
	p.app.Work()
	if n := len(p.sequences(draft)); n != 0 {
		t.Errorf("a draft has %d sequences", n)
	}
	p.Write.Patch(draft, `{"status": "active"}`).Is(200)
	p.app.Work()
	if n := len(p.sequences(draft)); n != 2 {
		t.Errorf("a campaign of two contacts has %d sequences", n)
	}
	p.Write.Patch(draft, `{"status": "paused"}`).Is(200)
	late := p.contact("late@x.example")
	p.Write.Post(draft+"/enroll", enrolling("Late", late)).Is(200)
	p.app.Work()
	p.is(draft, late, "active", "0 waiting 03-02 09:00", "1 waiting 03-03 09:00")
	p.patchContact(optedOut, `{"do_not_contact": false}`)
	p.is(draft, optedOut, "active", "0 waiting 03-02 09:00", "1 waiting 03-03 09:00")
	p.to("03-02 12:00")
	p.sentAll("first@x.example 0 03-02 09:00")
	p.Write.Patch(draft, `{"status": "active"}`).Is(200)
	p.to("03-02 13:00")
	p.sentAll("first@x.example 0 03-02 09:00", "late@x.example 0 03-02 12:00", "out@x.example 0 03-02 12:00")
	p.agrees(draft)
}

// What ends other sequences also ends those that have not started.
func TestNotStartedEnds(t *testing.T) {
	p := newEngineFixture(t)
	for _, c := range []struct {
		name, reason string
		end          func(campaign, audience, contact string)
	}{
		{"leaves the audience", "left_audience", func(_, audience, contact string) {
			p.Write.Post("/v1/audiences/"+audience+"/contacts/remove", map[string]any{"contact_ids": []string{contact}}).Is(200)
		}},
		{"is deleted", "contact_deleted", func(_, _, contact string) { p.Write.Delete("/v1/contacts/" + contact).Is(204) }},
		{"the campaign is completed", "campaign_ended", func(campaign, _, _ string) { p.Write.Patch(campaign, `{"status": "completed"}`).Is(200) }},
		{"the campaign is archived", "campaign_archived", func(campaign, _, _ string) { p.Write.Patch(campaign, `{"status": "archived"}`).Is(200) }},
		{"the audience is detached", "left_audience", func(campaign, audience, _ string) {
			p.Write.Post(campaign+"/audiences/remove", map[string]any{"audience_ids": []string{audience}}).Is(200)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &engineFixture{p.Org, t, p.app}
			contact := p.contact("")
			audience := simAudience(p.Org, contact)
			campaign := p.campaign(nil, map[string]any{"audience_ids": []string{audience, simAudience(p.Org)}}, []simStep{simMail(0, 0, 9)})
			p.is(campaign, contact, "not_started no_address")
			c.end(campaign, audience, contact)
			p.app.Work()
			p.is(campaign, contact, "stopped "+c.reason)
			p.agrees(campaign)
		})
	}
}
