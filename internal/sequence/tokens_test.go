package sequence_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"prospector/internal/apptest"
	"prospector/internal/crm"
	"prospector/internal/identity"
	"prospector/internal/shape"
)

// shownAlike renders a text for a contact in every way and requires that all ways agree. It returns
// the message without its footer, and the missing tokens.
func shownAlike(t *testing.T, org *apptest.Org, contact, text string) (message, missing string) {
	t.Helper()
	template := apptest.TextTemplate(org, "S", text+".")
	rendered := org.Read.Post(template+"/render", map[string]string{"contact_id": contact}).Is(200)
	campaign := org.Write.Post("/v1/campaigns", map[string]any{"name": "C", "template_id": apptest.IDIn(template), "audience_ids": []string{simAudience(org, contact)}}).Is(201).ID()
	step := simulated(t, org, "/v1/campaigns/"+campaign, nil)[0].Steps[0]
	message, missing = rendered.Text("data.steps.0.message"), fmt.Sprint(step.Missing)
	if *step.Message != message || !apptest.EqualsJSON(rendered.Value("data.steps.0.missing"), jsonList(step.Missing)) {
		t.Errorf("%s: the simulation has %q, missing %v; rendered %s", text, *step.Message, step.Missing, rendered.Body)
	}
	message, _, _ = strings.Cut(message, ".\n\n")
	return message, missing
}

func jsonList(texts []string) string {
	quoted := make([]string, len(texts))
	for i, s := range texts {
		quoted[i] = fmt.Sprintf("%q", s)
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

// TestTokenFallbacks checks what stands for a missing value.
func TestTokenFallbacks(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	contact := simContacts(org, `{"email": "x@x.example", "first_name": "Zoë"}`)[0]
	for _, c := range []struct{ text, message, missing string }{
		{"{{recipient.first_name|there}}", "Zoë", "[]"},
		{"{{recipient.last_name|there}}", "there", "[]"},
		{"{{ recipient.last_name | dear  \"customer\" }}", `dear  "customer"`, "[]"},
		{"<{{recipient.last_name|}}>", "<>", "[]"},
		{"{{recipient.last_name|a|b}}", "a|b", "[]"},
		{"{{recipient.last_name|two\nlines}}", "two\nlines", "[]"},
		{"{{recipient.last_name|x}} {{recipient.last_name}}", "x ", "[recipient.last_name]"},
		{"{{recipient.company|your company}}, {{sender.title|sales}}, {{account.industry}}", "your company, sales, ", "[account.industry]"},
	} {
		t.Run(c.text, func(t *testing.T) {
			if message, missing := shownAlike(t, org, contact, c.text); message != c.message || missing != c.missing {
				t.Errorf("%q, missing %s; want %q, missing %s", message, missing, c.message, c.missing)
			}
		})
	}
	for text, want := range map[string]string{
		"{{recipient.last_name|{{recipient.first_name}}}}": "{{recipient.last_name|{{recipient.first_name}}: a fallback cannot contain {{",
		"{{nobody|there}}": "unknown token {{nobody|there}}",
		"{{|there}}":       "unknown token {{|there}}",
	} {
		t.Run(text, func(t *testing.T) {
			body := map[string]any{"name": "T", "steps": []any{map[string]any{"index": 0, "type": "auto_email", "message": text}}}
			org.Write.In(t).Post(apptest.TemplatesPath, body).Fails(422, "validation_failed", "steps[0].message: "+want)
		})
	}
}

// withoutToken are the fields that no token shows: the service sets them, or they refer to a record.
var withoutToken = []string{"id", "created_at", "updated_at", "active", "access", "last_seen_at", "tags", "owner_id", "account_id", "other_emails", "other_phones", "other_external_ids"}

// TestTokenFields checks that there is a token for every field of the contact, its account and the
// sender, and for the organization.
func TestTokenFields(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account := org.Write.Post("/v1/accounts", `{"name": "Initech", "website": "initech.example", "industry": "Software", "employee_count": 1250, "annual_revenue": 1500000.5,
		"founded_year": 1999, "description": "Printers", "country": "Germany", "location": "Berlin", "linkedin_url": "https://linkedin.example/c/i", "phone_number": "030",
		"notes": "nice", "external_id": "i-1"}`).Is(201).ID()
	contact := org.Write.Post("/v1/contacts", `{"account_id": "`+account+`", "first_name": "Bill", "last_name": "Lumbergh", "email": "bill@initech.example", "title": "VP", "phone_number": "040",
		"linkedin_url": "https://linkedin.example/in/b", "location": "Hamburg", "city": "Altona", "country": "Germany", "notes": "owes\nreports", "scoring": {"heat_score": "hot"}, "external_id": "b-1"}`).Is(201).ID()
	org.Admin.Patch("/v1/users/"+org.User.String(), `{"title": "Founder"}`).Is(200)
	org.Admin.Patch("/v1/organization", `{"postal_address": "Street 1\nTown"}`).Is(200)
	values := map[string]string{
		"recipient.first_name": "Bill", "recipient.last_name": "Lumbergh", "recipient.email": "bill@initech.example", "recipient.title": "VP", "recipient.phone_number": "040",
		"recipient.linkedin_url": "https://linkedin.example/in/b", "recipient.location": "Hamburg", "recipient.city": "Altona", "recipient.country": "Germany", "recipient.notes": "owes\nreports", "recipient.scoring.heat_score": "hot",
		"recipient.external_id": "b-1", "recipient.source": "api", "recipient.do_not_contact": "no", "recipient.company": "Initech",
		"account.name": "Initech", "account.website": "initech.example", "account.industry": "Software", "account.employee_count": "1250", "account.annual_revenue": "1500000.5",
		"account.founded_year": "1999", "account.description": "Printers", "account.country": "Germany", "account.location": "Berlin", "account.linkedin_url": "https://linkedin.example/c/i",
		"account.phone_number": "030", "account.notes": "nice", "account.external_id": "i-1", "account.source": "api",
		"sender.first_name": "Ada", "sender.last_name": "Marsh", "sender.title": "Founder", "sender.email": "ada@acme.example", "sender.company": "Acme",
		"organization.name": "Acme", "organization.postal_address": "Street 1\nTown",
	}
	for _, f := range apptest.Fields("contacts") { // fields that came later
		if token := "recipient." + f.Key; values[token] == "" && f.Type == "text" && !slices.Contains(withoutToken, f.Key) {
			values[token] = "Any " + f.Key
			org.Write.Patch("/v1/contacts/"+contact, map[string]string{f.Key: values[token]}).Is(200)
		}
	}
	for name, want := range values {
		t.Run(name, func(t *testing.T) {
			if message, missing := shownAlike(t, org, contact, "{{"+name+"}}"); message != want || missing != "[]" {
				t.Errorf("%q, missing %s; want %q", message, missing, want)
			}
		})
	}
	// No field is forgotten: one that has no token is set by the service, or refers to a record.
	for group, fields := range map[string][]shape.Field{
		"recipient": shape.Of[crm.Contact]().Flat(), "account": shape.Of[crm.Account]().Flat(), "sender": shape.Of[identity.User]().Flat(),
	} {
		for _, f := range fields {
			_, has := values[group+"."+f.Key]
			if has == slices.Contains(withoutToken, f.Key) {
				t.Errorf("%s.%s: has a token: %v", group, f.Key, has)
			}
		}
	}
	// A value is a single line in a subject.
	path := apptest.TextTemplate(org, "To {{recipient.notes}}", "m")
	if got := org.Read.Post(path+"/render", map[string]string{"contact_id": contact}).Is(200).Text("data.steps.0.subject"); got != "To owes reports" {
		t.Errorf("the subject is %q", got)
	}
	for text, want := range map[string]string{
		"{{recipient.account_id}}":        "unknown token {{recipient.account_id}}",
		"{{recipient.tags}}":              "unknown token {{recipient.tags}}",
		"{{recipient.nothing_like_this}}": "GET /v1/schemas/contacts lists the fields",
		"{{account.nothing_like_this}}":   "GET /v1/schemas/accounts lists the fields",
		"{{organization.mail_footer}}":    "a token is a field of recipient, account, sender or organization",
		"{{sender.active}}":               "unknown token {{sender.active}}",
	} {
		t.Run(text, func(t *testing.T) {
			body := map[string]any{"name": "T", "steps": []any{map[string]any{"index": 0, "type": "auto_email", "message": text}}}
			org.Write.In(t).Post(apptest.TemplatesPath, body).Fails(422, "validation_failed", want)
		})
	}
}

// TestTokenCustomFields checks that custom fields of contacts and accounts have tokens, and that a
// deleted field has no value.
func TestTokenCustomFields(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	fields := map[string]string{}
	for _, entity := range []string{"contacts", "accounts"} {
		for key, kind := range map[string]string{"note": "text", "score": "number", "vip": "boolean", "since": "date", "level": `enum", "allowed_values": ["gold", "tin"], "label": "L`, "likes": `multi_select", "allowed_values": ["tea", "soup \"a\""], "label": "L`} {
			fields[entity+" "+key] = org.Admin.Post("/v1/fields", fmt.Sprintf(`{"entity": %q, "key": %q, "data_type": "%s"}`, entity, key, kind)).Is(201).ID()
		}
	}
	const all = `"custom_field_note": "a \"b\"", "custom_field_score": 7.5, "custom_field_vip": true, "custom_field_since": "2026-03-01", "custom_field_level": "gold", "custom_field_likes": ["tea", "soup \"a\""]`
	account := org.Write.Post("/v1/accounts", `{"name": "Initech", `+all+`}`).Is(201).ID()
	contact := org.Write.Post("/v1/contacts", `{"email": "b@x.example", "account_id": "`+account+`", `+all+`}`).Is(201).ID()
	for key, want := range map[string]string{"note": `a "b"`, "score": "7.5", "vip": "yes", "since": "2026-03-01", "level": "gold", "likes": `tea, soup "a"`} {
		for _, group := range []string{"recipient", "account"} {
			t.Run(group+key, func(t *testing.T) {
				if message, missing := shownAlike(t, org, contact, "{{"+group+".custom_field_"+key+"}}"); message != want || missing != "[]" {
					t.Errorf("%q, missing %s; want %q", message, missing, want)
				}
			})
		}
	}
	body := func(text string) map[string]any {
		return map[string]any{"name": "T", "steps": []any{map[string]any{"index": 0, "type": "auto_email", "subject": "S", "message": text}}, "transitions": []any{}}
	}
	org.Write.Post(apptest.TemplatesPath, body("{{recipient.custom_field_none}}")).Fails(422, "validation_failed", "unknown token {{recipient.custom_field_none}}; contacts have no such custom field")
	org.Write.Post(apptest.TemplatesPath, body("{{sender.custom_field_note}}")).Fails(422, "validation_failed", "unknown token")
	app.Org("Other").Write.Post(apptest.TemplatesPath, body("{{recipient.custom_field_note}}")).Fails(422, "validation_failed", "contacts have no such custom field")

	// A field that is deleted later has no value any more.
	path := apptest.TemplatesPath + "/" + org.Write.Post(apptest.TemplatesPath, body("{{recipient.custom_field_note}}|{{account.custom_field_note|none}}")).Is(201).ID()
	org.Admin.Delete("/v1/fields/" + fields["contacts note"]).Is(204)
	org.Admin.Delete("/v1/fields/" + fields["accounts note"]).Is(204)
	rendered := org.Read.Post(path+"/render", map[string]string{"contact_id": contact}).Is(200)
	if !strings.HasPrefix(rendered.Text("data.steps.0.message"), "|none\n") || !apptest.EqualsJSON(rendered.Value("data.steps.0.missing"), `["recipient.custom_field_note"]`) {
		t.Errorf("%s", rendered.Body)
	}
	org.Write.Patch(path, `{"name": "Other name"}`).Is(200)
	org.Write.Patch(path, body("x {{recipient.custom_field_note}}")).Fails(422, "validation_failed", "contacts have no such custom field")
}
