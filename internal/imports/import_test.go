package imports_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/service"
	"prospector/store"
)

const path = "/v1/imports"

// people returns a CSV file with n contacts, of which every tenth has no valid address.
func people(n int) string {
	var b strings.Builder
	b.WriteString("email,first_name,title\n")
	for i := range n {
		if i%10 == 9 {
			fmt.Fprintf(&b, "nobody %d,,CEO\n", i)
			continue
		}
		fmt.Fprintf(&b, "p%d@x.example,P%d,CEO\n", i, i)
	}
	return b.String()
}

// files returns the files of unfinished imports.
func files(t *testing.T, app *apptest.App) []string {
	t.Helper()
	entries, err := os.ReadDir(app.Config.ImportDir())
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// counts returns the counts of an import: rows, added, those that found a record, skipped.
func counts(r *apptest.Response) string {
	return fmt.Sprint(r.Int("data.rows"), r.Int("data.added"), r.Int("data.updated")+r.Int("data.unchanged"), r.Int("data.skipped"))
}

// TestImport imports a file with its options before and after it.
func TestImport(t *testing.T) {
	app := apptest.New(t)
	for _, fileFirst := range []bool{false, true} {
		org := app.Org(fmt.Sprint("Acme ", fileFirst))
		form := apptest.NewForm("Email;First Name\nada@x.example;Ada\nno address;\n", `{"entity": "contacts"}`)
		form.FileFirst, form.Name = fileFirst, `C:\exports\people.csv`
		accepted := org.Write.Post(path, form).Is(202)
		id := accepted.ID()
		if got := accepted.Text("data.status"); got != "running" || accepted.Text("data.encoding") != "utf-8" || accepted.Text("data.delimiter") != ";" {
			t.Errorf("%s", accepted.Body)
		}
		if n := len(files(t, app)); n != 1 {
			t.Errorf("%d files are stored, want 1", n)
		}
		app.Work()
		done := org.Read.Get(path + "/" + id).Is(200)
		if done.Text("data.status") != "completed" || counts(done) != "2 1 0 1" || done.Text("data.file_name") != "people.csv" ||
			done.Value("data.progress") != 1.0 || done.Text("data.user_id") != org.User.String() || done.Value("data.finished_at") == nil {
			t.Errorf("%s", done.Body)
		}
		if got := done.Text("data.problems.0.message"); done.Int("data.problems.0.first_line") != 3 || !strings.Contains(got, "no address") && got == "" {
			t.Errorf("%s", done.Body)
		}
		if left := files(t, app); len(left) != 0 {
			t.Errorf("the files %v are left", left)
		}
		if emails := org.Read.Post("/v1/contacts/list", nil).Is(200).Column("email"); !slices.Equal(emails, []string{"ada@x.example"}) {
			t.Errorf("the contacts are %v", emails)
		}
		listed := org.Read.Post(path+"/list", `{"filters": [{"field": "status", "condition": "is", "value": "completed"}, {"field": "added", "condition": "equals", "value": 1}]}`).Is(200)
		if ids := listed.Column("id"); !slices.Equal(ids, []string{id}) {
			t.Errorf("the list has %v", ids)
		}
		rejects := string(org.Read.Get(path + "/" + id + "/rejects").Is(200).Body)
		if !strings.Contains(rejects, "Email;First Name;why skipped\n") || !strings.Contains(rejects, "no address;;") || strings.Contains(rejects, "ada@") {
			t.Errorf("the rejects are %q", rejects)
		}
		org.Write.Post(path+"/"+id+"/cancel", nil).Fails(409, "import_not_running", "already completed")
	}
}

// TestRefusedImports checks that what is wrong in the options or the file is refused, and that nothing of it stays.
func TestRefusedImports(t *testing.T) {
	app := apptest.New(t, func(c *service.Config) { c.Limits.ImportBytes = 1000 })
	org := app.Org("Acme")
	const file = "email\nada@x.example\n"
	for name, c := range map[string]struct {
		form       apptest.Form
		status     int
		code, says string
	}{
		"no options":        {apptest.Form{File: []byte(file)}, 422, "validation_failed", "options: is required"},
		"no file":           {apptest.Form{Options: []byte(`{"entity": "contacts"}`)}, 422, "validation_failed", "file: is required"},
		"no entity":         {apptest.NewForm(file, `{}`), 422, "validation_failed", "entity: required"},
		"unknown entity":    {apptest.NewForm(file, `{"entity": "tasks"}`), 422, "validation_failed", `entity: "tasks" is not one of: contacts, accounts, suppressions`},
		"unknown option":    {apptest.NewForm(file, `{"entity": "contacts", "match": "email"}`), 422, "validation_failed", "match: unknown field"},
		"no JSON":           {apptest.NewForm(file, `entity=contacts`), 400, "invalid_json", "JSON object"},
		"mapping":           {apptest.NewForm(file, `{"entity": "contacts", "mapping": {"email": "shoe_size"}}`), 422, "validation_failed", `"shoe_size"`},
		"missing column":    {apptest.NewForm(file, `{"entity": "contacts", "mapping": {"Mail": "email"}}`), 422, "validation_failed", `"Mail"`},
		"match_on":          {apptest.NewForm(file, `{"entity": "contacts", "match_on": "title"}`), 422, "validation_failed", `match_on`},
		"locale":            {apptest.NewForm(file, `{"entity": "contacts", "locale": "klingon please"}`), 422, "validation_failed", `locale`},
		"create_missing":    {apptest.NewForm(file, `{"entity": "contacts", "create_missing": ["users"]}`), 422, "validation_failed", `create_missing[0]: "users"`},
		"on_bad_value":      {apptest.NewForm(file, `{"entity": "contacts", "on_bad_value": "guess"}`), 422, "validation_failed", `on_bad_value: "guess"`},
		"dry_run":           {apptest.NewForm(file, `{"entity": "contacts", "dry_run": "yes"}`), 422, "validation_failed", `dry_run`},
		"empty":             {apptest.NewForm("", `{"entity": "contacts"}`), 422, "validation_failed", "file: the file is empty"},
		"blank":             {apptest.NewForm("\n \n", `{"entity": "contacts"}`), 422, "validation_failed", "file: the file is empty"},
		"no known column":   {apptest.NewForm("pet,shoe\nRex,39\n", `{"entity": "contacts"}`), 422, "validation_failed", "pet, shoe"},
		"too large":         {apptest.NewForm("email\n"+strings.Repeat("ada@x.example\n", 100), `{"entity": "contacts"}`), 413, "body_too_large", "the file must be at most 1000 bytes"},
		"far too large":     {apptest.NewForm(strings.Repeat("ada@x.example\n", 300_000), `{"entity": "contacts"}`), 413, "body_too_large", "the file must be at most 1000 bytes"},
		"too large options": {apptest.NewForm(file, `{"entity": "`+strings.Repeat("x", 1<<20)+`"}`), 413, "body_too_large", "options must be at most"},
	} {
		for _, fileFirst := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", fileFirst), func(t *testing.T) {
				c.form.FileFirst = fileFirst
				org.Write.In(t).Post(path, c.form).Fails(c.status, c.code, c.says)
			})
		}
	}
	if left := files(t, app); len(left) > 0 {
		t.Errorf("the files %v are left", left)
	}
	org.Read.Post(path, apptest.NewForm(file, `{"entity": "contacts"}`)).Fails(403, "forbidden", "write")
	org.Write.Post(path, apptest.NewForm(file, `{"entity": "suppressions"}`)).Fails(403, "forbidden", "admin")
	form := "--b\r\nContent-Disposition: form-data; name=\"colour\"\r\n\r\nred\r\n--b--\r\n"
	org.Write.Do("POST", path, form, "Content-Type", "multipart/form-data; boundary=b").Fails(422, "validation_failed", "colour: unknown part")
	form = strings.Repeat("--b\r\nContent-Disposition: form-data; name=\"options\"\r\n\r\n{\"entity\": \"contacts\"}\r\n", 2) + "--b--\r\n"
	org.Write.Do("POST", path, form, "Content-Type", "multipart/form-data; boundary=b").Fails(422, "validation_failed", "options: given more than once")
	org.Write.Do("POST", path, strings.TrimSuffix(form, "--b--\r\n"), "Content-Type", "multipart/form-data; boundary=b").Fails(422, "validation_failed", "more than once")
	org.Write.Do("POST", path, form, "Content-Type", "multipart/form-data; boundary=b", "Content-Encoding", "gzip").Fails(415, "unsupported_media_type", "content encoding")
	app.Clock.Advance(time.Hour)
	app.Work()
	for _, entity := range []string{"imports", "contacts"} {
		if n := org.Read.Post("/v1/"+entity+"/list", nil).Is(200).Int("pagination.total_count"); n > 0 || len(files(t, app)) > 0 {
			t.Errorf("%d %s and the files %v are left", n, entity, files(t, app))
		}
	}
}

// TestTooManyImports has as many unfinished imports as an organization may have.
func TestTooManyImports(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	form := apptest.NewForm("email\nada@x.example\n", `{"entity": "contacts"}`)
	for range 20 {
		org.Write.Post(path, form).Is(202)
	}
	org.Write.Post(path, form).Fails(409, "too_many_imports", "20 imports")
	org.Read.Post(path+"/inspect", form).Fails(409, "too_many_imports", "20 imports")
	other.Write.Post(path, form).Is(202)
	app.Work()
	org.Write.Post(path, form).Is(202)
}

// TestIdempotentImport repeats an import with the same key, with the parts in another order. The file is imported once.
func TestIdempotentImport(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	form := apptest.NewForm("email\nada@x.example\n", `{"entity": "contacts", "match_on": "none"}`)
	first := org.Write.Do("POST", path, form, "Idempotency-Key", "k").Is(202)
	form.FileFirst = true
	again := org.Write.Do("POST", path, form, "Idempotency-Key", "k").Is(202)
	if string(again.Body) != string(first.Body) || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("%s\n%s", first.Body, again.Body)
	}
	other := form
	other.File = []byte("email\nbob@x.example\n")
	org.Write.Do("POST", path, other, "Idempotency-Key", "k").Fails(409, "idempotency_key_reused", "different request")
	app.Work()
	org.Write.Do("POST", path, form, "Idempotency-Key", "k").Is(202) // its file is gone
	app.Work()
	if n := org.Read.Post("/v1/contacts/list", nil).Is(200).Int("pagination.total_count"); n != 1 || len(files(t, app)) > 0 {
		t.Errorf("%d contacts, files %v", n, files(t, app))
	}
	// A refused import is not remembered.
	org.Write.Do("POST", path, apptest.NewForm("", `{"entity": "contacts"}`), "Idempotency-Key", "k2").Fails(422, "validation_failed", "empty")
	org.Write.Do("POST", path, form, "Idempotency-Key", "k2").Is(202)
}

// TestOtherOrganizations checks that imports are not found by others.
func TestOtherOrganizations(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	id := org.Write.Post(path, apptest.NewForm("email\nada@x.example\n", `{"entity": "contacts"}`)).Is(202).ID()
	other.Read.Get(path+"/"+id).Fails(404, "not_found", "")
	other.Read.Get(path+"/"+id+"/rejects").Fails(404, "not_found", "")
	other.Write.Post(path+"/"+id+"/cancel", nil).Fails(404, "not_found", "")
	app.Work()
	if got := org.Read.Get(path + "/" + id).Is(200).Text("data.status"); got != "completed" {
		t.Error(got)
	}
	if n := other.Read.Post(path+"/list", nil).Is(200).Int("pagination.total_count"); n != 0 {
		t.Errorf("%d imports", n)
	}
}

// runUntil runs the jobs until the import has some rows, and returns what stops them.
func runUntil(t *testing.T, app *apptest.App, org *apptest.Org, id string) (ctx context.Context, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		app.Worker.Once(ctx)
	}()
	for late := time.Now().Add(apptest.Timeout); rowsOf(t, app, org, id) == 0; {
		if time.Now().After(late) {
			t.Fatal("the import does not begin")
		}
	}
	return ctx, func() {
		cancel()
		apptest.Receive(t, ended, "the end of the job")
	}
}

func rowsOf(t *testing.T, app *apptest.App, org *apptest.Org, id string) (n int) {
	t.Helper()
	err := app.Store.View(org.ID, func(tx *store.Tx) error {
		doc, err := app.Imports.Imports.Get(tx, uuid.MustParse(id))
		n = doc.Record.Rows
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const many = 30_000

// TestCancelImport cancels an import while it runs. The counts are those of the contacts.
func TestCancelImport(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	id := org.Write.Post(path, apptest.NewForm(people(many), `{"entity": "contacts"}`)).Is(202).ID()
	_, stop := runUntil(t, app, org, id)
	got := org.Write.Post(path+"/"+id+"/cancel", nil).Is(200)
	stop()
	if got.Text("data.status") != "cancelled" {
		t.Errorf("%s", got.Body)
	}
	app.Work()
	after := org.Read.Get(path + "/" + id).Is(200)
	n := org.Read.Post("/v1/contacts/list", nil).Is(200).Int("pagination.total_count")
	if counts(after) != counts(got) || after.Int("data.added") != n || n == 0 || n >= many*9/10 || len(files(t, app)) > 0 {
		t.Errorf("%d contacts, but %s", n, after.Body)
	}
	org.Write.Post(path+"/"+id+"/cancel", nil).Fails(409, "import_not_running", "already cancelled")
}

// TestRestartedImport stops the service while an import runs. The import continues, and no row is imported twice.
func TestRestartedImport(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	id := org.Write.Post(path, apptest.NewForm(people(many), `{"entity": "contacts", "match_on": "none"}`)).Is(202).ID()
	_, stop := runUntil(t, app, org, id)
	stop()
	if n := rowsOf(t, app, org, id); n >= many {
		t.Fatal("the import was not interrupted")
	}
	app.Restart()
	app.Work()
	if got := org.Read.Get(path + "/" + id).Is(200); counts(got) != fmt.Sprint(many, many*9/10, 0, many/10) || got.Text("data.status") != "completed" {
		t.Errorf("%s", got.Body)
	}
	if n := org.Read.Post("/v1/contacts/list", nil).Is(200).Int("pagination.total_count"); n != many*9/10 {
		t.Errorf("%d contacts", n)
	}
	rejects := string(org.Read.Get(path + "/" + id + "/rejects").Is(200).Body)
	if n := strings.Count(rejects, "\n"); n != 1+many/10 || strings.Count(rejects, "nobody 19,") != 1 {
		t.Errorf("the rejects have %d lines", n)
	}
}

// TestMissingFile fails an import whose file is gone, as after a restore.
func TestMissingFile(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	id := org.Write.Post(path, apptest.NewForm(people(10), `{"entity": "contacts"}`)).Is(202).ID()
	if err := os.RemoveAll(app.Config.ImportDir()); err != nil {
		t.Fatal(err)
	}
	app.Restart()
	app.Work()
	got := org.Read.Get(path + "/" + id).Is(200)
	if got.Text("data.status") != "failed" || !strings.Contains(got.Text("data.failure_reason"), "no longer there") {
		t.Errorf("%s", got.Body)
	}
}

// TestRetention deletes an import with its rejects when it has been over for long enough.
func TestRetention(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	id := org.Write.Post(path, apptest.NewForm(people(10), `{"entity": "contacts"}`)).Is(202).ID()
	app.Work()
	app.Clock.Advance(29 * 24 * time.Hour)
	app.Work()
	org.Read.Get(path + "/" + id).Is(200)
	app.Clock.Advance(24 * time.Hour)
	app.Work()
	org.Read.Get(path+"/"+id).Fails(404, "not_found", "")
	if strings.Contains(org.Dump(), "nobody 9") {
		t.Error("the rejects are left")
	}
}

// TestDryRun compares a dry run with the import.
func TestDryRun(t *testing.T) {
	t.Run("alone", func(t *testing.T) {
		if parts := testDryRun(t, apptest.New(t)); parts != 4 { // a header and three batches
			t.Errorf("the rejects have %d parts, want 4", parts)
		}
	})
	t.Run("beside other writers", func(t *testing.T) {
		app := apptest.New(t)
		defer app.WriteAlways()()
		if parts := testDryRun(t, app); parts <= 4 {
			t.Errorf("the rejects have %d parts: other writers waited for whole batches", parts)
		}
	})
}

// testDryRun returns how many parts the rejects of the import have, one for each transaction that rejects rows.
func testDryRun(t *testing.T, app *apptest.App) (parts int) {
	org := app.Org("Acme")
	file := people(2500) + "p7@x.example,Again,CTO\nnew@x.example,New,CTO\nnew@x.example,New,CEO\n"
	dry := org.Write.Post(path, apptest.NewForm(file, `{"entity": "contacts", "dry_run": true}`)).Is(202).ID()
	app.Work()
	if n := org.Read.Post("/v1/contacts/list", nil).Is(200).Int("pagination.total_count"); n != 0 {
		t.Errorf("a dry run wrote %d contacts", n)
	}
	real := org.Write.Post(path, apptest.NewForm(file, `{"entity": "contacts"}`)).Is(202).ID()
	app.Work()
	a, b := org.Read.Get(path+"/"+dry).Is(200), org.Read.Get(path+"/"+real).Is(200)
	if counts(a) != counts(b) || counts(b) != "2503 2252 1 250" || fmt.Sprint(a.Value("data.problems")) != fmt.Sprint(b.Value("data.problems")) {
		t.Errorf("the dry run has %s, the import %s", counts(a), counts(b))
	}
	if ra, rb := org.Read.Get(path+"/"+dry+"/rejects"), org.Read.Get(path+"/"+real+"/rejects"); string(ra.Body) != string(rb.Body) {
		t.Error("the rejects differ")
	}
	err := app.Store.View(org.ID, func(tx *store.Tx) (err error) {
		parts, err = app.Imports.Rejects(tx, uuid.MustParse(real))
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return parts
}
