package undo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/store"
)

// TestUndoUpdate undoes a bulk change of fields and tags, and what was changed since stays. The undo is undone.
func TestUndoUpdate(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	apptest.NewField(org, "contacts", "tier", "enum", `, "allowed_values": ["gold", "silver"]`)
	tags := apptest.NewTags(org, "contact", "A", "B", "C")
	var ids []string
	for i := range 5 {
		ids = append(ids, org.Write.Post("/v1/contacts", fmt.Sprintf(`{"email": "c%d@x.example", "title": "CEO", "tags": [%q], "custom_field_tier": "gold"}`, i, tags["A"])).Is(201).ID())
	}
	app.Clock.Advance(time.Minute)
	op := apptest.Bulk(org, "contacts", fmt.Sprintf(`{"filters": [], "set": {"title": "CTO", "notes": "x", "custom_field_tier": "silver"}, "add_tags": [%q], "remove_tags": [%q]}`, tags["B"], tags["A"]))
	org.Write.Patch("/v1/contacts/"+ids[1], `{"title": "CFO"}`).Is(200)
	org.Write.Patch("/v1/contacts/"+ids[2], fmt.Sprintf(`{"add_tags": [%q]}`, tags["C"])).Is(200)
	org.Write.Patch("/v1/contacts/"+ids[3], `{"title": "CFO"}`).Is(200)
	org.Write.Patch("/v1/contacts/"+ids[3], `{"title": "CTO"}`).Is(200)
	org.Write.Delete("/v1/contacts/" + ids[4] + "?permanent=true").Is(204)
	first := apptest.Undo(t, app, org, op, apptest.Undone(4, 1, 0, 0, 0, 1))
	contact := func(i int, title, tier string, notes any, names ...string) {
		t.Helper()
		list := []string{}
		for _, n := range names {
			list = append(list, fmt.Sprintf("%q", tags[n]))
		}
		note := "null"
		if notes != nil {
			note = fmt.Sprintf("%q", notes)
		}
		org.Read.Get("/v1/contacts/"+ids[i]).Has(200, fmt.Sprintf(`{"data": {"title": %q, "custom_field_tier": %q, "notes": %s, "tags": [%s]}}`, title, tier, note, strings.Join(list, ", ")))
	}
	contact(0, "CEO", "gold", nil, "A")
	contact(1, "CFO", "gold", nil, "A")
	contact(2, "CEO", "gold", nil, "C", "A")
	contact(3, "CEO", "gold", nil, "A")
	history := org.Read.Get("/v1/contacts/" + ids[0] + "/history").Is(200)
	if history.Text("data.0.operation_id") != first || history.Text("data.0.operation") != "undo_operation" {
		t.Errorf("the history is %s", history.Body)
	}
	org.Write.Post("/v1/operations/"+op+"/undo", nil).Fails(409, "already_undone", "")

	// The undo is undone, and that again.
	second := apptest.Undo(t, app, org, first, apptest.Undone(4))
	contact(0, "CTO", "silver", "x", "B")
	contact(1, "CFO", "silver", "x", "B")
	contact(2, "CTO", "silver", "x", "B", "C")
	apptest.Undo(t, app, org, second, apptest.Undone(4))
	contact(0, "CEO", "gold", nil, "A")
}

// TestUndoOutOfOrder undoes the older of two changes first: it keeps what the newer one changed, which then gives the
// value of the older one.
func TestUndoOutOfOrder(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	id := org.Write.Post("/v1/accounts", `{"name": "Globex", "industry": "A"}`).Is(201).ID()
	older := apptest.Bulk(org, "accounts", `{"filters": [], "set": {"industry": "B"}}`)
	newer := apptest.Bulk(org, "accounts", `{"filters": [], "set": {"industry": "C"}}`)
	apptest.Undo(t, app, org, older, apptest.Undone(0, 1))
	apptest.Undo(t, app, org, newer, apptest.Undone(1))
	org.Read.Get("/v1/accounts/"+id).Has(200, `{"data": {"industry": "B"}}`)
}

// TestUndoNotPossible leaves what is gone: tags, accounts, fields and values that a field no longer allows.
func TestUndoNotPossible(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	tags := apptest.NewTags(org, "contact", "A", "B")
	field := apptest.NewField(org, "contacts", "tier", "enum", `, "allowed_values": ["gold", "silver"]`)
	account := org.Write.Post("/v1/accounts", `{"name": "Globex"}`).Is(201).ID()
	id := org.Write.Post("/v1/contacts", fmt.Sprintf(`{"email": "c@x.example", "title": "CEO", "account_id": %q, "tags": [%q, %q], "custom_field_tier": "gold", "external_id": "x"}`,
		account, tags["A"], tags["B"])).Is(201).ID()
	op := apptest.Bulk(org, "contacts", fmt.Sprintf(`{"filters": [], "set": {"title": "CTO", "account_id": null, "custom_field_tier": null, "external_id": null}, "remove_tags": [%q, %q]}`, tags["A"], tags["B"]))
	org.Write.Delete("/v1/tags/" + tags["A"]).Is(204)
	org.Write.Delete("/v1/accounts/" + account).Is(204)
	org.Admin.Patch("/v1/fields/"+field, `{"allowed_values": ["silver"]}`).Is(200)
	org.Write.Post("/v1/contacts", `{"email": "d@x.example", "external_id": "X"}`).Is(201)
	apptest.Undo(t, app, org, op, apptest.Undone(1, 0, 0, 0, 1))
	org.Read.Get("/v1/contacts/"+id).Has(200, fmt.Sprintf(`{"data": {"title": "CEO", "account_id": null, "tags": [%q], "external_id": null}}`, tags["B"]))
}

// TestUndoDelete brings deleted accounts back, with the references to them, and undoes that.
func TestUndoDelete(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account := org.Write.Post("/v1/accounts", `{"name": "Globex", "external_id": "g"}`).Is(201).ID()
	other := org.Write.Post("/v1/accounts", `{"name": "Initech"}`).Is(201).ID()
	audience := org.Write.Post("/v1/audiences", `{"name": "All"}`).Is(201).ID()
	var contacts []string
	for i := range 3 {
		contacts = append(contacts, org.Write.Post("/v1/contacts", fmt.Sprintf(`{"email": "c%d@x.example", "account_id": %q}`, i, account)).Is(201).ID())
	}
	org.Write.Post("/v1/audiences/"+audience+"/contacts/add", fmt.Sprintf(`{"contact_ids": [%q]}`, contacts[0])).Is(200)
	op := apptest.Bulk(org, "accounts", `{"filters": [], "delete": true}`)
	org.Write.Patch("/v1/contacts/"+contacts[2], `{"title": "CEO"}`).Is(200)
	first := apptest.Undo(t, app, org, op, apptest.Undone(5))
	for _, id := range contacts {
		org.Read.Get("/v1/contacts/"+id).Has(200, fmt.Sprintf(`{"data": {"account_id": %q}}`, account))
	}
	org.Read.Get("/v1/accounts/"+account).Has(200, `{"data": {"external_id": "g"}}`)
	org.Read.Get("/v1/accounts/" + other).Is(200)

	// Undoing the undo deletes the accounts again, but for one that is in use since.
	org.Write.Post("/v1/opportunities", fmt.Sprintf(`{"name": "Deal", "account_id": %q}`, other)).Is(201)
	apptest.Undo(t, app, org, first, apptest.Undone(4, 0, 1))
	org.Read.Get("/v1/accounts/"+account).Fails(404, "not_found", "")
	org.Read.Get("/v1/accounts/" + other).Is(200)

	// Contacts come back into their audiences.
	op = apptest.Bulk(org, "contacts", `{"filters": [], "delete": true}`)
	org.Write.Post("/v1/contacts/"+contacts[1]+"/restore", nil).Is(200)
	apptest.Undo(t, app, org, op, apptest.Undone(2, 1))
	org.Read.Get("/v1/audiences/"+audience).Has(200, `{"data": {"contact_count": 1}}`)
}

// TestUndoImport takes back what an import added and changed, unless it is in use since.
func TestUndoImport(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	old := org.Write.Post("/v1/contacts", `{"email": "old@x.example", "title": "CEO"}`).Is(201).ID()
	op := org.Write.Post("/v1/imports", apptest.NewForm("email,title,company,tags\nold@x.example,CTO,,\na@globex.example,CEO,Globex,New\nb@globex.example,CEO,Globex,New\nc@initech.example,CFO,Initech,New\nold@x.example,CFO,,\n",
		`{"entity": "contacts", "create_missing": ["tags", "accounts"]}`)).Is(202).ID()
	app.Work()
	org.Read.Get("/v1/imports/"+op).Has(200, `{"data": {"status": "completed", "added": 3, "updated": 2}}`)
	list := org.Read.Post("/v1/contacts/list", `{"sort": "email"}`).Is(200)
	ids := list.Column("id")
	org.Write.Post("/v1/tasks", fmt.Sprintf(`{"title": "Call", "contact_id": %q}`, ids[0])).Is(201)
	org.Write.Patch("/v1/contacts/"+ids[1], `{"notes": "nice"}`).Is(200)
	app.Restart()
	// c@ and Initech go, with old@ back; a@ stays with Globex.
	first := apptest.Undo(t, app, org, op, apptest.Undone(4, 0, 2))
	org.Read.Post("/v1/contacts/list", `{"sort": "email"}`).Has(200, `{"data": [{"email": "a@globex.example"}, {"email": "old@x.example", "title": "CEO"}]}`)
	org.Read.Post("/v1/accounts/list", `{}`).Has(200, `{"data": [{"name": "Globex"}]}`)
	org.Read.Post("/v1/tags/list", `{}`).Has(200, `{"data": [{"name": "New"}]}`)
	org.Read.Post("/v1/contacts/trash/list", `{}`).Has(200, `{"pagination": {"total_count": 2}}`)
	apptest.Undo(t, app, org, first, apptest.Undone(4))
	org.Read.Post("/v1/contacts/list", `{"sort": "email"}`).Has(200, `{"data": [{"email": "a@globex.example"}, {"email": "b@globex.example", "notes": "nice"}, {"email": "c@initech.example"}, {"email": "old@x.example", "title": "CFO"}]}`)
	org.Read.Get("/v1/contacts/" + old).Is(200)
}

// TestUndoMerge brings merged contacts back with all that they had, and what was attached to the survivor since stays.
func TestUndoMerge(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	tags := apptest.NewTags(org, "contact", "A", "B", "C")
	x := org.Write.Post("/v1/contacts", fmt.Sprintf(`{"email": "x@x.example", "first_name": "Ada", "tags": [%q]}`, tags["A"])).Is(201).ID()
	y := org.Write.Post("/v1/contacts", fmt.Sprintf(`{"email": "y@x.example", "title": "CEO", "external_id": "why", "tags": [%q], "notes": "kind"}`, tags["B"])).Is(201).ID()
	audience := org.Write.Post("/v1/audiences", fmt.Sprintf(`{"name": "All", "contact_ids": [%q]}`, y)).Is(201).ID()
	task := org.Write.Post("/v1/tasks", fmt.Sprintf(`{"title": "Call", "contact_id": %q}`, y)).Is(201).ID()
	template := org.Write.Post("/v1/sequence-templates", `{"name": "T", "steps": [{"index": 0, "type": "auto_email", "hour": 9, "subject": "Hello", "message": "Hello"}, {"index": 1, "type": "auto_email", "hour": 9, "subject": "", "message": "Again"}],
		"transitions": [{"from_step_index": 0, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_COMPLETES", "post_check_delay": 1, "post_check_time_unit": "hours"}]}`).Is(201).ID()
	campaign := org.Write.Post("/v1/campaigns", fmt.Sprintf(`{"name": "C", "status": "active", "template_id": %q, "audience_ids": [%q], "owner_id": %q}`, template, audience, org.User)).Is(201).ID()
	app.Work()
	before := org.Read.Post("/v1/sequences/list", `{}`).Is(200)
	merge := org.Write.Post("/v1/contacts/"+x+"/merge", fmt.Sprintf(`{"ids": [%q]}`, y)).Is(200).Text("meta.operation_id")
	app.Work()
	org.Write.Patch("/v1/contacts/"+x, fmt.Sprintf(`{"add_tags": [%q]}`, tags["C"])).Is(200)
	later := org.Write.Post("/v1/tasks", fmt.Sprintf(`{"title": "Later", "contact_id": %q}`, x)).Is(201).ID()
	org.Read.Get("/v1/contacts/"+y).Fails(404, "not_found", "")
	first := apptest.Undo(t, app, org, merge, apptest.Undone(3))
	check := func() {
		t.Helper()
		org.Read.Get("/v1/contacts/"+x).Has(200, fmt.Sprintf(`{"data": {"email": "x@x.example", "title": null, "notes": null, "external_id": null, "tags": [%q, %q]}}`, tags["A"], tags["C"]))
		org.Read.Get("/v1/contacts/"+y).Has(200, fmt.Sprintf(`{"data": {"email": "y@x.example", "title": "CEO", "notes": "kind", "external_id": "why", "tags": [%q]}}`, tags["B"]))
		org.Read.Get("/v1/tasks/"+task).Has(200, fmt.Sprintf(`{"data": {"contact_id": %q}}`, y))
		org.Read.Get("/v1/tasks/"+later).Has(200, fmt.Sprintf(`{"data": {"contact_id": %q}}`, x))
		org.Read.Post("/v1/audiences/"+audience+"/contacts/list", `{}`).Has(200, fmt.Sprintf(`{"data": [{"id": %q}]}`, y))
		res := org.Read.Post("/v1/sequences/list", fmt.Sprintf(`{"filters": [{"field": "campaign_id", "condition": "is", "value": %q}]}`, campaign)).Is(200)
		if len(res.Column("id")) != 1 || res.Text("data.0.contact_id") != y || res.Text("data.0.status") != before.Text("data.0.status") {
			t.Errorf("the sequences are %s, and were %s", res.Body, before.Body)
		}
		for _, id := range org.Read.Post("/v1/outbox/list", `{}`).Is(200).Column("contact_id") {
			if id != y {
				t.Errorf("a message belongs to %s", id)
			}
		}
	}
	check()
	second := apptest.Undo(t, app, org, first, apptest.Undone(3))
	org.Read.Get("/v1/contacts/"+y).Fails(404, "not_found", "")
	org.Read.Get("/v1/contacts/"+x).Has(200, `{"data": {"title": "CEO", "external_id": "why"}}`)
	org.Read.Get("/v1/tasks/"+task).Has(200, fmt.Sprintf(`{"data": {"contact_id": %q}}`, x))
	apptest.Undo(t, app, org, second, apptest.Undone(3))
	check()
	err := app.Store.View(org.ID, func(tx *store.Tx) error {
		return app.Verify(tx, func(_ bool, format string, args ...any) { t.Errorf("check: "+format, args...) })
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestUndoMergeConflicts refuses to undo a merge whose record was merged again or deleted, and names what to undo first.
func TestUndoMergeConflicts(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	var ids []string
	for i := range 3 {
		ids = append(ids, org.Write.Post("/v1/accounts", fmt.Sprintf(`{"name": "A%d"}`, i)).Is(201).ID())
	}
	merge := func(into, other string) string {
		return org.Write.Post("/v1/accounts/"+into+"/merge", fmt.Sprintf(`{"ids": [%q]}`, other)).Is(200).Text("meta.operation_id")
	}
	first := merge(ids[1], ids[2])
	second := merge(ids[0], ids[1])
	res := org.Write.Post("/v1/operations/"+first+"/undo", nil).Fails(409, "undo_conflict", "")
	if got := res.Text("error.details.0.id"); got != second {
		t.Errorf("undo %q first, want %q", got, second)
	}
	apptest.Undo(t, app, org, second, apptest.Undone(1))
	apptest.Undo(t, app, org, first, apptest.Undone(1))
	org.Read.Post("/v1/accounts/list", `{}`).Has(200, `{"pagination": {"total_count": 3}}`)
	third := merge(ids[1], ids[2])
	org.Write.Delete("/v1/accounts/" + ids[1]).Is(204)
	org.Write.Post("/v1/operations/"+third+"/undo", nil).Fails(409, "undo_conflict", "")
}

// TestUndoKeepsOptOuts never turns an opt-out off, by an undo, its undo, or that of a merge.
func TestUndoKeepsOptOuts(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	a := org.Write.Post("/v1/contacts", `{"email": "a@x.example"}`).Is(201).ID()
	b := org.Write.Post("/v1/contacts", `{"email": "b@x.example"}`).Is(201).ID()
	out := apptest.Bulk(org, "contacts", `{"filters": [], "set": {"do_not_contact": true, "title": "CEO"}}`)
	apptest.Undo(t, app, org, out, apptest.Undone(2, 0, 0, 2))
	org.Read.Post("/v1/contacts/list", `{"filters": [{"field": "do_not_contact", "condition": "is", "value": true}]}`).Has(200, `{"pagination": {"total_count": 2}}`)
	in := apptest.Bulk(org, "contacts", `{"filters": [], "set": {"do_not_contact": false}}`)
	back := apptest.Undo(t, app, org, in, apptest.Undone(2))
	apptest.Undo(t, app, org, back, apptest.Undone(0, 0, 0, 2))

	// An address that is suppressed since does not go back either.
	org.Write.Patch("/v1/contacts/"+a, `{"do_not_contact": false}`).Is(200)
	op := apptest.Bulk(org, "contacts", fmt.Sprintf(`{"ids": [%q], "set": {"email": "new@x.example"}}`, a))
	org.Admin.Post("/v1/suppressions", `{"email": "new@x.example"}`).Is(201)
	apptest.Undo(t, app, org, op, apptest.Undone(0, 0, 0, 1))

	// After the undo of a merge all have opted out, whoever did.
	c := org.Write.Post("/v1/contacts", `{"email": "c@x.example"}`).Is(201).ID()
	d := org.Write.Post("/v1/contacts", `{"email": "d@x.example"}`).Is(201).ID()
	merge := org.Write.Post("/v1/contacts/"+c+"/merge", fmt.Sprintf(`{"ids": [%q]}`, d)).Is(200).Text("meta.operation_id")
	org.Write.Patch("/v1/contacts/"+c, `{"do_not_contact": true}`).Is(200)
	apptest.Undo(t, app, org, merge, apptest.Undone(2))
	for _, id := range []string{b, c, d} {
		org.Read.Get("/v1/contacts/"+id).Has(200, `{"data": {"do_not_contact": true}}`)
	}
}

// TestUndoRefused refuses to undo what cannot be undone.
func TestUndoRefused(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	id := org.Write.Post("/v1/contacts", `{"email": "a@x.example"}`).Is(201).ID()
	dry := org.Write.Post("/v1/contacts/bulk", `{"filters": [], "delete": true, "dry_run": true}`).Is(202).ID()
	org.Write.Post("/v1/operations/"+dry+"/undo", nil).Fails(409, "not_undoable", "the operation was a dry run, which has changed nothing")
	nothing := apptest.Bulk(org, "contacts", `{"filters": [], "set": {"title": null}}`)
	org.Write.Post("/v1/operations/"+nothing+"/undo", nil).Fails(409, "not_undoable", "")
	running := org.Write.Post("/v1/contacts/bulk", `{"filters": [], "set": {"title": "CEO"}}`).Is(202).ID()
	org.Write.Post("/v1/operations/"+running+"/undo", nil).Fails(409, "operation_running", "")
	app.Work()
	other.Write.Post("/v1/operations/"+running+"/undo", nil).Fails(404, "not_found", "")
	app.Clock.Advance(30*24*time.Hour - time.Minute)
	late := apptest.Bulk(org, "contacts", `{"filters": [], "delete": true}`)
	app.Clock.Advance(time.Minute)
	org.Write.Post("/v1/operations/"+running+"/undo", nil).Fails(409, "not_undoable", "")
	app.Clock.Advance(time.Hour)
	app.Work()
	org.Read.Get("/v1/operations/"+running).Fails(404, "not_found", "")

	// The trash keeps what can be undone, however short its retention is.
	app.Config.Trash.Retention = time.Hour
	app.Restart()
	app.Clock.Advance(29 * 24 * time.Hour)
	app.Work()
	apptest.Undo(t, app, org, late, apptest.Undone(1))
	org.Read.Get("/v1/contacts/" + id).Is(200)
	org.Write.Delete("/v1/contacts/" + id).Is(204)
	final := org.Write.Post("/v1/contacts/trash/bulk", `{"filters": [], "delete": true}`).Is(202).ID()
	app.Work()
	org.Write.Post("/v1/operations/"+final+"/undo", nil).Fails(409, "not_undoable", "the operation has deleted records permanently")
}

// TestTrashBulk restores and deletes many records of the trash at once.
func TestTrashBulk(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	for i := range 60 {
		org.Write.Post("/v1/accounts", fmt.Sprintf(`{"name": "A%d", "industry": %q}`, i, []string{"x", "y"}[i%2])).Is(201)
	}
	apptest.Bulk(org, "accounts", `{"filters": [], "delete": true}`)
	path := "/v1/accounts/trash/bulk"
	for body, want := range map[string]string{
		`{"filters": []}`: "restore", `{"filters": [], "restore": true, "delete": true}`: "restore", `{"restore": true}`: "ids",
		`{"filters": [], "delete": true, "force": true}`: "force",
	} {
		org.Write.Post(path, body).Fails(422, "validation_failed", want)
	}
	org.Write.Post(path, `{"filters": [{"field": "nope", "condition": "is", "value": 1}], "restore": true}`).Fails(422, "invalid_filter", "")
	some := `"filters": [{"field": "industry", "condition": "is", "value": "x"}]`
	org.Write.Post(path, `{`+some+`, "restore": true, "expect": 29}`).Fails(409, "count_changed", "")
	org.Write.Post(path, `{`+some+`, "restore": true, "dry_run": true}`).Has(202, `{"data": {"kind": "restore", "entity": "accounts", "matched": 30, "status": "completed"}}`)
	restored := org.Write.Post(path, `{`+some+`, "restore": true, "expect": 30}`).Is(202).ID()
	app.Work()
	org.Read.Get("/v1/operations/"+restored).Has(200, `{"data": {"changed": 30, "failed": 0}}`)
	org.Read.Post("/v1/accounts/list", `{}`).Has(200, `{"pagination": {"total_count": 30}}`)
	apptest.Undo(t, app, org, restored, apptest.Undone(30))
	org.Read.Post("/v1/accounts/list", `{}`).Has(200, `{"pagination": {"total_count": 0}}`)
	org.Write.Post(path, `{`+some+`, "delete": true}`).Is(202)
	app.Work()
	org.Read.Post("/v1/accounts/trash/list", `{}`).Has(200, `{"pagination": {"total_count": 30}}`)
}
