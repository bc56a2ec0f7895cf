package crm_test

import (
	"fmt"
	"strings"
	"testing"

	"prospector/internal/apptest"
	"prospector/internal/crm"
	"prospector/internal/identity"
)

// TestControlCharactersInNames checks that no name or title with a control character is accepted, because
// names and titles are printed in logs, on terminals and in headers of emails.
func TestControlCharactersInNames(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account := org.Write.Post("/v1/accounts", `{"name": "Initech"}`).Is(201).ID()
	contact := org.Write.Post("/v1/contacts", `{"email": "a@x.example"}`).Is(201).ID()
	for _, c := range []struct{ method, path, body, field string }{
		{"PATCH", "/v1/organization", `{"name": "%s"}`, "name"},
		{"POST", "/v1/users", `{"email": "b@acme.example", "first_name": "%s"}`, "first_name"},
		{"PATCH", "/v1/users/" + org.User.String(), `{"last_name": "%s"}`, "last_name"},
		{"PATCH", "/v1/users/" + org.User.String(), `{"title": "%s"}`, "title"},
		{"POST", "/v1/api-keys", `{"name": "%s", "access": "read"}`, "name"},
		{"POST", "/v1/accounts", `{"name": "%s"}`, "name"},
		{"PATCH", "/v1/accounts/" + account, `{"name": "%s"}`, "name"},
		{"POST", "/v1/contacts", `{"email": "b@x.example", "first_name": "%s"}`, "first_name"},
		{"POST", "/v1/contacts", `{"email": "b@x.example", "last_name": "%s"}`, "last_name"},
		{"PATCH", "/v1/contacts/" + contact, `{"title": "%s"}`, "title"},
		{"POST", "/v1/opportunities", `{"name": "%s", "account_id": "` + account + `"}`, "name"},
		{"POST", "/v1/tasks", `{"title": "%s"}`, "title"},
		{"POST", "/v1/meetings", `{"title": "%s", "starts_at": "2026-03-01T09:30:00Z"}`, "title"},
		{"POST", "/v1/tags", `{"name": "%s", "color": "green", "object_type": "contact"}`, "name"},
		{"POST", "/v1/fields", `{"entity": "contacts", "key": "tier", "label": "%s", "data_type": "text"}`, "label"},
		{"POST", "/v1/account-views", `{"name": "%s"}`, "name"},
		{"POST", "/v1/audiences", `{"name": "%s"}`, "name"},
		{"POST", "/v1/sequence-templates", `{"name": "%s", "steps": [{"index": 0, "type": "call"}]}`, "name"},
		{"POST", "/v1/sequence-templates", `{"name": "T", "steps": [{"index": 0, "type": "call", "title": "%s"}]}`, "steps[0].title"},
		{"POST", "/v1/sequence-templates", `{"name": "T", "steps": [{"index": 0, "type": "call"}], "blocks": {"b": {"name": "%s"}}}`, "blocks.b.name"},
		{"POST", "/v1/campaigns", `{"name": "%s"}`, "name"},
	} {
		t.Run(c.method+" "+c.path+" "+c.field, func(t *testing.T) {
			for _, control := range []string{`\n`, `\r`, `\t`, `\u001b`, `\u007f`, `\u0085`, `\u009b`} {
				r := org.Admin.In(t).Do(c.method, c.path, fmt.Sprintf(c.body, "a"+control+"[31mb"))
				r.Fails(422, "validation_failed", c.field+": must ")
				if !strings.Contains(string(r.Body), "control characters") && !strings.HasPrefix(c.path, "/v1/tags") {
					t.Errorf("%s: %s", control, r.Body)
				}
			}
		})
	}
}

// TestStoredControlCharacters checks that a record with a name that is no longer accepted can be read, and
// that its other fields can be changed.
func TestStoredControlCharacters(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	contact := org.Write.Post("/v1/contacts", `{"email": "a@x.example"}`).Is(201).ID()
	apptest.StoreRecord(t, app, org, app.CRM.Contacts, contact, func(c *crm.Contact) { c.FirstName = "A\nB" })
	apptest.StoreRecord(t, app, org, app.Identity.Users, org.User.String(), func(u *identity.User) { u.LastName = "A\nB" })
	org.Write.Patch("/v1/contacts/"+contact, `{"title": "CEO"}`).Is(200)
	if got := org.Read.Get("/v1/contacts/" + contact).Is(200).Text("data.first_name"); got != "A\nB" {
		t.Errorf("%q", got)
	}
	user := org.Admin.Patch("/v1/users/"+org.User.String(), `{"title": "CEO"}`).Is(200)
	if got := user.Text("data.last_name"); got != "A\nB" {
		t.Errorf("%q", got)
	}
}
