package handlers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

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
	f.Admin.Patch("/v1/organization", aroundTheClock).Is(200)
	both("users", "/v1/users", `{"email": "%s@acme.example", "access": "write"}`)
	both("api_keys", "/v1/api-keys", `{"name": "%s"}`)
	both("tags", "/v1/tags", `{"name": "%s", "color": "red", "object_type": "contact"}`)
	both("fields", "/v1/fields", `{"entity": "contacts", "key": "%s", "data_type": "text"}`)
	both("account-views", "/v1/account-views", `{"name": "%s"}`)
	both("accounts", "/v1/accounts", `{"name": "%s"}`)
	both("suppressions", "/v1/suppressions", `{"email": "%s@gone.example"}`)
	both("subscriptions", apptest.SubscriptionsPath, `{"url": "http://127.0.0.1:1/%s", "triggers": ["*"]}`)
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
			apptest.IsRule("contact_id", f.good["contacts"]), apptest.IsRule("campaign_id", f.bad["campaigns"]))).Is(200)
		f.bad[table] = list.Text("data.0.id")
	}
	return f
}

// request makes a request that does not concern the damaged records.
func (f *damageFixture) request(method, path string, body any) *apptest.Response {
	return f.Admin.In(f.t).Do(method, path, body)
}

// use makes requests of all kinds that do not concern the damaged records, and returns the failures.
func (f *damageFixture) use() (failed []string) {
	f.requests++
	n := f.requests
	contact, account, campaign := "/v1/contacts/"+f.good["contacts"], "/v1/accounts/"+f.good["accounts"], "/v1/campaigns/"+f.good["campaigns"]
	audience, template := "/v1/audiences/"+f.good["audiences"], "/v1/sequence-templates/"+f.good["sequence-templates"]
	try := func(method, path, body string) {
		var in any
		if body != "" {
			in = body
		}
		if r := f.request(method, path, in); r.Status >= 300 {
			failed = append(failed, fmt.Sprintf("%s %s: %d %s", method, path, r.Status, r.Body))
		}
	}
	for _, entity := range []string{
		"contacts", "accounts", "opportunities", "tasks", "meetings", "tags", "audiences", "campaigns", "sequence-templates",
		"suppressions", "account-views", "views", "sequences", "outbox", "webhooks/subscriptions",
	} {
		try("POST", "/v1/"+entity+"/list", `{}`)
	}
	for _, entity := range []string{"contacts", "accounts", "opportunities", "tasks", "meetings", "sequences", "outbox"} {
		try("POST", "/v1/"+entity+"/export", `{}`)
		try("POST", "/v1/"+entity+"/export", `{"format": "csv"}`)
	}
	for _, path := range []string{
		"me", "users", "fields", "api-keys", "organization", "schemas/contacts", "schemas/accounts", "outbox/planned", "mail/status",
	} {
		try("GET", "/v1/"+path, "")
	}
	try("POST", "/v1/search", `{"search": "cy"}`)
	try("POST", "/v1/contacts/list", fmt.Sprintf(`{"filters": [{"field": "tags", "condition": "is", "value": [%q]}]}`, f.good["tags"]))
	try("POST", "/v1/contacts/list", `{"filters": [`+apptest.IsRule("custom_field_good", "seen")+`], "sort": "-email"}`)
	try("GET", contact, "")
	try("GET", contact+"/timeline", "")
	try("GET", contact+"/history", "")
	try("PATCH", contact, fmt.Sprintf(`{"title": "t%d"}`, n))
	try("PATCH", contact, fmt.Sprintf(`{"first_name": "Cy%d", "custom_field_good": "seen"}`, n))
	try("POST", "/v1/contacts", fmt.Sprintf(`{"email": "new%d@x.example", "custom_field_good": "new"}`, n))
	try("POST", "/v1/contacts/batch", `{"match_on": "email", "records": [{"email": "C2@x.example", "title": "t"}]}`)
	try("POST", contact+"/replied", "")
	try("PATCH", account, fmt.Sprintf(`{"notes": "n%d"}`, n))
	try("POST", "/v1/accounts", `{"name": "New"}`)
	try("GET", campaign+"/stats", "")
	try("POST", campaign+"/simulate", `{}`)
	try("POST", campaign+"/sequences/list", `{}`)
	try("POST", campaign+"/enroll", fmt.Sprintf(`{"audience_name": "enrolled%d", "contact_ids": [%q]}`, n, f.contacts[2]))
	try("PATCH", campaign, `{"status": "paused"}`)
	try("PATCH", campaign, `{"status": "active"}`)
	try("PATCH", campaign, fmt.Sprintf(`{"name": "good%d"}`, n))
	try("POST", audience+"/contacts/list", `{}`)
	try("POST", audience+"/contacts/add", fmt.Sprintf(`{"contact_ids": [%q]}`, f.contacts[3]))
	try("POST", audience+"/contacts/add", `{"filters": []}`)
	try("PATCH", audience, fmt.Sprintf(`{"name": "good%d"}`, n))
	try("POST", template+"/render", fmt.Sprintf(`{"contact_id": %q}`, f.contacts[2]))
	try("PATCH", template, fmt.Sprintf(`{"name": "good%d"}`, n))
	try("POST", "/v1/campaigns", fmt.Sprintf(`{"name": "new%d", "template_id": %q, "audience_ids": [%q]}`,
		n, f.good["sequence-templates"], f.good["audiences"]))
	try("POST", "/v1/suppressions", fmt.Sprintf(`{"email": "s%d@gone.example"}`, n))
	try("POST", "/v1/tags", fmt.Sprintf(`{"name": "tag%d", "color": "red", "object_type": "contact"}`, n))
	try("POST", "/v1/fields", fmt.Sprintf(`{"entity": "contacts", "key": "new%d", "data_type": "text"}`, n))
	try("POST", "/v1/users", fmt.Sprintf(`{"email": "new%d@acme.example"}`, n))
	try("POST", "/v1/api-keys", fmt.Sprintf(`{"name": "new%d"}`, n))
	try("POST", apptest.SubscriptionsPath, `{"url": "http://127.0.0.1:1/new", "triggers": ["contact.deleted"]}`)
	try("PATCH", "/v1/organization", fmt.Sprintf(`{"postal_address": "Street %d"}`, n))
	try("PATCH", "/v1/tasks/"+f.good["tasks"], fmt.Sprintf(`{"title": "good%d"}`, n))
	return failed
}

// TestDamageIsContained damages one record of each kind in turn. Nothing else may fail.
func TestDamageIsContained(t *testing.T) {
	f := newDamageFixture(t)
	if failed := f.use(); len(failed) > 0 {
		t.Fatalf("nothing is damaged, and these fail:\n%s", strings.Join(failed, "\n"))
	}
	for _, table := range apptest.SomeRaced(4, slices.Sorted(maps.Keys(f.bad))) {
		t.Run(table, func(t *testing.T) {
			f.t = t
			damage(t, f.app, f.Org.ID, table+".rec", key(f.bad[table]))
			for _, failure := range f.use() {
				t.Error(failure)
			}
			f.app.Clock.Advance(time.Hour)
			f.app.Work()
			damage(t, f.app, f.Org.ID, table+".rec", key(f.bad[table])) // the same bit again, which heals it
		})
	}
	if failed := f.use(); len(failed) > 0 {
		t.Errorf("everything is whole again, and these fail:\n%s", strings.Join(failed, "\n"))
	}
	apptest.CheckConsistency(t, f.app, f.Org)
}

// TestDamagedField checks that a custom field that cannot be read is left out. Records keep its values.
func TestDamagedField(t *testing.T) {
	f := newDamageFixture(t)
	contact, bad := "/v1/contacts/"+f.good["contacts"], "/v1/fields/"+f.bad["fields"]
	filter := `{"filters": [` + apptest.IsRule("custom_field_bad", "kept") + `]}`
	heal := func() { damage(t, f.app, f.Org.ID, "fields.rec", key(f.bad["fields"])) }
	requireList(f.Read.Post("/v1/contacts/list", filter), 5, 0)

	damage(t, f.app, f.Org.ID, "fields.rec", key(f.bad["fields"]))
	f.Read.Get("/v1/fields").Is(200, `{"data": [{"id": "`+f.good["fields"]+`", "created_at": "<time>", "updated_at": "<time>", "entity": "contacts",
		"key": "good", "label": "Good", "data_type": "text", "allowed_values": [], "personal": true, "ai": null}],
		"pagination": {"page": 1, "page_size": 1, "total_count": 1, "total_pages": 1}, "meta": {"timestamp": "<time>", "damaged": 1}}`)
	requireList(f.Read.Post("/v1/contacts/list", nil), 5, 0)
	f.Read.Post("/v1/contacts/list", filter).Fails(422, "invalid_filter", "custom_field_bad")
	f.Write.Patch(contact, `{"title": "CTO"}`).Is(200)
	f.Write.Patch(contact, `{"custom_field_bad": "lost"}`).Fails(422, "validation_failed", "custom_field_bad: unknown field")
	f.Write.Delete("/v1/contacts/" + f.contacts[4]).Is(204)
	f.Admin.Post("/v1/fields", `{"entity": "contacts", "key": "bad", "data_type": "number"}`).Fails(409, "field_key_taken", "")
	f.Admin.Patch(bad, `{"label": "New"}`).Fails(500, "damaged", f.bad["fields"])

	heal()
	if got := string(apptest.Member(f.Read.Get(contact).Is(200), "custom_field_bad")); got != `"kept"` {
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
			message := f.Read.In(t).Post("/v1/outbox/list", `{"filters": [`+apptest.IsRule("contact_id", f.contacts[0])+`]}`).Is(200).Text("data.0.id")
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
			list := f.Read.In(t).Post("/v1/outbox/list", `{"page_size": 500, "filters": [`+apptest.IsRule("subject", "Again")+`]}`).Is(200)
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

// TestDamagedInCompleteLists checks that lists on one page leave damaged records out and say so.
func TestDamagedInCompleteLists(t *testing.T) {
	f := newDamageFixture(t)
	for path, table := range map[string]string{"/v1/users": "users", "/v1/api-keys": "api_keys", "/v1/fields": "fields"} {
		all := f.Admin.Get(path).Is(200).Column("id")
		damage(t, f.app, f.Org.ID, table+".rec", key(f.bad[table]))
		left := requireList(f.Admin.Get(path), len(all)-1, 1).Column("id")
		if slices.Contains(left, f.bad[table]) {
			t.Errorf("%s has the damaged record", path)
		}
	}
	damage(t, f.app, f.Org.ID, "account-views.rec", key(f.bad["account-views"]))
	requireList(f.Read.Post("/v1/account-views/list", nil), 1, 1)
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

// TestLostTemplate checks that the sequences of a template that was lost with its page are still listed and counted, and
// that a simulation says what is missing.
func TestLostTemplate(t *testing.T) {
	f := newDamageFixture(t)
	campaign := "/v1/campaigns/" + f.bad["campaigns"]
	lists := []string{"/v1/sequences", campaign + "/sequences"}
	var totals []int
	for _, path := range lists {
		totals = append(totals, f.Read.Post(path+"/list", nil).Is(200).Int("pagination.total_count"))
	}
	edit(t, f.app, func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("orgs")).Bucket(f.Org.ID[:]).Bucket([]byte("sequence-templates.rec")).Delete(key(f.bad["sequence-templates"]))
	})
	for i, path := range lists {
		if total := f.Read.Post(path+"/list", nil).Is(200).Int("pagination.total_count"); total != totals[i] {
			t.Errorf("%s has %d sequences, want %d", path, total, totals[i])
		}
	}
	f.Read.Post("/v1/sequences/export", nil).Is(200)
	if n := f.Read.Get(campaign + "/stats").Is(200).Int("data.enrolled"); n != len(f.contacts) {
		t.Errorf("%d contacts are enrolled, want %d", n, len(f.contacts))
	}
	f.Read.Post(campaign+"/simulate", nil).Fails(500, "damaged", f.bad["sequence-templates"])
	f.app.Work()
}

// TestDamagedAudience checks that the members of a damaged audience can be merged, deleted and restored.
func TestDamagedAudience(t *testing.T) {
	f := newDamageFixture(t)
	damage(t, f.app, f.Org.ID, "audiences.rec", key(f.bad["audiences"]))
	contact := "/v1/contacts/" + f.contacts[4]
	f.Write.Delete(contact).Is(204)
	f.Write.Post(contact+"/restore", nil).Is(200)
	f.Write.Post(contact+"/merge", fmt.Sprintf(`{"ids": [%q]}`, f.contacts[3])).Is(200)
	f.Admin.Delete(contact + "?permanent=true").Is(204)
	f.Write.Delete("/v1/contacts/" + f.contacts[2]).Is(204)
}

// TestLostChangeLog checks that records are still used whose change log was lost with its page.
func TestLostChangeLog(t *testing.T) {
	f := newDamageFixture(t)
	edit(t, f.app, func(tx *bolt.Tx) error {
		org := tx.Bucket([]byte("orgs")).Bucket(f.Org.ID[:])
		return errors.Join(org.DeleteBucket([]byte("organizations.log")), org.DeleteBucket([]byte("fields.log")))
	})
	f.Read.Post("/v1/sequences/list", nil).Is(200)
	requireList(f.Read.Post("/v1/contacts/list", `{"filters": [`+apptest.IsRule("custom_field_good", "seen")+`]}`), 5, 0)
}
