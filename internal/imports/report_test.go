package imports_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"prospector/internal/apptest"
)

// TestInspect describes files, and imports one with the mapping of the answer.
func TestInspect(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	const file = "Vorname;Nachname;E-Mail-Adresse;Kürzel\nAda;Marsh;ada@x.example;am\n"
	before := org.Dump()
	form := apptest.NewForm(file, `{"entity": "contacts"}`)
	got := org.Read.Post(path+"/inspect", form).Is(200)
	var in struct {
		Data struct {
			Encoding, Delimiter string
			Columns             []struct {
				Name, Field, Confidence string
				Samples                 []string
			}
			Mapping      map[string]string
			CustomFields []struct{ Column, Key string } `json:"custom_fields"`
		}
	}
	if err := json.Unmarshal(got.Body, &in); err != nil {
		t.Fatal(err)
	}
	if d := in.Data; d.Encoding != "utf-8" || d.Delimiter != ";" || len(d.Columns) != 4 || d.Columns[2].Name != "E-Mail-Adresse" || d.Columns[2].Field != "email" ||
		!slices.Equal(d.Columns[2].Samples, []string{"ada@x.example"}) || d.Columns[2].Confidence == "" || d.Columns[3].Field != "" ||
		d.Mapping["Vorname"] != "first_name" || len(d.CustomFields) != 1 || d.CustomFields[0].Column != "Kürzel" {
		t.Errorf("%s", got.Body)
	}
	form.FileFirst, form.Options = true, nil // contacts are the default
	if again := org.Read.Post(path+"/inspect", form).Is(200); fmt.Sprint(again.Value("data")) != fmt.Sprint(got.Value("data")) {
		t.Errorf("%s", again.Body)
	}
	// Only the beginning of a large file is read, whose last row may be incomplete.
	form.File = []byte(file + strings.Repeat("Bob;Fox;bob@x.example;bf\n", 400_000) + "Cut;")
	org.Read.Post(path+"/inspect", form).Is(200)
	org.Read.Post(path+"/inspect", apptest.NewForm("", `{}`)).Fails(422, "validation_failed", "file: the file is empty")
	org.Read.Post(path+"/inspect", apptest.NewForm(file, `{"entity": "tasks"}`)).Fails(422, "validation_failed", "entity")
	org.Read.Post(path+"/inspect", apptest.NewForm(strings.Repeat("a,", 20_000), `{}`)).Fails(422, "validation_failed", "file: header: more than 16384 cells")
	org.Read.Post(path+"/inspect", apptest.Form{Options: []byte(`{}`)}).Fails(422, "validation_failed", "file: is required")
	if left := files(t, app); len(left) > 0 || org.Dump() != before {
		t.Errorf("an inspection left %v", left)
	}
	options, err := json.Marshal(map[string]any{"entity": "contacts", "mapping": in.Data.Mapping})
	if err != nil {
		t.Fatal(err)
	}
	id := org.Write.Post(path, apptest.NewForm(file, string(options))).Is(202).ID()
	app.Work()
	if done := org.Read.Get(path + "/" + id).Is(200); counts(done) != "1 1 0 0" {
		t.Errorf("%s", done.Body)
	}
}

// TestOwnExport exports records and imports them again, which adds nothing and changes nothing.
func TestOwnExport(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account := org.Write.Post("/v1/accounts", `{"name": "=Initech", "website": "initech.example", "employee_count": 250}`).Is(201).ID()
	org.Write.Post("/v1/accounts", `{"name": "No website", "notes": "a\nb"}`).Is(201)
	org.Write.Post("/v1/contacts", `{"email": "ada@initech.example", "first_name": "Ada", "account_id": "`+account+`", "title": "+VP"}`).Is(201)
	org.Write.Post("/v1/contacts", `{"first_name": "Bob", "last_name": "Fox"}`).Is(201)
	for _, entity := range []string{"accounts", "contacts"} {
		for _, format := range []string{"csv", "jsonl"} {
			before := org.Read.Post("/v1/"+entity+"/list", nil).Is(200).Column("updated_at")
			form := apptest.NewForm(string(org.Read.Post("/v1/"+entity+"/export", `{"format": "`+format+`"}`).Is(200).Body), `{"entity": "`+entity+`"}`)
			form.Name = entity + "." + format
			id := org.Write.Post(path, form).Is(202).ID()
			app.Work()
			done := org.Read.Get(path + "/" + id).Is(200)
			after := org.Read.Post("/v1/"+entity+"/list", nil).Is(200).Column("updated_at")
			if counts(done) != "2 0 2 0" || done.Int("data.values_dropped") != 0 || !slices.Equal(after, before) {
				t.Errorf("%s %s: %s", entity, format, done.Body)
			}
		}
	}
}

// TestForeignExport imports the exports of one organization into another one, twice.
func TestForeignExport(t *testing.T) {
	app := apptest.New(t)
	from := app.Org("From")
	for _, name := range []string{"Press", "Old but gold"} {
		from.Write.Post("/v1/tags", `{"name": "`+name+`", "color": "blue", "object_type": "contact"}`).Is(201)
	}
	globex := from.Write.Post("/v1/accounts", `{"name": "Globex", "country": "Germany"}`).Is(201).ID()
	other := from.Write.Post("/v1/accounts", `{"name": "Globex", "external_id": "hubspot:7"}`).Is(201).ID()
	people := []string{
		`{"email": "info@globex.example", "account_id": "` + globex + `", "tags": ["Press", "Old but gold"]}`,
		`{"email": "info@globex.example", "account_id": "` + other + `", "external_id": "hubspot:12", "other_external_ids": ["pipedrive:4"]}`,
		`{"first_name": "Ann", "last_name": "Lee", "city": "Köln", "country": "Germany"}`, `{"first_name": "Ann", "last_name": "Lee"}`,
	}
	for _, person := range people {
		from.Write.Post("/v1/contacts", person).Is(201)
	}
	exported := func(entity, format string) string {
		return string(from.Read.Post("/v1/"+entity+"/export", `{"format": "`+format+`", "sort": "created_at"}`).Is(200).Body)
	}
	ids := from.Read.Post("/v1/contacts/list", `{"sort": "created_at"}`).Is(200).Column("id")
	for i, format := range []string{"csv", "jsonl"} {
		for _, accountsFirst := range []bool{true, false} {
			to := app.Org(fmt.Sprint("To ", i, accountsFirst))
			if accountsFirst {
				imported(t, app, to, "accounts", exported("accounts", format), "").Has(200, `{"data": {"added": 2, "values_dropped": 0}}`)
			}
			const create = `, "create_missing": ["accounts", "tags"]`
			imported(t, app, to, "contacts", exported("contacts", format), create).Has(200, `{"data": {"added": 4, "updated": 0, "skipped": 0, "values_dropped": 0}}`)
			if !accountsFirst {
				imported(t, app, to, "accounts", exported("accounts", format), "").Has(200, `{"data": {"added": 0, "updated": 2, "skipped": 0}}`)
			}
			imported(t, app, to, "contacts", exported("contacts", format), create).Has(200, `{"data": {"added": 0, "updated": 0, "unchanged": 4, "values_dropped": 0}}`)
			imported(t, app, to, "accounts", exported("accounts", format), "").Has(200, `{"data": {"added": 0, "updated": 0, "unchanged": 2, "values_dropped": 0}}`)
			to.Read.Post("/v1/contacts/list", `{"sort": "created_at"}`).Has(200, fmt.Sprintf(`{"data": [{"external_id": "prospector:%s"}, {"external_id": "hubspot:12", "other_external_ids": ["pipedrive:4", "prospector:%s"]},
				{"external_id": "prospector:%s", "city": "Köln", "country": "Germany"}, {"external_id": "prospector:%s"}]}`, ids[0], ids[1], ids[2], ids[3]))
			to.Read.Post("/v1/accounts/list", `{"filters": [{"field": "country", "condition": "is", "value": "Germany"}]}`).Has(200, `{"data": [{"name": "Globex", "external_id": "prospector:`+globex+`"}]}`)
			if names := to.Read.Post("/v1/tags/list", `{"sort": "name"}`).Is(200).Column("name"); fmt.Sprint(names) != "[Old but gold Press]" {
				t.Errorf("%s: the tags are %q", format, names)
			}
			accounts := to.Read.Post("/v1/contacts/list", `{"sort": "created_at"}`).Is(200).Column("account_id")
			if accounts[0] == accounts[1] || accounts[2] != "<nil>" {
				t.Errorf("%s: the accounts are %v", format, accounts)
			}
		}
	}
}

// TestImportOptions uses every option.
func TestImportOptions(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	const file = "Mail;Firma;Schlagwort;Notiz\nada@x.example;Initech;Großkunde;geheim\nbob@x.example;Initech;;\n"
	run := func(options string) *apptest.Response {
		t.Helper()
		id := org.Write.Post(path, apptest.NewForm(file, options)).Is(202).ID()
		app.Work()
		return org.Read.Get(path + "/" + id).Is(200)
	}
	org.Write.Post("/v1/tags", `{"name": "Fair", "color": "green", "object_type": "contact"}`).Is(201)
	got := run(`{"entity": "contacts", "mapping": {"Mail": "email", "Firma": "account_name", "Schlagwort": "tags", "Notiz": ""}, "match_on": "email", "locale": "de",
		"create_missing": ["tags", "accounts"], "on_bad_value": "drop_value", "tags": ["Fair", "Messe-Köln"], "dry_run": false}`)
	if counts(got) != "2 2 0 0" || got.Int("data.values_dropped") != 0 {
		t.Errorf("%s", got.Body)
	}
	contacts := org.Read.Post("/v1/contacts/list", `{"sort": "email"}`).Is(200)
	if n := len(contacts.Value("data.0.tags").([]any)); n != 3 || contacts.Value("data.0.account_id") == nil || contacts.Value("data.0.notes") != nil ||
		contacts.Text("data.0.account_id") != contacts.Text("data.1.account_id") {
		t.Errorf("%s", contacts.Body)
	}
	if names := org.Read.Post("/v1/accounts/list", nil).Is(200).Column("name"); !slices.Equal(names, []string{"Initech"}) {
		t.Errorf("the accounts are %v", names)
	}
	if got := run(`{"entity": "contacts", "match_on": "none", "mapping": {"Mail": "email"}}`); !strings.HasPrefix(counts(got), "2 2 0") {
		t.Errorf("%s", got.Body)
	}
}

// TestImportEvents receives an event when an import is over.
func TestImportEvents(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	var mu sync.Mutex
	var bodies [][]byte
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		bodies = append(bodies, body)
	}))
	defer receiver.Close()
	org.Admin.Post("/v1/webhooks/subscriptions", `{"url": "`+receiver.URL+`", "triggers": ["import.*"]}`).Is(201)
	form := apptest.NewForm(people(10), `{"entity": "contacts"}`)
	done := org.Write.Post(path, form).Is(202).ID()
	app.Work()
	app.Deliver()
	stopped := org.Write.Post(path, form).Is(202).ID()
	org.Write.Post(path+"/"+stopped+"/cancel", nil).Is(200)
	app.Deliver()
	begin(t, app, org)
	app.Crash()
	app.Start()
	app.Deliver()
	mu.Lock()
	defer mu.Unlock()
	want := []string{"import.completed", "import.cancelled", "import.failed"}
	if len(bodies) != len(want) {
		t.Fatalf("%d events", len(bodies))
	}
	for i, body := range bodies {
		if err := app.CheckEvent(want[i], body); err != nil {
			t.Errorf("%v: %s", err, body)
		}
	}
	if !strings.Contains(string(bodies[0]), done) || !strings.Contains(string(bodies[1]), stopped) {
		t.Errorf("%s\n%s", bodies[0], bodies[1])
	}
}
