package handlers_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// listed returns a small organization whose records distinguish all conditions.
func listed(t *testing.T) (*apptest.App, *apptest.Org, map[string]string) {
	app := apptest.New(t)
	org := app.Org("Acme")
	app.Org("Umbrella").Write.Post("/v1/accounts", `{"name": "Hive"}`).Is(201)
	ids := map[string]string{}
	for _, name := range []string{"Gold", "Silver", "Bronze"} {
		ids[name] = org.Write.Post("/v1/tags", map[string]string{"name": name, "color": "red", "object_type": "account"}).Is(201).ID()
	}
	ids["user"] = org.User.String()
	for _, a := range []struct{ name, rest string }{
		{"Alder Labs", `"website": "alder.example", "employee_count": 10, "annual_revenue": -0.5, "owner_id": "{user}", "tags": ["{Gold}", "{Silver}"], "description": "Makes inspection-drones, for forests."`},
		{"birch foods", `"website": "birch.example", "employee_count": 200, "annual_revenue": 1e6, "tags": ["{Gold}"], "source": "csv", "country": "DE"`},
		{"ÄRZTE 50%_", `"employee_count": 9007199254740992, "annual_revenue": 9007199254740992, "tags": ["{Silver}", "{Bronze}"], "country": "de"`},
		{"cedar", `"founded_year": 0`},
		{"Cedar", `"founded_year": 1999, "notes": "Cedar is not cedar"`},
	} {
		body := fmt.Sprintf(`{"name": %q, %s}`, a.name, a.rest)
		for k, id := range ids {
			body = strings.ReplaceAll(body, "{"+k+"}", id)
		}
		ids[a.name] = org.Write.Post("/v1/accounts", body).Is(201).ID()
		app.Clock.Advance(24 * 60 * 60 * 1e9)
	}
	return app, org, ids
}

// names runs a list and returns the names in its order.
func names(org *apptest.Org, body string, ids map[string]string) []string {
	for k, id := range ids {
		body = strings.ReplaceAll(body, "{"+k+"}", id)
	}
	return org.Read.Post("/v1/accounts/list", body).Is(200).Column("name")
}

func TestConditions(t *testing.T) {
	_, org, ids := listed(t)
	const alder, birch, arzte, cedar, Cedar = "Alder Labs", "birch foods", "ÄRZTE 50%_", "cedar", "Cedar"
	for _, c := range []struct {
		rule string
		want []string
	}{
		// text: is, is_not and equals are exact; contains ignores case and matches substrings
		{`"name", "condition": "is", "value": "cedar"`, []string{cedar}},
		{`"name", "condition": "is", "value": ["cedar", "Cedar", "x"]`, []string{cedar, Cedar}},
		{`"name", "condition": "equals", "value": "Cedar"`, []string{Cedar}},
		{`"name", "condition": "is_not", "value": "cedar"`, []string{alder, birch, arzte, Cedar}},
		{`"name", "condition": "is_not", "value": ["cedar", "Cedar"]`, []string{alder, birch, arzte}},
		{`"name", "condition": "contains", "value": "CEDAR"`, []string{cedar, Cedar}},
		{`"name", "condition": "contains", "value": "ärzte 50%_"`, []string{arzte}},
		{`"name", "condition": "contains", "value": "r l"`, []string{alder}},
		{`"name", "condition": "contains", "value": "%"`, []string{arzte}},
		{`"name", "condition": "not_contains", "value": "e"`, []string{birch}},
		{`"description", "condition": "contains", "value": "drones, for"`, []string{alder}},
		{`"description", "condition": "not_contains", "value": "drones"`, []string{birch, arzte, cedar, Cedar}},
		{`"country", "condition": "is", "value": "DE"`, []string{birch, arzte}},
		{`"country", "condition": "is_not", "value": "DE"`, []string{alder, cedar, Cedar}},
		{`"country", "condition": "is_empty"`, []string{alder, cedar, Cedar}},
		{`"country", "condition": "is_not_empty"`, []string{birch, arzte}},
		// enum
		{`"source", "condition": "is", "value": "csv"`, []string{birch}},
		{`"source", "condition": "is_not", "value": ["csv", "demo"]`, []string{alder, arzte, cedar, Cedar}},
		{`"source", "condition": "is_empty"`, nil},
		// multi: is has any, is_not has none, contains has all, not_contains lacks at least one
		{`"tags", "condition": "is", "value": "{Gold}"`, []string{alder, birch}},
		{`"tags", "condition": "is", "value": ["{Gold}", "{Bronze}"]`, []string{alder, birch, arzte}},
		{`"tags", "condition": "is_not", "value": ["{Gold}", "{Bronze}"]`, []string{cedar, Cedar}},
		{`"tags", "condition": "contains", "value": ["{Gold}", "{Silver}"]`, []string{alder}},
		{`"tags", "condition": "contains", "value": "{Silver}"`, []string{alder, arzte}},
		{`"tags", "condition": "not_contains", "value": ["{Gold}", "{Silver}"]`, []string{birch, arzte, cedar, Cedar}},
		{`"tags", "condition": "is_empty"`, []string{cedar, Cedar}},
		{`"tags", "condition": "is_not_empty"`, []string{alder, birch, arzte}},
		// number
		{`"employee_count", "condition": "is", "value": 200`, []string{birch}},
		{`"employee_count", "condition": "is", "value": [10.0, 2e2]`, []string{alder, birch}},
		{`"employee_count", "condition": "equals", "value": 9007199254740992`, []string{arzte}},
		{`"employee_count", "condition": "equals", "value": 9007199254740993`, nil},
		{`"employee_count", "condition": "is_not", "value": 200`, []string{alder, arzte, cedar, Cedar}},
		{`"employee_count", "condition": "greater_than", "value": 10`, []string{birch, arzte}},
		{`"employee_count", "condition": "less_than", "value": 200`, []string{alder}},
		{`"employee_count", "condition": "at_least", "value": 200`, []string{birch, arzte}},
		{`"employee_count", "condition": "at_most", "value": 200`, []string{alder, birch}},
		{`"employee_count", "condition": "between", "value": [10, 200]`, []string{alder, birch}},
		{`"employee_count", "condition": "less_than", "value": 1e999`, []string{alder, birch, arzte}},
		{`"annual_revenue", "condition": "less_than", "value": 0`, []string{alder}},
		{`"annual_revenue", "condition": "is", "value": -0.5`, []string{alder}},
		{`"founded_year", "condition": "is", "value": 0`, []string{cedar}},
		{`"founded_year", "condition": "is_empty"`, []string{alder, birch, arzte}},
		// date-time: a date means the whole day
		{`"created_at", "condition": "is", "value": "2026-03-03"`, []string{birch}},
		{`"created_at", "condition": "is", "value": "2026-03-03T09:00:00Z"`, []string{birch}},
		{`"created_at", "condition": "is", "value": ["2026-03-03T10:00:00+01:00", "2026-03-04"]`, []string{birch, arzte}},
		{`"created_at", "condition": "is", "value": "2026-03-03T09:00:00.001Z"`, nil},
		{`"created_at", "condition": "is_after", "value": "2026-03-04"`, []string{cedar, Cedar}},
		{`"created_at", "condition": "at_least", "value": "2026-03-04"`, []string{arzte, cedar, Cedar}},
		{`"created_at", "condition": "between", "value": ["2026-03-03", "2026-03-04"]`, []string{birch, arzte}},
		{`"created_at", "condition": "greater_than", "value": "2026-03-04T09:00:00"`, []string{cedar, Cedar}},
		{`"created_at", "condition": "is_before", "value": "2026-03-04"`, []string{alder, birch}},
		{`"created_at", "condition": "less_than", "value": "2026-03-04T09:00:00.001Z"`, []string{alder, birch, arzte}},
		{`"created_at", "condition": "is_not_empty"`, []string{alder, birch, arzte, cedar, Cedar}},
		// reference
		{`"owner_id", "condition": "is", "value": "{user}"`, []string{alder}},
		{`"owner_id", "condition": "is_not", "value": ["{user}"]`, []string{birch, arzte, cedar, Cedar}},
		{`"owner_id", "condition": "is_empty"`, []string{birch, arzte, cedar, Cedar}},
		{`"id", "condition": "is", "value": ["{cedar}", "0190b2f0-0000-7000-8000-000000000000"]`, []string{cedar}},
	} {
		body := `{"sort": "created_at", "filters": [{"field": ` + c.rule + `}]}`
		if got := names(org, body, ids); !slices.Equal(got, c.want) {
			t.Errorf("%s\n got  %v\n want %v", c.rule, got, c.want)
		}
	}
	// An id in capitals is the same id.
	if got := names(org, `{"filters": [{"field": "id", "condition": "is", "value": "`+strings.ToUpper(ids["cedar"])+`"}]}`, nil); len(got) != 1 {
		t.Error(got)
	}
}

func TestBooleanConditions(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	org.Write.Post("/v1/contacts", `{"email": "a@x.example", "do_not_contact": true}`).Is(201)
	org.Write.Post("/v1/contacts", `{"email": "b@x.example", "scoring": {"heat_score": "hot"}}`).Is(201)
	for rule, want := range map[string]string{
		`"do_not_contact", "condition": "is", "value": true`:               "a@x.example",
		`"do_not_contact", "condition": "is", "value": [true, false]`:      "b@x.example, a@x.example",
		`"do_not_contact", "condition": "equals", "value": false`:          "b@x.example",
		`"do_not_contact", "condition": "is_not", "value": true`:           "b@x.example",
		`"do_not_contact", "condition": "is_empty"`:                        "",
		`"do_not_contact", "condition": "is_not_empty"`:                    "b@x.example, a@x.example",
		`"scoring.heat_score", "condition": "is", "value": ["hot","cold"]`: "b@x.example",
		`"scoring.heat_score", "condition": "is_empty"`:                    "a@x.example",
	} {
		t.Run(rule, func(t *testing.T) {
			res := org.Read.In(t).Post("/v1/contacts/list", `{"filters": [{"field": `+rule+`}]}`).Is(200)
			if got := strings.Join(res.Column("email"), ", "); got != want {
				t.Errorf("the list contains %s, want %s", got, want)
			}
		})
	}
	if got := org.Read.Post("/v1/contacts/list", `{"sort": "do_not_contact"}`).Is(200).Column("email"); !slices.Equal(got, []string{"b@x.example", "a@x.example"}) {
		t.Errorf("sorted by do_not_contact: %q, want false before true", got)
	}
}

func TestExpressions(t *testing.T) {
	_, org, ids := listed(t)
	rule := func(name string) string {
		return fmt.Sprintf(`{"field": "name", "condition": "is", "value": %q}`, name)
	}
	csv := `{"field": "source", "condition": "is", "value": "csv"}`
	for filters, want := range map[string]string{
		`[]`:                                  "Alder Labs, birch foods, ÄRZTE 50%_, cedar, Cedar",
		`{"filters": []}`:                     "Alder Labs, birch foods, ÄRZTE 50%_, cedar, Cedar",
		`{"operator": "or", "filters": []}`:   "Alder Labs, birch foods, ÄRZTE 50%_, cedar, Cedar",
		`null`:                                "Alder Labs, birch foods, ÄRZTE 50%_, cedar, Cedar",
		`[` + rule("cedar") + `,` + csv + `]`: "",
		`{"filters": [` + rule("birch foods") + `,` + csv + `]}`:                                                                             "birch foods",
		`{"operator": "or", "filters": [` + rule("cedar") + `,` + csv + `]}`:                                                                 "birch foods, cedar",
		`[{"operator": "or", "filters": [` + rule("cedar") + `,` + csv + `]}, {"filters": [` + csv + `]}]`:                                   "birch foods",
		`{"operator": "or", "filters": [` + rule("Cedar") + `, {"operator": "and", "filters": [` + csv + `, ` + rule("birch foods") + `]}]}`: "birch foods, Cedar",
	} {
		if got := strings.Join(names(org, `{"sort": "created_at", "filters": `+filters+`}`, ids), ", "); got != want {
			t.Errorf("%s lists %s, want %s", filters, got, want)
		}
	}
	deep := func(n int) string {
		return `{"filters": ` + strings.Repeat(`{"operator": "or", "filters": [`, n) + rule("cedar") + strings.Repeat(`]}`, n) + `}`
	}
	if got := names(org, deep(100), ids); !slices.Equal(got, []string{"cedar"}) {
		t.Error("100 levels deep:", got)
	}
	org.Read.Post("/v1/accounts/list", deep(201)).Fails(422, "invalid_filter", "must not be nested more than 200 levels deep")
	org.Read.Post("/v1/accounts/list", deep(400)).Fails(400, "invalid_json", "nested deeper than 512 levels")
	many := func(n int) string {
		return `{"filters": {"operator": "or", "filters": [` + strings.TrimSuffix(strings.Repeat(rule("cedar")+",", n), ",") + `]}}`
	}
	if got := names(org, many(1000), ids); !slices.Equal(got, []string{"cedar"}) {
		t.Error("1000 rules:", got)
	}
	org.Read.Post("/v1/accounts/list", many(1001)).Fails(422, "invalid_filter", "must have at most 1000 rules")
}

func TestBadFilters(t *testing.T) {
	_, org, _ := listed(t)
	for _, c := range []struct{ filters, message string }{
		{`"name"`, "filters: must be a list of rules or an expression"},
		{`{}`, "filters.filters: required"},
		{`{"filters": {}}`, "filters.filters: must be a list"},
		{`{"filters": [], "operator": "xor"}`, `filters.operator: "xor" is not one of: and, or`},
		{`{"filters": [], "operator": null}`, "filters.operator: must be one of: and, or"},
		{`[{"field": "name", "condition": "is", "value": "x", "filters": []}]`, "filters[0].filters: unknown field"},
		{`{"filters": [], "op": "and"}`, "filters.op: unknown field"},
		{`[1]`, "filters[0]: must be a rule or an expression"},
		{`[{}]`, "filters[0].field: required"},
		{`[{"field": "name"}]`, "filters[0].condition: required"},
		{`[{"field": 1, "condition": "is", "value": "x"}]`, "filters[0].field: must be a string"},
		{`[{"field": "name", "condition": 1, "value": "x"}]`, "filters[0].condition: must be a string"},
		{`[{"field": "nope", "condition": "is", "value": "x"}]`, `filters[0].field: "nope" is not a field of accounts`},
		{`[{"field": "Name", "condition": "is", "value": "x"}]`, `filters[0].field: "Name" is not a field`},
		{`[{"field": "scoring", "condition": "is_empty"}]`, `filters[0].field: "scoring" is not a field`},
		{`[{"field": "name", "condition": "greater_than", "value": "x"}]`, `filters[0].condition: "greater_than" is not a condition of name; use one of: is, is_not, equals, contains, not_contains, is_empty, is_not_empty`},
		{`[{"field": "name", "condition": "IS", "value": "x"}]`, `filters[0].condition: "IS" is not a condition`},
		{`[{"field": "name", "condition": "is"}]`, "filters[0].value: required"},
		{`[{"field": "name", "condition": "is_empty", "value": "x"}]`, "filters[0].value: must be omitted with the condition is_empty"},
		{`[{"field": "name", "condition": "is_not_empty", "value": null}]`, "filters[0].value: must be omitted with the condition is_not_empty"},
		{`[{"field": "name", "condition": "is", "value": null}]`, "filters[0].value: must be a string"},
		{`[{"field": "name", "condition": "is", "value": ""}]`, "filters[0].value: must not be empty"},
		{`[{"field": "name", "condition": "is", "value": []}]`, "filters[0].value: must not be empty"},
		{`[{"field": "name", "condition": "is", "value": ["x", ""]}]`, "filters[0].value[1]: must not be empty"},
		{`[{"field": "name", "condition": "is", "value": ["x", ["y"]]}]`, "filters[0].value[1]: must be a string"},
		{`[{"field": "name", "condition": "is", "value": {"x": 1}}]`, "filters[0].value: must be a string"},
		{`[{"field": "name", "condition": "equals", "value": ["x"]}]`, "filters[0].value: must be a single value with the condition equals, not a list"},
		{`[{"field": "name", "condition": "contains", "value": ["x"]}]`, "filters[0].value: must be a single value with the condition contains, not a list"},
		{`[{"field": "name", "condition": "is", "value": "x", "extra": 1}]`, "filters[0].extra: unknown field"},
		{`[{"field": "employee_count", "condition": "is", "value": "5"}]`, `filters[0].value: "5" is not a number`},
		{`[{"field": "employee_count", "condition": "greater_than", "value": [5]}]`, "filters[0].value: must be a single value"},
		{`[{"field": "source", "condition": "is", "value": "fax"}]`, `filters[0].value: "fax" is not one of: api, csv, tam_import, demo`},
		{`[{"field": "source", "condition": "contains", "value": "a"}]`, `filters[0].condition: "contains" is not a condition of source`},
		{`[{"field": "tags", "condition": "is", "value": "Copper"}]`, `filters[0].value: "Copper" is neither an id nor a known name`},
		{`[{"field": "owner_id", "condition": "is", "value": "x"}]`, `filters[0].value: "x" is not a UUID`},
		{`[{"field": "created_at", "condition": "is", "value": "yesterday"}]`, `filters[0].value: "yesterday" is not a date such as 2026-03-01 or a time such as`},
		{`[{"field": "created_at", "condition": "is", "value": 1772442000}]`, "filters[0].value: must be a date or a time, as a string"},
		{`[{"field": "created_at", "condition": "is_before", "value": "2026-02-30"}]`, `filters[0].value: "2026-02-30" is not a date such as 2026-03-01 or a time such as`},
		{`[{"field": "created_at", "condition": "is_before", "value": ["2026-02-03"]}]`, "filters[0].value: must be a single value"},
		{`[{"field": "created_at", "condition": "is_not", "value": "2026-02-03"}]`, `"is_not" is not a condition of created_at`},
		{`[{"field": "name", "condition": "is", "value": "x"}, {"operator": "or", "filters": [{"field": "name", "condition": "was"}]}]`, "filters[1].filters[0].condition"},
		{`{"filters": [{"filters": [{"field": "x", "condition": "is"}]}]}`, "filters.filters[0].filters[0].field"},
	} {
		t.Run(c.message, func(t *testing.T) {
			org.Read.In(t).Post("/v1/accounts/list", `{"filters": `+c.filters+`}`).Fails(422, "invalid_filter", c.message)
		})
	}
	for sortBy, message := range map[string]string{
		"nope":                               `sort: "nope" is not a field that accounts can be sorted by`,
		"-tags":                              `sort: "tags" is not a field that accounts can be sorted by`,
		"notes":                              `sort: "notes" is not a field that accounts can be sorted by`,
		"description":                        `sort: "description" is not a field that accounts can be sorted by`,
		"name,":                              `sort: "" is not a field that accounts can be sorted by`,
		"--name":                             `sort: "-name" is not a field that accounts can be sorted by`,
		"name, website":                      `sort: " website" is not a field that accounts can be sorted by`,
		strings.Repeat("name,", 20) + "name": "sort: must have at most 20 fields, not 21",
	} {
		t.Run(message, func(t *testing.T) {
			org.Read.In(t).Post("/v1/accounts/list", map[string]string{"sort": sortBy}).Fails(422, "invalid_sort", message)
		})
	}
	for body, message := range map[string]string{
		`{"page": 0}`: "page: must be at least 1", `{"page": "1"}`: `page: "1" is not an integer`, `{"page_size": 501}`: "page_size: must be between 1 and 500",
		`{"page_size": 0}`: "page_size: must be between 1 and 500", `{"page_size": 1.5}`: "page_size: 1.5 is not an integer", `{"sort": 1}`: "sort: must be a string",
		`{"search": ["x"]}`: "search: must be a string", `{"filter": []}`: "filter: unknown field",
	} {
		t.Run(message, func(t *testing.T) {
			org.Read.In(t).Post("/v1/accounts/list", body).Fails(422, "validation_failed", message)
		})
	}
	// All problems are reported at once: of the form, the sort and the filters.
	org.Read.Post("/v1/accounts/list", `{"page": 0, "sort": "x", "filters": [{"field": "x", "condition": "is", "value": 1}, {"field": "name", "condition": "y"}]}`).
		Is(422, `{"error": {"code": "validation_failed", "message": "page: must be at least 1, not 0", "details": [
			{"path": "page", "message": "must be at least 1, not 0"},
			{"path": "sort", "message": "<any>"},
			{"path": "filters[0].field", "message": "<any>"},
			{"path": "filters[1].condition", "message": "<any>"}]}}`)
	for _, entity := range []string{"contacts", "tags"} {
		org.Read.Post("/v1/"+entity+"/list", `{"filters": [{"field": "x", "condition": "is", "value": 1}]}`).Fails(422, "invalid_filter", "filters[0].field")
		org.Read.Post("/v1/"+entity+"/list", `{"sort": "x"}`).Fails(422, "invalid_sort", "sort")
	}
}

func TestSorting(t *testing.T) {
	_, org, ids := listed(t)
	for sortBy, want := range map[string]string{
		"":                          "Cedar, cedar, ÄRZTE 50%_, birch foods, Alder Labs", // newest first
		"created_at":                "Alder Labs, birch foods, ÄRZTE 50%_, cedar, Cedar",
		"name":                      "Alder Labs, birch foods, cedar, Cedar, ÄRZTE 50%_", // by code point of the lower case, ties by id
		"-name":                     "ÄRZTE 50%_, Cedar, cedar, birch foods, Alder Labs",
		"employee_count":            "Alder Labs, birch foods, ÄRZTE 50%_, cedar, Cedar", // missing values last in both directions
		"-employee_count":           "ÄRZTE 50%_, birch foods, Alder Labs, Cedar, cedar",
		"annual_revenue":            "Alder Labs, birch foods, ÄRZTE 50%_, cedar, Cedar",
		"country":                   "birch foods, ÄRZTE 50%_, Alder Labs, cedar, Cedar",
		"-country,name":             "birch foods, ÄRZTE 50%_, Alder Labs, cedar, Cedar",
		"source,-employee_count":    "ÄRZTE 50%_, Alder Labs, Cedar, cedar, birch foods",
		"owner_id":                  "Alder Labs, birch foods, ÄRZTE 50%_, cedar, Cedar",
		"-id":                       "Cedar, cedar, ÄRZTE 50%_, birch foods, Alder Labs",
		"founded_year,name,website": "cedar, Cedar, Alder Labs, birch foods, ÄRZTE 50%_",
	} {
		if got := strings.Join(names(org, fmt.Sprintf(`{"sort": %q}`, sortBy), ids), ", "); got != want {
			t.Errorf("sorted by %q: %s, want %s", sortBy, got, want)
		}
	}
}

func TestSearch(t *testing.T) {
	_, org, ids := listed(t)
	for search, want := range map[string]string{
		"":                    "Alder Labs, birch foods, ÄRZTE 50%_, cedar, Cedar",
		" ,;% ":               "Alder Labs, birch foods, ÄRZTE 50%_, cedar, Cedar", // contains no word
		"ced":                 "cedar, Cedar",
		"CEDAR not":           "Cedar",
		"edar":                "",
		"lab ald":             "Alder Labs",
		"inspection-drones":   "Alder Labs",
		"drones inspection":   "Alder Labs",
		"ärzte":               "ÄRZTE 50%_",
		"50":                  "ÄRZTE 50%_",
		"a":                   "Alder Labs",
		"birch.example foods": "birch foods",
		"csv":                 "", // an enum is not text
		"example":             "Alder Labs, birch foods",
	} {
		if got := strings.Join(names(org, fmt.Sprintf(`{"sort": "created_at", "search": %q}`, search), ids), ", "); got != want {
			t.Errorf("search for %q: %s, want %s", search, got, want)
		}
	}
	if got := names(org, `{"search": "cedar", "filters": [{"field": "founded_year", "condition": "is", "value": 0}]}`, ids); !slices.Equal(got, []string{"cedar"}) {
		t.Error(got)
	}
}

// TestSearchedFields checks that every text field is searched by its words, which consist of
// letters and digits. The characters ½ and Ⅷ are neither.
func TestSearchedFields(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	fields := []string{"first_name", "last_name", "email", "title", "phone_number", "linkedin_url", "location", "notes"}
	for i, field := range fields {
		body := map[string]string{"email": "someone@x.example", field: fmt.Sprintf("word%d@half½eight", i)}
		org.Write.Post("/v1/contacts", body).Is(201)
	}
	for i, field := range fields {
		for _, search := range []string{fmt.Sprintf("WORD%d", i), fmt.Sprintf("eight word%d", i)} {
			if got := org.Read.Post("/v1/contacts/list", map[string]string{"search": search}).Is(200); got.Int("pagination.total_count") != 1 {
				t.Errorf("%s is not searched: %q finds %d", field, search, got.Int("pagination.total_count"))
			}
		}
	}
}

func TestPaging(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	org.Read.Post("/v1/contacts/list", nil).Is(200, `{"data": [], "pagination": {"page": 1, "page_size": 50, "total_count": 0, "total_pages": 0}, "meta": {"timestamp": "<time>"}}`)
	var all []string
	for i := range 23 {
		all = append(all, org.Write.Post("/v1/contacts", fmt.Sprintf(`{"email": "c%02d@x.example", "title": "T%d"}`, i, i%3)).Is(201).ID())
	}
	slices.Reverse(all)
	seen := []string{}
	for page := 1; ; page++ {
		res := org.Read.Post("/v1/contacts/list", fmt.Sprintf(`{"page": %d, "page_size": 7}`, page)).Is(200)
		if res.Int("pagination.page") != page || res.Int("pagination.page_size") != 7 || res.Int("pagination.total_count") != 23 || res.Int("pagination.total_pages") != 4 {
			t.Fatal(string(res.Body))
		}
		seen = append(seen, res.Column("id")...)
		if page >= res.Int("pagination.total_pages") {
			break
		}
	}
	if !slices.Equal(seen, all) {
		t.Errorf("pages give %v, want %v", seen, all)
	}
	// A page after the end is empty, and its counts are correct.
	for _, page := range []string{"5", "9007199254740992", "1e15"} {
		res := org.Read.Post("/v1/contacts/list", `{"page_size": 7, "page": `+page+`}`).Is(200)
		if len(res.Value("data").([]any)) != 0 || res.Int("pagination.total_count") != 23 {
			t.Errorf("page %s: %s", page, res.Body)
		}
	}
	if got := org.Read.Post("/v1/contacts/list", `{"page_size": 500, "page": null, "sort": null, "search": null, "filters": null}`).Is(200).Column("id"); !slices.Equal(got, all) {
		t.Error("one large page differs from the small pages")
	}
	// Ties in a sort never repeat or skip records.
	tied := []string{}
	for page := 1; page <= 5; page++ {
		tied = append(tied, org.Read.Post("/v1/contacts/list", fmt.Sprintf(`{"sort": "-title", "page": %d, "page_size": 5}`, page)).Is(200).Column("id")...)
	}
	sort.Strings(tied)
	slices.Sort(all)
	if !slices.Equal(tied, all) {
		t.Error("paging over equal sort keys repeats or skips records")
	}
}

// TestSchemas compares every schema with its list, which must accept exactly what the schema
// describes.
func TestSchemas(t *testing.T) {
	_, org, _ := listed(t)
	values := map[string]string{"text": `"x"`, "number": `1`, "boolean": `true`, "date": `"2026-03-01"`, "datetime": `"2026-03-01"`,
		"multi": `"0190b2f0-0000-7000-8000-000000000000"`, "reference": `"0190b2f0-0000-7000-8000-000000000000"`}
	every := []string{"is", "is_not", "equals", "contains", "not_contains", "is_empty", "is_not_empty", "is_before", "is_after", "greater_than", "less_than", "at_least", "at_most", "between", "starts_with"}
	for _, entity := range []string{"accounts", "contacts", "tags"} {
		var schema struct {
			Data struct {
				Entity      string
				DefaultSort string `json:"default_sort"`
				Fields      []struct {
					Key, Label, Type             string
					ReadOnly                     bool `json:"read_only"`
					Custom, Sortable, Filterable bool
					Conditions                   []string
					Enum                         *struct {
						Allowed []string `json:"allowed_values"`
						Labels  map[string]string
					} `json:"enum_field_settings"`
				}
			}
		}
		if err := json.Unmarshal(org.Read.Get("/v1/schemas/"+entity).Is(200).Body, &schema); err != nil {
			t.Fatal(err)
		}
		if schema.Data.Entity != entity || schema.Data.DefaultSort != "-created_at" || len(schema.Data.Fields) < 5 {
			t.Fatalf("%+v", schema)
		}
		list := "/v1/" + entity + "/list"
		for _, f := range schema.Data.Fields {
			value := values[f.Type]
			if f.Type == "enum" {
				value = fmt.Sprintf("%q", f.Enum.Allowed[0])
				if len(f.Enum.Labels) != len(f.Enum.Allowed) || f.Enum.Labels[f.Enum.Allowed[0]] == "" {
					t.Errorf("%s.%s has the labels %v", entity, f.Key, f.Enum.Labels)
				}
			} else if f.Enum != nil {
				t.Errorf("%s.%s is no enum and has settings", entity, f.Key)
			}
			if value == "" || f.Label == "" || !f.Filterable || f.Custom {
				t.Fatalf("%s: %+v", entity, f)
			}
			for _, condition := range every {
				rule := fmt.Sprintf(`{"field": %q, "condition": %q, "value": %s}`, f.Key, condition, value)
				if strings.HasSuffix(condition, "_empty") {
					rule = fmt.Sprintf(`{"field": %q, "condition": %q}`, f.Key, condition)
				}
				if condition == "between" {
					rule = fmt.Sprintf(`{"field": %q, "condition": %q, "value": [%s, %s]}`, f.Key, condition, value, value)
				}
				res := org.Read.Post(list, `{"filters": [`+rule+`]}`)
				if slices.Contains(f.Conditions, condition) {
					res.Is(200)
				} else {
					res.Fails(422, "invalid_filter", "filters[0].condition")
				}
			}
			for _, s := range []string{f.Key, "-" + f.Key} {
				res := org.Read.Post(list, map[string]string{"sort": s})
				if f.Sortable {
					res.Is(200)
				} else {
					res.Fails(422, "invalid_sort", f.Key)
				}
			}
			if notSortable := f.Type == "multi" || f.Key == "notes" || f.Key == "description"; f.Sortable == notSortable {
				t.Errorf("%s.%s: sortable is %v", entity, f.Key, f.Sortable)
			}
			if readOnly := slices.Contains([]string{"id", "created_at", "updated_at", "source", "object_type"}, f.Key); f.ReadOnly != readOnly {
				t.Errorf("%s.%s: read_only is %v", entity, f.Key, f.ReadOnly)
			}
		}
	}
	schema := string(org.Read.Get("/v1/schemas/contacts").Body)
	for _, part := range []string{
		`{"key":"linkedin_url","label":"LinkedIn URL","type":"text","read_only":false,"custom":false,"sortable":true,"filterable":true,"conditions":["is","is_not","equals","contains","not_contains","is_empty","is_not_empty"],"enum_field_settings":null}`,
		`{"key":"scoring.heat_score","label":"Heat score","type":"enum","read_only":false,"custom":false,"sortable":true,"filterable":true,"conditions":["is","is_not","is_empty","is_not_empty"],"enum_field_settings":{"allowed_values":["hot","warm","cold"],"labels":{"cold":"Cold","hot":"Hot","warm":"Warm"}}}`,
	} {
		if !strings.Contains(schema, part) {
			t.Errorf("the schema of contacts has no %s", part)
		}
	}
}

// TestListsSeeWrites checks that a list contains every change that was acknowledged before it
// began, and nothing of other organizations.
func TestListsSeeWrites(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	for i := range 20 {
		id := org.Write.Post("/v1/tags", fmt.Sprintf(`{"name": "T %d", "color": "red", "object_type": "contact"}`, i)).Is(201).ID()
		if got := org.Read.Post("/v1/tags/list", `{"page_size": 1}`).Is(200).Column("id"); got[0] != id {
			t.Fatal("the list missed a write")
		}
		if i%2 == 0 {
			org.Write.Delete("/v1/tags/" + id).Is(204)
		}
		if n := org.Read.Post("/v1/tags/list", nil).Is(200).Int("pagination.total_count"); n != (i+1)/2 {
			t.Fatalf("%d tags after %d", n, i)
		}
	}
	if n := other.Read.Post("/v1/tags/list", nil).Is(200).Int("pagination.total_count"); n != 0 {
		t.Error("tags visible to another organization:", n)
	}
}
