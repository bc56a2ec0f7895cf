package outreach_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// campaignAs creates a campaign, moves it to a status, and returns its path.
func (r *runner) campaignAs(status, members string) string {
	first := map[string]string{"completed": "active", "archived": "draft"}[status]
	if first == "" {
		return r.newCampaign(strings.Trim(`"status": "`+status+`", `+members, ", "))
	}
	path := r.campaignAs(first, members)
	r.Write.Patch(path, `{"status": "`+status+`"}`).Is(200)
	return path
}

var campaignStatuses = []string{"draft", "active", "paused", "completed", "archived"}

// TestCampaignMoves tries every transition between statuses. Allowed ones are made and reported as
// events, all others are refused.
func TestCampaignMoves(t *testing.T) {
	app := apptest.New(t)
	org := newRunner(app, "Acme")
	allowed := map[string][]string{
		"draft":     {"active", "archived"},
		"active":    {"paused", "completed", "archived"},
		"paused":    {"active", "completed", "archived"},
		"completed": {"archived"},
	}
	events := map[string]string{"active": "campaign.activated", "paused": "campaign.paused", "completed": "campaign.completed", "archived": "campaign.archived"}
	type move struct{ from, to, path string }
	var moves []move
	for _, from := range campaignStatuses {
		for _, to := range campaignStatuses {
			moves = append(moves, move{from, to, org.campaignAs(from, "")})
		}
	}
	rec := apptest.NewReceiver(t)
	rec.Subscribe(org.Org, "campaign.*")
	for _, m := range moves {
		what := m.from + " to " + m.to
		app.Clock.Advance(time.Second)
		before := org.Read.Get(m.path).Is(200)
		dump := org.Dump()
		// The name and the status change together or not at all, with one event for both.
		res := org.Write.Patch(m.path, map[string]string{"status": m.to})
		var want []apptest.Happening
		switch {
		case m.from == m.to:
			if string(apptest.DataOf(res.Is(200))) != string(apptest.DataOf(before)) || res.Header.Get("ETag") != before.Header.Get("ETag") || org.Dump() != dump {
				t.Errorf("%s: repeating the update returned %s, want %s", what, res.Body, before.Body)
			}
		case slices.Contains(allowed[m.from], m.to):
			now := itemFields(t, before)
			if m.to == "active" {
				now["transport"] = jsonOf("outbox")
			}
			now["status"], now["updated_at"] = jsonOf(m.to), jsonOf(app.Clock.Now().Format("2006-01-02T15:04:05.000Z"))
			if got := itemFields(t, res.Is(200)); fmt.Sprintf("%s", got) != fmt.Sprintf("%s", now) || res.Header.Get("ETag") == before.Header.Get("ETag") {
				t.Errorf("%s: status = %s, want %s", what, got, now)
			}
			want = []apptest.Happening{apptest.ReadEvent(org.Org, events[m.to], m.path)}
		default:
			res.Fails(409, "invalid_transition", m.to)
			org.Write.Patch(m.path, map[string]any{"status": m.to, "name": "Autumn", "prioritized": true}).Fails(409, "invalid_transition", m.from)
			if org.Dump() != dump {
				t.Errorf("%s: a refused move changed something", what)
			}
		}
		app.Deliver()
		rec.WantsExactly(what, want)
	}
	// The initial status is not a transition.
	org.Write.Patch(org.campaignAs("draft", ""), `{"status": null}`).Is(200)
	org.Write.Patch(org.campaignAs("active", ""), `{"status": null}`).Fails(409, "invalid_transition", "draft")
}

func jsonOf(text string) []byte { return []byte(`"` + text + `"`) }

// TestCampaignEvents checks that each change causes one event, whatever else changes with it, and
// that an update without changes causes none.
func TestCampaignEvents(t *testing.T) {
	app := apptest.New(t)
	org := newRunner(app, "Acme")
	rec := apptest.NewReceiver(t)
	rec.Subscribe(org.Org, "campaign.*")
	created := org.newCampaign(`"status": "active"`) // created, not activated
	var path string
	want := []apptest.Happening{apptest.ReadEvent(org.Org, "campaign.created", created)}
	for _, step := range []struct{ method, suffix, body, event string }{
		{"POST", "", `{"name": "Spring", "template_id": "` + org.template + `", "audience_ids": ["` + org.north + `"]}`, "created"},
		{"PATCH", "", `{"name": "Summer"}`, "updated"},
		{"PATCH", "", `{"name": "Summer"}`, ""},
		{"PATCH", "", `{"end_date": "2026-06-30", "prioritized": true}`, "updated"},
		{"POST", "/audiences/add", `{"audience_ids": ["` + org.south + `", "` + org.west + `"]}`, "updated"},
		{"POST", "/audiences/add", `{"audience_ids": ["` + org.south + `"]}`, ""},
		{"PATCH", "", `{"status": "active", "name": "Spring", "template_id": "` + org.newTemplate("Cold call") + `"}`, "activated"},
		{"PATCH", "", `{"status": "active"}`, ""},
		{"POST", "/audiences/remove", `{"audience_ids": ["` + org.south + `"]}`, "updated"},
		{"POST", "/audiences/remove", `{"audience_ids": ["` + org.south + `"]}`, ""},
		{"PATCH", "", `{"status": "paused", "prioritized": false}`, "paused"},
		{"PATCH", "", `{"status": "active"}`, "activated"},
		{"PATCH", "", `{"status": "completed", "name": "Autumn"}`, "completed"},
		{"PATCH", "", `{"name": "Winter"}`, "updated"},
		{"PATCH", "", `{"status": "archived"}`, "archived"},
		{"DELETE", "", ``, ""},
	} {
		app.Clock.Advance(time.Second)
		at := path + step.suffix
		if path == "" {
			at = "/v1/campaigns"
		}
		var body any
		if step.body != "" {
			body = step.body
		}
		res := org.Write.Do(step.method, at, body)
		if res.Status >= 300 {
			t.Fatalf("%s %s: %s", step.method, at, res.Body)
		}
		if path == "" {
			path = "/v1/campaigns/" + res.ID()
		}
		if step.event != "" {
			want = append(want, apptest.ReadEvent(org.Org, "campaign."+step.event, path))
		}
	}
	app.Deliver()
	for _, h := range rec.All() {
		if err := app.CheckEvent(h.Event(t).TriggerKey, []byte(h.Body)); err != nil {
			t.Errorf("%s: %v", h.Body, err)
		}
	}
	rec.WantsExactly("a campaign's life", want)
}

// TestCampaignTemplate checks that the template can be changed only while the campaign is a draft.
func TestCampaignTemplate(t *testing.T) {
	app := apptest.New(t)
	org := newRunner(app, "Acme")
	second, third := org.newTemplate("Cold call"), org.newTemplate("Third")
	draft := org.campaignAs("draft", "")
	chosen := map[string]string{"template_id": second}
	for range 2 {
		res := org.Write.Patch(draft, chosen).Is(200)
		if res.Text("data.template_id") != second || res.Text("data.template_name") != "Cold call" {
			t.Errorf("%s", res.Body)
		}
	}
	org.Write.Patch("/v1/sequence-templates/"+third, `{"name": "Cold mail"}`).Is(200)
	if res := org.Write.Patch(draft, map[string]string{"template_id": third, "status": "active"}).Is(200); res.Text("data.template_name") != "Cold mail" || res.Text("data.status") != "active" {
		t.Errorf("%s", res.Body)
	}
	for _, status := range campaignStatuses[1:] {
		path := org.campaignAs(status, "")
		before := org.Dump()
		org.Write.Patch(path, chosen).Fails(409, "invalid_transition", "template_id")
		org.Write.Patch(path, map[string]string{"template_id": second, "name": "Other"}).Fails(409, "invalid_transition", "template_id")
		org.Write.Patch(path, map[string]string{"template_id": second, "status": "archived"}).Fails(409, "invalid_transition", "template_id")
		if org.Dump() != before {
			t.Errorf("%s: a refused request changed something", status)
		}
		org.Write.Patch(path, map[string]string{"template_id": org.template, "name": "Renamed"}).Is(200) // its current template
	}
	// The template of a campaign may become inactive: the campaign keeps it.
	draft = org.campaignAs("draft", "")
	org.Write.Patch("/v1/sequence-templates/"+org.template, `{"status": "ARCHIVED"}`).Is(200)
	org.Write.Patch(draft, org.Read.Get(draft).Is(200).Value("data")).Is(200)
	org.Write.Patch(draft, map[string]string{"template_id": org.template, "status": "active"}).Is(200)
}

// until moves the clock to a time and runs the jobs that are due then.
func until(t *testing.T, app *apptest.App, moment string) {
	t.Helper()
	at, err := time.Parse(time.RFC3339, moment)
	if err != nil || at.Before(app.Clock.Now()) {
		t.Fatalf("%s: %v", moment, err)
	}
	app.Clock.Advance(at.Sub(app.Clock.Now()))
	app.Work()
}

// isNow requires that a campaign has a status.
func (r *runner) isNow(t *testing.T, what, path, status string) {
	t.Helper()
	if got := r.Read.Get(path).Is(200).Text("data.status"); got != status {
		t.Errorf("%s: status = %s, want %s", what, got, status)
	}
}

// TestCampaignEnd checks that end_date is the last day of a campaign in the time zone of the
// organization, and that the campaign completes automatically after it.
func TestCampaignEnd(t *testing.T) {
	app := apptest.New(t)
	rec := apptest.NewReceiver(t)
	cases := []struct {
		zone, date, end       string // ordered by end
		org                   *runner
		active, paused, draft string
	}{
		{zone: "Pacific/Pago_Pago", date: "2026-03-01", end: "2026-03-02T11:00:00Z"},
		{zone: "Asia/Kolkata", date: "2026-03-02", end: "2026-03-02T18:30:00Z"},
		{zone: "UTC", date: "2026-03-02", end: "2026-03-03T00:00:00Z"},
		{zone: "Pacific/Kiritimati", date: "2026-03-03", end: "2026-03-03T10:00:00Z"},
		{zone: "America/New_York", date: "2026-03-07", end: "2026-03-08T05:00:00Z"}, // clocks change on the next day
		{zone: "America/New_York", date: "2026-03-08", end: "2026-03-09T04:00:00Z"}, // clocks change on this day
		{zone: "Africa/Cairo", date: "2026-04-23", end: "2026-04-23T22:00:00Z"},     // the next day begins at one o'clock
		{zone: "Europe/Berlin", date: "2026-10-25", end: "2026-10-25T23:00:00Z"},
		{zone: "America/Havana", date: "2026-10-31", end: "2026-11-01T04:00:00Z"}, // the next day begins with a repeated hour
		{zone: "America/Havana", date: "2026-11-01", end: "2026-11-02T05:00:00Z"},
		{zone: "UTC", date: "2028-02-29", end: "2028-03-01T00:00:00Z"},
	}
	for i := range cases {
		c := &cases[i]
		c.org = newRunner(app, fmt.Sprint("Acme ", i))
		c.org.Admin.Patch("/v1/organization", map[string]string{"time_zone": c.zone}).Is(200)
		member := `"end_date": "` + c.date + `"`
		c.active, c.paused, c.draft = c.org.campaignAs("active", member), c.org.campaignAs("paused", member), c.org.campaignAs("draft", member)
		rec.Subscribe(c.org.Org, "*")
	}
	for i, c := range cases {
		what := c.date + " in " + c.zone
		end, err := time.Parse(time.RFC3339, c.end)
		if err != nil {
			t.Fatal(err)
		}
		until(t, app, end.Add(-time.Millisecond).Format(time.RFC3339Nano))
		c.org.isNow(t, what+": before", c.active, "active")
		if i == 3 {
			app.Restart()
		}
		until(t, app, c.end)
		app.Deliver()
		events := rec.All()
		for _, path := range []string{c.active, c.paused} {
			res := c.org.Read.Get(path).Is(200)
			if res.Text("data.status") != "completed" || res.Text("data.updated_at") != end.Format("2006-01-02T15:04:05.000Z") || res.Text("data.end_date") != c.date {
				t.Errorf("%s: %s", what, res.Body)
			}
			if !slices.ContainsFunc(events, func(h apptest.Hook) bool { return string(h.Event(t).Data) == string(apptest.DataOf(res)) }) {
				t.Errorf("%s: no event carries the record that GET returns: %s", what, res.Body)
			}
		}
		at := fmt.Sprintf("/%d campaign.completed ", i)
		rec.Wants(what, nil, at+strings.TrimPrefix(c.active, "/v1/campaigns/"), at+strings.TrimPrefix(c.paused, "/v1/campaigns/"))
		c.org.isNow(t, what, c.draft, "draft")
		if n := c.org.Read.Post("/v1/campaigns/list", `{"filters": [{"field": "status", "condition": "is", "value": "completed"}]}`).Is(200).Int("pagination.total_count"); n != 2 {
			t.Errorf("%s: unexpected number of campaigns listed: %d", what, n)
		}
	}
	app.Clock.Advance(48 * time.Hour)
	app.Work()
	app.Deliver()
	rec.Wants("later", nil)
}

// TestCampaignEndMoved changes the settings that determine the end of a campaign before it is
// reached.
func TestCampaignEndMoved(t *testing.T) {
	app := apptest.New(t)
	org, other := newRunner(app, "Acme"), newRunner(app, "Umbrella")
	const soon, later = `"end_date": "2026-03-03"`, `"end_date": "2026-03-10"`
	paths := map[string]string{}
	for name, first := range map[string]string{"later": soon, "sooner": later, "removed": soon, "back": soon, "gone past": later, "completed": soon, "archived": soon, "paused": soon, "late": soon} {
		paths[name] = org.campaignAs("active", first)
	}
	paths["set"] = org.campaignAs("active", "")
	paths["draft"], paths["deleted"] = org.campaignAs("draft", soon), org.campaignAs("draft", soon)
	foreign := other.campaignAs("active", later)
	for _, change := range []struct{ name, body string }{
		{"later", `{` + later + `}`}, {"sooner", `{` + soon + `}`}, {"removed", `{"end_date": null}`},
		{"back", `{` + later + `}`}, {"back", `{"end_date": null}`}, {"back", `{` + soon + `}`}, {"gone past", `{"end_date": "2026-02-28"}`},
		{"completed", `{"status": "completed"}`}, {"archived", `{"status": "archived"}`}, {"paused", `{"status": "paused"}`}, {"set", `{` + soon + `}`},
		{"deleted", `{"status": "active"}`}, {"deleted", `{"status": "archived"}`}, {"late", `{"status": "paused"}`}, {"late", `{"status": "active"}`},
	} {
		org.Write.Patch(paths[change.name], change.body).Is(200)
	}
	org.Write.Delete(paths["deleted"]).Is(204)
	delete(paths, "deleted")
	rec := apptest.NewReceiver(t)
	rec.Subscribe(org.Org, "campaign.*")
	// are requires these statuses, active for campaigns that are not listed, and these events.
	are := func(what string, statuses map[string]string, completed ...string) {
		t.Helper()
		names := map[string]string{}
		for name, path := range paths {
			want := statuses[name]
			if want == "" {
				want = "active"
			}
			org.isNow(t, what+": "+name, path, want)
			names[name] = strings.TrimPrefix(path, "/v1/campaigns/")
		}
		app.Deliver()
		for i := range completed {
			completed[i] = "/0 campaign.completed " + completed[i]
		}
		rec.Wants(what, names, completed...)
	}
	app.Work()
	now := map[string]string{"gone past": "completed", "completed": "completed", "archived": "archived", "paused": "paused", "draft": "draft"}
	are("at once", now, "gone past")
	until(t, app, "2026-03-03T23:59:59Z")
	are("on the last day", now)
	until(t, app, "2026-03-04T00:00:00Z")
	for _, name := range []string{"sooner", "back", "paused", "set", "late"} {
		now[name] = "completed"
	}
	are("when it has passed", now, "sooner", "back", "paused", "set", "late")
	other.isNow(t, "another organization's", foreign, "active")

	// A draft that is activated after its end date completes with the next job, and so does a
	// campaign that is created active.
	org.Write.Patch(paths["draft"], `{"status": "active"}`).Is(200)
	paths["made late"] = org.campaignAs("active", soon)
	now["draft"], now["made late"] = "completed", "completed"
	rec.Take()
	app.Work()
	app.Deliver()
	for name, want := range now {
		org.isNow(t, "activated after the date: "+name, paths[name], want)
	}
	until(t, app, "2026-03-11T00:00:00Z")
	now["later"] = "completed"
	for name, want := range now {
		org.isNow(t, "at the later date: "+name, paths[name], want)
	}
	org.isNow(t, "without a date", paths["removed"], "active")
	other.isNow(t, "another organization's", foreign, "completed")
	// A new date does not reactivate a completed campaign.
	org.Write.Patch(paths["later"], `{"end_date": "2026-12-31"}`).Is(200)
	org.isNow(t, "another date", paths["later"], "completed")
}

// TestCampaignEndZone changes the time zone of an organization before its campaigns end. Days then
// begin in the new time zone.
func TestCampaignEndZone(t *testing.T) {
	app := apptest.New(t)
	type wait struct{ from, to, end string } // ordered by end
	waits := []wait{
		{"UTC", "Asia/Tokyo", "2026-03-03T15:00:00Z"},
		{"America/Los_Angeles", "Europe/Berlin", "2026-03-03T23:00:00Z"},
		{"Asia/Tokyo", "UTC", "2026-03-04T00:00:00Z"},
		{"UTC", "America/Los_Angeles", "2026-03-04T08:00:00Z"},
	}
	orgs, paths := map[wait]*runner{}, map[wait]string{}
	for _, w := range waits {
		org := newRunner(app, fmt.Sprint("Zone ", len(orgs)))
		org.Admin.Patch("/v1/organization", map[string]string{"time_zone": w.from}).Is(200)
		orgs[w], paths[w] = org, org.campaignAs("active", `"end_date": "2026-03-03"`)
		org.Admin.Patch("/v1/organization", map[string]string{"time_zone": w.to}).Is(200)
	}
	for _, w := range waits {
		end, err := time.Parse(time.RFC3339, w.end)
		if err != nil {
			t.Fatal(err)
		}
		until(t, app, end.Add(-time.Second).Format(time.RFC3339))
		orgs[w].isNow(t, w.from+" to "+w.to+": before", paths[w], "active")
		until(t, app, w.end)
		orgs[w].isNow(t, w.from+" to "+w.to, paths[w], "completed")
	}
}
