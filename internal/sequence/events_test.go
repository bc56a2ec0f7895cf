package sequence_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// receivedEvents returns the events that a subscriber received, in order.
func (p *engineFixture) receivedEvents(rec *apptest.Receiver) (events []apptest.Event) {
	p.t.Helper()
	p.app.Deliver()
	for _, h := range rec.Take() {
		e := h.Event(p.t)
		if err := p.app.CheckEvent(e.TriggerKey, []byte(h.Body)); err != nil {
			p.t.Errorf("%s: %v", h.Body, err)
		}
		events = append(events, e)
	}
	return events
}

// wantEvents requires exactly these events, each with the contact that it is about:
// "sequence.started c0".
func (p *engineFixture) wantEvents(rec *apptest.Receiver, contacts []string, want ...string) (events []apptest.Event) {
	p.t.Helper()
	events = p.receivedEvents(rec)
	var got []string
	for _, e := range events {
		var data struct {
			Contact string `json:"contact_id"`
		}
		if err := json.Unmarshal(e.Data, &data); err != nil {
			p.t.Fatal(err)
		}
		got = append(got, e.TriggerKey+" c"+string(rune('0'+slices.Index(contacts, data.Contact))))
	}
	if !slices.Equal(got, want) {
		p.t.Errorf("got events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return events
}

// sequenceText returns the sequence of a contact as it is listed, and messageText its last message
// without its texts.
func (p *engineFixture) sequenceText(campaign, contact string) string {
	p.t.Helper()
	return string(apptest.WholeList[json.RawMessage](p.t, p.Org, campaign+"/sequences", apptest.IsRule("contact_id", contact))[0])
}

func (p *engineFixture) messageText(contact string) string {
	p.t.Helper()
	all := apptest.WholeList[json.RawMessage](p.t, p.Org, "/v1/outbox", apptest.IsRule("contact_id", contact))
	message := apptest.Object(string(all[len(all)-1]))
	delete(message, "body")
	delete(message, "headers")
	return apptest.AsJSON(message)
}

// wantLastData requires that the last events have this data.
func (p *engineFixture) wantLastData(events []apptest.Event, want ...string) {
	p.t.Helper()
	if len(events) < len(want) {
		p.t.Fatalf("%d events arrived, want %d", len(events), len(want))
	}
	for i, e := range events[len(events)-len(want):] {
		if e.TriggerKey == "sequence.step_completed" { // also has the index of the step
			var data map[string]json.RawMessage
			if err := json.Unmarshal(e.Data, &data); err != nil || data["step_index"] == nil {
				p.t.Errorf("the event has no step_index: %v %s", err, e.Data)
			}
			delete(data, "step_index")
			e.Data, _ = json.Marshal(data)
		}
		if diff := apptest.Diff(want[i], string(e.Data)); diff != "" {
			p.t.Errorf("%s: %s\nit has %s", e.TriggerKey, diff, e.Data)
		}
	}
}

// TestEngineEvents checks that everything that happens to sequences and messages causes exactly one
// event, in order. Events contain the sequence as it is listed, and the message without its texts.
func TestEngineEvents(t *testing.T) {
	p := newEngineFixture(t)
	rec := apptest.NewReceiver(t)
	rec.Subscribe(p.Org, "sequence.*", "message.*")
	ids := p.contacts(3)
	p.Write.Patch("/v1/contacts/"+ids[2], `{"email": null}`).Is(200)
	campaign := simCampaign(p.Org, simAudience(p.Org, ids[0]), map[string]any{"status": "active"}, []simStep{simMail(0, 0, 10), simCall(1, 0, 9), simMail(2, 0, 9)},
		simAfter(0, 1, completes, "1 hours"), simAfter(1, 2, completes, "1 hours"))
	p.app.Work()
	began := p.wantEvents(rec, ids, "sequence.started c0")
	p.wantLastData(began, p.sequenceText(campaign, ids[0]))
	p.to("03-02 10:00")
	sent := p.wantEvents(rec, ids, "message.captured c0", "sequence.step_completed c0")
	p.wantLastData(sent, p.messageText(ids[0]), p.sequenceText(campaign, ids[0]))
	if at := sent[0].CreatedAt; at != "2026-03-02T10:00:00.000Z" {
		t.Errorf("the event was received at %s", at)
	}
	p.to("03-02 11:00") // created a Task, which completes nothing
	p.wantEvents(rec, ids)
	p.completeTasks()
	done := p.wantEvents(rec, ids, "sequence.step_completed c0")
	p.wantLastData(done, p.sequenceText(campaign, ids[0]))
	p.to("03-02 12:00")
	over := p.wantEvents(rec, ids, "message.captured c0", "sequence.step_completed c0", "sequence.completed c0")
	p.wantLastData(over, p.messageText(ids[0]), p.sequenceText(campaign, ids[0]), p.sequenceText(campaign, ids[0]))

	// A stopped sequence: its waiting step is skipped, which does not count as a completed step.
	// Contacts without an address cause events too.
	p.Write.Post(campaign+"/enroll", enrolling("Late", ids[1:]...)).Is(200)
	p.app.Work()
	p.wantEvents(rec, ids, "sequence.started c1", "sequence.started c2", "sequence.step_completed c2", "message.captured c1", "sequence.step_completed c1")
	p.Write.Patch("/v1/contacts/"+ids[1], `{"do_not_contact": true}`).Is(200)
	stopped := p.wantEvents(rec, ids, "sequence.stopped c1")
	p.wantLastData(stopped, p.sequenceText(campaign, ids[1]))
	p.Write.Patch("/v1/contacts/"+ids[1], `{"do_not_contact": false}`).Is(200)
	p.Write.Patch(campaign, `{"status": "paused"}`).Is(200)
	p.to("03-03 09:00")
	p.wantEvents(rec, ids)
	p.Write.Patch(campaign, `{"status": "archived"}`).Is(200)
	p.app.Work()
	archived := p.wantEvents(rec, ids, "sequence.stopped c2")
	p.wantLastData(archived, p.sequenceText(campaign, ids[2]))
	p.app.Restart()
	p.to("03-20 09:00")
	p.wantEvents(rec, ids)
	apptest.HasPending(t, p.app, 0)
}

// TestEngineEventsFailed checks that a message that cannot be sent fails, ends its step, and lets
// the sequence continue.
func TestEngineEventsFailed(t *testing.T) {
	m := newMailer(t)
	m.server.Reply(apptest.Answering("RCPT", "554 5.7.1 not you"))
	p := &engineFixture{m.Org, t, m.app}
	rec := apptest.NewReceiver(t)
	ids := p.contacts(1)
	rec.Subscribe(p.Org, "message.failed", "message.sent", "sequence.step_completed")
	campaign := p.campaign(ids, nil, []simStep{simMail(0, 0, 9), simCall(1, 0, 9)}, simAfter(0, 1, completes, "1 hours"))
	m.run()
	p.is(campaign, ids[0], "active", "0 failed 03-02 09:00 | 554 5.7.1 not you", "1 waiting 03-02 10:00 | 1 hour after step 0 failed")
	events := p.wantEvents(rec, ids, "message.failed c0", "sequence.step_completed c0")
	p.wantLastData(events, p.messageText(ids[0]), p.sequenceText(campaign, ids[0]))
	if m := p.outbox()[0]; m.Status != "failed" || *m.Error != "554 5.7.1 not you" {
		t.Errorf("%+v", m)
	}
	if n := p.Read.Get(campaign + "/stats").Is(200).Int("data.messages_failed"); n != 1 {
		t.Errorf("unexpected number of failed messages: %d", n)
	}
	p.runTo(p.app.Clock.Now().Add(48*time.Hour), p.completeTasks)
	p.is(campaign, ids[0], "completed", "0 failed 03-02 09:00", "1 done 03-02 10:00")
	p.agrees(campaign)
}

// TestEngineEventsOfDeletion checks that the events after the deletion of a contact reveal no more
// than GET does, also while its Tasks are still being rewritten.
func TestEngineEventsOfDeletion(t *testing.T) {
	p := newEngineFixture(t)
	contact := p.contacts(1)[0]
	var others []map[string]string
	for range 600 { // more than one transaction rewrites, created before the Task of the campaign
		others = append(others, map[string]string{"title": "Call back", "contact_id": contact})
	}
	p.Write.Post("/v1/tasks/batch", map[string]any{"records": others}).Is(200)
	campaign := p.campaign([]string{contact}, nil, []simStep{simCall(0, 0, 9)})
	task := p.tasks(apptest.IsRule("type", "call"))[0]
	if task.Contact == nil || *task.Contact != contact {
		t.Fatalf("%+v", task)
	}
	rec := apptest.NewReceiver(t)
	rec.Subscribe(p.Org, "sequence.stopped", "task.*", "contact.*", "audience.*")
	p.Write.Delete("/v1/contacts/" + contact).Is(204)
	atOnce := string(apptest.DataOf(p.Read.Get("/v1/tasks/" + task.ID).Is(200)))
	p.app.Work()
	events := p.receivedEvents(rec)
	p.wantLastData(events, p.sequenceText(campaign, contact), atOnce, `{"id": "`+contact+`"}`)
	p.wantLastData(events, p.sequenceText(campaign, contact), string(apptest.DataOf(p.Read.Get("/v1/tasks/"+task.ID).Is(200))), `{"id": "`+contact+`"}`)
	if len(events) != 3 || events[1].TriggerKey != "task.updated" || strings.Contains(string(events[1].Data), contact) {
		t.Errorf("unexpected events: %s", apptest.AsJSON(events))
	}
}

// TestEngineEventsWanted checks that events are delivered only to subscriptions that exist when
// they happen.
func TestEngineEventsWanted(t *testing.T) {
	p := newEngineFixture(t)
	ids := p.contacts(1)
	p.campaign(ids, nil, []simStep{simMail(0, 0, 9), simMail(1, 0, 10), simMail(2, 0, 11)})
	p.to("03-02 10:00")
	rec := apptest.NewReceiver(t)
	hook := rec.Subscribe(p.Org, "message.captured", "sequence.completed")
	p.wantEvents(rec, ids)
	p.to("03-02 11:00")
	p.wantEvents(rec, ids, "message.captured c0", "sequence.completed c0")
	p.Admin.Delete(apptest.SubscriptionsPath + "/" + hook).Is(204)
	p.to("03-09 11:00")
	p.wantEvents(rec, ids)
}
