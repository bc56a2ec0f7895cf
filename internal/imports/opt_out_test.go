package imports_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// TestImportsKeepOptOuts imports a file as CRMs write it, with a no for everybody who has not opted out there.
func TestImportsKeepOptOuts(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	out := org.Write.Post("/v1/contacts", `{"email": "out@x.example", "title": "CEO", "do_not_contact": true}`).Is(201).ID()
	in := org.Write.Post("/v1/contacts", `{"email": "in@x.example"}`).Is(201).ID()
	org.Admin.Post("/v1/suppressions", `{"email": "in@x.example", "reason": "manual"}`).Is(201)
	suppressed := func() string {
		list := org.Read.Post("/v1/suppressions/list", `{"sort": "email"}`).Is(200)
		emails := list.Column("email")
		for i, reason := range list.Column("reason") {
			emails[i] += " " + reason
		}
		slices.Sort(emails)
		return strings.Join(emails, ", ")
	}
	run := func(file, options, counts string) {
		t.Helper()
		for _, dry := range []bool{true, false} {
			id := org.Admin.Post(path, apptest.NewForm(file, fmt.Sprintf(`{"entity": "contacts", "dry_run": %t%s}`, dry, options))).Is(202).ID()
			app.Work()
			org.Read.Get(path+"/"+id).Has(200, `{"data": {"status": "completed", `+counts+`}}`)
		}
	}
	const file = "Email,Job Title,Unsubscribed\nout@x.example,CTO,false\nin@x.example,,No\nnew@x.example,,0\n"
	run(file, "", `"added": 1, "updated": 1, "unchanged": 1, "opt_outs_kept": 1`)
	org.Read.Get("/v1/contacts/"+out).Has(200, `{"data": {"do_not_contact": true, "title": "CTO"}}`)
	if got := suppressed(); got != "in@x.example manual, out@x.example opted_out" {
		t.Errorf("suppressed: %s", got)
	}

	// Every value but a no opts out, also in a row that is skipped.
	const dates = "Email,Number,Unsubscribed\ndate@x.example,hot,2025-03-01\nwhy@x.example,hot,by mail\nempty@x.example,hot,\nnone@x.example,hot,n/a\n" +
		"skipped@x.example,many,yes\n"
	run(dates, `, "mapping": {"Number": "scoring.heat_score", "Unsubscribed": "do_not_contact"}, "on_bad_value": "skip_row"`, `"added": 4, "skipped": 1, "opt_outs_kept": 0`)
	if got := suppressed(); got != "date@x.example opted_out, in@x.example manual, out@x.example opted_out, skipped@x.example opted_out, why@x.example opted_out" {
		t.Errorf("suppressed: %s", got)
	}

	org.Write.Post(path, apptest.NewForm(file, `{"entity": "contacts", "opt_outs": "replace"}`)).Fails(403, "forbidden", "")
	org.Write.Post(path, apptest.NewForm(file, `{"entity": "contacts", "opt_outs": "all"}`)).Fails(422, "validation_failed", `opt_outs: "all" is not one of: keep, replace`)
	run(file, `, "opt_outs": "replace"`, `"updated": 1, "unchanged": 2, "opt_outs_kept": 0`)
	org.Read.Get("/v1/contacts/"+out).Has(200, `{"data": {"do_not_contact": false}}`)
	org.Read.Get("/v1/contacts/"+in).Has(200, `{"data": {"do_not_contact": false}}`)
	if got := suppressed(); got != "date@x.example opted_out, in@x.example manual, skipped@x.example opted_out, why@x.example opted_out" {
		t.Errorf("suppressed: %s", got)
	}
}

// TestUndoneOptOuts checks that undoing an import takes back the opt-outs of values that it could not read, and no others.
func TestUndoneOptOuts(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	for _, name := range []string{"yes", "odd", "sure", "left"} {
		org.Write.Post("/v1/contacts", fmt.Sprintf(`{"email": "%s@old.example", "first_name": "Ada"}`, name)).Is(201)
	}
	var file strings.Builder
	file.WriteString("Email,First Name,Unsubscribed\nyes@old.example,Ada,yes\nodd@old.example,Ada,perhaps\nsure@old.example,Ada,perhaps\nleft@old.example,Ada,perhaps\n" +
		"yes@new.example,Bo,2025-03-01\nodd@new.example,Bo,perhaps\nodd-address,Bo,perhaps\n")
	for i := range 60 { // so that the odd values are fewer than a tenth
		fmt.Fprintf(&file, "no%d@new.example,Bo,no\n", i)
	}
	id := org.Admin.Post(path, apptest.NewForm(file.String(), `{"entity": "contacts"}`)).Is(202).ID()
	app.Work()
	org.Read.Get(path+"/"+id).Has(200, `{"data": {"status": "completed"}}`)
	// Later, something else says the same of one person, and another one unsubscribes.
	imported(t, app, org, "contacts", "Email,First Name,Unsubscribed\nsure@old.example,Ada,yes\n", "").Has(200, `{"data": {"unchanged": 1}}`)
	org.Admin.Post("/v1/suppressions", `{"email": "left@old.example", "reason": "manual"}`).Is(200)
	undo := org.Admin.Post("/v1/operations/"+id+"/undo", `{}`).Is(202)
	app.Work()
	org.Read.Get("/v1/operations/"+undo.Text("data.id")).Has(200, `{"data": {"status": "completed"}}`)
	for email, want := range map[string]string{"yes": "true", "odd": "false", "sure": "true", "left": "false"} {
		got := org.Read.Post("/v1/contacts/list", fmt.Sprintf(`{"filters": [{"field": "email", "condition": "is", "value": "%s@old.example"}]}`, email)).Is(200)
		if opted := fmt.Sprint(got.Value("data.0.do_not_contact")); opted != want {
			t.Errorf("%s: %s, want %s", email, opted, want)
		}
	}
	suppressed := org.Read.Post("/v1/suppressions/list", `{"sort": "email"}`).Is(200).Column("email")
	if want := "[left@old.example sure@old.example yes@new.example yes@old.example]"; fmt.Sprint(suppressed) != want {
		t.Errorf("suppressed are %v, want %s", suppressed, want)
	}
}
