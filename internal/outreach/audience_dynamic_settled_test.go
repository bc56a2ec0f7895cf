package outreach_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/store"
)

// manyContacts is more than one transaction moves in and out of an audience.
const manyContacts = 1600

// createMany creates manyContacts contacts, each with the given members of its JSON object, and returns their ids.
func createMany(org *apptest.Org, members string) (ids []string) {
	for from := 0; from < manyContacts; from += 800 {
		var records []string
		for i := range 800 {
			records = append(records, fmt.Sprintf(`{"email": "c%d@x.example"%s}`, from+i, members))
		}
		res := org.Write.Post("/v1/contacts/batch", `{"records": [`+strings.Join(records, ",")+`]}`).Is(200)
		for i := range records {
			ids = append(ids, res.Text(fmt.Sprintf("data.results.%d.id", i)))
		}
	}
	return ids
}

// keeps checks that the list of an audience, contact_count and the stored members agree.
func keeps(t *testing.T, app *apptest.App, org *apptest.Org, path string, want int) {
	t.Helper()
	count := org.Read.Get(path).Is(200).Int("data.contact_count")
	listed := org.Read.Post(path+"/contacts/list", `{"page_size": 1}`).Is(200).Int("pagination.total_count")
	var members []uuid.UUID
	err := app.Store.View(org.ID, func(tx *store.Tx) (err error) {
		members, err = app.Outreach.Members(tx, uuid.MustParse(path[len(apptest.AudiencesPath)+1:]))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if count != want || listed != want || len(members) != want {
		t.Errorf("contact_count is %d, the list has %d contacts, %d are stored, want %d", count, listed, len(members), want)
	}
}

// TestDynamicArchivedBeforeRefresh archives an audience before the job has stored its contacts.
func TestDynamicArchivedBeforeRefresh(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	contacts := createMany(org, `, "title": "CTO"`)
	path := apptest.DynamicAudience(org, "CTOs", `[{"field": "title", "condition": "is", "value": "CTO"}]`)
	org.Write.Patch(path, `{"status": "archived"}`).Is(200)
	keeps(t, app, org, path, manyContacts)
	org.Write.Patch("/v1/contacts/"+contacts[0], `{"title": "CEO"}`).Is(200)
	app.Work()
	keeps(t, app, org, path, manyContacts)
	org.Write.Patch(path, `{"status": "active"}`).Is(200)
	holds(t, org, path, manyContacts-1)

	// The same after the filters have changed.
	org.Write.Patch(path, `{"filters": [{"field": "title", "condition": "is", "value": "CEO"}]}`).Is(200)
	org.Write.Patch(path, `{"status": "archived"}`).Is(200)
	keeps(t, app, org, path, 1)
	app.Work()
	keeps(t, app, org, path, 1)
}

// TestDynamicArchivedDuringSweep archives audiences before the sweep of a deleted tag or account has taken their
// contacts out.
func TestDynamicArchivedDuringSweep(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account := org.Write.Post("/v1/accounts", `{"name": "Globex"}`).Is(201).ID()
	tag := org.Write.Post("/v1/tags", `{"name": "Many", "color": "red", "object_type": "contact"}`).Is(201).ID()
	createMany(org, fmt.Sprintf(`, "tags": ["Many"], "account_id": %q`, account))
	tagged := apptest.DynamicAudience(org, "Tagged", `[{"field": "tags", "condition": "is_not_empty"}]`)
	employed := apptest.DynamicAudience(org, "Employed", `[{"field": "account_id", "condition": "is_not_empty"}]`)
	app.Work()
	keeps(t, app, org, employed, manyContacts)

	org.Write.Delete("/v1/tags/" + tag).Is(204)
	org.Write.Patch(tagged, `{"status": "archived"}`).Is(200)
	org.Write.Delete("/v1/accounts/" + account).Is(204)
	org.Write.Patch(employed, `{"status": "archived"}`).Is(200)
	check := func() {
		t.Helper()
		keeps(t, app, org, tagged, 0)
		keeps(t, app, org, employed, 0)
	}
	check()
	app.Work()
	check()
}

// TestDynamicFieldDeletedBeforeRefresh deletes the field of a filter before the job has stored the contacts.
func TestDynamicFieldDeletedBeforeRefresh(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	createMany(org, "")
	field := func(key string) string {
		return "/v1/fields/" + org.Admin.Post("/v1/fields", `{"entity": "contacts", "key": "`+key+`", "data_type": "text"}`).Is(201).ID()
	}
	used, other := field("used"), field("other")
	unused := `{"operator": "or", "filters": [{"field": "custom_field_used", "condition": "is_empty"}]}`
	path := apptest.DynamicAudience(org, "Unused", unused)
	org.Admin.Delete(other).Is(204)
	org.Admin.Delete(used).Fails(409, "in_use", "name it")
	archived := apptest.DynamicAudience(org, "Archived", unused)
	org.Write.Patch(archived, `{"status": "archived"}`).Is(200)
	org.Admin.Delete(used + "?force=true").Is(204)
	keeps(t, app, org, path, manyContacts)
	app.Work()
	org.Write.Post("/v1/contacts", `{"email": "late@x.example"}`).Is(201)
	keeps(t, app, org, path, manyContacts)

	// A field with the same key brings nobody in. An archived audience cannot be activated while there is none.
	org.Write.Patch(archived, `{"status": "active"}`).Fails(422, "invalid_filter", `"custom_field_used" is not a field of contacts`)
	field("used")
	app.Work()
	keeps(t, app, org, path, manyContacts)
	keeps(t, app, org, archived, manyContacts)
}

// TestDynamicActivatedLimit refuses to activate an audience if that would be one too many.
func TestDynamicActivatedLimit(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	var paths []string
	for i := range 50 {
		paths = append(paths, apptest.DynamicAudience(org, fmt.Sprint("A", i), `[]`))
	}
	org.Write.Patch(paths[0], `{"status": "archived"}`).Is(200)
	apptest.DynamicAudience(org, "One more", `[]`)
	org.Write.Patch(paths[0], `{"status": "active"}`).Fails(422, "validation_failed", "status: an organization may have 50 dynamic audiences")
	org.Write.Patch(paths[0], `{"name": "Archived"}`).Is(200)
	org.Write.Patch(paths[1], `{"status": "archived"}`).Is(200)
	org.Write.Patch(paths[0], `{"status": "active"}`).Is(200)
}

// TestDynamicCountBeforeRefresh changes contacts and filters while jobs wait. contact_count does not count a contact
// twice.
func TestDynamicCountBeforeRefresh(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	contacts := createMany(org, `, "title": "CTO"`)
	path := apptest.DynamicAudience(org, "Audience", `[{"field": "title", "condition": "is", "value": "nobody"}]`)
	app.Work()
	org.Write.Patch(path, `{"filters": []}`).Is(200)
	for _, id := range contacts[:3] {
		org.Write.Patch("/v1/contacts/"+id, `{"title": "CEO"}`).Is(200)
	}
	holds(t, org, path, manyContacts)
	org.Write.Patch(path, `{"filters": [{"field": "title", "condition": "is", "value": "CEO"}]}`).Is(200)
	holds(t, org, path, 3)
	app.Work()
	holds(t, org, path, 3)
	org.Write.Patch("/v1/contacts/"+contacts[3], `{"title": "CEO"}`).Is(200)
	holds(t, org, path, 4)

	// The job of earlier filters does not overwrite the count of later ones.
	org.Write.Patch(path, `{"filters": []}`).Is(200)
	first := dueRefreshes(t, app)
	org.Write.Patch(path, `{"filters": [{"field": "title", "condition": "is", "value": "CTO"}]}`).Is(200)
	if len(first) != 1 {
		t.Fatalf("%d jobs are due, want 1", len(first))
	}
	for _, job := range first {
		if err := app.Outreach.Jobs()[job.Kind](context.Background(), job); err != nil {
			t.Fatal(err)
		}
		holds(t, org, path, manyContacts-4)
	}
	app.Work()
	keeps(t, app, org, path, manyContacts-4)
}

// dueRefreshes returns the jobs that refresh audiences.
func dueRefreshes(t *testing.T, app *apptest.App) []store.Job {
	t.Helper()
	jobs, _, err := app.Store.Due(app.Store.Now(), 100, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(jobs, func(j store.Job) bool { return j.Kind != "audience.refresh" })
}
