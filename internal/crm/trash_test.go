package crm_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/service"
	"prospector/store"
)

// verify fails if a check of the organization finds a problem.
func verify(t *testing.T, app *apptest.App, org *apptest.Org) {
	t.Helper()
	err := app.Store.View(org.ID, func(tx *store.Tx) error {
		return app.Verify(tx, func(_ bool, format string, args ...any) { t.Errorf("check: "+format, args...) })
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTrash(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	w := org.Write
	tag := w.Post("/v1/tags", `{"name": "Champion", "color": "green", "object_type": "contact"}`).Is(201).ID()
	lost := w.Post("/v1/tags", `{"name": "Lost", "color": "red", "object_type": "contact"}`).Is(201).ID()
	org.Admin.Post("/v1/fields", `{"entity": "contacts", "key": "score", "data_type": "number"}`).Is(201)
	tier := org.Admin.Post("/v1/fields", `{"entity": "contacts", "key": "tier", "data_type": "enum", "allowed_values": ["a", "b"]}`).Is(201).ID()
	account := w.Post("/v1/accounts", `{"name": "Globex"}`).Is(201).ID()
	contact := w.Post("/v1/contacts", map[string]any{
		"email": "hank@globex.example", "first_name": "Hank", "external_id": "h-1", "account_id": account,
		"tags": []string{tag, lost}, "custom_field_score": 7, "custom_field_tier": "b",
	}).Is(201).ID()
	audience := w.Post("/v1/audiences", map[string]any{"name": "Globex", "contact_ids": []string{contact}}).Is(201).ID()
	gone := w.Post("/v1/audiences", map[string]any{"name": "Gone", "contact_ids": []string{contact}}).Is(201).ID()
	task := w.Post("/v1/tasks", map[string]any{"title": "Call", "contact_id": contact}).Is(201).ID()
	created := w.Get("/v1/contacts/" + contact).Is(200)

	app.Clock.Advance(time.Minute)
	w.Delete("/v1/contacts/" + contact).Is(204)
	w.Get("/v1/contacts/"+contact).Fails(404, "not_found", "")
	w.Get("/v1/tasks/"+task).Has(200, `{"data": {"contact_id": null}}`)
	w.Get("/v1/audiences/"+audience).Has(200, `{"data": {"contact_count": 0}}`)
	listed := w.Post("/v1/contacts/trash/list", `{"filters": [{"field": "email", "condition": "is", "value": "hank@globex.example"}], "sort": "-deleted_at"}`).Is(200)
	listed.Has(200, fmt.Sprintf(`{"pagination": {"total_count": 1}, "data": [{"id": %q, "first_name": "Hank", "custom_field_score": 7, "deleted_by": %q, "deleted_at": "2026-03-02T09:01:00.000Z"}]}`,
		contact, org.User))
	w.Post("/v1/contacts/trash/list", `{"filters": [{"field": "first_name", "condition": "is", "value": "Bill"}]}`).Has(200, `{"pagination": {"total_count": 0}}`)
	w.Post("/v1/contacts/list", `{}`).Has(200, `{"pagination": {"total_count": 0}}`)
	verify(t, app, org)

	// What the record referred to and had in common with others changes while it is in the trash.
	w.Delete("/v1/tags/" + lost).Is(204)
	w.Delete("/v1/audiences/" + gone).Is(204)
	w.Delete("/v1/accounts/" + account).Is(204)
	org.Admin.Patch("/v1/fields/"+tier, `{"allowed_values": ["a"]}`).Is(200)
	score := org.Admin.Get("/v1/fields?entity=contacts").Is(200).Text("data.0.id")
	org.Admin.Delete("/v1/fields/" + score).Is(204)
	org.Admin.Post("/v1/fields", `{"entity": "contacts", "key": "score", "data_type": "text"}`).Is(201)
	w.Post("/v1/contacts/trash/list", `{"filters": [{"field": "custom_field_score", "condition": "is_not_empty"}]}`).Has(200, `{"pagination": {"total_count": 0}}`)
	other := w.Post("/v1/contacts", `{"email": "bill@globex.example", "external_id": "H-1"}`).Is(201).ID()
	refused := w.Post("/v1/contacts/"+contact+"/restore", `{}`).Fails(409, "external_id_taken", "external_id")
	refused.Has(409, fmt.Sprintf(`{"error": {"details": [{"path": "external_id", "id": %q}]}}`, other))
	w.Delete("/v1/contacts/" + other).Is(204)

	app.Clock.Advance(time.Minute)
	restored := w.Post("/v1/contacts/"+contact+"/restore", `{}`).Is(200)
	restored.Has(200, fmt.Sprintf(`{"data": {"id": %q, "first_name": "Hank", "external_id": "h-1", "account_id": null, "tags": [%q], "created_at": %q}}`,
		contact, tag, created.Text("data.created_at")))
	for _, key := range []string{"custom_field_score", "custom_field_tier"} {
		if restored.Value("data."+key) != nil {
			t.Errorf("the restored contact has %s = %v", key, restored.Value("data."+key))
		}
	}
	w.Get("/v1/audiences/"+audience).Has(200, `{"data": {"contact_count": 1}}`)
	w.Post("/v1/audiences/"+audience+"/contacts/list", `{}`).Has(200, `{"pagination": {"total_count": 1}}`)
	w.Get("/v1/tasks/"+task).Has(200, fmt.Sprintf(`{"data": {"contact_id": %q}}`, contact))
	history := w.Get("/v1/contacts/" + contact + "/history").Is(200)
	if got := strings.Join(history.Column("change"), " ") + " " + strings.Join(history.Column("operation")[:2], " "); got != "created deleted created restore_contact delete_contact" {
		t.Errorf("the history is %q", got)
	}
	w.Post("/v1/contacts/"+contact+"/restore", `{}`).Fails(404, "not_found", "")
	verify(t, app, org)
	app.Restart()
	w.Get("/v1/contacts/"+contact).Has(200, `{"data": {"first_name": "Hank"}}`)
	w.Post("/v1/contacts/trash/list", `{}`).Has(200, fmt.Sprintf(`{"data": [{"id": %q}]}`, other))
}

func TestRestoreRequired(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account := org.Write.Post("/v1/accounts", `{"name": "Globex", "website": "globex.example"}`).Is(201).ID()
	deal := org.Write.Post("/v1/opportunities", map[string]any{"name": "Reactors", "account_id": account}).Is(201).ID()
	org.Write.Delete("/v1/accounts/"+account).Fails(409, "in_use", "opportunity")
	org.Write.Delete("/v1/opportunities/" + deal).Is(204)
	org.Write.Delete("/v1/accounts/" + account).Is(204)
	org.Write.Post("/v1/opportunities/"+deal+"/restore", `{}`).Fails(422, "validation_failed", "account_id: "+account+" does not exist; restore it first")
	org.Write.Post("/v1/accounts/"+account+"/restore", `{}`).Is(200)
	org.Write.Post("/v1/opportunities/"+deal+"/restore", `{}`).Has(200, fmt.Sprintf(`{"data": {"account_id": %q}}`, account))
	verify(t, app, org)
}

func TestPermanentDelete(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	first := org.Write.Post("/v1/tasks", `{"title": "One"}`).Is(201).ID()
	second := org.Write.Post("/v1/tasks", `{"title": "Two"}`).Is(201).ID()
	org.Write.Delete("/v1/tasks/" + first + "?permanent=true").Is(204)
	org.Write.Delete("/v1/tasks/" + second).Is(204)
	org.Write.Post("/v1/tasks/trash/list", `{}`).Has(200, fmt.Sprintf(`{"pagination": {"total_count": 1}, "data": [{"id": %q}]}`, second))
	org.Write.Delete("/v1/tasks/"+second+"?permanent=maybe").Fails(422, "validation_failed", "permanent")
	org.Write.Delete("/v1/tasks/"+second).Fails(404, "not_found", "")
	org.Write.Delete("/v1/tasks/" + second + "?permanent=true").Is(204)
	org.Write.Delete("/v1/tasks/"+second+"?permanent=true").Fails(404, "not_found", "")
	org.Write.Post("/v1/tasks/"+second+"/restore", `{}`).Fails(404, "not_found", "")
	if dump := org.Dump(); strings.Contains(dump, `"title\":\"`) {
		t.Error("the store still has a task")
	}
	verify(t, app, org)
}

func TestTrashExpires(t *testing.T) {
	app := apptest.New(t, func(c *service.Config) { c.Trash.Retention = 48 * time.Hour })
	org := app.Org("Acme")
	var records []map[string]any
	for i := range 600 {
		records = append(records, map[string]any{"title": fmt.Sprint("Task ", i)})
	}
	ids := org.Write.Post("/v1/tasks/batch", map[string]any{"records": records}).Is(200)
	for i := range records {
		org.Write.Delete("/v1/tasks/" + ids.Text(fmt.Sprintf("data.results.%d.id", i))).Is(204)
		if i == 549 {
			app.Clock.Advance(24 * time.Hour)
		}
	}
	app.Work()
	org.Write.Post("/v1/tasks/trash/list", `{}`).Has(200, `{"pagination": {"total_count": 600}}`)
	app.Clock.Advance(24 * time.Hour)
	app.Work()
	org.Write.Post("/v1/tasks/trash/list", `{}`).Has(200, `{"pagination": {"total_count": 50}}`)
	app.Clock.Advance(24 * time.Hour)
	app.Work()
	org.Write.Post("/v1/tasks/trash/list", `{}`).Has(200, `{"pagination": {"total_count": 0}}`)
	verify(t, app, org)

	// The job has ended. The next deletion starts another one.
	task := org.Write.Post("/v1/tasks", `{"title": "One more"}`).Is(201).ID()
	org.Write.Delete("/v1/tasks/" + task).Is(204)
	app.Clock.Advance(49 * time.Hour)
	app.Work()
	org.Write.Post("/v1/tasks/trash/list", `{}`).Has(200, `{"pagination": {"total_count": 0}}`)
}

// TestRestoreSequences checks that a restored contact is shown in its sequences and messages again, and that
// its sequences do not go on.
func TestRestoreSequences(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	w := org.Write
	contact := w.Post("/v1/contacts", `{"email": "hank@globex.example", "first_name": "Hank"}`).Is(201).ID()
	audience := w.Post("/v1/audiences", map[string]any{"name": "All", "contact_ids": []string{contact}}).Is(201).ID()
	template := w.Post("/v1/sequence-templates", `{"name": "Two", "steps": [
		{"index": 0, "type": "auto_email", "hour": 9, "subject": "Hello", "message": "Hello"},
		{"index": 1, "type": "auto_email", "hour": 9, "subject": "Again", "message": "Again"}],
		"transitions": [{"from_step_index": 0, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_COMPLETES", "pre_check_delay": 1, "pre_check_time_unit": "days"}]}`)
	campaign := w.Post("/v1/campaigns", map[string]any{
		"name": "Mail", "status": "active", "template_id": template.Is(201).ID(), "audience_ids": []string{audience}, "owner_id": org.User, "missing_values": "send",
	}).Is(201).ID()
	app.Work()
	w.Delete("/v1/contacts/" + contact).Is(204)
	app.Work()
	w.Post("/v1/campaigns/"+campaign+"/sequences/list", `{}`).Has(200, `{"data": [{"contact_deleted": true}]}`)
	before := w.Post("/v1/outbox/list", `{}`).Has(200, `{"data": [{"contact_deleted": true}]}`).Int("pagination.total_count")
	w.Post("/v1/contacts/"+contact+"/restore", `{}`).Is(200)
	app.Work()
	app.Clock.Advance(30 * 24 * time.Hour)
	app.Work()
	w.Post("/v1/campaigns/"+campaign+"/sequences/list", `{}`).Has(200, `{"pagination": {"total_count": 1}, "data": [{"contact_deleted": false}]}`)
	w.Post("/v1/outbox/list", `{}`).Has(200, fmt.Sprintf(`{"pagination": {"total_count": %d}, "data": [{"contact_deleted": false}]}`, before))
	verify(t, app, org)
}

// TestRestoreDuringSweep checks that a record is not restored while references to it are still being removed from many
// records. Then they come back with it. References that are made after it is restored stay, and go with it when it is
// deleted again.
func TestRestoreDuringSweep(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	w := org.Write
	account := w.Post("/v1/accounts", `{"name": "Globex", "website": "globex.example"}`).Is(201).ID()
	var rows []any
	for i := range 600 {
		rows = append(rows, map[string]any{"first_name": fmt.Sprint("Hank ", i), "email": fmt.Sprintf("hank%d@globex.example", i), "account_id": account})
	}
	w.Post("/v1/contacts/batch", map[string]any{"records": rows}).Is(200)
	contact := w.Post("/v1/contacts/list", `{"page_size": 1, "sort": "-created_at"}`).Is(200).Value("data.0.id").(string)
	ofAccount := fmt.Sprintf(`{"filters": [{"field": "account_id", "condition": "is", "value": %q}]}`, account)
	w.Delete("/v1/accounts/" + account).Is(204)
	restore := func() *apptest.Response {
		return w.Do("POST", "/v1/accounts/"+account+"/restore", `{}`, "Idempotency-Key", "undo")
	}
	refused := restore().Fails(503, "unavailable", "still being removed")
	if after := refused.Header.Get("Retry-After"); after != "1" {
		t.Errorf("Retry-After is %q", after)
	}
	w.Post("/v1/accounts/trash/list", `{}`).Has(200, `{"pagination": {"total_count": 1}}`)
	app.Work()
	w.Delete("/v1/contacts/" + contact).Is(204)
	w.Post("/v1/contacts/"+contact+"/restore", `{}`).Has(200, `{"data": {"account_id": null}}`)
	restore().Is(200)
	w.Patch("/v1/contacts/"+contact, map[string]any{"account_id": account}).Is(200)
	app.Work()
	w.Post("/v1/contacts/list", ofAccount).Has(200, `{"pagination": {"total_count": 600}}`)
	w.Delete("/v1/accounts/" + account).Is(204)
	w.Get("/v1/contacts/"+contact).Has(200, `{"data": {"account_id": null}}`)
	verify(t, app, org)
}

// TestTrashByTagName checks that the trash can be filtered by the name of a tag, like other lists.
func TestTrashByTagName(t *testing.T) {
	app := apptest.New(t)
	w := app.Org("Acme").Write
	w.Post("/v1/tags", `{"name": "Champion", "object_type": "contact", "color": "blue"}`).Is(201)
	for _, tags := range []string{`["Champion"]`, `[]`} {
		id := w.Post("/v1/contacts", `{"first_name": "Hank", "last_name": "Scorpio", "tags": `+tags+`}`).Is(201).ID()
		w.Delete("/v1/contacts/" + id).Is(204)
	}
	w.Post("/v1/contacts/trash/list", `{"filters": [{"field": "tags", "condition": "is", "value": "Champion"}]}`).Has(200, `{"pagination": {"total_count": 1}}`)
}
