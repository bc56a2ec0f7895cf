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

// stopCase is an event that stops sequences.
type stopCase struct {
	name, reason string
	everybody    bool // not only the address of the contact
	// stop stops the sequence; the contact is in the audience, and the campaign also has an empty
	// audience.
	stop func(c *stopping)
	// later runs at midnight, after stop was called.
	later bool
}

// stopping is a campaign in which one contact, or all of them, are stopped while steps are waiting.
type stopping struct {
	*engineFixture
	stopCase
	campaign, audience       string
	contact, other           string
	before                   *sequence
	messages, othersMessages int
}

func (c *stopping) patchCampaign(body string) { c.Write.Patch(c.campaign, body).Is(200) }

func stopCases() []stopCase {
	patch := func(body string) func(*stopping) { return func(c *stopping) { c.patchCampaign(body) } }
	suppress := func(body string) func(*stopping) {
		return func(c *stopping) { c.Admin.Post("/v1/suppressions", body).Is(201) }
	}
	by := func(reason string) func(*stopping) {
		return func(c *stopping) {
			path := c.campaign + "/sequences/" + c.before.ID + "/stop"
			first := c.Write.Post(path, `{"reason": "`+reason+`"}`).Is(200)
			again := c.Write.Post(path, `{"reason": "`+reason+`"}`).Is(200) // changes nothing
			if string(apptest.DataOf(first)) != string(apptest.DataOf(again)) {
				c.t.Errorf("stopping again returned %s, want %s", again.Body, first.Body)
			}
		}
	}
	return []stopCase{
		{name: "opting out", reason: "opted_out", stop: func(c *stopping) { c.Write.Patch("/v1/contacts/"+c.contact, `{"do_not_contact": true}`).Is(200) }},
		{name: "the link in a message", reason: "opted_out", stop: func(c *stopping) {
			c.app.Anonymous().Post(c.UnsubscribePath(c.outbox(apptest.IsRule("contact_id", c.contact))[0].ID), nil).Is(200)
		}},
		{name: "the address", reason: "suppressed", stop: suppress(`{"email": "C0@mail.x.example"}`)},
		{name: "the domain", reason: "suppressed", stop: suppress(`{"domain": "mail.x.example"}`)},
		{name: "the domain above", reason: "suppressed", stop: suppress(`{"domain": "X.example"}`)},
		{name: "removal", reason: "left_audience", stop: func(c *stopping) {
			c.Write.Post("/v1/audiences/"+c.audience+"/contacts/remove", map[string]any{"contact_ids": []string{c.contact}}).Is(200)
		}},
		{name: "detaching", reason: "left_audience", everybody: true, stop: func(c *stopping) {
			c.Write.Post(c.campaign+"/audiences/remove", apptest.AudienceIDs(c.audience)).Is(200)
		}},
		{name: "deletion", reason: "contact_deleted", stop: func(c *stopping) { c.Write.Delete("/v1/contacts/" + c.contact).Is(204) }},
		{name: "completed by hand", reason: "campaign_ended", everybody: true, stop: patch(`{"status": "completed"}`)},
		{name: "archived", reason: "campaign_archived", everybody: true, stop: patch(`{"status": "archived"}`)},
		{name: "archived and deleted", reason: "campaign_archived", everybody: true, stop: func(c *stopping) {
			c.patchCampaign(`{"status": "archived"}`)
			c.Write.Delete(c.campaign).Is(204)
		}},
		{name: "an end_date that has passed", reason: "campaign_ended", everybody: true, stop: patch(`{"end_date": "2026-03-01"}`)},
		{name: "replied", reason: "replied", stop: by("replied")},
		{name: "manual", reason: "manual", stop: by("manual")},
		{name: "the end_date", reason: "campaign_ended", everybody: true, later: true, stop: func(c *stopping) {
			c.patchCampaign(`{"end_date": "` + c.app.Clock.Now().Format(time.DateOnly) + `"}`)
		}},
	}
}

// branching returns a template in which a contact waits for a time, for a Task and, at the end, for
// two branches.
func branching() ([]simStep, []simLink) {
	return []simStep{simMail(0, 0, 9), simCall(1, 0, 10), simMail(2, 0, 0), simMail(3, 0, 9), simCall(4, 0, 9)}, []simLink{
		simAfter(0, 1, completes, "1 days"), simAfter(1, 2, completes, "2 hours"), simAfter(0, 3, scheduled, "2 days"),
		simAll(simAfter(2, 4, completes, "")), simAfter(3, 4, completes, "1 days"),
	}
}

func newStopping(t *testing.T, app *apptest.App, of stopCase) *stopping {
	c := &stopping{engineFixture: &engineFixture{app.Org("Org of " + of.name), t, app}, stopCase: of}
	c.Admin.Patch("/v1/organization", simUTC).Is(200)
	ids := simContacts(c.Org, `{"email": "c0@mail.x.example"}`, `{"email": "c1@y.example"}`)
	c.contact, c.other, c.audience = ids[0], ids[1], simAudience(c.Org, ids...)
	steps, links := branching()
	c.campaign = simCampaign(c.Org, c.audience, map[string]any{"status": "active"}, steps, links...)
	c.Write.Post(c.campaign+"/audiences/add", apptest.AudienceIDs(simAudience(c.Org))).Is(200)
	return c
}

// look records the state immediately before the stop.
func (c *stopping) look() {
	c.before = c.sequence(c.campaign, c.contact)
	for i := range c.before.History { // what a step waits for is shown only while it waits
		h := &c.before.History[i]
		h.Reason = strings.TrimSuffix(h.Reason, "; waits: the campaign is paused")
	}
	c.messages, c.othersMessages = len(c.outbox(apptest.IsRule("contact_id", c.contact))), len(c.outbox(apptest.IsRule("contact_id", c.other)))
}

// isStopped requires that the sequence is unchanged, except that waiting steps are skipped and open
// Tasks canceled.
func (c *stopping) isStopped() {
	c.t.Helper()
	var want []string
	for _, h := range c.before.History {
		if h.Status == "waiting" || h.Status == "task_open" {
			h.Status = "skipped"
			now := c.app.Clock.Now()
			h.At = &now
			want = append(want, h.line()+" | "+h.Reason+"; the sequence was stopped: "+c.reason)
			continue
		}
		want = append(want, h.line()+" | "+h.Reason)
	}
	s := c.is(c.campaign, c.contact, "stopped "+c.reason, want...)
	for i, h := range s.History {
		if was := c.before.History[i]; was.Status == "task_open" {
			if got := c.Read.Get("/v1/tasks/" + *h.Task).Is(200).Text("data.status"); got != "cancelled" {
				c.t.Errorf("Task of the stopped sequence = %s", got)
			}
		}
	}
	c.agrees(c.campaign)
}

// isOver requires that nothing has happened since the stop, except to contacts that were not
// stopped.
func (c *stopping) isOver() {
	c.t.Helper()
	c.agrees(c.campaign)
	if n := len(c.outbox(apptest.IsRule("contact_id", c.contact))); n != c.messages {
		c.t.Errorf("%d messages were sent afterwards", n-c.messages)
	}
	if n := len(c.tasks(apptest.IsRule("status", "open"), apptest.IsRule("contact_id", c.contact))); n > 0 {
		c.t.Errorf("%d Tasks are still open", n)
	}
	s, others := c.sequence(c.campaign, c.other), len(c.outbox(apptest.IsRule("contact_id", c.other)))
	if c.everybody && (s.Status != "stopped" || *s.Reason != c.reason || others != c.othersMessages) {
		c.t.Errorf("other sequence: status %s, %d messages, had %d before", s.Status, others, c.othersMessages)
	}
	if sent := slices.ContainsFunc(s.History, func(h pastStep) bool { return h.Index == 3 && h.Status == "captured" }); !c.everybody && (s.Status != "active" || !sent) {
		c.t.Errorf("other sequence did not continue: %+v", s)
	}
}

// TestEngineStops stops sequences in every possible way while steps are waiting.
func TestEngineStops(t *testing.T) {
	type place struct {
		name, at string
		// reached runs when the point is reached.
		reached func(c *stopping)
		want    []string
	}
	for _, place := range apptest.SomeRaced(2, []place{
		{"waiting for a time", "03-02 12:00", func(*stopping) {}, []string{"0 captured 03-02 09:00", "3 waiting 03-04 09:00", "1 waiting 03-03 10:00"}},
		{"with an open Task", "03-03 12:00", func(*stopping) {}, []string{"0 captured 03-02 09:00", "3 waiting 03-04 09:00", "1 task_open 03-03 10:00"}},
		{"paused", "03-03 12:00", func(c *stopping) { c.patchCampaign(`{"status": "paused"}`) }, []string{"0 captured 03-02 09:00", "3 waiting 03-04 09:00", "1 task_open 03-03 10:00"}},
		{"between branches", "03-04 23:00", func(c *stopping) {
			c.Write.Patch("/v1/tasks/"+c.tasks(apptest.IsRule("contact_id", c.contact))[0].ID, `{"status": "completed"}`).Is(200)
		}, []string{"0 captured 03-02 09:00", "3 captured 03-04 09:00", "1 done 03-03 10:00 at 03-04 23:00", "2 waiting 03-05 12:00"}},
	}) {
		t.Run(place.name, func(t *testing.T) {
			app := apptest.New(t)
			var all []*stopping
			for _, of := range stopCases() {
				all = append(all, newStopping(t, app, of))
			}
			clock := all[0]
			clock.to(place.at)
			each := func(do func(c *stopping)) {
				for _, c := range all {
					t.Run(c.name, func(t *testing.T) {
						c.t = t
						do(c)
					})
					c.t = t
				}
			}
			each(func(c *stopping) {
				place.reached(c)
				c.look()
				c.is(c.campaign, c.contact, "active", place.want...)
				c.stop(c)
				if !c.later {
					app.Work() // left to jobs
					c.isStopped()
				}
			})
			clock.runTo(app.Clock.Now().Truncate(24 * time.Hour).Add(24 * time.Hour))
			each(func(c *stopping) {
				if c.later {
					c.isStopped()
				}
				if res := c.Read.Get(c.campaign); res.Status == 200 && res.Text("data.status") == "paused" {
					c.patchCampaign(`{"status": "active"}`)
				}
			})
			clock.to("03-20 09:00")
			each((*stopping).isOver)
		})
	}
}

// TestEngineStopRefusals checks that a stopped sequence cannot be stopped for another reason, and
// that a sequence cannot be stopped through another campaign.
func TestEngineStopRefusals(t *testing.T) {
	p := newEngineFixture(t)
	campaign := p.campaign(p.contacts(2), nil, []simStep{simMail(0, 0, 9), simCall(1, 0, 10)})
	other := p.campaign(nil, nil, []simStep{simCall(0, 0, 9)})
	ids := p.sequences(campaign)
	stop := func(campaign, id, reason string) *apptest.Response {
		return p.Write.Post(campaign+"/sequences/"+id+"/stop", map[string]string{"reason": reason})
	}
	stop(other, ids[0].ID, "manual").Fails(404, "not_found", "")
	stop(campaign, apptest.IDIn(other), "manual").Fails(404, "not_found", "")
	for _, reason := range []string{"", "opted_out", "campaign_ended"} {
		stop(campaign, ids[0].ID, reason).Fails(422, "validation_failed", "reason")
	}
	stop(campaign, ids[0].ID, "manual").Is(200)
	stop(campaign, ids[0].ID, "replied").Fails(409, "invalid_transition", "stopped")
	p.runTo(p.app.Clock.Now().Add(time.Hour), p.completeTasks)
	p.is(campaign, ids[1].Contact, "completed", "0 captured 03-02 09:00", "1 done 03-02 10:00")
	stop(campaign, ids[1].ID, "manual").Fails(409, "invalid_transition", "completed")
	p.agrees(campaign)
}

// TestEngineTwoAudiences checks that a contact in two audiences of a campaign has one sequence,
// which runs as long as one of the audiences is attached.
func TestEngineTwoAudiences(t *testing.T) {
	p := newEngineFixture(t)
	ids := p.contacts(3)
	first, second := simAudience(p.Org, ids[:2]...), simAudience(p.Org, ids[1:]...)
	campaign := simCampaign(p.Org, first, map[string]any{"status": "active"}, []simStep{simMail(0, 0, 9), simMail(1, 1, 9), simMail(2, 2, 9)})
	p.Write.Post(campaign+"/audiences/add", apptest.AudienceIDs(second)).Is(200)
	p.app.Work()
	p.sentAll("c0@x.example 0 03-02 09:00", "c1@x.example 0 03-02 09:00", "c2@x.example 0 03-02 09:00")
	p.Write.Post("/v1/audiences/"+second+"/contacts/remove", map[string]any{"contact_ids": ids[1:2]}).Is(200)
	p.Write.Post("/v1/audiences/"+second+"/contacts/add", map[string]any{"contact_ids": ids[:2]}).Is(200)
	p.Write.Post(campaign+"/audiences/remove", apptest.AudienceIDs(first)).Is(200)
	p.Write.Post("/v1/audiences/"+second+"/contacts/remove", map[string]any{"contact_ids": ids[:1]}).Is(200)
	p.to("03-03 12:00")
	p.is(campaign, ids[0], "stopped left_audience", "0 captured 03-02 09:00", "1 skipped 03-03 09:00 at 03-02 09:00", "2 skipped 03-04 09:00 at 03-02 09:00")
	for _, id := range ids[1:] {
		p.is(campaign, id, "active", "0 captured 03-02 09:00", "1 captured 03-03 09:00", "2 waiting 03-04 09:00")
	}
	// A contact who is added again does not start again, in the same audience, in the other or in a
	// new one.
	p.Write.Post("/v1/audiences/"+second+"/contacts/add", map[string]any{"contact_ids": ids[:1]}).Is(200)
	p.Write.Post(campaign+"/audiences/add", apptest.AudienceIDs(first)).Is(200)
	p.Write.Post(campaign+"/enroll", enrolling("Again", ids...)).Is(200)
	p.to("03-10 09:00")
	p.is(campaign, ids[0], "stopped left_audience", "0 captured 03-02 09:00", "1 skipped 03-03 09:00 at 03-02 09:00", "2 skipped 03-04 09:00 at 03-02 09:00")
	if n := len(p.sequences(campaign)); n != 3 || len(p.outbox()) != 3+4 {
		t.Errorf("got %d sequences and %d messages", n, len(p.outbox()))
	}
	p.agrees(campaign)
}

// work runs the due jobs of one kind, and no others.
func (p *engineFixture) work(kind string) {
	p.t.Helper()
	jobs, _, err := p.app.Store.Due(p.app.Clock.Now(), 1000, nil, nil)
	done := 0
	for _, job := range jobs {
		if job.Kind == kind {
			done++
			if err := p.app.Sequences.Jobs()[kind](context.Background(), job); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	if err != nil || done == 0 {
		p.t.Fatalf("no job %s is due: %v", kind, err)
	}
}

// TestEngineStopsMany checks that a job stops the remaining sequences if there are more than one
// transaction can stop. Until then no message is sent and no Task is created, even if all of them
// are due before that job runs.
func TestEngineStopsMany(t *testing.T) {
	many := slices.DeleteFunc(stopCases(), func(of stopCase) bool {
		return !of.everybody && of.name != "the domain" && of.name != "removal" || of.later
	})
	for _, of := range apptest.SomeRaced(2, many) {
		for kind, next := range map[string]simStep{" before a message": simMail(2, 1, 9), " before a Task": simCall(2, 1, 9)} {
			t.Run(of.name+kind, func(t *testing.T) { stopsMany(t, of, next) })
		}
	}
}

// manySequences is more than one transaction stops.
const manySequences = 230

// stopsMany stops many sequences whose next step is about to happen.
func stopsMany(t *testing.T, of stopCase, next simStep) {
	app := apptest.New(t)
	c := &stopping{engineFixture: &engineFixture{app.Org("Acme"), t, app}, stopCase: of}
	c.Admin.Patch("/v1/organization", simUTC).Is(200)
	ids := c.contacts(manySequences)
	c.audience = simAudience(c.Org, ids...)
	c.campaign = simCampaign(c.Org, c.audience, map[string]any{"status": "active"}, []simStep{simMail(0, 0, 9), simCall(1, 0, 8), next})
	c.Write.Post(c.campaign+"/audiences/add", apptest.AudienceIDs(simAudience(c.Org))).Is(200)
	c.to("03-02 12:00")
	messages, tasks := len(c.outbox()), len(c.tasks())
	if messages != manySequences || tasks != manySequences {
		t.Fatalf("got %d messages and %d Tasks", messages, tasks)
	}
	switch of.name {
	case "the domain":
		c.Admin.Post("/v1/suppressions", `{"domain": "x.example"}`).Is(201)
	case "removal":
		c.Write.Post("/v1/audiences/"+c.audience+"/contacts/remove", map[string]any{"contact_ids": ids}).Is(200)
	default:
		c.stop(c)
	}
	simAdvance(t, app, app.Clock.Now().Add(48*time.Hour))
	c.work("sequences.advance")
	if n := len(c.outbox()); n != messages {
		t.Errorf("%d messages were sent afterwards", n-messages)
	}
	if n := len(c.tasks()); n != tasks {
		t.Errorf("%d Tasks were created afterwards", n-tasks)
	}
	app.Work()
	for _, s := range c.sequences(c.campaign) {
		if s.Status != "stopped" || *s.Reason != of.reason {
			t.Fatalf("%+v continues", s)
		}
	}
	if n := len(c.tasks(apptest.IsRule("status", "cancelled"))); n != tasks || len(c.outbox()) != messages || len(c.tasks()) != tasks {
		t.Errorf("got %d canceled of %d Tasks, and %d messages", n, len(c.tasks()), len(c.outbox()))
	}
	if c.Read.Get(c.campaign).Status == 200 {
		if got := apptest.AsJSON(c.Read.Get(c.campaign + "/stats").Is(200).Value("data.stopped_by_reason")); got != fmt.Sprintf(`{"%s":%d}`, of.reason, manySequences) {
			t.Errorf("stats = %s", got)
		}
	}
	c.agrees(c.campaign)
}
