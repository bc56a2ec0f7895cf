package tam_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
	"prospector/internal/shape"
)

// TestPreviewOrder checks the first step of the selection: the order of the companies and where it
// is cut off.
func TestPreviewOrder(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	count := func(n float64) shape.Number { return shape.NumberOf(n) }
	app.Catalog([]catalog.Company{
		{ID: "c", Name: "Álamo", Industry: "Energy", Country: "DE", EmployeeCount: count(500)},
		{ID: "B", Name: "Birch", Country: "NO"},
		{ID: "9", Name: "Alder", Industry: "wood", Country: "de", EmployeeCount: count(50)},
		{ID: "a", Name: "Cedar", Industry: "Energy", EmployeeCount: count(5)},
		{ID: "10", Name: "alder", Industry: "Wood", Country: "NO", EmployeeCount: count(5)},
	}, []catalog.Person{apptest.Worker("p2", "B", "CEO"), apptest.Worker("p1", "B", "CTO"), apptest.Worker("p3", "c", "CEO")})
	cases := map[string][]string{}
	for input, want := range map[string][]string{
		`null`:                         {"10", "9", "B", "B/p1", "B/p2", "a", "c", "c/p3"}, // by name, ignoring case, by code point; ties by id as text
		`{"sorting_rules": []}`:        {"10", "9", "B", "B/p1", "B/p2", "a", "c", "c/p3"},
		`{"sorting_rules": ["name"]}`:  {"10", "9", "B", "B/p1", "B/p2", "a", "c", "c/p3"},
		`{"sorting_rules": ["-name"]}`: {"c", "c/p3", "a", "B", "B/p1", "B/p2", "9", "10"},
		`{"sorting_rules": [{"field": "name", "direction": "desc"}]}`:                                        {"c", "c/p3", "a", "B", "B/p1", "B/p2", "9", "10"},
		`{"sorting_rules": [{"field": "employee_count"}]}`:                                                   {"10", "a", "9", "c", "c/p3", "B", "B/p1", "B/p2"},
		`{"sorting_rules": ["-employee_count"]}`:                                                             {"c", "c/p3", "9", "a", "10", "B", "B/p1", "B/p2"}, // missing values last in both directions
		`{"sorting_rules": ["employee_count", "-name"]}`:                                                     {"a", "10", "9", "c", "c/p3", "B", "B/p1", "B/p2"},
		`{"sorting_rules": [{"field": "country", "direction": "asc"}, "-employee_count"]}`:                   {"c", "c/p3", "9", "10", "B", "B/p1", "B/p2", "a"},
		`{"sorting_rules": ["id"]}`:                                                                          {"10", "9", "a", "B", "B/p1", "B/p2", "c", "c/p3"},
		`{"sorting_rules": ["-id"]}`:                                                                         {"c", "c/p3", "B", "B/p1", "B/p2", "a", "9", "10"},
		`{"grouping_rule": {"field": "industry"}}`:                                                           {"a", "c", "c/p3", "10", "9", "B", "B/p1", "B/p2"},
		`{"grouping_rule": {"field": "industry"}, "sorting_rules": ["-employee_count"]}`:                     {"c", "c/p3", "a", "9", "10", "B", "B/p1", "B/p2"},
		`{"grouping_rule": {"field": "country"}, "sorting_rules": [{"field": "name", "direction": "desc"}]}`: {"c", "c/p3", "9", "B", "B/p1", "B/p2", "10", "a"},
		`{"grouping_rule": {"field": "employee_count"}, "sorting_rules": ["-id"]}`:                           {"a", "10", "9", "c", "c/p3", "B", "B/p1", "B/p2"},
		// The limit applies after sorting, and counts companies, not members.
		`{"max_candidates": 1}`:                                         {"10"},
		`{"max_candidates": 3}`:                                         {"10", "9", "B", "B/p1", "B/p2"},
		`{"max_candidates": 2, "sorting_rules": ["-name"]}`:             {"c", "c/p3", "a"},
		`{"max_candidates": 2, "grouping_rule": {"field": "industry"}}`: {"a", "c", "c/p3"},
		`{"max_candidates": 1, "filtering_rules": [{"field": "name", "condition": "is", "value": "Cedar"}]}`: {"a"},
		`{"max_candidates": 100000}`: {"10", "9", "B", "B/p1", "B/p2", "a", "c", "c/p3"},
	} {
		cases[`{"search_input": `+input+`}`] = want
	}
	selects(t, org, cases)
}

// TestPreviewMatch checks which companies match: all views, filters and search words apply
// together.
func TestPreviewMatch(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	const word = "Zebra"
	app.Catalog([]catalog.Company{ // each but the last three has the word in another searched field
		{ID: "c1", Name: "One zebra", Country: "NO"},
		{ID: "c2", Name: "Two", Description: "Of (zebra)s."},
		{ID: "c3", Name: "Three", Industry: word},
		{ID: "c4", Name: "Four", SubIndustry: "x-" + word, Country: "NO"},
		{ID: "c5", Name: "Five", Keywords: []string{"a", "two " + word}},
		{ID: "c6", Name: "Six", Technologies: []string{word}, Country: "SE"},
		{ID: "c7", Name: "Seven", Website: "zebras.example"},
		{ID: "c8", Name: "Eight", Country: word},
		{ID: "c9", Name: "Nine", Location: "Lake ZEBRA"},
		{ID: "zebra", Name: "Ten", LinkedinURL: "linkedin.com/company/zebra", PhoneNumber: "zebra"},
		{ID: "d1", Name: "Subzebra", EmployeeCount: shape.NumberOf(50)},
		{ID: "d2", Name: "Other", EmployeeCount: shape.NumberOf(500), Country: "NO"},
	}, nil)
	view := func(name, rest string) string {
		return org.Write.Post("/v1/account-views", `{"name": "`+name+`", `+rest+`}`).Is(201).ID()
	}
	norway := view("Norway", `"filtering_rules": {"filters": [{"field": "country", "condition": "is", "value": "NO"}]}`)
	zebras := view("Zebras", `"searching_rule": {"value": "zebra"}`)
	both := view("Both", `"filtering_rules": [{"field": "country", "condition": "is_not_empty"}], "searching_rule": {"value": "zebra"}`)
	rule := func(field, condition, value string) string {
		return fmt.Sprintf(`"filtering_rules": {"filters": [{"field": %q, "condition": %q, "value": %s}]}`, field, condition, value)
	}
	search := func(words string) string { return fmt.Sprintf(`"searching_rule": {"value": %q}`, words) }
	byID := `"sorting_rules": ["id"]`
	cases := map[string][]string{}
	for _, c := range []struct {
		company, input string
		want           []string
	}{
		{search("zebra"), ``, []string{"c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9"}},
		{search(" ZEB, "), ``, []string{"c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9"}},
		{``, search("zebra"), []string{"c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9"}},
		{search("zebra two"), ``, []string{"c2", "c5"}},
		{search("zebra"), search("two"), []string{"c2", "c5"}},
		{search("zebra one three"), ``, nil},
		{search("...") + `, ` + rule("country", "is", `"SE"`), ``, []string{"c6"}},
		{`"account_view_id": "` + norway + `"`, ``, []string{"c1", "c4", "d2"}},
		{``, `"account_view_id": "` + norway + `"`, []string{"c1", "c4", "d2"}},
		{`"account_view_id": "` + zebras + `"`, `"account_view_id": "` + norway + `"`, []string{"c1", "c4"}},
		{`"account_view_id": "` + both + `"`, ``, []string{"c1", "c4", "c6", "c8"}},
		{`"account_view_id": "` + both + `", ` + search("x"), ``, []string{"c4"}},
		{`"account_view_id": "` + both + `", ` + rule("country", "is_not", `"NO"`), search("si"), []string{"c6"}},
		{rule("country", "is", `["NO", "SE"]`), rule("employee_count", "greater_than", `100`), []string{"d2"}},
		{rule("technologies", "is", `"Zebra"`), ``, []string{"c6"}},
		{rule("website", "contains", `"ZEBRAS.ex"`), ``, []string{"c7"}},
		{rule("id", "is", `["zebra", "d1"]`), ``, []string{"d1", "zebra"}},
		{`"filtering_rules": {"operator": "or", "filters": [{"field": "country", "condition": "is", "value": "SE"}, {"filters": [
			{"field": "country", "condition": "is", "value": "NO"}, {"field": "employee_count", "condition": "is_empty"}]}]}`, rule("name", "is_not", `"Four"`), []string{"c1", "c6"}},
		{rule("name", "is", `"Nobody"`), ``, nil},
	} {
		input := byID
		if c.input != "" {
			input += ", " + c.input
		}
		cases[fmt.Sprintf(`{"company_filters": {%s}, "search_input": {%s}}`, c.company, input)] = c.want
	}
	selects(t, org, cases)

	// Filters may be deeply nested and have many rules, also when the request is repeated.
	// Validating them
	// against the API document takes too long, so these requests skip it.
	deep := `{"field": "country", "condition": "is", "value": "SE"}`
	for range 150 {
		deep = `{"filters": [` + deep + `]}`
	}
	many := `{"operator": "or", "filters": [` + strings.Repeat(`{"field": "name", "condition": "contains", "value": "our"}, `, 999) + `{"field": "id", "condition": "is", "value": "c6"}]}`
	fields := fmt.Sprintf(`{"request_id": %q, "company_filters": {"filtering_rules": %s}, "search_input": {"filtering_rules": %s}}`, uuid.New(), deep, many)
	post := func(want int) (id string) {
		req, err := http.NewRequest("POST", org.Write.URL(apptest.PreviewsPath), strings.NewReader(fields))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Authorization": {"Bearer " + org.Write.Key}, "Content-Type": {"application/json"}}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var body struct {
			Data struct {
				PreviewID string `json:"preview_id"`
			}
		}
		if err := json.NewDecoder(res.Body).Decode(&body); err != nil || res.StatusCode != want {
			t.Fatalf("returned %d, %v", res.StatusCode, err)
		}
		return body.Data.PreviewID
	}
	id := post(202)
	app.Work()
	if rows := previewRows(t, org, id, "", 50); len(rows) != 1 || rows[0].String() != "c6" {
		t.Errorf("members for a deep and long filter = %v", rows)
	}
	if again := post(200); again != id {
		t.Error("repeating the request created another Preview")
	}

	// A view is used as it was at the time of the request.
	id = apptest.AskedPreview(org, `{"company_filters": {"account_view_id": "`+norway+`"}, "search_input": {`+byID+`}}`)
	org.Write.Patch("/v1/account-views/"+norway, `{"filtering_rules": null, "searching_rule": {"value": "two"}}`).Is(200)
	app.Work()
	apptest.SameTexts(t, "a view that changed", addUp(t, org, id), "c1", "c4", "d2")
}

// TestPreviewKnown checks the second and third step: duplicates, companies that are already
// Accounts, and suppressed ones.
func TestPreviewKnown(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	at := func(id string, website shape.Text) catalog.Company {
		return catalog.Company{ID: id, Name: id, Website: website}
	}
	companies := []catalog.Company{
		at("a1", "one.example"), at("a2", "one.example"), at("a3", "one.example"), // the first one stays
		at("b1", "shop.one.example"), at("b2", ""), at("b3", ""), // a subdomain is the same company, a missing website is not
		at("c1", "known.example"), at("c2", "known.example"),
		at("d1", "bad.example"), at("d2", "sub.bad.example"), at("d3", "notbad.example"), at("d4", "bad.example"), at("d5", "x.worse.example"),
		at("e1", "deep.ugly.example"), at("e2", "ugly.com"), at("e3", "mail.example"),
	}
	var people []catalog.Person
	for _, c := range companies {
		people = append(people, apptest.Worker("p-"+c.ID, c.ID, "CEO"))
	}
	app.Catalog(companies, people)
	for _, website := range []string{"https://www.KNOWN.example/about", "worse.example"} {
		org.Write.Post("/v1/accounts", map[string]string{"name": "X", "website": website}).Is(201)
	}
	gone := org.Write.Post("/v1/accounts", `{"name": "X", "website": "one.example"}`).Is(201).ID()
	org.Write.Delete("/v1/accounts/" + gone).Is(204)
	other.Write.Post("/v1/accounts", `{"name": "X", "website": "shop.one.example"}`).Is(201)
	org.Write.Post("/v1/accounts", `{"name": "b2"}`).Is(201) // a name does not identify a company
	for _, body := range []string{`{"domain": "bad.example"}`, `{"domain": "worse.example"}`, `{"domain": "deep.ugly.example"}`, `{"email": "info@mail.example"}`} {
		org.Admin.Post("/v1/suppressions", body).Is(201)
	}
	other.Admin.Post("/v1/suppressions", `{"domain": "one.example"}`).Is(201)

	apptest.SameTexts(t, "as they are", selectedRows(t, org, `{}`),
		"a1", "a1/p-a1", "a2 duplicate", "a3 duplicate", "b1 duplicate", "b2", "b2/p-b2", "b3", "b3/p-b3",
		"c1+", "c1/p-c1", "c2+ duplicate", "d1 SUPPRESSED", "d2 duplicate", "d3", "d3/p-d3", "d4 duplicate", "d5+ SUPPRESSED",
		"e1 SUPPRESSED", "e2", "e2/p-e2", "e3", "e3/p-e3")
	apptest.SameTexts(t, "without those in the TAM", selectedRows(t, org, `{"search_input": {"exclude_companies_in_tam": true}}`),
		"a1", "a1/p-a1", "a2 duplicate", "a3 duplicate", "b1 duplicate", "b2", "b2/p-b2", "b3", "b3/p-b3",
		"c1+ ALREADY_IN_TAM", "c2+ duplicate", "d1 SUPPRESSED", "d2 duplicate", "d3", "d3/p-d3", "d4 duplicate", "d5+ ALREADY_IN_TAM",
		"e1 SUPPRESSED", "e2", "e2/p-e2", "e3", "e3/p-e3")
	// The first one in the order among those that match within the limit.
	only := func(ids, rest string) string {
		return `{"company_filters": {"filtering_rules": [{"field": "id", "condition": "is", "value": ` + ids + `}]}, "search_input": {` + rest + `}}`
	}
	apptest.SameTexts(t, "the other way", selectedRows(t, org, only(`["a1", "a2", "a3", "c1", "c2"]`, `"sorting_rules": ["-id"]`)),
		"c2+", "c2/p-c2", "c1+ duplicate", "a3", "a3/p-a3", "a2 duplicate", "a1 duplicate")
	apptest.SameTexts(t, "some of them", selectedRows(t, org, only(`["a2", "a3", "c2"]`, `"exclude_companies_in_tam": true`)),
		"a2", "a2/p-a2", "a3 duplicate", "c2+ ALREADY_IN_TAM")
	apptest.SameTexts(t, "cut before", selectedRows(t, org, `{"search_input": {"max_candidates": 2}}`), "a1", "a1/p-a1", "a2 duplicate")
	apptest.SameTexts(t, "to another organization", selectedRows(t, other, only(`["a1", "a2", "b1", "c1", "d1"]`, ``)),
		"a1+ SUPPRESSED", "a2+ duplicate", "b1+ duplicate", "c1", "c1/p-c1", "d1", "d1/p-d1")

	// The estimate covers what the first two steps keep.
	for fields, want := range map[string]int{`{}`: 10, `{"search_input": {"exclude_companies_in_tam": true}}`: 10, `{"search_input": {"max_candidates": 4}}`: 1,
		only(`["x"]`, ``): 0, only(`["a2", "a3", "c1", "d1"]`, ``): 3} {
		res := org.Read.Post(apptest.PreviewsPath+"/estimate", apptest.PreviewBody(fields)).Is(200, fmt.Sprintf(`{"data": {"companies": %d, "cost": {"unit_product": "ai_signal", "charged": false,
			"companies": %d, "units": 0, "unit_rate": 2.5, "estimated_ai_signal_credits": 0, "actual_ai_signal_credits": null, "rate_basis": "list", "charged_operation_id": null}, "available_total": "<any>", "truncated": "<any>"},
			"meta": {"timestamp": "<time>"}}`, want, want))
		if res.Header.Get("ETag") != "" {
			t.Error("an estimate has an ETag")
		}
	}
	signal := apptest.NewField(org, "accounts", "fit", "boolean", `, "ai": {"question": "Does it fit?"}`)
	org.Read.Post(apptest.PreviewsPath+"/estimate", apptest.PreviewBody(`{"qualifier_signal_id": "`+signal+`", "qualifier_rule": {"value": true}}`)).Is(200, `{"data": {"companies": 10,
		"cost": {"unit_product": "ai_signal", "charged": false, "companies": 10, "units": 10, "unit_rate": 2.5, "estimated_ai_signal_credits": 25,
			"actual_ai_signal_credits": null, "rate_basis": "list", "charged_operation_id": null}, "available_total": 16, "truncated": false}, "meta": {"timestamp": "<time>"}}`)
}
