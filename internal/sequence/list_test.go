package sequence_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// outreached is an organization with a campaign of three contacts who joined one minute after
// another. Each was sent a message on joining, and is to be called the next day.
type outreached struct {
	*apptest.Org
	app      *apptest.App
	campaign string            // its path
	contacts map[string]string // by name
	ids      map[string]string // of their sequences
}

const helloAndCall = `[{"index": 0, "type": "auto_email", "hour": 9, "subject": "Hello {{recipient.first_name}}", "message": "About printers"},
	{"index": 1, "type": "call", "day": 1, "hour": 9}]`

func newOutreached(app *apptest.App, name string) *outreached {
	o := &outreached{Org: app.Org(name), app: app, contacts: map[string]string{}, ids: map[string]string{}}
	o.campaign = o.run("Spring", helloAndCall)
	for _, name := range []string{"ann", "bob", "cid"} {
		contact := apptest.ContactsOf(o.Org, name)[0]
		o.contacts[name] = contact
		o.Write.Post(o.campaign+"/enroll", map[string]any{"audience_name": name, "contact_ids": []string{contact}}).Is(200)
		app.Work()
		o.ids[name] = o.Read.Post(o.campaign+"/sequences/list", `{"page_size": 1}`).Is(200).Text("data.0.id")
		app.Clock.Advance(time.Minute)
	}
	return o
}

// run creates an active campaign with an audience of the contacts, and returns its path.
func (o *outreached) run(name, steps string, contacts ...string) string {
	template := o.Write.Post("/v1/sequence-templates", map[string]any{"name": name, "steps": apptest.JSONText(steps)}).Is(201).ID()
	audience := apptest.IDIn(apptest.AudienceOf(o.Org, name, contacts...))
	path := "/v1/campaigns/" + o.Write.Post("/v1/campaigns", map[string]any{"name": name, "status": "active", "template_id": template, "audience_ids": []string{audience}, "owner_id": o.User}).Is(201).ID()
	o.app.Work()
	return path
}

// stop stops a sequence.
func (o *outreached) stop(name, reason string) *apptest.Response {
	return o.Write.Post(o.campaign+"/sequences/"+o.ids[name]+"/stop", map[string]string{"reason": reason})
}

func TestSequenceList(t *testing.T) {
	app := apptest.New(t)
	org := newOutreached(app, "Acme")
	path := org.campaign + "/sequences/list"
	other := org.run("Summer", helloAndCall, org.contacts["ann"])
	org.Read.Post(path, `{"sort": "started_at", "page_size": 1}`).Is(200, fmt.Sprintf(`{"data": [{"id": %q, "campaign_id": %q, "contact_id": %q, "contact_name": "ann", "contact_email": "ann@initech.example", "contact_deleted": false,
		"status": "active", "reason": null, "duplicate_of": null,
		"started_at": "2026-03-02T09:00:00.000Z", "current_step_index": 1, "next_due_at": "2026-03-03T09:00:00.000Z", "history": [
		{"step_index": 0, "type": "auto_email", "status": "captured", "due_at": "2026-03-02T09:00:00.000Z", "at": "2026-03-02T09:00:00.000Z", "reason": "<any>", "message_id": "<id>", "task_id": null, "template_version": 1},
		{"step_index": 1, "type": "call", "status": "waiting", "due_at": "2026-03-03T09:00:00.000Z", "at": null, "reason": "<any>", "message_id": null, "task_id": null, "template_version": 1}]}],
		"pagination": {"page": 1, "page_size": 1, "total_count": 3, "total_pages": 3}, "meta": {"timestamp": "<time>"}}`, org.ids["ann"], apptest.IDIn(org.campaign), org.contacts["ann"]))
	org.stop("bob", "manual").Is(200)
	names := map[string]string{"other": apptest.IDIn(other), "spring": apptest.IDIn(org.campaign), "Ann": org.contacts["ann"], "Bob": org.contacts["bob"], "ann": org.ids["ann"]}
	for body, want := range map[string]string{
		``:                       "cid bob ann",
		`{"sort": "started_at"}`: "ann bob cid",
		`{"sort": "-status"}`:    "bob cid ann",
		`{"page_size": 2}`:       "cid bob",
		`{"page_size": 2, "page": 2, "sort": "started_at"}`:                                                "cid",
		`{"page_size": 2, "page": 3}`:                                                                      "",
		`{"search": "printers"}`:                                                                           "",
		`{"filters": [{"field": "status", "condition": "is", "value": "stopped"}]}`:                        "bob",
		`{"filters": [{"field": "reason", "condition": "is", "value": "manual"}]}`:                         "bob",
		`{"filters": [{"field": "reason", "condition": "is_empty"}], "sort": "started_at"}`:                "ann cid",
		`{"filters": [{"field": "id", "condition": "is", "value": "{ann}"}]}`:                              "ann",
		`{"filters": [{"field": "contact_id", "condition": "is", "value": "{Bob}"}]}`:                      "bob",
		`{"filters": [{"field": "contact_id", "condition": "is_not", "value": "{Bob}"}]}`:                  "cid ann",
		`{"filters": [{"field": "started_at", "condition": "is_after", "value": "2026-03-02T09:00:30Z"}]}`: "cid bob",
		`{"filters": [{"field": "next_due_at", "condition": "is_before", "value": "2026-03-04"}]}`:         "cid ann",
		`{"filters": [{"field": "next_due_at", "condition": "is_empty"}]}`:                                 "bob",
		`{"filters": [{"field": "current_step_index", "condition": "greater_than", "value": 0}]}`:          "cid bob ann",
		`{"filters": [{"field": "campaign_id", "condition": "is", "value": "{other}"}]}`:                   "",
		`{"filters": [{"field": "campaign_id", "condition": "is", "value": "{spring}"}]}`:                  "cid bob ann",
		`{"filters": {"operator": "or", "filters": [{"field": "campaign_id", "condition": "is", "value": "{other}"}, {"field": "contact_id", "condition": "is", "value": "{Ann}"}]}}`: "ann",
	} {
		t.Run(body, func(t *testing.T) {
			if got := apptest.NamesOf(org.ids, org.Read.In(t).Post(path, apptest.WithIDs(body, names)).Is(200).Column("id")); got != want {
				t.Errorf("%s lists %q, want %q", body, got, want)
			}
		})
	}
	if res := org.Read.Post(other+"/sequences/list", nil).Is(200); res.Int("pagination.total_count") != 1 || res.Text("data.0.contact_id") != org.contacts["ann"] {
		t.Errorf("unexpected sequences of the other campaign: %s", res.Body)
	}
	org.Read.Post(path, `{"sort": "history"}`).Fails(422, "invalid_sort", "history")

	// Not of other organizations, and not of unknown campaigns.
	stranger := app.Org("Umbrella")
	stranger.Read.Post(path, nil).Fails(404, "not_found", "Resource not found")
	org.Read.Post("/v1/campaigns/"+apptest.NobodyID+"/sequences/list", nil).Fails(404, "not_found", "")
	org.Read.Post("/v1/campaigns/"+org.ids["ann"]+"/sequences/list", nil).Fails(404, "not_found", "")
	apptest.CheckAudiences(t, app, org.Org)
}

// TestSequencesStay checks that sequences and messages can be read after their campaign and contact
// were deleted.
func TestSequencesStay(t *testing.T) {
	app := apptest.New(t)
	org := newOutreached(app, "Acme")
	empty := org.run("Empty", helloAndCall)
	path := org.campaign + "/sequences/list"
	org.Write.Delete("/v1/contacts/" + org.contacts["ann"]).Is(204)
	for _, campaign := range []string{empty, org.campaign} {
		org.Read.Post(campaign+"/sequences/list", nil).Is(200)
		org.Write.Patch(campaign, `{"status": "archived"}`).Is(200)
		org.Write.Delete(campaign).Is(204)
		org.Read.Get(campaign).Fails(404, "not_found", "")
	}
	org.Read.Post(empty+"/sequences/list", nil).Fails(404, "not_found", "") // it never had a sequence
	for round := range 2 {
		list := org.Read.Post(path, `{"sort": "started_at"}`).Is(200)
		if got := list.Column("reason"); !slices.Equal(got, []string{"contact_deleted", "campaign_archived", "campaign_archived"}) || list.Text("data.0.contact_id") != org.contacts["ann"] {
			t.Errorf("round %d: unexpected sequences %s", round, list.Body)
		}
		sent := org.Read.Post("/v1/outbox/list", `{"sort": "to"}`).Is(200)
		if got := sent.Column("to"); !slices.Equal(got, []string{"ann@initech.example", "bob@initech.example", "cid@initech.example"}) {
			t.Errorf("round %d: unexpected outbox %s", round, sent.Body)
		}
		app.Restart()
	}
	stranger := app.Org("Umbrella")
	stranger.Read.Post(path, nil).Fails(404, "not_found", "")
	org.stop("bob", "manual").Fails(409, "invalid_transition", "already stopped")
	apptest.CheckAudiences(t, app, org.Org)
}

func TestOutboxList(t *testing.T) {
	app := apptest.New(t)
	org := newOutreached(app, "Acme")
	const path = "/v1/outbox/list"
	org.Read.Post(path, `{"sort": "created_at", "page_size": 1}`).Is(200, fmt.Sprintf(`{"data": [{"id": "<id>", "campaign_id": %q, "sequence_id": %q, "contact_id": %q, "contact_deleted": false, "step_index": 0,
		"from": "ada@acme.example", "to": "ann@initech.example", "subject": "Hello ann", "body": %q, "status": "captured", "error": null, "created_at": "2026-03-02T09:00:00.000Z",
		"headers": {"From": "Ada Marsh <ada@acme.example>", "To": "ann <ann@initech.example>", "Subject": "Hello ann", "Date": "Mon, 02 Mar 2026 09:00:00 +0000", "Message-ID": "<any>",
			"MIME-Version": "1.0", "Content-Type": "text/plain; charset=utf-8", "Content-Transfer-Encoding": "quoted-printable",
			"List-Unsubscribe": %q, "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}}],
		"pagination": {"page": 1, "page_size": 1, "total_count": 3, "total_pages": 3}, "meta": {"timestamp": "<time>"}}`, apptest.IDIn(org.campaign), org.ids["ann"], org.contacts["ann"],
		"About printers"+app.Footer("Acme"), "<"+app.URL+"/u/[hidden]>"))
	org.run("Summer", `[{"index": 0, "type": "auto_email", "hour": 9, "subject": "Toner", "message": "Is running out"}]`, org.contacts["bob"])
	names := map[string]string{"spring": apptest.IDIn(org.campaign), "ann": org.ids["ann"], "Cid": org.contacts["cid"]}
	for body, want := range map[string]string{
		``:                               "Toner, Hello cid, Hello bob, Hello ann",
		`{"sort": "to", "page_size": 2}`: "Hello ann, Hello bob",
		`{"sort": "-subject"}`:           "Toner, Hello cid, Hello bob, Hello ann",
		`{"page_size": 3, "page": 2}`:    "Hello ann",
		`{"page_size": 3, "page": 3}`:    "",
		`{"search": "printers"}`:         "Hello cid, Hello bob, Hello ann",
		`{"search": "toner"}`:            "Toner",
		`{"search": "bob@initech", "sort": "subject"}`:                                                                  "Hello bob, Toner",
		`{"filters": [{"field": "campaign_id", "condition": "is_not", "value": "{spring}"}]}`:                           "Toner",
		`{"filters": [{"field": "sequence_id", "condition": "is", "value": "{ann}"}]}`:                                  "Hello ann",
		`{"filters": [{"field": "contact_id", "condition": "is", "value": "{Cid}"}]}`:                                   "Hello cid",
		`{"filters": [{"field": "to", "condition": "is", "value": "ann@initech.example"}]}`:                             "Hello ann",
		`{"filters": [{"field": "body", "condition": "contains", "value": "RUNNING"}]}`:                                 "Toner",
		`{"filters": [{"field": "status", "condition": "is", "value": "failed"}]}`:                                      "",
		`{"filters": [{"field": "step_index", "condition": "equals", "value": 1}]}`:                                     "",
		`{"filters": [{"field": "created_at", "condition": "is_before", "value": "2026-03-02T09:01:30Z"}]}`:             "Hello bob, Hello ann",
		`{"filters": [{"field": "error", "condition": "is_not_empty"}]}`:                                                "",
		`{"filters": [{"field": "from", "condition": "contains", "value": "acme"}], "sort": "subject", "page_size": 1}`: "Hello ann",
	} {
		t.Run(body, func(t *testing.T) {
			if got := strings.Join(org.Read.In(t).Post(path, apptest.WithIDs(body, names)).Is(200).Column("subject"), ", "); got != want {
				t.Errorf("%s lists %q, want %q", body, got, want)
			}
		})
	}
	org.Read.Post(path, `{"sort": "body"}`).Fails(422, "invalid_sort", "body")
	org.Read.Post(path, `{"filters": [{"field": "headers", "condition": "is_empty"}]}`).Fails(422, "invalid_filter", "headers")
	if n := app.Org("Umbrella").Read.Post(path, nil).Is(200).Int("pagination.total_count"); n != 0 {
		t.Errorf("another organization sees %d messages", n)
	}
}

func TestStopSequence(t *testing.T) {
	app := apptest.New(t)
	org := newOutreached(app, "Acme")
	rec := apptest.NewReceiver(t)
	rec.Subscribe(org.Org, "sequence.*", "task.*", "message.*")
	names := map[string]string{"ann": org.ids["ann"], "bob": org.ids["bob"], "cid": org.ids["cid"]}

	// Before the call is due, and while it waits to be made.
	for _, c := range []struct{ reason, name, other string }{{"manual", "ann", "replied"}, {"replied", "bob", "manual"}} {
		reason, name := c.reason, c.name
		if reason == "replied" {
			app.Clock.Advance(24 * time.Hour)
			app.Work()
			app.Deliver()
			rec.Take()
		}
		res := org.stop(name, reason).Is(200)
		if res.Text("data.status") != "stopped" || res.Text("data.reason") != reason || res.Value("data.next_due_at") != nil || res.Text("data.history.1.status") != "skipped" ||
			!strings.HasSuffix(res.Text("data.history.1.reason"), "the sequence was stopped: "+reason) || res.Header.Get("ETag") == "" {
			t.Errorf("stopping with reason %s returned %s", reason, res.Body)
		}
		app.Deliver()
		if reason == "manual" {
			rec.Wants(reason, names, "/0 sequence.stopped "+name)
		} else {
			task := res.Text("data.history.1.task_id")
			if got := org.Read.Get("/v1/tasks/" + task).Is(200).Text("data.status"); got != "cancelled" {
				t.Errorf("Task of the stopped sequence = %s", got)
			}
			rec.Wants(reason, map[string]string{"bob": org.ids["bob"], "task": task}, "/0 sequence.stopped bob", "/0 task.updated task")
		}
		dump := org.Dump()
		again := org.stop(name, reason).Is(200)
		if string(apptest.DataOf(again)) != string(apptest.DataOf(res)) || again.Header.Get("ETag") != res.Header.Get("ETag") || org.Dump() != dump {
			t.Errorf("stopping again returned %s", again.Body)
		}
		org.stop(name, c.other).Fails(409, "invalid_transition", "the sequence is already stopped")
	}

	for body, says := range map[string]string{`{}`: "reason: required", `{"reason": "opted_out"}`: "reason: \"opted_out\" is not one of: replied, manual", `{"reason": null}`: "reason"} {
		t.Run(body, func(t *testing.T) {
			org.Write.In(t).Post(org.campaign+"/sequences/"+org.ids["cid"]+"/stop", body).Fails(422, "validation_failed", says)
		})
	}
	other := org.run("Summer", helloAndCall)
	const manual = `{"reason": "manual"}`
	for _, path := range []string{other + "/sequences/" + org.ids["cid"], org.campaign + "/sequences/" + apptest.NobodyID, org.campaign + "/sequences/cid", "/v1/campaigns/" + apptest.NobodyID + "/sequences/" + org.ids["cid"]} {
		org.Write.Post(path+"/stop", manual).Fails(404, "not_found", "")
	}
	app.Org("Umbrella").Write.Post(org.campaign+"/sequences/"+org.ids["cid"]+"/stop", manual).Fails(404, "not_found", "")

	// Completed sequences cannot be stopped, paused ones can.
	done := org.run("Autumn", `[{"index": 0, "type": "auto_email", "hour": 9, "subject": "Hello", "message": "Hello"}]`, org.contacts["ann"])
	id := org.Read.Post(done+"/sequences/list", nil).Is(200).Text("data.0.id")
	org.Write.Post(done+"/sequences/"+id+"/stop", manual).Fails(409, "invalid_transition", "the sequence is already completed")
	org.Write.Patch(org.campaign, `{"status": "paused"}`).Is(200)
	org.stop("cid", "manual").Is(200)
	stats := org.Read.Get(org.campaign + "/stats").Is(200)
	if stats.Int("data.stopped") != 3 || stats.Int("data.stopped_by_reason.manual") != 2 || stats.Int("data.stopped_by_reason.replied") != 1 || stats.Int("data.active") != 0 {
		t.Errorf("the statistics are %s", stats.Body)
	}
	apptest.CheckAudiences(t, app, org.Org)
}
