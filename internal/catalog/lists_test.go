package catalog_test

import (
	"strings"
	"testing"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
	"prospector/internal/rows"
)

// fillCatalog imports tables into the catalog.
func fillCatalog(t *testing.T, app *apptest.App, companies, people string) {
	t.Helper()
	for text, load := range map[string]func(*rows.Reader) (rows.Report, []string, error){
		companies: func(table *rows.Reader) (rows.Report, []string, error) {
			return app.Service.Catalog.ImportCompanies(t.Context(), app.Store, table, catalog.ImportOptions{})
		},
		people: func(table *rows.Reader) (rows.Report, []string, error) {
			return app.Service.Catalog.ImportPeople(t.Context(), app.Store, table, catalog.ImportOptions{})
		},
	} {
		table, err := rows.Open(strings.NewReader(text), rows.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r, _, err := load(table); err != nil || r.Skipped > 0 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
}

func TestCatalogLists(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	fillCatalog(t, app, `id,name,website,industry,employee_count,keywords,technologies,description,country
c1,Initech,initech.example,Software,250,saas|b2b,Go|AWS,Makes reports for managers,US
c2,globex,globex.example,Energy,9000,,SAP,,DE
c3,Acme,,,,b2b,Go,,DE
`, `id,first_name,last_name,title,email,company_website,linkedin_url
p1,Bill,Lumbergh,VP Operations,bill@initech.example,initech.example,
p2,Peter,Gibbons,Engineer,,initech.example,linkedin.com/in/peter
p3,Hank,,CEO,hank@globex.example,nowhere.example,
`)
	// Every field is present, and null without a value. Ids are those of the source.
	org.Read.Post("/v1/companies/list", `{"page_size": 1, "sort": "id"}`).Is(200, `{"data": [{"id": "c1", "name": "Initech", "website": "initech.example", "industry": "Software",
		"sub_industry": null, "employee_count": 250, "annual_revenue": null, "founded_year": null, "description": "Makes reports for managers", "keywords": ["saas", "b2b"],
		"technologies": ["Go", "AWS"], "country": "US", "location": null, "linkedin_url": null, "phone_number": null}],
		"pagination": {"page": 1, "page_size": 1, "total_count": 3, "total_pages": 3}, "meta": {"timestamp": "<time>"}}`)
	org.Read.Post("/v1/people/list", `{"page_size": 1, "sort": "id"}`).Is(200, `{"data": [{"id": "p1", "company_id": "c1", "first_name": "Bill", "last_name": "Lumbergh",
		"title": "VP Operations", "seniority": "VP", "department": null, "email": "bill@initech.example", "phone_number": null, "linkedin_url": null, "country": null, "location": null}],
		"pagination": {"page": 1, "page_size": 1, "total_count": 3, "total_pages": 3}, "meta": {"timestamp": "<time>"}}`)

	for _, c := range []struct{ entity, body, want string }{
		{"companies", ``, "c3 c2 c1"},
		{"companies", `{"sort": "-employee_count"}`, "c2 c1 c3"},
		{"companies", `{"search": "report"}`, "c1"},
		{"companies", `{"search": "ener"}`, "c2"},
		{"companies", `{"filters": [{"field": "technologies", "condition": "is", "value": ["Go", "SAP"]}], "sort": "id"}`, "c1 c2 c3"},
		{"companies", `{"filters": [{"field": "keywords", "condition": "contains", "value": ["saas", "b2b"]}]}`, "c1"},
		{"companies", `{"filters": [{"field": "id", "condition": "is", "value": ["c1", "c9"]}]}`, "c1"},
		{"companies", `{"filters": [{"field": "employee_count", "condition": "greater_than", "value": 250}]}`, "c2"},
		{"companies", `{"filters": [{"field": "website", "condition": "is_empty"}]}`, "c3"},
		{"people", ``, "p2 p1 p3"},
		{"people", `{"filters": [{"field": "company_id", "condition": "is", "value": "c1"}], "sort": "first_name"}`, "p1 p2"},
		{"people", `{"filters": [{"field": "company_id", "condition": "is_empty"}]}`, "p3"},
		{"people", `{"filters": [{"field": "seniority", "condition": "is", "value": ["VP", "C-Level"]}], "sort": "id"}`, "p1 p3"},
	} {
		t.Run(c.body, func(t *testing.T) {
			for _, o := range []*apptest.Org{org, other} { // all organizations see the same catalog
				got := strings.Join(o.Read.In(t).Post("/v1/"+c.entity+"/list", c.body).Is(200).Column("id"), " ")
				if got != c.want {
					t.Errorf("%s contains %s, want %s", c.entity, got, c.want)
				}
			}
		})
	}
	org.Read.Post("/v1/people/list", `{"filters": [{"field": "seniority", "condition": "is", "value": "Boss"}]}`).Fails(422, "invalid_filter", "filters[0].value")
	org.Read.Post("/v1/companies/list", `{"filters": [{"field": "created_at", "condition": "is_empty"}]}`).Fails(422, "invalid_filter", "filters[0].field")
	// The API cannot change the catalog.
	for _, method := range []string{"GET", "PATCH", "DELETE"} {
		org.Admin.Do(method, "/v1/companies/c1", nil).Fails(404, "not_found", "")
	}
	org.Admin.Post("/v1/companies", `{"name": "Hooli"}`).Fails(404, "not_found", "")
}

// TestCatalogFollows checks that lists of an indexed catalog contain everything that was imported
// before they began.
func TestCatalogFollows(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	g := catalog.Generation{Companies: 2500, PeoplePerCompany: 1, Seed: 5}
	if err := app.Service.Catalog.Generate(t.Context(), app.Store, g, func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	count := func(want int, entity, filter string) {
		t.Helper()
		if n := org.Read.Post("/v1/"+entity+"/list", `{"filters": [`+filter+`]}`).Is(200).Int("pagination.total_count"); n != want {
			t.Errorf("%s matches %d of the %s, want %d", filter, n, entity, want)
		}
	}
	count(2500, "companies", "")
	count(2500, "people", "")
	fillCatalog(t, app, "id,name,country\nx1,Zyx,Atlantis\n", "id,first_name,company_id,title\nx2,Ada,x1,Chief Revenue Officer\n")
	count(1, "companies", `{"field": "country", "condition": "is", "value": "Atlantis"}`)
	count(1, "people", `{"field": "company_id", "condition": "is", "value": "x1"}, {"field": "seniority", "condition": "is", "value": "C-Level"}`)
	app.Restart()
	count(2501, "companies", "")
	if _, err := app.Index.Check(t.Context(), false, func(int, int) {}, func(what string, _ bool) { t.Error(what) }, func(string) {}); err != nil {
		t.Error(err)
	}
}
