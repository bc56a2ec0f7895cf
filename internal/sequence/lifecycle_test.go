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

// TestEnginePause checks that nothing is sent while a campaign is paused. When it is resumed,
// overdue messages are scheduled again within the daily cap and the minimum gap, not all at once.
func TestEnginePause(t *testing.T) {
	p := newEngineFixture(t, limits(4, 10*time.Minute))
	ids := p.contacts(6)
	campaign := p.campaign(ids, nil, []simStep{simMail(0, 0, 10), simCall(1, 0, 11)}, simAfter(0, 1, scheduled, "1 hours"))
	p.to("03-02 10:15")
	p.Write.Patch(campaign, `{"status": "paused"}`).Is(200)
	p.to("03-03 15:05")
	want := []string{"c0@x.example 0 03-02 10:00", "c1@x.example 0 03-02 10:10"}
	p.sentAll(want...)
	if n := len(p.tasks()); n > 0 {
		t.Errorf("unexpected number of Tasks created: %d", n)
	}
	p.is(campaign, ids[2], "active", "0 waiting 03-02 10:00", "1 waiting 03-02 11:00")
	p.Write.Patch(campaign, `{"status": "active"}`).Is(200)
	p.to("03-03 23:59")
	want = append(want, "c2@x.example 0 03-03 15:05", "c3@x.example 0 03-03 15:15", "c4@x.example 0 03-03 15:25", "c5@x.example 0 03-03 15:35")
	p.sentAll(want...)
	p.is(campaign, ids[2], "active", "0 captured 03-02 10:00 at 03-03 15:05 | ; overdue", "1 task_open 03-02 11:00 at 03-03 15:05")
	// After another pause nothing is sent twice.
	p.Write.Patch(campaign, `{"status": "paused"}`).Is(200)
	p.app.Work()
	p.Write.Patch(campaign, `{"status": "active"}`).Is(200)
	p.to("03-10 09:00")
	p.sentAll(want...)
	p.agrees(campaign)
}

// TestEngineResumeCap checks that messages beyond the daily cap are sent on the following days, at the
// hour of their step.
func TestEngineResumeCap(t *testing.T) {
	p := newEngineFixture(t, limits(2, time.Minute))
	ids := p.contacts(5)
	campaign := p.campaign(ids, map[string]any{"status": "paused"}, []simStep{simMail(0, 0, 9)})
	p.to("03-05 15:00") // a Thursday
	if n := len(p.sequences(campaign)); n > 0 {
		t.Errorf("%d sequences begin in a campaign that is paused", n)
	}
	p.Write.Patch(campaign, `{"status": "active"}`).Is(200)
	p.to("03-05 15:00")
	p.Write.Patch(campaign, `{"status": "paused"}`).Is(200)
	p.to("03-05 15:30")
	p.Write.Patch(campaign, `{"status": "active"}`).Is(200)
	p.to("03-13 09:00")
	p.sentAll("c0@x.example 0 03-05 15:00", "c1@x.example 0 03-05 15:30", "c2@x.example 0 03-06 09:00", "c3@x.example 0 03-06 09:01", "c4@x.example 0 03-09 09:00")
	p.is(campaign, ids[4], "completed", "0 captured 03-05 15:00 at 03-09 09:00 | ; the sender's daily cap of 2 was reached")
	p.agrees(campaign)
}

// TestEngineBegins checks that a sequence starts as soon as its contact is in an audience and the
// campaign is active, in either order.
func TestEngineBegins(t *testing.T) {
	p := newEngineFixture(t)
	ids := p.contacts(6)
	steps := []simStep{simMail(0, 0, 9)}
	audience := simAudience(p.Org, ids[0])
	draft := simCampaign(p.Org, audience, nil, steps)
	paused := simCampaign(p.Org, audience, map[string]any{"status": "paused"}, steps)
	active := simCampaign(p.Org, audience, map[string]any{"status": "active"}, steps)
	p.to("03-02 10:00")
	begun := func(campaign string, want ...string) {
		t.Helper()
		var got []string
		for _, s := range p.sequences(campaign) {
			got = append(got, fmt.Sprintf("c%d %s", slices.Index(ids, s.Contact), minute(s.Started)))
		}
		if !slices.Equal(apptest.Sorted(got), want) {
			t.Errorf("sequences = %q, want %q", got, want)
		}
	}
	begun(draft)
	begun(paused)
	begun(active, "c0 03-02 09:00")
	// A contact who is added to an audience joins every campaign with it.
	p.Write.Post("/v1/audiences/"+audience+"/contacts/add", map[string]any{"contact_ids": ids[1:2]}).Is(200)
	p.Write.Post(paused+"/enroll", enrolling("Paused", ids[2])).Is(200)
	p.Write.Post(active+"/enroll", enrolling("Active", ids[3])).Is(200)
	p.Write.Post(active+"/audiences/add", apptest.AudienceIDs(simAudience(p.Org, ids[4]))).Is(200)
	p.to("03-02 11:00")
	begun(draft)
	begun(paused)
	begun(active, "c0 03-02 09:00", "c1 03-02 10:00", "c3 03-02 10:00", "c4 03-02 10:00")
	p.Write.Patch(draft, `{"status": "active"}`).Is(200)
	p.Write.Patch(paused, `{"status": "active"}`).Is(200)
	p.to("03-02 12:00")
	begun(draft, "c0 03-02 11:00", "c1 03-02 11:00")
	begun(paused, "c0 03-02 11:00", "c1 03-02 11:00", "c2 03-02 11:00")
	// Nobody joins a completed campaign, or a campaign after its last day.
	p.Write.Patch(draft, `{"status": "completed"}`).Is(200)
	p.Write.Patch(paused, `{"end_date": "2026-03-02"}`).Is(200)
	p.Write.Post("/v1/audiences/"+audience+"/contacts/add", map[string]any{"contact_ids": ids[5:]}).Is(200)
	p.to("03-04 12:00")
	begun(draft, "c0 03-02 11:00", "c1 03-02 11:00")
	begun(paused, "c0 03-02 11:00", "c1 03-02 11:00", "c2 03-02 11:00", "c5 03-02 12:00")
	for _, campaign := range []string{draft, paused, active} {
		p.agrees(campaign)
	}
}

// TestEngineReleased checks that contacts who opted out or are suppressed get no sequence until
// they are released. A stopped sequence never starts again.
func TestEngineReleased(t *testing.T) {
	p := newEngineFixture(t)
	ids := p.contacts(5)
	out := func(id string, is bool) {
		p.Write.Patch("/v1/contacts/"+id, map[string]bool{"do_not_contact": is}).Is(200)
	}
	suppress := func(email string) string {
		return "/v1/suppressions/" + p.Admin.Post("/v1/suppressions", map[string]string{"email": email}).Is(201).ID()
	}
	out(ids[0], true)
	held := suppress("c1@x.example")
	out(ids[2], true)
	campaign := p.campaign(ids, nil, []simStep{simMail(0, 0, 9), simMail(1, 1, 9)})
	later := p.campaign(ids[:2], map[string]any{"status": "paused"}, []simStep{simMail(0, 0, 9)})
	p.sentAll("c3@x.example 0 03-02 09:00", "c4@x.example 0 03-02 09:00")
	out(ids[3], true)
	stopped := suppress("c4@x.example")
	p.to("03-02 12:00")
	out(ids[0], false)
	out(ids[3], false)
	p.Admin.Delete(held).Is(204)
	p.Admin.Delete(stopped).Is(204)
	p.Write.Patch("/v1/contacts/"+ids[2], map[string]any{"do_not_contact": false, "email": "new@x.example"}).Is(200)
	p.to("03-05 12:00")
	for _, id := range ids[:3] {
		p.is(campaign, id, "completed", "0 captured 03-02 12:00", "1 captured 03-03 09:00")
	}
	p.is(campaign, ids[3], "stopped opted_out", "0 captured 03-02 09:00", "1 skipped 03-03 09:00 at 03-02 09:00")
	p.is(campaign, ids[4], "stopped suppressed", "0 captured 03-02 09:00", "1 skipped 03-03 09:00 at 03-02 09:00")
	p.is(later, ids[0], "none")
	p.agrees(campaign)
}

// TestEngineTemplateEdited checks that a running sequence keeps the template that it started with,
// and that new sequences use the edited template.
func TestEngineTemplateEdited(t *testing.T) {
	p := newEngineFixture(t)
	ids := p.contacts(2)
	campaign := p.campaign(ids[:1], nil, []simStep{simMail(0, 0, 9), simMail(5, 1, 9)})
	template := p.Read.Get(campaign).Text("data.template_id")
	p.Write.Patch("/v1/sequence-templates/"+template, map[string]any{"name": "New", "transitions": []simLink{},
		"steps": []simStep{{Type: "auto_email", Index: 0, Hour: 9, Subject: "News", Message: "New"}, {Type: "call", Index: 7, Day: 1, Hour: 9}}}).Is(200)
	p.Write.Patch("/v1/sequence-templates/"+template, `{"name": "Named anew"}`).Is(200) // does not change the content
	p.app.Restart()
	p.Write.Post(campaign+"/enroll", enrolling("Late", ids[1])).Is(200)
	p.to("03-03 09:00")
	for i, want := range [][]string{{"0 captured 03-02 09:00", "5 captured 03-03 09:00"}, {"0 captured 03-02 09:00", "7 task_open 03-03 09:00"}} {
		s := p.is(campaign, ids[i], []string{"completed", "active"}[i], want...)
		for _, h := range s.History {
			if h.Version != i+1 {
				t.Errorf("contact %d: unexpected template version of %s: %d", i, h.line(), h.Version)
			}
		}
	}
	var subjects []string
	for _, m := range p.outbox() {
		text, _, _ := strings.Cut(*m.Body, "\n")
		subjects = append(subjects, *m.Subject+" "+text)
	}
	if want := []string{"Hello Hi", "News New", "Hello Hi"}; !slices.Equal(subjects, want) {
		t.Errorf("sent subjects = %q, want %q", subjects, want)
	}
	p.agrees(campaign)
}

// TestEnginePrioritized checks that messages of a prioritized campaign are sent before those of
// another campaign of the same sender, whenever they were due. Other senders are not affected.
func TestEnginePrioritized(t *testing.T) {
	p := newEngineFixture(t, limits(0, 10*time.Minute))
	ids := p.contacts(7)
	bea := p.Admin.Post("/v1/users", `{"email": "bea@acme.example"}`).Is(201).ID()
	plain := p.campaign(ids[:4], nil, []simStep{simMail(0, 0, 10)})
	first := p.campaign(ids[4:6], map[string]any{"prioritized": true}, []simStep{simMail(0, 0, 0)}) // due immediately
	p.campaign(ids[6:], map[string]any{"owner_id": bea}, []simStep{simMail(0, 0, 10)})
	p.to("03-02 09:05")
	p.Write.Patch(first, `{"status": "paused"}`).Is(200)
	p.to("03-02 10:05")
	p.Write.Patch(first, `{"status": "active"}`).Is(200)
	p.to("03-02 10:25")
	p.Write.Patch(plain, `{"prioritized": true}`).Is(200)
	p.to("03-02 12:00")
	p.sentAll("c4@x.example 0 03-02 09:00", "c0@x.example 0 03-02 10:00", "c6@x.example 0 03-02 10:00", "c5@x.example 0 03-02 10:10", "c1@x.example 0 03-02 10:20",
		"c2@x.example 0 03-02 10:30", "c3@x.example 0 03-02 10:40")
	p.is(plain, ids[3], "completed", "0 captured 03-02 10:00 at 03-02 10:40 | ; 10m after the sender's previous message")
	p.agrees(plain)
	p.agrees(first)
}

// TestEngineOwner checks that messages are sent for the current owner of the campaign and count
// against that owner's cap, and that Tasks are assigned to that owner.
func TestEngineOwner(t *testing.T) {
	p := newEngineFixture(t, limits(1, 0))
	ids := p.contacts(2)
	bea := p.Admin.Post("/v1/users", `{"email": "bea@acme.example", "first_name": "Bea"}`).Is(201).ID()
	campaign := p.campaign(ids, nil, []simStep{{Type: "auto_email", Index: 0, Hour: 9, Subject: "S", Message: "From {{sender.first_name}}"}, simCall(1, 0, 9), simCall(2, 0, 12)})
	p.sentAll("c0@x.example 0 03-02 09:00")
	p.to("03-02 10:00")
	p.Write.Patch(campaign, map[string]string{"owner_id": bea}).Is(200) // has sent nothing today
	p.to("03-02 13:00")
	p.sentAll("c0@x.example 0 03-02 09:00", "c1@x.example 0 03-02 10:00")
	var senders []string
	for _, m := range p.outbox() {
		text, _, _ := strings.Cut(*m.Body, "\n")
		senders = append(senders, m.From+", "+text+", "+m.Headers["From"])
	}
	if want := []string{"ada@acme.example, From Ada, Ada Marsh <ada@acme.example>", "bea@acme.example, From Bea, Bea <bea@acme.example>"}; !slices.Equal(senders, want) {
		t.Errorf("senders = %q, want %q", senders, want)
	}
	for _, task := range p.tasks() {
		want := p.User.String()
		if task.Due.Hour() == 12 {
			want = bea
		}
		if *task.Owner != want {
			t.Errorf("the Task of %v is %s's", task.Due, *task.Owner)
		}
	}
	p.agrees(campaign)
}

// TestEngineTimeZone checks that due times stay the same when the time zone of the organization
// changes. Later due times, the sending window and the last day use the new time zone.
func TestEngineTimeZone(t *testing.T) {
	p := newEngineFixture(t)
	ids := p.contacts(1)
	campaign := p.campaign(ids, map[string]any{"end_date": "2026-03-04"}, []simStep{simMail(0, 0, 9), simMail(1, 0, 12), simCall(2, 0, 9), simCall(3, 4, 9)},
		simAfter(1, 2, completes, "1 days"))
	p.to("03-02 10:00")
	tokyo := simOrg{"Asia/Tokyo", simWeek, []string{}, simWindow{9, 17}} // where it is 19:00; the window opens at midnight UTC
	p.Admin.Patch("/v1/organization", tokyo).Is(200)
	p.to("03-04 14:59")
	p.is(campaign, ids[0], "active", "0 captured 03-02 09:00", "1 captured 03-02 12:00 at 03-03 00:00 | ; moved to the next sending window", "3 waiting 03-06 09:00",
		"2 task_open 03-04 00:00")
	p.to("03-04 15:00") // midnight in that time zone
	p.is(campaign, ids[0], "stopped campaign_ended", "0 captured 03-02 09:00", "1 captured 03-02 12:00 at 03-03 00:00", "3 skipped 03-06 09:00 at 03-04 15:00", "2 skipped 03-04 00:00 at 03-04 15:00")
	p.agrees(campaign)
}

// TestEngineRestart checks that the service continues after a restart at any point.
func TestEngineRestart(t *testing.T) {
	p := newEngineFixture(t, limits(3, 7*time.Minute))
	ids := p.contacts(5)
	steps, links := branching()
	campaign := simCampaign(p.Org, simAudience(p.Org, ids...), map[string]any{"status": "active"}, steps, links...)
	told := map[string]map[int]string{}
	for _, plan := range simulated(t, p.Org, campaign, nil) {
		told[plan.Contact] = foretold(plan)
	}
	p.runTo(springEnd, p.app.Restart, p.completeTasks, p.app.Restart)
	p.matchesSimulation(campaign, told)
	p.agrees(campaign)
}

// TestEngineLate checks that messages that became due while the service was stopped are sent after
// it starts.
func TestEngineLate(t *testing.T) {
	p := newEngineFixture(t, limits(0, 10*time.Minute))
	ids := p.contacts(2)
	campaign := p.campaign(ids, nil, []simStep{simMail(0, 0, 10), simCall(1, 0, 11)})
	p.app.Stop()
	p.app.Clock.Advance(4 * time.Hour)
	p.app.Start()
	p.to("03-02 14:00")
	p.sentAll("c0@x.example 0 03-02 13:00", "c1@x.example 0 03-02 13:10")
	p.is(campaign, ids[0], "active", "0 captured 03-02 10:00 at 03-02 13:00 | day 0 of the sequence at 10:00; overdue", "1 task_open 03-02 11:00 at 03-02 13:00")
	p.agrees(campaign)
}

// atSpeed sets the speed of the clock of sequences.
func atSpeed(speed float64) func(*service.Config) {
	return func(cfg *service.Config) { cfg.Sequences.Speed = speed }
}

// TestEngineSpeed checks that the clock of sequences runs faster than real time, starting from it.
// It stops with the service, continues from there at another speed, and never goes back.
func TestEngineSpeed(t *testing.T) {
	p := newEngineFixture(t, atSpeed(3600)) // one hour per second
	ids := p.contacts(1)
	campaign := p.campaign(ids, map[string]any{"end_date": "2026-03-05"}, []simStep{simMail(0, 0, 9), simMail(1, 1, 9), simMail(2, 2, 9), simMail(3, 3, 9), simMail(4, 4, 9)})
	wall := func(d time.Duration) {
		p.app.Clock.Advance(d)
		p.app.Work()
	}
	wall(24*time.Second - time.Millisecond)
	p.is(campaign, ids[0], "active", "0 captured 03-02 09:00", "1 waiting 03-03 09:00", "2 waiting 03-04 09:00", "3 waiting 03-05 09:00", "4 waiting 03-06 09:00")
	wall(time.Millisecond)
	p.is(campaign, ids[0], "active", "0 captured 03-02 09:00", "1 captured 03-03 09:00", "2 waiting 03-04 09:00", "3 waiting 03-05 09:00", "4 waiting 03-06 09:00")
	if next := p.next(); !next.Equal(p.app.Clock.Now().Add(24 * time.Second)) {
		t.Errorf("unexpected next due time: %v", next)
	}
	p.app.Stop()
	p.app.Clock.Advance(time.Hour) // while the service was stopped
	p.app.Config.Sequences.Speed = 86400
	p.app.Start()
	wall(0)
	p.is(campaign, ids[0], "active", "0 captured 03-02 09:00", "1 captured 03-03 09:00", "2 waiting 03-04 09:00", "3 waiting 03-05 09:00", "4 waiting 03-06 09:00")
	wall(time.Second)
	p.is(campaign, ids[0], "active", "0 captured 03-02 09:00", "1 captured 03-03 09:00", "2 captured 03-04 09:00", "3 waiting 03-05 09:00", "4 waiting 03-06 09:00")
	p.app.Config.Sequences.Speed = 1
	p.app.Restart() // real time is March 2nd, the clock of sequences stays at March 4th
	wall(24*time.Hour - time.Second)
	p.is(campaign, ids[0], "active", "0 captured 03-02 09:00", "1 captured 03-03 09:00", "2 captured 03-04 09:00", "3 waiting 03-05 09:00", "4 waiting 03-06 09:00")
	wall(time.Second)
	wall(15 * time.Hour)
	s := p.is(campaign, ids[0], "stopped campaign_ended", "0 captured 03-02 09:00", "1 captured 03-03 09:00", "2 captured 03-04 09:00", "3 captured 03-05 09:00", "4 skipped 03-06 09:00 at 03-06 00:00")
	if !s.Started.Equal(time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)) {
		t.Errorf("unexpected start of the sequence: %v", s.Started)
	}
}

// TestEngineMany enrolls several thousand contacts, ten thousand with PROSPECTOR_SOAK, with one
// request. All of their sequences start.
func TestEngineMany(t *testing.T) {
	n := apptest.Soaked(10_000, 2500, 1200)
	p := newEngineFixture(t)
	ids := throng(t, p.app, p.Org, n)
	campaign := p.campaign(ids[:100], nil, []simStep{simMail(0, 0, 10), simCall(1, 0, 11)})
	p.Write.Post(campaign+"/enroll", enrolling("All", ids...)).Is(200)
	p.app.Work()
	has := func(active, sent, tasks int) {
		t.Helper()
		stats := p.Read.Get(campaign + "/stats").Is(200)
		if stats.Int("data.enrolled") != n || stats.Int("data.active") != active || stats.Int("data.messages_captured") != sent || stats.Int("data.tasks_open") != tasks {
			t.Errorf("%s", stats.Body)
		}
	}
	has(n, 0, 0)
	p.to("03-02 10:00")
	has(n, n, 0)
	p.to("03-02 11:00")
	has(n, n, n)
	for path, want := range map[string]int{campaign + "/sequences": n, "/v1/outbox": n, "/v1/tasks": n} {
		if got := p.Read.Post(path+"/list", `{"page_size": 1}`).Is(200).Int("pagination.total_count"); got != want {
			t.Errorf("%s has %d, want %d", path, got, want)
		}
	}
	p.verify()
}
