package imports_test

import (
	"fmt"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// isReachable reports whether the contact with an address, which is its own or one of others, may be written to.
func isReachable(org *apptest.Org, name string) bool {
	rec := org.Read.Post("/v1/contacts/list", map[string]any{"filters": []any{map[string]any{"field": "first_name", "condition": "is", "value": name}}}).Is(200)
	email := rec.Value("data.0.email")
	isListed := email != nil && org.Read.Post("/v1/suppressions/list", map[string]any{"filters": []any{map[string]any{"field": "email", "condition": "is", "value": email}}}).Is(200).Int("pagination.total_count") > 0
	return rec.Value("data.0.do_not_contact") == false && !isListed
}

// TestOptOutsInEveryForm imports opt-outs in forms that other programs and people write them in.
func TestOptOutsInEveryForm(t *testing.T) {
	own := func(org *apptest.Org) string {
		for _, name := range []string{"Ann", "Ben", "Cem", "Dora"} {
			org.Write.Post("/v1/contacts", fmt.Sprintf(`{"first_name": %q, "email": "%[1]s@x.example"}`, name)).Is(201)
		}
		return string(org.Read.Post("/v1/contacts/export", `{"format": "csv", "sort": "created_at"}`).Is(200).Body)
	}
	flags := func(file string, values ...string) string {
		lines := strings.Split(file, "\n")
		for i, value := range values {
			lines[i+1] = strings.Replace(lines[i+1], ",false,", ","+value+",", 1)
		}
		return strings.Join(lines, "\n")
	}
	for name, c := range map[string]struct {
		file    func(org *apptest.Org) string
		options string
		out, in []string
	}{
		"numbers and lists in JSON": {file: func(*apptest.Org) string {
			return `[{"first_name": "Ann", "email": "ann@x.example", "unsubscribed": 1}, {"first_name": "Ben", "email": "ben@x.example", "unsubscribed": ["2024-05-01"]},
				{"first_name": "Cem", "email": "cem@x.example", "status": ["unsubscribed"]}, {"first_name": "Dora", "email": "dora@x.example", "unsubscribed": 0},
				{"first_name": "Eve", "email": "eve@x.example", "unsubscribed": []}]`
		}, out: []string{"Ann", "Ben", "Cem"}, in: []string{"Dora", "Eve"}},
		"an own export that was edited": {file: func(org *apptest.Org) string { return flags(own(org), "TRUE", "yes", "2024-05-01") }, out: []string{"Ann", "Ben", "Cem"}, in: []string{"Dora"}},
		"an own export with another column": {file: func(org *apptest.Org) string {
			lines := strings.Split(strings.TrimSpace(own(org)), "\n")
			for i, more := range []string{"Unsubscribed", "yes", "", "2024-05-01", "no"} {
				lines[i] += "," + more
			}
			return strings.Join(lines, "\n")
		}, out: []string{"Ann", "Cem"}, in: []string{"Ben", "Dora"}},
		"a status with more": {file: func(*apptest.Org) string {
			return "First Name,Email,Status\nAnn,ann@x.example,Unsubscribed (2024-05-01)\nBen,ben@x.example,\"bounced, unsubscribed\"\nCem,cem@x.example,Subscribed (2024)\nDora,dora@x.example,Unsubscribed: no\n"
		}, options: `, "mapping": {"Status": "opt_out_status"}`, out: []string{"Ann", "Ben"}, in: []string{"Cem", "Dora"}},
	} {
		t.Run(name, func(t *testing.T) {
			app := apptest.New(t)
			org := app.Org("Acme")
			got := runner(app, org)(c.file(org), `{"entity": "contacts"`+c.options+`}`)
			if got.Text("data.status") != "completed" {
				t.Fatalf("%s", got.Body)
			}
			for _, name := range c.out {
				if isReachable(org, name) {
					t.Errorf("%s is reachable: %s", name, got.Body)
				}
			}
			for _, name := range c.in {
				if !isReachable(org, name) {
					t.Errorf("%s is not reachable: %s", name, got.Body)
				}
			}
		})
	}
}

// TestAddressesThatGo checks that a person who has said no at an address stays opted out when the contact loses the address.
func TestAddressesThatGo(t *testing.T) {
	for name, lose := range map[string]func(app *apptest.App, org *apptest.Org, id string){
		"an import": func(app *apptest.App, org *apptest.Org, _ string) {
			if got := runner(app, org)("Record ID,First Name,Last Name,Email\n5,Ann,Alpha,ann@new.example\n", `{"entity": "contacts"}`); counts(got) != "1 0 1 0" {
				t.Errorf("%s", got.Body)
			}
		},
		"an update": func(_ *apptest.App, org *apptest.Org, id string) {
			org.Write.Patch("/v1/contacts/"+id, `{"email": "ann@new.example"}`).Has(200, `{"data": {"do_not_contact": true}}`)
		},
		"another address": func(_ *apptest.App, org *apptest.Org, id string) {
			org.Write.Patch("/v1/contacts/"+id, `{"email": "ann@new.example", "other_emails": ["ann@old.example"]}`).Has(200, `{"data": {"do_not_contact": false}}`)
			org.Write.Patch("/v1/contacts/"+id, `{"other_emails": []}`).Has(200, `{"data": {"do_not_contact": true}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			app := apptest.New(t)
			org := app.Org("Acme")
			imported(t, app, org, "contacts", "Record ID,First Name,Last Name,Email\n5,Ann,Alpha,ann@old.example\n6,Bo,Beta,bo@old.example\n", "").Has(200, `{"data": {"added": 2}}`)
			org.Admin.Post("/v1/suppressions", `{"email": "ann@old.example", "reason": "unsubscribed"}`).Is(201)
			org.Admin.Post("/v1/suppressions", `{"email": "bo@old.example", "reason": "bounce"}`).Is(201)
			ids := org.Read.Post("/v1/contacts/list", `{"sort": "first_name"}`).Is(200).Column("id")
			lose(app, org, ids[0])
			if isReachable(org, "Ann") {
				t.Error("Ann is reachable")
			}
			// An address that does not exist says nothing about the person.
			org.Write.Patch("/v1/contacts/"+ids[1], `{"email": "bo@new.example"}`).Has(200, `{"data": {"do_not_contact": false}}`)
		})
	}
}

// TestSkippedOptOuts checks that a skipped row opts out the person whom it means, also if it has no address.
func TestSkippedOptOuts(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	run := runner(app, org)
	run("ID,First Name,Last Name,Email,LinkedIn\n5,Ben,Beta,ben@x.example,\n,Ann,Alpha,ann@x.example,https://linkedin.com/in/ann\n", `{"entity": "contacts"}`)
	if got := run("ID,First Name,Last Name,LinkedIn,Unsubscribed\n5,Ann,Alpha,https://linkedin.com/in/ann,yes\n", `{"entity": "contacts"}`); counts(got) != "1 0 0 1" {
		t.Errorf("%s", got.Body)
	}
	if isReachable(org, "Ann") || !isReachable(org, "Ben") {
		t.Error("Ann is reachable, or Ben is not")
	}
	// By an id of another system that is nobody else's.
	run("ID,First Name,Last Name\n7,Dora,Delta\n", `{"entity": "contacts"}`)
	if got := run("ID,First Name,Last Name,Email,Unsubscribed\n7,Dora,Delta,dora at home,yes\n", `{"entity": "contacts", "on_bad_value": "skip_row"}`); counts(got) != "1 0 0 1" || isReachable(org, "Dora") {
		t.Errorf("Dora is reachable: %s", got.Body)
	}
	ids := org.Write.Post("/v1/contacts/list", `{"sort": "first_name"}`).Is(200).Column("id")
	cem := org.Write.Post("/v1/contacts", `{"first_name": "Cem", "last_name": "Beta"}`).Is(201).ID()
	org.Write.Post("/v1/contacts/"+ids[1]+"/merge", map[string]any{"ids": []string{cem}}).Is(200)
	if got := run("id,do_not_contact\n"+cem+",true\n", `{"entity": "contacts"}`); counts(got) != "1 0 0 1" {
		t.Errorf("%s", got.Body)
	}
	if isReachable(org, "Ben") {
		t.Error("Ben is reachable")
	}
}

// TestConfirmedOptOuts checks that undoing an import keeps the opt-out of an unreadable value if anything else has said the same.
func TestConfirmedOptOuts(t *testing.T) {
	for name, confirm := range map[string]func(app *apptest.App, org *apptest.Org, id string){
		"nothing": func(*apptest.App, *apptest.Org, string) {},
		"an update": func(_ *apptest.App, org *apptest.Org, id string) {
			org.Write.Patch("/v1/contacts/"+id, `{"do_not_contact": true}`).Is(200)
		},
		"an update of something else": func(_ *apptest.App, org *apptest.Org, id string) {
			org.Write.Patch("/v1/contacts/"+id, `{"title": "CEO"}`).Is(200)
		},
		"a bulk change": func(app *apptest.App, org *apptest.Org, _ string) {
			org.Write.Post("/v1/contacts/bulk", `{"filters": [{"field": "first_name", "condition": "is", "value": "Ann"}], "set": {"do_not_contact": true}}`).Is(202)
			app.Work()
		},
		"a batch": func(_ *apptest.App, org *apptest.Org, id string) {
			org.Write.Post("/v1/contacts/batch", `{"records": [{"id": "`+id+`", "do_not_contact": true}]}`).Is(200)
		},
		"a skipped row": func(app *apptest.App, org *apptest.Org, _ string) {
			imported(t, app, org, "contacts", "First Name,Email,Unsubscribed\nAnn,ann@x.example,yes\n", `, "on_existing": "skip"`)
		},
		"another unreadable value": func(app *apptest.App, org *apptest.Org, _ string) {
			imported(t, app, org, "contacts", "First Name,Email,Unsubscribed\nAnn,ann@x.example,by letter\n", `, "mapping": {"Unsubscribed": "do_not_contact"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			app := apptest.New(t)
			org := app.Org("Acme")
			id := org.Write.Post("/v1/contacts", `{"first_name": "Ann", "email": "ann@x.example"}`).Is(201).ID()
			operation := imported(t, app, org, "contacts", "First Name,Email,Unsubscribed\nAnn,ann@x.example,by phone\n", `, "mapping": {"Unsubscribed": "do_not_contact"}`).Text("data.id")
			confirm(app, org, id)
			org.Admin.Post("/v1/operations/"+operation+"/undo", `{}`).Is(202)
			app.Work()
			if got, want := isReachable(org, "Ann"), name == "nothing" || name == "an update of something else"; got != want {
				t.Errorf("reachable: %t, want %t", got, want)
			}
		})
	}
}
