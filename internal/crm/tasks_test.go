package crm_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

func TestTask(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account, contact := apptest.Makers["accounts"](org), apptest.Makers["contacts"](org)
	tag := org.Write.Post("/v1/tags", `{"name": "Soon", "color": "red", "object_type": "task"}`).Is(201).ID()

	sparse := `{"data": {"id": "<id>", "created_at": "2026-03-02T09:00:00.000Z", "updated_at": "2026-03-02T09:00:00.000Z", "title": "Call back", "type": "todo",
		"status": "open", "due_at": null, "completed_at": null, "contact_id": null, "account_id": null, "campaign_id": null, "owner_id": null, "notes": null,
		"external_id": null, "tags": []}, "meta": {"timestamp": "<time>"}}`
	org.Write.Post("/v1/tasks", `{"title": "Call back"}`).Is(201, sparse)
	org.Write.Post("/v1/tasks", `{"title": "Call back", "type": null, "status": null, "due_at": null, "contact_id": null, "account_id": null, "campaign_id": null,
		"owner_id": null, "notes": "", "external_id": null, "tags": []}`).Is(201, sparse)

	// Times are stored in UTC and truncated to milliseconds.
	fields := fmt.Sprintf(`"title": "Send a cake", "type": "gift", "status": "cancelled", "contact_id": %q, "account_id": %q, "owner_id": %q, "notes": "Lemon",
		"external_id": "T-1", "tags": [%q]`, contact, account, org.User, tag)
	want := `{"data": {"id": "<id>", "created_at": "<time>", "updated_at": "<time>", "due_at": "2026-03-03T22:30:00.123Z", "completed_at": null, "campaign_id": null, ` +
		fields + `}, "meta": {"timestamp": "<time>"}}`
	id := org.Write.Post("/v1/tasks", `{"due_at": "2026-03-04T00:30:00.1239+02:00", `+fields+`}`).Is(201, want).ID()
	path := "/v1/tasks/" + id
	got := org.Read.Get(path).Is(200, want)
	org.Write.Patch(path, got.Value("data")).Is(200, want)

	app.Clock.Advance(time.Second)
	org.Write.Patch(path, `{"type": "", "status": "", "due_at": "", "account_id": "", "external_id": null, "tags": null}`).Is(200,
		fmt.Sprintf(`{"data": {"id": %q, "created_at": "2026-03-02T09:00:00.000Z", "updated_at": "2026-03-02T09:00:01.000Z", "title": "Send a cake", "type": "todo",
			"status": "open", "due_at": null, "completed_at": null, "contact_id": %q, "account_id": null, "campaign_id": null, "owner_id": %q, "notes": "Lemon",
			"external_id": null, "tags": []}, "meta": {"timestamp": "<time>"}}`, id, contact, org.User))
	for _, typ := range []string{"todo", "email", "call", "linkedin", "gift"} {
		if got := org.Write.Patch(path, map[string]string{"type": typ}).Is(200).Text("data.type"); got != typ {
			t.Errorf("sent %s, stored as %s", typ, got)
		}
	}
	org.Write.Delete(path).Is(204)
	org.Read.Get(path).Fails(404, "not_found", "Resource not found")
}

// TestTaskCompletedAt checks that only the status sets completed_at.
func TestTaskCompletedAt(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	id := org.Write.Post("/v1/tasks", `{"title": "Call back"}`).Is(201).ID()
	path := "/v1/tasks/" + id
	for _, step := range []struct {
		body      string
		completed any
	}{
		{`{"status": "completed"}`, "2026-03-02T09:01:00.000Z"},
		{`{"notes": "Done"}`, "2026-03-02T09:01:00.000Z"},
		{`{"status": "completed", "notes": "Well done"}`, "2026-03-02T09:01:00.000Z"},
		{`{"status": "cancelled"}`, nil},
		{`{"status": "completed"}`, "2026-03-02T09:05:00.000Z"},
		{`{"status": "open"}`, nil},
		{`{"status": "completed"}`, "2026-03-02T09:07:00.000Z"},
		{`{"status": null}`, nil},
		{`{"completed_at": null}`, nil},
		{`{"completed_at": null, "status": "completed"}`, "2026-03-02T09:10:00.000Z"},
		{`{"completed_at": "2026-03-02T10:10:00+01:00"}`, "2026-03-02T09:10:00.000Z"},
	} {
		app.Clock.Advance(time.Minute)
		if got := org.Write.Patch(path, step.body).Is(200).Value("data.completed_at"); got != step.completed {
			t.Errorf("%s: completed_at is %v, want %v", step.body, got, step.completed)
		}
		if got := org.Read.Get(path).Is(200).Value("data.completed_at"); got != step.completed {
			t.Errorf("%s: completed_at is kept as %v, want %v", step.body, got, step.completed)
		}
	}
	for _, body := range []string{`{"completed_at": "2026-03-02T09:11:00Z"}`, `{"completed_at": null}`, `{"status": "open", "completed_at": null}`} {
		t.Run(body, func(t *testing.T) {
			org.Write.In(t).Patch(path, body).Fails(422, "validation_failed", "completed_at: read-only field")
		})
	}
	// A new task may already be completed.
	if got := org.Write.Post("/v1/tasks", `{"title": "Said hello", "status": "completed"}`).Is(201).Text("data.completed_at"); got != "2026-03-02T09:11:00.000Z" {
		t.Error(got)
	}
	org.Write.Post("/v1/tasks", `{"title": "Said hello", "completed_at": "2026-03-02T09:00:00Z"}`).Fails(422, "validation_failed", "completed_at: read-only field")
	for body, want := range map[string]int{
		`{"field": "completed_at", "condition": "is_not_empty"}`:                     2,
		`{"field": "completed_at", "condition": "is", "value": "2026-03-02"}`:        2,
		`{"field": "completed_at", "condition": "is_after", "value": "2026-03-01"}`:  2,
		`{"field": "completed_at", "condition": "is_before", "value": "2026-03-02"}`: 0,
	} {
		t.Run(body, func(t *testing.T) {
			if got := org.Read.In(t).Post("/v1/tasks/list", `{"filters": [`+body+`]}`).Is(200).Int("pagination.total_count"); got != want {
				t.Errorf("%s returns %d, want %d", body, got, want)
			}
		})
	}
}

func TestBadTasks(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	id := apptest.Makers["tasks"](org)
	for _, body := range []string{``, `{}`, `{"title": ""}`, `{"title": null}`} {
		t.Run(body, func(t *testing.T) {
			org.Write.In(t).Post("/v1/tasks", body).Fails(422, "validation_failed", "title: required")
		})
	}
	refused(t, org, "tasks", "", id, []refusal{
		{"title", `null`, "title: required"},
		{"title", `[]`, "title: must be a string"},
		{"title", `"` + strings.Repeat("n", 10_001) + `"`, "title: must be at most 10000 characters"},
		{"type", `"fax"`, "type: \"fax\" is not one of: todo, email, call, linkedin, gift"},
		{"status", `"done"`, "status: \"done\" is not one of: open, completed, cancelled"},
		{"status", `1`, "status: must be a string"},
		{"due_at", `"2026-03-04"`, "due_at: \"2026-03-04\" is not a time such as"},
		{"due_at", `"2026-03-04T09:00:00"`, "due_at: \"2026-03-04T09:00:00\" is not a time such as"},
		{"due_at", `1772442000`, "due_at: must be a time such as"},
		{"due_at", `"9999-12-31T23:59:59-01:00"`, "due_at: must be in the years 0 to 9999 in UTC"},
		{"completed_at", `"2026-03-04T09:00:00Z"`, "completed_at: read-only field"},
		{"contact_id", `"` + apptest.Makers["contacts"](other) + `"`, "contact_id: does not exist"},
		{"account_id", `"` + apptest.Makers["accounts"](other) + `"`, "account_id: does not exist"},
		{"owner_id", `"` + other.User.String() + `"`, "owner_id: does not exist"},
		// No campaign exists yet.
		{"campaign_id", `"0190b2f0-0000-7000-8000-000000000000"`, "campaign_id: does not exist"},
		{"campaign_id", `"` + apptest.Makers["contacts"](org) + `"`, "campaign_id: does not exist"},
		{"campaign_id", `"x"`, "campaign_id: \"x\" is not a UUID"},
		{"notes", `"` + strings.Repeat("n", 100_001) + `"`, "notes: must be at most 100000 characters"},
		{"tags", `["` + apptest.Makers["tags"](org) + `"]`, "tags[0]: the tag is for another object type, account"},
		{"stage", `"won"`, "stage: unknown field"},
	})
	org.Write.Patch("/v1/tasks/"+id, `{"campaign_id": null, "due_at": "0001-01-01T00:00:00Z"}`).Is(200)
}
