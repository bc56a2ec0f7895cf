package erasure_test

import (
	"fmt"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// TestErasures checks that a dry run tells what an erasure does, what it does, and what it leaves.
func TestErasures(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	w := org.Write
	const email = "zeb.quixotrix@globex.example"
	contact := w.Post("/v1/contacts", map[string]any{"email": email, "first_name": "Zebulon", "last_name": "Quixotrix"}).Is(201).ID()
	org.Admin.Post("/v1/fields", `{"entity": "tasks", "key": "mood", "label": "Mood", "data_type": "text"}`).Is(201)
	org.Admin.Post("/v1/fields", `{"entity": "tasks", "key": "room", "label": "Room", "data_type": "text", "personal": false}`).Is(201)
	task := w.Post("/v1/tasks", map[string]any{"title": "Call Zebulon Quixotrix", "contact_id": contact, "custom_field_mood": "glad", "custom_field_room": "7"}).Is(201).ID()
	account := w.Post("/v1/accounts", `{"name": "Globex", "notes": "Mr Quixotrix left; ask ZEB.quixotrix@globex.example"}`).Is(201).ID()
	other := w.Post("/v1/contacts", `{"email": "homer@globex.example", "notes": "Knows Zebulon Quixotrix"}`).Is(201).ID()

	w.Post("/v1/erasures", map[string]any{"email": email, "reason": "x"}).Fails(403, "forbidden", "")
	org.Admin.Post("/v1/erasures", map[string]any{"email": email}).Fails(422, "validation_failed", "reason: required")
	org.Admin.Post("/v1/erasures", `{"email": "Zebulon", "reason": "x"}`).Fails(422, "validation_failed", "email")

	dry := apptest.Erase(org, email, true)
	const counts = "accounts 1, contacts 2, tasks 1"
	if got := erasedBy(dry); dry.Text("data.status") != "completed" || got != counts || dry.Value("data.dry_run") != true {
		t.Errorf("counted %s: %s", got, dry.Body)
	}
	w.Get("/v1/contacts/" + contact).Is(200)
	if n := org.Read.Post("/v1/suppressions/list", nil).Is(200).Int("pagination.total_count"); n != 0 {
		t.Errorf("a dry run left %d suppressions", n)
	}
	done := apptest.Erase(org, email, false)
	if got := erasedBy(done); done.Text("data.status") != "completed" || got != counts || done.Text("data.kind") != "erasure" {
		t.Errorf("erased %s: %s", got, done.Body)
	}
	for _, op := range []*apptest.Response{dry, done} {
		left := fmt.Sprint(op.Value("data.left"))
		for _, want := range []string{"field:title id:" + task, "field:custom_field_mood id:" + task, "field:notes id:" + account} {
			if !strings.Contains(left, want) {
				t.Errorf("left lacks %s: %s", want, op.Body)
			}
		}
		if strings.Contains(left, "custom_field_room") || strings.Contains(strings.ToLower(string(op.Body)), "quixotrix") || op.Text("data.reason") != "Request 17 of [erased]" {
			t.Errorf("%s", op.Body)
		}
	}
	w.Get("/v1/contacts/"+contact).Fails(404, "not_found", "")
	w.Get("/v1/contacts/"+other).Has(200, `{"data": {"notes": "Knows [erased]"}}`)
	w.Get("/v1/tasks/"+task).Has(200, `{"data": {"title": "Call [erased]", "contact_id": null, "custom_field_mood": "glad"}}`)
	w.Get("/v1/accounts/"+account).Has(200, `{"data": {"notes": "Mr Quixotrix left; ask [erased]"}}`)
	w.Post("/v1/contacts", map[string]any{"email": email}).Fails(409, "erased", "the address belongs to a person who was erased")
	w.Patch("/v1/contacts/"+other, map[string]any{"email": email}).Fails(409, "erased", "")
	w.Patch("/v1/preview/contacts/"+other, map[string]any{"email": email}).Fails(409, "erased", "")
	for _, path := range []string{"/cancel", "/undo"} {
		code := map[string]string{"/cancel": "invalid_transition", "/undo": "not_undoable"}[path]
		w.Post("/v1/operations/"+done.ID()+path, nil).Fails(409, code, "")
	}

	// Again, nobody at all, and a user.
	if again := apptest.Erase(org, email, false); again.Text("data.status") != "completed" || erasedBy(again) != "" {
		t.Errorf("%s", again.Body)
	}
	nobody := apptest.Erase(org, "nobody@globex.example", false)
	if nobody.Text("data.status") != "failed" || nobody.Text("data.problems.0.code") != "not_found" || strings.Contains(string(nobody.Body), "nobody") {
		t.Errorf("%s", nobody.Body)
	}
	user := org.Read.Get("/v1/users").Is(200).Text("data.0.email")
	w.Post("/v1/contacts", map[string]any{"email": user}).Is(201)
	if refused := apptest.Erase(org, user, false); refused.Text("data.problems.0.code") != "in_use" || refused.Text("data.status") != "failed" {
		t.Errorf("%s", refused.Body)
	}
}
