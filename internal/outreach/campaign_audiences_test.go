package outreach_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// hasAudiences requires that the response and a following GET of a campaign show these audiences,
// by name and in this order.
func (r *runner) hasAudiences(t *testing.T, res *apptest.Response, names ...string) {
	t.Helper()
	var got []string
	for _, a := range res.Is(200).Value("data.audiences").([]any) {
		got = append(got, a.(map[string]any)["name"].(string))
	}
	if !slices.Equal(got, names) {
		t.Errorf("the audiences are %q, want %q: %s", got, names, res.Body)
	}
	read := r.Read.Get("/v1/campaigns/" + res.ID()).Is(200)
	if string(apptest.DataOf(read)) != string(apptest.DataOf(res)) || read.Header.Get("ETag") != res.Header.Get("ETag") {
		t.Errorf("the response is %s, and GET returns %s", res.Body, read.Body)
	}
}

func TestCampaignAudiences(t *testing.T) {
	app := apptest.New(t)
	org := newRunner(app, "Acme")
	path := org.newCampaign("")
	add, remove := path+"/audiences/add", path+"/audiences/remove"
	// changes requires that a function creates a new version of the campaign at the current time, or
	// none.
	changes := func(what string, want bool, do func()) {
		t.Helper()
		app.Clock.Advance(time.Second)
		before := org.Read.Get(path).Is(200)
		do()
		after := org.Read.Get(path).Is(200)
		etag := after.Header.Get("ETag") != before.Header.Get("ETag")
		at := after.Text("data.updated_at") == app.Clock.Now().Format("2006-01-02T15:04:05.000Z")
		if etag != want || at != want {
			t.Errorf("%s: a new ETag %v, a new updated_at %v, want %v", what, etag, at, want)
		}
	}
	changes("one more", true, func() { org.hasAudiences(t, org.Write.Post(add, apptest.AudienceIDs(org.south)), "North", "South") })
	changes("the same again", false, func() { org.hasAudiences(t, org.Write.Post(add, apptest.AudienceIDs(org.south)), "North", "South") })
	changes("both again", false, func() {
		org.hasAudiences(t, org.Write.Post(add, apptest.AudienceIDs(org.south, org.north)), "North", "South")
	})
	changes("one of them new, twice", true, func() {
		org.hasAudiences(t, org.Write.Post(add, apptest.AudienceIDs(org.south, org.west, org.west, org.north)), "North", "South", "West")
	})

	// An archived audience stays attached and is ignored like any other, but it cannot be attached.
	org.Write.Patch("/v1/audiences/"+org.south, `{"status": "archived"}`).Is(200)
	changes("an archived one that it has", false, func() {
		org.hasAudiences(t, org.Write.Post(add, apptest.AudienceIDs(org.south)), "North", "South", "West")
	})
	changes("removal", true, func() { org.hasAudiences(t, org.Write.Post(remove, apptest.AudienceIDs(org.south)), "North", "West") })
	changes("removal again", false, func() { org.hasAudiences(t, org.Write.Post(remove, apptest.AudienceIDs(org.south)), "North", "West") })
	changes("removal of what there is not", false, func() {
		org.hasAudiences(t, org.Write.Post(remove, apptest.AudienceIDs("0190b2f0-0000-7000-8000-000000000000", org.template)), "North", "West")
	})
	changes("removal of one and others", true, func() {
		org.hasAudiences(t, org.Write.Post(remove, apptest.AudienceIDs(org.south, org.north, org.north)), "West")
	})
	changes("first comes last", true, func() { org.hasAudiences(t, org.Write.Post(add, apptest.AudienceIDs(org.north)), "West", "North") })
}

func TestCampaignAudienceRefusals(t *testing.T) {
	app := apptest.New(t)
	org, other := newRunner(app, "Acme"), newRunner(app, "Umbrella")
	path := org.newCampaign(fmt.Sprintf(`"audience_ids": [%q, %q]`, org.north, org.south))
	old := org.newAudience("Old")
	org.Write.Patch("/v1/audiences/"+old, `{"status": "archived"}`).Is(200)
	const unknown = "0190b2f0-0000-7000-8000-000000000000"
	before := org.Dump()

	add, remove := path+"/audiences/add", path+"/audiences/remove"
	for _, at := range []string{add, remove} {
		for body, message := range map[string]string{
			``:                                     "audience_ids: required",
			`{}`:                                   "audience_ids: required",
			`{"audience_ids": null}`:               "audience_ids: required",
			`{"audience_ids": []}`:                 "audience_ids: ",
			`{"audience_ids": "` + org.west + `"}`: "audience_ids: must be a list",
			`{"audience_ids": ["` + org.west + `", 1]}`:                 "audience_ids[1]: must be a UUID",
			`{"audience_ids": ["x"]}`:                                   "audience_ids[0]: \"x\" is not a UUID",
			`{"audience_ids": [null]}`:                                  "audience_ids[0]: must be a UUID",
			`{"audience_ids": ["` + org.west + `"], "contact_ids": []}`: "contact_ids: unknown field",
		} {
			t.Run(message, func(t *testing.T) {
				res := org.Write.In(t).Post(at, body).Fails(422, "validation_failed", message)
				if place, _, _ := strings.Cut(message, ":"); res.Text("error.details.0.path") != place {
					t.Errorf("%s %s: %s", at, body, res.Body)
				}
			})
		}
		// A campaign that does not exist, and one of another organization.
		org.Write.Post(strings.Replace(at, path, "/v1/campaigns/"+unknown, 1), apptest.AudienceIDs(org.west)).Fails(404, "not_found", "Resource not found")
		other.Write.Post(at, apptest.AudienceIDs(other.north)).Fails(404, "not_found", "Resource not found")
		org.Read.Post(at, apptest.AudienceIDs(org.west)).Fails(403, "forbidden", "write")
	}
	// One invalid audience prevents the others from being attached. All invalid ones are reported.
	res := org.Write.Post(add, apptest.AudienceIDs(org.west, unknown, org.north, old, other.north, org.template))
	apptest.HasProblems(t, res, "audience_ids[1]", "audience_ids[3]", "audience_ids[4]", "audience_ids[5]")
	if got := res.Text("error.details.1.message"); !strings.Contains(got, "archived") {
		t.Error(got)
	}
	// Removing all audiences detaches none of them.
	for _, ids := range [][]string{{org.north, org.south}, {org.south, unknown, org.north, org.south, org.west}} {
		org.Write.Post(remove, apptest.AudienceIDs(ids...)).Fails(409, "last_audience", "at least one audience")
	}
	if org.Dump() != before {
		t.Error("a refused request changed something")
	}
	org.Write.Post(remove, apptest.AudienceIDs(org.north)).Is(200)
	before = org.Dump()
	org.Write.Post(remove, apptest.AudienceIDs(org.south)).Fails(409, "last_audience", "at least one audience")
	if org.Dump() != before {
		t.Error("a refused request changed something")
	}
}

// TestCampaignAudienceStatus attaches and detaches audiences in every status. A finished campaign
// accepts no audiences, but its audiences can be detached.
func TestCampaignAudienceStatus(t *testing.T) {
	app := apptest.New(t)
	org := newRunner(app, "Acme")
	for status, takes := range map[string]bool{"draft": true, "active": true, "paused": true, "completed": false, "archived": false} {
		path := org.campaignAs(status, fmt.Sprintf(`"audience_ids": [%q, %q]`, org.north, org.south))
		before := org.Dump()
		res := org.Write.Post(path+"/audiences/add", apptest.AudienceIDs(org.west))
		if takes {
			org.hasAudiences(t, res, "North", "South", "West")
		} else {
			res.Fails(409, "campaign_not_enrollable", status)
			org.Write.Post(path+"/audiences/add", apptest.AudienceIDs(org.north)).Fails(409, "campaign_not_enrollable", status)
			if org.Dump() != before {
				t.Errorf("%s: a refused request changed something", status)
			}
		}
		org.hasAudiences(t, org.Write.Post(path+"/audiences/remove", apptest.AudienceIDs(org.north, org.west)), "South")
		org.Write.Post(path+"/audiences/remove", apptest.AudienceIDs(org.south)).Fails(409, "last_audience", "")
	}
}

// TestCampaignNames renames the template and the audiences of a campaign. The campaign shows the
// new names without counting as changed.
func TestCampaignNames(t *testing.T) {
	app := apptest.New(t)
	org := newRunner(app, "Acme")
	paths := map[string]string{}
	for _, status := range []string{"draft", "active", "paused", "completed", "archived"} {
		paths[status] = org.campaignAs(status, fmt.Sprintf(`"audience_ids": [%q, %q]`, org.north, org.south))
	}
	elsewhere := org.newCampaign(fmt.Sprintf(`"audience_ids": [%q], "template_id": %q`, org.west, org.newTemplate("Cold call")))
	untouched := org.Read.Get(elsewhere).Is(200)
	rec := apptest.NewReceiver(t)
	rec.Subscribe(org.Org, "campaign.*")
	versions := map[string]string{}
	for status, path := range paths {
		versions[status] = org.Read.Get(path).Header.Get("ETag")
	}
	app.Clock.Advance(time.Hour)
	org.Write.Patch("/v1/audiences/"+org.south, `{"name": "Süd", "status": "archived"}`).Is(200)
	org.Write.Patch("/v1/sequence-templates/"+org.template, `{"name": "Warm hello", "status": "INACTIVE"}`).Is(200)
	for status, path := range paths {
		res := org.Read.Get(path).Is(200, fmt.Sprintf(`{"data": {"id": "<id>", "created_at": "<time>", "updated_at": "2026-03-02T09:00:00.000Z", "name": "Spring", "status": %q, "prioritized": false,
			"end_date": null, "template_id": %q, "template_name": "Warm hello", "audiences": [{"id": %q, "name": "North"}, {"id": %q, "name": "Süd"}], "owner_id": "%s", "missing_values": "hold", "admit": "ask", "newcomers": 0, "transport": "<any>", "held": null},
			"meta": {"timestamp": "<time>"}}`, status, org.template, org.north, org.south, org.User))
		if res.Header.Get("ETag") != versions[status] {
			t.Errorf("%s: ETag changed from %s to %s", status, versions[status], res.Header.Get("ETag"))
		}
		// An earlier version of the campaign can still be sent back, and so can the current one.
		org.Write.Do("PATCH", path, res.Value("data"), "If-Match", versions[status]).Is(200)
	}
	if now := org.Read.Get(elsewhere).Is(200); string(apptest.DataOf(now)) != string(apptest.DataOf(untouched)) {
		t.Errorf("the other campaign changed: %s", now.Body)
	}
	app.Deliver()
	rec.WantsExactly("renamed", nil)
	for body, want := range map[string]int{
		`{"filters": [{"field": "template_name", "condition": "is", "value": "Warm hello"}]}`:   5,
		`{"filters": [{"field": "template_name", "condition": "is", "value": "Warm welcome"}]}`: 0,
		`{"search": "hello"}`:   5,
		`{"search": "welcome"}`: 0,
		`{"filters": [{"field": "audiences", "condition": "is", "value": "` + org.south + `"}]}`: 5,
	} {
		t.Run(body, func(t *testing.T) {
			res := org.Read.In(t).Post("/v1/campaigns/list", body).Is(200)
			if got := res.Int("pagination.total_count"); got != want {
				t.Errorf("%s finds %d, want %d", body, got, want)
			}
			if want > 0 && res.Text("data.0.audiences.1.name") != "Süd" {
				t.Errorf("%s lists %s", body, res.Body)
			}
		})
	}
	// A new campaign has the current names, and the next renaming changes it too.
	org.Write.Post(elsewhere+"/audiences/add", apptest.AudienceIDs(org.north)).Is(200)
	org.Write.Patch("/v1/audiences/"+org.north, `{"name": "Nord"}`).Is(200)
	org.hasAudiences(t, org.Read.Get(elsewhere), "West", "Nord")
	org.Write.Post(elsewhere+"/audiences/remove", apptest.AudienceIDs(org.north)).Is(200)
	org.Write.Patch("/v1/audiences/"+org.north, `{"name": "Norden"}`).Is(200)
	org.hasAudiences(t, org.Read.Get(elsewhere), "West")
	apptest.CheckConsistency(t, app, org.Org)
}

// TestCampaignHold checks that an audience or template cannot be deleted while a campaign uses it.
func TestCampaignHold(t *testing.T) {
	app := apptest.New(t)
	org := newRunner(app, "Acme")
	template := org.newTemplate("Cold call")
	path := org.newCampaign(fmt.Sprintf(`"audience_ids": [%q, %q]`, org.north, org.south))
	id := strings.TrimPrefix(path, "/v1/campaigns/")
	held := func(what string) {
		t.Helper()
		org.Write.Delete(what).Is(409, fmt.Sprintf(`{"error": {"code": "in_use", "message": "<any>", "details": [{"path": "<any>", "message": "<any>", "id": %q}]}}`, id))
	}
	held("/v1/audiences/" + org.south)
	held("/v1/sequence-templates/" + org.template)
	org.Write.Post(path+"/audiences/remove", apptest.AudienceIDs(org.south)).Is(200)
	org.Write.Delete("/v1/audiences/" + org.south).Is(204)
	org.Write.Patch(path, map[string]string{"template_id": template}).Is(200)
	org.Write.Delete("/v1/sequence-templates/" + org.template).Is(204)
	held("/v1/audiences/" + org.north)
	held("/v1/sequence-templates/" + template)
	org.Write.Patch(path, `{"status": "archived"}`).Is(200)
	held("/v1/audiences/" + org.north)
	held("/v1/sequence-templates/" + template)
	org.Write.Delete(path).Is(204)
	org.Write.Delete("/v1/audiences/" + org.north).Is(204)
	org.Write.Delete("/v1/sequence-templates/" + template).Is(204)
	apptest.CheckConsistency(t, app, org.Org)
}

// TestCampaignDelete checks that draft and archived campaigns can be deleted, and that all
// references to them are removed.
func TestCampaignDelete(t *testing.T) {
	app := apptest.New(t)
	org, other := newRunner(app, "Acme"), newRunner(app, "Umbrella")
	for _, status := range campaignStatuses {
		path := org.campaignAs(status, "")
		id := strings.TrimPrefix(path, "/v1/campaigns/")
		task := "/v1/tasks/" + org.Write.Post("/v1/tasks", map[string]string{"title": "Call", "campaign_id": id}).Is(201).ID()
		was := org.Read.Get(task).Is(200)
		if was.Text("data.campaign_id") != id {
			t.Fatalf("%s", was.Body)
		}
		inCampaign := map[string]any{"filters": apptest.JSONText(fmt.Sprintf(`[{"field": "campaign_id", "condition": "is", "value": %q}]`, id))}
		if got := org.Read.Post("/v1/tasks/list", inCampaign).Is(200).Int("pagination.total_count"); got != 1 {
			t.Errorf("%d tasks still refer to the campaign", got)
		}
		before := org.Dump()
		other.Write.Delete(path).Fails(404, "not_found", "Resource not found")
		org.Read.Delete(path).Fails(403, "forbidden", "write")
		if status != "draft" && status != "archived" {
			org.Write.Delete(path).Fails(409, "invalid_transition", status)
			if org.Dump() != before {
				t.Errorf("%s: a refused request changed something", status)
			}
			continue
		}
		org.Write.Do("DELETE", path, nil, "If-Match", `"9999"`).Fails(412, "precondition_failed", "the record has version")
		rec := apptest.NewReceiver(t)
		rec.Subscribe(org.Org, "*")
		app.Clock.Advance(time.Minute)
		org.Write.Do("DELETE", path, nil, "If-Match", org.Read.Get(path).Header.Get("ETag")).Is(204)
		org.Read.Get(path).Fails(404, "not_found", "Resource not found")
		org.Write.Delete(path).Fails(404, "not_found", "Resource not found")
		org.Write.Patch(path, `{"name": "x"}`).Fails(404, "not_found", "Resource not found")
		org.Read.Get(path+"/stats").Fails(404, "not_found", "Resource not found")
		org.Write.Post(path+"/audiences/add", apptest.AudienceIDs(org.west)).Fails(404, "not_found", "Resource not found")
		now := org.Read.Get(task).Is(200)
		if now.Value("data.campaign_id") != nil || now.Text("data.updated_at") != was.Text("data.updated_at") {
			t.Errorf("%s: unexpected task: %s", status, now.Body)
		}
		if got := org.Read.Post("/v1/tasks/list", inCampaign).Is(200).Int("pagination.total_count"); got != 0 {
			t.Errorf("%d tasks still refer to the campaign", got)
		}
		org.Write.Post("/v1/tasks", map[string]string{"title": "Call", "campaign_id": id}).Fails(422, "validation_failed", "campaign_id: does not exist")
		app.Work()
		app.Deliver()
		rec.WantsExactly("deletion of "+status, nil)
	}
	for _, bad := range []string{`"` + org.template + `"`, `"` + strings.TrimPrefix(other.newCampaign(""), "/v1/campaigns/") + `"`} {
		t.Run(bad, func(t *testing.T) {
			org.Write.In(t).Post("/v1/tasks", `{"title": "Call", "campaign_id": `+bad+`}`).Fails(422, "validation_failed", "campaign_id: does not exist")
		})
	}
	apptest.CheckConsistency(t, app, org.Org)
}

// TestCampaignStats checks that a contact in several audiences counts once, and that steps are
// listed in the order of their indexes.
func TestCampaignStats(t *testing.T) {
	app := apptest.New(t)
	org, other := newRunner(app, "Acme"), newRunner(app, "Umbrella")
	var contacts []string
	for i := range 5 {
		contacts = append(contacts, org.Write.Post("/v1/contacts", fmt.Sprintf(`{"email": "c%d@x.example"}`, i)).Is(201).ID())
	}
	in := func(audience string, ids ...string) {
		org.Write.Post("/v1/audiences/"+audience+"/contacts/add", map[string]any{"contact_ids": ids}).Is(200)
	}
	in(org.north, contacts[:3]...)
	in(org.south, contacts[1:4]...)
	in(org.west, contacts...)
	steps := `[{"index": 7, "type": "call"}, {"index": 0, "type": "task"}, {"index": 3, "type": "gift"}]`
	template := org.Write.Post("/v1/sequence-templates", map[string]any{"name": "Three", "steps": apptest.JSONText(steps)}).Is(201).ID()
	has := func(what, path string, enrolled int, indexes ...int) {
		t.Helper()
		var shown []string
		for _, i := range indexes {
			shown = append(shown, fmt.Sprintf(`{"step_index": %d, "waiting": 0, "done": 0, "skipped": 0, "failed": 0, "held": 0}`, i))
		}
		res := org.Read.Get(path+"/stats").Is(200, fmt.Sprintf(`{"data": {"enrolled": %d, "not_started": 0, "not_started_by_reason": {}, "active": 0, "completed": 0, "stopped": 0, "stopped_by_reason": {}, "messages_sent": 0,
			"messages_captured": 0, "messages_failed": 0, "tasks_open": 0, "next_due_at": null, "last_due_at": null, "steps": [%s]}, "meta": {"timestamp": "<time>"}}`, enrolled, strings.Join(shown, ", ")))
		if t.Failed() {
			t.Fatalf("%s: %s", what, res.Body)
		}
	}
	for _, status := range campaignStatuses {
		has(status, org.campaignAs(status, fmt.Sprintf(`"template_id": %q, "audience_ids": [%q, %q]`, template, org.north, org.south)), 0, 0, 3, 7)
	}
	// Everyone who has been in an audience of an active campaign has a sequence.
	path := org.campaignAs("active", fmt.Sprintf(`"template_id": %q`, template))
	counts := func(what string, enrolled, stopped int) {
		t.Helper()
		app.Work()
		res := org.Read.Get(path + "/stats").Is(200)
		if got := [2]int{res.Int("data.enrolled"), res.Int("data.stopped")}; got != [2]int{enrolled, stopped} {
			t.Errorf("%s: enrolled and stopped are %v, want %d and %d", what, got, enrolled, stopped)
		}
	}
	counts("one audience", 3, 0)
	org.Write.Post(path+"/audiences/add", apptest.AudienceIDs(org.west)).Is(200)
	counts("one that has all", 5, 0)
	org.Write.Delete("/v1/contacts/" + contacts[0]).Is(204)
	counts("a contact is gone", 5, 1)
	org.Write.Post("/v1/audiences/"+org.west+"/contacts/remove", map[string]any{"contact_ids": contacts}).Is(200)
	counts("an audience is empty", 5, 3)
	org.Write.Post(path+"/audiences/remove", apptest.AudienceIDs(org.north)).Is(200)
	counts("nobody", 5, 5)
	org.Write.Patch("/v1/audiences/"+org.north, `{"status": "archived"}`).Is(200) // does not affect the members
	other.Read.Get(path+"/stats").Fails(404, "not_found", "Resource not found")
	org.Read.Get("/v1/campaigns/x/stats").Fails(404, "not_found", "Resource not found")
}

// TestCampaignProtocol checks versions, idempotent requests and access.
func TestCampaignProtocol(t *testing.T) {
	app := apptest.New(t)
	org, other := newRunner(app, "Acme"), newRunner(app, "Umbrella")
	body := org.campaignBody(`"status": "active"`)
	rec := apptest.NewReceiver(t)
	rec.Subscribe(org.Org, "campaign.*")
	made := org.Write.Do("POST", "/v1/campaigns", body, "Idempotency-Key", "one").Is(201)
	path := "/v1/campaigns/" + made.ID()
	again := func(at string, body any, key string, first *apptest.Response) {
		t.Helper()
		res := org.Write.Do("POST", at, body, "Idempotency-Key", key).Is(first.Status)
		if string(res.Body) != string(first.Body) || res.Header.Get("Idempotent-Replayed") != "true" || res.Header.Get("ETag") != first.Header.Get("ETag") {
			t.Errorf("repeated request returned %s, want %s", res.Body, first.Body)
		}
	}
	again("/v1/campaigns", body, "one", made)
	added := org.Write.Do("POST", path+"/audiences/add", apptest.AudienceIDs(org.south), "Idempotency-Key", "two").Is(200)
	removed := org.Write.Do("POST", path+"/audiences/remove", apptest.AudienceIDs(org.north), "Idempotency-Key", "three").Is(200)
	again(path+"/audiences/add", apptest.AudienceIDs(org.south), "two", added)
	again(path+"/audiences/remove", apptest.AudienceIDs(org.north), "three", removed)
	org.Write.Do("POST", path+"/audiences/remove", apptest.AudienceIDs(org.north), "Idempotency-Key", "two").Fails(409, "idempotency_key_reused", "used before with a different request")
	// Failed responses are not stored: a refused request succeeds when it becomes valid.
	org.Write.Do("POST", path+"/audiences/remove", apptest.AudienceIDs(org.south), "Idempotency-Key", "four").Fails(409, "last_audience", "")
	org.Write.Post(path+"/audiences/add", apptest.AudienceIDs(org.west)).Is(200)
	org.hasAudiences(t, org.Write.Do("POST", path+"/audiences/remove", apptest.AudienceIDs(org.south), "Idempotency-Key", "four"), "West")
	app.Deliver()
	var keys []string
	for _, h := range rec.Take() {
		keys = append(keys, strings.TrimPrefix(h.Event(t).TriggerKey, "campaign."))
	}
	if got := strings.Join(keys, " "); got != "created updated updated updated updated" {
		t.Errorf("unexpected events: %s", got)
	}

	// If-Match: the version before the audience was removed is not the current one.
	before := org.Dump()
	org.Write.Do("PATCH", path, `{"status": "paused"}`, "If-Match", removed.Header.Get("ETag")).Fails(412, "precondition_failed", "the record has version")
	org.Write.Do("PATCH", path, `{"status": "draft"}`, "If-Match", removed.Header.Get("ETag")).Fails(412, "precondition_failed", "the record has version")
	for _, c := range []apptest.Client{other.Write, other.Admin} {
		c.Get(path).Fails(404, "not_found", "Resource not found")
		c.Patch(path, `{"name": "Mine"}`).Fails(404, "not_found", "Resource not found")
	}
	if n := other.Read.Post("/v1/campaigns/list", `{}`).Is(200).Int("pagination.total_count"); n != 0 {
		t.Errorf("another organization lists %d campaigns", n)
	}
	org.Read.Post("/v1/campaigns", body).Fails(403, "forbidden", "write")
	org.Read.Patch(path, `{"name": "x"}`).Fails(403, "forbidden", "write")
	app.Anonymous().Get(path).Is(401)
	if org.Dump() != before {
		t.Error("a refused request changed something")
	}
	org.Write.Do("PATCH", path, `{"status": "paused"}`, "If-Match", org.Read.Get(path).Header.Get("ETag")).Is(200)
}
