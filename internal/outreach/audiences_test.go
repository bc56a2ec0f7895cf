package outreach_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

func TestAudience(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	people := apptest.ContactsOf(org, "ann", "bob")
	const shown = `{"data": {"id": "<id>", "name": %q, "type": "static", "filters": null, "search": null, "status": %q, "contact_count": %d, "created_at": "2026-03-02T09:00:00.000Z", "updated_at": %q}, "meta": {"timestamp": "<time>"}}`
	const then, later = "2026-03-02T09:00:00.000Z", "2026-03-02T09:00:01.000Z"
	for _, body := range []string{`{"name": "Nobody"}`, `{"name": "Nobody 2", "contact_ids": []}`, `{"name": "Nobody 3", "contact_ids": null}`} {
		org.Write.Post(apptest.AudiencesPath, body).Is(201, fmt.Sprintf(shown, apptest.Object(body)["name"], "active", 0, then))
	}
	// A repeated contact is added once.
	body := map[string]any{"name": "  Two <&> \u2028ü ", "contact_ids": []string{people[1], people[0], strings.ToUpper(people[1]), people[1]}}
	made := org.Write.Post(apptest.AudiencesPath, body).Is(201, fmt.Sprintf(shown, body["name"], "active", 2, then))
	path := apptest.AudiencesPath + "/" + made.ID()
	got := org.Read.Get(path).Is(200, fmt.Sprintf(shown, body["name"], "active", 2, then))
	if got.Header.Get("ETag") == "" || got.Header.Get("ETag") != made.Header.Get("ETag") {
		t.Errorf("the ETags are %q and %q", made.Header.Get("ETag"), got.Header.Get("ETag"))
	}
	apptest.HasContacts(t, org, path, people...)

	app.Clock.Advance(time.Second)
	for _, same := range []any{`{}`, `{"status": "active"}`, `{"status": null}`, got.Value("data"), `{"contact_count": 2, "type": "static"}`} {
		again := org.Write.Patch(path, same).Is(200, fmt.Sprintf(shown, body["name"], "active", 2, then))
		if again.Header.Get("ETag") != got.Header.Get("ETag") {
			t.Errorf("%v created a new version", same)
		}
	}
	org.Write.Patch(path, `{"status": "archived"}`).Is(200, fmt.Sprintf(shown, body["name"], "archived", 2, later))
	patched := org.Write.Patch(path, `{"status": "active", "name": "Both"}`).Is(200, fmt.Sprintf(shown, "Both", "active", 2, later))
	apptest.HasContacts(t, org, path, people...)
	org.Write.Do(http.MethodPatch, path, `{"name": "Late"}`, "If-Match", got.Header.Get("ETag")).Fails(412, "precondition_failed", "the record has version")
	org.Write.Do(http.MethodDelete, path, nil, "If-Match", got.Header.Get("ETag")).Fails(412, "precondition_failed", "the record has version")
	renamed := org.Write.Do(http.MethodPatch, path, `{"name": "In time"}`, "If-Match", patched.Header.Get("ETag")).Is(200, fmt.Sprintf(shown, "In time", "active", 2, later))
	org.Write.Do(http.MethodDelete, path, nil, "If-Match", renamed.Header.Get("ETag")).Is(204)
	org.Read.Get(path).Fails(404, "not_found", "Resource not found")
	for _, at := range []string{path, apptest.AudiencesPath + "/" + apptest.NobodyID, apptest.AudiencesPath + "/x"} {
		org.Write.Delete(at).Fails(404, "not_found", "Resource not found")
		org.Write.Patch(at, `{"name": "x"}`).Fails(404, "not_found", "Resource not found")
		org.Read.Post(at+"/contacts/list", nil).Fails(404, "not_found", "Resource not found")
		org.Write.Post(at+"/contacts/add", map[string]any{"contact_ids": people}).Fails(404, "not_found", "Resource not found")
		org.Write.Post(at+"/contacts/add", `{"filters": []}`).Fails(404, "not_found", "Resource not found")
		org.Write.Post(at+"/contacts/remove", map[string]any{"contact_ids": people}).Fails(404, "not_found", "Resource not found")
	}
	for _, id := range people { // the contacts are not deleted
		org.Read.Get("/v1/contacts/" + id).Is(200)
	}
}

func TestAudienceRefusals(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	mine, foreign := apptest.ContactsOf(org, "ann")[0], apptest.ContactsOf(other, "eve")[0]
	account := apptest.Makers["accounts"](org)
	path := apptest.AudienceOf(org, "Mine", mine)
	before := org.Dump()
	for _, c := range []struct {
		body  string
		paths []string
	}{
		{``, []string{"name"}},
		{`{"name": null}`, []string{"name"}},
		{`{"name": ""}`, []string{"name"}},
		{`{"name": " \t  "}`, []string{"name"}},
		{`{"name": "a\u0000b"}`, []string{"name"}},
		{`{"name": "` + strings.Repeat("ü", 256) + `"}`, []string{"name"}},
		{`{"name": 1, "contact_ids": "x"}`, []string{"name", "contact_ids"}},
		{`{"name": "X", "contact_ids": {"0": "x"}}`, []string{"contact_ids"}},
		{`{"name": "X", "contact_ids": ["` + mine + `", "x", 1, null, "", "` + strings.ReplaceAll(mine, "-", "") + `"]}`, []string{"contact_ids[1]", "contact_ids[2]", "contact_ids[3]", "contact_ids[4]", "contact_ids[5]"}},
		{`{"name": "X", "contact_ids": ["` + mine + `", "` + apptest.NobodyID + `", "` + mine + `", "` + foreign + `", "` + account + `"]}`, []string{"contact_ids[1]", "contact_ids[3]", "contact_ids[4]"}},
		{`{"contact_ids": ["` + foreign + `"], "colour": "red"}`, []string{"name", "colour", "contact_ids[0]"}},
		{`{"name": "X", "contact_ids": [` + strings.Repeat(`"`+mine+`", `, 10_000) + `"` + mine + `"]}`, []string{"contact_ids"}},
		{`{"name": "X", "filters": []}`, []string{"filters"}},
		{`{"name": "X", "type": "fluid", "status": "active", "contact_count": 0, "id": "` + apptest.NobodyID + `", "created_at": null}`, []string{"type", "status", "contact_count", "id", "created_at"}},
	} {
		t.Run(apptest.RowName(c.body), func(t *testing.T) {
			res := org.Write.In(t).Post(apptest.AudiencesPath, c.body).Fails(422, "validation_failed", "")
			if got := apptest.ProblemPaths(res); !slices.Equal(apptest.Sorted(got), apptest.Sorted(c.paths)) {
				t.Errorf("%.200s\nproblem paths = %q, want %q: %.500s", c.body, got, c.paths, res.Body)
			}
		})
	}
	for _, c := range []struct{ body, path, message string }{
		{`{"name": null}`, "name", "required"}, {`{"name": ""}`, "name", "required"}, {`{"name": "  "}`, "name", "must not be blank"},
		{`{"name": "` + strings.Repeat("a", 256) + `"}`, "name", "must be at most 255 characters"}, {`{"name": ["x"]}`, "name", "must be a string"},
		{`{"status": "paused"}`, "status", `"paused" is not one of: active, archived`}, {`{"status": "Active"}`, "status", `"Active" is not one of: `}, {`{"status": 1}`, "status", "must be a string"},
		{`{"type": "dynamic"}`, "type", "read-only field"}, {`{"type": null}`, "type", "read-only field"}, {`{"contact_count": 2}`, "contact_count", "read-only field"},
		{`{"contact_count": "1"}`, "contact_count", "read-only field"}, {`{"id": "` + apptest.NobodyID + `"}`, "id", "read-only field"}, {`{"updated_at": "2026-03-03T09:00:00Z"}`, "updated_at", "read-only field"},
		{`{"contact_ids": ["` + mine + `"]}`, "contact_ids", "unknown field"}, {`{"colour": 1}`, "colour", "unknown field"},
	} {
		t.Run(c.message, func(t *testing.T) {
			apptest.HasProblems(t, org.Write.In(t).Patch(path, c.body).Fails(422, "validation_failed", c.path+": "+c.message), c.path)
		})
	}
	for at, body := range map[string]string{apptest.AudiencesPath: `{"name": "X"}`, path + "/contacts/add": `{"filters": []}`, path + "/contacts/remove": `{"contact_ids": ["` + mine + `"]}`} {
		org.Read.Post(at, body).Fails(403, "forbidden", "write")
		org.Write.Post(at, body[1:]).Fails(400, "invalid_json", "")
	}
	// Records of another organization are unknown here.
	other.Read.Get(path).Fails(404, "not_found", "Resource not found")
	other.Read.Post(path+"/contacts/list", nil).Fails(404, "not_found", "Resource not found")
	other.Write.Patch(path, `{"name": "Theirs"}`).Fails(404, "not_found", "Resource not found")
	other.Write.Delete(path).Fails(404, "not_found", "Resource not found")
	other.Write.Post(path+"/contacts/add", `{"filters": []}`).Fails(404, "not_found", "Resource not found")
	other.Write.Post(path+"/contacts/remove", map[string]any{"contact_ids": []string{mine}}).Fails(404, "not_found", "Resource not found")
	if n := other.Read.Post(apptest.AudiencesPath+"/list", nil).Is(200).Int("pagination.total_count"); n != 0 {
		t.Errorf("%d audiences of another organization are listed", n)
	}
	if org.Dump() != before {
		t.Error("a refused request changed something")
	}
	org.Write.Patch(path, map[string]string{"name": strings.Repeat("ü", 255)}).Is(200)
	apptest.AudienceOf(org, "x") // a name of one character
}

// TestAudienceNames checks that names are unique within an organization, ignoring case, surrounding
// spaces and repeated spaces.
func TestAudienceNames(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	first, second := apptest.AudienceOf(org, "Key  Äccount"), apptest.AudienceOf(org, "Partner")
	apptest.AudienceOf(other, "Key Äccount")
	before := org.Dump()
	for _, name := range []string{"Key  Äccount", "key äccount", " KEY   ÄCCOUNT ", "KEY\u00a0äccount"} {
		taken := fmt.Sprintf(`{"error": {"code": "audience_name_taken", "message": "<any>", "details": [{"path": "name", "message": "<any>", "id": %q}]}}`, apptest.IDIn(first))
		org.Write.Post(apptest.AudiencesPath, map[string]any{"name": name}).Is(409, taken)
		org.Write.Patch(second, map[string]any{"name": name, "status": "archived"}).Is(409, taken)
	}
	if org.Dump() != before {
		t.Error("a refused name changed something")
	}
	org.Write.Patch(first, `{"name": "KEY Äccount"}`).Is(200) // its own name in another spelling
	org.Write.Patch(first, `{"name": "Strategic", "status": "archived"}`).Is(200)
	org.Write.Post(apptest.AudiencesPath, `{"name": "strategic"}`).Fails(409, "audience_name_taken", `"strategic" is the name of another audience`) // archived audiences keep their names
	org.Write.Patch(second, `{"name": "key äccount"}`).Is(200)                                                                                      // free by now
	org.Write.Delete(second).Is(204)
	apptest.AudienceOf(org, "Key äccount")
}

// TestAudienceInUse checks that an audience cannot be deleted while a campaign of any status has
// it.
func TestAudienceInUse(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	for _, status := range []string{"draft", "active", "paused", "completed", "archived"} {
		used, spare := apptest.AudienceOf(org, "Used "+status, apptest.ContactsOf(org, "ann")...), apptest.AudienceOf(org, "Spare "+status)
		campaign := apptest.CampaignFor(org, status, used, spare)
		org.Write.Patch(used, `{"status": "archived"}`).Is(200) // does not detach it
		before := org.Dump()
		org.Write.Delete(used).Is(409, fmt.Sprintf(`{"error": {"code": "in_use", "message": "<any>", "details": [{"path": "<any>", "message": "<any>", "id": %q}]}}`, apptest.IDIn(campaign)))
		if org.Dump() != before {
			t.Errorf("%s: a refused deletion changed something", status)
		}
		switch status {
		case "draft", "archived":
			org.Write.Delete(campaign).Is(204)
		default:
			org.Write.Post(campaign+"/audiences/remove", map[string]any{"audience_ids": []string{apptest.IDIn(used)}}).Is(200)
			org.Write.Delete(spare).Fails(409, "in_use", "")
		}
		org.Write.Delete(used).Is(204)
	}
	// An audience of two campaigns cannot be deleted until both have detached it.
	shared := apptest.AudienceOf(org, "Shared")
	a, b := apptest.CampaignFor(org, "draft", shared), apptest.CampaignFor(org, "draft", shared)
	org.Write.Delete(a).Is(204)
	if res := org.Write.Delete(shared).Fails(409, "in_use", ""); res.Text("error.details.0.id") != apptest.IDIn(b) {
		t.Errorf("%s", res.Body)
	}
	org.Write.Delete(b).Is(204)
	org.Write.Delete(shared).Is(204)
}

func TestAudienceList(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	people := apptest.ContactsOf(org, "ann", "bob", "cid")
	ids := map[string]string{}
	for i, name := range []string{"Robotics, operations", "airlines", "Farms (old)", "boats"} {
		path := apptest.AudienceOf(org, name, people[:i]...)
		ids[name[:1]] = apptest.IDIn(path)
		app.Clock.Advance(time.Hour)
		if name[0] == 'F' {
			org.Write.Patch(path, `{"status": "archived"}`).Is(200) // one hour after its creation
		}
	}
	initials := func(body string) (initials string) {
		for _, name := range org.Read.Post(apptest.AudiencesPath+"/list", apptest.WithIDs(body, ids)).Is(200).Column("name") {
			initials += name[:1]
		}
		return initials
	}
	for rule, want := range map[string]string{
		`"name", "condition": "is", "value": ["boats", "Boats", "airlines"]`: "ab", `"name", "condition": "contains", "value": "OPER"`: "R", `"name", "condition": "not_contains", "value": "AIR"`: "FRb",
		`"name", "condition": "is_empty"`: "", `"name", "condition": "is_not", "value": "boats"`: "FRa", `"name", "condition": "equals", "value": "boats"`: "b",
		`"status", "condition": "is", "value": "archived"`: "F", `"status", "condition": "is_not", "value": ["archived"]`: "Rab", `"type", "condition": "is", "value": "static"`: "FRab", `"type", "condition": "is_empty"`: "",
		`"contact_count", "condition": "is", "value": [0, 3]`: "Rb", `"contact_count", "condition": "greater_than", "value": 1`: "Fb", `"contact_count", "condition": "less_than", "value": 1`: "R",
		`"contact_count", "condition": "equals", "value": 2`: "F", `"contact_count", "condition": "is_not", "value": 2`: "Rab", `"contact_count", "condition": "is_empty"`: "",
		`"created_at", "condition": "is", "value": "2026-03-02T10:00:00Z"`: "a", `"created_at", "condition": "is_after", "value": "2026-03-02T10:00:00Z"`: "Fb", `"created_at", "condition": "is", "value": "2026-03-02"`: "FRab",
		`"updated_at", "condition": "is", "value": "2026-03-02T12:00:00Z"`: "Fb", `"updated_at", "condition": "is_before", "value": "2026-03-02T12:00:00Z"`: "Ra",
		`"id", "condition": "is", "value": ["{F}", "{b}"]`: "Fb", `"id", "condition": "is_not", "value": "{F}"`: "Rab",
	} {
		if got := strings.Join(apptest.Sorted(strings.Split(initials(`{"filters": [{"field": `+rule+`}]}`), "")), ""); got != want {
			t.Errorf("%s returns %q, want %q", rule, got, want)
		}
	}
	for body, want := range map[string]string{
		``: "bFaR", `{"sort": "created_at"}`: "RaFb", `{"sort": "name"}`: "abFR", `{"sort": "-name"}`: "RFba", `{"sort": "contact_count"}`: "RaFb", `{"sort": "-contact_count"}`: "bFaR",
		`{"sort": "-updated_at,name"}`: "bFaR", `{"sort": "status,-name"}`: "RbaF", `{"sort": "type,id"}`: "RaFb", `{"sort": "-id"}`: "bFaR", `{"search": "OPER robot"}`: "R", `{"search": "old"}`: "F", `{"search": "perations"}`: "",
		`{"search": "b", "filters": [{"field": "contact_count", "condition": "is", "value": 3}]}`: "b", `{"sort": "name", "page": 2, "page_size": 3}`: "R", `{"page": 3, "page_size": 3}`: "",
		`{"sort": "name", "filters": {"operator": "or", "filters": [{"field": "status", "condition": "is", "value": "archived"}, {"field": "contact_count", "condition": "is", "value": 0}]}}`: "FR",
	} {
		if got := initials(body); got != want {
			t.Errorf("%s returns %q, want %q", body, got, want)
		}
	}
	org.Read.Post(apptest.AudiencesPath+"/list", `{"page_size": 1, "sort": "name"}`).Is(200, apptest.WithIDs(`{"data": [{"id": "{a}", "name": "airlines", "type": "static", "filters": null, "search": null, "status": "active", "contact_count": 1,
		"created_at": "2026-03-02T10:00:00.000Z", "updated_at": "2026-03-02T10:00:00.000Z"}], "pagination": {"page": 1, "page_size": 1, "total_count": 4, "total_pages": 4}, "meta": {"timestamp": "<time>"}}`, ids))
	org.Read.Post(apptest.AudiencesPath+"/list", `{"filters": [{"field": "status", "condition": "is", "value": "paused"}]}`).Fails(422, "invalid_filter", "filters[0].value")
	org.Read.Post(apptest.AudiencesPath+"/list", `{"filters": [{"field": "contact_ids", "condition": "is_empty"}]}`).Fails(422, "invalid_filter", "filters[0].field")
	org.Read.Post(apptest.AudiencesPath+"/list", `{"sort": "contacts"}`).Fails(422, "invalid_sort", "contacts")
	// Lists show the current count after every change.
	org.Write.Post(apptest.AudiencesPath+"/"+ids["R"]+"/contacts/add", `{"filters": []}`).Is(200)
	org.Write.Delete("/v1/contacts/" + people[0]).Is(204)
	if got := initials(`{"sort": "-contact_count,name", "filters": [{"field": "contact_count", "condition": "greater_than", "value": 0}]}`); got != "bRF" {
		t.Errorf("audiences sorted by current contact_count = %q", got)
	}
}

// TestAudienceEvents checks the events of audiences. The deletion of a contact is not a change of
// its audiences, and a new name of an audience is not a change of its campaigns.
func TestAudienceEvents(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	people := apptest.ContactsOf(org, "ann", "bob", "cid")
	rec := apptest.NewReceiver(t)
	var want []apptest.Happening
	rec.Subscribe(org, "audience.*", "contact.deleted", "campaign.updated")
	path := apptest.AudienceOf(org, "A", people[0])
	happens := func(event string) {
		want = append(want, apptest.ReadEvent(org, "audience."+event, path))
		app.Clock.Advance(time.Second)
	}
	happens("created")
	campaign := apptest.CampaignFor(org, "draft", path)
	was := org.Read.Get(campaign).Is(200)
	org.Write.Patch(path, `{"name": "B"}`).Is(200)
	happens("updated")
	now := org.Read.Get(campaign).Is(200)
	if now.Text("data.audiences.0.name") != "B" || now.Text("data.updated_at") != was.Text("data.updated_at") || now.Header.Get("ETag") != was.Header.Get("ETag") {
		t.Errorf("unexpected campaign after its audience was renamed: %s", now.Body)
	}
	org.Write.Post(path+"/contacts/add", apptest.ContactIDs(people[0], people[1], apptest.NobodyID)).Is(200)
	happens("updated")
	org.Write.Post(path+"/contacts/add", `{"search": "cid"}`).Is(200)
	happens("updated")
	org.Write.Post(path+"/contacts/remove", apptest.ContactIDs(people[1], apptest.NobodyID)).Is(200)
	happens("updated")

	// None of these changes the audience or causes an event.
	org.Write.Patch(path, `{"name": "B", "status": "active"}`).Is(200)
	org.Write.Post(path+"/contacts/add", apptest.ContactIDs(people[0], apptest.NobodyID)).Is(200)
	org.Write.Post(path+"/contacts/add", `{"search": "cid"}`).Is(200)
	org.Write.Post(path+"/contacts/remove", apptest.ContactIDs(people[1])).Is(200)
	org.Write.Patch(path, `{"contact_count": 7}`).Is(422)
	org.Write.Delete(path).Is(409)

	before := org.Read.Get(path).Is(200)
	org.Write.Delete("/v1/contacts/" + people[0]).Is(204)
	want = append(want, apptest.Happening{"contact.deleted", `{"id":"` + people[0] + `"}`})
	after := org.Read.Get(path).Is(200)
	if after.Int("data.contact_count") != 1 || after.Text("data.updated_at") != before.Text("data.updated_at") || after.Header.Get("ETag") != before.Header.Get("ETag") {
		t.Errorf("audience before deleting the contact: %s\nafter: %s", before.Body, after.Body)
	}
	app.Clock.Advance(time.Second)
	org.Write.Do(http.MethodPatch, path, `{"status": "archived"}`, "If-Match", before.Header.Get("ETag")).Is(200)
	happens("updated")
	org.Write.Post(path+"/contacts/add", apptest.ContactIDs(people[1])).Is(409)
	org.Write.Delete(campaign).Is(204)
	org.Write.Delete(path).Is(204)
	want = append(want, apptest.Happening{"audience.deleted", `{"id":"` + apptest.IDIn(path) + `"}`})
	app.Deliver()
	for _, h := range rec.All() {
		if err := app.CheckEvent(h.Event(t).TriggerKey, []byte(h.Body)); err != nil {
			t.Errorf("%s: %v", h.Body, err)
		}
	}
	rec.WantsExactly("audience", want)
}
