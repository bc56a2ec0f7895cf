package crm_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/store"
)

// checked fails if a check of the organization finds a problem.
func checked(t *testing.T, app *apptest.App, org *apptest.Org) {
	t.Helper()
	err := app.Store.View(org.ID, func(tx *store.Tx) error {
		return app.Verify(tx, func(_ bool, format string, args ...any) { t.Errorf("check: "+format, args...) })
	})
	if err != nil {
		t.Fatal(err)
	}
}

// contactsWith creates n contacts with more fields.
func contactsWith(org *apptest.Org, n int, more map[string]any) (ids []string) {
	for from := 0; from < n; from += 500 {
		var rows []any
		for i := from; i < min(n, from+500); i++ {
			row := map[string]any{"first_name": fmt.Sprint("Hank ", i), "email": fmt.Sprintf("hank%d@globex.example", i)}
			for key, value := range more {
				row[key] = value
			}
			rows = append(rows, row)
		}
		res := org.Write.Post("/v1/contacts/batch", map[string]any{"records": rows}).Is(200)
		for i := range rows {
			ids = append(ids, res.Text(fmt.Sprintf("data.results.%d.id", i)))
		}
	}
	return ids
}

// hasEntries reports whether the store has something in a bucket of the organization.
func hasEntries(org *apptest.Org, bucket string) bool {
	_, after, _ := strings.Cut(org.Dump(), "\n"+bucket+" (")
	_, entries, _ := strings.Cut(after, "\n")
	return strings.HasPrefix(entries, "  ")
}

func total(org *apptest.Org, filters string) int {
	return org.Read.Post("/v1/contacts/list", `{"page_size": 1, "filters": `+filters+`}`).Is(200).Int("pagination.total_count")
}

// TestRestoreTag deletes a tag of many records and restores it with them. What was changed meanwhile stays.
func TestRestoreTag(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	tags := apptest.NewTags(org, "contact", "Customer", "Other")
	ids := contactsWith(org, 320, map[string]any{"tags": []string{tags["Customer"]}})
	at := "/v1/tags/" + tags["Customer"]
	with := fmt.Sprintf(`[{"field": "tags", "condition": "is", "value": %q}]`, tags["Customer"])
	org.Write.Delete(at).Is(204)
	org.Read.Get(at).Fails(404, "not_found", "")
	org.Read.Post("/v1/tags/trash/list", `{"filters": [{"field": "name", "condition": "is", "value": "Customer"}]}`).
		Has(200, fmt.Sprintf(`{"data": [{"id": %q, "name": "Customer", "deleted_by": %q}]}`, tags["Customer"], org.User))
	org.Write.Post(at+"/restore", `{}`).Fails(503, "unavailable", "still being removed")
	app.Work()
	org.Write.Patch("/v1/contacts/"+ids[0], map[string]any{"tags": []string{tags["Other"]}}).Is(200)
	org.Write.Delete("/v1/contacts/" + ids[1] + "?permanent=true").Is(204)
	org.Write.Post("/v1/tags/trash/list", `{}`).Has(200, `{"pagination": {"total_count": 1}}`)

	org.Write.Post(at+"/restore", `{}`).Has(200, fmt.Sprintf(`{"data": {"id": %q, "name": "Customer", "color": "red"}}`, tags["Customer"]))
	app.Work()
	if n := total(org, with); n != 319 {
		t.Errorf("%d contacts have the restored tag", n)
	}
	org.Read.Get("/v1/contacts/"+ids[0]).Has(200, fmt.Sprintf(`{"data": {"tags": [%q, %q]}}`, tags["Other"], tags["Customer"]))
	operations := org.Read.Post("/v1/operations/list", `{"sort": "created_at"}`).Is(200)
	operations.Has(200, fmt.Sprintf(`{"data": [{"kind": "delete", "entity": "tags", "status": "completed", "changed": 1, "undone_by": %q},
		{"kind": "undo", "entity": "tags", "status": "completed", "undone": 320, "kept": {"gone": 1}}]}`, operations.Text("data.1.id")))
	history := org.Read.Get("/v1/contacts/" + ids[5] + "/history").Is(200)
	if got := strings.Join(history.Column("operation"), " "); got != "restore_tag delete_tag batch_contacts" {
		t.Errorf("the history is %s", got)
	}
	history.Has(200, fmt.Sprintf(`{"data": [{"operation_id": %q}, {"operation_id": %q}, {"operation_id": null}]}`,
		operations.Text("data.1.id"), operations.Text("data.0.id")))
	checked(t, app, org)

	// The restoration is undone, and that too.
	again := apptest.Undo(t, app, org, operations.Text("data.1.id"), apptest.Undone(320, 0, 0, 0, 0, 0))
	org.Read.Get(at).Fails(404, "not_found", "")
	if n := total(org, with); n != 0 {
		t.Errorf("%d contacts have the deleted tag", n)
	}
	apptest.Undo(t, app, org, again, apptest.Undone(320))
	if n := total(org, with); n != 319 {
		t.Errorf("%d contacts have the tag that was restored again", n)
	}
	checked(t, app, org)
}

// TestRestoreAtOnce checks that the answer to the restoration of a record with few references is complete, that a
// deletion without any is no operation, and that a deletion can be undone as an operation.
func TestRestoreAtOnce(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	tags := apptest.NewTags(org, "contact", "Customer", "Unused")
	account := org.Write.Post("/v1/accounts", `{"name": "Globex"}`).Is(201).ID()
	ids := contactsWith(org, 3, map[string]any{"tags": []string{tags["Customer"]}, "account_id": account})
	org.Write.Delete("/v1/tags/" + tags["Unused"]).Is(204)
	org.Write.Delete("/v1/tags/" + tags["Customer"]).Is(204)
	org.Write.Delete("/v1/accounts/" + account).Is(204)
	list := org.Read.Post("/v1/operations/list", `{"sort": "created_at"}`).Has(200, `{"pagination": {"total_count": 2}, "data": [{"entity": "tags"}, {"entity": "accounts"}]}`)
	org.Write.Post("/v1/tags/"+tags["Unused"]+"/restore", `{}`).Is(200)
	org.Write.Post("/v1/tags/"+tags["Customer"]+"/restore", `{}`).Is(200)
	org.Write.Post("/v1/accounts/"+account+"/restore", `{}`).Is(200)
	for _, id := range ids {
		org.Read.Get("/v1/contacts/"+id).Has(200, fmt.Sprintf(`{"data": {"tags": [%q], "account_id": %q}}`, tags["Customer"], account))
	}
	org.Write.Post("/v1/operations/"+list.Text("data.0.id")+"/undo", nil).Fails(409, "already_undone", "")

	org.Write.Delete("/v1/tags/" + tags["Customer"]).Is(204)
	list = org.Read.Post("/v1/operations/list", `{"page_size": 1}`).Has(200, `{"data": [{"kind": "delete", "entity": "tags"}]}`)
	apptest.Undo(t, app, org, list.Text("data.0.id"), apptest.Undone(4))
	org.Read.Get("/v1/contacts/"+ids[2]).Has(200, fmt.Sprintf(`{"data": {"tags": [%q]}}`, tags["Customer"]))

	// A restoration of many does the same, and undoing that deletes the tag again.
	org.Write.Delete("/v1/tags/" + tags["Customer"]).Is(204)
	many := org.Write.Post("/v1/tags/trash/bulk", `{"filters": [], "restore": true}`).Is(202).ID()
	app.Work()
	org.Read.Get("/v1/contacts/"+ids[2]).Has(200, fmt.Sprintf(`{"data": {"tags": [%q]}}`, tags["Customer"]))
	apptest.Undo(t, app, org, many, apptest.Undone(1))
	org.Read.Get("/v1/contacts/"+ids[2]).Has(200, `{"data": {"tags": []}}`)
	checked(t, app, org)
}

// TestRestoreNameTaken checks that nothing is restored while another has its name.
func TestRestoreNameTaken(t *testing.T) {
	org := apptest.New(t).Org("Acme")
	for entity, tt := range map[string]struct{ body, code, field string }{
		"tags":      {`{"name": "A", "color": "red", "object_type": "contact"}`, "tag_name_taken", "name"},
		"audiences": {`{"name": "A"}`, "audience_name_taken", "name"},
		"fields":    {`{"entity": "contacts", "key": "a", "data_type": "text"}`, "field_key_taken", "key"},
	} {
		at := "/v1/" + entity
		id := org.Admin.Post(at, tt.body).Is(201).ID()
		org.Admin.Delete(at + "/" + id).Is(204)
		other := org.Admin.Post(at, tt.body).Is(201).ID()
		org.Admin.Post(at+"/"+id+"/restore", `{}`).Fails(409, tt.code, tt.field).
			Has(409, fmt.Sprintf(`{"error": {"details": [{"path": %q, "id": %q}]}}`, tt.field, other))
		org.Admin.Delete(at + "/" + other + "?permanent=true").Is(204)
		org.Admin.Post(at+"/"+id+"/restore", `{}`).Is(200)
	}
}

// TestRestoreField restores a custom field with its values, also of records that were changed otherwise.
func TestRestoreField(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	field := apptest.NewField(org, "contacts", "tier", "enum", `, "allowed_values": ["gold", "silver"]`)
	ids := contactsWith(org, 320, map[string]any{"custom_field_tier": "gold"})
	org.Admin.Delete("/v1/fields/" + field).Is(204)
	org.Admin.Post("/v1/fields/"+field+"/restore", `{}`).Fails(503, "unavailable", "still being removed")
	app.Work()
	org.Write.Patch("/v1/contacts/"+ids[0], `{"title": "CEO"}`).Is(200)
	org.Write.Post("/v1/fields/"+field+"/restore", `{}`).Fails(403, "forbidden", "")
	at := "/v1/operations/" + org.Read.Post("/v1/operations/list", `{}`).Is(200).Text("data.0.id")
	org.Write.Post(at+"/undo", nil).Fails(403, "forbidden", "requires admin access")
	for _, how := range []string{`{"dry_run": true}`, `{}`} {
		id := org.Admin.Post(at+"/undo", how).Is(202).ID()
		app.Work()
		org.Read.Get("/v1/operations/"+id).Has(200, `{"data": {"status": "completed", `+apptest.Undone(321)+`}}`)
	}
	org.Admin.Delete("/v1/fields/" + field).Is(204)
	app.Work()
	org.Admin.Post("/v1/fields/"+field+"/restore", `{}`).Has(200, `{"data": {"key": "tier", "allowed_values": ["gold", "silver"]}}`)
	app.Work()
	if n := total(org, `[{"field": "custom_field_tier", "condition": "is", "value": "gold"}]`); n != 320 {
		t.Errorf("%d contacts have a value of the restored field", n)
	}
	org.Read.Get("/v1/contacts/"+ids[0]).Has(200, `{"data": {"title": "CEO", "custom_field_tier": "gold"}}`)
	checked(t, app, org)
}

// TestRestoreWritesToNobody restores a tag and a field. With them contacts would match the dynamic audience of a running
// campaign, which is refused or makes the audience static. Nobody joins or is written to, and whoever has opted out stays
// so.
func TestRestoreWritesToNobody(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	tag := apptest.NewTags(org, "contact", "Customer")["Customer"]
	field := apptest.NewField(org, "contacts", "tier", "text", "")
	ids := contactsWith(org, 3, map[string]any{"tags": []string{tag}, "custom_field_tier": "gold"})
	org.Write.Delete("/v1/tags/" + tag).Is(204)
	org.Admin.Delete("/v1/fields/" + field).Is(204)
	audiences := []string{}
	for name, filters := range map[string]string{"tagged": `[{"field": "tags", "condition": "is_not_empty"}]`, "titled": `[{"field": "title", "condition": "is", "value": "CTO"}]`} {
		audiences = append(audiences, org.Write.Post("/v1/audiences", `{"name": "`+name+`", "type": "dynamic", "filters": `+filters+`}`).Is(201).ID())
	}
	campaign := org.Write.Post("/v1/campaigns", map[string]any{"name": "Calls", "status": "active", "owner_id": org.User,
		"template_id": apptest.NewTemplate(org), "audience_ids": audiences}).Is(201).ID()
	app.Work()
	org.Write.Patch("/v1/contacts/"+ids[2], `{"do_not_contact": true}`).Is(200)
	org.Write.Post("/v1/tags/"+tag+"/restore", `{}`).Fails(409, "in_use", `would join the dynamic audience "tagged"`)
	org.Read.Get("/v1/tags/"+tag).Fails(404, "not_found", "")
	deletion := org.Read.Post("/v1/operations/list", `{"filters": [{"field": "entity", "condition": "is", "value": "tags"}]}`).Is(200).Text("data.0.id")
	dry := org.Write.Post("/v1/operations/"+deletion+"/undo", `{"dry_run": true}`).Is(202).ID()
	app.Work()
	org.Read.Get("/v1/operations/"+dry).Has(200, `{"data": {`+apptest.Undone(1, 0, 0, 0, 3)+`}}`)
	org.Write.Post("/v1/tags/"+tag+"/restore", `{"force": true}`).Is(200)
	org.Admin.Post("/v1/fields/"+field+"/restore", `{}`).Is(200)
	app.Work()
	app.Clock.Advance(7 * 24 * time.Hour)
	app.Work()
	org.Read.Post("/v1/audiences/list", `{"filters": [{"field": "name", "condition": "is", "value": "tagged"}]}`).Has(200, `{"data": [{"type": "static", "contact_count": 0}]}`)
	org.Read.Post("/v1/campaigns/"+campaign+"/sequences/list", `{}`).Has(200, `{"pagination": {"total_count": 0}}`)
	org.Read.Post("/v1/tasks/list", `{}`).Has(200, `{"pagination": {"total_count": 0}}`)
	org.Read.Get("/v1/contacts/"+ids[0]).Has(200, fmt.Sprintf(`{"data": {"tags": [%q], "custom_field_tier": "gold"}}`, tag))
	org.Read.Get("/v1/contacts/"+ids[2]).Has(200, `{"data": {"do_not_contact": true}}`)

	// A tag that an audience depends on is still deleted only with force, which does not come back.
	org.Write.Delete("/v1/tags/" + tag).Is(204)
	org.Write.Post("/v1/tags/"+tag+"/restore", `{}`).Is(200)
	for name, filter := range map[string]string{"empty": `{"field": "tags", "condition": "is_empty"}`, "not": fmt.Sprintf(`{"field": "tags", "condition": "is_not", "value": %q}`, tag)} {
		at := "/v1/audiences/" + org.Write.Post("/v1/audiences", `{"name": "`+name+`", "type": "dynamic", "filters": [`+filter+`]}`).Is(201).ID()
		org.Write.Delete("/v1/tags/"+tag).Fails(409, "in_use", name)
		org.Write.Delete("/v1/tags/" + tag + "?force=true").Is(204)
		org.Write.Post("/v1/tags/"+tag+"/restore", `{}`).Is(200)
		app.Work()
		org.Read.Get(at).Has(200, `{"data": {"type": "static", "contact_count": 0}}`)
		org.Read.Get("/v1/contacts/"+ids[0]).Has(200, fmt.Sprintf(`{"data": {"tags": [%q]}}`, tag))
	}
	checked(t, app, org)
}

// TestAudienceTrash restores an audience with its members. Contacts that were deleted, merged or restored meanwhile have
// left or joined it.
func TestAudienceTrash(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	w := org.Write
	ids := contactsWith(org, 1003, nil)
	audience := w.Post("/v1/audiences", map[string]any{"name": "All", "contact_ids": ids[:1002]}).Is(201).ID()
	at := "/v1/audiences/" + audience
	w.Delete("/v1/contacts/" + ids[0]).Is(204)
	w.Delete(at).Is(204)
	w.Post(at+"/contacts/list", `{}`).Fails(404, "not_found", "")
	w.Post(at+"/contacts/add", map[string]any{"contact_ids": ids[:1]}).Fails(404, "not_found", "")
	org.Read.Get("/v1/audiences/"+audience+"/uses").Fails(404, "not_found", "")
	w.Delete("/v1/contacts/" + ids[1]).Is(204)                                                   // leaves
	w.Post("/v1/contacts/"+ids[0]+"/restore", `{}`).Is(200)                                      // joins again
	w.Delete("/v1/contacts/" + ids[2]).Is(204)                                                   // leaves,
	w.Post("/v1/contacts/"+ids[2]+"/restore", `{}`).Is(200)                                      // and joins again
	merge := w.Post("/v1/contacts/"+ids[1002]+"/merge", map[string]any{"ids": ids[3:4]}).Is(200) // takes its place
	w.Post(at+"/restore", `{}`).Has(200, `{"data": {"name": "All", "type": "static", "contact_count": 1001}}`)
	w.Post(at+"/contacts/list", `{"page_size": 1}`).Has(200, `{"pagination": {"total_count": 1001}}`)
	checked(t, app, org)

	// The undo of the merge while the audience is in the trash.
	w.Delete(at).Is(204)
	w.Post("/v1/operations/"+merge.Text("meta.operation_id")+"/undo", nil).Is(202)
	app.Work()
	w.Post(at+"/restore", `{}`).Has(200, `{"data": {"contact_count": 1001}}`)
	w.Post("/v1/contacts/"+ids[1]+"/restore", `{}`).Is(200)
	w.Get(at).Has(200, `{"data": {"contact_count": 1002}}`)
	w.Post(at+"/contacts/list", fmt.Sprintf(`{"filters": [{"field": "id", "condition": "is", "value": [%q, %q]}]}`, ids[3], ids[1002])).
		Has(200, fmt.Sprintf(`{"pagination": {"total_count": 1}, "data": [{"id": %q}]}`, ids[3]))
	checked(t, app, org)

	// Its members are dropped when it is gone for good.
	w.Delete(at).Is(204)
	app.Clock.Advance(30*24*time.Hour + 2*time.Hour)
	app.Work()
	w.Post(at+"/restore", `{}`).Fails(404, "not_found", "")
	second := "/v1/audiences/" + w.Post("/v1/audiences", map[string]any{"name": "Few", "contact_ids": ids[:2]}).Is(201).ID()
	w.Delete(second).Is(204)
	w.Delete(second + "?permanent=true").Is(204)
	third := "/v1/audiences/" + w.Post("/v1/audiences", map[string]any{"name": "Few", "contact_ids": ids[:2]}).Is(201).ID()
	w.Delete(third + "?permanent=true").Is(204)
	app.Work()
	if hasEntries(org, "audiences.members.owner") || hasEntries(org, "audiences.members.set") {
		t.Error("the store still has members")
	}
	checked(t, app, org)
}

// TestDynamicAudienceTrash restores a dynamic audience with the contacts that match now. If its filters name something
// that is gone, it needs force and becomes static.
func TestDynamicAudienceTrash(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	w := org.Write
	tag := apptest.NewTags(org, "contact", "Customer")["Customer"]
	ids := contactsWith(org, 3, map[string]any{"tags": []string{tag}})
	at := "/v1/audiences/" + w.Post("/v1/audiences", fmt.Sprintf(`{"name": "Customers", "type": "dynamic", "filters": [{"field": "tags", "condition": "is", "value": %q}]}`, tag)).Is(201).ID()
	app.Work()
	w.Delete(at).Is(204)
	w.Patch("/v1/contacts/"+ids[0], `{"tags": []}`).Is(200)
	w.Post(at+"/restore", `{}`).Has(200, `{"data": {"type": "dynamic"}}`)
	app.Work()
	w.Get(at).Has(200, `{"data": {"contact_count": 2}}`)
	w.Delete(at).Is(204)
	w.Delete("/v1/tags/" + tag).Is(204)
	w.Post(at+"/restore", `{}`).Fails(422, "invalid_filter", "restore what its filters name first")
	w.Post("/v1/tags/"+tag+"/restore", `{}`).Is(200)
	w.Post(at+"/restore", `{}`).Has(200, `{"data": {"type": "dynamic"}}`)
	app.Work()
	w.Get(at).Has(200, `{"data": {"contact_count": 2}}`)
	w.Delete(at).Is(204)
	w.Delete("/v1/tags/" + tag + "?permanent=true").Is(204)
	w.Post(at+"/restore", `{"force": true}`).Has(200, `{"data": {"type": "static", "filters": null, "contact_count": 2}}`)
	checked(t, app, org)
}

// TestCampaignTrash restores a campaign with its sequences, messages and statistics, and its template with its versions.
// Nothing starts by that.
func TestCampaignTrash(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	w := org.Write
	ids := contactsWith(org, 3, nil)
	audience := w.Post("/v1/audiences", map[string]any{"name": "All", "contact_ids": ids[:2]}).Is(201).ID()
	template := w.Post("/v1/sequence-templates", `{"name": "Two", "steps": [
		{"index": 0, "type": "auto_email", "hour": 9, "subject": "Hello", "message": "Hello"},
		{"index": 1, "type": "call", "hour": 9, "message": "Call"},
		{"index": 2, "type": "auto_email", "hour": 9, "subject": "Again", "message": "Again"}],
		"transitions": [{"from_step_index": 0, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_COMPLETES", "pre_check_delay": 1, "pre_check_time_unit": "days"},
			{"from_step_index": 1, "to_step_index": 2, "transition_type": "PREVIOUS_STEP_COMPLETES", "pre_check_delay": 1, "pre_check_time_unit": "days"}]}`).Is(201).ID()
	campaign := w.Post("/v1/campaigns", map[string]any{"name": "Mail", "status": "active", "template_id": template,
		"audience_ids": []string{audience}, "owner_id": org.User, "missing_values": "send"}).Is(201).ID()
	at := "/v1/campaigns/" + campaign
	for range 4 {
		app.Clock.Advance(24 * time.Hour)
		app.Work()
	}
	w.Patch("/v1/sequence-templates/"+template, `{"name": "Two steps", "blocks": {"offer": {"name": "Offer", "content": "A demo"}}}`).Is(200)
	w.Delete(at).Fails(409, "invalid_transition", "archive it before you delete it")
	w.Patch(at, `{"status": "archived"}`).Is(200)
	app.Work()
	stats, sequences := w.Get(at+"/stats").Is(200), w.Post(at+"/sequences/list", `{"sort": "id"}`).Is(200)
	messages := w.Post("/v1/outbox/list", `{}`).Is(200).Int("pagination.total_count")
	tasks := w.Post("/v1/tasks/list", fmt.Sprintf(`{"filters": [{"field": "campaign_id", "condition": "is", "value": %q}]}`, campaign)).Is(200)
	if tasks.Int("pagination.total_count") == 0 || messages == 0 {
		t.Fatalf("the campaign has %s and %d messages", tasks.Body, messages)
	}
	w.Delete(at).Is(204)
	w.Delete("/v1/audiences/" + audience).Is(204)
	w.Delete("/v1/sequence-templates/" + template).Is(204)
	if !hasEntries(org, "templates.versions.part") {
		t.Error("the template in the trash has lost its versions")
	}
	w.Post("/v1/campaigns/trash/list", `{}`).Has(200, `{"data": [{"name": "Mail", "status": "archived", "template_name": "Two steps"}]}`)
	w.Post(at+"/restore", `{}`).Fails(422, "validation_failed", "template_id: "+template+" does not exist; restore it first")
	w.Post("/v1/sequence-templates/"+template+"/restore", `{}`).Has(200, `{"data": {"name": "Two steps"}}`)
	w.Post(at+"/restore", `{}`).Fails(422, "validation_failed", `is in the trash; restore it first`)
	w.Post("/v1/audiences/"+audience+"/restore", `{}`).Has(200, `{"data": {"contact_count": 2}}`)
	w.Patch("/v1/audiences/"+audience, `{"name": "Everybody"}`).Is(200)
	w.Post(at+"/restore", `{}`).Has(200, fmt.Sprintf(`{"data": {"status": "archived", "template_name": "Two steps", "audiences": [{"id": %q, "name": "Everybody"}]}}`, audience))
	app.Clock.Advance(7 * 24 * time.Hour)
	app.Work()
	if now := w.Get(at + "/stats").Is(200); now.Int("data.messages_captured") != stats.Int("data.messages_captured") {
		t.Errorf("the statistics are %s, and were %s", now.Body, stats.Body)
	}
	if now := w.Post(at+"/sequences/list", `{"sort": "id"}`).Is(200); strings.Join(now.Column("id"), " ") != strings.Join(sequences.Column("id"), " ") {
		t.Errorf("the sequences are %s, and were %s", now.Body, sequences.Body)
	}
	w.Post("/v1/outbox/list", `{}`).Has(200, fmt.Sprintf(`{"pagination": {"total_count": %d}}`, messages))
	w.Post("/v1/tasks/list", fmt.Sprintf(`{"filters": [{"field": "campaign_id", "condition": "is", "value": %q}]}`, campaign)).
		Has(200, fmt.Sprintf(`{"pagination": {"total_count": %d}}`, tasks.Int("pagination.total_count")))
	checked(t, app, org)

	// An audience that is gone for good is gone from the campaign, too. A template keeps it in the trash.
	w.Delete(at).Is(204)
	w.Delete("/v1/audiences/" + audience + "?permanent=true").Is(204)
	w.Post(at+"/restore", `{}`).Has(200, `{"data": {"audiences": []}}`)
	w.Delete(at + "?permanent=true").Is(204)
	w.Delete("/v1/sequence-templates/" + template).Is(204)
	app.Clock.Advance(31*24*time.Hour + 2*time.Hour)
	app.Work()
	for _, entity := range []string{"campaigns", "sequence-templates", "audiences"} {
		w.Post("/v1/"+entity+"/trash/list", `{}`).Has(200, `{"pagination": {"total_count": 0}}`)
	}
	if hasEntries(org, "templates.versions.part") {
		t.Error("the store still has versions of the template")
	}
	checked(t, app, org)
}

// TestSettingsHistory checks the history of campaigns, templates and audiences.
func TestSettingsHistory(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	w := org.Write
	ids := contactsWith(org, 2, nil)
	audience := "/v1/audiences/" + w.Post("/v1/audiences", map[string]any{"name": "All", "contact_ids": ids[:1]}).Is(201).ID()
	template := "/v1/sequence-templates/" + apptest.NewTemplate(org)
	campaign := "/v1/campaigns/" + apptest.NewCampaign(org, "draft")
	w.Patch(audience, `{"name": "Everybody"}`).Is(200)
	w.Post(audience+"/contacts/add", map[string]any{"contact_ids": ids[1:]}).Is(200)
	w.Delete("/v1/contacts/" + ids[0]).Is(204)
	w.Patch(template, `{"description": "Calls only"}`).Is(200)
	w.Patch(campaign, `{"name": "Spring", "prioritized": true}`).Is(200)
	w.Patch(campaign, `{"status": "active"}`).Is(200)
	app.Work()
	for at, want := range map[string]string{
		audience: fmt.Sprintf(`{"pagination": {"total_count": 3}, "data": [
			{"change": "updated", "operation": "add_audience_contacts", "fields": ["contact_count"], "user_id": %q},
			{"change": "updated", "operation": "update_audience", "changes": {"name": {"from": "All", "to": "Everybody"}}}, {"change": "created"}]}`, org.User),
		template: `{"data": [{"changes": {"description": {"from": null, "to": "Calls only"}}}, {"change": "created", "changes": {}}]}`,
		campaign: `{"data": [{"changes": {"status": {"from": "draft", "to": "active"}}},
			{"changes": {"name": {"from": "Outreach", "to": "Spring"}, "prioritized": {"from": false, "to": true}}}, {"change": "created"}]}`,
	} {
		org.Read.Get(at+"/history").Has(200, want)
	}
	w.Delete(audience).Is(204)
	w.Post(audience+"/restore", `{}`).Is(200)
	history := org.Read.Get(audience + "/history").Is(200)
	if got := strings.Join(history.Column("operation")[:3], " "); got != "restore_audience delete_audience add_audience_contacts" {
		t.Errorf("the history is %s", got)
	}
}

// TestRestoreRefused restores an account and a field with which contacts would match dynamic audiences that came meanwhile.
func TestRestoreRefused(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account := "/v1/accounts/" + org.Write.Post("/v1/accounts", `{"name": "Globex"}`).Is(201).ID()
	field := "/v1/fields/" + org.Admin.Post("/v1/fields", `{"entity": "contacts", "key": "tier", "data_type": "text"}`).Is(201).ID()
	contactsWith(org, 3, map[string]any{"account_id": apptest.IDIn(account), "custom_field_tier": "platinum"})
	org.Write.Delete(account).Is(204)
	org.Admin.Delete(field).Is(204)
	app.Work()
	for name, rule := range map[string]string{
		"employed": `"filters": [{"field": "account_id", "condition": "is_not_empty"}]`, "found": `"search": "platinum"`,
	} {
		org.Write.Post("/v1/audiences", fmt.Sprintf(`{"name": %q, "type": "dynamic", %s}`, name, rule)).Is(201)
	}
	app.Work()
	for path, audience := range map[string]string{account: "employed", field: "found"} {
		org.Admin.Post(path+"/restore", nil).Fails(409, "in_use", fmt.Sprintf("would join the dynamic audience %q", audience))
		org.Admin.Post(path+"/restore", `{"force": true}`).Is(200)
		app.Work()
		org.Read.Post("/v1/audiences/list", fmt.Sprintf(`{"filters": [{"field": "name", "condition": "is", "value": %q}]}`, audience)).
			Has(200, `{"data": [{"type": "static", "contact_count": 0}]}`)
	}
	checked(t, app, org)
}

// TestSettingsTrashRefusals checks what many records of the trash are not restored for.
func TestSettingsTrashRefusals(t *testing.T) {
	org := apptest.New(t).Org("Acme")
	for _, entity := range []string{"tags", "fields", "audiences", "sequence-templates", "campaigns"} {
		trash := "/v1/" + entity + "/trash/bulk"
		org.Admin.Post(trash, `{"filters": [{"field": "x", "condition": "is", "value": 1}], "restore": true}`).Fails(422, "invalid_filter", "filters[0].field")
		org.Admin.Post(trash, `{"filters": [], "restore": true, "expect": 7}`).Fails(409, "count_changed", "not 7")
	}
}
