package admin_test

import (
	"fmt"
	"strings"
	"testing"

	"prospector/internal/admin"
	"prospector/internal/apptest"
	"prospector/internal/catalog"
)

// everything returns what the API answers about an organization: all lists, trashes, histories and members of Previews.
func everything(org *apptest.Org, preview string, imports ...string) string {
	var all strings.Builder
	add := func(res *apptest.Response) *apptest.Response {
		fmt.Fprintf(&all, "%s\n", res.Body)
		return res
	}
	for _, entity := range []string{"accounts", "contacts", "opportunities", "tasks", "meetings", "tags", "audiences", "sequence-templates", "campaigns"} {
		for _, id := range add(org.Admin.Post("/v1/"+entity+"/list", `{"page_size": 100}`).Is(200)).Column("id") {
			add(org.Admin.Get("/v1/" + entity + "/" + id))
			add(org.Admin.Get("/v1/" + entity + "/" + id + "/history"))
		}
		add(org.Admin.Post("/v1/"+entity+"/trash/list", `{"page_size": 100}`).Is(200))
	}
	for _, list := range []string{"sequences", "outbox", "views", "suppressions", "companies", "people", "operations", "imports", "tam/previews", "tam/imports"} {
		add(org.Admin.Post("/v1/"+list+"/list", `{"page_size": 100}`))
	}
	add(org.Admin.Get("/v1/tam/preview/" + preview).Is(200))
	add(org.Admin.Get("/v1/tam/preview/" + preview + "/members").Is(200))
	for _, id := range imports {
		add(org.Admin.Get("/v1/imports/" + id).Is(200))
		add(org.Admin.Get("/v1/imports/" + id + "/rejects").Is(200))
	}
	add(org.Admin.Get("/v1/search?q=zebulonia"))
	return all.String()
}

// TestEraseEverywhere searches the answers of the API, and the files after a compaction, for somebody who was everywhere.
func TestEraseEverywhere(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	w := org.Write
	org.Admin.Post("/v1/webhooks/subscriptions", `{"url": "http://127.0.0.1:1/in", "triggers": ["*"]}`).Is(201)
	org.Admin.Post("/v1/fields", `{"entity": "contacts", "key": "hobby", "label": "Hobby", "data_type": "text"}`).Is(201)
	const email, second = "zebulonia@globex.example", "zq1968@home.example"
	const title, oldTitle, notes, hobby, location = "Llama Wrangler Supreme", "Junior Llama Helper", "Collects kazoos from Ulm", "Xylophone racing", "Kleinkleckersdorf"
	const phone, department = "+49 30 5550199", "Camelid Affairs"
	person := map[string]any{"first_name": "Zebulonia", "last_name": "Quixotrix", "email": email, "title": oldTitle, "phone_number": phone,
		"notes": notes, "custom_field_hobby": hobby, "location": location, "linkedin_url": "https://www.linkedin.com/in/zebulonia-q", "external_id": "crm-zebulonia"}
	app.Catalog([]catalog.Company{{ID: "c1", Name: "Globex", Website: "globex.example"}}, []catalog.Person{
		{ID: "p-zebulonia", CompanyID: "c1", FirstName: "Zebulonia", LastName: "Quixotrix", Email: email, Title: title, Department: department, Location: location}})
	preview := w.Post("/v1/tam/preview", `{"request_id": "0191d8a0-0000-7000-8000-000000000001", "company_filters": {}}`).Is(202).Text("data.preview_id")
	app.Work()
	contact := w.Do("POST", "/v1/contacts", person, "Idempotency-Key", "k-1").Is(201).ID()
	person["email"], person["external_id"] = second, "crm-2-zebulonia"
	merged := w.Post("/v1/contacts", person).Is(201).ID()
	w.Post("/v1/contacts/"+contact+"/merge", map[string]any{"ids": []string{merged}}).Is(200)
	person["email"], person["external_id"] = strings.ToUpper(email), nil
	w.Delete("/v1/contacts/" + w.Post("/v1/contacts", person).Is(201).ID()).Is(204)
	w.Patch("/v1/contacts/"+contact, map[string]any{"title": title}).Is(200)
	bulk := w.Post("/v1/contacts/bulk", map[string]any{"ids": []string{contact}, "set": map[string]any{"notes": notes + "!"}}).Is(202).ID()
	account := w.Post("/v1/accounts", map[string]any{"name": "Globex", "notes": "Quixotrix is their best", "description": "Ask Zebulonia Quixotrix, " + phone}).Is(201).ID()
	other := w.Post("/v1/contacts", map[string]any{"email": "homer@globex.example", "first_name": "Homer", "notes": "Knows " + email}).Is(201).ID()
	for _, entity := range []string{"tasks", "meetings", "opportunities"} {
		w.Post("/v1/"+entity, map[string]any{"tasks": map[string]any{"title": "Call Zebulonia Quixotrix", "contact_id": contact, "notes": second},
			"meetings":      map[string]any{"title": "Zebulonia Quixotrix", "contact_id": contact, "starts_at": "2026-03-05T09:00:00Z"},
			"opportunities": map[string]any{"name": "Deal of Quixotrix, Zebulonia", "account_id": account, "contact_id": contact}}[entity]).Is(201)
	}
	audience := w.Post("/v1/audiences", map[string]any{"name": "All", "contact_ids": []string{contact, other}}).Is(201).ID()
	template := w.Post("/v1/sequence-templates", `{"name": "One", "steps": [
		{"index": 0, "type": "auto_email", "hour": 9, "subject": "For {{recipient.first_name}}", "message": "Hello {{recipient.title}} {{recipient.custom_field_hobby}} {{recipient.location}}"},
		{"index": 1, "type": "call", "hour": 9, "subject": "Call {{recipient.first_name}}", "message": "{{recipient.phone_number}} {{recipient.notes}}"}]}`).Is(201).ID()
	w.Post("/v1/campaigns", map[string]any{"name": "Mail", "status": "active", "template_id": template, "audience_ids": []string{audience}, "owner_id": org.User, "missing_values": "send"}).Is(201)
	file := "First Name,Last Name,E-Mail,Job Title\nZebulonia,Quixotrix,not an address," + title + "\nBart,,nobody," + department + " of others\n"
	imported := w.Post("/v1/imports", apptest.NewForm(file, `{"entity": "contacts", "on_bad_value": "skip_row"}`)).Is(202).ID()
	app.Work()

	texts := []string{"zebulonia", email, second, title, oldTitle, notes, hobby, location, phone, "linkedin.com/in/zebulonia"}
	before := strings.ToLower(everything(org, preview, imported))
	for _, text := range texts {
		if !strings.Contains(before, strings.ToLower(text)) {
			t.Fatalf("the API never had %q", text)
		}
	}
	id := org.Admin.Do("POST", "/v1/erasures", map[string]any{"email": email, "reason": "Zebulonia Quixotrix asked"}, "Idempotency-Key", "k-2").Is(202).ID()
	app.Work()
	done := org.Read.Get("/v1/operations/" + id).Is(200)
	left := fmt.Sprint(done.Value("data.left"))
	if done.Text("data.status") != "completed" || !strings.Contains(left, "field:notes id:"+account) || !strings.Contains(left, "kind:meetings") {
		t.Fatalf("%s", done.Body)
	}
	after := strings.ToLower(everything(org, preview, imported))
	for _, text := range texts {
		if at := strings.Index(after, strings.ToLower(text)); at >= 0 {
			t.Errorf("the API has %q: %s", text, after[max(0, at-300):min(len(after), at+60)])
		}
	}
	if n := strings.Count(after, "quixotrix"); n != 2 { // the notes of the account, in the list and alone
		t.Errorf("the last name is in %d answers", n)
	}
	undo := w.Post("/v1/operations/"+bulk+"/undo", nil).Is(202).ID()
	app.Work()
	w.Get("/v1/operations/"+undo).Has(200, `{"data": {"status": "completed", "undone": 0}}`)
	w.Patch("/v1/accounts/"+account, `{"notes": null}`).Is(200)
	org.Admin.Delete("/v1/accounts/" + account + "?permanent=true")

	app.Stop()
	if done, err := admin.Compact(app.Config); !done || err != nil {
		t.Fatal(done, err)
	}
	for _, text := range texts {
		if files := contains(t, app.Config.DataDir, text); files != nil {
			t.Errorf("%q is in %q", text, files)
		}
	}
	app.Start()
}
