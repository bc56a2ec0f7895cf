package crm_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// TestDeletionOfReferred checks that deleting a record removes all references to it without
// changing updated_at.
func TestDeletionOfReferred(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	for _, c := range []struct {
		entity, field string
		bearers       []string
	}{
		{"contacts", "contact_id", []string{"opportunities", "tasks", "meetings"}},
		{"accounts", "account_id", []string{"contacts", "tasks", "meetings"}},
	} {
		needed, gone := apptest.Makers["accounts"](org), apptest.Makers[c.entity](org)
		stays := apptest.Makers[c.entity](org)
		paths := map[string]string{}
		for _, entity := range c.bearers {
			for _, id := range []string{stays, gone} {
				paths[entity] = "/v1/" + entity + "/" + org.Write.Post("/v1/"+entity, apptest.EntityBody(entity, needed, fmt.Sprintf(`"%s": %q`, c.field, id))).Is(201).ID()
			}
		}
		app.Clock.Advance(time.Minute)
		org.Write.Delete("/v1/" + c.entity + "/" + gone).Is(204)
		for entity, path := range paths {
			got := org.Read.Get(path).Is(200)
			if got.Value("data."+c.field) != nil || got.Text("data.updated_at") != got.Text("data.created_at") {
				t.Errorf("%s: %s", entity, got.Body)
			}
			if got := org.Read.Get(path + "/history").Is(200); !strings.HasPrefix(got.Text("data.0.operation"), "delete_") || got.Text("data.0.fields.0") != c.field {
				t.Errorf("%s: %s", entity, got.Body)
			}
			for rule, want := range map[string]int{`"is", "value": "` + gone + `"`: 0, `"is", "value": "` + stays + `"`: 1, `"is_not_empty"`: 1} {
				if n := org.Read.Post("/v1/"+entity+"/list", fmt.Sprintf(`{"filters": [{"field": %q, "condition": %s}]}`, c.field, rule)).Is(200).Int("pagination.total_count"); n != want {
					t.Errorf("%s: %s returns %d, want %d", entity, rule, n, want)
				}
			}
			// It cannot be referred to again.
			org.Write.Patch(path, fmt.Sprintf(`{%q: %q}`, c.field, gone)).Fails(422, "validation_failed", c.field+": does not exist")
		}
		for _, entity := range c.bearers {
			org.Write.Delete("/v1/" + entity + "/" + strings.Split(paths[entity], "/")[3]).Is(204)
		}
		org.Write.Delete("/v1/" + c.entity + "/" + stays).Is(204)
	}
	apptest.CheckConsistency(t, app, org)
}

// large is a record that many contacts refer to, with the checks after its deletion.
type large struct {
	name    string
	members func(org *apptest.Org, ids map[string]string) func(i int) string // the members of the i-th contact
	path    string                                                           // of the deleted record
	field   string                                                           // the field that refers to it
	rules   map[string]string                                                // condition and value: how many of n it finds, as a formula
}

var larges = []large{
	{
		name: "tag",
		members: func(org *apptest.Org, ids map[string]string) func(i int) string {
			for name, id := range apptest.NewTags(org, "contact", "gone", "stays") {
				ids[name] = id
			}
			return func(i int) string {
				return apptest.WithIDs([]string{`"tags": ["{gone}"]`, `"tags": ["{stays}", "{gone}"]`}[i%2], ids)
			}
		},
		path: "/v1/tags/{gone}", field: "tags",
		rules: map[string]string{`"is", "value": "{gone}"`: "none", `"is", "value": ["{gone}", "{stays}"]`: "half", `"is_not", "value": "{gone}"`: "all", `"contains", "value": "{gone}"`: "none",
			`"contains", "value": ["{gone}", "{stays}"]`: "none", `"not_contains", "value": "{gone}"`: "all", `"is_empty"`: "half", `"is_not_empty"`: "half"},
	},
	{
		name: "account",
		members: func(org *apptest.Org, ids map[string]string) func(i int) string {
			ids["gone"], ids["stays"] = apptest.Makers["accounts"](org), apptest.Makers["accounts"](org)
			return func(i int) string { return apptest.WithIDs(`"account_id": "{gone}"`, ids) }
		},
		path: "/v1/accounts/{gone}", field: "account_id",
		rules: map[string]string{`"is", "value": "{gone}"`: "none", `"is_not", "value": "{gone}"`: "all", `"is_not", "value": "{stays}"`: "all", `"is_empty"`: "all", `"is_not_empty"`: "none"},
	},
	{
		name: "field",
		members: func(org *apptest.Org, ids map[string]string) func(i int) string {
			ids["gone"] = apptest.NewField(org, "contacts", "colour", "text", "")
			return func(i int) string { return `"custom_field_colour": "vermilion"` }
		},
		path: "/v1/fields/{gone}", field: "custom_field_colour",
		rules: map[string]string{},
	},
}

// TestLargeDeletions deletes records that 1,500 or more contacts refer to. As soon as the deletion
// is acknowledged nothing shows the record, although most references are removed later: with and
// without an index, before and after a restart, and after the cleanup.
func TestLargeDeletions(t *testing.T) {
	for _, n := range []int{1500, 2500} {
		for i, l := range larges {
			if apptest.RaceDetector && i != n/1500-1 { // the race detector makes it ten times as slow; nothing is concurrent
				continue
			}
			t.Run(fmt.Sprint(l.name, n), func(t *testing.T) {
				t.Parallel() // it mostly waits for the disk
				l.deleted(t, n)
			})
		}
	}
}

func (l large) deleted(t *testing.T, n int) {
	app := apptest.New(t)
	org := app.Org("Acme")
	ids := map[string]string{}
	contacts := apptest.Crowd(t, org, n, l.members(org, ids))
	if err := app.Index.Flush(); err != nil {
		t.Fatal(err)
	}
	// A list before it, so that there is something cached.
	borne := org.Read.Post("/v1/contacts/list", fmt.Sprintf(`{"page_size": 1, "filters": [{"field": %q, "condition": "is_not_empty"}]}`, l.field)).Is(200)
	if borne.Int("pagination.total_count") != n {
		t.Fatal(string(borne.Body))
	}
	last := "/v1/contacts/" + contacts[n-1]
	was := org.Read.Get(last).Is(200)
	app.Clock.Advance(time.Minute)
	org.Admin.Do("DELETE", apptest.WithIDs(l.path, ids), nil, "X-Request-Id", "the-deletion").Is(204)
	unseen(t, app, org, l, ids, contacts)
	is := org.Read.Get(last).Is(200)
	if is.Header.Get("ETag") == was.Header.Get("ETag") || is.Text("data.updated_at") != was.Text("data.updated_at") {
		t.Error("the record changed without a new version, or it has a new updated_at")
	}
	org.Write.Do("PATCH", last, `{"title": "VP"}`, "If-Match", was.Header.Get("ETag")).Fails(412, "precondition_failed", "")
	org.Write.Do("DELETE", last, nil, "If-Match", was.Header.Get("ETag")).Fails(412, "precondition_failed", "")
	app.Restart()
	unseen(t, app, org, l, ids, contacts)
	org.Write.Do("PATCH", last, `{"title": "VP"}`, "If-Match", is.Header.Get("ETag")).Is(200)
	app.Work()
	unseen(t, app, org, l, ids, contacts)
	for _, i := range []int{0, 1100, n - 2} {
		res := org.Read.Get("/v1/contacts/" + contacts[i] + "/history").Is(200)
		if res.Int("pagination.total_count") != 2 || res.Text("data.0.operation") != "delete_"+l.name ||
			!reflect.DeepEqual(res.Value("data.0.fields"), []any{l.field}) || res.Text("data.0.request_id") != "the-deletion" {
			t.Errorf("the history of contact %d is %s", i, res.Body)
		}
		if got := org.Read.Get("/v1/contacts/" + contacts[i]).Is(200); got.Text("data.updated_at") != got.Text("data.created_at") {
			t.Errorf("contact %d has a new updated_at", i)
		}
	}
}

// unseen requires that nothing shows the deleted record or finds anything by it.
func unseen(t *testing.T, app *apptest.App, org *apptest.Org, l large, ids map[string]string, contacts []string) {
	t.Helper()
	n := len(contacts)
	counts := map[string]int{"none": 0, "half": n / 2, "all": n}
	for rule, want := range l.rules {
		res := org.Read.Post("/v1/contacts/list", apptest.WithIDs(fmt.Sprintf(`{"page_size": 1, "sort": "-id", "filters": [{"field": %q, "condition": %s}]}`, l.field, rule), ids)).Is(200)
		if got := res.Int("pagination.total_count"); got != counts[want] {
			t.Errorf("%s of %d: %s finds %d, want %d", l.name, n, rule, got, counts[want])
		}
	}
	word := ids["gone"]
	if l.name == "field" {
		word = "vermilion"
		forgotten(t, org, "contacts", contacts[n-1], l.field, apptest.EntityBody("contacts", "", `"custom_field_colour": "red"`))
		if got := org.Read.Post("/v1/contacts/list", `{"search": "vermilion"}`).Is(200).Int("pagination.total_count"); got != 0 {
			t.Errorf("%d records match a word of a deleted value", got)
		}
	}
	// Only the history has it, as a value of the past.
	shown := [][]byte{org.Read.Get("/v1/contacts/" + contacts[0]).Body, org.Read.Get("/v1/contacts/" + contacts[n-1]).Body,
		apptest.PostRaw(t, org, "/v1/contacts/export", `{}`), apptest.PostRaw(t, org, "/v1/contacts/export", `{"format": "csv"}`), apptest.PostRaw(t, org, "/v1/contacts/list", `{"page_size": 500}`)}
	for i, body := range shown {
		if strings.Contains(string(body), word) {
			t.Errorf("%s of %d: response %d contains the deleted value", l.name, n, i)
		}
	}
	if l.name == "account" { // none has a value, so that the ids decide
		res := org.Read.Post("/v1/contacts/list", `{"page_size": 3, "sort": "-account_id"}`).Is(200).Column("id")
		if !slices.Equal(res, []string{contacts[n-1], contacts[n-2], contacts[n-3]}) {
			t.Errorf("sorted by a deleted reference: %v", res)
		}
	}
	apptest.CheckConsistency(t, app, org)
}

// TestReferrersBeforeCleanup checks that records that referred to a deleted record can be changed
// and deleted before the cleanup has run.
func TestReferrersBeforeCleanup(t *testing.T) {
	if apptest.RaceDetector {
		t.Skip("skipped under the race detector: nothing here is concurrent, and other tests cover large lists")
	}
	app := apptest.New(t)
	org := app.Org("Acme")
	ids := apptest.NewTags(org, "contact", "gone", "stays")
	ids["account"], ids["other"] = apptest.Makers["accounts"](org), apptest.Makers["accounts"](org)
	field := apptest.NewField(org, "contacts", "colour", "text", "")
	const n = 2500 // with an index that contains the values of the old field
	contacts := apptest.Crowd(t, org, n, func(i int) string {
		return apptest.WithIDs(`"account_id": "{account}", "tags": ["{gone}", "{stays}"], "custom_field_colour": "vermilion"`, ids)
	})
	if err := app.Index.Flush(); err != nil {
		t.Fatal(err)
	}
	app.Clock.Advance(time.Minute)
	org.Write.Delete("/v1/tags/" + ids["gone"]).Is(204)
	org.Write.Delete("/v1/accounts/" + ids["account"]).Is(204)
	org.Admin.Delete("/v1/fields/" + field).Is(204)
	// A field with the same key is a new one and starts empty, also in records that are not
	// rewritten yet.
	apptest.NewField(org, "contacts", "colour", "enum", `, "allowed_values": ["vermilion", "red"]`)
	path := func(back int) string { return "/v1/contacts/" + contacts[n-back] }
	org.Write.Patch(path(1), apptest.WithIDs(`{"add_tags": ["{gone}"]}`, ids)).Fails(422, "validation_failed", "add_tags[0]: does not exist")
	org.Write.Patch(path(1), apptest.WithIDs(`{"tags": ["{stays}", "{gone}"]}`, ids)).Fails(422, "validation_failed", "tags[1]: does not exist")
	org.Write.Patch(path(1), apptest.WithIDs(`{"account_id": "{account}"}`, ids)).Fails(422, "validation_failed", "account_id: does not exist")
	org.Write.Patch(path(1), apptest.WithIDs(`{"remove_tags": ["{gone}"], "account_id": null, "custom_field_colour": null}`, ids)).Is(200)
	if got := org.Read.Get(path(1)).Text("data.updated_at"); got != "2026-03-02T09:00:00.000Z" {
		t.Error("removing a deleted reference counted as a change")
	}
	tag := apptest.NewTags(org, "contact", "gone")["gone"]
	org.Write.Patch(path(2), fmt.Sprintf(`{"add_tags": [%q], "account_id": %q, "custom_field_colour": "red"}`, tag, ids["other"])).Is(200)
	org.Write.Post("/v1/contacts/batch", fmt.Sprintf(`{"records": [{"id": %q, "custom_field_colour": "vermilion"}]}`, contacts[n-3])).Is(200)
	org.Write.Delete(path(4)).Is(204)
	item := org.Read.Get(path(5)).Is(200)
	org.Write.Patch(path(5), item.Value("data")).Is(200)
	check := func() {
		t.Helper()
		for back, want := range map[int]string{
			1: fmt.Sprintf(`{"tags": [%q], "account_id": null}`, ids["stays"]),
			2: fmt.Sprintf(`{"tags": [%q, %q], "account_id": %q, "custom_field_colour": "red"}`, ids["stays"], tag, ids["other"]),
			3: fmt.Sprintf(`{"tags": [%q], "account_id": null, "custom_field_colour": "vermilion"}`, ids["stays"]),
			5: fmt.Sprintf(`{"tags": [%q], "account_id": null}`, ids["stays"]),
		} {
			got := map[string]any{}
			for key, v := range org.Read.Get(path(back)).Is(200).Value("data").(map[string]any) {
				if key == "tags" || key == "account_id" || strings.HasPrefix(key, "custom_field_") {
					got[key] = v
				}
			}
			if diff := apptest.Diff(want, apptest.Encoded(t, got)); diff != "" {
				t.Errorf("history entry %d from the end: %s", back, diff)
			}
		}
		org.Read.Get(path(4)).Fails(404, "not_found", "")
		for rule, want := range map[string]int{
			`"tags", "condition": "is", "value": "{gone}"`: 0, `"tags", "condition": "is", "value": "` + tag + `"`: 1, `"tags", "condition": "contains", "value": "{stays}"`: n - 1,
			`"account_id", "condition": "is_not_empty"`: 1, `"account_id", "condition": "is", "value": "{account}"`: 0,
			`"custom_field_colour", "condition": "is_empty"`: n - 3, `"custom_field_colour", "condition": "is", "value": ["red", "vermilion"]`: 2,
		} {
			t.Run(rule, func(t *testing.T) {
				if got := org.Read.In(t).Post("/v1/contacts/list", apptest.WithIDs(`{"page_size": 1, "filters": [{"field": `+rule+`}]}`, ids)).Is(200).Int("pagination.total_count"); got != want {
					t.Errorf("%s finds %d, want %d", rule, got, want)
				}
			})
		}
		if got := org.Read.Post("/v1/contacts/list", `{"sort": "custom_field_colour", "page_size": 3}`).Is(200).Column("id"); got[0] != contacts[n-2] || got[1] != contacts[n-3] || got[2] != contacts[0] {
			t.Error("order by the new field:", got)
		}
		apptest.CheckConsistency(t, app, org)
	}
	check()
	app.Restart()
	check()
	app.Work()
	check()
}
