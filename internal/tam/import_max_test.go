package tam_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
	"prospector/internal/shape"
)

// market fills the catalog with companies c000, c001, … that have a number of people each.
func market(app *apptest.App, companies, peopleEach int) {
	var firms []catalog.Company
	var people []catalog.Person
	for i := range companies {
		id := fmt.Sprintf("c%03d", i)
		firms = append(firms, catalog.Company{ID: id, Name: id, Website: shape.Text(id + ".example")})
		for j := range peopleEach {
			person := fmt.Sprintf("%sp%d", id, j)
			people = append(people, catalog.Person{ID: person, CompanyID: shape.Text(id), FirstName: "Ada", Email: shape.Text(person + "@mail.example")})
		}
	}
	app.Catalog(firms, people)
}

// prepared prepares a Preview of the whole market and returns its path.
func prepared(o *apptest.Org) string {
	id := o.Write.Post("/v1/tam/preview", map[string]any{"request_id": uuid.New(), "company_filters": map[string]any{}}).Is(202).Text("data.preview_id")
	o.Work()
	return "/v1/tam/preview/" + id
}

// used returns the used accounts and contacts of the month.
func used(o *apptest.Org) [2]int {
	b := o.Read.Get("/v1/tam/balance").Is(200)
	return [2]int{b.Int("data.accounts.used"), b.Int("data.contacts.used")}
}

// wouldAdd returns how many accounts and contacts the Import of a Preview would add.
func wouldAdd(o *apptest.Org, preview string) [2]int {
	b := o.Read.Get("/v1/tam/balance?preview_id=" + preview[strings.LastIndex(preview, "/")+1:]).Is(200)
	return [2]int{b.Int("data.accounts.would_add"), b.Int("data.contacts.would_add")}
}

// imported returns the created, reused and skipped accounts and contacts of an Import.
func imported(o *apptest.Org, operation string) string {
	m := o.Read.Get("/v1/tam/imports/" + operation).Is(200)
	counts := []any{m.Text("data.status")}
	for _, kind := range []string{"accounts", "contacts"} {
		for _, what := range []string{"created", "reused", "skipped"} {
			counts = append(counts, m.Int("data."+kind+"."+what))
		}
	}
	return strings.TrimSpace(fmt.Sprintln(counts...))
}

// TestBalanceCountsWhatIsMissingNow changes records after a Preview was READY. What its Import would
// add, and what it reserves, follows.
func TestBalanceCountsWhatIsMissingNow(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	market(app, 4, 2)
	old := org.Write.Post("/v1/accounts", `{"name": "c003", "website": "c003.example"}`).Is(201).ID()
	preview := prepared(org)
	is := func(when string, want [2]int) {
		t.Helper()
		if got := wouldAdd(org, preview); got != want {
			t.Errorf("%s, the Import would add %v, want %v", when, got, want)
		}
	}
	is("at first", [2]int{3, 8})
	org.Write.Post("/v1/accounts", `{"name": "c000", "website": "https://www.c000.example/"}`).Is(201)
	contact := org.Write.Post("/v1/contacts", `{"email": "C000P1@mail.example"}`).Is(201).ID()
	is("after two records were created", [2]int{2, 7})
	org.Write.Delete("/v1/contacts/" + contact).Is(204)
	is("after one was deleted", [2]int{2, 8})
	org.Write.Delete("/v1/accounts/" + old).Is(204)
	is("after one was deleted that existed before", [2]int{3, 8})
	org.Write.Post("/v1/contacts/"+contact+"/restore", nil).Is(200)
	is("after one was restored", [2]int{3, 7})
	org.Admin.Post("/v1/suppressions", `{"domain": "c002.example"}`).Is(201)
	is("after a company was suppressed", [2]int{2, 5})
	org.Write.Post(preview+"/exclude", `{"person_ids": ["c001p0"]}`).Is(200)
	is("after a person was excluded", [2]int{2, 4})

	// The check counts the same.
	limit(t, app, org, 2, 3)
	org.Write.Post(preview+"/import", nil).Fails(402, "import_limit_exceeded", "it would add 4 contacts, but only 3 of 3 remain this month; set max_accounts and max_contacts to import the first ones")
	limit(t, app, org, 2, 4)
	operation := org.Write.Post(preview+"/import", nil).Is(202).Text("data.operation_id")
	if got := used(org); got != [2]int{2, 4} {
		t.Errorf("%v are used after the acceptance", got)
	}
	is("after the acceptance", [2]int{0, 0})
	app.Work()
	if got := imported(org, operation); got != "completed 2 1 1 4 1 2" || used(org) != [2]int{2, 4} {
		t.Errorf("%s, used %v", got, used(org))
	}
}

// TestImportFirst imports the first members of a Preview of six companies with two people each, of
// which c001, c004 and c004p0 exist.
func TestImportFirst(t *testing.T) {
	app := apptest.New(t)
	market(app, 6, 2)
	for name, c := range map[string]struct {
		body, outcome, accounts, contacts string
	}{
		"all":      {`{"max_accounts": null}`, "completed 4 2 0 11 1 0", "c000 c002 c003 c005", "c000p0 c000p1 c001p0 c001p1 c002p0 c002p1 c003p0 c003p1 c004p1 c005p0 c005p1"},
		"plenty":   {`{"max_accounts": 9007199254740992, "max_contacts": 11}`, "completed 4 2 0 11 1 0", "c000 c002 c003 c005", "c000p0 c000p1 c001p0 c001p1 c002p0 c002p1 c003p0 c003p1 c004p1 c005p0 c005p1"},
		"accounts": {`{"max_accounts": 2}`, "completed 2 2 2 7 1 4", "c000 c002", "c000p0 c000p1 c001p0 c001p1 c002p0 c002p1 c004p1"},
		"contacts": {`{"max_contacts": 3}`, "completed 4 2 0 3 1 8", "c000 c002 c003 c005", "c000p0 c000p1 c001p0"},
		"both":     {`{"max_accounts": 1, "max_contacts": 4}`, "completed 1 2 3 4 1 7", "c000", "c000p0 c000p1 c001p0 c001p1"},
		"existing": {`{"max_accounts": 0}`, "completed 0 2 4 3 1 8", "", "c001p0 c001p1 c004p1"},
		"no one":   {`{"max_contacts": 0}`, "completed 4 2 0 0 1 11", "c000 c002 c003 c005", ""},
	} {
		t.Run(name, func(t *testing.T) {
			org := app.Org(name)
			for _, id := range []string{"c001", "c004"} {
				org.Write.Post("/v1/accounts", `{"name": "Mine", "website": "`+id+`.example"}`).Is(201)
			}
			org.Write.Post("/v1/contacts", `{"email": "c004p0@mail.example"}`).Is(201)
			preview := prepared(org)
			res := org.Write.Post(preview+"/import", c.body).Is(202)
			wanted := apptest.Object(c.body)
			for _, key := range []string{"max_accounts", "max_contacts"} {
				if fmt.Sprint(res.Value("data."+key)) != fmt.Sprint(wanted[key]) {
					t.Errorf("%s: %s", key, res.Body)
				}
			}
			reserved := used(org)
			app.Work()
			if got := imported(org, res.Text("data.operation_id")); got != c.outcome {
				t.Errorf("the Import is %s, want %s", got, c.outcome)
			}
			if used(org) != reserved {
				t.Errorf("%v were reserved, but %v are used", reserved, used(org))
			}
			const imported = `{"sort": "%s", "filters": [{"field": "source", "condition": "is", "value": "tam_import"}]}`
			accounts := org.Read.Post("/v1/accounts/list", fmt.Sprintf(imported, "name")).Is(200).Column("name")
			contacts := org.Read.Post("/v1/contacts/list", fmt.Sprintf(imported, "email")).Is(200).Column("email")
			if strings.Join(accounts, " ") != c.accounts || strings.ReplaceAll(strings.Join(contacts, " "), "@mail.example", "") != c.contacts {
				t.Errorf("the new accounts are %v and the new contacts %v", accounts, contacts)
			}
			again := org.Write.Post(preview+"/import", c.body).Is(200)
			if again.Text("data.operation_id") != res.Text("data.operation_id") {
				t.Errorf("again: %s", again.Body)
			}
			org.Write.Post(preview+"/import", `{"max_accounts": 77}`).Fails(409, "import_accepted", "other values of max_accounts and max_contacts")
		})
	}
}

// TestImportBesideWriters imports a Preview in many short transactions, because others wait to write.
func TestImportBesideWriters(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	market(app, 200, 3)
	preview := prepared(org)
	stop := app.WriteAlways()
	operation := org.Write.Post(preview+"/import", nil).Is(202).Text("data.operation_id")
	app.Work()
	stop()
	if got := imported(org, operation); got != "completed 200 0 0 600 0 0" || used(org) != [2]int{200, 600} {
		t.Errorf("%s, used %v", got, used(org))
	}
	for entity, want := range map[string]int{"accounts": 200, "contacts": 600} {
		if n := org.Read.Post("/v1/"+entity+"/list", nil).Is(200).Int("pagination.total_count"); n != want {
			t.Errorf("%d %s, want %d", n, entity, want)
		}
	}
}

// TestImportWithinBalance imports as many members as the balance allows.
func TestImportWithinBalance(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	market(app, 6, 2)
	limit(t, app, org, 3, 5)
	preview := prepared(org)
	org.Write.Post(preview+"/import", `{}`).Fails(402, "import_limit_exceeded", "6 accounts")
	org.Write.Post(preview+"/import", `{"max_accounts": 3}`).Fails(402, "import_limit_exceeded", "it would add 6 contacts, but only 5 of 5 remain this month")
	org.Write.Post(preview+"/import", `{"max_accounts": 4, "max_contacts": 5}`).Fails(402, "import_limit_exceeded", "it would add 4 accounts, but only 3 of 3 remain this month")
	if got := used(org); got != [2]int{} {
		t.Errorf("refused Imports used %v", got)
	}
	operation := org.Write.Post(preview+"/import", `{"max_accounts": 3, "max_contacts": 5}`).Is(202).Text("data.operation_id")
	app.Work()
	if got := imported(org, operation); got != "completed 3 0 3 5 0 7" || used(org) != [2]int{3, 5} {
		t.Errorf("%s, used %v", got, used(org))
	}

	// The next month takes the next ones, of another Preview.
	app.Clock.Advance(31 * 24 * time.Hour)
	next := prepared(org)
	operation = org.Write.Post(next+"/import", `{"max_accounts": 3, "max_contacts": 5}`).Is(202).Text("data.operation_id")
	app.Work()
	if got := imported(org, operation); got != "completed 3 3 0 5 5 2" || used(org) != [2]int{3, 5} {
		t.Errorf("%s, used %v", got, used(org))
	}
}

// TestImportBeyondMax deletes and creates records between the acceptance and the run. Members with a
// reservation come first, and the maximum holds.
func TestImportBeyondMax(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	market(app, 6, 1)
	old := org.Write.Post("/v1/accounts", `{"name": "Mine", "website": "c000.example"}`).Is(201).ID()
	preview := prepared(org)
	operation := org.Write.Post(preview+"/import", `{"max_accounts": 3}`).Is(202).Text("data.operation_id") // c001, c002 and c003
	org.Write.Delete("/v1/accounts/" + old).Is(204)
	org.Write.Post("/v1/accounts", `{"name": "Mine", "website": "c001.example"}`).Is(201)
	app.Work()
	// c000 has no reservation and the maximum is reserved. c001 exists by now, so that c004 is taken in its place.
	if got := imported(org, operation); got != "completed 3 1 2 4 0 2" || used(org) != [2]int{3, 4} {
		t.Errorf("%s, used %v", got, used(org))
	}
	websites := org.Read.Post("/v1/accounts/list", `{"sort": "website"}`).Is(200).Column("website")
	if !slices.Equal(websites, []string{"c001.example", "c002.example", "c003.example", "c004.example"}) {
		t.Errorf("%v", websites)
	}
}

// TestImportMaxRefused checks the values of the maxima.
func TestImportMaxRefused(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	market(app, 2, 1)
	preview := prepared(org)
	for body, want := range map[string]string{
		`{"max_accounts": -1}`:               "max_accounts: must be at least 0, not -1",
		`{"max_contacts": 1.5}`:              "max_contacts: 1.5 is not an integer",
		`{"max_contacts": "many"}`:           `max_contacts: "many" is not an integer`,
		`{"max_accounts": [1]}`:              "max_accounts: must be an integer",
		`{"max_accounts": 9007199254740994}`: "max_accounts: must be between -2^53 and 2^53",
		`{"max_people": 5}`:                  "max_people: unknown field",
	} {
		t.Run(body, func(t *testing.T) {
			org.Write.In(t).Post(preview+"/import", body).Fails(422, "validation_failed", want)
		})
	}
	org.Write.Post(preview+"/import", `{"max_accounts": 0}`).Fails(409, "nothing_to_import", "max_accounts and max_contacts leave no member to import")

	// An Idempotency-Key belongs to its maxima.
	first := org.Write.Do("POST", preview+"/import", `{"max_accounts": 1}`, "Idempotency-Key", "k1").Is(202)
	again := org.Write.Do("POST", preview+"/import", `{"max_accounts": 1}`, "Idempotency-Key", "k1").Is(202)
	if string(first.Body) != string(again.Body) {
		t.Errorf("%s\nand then\n%s", first.Body, again.Body)
	}
	org.Write.Do("POST", preview+"/import", `{"max_accounts": 2}`, "Idempotency-Key", "k1").Fails(409, "idempotency_key_reused", "")
}
