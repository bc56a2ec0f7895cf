package tam_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/shape"
	"prospector/store"
)

// TestPreviewTitles checks the first part of the fourth step: which people match.
func TestPreviewTitles(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	person := func(id, title string, seniority, country shape.Text) catalog.Person {
		p := apptest.Worker(id, "c1", title)
		p.Seniority, p.Country = seniority, country
		return p
	}
	app.Catalog([]catalog.Company{apptest.Firm("c1")}, []catalog.Person{
		person("9", "VP Sales", "VP", "Norway"),
		person("10", "MVP Program Lead", "Senior Individual Contributor", "Norway"),
		person("C", "Vice-President of Sales", "VP", "Chile"),
		person("a", "Head of Sales Operations", "Director", ""),
		person("b", "", "", "norway"),
		person("d", "CRO, vp (presales)", "C-Level", "Peru"),
		person("e", "Sales Engineer", "Individual Contributor", "CHILE"),
		person("f", "Geschäftsführer", "C-Level", "Österreich"),
		{ID: "g", CompanyID: "c2", Title: "VP Sales"}, // the catalog does not contain this employer
		{ID: "h", Title: "VP Sales"},
	})
	filters := func(s string) string { return `{"contact_filters": {` + s + `}}` }
	input := func(s string) string { return `{"search_input": {` + s + `}}` }
	cases := map[string][]string{}
	for fields, want := range map[string]string{
		`{}`: "10 9 a b C d e f", // by id, compared as text
		// Keywords are whole words or phrases, ignoring case.
		filters(`"include_keywords": ["vp"]`):                                            "9 d",
		filters(`"include_keywords": ["VP", "head"]`):                                    "9 a d",
		filters(`"include_keywords": ["vice PRESIDENT"]`):                                "C",
		filters(`"include_keywords": ["Vice-President"]`):                                "C",
		filters(`"include_keywords": ["sales operations"]`):                              "a",
		filters(`"include_keywords": ["operations sales"]`):                              "",
		filters(`"include_keywords": ["head operations"]`):                               "",
		filters(`"include_keywords": ["sale"]`):                                          "",
		filters(`"include_keywords": ["program lead extra"]`):                            "",
		filters(`"include_keywords": ["GESCHÄFTSFÜHRER"]`):                               "f",
		filters(`"exclude_keywords": ["sales"]`):                                         "10 b d f",
		filters(`"exclude_keywords": ["vp", "head of", "engineer"]`):                     "10 b C f",
		filters(`"include_keywords": ["sales"], "exclude_keywords": ["vp", "of sales"]`): "e",
		// title_search is a second list, of which at least one must match too.
		input(`"title_search": ["engineer", "lead"]`): "10 e",
		`{"contact_filters": {"include_keywords": ["sales"]}, "search_input": {"title_search": ["engineer", "lead", "vp"]}}`: "9 e",
		`{"contact_filters": {"exclude_keywords": ["vp"]}, "search_input": {"title_search": ["sales", "vp"]}}`:               "a C e",
		// title_enrichment is compared with the title, ignoring case.
		input(`"title_enrichment": {"condition": "is", "criterias": ["vp SALES", "geschäftsFÜHRER", "sales"]}`):                                                                           "9 f",
		input(`"title_enrichment": {"condition": "contains", "criterias": ["VP"]}`):                                                                                                       "10 9 d",
		input(`"title_enrichment": {"condition": "contains", "criterias": ["es op", "(PRE"]}`):                                                                                            "a d",
		input(`"title_enrichment": {"condition": "not_contains", "criterias": ["sales", "mvp"]}`):                                                                                         "b f",
		input(`"title_enrichment": {"condition": "not_contains", "criterias": ["vp"]}, "title_search": ["sales"]`):                                                                        "a C e",
		`{"contact_filters": {"include_keywords": ["vp"]}, "search_input": {"title_enrichment": {"condition": "contains", "criterias": ["sales"]}, "title_search": ["cro", "engineer"]}}`: "d",
		// Seniority comes from the catalog, and countries are compared ignoring case.
		filters(`"seniority": "C-Level"`):                                          "d f",
		filters(`"seniority": "VP", "include_keywords": ["sales"]`):                "9 C",
		filters(`"seniority": "Founder"`):                                          "",
		filters(`"countries": ["NORWAY"]`):                                         "10 9 b",
		filters(`"countries": ["chile", "ÖSTERREICH"]`):                            "C e f",
		filters(`"countries": ["Norway"], "seniority": "VP"`):                      "9",
		filters(`"countries": ["Chile"], "exclude_keywords": ["vice president"]`):  "e",
		filters(`"countries": ["Norwa"]`):                                          "",
		filters(`"countries": [], "include_keywords": [], "exclude_keywords": []`): "10 9 a b C d e f",
	} {
		cases[fields] = []string{"c1"}
		for person := range strings.FieldsSeq(want) {
			cases[fields] = append(cases[fields], "c1/"+person)
		}
	}
	selects(t, org, cases)
}

// TestPreviewPeople checks the rest of the fourth step and the fifth: duplicates, Contacts,
// suppressed people, and companies without people.
func TestPreviewPeople(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	person := func(id, company string, email, linkedIn shape.Text) catalog.Person {
		return catalog.Person{ID: id, CompanyID: shape.Text(company), FirstName: "Ada", Title: "CEO", Email: email, LinkedinURL: linkedIn}
	}
	intern := person("a0", "c1", "rex@c2.example", "")
	intern.Title = "Intern"
	var companies []catalog.Company
	for i := 1; i <= 8; i++ {
		companies = append(companies, apptest.Firm(fmt.Sprint("c", i)))
	}
	companies = append(companies, catalog.Company{ID: "x1", Name: "Firm c1 again", Website: "c1.example"})
	app.Catalog(companies, []catalog.Person{
		intern,
		person("a1", "c1", "Ada@c1.example", "https://www.linkedin.com/in/Ada/"),
		person("a2", "c1", "ADA@C1.example", "linkedin.com/in/second"), // the email of a1
		person("a3", "c1", "", "http://de.linkedin.com/in/ada?x=1"),    // the LinkedIn URL of a1
		person("a4", "c1", "", "linkedin.com/in/second"),               // that of a2, which is a duplicate itself
		person("a5", "c1", "", ""), person("a6", "c1", "", ""),         // nothing to share
		person("b1", "c2", "ada@c1.example", ""), // of another company
		person("b2", "c2", "rex@c2.example", ""), // the email of a0, who matches only some requests
		person("b3", "c2", "eve@c2.example", "linkedin.com/in/eve"),
		person("d1", "c3", "kim@bad.example", "linkedin.com/in/kim"), // suppressed by domain, and a Contact
		person("d2", "c3", "bob@sub.bad.example", ""),
		person("d3", "c3", "NOT@c3.example", ""),      // suppressed by address
		person("d4", "c3", "", "linkedin.com/in/KIM"), // a duplicate of a suppressed one
		person("d5", "c3", "zoe@notbad.example", ""),
		person("e1", "c4", "not@c3.example", ""),                    // all that c4 has is a duplicate
		person("f1", "c5", "liz@bad.example", ""),                   // all that c5 has is suppressed
		person("g1", "c6", "ann@c6.example", "linkedin.com/in/ann"), // all people of c6 exist
		person("h1", "c7", "tom@c7.example", ""),
		person("x1", "x1", "tim@c1.example", ""), // of a duplicate
	})
	for _, body := range []string{`{"email": "EVE@c2.example"}`, `{"linkedin_url": "https://no.linkedin.com/in/Kim/"}`, `{"linkedin_url": "HTTP://www.LinkedIn.com/in/ANN?utm=1"}`, `{"email": "ada@c1.example"}`,
		`{"first_name": "Ada", "last_name": "Ada"}`} {
		org.Write.Post("/v1/contacts", body).Is(201)
	}
	other.Write.Post("/v1/contacts", `{"email": "tom@c7.example"}`).Is(201)
	org.Write.Post("/v1/accounts", `{"name": "Two", "website": "c2.example"}`).Is(201)
	for _, body := range []string{`{"domain": "bad.example"}`, `{"email": "not@c3.example"}`} {
		org.Admin.Post("/v1/suppressions", body).Is(201)
	}
	other.Admin.Post("/v1/suppressions", `{"email": "zoe@notbad.example"}`).Is(201)

	all := []string{"c1", "c1/a0", "c1/a1+", "c1/a2+ duplicate", "c1/a3 duplicate", "c1/a4", "c1/a5", "c1/a6", "x1 duplicate",
		"c2+", "c2/b1+ duplicate", "c2/b2 duplicate", "c2/b3+",
		"c3", "c3/d1+ SUPPRESSED", "c3/d2 SUPPRESSED", "c3/d3 SUPPRESSED", "c3/d4+ duplicate", "c3/d5",
		"c4", "c4/e1 duplicate", "c5", "c5/f1 SUPPRESSED", "c6", "c6/g1+", "c7", "c7/h1", "c8"}
	apptest.SameTexts(t, "all", selectedRows(t, org, `{}`), all...)
	// People who do not match the filters are not members, and do not make others duplicates.
	const noInterns = `"contact_filters": {"exclude_keywords": ["intern"]}`
	titled := append([]string{"c1"}, all[2:]...)
	titled[10] = "c2/b2"
	apptest.SameTexts(t, "without interns", selectedRows(t, org, `{`+noInterns+`}`), titled...)
	// Companies without remaining people are excluded if either setting asks for it.
	for _, fields := range []string{`{"exclude_companies_without_titles": true, ` + noInterns + `}`, `{"search_input": {"with_titles": true}, ` + noInterns + `}`,
		`{"exclude_companies_without_titles": true, "search_input": {"with_titles": true}, ` + noInterns + `}`} {
		var want []string
		for _, row := range titled {
			if row == "c4" || row == "c5" || row == "c8" {
				row += " NO_MATCHING_TITLES"
			}
			want = append(want, row)
		}
		apptest.SameTexts(t, fields, selectedRows(t, org, fields), want...)
	}
	apptest.SameTexts(t, "nobody", selectedRows(t, org, `{"contact_filters": {"include_keywords": ["nobody"]}, "exclude_companies_without_titles": true, "search_input": {"exclude_companies_in_tam": true}}`),
		"c1 NO_MATCHING_TITLES", "x1 duplicate", "c2+ ALREADY_IN_TAM", "c3 NO_MATCHING_TITLES", "c4 NO_MATCHING_TITLES", "c5 NO_MATCHING_TITLES", "c6 NO_MATCHING_TITLES",
		"c7 NO_MATCHING_TITLES", "c8 NO_MATCHING_TITLES")
	// People of excluded companies are not members, so that others with the same email are not
	// duplicates.
	apptest.SameTexts(t, "the order", selectedRows(t, org, `{"company_filters": {"filtering_rules": [{"field": "id", "condition": "is", "value": ["c1", "c2"]}]},
		"search_input": {"sorting_rules": ["-name"], "exclude_companies_in_tam": true}, `+noInterns+`}`),
		"c2+ ALREADY_IN_TAM", "c1", "c1/a1+", "c1/a2+ duplicate", "c1/a3 duplicate", "c1/a4", "c1/a5", "c1/a6")
	apptest.SameTexts(t, "the other way", selectedRows(t, org, `{"company_filters": {"filtering_rules": [{"field": "id", "condition": "is", "value": ["c1", "c2"]}]},
		"search_input": {"sorting_rules": ["-name"]}, `+noInterns+`}`),
		"c2+", "c2/b1+", "c2/b2", "c2/b3+", "c1", "c1/a1+ duplicate", "c1/a2+ duplicate", "c1/a3", "c1/a4", "c1/a5", "c1/a6")
	apptest.SameTexts(t, "to another organization", selectedRows(t, other, `{"company_filters": {"filtering_rules": [{"field": "id", "condition": "is", "value": ["c3", "c7"]}]}}`),
		"c3", "c3/d1", "c3/d2", "c3/d3", "c3/d4 duplicate", "c3/d5 SUPPRESSED", "c7", "c7/h1+")

	t.Run("Qualifier", func(t *testing.T) { unresearched(t, app, org, titled) })
}

// TestPreviewOrigin checks that Accounts and Contacts that were imported from the catalog count as
// existing, even if they have changed since.
func TestPreviewOrigin(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	app.Catalog([]catalog.Company{apptest.Firm("c1"), apptest.Firm("c2"), apptest.Firm("c3"), {ID: "c4", Name: "Firm c4"}, {ID: "c9", Name: "Firm c9", Website: "c1.example"}}, []catalog.Person{apptest.Worker("p1", "c1", "CEO"), apptest.Worker("p2", "c1", "CTO"),
		apptest.Worker("c2", "c2", "CEO"), apptest.Worker("p3", "c2", "CTO"), {ID: "p4", CompanyID: "c4", FirstName: "Ada", LastName: "Marsh"}})
	accounts, contacts := fromCatalog(t, app, org, []string{"c1", "c4", "p3"}, []string{"p2", "c1", "p4", "p2"})
	fromCatalog(t, app, other, []string{"c2"}, []string{"p1"})
	want := []string{"c1+", "c1/p1", "c1/p2+", "c2", "c2/c2", "c2/p3", "c3", "c4+", "c4/p4+", "c9 duplicate"} // an id of the other kind has no effect
	apptest.SameTexts(t, "by source id", selectedRows(t, org, `{}`), want...)
	apptest.SameTexts(t, "to another organization", selectedRows(t, other, `{}`), "c1", "c1/p1+", "c1/p2", "c2+", "c2/c2", "c2/p3", "c3", "c4", "c4/p4", "c9 duplicate")
	apptest.SameTexts(t, "left out", selectedRows(t, org, `{"search_input": {"exclude_companies_in_tam": true}}`), "c1+ ALREADY_IN_TAM", "c2", "c2/c2", "c2/p3", "c3", "c4+ ALREADY_IN_TAM", "c9 duplicate")
	// Changes of a record do not remove its origin, and no response shows it.
	for path, body := range map[string]string{"/v1/accounts/" + accounts[0]: `{"name": "Renamed", "website": null, "external_id": "x"}`, "/v1/contacts/" + contacts[0]: `{"email": "new@mail.example", "account_id": "` + accounts[1] + `"}`} {
		if res := org.Write.Patch(path, body).Is(200); strings.Contains(string(res.Body), "source_id") {
			t.Errorf("%s", res.Body)
		}
	}
	org.Write.Post("/v1/accounts/batch", `{"records": [{"external_id": "X", "name": "Again", "website": "c3.example"}], "match_on": "external_id"}`).Is(200)
	app.Restart()
	want[6] = "c3+" // the Account of c1 has the website of c3, and matches both
	apptest.SameTexts(t, "changed", selectedRows(t, org, `{}`), want...)
	// A deleted record loses its origin; of two Contacts of one person the other one stays.
	org.Write.Delete("/v1/accounts/" + accounts[0]).Is(204)
	org.Write.Delete("/v1/contacts/" + contacts[0]).Is(204)
	org.Write.Delete("/v1/contacts/" + contacts[2]).Is(204)
	want[0], want[6], want[8] = "c1", "c3", "c4/p4"
	apptest.SameTexts(t, "deleted", selectedRows(t, org, `{}`), want...)
	org.Write.Delete("/v1/contacts/" + contacts[3]).Is(204)
	want[2] = "c1/p2"
	apptest.SameTexts(t, "both deleted", selectedRows(t, org, `{}`), want...)
}

// fromCatalog creates Accounts and Contacts that were imported from these rows of the catalog and
// have other names.
func fromCatalog(t *testing.T, app *apptest.App, org *apptest.Org, companies, people []string) (accounts, contacts []string) {
	t.Helper()
	err := app.Store.Update(t.Context(), org.ID, store.Actor{}, func(tx *store.Tx) error {
		for _, id := range companies {
			doc, err := app.CRM.Accounts.Insert(tx, crm.Account{Name: "Other", Website: "other.example", Source: "tam_import", Origin: crm.Origin{SourceID: id}})
			if err != nil {
				return err
			}
			accounts = append(accounts, doc.ID.String())
		}
		for _, id := range people {
			doc, err := app.CRM.Contacts.Insert(tx, crm.Contact{FirstName: "Other", LastName: "One", Source: "tam_import", Origin: crm.Origin{SourceID: id}})
			if err != nil {
				return err
			}
			contacts = append(contacts, doc.ID.String())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return accounts, contacts
}

// TestPreviewOddTexts has text that JSON must escape.
func TestPreviewOddTexts(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	const company, person = "c\"1\\ü😀</a>\u2028&", "p\t\"é\u0001"
	app.Catalog([]catalog.Company{{ID: company, Name: "A \"quoted\" \\ name\n<&> 😀", Website: "bücher.example"}}, []catalog.Person{
		{ID: person, CompanyID: company, Title: "Chef \"de\" cuisine\\bar", Email: "Ö\u00c4@mail.example", Country: "Côte d\"Ivoire"},
		{ID: "p2", CompanyID: company, Title: "Chef de cuisine bar", Email: "öä@mail.example", Country: "CÔTE D\"IVOIRE"},
	})
	org.Write.Post("/v1/accounts", `{"name": "X", "website": "https://Bücher.example"}`).Is(201)
	const filters = `{"contact_filters": {"include_keywords": ["chef DE \"cuisine\" bar"], "countries": ["côte d\"ivoire"]}`
	id := apptest.ReadyPreview(org, filters+`}`)
	apptest.SameTexts(t, "odd texts", addUp(t, org, id), company+"+", company+"/"+person, company+"/p2 duplicate")
	apptest.SameTexts(t, "an odd title", selectedRows(t, org, filters+`, "search_input": {"title_enrichment": {"condition": "contains", "criterias": ["\"DE\" cuisine\\"]}}}`), company+"+", company+"/"+person)
	res := org.Write.Post(apptest.PreviewsPath+"/"+id+"/exclude", map[string][]string{"person_ids": {person}, "company_ids": {company + " "}, "company_websites": {"http://BÜCHER.example"}}).Is(200)
	if got := exclusion(t, res); got != "1 1 |  | "+company+"  |  | " {
		t.Error(got)
	}
	apptest.SameTexts(t, "after it", addUp(t, org, id), company+"+ EXCLUDED_BY_USER", company+"/"+person+" EXCLUDED_BY_USER", company+"/p2 duplicate")
}

// unresearched checks the sixth step without a research provider: all remaining companies fail.
func unresearched(t *testing.T, app *apptest.App, org *apptest.Org, rows []string) {
	signal := apptest.NewField(org, "accounts", "fit", "boolean", `, "label": "A fit", "ai": {"question": "Does it fit?"}`)
	const flags = `"exclude_companies_without_titles": true, "contact_filters": {"exclude_keywords": ["intern"]}, `
	id := apptest.AskedPreview(org, `{`+flags+`"qualifier_signal_id": "`+signal+`", "qualifier_rule": {"value": true}}`)
	asked := org.Read.Get(apptest.PreviewsPath + "/" + id).Is(200)
	if diff := apptest.Diff(`{"status": "not_started", "reason": null, "field_id": "`+signal+`", "field_name": "A fit", "question": "Does it fit?", "passed": null, "not_matched": null,
		"failed": null, "started_at": null, "finished_at": null, "cost": "<any>"}`, string(apptest.Member(asked, "research"))); diff != "" {
		t.Error(diff)
	}
	app.Work()
	var want []string
	for _, row := range rows {
		switch id, reason, left := strings.Cut(row, " "); {
		case left:
			row = id + " " + reason
		case id == "c4" || id == "c5" || id == "c8":
			row += " NO_MATCHING_TITLES"
		default:
			row += " QUALIFIER_FAILED"
		}
		want = append(want, row)
	}
	apptest.SameTexts(t, "with a Qualifier", addUp(t, org, id), want...)
	for _, m := range previewRows(t, org, id, "", 100) {
		failed := reflect.DeepEqual(m.Qualification, map[string]any{"reason": "provider_not_configured", "status": "failed"})
		if m.Qualified != nil || m.Kind == "company" && failed != (m.Exclusion == "QUALIFIER_FAILED") || m.Exclusion == "" && m.Qualification != nil && !failed {
			t.Errorf("%+v", m)
		}
	}
	ready := org.Read.Get(apptest.PreviewsPath + "/" + id).Is(200)
	if diff := apptest.Diff(`{"available": false, "reason": "provider_not_configured", "signal": {"id": "`+signal+`", "name": "A fit", "question": "Does it fit?", "data_type": "boolean",
		"rule": {"operator": "equals", "value": true}}}`, apptest.AsJSON(ready.Value("data.result.qualifier"))); diff != "" {
		t.Error(diff)
	}
	// Five companies are to be researched: of nine, one is a duplicate and three have no people.
	if diff := apptest.Diff(`{"status": "failed", "reason": "provider_not_configured", "field_id": "`+signal+`", "field_name": "A fit", "question": "Does it fit?", "passed": 0, "not_matched": 0,
		"failed": 5, "started_at": null, "finished_at": "2026-03-02T09:00:00.000Z", "cost": {"unit_product": "ai_signal", "charged": false, "companies": 0, "units": 0, "unit_rate": 2.5,
		"estimated_ai_signal_credits": 20, "actual_ai_signal_credits": 0, "rate_basis": "list", "charged_operation_id": null}}`, string(apptest.Member(ready, "research"))); diff != "" {
		t.Error(diff)
	}
	// Failed members cannot be excluded and stay unchanged.
	res := org.Write.Post(apptest.PreviewsPath+"/"+id+"/exclude", `{"company_ids": ["c1"], "person_ids": ["d5", "d1"]}`).Is(200)
	if diff := apptest.Diff(`{"excluded": {"companies": 0, "contacts": 0}, "already_excluded": ["c1", "d5", "d1"], "unknown_ids": [], "unknown_websites": [], "companies_without_people": []}`,
		string(apptest.Member(res, "exclusion"))); diff != "" {
		t.Error(diff)
	}
	apptest.SameTexts(t, "after it", addUp(t, org, id), want...)
}
