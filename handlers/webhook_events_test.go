package handlers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/cmd"
	"prospector/internal/apptest"
	"prospector/internal/catalog"
)

// happening is an expected event: its trigger and its data, byte for byte.
type happening struct{ trigger, data string }

// wantsExactly requires exactly these events, in this order.
func (r *receiver) wantsExactly(what string, want []happening) {
	r.t.Helper()
	var got []happening
	for _, h := range r.take() {
		e := h.event(r.t)
		got = append(got, happening{e.TriggerKey, string(e.Data)})
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			r.t.Errorf("%s: event %d: got\n%v\nwant\n%v", what, i, got[min(i, len(got)):], want[min(i, len(want)):])
			return
		}
	}
}

// readEvent returns an event with a record as GET shows it now.
func readEvent(o *apptest.Org, trigger, path string) happening {
	return happening{trigger, string(dataOf(o.Read.Get(path).Is(200)))}
}

// TestWebhookRecords creates, changes and deletes records of each kind in every possible way.
func TestWebhookRecords(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account := makers["accounts"](org)
	tag := newTags(org, "contact", "A")["A"]
	newField(org, "contacts", "score", "number", "")
	for _, c := range []struct{ object, entity, create, update, refused string }{
		{"account", "accounts", `{"name": "Initech", "website": "https://www.initech.example/x", "source": "csv"}`, `{"industry": "Software"}`, `{"name": null}`},
		{"contact", "contacts", `{"email": "bill@initech.example", "custom_field_score": 1.50, "tags": ["` + tag + `"], "account_id": "` + account + `"}`, `{"remove_tags": ["` + tag + `"]}`, `{"email": "x"}`},
		{"opportunity", "opportunities", `{"name": "Printers", "account_id": "` + account + `", "amount": 1e3}`, `{"stage": "won"}`, `{"stage": "x"}`},
		{"task", "tasks", `{"title": "Call \u00e9\u2028<b>"}`, `{"status": "completed"}`, `{"status": "x"}`},
		{"meeting", "meetings", `{"title": "Demo", "starts_at": "2026-04-01T09:00:00+02:00"}`, `{"status": "no_show"}`, `{"starts_at": null}`},
		{"tag", "tags", `{"name": "Champion", "color": "green", "object_type": "contact"}`, `{"color": "blue"}`, `{"object_type": "task"}`},
	} {
		rec := newReceiver(t)
		hook := rec.subscribe(org, c.object+".*")
		path := "/v1/" + c.entity
		var want []happening
		created := org.Write.Do("POST", path, c.create, "Idempotency-Key", c.object).Is(201)
		at := path + "/" + created.ID()
		want = append(want, readEvent(org, c.object+".created", at))
		org.Write.Do("POST", path, c.create, "Idempotency-Key", c.object).Is(201) // the stored response
		app.Clock.Advance(time.Second)
		org.Write.Patch(at, c.update).Is(200)
		want = append(want, readEvent(org, c.object+".updated", at))
		app.Clock.Advance(time.Second)

		org.Write.Patch(at, `{}`).Is(200) // changes nothing, like the next three
		org.Write.Patch(at, c.update).Is(200)
		org.Write.Patch(at, []byte(dataOf(org.Read.Get(at)))).Is(200)
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
					want = append(want, readEvent(org, c.object+"."+key, path+"/"+res.Text(fmt.Sprintf("data.results.%d.id", i))))
				}
			}
			again := `{"match_on": "external_id", "records": [{"external_id": "x"}, {"external_id": "x", ` + c.update[1:] + `, {"external_id": "x", "notes": "n"}]}`
			org.Write.Post(path+"/batch", again).Is(200)
			want = append(want, readEvent(org, c.object+".updated", at))
		}
		org.Write.Delete(at).Is(204)
		want = append(want, happening{c.object + ".deleted", `{"id":"` + created.ID() + `"}`})
		org.Write.Delete(at).Is(404)
		hasPending(t, app, len(want))
		app.Work()
		app.Deliver()
		rec.wantsExactly(c.object, want)
		org.Admin.Delete(hooksPath + "/" + hook).Is(204)
	}
}

// TestWebhookUnsubscribed checks that the event happens only when do_not_contact becomes true.
func TestWebhookUnsubscribed(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := newReceiver(t)
	rec.subscribe(org, "contact.*")
	names := map[string]string{}
	wants := func(what string, want ...string) {
		t.Helper()
		app.Deliver()
		for i := range want {
			want[i] = "/0 contact." + want[i]
		}
		rec.wants(what, names, want...)
	}
	names["out"] = org.Write.Post("/v1/contacts", `{"email": "out@x.example", "do_not_contact": true}`).Is(201).ID()
	wants("created so", "created out")
	names["c"] = org.Write.Post("/v1/contacts", `{"email": "c@x.example"}`).Is(201).ID()
	wants("created", "created c")
	path := "/v1/contacts/" + names["c"]
	org.Write.Patch(path, `{"do_not_contact": true, "title": "VP"}`).Is(200)
	read := string(dataOf(org.Read.Get(path)))
	app.Deliver()
	rec.wantsExactly("turned true", []happening{{"contact.updated", read}, {"contact.unsubscribed", read}})
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

	alone := newReceiver(t)
	alone.subscribe(org, "contact.unsubscribed")
	org.Write.Patch(path, `{"do_not_contact": false}`).Is(200)
	org.Write.Patch(path, `{"do_not_contact": true}`).Is(200)
	app.Deliver()
	alone.wants("alone", names, "/0 contact.unsubscribed c")
}

// TestWebhookTAM checks the events of Previews and Imports, and of the records that an Import
// creates.
func TestWebhookTAM(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := newReceiver(t)
	rec.subscribe(org, "*")
	// listed is the Preview as it is listed, without members.
	listed := func(key, id string) happening {
		t.Helper()
		var answer struct{ Data []json.RawMessage }
		if err := json.Unmarshal(org.Read.Post("/v1/tam/previews/list", `{"filters": [{"field": "preview_id", "condition": "is", "value": "`+id+`"}]}`).Is(200).Body, &answer); err != nil || len(answer.Data) != 1 {
			t.Fatalf("%v: %d Previews", err, len(answer.Data))
		}
		read, event := apptest.Object(string(dataOf(org.Read.Get(previewPath+"/"+id)))), apptest.Object(string(answer.Data[0]))
		delete(read, "members")
		delete(read, "pagination_meta")
		if encoded(t, read) != encoded(t, event) {
			t.Errorf("the Preview is %s, its event has %s", encoded(t, read), encoded(t, event))
		}
		return happening{"tam_preview." + key, string(answer.Data[0])}
	}
	failed := readyPreview(org, `{}`)
	want := []happening{listed("failed", failed)}
	app.Catalog([]catalog.Company{fullFirm("c1"), fullFirm("c2")}, []catalog.Person{fullWorker("p1", "c1"), fullWorker("p2", "c2")})
	cancelled := askedPreview(org, `{}`)
	org.Write.Post(previewPath+"/"+cancelled+"/cancel", nil).Is(200)
	org.Write.Post(previewPath+"/"+cancelled+"/cancel", nil).Is(200)
	want = append(want, listed("cancelled", cancelled))
	full := org.Write.Post("/v1/accounts", `{"name": "My c1", "website": "c1.example"}`).Is(201).ID()
	want = append(want, readEvent(org, "account.created", "/v1/accounts/"+full))
	ready := readyPreview(org, `{}`)
	want = append(want, listed("ready", ready))
	app.Work()
	app.Deliver()
	rec.wantsExactly("Previews", want)

	app.Clock.Advance(time.Second)
	operation := accept(org, ready)
	want = []happening{readEvent(org, "tam_import.accepted", importPath+operation)}
	org.Write.Post(previewPath+"/"+ready+"/import", nil).Is(200)
	app.Work()
	app.Deliver()
	var made []happening
	for _, entity := range []string{"account", "contact"} {
		for _, id := range org.Read.Post("/v1/"+entity+"s/list", nil).Is(200).Column("id") {
			key := entity + map[bool]string{true: ".updated", false: ".created"}[id == full]
			made = append(made, readEvent(org, key, "/v1/"+entity+"s/"+id))
		}
	}
	want = append(append(want, made...), readEvent(org, "tam_import.completed", importPath+operation))
	got := rec.take()
	for i, h := range got {
		e := h.event(t)
		if at := slices.Index(want, happening{e.TriggerKey, string(e.Data)}); at < 0 || len(got) != len(want) || (i == 0) != (at == 0) || (i == len(got)-1) != (at == len(want)-1) {
			t.Errorf("unexpected event %d of %d, want %d events: %s", i, len(got), len(want), h.body)
		}
	}
	// Existing complete records stay unchanged.
	imports(t, org, readyPreview(org, `{}`))
	org.Write.Delete(previewPath + "/" + failed).Is(204)
	app.Work()
	app.Deliver()
	var keys []string
	for _, h := range rec.take() {
		keys = append(keys, h.event(t).TriggerKey)
	}
	if !slices.Equal(keys, []string{"tam_preview.ready", "tam_import.accepted", "tam_import.completed"}) {
		t.Errorf("an Import of existing records emitted %v", keys)
	}
}

// TestWebhookFailedImport damages the data that an Import needs.
func TestWebhookFailedImport(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := newReceiver(t)
	rec.subscribe(org, "tam_import.failed", "tam_import.completed")
	app.Catalog([]catalog.Company{firm("c1")}, []catalog.Person{worker("p1", "c1", "A damaged title")})
	operation := accept(org, readyPreview(org, `{}`))
	app.Stop()
	file := filepath.Join(app.Config.DataDir, "prospector.db")
	stored, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, bytes.ReplaceAll(stored, []byte("A damaged title"), []byte("a Damaged Title")), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	app.Start()
	for range 5 {
		app.Work()
		app.Clock.Advance(time.Hour)
	}
	app.Deliver()
	rec.wantsExactly("a failed Import", []happening{readEvent(org, "tam_import.failed", importPath+operation)})
}

// TestWebhookFiles imports files on the command line while no server runs. Their events are
// delivered when it starts.
func TestWebhookFiles(t *testing.T) {
	app := apptest.New(t)
	app.Clock.Advance(time.Since(app.Clock.Now()))
	org := app.Org("Acme")
	rec := newReceiver(t)
	rec.subscribe(org, "*")
	old := org.Write.Post("/v1/contacts", `{"email": "old@x.example"}`).Is(201).ID()
	same := org.Write.Post("/v1/contacts", `{"email": "same@x.example", "title": "VP"}`).Is(201).ID()
	app.Deliver()
	rec.take()
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
	hasPending(t, app, 3)
	app.Deliver()
	done := org.Read.Post("/v1/imports/list", `{}`).Text("data.0.id")
	fresh := org.Read.Post("/v1/contacts/list", `{"search": "new"}`).Text("data.0.id")
	rec.wantsExactly("a file", []happening{readEvent(org, "contact.created", "/v1/contacts/"+fresh), readEvent(org, "contact.updated", "/v1/contacts/"+old),
		readEvent(org, "import.completed", "/v1/imports/"+done)})
	if org.Read.Get("/v1/contacts/"+same).Text("data.title") != "VP" {
		t.Error("the import changed an unchanged contact")
	}
}

// TestWebhookSilence checks that changes of other kinds of records, and of records that only refer
// to a changed one, cause no events.
func TestWebhookSilence(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account, tag := makers["accounts"](org), newTags(org, "contact", "A")["A"]
	field := newField(org, "contacts", "tier", "text", "")
	contact := org.Write.Post("/v1/contacts", `{"email": "a@x.example", "account_id": "`+account+`", "tags": ["`+tag+`"], "custom_field_tier": "gold"}`).Is(201).ID()
	task := org.Write.Post("/v1/tasks", `{"title": "Call", "contact_id": "`+contact+`", "account_id": "`+account+`"}`).Is(201).ID()
	rec := newReceiver(t)
	rec.subscribe(org, "*")
	before := string(dataOf(org.Read.Get("/v1/contacts/" + contact)))
	for kind, update := range map[string]string{"account-views": `{"name": "Some"}`, "users": `{"title": "Head"}`, "fields": `{"label": "L"}`, "api-keys": ""} {
		id := makers[kind](org)
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
	org.Admin.Patch(hooksPath+"/"+second, `{"status": "paused"}`).Is(200)
	org.Admin.Post(hooksPath+"/"+second+"/rotate-secret", nil).Is(200)
	org.Admin.Delete(hooksPath + "/" + second).Is(204)
	app.Work()
	app.Deliver()
	rec.wants("other kinds", nil)
	org.Write.Post("/v1/tags", `{"name": "a", "color": "red", "object_type": "contact"}`).Fails(409, "tag_name_taken", "")
	opportunity := org.Write.Post("/v1/opportunities", `{"name": "O", "account_id": "`+account+`"}`).Is(201).ID()
	org.Write.Delete("/v1/accounts/"+account).Fails(409, "in_use", "")
	org.Write.Delete("/v1/opportunities/" + opportunity).Is(204)
	app.Deliver()
	rec.wants("conflicts", map[string]string{"o": opportunity}, "/0 opportunity.created o", "/0 opportunity.deleted o")

	org.Admin.Delete("/v1/fields/" + field).Is(204)
	org.Write.Delete("/v1/tags/" + tag).Is(204)
	org.Write.Delete("/v1/accounts/" + account).Is(204)
	app.Work()
	app.Deliver()
	if after := string(dataOf(org.Read.Get("/v1/contacts/" + contact))); after == before {
		t.Errorf("the contact is unchanged: %s", after)
	}
	rec.wants("what follows", map[string]string{"tag": tag, "account": account}, "/0 tag.deleted tag", "/0 account.deleted account")
	org.Write.Delete("/v1/contacts/" + contact).Is(204)
	app.Deliver()
	rec.wants("what follows", map[string]string{"contact": contact, "task": task}, "/0 contact.deleted contact")
}

// TestWebhookWanted checks that an event is delivered only to subscriptions that match when the
// change commits.
func TestWebhookWanted(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	names := map[string]string{}
	makes := func(o *apptest.Org, entity, name string) {
		t.Helper()
		names[name] = makers[entity](o)
	}
	makes(org, "contacts", "before")
	rec := newReceiver(t)
	// Each has its own path, starting with /0.
	triggers := [][]string{{"*"}, {"contact.*"}, {"contact.created"}, {"contact.deleted", "tag.created"}, {"account.*"}, {"contact.created", "contact.*", "*", "*"}, {"webhook.test", "tam_preview.*"}}
	var ids []string
	for _, list := range triggers {
		ids = append(ids, rec.subscribe(org, list...))
	}
	rec.subscribe(other, "*") // /7
	hasPending(t, app, 0)
	makes(org, "contacts", "c")
	app.Deliver()
	same := map[string]bool{}
	for _, h := range rec.all() {
		same[h.event(t).ID+" "+h.header.Get("webhook-id")+h.body] = true
	}
	if len(same) != 1 {
		t.Errorf("subscriptions got different envelopes: %v", same)
	}
	rec.wants("created", names, "/0 contact.created c", "/1 contact.created c", "/2 contact.created c", "/5 contact.created c")
	makes(other, "contacts", "theirs")
	makes(other, "accounts", "theirs too")
	app.Deliver()
	rec.wants("another organization", names, "/7 contact.created theirs", "/7 account.created theirs too")

	for _, id := range slices.Concat(ids[1:2], ids[4:]) {
		org.Admin.Delete(hooksPath + "/" + id).Is(204)
	}
	set := func(i int, body string) {
		t.Helper()
		org.Admin.Patch(hooksPath+"/"+ids[i], body).Is(200)
	}
	set(0, `{"status": "paused"}`)
	makes(org, "contacts", "while paused")
	set(0, `{"status": "active", "triggers": ["tag.*"]}`)
	makes(org, "contacts", "tags alone")
	set(2, `{"triggers": ["contact.*", "task.*"]}`)
	org.Write.Delete("/v1/contacts/" + names["c"]).Is(204)
	makes(org, "tasks", "task")
	app.Deliver()
	rec.wants("as it was at the commit", names, "/2 contact.created while paused", "/2 contact.created tags alone", "/2 contact.deleted c", "/3 contact.deleted c", "/2 task.created task")

	// Pending deliveries use the URL of the subscription at the time of the attempt, whatever its
	// triggers are by then.
	makes(org, "tags", "tag")
	set(0, `{"triggers": ["meeting.*"], "status": "paused"}`)
	set(3, `{"triggers": ["meeting.*"], "url": "`+rec.URL+`/moved"}`)
	hasPending(t, app, 2)
	app.Deliver()
	rec.wants("paused", names, "/moved tag.created tag")
	app.Restart()
	app.Deliver()
	makes(org, "meetings", "while paused again")
	set(0, `{"status": "active"}`)
	app.Deliver()
	rec.wants("active again", names, "/0 tag.created tag", "/moved meeting.created while paused again")
	hasPending(t, app, 0)
}
