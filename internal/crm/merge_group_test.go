package crm_test

import (
	"fmt"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// TestMergeDuplicates merges all groups from a score on, undoes that, and undoes the undo. Of each group the contact survives
// that is in a running sequence, or else the one with the most values, or else the oldest.
func TestMergeDuplicates(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	w := org.Write
	account := w.Post("/v1/accounts", `{"name": "Globex"}`).Is(201).ID()
	add := func(body string) string { return w.Post("/v1/contacts", body).Is(201).ID() }
	oldest := add(`{"first_name": "Ann", "last_name": "Lee", "email": "ann@x.example"}`)
	young := add(`{"first_name": "Ann", "last_name": "Lee", "email": "ann@x.example"}`)
	poor := add(`{"first_name": "Bo", "last_name": "Chen", "email": "bo@x.example"}`)
	rich := add(`{"first_name": "Bo", "last_name": "Chen", "email": "bo@x.example", "title": "CTO", "location": "Bern"}`)
	mute := add(`{"first_name": "Carl", "last_name": "Ritter", "email": "carl@x.example", "title": "CEO", "location": "Bonn"}`)
	called := add(`{"first_name": "Carl", "last_name": "Ritter", "email": "carl@x.example"}`)
	vague := add(fmt.Sprintf(`{"first_name": "Bob", "last_name": "Miller", "account_id": %q}`, account))
	add(fmt.Sprintf(`{"first_name": "Robert", "last_name": "Miller", "account_id": %q}`, account)) // with 0.86
	task := w.Post("/v1/tasks", fmt.Sprintf(`{"title": "Call", "contact_id": %q}`, young)).Is(201).ID()
	audience := w.Post("/v1/audiences", map[string]any{"name": "A", "contact_ids": []string{called}}).Is(201).ID()
	template := w.Post("/v1/sequence-templates", `{"name": "Two", "steps": [
		{"index": 0, "type": "auto_email", "hour": 9, "subject": "Hello", "message": "Hello"}, {"index": 1, "type": "auto_email", "hour": 9, "subject": "Again", "message": "Again"}],
		"transitions": [{"from_step_index": 0, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_COMPLETES", "pre_check_delay": 60, "pre_check_time_unit": "days"}]}`).Is(201).ID()
	campaign := w.Post("/v1/campaigns", map[string]any{"name": "C", "status": "active", "template_id": template, "owner_id": org.User, "missing_values": "send", "audience_ids": []string{audience}}).Is(201).ID()
	app.Clock.Advance(time.Minute)
	app.Work()

	org.Read.Post("/v1/contacts/duplicates/merge", `{"min_score": 0.9}`).Fails(403, "forbidden", "")
	w.Post("/v1/contacts/duplicates/merge", `{}`).Fails(422, "validation_failed", "min_score: required")
	w.Post("/v1/contacts/duplicates/merge", `{"min_score": 0.85}`).Fails(422, "validation_failed", "min_score: must be from 0.9 to 1, not 0.85")
	before := org.Dump()
	w.Post("/v1/contacts/duplicates/merge", `{"min_score": 0.9, "expect": 4}`).Fails(409, "count_changed", "there are 3 groups, not 4")
	if org.Dump() != before {
		t.Error("a refused merge changed something")
	}
	w.Post("/v1/contacts/duplicates/merge", `{"min_score": 0.9, "dry_run": true}`).Has(202, `{"data": {"kind": "merge", "entity": "contacts", "status": "completed", "dry_run": true, "matched": 3, "changed": 0}}`)
	op := w.Post("/v1/contacts/duplicates/merge", `{"min_score": 0.9, "expect": 3}`).Is(202).ID()
	app.Work()
	org.Read.Get("/v1/operations/"+op).Has(200, `{"data": {"status": "completed", "matched": 3, "changed": 3, "failed": 0, "progress": 1}}`)
	merged := func() {
		t.Helper()
		for survivor, gone := range map[string]string{oldest: young, rich: poor, called: mute} {
			w.Get("/v1/contacts/" + survivor).Is(200)
			w.Get("/v1/contacts/"+gone).Fails(404, "not_found", survivor)
		}
		w.Get("/v1/contacts/"+called).Has(200, `{"data": {"title": "CEO", "location": "Bonn"}}`)
		w.Get("/v1/tasks/"+task).Has(200, fmt.Sprintf(`{"data": {"contact_id": %q}}`, oldest))
		w.Post("/v1/campaigns/"+campaign+"/sequences/list", `{}`).Has(200, fmt.Sprintf(`{"data": [{"contact_id": %q, "status": "active"}]}`, called))
		w.Get("/v1/contacts/" + vague).Is(200)
		w.Post("/v1/contacts/duplicates", `{"min_score": 0.9}`).Has(200, `{"data": {"groups": [], "total": 0}}`)
	}
	merged()

	undo := func(of string, dry bool, undone, changedSince int) string {
		t.Helper()
		id := w.Post("/v1/operations/"+of+"/undo", map[string]any{"dry_run": dry}).Is(202).ID()
		app.Work()
		org.Read.Get("/v1/operations/"+id).Has(200, fmt.Sprintf(`{"data": {"status": "completed", "undone": %d, "kept": {"changed_since": %d, "gone": 0, "not_possible": 0}}}`, undone, changedSince))
		return id
	}
	undo(op, true, 5, 0) // three come back, and a title and a task go back
	merged()
	back := undo(op, false, 5, 0)
	for _, id := range []string{oldest, young, poor, rich, mute, called} {
		w.Get("/v1/contacts/" + id).Is(200)
	}
	w.Get("/v1/tasks/"+task).Has(200, fmt.Sprintf(`{"data": {"contact_id": %q}}`, young))
	w.Get("/v1/contacts/"+called).Has(200, `{"data": {"title": null, "location": null}}`)
	w.Post("/v1/contacts/duplicates", `{"min_score": 0.9}`).Has(200, `{"data": {"total": 3}}`)

	again := undo(back, false, 5, 0)
	merged()
	// A group whose contact was deleted since stays as it is, and the others go back.
	w.Delete("/v1/contacts/" + rich).Is(204)
	undo(again, false, 4, 1)
	w.Get("/v1/contacts/"+poor).Fails(404, "not_found", "")
	w.Get("/v1/contacts/" + young).Is(200)

	// When the operation cannot be undone any more, nothing is kept of the contacts that it merged.
	app.Clock.Advance(31 * 24 * time.Hour)
	app.Work()
	w.Get("/v1/operations/"+op).Fails(404, "not_found", "")
}
