package erasure_test

import (
	"fmt"
	"strings"
	"testing"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
)

// erase erases a person over the API and returns the operation.
func erase(org *apptest.Org, email string, dryRun bool) *apptest.Response {
	id := org.Admin.Post("/v1/erasures", map[string]any{"email": email, "reason": "Request 17 of " + email, "dry_run": dryRun}).Is(202).ID()
	org.Work()
	return org.Read.Get("/v1/operations/" + id).Is(200)
}

// erasedBy returns what an operation has erased, by kind.
func erasedBy(op *apptest.Response) string {
	var kinds []string
	for _, of := range op.Value("data.erased").([]any) {
		of := of.(map[string]any)
		kinds = append(kinds, fmt.Sprint(of["kind"], " ", of["count"]))
	}
	return strings.Join(kinds, ", ")
}

// TestErasedStayAway checks that nobody who was erased comes back by any way, until an admin allows it.
func TestErasedStayAway(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	w := org.Write
	const email, second = "zeb@globex.example", "zebulon@home.example"
	trashed := w.Post("/v1/contacts", map[string]any{"email": email, "first_name": "Zebulon", "last_name": "Quixotrix"}).Is(201).ID()
	w.Delete("/v1/contacts/" + trashed).Is(204)
	into := w.Post("/v1/contacts", map[string]any{"email": second, "first_name": "Zeb", "last_name": "Quixotrix"}).Is(201).ID()
	merged := w.Post("/v1/contacts", map[string]any{"email": email, "first_name": "Zebulon", "last_name": "Quixotrix"}).Is(201).ID()
	merge := w.Post("/v1/contacts/"+into+"/merge", map[string]any{"ids": []string{merged}}).Is(200).Text("meta.operation_id")
	doomed := w.Post("/v1/contacts", map[string]any{"email": strings.ToUpper(email)}).Is(201).ID()
	deletion := w.Post("/v1/contacts/bulk", map[string]any{"ids": []string{doomed}, "delete": true}).Is(202).ID()
	changed := w.Post("/v1/contacts", map[string]any{"email": email, "first_name": "Changed"}).Is(201).ID()
	other := w.Post("/v1/contacts", `{"email": "homer@globex.example", "first_name": "Homer"}`).Is(201).ID()
	app.Work()
	change := w.Post("/v1/contacts/bulk", map[string]any{"ids": []string{changed}, "set": map[string]any{"email": "zz@other.example"}}).Is(202).ID()
	app.Work()
	app.Catalog([]catalog.Company{{ID: "c1", Name: "Globex", Website: "globex.example"}}, []catalog.Person{
		{ID: "p1", CompanyID: "c1", FirstName: "Homer", LastName: "Simpson", Email: "hs@globex.example"},
		{ID: "p2", CompanyID: "c1", FirstName: "Zebulon", LastName: "Quixotrix", Email: email}})
	preview := org.Write.Post("/v1/tam/preview", `{"request_id": "0191d8a0-0000-7000-8000-000000000001", "company_filters": {}}`).Is(202).Text("data.preview_id")
	app.Work()

	if op := erase(org, email, false); erasedBy(op) != "contacts 1, contacts-trash 2, people 1, preview_members 1" {
		t.Errorf("%s", op.Body)
	}
	for _, id := range []string{trashed, doomed, into, merged} {
		w.Post("/v1/contacts/"+id+"/restore", nil).Fails(404, "not_found", "")
		w.Get("/v1/contacts/"+id).Fails(404, "not_found", "")
	}
	w.Post("/v1/contacts/"+other+"/merge", map[string]any{"ids": []string{into}}).Fails(422, "validation_failed", "")
	for _, op := range []string{merge, deletion, change} {
		undo := w.Post("/v1/operations/"+op+"/undo", nil)
		app.Work()
		if undo.Status == 202 {
			w.Get("/v1/operations/"+undo.ID()).Has(200, `{"data": {"status": "completed", "undone": 0}}`)
		} else {
			undo.Fails(409, "undo_conflict", "")
		}
	}
	w.Get("/v1/contacts/"+changed).Has(200, `{"data": {"email": "zz@other.example"}}`)
	for _, spelling := range []string{email, "ZEB@Globex.Example", second} {
		for _, res := range []*apptest.Response{
			w.Post("/v1/contacts", map[string]any{"email": spelling}), w.Patch("/v1/contacts/"+other, map[string]any{"email": spelling}),
			w.Patch("/v1/preview/contacts/"+other, map[string]any{"email": spelling}),
		} {
			res.Fails(409, "erased", "the address belongs to a person who was erased")
			if strings.Contains(strings.ToLower(string(res.Body)), strings.ToLower(spelling)) {
				t.Errorf("%s", res.Body)
			}
		}
		w.Post("/v1/contacts/batch", map[string]any{"match_on": "email", "records": []any{map[string]any{"email": spelling}, map[string]any{"email": "homer@globex.example", "title": "CEO"}}}).
			Has(200, `{"data": {"results": [{"error": {"code": "erased"}}, {"id": "`+other+`"}]}}`)
		bulk := w.Post("/v1/contacts/bulk", map[string]any{"ids": []string{other}, "set": map[string]any{"email": spelling}}).Is(202).ID()
		app.Work()
		w.Get("/v1/operations/"+bulk).Has(200, `{"data": {"failed": 1, "problems": [{"code": "erased"}]}}`)
		org.Admin.Post("/v1/suppressions", map[string]any{"email": spelling}).Has(200, `{"data": {"email": null, "reason": "erased"}}`)
	}

	org.Admin.Post("/v1/suppressions", `{"email": "sup@x.example", "reason": "manual"}`).Is(201)
	file := "First Name,Last Name,Email,Second Email,Number\nZeb,Quix,ZEB@globex.example,,hot\nZed,Quix,ok@x.example,Zebulon <zebulon@home.example>,hot\n" +
		"Zeb,Quix,zeb@globex.example,,a lot\nMarge,Simpson,marge@x.example,,hot\nSup,Pressed,sup@x.example,,hot\nBad,Row,nobody,,a lot\n"
	for _, dry := range []bool{true, false} {
		id := w.Post("/v1/imports", apptest.NewForm(file, fmt.Sprintf(`{"entity": "contacts", "on_bad_value": "skip_row", "mapping": {"Number": "scoring.heat_score"}, "dry_run": %t}`, dry))).Is(202).ID()
		app.Work()
		done := w.Get("/v1/imports/"+id).Has(200, `{"data": {"status": "completed", "rows": 6, "added": 2, "updated": 0, "skipped": 4, "erased": 3, "suppressed": 1}}`)
		rejects := string(w.Get("/v1/imports/" + id + "/rejects").Is(200).Body)
		for _, text := range []string{string(done.Body), rejects} {
			if lower := strings.ToLower(text); strings.Contains(lower, "zeb") || strings.Contains(lower, "quix") || strings.Contains(lower, "ok@x") {
				t.Errorf("the report has the person: %s", text)
			}
		}
		if !strings.Contains(rejects, "Bad,Row") || done.Text("data.problems.0.message") != "the row has the address of a person who was erased" || done.Int("data.problems.0.first_line") != 2 {
			t.Errorf("%s, rejects %s", done.Body, rejects)
		}
	}
	imported := w.Post("/v1/tam/preview/"+preview+"/import", nil).Is(202).Text("data.operation_id")
	app.Work()
	w.Get("/v1/tam/imports/"+imported).Has(200, `{"data": {"status": "completed", "accounts": {"created": 1}, "contacts": {"created": 1, "reused": 0, "skipped": 1}}}`)
	for _, list := range []string{"contacts", "contacts/trash", "people"} {
		if res := org.Read.Post("/v1/"+list+"/list", nil).Is(200); strings.Contains(strings.ToLower(string(res.Body)), "zeb") {
			t.Errorf("%s: %s", list, res.Body)
		}
	}

	// Deleting the suppressions ends it.
	for _, s := range org.Read.Post("/v1/suppressions/list", nil).Is(200).Value("data").([]any) {
		if s := s.(map[string]any); s["reason"] == "erased" {
			w.Delete("/v1/suppressions/"+s["id"].(string)).Fails(403, "forbidden", "")
			org.Admin.Delete("/v1/suppressions/" + s["id"].(string)).Is(204)
		}
	}
	w.Post("/v1/contacts", map[string]any{"email": email}).Is(201)
	w.Patch("/v1/contacts/"+other, map[string]any{"email": second}).Is(200)
}

// TestEraseAddresses checks whom an erasure takes for the person, and from whom it only takes an address.
func TestEraseAddresses(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	w := org.Write
	one := w.Post("/v1/contacts", `{"email": "info@globex.example", "first_name": "Ann", "last_name": "Lee", "notes": "first"}`).Is(201).ID()
	two := w.Post("/v1/contacts", `{"email": "INFO@globex.example", "first_name": "Bo", "last_name": "Chen"}`).Is(201).ID()
	op := erase(org, "info@globex.example", false)
	for _, id := range []string{one, two} {
		w.Get("/v1/contacts/"+id).Has(200, `{"data": {"email": null}}`)
		if left := fmt.Sprint(op.Value("data.left")); !strings.Contains(left, "field:email id:"+id) {
			t.Errorf("left lacks %s: %s", id, op.Body)
		}
	}
	w.Get("/v1/contacts/"+one).Has(200, `{"data": {"first_name": "Ann", "last_name": "Lee", "notes": "first"}}`)
	w.Post("/v1/contacts", `{"email": "info@globex.example"}`).Fails(409, "erased", "")

	// Another address finds the person, and each is erased. Somebody else who has one of them loses it.
	person := w.Post("/v1/contacts", `{"email": "bea@globex.example", "other_emails": ["bea@home.example", "sales@globex.example"], "other_phones": ["+49 30 5550100"],
		"first_name": "Beatrice", "last_name": "Hall"}`).Is(201).ID()
	twin := w.Post("/v1/contacts", `{"email": "bea@globex.example", "first_name": "Bea", "last_name": "Hall"}`).Is(201).ID()
	spouse := w.Post("/v1/contacts", `{"email": "carl@home.example", "other_emails": ["BEA@globex.example"], "first_name": "Carl", "last_name": "Hall", "notes": "Bea has +49 30 5550100"}`).Is(201).ID()
	op = erase(org, "Bea@Home.example", false)
	w.Get("/v1/contacts/"+person).Fails(404, "not_found", "")
	w.Get("/v1/contacts/"+twin).Fails(404, "not_found", "")
	w.Get("/v1/contacts/"+spouse).Has(200, `{"data": {"email": "carl@home.example", "other_emails": [], "notes": "Bea has [erased]"}}`)
	if left := fmt.Sprint(op.Value("data.left")); !strings.Contains(left, "id:"+spouse) {
		t.Errorf("left lacks the spouse: %s", op.Body)
	}
	for _, body := range []string{`{"email": "bea@home.example"}`, `{"email": "new@x.example", "other_emails": ["x@x.example", "bea@globex.example"]}`} {
		w.Post("/v1/contacts", body).Fails(409, "erased", "")
	}
	w.Patch("/v1/contacts/"+spouse, `{"other_emails": ["bea@home.example"]}`).Fails(409, "erased", "")
	w.Post("/v1/contacts", `{"email": "sales@globex.example"}`).Is(201)

	// Two names at the address that is given are both erased.
	first := w.Post("/v1/contacts", `{"email": "lee@home.example", "first_name": "Ann", "last_name": "Lee"}`).Is(201).ID()
	other := w.Post("/v1/contacts", `{"email": "lee@home.example", "first_name": "Bo", "last_name": "Lee"}`).Is(201).ID()
	erase(org, "lee@home.example", false)
	w.Get("/v1/contacts/"+first).Fails(404, "not_found", "")
	w.Get("/v1/contacts/"+other).Fails(404, "not_found", "")
}
