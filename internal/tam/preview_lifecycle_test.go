package tam_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
	"prospector/internal/service"
)

// statusOf returns the status of a Preview and the reason of a failure. Only a READY Preview may
// have results.
func statusOf(t *testing.T, o *apptest.Org, id string) string {
	t.Helper()
	res := o.Read.Get(apptest.PreviewsPath + "/" + id).Is(200)
	status := res.Text("data.status")
	if status != "READY" && (res.Value("data.result") != nil || res.Value("data.totals") != nil || res.Value("data.contacts_by_account") != nil || res.Value("data.pagination_meta.total_count") != nil ||
		len(res.Value("data.members").([]any)) > 0) {
		t.Errorf("%s", res.Body)
	}
	if (status == "FAILED") != (res.Value("data.failure_reason") != nil) || status == "READY" && res.Int("data.progress") != 1 {
		t.Errorf("%s", res.Body)
	}
	if status == "FAILED" {
		status += " " + res.Text("data.failure_reason")
	}
	return status
}

func TestPreviewCancel(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	app.Catalog([]catalog.Company{apptest.Firm("c1")}, []catalog.Person{apptest.Worker("p1", "c1", "CEO")})
	id := apptest.AskedPreview(org, `{}`)
	cancel := apptest.PreviewsPath + "/" + id + "/cancel"
	app.Clock.Advance(time.Second)
	first := org.Write.Post(cancel, nil).Is(200)
	if first.Text("data.updated_at") != "2026-03-02T09:00:01.000Z" {
		t.Errorf("%s", first.Body)
	}
	before := org.Dump()
	app.Clock.Advance(time.Second)
	for _, body := range []any{nil, `{}`} {
		again := org.Write.Post(cancel, body).Is(200)
		if string(apptest.DataOf(again)) != string(apptest.DataOf(first)) || again.Header.Get("ETag") != first.Header.Get("ETag") {
			t.Errorf("again: %s", again.Body)
		}
	}
	if org.Dump() != before {
		t.Error("cancelling again changed something")
	}
	app.Work()
	if got := statusOf(t, org, id); got != "CANCELLED" || string(apptest.DataOf(org.Read.Get(apptest.PreviewsPath+"/"+id))) != string(apptest.DataOf(first)) {
		t.Errorf("%s continues after it was canceled", got)
	}
	if strings.Contains(org.Dump(), "source_ordinal") {
		t.Error("members of the canceled Preview are stored")
	}
	ready := apptest.ReadyPreview(org, `{}`)
	org.Write.Post(apptest.PreviewsPath+"/"+ready+"/cancel", nil).Fails(409, "preview_not_preparing", "READY")
	apptest.SameTexts(t, "the one that was not cancelled", addUp(t, org, ready), "c1", "c1/p1")
}

func TestPreviewDelete(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	app.Catalog([]catalog.Company{apptest.Firm("c1")}, []catalog.Person{apptest.Worker("p1", "c1", "CEO")})
	kept := apptest.ReadyPreview(org, `{}`)
	before := org.Dump()
	id := apptest.ReadyPreview(org, `{}`)
	path := apptest.PreviewsPath + "/" + id
	v1 := org.Read.Get(path).Header.Get("ETag")
	v2 := org.Write.Post(path+"/exclude", `{"person_ids": ["p1"]}`).Is(200).Header.Get("ETag")
	org.Write.Do("DELETE", path, nil, "If-Match", v1).Fails(412, "precondition_failed", v2)
	other.Write.Delete(path).Fails(404, "not_found", "")
	org.Read.Delete(path).Fails(403, "forbidden", "write")
	org.Write.Do("DELETE", path, nil, "If-Match", v2).Is(204)
	preparing := apptest.AskedPreview(org, `{}`)
	org.Write.Delete(apptest.PreviewsPath + "/" + preparing).Is(204)
	for _, id := range []string{id, preparing} {
		at := apptest.PreviewsPath + "/" + id
		org.Read.Get(at).Fails(404, "not_found", "")
		org.Read.Get(at+"/members").Fails(404, "not_found", "")
		org.Write.Post(at+"/exclude", `{}`).Fails(404, "not_found", "")
		org.Write.Post(at+"/cancel", nil).Fails(404, "not_found", "")
		org.Write.Delete(at).Fails(404, "not_found", "")
	}
	app.Work()
	apptest.SameTexts(t, "the list", org.Read.Post("/v1/tam/previews/list", nil).Is(200).Column("preview_id"), kept)
	if after := org.Dump(); strings.Count(after, "source_ordinal") != strings.Count(before, "source_ordinal") || strings.Count(after, "source_ordinal") != 2 {
		t.Errorf("%d members are left", strings.Count(after, "source_ordinal"))
	}
	apptest.SameTexts(t, "the other one", addUp(t, org, kept), "c1", "c1/p1")
}

func TestPreviewRetention(t *testing.T) {
	const day = 24 * time.Hour
	app := apptest.New(t, func(c *service.Config) { c.TAM.Retention = 10*day + time.Hour })
	org := app.Org("Acme")
	app.Catalog([]catalog.Company{apptest.Firm("c1")}, nil)
	names := map[string]string{}
	names[apptest.ReadyPreview(org, `{}`)] = "ready"
	imported := apptest.ReadyPreview(org, `{}`)
	apptest.AcceptImport(org, imported)
	names[imported] = "imported"
	cancelled := apptest.AskedPreview(org, `{}`)
	org.Write.Post(apptest.PreviewsPath+"/"+cancelled+"/cancel", nil).Is(200)
	names[cancelled] = "cancelled"
	left := func() string {
		t.Helper()
		app.Work()
		var have []string
		for _, id := range org.Read.Post("/v1/tam/previews/list", nil).Is(200).Column("preview_id") {
			have = append(have, names[id])
		}
		slices.Sort(have)
		return strings.Join(have, " ")
	}
	app.Clock.Advance(9 * day)
	if got := left(); got != "cancelled imported ready" {
		t.Fatal(got)
	}
	names[apptest.ReadyPreview(org, `{}`)] = "young"
	app.Clock.Advance(day + time.Hour - time.Millisecond)
	if got := left(); got != "cancelled imported ready young" {
		t.Error(got)
	}
	app.Clock.Advance(time.Millisecond)
	if got := left(); got != "imported young" {
		t.Error(got)
	}
	if n := strings.Count(org.Dump(), "source_ordinal"); n != 2 {
		t.Errorf("%d members are left", n)
	}
	// A new retention time applies to existing Previews from the next day.
	app.Config.TAM.Retention = 2 * day
	app.Restart()
	app.Clock.Advance(day)
	if got := left(); got != "imported" {
		t.Error(got)
	}
	app.Clock.Advance(1000 * day)
	if got := left(); got != "imported" {
		t.Error(got)
	}
}

// TestPreviewFailed checks the reasons why a preparation can fail.
func TestPreviewFailed(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	wants := func(what, id, want string) {
		t.Helper()
		app.Work()
		if got := statusOf(t, org, id); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	wants("no catalog", apptest.AskedPreview(org, `{}`), "FAILED catalogue_empty")
	app.Catalog(nil, []catalog.Person{apptest.Worker("p1", "c1", "CEO")})
	empty := apptest.AskedPreview(org, `{}`)
	wants("a catalog without companies", empty, "FAILED catalogue_empty")
	org.Write.Post(apptest.PreviewsPath+"/"+empty+"/cancel", nil).Fails(409, "preview_not_preparing", "FAILED")
	org.Read.Post(apptest.PreviewsPath+"/estimate", apptest.PreviewBody(`{}`)).Is(200)
	app.Catalog([]catalog.Company{apptest.Firm("c1")}, nil)
	wants("what failed stays so", empty, "FAILED catalogue_empty")

	none := apptest.AskedPreview(org, `{"company_filters": {"searching_rule": {"value": "nobody"}}}`)
	wants("a catalog in which nothing matches", none, "READY")
	apptest.SameTexts(t, "nothing", addUp(t, org, none))
	if got := exclusion(t, org.Write.Post(apptest.PreviewsPath+"/"+none+"/exclude", `{"company_ids": ["c1"], "member_ids": ["`+none+`"], "company_websites": ["c1.example"]}`).Is(200)); got != "0 0 |  | c1,"+none+" | c1.example | " {
		t.Error(got)
	}

	// A record that the request refers to is deleted before the preparation. Records of the same
	// name elsewhere do not matter.
	for _, c := range []struct{ path, body, fields, want string }{
		{"/v1/account-views/", `{"name": "All"}`, `{"company_filters": {"account_view_id": "<id>"}}`, "FAILED view_deleted"},
		{"/v1/account-views/", `{"name": "All"}`, `{"search_input": {"account_view_id": "<id>"}}`, "FAILED view_deleted"},
		{"/v1/tags/", `{"name": "A", "color": "red", "object_type": "account"}`, `{"tag_ids": ["<id>"]}`, "FAILED tag_deleted"},
		{"/v1/tags/", `{"name": "A", "color": "red", "object_type": "contact"}`, `{"contact_tag_ids": ["<id>"]}`, "FAILED tag_deleted"},
		{"/v1/fields/", `{"entity": "accounts", "key": "fit", "data_type": "number", "ai": {"question": "How well does it fit?"}}`,
			`{"qualifier_signal_id": "<id>", "qualifier_rule": {"value": 1}}`, "FAILED signal_deleted"},
	} {
		id := org.Admin.Post(strings.TrimSuffix(c.path, "/"), c.body).Is(201).ID()
		fields := strings.ReplaceAll(c.fields, "<id>", id)
		stays, goes := apptest.ReadyPreview(org, fields), apptest.AskedPreview(org, fields)
		theirs := other.Admin.Post(strings.TrimSuffix(c.path, "/"), c.body).Is(201).ID()
		org.Admin.Delete(c.path + id).Is(204)
		wants(c.fields, goes, c.want)
		wants(c.fields+" that was READY before", stays, "READY")
		other.Admin.Delete(c.path + theirs).Is(204)
	}
}

// TestPreviewDamaged checks that a preparation that cannot read a part of the catalog fails after
// three attempts.
func TestPreviewDamaged(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	app.Catalog([]catalog.Company{apptest.Firm("c1"), apptest.Firm("c2")}, []catalog.Person{apptest.Worker("p1", "c1", "A damaged title")})
	good, bad := apptest.AskedPreview(org, `{"company_filters": {"searching_rule": {"value": "c2"}}}`), apptest.AskedPreview(org, `{}`)
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
	var statuses []string
	for range 5 {
		app.Work()
		statuses = append(statuses, statusOf(t, org, bad))
		app.Clock.Advance(time.Hour)
	}
	apptest.SameTexts(t, "hour by hour", statuses, "PREPARING", "PREPARING", "PREPARING", "FAILED internal", "FAILED internal")
	apptest.SameTexts(t, "one that does not need it", addUp(t, org, good), "c2")
	if strings.Contains(org.Dump(), `\"source_id\":\"c1\"`) {
		t.Error("members of the Preview are still stored")
	}
}

func TestPreviewList(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	const list = "/v1/tam/previews/list"
	names, ids := map[string]string{}, map[string]string{}
	name := func(name, id string) {
		names[id], ids[name] = name, id
		app.Clock.Advance(24 * time.Hour)
	}
	ask := func(n int) string {
		return apptest.AskedPreview(org, fmt.Sprintf(`{"request_id": "0000000%d-0000-4000-8000-000000000000"}`, n))
	}
	name("failed", ask(5))
	app.Work()
	app.Catalog([]catalog.Company{apptest.Firm("c1")}, []catalog.Person{apptest.Worker("p1", "c1", "CEO")})
	name("imported", ask(1))
	app.Work()
	apptest.AcceptImport(org, ids["imported"])
	name("ready", ask(2))
	app.Work()
	name("cancelled", ask(4))
	org.Write.Post(apptest.PreviewsPath+"/"+ids["cancelled"]+"/cancel", nil).Is(200)
	name("preparing", ask(3))
	theirs := apptest.AskedPreview(other, `{}`)

	listed := func(o *apptest.Org, body string) string {
		for name, id := range ids {
			body = strings.ReplaceAll(body, "<"+name+">", id)
		}
		var got []string
		for _, id := range o.Read.Post(list, body).Is(200).Column("preview_id") {
			got = append(got, names[id])
		}
		return strings.Join(got, " ")
	}
	for body, want := range map[string]string{
		`{}`:                     "preparing cancelled ready imported failed",
		`{"sort": "created_at"}`: "failed imported ready cancelled preparing",
		`{"sort": "-created_at", "page_size": 2, "page": 2}`: "ready imported",
		`{"sort": "preview_id"}`:                             "failed imported ready cancelled preparing",
		`{"sort": "-preview_id"}`:                            "preparing cancelled ready imported failed",
		`{"sort": "request_id"}`:                             "imported ready preparing cancelled failed",
		`{"sort": "-request_id"}`:                            "failed cancelled preparing ready imported",
		`{"sort": "status,created_at"}`:                      "cancelled failed preparing imported ready",
		`{"sort": "-status,-created_at"}`:                    "ready imported preparing failed cancelled",
		`{"sort": "failure_reason,created_at"}`:              "failed imported ready cancelled preparing",
		`{"sort": "operation_id,-created_at"}`:               "imported preparing cancelled ready failed",
		`{"sort": "progress,created_at"}`:                    "failed cancelled preparing imported ready",
		`{"sort": "-progress,created_at"}`:                   "imported ready failed cancelled preparing",
		`{"sort": "updated_at"}`:                             "failed imported ready cancelled preparing",
		`{"filters": [{"field": "status", "condition": "is", "value": ["READY", "FAILED"]}]}`:                        "ready imported failed",
		`{"filters": [{"field": "status", "condition": "is_not", "value": "READY"}]}`:                                "preparing cancelled failed",
		`{"filters": [{"field": "failure_reason", "condition": "is", "value": "catalogue_empty"}]}`:                  "failed",
		`{"filters": [{"field": "failure_reason", "condition": "is_empty"}]}`:                                        "preparing cancelled ready imported",
		`{"filters": [{"field": "operation_id", "condition": "is_not_empty"}]}`:                                      "imported",
		`{"filters": [{"field": "preview_id", "condition": "is", "value": ["<ready>", "<failed>"]}]}`:                "ready failed",
		`{"filters": [{"field": "preview_id", "condition": "is_not", "value": "<ready>"}]}`:                          "preparing cancelled imported failed",
		`{"filters": [{"field": "request_id", "condition": "is", "value": "00000003-0000-4000-8000-000000000000"}]}`: "preparing",
		`{"filters": [{"field": "progress", "condition": "greater_than", "value": 0.5}]}`:                            "ready imported",
		`{"filters": [{"field": "progress", "condition": "is", "value": 0}]}`:                                        "preparing cancelled failed",
		`{"filters": [{"field": "created_at", "condition": "is_before", "value": "2026-03-04"}]}`:                    "imported failed",
		`{"filters": [{"field": "created_at", "condition": "is", "value": "2026-03-05"}]}`:                           "cancelled",
		`{"filters": [{"field": "updated_at", "condition": "is_after", "value": "2026-03-06T08:59:59.999Z"}]}`:       "preparing cancelled",
		`{"filters": {"operator": "or", "filters": [{"field": "progress", "condition": "is", "value": 1}, {"filters": [
			{"field": "status", "condition": "is", "value": "FAILED"}, {"field": "failure_reason", "condition": "is_not_empty"}]}]}}`: "ready imported failed",
	} {
		if got := listed(org, body); got != want {
			t.Errorf("%s\ngot %q\nwant %q", body, got, want)
		}
	}
	for _, id := range other.Read.Post(list, nil).Is(200).Column("preview_id") {
		if id != theirs {
			t.Errorf("%s is in the list of another organization", names[id])
		}
	}
	// The list shows the same as GET, except for the members and their paging.
	for i, shown := range org.Read.Post(list, nil).Is(200).Value("data").([]any) {
		id := shown.(map[string]any)["preview_id"].(string)
		read := org.Read.Get(apptest.PreviewsPath + "/" + id).Is(200).Value("data").(map[string]any)
		delete(read, "members")
		delete(read, "pagination_meta")
		if diff := apptest.Diff(apptest.AsJSON(read), apptest.AsJSON(shown)); diff != "" {
			t.Errorf("%d: %s", i, diff)
		}
	}
	for _, body := range []string{`{"filters": [{"field": "members", "condition": "is_empty"}]}`, `{"filters": [{"field": "status", "condition": "is", "value": "ready"}]}`,
		`{"filters": [{"field": "request_id", "condition": "is", "value": "5"}]}`} {
		org.Read.Post(list, body).Fails(422, "invalid_filter", "filters[0].")
	}
	org.Read.Post(list, `{"sort": "members"}`).Fails(422, "invalid_sort", "sort")

	var keys []string
	for _, f := range org.Read.Get("/v1/schemas/previews").Is(200).Value("data.fields").([]any) {
		keys = append(keys, f.(map[string]any)["key"].(string))
	}
	apptest.SameTexts(t, "the schema", keys, "preview_id", "request_id", "status", "failure_reason", "operation_id", "progress", "available_total", "truncated", "created_at", "updated_at")

	// Lists show changes of a Preview immediately.
	app.Work()
	if got := listed(org, `{"filters": [{"field": "status", "condition": "is", "value": "READY"}]}`); got != "preparing ready imported" {
		t.Error(got)
	}
	org.Write.Delete(apptest.PreviewsPath + "/" + ids["ready"]).Is(204)
	if got := listed(org, `{"filters": [{"field": "status", "condition": "is", "value": "READY"}]}`); got != "preparing imported" {
		t.Error(got)
	}
}

// TestPreviewIsolation refers to records of another organization.
func TestPreviewIsolation(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	app.Catalog([]catalog.Company{apptest.Firm("c1")}, []catalog.Person{apptest.Worker("p1", "c1", "CEO")})
	body := apptest.PreviewBody(`{"request_id": "` + uuid.NewString() + `"}`)
	ours, theirs := org.Write.Post(apptest.PreviewsPath, body).Is(202).Text("data.preview_id"), other.Write.Post(apptest.PreviewsPath, body).Is(202).Text("data.preview_id")
	app.Work()
	member := previewRows(t, other, theirs, "", 10)[1].MemberID
	if got := exclusion(t, org.Write.Post(apptest.PreviewsPath+"/"+ours+"/exclude", `{"member_ids": ["`+member+`"], "company_ids": ["c1"]}`).Is(200)); got != "1 1 |  | "+member+" |  | " {
		t.Error(got)
	}
	before := other.Dump()
	for _, o := range []*apptest.Org{org} {
		o.Read.Get(apptest.PreviewsPath+"/"+theirs).Fails(404, "not_found", "Resource not found")
		o.Read.Get(apptest.PreviewsPath+"/"+theirs+"/members?kind=person").Fails(404, "not_found", "Resource not found")
		o.Write.Post(apptest.PreviewsPath+"/"+theirs+"/exclude", `{"company_ids": ["c1"]}`).Fails(404, "not_found", "Resource not found")
		o.Write.Post(apptest.PreviewsPath+"/"+theirs+"/cancel", nil).Fails(404, "not_found", "Resource not found")
		o.Write.Delete(apptest.PreviewsPath+"/"+theirs).Fails(404, "not_found", "Resource not found")
	}
	if other.Dump() != before {
		t.Error("another organization's Preview was changed")
	}
	apptest.SameTexts(t, "theirs", addUp(t, other, theirs), "c1", "c1/p1")
	apptest.SameTexts(t, "ours", addUp(t, org, ours), "c1 EXCLUDED_BY_USER", "c1/p1 EXCLUDED_BY_USER")
	// A read key may only estimate.
	org.Read.Post(apptest.PreviewsPath+"/estimate", apptest.PreviewBody(`{}`)).Is(200)
	for _, path := range []string{"", "/" + ours + "/exclude", "/" + ours + "/cancel"} {
		org.Read.Post(apptest.PreviewsPath+path, `{}`).Fails(403, "forbidden", "write")
	}
}
