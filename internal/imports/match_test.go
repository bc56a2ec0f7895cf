package imports_test

import (
	"slices"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// runner returns a function that imports a file and returns the import when it is over.
func runner(app *apptest.App, org *apptest.Org) func(file, options string) *apptest.Response {
	return func(file, options string) *apptest.Response {
		id := org.Write.Post(path, apptest.NewForm(file, options)).Is(202).ID()
		app.Work()
		return org.Read.Get(path + "/" + id).Is(200)
	}
}

// TestSharedAddress imports people who share a mailbox, and companies that share a website. Those with external ids of their
// own stay apart, also in a dry run and when the file is imported again.
func TestSharedAddress(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	run := runner(app, org)
	for entity, file := range map[string]string{
		"contacts": "external_id,email,first_name,last_name\nS1,info@sh.example,Anna,Alpha\nS2,info@sh.example,Bert,Beta\nS1,info@sh.example,Anna,Aleph\n",
		"accounts": "external_id,name,website\nG1,Group,group.example\nG2,Shop,shop.group.example\nG1,Group,group.example\n",
	} {
		if dry := run(file, `{"entity": "`+entity+`", "dry_run": true}`); counts(dry) != "3 2 1 0" {
			t.Errorf("the dry run of %s has %s", entity, dry.Body)
		}
		for _, want := range []string{"3 2 1 0", "3 0 3 0"} {
			if got := run(file, `{"entity": "`+entity+`"}`); counts(got) != want {
				t.Errorf("%s: %s, want %s", entity, got.Body, want)
			}
		}
	}
	if names := org.Read.Post("/v1/contacts/list", `{"sort": "external_id"}`).Is(200).Column("last_name"); !slices.Equal(names, []string{"Aleph", "Beta"}) {
		t.Errorf("the contacts are %q", names)
	}
	// Without an external id, the address decides.
	if got := run("email,title\nINFO@sh.example,CEO\n", `{"entity": "contacts"}`); counts(got) != "1 0 1 0" {
		t.Errorf("%s", got.Body)
	}
	// A named field decides alone.
	if got := run("external_id,email\nS3,info@sh.example\n", `{"entity": "contacts", "match_on": "email"}`); counts(got) != "1 0 1 0" {
		t.Errorf("%s", got.Body)
	}
}

// TestMergedRows imports an export from before a merge: the rows of merged records are skipped, and references to a merged
// account lead to the account that it became.
func TestMergedRows(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	run := runner(app, org)
	create := func(entity, body string) string { return org.Write.Post("/v1/"+entity, body).Is(201).ID() }
	kept, merged := create("accounts", `{"name": "Initech"}`), create("accounts", `{"name": "Initech GmbH"}`)
	ada, double := create("contacts", `{"email": "ada@x.example"}`), create("contacts", `{"email": "ada@y.example"}`)
	org.Write.Post("/v1/accounts/"+kept+"/merge", map[string]any{"ids": []string{merged}}).Is(200)
	org.Write.Post("/v1/contacts/"+ada+"/merge", map[string]any{"ids": []string{double}}).Is(200)
	got := run("id,email,account_id\n"+ada+",ada@x.example,"+merged+"\n"+double+",ada@y.example,\n", `{"entity": "contacts"}`)
	if counts(got) != "2 0 1 1" || got.Int("data.values_dropped") != 0 || !strings.Contains(string(got.Body), double+" was merged into "+ada) {
		t.Errorf("%s", got.Body)
	}
	org.Read.Get("/v1/contacts/"+ada).Has(200, `{"data": {"email": "ada@x.example", "account_id": "`+kept+`"}}`)
}

// TestWhyRejected reads in the rejects which value is the cause, even if the row lacks something else because of it.
func TestWhyRejected(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	id := runner(app, org)("email,title\nada@x..example,CEO\n", `{"entity": "contacts"}`).Text("data.id")
	rejects := string(org.Read.Get(path + "/" + id + "/rejects").Is(200).Body)
	if want := `email: ""ada@x..example"" is not an email address; email: required`; !strings.Contains(rejects, want) {
		t.Errorf("the rejects %q do not contain %q", rejects, want)
	}
}
