package sequence_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/crm"
	"prospector/internal/record"
	"prospector/store"
)

// enrolling returns the body of an enrollment.
func enrolling(name string, ids ...string) map[string]any {
	return map[string]any{"audience_name": name, "contact_ids": ids}
}

// enrolled summarizes an enrollment: how many contacts succeeded and failed, and the reasons
// ordered by code.
func enrolled(t *testing.T, res *apptest.Response) string {
	t.Helper()
	var why []string
	failed := 0
	for _, r := range res.Is(200).Value("data.failure_reasons").([]any) {
		reason := r.(map[string]any)
		why = append(why, fmt.Sprintf(" %v %v", reason["code"], reason["count"]))
		failed += int(reason["count"].(float64))
		if reason["description"] == "" {
			t.Errorf("a reason has no description: %s", res.Body)
		}
	}
	if failed != res.Int("data.failure_count") {
		t.Errorf("the reasons do not add up: %s", res.Body)
	}
	return fmt.Sprint(res.Int("data.success_count"), strings.Join(apptest.Sorted(why), ""))
}

func TestEnroll(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	apptest.NewField(org, "contacts", "remark", "text", "")
	ids := map[string]string{"nobody": apptest.NobodyID, "foreign": apptest.ContactsOf(other, "zoe")[0]}
	for name, body := range map[string]string{
		"ann":     `{"email": "ann@initech.example"}`,
		"bob":     `{"email": "bob@initech.example", "notes": "\"do_not_contact\":true, \"email\":\"out@initech.example\"", "custom_field_remark": "{\"do_not_contact\":true}"}`,
		"letter":  `{"linkedin_url": "https://linkedin.example/in/l", "custom_field_remark": "\"email\":\"out@initech.example\""}`, // without an address
		"opted":   `{"email": "opted@initech.example", "do_not_contact": true}`,
		"both":    `{"email": "both@globex.example", "do_not_contact": true}`,
		"address": `{"email": "OUT@Initech.example"}`,
		"quoted":  `{"email": "\"a \\\"b\\\" c\"@initech.example"}`,
		"domain":  `{"email": "x@GLOBEX.example"}`,
		"sub":     `{"email": "x@mail.eu.globex.example"}`,
		"umlaut":  `{"email": "x@BÜCHER.example"}`,
		"near":    `{"email": "x@notglobex.example"}`,
		"above":   `{"email": "globex.example@initech.example"}`,
		"gone":    `{"email": "gone@initech.example"}`,
	} {
		ids[name] = org.Write.Post("/v1/contacts", body).Is(201).ID()
	}
	org.Write.Delete("/v1/contacts/" + ids["gone"]).Is(204)
	for _, body := range []string{`{"email": "out@initech.example"}`, `{"email": "\"A \\\"b\\\" c\"@INITECH.example"}`, `{"domain": "Globex.example"}`, `{"domain": "bücher.example"}`} {
		org.Admin.Post("/v1/suppressions", body).Is(201)
	}
	other.Admin.Post("/v1/suppressions", `{"domain": "initech.example"}`).Is(201) // of another organization
	of := func(names string) (list []string) {
		for _, name := range strings.Fields(names) {
			list = append(list, ids[name])
		}
		return list
	}
	first := apptest.AudienceOf(org, "First", of("ann")...)
	for _, status := range []string{"active", "paused"} {
		campaign := apptest.CampaignFor(org, status, first)
		was := org.Read.Get(campaign).Is(200)
		app.Clock.Advance(time.Second)
		for i, c := range []struct{ who, want, in string }{
			{"ann", "1", "ann"}, // contacts that are already enrolled count too
			{"ann bob letter near above", "5", "ann bob letter near above"},
			{"bob ann bob bob ann nobody nobody", "2 contact_not_found 1", "ann bob"},
			{"nobody foreign gone ann", "1 contact_not_found 3", "ann"},
			{"opted ann", "1 contact_opted_out 1", "ann"},
			{"both", "0 contact_opted_out 1", ""}, // checked first
			{"address domain sub quoted umlaut", "0 contact_suppressed 5", ""},
			{"sub gone both nobody ann opted address foreign bob sub", "2 contact_not_found 3 contact_opted_out 2 contact_suppressed 2", "ann bob"},
			{"nobody", "0 contact_not_found 1", ""},
		} {
			name := fmt.Sprintf("  %s %d <&>", status, i)
			if got := enrolled(t, org.Write.Post(campaign+"/enroll", enrolling(name, of(c.who)...))); got != c.want {
				t.Errorf("%s: enrolling %q returned %q, want %q", status, c.who, got, c.want)
			}
			// The audience exists and is attached regardless of its members.
			path := apptest.AudienceNamed(org, name)
			apptest.HasContacts(t, org, path, of(c.in)...)
			org.Read.Get(path).Is(200, fmt.Sprintf(`{"data": {"id": "<id>", "name": %q, "type": "static", "filters": null, "search": null, "status": "active", "contact_count": %d, "created_at": "<time>", "updated_at": "<time>"}, "meta": {"timestamp": "<time>"}}`, name, len(of(c.in))))
			now := org.Read.Get(campaign).Is(200)
			if at := fmt.Sprintf("data.audiences.%d", i+1); now.Text(at+".id") != apptest.IDIn(path) || now.Text(at+".name") != name || len(now.Value("data.audiences").([]any)) != i+2 {
				t.Errorf("unexpected audiences of the campaign: %v", now.Value("data.audiences"))
			}
			if now.Text("data.updated_at") == was.Text("data.updated_at") || now.Header.Get("ETag") == was.Header.Get("ETag") || now.Text("data.status") != status {
				t.Errorf("enrolling did not create a new version of the campaign, or changed its status: %s", now.Body)
			}
			was = now
			app.Clock.Advance(time.Second)
		}
		app.Work()
		want := map[string]int{"active": 5}[status] // a campaign that was never active has no sequences
		if n := org.Read.Get(campaign + "/stats").Is(200).Int("data.enrolled"); n != want {
			t.Errorf("%s: %d contacts are enrolled, want each of %d once", status, n, want)
		}
	}
	apptest.HasContacts(t, org, first, of("ann")...)

	// Released contacts can be enrolled, and a contact of a shared audience is in every campaign
	// with it.
	a, b := apptest.CampaignFor(org, "active", first), apptest.CampaignFor(org, "active", first)
	suppression := org.Read.Post("/v1/suppressions/list", `{"filters": [{"field": "domain", "condition": "is", "value": "globex.example"}]}`).Is(200).Text("data.0.id")
	org.Admin.Delete("/v1/suppressions/" + suppression).Is(204)
	org.Write.Patch("/v1/contacts/"+ids["opted"], `{"do_not_contact": false}`).Is(200)
	if got := enrolled(t, org.Write.Post(a+"/enroll", enrolling("Released", of("opted sub domain both")...))); got != "3 contact_opted_out 1" {
		t.Errorf("enrolling after the contacts were released: %s", got)
	}
	released := apptest.AudienceNamed(org, "Released")
	org.Write.Post(b+"/audiences/add", map[string]any{"audience_ids": []string{apptest.IDIn(released)}}).Is(200)
	org.Write.Post(released+"/contacts/add", apptest.ContactIDs(of("near both")...)).Is(200)
	app.Work()
	for _, c := range []string{a, b} {
		if n := org.Read.Get(c + "/stats").Is(200).Int("data.enrolled"); n != 6 {
			t.Errorf("%d contacts are enrolled, want 6", n)
		}
	}
	org.Write.Delete(released).Fails(409, "in_use", "")
	apptest.CheckAudiences(t, app, org)
	apptest.CheckConsistency(t, app, org)
}

func TestEnrollRefusals(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	ann := apptest.ContactsOf(org, "ann")[0]
	first := apptest.AudienceOf(org, "Key  Äccounts", ann)
	paths := map[string]string{}
	for _, status := range []string{"draft", "active", "paused", "completed", "archived"} {
		paths[status] = apptest.CampaignFor(org, status, first)
	}
	foreign := apptest.CampaignFor(other, "active", apptest.AudienceOf(other, "Theirs"))
	before := org.Dump()
	theirs := other.Dump()
	for _, status := range []string{"draft", "completed", "archived"} {
		t.Run(status, func(t *testing.T) {
			org.Write.In(t).Post(paths[status]+"/enroll", enrolling("New", ann)).Fails(409, "campaign_not_enrollable", "a campaign with status "+status+" cannot take contacts")
			org.Write.In(t).Post(paths[status]+"/enroll", enrolling("New", apptest.NobodyID)).Fails(409, "campaign_not_enrollable", status)
		})
	}
	for _, path := range []string{foreign, "/v1/campaigns/" + apptest.NobodyID, "/v1/campaigns/x", "/v1/campaigns/" + apptest.IDIn(first)} {
		t.Run(path, func(t *testing.T) {
			org.Write.In(t).Post(path+"/enroll", enrolling("New", ann)).Fails(404, "not_found", "Resource not found")
		})
	}
	org.Read.Post(paths["active"]+"/enroll", enrolling("New", ann)).Fails(403, "forbidden", "write")
	for _, status := range []string{"active", "paused"} {
		for _, name := range []string{"Key  Äccounts", " KEY   äccounts "} {
			org.Write.Post(paths[status]+"/enroll", enrolling(name, ann)).Is(409, fmt.Sprintf(`{"error": {"code": "audience_name_taken", "message": "<any>",
				"details": [{"path": "audience_name", "message": "<any>", "id": %q}]}}`, apptest.IDIn(first)))
		}
		for _, c := range []struct {
			body  string
			paths []string
		}{
			{``, []string{"audience_name", "contact_ids"}},
			{`{"audience_name": null, "contact_ids": null}`, []string{"audience_name", "contact_ids"}},
			{`{"audience_name": "", "contact_ids": []}`, []string{"audience_name", "contact_ids"}},
			{`{"audience_name": " \t ", "contact_ids": "{a}", "colour": 1}`, []string{"audience_name", "contact_ids", "colour"}},
			{`{"audience_name": 1, "contact_ids": ["{a}", "x", null, 1, ""]}`, []string{"audience_name", "contact_ids[1]", "contact_ids[2]", "contact_ids[3]", "contact_ids[4]"}},
			{`{"audience_name": "` + strings.Repeat("ü", 256) + `", "contact_ids": ["{a}"]}`, []string{"audience_name"}},
			{`{"audience_name": "New", "contact_ids": [` + strings.Repeat(`"{a}", `, 10_000) + `"{a}"]}`, []string{"contact_ids"}},
			{`{"audience_name": "New", "contact_ids": ["{a}"], "name": "New", "filters": []}`, []string{"name", "filters"}},
			{`{"audience_name": "New"}`, []string{"contact_ids"}},
			{`{"contact_ids": ["{a}"]}`, []string{"audience_name"}},
		} {
			t.Run(apptest.RowName(c.body), func(t *testing.T) {
				res := org.Write.In(t).Post(paths[status]+"/enroll", strings.ReplaceAll(c.body, "{a}", ann)).Fails(422, "validation_failed", "")
				if got := apptest.ProblemPaths(res); !slices.Equal(apptest.Sorted(got), apptest.Sorted(c.paths)) {
					t.Errorf("%.200s\nproblem paths = %q, want %q: %.500s", c.body, got, c.paths, res.Body)
				}
			})
		}
	}
	if org.Dump() != before || other.Dump() != theirs {
		t.Error("a refused enrollment changed something")
	}
	// The limits themselves are valid, and so is a name that only another organization uses.
	for _, name := range []string{"x", strings.Repeat("ü", 255), "Theirs"} {
		if got := enrolled(t, org.Write.Post(paths["active"]+"/enroll", enrolling(name, ann))); got != "1" {
			t.Errorf("%.10s: %s", name, got)
		}
	}
	// A name that is free again can be used.
	org.Write.Patch(first, `{"name": "Other"}`).Is(200)
	enrolled(t, org.Write.Post(paths["paused"]+"/enroll", enrolling("key äccounts", ann)))
}

func TestEnrollEvents(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	people := apptest.ContactsOf(org, "ann", "bob")
	first := apptest.AudienceOf(org, "First")
	campaign, second := apptest.CampaignFor(org, "active", first), apptest.CampaignFor(org, "active", first)
	rec := apptest.NewReceiver(t)
	rec.Subscribe(org, "*")
	app.Clock.Advance(time.Second)
	body := enrolling("New", people...)
	done := org.Write.Do("POST", campaign+"/enroll", body, "Idempotency-Key", "k").Is(200)
	want := []apptest.Happening{apptest.ReadEvent(org, "audience.created", apptest.AudienceNamed(org, "New")), apptest.ReadEvent(org, "campaign.updated", campaign)}
	// A replay returns the first response. The same name with another key, or none, is taken.
	again := org.Write.Do("POST", campaign+"/enroll", body, "Idempotency-Key", "k").Is(200)
	if again.Header.Get("Idempotent-Replayed") != "true" || string(again.Body) != string(done.Body) {
		t.Errorf("%v %s", again.Header, again.Body)
	}
	org.Write.Do("POST", campaign+"/enroll", enrolling("New", people[0]), "Idempotency-Key", "k").Fails(409, "idempotency_key_reused", "")
	org.Write.Do("POST", second+"/enroll", body, "Idempotency-Key", "k").Fails(409, "idempotency_key_reused", "")
	org.Write.Do("POST", campaign+"/enroll", body, "Idempotency-Key", "l").Fails(409, "audience_name_taken", "")
	org.Write.Post(campaign+"/enroll", body).Fails(409, "audience_name_taken", "")
	// Failed responses are not stored.
	org.Write.Patch(second, `{"status": "paused"}`).Is(200)
	want = append(want, apptest.ReadEvent(org, "campaign.paused", second))
	org.Write.Patch(second, `{"status": "completed"}`).Is(200)
	want = append(want, apptest.ReadEvent(org, "campaign.completed", second))
	org.Write.Do("POST", second+"/enroll", enrolling("Newer", apptest.NobodyID), "Idempotency-Key", "m").Fails(409, "campaign_not_enrollable", "")
	org.Write.Do("POST", campaign+"/enroll", enrolling("Newer", apptest.NobodyID), "Idempotency-Key", "m").Is(200)
	want = append(want, apptest.ReadEvent(org, "audience.created", apptest.AudienceNamed(org, "Newer")), apptest.ReadEvent(org, "campaign.updated", campaign))
	app.Deliver()
	rec.WantsExactly("enrollments", want)

	// Of concurrent requests with the same name, one succeeds.
	var all sync.WaitGroup
	statuses := make([]int, 6)
	for i := range statuses {
		all.Go(func() { statuses[i] = org.Write.Post(campaign+"/enroll", enrolling("At once", people...)).Status })
	}
	all.Wait()
	if slices.Sort(statuses); !slices.Equal(statuses, []int{200, 409, 409, 409, 409, 409}) {
		t.Errorf("concurrent requests return %v", statuses)
	}
	for _, name := range []string{"New", "At once"} {
		apptest.HasContacts(t, org, apptest.AudienceNamed(org, name), people...)
	}
	if n := len(org.Read.Get(campaign).Is(200).Value("data.audiences").([]any)); n != 4 {
		t.Errorf("the campaign has %d audiences, want 4", n)
	}
}

// throng creates very many contacts, half of them with the title Director.
func throng(t *testing.T, app *apptest.App, org *apptest.Org, n int) (ids []string) {
	t.Helper()
	for len(ids) < n {
		err := app.Store.Update(context.Background(), org.ID, store.Actor{}, func(tx *store.Tx) error {
			for range min(2000, n-len(ids)) {
				i := len(ids)
				doc, err := app.CRM.Contacts.Create(tx, record.NewDraft[crm.Contact](apptest.Body(t, map[string]any{
					"first_name": "Ann", "email": fmt.Sprintf("n%d@initech.example", i), "title": []string{"VP Sales", "Director"}[i%2]})))
				if err != nil {
					return err
				}
				ids = append(ids, doc.ID.String())
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

// membersLeft returns how many contacts the store still contains of a deleted audience.
func membersLeft(o *apptest.Org, audience string) int {
	return strings.Count(o.Dump(), strings.ReplaceAll(audience, "-", "")+` ""`)
}

// TestThrong adds very many contacts with a filter, enrolls them at once, and deletes an audience
// of all of them.
func TestThrong(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	n := apptest.Soaked(10_400, 5_200, 5_200) // more than one transaction deletes
	ids := throng(t, app, org, n)
	if err := app.Index.Flush(); err != nil {
		t.Fatal(err)
	}
	path, half := apptest.AudienceOf(org, "All"), apptest.AudienceOf(org, "Half", ids[1])
	org.Write.Post(path+"/contacts/add", `{"filters": []}`).Is(200, fmt.Sprintf(`{"data": {"audience_id": %q, "added": %d, "failures": []}, "meta": {"timestamp": "<time>"}}`, apptest.IDIn(path), n))
	org.Write.Post(path+"/contacts/add", `{"filters": {"filters": []}, "search": "ann"}`).Is(200, fmt.Sprintf(`{"data": {"audience_id": %q, "added": 0, "failures": []}, "meta": {"timestamp": "<time>"}}`, apptest.IDIn(path)))
	if added := org.Write.Post(half+"/contacts/add", `{"search": "direc"}`).Is(200).Int("data.added"); added != n/2-1 {
		t.Errorf("added %d contacts, want %d", added, n/2-1)
	}
	var directors []string
	for i := 1; i < n; i += 2 {
		directors = append(directors, ids[i])
	}
	apptest.HasContacts(t, org, path, ids...)
	apptest.HasContacts(t, org, half, directors...)

	// The maximum number of ids, some of them unknown.
	named := slices.Concat(ids[:min(n, 9_990)], ids[:8], []string{apptest.NobodyID, apptest.NobodyID})
	org.Admin.Post("/v1/suppressions", `{"email": "N4@initech.example"}`).Is(201)
	campaign := apptest.CampaignFor(org, "active", half)
	if got, want := enrolled(t, org.Write.Post(campaign+"/enroll", enrolling("Named", named...))), fmt.Sprintf("%d contact_not_found 1 contact_suppressed 1", min(n, 9_990)-1); got != want {
		t.Errorf("enrolled %s, want %s", got, want)
	}
	apptest.HasContacts(t, org, apptest.AudienceNamed(org, "Named"), slices.Delete(slices.Clone(ids[:min(n, 9_990)]), 4, 5)...)

	// The rest of a large audience is deleted in the background, also after a restart, and is never
	// visible.
	org.Write.Delete(path + "?permanent=true").Is(204)
	org.Read.Post(path+"/contacts/list", nil).Fails(404, "not_found", "Resource not found")
	if membersLeft(org, apptest.IDIn(path)) == 0 {
		t.Error("a large audience is cleared in one transaction")
	}
	anew := apptest.AudienceOf(org, "all")
	apptest.HasContacts(t, org, anew)
	for _, id := range []string{ids[1], ids[n-2]} { // former members, or still in the rest
		org.Write.Delete("/v1/contacts/" + id).Is(204)
	}
	org.Write.Post(anew+"/contacts/add", apptest.ContactIDs(ids[5], ids[n-2], ids[n-1])).Is(200)
	app.Restart()
	app.Work()
	if left := membersLeft(org, apptest.IDIn(path)); left != 0 {
		t.Errorf("%d members of a deleted audience are left", left)
	}
	apptest.HasContacts(t, org, anew, ids[5], ids[n-1])
	apptest.HasContacts(t, org, half, directors[1:]...)
	apptest.CheckAudiences(t, app, org)
}
