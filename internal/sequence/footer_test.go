package sequence_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// footed is a mailer whose campaign has an email without a link of its own, one with the link in its
// text, and one with the link in a block.
func footed(t *testing.T) (m *mailer, contact, template, campaign string) {
	m = newMailer(t)
	contact = apptest.ContactsOf(m.Org, "bob")[0]
	campaign = m.sends(`"steps": [{"index": 0, "type": "auto_email", "subject": "One", "message": "Hello\n"},
		{"index": 1, "type": "auto_email", "subject": "Two", "message": "Stop: {{unsubscribe_url}}"}, {"index": 2, "type": "auto_email", "subject": "Three", "message": "[[block:stop]]"},
		{"index": 3, "type": "call", "message": "Call"}], "blocks": {"stop": {"name": "Stop", "content": "<{{ unsubscribe_url }}> bye"}}`, "", contact)
	return m, contact, apptest.TemplatesPath + "/" + m.Read.Get(campaign).Is(200).Text("data.template_id"), campaign
}

// TestFooterAdded checks that an email without the unsubscribe link gets the footer, in the same
// way wherever it is shown, and that only the recipient sees the link.
func TestFooterAdded(t *testing.T) {
	m, contact, template, campaign := footed(t)
	m.Admin.Patch("/v1/organization", `{"postal_address": "Street 1\nTown"}`).Is(200)
	const hidden = "/u/[hidden]"
	want := []string{"Hello\n\nAcme\nStreet 1\nTown\nUnsubscribe: " + m.app.URL + hidden, "Stop: " + m.app.URL + hidden, "<" + m.app.URL + hidden + "> bye", "Call"}
	rendered := m.Read.Post(template+"/render", map[string]string{"contact_id": contact}).Is(200)
	for i, step := range simulated(t, m.Org, campaign, nil)[0].Steps {
		if got := rendered.Text(fmt.Sprintf("data.steps.%d.message", i)); got != want[i] || *step.Message != want[i] {
			t.Errorf("step %d renders as %q and simulates as %q, want %q", i, got, *step.Message, want[i])
		}
	}
	m.run()
	mails := map[string]apptest.Mail{}
	for _, mail := range m.server.Mails() {
		mails[mail.Header.Get("Subject")] = mail
	}
	if len(mails) != 3 {
		t.Fatalf("%d messages arrived", len(mails))
	}
	for _, p := range m.outbox() {
		link, mail := m.app.URL+m.UnsubscribePath(p.ID), mails[p.Subject]
		received := strings.ReplaceAll(strings.TrimRight(mail.Body, "\r\n"), "\r\n", "\n")
		if want := strings.ReplaceAll(want[p.Step], m.app.URL+hidden, link); received != want || mail.Header.Get("List-Unsubscribe") != "<"+link+">" {
			t.Errorf("step %d arrives as %q with %q, want %q", p.Step, received, mail.Header.Get("List-Unsubscribe"), want)
		}
		m.app.Anonymous().Get(m.UnsubscribePath(p.ID)).Is(200)
	}
	list := m.Read.Post("/v1/outbox/list", `{"sort": "step_index"}`).Is(200)
	for i, want := range want[:3] {
		if got := list.Text(fmt.Sprintf("data.%d.body", i)); got != want {
			t.Errorf("the outbox shows %q, want %q", got, want)
		}
		if got := list.Text(fmt.Sprintf("data.%d.headers.List-Unsubscribe", i)); got != "<"+m.app.URL+hidden+">" {
			t.Errorf("the outbox shows the link %q", got)
		}
	}
	for _, p := range m.outbox() { // neither in what is stored
		if token := strings.TrimPrefix(m.UnsubscribePath(p.ID), "/u/"); strings.Contains(m.Dump(), token) || strings.Contains(string(list.Body), token) {
			t.Errorf("the token of step %d is stored", p.Step)
		}
	}
}

// TestFooterRetried checks that a message that is sent again has its link.
func TestFooterRetried(t *testing.T) {
	m := newMailer(t)
	m.server.Reply(func(stage, _ string) string {
		if stage == "RCPT" {
			return "450 4.2.1 busy"
		}
		return ""
	})
	m.sends(apptest.OneMail, "", apptest.ContactsOf(m.Org, "bob")...)
	m.run()
	m.server.Reply(nil)
	m.after(time.Hour)
	mails := m.server.Mails()
	if len(mails) != 1 || !strings.Contains(mails[0].Body, "Unsubscribe: "+m.app.URL+m.UnsubscribePath(m.outbox()[0].ID)) {
		t.Errorf("%d messages arrived: %+v", len(mails), mails)
	}
}

// TestFooterText checks what an organization can write into its footer.
func TestFooterText(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	org.Admin.Post("/v1/fields", `{"entity": "contacts", "key": "lang", "data_type": "text"}`).Is(201)
	contact := simContacts(org, `{"email": "x@x.example", "first_name": "Zoë"}`)[0]
	template := apptest.TextTemplate(org, "S", "{{recipient.first_name}}")
	link := app.URL + "/u/[hidden]"
	for _, c := range []struct{ footer, want string }{
		{`"{{organization.name}}, {{organization.postal_address}}\nStop: {{unsubscribe_url}}"`, "Zoë\n\nStop: " + link},
		{`"{{sender.title}} {{recipient.custom_field_lang}}\nBye {{recipient.first_name}}, {{sender.title|sales}}"`, "Zoë\n\nBye Zoë, sales\nUnsubscribe: " + link},
		{`null`, "Zoë\n\nAcme\nUnsubscribe: " + link},
		{`"x"`, "Zoë\n\nx\nUnsubscribe: " + link},
		{`""`, "Zoë\n\nAcme\nUnsubscribe: " + link},
	} {
		t.Run(c.footer, func(t *testing.T) {
			org.Admin.In(t).Patch("/v1/organization", `{"mail_footer": `+c.footer+`}`).Is(200)
			rendered := org.Read.In(t).Post(template+"/render", map[string]string{"contact_id": contact}).Is(200)
			if got := rendered.Text("data.steps.0.message"); got != c.want || !apptest.EqualsJSON(rendered.Value("data.steps.0.missing"), "[]") {
				t.Errorf("%s, want %q", rendered.Body, c.want)
			}
		})
	}
	for footer, want := range map[string]string{
		`"{{organisation.name}}"`:                          "mail_footer: unknown token {{organisation.name}}; did you mean {{organization.name}}?",
		`"[[block:x]]"`:                                    "mail_footer: [[block:x]] is not allowed: a footer cannot include a block",
		`"{{organization.name"`:                            "mail_footer: {{ has no closing }}",
		`"{{recipient.custom_field_none}}"`:                "mail_footer: unknown token",
		`"` + strings.Repeat("{{sender.email}}", 21) + `"`: "mail_footer: must have at most 20 tokens, not 21",
		`7`: "mail_footer: must be a string",
	} {
		t.Run(footer, func(t *testing.T) {
			org.Admin.In(t).Patch("/v1/organization", `{"mail_footer": `+footer+`}`).Fails(422, "validation_failed", want)
		})
	}
}

// TestUnsubscribeTokenPlaces checks that only automatic emails can contain the link.
func TestUnsubscribeTokenPlaces(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	const message = "{{unsubscribe_url}} is only allowed in the message of an auto_email"
	for step, path := range map[string]string{
		`{"index": 0, "type": "auto_email", "subject": "{{unsubscribe_url}}", "message": "m"}`: "steps[0].subject",
		`{"index": 0, "type": "auto_email", "title": "{{unsubscribe_url}}", "message": "m"}`:   "steps[0].title",
		`{"index": 0, "type": "manual_email", "message": "m {{unsubscribe_url}}"}`:             "steps[0].message",
		`{"index": 0, "type": "call", "message": "[[block:b]]"}`:                               "steps[0].message",
	} {
		t.Run(step, func(t *testing.T) {
			body := map[string]any{"name": "T", "steps": []json.RawMessage{json.RawMessage(step)}, "blocks": map[string]any{"b": map[string]string{"name": "B", "content": "{{unsubscribe_url}}"}}}
			org.Write.In(t).Post(apptest.TemplatesPath, body).Fails(422, "validation_failed", path+": "+message)
		})
	}
}
