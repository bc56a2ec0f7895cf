package admin_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"prospector/internal/admin"
	"prospector/internal/apptest"
	"prospector/internal/catalog"
	"prospector/internal/rows"
	"prospector/store"
)

// asciiLower returns a copy in lower case, of the same length.
func asciiLower(b []byte) []byte {
	out := bytes.Clone(b)
	for i, c := range out {
		if c >= 'A' && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return out
}

// indexOf returns where the text is in b, in any case or in base64, or -1. Stored answers to requests are in base64.
func indexOf(b []byte, text string) int {
	if at := bytes.Index(asciiLower(b), asciiLower([]byte(text))); at >= 0 {
		return at
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			// The first and the last characters also depend on the bytes around the text.
			encoded := encoding.EncodeToString([]byte(strings.Repeat("-", shift) + text))
			first, last := (shift*8+5)/6, (shift+len(text))*8/6
			if at := bytes.Index(b, []byte(encoded[first:last])); at >= 0 {
				return at
			}
		}
	}
	return -1
}

// mentions returns the buckets of the organization with a value that contains the text.
func mentions(org *apptest.Org, text string) (buckets []string) {
	bucket := ""
	for line := range strings.Lines(org.Dump()) {
		if name, _, is := strings.Cut(line, " ("); is && !strings.HasPrefix(line, " ") {
			bucket = name
		} else if indexOf([]byte(line), text) >= 0 && !slices.Contains(buckets, bucket) {
			buckets = append(buckets, bucket)
		}
	}
	return buckets
}

// contains returns the files below dir that contain the text in any case.
func contains(t *testing.T, dir, text string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Type()&fs.ModeSocket != 0 {
			return err
		}
		b, err := os.ReadFile(path)
		if at := indexOf(b, text); at >= 0 {
			files = append(files, fmt.Sprintf("%s near %q", path, b[max(0, at-300):min(len(b), at+60)]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// countsOf returns what an erasure has erased, by kind.
func countsOf(e admin.Erased) string {
	var kinds []string
	for _, of := range e.Erased {
		kinds = append(kinds, fmt.Sprint(of.Kind, " ", of.Count))
	}
	return strings.Join(kinds, ", ")
}

// TestErase searches the files of the data directory for a person who was erased.
func TestErase(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	w := org.Write
	const email, first, last = "zebulon.quixotrix@globex.example", "Zebulon", "Quixotrix"
	const oldEmail, phone = "zq@initech.example", "+49 30 5550199"
	app.Catalog([]catalog.Company{{ID: "c1", Name: "Globex", Website: "globex.example"}}, []catalog.Person{
		{ID: "p1", CompanyID: "c1", FirstName: first, LastName: last, Email: email, Title: "CEO"}})
	preview := w.Post("/v1/tam/preview", `{"request_id": "0191d8a0-0000-7000-8000-000000000001", "company_filters": {}}`).Is(202).Text("data.preview_id")
	app.Work()
	body := map[string]any{"email": email, "first_name": first, "last_name": last, "phone_number": phone, "notes": "Likes bees"}
	old := map[string]any{"email": oldEmail, "first_name": first, "last_name": last, "external_id": "crm-Quixotrix"}
	org.Admin.Post("/v1/webhooks/subscriptions", `{"url": "http://127.0.0.1:1/in", "triggers": ["*"]}`).Is(201)
	contact := w.Do("POST", "/v1/contacts", body, "Idempotency-Key", "k-1").Is(201).ID()
	twin := w.Post("/v1/contacts", body).Is(201).ID()
	merged := w.Do("POST", "/v1/contacts", old, "Idempotency-Key", "k-2").Is(201).ID()
	w.Post("/v1/contacts/"+contact+"/merge", map[string]any{"ids": []string{merged}}).Is(200)
	w.Delete("/v1/contacts/" + twin).Is(204)
	other := w.Post("/v1/contacts", `{"email": "homer@globex.example", "first_name": "Homer", "notes": "Works for Zebulon Quixotrix"}`).Is(201).ID()
	w.Post("/v1/tasks", map[string]any{"title": "Call Zebulon Quixotrix", "contact_id": contact}).Is(201)
	org.Admin.Post("/v1/suppressions", map[string]any{"email": "Zebulon.Quixotrix@GLOBEX.example"}).Is(201)
	org.Admin.Delete("/v1/suppressions/" + org.Admin.Post("/v1/suppressions/list", `{}`).Is(200).Text("data.0.id")).Is(204)
	audience := w.Post("/v1/audiences", map[string]any{"name": "All", "contact_ids": []string{contact, other}}).Is(201).ID()
	template := w.Post("/v1/sequence-templates", `{"name": "One", "steps": [{"index": 0, "type": "auto_email", "hour": 9, "subject": "Hello", "message": "Hello {{recipient.first_name}}"},
		{"index": 1, "type": "call", "hour": 9, "subject": "Call {{recipient.first_name}}", "message": "at {{recipient.phone_number}}"}]}`).Is(201).ID()
	campaign := w.Post("/v1/campaigns", map[string]any{"name": "Mail", "status": "active", "template_id": template, "audience_ids": []string{audience},
		"owner_id": org.User, "missing_values": "send"}).Is(201).ID()
	w.Patch("/v1/contacts/"+contact, `{"title": "CEO"}`).Is(200)
	// What is not in the records any more is in their histories, and in operations.
	past := w.Post("/v1/tasks", map[string]any{"title": "Ask Zebulon Quixotrix", "notes": strings.Repeat("Zebulon Quixotrix, ", 50), "contact_id": contact}).Is(201).ID()
	w.Patch("/v1/tasks/"+past, `{"title": "Ask", "notes": null}`).Is(200)
	w.Patch("/v1/contacts/"+other, map[string]any{"location": "With " + first + " " + last}).Is(200)
	w.Patch("/v1/contacts/"+other, `{"location": null}`).Is(200)
	w.Patch("/v1/contacts/"+contact, `{"last_name": "Q"}`).Is(200)
	w.Patch("/v1/contacts/"+contact, map[string]any{"last_name": last}).Is(200)
	bulk := w.Post("/v1/contacts/bulk", map[string]any{"ids": []string{other}, "set": map[string]any{"notes": "Works for Zebulon Quixotrix", "title": "CTO"}}).Is(202).ID()
	imported := w.Post("/v1/imports", apptest.NewForm("First Name,Last Name,E-Mail,Tags\nZebulon,Quixotrix,not an address; or \"\"?,\nHomer,,nobody,\n\"Marge\nMarge\",Simpson,marge@x.example,Zebulon Quixotrix\n",
		`{"entity": "contacts", "on_bad_value": "skip_row"}`)).Is(202).ID()
	app.Work()
	if n := w.Post("/v1/tasks/list", `{"filters": [{"field": "notes", "condition": "contains", "value": "5550199"}]}`).Is(200).Int("pagination.total_count"); n != 1 {
		t.Fatalf("the campaign created %d tasks", n)
	}
	rejected := string(w.Get("/v1/imports/" + imported + "/rejects").Is(200).Body)
	if !strings.Contains(rejected, "Zebulon") {
		t.Fatalf("rejected are %s", rejected)
	}
	org.Admin.Post("/v1/suppressions", map[string]any{"email": email}).Is(201)
	for _, bucket := range []string{"contacts.log", "contacts.rec", "contacts-merged.rec", "contacts-trash.rec", "file_imports.rec", "file_imports.rejects.part", "idempotency.rec",
		"messages.rec", "previews.members.part", "sequences.rec", "suppressions.rec", "tasks.rec", "webhook_events.part"} {
		if !slices.Contains(mentions(org, last), bucket) {
			t.Errorf("%s never had the person", bucket)
		}
	}
	app.Stop()
	texts := []string{email, oldEmail, first, last, phone}
	for _, text := range texts {
		if contains(t, app.Config.DataDir, text) == nil {
			t.Fatalf("the data directory never had %q", text)
		}
	}

	by := admin.Caller{Config: app.Config, Progress: func(int, int) {}}
	in := admin.EraseInput{Org: org.ID.String(), Email: "ZEBULON.quixotrix@globex.example"}
	counted, err := admin.Erase.Run(context.Background(), by, in)
	if got := countsOf(counted); err != nil || !strings.Contains(got, "contacts 2, contacts-trash 1, ") || !strings.Contains(got, "messages 1, ") || !strings.Contains(got, "people 1, preview_members 1, ") {
		t.Fatalf("counted %+v, %v", counted, err)
	}
	in.Confirmed = true
	// What the erasure reports is what it has counted before.
	erased, err := admin.Erase.Run(context.Background(), by, in)
	if err != nil || countsOf(erased) != countsOf(counted) || !reflect.DeepEqual(erased.Left, counted.Left) {
		t.Fatalf("erased %+v, %v", erased, err)
	}
	if again, err := admin.Erase.Run(context.Background(), by, in); err != nil || len(again.Erased)+len(again.Left) > 0 {
		t.Errorf("erased %+v again, %v", again, err)
	}
	for _, bad := range []admin.EraseInput{{Org: org.ID.String(), Email: "nobody@globex.example"}, {Org: org.ID.String(), Email: "Zebulon"},
		{Org: org.ID.String()}, {Org: "Nowhere", Email: email}} {
		bad.Confirmed = true
		if _, err := admin.Erase.Run(context.Background(), by, bad); err == nil {
			t.Errorf("%+v is not refused", bad)
		}
	}
	if done, err := admin.Compact(app.Config); !done || err != nil {
		t.Fatal(done, err)
	}
	for _, text := range texts {
		if files := contains(t, app.Config.DataDir, text); files != nil {
			t.Errorf("%q is in %q", text, files)
		}
	}

	app.Start()
	err = app.Store.View(org.ID, func(tx *store.Tx) error {
		return app.Verify(tx, func(_ bool, format string, args ...any) { t.Errorf("check: "+format, args...) })
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Get("/v1/contacts/"+contact).Fails(404, "not_found", "")
	w.Get("/v1/contacts/"+other).Has(200, `{"data": {"first_name": "Homer", "notes": "Works for [erased]"}}`)
	w.Post("/v1/tasks/list", `{"sort": "title"}`).Has(200, `{"data": [{"title": "Ask"}, {"title": "Call [erased]"}, {"title": "Call: Homer"}]}`)
	w.Get("/v1/tasks/"+past+"/history").Has(200, `{"data": [{"fields": ["contact_id"]}, {"fields": ["title", "notes"], "changes": {}}, {"change": "created"}]}`)
	undo := w.Post("/v1/operations/"+bulk+"/undo", nil).Is(202).ID()
	app.Work()
	w.Get("/v1/operations/"+undo).Has(200, `{"data": {"status": "completed"}}`)
	w.Get("/v1/tam/preview/" + preview).Is(200)
	if kept := string(w.Get("/v1/imports/" + imported + "/rejects").Is(200).Body); !strings.Contains(kept, "Homer") || strings.Count(kept, "\n") != 2 {
		t.Errorf("the rejects are %q, and were %q", kept, rejected)
	}
	org.Admin.Post("/v1/suppressions/list", `{}`).Has(200, `{"data": [{"email": null, "domain": null, "reason": "erased"}, {"email": null, "domain": null, "reason": "erased"}]}`)

	// The answers to earlier requests are gone, the addresses stay suppressed, and the person stays out of the catalog.
	w.Do("POST", "/v1/contacts", old, "Idempotency-Key", "k-2").Fails(409, "erased", "")
	w.Post("/v1/contacts", map[string]any{"email": "Zebulon.Quixotrix@globex.example"}).Fails(409, "erased", "")
	w.Post("/v1/campaigns/"+campaign+"/enroll", map[string]any{"audience_name": "Again", "contact_ids": []string{other}}).Is(200)
	app.Work()
	if n := w.Post("/v1/outbox/list", `{}`).Is(200).Int("pagination.total_count"); n != 1 {
		t.Errorf("%d messages", n)
	}
	table, err := rows.Open(strings.NewReader("id,company_id,last_name,email\np9,c1,"+last+","+email+"\n"), rows.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := app.Service.Catalog.ImportPeople(context.Background(), app.Store, table, catalog.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	w.Post("/v1/people/list", `{}`).Has(200, `{"pagination": {"total_count": 0}}`)
}

// countdown is a context that ends after a number of checks.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestEraseInterrupted interrupts erasures at every point and repeats them.
func TestEraseInterrupted(t *testing.T) {
	app := apptest.New(t)
	by := admin.Caller{Config: app.Config, Progress: func(int, int) {}}
	interrupted := 0
	for at := 0; ; at++ {
		org := app.Org(fmt.Sprint("Acme ", at))
		org.Write.Post("/v1/contacts", `{"email": "zeb@globex.example", "first_name": "Zebulon", "last_name": "Quixotrix"}`).Is(201)
		account := org.Write.Post("/v1/accounts", `{"name": "Globex", "notes": "Ask Zebulon Quixotrix"}`).Is(201).ID()
		app.Stop()
		in := admin.EraseInput{Org: org.ID.String(), Email: "zeb@globex.example", Confirmed: true}
		_, first := admin.Erase.Run(&countdown{context.Background(), at}, by, in)
		if first != nil {
			interrupted++
			if _, err := admin.Erase.Run(context.Background(), by, in); err != nil {
				t.Fatalf("after %d checks and %v: %v", at, first, err)
			}
		}
		app.Start()
		org.Read.Get("/v1/accounts/"+account).Has(200, `{"data": {"notes": "Ask [erased]"}}`)
		org.Read.Post("/v1/contacts/list", `{}`).Has(200, `{"pagination": {"total_count": 0}}`)
		if first == nil {
			break
		}
	}
	if interrupted < 5 {
		t.Errorf("%d erasures were interrupted", interrupted)
	}
}

// TestEraseOddPhones erases people whose phone numbers occur in ids, times and what replaces them.
func TestEraseOddPhones(t *testing.T) {
	app := apptest.New(t)
	by := admin.Caller{Config: app.Config, Progress: func(int, int) {}}
	for i, phone := range []string{"erased", "[erased]", "2026", "2026-03-02", "0000000"} {
		org := app.Org(fmt.Sprint("Acme ", i))
		org.Write.Post("/v1/contacts", map[string]any{"email": "zeb@globex.example", "phone_number": phone}).Is(201)
		body := map[string]any{"name": "Globex", "notes": "Mail zeb@globex.example, since 2026"}
		account := org.Write.Post("/v1/accounts", body).Is(201)
		app.Stop()
		in := admin.EraseInput{Org: org.ID.String(), Email: "zeb@globex.example", Confirmed: true}
		if _, err := admin.Erase.Run(context.Background(), by, in); err != nil {
			t.Fatalf("%s: %v", phone, err)
		}
		app.Start()
		org.Read.Get("/v1/accounts/"+account.ID()).Has(200, `{"data": {"notes": "Mail [erased], since 2026", "created_at": "`+account.Text("data.created_at")+`"}}`)
	}
}

// TestEraseNobody refuses what is no address, and one that nothing mentions, which is probably mistyped.
func TestEraseNobody(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	org.Write.Post("/v1/contacts", `{"email": "zeb@globex.example"}`).Is(201)
	app.Stop()
	by := admin.Caller{Config: app.Config, Progress: func(int, int) {}}
	for email, want := range map[string]string{
		"Zebulon Quixotrix":   `"Zebulon Quixotrix" is not an email address`,
		"zebb@globex.example": "nothing mentions zebb@globex.example; nothing was changed",
	} {
		for _, confirmed := range []bool{false, true} {
			_, err := admin.Erase.Run(context.Background(), by, admin.EraseInput{Org: org.ID.String(), Email: email, Confirmed: confirmed})
			if err == nil || admin.Message(err) != want {
				t.Errorf("%s: %v, want %s", email, err, want)
			}
		}
	}
	in := admin.EraseInput{Org: org.ID.String(), Email: "zeb@globex.example", Confirmed: true}
	for range 2 { // repeating is no error
		if _, err := admin.Erase.Run(context.Background(), by, in); err != nil {
			t.Error(err)
		}
	}
	app.Start()
	if n := org.Admin.Post("/v1/suppressions/list", `{}`).Is(200).Int("pagination.total_count"); n != 1 {
		t.Errorf("%d suppressions", n)
	}
}

// TestErasePreview checks that nothing of a person stays in a Preview, and that the company does.
func TestErasePreview(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	app.Catalog([]catalog.Company{{ID: "c1", Name: "Globex", Website: "globex.example", Country: "Germany"}}, []catalog.Person{
		{ID: "p1", CompanyID: "c1", FirstName: "Zeb", LastName: "Quixotrix", Email: "zeb@globex.example", Title: "Bee Keeper", Seniority: "C-Level",
			Department: "Apiary", Country: "Germany", Location: "Bielefeld", PhoneNumber: "1", LinkedinURL: "linkedin.com/in/zeb"}})
	preview := org.Write.Post("/v1/tam/preview", `{"request_id": "0191d8a0-0000-7000-8000-000000000001", "company_filters": {}}`).Is(202).Text("data.preview_id")
	app.Work()
	in := admin.EraseInput{Org: org.ID.String(), Email: "zeb@globex.example", Confirmed: true}
	app.Stop()
	if done, err := admin.Erase.Run(t.Context(), admin.Caller{Config: app.Config, Progress: func(int, int) {}}, in); err != nil || countsOf(done) != "people 1, preview_members 1" {
		t.Fatal(done, err)
	}
	app.Start()
	org.Read.Get("/v1/tam/preview/"+preview+"/members").Has(200, `{"data": {"members": [{"kind": "company", "data": {"name": "Globex"}}, {
		"kind": "person", "source_id": null, "company_id": null, "data": {"id": "[erased]", "company_id": null, "first_name": null, "last_name": null,
			"title": null, "seniority": null, "department": null, "email": null, "phone_number": null, "linkedin_url": null, "country": null,
			"location": null, "company_name": null}}]}}`)
}
