package outreach_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/outreach"
	"prospector/internal/record"
	"prospector/store"
)

// tplSteps are the steps of a template for which any steps will do.
const tplSteps = `[{"index": 0, "type": "auto_email", "subject": "Hi", "message": "Hello"}, {"index": 1, "type": "call"}, {"index": 2, "type": "task"}]`

// tplBody returns the body of a template, with the given members instead of the defaults.
func tplBody(members string) map[string]json.RawMessage {
	body := map[string]json.RawMessage{"name": json.RawMessage(`"T"`), "steps": json.RawMessage(tplSteps), "transitions": json.RawMessage(`[]`)}
	var own map[string]json.RawMessage
	if err := json.Unmarshal([]byte(`{`+members+`}`), &own); err != nil {
		panic(members + ": " + err.Error())
	}
	maps.Copy(body, own)
	return body
}

// newTpl creates a template and returns its path.
func newTpl(o *apptest.Org, members string) string {
	return apptest.TemplatesPath + "/" + o.Write.Post(apptest.TemplatesPath, tplBody(members)).Is(201).ID()
}

// tplCampaign creates a campaign of a template and returns its path.
func tplCampaign(o *apptest.Org, template, name string) string {
	audience := o.Write.Post("/v1/audiences", map[string]string{"name": "Audience of " + name}).Is(201).ID()
	return "/v1/campaigns/" + o.Write.Post("/v1/campaigns", map[string]any{"name": name, "template_id": lastOf(template), "audience_ids": []string{audience}}).Is(201).ID()
}

func lastOf(path string) string { return path[strings.LastIndex(path, "/")+1:] }

// tplEvery is a template with every field, type and unit, as it is sent and, with generated ids,
// returned.
const tplEvery = `"name": " Größe & <b> ", "description": "line\nbreak \"quoted\"",
	"steps": [
		{"id": "intro_1", "type": "auto_email", "index": 7, "title": "First", "day": 0, "hour": 23, "subject": "{{ recipient.first_name }}, <hello> & {", "message": "[[block:Intro-1]]\r\n{{sender.first_name}} ", "gift_id": null},
		{"id": "0190B2F0-0000", "type": "manual_email", "index": 3, "title": "T", "day": 365, "hour": 0, "subject": "Again", "message": "[[block:b]] }} ]] [[", "gift_id": "g"},
		{"id": %[1]s, "type": "auto_linkedin_connection", "index": 100000, "title": null, "day": 1, "hour": 1, "subject": null, "message": null, "gift_id": null},
		{"id": "s4", "type": "auto_linkedin_message", "index": 1, "title": null, "day": 2, "hour": 2, "subject": null, "message": "Hi", "gift_id": null},
		{"id": "s5", "type": "call", "index": 0, "title": null, "day": 3, "hour": 3, "subject": null, "message": null, "gift_id": null},
		{"id": %[2]s, "type": "task", "index": 5, "title": null, "day": 4, "hour": 4, "subject": null, "message": null, "gift_id": null},
		{"id": "s7", "type": "gift", "index": 6, "title": null, "day": 5, "hour": 5, "subject": null, "message": null, "gift_id": "mug-7"}],
	"transitions": [
		{"from_step_index": 7, "to_step_index": 3, "transition_type": "PREVIOUS_STEP_SCHEDULED", "pre_check_time_unit": "minutes", "pre_check_delay": 1, "post_check_time_unit": "hours", "post_check_delay": 2, "require_all": true},
		{"from_step_index": 3, "to_step_index": 100000, "transition_type": "PREVIOUS_STEP_COMPLETES", "pre_check_time_unit": "days", "pre_check_delay": 3, "post_check_time_unit": "business_days", "post_check_delay": 1000, "require_all": false},
		{"from_step_index": 7, "to_step_index": 100000, "transition_type": "PREVIOUS_STEP_COMPLETES", "pre_check_time_unit": "business_days", "pre_check_delay": 0, "post_check_time_unit": "minutes", "post_check_delay": 0, "require_all": false},
		{"from_step_index": 100000, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_COMPLETES", "pre_check_time_unit": "hours", "pre_check_delay": 10000, "post_check_time_unit": "days", "post_check_delay": 1, "require_all": false},
		{"from_step_index": 7, "to_step_index": 3, "transition_type": "PREVIOUS_STEP_COMPLETES", "pre_check_time_unit": null, "pre_check_delay": 0, "post_check_time_unit": null, "post_check_delay": 0, "require_all": false}],
	"blocks": {"b": {"name": "Second", "block_type": "MANUAL", "content": null}, "Intro-1": {"name": "Intro", "block_type": "MANUAL", "content": "Dear {{recipient.last_name}}"}}`

func TestTemplate(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	const at = `"created_at": "2026-03-02T09:00:00.000Z", "updated_at": "2026-03-02T09:00:00.000Z"`
	shown := func(members string) string {
		return fmt.Sprintf(`{"data": {"id": "<id>", %s, "kind": "USER_GENERATED", "status": "ACTIVE", "owner_id": %q, "is_default": false, "archived_at": null, %s},
			"meta": {"timestamp": "<time>"}}`, at, org.User, members)
	}
	// Every field is present, with defaults and generated ids.
	sparse := shown(`"name": "T", "description": null, "transitions": [{"from_step_index": 4, "to_step_index": 9, "transition_type": "PREVIOUS_STEP_COMPLETES",
			"pre_check_time_unit": null, "pre_check_delay": 0, "post_check_time_unit": null, "post_check_delay": 0, "require_all": false}],
		"blocks": {"x": {"name": "X", "block_type": "MANUAL", "content": null}},
		"steps": [{"id": "<id>", "type": "auto_email", "index": 4, "title": null, "day": 0, "hour": 0, "subject": null, "message": " m ", "gift_id": null},
			{"id": "<id>", "type": "gift", "index": 9, "title": null, "day": 0, "hour": 0, "subject": null, "message": null, "gift_id": null}]`)
	const short = `"from_step_index": 4, "to_step_index": 9, "transition_type": "PREVIOUS_STEP_COMPLETES"`
	for _, body := range []string{
		`{"name": "T", "steps": [{"type": "auto_email", "index": 4, "message": " m "}, {"type": "gift", "index": 9}], "transitions": [{` + short + `}], "blocks": {"x": {"name": "X"}}}`,
		`{"name": "T", "description": "", "steps": [{"id": "", "type": "auto_email", "index": 4, "title": "", "day": null, "hour": null, "subject": "", "message": " m ", "gift_id": ""}, {"id": null, "type": "gift", "index": 9, "message": null}],
			"transitions": [{` + short + `, "pre_check_time_unit": "", "pre_check_delay": null, "post_check_time_unit": null, "post_check_delay": 0, "require_all": null}], "blocks": {"x": {"name": "X", "block_type": null, "content": ""}}}`,
	} {
		res := org.Write.Post(apptest.TemplatesPath, body).Is(201, sparse)
		if res.Text("data.steps.0.id") == res.Text("data.steps.1.id") || res.Text("data.steps.0.id") == res.ID() {
			t.Errorf("the ids are not distinct: %s", res.Body)
		}
		org.Read.Get(apptest.TemplatesPath+"/"+res.ID()).Is(200, sparse)
	}
	for _, body := range []string{`{"name": "T", "steps": [{"type": "call", "index": 0}]}`, `{"name": "T", "description": null, "transitions": null, "blocks": null, "steps": [{"type": "call", "index": 0}]}`} {
		org.Write.Post(apptest.TemplatesPath, body).Is(201, shown(`"name": "T", "description": null, "transitions": [], "blocks": {},
			"steps": [{"id": "<id>", "type": "call", "index": 0, "title": null, "day": 0, "hour": 0, "subject": null, "message": null, "gift_id": null}]`))
	}
	want := shown(fmt.Sprintf(tplEvery, `"<id>"`, `"<id>"`))
	created := org.Write.Post(apptest.TemplatesPath, `{`+fmt.Sprintf(tplEvery, `null`, `""`)+`}`).Is(201, want)
	path := apptest.TemplatesPath + "/" + created.ID()
	got := org.Read.Get(path).Is(200, want)
	if etag := got.Header.Get("ETag"); etag == "" || etag != created.Header.Get("ETag") || string(apptest.DataOf(got)) != string(apptest.DataOf(created)) {
		t.Errorf("created as %s\nread as %s", created.Body, got.Body)
	}

	// The response of GET can be sent back at any time and changes nothing.
	app.Clock.Advance(time.Second)
	before := org.Dump()
	for _, body := range []any{got.Value("data"), `{}`, `{"name": " Größe & <b> "}`, `{"status": "ACTIVE"}`, `{"kind": "USER_GENERATED", "is_default": false, "archived_at": null, "owner_id": "` + org.User.String() + `"}`} {
		same := org.Write.Patch(path, body).Is(200, want)
		if same.Header.Get("ETag") != got.Header.Get("ETag") || org.Dump() != before {
			t.Errorf("%v changed something: %s", body, same.Body)
		}
	}
	for body, problem := range map[string]string{`{"kind": "SYSTEM"}`: "kind", `{"is_default": true}`: "is_default", `{"archived_at": "2026-03-02T09:00:00Z"}`: "archived_at", `{"owner_id": null}`: "owner_id",
		`{"id": null}`: "id", `{"created_at": "2020-01-01T00:00:00Z"}`: "created_at", `{"template_name": "x"}`: "template_name", `{"add_steps": []}`: "add_steps"} {
		apptest.HasProblems(t, org.Write.Patch(path, body), problem)
	}
	for _, c := range []string{`"kind": "USER_GENERATED"`, `"is_default": false`, `"archived_at": null`, `"owner_id": null`, `"id": null`, `"created_at": null`, `"updated_at": null`, `"status": "ACTIVE"`, `"x": 1`} {
		apptest.HasProblems(t, org.Write.Post(apptest.TemplatesPath, tplBody(c)), strings.Trim(c[:strings.Index(c, ":")], `"`))
	}
	if org.Dump() != before {
		t.Error("a refused request changed something")
	}

	// Absent fields stay unchanged.
	changed := org.Write.Patch(path, `{"description": null}`).Is(200, strings.NewReplacer(`"line\nbreak \"quoted\""`, `null`, `"updated_at": "2026-03-02T09:00:00.000Z"`, `"updated_at": "2026-03-02T09:00:01.000Z"`).Replace(want))
	org.Write.Do(http.MethodPatch, path, `{"name": "N"}`, "If-Match", got.Header.Get("ETag")).Fails(412, "precondition_failed", "the record has version")
	org.Write.Do(http.MethodDelete, path, nil, "If-Match", got.Header.Get("ETag")).Fails(412, "precondition_failed", "the record has version")
	org.Write.Do(http.MethodDelete, path, nil, "If-Match", changed.Header.Get("ETag")).Is(204)
	org.Read.Get(path).Fails(404, "not_found", "Resource not found")
	org.Write.Patch(path, `{"name": "N"}`).Fails(404, "not_found", "Resource not found")
	org.Write.Delete(path).Fails(404, "not_found", "Resource not found")

	// The user who creates a template owns it permanently.
	grace := org.Admin.Post("/v1/users", `{"email": "grace@acme.example"}`).Is(201).ID()
	as := org.Write
	as.Key = org.Admin.Post("/v1/api-keys", map[string]string{"name": "k", "user_id": grace, "access": "write"}).Is(201).Text("data.key")
	hers := as.Post(apptest.TemplatesPath, tplBody(``)).Is(201)
	if hers.Text("data.owner_id") != grace || org.Write.Patch(apptest.TemplatesPath+"/"+hers.ID(), `{"name": "Of Ada's"}`).Is(200).Text("data.owner_id") != grace {
		t.Errorf("%s does not belong to %s", hers.Body, grace)
	}
}

// TestTemplateStatus tries the transition from every status to every status.
func TestTemplateStatus(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	path := newTpl(org, ``)
	statuses := []string{"ACTIVE", "INACTIVE", "ARCHIVED"}
	for _, from := range statuses {
		for _, to := range append(slices.Clone(statuses), "null") {
			app.Clock.Advance(time.Minute)
			before := org.Write.Patch(path, map[string]string{"status": from}).Is(200)
			app.Clock.Advance(time.Minute)
			after := org.Write.Patch(path, `{"status": `+strings.ReplaceAll(`"`+to+`"`, `"null"`, `null`)+`}`).Is(200)
			if to == "null" { // the default
				to = "ACTIVE"
			}
			now := app.Clock.Now().Format("2006-01-02T15:04:05.000Z")
			var archived any
			switch {
			case to == "ARCHIVED" && from == "ARCHIVED":
				archived = before.Text("data.archived_at")
			case to == "ARCHIVED":
				archived = now
			}
			same := after.Text("data.updated_at") == before.Text("data.updated_at") && after.Header.Get("ETag") == before.Header.Get("ETag")
			if after.Text("data.status") != to || after.Value("data.archived_at") != archived || same != (from == to) || !same && after.Text("data.updated_at") != now {
				t.Errorf("unexpected change of status from %s: %s\nto %s: %s", from, before.Body, to, after.Body)
			}
			org.Read.Get(path).Is(200, string(after.Body))
		}
	}
	before := org.Dump()
	for _, status := range []string{`"active"`, `"DELETED"`, `7`, `["ACTIVE"]`} {
		apptest.HasProblems(t, org.Write.Patch(path, `{"name": "N", "status": `+status+`}`), "status")
	}
	if org.Dump() != before {
		t.Error("a refused request changed something")
	}
}

// TestTemplateParts replaces steps, transitions and blocks.
func TestTemplateParts(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	path := newTpl(org, `"steps": [{"id": "a", "index": 0, "type": "auto_email", "message": "[[block:x]] [[block:y]]"}, {"id": "b", "index": 1, "type": "call"}],
		"transitions": [{"from_step_index": 0, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_COMPLETES"}], "blocks": {"x": {"name": "X", "content": "one"}, "y": {"name": "Y"}}`)
	before := org.Dump()
	for _, c := range []struct {
		body  string
		paths []string
	}{
		{`{"steps": [{"index": 0, "type": "call"}, {"index": 1, "type": "call"}]}`, []string{"transitions"}},
		{`{"name": "N", "transitions": []}`, []string{"steps"}},
		{`{"steps": [{"index": 0, "type": "call"}]}`, []string{"transitions"}}, // existing records are not checked against it
		{`{"transitions": [{"from_step_index": 0, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_SCHEDULED"}]}`, []string{"steps"}},
		{`{"steps": [], "transitions": []}`, []string{"steps"}},
		{`{"steps": null, "transitions": []}`, []string{"steps"}},
		{`{"steps": [{"index": 5, "type": "call"}], "transitions": [{"from_step_index": 0, "to_step_index": 5, "transition_type": "PREVIOUS_STEP_SCHEDULED"}]}`, []string{"transitions[0].from_step_index"}},
		// The existing messages refer to both blocks.
		{`{"blocks": {"x": {"name": "X"}}}`, []string{"steps[0].message"}},
		{`{"blocks": {"X": {"name": "X"}, "y": {"name": "Y"}}}`, []string{"steps[0].message"}},
		{`{"blocks": {}, "name": "N"}`, []string{"steps[0].message", "steps[0].message"}},
		{`{"blocks": null}`, []string{"steps[0].message", "steps[0].message"}},
		{`{"blocks": [], "steps": 7, "transitions": {}}`, []string{"blocks", "steps", "transitions"}},
		{`{"blocks": {"x": {"name": "X", "content": "[[block:y]]"}, "y": {"name": "Y"}}}`, []string{"blocks.x.content"}},
		{`{"steps": [{"index": 0, "type": "auto_email", "message": "[[block:z]]"}], "transitions": [], "blocks": {"x": {"name": "X"}}}`, []string{"steps[0].message"}},
	} {
		apptest.HasProblems(t, org.Write.Patch(path, c.body), c.paths...)
	}
	if org.Dump() != before {
		t.Error("a refused request changed something")
	}
	app.Clock.Advance(time.Second)
	res := org.Write.Patch(path, `{"blocks": {"x": {"name": "X2"}, "y": {"name": "Y", "content": "two"}, "z": {"name": "Z"}}}`).Is(200)
	if d := apptest.Diff(`{"x": {"name": "X2", "block_type": "MANUAL", "content": null}, "y": {"name": "Y", "block_type": "MANUAL", "content": "two"}, "z": {"name": "Z", "block_type": "MANUAL", "content": null}}`, string(apptest.Member(res, "blocks"))); d != "" {
		t.Error(d)
	}
	if res.Text("data.updated_at") != "2026-03-02T09:00:01.000Z" || res.Text("data.steps.1.id") != "b" || len(res.Value("data.transitions").([]any)) != 1 {
		t.Errorf("%s", res.Body)
	}
	// Steps are replaced as a whole: missing fields get their defaults, and missing ids are
	// generated.
	res = org.Write.Patch(path, `{"steps": [{"index": 1, "type": "task"}, {"id": "a", "index": 0, "type": "auto_email", "message": "[[block:z]]"}], "transitions": null, "blocks": {"z": {"name": "Z"}}}`).Is(200)
	if d := apptest.Diff(`[{"id": "<id>", "index": 1, "type": "task", "title": null, "day": 0, "hour": 0, "subject": null, "message": null, "gift_id": null},
		{"id": "a", "index": 0, "type": "auto_email", "title": null, "day": 0, "hour": 0, "subject": null, "message": "[[block:z]]", "gift_id": null}]`, string(apptest.Member(res, "steps"))); d != "" {
		t.Error(d)
	}
	if len(res.Value("data.transitions").([]any)) != 0 || len(res.Value("data.blocks").(map[string]any)) != 1 {
		t.Errorf("%s", res.Body)
	}
	org.Read.Get(path).Is(200, string(res.Body))
	// Blocks can be removed once no message refers to them.
	org.Write.Patch(path, `{"steps": [{"index": 0, "type": "call", "message": "m"}], "transitions": [], "blocks": null}`).Is(200)
	if n := len(org.Read.Get(path).Is(200).Value("data.blocks").(map[string]any)); n != 0 {
		t.Errorf("%d blocks are left", n)
	}
}

// TestTemplateName checks that campaigns show the name of their template.
func TestTemplateName(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	path, other := newTpl(org, `"name": "Before"`), newTpl(org, `"name": "Other"`)
	campaigns := []string{tplCampaign(org, path, "A"), tplCampaign(org, other, "B"), tplCampaign(org, path, "C")}
	var before []*apptest.Response
	for _, c := range campaigns {
		before = append(before, org.Read.Get(c).Is(200))
	}
	rec := apptest.NewReceiver(t)
	rec.Subscribe(org, "campaign.*", "sequence_template.*")
	app.Clock.Advance(time.Minute)
	org.Write.Patch(path, `{"name": "After", "status": "INACTIVE"}`).Is(200)
	for i, c := range campaigns {
		after := org.Read.Get(c).Is(200, strings.NewReplacer(`"Before"`, `"After"`, before[i].Text("meta.timestamp"), "<time>").Replace(string(before[i].Body)))
		if after.Text("data.updated_at") != before[i].Text("data.updated_at") || after.Header.Get("ETag") != before[i].Header.Get("ETag") {
			t.Errorf("%s became %s", before[i].Body, after.Body)
		}
	}
	for name, want := range map[string][]string{"Before": {}, "After": {"A", "C"}, "Other": {"B"}} {
		got := org.Read.Post("/v1/campaigns/list", map[string]any{"filters": []any{map[string]string{"field": "template_name", "condition": "is", "value": name}}, "sort": "name"}).Is(200).Column("name")
		if !slices.Equal(got, want) {
			t.Errorf("campaigns with template %s = %s, want %s", name, got, want)
		}
	}
	app.Work()
	app.Deliver()
	rec.WantsExactly("the name", []apptest.Happening{apptest.ReadEvent(org, "sequence_template.updated", path)})
	// An earlier version of a campaign can still be sent back.
	org.Write.Do(http.MethodPatch, campaigns[0], `{"prioritized": true}`, "If-Match", before[0].Header.Get("ETag")).Is(200)
	apptest.CheckConsistency(t, app, org)
}

// TestTemplateInUse deletes templates that campaigns use, and chooses templates that are not
// ACTIVE.
func TestTemplateInUse(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	path := newTpl(org, ``)
	campaign := tplCampaign(org, path, "A")
	audience := org.Read.Get(campaign).Is(200).Text("data.audiences.0.id")
	before := org.Dump()
	inUse := `{"error": {"code": "in_use", "message": "<any>", "details": [{"path": "template_id", "message": "<any>", "id": "` + lastOf(campaign) + `"}]}}`
	org.Write.Delete(path).Is(409, inUse)
	org.Read.Delete(path).Fails(403, "forbidden", "")
	other.Write.Delete(path).Fails(404, "not_found", "Resource not found")
	if org.Dump() != before {
		t.Error("a refused request changed something")
	}
	spare := newTpl(org, ``)
	for _, status := range []string{"INACTIVE", "ARCHIVED"} {
		org.Write.Patch(spare, map[string]string{"status": status}).Is(200)
		before := org.Dump()
		body := map[string]any{"name": "B", "template_id": lastOf(spare), "audience_ids": []string{audience}}
		res := org.Write.Post("/v1/campaigns", body)
		apptest.HasProblems(t, res, "template_id")
		res.Fails(422, "validation_failed", status)
		apptest.HasProblems(t, org.Write.Patch(campaign, map[string]string{"template_id": lastOf(spare)}), "template_id")
		if org.Dump() != before {
			t.Error("a refused request changed something")
		}
	}
	// A campaign keeps its template.
	org.Write.Patch(path, `{"status": "ARCHIVED"}`).Is(200)
	org.Write.Patch(campaign, map[string]string{"name": "A2", "template_id": lastOf(path), "status": "active"}).Is(200)
	org.Write.Delete(path).Is(409, inUse)
	org.Write.Patch(campaign, `{"status": "archived"}`).Is(200)
	org.Write.Delete(path).Is(409, inUse)
	org.Write.Delete(campaign).Is(204)
	org.Write.Delete(path).Is(204)
	// An ACTIVE template can be chosen again.
	org.Write.Patch(spare, `{"status": "ACTIVE"}`).Is(200)
	tplCampaign(org, spare, "B")
	apptest.CheckConsistency(t, app, org)
}

// TestTemplateEvents checks that events contain templates as GET shows them.
func TestTemplateEvents(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := apptest.NewReceiver(t)
	rec.Subscribe(org, "sequence_template.*")
	created := org.Write.Do(http.MethodPost, apptest.TemplatesPath, `{`+fmt.Sprintf(tplEvery, `null`, `null`)+`}`, "Idempotency-Key", "k").Is(201)
	path := apptest.TemplatesPath + "/" + created.ID()
	want := []apptest.Happening{apptest.ReadEvent(org, "sequence_template.created", path)}
	org.Write.Do(http.MethodPost, apptest.TemplatesPath, `{`+fmt.Sprintf(tplEvery, `null`, `null`)+`}`, "Idempotency-Key", "k").Is(201) // the stored response
	for _, body := range []string{`{"status": "ARCHIVED"}`, `{"blocks": {"b": {"name": "B"}, "Intro-1": {"name": "I"}, "c": {"name": "C"}}}`, `{"name": "N"}`, `{"steps": [{"index": 0, "type": "call"}], "transitions": []}`} {
		app.Clock.Advance(time.Second)
		org.Write.Patch(path, body).Is(200)
		want = append(want, apptest.ReadEvent(org, "sequence_template.updated", path))
	}
	org.Write.Patch(path, `{"name": "N"}`).Is(200) // changes nothing, like the next ones
	org.Write.Patch(path, []byte(apptest.DataOf(org.Read.Get(path)))).Is(200)
	org.Write.Patch(path, `{"status": "x"}`).Is(422)
	org.Write.Post(apptest.TemplatesPath, tplBody(`"steps": []`)).Is(422)
	org.Read.Patch(path, `{"name": "M"}`).Is(403)
	org.Write.Delete(path).Is(204)
	want = append(want, apptest.Happening{"sequence_template.deleted", `{"id":"` + created.ID() + `"}`})
	app.Work()
	app.Deliver()
	for _, h := range rec.All() {
		if err := app.CheckEvent(h.Event(t).TriggerKey, []byte(h.Body)); err != nil {
			t.Error(err)
		}
	}
	rec.WantsExactly("templates", want)
}

// TestTemplatesOfMany lists enough templates for an index.
func TestTemplatesOfMany(t *testing.T) {
	if apptest.RaceDetector {
		t.Skip("skipped under the race detector: other tests of large lists cover it")
	}
	app := apptest.New(t)
	org := app.Org("Acme")
	err := app.Store.Update(context.Background(), org.ID, store.Actor{}, func(tx *store.Tx) error {
		for i := range apptest.ManyRecords {
			steps := []map[string]any{{"id": fmt.Sprint("s", i%5), "index": 0, "type": "call"}, {"id": fmt.Sprint("t", i%7), "index": 1, "type": "call"}}
			body := map[string]any{"name": fmt.Sprintf("n%04d", i), "steps": steps, "blocks": map[string]any{fmt.Sprint("b", i%3): map[string]string{"name": "B"}}}
			if _, err := app.Outreach.Templates.Create(tx, record.NewDraft[outreach.Template](apptest.Body(t, body))); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, app.Index.Flush()); err != nil {
		t.Fatal(err)
	}
	changed := 0
	has := func(what string, filters string, fits func(i int) bool) {
		t.Helper()
		want := 0
		for i := changed; i < apptest.ManyRecords; i++ {
			if fits(i) {
				want++
			}
		}
		if got := org.Read.Post(apptest.TemplatesPath+"/list", `{"page_size": 1, "filters": [`+filters+`]}`).Is(200).Int("pagination.total_count"); got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	for range 2 {
		has("all", ``, func(int) bool { return true })
		has("any", `{"field": "steps", "condition": "is", "value": ["s1", "t2"]}`, func(i int) bool { return i%5 == 1 || i%7 == 2 })
		has("all of", `{"field": "steps", "condition": "contains", "value": ["s1", "t2"]}, {"field": "blocks", "condition": "is_not", "value": "b0"}`, func(i int) bool { return i%5 == 1 && i%7 == 2 && i%3 != 0 })
		has("not all of", `{"field": "steps", "condition": "not_contains", "value": ["s1", "t2"]}`, func(i int) bool { return i%5 != 1 || i%7 != 2 })
		has("none", `{"field": "blocks", "condition": "is_empty"}`, func(int) bool { return false })
		if changed > 0 {
			break
		}
		// Delete some, which no list finds any more.
		for _, id := range org.Read.Post(apptest.TemplatesPath+"/list", `{"page_size": 20, "sort": "name"}`).Is(200).Column("id") {
			org.Write.Delete(apptest.TemplatesPath + "/" + id).Is(204)
			changed++
		}
	}
	apptest.CheckConsistency(t, app, org)
}
