package sequence_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// simSums requires the summary of a simulation.
func simSums(org *apptest.Org, campaign string, body any, want string) {
	org.Read.Post(campaign+"/simulate", body).Is(200, `{"data": "<any>", "summary": `+want+`, "pagination": "<any>", "meta": "<any>"}`)
}

// A simulation plans all contacts of a campaign, and its sends are those that the engine makes.
func TestSimulateWholeCampaign(t *testing.T) {
	p := newEngineFixture(t, limits(100, time.Minute))
	p.Admin.Patch("/v1/organization", simOrg{"UTC", simWeek, []string{}, simWindow{8, 18}}).Is(200)
	campaign := simCampaign(p.Org, simAudience(p.Org, p.contacts(300)...), nil, []simStep{simMail(0, 0, 10), simMail(1, 0, 9)}, simAfter(0, 1, completes, "2 business_days"))
	days := ""
	for d := 2; d <= 6; d++ {
		days += fmt.Sprintf(`{"date": "2026-03-%02d", "sends": 100, "tasks": 0}, `, d)
	}
	days += `{"date": "2026-03-09", "sends": 80, "tasks": 0}, {"date": "2026-03-10", "sends": 20, "tasks": 0}`
	simSums(p.Org, campaign, nil, `{"contacts": 300, "sends": 600, "tasks": 0, "skipped": {}, "held": {}, "per_day": [`+days+`],
		"first_at": "2026-03-02T10:00:00.000Z", "last_at": "2026-03-10T09:19:00.000Z", "people": {"reached": 300, "sends": 300, "tasks": 0, "skipped": {}, "held": {}}}`)
	want := simulatedSends(simulated(t, p.Org, campaign, nil))
	p.Write.Patch(campaign, `{"status": "active"}`).Is(200)
	p.to("03-20 00:00")
	if got := p.sends(); !slices.Equal(got, want) {
		t.Errorf("%d messages were sent, not as simulated: %v\nwant %v", len(got), got, want)
	}
}

// simulatedSends returns the emails that a simulation plans, in order.
func simulatedSends(plans []simPlan) (all []string) {
	for _, plan := range plans {
		for _, s := range plan.Steps {
			if s.Action == "send" && !s.Done {
				all = append(all, fmt.Sprintf("%s %s %d", s.Due.Format(time.RFC3339), plan.Contact, s.Index))
			}
		}
	}
	return apptest.Sorted(all)
}

// sends returns the messages of the outbox in the same form.
func (p *engineFixture) sends(rules ...string) (all []string) {
	p.t.Helper()
	for _, m := range p.outbox(rules...) {
		all = append(all, fmt.Sprintf("%s %s %d", m.Created.UTC().Format(time.RFC3339), m.Contact, m.Step))
	}
	return apptest.Sorted(all)
}

// A simulation is planned behind what the sender has sent today and behind the other active campaigns
// of the sender, and sequences continue from their history.
func TestSimulateBehindOthers(t *testing.T) {
	p := newEngineFixture(t, limits(3, 0))
	owner := p.Admin.Post("/v1/users", `{"email": "bea@acme.example", "first_name": "Bea"}`).Is(201).ID()
	other := p.Admin.Post("/v1/users", `{"email": "cem@acme.example", "first_name": "Cem"}`).Is(201).ID()
	contacts := p.contacts(12)
	of := func(owner string, prioritized bool) map[string]any {
		return map[string]any{"owner_id": owner, "prioritized": prioritized}
	}
	// The first campaign sends one message now, one at ten, and one tomorrow at ten.
	running := p.campaign(contacts[:1], of(owner, false), []simStep{simMail(0, 0, 9), simMail(1, 0, 10), simMail(2, 1, 10)})
	p.campaign(contacts[1:4], of(other, true), []simStep{simMail(0, 0, 9)}) // another sender
	p.sentAll("c0@x.example 0 03-02 09:00", "c1@x.example 0 03-02 09:00", "c2@x.example 0 03-02 09:00", "c3@x.example 0 03-02 09:00")
	next := simCampaign(p.Org, simAudience(p.Org, contacts[4:10]...), of(owner, false), []simStep{simMail(0, 0, 10)})
	want := []string{"03-02 10:00", "03-03 10:00", "03-03 10:00", "03-03 10:00", "03-04 10:00", "03-04 10:00"}
	times := func(plans []simPlan) (at []string) {
		for _, plan := range plans {
			at = append(at, minute(*plan.Steps[0].Due))
		}
		return at
	}
	if got := times(simulated(t, p.Org, next, nil)); !slices.Equal(got, want) {
		t.Errorf("planned for %v, want %v", got, want)
	}
	// The rest of the running campaign is planned from its history.
	p.to("03-02 10:00")
	plan := simulated(t, p.Org, running, nil)[0]
	simSays(t, plan, "send 2026-03-02T09:00:00Z", "send 2026-03-02T10:00:00Z", "send 2026-03-03T10:00:00Z")
	if !plan.Steps[1].Done || plan.Steps[1].Message != nil || plan.Steps[2].Done || plan.Steps[2].Message == nil {
		t.Errorf("what has happened: %+v", plan.Steps)
	}
	simSums(p.Org, running, nil, `{"contacts": 1, "sends": 1, "tasks": 0, "skipped": {}, "held": {}, "per_day": [{"date": "2026-03-03", "sends": 1, "tasks": 0}],
		"first_at": "2026-03-03T10:00:00.000Z", "last_at": "2026-03-03T10:00:00.000Z", "people": {"reached": 1, "sends": 1, "tasks": 0, "skipped": {}, "held": {}}}`)
	// So it happens.
	expected := simulatedSends(simulated(t, p.Org, next, nil))
	p.Write.Patch(next, `{"status": "active"}`).Is(200)
	p.to("03-10 00:00")
	if got := p.sends(apptest.IsRule("campaign_id", apptest.IDIn(next))); !slices.Equal(got, expected) {
		t.Errorf("sent %v, want %v", got, expected)
	}
	// Stopped sequences are skipped with the reason of the API.
	p.Write.Patch("/v1/contacts/"+contacts[0], `{"do_not_contact": true}`).Is(200)
	simSums(p.Org, next, map[string]any{"contact_ids": []string{contacts[0], contacts[4]}}, `{"contacts": 2, "sends": 0, "tasks": 0, "skipped": {"opted_out": 1}, "held": {}, "per_day": [], "first_at": null, "last_at": null, "people": {"reached": 0, "sends": 0, "tasks": 0, "skipped": {"opted_out": 1}, "held": {}}}`)
}

// What did not fit into a day's cap is sent on the next business day at the hour of its step, not at
// midnight.
func TestEngineOverflow(t *testing.T) {
	p := newEngineFixture(t, limits(2, 0))
	p.to("03-06 09:00") // a Friday
	p.campaign(p.contacts(5), nil, []simStep{simMail(0, 0, 10)})
	p.to("03-11 00:00")
	p.sentAll("c0@x.example 0 03-06 10:00", "c1@x.example 0 03-06 10:00", "c2@x.example 0 03-09 10:00", "c3@x.example 0 03-09 10:00", "c4@x.example 0 03-10 10:00")
}

// A campaign that was paused for four days sends one email to each contact, and the follow-ups with
// the distance that the template plans.
func TestEnginePauseSpacing(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps []simStep
		links []simLink
		want  []string
	}{
		{"days of the sequence", []simStep{simMail(0, 0, 10), simMail(1, 1, 10), simMail(2, 2, 10), simMail(3, 3, 10)}, nil, []string{"03-06 14:00", "03-09 00:00", "03-10 10:00", "03-11 10:00"}},
		{"transitions", []simStep{simMail(0, 0, 10), simMail(1, 0, 10), simMail(2, 0, 10), simMail(3, 0, 10)},
			[]simLink{simAfter(0, 1, scheduled, "1 business_days"), simAfter(1, 2, scheduled, "1 business_days"), simAfter(2, 3, scheduled, "1 business_days")},
			[]string{"03-06 14:00", "03-09 10:00", "03-10 10:00", "03-11 10:00"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newEngineFixture(t)
			campaign := p.campaign(p.contacts(1), nil, c.steps, c.links...)
			p.Write.Patch(campaign, `{"status": "paused"}`).Is(200)
			p.to("03-06 14:00")
			expected := simulatedSends(simulated(t, p.Org, campaign, nil))
			p.Write.Patch(campaign, `{"status": "active"}`).Is(200)
			p.to("03-20 00:00")
			var want []string
			for i, at := range c.want {
				want = append(want, fmt.Sprintf("c0@x.example %d %s", i, at))
			}
			p.sentAll(want...)
			if got := p.sends(); !slices.Equal(got, expected) {
				t.Errorf("sent %v, simulated %v", got, expected)
			}
			p.agrees(campaign)
		})
	}
}
