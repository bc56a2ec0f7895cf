package webhook_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/cmd"
	"prospector/internal/apptest"
)

// TestWebhookRecords creates, changes and deletes records of each kind in every possible way.
func TestWebhookRecords(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account := apptest.Makers["accounts"](org)
	tag := apptest.NewTags(org, "contact", "A")["A"]
	apptest.NewField(org, "contacts", "score", "number", "")
	for _, c := range []struct{ object, entity, create, update, refused string }{
		{"account", "accounts", `{"name": "Initech", "website": "https://www.initech.example/x", "source": "csv"}`, `{"industry": "Software"}`, `{"name": null}`},
		{"contact", "contacts", `{"email": "bill@initech.example", "custom_field_score": 1.50, "tags": ["` + tag + `"], "account_id": "` + account + `"}`, `{"remove_tags": ["` + tag + `"]}`, `{"email": "x"}`},
		{"opportunity", "opportunities", `{"name": "Printers", "account_id": "` + account + `", "amount": 1e3}`, `{"stage": "won"}`, `{"stage": "x"}`},
		{"task", "tasks", `{"title": "Call \u00e9\u2028<b>"}`, `{"status": "completed"}`, `{"status": "x"}`},
		{"meeting", "meetings", `{"title": "Demo", "starts_at": "2026-04-01T09:00:00+02:00"}`, `{"status": "no_show"}`, `{"starts_at": null}`},
		{"tag", "tags", `{"name": "Champion", "color": "green", "object_type": "contact"}`, `{"color": "blue"}`, `{"object_type": "task"}`},
	} {
		rec := apptest.NewReceiver(t)
		hook := rec.Subscribe(org, c.object+".*")
		path := "/v1/" + c.entity
		var want []apptest.Happening
		created := org.Write.Do("POST", path, c.create, "Idempotency-Key", c.object).Is(201)
		at := path + "/" + created.ID()
		want = append(want, apptest.ReadEvent(org, c.object+".created", at))
		org.Write.Do("POST", path, c.create, "Idempotency-Key", c.object).Is(201) // the stored response
		app.Clock.Advance(time.Second)
		org.Write.Patch(at, c.update).Is(200)
		want = append(want, apptest.ReadEvent(org, c.object+".updated", at))
		app.Clock.Advance(time.Second)

		org.Write.Patch(at, `{}`).Is(200) // changes nothing, like the next three
		org.Write.Patch(at, c.update).Is(200)
		org.Write.Patch(at, []byte(apptest.DataOf(org.Read.Get(at)))).Is(200)
		org.Write.Patch(at, c.refused).Is(422)
		org.Write.Do("PATCH", at, c.update, "If-Match", `"9999"`).Is(412)
		org.Write.Do("DELETE", at, nil, "If-Match", `"9999"`).Is(412)
		org.Write.Post(path, `{"colour": 1}`).Is(422)
		org.Read.Patch(at, c.update).Is(403)
		if c.object != "tag" {
			body := `{"records": [` + c.create + `, {"id": "` + created.ID() + `"}, {"colour": 1}, {"id": "` + created.ID() + `", "external_id": "x"}, ` + c.create + `, {"id": "` + tag + `"}]}`
			res := org.Write.Post(path+"/batch", body).Is(200)
			if res.Int("data.succeeded") != 4 {
				t.Errorf("%s", res.Body)
			}
			for i, key := range []string{"created", "", "", "updated", "created"} {
				if key != "" {
					want = append(want, apptest.ReadEvent(org, c.object+"."+key, path+"/"+res.Text(fmt.Sprintf("data.results.%d.id", i))))
				}
			}
			again := `{"match_on": "external_id", "records": [{"external_id": "x"}, {"external_id": "x", ` + c.update[1:] + `, {"external_id": "x", "notes": "n"}]}`
			org.Write.Post(path+"/batch", again).Is(200)
			want = append(want, apptest.ReadEvent(org, c.object+".updated", at))
		}
		org.Write.Delete(at).Is(204)
		want = append(want, apptest.Happening{c.object + ".deleted", `{"id":"` + created.ID() + `"}`})
		org.Write.Delete(at).Is(404)
		apptest.HasPending(t, app, len(want))
		app.Work()
		app.Deliver()
		rec.WantsExactly(c.object, want)
		org.Admin.Delete(apptest.SubscriptionsPath + "/" + hook).Is(204)
	}
}

// TestWebhookUnsubscribed checks that the event happens only when do_not_contact becomes true.
func TestWebhookUnsubscribed(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := apptest.NewReceiver(t)
	rec.Subscribe(org, "contact.*")
	names := map[string]string{}
	wants := func(what string, want ...string) {
		t.Helper()
		app.Deliver()
		for i := range want {
			want[i] = "/0 contact." + want[i]
		}
		rec.Wants(what, names, want...)
	}
	names["out"] = org.Write.Post("/v1/contacts", `{"email": "out@x.example", "do_not_contact": true}`).Is(201).ID()
	wants("created so", "created out")
	names["c"] = org.Write.Post("/v1/contacts", `{"email": "c@x.example"}`).Is(201).ID()
	wants("created", "created c")
	path := "/v1/contacts/" + names["c"]
	org.Write.Patch(path, `{"do_not_contact": true, "title": "VP"}`).Is(200)
	read := string(apptest.DataOf(org.Read.Get(path)))
	app.Deliver()
	rec.WantsExactly("turned true", []apptest.Happening{{"contact.updated", read}, {"contact.unsubscribed", read}})
	org.Write.Patch(path, `{"do_not_contact": true}`).Is(200)
	wants("stays true")
	org.Write.Patch(path, `{"do_not_contact": true, "title": "CEO"}`).Is(200)
	wants("stays true while something else changes", "updated c")
	org.Write.Patch(path, `{"do_not_contact": null}`).Is(200)
	wants("turned false", "updated c")
	org.Write.Patch(path, `{"do_not_contact": false}`).Is(200)
	wants("stays false")
	org.Write.Patch("/v1/preview/contacts/"+names["c"], `{"do_not_contact": true}`).Is(200)
	wants("over the other path", "updated c", "unsubscribed c")
	org.Write.Post("/v1/contacts/batch", `{"match_on": "email", "records": [{"email": "c@x.example", "do_not_contact": false}, {"email": "C@x.example", "do_not_contact": true}, {"email": "out@x.example", "do_not_contact": true}]}`).Is(200)
	wants("in a batch", "updated c", "updated c", "unsubscribed c")

	alone := apptest.NewReceiver(t)
	alone.Subscribe(org, "contact.unsubscribed")
	org.Write.Patch(path, `{"do_not_contact": false}`).Is(200)
	org.Write.Patch(path, `{"do_not_contact": true}`).Is(200)
	app.Deliver()
	alone.Wants("alone", names, "/0 contact.unsubscribed c")
}

// TestWebhookFiles imports files on the command line while no server runs. Their events are
// delivered when it starts.
func TestWebhookFiles(t *testing.T) {
	app := apptest.New(t)
	app.Clock.Advance(time.Since(app.Clock.Now()))
	org := app.Org("Acme")
	rec := apptest.NewReceiver(t)
	rec.Subscribe(org, "*")
	old := org.Write.Post("/v1/contacts", `{"email": "old@x.example"}`).Is(201).ID()
	same := org.Write.Post("/v1/contacts", `{"email": "same@x.example", "title": "VP"}`).Is(201).ID()
	app.Deliver()
	rec.Take()
	app.Stop()
	file := filepath.Join(t.TempDir(), "people.csv")
	if err := os.WriteFile(file, []byte("email,title\nnew@x.example,CEO\nold@x.example,CTO\nsame@x.example,VP\nno address,X\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if code := cmd.Execute([]string{"import", "contacts", file, "--org", org.ID.String(), "--match-on", "email", "--data-dir", app.Config.DataDir}, &out, &out); code != 0 {
		t.Fatal(out.String())
	}
	app.Start()
	app.Clock.Advance(time.Minute)
	apptest.HasPending(t, app, 3)
	app.Deliver()
	done := org.Read.Post("/v1/imports/list", `{}`).Text("data.0.id")
	fresh := org.Read.Post("/v1/contacts/list", `{"search": "new"}`).Text("data.0.id")
	rec.WantsExactly("a file", []apptest.Happening{apptest.ReadEvent(org, "contact.created", "/v1/contacts/"+fresh), apptest.ReadEvent(org, "contact.updated", "/v1/contacts/"+old),
		apptest.ReadEvent(org, "import.completed", "/v1/imports/"+done)})
	if org.Read.Get("/v1/contacts/"+same).Text("data.title") != "VP" {
		t.Error("the import changed an unchanged contact")
	}
}

// TestWebhookSilence checks that changes of other kinds of records, and of records that only refer
// to a changed one, cause no events.
func TestWebhookSilence(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account, tag := apptest.Makers["accounts"](org), apptest.NewTags(org, "contact", "A")["A"]
	field := apptest.NewField(org, "contacts", "tier", "text", "")
	contact := org.Write.Post("/v1/contacts", `{"email": "a@x.example", "account_id": "`+account+`", "tags": ["`+tag+`"], "custom_field_tier": "gold"}`).Is(201).ID()
	task := org.Write.Post("/v1/tasks", `{"title": "Call", "contact_id": "`+contact+`", "account_id": "`+account+`"}`).Is(201).ID()
	rec := apptest.NewReceiver(t)
	rec.Subscribe(org, "*")
	before := string(apptest.DataOf(org.Read.Get("/v1/contacts/" + contact)))
	for kind, update := range map[string]string{"account-views": `{"name": "Some"}`, "users": `{"title": "Head"}`, "fields": `{"label": "L"}`, "api-keys": ""} {
		id := apptest.Makers[kind](org)
		if update != "" {
			org.Admin.Patch("/v1/"+kind+"/"+id, update).Is(200)
		}
		switch kind {
		case "api-keys":
			org.Admin.Post("/v1/api-keys/"+id+"/deactivate", nil).Is(200)
		case "users":
		default:
			org.Admin.Delete("/v1/" + kind + "/" + id).Is(204)
		}
	}
	org.Admin.Patch("/v1/organization", `{"name": "Acme & Co"}`).Is(200)
	second := makeHook(org, "http://127.0.0.1:1/")
	org.Admin.Patch(apptest.SubscriptionsPath+"/"+second, `{"status": "paused"}`).Is(200)
	org.Admin.Post(apptest.SubscriptionsPath+"/"+second+"/rotate-secret", nil).Is(200)
	org.Admin.Delete(apptest.SubscriptionsPath + "/" + second).Is(204)
	app.Work()
	app.Deliver()
	rec.Wants("other kinds", nil)
	org.Write.Post("/v1/tags", `{"name": "a", "color": "red", "object_type": "contact"}`).Fails(409, "tag_name_taken", "")
	opportunity := org.Write.Post("/v1/opportunities", `{"name": "O", "account_id": "`+account+`"}`).Is(201).ID()
	org.Write.Delete("/v1/accounts/"+account).Fails(409, "in_use", "")
	org.Write.Delete("/v1/opportunities/" + opportunity).Is(204)
	app.Deliver()
	rec.Wants("conflicts", map[string]string{"o": opportunity}, "/0 opportunity.created o", "/0 opportunity.deleted o")

	org.Admin.Delete("/v1/fields/" + field).Is(204)
	org.Write.Delete("/v1/tags/" + tag).Is(204)
	org.Write.Delete("/v1/accounts/" + account).Is(204)
	app.Work()
	app.Deliver()
	if after := string(apptest.DataOf(org.Read.Get("/v1/contacts/" + contact))); after == before {
		t.Errorf("the contact is unchanged: %s", after)
	}
	rec.Wants("what follows", map[string]string{"tag": tag, "account": account}, "/0 tag.deleted tag", "/0 account.deleted account")
	org.Write.Delete("/v1/contacts/" + contact).Is(204)
	app.Deliver()
	rec.Wants("what follows", map[string]string{"contact": contact, "task": task}, "/0 contact.deleted contact")
}

// TestWebhookWanted checks that an event is delivered only to subscriptions that match when the
// change commits.
func TestWebhookWanted(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	names := map[string]string{}
	makes := func(o *apptest.Org, entity, name string) {
		t.Helper()
		names[name] = apptest.Makers[entity](o)
	}
	makes(org, "contacts", "before")
	rec := apptest.NewReceiver(t)
	// Each has its own path, starting with /0.
	triggers := [][]string{{"*"}, {"contact.*"}, {"contact.created"}, {"contact.deleted", "tag.created"}, {"account.*"}, {"contact.created", "contact.*", "*", "*"}, {"webhook.test", "tam_preview.*"}}
	var ids []string
	for _, list := range triggers {
		ids = append(ids, rec.Subscribe(org, list...))
	}
	rec.Subscribe(other, "*") // /7
	apptest.HasPending(t, app, 0)
	makes(org, "contacts", "c")
	app.Deliver()
	same := map[string]bool{}
	for _, h := range rec.All() {
		same[h.Event(t).ID+" "+h.Header.Get("webhook-id")+h.Body] = true
	}
	if len(same) != 1 {
		t.Errorf("subscriptions got different envelopes: %v", same)
	}
	rec.Wants("created", names, "/0 contact.created c", "/1 contact.created c", "/2 contact.created c", "/5 contact.created c")
	makes(other, "contacts", "theirs")
	makes(other, "accounts", "theirs too")
	app.Deliver()
	rec.Wants("another organization", names, "/7 contact.created theirs", "/7 account.created theirs too")

	for _, id := range slices.Concat(ids[1:2], ids[4:]) {
		org.Admin.Delete(apptest.SubscriptionsPath + "/" + id).Is(204)
	}
	set := func(i int, body string) {
		t.Helper()
		org.Admin.Patch(apptest.SubscriptionsPath+"/"+ids[i], body).Is(200)
	}
	set(0, `{"status": "paused"}`)
	makes(org, "contacts", "while paused")
	set(0, `{"status": "active", "triggers": ["tag.*"]}`)
	makes(org, "contacts", "tags alone")
	set(2, `{"triggers": ["contact.*", "task.*"]}`)
	org.Write.Delete("/v1/contacts/" + names["c"]).Is(204)
	makes(org, "tasks", "task")
	app.Deliver()
	rec.Wants("as it was at the commit", names, "/2 contact.created while paused", "/2 contact.created tags alone", "/2 contact.deleted c", "/3 contact.deleted c", "/2 task.created task")

	// Pending deliveries use the URL of the subscription at the time of the attempt, whatever its
	// triggers are by then.
	makes(org, "tags", "tag")
	set(0, `{"triggers": ["meeting.*"], "status": "paused"}`)
	set(3, `{"triggers": ["meeting.*"], "url": "`+rec.URL+`/moved"}`)
	apptest.HasPending(t, app, 2)
	app.Deliver()
	rec.Wants("paused", names, "/moved tag.created tag")
	app.Restart()
	app.Deliver()
	makes(org, "meetings", "while paused again")
	set(0, `{"status": "active"}`)
	app.Deliver()
	rec.Wants("active again", names, "/0 tag.created tag", "/moved meeting.created while paused again")
	apptest.HasPending(t, app, 0)
}
