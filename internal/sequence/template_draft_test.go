package sequence_test

import (
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// draft is a template that is not saved: an email, a reply to it and a call.
const draft = `"steps": [
	{"index": 0, "type": "auto_email", "hour": 10, "subject": "Hello {{recipient.first_name}}", "message": "[[block:offer]] {{sender.first_name}}"},
	{"index": 1, "type": "auto_email", "message": "And now?"}, {"index": 2, "type": "call", "message": "Ask {{recipient.first_name}}."}],
	"transitions": [{"from_step_index": 0, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_COMPLETES", "post_check_delay": 1, "post_check_time_unit": "hours"},
		{"from_step_index": 1, "to_step_index": 2, "transition_type": "PREVIOUS_STEP_COMPLETES", "post_check_delay": 1, "post_check_time_unit": "business_days"}],
	"blocks": {"offer": {"name": "Offer", "content": "Shall we talk?"}}`

// TestTemplateDraft checks that a template can be checked, rendered and planned before it is saved.
func TestTemplateDraft(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	bill := org.Write.Post("/v1/contacts", `{"first_name": "Bill", "email": "bill@initech.example"}`).Is(201).ID()
	const path = "/v1/sequence-templates/render"
	res := org.Read.Post(path, `{`+draft+`, "contact_id": "`+bill+`"}`).Is(200)
	apptest.Shows(t, res, `{"data.steps.0.subject": "Hello Bill", "data.steps.0.due_at": "2026-03-02T10:00:00.000Z", "data.steps.0.type": "auto_email",
		"data.steps.1.subject": "Re: Hello Bill", "data.steps.1.due_at": "2026-03-02T11:00:00.000Z", "data.steps.2.message": "Ask Bill.", "data.steps.2.index": 2}`)
	if due := res.Text("data.steps.2.due_at"); !strings.HasPrefix(due, "2026-03-03") {
		t.Errorf("the call is due at %s", due)
	}
	if first := res.Text("data.steps.0.message"); !strings.HasPrefix(first, "Shall we talk? Ada") || res.Text("data.steps.0.reason") == "" {
		t.Errorf("the first step is %s", res.Body)
	}
	// It is what a saved template renders.
	saved := org.Write.Post("/v1/sequence-templates", `{"name": "Hello", `+draft+`}`).Is(201).ID()
	rendered := org.Read.Post("/v1/sequence-templates/"+saved+"/render", `{"contact_id": "`+bill+`"}`).Is(200)
	for _, member := range []string{"subject", "message"} {
		if a, b := res.Text("data.steps.1."+member), rendered.Text("data.steps.1."+member); a != b {
			t.Errorf("%s is %q in the draft and %q in the template", member, a, b)
		}
	}
	org.Write.Delete("/v1/sequence-templates/" + saved).Is(204)

	// Without a contact, the times are the same.
	apptest.Shows(t, org.Read.Post(path, `{`+draft+`}`).Is(200), `{"data.steps.0.subject": "Hello ", "data.steps.0.missing.0": "recipient.first_name", "data.steps.0.due_at": "2026-03-02T10:00:00.000Z"}`)

	for _, c := range []struct{ body, says string }{
		{`{}`, "steps: required"},
		{`{"steps": [{"index": 0, "type": "auto_email", "subject": "{{nope}}", "message": "x"}]}`, "nope"},
		{`{` + draft + `, "contact_id": "` + apptest.Makers["contacts"](other) + `"}`, "contact_id: does not exist"},
		{`{` + draft + `, "user_id": "` + other.User.String() + `"}`, "user_id: does not exist"},
	} {
		t.Run(apptest.RowName(c.body), func(t *testing.T) { org.Read.In(t).Post(path, c.body).Fails(422, "validation_failed", c.says) })
	}
	apptest.Shows(t, org.Read.Post("/v1/sequence-templates/list", `{}`).Is(200), `{"pagination.total_count": 0}`)
}

// TestTestSend checks that an email of a draft is sent to its author and to nobody else.
func TestTestSend(t *testing.T) {
	m := newMailer(t)
	bill := m.Write.Post("/v1/contacts", `{"first_name": "Bill", "email": "bill@initech.example"}`).Is(201).ID()
	const path = "/v1/sequence-templates/test"
	m.Write.Post(path, `{`+draft+`, "contact_id": "`+bill+`", "step_index": 1}`).Is(200, `{"data": {"to": "ada@acme.example", "subject": "Re: Hello Bill", "sent": true, "detail": "<any>"}, "meta": "<any>"}`)
	mails := m.server.Mails()
	if len(mails) != 1 || len(mails[0].To) != 1 || mails[0].To[0] != "ada@acme.example" || mails[0].Header.Get("Subject") != "Re: Hello Bill" {
		t.Errorf("the server accepted %+v", mails)
	}
	if len(m.outbox()) != 0 {
		t.Errorf("the outbox has %v", m.outbox())
	}
	m.server.Reply(apptest.Answering("RCPT", "550 5.1.1 nobody"))
	res := m.Write.Post(path, `{`+draft+`, "step_index": 0}`).Is(200)
	if res.Value("data.sent") != false || !strings.Contains(res.Text("data.detail"), "550 5.1.1 nobody") {
		t.Errorf("a refused message gives %s", res.Body)
	}
	m.Write.Post(path, `{`+draft+`}`).Fails(422, "validation_failed", "step_index: required")
	m.Write.Post(path, `{`+draft+`, "step_index": 2}`).Fails(422, "validation_failed", "step_index: 2 is not the index of an email")
	m.Write.Post(path, `{`+draft+`, "step_index": 7}`).Fails(422, "validation_failed", "step_index: 7 is not the index of an email")
	m.Write.Post(path, `{"step_index": 0}`).Fails(422, "validation_failed", "steps: required")

	// With the transport outbox, nothing is sent.
	app := apptest.New(t)
	apptest.Shows(t, app.Org("Acme").Write.Post(path, `{`+draft+`, "step_index": 0}`).Is(200), `{"data.sent": false, "data.detail": "mail.transport is outbox: messages are captured in the outbox and nothing is sent"}`)
}
