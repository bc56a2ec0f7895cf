package tam_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
	"prospector/internal/shape"
	"prospector/store"
)

// limit sets how many accounts and contacts an organization may create per month; null means no
// limit.
func limit(t *testing.T, app *apptest.App, org *apptest.Org, accounts, contacts any) {
	t.Helper()
	err := app.Store.Update(context.Background(), org.ID, store.Actor{}, func(tx *store.Tx) error {
		_, err := app.Identity.Configure(tx, apptest.Body(t, map[string]any{"accounts_per_month": accounts, "contacts_per_month": contacts}))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// balance summarizes the balance of accounts and contacts: the usage and the limit, the remainder
// and, with a Preview, what its Import would add, the resulting usage and the excess.
func balance(o *apptest.Org, preview string) string {
	path := "/v1/tam/balance"
	if preview != "" {
		path += "?preview_id=" + preview
	}
	res := o.Read.Get(path).Is(200)
	var parts []string
	for _, kind := range []string{"accounts", "contacts"} {
		at := "data." + kind + "."
		s := fmt.Sprintf("%v/%v left %v", res.Value(at+"used"), res.Value(at+"limit"), res.Value(at+"remaining"))
		if res.Value(at+"would_add") != nil || res.Value(at+"after_import") != nil || res.Value(at+"over_by") != nil {
			s += fmt.Sprintf(" +%v=%v over %v", res.Value(at+"would_add"), res.Value(at+"after_import"), res.Value(at+"over_by"))
		}
		parts = append(parts, s)
	}
	s := strings.ReplaceAll(strings.Join(parts, ", "), "<nil>", "-")
	if exceeded := res.Value("data.exceeded"); exceeded != nil {
		s += fmt.Sprintf(", exceeded %v", exceeded)
	}
	return s
}

func hasBalance(t *testing.T, o *apptest.Org, preview, want string) {
	t.Helper()
	if got := balance(o, preview); got != want {
		t.Errorf("the balance is\n%s, want\n%s", got, want)
	}
}

func TestImport(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	companies := []catalog.Company{{ID: "c1", Name: "Alder", Website: "alder.example", Industry: "Wood", SubIndustry: "Saws", EmployeeCount: shape.NumberOf(12), AnnualRevenue: shape.NumberOf(1.5),
		FoundedYear: shape.NumberOf(1999), Description: "They \"saw\"", Keywords: []string{"saw"}, Country: "Norway", Location: "Oslo", LinkedinURL: "linkedin.com/company/alder", PhoneNumber: "+47 1"}}
	app.Catalog(companies, []catalog.Person{
		{ID: "p1", CompanyID: "c1", FirstName: "Ada", LastName: "Ås", Title: "CEO", Email: "ada@alder.example", PhoneNumber: "+47 2", LinkedinURL: "linkedin.com/in/ada", Country: "Norway", Location: "Oslo"},
		{ID: "p2", CompanyID: "c1", FirstName: "Nobody"}, // could not be created as Contacts through the API
	})
	tag := org.Write.Post("/v1/tags", `{"name": "Market", "color": "red", "object_type": "account"}`).Is(201).ID()
	contactTag := org.Write.Post("/v1/tags", `{"name": "Market", "color": "red", "object_type": "contact"}`).Is(201).ID()
	preview := apptest.ReadyPreview(org, `{"tag_ids": ["`+tag+`"], "contact_tag_ids": ["`+contactTag+`"]}`)
	path := apptest.PreviewsPath + "/" + preview + "/import"
	hasBalance(t, org, preview, "0/- left - +1=1 over -, 0/- left - +2=2 over -, exceeded false")
	app.Clock.Advance(time.Second)
	const begun = `{"data": {"operation_id": "<id>", "preview_id": "<id>", "status": "accepted", "progress": 0, "accounts": {"created": 0, "reused": 0, "skipped": 0},
		"contacts": {"created": 0, "reused": 0, "skipped": 0}, "max_accounts": null, "max_contacts": null, "charged": null, "created_at": "2026-03-02T09:00:01.000Z", "finished_at": null, "failure_reason": null},
		"meta": {"timestamp": "<time>"}}`
	accepted := org.Write.Post(path, nil).Is(202, begun)
	operation := accepted.Text("data.operation_id")
	again := org.Write.Post(path, `{}`).Is(200, begun)
	if string(apptest.DataOf(again)) != string(apptest.DataOf(accepted)) || again.Header.Get("ETag") != accepted.Header.Get("ETag") || accepted.Text("data.preview_id") != preview {
		t.Errorf("again: %s", again.Body)
	}
	org.Write.Post(path, `{"max_accounts": 1}`).Fails(409, "import_accepted", "other values of max_accounts and max_contacts")
	org.Read.Get(apptest.ImportsPath+operation).Is(200, begun)
	if p := org.Read.Get(apptest.PreviewsPath + "/" + preview); p.Text("data.operation_id") != operation || p.Text("data.updated_at") != "2026-03-02T09:00:01.000Z" || p.Value("data.research.cost") != nil {
		t.Errorf("%s", p.Body)
	}
	hasBalance(t, org, preview, "1/- left - +0=1 over -, 2/- left - +0=2 over -, exceeded false")

	app.Clock.Advance(time.Second)
	app.Work()
	org.Read.Get(apptest.ImportsPath+operation).Is(200, `{"data": {"operation_id": "<id>", "preview_id": "`+preview+`", "status": "completed", "progress": 1,
		"accounts": {"created": 1, "reused": 0, "skipped": 0}, "contacts": {"created": 2, "reused": 0, "skipped": 0}, "max_accounts": null, "max_contacts": null, "charged": null,
		"created_at": "2026-03-02T09:00:01.000Z", "finished_at": "2026-03-02T09:00:02.000Z", "failure_reason": null}, "meta": {"timestamp": "<time>"}}`)
	hasBalance(t, org, preview, "1/- left - +0=1 over -, 2/- left - +0=2 over -, exceeded false")
	account := org.Read.Post("/v1/accounts/list", nil).Is(200, `{"data": [`+apptest.Record("accounts", `{"created_at": "2026-03-02T09:00:02.000Z", "updated_at": "2026-03-02T09:00:02.000Z", "name": "Alder",
		"website": "alder.example", "industry": "Wood", "employee_count": 12, "annual_revenue": 1.5, "founded_year": 1999, "description": "They \"saw\"", "country": "Norway", "location": "Oslo",
		"linkedin_url": "linkedin.com/company/alder", "phone_number": "+47 1", "source": "tam_import", "tags": ["`+tag+`"]}`)+`],
		"pagination": {"page": 1, "page_size": 50, "total_count": 1, "total_pages": 1}, "meta": {"timestamp": "<time>"}}`).Column("id")[0]
	contact := org.Read.Post("/v1/contacts/list", `{"filters": [{"field": "email", "condition": "is_not_empty"}]}`).Is(200, `{"data": [`+apptest.Record("contacts", `{"created_at": "2026-03-02T09:00:02.000Z", "updated_at": "2026-03-02T09:00:02.000Z", "account_id": "`+account+`",
		"first_name": "Ada", "last_name": "Ås", "email": "ada@alder.example", "country": "Norway", "title": "CEO", "phone_number": "+47 2", "linkedin_url": "linkedin.com/in/ada", "location": "Oslo",
		"source": "tam_import", "tags": ["`+contactTag+`"]}`)+`],
		"pagination": {"page": 1, "page_size": 50, "total_count": 1, "total_pages": 1}, "meta": {"timestamp": "<time>"}}`).Column("id")[0]
	for _, record := range []string{"/v1/accounts/" + account, "/v1/contacts/" + contact} {
		history := org.Read.Get(record + "/history").Is(200)
		if history.Text("data.0.change") != "created" || history.Text("data.0.operation") != "tam.import" || history.Text("data.0.user_id") != org.User.String() ||
			history.Text("data.0.request_id") != accepted.Header.Get("X-Request-Id") {
			t.Errorf("%s", history.Body)
		}
	}

	// A repeated request returns the same Import, and nothing is created twice.
	before := org.Dump()
	org.Write.Post(path, nil).Is(200)
	app.Work()
	if org.Dump() != before {
		t.Error("the second request changed something")
	}
	other.Read.Get(apptest.ImportsPath+operation).Fails(404, "not_found", "")
	other.Write.Post(path, nil).Fails(404, "not_found", "")
	other.Read.Get("/v1/tam/balance?preview_id="+preview).Fails(404, "not_found", "")
	other.Read.Get("/v1/tam/balance?preview_id=preview").Fails(404, "not_found", "")
	hasBalance(t, other, "", "0/- left -, 0/- left -")
	for _, o := range []*apptest.Org{org, other} {
		want := map[*apptest.Org][]string{org: {operation}}[o]
		if got := o.Read.Post("/v1/tam/imports/list", `{"filters": [{"field": "preview_id", "condition": "is", "value": "`+preview+`"},
			{"field": "status", "condition": "is", "value": "completed"}]}`).Is(200).Column("operation_id"); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	apptest.SameTexts(t, "a Preview of the same", selectedRows(t, org, `{}`), "c1+", "c1/p1+", "c1/p2+")
	apptest.SameTexts(t, "that of another organization", selectedRows(t, other, `{}`), "c1", "c1/p1", "c1/p2")

	// An Import that adds nothing exceeds no limit, even if it was lowered below the usage.
	limit(t, app, org, 0, 0)
	same := apptest.ReadyPreview(org, `{}`)
	hasBalance(t, org, same, "1/0 left 0 +0=1 over 1, 2/0 left 0 +0=2 over 2, exceeded true")
	operation = apptest.AcceptImport(org, same)
	app.Work()
	if got := apptest.ImportedAs(t, org, operation); got != "0 1 0, 0 2 0" {
		t.Error(got)
	}
}

// TestImportRefused checks that Previews that are not READY or have no selected members cannot be
// imported.
func TestImportRefused(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	failed := apptest.ReadyPreview(org, `{}`) // the catalog is empty
	app.Catalog([]catalog.Company{apptest.Firm("c1")}, []catalog.Person{apptest.Worker("p1", "c1", "CEO")})
	empty, none := apptest.ReadyPreview(org, `{}`), apptest.ReadyPreview(org, `{"company_filters": {"searching_rule": {"value": "nothing"}}}`)
	org.Write.Post(apptest.PreviewsPath+"/"+empty+"/exclude", `{"company_ids": ["c1"]}`).Is(200)
	cancelled, preparing := apptest.AskedPreview(org, `{}`), apptest.AskedPreview(org, `{}`)
	org.Write.Post(apptest.PreviewsPath+"/"+cancelled+"/cancel", nil).Is(200)
	before := org.Dump()
	for id, status := range map[string]string{failed: "FAILED", cancelled: "CANCELLED", preparing: "PREPARING"} {
		org.Write.Post(apptest.PreviewsPath+"/"+id+"/import", nil).Fails(409, "preview_not_ready", status)
		hasBalance(t, org, id, "0/- left -, 0/- left -")
	}
	for _, id := range []string{empty, none} {
		org.Write.Post(apptest.PreviewsPath+"/"+id+"/import", nil).Fails(409, "nothing_to_import", "selected")
		hasBalance(t, org, id, "0/- left - +0=0 over -, 0/- left - +0=0 over -, exceeded false")
	}
	if org.Dump() != before {
		t.Error("a refused Import changed something")
	}
	org.Read.Post("/v1/tam/imports/list", nil).Is(200, `{"data": [], "pagination": {"page": 1, "page_size": 50, "total_count": 0, "total_pages": 0}, "meta": {"timestamp": "<time>"}}`)
}

// TestImportExcluded imports the members that are left after an exclusion, and deletes the Preview
// when it is no longer needed.
func TestImportExcluded(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	app.Catalog([]catalog.Company{apptest.Firm("c1"), apptest.Firm("c2"), apptest.Firm("c3")}, []catalog.Person{
		apptest.Worker("p1", "c1", "CEO"), apptest.Worker("p2", "c1", "CEO"), apptest.Worker("p3", "c2", "CEO"), apptest.Worker("p4", "c3", "CEO"),
	})
	preview := apptest.ReadyPreview(org, `{}`)
	path := apptest.PreviewsPath + "/" + preview
	org.Write.Post(path+"/exclude", `{"company_ids": ["c2"], "person_ids": ["p1"]}`).Is(200)
	hasBalance(t, org, preview, "0/- left - +2=2 over -, 0/- left - +2=2 over -, exceeded false")
	operation := apptest.AcceptImport(org, preview)
	org.Write.Post(path+"/exclude", `{"company_ids": ["c3"]}`).Fails(409, "import_accepted", "was accepted, so its members can no longer change")
	org.Write.Delete(path).Fails(409, "import_accepted", "accepted")
	app.Work()
	if got := apptest.ImportedAs(t, org, operation); got != "2 0 0, 2 0 0" {
		t.Error(got)
	}
	apptest.SameTexts(t, "accounts", org.Read.Post("/v1/accounts/list", `{"sort": "name"}`).Is(200).Column("name"), "Firm c1", "Firm c3")
	apptest.SameTexts(t, "contacts", org.Read.Post("/v1/contacts/list", `{"sort": "email"}`).Is(200).Column("email"), "p2@mail.example", "p4@mail.example")
	org.Write.Post(path+"/exclude", `{"company_ids": ["c3"]}`).Fails(409, "import_accepted", "its members can no longer change")
	org.Write.Delete(path).Is(204)
	app.Work()
	if got := apptest.ImportedAs(t, org, operation); got != "2 0 0, 2 0 0" {
		t.Error(got)
	}
	org.Write.Post(path+"/import", nil).Fails(404, "not_found", "")
	org.Read.Get("/v1/tam/balance?preview_id="+preview).Fails(404, "not_found", "")
}

func TestImportBalance(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	org.Read.Get("/v1/tam/balance").Is(200, `{"data": {"billing_mode": "platform", "limited": false,
		"period": {"kind": "calendar_month", "start": "2026-03-01T00:00:00.000Z", "end": "2026-04-01T00:00:00.000Z"},
		"accounts": {"limit": null, "used": 0, "remaining": null, "would_add": null, "after_import": null, "over_by": null},
		"contacts": {"limit": null, "used": 0, "remaining": null, "would_add": null, "after_import": null, "over_by": null}, "exceeded": null}, "meta": {"timestamp": "<time>"}}`)
	app.Catalog([]catalog.Company{apptest.Firm("c1"), apptest.Firm("c2")}, []catalog.Person{apptest.Worker("p1", "c1", "CEO"), apptest.Worker("p2", "c2", "CEO"), apptest.Worker("p3", "c2", "CEO")})
	first, second := apptest.ReadyPreview(org, `{}`), apptest.ReadyPreview(org, `{}`)
	one := apptest.ReadyPreview(org, `{"company_filters": {"filtering_rules": [{"field": "id", "condition": "is", "value": "c1"}]}}`)

	limit(t, app, org, 1, nil)
	if got := org.Read.Get("/v1/tam/balance").Value("data.limited"); got != true {
		t.Error(got)
	}
	hasBalance(t, org, first, "0/1 left 1 +2=2 over 1, 0/- left - +3=3 over -, exceeded true")
	before := org.Dump()
	org.Write.Post(apptest.PreviewsPath+"/"+first+"/import", nil).Fails(402, "import_limit_exceeded", "it would add 2 accounts, but only 1 of 1 remain this month;")
	limit(t, app, org, 1, 2)
	org.Write.Post(apptest.PreviewsPath+"/"+first+"/import", nil).Fails(402, "import_limit_exceeded", "it would add 3 contacts, but only 2 of 2 remain this month;")
	limit(t, app, org, 1, nil)
	if org.Dump() == before || strings.Contains(org.Dump(), "import_months") { // only the limits
		t.Error("a refused Import changed something")
	}
	limit(t, app, org, 0, 0)
	hasBalance(t, org, one, "0/0 left 0 +1=1 over 1, 0/0 left 0 +1=1 over 1, exceeded true")
	org.Write.Post(apptest.PreviewsPath+"/"+one+"/import", nil).Fails(402, "import_limit_exceeded", "only 0 of 0 remain this month")

	// An Import that uses exactly the remainder fits. Reserved records count as used, and deleted
	// records still count.
	limit(t, app, org, 2, 3)
	hasBalance(t, org, first, "0/2 left 2 +2=2 over 0, 0/3 left 3 +3=3 over 0, exceeded false")
	operation := apptest.AcceptImport(org, first)
	hasBalance(t, org, "", "2/2 left 0, 3/3 left 0")
	hasBalance(t, org, first, "2/2 left 0 +0=2 over 0, 3/3 left 0 +0=3 over 0, exceeded false")
	hasBalance(t, org, second, "2/2 left 0 +2=4 over 2, 3/3 left 0 +3=6 over 3, exceeded true")
	org.Write.Post(apptest.PreviewsPath+"/"+second+"/import", nil).Fails(402, "import_limit_exceeded", "accounts")
	app.Work()
	if got := apptest.ImportedAs(t, org, operation); got != "2 0 0, 3 0 0" {
		t.Error(got)
	}
	for _, id := range org.Read.Post("/v1/accounts/list", nil).Is(200).Column("id") {
		org.Write.Delete("/v1/accounts/" + id).Is(204)
	}
	hasBalance(t, org, "", "2/2 left 0, 3/3 left 0")
	limit(t, app, org, 1, 9) // below the usage
	hasBalance(t, org, one, "2/1 left 0 +1=3 over 2, 3/9 left 6 +0=3 over 0, exceeded true")

	// The next month starts without usage.
	app.Clock.Advance(time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC).Sub(app.Clock.Now()) - time.Millisecond)
	hasBalance(t, org, "", "2/1 left 0, 3/9 left 6")
	app.Clock.Advance(time.Millisecond)
	if period := org.Read.Get("/v1/tam/balance").Value("data.period"); !apptest.EqualsJSON(period, `{"kind": "calendar_month", "start": "2026-04-01T00:00:00.000Z", "end": "2026-05-01T00:00:00.000Z"}`) {
		t.Error(period)
	}
	hasBalance(t, org, one, "0/1 left 1 +1=1 over 0, 0/9 left 9 +0=0 over 0, exceeded false")
	if got := apptest.RunImport(t, org, one); got != "1 0 0, 0 1 0" { // its account was deleted, its person exists
		t.Error(got)
	}
	hasBalance(t, org, "", "1/1 left 0, 0/9 left 9")
}

// TestImportMonth accepts an Import in one month and runs it in the next. It counts in the month in
// which it was accepted.
func TestImportMonth(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	app.Catalog([]catalog.Company{apptest.Firm("c1"), apptest.Firm("c2")}, nil)
	limit(t, app, org, 2, nil)
	first, second := apptest.ReadyPreview(org, `{}`), apptest.ReadyPreview(org, `{}`)
	apptest.AcceptImport(org, first)
	org.Write.Post("/v1/accounts", `{"name": "Mine", "website": "c1.example"}`).Is(201)
	app.Clock.Advance(31 * 24 * time.Hour)
	hasBalance(t, org, "", "0/2 left 2, 0/- left -")
	app.Work()
	hasBalance(t, org, "", "0/2 left 2, 0/- left -")
	apptest.AcceptImport(org, second)
	hasBalance(t, org, "", "0/2 left 2, 0/- left -") // all members of the second exist
	app.Work()
	hasBalance(t, org, "", "0/2 left 2, 0/- left -")
	app.Clock.Advance(-31 * 24 * time.Hour)
	hasBalance(t, org, "", "1/2 left 1, 0/- left -") // one of the first was used
}

// TestImportsAtOnce accepts Imports concurrently. A Preview gets one Import, and of two Imports
// only the one that fits the limit is accepted.
func TestImportsAtOnce(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	app.Catalog([]catalog.Company{apptest.Firm("c1"), apptest.Firm("c2"), apptest.Firm("c3")}, []catalog.Person{apptest.Worker("p1", "c1", "CEO")})
	limit(t, app, org, 5, nil)
	previews := []string{apptest.ReadyPreview(org, `{}`), apptest.ReadyPreview(org, `{}`)}
	var mu sync.Mutex
	var wg sync.WaitGroup
	got := map[int]int{} // responses by status
	operations := map[string]bool{}
	for i := range 12 {
		wg.Go(func() {
			res := org.Write.Post(apptest.PreviewsPath+"/"+previews[i%2]+"/import", nil)
			mu.Lock()
			defer mu.Unlock()
			got[res.Status]++
			if res.Status < 300 {
				operations[res.Text("data.operation_id")] = true
			}
		})
	}
	wg.Wait()
	if !maps.Equal(got, map[int]int{200: 5, 202: 1, 402: 6}) || len(operations) != 1 {
		t.Errorf("responses by status %v, operations %v", got, operations)
	}
	hasBalance(t, org, "", "3/5 left 2, 1/- left -")
	app.Work()
	if n := org.Read.Post("/v1/accounts/list", nil).Is(200).Int("pagination.total_count"); n != 3 {
		t.Errorf("%d accounts", n)
	}
	for _, id := range previews { // the records of the second exist by now
		limit(t, app, org, 9, nil)
		org.Write.Post(apptest.PreviewsPath+"/"+id+"/import", nil)
	}
	hasBalance(t, org, "", "3/9 left 6, 1/- left -")
	app.Work()
	hasBalance(t, org, "", "3/9 left 6, 1/- left -")
}
