package imports_test

import (
	"fmt"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// imported imports a file of contacts, before that in a dry run, which must report the same, and returns the import.
func imported(t *testing.T, app *apptest.App, org *apptest.Org, entity, file, options string) (done *apptest.Response) {
	t.Helper()
	var reports []string
	for _, dry := range []bool{true, false} {
		form := apptest.NewForm(file, fmt.Sprintf(`{"entity": %q, "dry_run": %t%s}`, entity, dry, options))
		id := org.Admin.Post(path, form).Is(202).ID()
		app.Work()
		done = org.Read.Get(path+"/"+id).Has(200, `{"data": {"status": "completed"}}`)
		report := fmt.Sprint(counts(done), done.Value("data.unchanged"), done.Value("data.problems"))
		for _, c := range done.Value("data.changes").([]any) {
			change := c.(map[string]any)
			for _, s := range change["samples"].([]any) {
				delete(s.(map[string]any), "id") // unknown to a dry run if an earlier row adds the record
			}
			report += fmt.Sprint(change)
		}
		reports = append(reports, report)
	}
	if reports[0] != reports[1] {
		t.Errorf("the dry run reports\n%s\nand the import\n%s", reports[0], reports[1])
	}
	return done
}

// TestOnExisting checks what rows do to a contact that they find.
func TestOnExisting(t *testing.T) {
	app := apptest.New(t)
	const file = "Email,Job Title,Phone,Tags\nada@x.example,CTO,+49 30 1234567,Press\nnew@x.example,,,Press\n"
	const ada = `{"email": "ada@x.example", "title": "CEO", "first_name": "Ada", "tags": ["Fair"]}`
	n := 0
	for options, c := range map[string]struct{ counts, contact, tags string }{
		``:                              {`"added": 1, "updated": 1, "unchanged": 0, "skipped": 0`, `"title": "CTO", "phone_number": "+49 30 1234567"`, "Fair Press"},
		`, "on_existing": "overwrite"`:  {`"added": 1, "updated": 1, "unchanged": 0, "skipped": 0`, `"title": "CTO", "phone_number": "+49 30 1234567"`, "Fair Press"},
		`, "existing_tags": "replace"`:  {`"added": 1, "updated": 1, "unchanged": 0, "skipped": 0`, `"title": "CTO"`, "Press"},
		`, "on_existing": "fill_empty"`: {`"added": 1, "updated": 1, "unchanged": 0, "skipped": 0`, `"title": "CEO", "phone_number": "+49 30 1234567"`, "Fair Press"},
		`, "on_existing": "skip"`:       {`"added": 1, "updated": 0, "unchanged": 0, "skipped": 1`, `"title": "CEO", "phone_number": null`, "Fair"},
	} {
		n++
		org := app.Org(fmt.Sprint("Acme ", n))
		org.Admin.Post("/v1/tags", `{"name": "Fair", "color": "blue", "object_type": "contact"}`).Is(201)
		org.Admin.Post("/v1/tags", `{"name": "Press", "color": "blue", "object_type": "contact"}`).Is(201)
		id := org.Write.Post("/v1/contacts", ada).Is(201).ID()
		imported(t, app, org, "contacts", file, options).Has(200, `{"data": {`+c.counts+`}}`)
		contact := org.Read.Get("/v1/contacts/"+id).Has(200, `{"data": {"first_name": "Ada", `+c.contact+`}}`)
		var tags []string
		for _, tag := range contact.Value("data.tags").([]any) {
			tags = append(tags, org.Read.Get("/v1/tags/"+tag.(string)).Text("data.name"))
		}
		if strings.Join(tags, " ") != c.tags {
			t.Errorf("%s: the tags are %v, want %s", options, tags, c.tags)
		}
		// The same file again brings nothing new, and leaves no trace.
		before := org.Read.Get("/v1/contacts/" + id + "/history").Is(200)
		again := imported(t, app, org, "contacts", file, options)
		if got := fmt.Sprint(again.Value("data.updated"), again.Value("data.changes")); got != "0 []" {
			t.Errorf("%s: again %s", options, got)
		}
		if after := org.Read.Get("/v1/contacts/" + id + "/history").Is(200); len(after.Value("data").([]any)) != len(before.Value("data").([]any)) {
			t.Errorf("%s: the history is %s", options, after.Body)
		}
	}
	org := app.Org("Globex")
	org.Write.Post(path, apptest.NewForm(file, `{"entity": "contacts", "on_existing": "merge"}`)).Fails(422, "validation_failed", `on_existing: "merge" is not one of: overwrite, fill_empty, skip`)
	org.Write.Post(path, apptest.NewForm(file, `{"entity": "contacts", "existing_tags": "keep"}`)).Fails(422, "validation_failed", `existing_tags: "keep" is not one of: add, replace`)
}

// TestOptOutsOfExisting checks that an opt-out in a row is taken whatever the row does to the contact.
func TestOptOutsOfExisting(t *testing.T) {
	app := apptest.New(t)
	for _, existing := range []string{"overwrite", "fill_empty", "skip"} {
		org := app.Org(existing)
		id := org.Write.Post("/v1/contacts", `{"email": "ada@x.example", "title": "CEO"}`).Is(201).ID()
		imported(t, app, org, "contacts", "Email,Title,Unsubscribed\nada@x.example,CEO,yes\n", `, "on_existing": "`+existing+`"`).
			Has(200, `{"data": {"updated": 1, "changes": [{"field": "do_not_contact", "count": 1, "samples": [{"line": 2, "from": false, "to": true}]}]}}`)
		org.Read.Get("/v1/contacts/"+id).Has(200, `{"data": {"do_not_contact": true, "title": "CEO"}}`)
		if got := org.Read.Post("/v1/suppressions/list", nil).Is(200).Column("email"); len(got) != 1 {
			t.Errorf("%s: suppressed are %v", existing, got)
		}
	}
}

// TestChanges checks what an import reports of the changes that it makes, before it makes them.
func TestChanges(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	org.Write.Post("/v1/accounts", `{"name": "Globex"}`).Is(201)
	initech := org.Write.Post("/v1/accounts", `{"name": "Initech"}`).Is(201).ID()
	for i := range 7 {
		body := fmt.Sprintf(`{"email": "p%d@x.example", "title": "CEO", "account_id": %q}`, i, initech)
		org.Write.Post("/v1/contacts", body).Is(201)
	}
	var file strings.Builder
	file.WriteString("Email,Title,Company\n")
	for i := range 7 {
		fmt.Fprintf(&file, "p%d@x.example,%s,Globex\n", i, strings.Repeat("x", 190+i))
	}
	file.WriteString("p0@x.example,CEO,Globex\nnew@x.example,CEO,Globex\nNEW@x.example,CFO,Globex\n")
	done := imported(t, app, org, "contacts", file.String(), "")
	done.Has(200, `{"data": {"rows": 10, "added": 1, "updated": 9, "unchanged": 0, "skipped": 0}}`)
	fields := map[string]map[string]any{}
	for _, c := range done.Value("data.changes").([]any) {
		change := c.(map[string]any)
		fields[change["field"].(string)] = change
	}
	account, title, email := fields["account_id"], fields["title"], fields["email"]
	if account == nil || account["count"] != 7.0 || len(account["samples"].([]any)) != 5 {
		t.Fatalf("%v", fields)
	}
	if first := account["samples"].([]any)[0].(map[string]any); first["from"] != "Initech" || first["to"] != "Globex" || first["line"] != 2.0 {
		t.Errorf("%v", first)
	}
	if title["count"] != 9.0 || title["samples"].([]any)[0].(map[string]any)["from"] != "CEO" {
		t.Errorf("%v", title)
	}
	if s := email["samples"].([]any); email["count"] != 1.0 || s[0].(map[string]any)["to"] != "NEW@x.example" {
		t.Errorf("%v", email)
	}
}

// TestDryRunOfUpdates checks that a dry run of many batches knows what its earlier rows would have changed.
func TestDryRunOfUpdates(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	for i := range 40 {
		org.Write.Post("/v1/contacts", fmt.Sprintf(`{"email": "p%d@x.example", "first_name": "P%d", "external_id": "E%d"}`, i, i, i)).Is(201)
	}
	var file strings.Builder
	file.WriteString("External ID,Email,First Name,Title,Company,Company Website,Tags\n")
	for i := range 4200 {
		n := i % 60 // the first 40 exist
		switch i / 600 {
		case 0:
			fmt.Fprintf(&file, "E%d,p%d@x.example,P%d,CEO,Firm %d,,T%d\n", n, n, n, n%7, n%3)
		case 1:
			fmt.Fprintf(&file, "E%d,p%d@x.example,P%d,CEO,Firm %d,firm%d.example,\n", n, n, n, n%7, n%7)
		case 2: // another address, found by the id
			fmt.Fprintf(&file, "E%d,new%d@x.example,P%d,CTO,,firm%d.example,T%d\n", n, n, n, n%7, n%4)
		case 3: // the new address
			fmt.Fprintf(&file, ",new%d@x.example,P%d,CTO,,,\n", n, n)
		case 4: // the old address is nobody's any more
			fmt.Fprintf(&file, ",p%d@x.example,Q%d,CTO,,,\n", n, n)
		case 5: // an id that belongs to somebody else
			fmt.Fprintf(&file, "E%d,other%d@x.example,Zoe,,,,\n", n, n)
		default:
			fmt.Fprintf(&file, ",,Q%d,,,,\n", n)
		}
	}
	done := imported(t, app, org, "contacts", file.String(), `, "create_missing": ["accounts", "tags"]`)
	if done.Int("data.unchanged") == 0 || done.Int("data.updated") == 0 || done.Int("data.skipped") == 0 || done.Int("data.rows") != 4200 {
		t.Errorf("%s", done.Body)
	}
	done = imported(t, app, org, "suppressions", "Email\n"+strings.Repeat("a@x.example\nA@X.example\n", 700), "")
	if got := counts(done); got != "1400 1 1399 0" {
		t.Errorf("suppressions: %s", got)
	}
}

// TestFilledAccounts checks that a file of contacts fills the empty fields of the accounts that it names, and changes none.
func TestFilledAccounts(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	id := org.Write.Post("/v1/accounts", `{"name": "Globex", "industry": "Energy"}`).Is(201).ID()
	imported(t, app, org, "contacts", "Email,Company,Company Website,Industry,Company Country\na@x.example,Globex,globex.example,Software,France\n", "")
	org.Read.Get("/v1/accounts/"+id).Has(200, `{"data": {"name": "Globex", "industry": "Energy", "website": "globex.example", "country": "France"}}`)
}

// TestFoldedRows checks that a row with the external id of a merged contact only fills what is empty: its values are older.
func TestFoldedRows(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	into := org.Write.Post("/v1/contacts", `{"email": "ada@new.example", "first_name": "Ada", "title": "CEO", "external_id": "A"}`).Is(201).ID()
	from := org.Write.Post("/v1/contacts", `{"email": "ada@old.example", "first_name": "Ada", "title": "Clerk", "external_id": "B"}`).Is(201).ID()
	org.Write.Post("/v1/contacts/"+into+"/merge", `{"ids": ["`+from+`"]}`).Is(200)
	imported(t, app, org, "contacts", "External ID,Email,First Name,Title,Phone\nB,ada@old.example,Ada,Clerk,+49 30 1234567\n", "").
		Has(200, `{"data": {"added": 0, "updated": 1}}`)
	org.Read.Get("/v1/contacts/"+into).Has(200, `{"data": {"email": "ada@new.example", "title": "CEO", "external_id": "A", "phone_number": "+49 30 1234567"}}`)
}
