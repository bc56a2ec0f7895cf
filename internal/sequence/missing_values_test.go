package sequence_test

import (
	"fmt"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// lacking is a campaign whose first email has a token without a value.
type lacking struct {
	*engineFixture
	contact, account, template, campaign string
}

// newLacking creates a contact of an account, and an active campaign with two emails, the first of
// which contains the text.
func (p *engineFixture) newLacking(text string, more map[string]any) *lacking {
	p.t.Helper()
	l := &lacking{engineFixture: p}
	l.account = p.Write.Post("/v1/accounts", `{"name": "Initech"}`).Is(201).ID()
	name := fmt.Sprintf("l%d@x.example", p.Read.Post("/v1/contacts/list", nil).Is(200).Int("pagination.total_count"))
	l.contact = p.Write.Post("/v1/contacts", map[string]string{"email": name, "first_name": "Lee", "account_id": l.account}).Is(201).ID()
	first := simMail(0, 0, 9)
	first.Message = "About " + text + "."
	l.campaign = p.campaign([]string{l.contact}, more, []simStep{first, simMail(1, 0, 9)}, simAfter(0, 1, scheduled, "1 hours"))
	l.template = "/v1/sequence-templates/" + p.Read.Get(l.campaign).Is(200).Text("data.template_id")
	return l
}

// isHeld requires that the first step is held because a token has no value.
func (l *lacking) isHeld(token string) {
	l.t.Helper()
	s := l.sequence(l.campaign, l.contact)
	if first := s.History[0]; s.Status != "active" || first.Status != "held" || first.Message != nil || !strings.HasSuffix(first.Reason, "; held: no value for "+token) {
		l.t.Errorf("the sequence is %+v, want a step held for %s", s, token)
	}
	if stats := l.Read.Get(l.campaign + "/stats").Is(200); stats.Int("data.steps.0.held") != 1 || stats.Int("data.steps.0.waiting") != 0 {
		l.t.Errorf("the statistics are %s", stats.Body)
	}
}

// wrote requires that the first step was captured with the text, from a version of the template.
func (l *lacking) wrote(text string, version int) {
	l.t.Helper()
	s := l.sequence(l.campaign, l.contact)
	first := s.History[0]
	if first.Status != "captured" || first.Version != version || strings.Contains(first.Reason, "held") {
		l.t.Fatalf("the step is %+v, want it captured from version %d", first, version)
	}
	m := l.outbox(apptest.IsRule("sequence_id", s.ID), apptest.IsRule("id", *first.Message))[0]
	if body, _, _ := strings.Cut(*m.Body, "\n\n"); body != text {
		l.t.Errorf("the message is %q, want %q", body, text)
	}
	l.agrees(l.campaign)
}

// An email without the value of a token is held until something that has the value changes.
func TestMissingValues(t *testing.T) {
	p := newEngineFixture(t)
	p.Admin.Post("/v1/fields", `{"entity": "contacts", "key": "color", "label": "Color", "data_type": "text"}`).Is(201)
	for _, c := range []struct {
		token, text string
		version     int
		fix         func(l *lacking)
	}{
		{"recipient.title", "About VP.", 1, func(l *lacking) { l.Write.Patch("/v1/contacts/"+l.contact, `{"title": "VP"}`).Is(200) }},
		{"recipient.custom_field_color", "About red.", 1, func(l *lacking) { l.Write.Patch("/v1/contacts/"+l.contact, `{"custom_field_color": "red"}`).Is(200) }},
		{"account.industry", "About Paper.", 1, func(l *lacking) { l.Write.Patch("/v1/accounts/"+l.account, `{"industry": "Paper"}`).Is(200) }},
		{"account.country", "About Peru.", 1, func(l *lacking) {
			other := l.Write.Post("/v1/accounts", `{"name": "Hooli", "country": "Peru"}`).Is(201).ID()
			l.Write.Patch("/v1/contacts/"+l.contact, `{"account_id": "`+other+`"}`).Is(200)
		}},
		{"sender.title", "About Head.", 1, func(l *lacking) { l.Admin.Patch("/v1/users/"+l.User.String(), `{"title": "Head"}`).Is(200) }},
		{"organization.postal_address", "About Main St 1.", 1, func(l *lacking) { l.Admin.Patch("/v1/organization", `{"postal_address": "Main St 1"}`).Is(200) }},
		{"recipient.last_name", "New text.", 2, func(l *lacking) {
			l.Write.Patch(l.template, `{"steps": [{"index": 0, "type": "auto_email", "subject": "Hello", "message": "New text."}, {"index": 1, "type": "auto_email", "message": "Hi"}],
				"transitions": [{"from_step_index": 0, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_SCHEDULED", "post_check_delay": 1, "post_check_time_unit": "hours"}]}`).Is(200)
		}},
		{"recipient.phone_number", "About .", 1, func(l *lacking) { l.Write.Patch(l.campaign, `{"missing_values": "send"}`).Is(200) }},
	} {
		t.Run(c.token, func(t *testing.T) {
			l := (&engineFixture{p.Org, t, p.app}).newLacking("{{"+c.token+"}}", nil)
			l.isHeld(c.token)
			l.patchContact(l.contact, `{"notes": "Something else."}`)
			l.Write.Patch("/v1/accounts/"+l.account, `{"notes": "Something else."}`).Is(200)
			l.app.Work()
			l.app.Restart()
			l.app.Work()
			l.isHeld(c.token)
			c.fix(l)
			l.app.Work()
			l.wrote(c.text, c.version)
		})
	}
}

// A held email blocks the later ones of its sequence, but neither other steps nor other sequences.
func TestMissingValuesBlock(t *testing.T) {
	p := newEngineFixture(t)
	ids := simContacts(p.Org, `{"email": "bo@x.example", "first_name": "Bo"}`, `{"email": "cy@x.example"}`)
	first := simMail(0, 0, 9)
	first.Message = "Hi {{recipient.first_name}}"
	campaign := p.campaign(ids, nil, []simStep{first, simMail(1, 1, 9), simCall(2, 1, 10)})
	p.to("03-03 12:00")
	p.is(campaign, ids[0], "active", "0 captured 03-02 09:00", "1 captured 03-03 09:00", "2 task_open 03-03 10:00")
	s := p.sequence(campaign, ids[1])
	if got := []string{s.History[0].Status, s.History[1].Status, s.History[2].Status}; got[0] != "held" || got[1] != "waiting" || got[2] != "task_open" {
		t.Errorf("the steps are %q", got)
	}
	if !strings.HasSuffix(s.History[1].Reason, "; waits for the email of step 0, which is held") {
		t.Errorf("the reason of the blocked email is %q", s.History[1].Reason)
	}
	if s.Next != nil && !s.Next.After(p.app.Clock.Now()) {
		t.Errorf("it is due at %s", s.Next)
	}
	p.patchContact(ids[1], `{"first_name": "Cy"}`)
	p.to("03-06 12:00")
	sent := p.outbox(apptest.IsRule("contact_id", ids[1]))
	if len(sent) != 2 || minute(sent[0].Created) != "03-03 12:00" || sent[0].Step != 0 || sent[1].Created.Sub(sent[0].Created).Hours() < 12 {
		t.Errorf("sent %+v", sent)
	}
	p.agrees(campaign)
}

// A campaign can send without the values, or skip such emails. A fallback never holds one, nor does
// the footer.
func TestMissingValuesChoice(t *testing.T) {
	p := newEngineFixture(t)
	p.Admin.Patch("/v1/organization", `{"mail_footer": "{{organization.postal_address}}\nLeave: {{unsubscribe_url}}"}`).Is(200)
	for _, c := range []struct {
		choice, text, status, reason, body string
	}{
		{"send", "{{recipient.title}}", "captured", "", "About ."},
		{"skip", "{{recipient.title}}", "skipped", "no value for recipient.title", ""},
		{"skip", "{{recipient.title|you}}", "captured", "", "About you."},
		{"hold", "{{recipient.title|you}}", "captured", "", "About you."},
		{"hold", "{{recipient.title|}}", "captured", "", "About ."},
	} {
		t.Run(c.choice+" "+c.text, func(t *testing.T) {
			l := (&engineFixture{p.Org, t, p.app}).newLacking(c.text, map[string]any{"missing_values": c.choice})
			first := l.sequence(l.campaign, l.contact).History[0]
			if first.Status != c.status || !strings.HasSuffix(first.Reason, c.reason) {
				t.Fatalf("the step is %+v", first)
			}
			if c.status == "captured" {
				l.wrote(c.body, 1)
			}
		})
	}
	campaign := p.newLacking("{{recipient.title}}", nil).campaign
	p.Write.Patch(campaign, `{"missing_values": "wait"}`).Fails(422, "validation_failed", "missing_values")
	if got := p.Read.Get(campaign).Is(200).Text("data.missing_values"); got != "hold" {
		t.Errorf("the default is %s", got)
	}
}

// Many held steps are looked at again in a job.
func TestMissingValuesMany(t *testing.T) {
	p := newEngineFixture(t)
	first := simMail(0, 0, 9)
	first.Message = "From {{organization.postal_address}}"
	campaign := p.campaign(p.contacts(250), nil, []simStep{first})
	if n := p.Read.Get(campaign + "/stats").Is(200).Int("data.steps.0.held"); n != 250 {
		t.Fatalf("%d steps are held", n)
	}
	p.Admin.Patch("/v1/organization", `{"postal_address": "Main St 1"}`).Is(200)
	p.app.Work()
	p.app.Work()
	if n := p.Read.Get(campaign + "/stats").Is(200).Int("data.messages_captured"); n != 250 {
		t.Errorf("%d messages are captured", n)
	}
	p.agrees(campaign)
}
