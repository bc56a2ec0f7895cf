package sequence_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"prospector/internal/apptest"
	"prospector/internal/outreach"
	"prospector/internal/record"
	"prospector/store"
)

// TestEngineNoAddress checks that contacts without an email address get no message, but that their
// sequences continue. Later messages are sent to the address that exists by then.
func TestEngineNoAddress(t *testing.T) {
	p := newEngineFixture(t)
	ids := simContacts(p.Org, `{"first_name": "Ann", "last_name": "Lee"}`, `{"email": "b@x.example"}`)
	campaign := p.campaign(ids, nil, []simStep{simMail(0, 0, 9), simCall(1, 0, 9), simMail(2, 2, 9), simMail(3, 3, 9)}, simAfter(0, 1, completes, "1 hours"))
	p.is(campaign, ids[0], "active", "0 skipped 03-02 09:00 | the contact has no email address", "2 waiting 03-04 09:00", "3 waiting 03-05 09:00", "1 waiting 03-02 10:00 | 1 hour after step 0 was skipped")
	p.Write.Patch("/v1/contacts/"+ids[1], `{"email": null}`).Is(200)
	p.to("03-04 12:00")
	p.is(campaign, ids[0], "active", "0 skipped 03-02 09:00", "2 skipped 03-04 09:00 | the contact has no email address", "3 waiting 03-05 09:00", "1 task_open 03-02 10:00")
	p.is(campaign, ids[1], "active", "0 captured 03-02 09:00", "2 skipped 03-04 09:00 | the contact has no email address", "3 waiting 03-05 09:00", "1 task_open 03-02 10:00")
	p.Write.Patch("/v1/contacts/"+ids[0], `{"email": "a@x.example"}`).Is(200)
	p.Write.Patch("/v1/contacts/"+ids[1], `{"email": "new@x.example"}`).Is(200)
	p.to("03-06 12:00")
	p.sentAll("b@x.example 0 03-02 09:00", "a@x.example 3 03-05 09:00", "new@x.example 3 03-05 09:00")
	p.agrees(campaign)
}

// TestEngineNoOwner checks that a campaign without an owner sends nothing and creates unassigned
// Tasks, and that its sequences continue.
func TestEngineNoOwner(t *testing.T) {
	p := newEngineFixture(t)
	ids := p.contacts(1)
	template := p.Write.Post("/v1/sequence-templates", map[string]any{"name": "T", "steps": []simStep{simMail(0, 0, 9), simCall(1, 0, 9)}, "transitions": []simLink{simAfter(0, 1, completes, "1 hours")}}).Is(201).ID()
	body := apptest.Body(t, map[string]any{"name": "C", "template_id": template, "audience_ids": []string{simAudience(p.Org, ids...)}, "status": "active"})
	var campaign string
	err := p.app.Store.Update(context.Background(), p.ID, store.Actor{}, func(tx *store.Tx) error { // unlike any API key, which has a user
		doc, err := p.app.Outreach.Campaigns.Create(tx, record.NewDraft[outreach.Campaign](body))
		campaign = "/v1/campaigns/" + doc.ID.String()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	simSays(t, simulated(t, p.Org, campaign, nil)[0], "skip 2026-03-02T09:00:00Z | day 0 of the sequence at 09:00; the campaign has no owner to send it",
		"task 2026-03-02T10:00:00Z | 1 hour after step 0 was skipped")
	p.to("03-02 10:00")
	p.is(campaign, ids[0], "active", "0 skipped 03-02 09:00 | the campaign has no owner to send it", "1 task_open 03-02 10:00")
	if tasks := p.tasks(); len(tasks) != 1 || tasks[0].Owner != nil || len(p.outbox()) > 0 {
		t.Errorf("unexpected Tasks: %+v", tasks)
	}
	p.agrees(campaign)
}

// TestEngineTasks checks that every manual step creates a Task for the owner with instructions.
func TestEngineTasks(t *testing.T) {
	p := newEngineFixture(t)
	account := p.Write.Post("/v1/accounts", `{"name": "Müller"}`).Is(201).ID()
	contact := simContacts(p.Org, `{"email": "zoe@x.example", "first_name": "Zoë", "last_name": "Neil", "account_id": "`+account+`"}`)
	template := p.Write.Post("/v1/sequence-templates", `{"name": "T", "blocks": {"bye": {"name": "Bye", "block_type": "MANUAL", "content": "Bye, {{sender.first_name}}"}}, "steps": [
		{"index": 0, "type": "manual_email", "subject": "For {{recipient.company}}", "message": "Hi {{recipient.first_name}}\n[[block:bye]]"},
		{"index": 1, "type": "auto_linkedin_connection", "message": "Hello {{sender.title}}"},
		{"index": 2, "type": "auto_linkedin_message"},
		{"index": 3, "type": "call", "title": "Ask about Q2"},
		{"index": 4, "type": "task"},
		{"index": 5, "type": "gift", "gift_id": "mug", "message": "Enjoy"},
		{"index": 6, "type": "call", "title": "Ring {{ recipient.first_name }} of {{recipient.company}} {{sender.title}}for {{sender.first_name}}"},
		{"index": 7, "type": "call", "title": "{{sender.title}} {{sender.title}}"}]}`).Is(201).ID()
	campaign := p.Write.Post("/v1/campaigns", map[string]any{"name": "C", "template_id": template, "audience_ids": []string{simAudience(p.Org, contact...)}, "status": "active"}).Is(201).ID()
	p.app.Work()
	var got []string
	for _, task := range p.tasks() {
		read := p.Read.Get("/v1/tasks/" + task.ID).Is(200)
		if *task.Contact != contact[0] || *task.Campaign != campaign || *task.Owner != p.User.String() || read.Text("data.account_id") != account || task.Status != "open" || minute(*task.Due) != "03-02 09:00" {
			t.Errorf("%s", read.Body)
		}
		notes := "-"
		if task.Notes != nil {
			notes = *task.Notes
		}
		got = append(got, fmt.Sprintf("%s | %s | %s", task.Type, task.Title, notes))
	}
	want := []string{
		"email | Write an email: Zoë Neil | Subject: For Müller\n\nHi Zoë\nBye, Ada", "linkedin | Connect on LinkedIn: Zoë Neil | Hello ", "linkedin | Write on LinkedIn: Zoë Neil | -",
		"call | Ask about Q2: Zoë Neil | -", "todo | To do: Zoë Neil | -", "gift | Send a gift: Zoë Neil | Enjoy\n\nGift: mug",
		"call | Ring Zoë of Müller for Ada: Zoë Neil | -", "call | Call: Zoë Neil | -",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got Tasks\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	p.agrees("/v1/campaigns/" + campaign)
}

// TestEngineTaskEnds checks that completing, canceling or deleting a Task ends its step once.
func TestEngineTaskEnds(t *testing.T) {
	p := newEngineFixture(t)
	ids := p.contacts(4)
	campaign := p.campaign(ids, nil, []simStep{simCall(0, 0, 9), simMail(1, 0, 9)}, simAfter(0, 1, completes, "1 hours"))
	task := func(contact string) string {
		return "/v1/tasks/" + p.tasks(apptest.IsRule("contact_id", contact))[0].ID
	}
	p.to("03-02 10:00")
	p.Write.Patch(task(ids[0]), `{"status": "completed"}`).Is(200)
	p.Write.Patch(task(ids[1]), `{"status": "cancelled"}`).Is(200)
	p.Write.Delete(task(ids[2])).Is(204)
	p.Write.Patch(task(ids[3]), `{"title": "Call, and again", "due_at": "2026-04-01T09:00:00Z"}`).Is(200) // does not end the step
	p.to("03-02 10:30")
	p.Write.Patch(task(ids[0]), `{"status": "open"}`).Is(200) // the step has ended
	p.is(campaign, ids[0], "active", "0 done 03-02 09:00 at 03-02 10:00", "1 waiting 03-02 11:00 | 1 hour after step 0 was completed")
	p.to("03-02 12:00")
	p.Write.Patch(task(ids[0]), `{"status": "cancelled"}`).Is(200)
	p.Write.Delete(task(ids[1])).Is(204)
	p.is(campaign, ids[0], "completed", "0 done 03-02 09:00 at 03-02 10:00", "1 captured 03-02 11:00")
	p.is(campaign, ids[1], "completed", "0 skipped 03-02 09:00 at 03-02 10:00 | its Task was cancelled", "1 captured 03-02 11:00 | 1 hour after step 0 was skipped")
	p.is(campaign, ids[2], "completed", "0 skipped 03-02 09:00 at 03-02 10:00 | its Task was deleted", "1 captured 03-02 11:00")
	p.is(campaign, ids[3], "active", "0 task_open 03-02 09:00")
	// A Task can be completed while the campaign is paused; the following steps wait.
	p.Write.Patch(campaign, `{"status": "paused"}`).Is(200)
	p.Write.Patch(task(ids[3]), `{"status": "completed"}`).Is(200)
	p.to("03-02 15:00")
	p.is(campaign, ids[3], "active", "0 done 03-02 09:00 at 03-02 12:00", "1 waiting 03-02 13:00")
	p.Write.Patch(campaign, `{"status": "active"}`).Is(200)
	p.to("03-02 15:00")
	p.is(campaign, ids[3], "completed", "0 done 03-02 09:00 at 03-02 12:00", "1 captured 03-02 13:00 at 03-02 15:00 | ; overdue")
	p.agrees(campaign)
}

// TestEngineThread checks that an email without a subject is a reply to the previous one and has
// the headers of a reply.
func TestEngineThread(t *testing.T) {
	p := newEngineFixture(t)
	ids := simContacts(p.Org, `{"email": "a@x.example", "first_name": "Ann"}`)
	mail := func(index int, subject string) simStep {
		return simStep{Type: "auto_email", Index: index, Day: index, Hour: 9, Subject: subject, Message: "Hi {{recipient.first_name}} of {{recipient.company}}."}
	}
	p.campaign(ids, map[string]any{"missing_values": "send"}, []simStep{mail(0, ""), mail(1, "For {{recipient.company}}{{recipient.first_name}}"), mail(2, ""), mail(3, "re: that"), mail(4, "")})
	p.to("03-06 09:00")
	all := p.outbox()
	var ref []string
	text := func(s *string) string {
		if s == nil {
			return "-"
		}
		return *s
	}
	for i, want := range []string{"-", "For Ann", "Re: For Ann", "re: that", "re: that"} {
		m := all[i]
		h := m.Headers
		if text(m.Subject) != want || text(m.Body) != "Hi Ann of ."+p.app.Footer("Acme") || m.To != "a@x.example" || m.From != "ada@acme.example" || m.Status != "captured" {
			t.Errorf("message %d: unexpected content %+v", i, m)
		}
		answers := ""
		if i == 2 || i == 4 {
			answers = ref[i-1]
		}
		if h["In-Reply-To"] != answers || h["References"] != answers {
			t.Errorf("message %d: In-Reply-To = %q, References = %q, want only %q", i, h["In-Reply-To"], h["References"], answers)
		}
		if !strings.HasSuffix(h["Message-ID"], "@acme.example>") || slices.Contains(ref, h["Message-ID"]) || h["List-Unsubscribe-Post"] != "List-Unsubscribe=One-Click" ||
			!strings.HasPrefix(h["List-Unsubscribe"], "<"+p.app.URL+"/u/") {
			t.Errorf("message %d: unexpected headers %v", i, h)
		}
		ref = append(ref, h["Message-ID"])
	}
}
