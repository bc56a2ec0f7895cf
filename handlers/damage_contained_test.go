package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// damageFixture is an organization with two records of each kind. The tests damage the first and use the
// second. Contacts are in campaigns of both, and have tags, accounts and custom fields of which one is damaged.
type damageFixture struct {
	*apptest.Org
	t        *testing.T
	app      *apptest.App
	bad      map[string]string // by table: the record to damage
	good     map[string]string
	contacts []string
	requests int
}

func newDamageFixture(t *testing.T) *damageFixture {
	app := apptest.New(t)
	f := &damageFixture{Org: app.Org("Acme"), t: t, app: app, bad: map[string]string{}, good: map[string]string{}}
	both := func(table, path, body string) {
		f.bad[table] = f.Admin.Post(path, fmt.Sprintf(body, "bad")).Is(201).ID()
		f.good[table] = f.Admin.Post(path, fmt.Sprintf(body, "good")).Is(201).ID()
	}
	f.Admin.Patch("/v1/organization", simUTC).Is(200)
	both("users", "/v1/users", `{"email": "%s@acme.example", "access": "write"}`)
	both("api_keys", "/v1/api-keys", `{"name": "%s"}`)
	both("tags", "/v1/tags", `{"name": "%s", "color": "red", "object_type": "contact"}`)
	both("fields", "/v1/fields", `{"entity": "contacts", "key": "%s", "data_type": "text"}`)
	both("account-views", "/v1/account-views", `{"name": "%s"}`)
	both("accounts", "/v1/accounts", `{"name": "%s"}`)
	both("suppressions", "/v1/suppressions", `{"email": "%s@gone.example"}`)
	both("subscriptions", hooksPath, `{"url": "http://127.0.0.1:1/%s", "triggers": ["*"]}`)
	for i := range 5 {
		account := f.bad["accounts"]
		if i == 2 {
			account = f.good["accounts"]
		}
		f.contacts = append(f.contacts, f.Write.Post("/v1/contacts", map[string]any{
			"email": fmt.Sprintf("c%d@x.example", i), "first_name": "Cy", "account_id": account,
			"tags": []string{f.bad["tags"], f.good["tags"]}, "custom_field_bad": "kept", "custom_field_good": "seen",
		}).Is(201).ID())
	}
	f.bad["contacts"], f.good["contacts"] = f.contacts[0], f.contacts[1]
	members, _ := json.Marshal(f.contacts)
	both("audiences", "/v1/audiences", `{"name": "%s", "contact_ids": `+string(members)+`}`)
	both("sequence-templates", "/v1/sequence-templates", `{"name": "%s", "steps": [
		{"index": 0, "type": "auto_email", "day": 0, "hour": 0, "subject": "Hello", "message": "Hello {{recipient.first_name}} of {{account.name}}"},
		{"index": 1, "type": "auto_email", "day": 5, "hour": 0, "subject": "Again", "message": "Hello again, {{account.name}}"}]}`)
	both("opportunities", "/v1/opportunities", `{"name": "%s", "account_id": "`+f.good["accounts"]+`"}`)
	both("tasks", "/v1/tasks", `{"title": "%s", "contact_id": "`+f.good["contacts"]+`"}`)
	both("meetings", "/v1/meetings", `{"title": "%s", "starts_at": "2026-04-01T12:00:00Z", "contact_id": "`+f.good["contacts"]+`"}`)
	for kind, of := range map[string]map[string]string{"bad": f.bad, "good": f.good} {
		of["campaigns"] = f.Admin.Post("/v1/campaigns", map[string]any{
			"name": kind, "template_id": of["sequence-templates"], "audience_ids": []string{of["audiences"]}, "status": "active",
		}).Is(201).ID()
	}
	app.Work()
	for table, path := range map[string]string{"sequences": "/v1/sequences/list", "messages": "/v1/outbox/list"} {
		list := f.Read.Post(path, fmt.Sprintf(`{"filters": [%s, %s], "sort": "id"}`,
			isRule("contact_id", f.good["contacts"]), isRule("campaign_id", f.bad["campaigns"]))).Is(200)
		f.bad[table] = list.Text("data.0.id")
	}
	return f
}

// request makes a request that does not concern the damaged records.
func (f *damageFixture) request(method, path string, body any) *apptest.Response {
	return f.Admin.In(f.t).Do(method, path, body)
}

// TestDamagedField checks that a custom field that cannot be read is left out. Records keep its values.
func TestDamagedField(t *testing.T) {
	f := newDamageFixture(t)
	contact, bad := "/v1/contacts/"+f.good["contacts"], "/v1/fields/"+f.bad["fields"]
	filter := `{"filters": [` + isRule("custom_field_bad", "kept") + `]}`
	heal := func() { damage(t, f.app, f.Org.ID, "fields.rec", key(f.bad["fields"])) }
	requireList(f.Read.Post("/v1/contacts/list", filter), 5, 0)

	damage(t, f.app, f.Org.ID, "fields.rec", key(f.bad["fields"]))
	f.Read.Get("/v1/fields").Is(200, `{"data": [{"id": "`+f.good["fields"]+`", "created_at": "<time>", "updated_at": "<time>", "entity": "contacts",
		"key": "good", "label": "Good", "data_type": "text", "allowed_values": [], "ai": null}],
		"pagination": {"page": 1, "page_size": 1, "total_count": 1, "total_pages": 1}, "meta": {"timestamp": "<time>", "damaged": 1}}`)
	requireList(f.Read.Post("/v1/contacts/list", nil), 5, 0)
	f.Read.Post("/v1/contacts/list", filter).Fails(422, "invalid_filter", "custom_field_bad")
	f.Write.Patch(contact, `{"title": "CTO"}`).Is(200)
	f.Write.Patch(contact, `{"custom_field_bad": "lost"}`).Fails(422, "validation_failed", "custom_field_bad: unknown field")
	f.Write.Delete("/v1/contacts/" + f.contacts[4]).Is(204)
	f.Admin.Post("/v1/fields", `{"entity": "contacts", "key": "bad", "data_type": "number"}`).Fails(409, "field_key_taken", "")
	f.Admin.Patch(bad, `{"label": "New"}`).Fails(500, "damaged", f.bad["fields"])

	heal()
	if got := string(member(f.Read.Get(contact).Is(200), "custom_field_bad")); got != `"kept"` {
		t.Errorf("the value is %s after the field is whole again", got)
	}
	requireList(f.Read.Post("/v1/contacts/list", filter), 4, 0)
	heal() // it is damaged again
	f.Admin.Delete(bad).Is(204)
	requireList(f.Read.Get("/v1/fields").Is(200), 1, 0)
}

// TestDamagedOutreach checks that nothing is sent that needs a damaged campaign, template, contact or account,
// that everything else is sent, and that replies and unsubscriptions work.
func TestDamagedOutreach(t *testing.T) {
	for _, table := range []string{"campaigns", "sequence-templates", "contacts", "accounts"} {
		t.Run(table, func(t *testing.T) {
			f := newDamageFixture(t)
			needsDamaged := func(campaign, contact string) bool {
				switch table {
				case "contacts":
					return contact == f.bad[table]
				case "accounts":
					return contact != f.contacts[2]
				}
				return campaign == f.bad["campaigns"]
			}
			damage(t, f.app, f.Org.ID, table+".rec", key(f.bad[table]))
			message := f.Read.In(t).Post("/v1/outbox/list", `{"filters": [`+isRule("contact_id", f.contacts[0])+`]}`).Is(200).Text("data.0.id")
			f.app.Anonymous().In(t).Post(f.UnsubscribePath(message), nil).Is(200)
			f.app.Anonymous().In(t).Get(f.UnsubscribePath(message)).Is(200)
			if got := f.Read.In(t).Post("/v1/suppressions/list", `{"search": "c0"}`).Is(200).Column("email"); !slices.Equal(got, []string{"c0@x.example"}) {
				t.Errorf("the suppressed addresses are %v, want the one that unsubscribed", got)
			}
			f.request(http.MethodPost, "/v1/contacts/"+f.contacts[3]+"/replied", nil).Is(200, `{"data": {"stopped": 2}, "meta": {"timestamp": "<time>"}}`)
			for range 9 * 24 {
				f.app.Clock.Advance(time.Hour)
				f.app.Work()
			}
			list := f.Read.In(t).Post("/v1/outbox/list", `{"page_size": 500, "filters": [`+isRule("subject", "Again")+`]}`).Is(200)
			sent := map[string]bool{}
			contacts := list.Column("contact_id")
			for i, campaign := range list.Column("campaign_id") {
				sent[campaign+contacts[i]] = true
			}
			for _, campaign := range []string{f.bad["campaigns"], f.good["campaigns"]} {
				for i, contact := range f.contacts {
					if want := i != 0 && i != 3 && !needsDamaged(campaign, contact); sent[campaign+contact] != want {
						t.Errorf("campaign %s has sent the second email to contact %d: %v, want %v", campaign, i, !want, want)
					}
				}
			}
		})
	}
}

// TestDamagedInBatch checks that a record of a batch that matches a damaged one is refused alone.
func TestDamagedInBatch(t *testing.T) {
	f := newDamageFixture(t)
	damage(t, f.app, f.Org.ID, "contacts.rec", key(f.bad["contacts"]))
	r := f.Write.Post("/v1/contacts/batch", `{"match_on": "email", "records": [
		{"email": "c0@x.example", "title": "CTO"}, {"email": "c1@x.example", "title": "CTO"}, {"email": "c9@x.example"}]}`).Is(200)
	if r.Int("data.succeeded") != 2 || r.Text("data.results.0.error.code") != "damaged" {
		t.Errorf("got %s", r.Body)
	}
}
