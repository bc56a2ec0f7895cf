package tam_test

import (
	"fmt"
	"slices"
	"testing"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
	"prospector/internal/shape"
)

// TestSharedHostsInMarket imports companies whose websites are on one host. They are different
// companies for the catalog, a Preview and an Import, and their people stay with them.
func TestSharedHostsInMarket(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	var companies []catalog.Company
	var people []catalog.Person
	for _, id := range []string{"alpha", "beta"} {
		c := apptest.Firm(id)
		c.Website = shape.Text("linkedin.com/company/" + id)
		companies = append(companies, c)
		people = append(people, apptest.Worker("p-"+id, id, "CEO"))
	}
	app.Catalog(companies, people)
	other := org.Write.Post("/v1/accounts", `{"name": "Other", "website": "https://linkedin.com/company/other"}`).Is(201).ID()
	org.Admin.Post("/v1/suppressions", `{"domain": "linkedin.com"}`).Is(201) // the staff of LinkedIn, not of its users

	apptest.SameTexts(t, "a Preview", selectedRows(t, org, `{}`), "alpha", "alpha/p-alpha", "beta", "beta/p-beta")
	if got := apptest.RunImport(t, org, apptest.ReadyPreview(org, `{}`)); got != "2 0 0, 2 0 0" {
		t.Errorf("the Import made %s", got)
	}
	accounts := map[string]string{}
	for _, a := range apptest.Exported(t, org, "accounts") {
		accounts[fmt.Sprintf("%v", a["id"])] = fmt.Sprintf("%v %v", a["name"], a["website"])
	}
	if len(accounts) != 3 || accounts[other] != "Other linkedin.com/company/other" {
		t.Errorf("the accounts are %q", accounts)
	}
	for _, c := range apptest.Exported(t, org, "contacts") {
		if account := accounts[fmt.Sprintf("%v", c["account_id"])]; account == accounts[other] || account == "" {
			t.Errorf("%v works for %q", c["email"], account)
		}
	}
	// One of them is excluded by its own website only.
	preview := apptest.PreviewsPath + "/" + apptest.ReadyPreview(org, `{}`)
	res := org.Write.Post(preview+"/exclude", `{"company_websites": ["https://www.LinkedIn.com/company/beta/", "linkedin.com"]}`).Is(200)
	if got := res.Value("data.exclusion.unknown_websites"); res.Int("data.exclusion.excluded.companies") != 1 || !slices.Equal(got.([]any), []any{"linkedin.com"}) {
		t.Errorf("excluded %s", res.Body)
	}
}
