package admin

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"prospector/internal/apptest"
	"prospector/internal/fault"
	"prospector/store"
)

// backupOf returns a new backup.
func backupOf(t *testing.T, app *apptest.App) []byte {
	t.Helper()
	backup, err := Backup.doLong(t.Context(), app.Service, BackupInput{}, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(backup.Path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestRestoreField checks that lists find the values of a custom field again that was damaged and is restored,
// also of records that were indexed in between.
func TestRestoreField(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	field := uuid.MustParse(org.Admin.Post("/v1/fields", `{"entity": "contacts", "key": "tier", "data_type": "text"}`).Is(201).ID())
	contact := org.Write.Post("/v1/contacts", `{"email": "a@x.example", "custom_field_tier": "gold"}`).Is(201).ID()
	file := backupOf(t, app)
	app.Stop()
	db, err := bolt.Open(filepath.Join(app.Config.DataDir, store.FileName), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		fields := tx.Bucket([]byte("orgs")).Bucket(org.ID[:]).Bucket([]byte("fields.rec"))
		value := bytes.Clone(fields.Get(field[:]))
		value[len(value)-3] ^= 1
		return fields.Put(field[:], value)
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	app.Start()
	check := func() []Problem {
		t.Helper()
		result, err := Check.doLong(t.Context(), app.Service, CheckInput{Repair: true}, func(int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		return result.Problems
	}
	org.Write.Patch("/v1/contacts/"+contact, `{"title": "CTO"}`).Is(200)
	if found := check(); len(found) != 1 {
		t.Errorf("the check finds %v, want the damaged field", found)
	}

	_, err = RestoreRecord.doFile(t.Context(), app.Service, RestoreRecordInput{Kind: "fields", ID: field}, bytes.NewReader(file), nil)
	if err != nil {
		t.Fatal(err)
	}
	list := org.Read.Post("/v1/contacts/list", `{"filters": [{"field": "custom_field_tier", "condition": "is", "value": "gold"}]}`).Is(200)
	if got := list.Column("id"); len(got) != 1 || got[0] != contact {
		t.Errorf("found %v, want %s", got, contact)
	}
	if found := check(); len(found) != 0 {
		t.Errorf("the check finds %v after the field is restored", found)
	}
}

// TestRestoreStandIn checks that the records which dropping puts in the place of a damaged organization and user are
// replaced by those of a backup, and that a new password replaces damaged credentials.
func TestRestoreStandIn(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	users, err := ListUsers.do(t.Context(), app.Service, Input{Org: org.ID.String()})
	if err != nil {
		t.Fatal(err)
	}
	setPassword := func() {
		t.Helper()
		in := PasswordInput{UserRef{org.ID.String(), string(users.Users[0].Email)}, "correct horse battery"}
		if _, err := SetPassword.do(t.Context(), app.Service, in); err != nil {
			t.Error(err)
		}
	}
	setPassword()
	file := backupOf(t, app)
	flip := func(b *bolt.Bucket, key, value []byte) error {
		value = bytes.Clone(value)
		value[len(value)-3] ^= 4
		return b.Put(key, value)
	}
	app.Stop()
	damage(t, app, org.ID, "credentials.rec", flip)
	app.Start()
	setPassword()
	app.Stop()
	damage(t, app, org.ID, "organizations.rec", flip)
	damage(t, app, org.ID, "users.rec", flip)
	app.Start()
	result, err := Check.doLong(t.Context(), app.Service, CheckInput{Repair: true, Drop: true}, func(int, int) {})
	if err != nil || !result.OK || len(result.Dropped) != 2 {
		t.Fatalf("%v, %+v", err, result)
	}
	for kind, id := range map[string]uuid.UUID{"organizations": org.ID, "users": users.Users[0].ID} {
		_, err := RestoreRecord.doFile(t.Context(), app.Service, RestoreRecordInput{Kind: kind, ID: id}, bytes.NewReader(file), nil)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if got := orgNames(t, app); got["Acme"] != org.ID {
		t.Errorf("the organizations are %v", got)
	}
	org.Read.Get("/v1/me").Is(200)
	if again, err := Check.doLong(t.Context(), app.Service, CheckInput{}, func(int, int) {}); err != nil || !again.OK {
		t.Errorf("%v, %+v", err, again)
	}
	for _, name := range []string{"messages", "credentials", "contacts-trash"} { // as check prints them
		if _, table := tableNamed(app.Service, name); table == nil {
			t.Errorf("%s is not a kind of record", name)
		}
	}
}

// TestRestoreUnlisted checks that the preferences of a user and a webhook subscription are restored, and that the
// subscription receives events again and has its attempts.
func TestRestoreUnlisted(t *testing.T) {
	f := newAttemptFixture(t)
	id := uuid.MustParse(f.id)
	session := f.Session()
	const stored = `{"values": {"theme": "dark"}}`
	session.Do(http.MethodPut, "/v1/me/preferences", stored).Is(200)
	file := backupOf(t, f.app)
	restore := func(kind string, id uuid.UUID) {
		t.Helper()
		_, err := RestoreRecord.doFile(t.Context(), f.app.Service, RestoreRecordInput{Kind: kind, ID: id}, bytes.NewReader(file), nil)
		if err != nil {
			t.Error(err)
		}
	}
	f.damage("preferences", f.Org.User.String())
	f.damage("subscriptions", f.id)
	session.Get("/v1/me/preferences").Fails(500, "damaged", "")
	restore("preferences", f.Org.User)
	session.Get("/v1/me/preferences").Is(200, `{"data": `+stored+`, "meta": "<any>"}`)
	f.deliver(7) // nothing
	restore("subscriptions", id)
	f.deliver(8) // and the two failed events
	f.list("", 10, 0)

	f.damage("preferences", f.Org.User.String())
	session.Do(http.MethodPut, "/v1/me/preferences", stored).Is(200)
	f.Admin.Delete("/v1/webhooks/subscriptions/" + f.id).Is(204)
	f.app.Work()
	restore("subscriptions", id)
	f.deliver(9)
	f.list("", 11, 0)
	f.app.Clock.Advance(31 * 24 * time.Hour)
	f.app.Work()
	f.deliver(10)
	f.list("", 1, 0)
	if again := f.check(CheckInput{}); len(again.Problems) > 0 {
		t.Errorf("%+v", again)
	}
}

// TestRestoreSendsNothing checks that a contact of a backup starts no sequence by coming back, and is refused if it would
// come to match a dynamic audience because its account is gone.
func TestRestoreSendsNothing(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account := "/v1/accounts/" + org.Write.Post("/v1/accounts", `{"name": "X"}`).Is(201).ID()
	create := func(members string) uuid.UUID {
		return uuid.MustParse(org.Write.Post("/v1/contacts", members).Is(201).ID())
	}
	lead := create(`{"email": "lead@x.example", "title": "Lead"}`)
	employee := create(fmt.Sprintf(`{"email": "employee@x.example", "account_id": %q}`, filepath.Base(account)))
	file := backupOf(t, app)
	for _, id := range []uuid.UUID{lead, employee} {
		org.Write.Delete("/v1/contacts/" + id.String() + "?permanent=true").Is(204)
	}
	org.Write.Delete(account).Is(204)
	template := org.Write.Post("/v1/sequence-templates", `{"name": "T", "steps": [{"index": 0, "type": "auto_email", "subject": "Hello", "message": "Shall we talk?"}]}`).Is(201).ID()
	campaigns := map[string]string{}
	for name, filters := range map[string]string{
		"leads": `{"field": "title", "condition": "is", "value": "Lead"}`, "homeless": `{"field": "account_id", "condition": "is_empty"}`,
	} {
		audience := org.Write.Post("/v1/audiences", fmt.Sprintf(`{"name": %q, "type": "dynamic", "filters": [%s]}`, name, filters)).Is(201).ID()
		campaigns[name] = "/v1/campaigns/" + org.Write.Post("/v1/campaigns", fmt.Sprintf(
			`{"name": %q, "template_id": %q, "audience_ids": [%q], "status": "active"}`, name, template, audience)).Is(201).ID()
	}
	app.Work()
	restore := func(id uuid.UUID) error {
		_, err := RestoreRecord.doFile(t.Context(), app.Service, RestoreRecordInput{Kind: "contacts", ID: id}, bytes.NewReader(file), nil)
		app.Work()
		return err
	}
	if err := restore(employee); fault.CodeOf(err) != fault.InUse {
		t.Errorf("an employee whose account is gone is restored: %v", err)
	}
	org.Read.Get("/v1/contacts/"+employee.String()).Fails(404, "not_found", "")
	if err := restore(lead); err != nil {
		t.Error(err)
	}
	for name, campaign := range campaigns {
		stats := org.Read.Get(campaign + "/stats").Is(200)
		if stats.Int("data.active") != 0 || stats.Int("data.not_started") != stats.Int("data.enrolled") {
			t.Errorf("%s has %s", name, stats.Body)
		}
	}
	if n := org.Read.Get(campaigns["leads"]).Is(200).Int("data.newcomers"); n != 1 {
		t.Errorf("%d people await confirmation", n)
	}
}

// restoreAs restores a record of a backup by the name of its kind.
func restoreAs(t *testing.T, app *apptest.App, file []byte, kind, id string) error {
	t.Helper()
	_, err := RestoreRecord.doFile(t.Context(), app.Service, RestoreRecordInput{Kind: kind, ID: uuid.MustParse(id)}, bytes.NewReader(file), nil)
	app.Work()
	return err
}

// TestRestoreNotGone checks that a record which is in the trash, was merged or erased is not restored from a backup, and that
// check finds a record that exists and is in the trash, too.
func TestRestoreNotGone(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	w := org.Write
	trashed, merged, erased := w.Post("/v1/contacts", `{"email": "trashed@x.example"}`).Is(201).ID(), w.Post("/v1/contacts", `{"email": "merged@x.example"}`).Is(201).ID(), w.Post("/v1/contacts", `{"email": "erased@x.example"}`).Is(201).ID()
	into := w.Post("/v1/contacts", `{"email": "into@x.example"}`).Is(201).ID()
	tag := w.Post("/v1/tags", `{"name": "T", "object_type": "contact", "color": "blue"}`).Is(201).ID()
	file := backupOf(t, app)
	w.Patch("/v1/contacts/"+trashed, `{"do_not_contact": true}`).Is(200)
	w.Delete("/v1/contacts/" + trashed).Is(204)
	w.Delete("/v1/tags/" + tag).Is(204)
	w.Post("/v1/contacts/"+into+"/merge", map[string]any{"ids": []string{merged}}).Is(200)
	if _, err := Erase.do(t.Context(), app.Service, EraseInput{Org: org.ID.String(), Email: "erased@x.example", Confirmed: true}); err != nil {
		t.Fatal(err)
	}
	app.Work()
	for _, c := range []struct{ kind, id, want string }{
		{"contacts", trashed, "contacts " + trashed + " is in the trash: restore it from there"},
		{"tags", tag, "tags " + tag + " is in the trash: restore it from there"},
		{"contacts", merged, "contacts " + merged + " was merged into " + into + ": undo that merge, or correct that one"},
		{"contacts", erased, "contacts " + erased + " was erased"},
	} {
		if err := restoreAs(t, app, file, c.kind, c.id); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
		w.Get("/v1/"+c.kind+"/"+c.id).Fails(404, "not_found", "")
	}
	check := func(want int) {
		t.Helper()
		if found, err := Check.doLong(t.Context(), app.Service, CheckInput{}, func(int, int) {}); err != nil || len(found.Problems) != want {
			t.Errorf("%v: the check finds %+v, want %d", err, found.Problems, want)
		}
	}
	check(0)
	err := app.Store.Update(t.Context(), org.ID, store.Actor{}, func(tx *store.Tx) error {
		rec, err := app.CRM.Contacts.GetTrashed(tx, uuid.MustParse(trashed))
		if err == nil {
			_, err = app.CRM.Contacts.Table.Insert(tx, rec.ID, rec)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	check(1)
	w.Delete("/v1/contacts/" + trashed + "?permanent=true").Is(204)
	if restored := w.Post("/v1/contacts/"+trashed+"/restore", nil).Is(200); restored.Value("data.do_not_contact") != true {
		t.Errorf("restored: %s", restored.Body)
	}
	check(0)
}

// TestRestoreRecordCampaign checks that a campaign of a backup is held when it comes back, whatever its status, and that who is
// in its audiences without a sequence awaits confirmation.
func TestRestoreRecordCampaign(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	w := org.Write
	contact := w.Post("/v1/contacts", `{"email": "a@x.example"}`).Is(201).ID()
	audience := w.Post("/v1/audiences", map[string]any{"name": "All", "contact_ids": []string{contact}}).Is(201).ID()
	template := w.Post("/v1/sequence-templates", `{"name": "T", "steps": [{"index": 0, "type": "auto_email", "subject": "Hello", "message": "Hello"}]}`).Is(201).ID()
	create := func(status string) string {
		return w.Post("/v1/campaigns", map[string]any{"name": status, "status": status, "template_id": template, "audience_ids": []string{audience}}).Is(201).ID()
	}
	active, draft, archived := create("active"), create("draft"), create("draft")
	app.Work()
	w.Patch("/v1/campaigns/"+archived, `{"status": "archived"}`).Is(200)
	file := backupOf(t, app)
	for _, id := range []string{active, draft, archived} {
		w.Patch("/v1/campaigns/"+id, `{"status": "archived"}`).Is(200)
		w.Delete("/v1/campaigns/" + id + "?permanent=true").Is(204)
	}
	newcomer := w.Post("/v1/contacts", `{"email": "new@x.example"}`).Is(201).ID()
	w.Post("/v1/audiences/"+audience+"/contacts/add", map[string]any{"contact_ids": []string{newcomer}}).Is(200)
	app.Work()
	for _, id := range []string{active, draft, archived} {
		if err := restoreAs(t, app, file, "campaigns", id); err != nil {
			t.Fatal(err)
		}
	}
	w.Post("/v1/campaigns/"+archived+"/reopen", `{}`).Is(200)
	app.Work()
	for _, id := range []string{active, draft, archived} {
		if got := w.Get("/v1/campaigns/" + id).Is(200); got.Text("data.held.reason") != "restored" {
			t.Errorf("restored: %s", got.Body)
		}
	}
	if got := w.Get("/v1/campaigns/" + active).Is(200); got.Text("data.status") != "active" || got.Int("data.newcomers") != 1 {
		t.Errorf("restored: %s", got.Body)
	}
}
