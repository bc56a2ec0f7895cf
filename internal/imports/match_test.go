package imports_test

import (
	"fmt"
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

// TestBelievableMatches imports files of several systems: an id that means somebody else changes nobody, people who share an
// address stay apart, and the ids of two systems tell nobody apart. The dry run of each file says the same as its run.
func TestBelievableMatches(t *testing.T) {
	for name, c := range map[string]struct {
		files   []string
		want    []string // the counts of each import
		options string
		people  []string // first name, last name, email and external id
		says    string   // in the last report
	}{
		"two systems": {
			files:  []string{"Person - ID,Person - First name,Person - Last name,Person - Email\n12,Chris,Miller,chris@a.example\n", "Record ID,First Name,Last Name,Email\n12,Maria,Lopez,maria@b.example\n"},
			want:   []string{"1 1 0 0", "1 1 0 0"},
			people: []string{"Chris Miller chris@a.example pipedrive:12", "Maria Lopez maria@b.example hubspot:12"}, says: `ids in column \"Record ID\" are those of hubspot`,
		},
		"running numbers": {
			files:  []string{"ID,First Name,Last Name,Email\n1,Ann,Lee,ann@a.example\n", "ID,First Name,Last Name,Email\n1,Bo,Chen,bo@b.example\n"},
			want:   []string{"1 1 0 0", "1 0 0 1"},
			people: []string{"Ann Lee ann@a.example 1"}, says: "conflicting_identity: external_id \\\"1\\\" is that of Ann Lee (ann@a.example), and the row is about Bo Chen (bo@b.example)",
		},
		"believed when told": {
			files: []string{"ID,First Name,Last Name\n1,Ann,Lee\n", "ID,First Name,Last Name\n1,Bo,Chen\n"}, options: `, "match_on": "external_id"`,
			want: []string{"1 1 0 0", "1 0 1 0"}, people: []string{"Bo Chen <nil> 1"},
		},
		"Salesforce": {
			files:  []string{"Contact ID,First Name,Last Name\n0035g00000AbCdE,Ann,Lee\n0035g00000AbCde,Bo,Chen\n", "Contact ID,First Name,Last Name\n0035g00000AbCdEAAV,Ann,Lee\n"},
			want:   []string{"2 2 0 0", "1 0 1 0"},
			people: []string{"Ann Lee <nil> salesforce:0035g00000AbCdEAAV", "Bo Chen <nil> salesforce:0035g00000AbCdeAAF"},
		},
		"the same person of two systems": {
			files:  []string{"Person - ID,Name,Email\n12,Chris Miller,chris@a.example\n", "Record ID,First Name,Last Name,Email\n99,Christopher,Miller,chris@a.example\n"},
			want:   []string{"1 1 0 0", "1 0 1 0"},
			people: []string{"Christopher Miller chris@a.example pipedrive:12 [hubspot:99]"},
		},
		"found by the id of the second system": {
			files: []string{
				"Person - ID,Name,Email\n12,Chris Miller,chris@a.example\n", "Record ID,Name,Email\n99,Chris Miller,chris@a.example\n",
				"Record ID,Name,Email,Title\n99,Chris Miller,chris@new.example,CTO\n", "Record ID,Name,Email\n99,Maria Lopez,maria@a.example\n",
			},
			want:   []string{"1 1 0 0", "1 0 1 0", "1 0 1 0", "1 0 0 1"},
			people: []string{"Chris Miller chris@new.example pipedrive:12 [hubspot:99]"}, says: "conflicting_identity",
		},
		"ids of two systems in a row": {
			files: []string{
				"Record ID,Apollo Contact Id,Kundennummer,Name\n12,a7,K1,Ann Lee\n13,a8,K1,Bo Chen\n", "Apollo Contact Id,Name,Title\na8,Bo Chen,CTO\n",
				"Record ID,Apollo Contact Id,Name\n12,a8,Ann Lee\n",
			},
			want:   []string{"2 2 0 0", "1 0 1 0", "1 0 1 0"},
			people: []string{"Ann Lee <nil> hubspot:12 [apollo:a7]", "Bo Chen <nil> hubspot:13 [apollo:a8]"}, says: `\"apollo:a8\" is used by another record`,
		},
		"folded names": {
			files:  []string{"First Name,Last Name\nJörg,Groß-Müller\n", "First Name,Last Name\nGross Mueller,Dr. Joerg\n"},
			want:   []string{"1 1 0 0", "1 0 1 0"},
			people: []string{"Gross Mueller Dr. Joerg <nil> <nil>"},
		},
		"most in common": {
			files: []string{
				"First Name,Last Name,Email,Title\nAnn,Lee,a@a.example,CTO\nAnn,Lee,b@a.example,CEO\n", "First Name,Last Name,Title,Phone\nAnn,Lee,CEO,+49 30 1234567\n",
			},
			want:   []string{"2 2 0 0", "1 0 1 0"},
			people: []string{"Ann Lee a@a.example <nil>", "Ann Lee b@a.example <nil> +49 30 1234567"}, says: "is the name of 2 contacts; the one that has most in common with the row was taken",
		},
		"an id of an earlier version": {
			files:  []string{"external_id,first_name,last_name\n12,Ann,Lee\n13,Bo,Chen\n", "Record ID,First Name,Last Name\n12,Ann,Lee\n13,Cy,Ray\n"},
			want:   []string{"2 2 0 0", "2 1 1 0"},
			people: []string{"Ann Lee <nil> 12", "Bo Chen <nil> 13", "Cy Ray <nil> hubspot:13"},
		},
		"no system": {
			files: []string{"Record ID,First Name,Last Name\n12,Ann,Lee\n"}, options: `, "id_system": "none"`,
			want: []string{"1 1 0 0"}, people: []string{"Ann Lee <nil> 12"},
		},
		"one role address": {
			files:  []string{"First Name,Last Name,Email\nAnn,Lee,info@a.example\nBo,Chen,info@a.example\nCy,Ray,info@a.example\n", "First Name,Last Name,Email\nBo,Chen,info@a.example\nAnn,Vogt,info@a.example\n"},
			want:   []string{"3 3 0 0", "2 1 1 0"},
			people: []string{"Ann Lee info@a.example <nil>", "Bo Chen info@a.example <nil>", "Cy Ray info@a.example <nil>", "Ann Vogt info@a.example <nil>"},
		},
		"one personal address": {
			files:  []string{"First Name,Last Name,Email\nAnn,Lee,lee@a.example\nBo,Lee,lee@a.example\n", "First Name,Last Name,Email\nB.,Lee,lee@a.example\nAnn,Vogt,lee@a.example\n"},
			want:   []string{"2 2 0 0", "2 0 2 0"},
			people: []string{"Ann Vogt lee@a.example <nil>", "B. Lee lee@a.example <nil>"},
		},
		"no name": {
			files:  []string{"First Name,Last Name,Email\nAnn,Lee,lee@a.example\n", "Email,Title\nlee@A.example,CEO\n"},
			want:   []string{"1 1 0 0", "1 0 1 0"},
			people: []string{"Ann Lee lee@A.example <nil>"},
		},
		"namesakes at companies that do not exist": {
			files:  []string{"First Name,Last Name,Company\nAnn,Lee,Globex\nAnn,Lee,Initech\n"},
			want:   []string{"2 2 0 0"},
			people: []string{"Ann Lee <nil> <nil>", "Ann Lee <nil> <nil>"},
		},
		"namesakes with two numbers": {
			files:  []string{"First Name,Last Name,Phone\nAnn,Lee,030 1234567\nAnn,Lee,040 7654321\n", "First Name,Last Name,Phone\nAnn,Lee,+49 40 7654321\n"},
			want:   []string{"2 2 0 0", "1 0 1 0"},
			people: []string{"Ann Lee <nil> <nil>", "Ann Lee <nil> <nil>"},
		},
		"the address of who owns the record": {
			files: []string{
				"Record ID,First Name,Last Name,Email\n1,Ann,Alpha,ann@a.example\n2,Ben,Beta,ben@b.example\n", "Record ID,First Name,Last Name,Contact owner,Zuständig\n1,Ann,Alpha,boss@me.example,a@me.example\n2,Ben,Beta,rep@me.example,b@me.example\n",
				"Record ID,First Name,Last Name,Who\n1,Ann,Alpha,boss@me.example\n2,Ben,Beta,boss@me.example\n",
			},
			want:   []string{"2 2 0 0", "2 0 2 0", "2 0 2 0"},
			people: []string{"Ann Alpha ann@a.example hubspot:1", "Ben Beta ben@b.example hubspot:2"}, says: `column \"Who\" was ignored`,
		},
		"addresses by their content": {
			files:  []string{"First Name,Last Name,Wo\nAnn,Alpha,ann@a.example\nBen,Beta,ben@b.example\n"},
			want:   []string{"2 2 0 0"},
			people: []string{"Ann Alpha ann@a.example <nil>", "Ben Beta ben@b.example <nil>"}, says: `column \"Wo\" was read as email because of its values`,
		},
		"pages that are no profiles": {
			files:  []string{"First Name,Last Name,Email,LinkedIn\nAnn,Alpha,ann@a.example,https://www.linkedin.com/company/acme\nBen,Beta,ben@b.example,https://www.linkedin.com/company/acme\nCy,Ray,cy@c.example,linkedin.com/in/\nDee,Roe,dee@d.example,linkedin.com/in/\n"},
			want:   []string{"4 4 0 0"},
			people: []string{"Ann Alpha ann@a.example <nil>", "Ben Beta ben@b.example <nil>", "Cy Ray cy@c.example <nil>", "Dee Roe dee@d.example <nil>"},
		},
		"a namesake at a company": {
			files: []string{"First Name,Last Name,Company\nAnn,Lee,Globex\n", "First Name,Last Name,Email\nAnn,Lee,ann@private.example\n"}, options: `, "create_missing": ["accounts"]`,
			want:   []string{"1 1 0 0", "1 1 0 0"},
			people: []string{"Ann Lee <nil> <nil>", "Ann Lee ann@private.example <nil>"},
		},
		"an id and another address": {
			files:  []string{"Record ID,First Name,Last Name,Email,Email 2\n5,Maria,Muster,m@a.example,maria@b.example\n", "Record ID,First Name,Last Name,Email\n5,Anna,Neumann,maria@b.example\n"},
			want:   []string{"1 1 0 0", "1 0 1 0"},
			people: []string{"Anna Neumann maria@b.example hubspot:5"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			app := apptest.New(t)
			org := app.Org("Acme")
			run := runner(app, org)
			var last *apptest.Response
			for i, file := range c.files {
				dry := run(file, `{"entity": "contacts", "dry_run": true`+c.options+`}`)
				last = run(file, `{"entity": "contacts"`+c.options+`}`)
				if counts(last) != c.want[i] || counts(dry) != c.want[i] {
					t.Errorf("file %d: %s, and in a dry run %s, want %s: %s", i, counts(last), counts(dry), c.want[i], last.Body)
				}
			}
			var people []string
			for _, rec := range org.Read.Post("/v1/contacts/list", `{"sort": "created_at"}`).Is(200).Value("data").([]any) {
				p := rec.(map[string]any)
				text := fmt.Sprint(p["first_name"], " ", p["last_name"], " ", p["email"], " ", p["external_id"])
				if len(p["other_external_ids"].([]any)) > 0 {
					text += fmt.Sprint(" ", p["other_external_ids"])
				}
				if p["phone_number"] != nil && name == "most in common" {
					text += fmt.Sprint(" ", p["phone_number"])
				}
				people = append(people, text)
			}
			if !slices.Equal(people, c.people) {
				t.Errorf("the contacts are %q, want %q", people, c.people)
			}
			if !strings.Contains(string(last.Body), c.says) {
				t.Errorf("the report does not say %s: %s", c.says, last.Body)
			}
		})
	}
}
