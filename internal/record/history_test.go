package record_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// keyID returns the id of a key with the access.
func keyID(t *testing.T, org *apptest.Org, access string) string {
	t.Helper()
	keys := org.Admin.Get("/v1/api-keys").Is(200)
	for i, a := range keys.Column("access") {
		if a == access {
			return keys.Column("id")[i]
		}
	}
	t.Fatal("no key with the access " + access)
	return ""
}

func TestHistory(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	account := apptest.Makers["accounts"](org)
	key, adminKey := keyID(t, org, "write"), keyID(t, org, "admin")
	for entity, object := range map[string]string{"accounts": "account", "contacts": "contact", "opportunities": "opportunity", "tasks": "task", "meetings": "meeting"} {
		path := "/v1/" + entity
		apptest.NewField(org, entity, "score", "number", "")
		began := app.Clock.Now().Format("2006-01-02T15:04:05.000Z")
		id := org.Write.Do("POST", path, apptest.EntityBody(entity, account, `"custom_field_score": 1`), "X-Request-Id", "req-1").Is(201).ID()
		created := fmt.Sprintf(`{"at": %q, "change": "created", "fields": [], "changes": {}, "operation_id": null, "operation": "create_%s", "user_id": %q, "key_id": %q, "request_id": "req-1", "lost": [], "merged_from": null}`, began, object, org.User, key)
		org.Read.Get(path+"/"+id+"/history").Is(200, `{"data": [`+created+`], "pagination": {"page": 1, "page_size": 50, "total_count": 1, "total_pages": 1}, "meta": {"timestamp": "<time>"}}`)

		// Writes without changes and refused writes add nothing.
		app.Clock.Advance(time.Minute)
		org.Write.Patch(path+"/"+id, `{"custom_field_score": 1.0, "notes": null}`).Is(200)
		org.Write.Patch(path+"/"+id, `{"notes": 1}`).Is(422)
		org.Write.Do("PATCH", path+"/"+id, `{"notes": "x"}`, "If-Match", `"9999"`).Is(412)
		later := app.Clock.Now().Format("2006-01-02T15:04:05.000Z")
		org.Admin.Do("PATCH", path+"/"+id, `{"notes": "x", "custom_field_score": 2, "external_id": "`+entity+`"}`, "X-Request-Id", "req.2").Is(200)
		res := org.Write.Post(path+"/batch", fmt.Sprintf(`{"match_on": "external_id", "records": [{"external_id": %q, "notes": null}, {"id": %q, "custom_field_score": null}, {"id": %q, "nope": 1}]}`, entity, id, id)).Is(200)
		entry := func(operation, key, request, fields string) string {
			return fmt.Sprintf(`{"at": %q, "change": "updated", "fields": %s, "changes": "<any>", "operation_id": null, "operation": %q, "user_id": %q, "key_id": %q, "request_id": %q, "lost": [], "merged_from": null}`, later, fields, operation, org.User, key, request)
		}
		batch := res.Header.Get("X-Request-Id")
		updated := org.Read.Get(path+"/"+id+"/history").Is(200, fmt.Sprintf(`{"data": [%s, %s, "<any>", %s], "pagination": {"page": 1, "page_size": 50, "total_count": 4, "total_pages": 1}, "meta": {"timestamp": "<time>"}}`,
			entry("batch_"+entity, key, batch, `["custom_field_score"]`), entry("batch_"+entity, key, batch, `["notes"]`), created))
		if got := apptest.Sorted(texts(updated.Value("data.2.fields"))); !slices.Equal(got, []string{"custom_field_score", "external_id", "notes"}) {
			t.Errorf("%s: the update changed %q", entity, got)
		}
		for field, want := range map[string]string{"operation": "update_" + object, "key_id": adminKey, "request_id": "req.2"} {
			if got := updated.Text("data.2." + field); got != want {
				t.Errorf("%s: the %s of the update is %q, want %q", entity, field, got, want)
			}
		}
		other.Read.Get(path+"/"+id+"/history").Fails(404, "not_found", "Resource not found")
		// The history of a deleted record can still be read.
		org.Write.Do("DELETE", path+"/"+id, nil, "X-Request-Id", "req-3").Is(204)
		gone := org.Read.Get(path + "/" + id + "/history").Is(200)
		if diff := apptest.Diff(strings.Replace(entry("delete_"+object, key, "req-3", `[]`), "updated", "deleted", 1), apptest.JSONAt(t, gone, "data.0")); diff != "" || gone.Int("pagination.total_count") != 5 {
			t.Errorf("%s: %s %s", entity, diff, gone.Body)
		}
		other.Read.Get(path+"/"+id+"/history").Fails(404, "not_found", "Resource not found")
	}
	org.Read.Get("/v1/tasks/0190b2f0-0000-7000-8000-000000000000/history").Fails(404, "not_found", "Resource not found")
	org.Read.Get("/v1/tasks/not-a-uuid/history").Fails(404, "not_found", "Resource not found")
	org.Read.Get("/v1/tags/"+apptest.Makers["tags"](org)+"/history").Fails(404, "not_found", "")
}

func texts(list any) []string {
	out := []string{}
	for _, v := range list.([]any) {
		out = append(out, fmt.Sprint(v))
	}
	return out
}

func TestHistoryPages(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	id := apptest.Makers["tasks"](org)
	for i := range 6 {
		org.Write.Patch("/v1/tasks/"+id, fmt.Sprintf(`{"notes": "%d"}`, i)).Is(200)
	}
	for query, want := range map[string]struct{ entries, page, size, pages int }{
		"":                      {7, 1, 50, 1},
		"?page_size=3":          {3, 1, 3, 3},
		"?page=2&page_size=3":   {3, 2, 3, 3},
		"?page_size=3&page=3":   {1, 3, 3, 3},
		"?page_size=3&page=4":   {0, 4, 3, 3},
		"?page=900719925474099": {0, 900719925474099, 50, 1},
		"?page_size=500":        {7, 1, 500, 1},
	} {
		t.Run(query, func(t *testing.T) {
			res := org.Read.In(t).Get("/v1/tasks/" + id + "/history" + query).Is(200)
			if got := len(res.Value("data").([]any)); got != want.entries {
				t.Errorf("%d entries, want %d", got, want.entries)
			}
			pagination := fmt.Sprintf(`{"page": %d, "page_size": %d, "total_count": 7, "total_pages": %d}`, want.page, want.size, want.pages)
			if got := res.Value("pagination"); !apptest.EqualsJSON(got, pagination) {
				t.Errorf("pagination %v, want %s", got, pagination)
			}
			if query == "?page_size=3&page=3" && res.Text("data.0.change") != "created" {
				t.Error("the oldest change is not the last entry")
			}
		})
	}
	for query, message := range map[string]string{
		"?page=0": "page: must be at least 1", "?page=-1": "page: must be at least 1", "?page=x": `page: "x" is not an integer`, "?page=1.5": `page: "1.5" is not an integer`,
		"?page=": `page: "" is not an integer`, "?page_size=0": "page_size: must be between 1 and 500", "?page_size=501": "page_size: must be between 1 and 500",
		"?page=1&page=2": "page: given more than once", "?sort=at": "sort: unknown query parameter",
	} {
		t.Run(message, func(t *testing.T) {
			org.Read.In(t).Get("/v1/tasks/"+id+"/history"+query).Fails(422, "validation_failed", message)
		})
	}
}

// TestHistoryAge checks that changes are kept for 90 days.
func TestHistoryAge(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	id := apptest.Makers["contacts"](org)
	path := "/v1/contacts/" + id
	app.Clock.Advance(30 * 24 * time.Hour)
	org.Write.Patch(path, `{"title": "VP"}`).Is(200)
	// Expired changes are not shown, whether or not the log was trimmed by other changes.
	count := func(want int) {
		t.Helper()
		for range 2 {
			if n := org.Read.Get(path + "/history").Is(200).Int("pagination.total_count"); n != want {
				t.Errorf("at %s there are %d changes, want %d", app.Clock.Now(), n, want)
			}
			for range 20 {
				apptest.Makers["contacts"](org)
			}
		}
	}
	count(2)
	app.Clock.Advance(60*24*time.Hour - time.Minute)
	count(2)
	app.Clock.Advance(2 * time.Minute)
	count(1)
	app.Clock.Advance(30 * 24 * time.Hour)
	count(0)
	org.Read.Get(path+"/history").Is(200, `{"data": [], "pagination": {"page": 1, "page_size": 50, "total_count": 0, "total_pages": 0}, "meta": {"timestamp": "<time>"}}`)
	org.Write.Patch(path, `{"title": "CEO"}`).Is(200)
	count(1)
	org.Write.Delete(path).Is(204)
	count(2)
	app.Clock.Advance(90 * 24 * time.Hour)
	org.Read.Get(path+"/history").Fails(404, "not_found", "Resource not found")
}

// TestHistoryOfCleanups checks that the removal of references is in the history, with the user who
// caused it, and does not change updated_at.
func TestHistoryOfCleanups(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account := apptest.Makers["accounts"](org)
	tag := apptest.NewTags(org, "contact", "A")["A"]
	field := apptest.NewField(org, "contacts", "score", "number", "")
	id := org.Write.Post("/v1/contacts", apptest.EntityBody("contacts", "", fmt.Sprintf(`"account_id": %q, "tags": [%q], "custom_field_score": 1`, account, tag))).Is(201).ID()
	path := "/v1/contacts/" + id
	for i, c := range []struct{ path, operation, field string }{
		{"/v1/tags/" + tag, "delete_tag", "tags"},
		{"/v1/accounts/" + account, "delete_account", "account_id"},
		{"/v1/fields/" + field, "delete_field", "custom_field_score"},
	} {
		app.Clock.Advance(time.Minute)
		before := org.Read.Get(path).Is(200)
		org.Admin.Do("DELETE", c.path, nil, "X-Request-Id", "gone").Is(204)
		after := org.Read.Get(path).Is(200)
		if after.Text("data.updated_at") != "2026-03-02T09:00:00.000Z" || after.Header.Get("ETag") == before.Header.Get("ETag") {
			t.Errorf("%s: %s", c.operation, after.Body)
		}
		res := org.Read.Get(path + "/history").Is(200)
		if res.Int("pagination.total_count") != i+2 {
			t.Errorf("%s: %s", c.operation, res.Body)
		}
		want := fmt.Sprintf(`{"at": "2026-03-02T09:0%d:00.000Z", "change": "updated", "fields": [%q], "changes": "<any>", "operation_id": "<any>", "operation": %q, "user_id": %q, "key_id": %q, "request_id": "gone", "lost": [], "merged_from": null}`,
			i+1, c.field, c.operation, org.User, keyID(t, org, "admin"))
		if diff := apptest.Diff(want, apptest.JSONAt(t, res, "data.0")); diff != "" {
			t.Errorf("%s: %s", c.operation, diff)
		}
	}
}
