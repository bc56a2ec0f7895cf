package crm_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

func TestMeeting(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account, contact := apptest.Makers["accounts"](org), apptest.Makers["contacts"](org)
	tag := org.Write.Post("/v1/tags", `{"name": "Remote", "color": "blue", "object_type": "meeting"}`).Is(201).ID()

	sparse := `{"data": {"id": "<id>", "created_at": "2026-03-02T09:00:00.000Z", "updated_at": "2026-03-02T09:00:00.000Z", "title": "Demo",
		"starts_at": "2026-04-01T07:00:00.000Z", "ends_at": null, "status": "scheduled", "location": null, "contact_id": null, "account_id": null,
		"owner_id": null, "notes": null, "external_id": null, "tags": []}, "meta": {"timestamp": "<time>"}}`
	org.Write.Post("/v1/meetings", `{"title": "Demo", "starts_at": "2026-04-01T09:00:00+02:00"}`).Is(201, sparse)
	org.Write.Post("/v1/meetings", `{"title": "Demo", "starts_at": "2026-04-01T07:00:00.0009Z", "ends_at": null, "status": null, "location": "", "contact_id": null,
		"account_id": null, "owner_id": null, "notes": null, "external_id": null, "tags": null}`).Is(201, sparse)

	fields := fmt.Sprintf(`"title": "Lunch", "starts_at": "2026-04-01T12:00:00.000Z", "ends_at": "2026-04-01T13:30:00.500Z", "status": "no_show", "location": "Room 1",
		"contact_id": %q, "account_id": %q, "owner_id": %q, "notes": "Soup", "external_id": "M-1", "tags": [%q]`, contact, account, org.User, tag)
	want := `{"data": {"id": "<id>", "created_at": "<time>", "updated_at": "<time>", ` + fields + `}, "meta": {"timestamp": "<time>"}}`
	id := org.Write.Post("/v1/meetings", "{"+fields+"}").Is(201, want).ID()
	path := "/v1/meetings/" + id
	got := org.Read.Get(path).Is(200, want)
	org.Write.Patch(path, got.Value("data")).Is(200, want)

	app.Clock.Advance(time.Second)
	org.Write.Patch(path, `{"ends_at": "", "status": null, "location": "", "owner_id": "", "notes": ""}`).Is(200,
		fmt.Sprintf(`{"data": {"id": %q, "created_at": "2026-03-02T09:00:00.000Z", "updated_at": "2026-03-02T09:00:01.000Z", "title": "Lunch",
			"starts_at": "2026-04-01T12:00:00.000Z", "ends_at": null, "status": "scheduled", "location": null, "contact_id": %q, "account_id": %q,
			"owner_id": null, "notes": null, "external_id": "M-1", "tags": [%q]}, "meta": {"timestamp": "<time>"}}`, id, contact, account, tag))
	for _, status := range []string{"scheduled", "completed", "cancelled", "no_show"} {
		if got := org.Write.Patch(path, map[string]string{"status": status}).Is(200).Text("data.status"); got != status {
			t.Errorf("sent %s, stored as %s", status, got)
		}
	}
	org.Write.Delete(path).Is(204)
	org.Read.Get(path).Fails(404, "not_found", "Resource not found")
}

func TestBadMeetings(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	id := apptest.Makers["meetings"](org)
	org.Write.Post("/v1/meetings", `{}`).Is(422, `{"error": {"code": "validation_failed", "message": "title: required", "details": [
		{"path": "title", "message": "required"}, {"path": "starts_at", "message": "required"}]}}`)
	refused(t, org, "meetings", "", id, []refusal{
		{"title", `""`, "title: required"},
		{"starts_at", `null`, "starts_at: required"},
		{"starts_at", `""`, "starts_at: required"},
		{"starts_at", `"2026-04-01"`, "starts_at: \"2026-04-01\" is not a time such as"},
		{"ends_at", `"tomorrow"`, "ends_at: \"tomorrow\" is not a time such as"},
		{"ends_at", `"2026-04-01T08:59:59.999Z"`, "ends_at: must not be before starts_at"},
		{"status", `"held"`, "status: \"held\" is not one of: scheduled, completed, cancelled, no_show"},
		{"location", `{}`, "location: must be a string"},
		{"location", `"` + strings.Repeat("n", 10_001) + `"`, "location: must be at most 10000 characters"},
		{"contact_id", `"` + apptest.Makers["contacts"](other) + `"`, "contact_id: does not exist"},
		{"account_id", `"` + apptest.Makers["accounts"](other) + `"`, "account_id: does not exist"},
		{"owner_id", `"` + other.User.String() + `"`, "owner_id: does not exist"},
		{"notes", `"` + strings.Repeat("n", 100_001) + `"`, "notes: must be at most 100000 characters"},
		{"tags", `["` + apptest.Makers["tags"](org) + `"]`, "tags[0]: the tag is for another object type, account"},
		{"due_at", `"2026-04-01T09:00:00Z"`, "due_at: unknown field"},
	})
}

// TestMeetingTimes checks that a meeting cannot end before it starts, whichever time changes.
func TestMeetingTimes(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	const early = "ends_at: must not be before starts_at"
	org.Write.Post("/v1/meetings", `{"title": "Demo", "starts_at": "2026-04-01T09:00:00Z", "ends_at": "2026-04-01T09:30:00+02:00"}`).Is(422,
		`{"error": {"code": "validation_failed", "message": "ends_at: must not be before starts_at", "details": [{"path": "ends_at", "message": "must not be before starts_at"}]}}`)
	id := org.Write.Post("/v1/meetings", `{"title": "Demo", "starts_at": "2026-04-01T09:00:00Z", "ends_at": "2026-04-01T10:00:00Z"}`).Is(201).ID()
	path := "/v1/meetings/" + id
	before := org.Dump()
	for _, body := range []string{`{"ends_at": "2026-04-01T08:59:59.999Z"}`, `{"starts_at": "2026-04-01T10:00:00.001Z"}`,
		`{"starts_at": "2026-04-01T12:00:00Z", "ends_at": "2026-04-01T11:00:00Z"}`, `{"starts_at": "2026-05-01T00:00:00Z", "title": "Later"}`} {
		org.Write.Patch(path, body).Fails(422, "validation_failed", early)
	}
	// An invalid time is reported only as such.
	org.Write.Patch(path, `{"starts_at": "soon", "ends_at": "2020-01-01T00:00:00Z"}`).Is(422, `{"error": {"code": "validation_failed",
		"message": "<any>", "details": [{"path": "starts_at", "message": "<any>"}]}}`)
	if org.Dump() != before {
		t.Error("a refused request changed something")
	}
	// The end may equal the start, both can change together, and the end is optional.
	for _, body := range []string{`{"starts_at": "2026-04-01T10:00:00Z"}`, `{"starts_at": "2026-05-01T12:00:00Z", "ends_at": "2026-05-01T12:00:00.000Z"}`,
		`{"ends_at": null, "starts_at": "2026-06-01T12:00:00Z"}`, `{"starts_at": "2027-06-01T12:00:00Z"}`} {
		org.Write.Patch(path, body).Is(200)
	}
}
