package sequence_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// restart restarts the sequence of a contact.
func (p *engineFixture) restart(campaign, contact, body string) *apptest.Response {
	p.t.Helper()
	return p.Write.Post("/v1/sequences/"+p.sequence(campaign, contact).ID+"/restart", body)
}

// cannotBecause requires that a sequence is refused with invalid_transition and the reason.
func cannotBecause(t *testing.T, res *apptest.Response, reason string) {
	t.Helper()
	res.Fails(409, "invalid_transition", "")
	if got := res.Text("error.details.0.message"); got != reason {
		t.Errorf("refused because of %q, want %q: %s", got, reason, res.Body)
	}
}

// TestRestartCorrectedBounce checks that a contact whose address was suppressed by mistake gets the email
// that bounced, and then the others.
func TestRestartCorrectedBounce(t *testing.T) {
	m := newMailer(t)
	ids := apptest.ContactsOf(m.Org, "bob")
	m.server.Reply(apptest.Answering("RCPT", "550 5.1.1 unknown"))
	campaign := m.sends(twoMails, "", ids...)
	m.run()
	m.server.Reply(nil)
	m.wantSequence(campaign, ids[0], "stopped:suppressed failed skipped")
	at := "/v1/sequences/" + m.listedSequence(campaign, ids[0]).ID
	cannotBecause(t, m.Write.Post(at+"/restart", `{"from": "next"}`), "suppressed")
	m.Admin.Delete("/v1/suppressions/" + m.Read.Post("/v1/suppressions/list", `{}`).Is(200).Column("id")[0]).Is(204)
	m.after(24 * time.Hour)
	m.wantSequence(campaign, ids[0], "stopped:suppressed failed skipped")
	m.retries(campaign, `{"status": ["failed"]}`, 0, 0)
	m.Write.Post(at+"/restart", `{"from": "next"}`).Is(200)
	m.run()
	m.arrived("bob Hello bob")
	m.wantSequence(campaign, ids[0], "active sent waiting")
	m.after(2 * time.Hour)
	m.arrived("bob Hello bob", "bob Re: Hello bob")
	m.wantSequence(campaign, ids[0], "completed sent sent")
	if refs := m.message("bob", 1).Headers["References"]; refs != m.sentID(campaign, ids[0], 0) {
		t.Errorf("the reply refers to %q", refs)
	}
	m.checkConsistency()
}

// sentID returns the Message-ID of the message of a step.
func (m *mailer) sentID(campaign, contact string, step int) string {
	m.t.Helper()
	id := m.listedSequence(campaign, contact).History[step].Message
	for _, p := range m.outbox() {
		if p.ID == id {
			return p.Headers["Message-ID"]
		}
	}
	m.t.Fatalf("no message %s", id)
	return ""
}

// TestRestartWhenReasonIsGone takes back what stopped a sequence. The sequence stays stopped until it is
// restarted, and then continues with the step that is next, at the planned distance.
func TestRestartWhenReasonIsGone(t *testing.T) {
	for _, c := range []struct {
		reason string
		stop   func(p *engineFixture, campaign, contact string) (undo func())
	}{
		{"opted_out", func(p *engineFixture, _, contact string) func() {
			p.patchContact(contact, `{"do_not_contact": true}`)
			return func() { p.patchContact(contact, `{"do_not_contact": false}`) }
		}},
		{"suppressed", func(p *engineFixture, _, _ string) func() {
			id := p.Admin.Post("/v1/suppressions", `{"email": "ann@x.example"}`).Is(201).ID()
			return func() { p.Admin.Delete("/v1/suppressions/" + id).Is(204) }
		}},
		{"left_audience", func(p *engineFixture, campaign, contact string) func() {
			audience := "/v1/audiences/" + p.Read.Get(campaign).Is(200).Text("data.audiences.0.id")
			p.Write.Post(audience+"/contacts/remove", apptest.ContactIDs(contact)).Is(200)
			return func() { p.Write.Post(audience+"/contacts/add", apptest.ContactIDs(contact)).Is(200) }
		}},
		{"contact_deleted", func(p *engineFixture, _, contact string) func() {
			p.Write.Delete("/v1/contacts/" + contact).Is(204)
			return func() { p.Write.Post("/v1/contacts/"+contact+"/restore", `{}`).Is(200) }
		}},
		{"manual", func(p *engineFixture, campaign, contact string) func() {
			p.Write.Post("/v1/sequences/"+p.sequence(campaign, contact).ID+"/stop", `{"reason": "manual"}`).Is(200)
			return func() {}
		}},
		{"replied", func(p *engineFixture, _, contact string) func() {
			p.Write.Post("/v1/contacts/"+contact+"/replied", `{}`).Is(200)
			return func() {}
		}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			p := newEngineFixture(t)
			ann := p.contact("ann@x.example")
			campaign := p.campaign([]string{ann}, nil, []simStep{simMail(0, 0, 9), simCall(1, 0, 9), simMail(2, 1, 10), simCall(3, 4, 11)})
			p.to("03-02 12:00")
			task := *p.is(campaign, ann, "active", "0 captured 03-02 09:00", "1 task_open 03-02 09:00", "2 waiting 03-03 10:00", "3 waiting 03-06 11:00").History[1].Task
			undo := c.stop(p, campaign, ann)
			p.app.Work()
			p.is(campaign, ann, "stopped "+c.reason, "0 captured 03-02 09:00", "1 skipped 03-02 09:00 at 03-02 12:00", "2 skipped 03-03 10:00 at 03-02 12:00", "3 skipped 03-06 11:00 at 03-02 12:00")
			if c.reason != "manual" && c.reason != "replied" {
				cannotBecause(t, p.restart(campaign, ann, `{"from": "next"}`), c.reason)
			}
			p.to("03-05 15:00")
			undo()
			p.to("03-09 12:00")
			p.is(campaign, ann, "stopped "+c.reason, "0 captured 03-02 09:00", "1 skipped 03-02 09:00 at 03-02 12:00", "2 skipped 03-03 10:00 at 03-02 12:00", "3 skipped 03-06 11:00 at 03-02 12:00")
			enrolled := p.Write.Post(campaign+"/enroll", enrolling("Again", ann)).Is(200)
			if got := enrolled.Text("data.contacts.0.outcome") + " " + enrolled.Text("data.contacts.0.reason"); got != "stopped "+c.reason {
				t.Errorf("enroll says %s", got)
			}
			p.restart(campaign, ann, `{"from": "next"}`).Is(200)
			p.app.Work()
			// The email that was planned for the 3rd is sent now, and the call follows three days later.
			p.is(campaign, ann, "active", "0 captured 03-02 09:00", "1 task_open 03-02 09:00 at 03-09 12:00", "2 captured 03-09 12:00", "3 waiting 03-12 11:00")
			if got := p.Read.Get("/v1/tasks/" + task).Is(200).Text("data.status"); got != "open" {
				t.Errorf("the Task is %s", got)
			}
			p.to("03-13 12:00")
			p.Write.Patch("/v1/tasks/"+task, `{"status": "completed"}`).Is(200)
			p.sentAll("ann@x.example 0 03-02 09:00", "ann@x.example 2 03-09 12:00")
			p.verify()
		})
	}
}

// TestRestartRefused checks which sequences cannot be restarted.
func TestRestartRefused(t *testing.T) {
	p := newEngineFixture(t)
	ann, twin, gone := p.contact("ann@x.example"), p.contact("ANN@x.example"), p.contact("gone@x.example")
	campaign := p.campaign([]string{ann, twin}, nil, []simStep{simMail(0, 0, 9), simMail(1, 1, 9)})
	cannotBecause(t, p.restart(campaign, ann, `{"from": "next"}`), "active")
	cannotBecause(t, p.restart(campaign, ann, `{"from": "start"}`), "active")
	res := p.restart(campaign, twin, `{"from": "next"}`)
	cannotBecause(t, res, "duplicate_address")
	if id := res.Text("error.details.0.id"); id != p.sequence(campaign, ann).ID {
		t.Errorf("the other sequence is %s", id)
	}
	p.restart(campaign, ann, `{}`).Fails(422, "validation_failed", "from: required")
	p.restart(campaign, ann, `{"from": "here"}`).Fails(422, "validation_failed", "from")
	p.to("03-04 12:00")
	cannotBecause(t, p.restart(campaign, ann, `{"from": "next"}`), "completed")

	// The twin has an address of its own now, and starts.
	p.patchContact(twin, `{"email": "twin@x.example"}`)
	p.restart(campaign, twin, `{"from": "next"}`).Is(200)
	p.app.Work()
	p.is(campaign, twin, "active", "0 captured 03-04 12:00", "1 waiting 03-05 09:00")

	p.Admin.Post("/v1/suppressions", `{"email": "gone@x.example"}`).Is(201)
	other := p.campaign([]string{gone}, nil, []simStep{simMail(0, 0, 9)})
	cannotBecause(t, p.restart(other, gone, `{"from": "start"}`), "not_started")
	for _, status := range []string{"completed", "archived"} {
		p.Write.Patch(campaign, fmt.Sprintf(`{"status": %q}`, status)).Is(200)
		p.app.Work()
		p.restart(campaign, twin, `{"from": "next"}`).Fails(409, "campaign_not_enrollable", status)
		p.Write.Post(campaign+"/restart", `{"reasons": ["campaign_ended"]}`).Fails(409, "campaign_not_enrollable", status)
	}
	p.verify()
}

// TestRestartFromStart checks that emails are sent a second time only if the request says so, that the
// statistics count both, and that the new run has a thread of its own.
func TestRestartFromStart(t *testing.T) {
	m := newMailer(t)
	ids := apptest.ContactsOf(m.Org, "bob", "cat")
	m.server.Reply(func(stage, to string) string {
		if stage == apptest.MailContent && strings.HasPrefix(to, "cat") {
			return apptest.MailDrop
		}
		return ""
	})
	campaign := m.sends(twoMails, "", ids...)
	m.run()
	m.server.Reply(nil)
	m.after(time.Hour)
	m.wantSequence(campaign, ids[0], "completed sent sent")
	before := len(m.server.Mails())
	for _, id := range ids {
		at := "/v1/sequences/" + m.listedSequence(campaign, id).ID + "/restart"
		m.Write.Post(at, `{"from": "start"}`).Fails(422, "validation_failed", "repeat: required, because")
		m.run()
		if n := len(m.server.Mails()); n != before {
			t.Fatalf("%d mails arrived", n-before)
		}
	}
	m.Write.Post("/v1/sequences/"+m.listedSequence(campaign, ids[0]).ID+"/restart", `{"from": "start", "repeat": true}`).Is(200)
	m.run()
	m.wantSequence(campaign, ids[0], "active sent waiting")
	m.after(time.Hour)
	m.wantSequence(campaign, ids[0], "completed sent sent")
	var bob []string
	for _, p := range m.outbox() {
		if strings.HasPrefix(p.To, "bob") {
			bob = append(bob, p.Headers["Message-ID"]+"<-"+p.Headers["References"])
		}
	}
	if len(bob) != 4 {
		t.Fatalf("bob has %d messages", len(bob))
	}
	if ids := strings.SplitN(bob[3], "<-", 2); !strings.HasPrefix(bob[2], ids[1]) || ids[1] == "" {
		t.Errorf("the threads are %v", bob)
	}
	m.counted(campaign)
	m.checkConsistency()
}

// TestSkipStep skips steps that wait, are held or have an open Task.
func TestSkipStep(t *testing.T) {
	p := newEngineFixture(t)
	ann := p.contact("ann@x.example")
	campaign := p.campaign([]string{ann}, nil,
		[]simStep{simMail(0, 0, 9), simCall(1, 0, 9), simMail(2, 1, 10), {Type: "auto_email", Index: 3, Hour: 9, Message: "{{recipient.title}}"}},
		simLink{From: 2, To: 3, Type: "PREVIOUS_STEP_COMPLETES", Post: 1, PostUnit: "days"})
	p.to("03-02 12:00")
	at := "/v1/sequences/" + p.sequence(campaign, ann).ID + "/skip"
	p.Write.Post(at, `{}`).Fails(422, "validation_failed", "step_index: required, because several steps wait: 1, 2")
	p.Write.Post(at, `{"step_index": 0}`).Fails(422, "validation_failed", "step_index: step 0 does not wait; these do: 1, 2")
	p.Write.Post(at, `{"step_index": 3}`).Fails(422, "validation_failed", "step_index: step 3 does not wait")
	p.Write.Post(at, `{"step_index": 1}`).Is(200)
	p.is(campaign, ann, "active", "0 captured 03-02 09:00", "1 skipped 03-02 09:00 at 03-02 12:00 | skipped by request", "2 waiting 03-03 10:00")
	if status := p.tasks()[0].Status; status != "cancelled" {
		t.Errorf("the Task is %s", status)
	}
	p.Write.Post(at, `{}`).Is(200) // the only one that waits; the next one counts from its end
	p.is(campaign, ann, "active", "0 captured 03-02 09:00", "1 skipped 03-02 09:00 at 03-02 12:00", "2 skipped 03-03 10:00 at 03-02 12:00", "3 waiting 03-04 09:00")
	p.to("03-04 12:00")
	p.is(campaign, ann, "active", "0 captured 03-02 09:00", "1 skipped 03-02 09:00 at 03-02 12:00", "2 skipped 03-03 10:00 at 03-02 12:00", "3 held 03-04 09:00")
	p.Write.Post(at, `{"step_index": 3}`).Is(200)
	cannotBecause(t, p.Write.Post(at, `{}`), "completed")
	p.sentAll("ann@x.example 0 03-02 09:00")
	p.verify()
}

// TestPostpone postpones a sequence. Its emails keep their distances, and steps that follow later are not
// due before.
func TestPostpone(t *testing.T) {
	p := newEngineFixture(t)
	ann := p.contact("ann@x.example")
	campaign := p.campaign([]string{ann}, nil, []simStep{simMail(0, 0, 9), simMail(1, 1, 10), simMail(2, 3, 11), simCall(3, 2, 9)})
	p.to("03-02 12:00")
	at := "/v1/sequences/" + p.sequence(campaign, ann).ID + "/postpone"
	p.Write.Post(at, `{}`).Fails(422, "validation_failed", "until: required")
	p.Write.Post(at, `{"until": "2026-03-02T12:00:00Z"}`).Fails(422, "validation_failed", "until: must be in the future")
	p.Write.Post(at, `{"until": "2026-03-14T12:00:00Z"}`).Is(200) // a Saturday
	p.is(campaign, ann, "active", "0 captured 03-02 09:00", "1 waiting 03-16 00:00 | postponed until 2026-03-14T12:00:00Z", "2 waiting 03-18 11:00", "3 waiting 03-14 12:00")
	p.Write.Post(at, `{"until": "2026-03-10T12:00:00Z"}`).Is(200) // due times never become earlier
	p.to("03-20 12:00")
	p.sentAll("ann@x.example 0 03-02 09:00", "ann@x.example 1 03-16 00:00", "ann@x.example 2 03-18 11:00")
	p.Write.Post(at, `{"until": "2026-04-10T12:00:00Z"}`).Fails(409, "invalid_transition", "waits for its Task")
	p.Write.Patch("/v1/tasks/"+p.tasks()[0].ID, `{"status": "completed"}`).Is(200)
	cannotBecause(t, p.Write.Post(at, `{"until": "2026-04-10T12:00:00Z"}`), "completed")
	p.verify()
}

// TestCorrectionsInFlight checks that nothing changes in a sequence whose message is being sent, and that
// the message is sent once.
func TestCorrectionsInFlight(t *testing.T) {
	m := newMailer(t)
	bob := apptest.ContactsOf(m.Org, "bob")[0]
	gate, at := make(chan struct{}), make(chan string, 1)
	m.server.Reply(func(stage, to string) string {
		if stage == apptest.MailContent {
			at <- to
			<-gate
		}
		return ""
	})
	campaign := m.sends(twoMails, "", bob)
	m.app.Work()
	apptest.Receive(t, at, "the message")
	path := "/v1/sequences/" + m.listedSequence(campaign, bob).ID
	cannotBecause(t, m.Write.Post(path+"/skip", `{}`), "in flight")
	cannotBecause(t, m.Write.Post(path+"/postpone", `{"until": "2036-03-02T09:00:00Z"}`), "in flight")
	m.Write.Post(path+"/stop", `{"reason": "manual"}`).Is(200)
	cannotBecause(t, m.Write.Post(path+"/restart", `{"from": "next"}`), "in flight")
	cannotBecause(t, m.Write.Post(path+"/restart", `{"from": "start", "repeat": true}`), "in flight")
	close(gate)
	m.run()
	m.wantSequence(campaign, bob, "stopped:manual sent")
	m.server.Reply(nil)
	m.Write.Post(path+"/restart", `{"from": "next"}`).Is(200)
	m.after(2 * time.Hour)
	m.arrived("bob Hello bob", "bob Re: Hello bob")
	m.wantSequence(campaign, bob, "completed sent sent")
	m.counted(campaign)
	m.checkConsistency()
}

// TestRestartRetrying restarts a sequence that was stopped while its message waited for another attempt.
func TestRestartRetrying(t *testing.T) {
	m := newMailer(t)
	bob := apptest.ContactsOf(m.Org, "bob")[0]
	m.server.Reply(apptest.Answering("RCPT", "450 4.2.1 busy"))
	campaign := m.sends(twoMails, "", bob)
	m.run()
	path := "/v1/sequences/" + m.listedSequence(campaign, bob).ID
	m.Write.Post(path+"/stop", `{"reason": "replied"}`).Is(200)
	m.wantSequence(campaign, bob, "stopped:replied skipped")
	m.server.Reply(nil)
	m.Write.Post(path+"/restart", `{"from": "next"}`).Is(200)
	m.after(time.Hour)
	m.after(2 * time.Hour)
	m.arrived("bob Hello bob", "bob Re: Hello bob")
	m.checkConsistency()
}

// TestRestartMany restarts the sequences of a campaign by reason or id: at once, or in a job if there are
// many.
func TestRestartMany(t *testing.T) {
	for _, n := range []int{5, 620} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			u := newUndoing(t, n)
			u.suppress()()
			u.app.Work()
			u.to("03-03 12:00")
			manual := u.ids[0]
			u.Write.Post("/v1/contacts/"+u.ids[1]+"/replied", `{}`).Is(200)
			u.Write.Patch("/v1/contacts/"+u.ids[2], `{"do_not_contact": true}`).Is(200)
			at := u.campaign + "/restart"
			before := u.Dump()
			has := func(res *apptest.Response, restarted int, kept string) {
				t.Helper()
				if got := apptest.AsJSON(res.Is(200).Value("data.kept")); res.Int("data.restarted") != restarted || got != kept {
					t.Errorf("%s", res.Body)
				}
			}
			has(u.Write.Post(at, `{"reasons": ["suppressed", "manual"], "dry_run": true}`), n-2, `{"opted_out":1,"replied":1}`)
			u.Write.Post(at, fmt.Sprintf(`{"reasons": ["suppressed"], "expect": %d}`, n)).Fails(409, "count_changed", fmt.Sprintf("%d sequences can be restarted", n-2))
			u.Write.Post(at, `{}`).Fails(422, "validation_failed", "reasons: required")
			u.Write.Post(at, fmt.Sprintf(`{"reasons": ["manual"], "sequence_ids": [%q]}`, manual)).Fails(422, "validation_failed", "both cannot")
			has(u.Write.Post(at, `{"reasons": ["replied"]}`), 0, `{}`)
			has(u.Write.Post(at, fmt.Sprintf(`{"sequence_ids": [%q, %q]}`, manual, u.sequence(u.campaign, u.ids[2]).ID)), 0, `{"opted_out":1}`)
			if u.Dump() != before {
				t.Error("a refused request changed something")
			}
			has(u.Write.Post(at, fmt.Sprintf(`{"reasons": ["suppressed"], "expect": %d}`, n-2)), n-2, `{"opted_out":1,"replied":1}`)
			u.app.Work()
			stats := u.Read.Get(u.campaign + "/stats").Is(200)
			if got := stats.Int("data.active"); got != n-1 { // with the one that was never stopped
				t.Errorf("%d sequences are active: %s", got, stats.Body)
			}
			u.to("03-05 12:00")
			if sent := len(u.outbox()); sent != 2*(n+1)-2 {
				t.Errorf("%d messages were sent", sent)
			}
			u.agrees(u.campaign)
		})
	}
}

// TestEnrollOutcomes checks what enrolling says about each contact.
func TestEnrollOutcomes(t *testing.T) {
	p := newEngineFixture(t)
	active, done, stopped, twin, fresh, without := p.contact("a@x.example"), p.contact("d@x.example"), p.contact("s@x.example"), p.contact("A@x.example"), p.contact("f@x.example"), p.contact("")
	out := p.Write.Post("/v1/contacts", `{"email": "out@x.example", "do_not_contact": true}`).Is(201).ID()
	sue := p.contact("sue@x.example")
	p.Admin.Post("/v1/suppressions", `{"email": "sue@x.example"}`).Is(201)
	campaign := p.campaign([]string{done}, nil, []simStep{simMail(0, 0, 9)})
	p.is(campaign, done, "completed", "0 captured 03-02 09:00")
	p.Admin.Patch("/v1/organization", `{"sending_window": {"from_hour": 14, "to_hour": 15}}`).Is(200)
	p.Write.Post(campaign+"/enroll", enrolling("First", active, stopped)).Is(200)
	p.app.Work()
	p.Write.Post("/v1/sequences/"+p.sequence(campaign, stopped).ID+"/stop", `{"reason": "manual"}`).Is(200)
	const unknown = "0190b2f0-0000-7000-8000-000000000000"
	twoOfOne := p.contact("F@x.example")
	res := p.Write.Post(campaign+"/enroll", enrolling("Second", out, active, done, unknown, stopped, twin, fresh, without, sue, twoOfOne)).Is(200)
	want := []string{
		"refused contact_opted_out", "already_active", "already_completed", "refused contact_not_found", "stopped manual", "stopped duplicate_address",
		"started", "not_started no_address", "refused contact_suppressed", "stopped duplicate_address",
	}
	p.app.Work()
	for i, contact := range []string{out, active, done, unknown, stopped, twin, fresh, without, sue, twoOfOne} {
		at := fmt.Sprintf("data.contacts.%d.", i)
		got := res.Text(at + "outcome")
		if reason := res.Value(at + "reason"); reason != nil {
			got += fmt.Sprint(" ", reason)
		}
		if got != want[i] || res.Text(at+"contact_id") != contact {
			t.Errorf("%d: %s, want %s", i, got, want[i])
		}
		s := p.sequence(campaign, contact)
		if id := res.Value(at + "sequence_id"); id != nil && (s == nil || s.ID != id) {
			t.Errorf("%d: the sequence is %v, not %v", i, s, id)
		}
		if isStored := s != nil; isStored == strings.HasPrefix(want[i], "refused") {
			t.Errorf("%d: it has a sequence: %v", i, isStored)
		} else if isStored && s.Reason != nil && !strings.HasSuffix(want[i], *s.Reason) {
			t.Errorf("%d: %s, but the sequence is %s %s", i, want[i], s.Status, *s.Reason)
		}
	}
	if got := enrolled(t, res); got != "7 contact_not_found 1 contact_opted_out 1 contact_suppressed 1" {
		t.Error(got)
	}

	// A paused campaign that has never been active starts nobody yet.
	paused := simCampaign(p.Org, simAudience(p.Org), map[string]any{"status": "paused"}, []simStep{simMail(0, 0, 9)})
	res = p.Write.Post(paused+"/enroll", enrolling("Third", fresh)).Is(200)
	if res.Text("data.contacts.0.outcome") != "not_started" || res.Value("data.contacts.0.reason") != nil {
		t.Errorf("%s", res.Body)
	}
}

// TestRestartRepeatedRun stops a sequence that has begun again and sent nothing since. The email of the run before is sent a
// second time only if that is asked for again, however the sequence is restarted.
func TestRestartRepeatedRun(t *testing.T) {
	for _, how := range []struct{ name, answer, status string }{{"sent", "", "sent"}, {"unknown", apptest.MailDrop, "unknown"}} {
		t.Run(how.name, func(t *testing.T) {
			m := newMailer(t)
			bob := apptest.ContactsOf(m.Org, "bob")[0]
			if how.answer != "" {
				m.server.Reply(apptest.Answering(apptest.MailContent, how.answer))
			}
			campaign := m.sends(twoMails, "", bob)
			m.run()
			m.server.Reply(nil)
			if got := m.message("bob", 0).Status; got != how.status {
				t.Fatalf("the message is %s", got)
			}
			m.Write.Patch(campaign, `{"status": "paused"}`).Is(200)
			at := "/v1/sequences/" + m.listedSequence(campaign, bob).ID
			stop := func() {
				t.Helper()
				m.Write.Post(at+"/stop", `{"reason": "manual"}`).Is(200)
			}
			stop()
			m.Write.Post(at+"/restart", `{"from": "start"}`).Fails(422, "validation_failed", "repeat: required, because 1 emails")
			m.Write.Post(at+"/restart", `{"from": "start", "repeat": true}`).Is(200)
			stop()
			for _, from := range []string{"start", "next"} {
				m.Write.Post(at+"/restart", `{"from": "`+from+`"}`).Fails(422, "validation_failed", "repeat: required, because 1 emails")
			}
			res := m.Write.Post(campaign+"/restart", `{"reasons": ["manual"]}`).Is(200)
			if res.Int("data.restarted") != 0 || res.Int("data.kept.repeat") != 1 {
				t.Errorf("restarting all: %s", res.Body)
			}
			m.Write.Patch(campaign, `{"status": "active"}`).Is(200)
			before := len(m.server.Mails())
			m.run()
			if got := len(m.server.Mails()); got != before {
				t.Errorf("%d messages arrived", got-before)
			}
			m.Write.Post(at+"/restart", `{"from": "next", "repeat": true}`).Is(200)
			m.run()
			if got := len(m.server.Mails()); got != before+1 {
				t.Errorf("%d messages arrived, want 1", got-before)
			}
			m.checkConsistency()
		})
	}
}
