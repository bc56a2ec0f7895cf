package record_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// TestHistoryValues checks the values before and after each update, in the order in which they were, also of what a
// deletion and a restore take from a record, and after the record itself was deleted.
func TestHistoryValues(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	apptest.NewField(org, "contacts", "score", "number", "")
	tag := apptest.NewTags(org, "contact", "A")["A"]
	account := org.Write.Post("/v1/accounts", `{"name": "Globex"}`).Is(201).ID()
	long := strings.Repeat("All the best from Zürich. ", 400)
	id := org.Write.Post("/v1/contacts", `{"email": "a@x.example", "title": "CEO"}`).Is(201).ID()
	path := "/v1/contacts/" + id
	changes := func(want ...string) {
		t.Helper()
		res := org.Read.Get(path + "/history").Is(200)
		if res.Int("pagination.total_count") != len(want) {
			t.Fatalf("the history is %s", res.Body)
		}
		for i := range want {
			if diff := apptest.Diff(want[i], apptest.JSONAt(t, res, fmt.Sprintf("data.%d.changes", i))); diff != "" {
				t.Errorf("change %d: %s", i, diff)
			}
		}
	}
	org.Write.Patch(path, map[string]any{"title": "CTO", "notes": long, "custom_field_score": 1}).Is(200)
	first := fmt.Sprintf(`{"title": {"from": "CEO", "to": "CTO"}, "notes": {"from": null, "to": %q}, "custom_field_score": {"from": null, "to": 1}}`, long)
	changes(first, `{}`)
	org.Write.Patch(path, fmt.Sprintf(`{"title": null, "notes": "short", "tags": [%q], "account_id": %q}`, tag, account)).Is(200)
	second := fmt.Sprintf(`{"title": {"from": "CTO", "to": null}, "notes": {"from": %q, "to": "short"}, "tags": {"from": [], "to": [%q]}, "account_id": {"from": null, "to": %q}}`, long, tag, account)
	changes(second, first, `{}`)
	org.Write.Delete("/v1/tags/" + tag).Is(204)
	swept := fmt.Sprintf(`{"tags": {"from": [%q], "to": []}}`, tag)
	changes(swept, second, first, `{}`)
	org.Write.Patch(path, `{"title": "CFO"}`).Is(200)
	third := `{"title": {"from": null, "to": "CFO"}}`
	changes(third, swept, second, first, `{}`)

	// In the trash the record keeps its account, which it has no longer when it is restored.
	org.Write.Delete(path).Is(204)
	changes(`{}`, third, swept, second, first, `{}`)
	org.Write.Delete("/v1/accounts/" + account).Is(204)
	org.Write.Post(path+"/restore", nil).Is(200)
	changes(`{}`, `{}`, third, swept, second, first, `{}`)
	app.Restart()
	org.Write.Delete(path + "?permanent=true").Is(204)
	res := org.Read.Get(path + "/history").Is(200)
	// What the last changes made of the fields is not known any more.
	want := fmt.Sprintf(`{"title": {"from": "CTO", "to": null}, "tags": {"from": [], "to": [%q]}, "account_id": {"from": null, "to": %q}}`, tag, account)
	if diff := apptest.Diff(want, apptest.JSONAt(t, res, "data.5.changes")); diff != "" {
		t.Errorf("of the deleted record: %s", diff)
	}
}

// TestHistoryOperation checks that what a bulk operation, an import, a merge or a deletion with a sweep changes has the
// id of the operation.
func TestHistoryOperation(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account := org.Write.Post("/v1/accounts", `{"name": "Globex", "external_id": "g"}`).Is(201).ID()
	a := org.Write.Post("/v1/contacts", map[string]any{"email": "a@x.example", "account_id": account}).Is(201).ID()
	b := org.Write.Post("/v1/contacts", `{"email": "b@x.example", "title": "CTO"}`).Is(201).ID()
	task := org.Write.Post("/v1/tasks", map[string]any{"title": "Call", "contact_id": b}).Is(201).ID()
	app.Clock.Advance(time.Minute)
	check := func(path, id, name string) {
		t.Helper()
		res := org.Read.Get(path + "/history").Is(200)
		if got, _ := res.Value("data.0.operation_id").(string); got != id || res.Text("data.0.operation") != name {
			t.Errorf("%s was changed by %s, want %q %s", path, res.Body, name, id)
		}
	}
	bulk := org.Write.Post("/v1/contacts/bulk", fmt.Sprintf(`{"ids": [%q], "set": {"title": "VP"}}`, a)).Is(202).ID()
	app.Work()
	check("/v1/contacts/"+a, bulk, "bulk_contacts")
	imported := org.Write.Post("/v1/imports", apptest.NewForm("email,title\na@x.example,CFO\n", `{"entity": "contacts"}`)).Is(202).ID()
	app.Work()
	check("/v1/contacts/"+a, imported, "import contacts")
	org.Read.Get("/v1/operations/"+imported).Has(200, `{"data": {"kind": "import", "entity": "contacts", "status": "completed", "matched": 1, "changed": 1, "undone_by": null, "undoable_until": "2026-04-01T09:01:00.000Z"}}`)
	merge := org.Write.Post("/v1/contacts/"+a+"/merge", map[string]any{"ids": []string{b}}).Is(200)
	operationID := merge.Text("meta.operation_id")
	check("/v1/tasks/"+task, operationID, "merge_contacts")
	org.Read.Get("/v1/operations/"+operationID).Has(200, `{"data": {"kind": "merge", "entity": "contacts", "status": "completed", "matched": 2, "changed": 2}}`)
	deleted := org.Write.Post("/v1/accounts/bulk", `{"filters": [], "delete": true}`).Is(202).ID()
	app.Work()
	check("/v1/contacts/"+a, deleted, "bulk_accounts")
	org.Write.Patch("/v1/contacts/"+a, `{"title": "CEO"}`).Is(200)
	check("/v1/contacts/"+a, "", "update_contact")
	if n := org.Read.Post("/v1/operations/list", `{"filters": [{"field": "kind", "condition": "is", "value": "import"}]}`).Is(200).Int("pagination.total_count"); n != 1 {
		t.Errorf("%d imports are operations", n)
	}
}
