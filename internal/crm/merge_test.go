package crm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/record"
	"prospector/internal/rows"
	"prospector/store"
)

func ids(list ...string) string { return `["` + strings.Join(list, `", "`) + `"]` }

func TestMergeContacts(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	w := org.Write
	org.Admin.Post("/v1/fields", `{"entity": "contacts", "key": "tier", "data_type": "text"}`).Is(201)
	org.Admin.Post("/v1/fields", `{"entity": "contacts", "key": "score", "data_type": "number"}`).Is(201)
	tag := func(name string) string {
		return w.Post("/v1/tags", map[string]any{"name": name, "color": "green", "object_type": "contact"}).Is(201).ID()
	}
	one, two := tag("One"), tag("Two")
	account := w.Post("/v1/accounts", `{"name": "Globex"}`).Is(201).ID()
	contact := func(body map[string]any) string { return w.Post("/v1/contacts", body).Is(201).ID() }
	a := contact(map[string]any{"email": "hank@globex.example", "first_name": "Hank", "notes": "A", "tags": []string{one}, "custom_field_tier": "gold"})
	b := contact(map[string]any{"email": "h.scorpio@globex.example", "last_name": "Scorpio", "title": "CEO", "notes": "B", "external_id": "b-1",
		"tags": []string{two, one}, "account_id": account, "do_not_contact": true, "custom_field_tier": "silver", "custom_field_score": 3})
	c := contact(map[string]any{"first_name": "Henry", "last_name": "S", "phone_number": "1", "title": "Chief", "notes": "A", "external_id": "c-1", "scoring": map[string]any{"heat_score": "hot"}})
	all := w.Post("/v1/audiences", map[string]any{"name": "All", "contact_ids": []string{a, b}}).Is(201).ID()
	some := w.Post("/v1/audiences", map[string]any{"name": "Some", "contact_ids": []string{b, c}}).Is(201).ID()
	task := w.Post("/v1/tasks", map[string]any{"title": "Call", "contact_id": b}).Is(201).ID()
	deal := w.Post("/v1/opportunities", map[string]any{"name": "Reactors", "account_id": account, "contact_id": c}).Is(201).ID()
	meeting := w.Post("/v1/meetings", map[string]any{"title": "Lunch", "starts_at": "2026-04-01T12:00:00Z", "contact_id": b}).Is(201).ID()
	trashed := w.Post("/v1/tasks", map[string]any{"title": "Later", "contact_id": c}).Is(201).ID()
	w.Delete("/v1/tasks/" + trashed).Is(204)

	at := "/v1/contacts/" + a
	for _, bad := range []struct{ body, problem string }{
		{`{}`, "ids: required"},
		{`{"ids": []}`, "ids"},
		{`{"ids": ["` + a + `"]}`, "ids[0]: is the record that the others are merged into"},
		{`{"ids": ["` + account + `"]}`, "ids[0]: " + account + " does not exist"},
		{`{"ids": ["` + b + `"], "fields": {"title": "` + c + `"}}`, "fields.title: " + c + " is neither the record nor one of ids"},
		{`{"ids": ["` + b + `"], "fields": {"colour": "` + b + `"}}`, "fields.colour: is not a field that can be chosen"},
		{`{"ids": ["` + b + `"], "fields": {"created_at": "` + b + `"}}`, "fields.created_at: is not a field that can be chosen"},
		{`{"ids": ["` + b + `"], "fields": {"do_not_contact": "` + a + `"}}`, "fields.do_not_contact: cannot be chosen"},
	} {
		w.Post(at+"/merge", bad.body).Fails(422, "validation_failed", bad.problem)
	}
	app.Clock.Advance(time.Minute)
	merged := w.Post(at+"/merge", fmt.Sprintf(`{"ids": %s, "fields": {"title": %q}}`, ids(b, c), c))
	merged.Has(200, fmt.Sprintf(`{"data": {"id": %q, "email": "hank@globex.example", "first_name": "Hank", "last_name": "Scorpio", "title": "Chief", "phone_number": "1",
		"notes": "A\n\nB", "external_id": "b-1", "tags": %s, "account_id": %q, "do_not_contact": true, "scoring": {"heat_score": "hot"},
		"custom_field_tier": "gold", "custom_field_score": 3}}`, a, ids(one, two), account))
	for _, path := range []string{"/v1/tasks/" + task, "/v1/opportunities/" + deal, "/v1/meetings/" + meeting} {
		w.Get(path).Has(200, fmt.Sprintf(`{"data": {"contact_id": %q}}`, a))
	}
	w.Post("/v1/tasks/"+trashed+"/restore", `{}`).Has(200, fmt.Sprintf(`{"data": {"contact_id": %q}}`, a))
	w.Get("/v1/audiences/"+all).Has(200, `{"data": {"contact_count": 1}}`)
	w.Get("/v1/audiences/"+some).Has(200, `{"data": {"contact_count": 1}}`)
	w.Post("/v1/audiences/"+some+"/contacts/list", `{}`).Has(200, fmt.Sprintf(`{"data": [{"id": %q}]}`, a))
	w.Post("/v1/contacts/list", `{}`).Has(200, `{"pagination": {"total_count": 1}}`)
	w.Post("/v1/contacts/trash/list", `{}`).Has(200, `{"pagination": {"total_count": 0}}`)
	suppressed := org.Admin.Post("/v1/suppressions/list", `{"sort": "email"}`).Is(200).Column("email")
	if !slices.Equal(suppressed, []string{"h.scorpio@globex.example", "hank@globex.example"}) {
		t.Errorf("suppressed are %q", suppressed)
	}
	for _, gone := range []string{b, c} {
		detail := fmt.Sprintf(`{"error": {"details": [{"path": "id", "id": %q}]}}`, a)
		w.Get("/v1/contacts/"+gone).Fails(404, "not_found", "merged into "+a).Has(404, detail)
		w.Patch("/v1/contacts/"+gone, `{"title": "X"}`).Fails(404, "not_found", "").Has(404, detail)
		w.Delete("/v1/contacts/"+gone).Fails(404, "not_found", "").Has(404, detail)
		w.Post("/v1/contacts/"+gone+"/restore", `{}`).Fails(404, "not_found", "").Has(404, detail)
		w.Post("/v1/tasks", map[string]any{"title": "Call", "contact_id": gone}).Fails(422, "validation_failed", "contact_id: was merged into "+a)
	}
	history := w.Get("/v1/contacts/" + a + "/history").Is(200)
	if got := fmt.Sprint(history.Column("operation")); got != "[merge_contacts merge_contacts merge_contacts create_contact create_contact create_contact]" {
		t.Errorf("the history is %s", got)
	}
	if got := history.Column("merged_from"); !slices.Contains(got, b) || !slices.Contains(got, c) {
		t.Errorf("the history is of %s", got)
	}
	// The entry of the merge has the single values that lost.
	for i, from := range history.Column("merged_from") {
		want := fmt.Sprintf(`[{"id": %q, "field": "custom_field_tier", "value": "silver"}, {"id": %q, "field": "title", "value": "CEO"},
			{"id": %q, "field": "first_name", "value": "Henry"}, {"id": %q, "field": "last_name", "value": "S"}]`, b, b, c, c)
		if isMerge := from == "<nil>" && history.Column("operation")[i] == "merge_contacts"; !isMerge {
			want = "[]"
		}
		got, err := json.Marshal(history.Value(fmt.Sprintf("data.%d.lost", i)))
		if diff := apptest.Diff(want, string(got)); err != nil || diff != "" {
			t.Errorf("entry %d: %s: %s", i, diff, got)
		}
	}
	// External ids lead to the survivor, unless another record takes them.
	w.Post("/v1/contacts/batch", `{"match_on": "external_id", "records": [{"external_id": "C-1", "location": "Springfield"}]}`).
		Has(200, fmt.Sprintf(`{"data": {"results": [{"id": %q, "created": false}]}}`, a))
	verify(t, app, org)

	// The survivor is merged on.
	d := contact(map[string]any{"email": "last@globex.example"})
	w.Post("/v1/contacts/"+d+"/merge", map[string]any{"ids": []string{a}}).Is(200)
	w.Get("/v1/contacts/"+b).Fails(404, "not_found", "merged into "+d)
	w.Get("/v1/tasks/"+task).Has(200, fmt.Sprintf(`{"data": {"contact_id": %q}}`, d))
	if got := w.Get("/v1/contacts/" + d + "/history").Is(200).Column("merged_from"); !slices.Contains(got, b) {
		t.Errorf("the history is of %s", got)
	}
	app.Restart()
	verify(t, app, org)
	w.Delete("/v1/contacts/" + d).Is(204)
	w.Get("/v1/contacts/"+b).Fails(404, "not_found", "").Is(404, `{"error": {"code": "not_found", "message": "Resource not found"}}`)
}

// TestMergeAccounts merges accounts that more contacts refer to than one transaction rewrites, and goes on while the
// sweep has not run.
func TestMergeAccounts(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	w := org.Write
	account := func(name string) string { return w.Post("/v1/accounts", map[string]any{"name": name}).Is(201).ID() }
	a, b, c := account("A"), account("B"), account("C")
	const many = 2600
	for from := 0; from < many; from += 650 {
		var records []map[string]any
		for i := range 650 {
			records = append(records, map[string]any{"first_name": fmt.Sprint("F", from+i), "last_name": "L", "account_id": b})
		}
		w.Post("/v1/contacts/batch", map[string]any{"records": records}).Has(200, `{"data": {"failed": 0}}`)
	}
	w.Post("/v1/contacts", map[string]any{"first_name": "Own", "last_name": "L", "account_id": a}).Is(201)
	deal := w.Post("/v1/opportunities", map[string]any{"name": "Reactors", "account_id": b}).Is(201).ID()
	of := func(account, search string) int {
		t.Helper()
		return w.Post("/v1/contacts/list", map[string]any{"page_size": 1, "sort": "account_id,first_name", "search": search, "filters": []any{
			map[string]any{"field": "account_id", "condition": "is", "value": account}}}).Is(200).Int("pagination.total_count")
	}
	w.Post("/v1/accounts/"+a+"/merge", map[string]any{"ids": []string{b}}).Is(200)
	if got := []int{of(a, ""), of(b, ""), of(a, "F2599")}; !slices.Equal(got, []int{many + 1, 0, 1}) {
		t.Errorf("after the merge: %d", got)
	}
	last := w.Post("/v1/contacts/list", `{"search": "F2599"}`).Is(200)
	if last.Text("data.0.account_id") != a {
		t.Errorf("the last contact has %s", last.Body)
	}
	w.Get("/v1/opportunities/"+deal).Has(200, fmt.Sprintf(`{"data": {"account_id": %q}}`, a))
	w.Patch("/v1/contacts/"+last.Text("data.0.id"), `{"title": "CEO"}`).Has(200, fmt.Sprintf(`{"data": {"account_id": %q}}`, a))
	w.Post("/v1/contacts/facets", `{"field": "account_id"}`).Has(200, fmt.Sprintf(`{"data": {"values": [{"value": %q, "count": %d}]}}`, a, many+1))
	verify(t, app, org)
	w.Delete("/v1/accounts/"+a).Fails(409, "in_use", "opportunity")
	importOne(t, app, org, "First Name,Last Name,Company,Title\nf2598,l,A,Captain\n")
	w.Post("/v1/contacts/list", `{"filters": [{"field": "title", "condition": "is", "value": "Captain"}]}`).Has(200, fmt.Sprintf(`{"data": [{"first_name": "f2598", "account_id": %q}]}`, a))

	// The survivor is merged on before the sweep has run.
	w.Post("/v1/accounts/"+c+"/merge", map[string]any{"ids": []string{a}}).Is(200)
	if got := []int{of(c, ""), of(a, ""), of(b, "")}; !slices.Equal(got, []int{many + 1, 0, 0}) {
		t.Errorf("after the second merge: %d", got)
	}
	verify(t, app, org)
	app.Restart()
	if got := []int{of(c, ""), of(a, ""), of(b, "")}; !slices.Equal(got, []int{many + 1, 0, 0}) {
		t.Errorf("after a restart: %d", got)
	}
	app.Work()
	if got := []int{of(c, ""), of(a, ""), of(b, "")}; !slices.Equal(got, []int{many + 1, 0, 0}) {
		t.Errorf("after the sweep: %d", got)
	}
	verify(t, app, org)
	if dump := org.Dump(); strings.Contains(dump, "contacts.tomb (2)\n  ") {
		t.Error("a tombstone is left")
	}
	w.Get("/v1/accounts/"+b).Fails(404, "not_found", "merged into "+c)
	w.Delete("/v1/opportunities/" + deal).Is(204)
	w.Delete("/v1/accounts/" + c).Is(204)
	w.Post("/v1/contacts/list", `{"filters": [{"field": "account_id", "condition": "is_not_empty"}]}`).Has(200, `{"pagination": {"total_count": 0}}`)
	app.Work()
	verify(t, app, org)
}

// importOne imports a table with one contact that exists, while no job runs.
func importOne(t *testing.T, app *apptest.App, org *apptest.Org, text string) {
	t.Helper()
	table, err := rows.Open(strings.NewReader(text), rows.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	batch, err := table.NextBatch()
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	err = app.Store.Update(t.Context(), org.ID, store.Actor{}, func(tx *store.Tx) error {
		im, err := app.CRM.NewImporter(tx, "contacts", table, record.ImportOptions{})
		if err != nil {
			return err
		}
		prepared, err := im.Prepare(tx, batch, func() {})
		if err != nil {
			return err
		}
		outcomes, err := im.Write(tx, prepared)
		if err == nil && (len(outcomes) != 1 || !outcomes[0].Updated) {
			t.Errorf("the import of %q is %+v", text, outcomes)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestMergeSequences merges contacts that are in the same campaign.
func TestMergeSequences(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	w := org.Write
	template := w.Post("/v1/sequence-templates", `{"name": "Two", "steps": [
		{"index": 0, "type": "auto_email", "hour": 9, "subject": "Hello", "message": "Hello"},
		{"index": 1, "type": "auto_email", "hour": 9, "subject": "Again", "message": "Again"},
		{"index": 2, "type": "auto_email", "hour": 9, "subject": "Last", "message": "Last"}],
		"transitions": [{"from_step_index": 0, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_COMPLETES", "pre_check_delay": 1, "pre_check_time_unit": "days"},
			{"from_step_index": 1, "to_step_index": 2, "transition_type": "PREVIOUS_STEP_COMPLETES", "pre_check_delay": 1, "pre_check_time_unit": "days"}]}`).Is(201).ID()
	contact := func(email string) string { return w.Post("/v1/contacts", map[string]any{"email": email}).Is(201).ID() }
	campaign := func(contacts ...string) (campaign, audience string) {
		audience = w.Post("/v1/audiences", map[string]any{"name": "Audience " + fmt.Sprint(len(contacts), contacts), "contact_ids": contacts}).Is(201).ID()
		return w.Post("/v1/campaigns", map[string]any{
			"name": "Mail", "status": "active", "template_id": template, "audience_ids": []string{audience}, "owner_id": org.User, "missing_values": "send",
		}).Is(201).ID(), audience
	}
	messages := func(campaign string) (to []string) {
		list := w.Post("/v1/outbox/list", map[string]any{"sort": "created_at", "filters": []any{map[string]any{"field": "campaign_id", "condition": "is", "value": campaign}}}).Is(200)
		for i, address := range list.Column("to") {
			to = append(to, list.Column("subject")[i]+" "+address+" "+list.Column("contact_id")[i])
		}
		return to
	}
	day := func() {
		app.Work()
		app.Clock.Advance(24 * time.Hour)
		app.Work()
	}
	young, old := contact("young@globex.example"), contact("old@globex.example")
	both, audience := campaign(old)
	day() // the first two emails go to old
	w.Post("/v1/audiences/"+audience+"/contacts/add", map[string]any{"contact_ids": []string{young}}).Is(200)
	app.Work() // and the first one to young
	alone := contact("alone@globex.example")
	other, _ := campaign(alone)
	app.Work()
	before := len(messages(both))
	kept := w.Post("/v1/campaigns/"+both+"/sequences/list", map[string]any{"filters": []any{map[string]any{"field": "contact_id", "condition": "is", "value": old}}}).Is(200).Text("data.0.id")

	w.Post("/v1/contacts/"+young+"/merge", map[string]any{"ids": []string{old, alone}}).Is(200)
	app.Work()
	list := w.Post("/v1/campaigns/"+both+"/sequences/list", `{"sort": "status"}`).Is(200)
	list.Has(200, fmt.Sprintf(`{"data": [{"id": %q, "contact_id": %q, "status": "active", "contact_email": "young@globex.example", "contact_deleted": false},
		{"contact_id": %q, "status": "stopped", "reason": "duplicate_address", "duplicate_of": %q}]}`, kept, young, young, kept))
	w.Post("/v1/campaigns/"+other+"/sequences/list", `{}`).Has(200, fmt.Sprintf(`{"data": [{"contact_id": %q, "status": "active"}]}`, young))
	if now := messages(both); len(now) != before {
		t.Errorf("the merge sent something: %q", now)
	}
	verify(t, app, org)
	for range 5 {
		day()
	}
	sent := messages(both)
	want := []string{"Hello old@globex.example", "Again old@globex.example", "Hello young@globex.example", "Last young@globex.example"}
	for i := range want {
		want[i] += " " + young
	}
	slices.Sort(sent)
	slices.Sort(want)
	if !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
	w.Get("/v1/campaigns/" + both + "/stats").Is(200)
	if n := len(w.Get("/v1/contacts/" + young + "/timeline?page_size=100").Is(200).Column("id")); n < 7 {
		t.Errorf("the timeline has %d entries", n)
	}
	verify(t, app, org)

	// Somebody who has replied is not written to again, whichever of the sequences the reply belongs to.
	first, second := contact("first@globex.example"), contact("second@globex.example")
	replied, audience := campaign(second)
	day()
	day()
	w.Post("/v1/audiences/"+audience+"/contacts/add", map[string]any{"contact_ids": []string{first}}).Is(200)
	app.Work()
	w.Post("/v1/contacts/"+first+"/replied", `{}`)
	w.Post("/v1/contacts/"+first+"/merge", map[string]any{"ids": []string{second}}).Is(200)
	w.Post("/v1/campaigns/"+replied+"/sequences/list", `{}`).Has(200, `{"data": [{"status": "stopped", "reason": "replied"}, {"status": "stopped", "reason": "replied"}]}`)
	verify(t, app, org)
	// In a dynamic audience, which the survivor joins by the merge. The sequence goes on to the address of the other.
	target := func(email string) string {
		return w.Post("/v1/contacts", map[string]any{"email": email, "title": "Target"}).Is(201).ID()
	}
	far, single := target("far@globex.example"), target("single@globex.example")
	dynamic := w.Post("/v1/audiences", `{"name": "Targets", "type": "dynamic", "filters": [{"field": "title", "condition": "is", "value": "Target"}]}`).Is(201).ID()
	app.Work()
	targets := w.Post("/v1/campaigns", map[string]any{
		"name": "Targets", "status": "active", "template_id": template, "audience_ids": []string{dynamic}, "owner_id": org.User, "missing_values": "send",
	}).Is(201).ID()
	day()
	near, untitled := target("near@globex.example"), contact("untitled@globex.example")
	app.Work()
	w.Post("/v1/contacts/"+far+"/merge", map[string]any{"ids": []string{near}, "fields": map[string]string{"email": near}}).Is(200)
	w.Post("/v1/contacts/"+untitled+"/merge", map[string]any{"ids": []string{single}}).Is(200)
	app.Work()
	w.Post("/v1/campaigns/"+targets+"/sequences/list", `{"sort": "status,contact_email"}`).Has(200, fmt.Sprintf(`{"data": [
		{"contact_id": %q, "status": "active", "contact_email": "near@globex.example", "current_step_index": 2},
		{"contact_id": %q, "status": "active", "contact_email": "untitled@globex.example", "current_step_index": 2},
		{"contact_id": %q, "status": "stopped", "reason": "duplicate_address"}]}`, far, untitled, far))
	verify(t, app, org)
}
