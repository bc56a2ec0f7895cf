package crm_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

func TestContact(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account := org.Write.Post("/v1/accounts", `{"name": "Initech"}`).Is(201).ID()
	tag := org.Write.Post("/v1/tags", `{"name": "Champion", "color": "green", "object_type": "contact"}`).Is(201).ID()

	// Every field is present, and null without a value.
	sparse := org.Write.Post("/v1/contacts", `{"linkedin_url": "https://linkedin.example/in/bill"}`).Is(201, `{
		"data": `+apptest.Record("contacts", `{"created_at": "2026-03-02T09:00:00.000Z", "updated_at": "2026-03-02T09:00:00.000Z", "account_id": null,
			"first_name": null, "last_name": null, "email": null, "other_external_ids": [], "title": null,
			"linkedin_url": "https://linkedin.example/in/bill", "source": "api", "do_not_contact": false,
			"scoring": {"heat_score": null}, "external_id": null, "tags": []}`)+`,
		"meta": {"timestamp": "2026-03-02T09:00:00.000Z"}}`)

	full := fmt.Sprintf(`{"account_id": %q, "first_name": "Bill", "last_name": " O'Lumbergh & <Söhne> ", "email": "Bill.L@Initech.example",
		"other_emails": [], "title": "VP", "phone_number": "+1 555 0100", "other_phones": [], "linkedin_url": "https://linkedin.example/in/bl", "location": "Austin", "city": "Austin",
		"country": "United States", "other_external_ids": ["hubspot:12"],
		"source": "csv", "do_not_contact": true, "notes": "line\nbreak \u2028 \"quoted\"", "scoring": {"heat_score": "hot"}, "tags": [%q, %q]}`, account, tag, tag)
	want := apptest.RecordAnswer("contacts", fmt.Sprintf(`{"account_id": %q,
		"first_name": "Bill", "last_name": " O'Lumbergh & <Söhne> ", "email": "Bill.L@Initech.example",
		"other_emails": [], "title": "VP", "phone_number": "+1 555 0100", "other_phones": [], "linkedin_url": "https://linkedin.example/in/bl", "location": "Austin", "city": "Austin",
		"country": "United States", "other_external_ids": ["hubspot:12"],
		"source": "csv", "do_not_contact": true, "notes": "line\nbreak \u2028 \"quoted\"", "scoring": {"heat_score": "hot"}, "external_id": null, "tags": [%q]}`, account, tag))
	id := org.Write.Post("/v1/contacts", full).Is(201, want).ID()
	got := org.Read.Get("/v1/contacts/"+id).Is(200, want)
	if got.Header.Get("ETag") == "" {
		t.Fatal("no ETag")
	}
	if sparse.ID() >= id {
		t.Fatal("ids do not increase")
	}

	// PATCH: absent fields stay unchanged, null clears, and both paths are the same operation.
	app.Clock.Advance(1500 * time.Millisecond)
	patched := org.Write.Patch("/v1/contacts/"+id, `{"title": null, "do_not_contact": null, "scoring": {"heat_score": "cold"}, "notes": ""}`).Is(200)
	for path, want := range map[string]any{"title": nil, "do_not_contact": false, "notes": nil, "first_name": "Bill",
		"updated_at": "2026-03-02T09:00:01.500Z", "created_at": "2026-03-02T09:00:00.000Z"} {
		if v := patched.Value("data." + path); v != want {
			t.Errorf("%s is %v, want %v", path, v, want)
		}
	}
	if patched.Value("data.scoring.heat_score") != "cold" {
		t.Error(string(patched.Body))
	}
	preview := org.Write.Patch("/v1/preview/contacts/"+id, `{"title": "CEO", "tags": null, "scoring": null, "account_id": null}`).Is(200)
	if preview.Text("data.title") != "CEO" || preview.Value("data.scoring.heat_score") != nil || preview.Value("data.account_id") != nil || len(preview.Value("data.tags").([]any)) != 0 {
		t.Error(string(preview.Body))
	}

	// An update without changes creates no version.
	app.Clock.Advance(time.Second)
	again := org.Write.Patch("/v1/contacts/"+id, `{"title": "CEO"}`).Is(200)
	if again.Text("data.updated_at") != preview.Text("data.updated_at") || again.Header.Get("ETag") != preview.Header.Get("ETag") {
		t.Error("an update without a change created a new version")
	}

	// The response of GET can be sent back; read-only fields cannot change.
	item := org.Read.Get("/v1/contacts/" + id).Is(200).Value("data")
	org.Write.Patch("/v1/contacts/"+id, item).Is(200)
	for _, body := range []string{`{"id": "0190b2f0-0000-7000-8000-000000000000"}`, `{"id": null}`, `{"created_at": "2020-01-01T00:00:00Z"}`,
		`{"updated_at": 3}`, `{"source": "api"}`, `{"source": null}`} {
		org.Write.Patch("/v1/contacts/"+id, body).Fails(422, "validation_failed", "read-only field")
	}
	org.Write.Patch("/v1/contacts/"+id, `{"source": "csv", "created_at": "2026-03-02T10:00:00+01:00"}`).Is(200)

	org.Write.Delete("/v1/contacts/" + id).Is(204)
	org.Read.Get("/v1/contacts/"+id).Fails(404, "not_found", "Resource not found")
	org.Write.Delete("/v1/contacts/"+id).Fails(404, "not_found", "Resource not found")
	org.Write.Patch("/v1/contacts/"+id, `{}`).Fails(404, "not_found", "Resource not found")
}

// TestBadContacts checks the validation of each field of a contact on create and update. Invalid
// values are reported by field, and nothing changes.
func TestBadContacts(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	foreignAccount := other.Write.Post("/v1/accounts", `{"name": "Hive"}`).Is(201).ID()
	foreignTag := other.Write.Post("/v1/tags", `{"name": "Virus", "color": "red", "object_type": "contact"}`).Is(201).ID()
	accountTag := org.Write.Post("/v1/tags", `{"name": "Big", "color": "red", "object_type": "account"}`).Is(201).ID()
	id := org.Write.Post("/v1/contacts", `{"email": "bill@initech.example"}`).Is(201).ID()
	before := org.Dump()

	for _, c := range []struct{ field, value, message string }{
		{"email", `"not an email"`, "email: \"not an email\" is not an email address"},
		{"email", `"Bill <bill@initech.example>"`, "email: \"Bill <bill@initech.example>\" is not an email address"},
		{"email", `"bill@initech.example, b@initech.example"`, "email: \"bill@initech.example, b@initech.example\" is not an email address"},
		{"email", `" bill@initech.example"`, "email: \" bill@initech.example\" is not an email address"},
		{"email", `"bill@initech.example (Bill)"`, "email: \"bill@initech.example (Bill)\" is not an email address"},
		{"email", `"` + strings.Repeat("b", 254-len("@initech.example")+1) + `@initech.example"`, "email: must be at most 254 characters"},
		{"email", `"` + strings.Repeat("ü", 120) + `@initech.example"`, "email: must be at most 254 bytes"},
		{"email", `7`, "email: must be a string"},
		{"title", `["VP"]`, "title: must be a string"},
		{"title", `"a\u0000b"`, "title: must not contain NUL characters"},
		{"title", `"` + strings.Repeat("ü", 10_001) + `"`, "title: must be at most 10000 characters"},
		{"notes", `"` + strings.Repeat("n", 100_001) + `"`, "notes: must be at most 100000 characters"},
		{"do_not_contact", `"true"`, "do_not_contact: \"true\" is not true or false"},
		{"scoring", `"hot"`, "scoring: must be an object"},
		{"scoring", `{"heat_score": "lukewarm"}`, "scoring.heat_score: \"lukewarm\" is not one of: hot, warm, cold"},
		{"scoring", `{"heat": "hot"}`, "scoring.heat: unknown field"},
		{"source", `"crm"`, "source: "},
		{"tags", `"x"`, "tags: must be a list"},
		{"tags", `["x"]`, "tags[0]: \"x\" is neither an id nor a known name"},
		{"tags", `[null]`, "tags[0]: must be a UUID"},
		{"tags", `["0190b2f0-0000-7000-8000-000000000000"]`, "tags[0]: does not exist"},
		{"tags", `["` + foreignTag + `"]`, "tags[0]: does not exist"},
		{"tags", `["` + accountTag + `"]`, "tags[0]: the tag is for another object type"},
		{"account_id", `"x"`, "account_id: \"x\" is not a UUID"},
		{"account_id", `"` + strings.ReplaceAll(foreignAccount, "-", "") + `"`, `account_id: "` + strings.ReplaceAll(foreignAccount, "-", "") + `" is not a UUID`},
		{"account_id", `"` + foreignAccount + `"`, "account_id: does not exist"},
		{"account_id", `"00000000-0000-0000-0000-000000000000"`, "account_id: does not exist"},
		{"account_id", `"` + id + `"`, "account_id: does not exist"},
		{"First_Name", `"Bill"`, "First_Name: unknown field"},
		{"custom_field_x", `1`, "custom_field_x: unknown field"},
	} {
		t.Run(c.message, func(t *testing.T) {
			body := fmt.Sprintf(`{%q: %s}`, c.field, c.value)
			org.Write.In(t).Patch("/v1/contacts/"+id, body).Fails(422, "validation_failed", c.message)
			org.Write.In(t).Post("/v1/contacts", `{"first_name": "A", "last_name": "B", `+body[1:]).Fails(422, "validation_failed", c.message)
		})
	}

	// A new contact must be identifiable.
	for _, body := range []string{``, `{}`, `{"first_name": "Bill"}`, `{"last_name": "Lumbergh", "email": ""}`, `{"email": null, "title": "VP"}`} {
		t.Run(body, func(t *testing.T) {
			org.Write.In(t).Post("/v1/contacts", body).Fails(422, "validation_failed", "email: required, unless linkedin_url or both first_name and last_name are set")
		})
	}

	// All problems of a body are reported at once.
	org.Write.Post("/v1/contacts", `{"title": 1, "email": "x", "scoring": {"heat_score": "x"}, "nope": null}`).Is(422, `{"error": {
		"code": "validation_failed", "message": "title: must be a string", "details": [
			{"path": "title", "message": "must be a string"},
			{"path": "email", "message": "\"x\" is not an email address"},
			{"path": "scoring.heat_score", "message": "\"x\" is not one of: hot, warm, cold"},
			{"path": "nope", "message": "unknown field"}]}}`)

	if org.Dump() != before {
		t.Error("a refused request changed something")
	}
	// The rule applies to creation only: the identifying fields may be cleared later.
	org.Write.Patch("/v1/contacts/"+id, `{"email": null}`).Is(200)
	// The limits themselves are valid.
	org.Write.Patch("/v1/contacts/"+id, fmt.Sprintf(`{"title": %q, "notes": %q}`, strings.Repeat("ü", 10_000), strings.Repeat("n", 100_000))).Is(200)
	for _, email := range []string{"Ada.Lovelace+tag@sub.acme.example", "o'brien@acme.example", `"john doe"@acme.example`, "üser@bücher.example"} {
		if got := org.Write.Patch("/v1/contacts/"+id, map[string]string{"email": email}).Is(200).Text("data.email"); got != email {
			t.Errorf("sent %s, stored as %s", email, got)
		}
	}
}
