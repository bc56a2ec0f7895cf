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
	"prospector/internal/service"
)

// TestImportFills checks that an Import fills empty fields of existing records and keeps existing
// values.
func TestImportFills(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	app.Catalog([]catalog.Company{apptest.FullFirm("c1"), apptest.FullFirm("c2")}, []catalog.Person{apptest.FullWorker("p1", "c1"), apptest.FullWorker("p2", "c1"), apptest.FullWorker("p3", "c2")})
	mine := org.Write.Post("/v1/accounts", `{"name": "Mine", "website": "mine.example"}`).Is(201).ID()
	full := org.Write.Post("/v1/accounts", `{"name": "My c1", "website": "c1.example", "industry": "Steel", "employee_count": 0, "annual_revenue": 0, "founded_year": 0, "description": "d",
		"country": "Chile", "location": "Lima", "linkedin_url": "x", "phone_number": "1", "notes": "n", "external_id": "e"}`).Is(201)
	bare := org.Write.Post("/v1/accounts", `{"name": "My c2", "website": "c2.example"}`).Is(201).ID()
	fullContact := org.Write.Post("/v1/contacts", `{"account_id": "`+mine+`", "first_name": "F", "last_name": "L", "email": "P1@mail.example", "title": "T", "phone_number": "1", "linkedin_url": "x",
		"location": "Lima", "notes": "n", "scoring": {"heat_score": "hot"}}`).Is(201)
	byLinkedIn := org.Write.Post("/v1/contacts", `{"linkedin_url": "https://www.linkedin.com/in/P2/?x=1"}`).Is(201).ID()
	bareContact := org.Write.Post("/v1/contacts", `{"email": "p3@mail.example"}`).Is(201).ID()

	preview := apptest.ReadyPreview(org, `{}`)
	hasBalance(t, org, preview, "0/- left - +0=0 over -, 0/- left - +0=0 over -, exceeded false")
	app.Clock.Advance(time.Second)
	limit(t, app, org, 0, 0) // nothing is created
	if got := apptest.RunImport(t, org, preview); got != "0 2 0, 0 3 0" {
		t.Error(got)
	}
	// These two have all values, and only get their source.
	org.Read.Get("/v1/accounts/"+full.ID()).Is(200, `{"data": `+string(apptest.DataOf(full))+`, "meta": {"timestamp": "<time>"}}`)
	org.Read.Get("/v1/contacts/"+fullContact.ID()).Is(200, `{"data": `+string(apptest.DataOf(fullContact))+`, "meta": {"timestamp": "<time>"}}`)
	org.Read.Get("/v1/accounts/"+bare).Is(200, apptest.RecordAnswer("accounts", `{"created_at": "2026-03-02T09:00:00.000Z", "updated_at": "2026-03-02T09:00:01.000Z", "name": "My c2",
		"website": "c2.example", "industry": "Wood", "employee_count": 12, "annual_revenue": 1.5, "founded_year": 1999, "description": "They saw", "country": "Norway", "location": "Oslo",
		"linkedin_url": "linkedin.com/company/c2", "phone_number": "+47 1", "source": "api"}`))
	const filled = `{"created_at": "2026-03-02T09:00:00.000Z", "updated_at": "2026-03-02T09:00:01.000Z", "account_id": "%s", "first_name": "Ada", "last_name": "Ås",
		"email": "%s@mail.example", "title": "CEO", "phone_number": "+47 2", "linkedin_url": "%s", "location": "Oslo", "source": "api"}`
	org.Read.Get("/v1/contacts/"+bareContact).Is(200, apptest.RecordAnswer("contacts", fmt.Sprintf(filled, bare, "p3", "linkedin.com/in/p3")))
	org.Read.Get("/v1/contacts/"+byLinkedIn).Is(200, apptest.RecordAnswer("contacts", fmt.Sprintf(filled, full.ID(), "p2", "https://www.linkedin.com/in/P2/?x=1")))
	history := org.Read.Get("/v1/contacts/" + bareContact + "/history").Is(200)
	if !apptest.EqualsJSON(history.Value("data.0.fields"), `["account_id", "first_name", "last_name", "title", "phone_number", "linkedin_url", "location"]`) ||
		history.Text("data.0.operation") != "tam.import" {
		t.Errorf("%s", history.Body)
	}

	// They match by their source, even if other fields change.
	for _, id := range []string{full.ID(), bare} {
		org.Write.Patch("/v1/accounts/"+id, `{"website": "moved.example"}`).Is(200)
	}
	for _, id := range []string{fullContact.ID(), byLinkedIn, bareContact} {
		org.Write.Patch("/v1/contacts/"+id, `{"email": "`+id+`@moved.example", "linkedin_url": null}`).Is(200)
	}
	again := apptest.ReadyPreview(org, `{}`)
	apptest.SameTexts(t, "the next Preview", addUp(t, org, again), "c1+", "c1/p1+", "c1/p2+", "c2+", "c2/p3+")
	if got := apptest.RunImport(t, org, again); got != "0 2 0, 0 3 0" {
		t.Error(got)
	}
}

// TestImportTags checks that tags are added to created records and, unless the request says
// otherwise, to existing ones, and that other tags stay.
func TestImportTags(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	app.Catalog([]catalog.Company{apptest.Firm("c1"), apptest.Firm("c2")}, []catalog.Person{apptest.Worker("p1", "c1", "CEO"), apptest.Worker("p2", "c2", "CEO")})
	names := map[string]string{}
	tag := func(name, object string) string {
		id := org.Write.Post("/v1/tags", fmt.Sprintf(`{"name": %q, "color": "red", "object_type": %q}`, name, object)).Is(201).ID()
		names[id] = name
		return id
	}
	own, ownContact := tag("own", "account"), tag("own", "contact")
	account := org.Write.Post("/v1/accounts", `{"name": "c1", "website": "c1.example", "tags": ["`+own+`"]}`).Is(201).ID()
	contact := org.Write.Post("/v1/contacts", `{"email": "p1@mail.example", "tags": ["`+ownContact+`"]}`).Is(201).ID()
	var crowded []string
	for i := range 1000 {
		crowded = append(crowded, tag(fmt.Sprintf("t%d", i), "account"))
	}
	tagsOf := func(path string) string {
		var have []string
		for _, id := range org.Read.Get(path).Is(200).Value("data.tags").([]any) {
			have = append(have, names[id.(string)])
		}
		return strings.Join(have, " ")
	}
	created := func(entity, name string) string {
		t.Helper()
		ids := org.Read.Post("/v1/"+entity+"/list", `{"search": "`+name+`", "filters": [{"field": "source", "condition": "is", "value": "tam_import"}]}`).Is(200).Column("id")
		if len(ids) != 1 {
			t.Fatalf("%s %s: %v", entity, name, ids)
		}
		return "/v1/" + entity + "/" + ids[0]
	}
	one, gone, both := tag("one", "account"), tag("gone", "account"), tag("one", "contact")
	quiet := apptest.ReadyPreview(org, fmt.Sprintf(`{"tag_ids": [%q, %q, %q], "contact_tag_ids": [%q], "tag_existing_accounts": false, "tag_existing_contacts": false}`, one, gone, own, both))
	org.Write.Delete("/v1/tags/" + gone).Is(204)
	if got := apptest.RunImport(t, org, quiet); got != "1 1 0, 1 1 0" {
		t.Error(got)
	}
	for path, want := range map[string]string{"/v1/accounts/" + account: "own", "/v1/contacts/" + contact: "own", created("accounts", "c2"): "one own", created("contacts", "p2"): "one"} {
		if got := tagsOf(path); got != want {
			t.Errorf("%s has %q, want %q", path, got, want)
		}
	}
	two := tag("two", "account")
	loud := apptest.ReadyPreview(org, fmt.Sprintf(`{"tag_ids": [%q, %q], "contact_tag_ids": [%q]}`, own, two, both))
	if got := apptest.RunImport(t, org, loud); got != "0 2 0, 0 2 0" {
		t.Error(got)
	}
	for path, want := range map[string]string{"/v1/accounts/" + account: "own two", "/v1/contacts/" + contact: "own one", created("accounts", "c2"): "one own two", created("contacts", "p2"): "one"} {
		if got := tagsOf(path); got != want {
			t.Errorf("%s has %q, want %q", path, got, want)
		}
	}
	// A record has at most 1,000 tags.
	org.Write.Patch("/v1/accounts/"+account, map[string]any{"tags": crowded[:999]}).Is(200)
	full := apptest.ReadyPreview(org, fmt.Sprintf(`{"tag_ids": [%q, %q, %q]}`, crowded[3], one, two))
	if got := apptest.RunImport(t, org, full); got != "0 2 0, 0 2 0" {
		t.Error(got)
	}
	if have := strings.Fields(tagsOf("/v1/accounts/" + account)); len(have) != 1000 || have[999] != "one" {
		t.Errorf("account has %d tags, the last is %v", len(have), have[len(have)-1])
	}
}

// TestImportSince changes the records that an Import finds after its Preview was READY.
func TestImportSince(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	var firms []catalog.Company
	var workers []catalog.Person
	for i := range 6 {
		c := fmt.Sprintf("c%d", i)
		firms = append(firms, apptest.Firm(c))
		workers = append(workers, apptest.Worker("p"+c, c, "CEO"), apptest.Worker("q"+c, c, "CTO"))
	}
	app.Catalog(firms, workers)
	limit(t, app, org, 6, 12)
	made := func(path, body string) string { return org.Write.Post(path, body).Is(201).ID() }
	oldAccount, oldContact := made("/v1/accounts", `{"name": "c0", "website": "c0.example"}`), made("/v1/contacts", `{"email": "pc0@mail.example"}`)
	preview := apptest.ReadyPreview(org, `{}`)
	hasBalance(t, org, preview, "0/6 left 6 +5=5 over 0, 0/12 left 12 +11=11 over 0, exceeded false")
	operation := apptest.AcceptImport(org, preview)

	org.Admin.Post("/v1/suppressions", `{"domain": "c1.example"}`).Is(201)      // a company, with its people
	org.Admin.Post("/v1/suppressions", `{"email": "PC2@mail.example"}`).Is(201) // a person
	made("/v1/accounts", `{"name": "c3", "website": "c3.example"}`)             // existing by now
	made("/v1/contacts", `{"email": "qc3@mail.example"}`)
	org.Write.Delete("/v1/accounts/" + oldAccount).Is(204) // no longer: one more is created
	org.Write.Delete("/v1/contacts/" + oldContact).Is(204)
	app.Work()
	if got := apptest.ImportedAs(t, org, operation); got != "4 1 1, 8 1 3" {
		t.Error(got)
	}
	hasBalance(t, org, "", "4/6 left 2, 8/12 left 4")
	apptest.SameTexts(t, "accounts", org.Read.Post("/v1/accounts/list", `{"sort": "website"}`).Is(200).Column("website"), "c0.example", "c2.example", "c3.example", "c4.example", "c5.example")
	emails := org.Read.Post("/v1/contacts/list", `{"sort": "email"}`).Is(200).Column("email")
	for _, absent := range []string{"pc1", "qc1", "pc2"} {
		if slices.Contains(emails, absent+"@mail.example") {
			t.Errorf("%s exists", absent)
		}
	}
	if without := org.Read.Post("/v1/contacts/list", `{"filters": [{"field": "account_id", "condition": "is_empty"}]}`).Is(200); len(emails) != 9 || without.Int("pagination.total_count") != 0 {
		t.Errorf("%v, without an account %s", emails, without.Body)
	}

	// If the limit leaves no room, members that must be created unexpectedly are skipped, but
	// reserved ones are not.
	app.Catalog([]catalog.Company{apptest.Firm("c6")}, []catalog.Person{apptest.Worker("pc6", "c6", "CEO")})
	next := apptest.ReadyPreview(org, `{}`)
	hasBalance(t, org, next, "4/6 left 2 +1=5 over 0, 8/12 left 4 +1=9 over 0, exceeded false")
	operation = apptest.AcceptImport(org, next)
	for _, id := range org.Read.Post("/v1/accounts/list", `{"filters": [{"field": "website", "condition": "is", "value": ["c4.example", "c5.example"]}]}`).Is(200).Column("id") {
		org.Write.Delete("/v1/accounts/" + id).Is(204)
	}
	for _, email := range []string{"pc0", "pc3"} {
		id := org.Read.Post("/v1/contacts/list", `{"filters": [{"field": "email", "condition": "is", "value": "`+email+`@mail.example"}]}`).Is(200).Column("id")[0]
		org.Write.Delete("/v1/contacts/" + id).Is(204)
	}
	limit(t, app, org, 6, 9)
	app.Work()
	if got := apptest.ImportedAs(t, org, operation); got != "2 3 1, 1 7 2" { // c4 is created again and c5 is not, but its people are reused; pc0 and pc3 are not created
		t.Error(got)
	}
	hasBalance(t, org, "", "6/6 left 0, 9/9 left 0")
}

// TestImportAnswers checks that answers replace the value of the AI field and are charged. A field
// that was turned into an ordinary field stays unchanged.
func TestImportAnswers(t *testing.T) {
	app := apptest.New(t)
	app.Catalog([]catalog.Company{apptest.Firm("c1"), apptest.Firm("c2"), apptest.Firm("c3")}, nil)
	app.TAM.Researcher = newScripted(false, map[string]string{"c1": "true", "c2": "true", "c3": "false"})
	for key, c := range map[string]struct {
		change string
		want   []string
	}{
		"kept":  {`{"label": "Another"}`, []string{"c1 true", "c2 true"}},
		"owned": {`{"ai": null}`, []string{"c1 false", "c2 <nil>"}},
	} {
		org := app.Org(key)
		field := apptest.NewField(org, "accounts", key, "boolean", `, "ai": {"question": "Is it?"}`)
		org.Write.Post("/v1/accounts", `{"name": "c1", "website": "c1.example", "custom_field_`+key+`": false}`).Is(201)
		preview := apptest.ReadyPreview(org, `{"qualifier_signal_id": "`+field+`", "qualifier_rule": {"value": true}}`)
		org.Admin.Patch("/v1/fields/"+field, c.change).Is(200)
		operation := apptest.AcceptImport(org, preview)
		app.Work()
		if got := apptest.ImportedAs(t, org, operation); got != "1 1 0, 0 0 0" {
			t.Error(got)
		}
		var got []string
		for _, a := range apptest.Exported(t, org, "accounts") {
			got = append(got, fmt.Sprint(a["website"].(string)[:2], " ", a["custom_field_"+key]))
		}
		slices.Sort(got)
		apptest.SameTexts(t, key, got, c.want...)
		for _, cost := range []any{org.Read.Get(apptest.ImportsPath + operation).Is(200).Value("data.charged"), org.Read.Get(apptest.PreviewsPath + "/" + preview).Is(200).Value("data.research.cost")} {
			if diff := apptest.Diff(`{"unit_product": "ai_signal", "rate_basis": "list", "charged": true, "charged_operation_id": "`+operation+`", "companies": 3, "units": 3, "unit_rate": 2.5,
				"estimated_ai_signal_credits": 7.5, "actual_ai_signal_credits": 7.5}`, apptest.AsJSON(cost)); diff != "" {
				t.Errorf("%s: %s", key, diff)
			}
		}
	}
}

// TestCredits checks that costs are multiplied without rounding errors.
func TestCredits(t *testing.T) {
	app := apptest.New(t, func(c *service.Config) { c.Research.UnitRate = 0.1 })
	app.Catalog([]catalog.Company{apptest.Firm("c1"), apptest.Firm("c2"), apptest.Firm("c3")}, nil)
	org := app.Org("Acme")
	field := apptest.NewField(org, "accounts", "fit", "boolean", `, "ai": {"question": "Is it?"}`)
	res := org.Read.Post(apptest.PreviewsPath+"/estimate", `{"request_id": "`+uuid.NewString()+`", "company_filters": {}, "qualifier_signal_id": "`+field+`", "qualifier_rule": {"value": true}}`).Is(200)
	if !strings.Contains(string(res.Body), `"estimated_ai_signal_credits":0.3,`) {
		t.Errorf("%s", res.Body)
	}
}
