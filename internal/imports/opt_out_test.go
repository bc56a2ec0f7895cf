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
