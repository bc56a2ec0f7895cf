package tam_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
)

// refuses requires that a request for a Preview and its estimate are refused with exactly these
// problems in any order. Each is given by the beginning of its text.
func refuses(t *testing.T, o *apptest.Org, body any, code string, want ...string) {
	t.Helper()
	for _, path := range []string{apptest.PreviewsPath, apptest.PreviewsPath + "/estimate"} {
		res := o.Write.Post(path, body)
		if res.Status != 422 || res.Text("error.code") != code {
			raw, _ := json.Marshal(body)
			t.Errorf("%s: %s\nreturned %d %s, want %s", path, raw, res.Status, res.Body, code)
			return
		}
		got := apptest.ProblemsOf(res)
		if len(got) > 0 && res.Text("error.message") != got[0] {
			t.Errorf("the message is %q, the first problem %q", res.Text("error.message"), got[0])
		}
		left := slices.Clone(want)
		for _, problem := range got {
			at := slices.IndexFunc(left, func(w string) bool { return strings.HasPrefix(problem, w) })
			if at < 0 {
				at = len(left)
				left = append(left, problem)
			}
			left = slices.Delete(left, at, at+1)
		}
		if len(left) > 0 || len(got) != len(want) {
			raw, _ := json.Marshal(body)
			t.Errorf("%s\nproblems = %q, want %q", raw, got, want)
		}
	}
}

// named creates the records that requests can refer to, and replaces placeholders by their ids.
func named(o, other *apptest.Org) func(string) string {
	tag := func(o *apptest.Org, name, object string) string {
		return o.Write.Post("/v1/tags", map[string]string{"name": name, "color": "red", "object_type": object}).Is(201).ID()
	}
	view := func(o *apptest.Org, name, rest string) string {
		return o.Write.Post("/v1/account-views", `{"name": "`+name+`"`+rest+`}`).Is(201).ID()
	}
	apptest.NewField(o, "accounts", "tier", "text", ``)
	ai := `, "ai": {"question": "What?"}`
	ids := map[string]string{
		"account tag": tag(o, "A", "account"), "contact tag": tag(o, "C", "contact"), "task tag": tag(o, "T", "task"), "foreign tag": tag(other, "A", "account"),
		"view": view(o, "All", ""), "foreign view": view(other, "All", ""), "unknown": "0190b2f0-0000-7000-8000-000000000000",
		"wood view":   view(o, "Wood", `, "filtering_rules": {"filters": [{"field": "industry", "condition": "is", "value": "Wood"}]}, "searching_rule": {"value": "alder"}`),
		"owner view":  view(o, "Mine", `, "filtering_rules": {"filters": [{"field": "name", "condition": "is_not_empty"}, {"operator": "or", "filters": [{"field": "owner_id", "condition": "is_empty"}]}]}`),
		"tag view":    view(o, "Tagged", `, "filtering_rules": [{"field": "tags", "condition": "is_not_empty"}, {"field": "notes", "condition": "is_empty"}]`),
		"custom view": view(o, "Tier", `, "filtering_rules": [{"field": "custom_field_tier", "condition": "is", "value": "gold"}]`),
		"plain field": apptest.NewField(o, "accounts", "plain", "text", ``), "foreign field": apptest.NewField(other, "accounts", "ai_text", "text", ai),
		"contact field": apptest.NewField(o, "contacts", "plain", "text", ``),
	}
	for _, c := range apptest.CustomTypes {
		ids[c.DataType] = apptest.NewField(o, "accounts", "ai_"+c.DataType, c.DataType, c.More+ai)
	}
	return func(text string) string {
		for name, id := range ids {
			text = strings.ReplaceAll(text, "<"+name+">", id)
		}
		return text
	}
}

func TestPreviewRequest(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	fill := named(org, other)
	before := org.Dump()
	for _, body := range []string{``, `{}`, `{"request_id": null, "company_filters": null}`, `{"request_id": ""}`} {
		refuses(t, org, body, "validation_failed", "request_id: required", "company_filters: required")
	}
	const isUnknown = ": unknown field"
	for fields, want := range map[string]string{ // one line per problem
		`{"request_id": "7"}`: "request_id: \"7\" is not a UUID",
		`{"request_id": 7}`:   "request_id: must be a UUID",
		`{"request_id": "{0190b2f0-0000-7000-8000-000000000000}"}`:                               "request_id: \"{0190b2f0-0000-7000-8000-000000000000}\" is not a UUID",
		`{"colour": 1, "preview_id": null}`:                                                      "colour" + isUnknown + "\npreview_id" + isUnknown,
		`{"company_filters": []}`:                                                                "company_filters: must be an object",
		`{"company_filters": {"industry": "x"}}`:                                                 "company_filters.industry" + isUnknown,
		`{"company_filters": {"account_view_id": "x"}}`:                                          "company_filters.account_view_id: \"x\" is not a UUID",
		`{"company_filters": {"account_view_id": ["<view>"]}}`:                                   "company_filters.account_view_id: must be a UUID",
		`{"company_filters": {"account_view_id": "<unknown>"}}`:                                  "company_filters.account_view_id: does not exist",
		`{"company_filters": {"account_view_id": "<foreign view>"}}`:                             "company_filters.account_view_id: does not exist",
		`{"company_filters": {"account_view_id": "<account tag>"}}`:                              "company_filters.account_view_id: does not exist",
		`{"company_filters": {"searching_rule": "alder"}}`:                                       "company_filters.searching_rule: must be an object",
		`{"company_filters": {"searching_rule": {}}}`:                                            "company_filters.searching_rule.value: required",
		`{"company_filters": {"searching_rule": {"value": 5, "x": 1}}}`:                          "company_filters.searching_rule.value: must be a string\ncompany_filters.searching_rule.x" + isUnknown,
		`{"contact_filters": "vp"}`:                                                              "contact_filters: must be an object",
		`{"contact_filters": {"titles": ["vp"]}}`:                                                "contact_filters.titles" + isUnknown,
		`{"contact_filters": {"include_keywords": "vp"}}`:                                        "contact_filters.include_keywords: must be a list",
		`{"contact_filters": {"include_keywords": ["vp", 1, "", null]}}`:                         "contact_filters.include_keywords[1]: must be a string\ncontact_filters.include_keywords[2]: must not be empty\ncontact_filters.include_keywords[3]: must be a string",
		`{"contact_filters": {"include_keywords": ["vp", "vp", "--"]}}`:                          "contact_filters.include_keywords[2]: \"--\" contains no letter or digit",
		`{"contact_filters": {"exclude_keywords": [{}, " "]}}`:                                   "contact_filters.exclude_keywords[0]: must be a string\ncontact_filters.exclude_keywords[1]: \" \" contains no letter or digit",
		`{"contact_filters": {"seniority": "vp"}}`:                                               "contact_filters.seniority: \"vp\" is not one of: Individual Contributor, ",
		`{"contact_filters": {"seniority": ["VP"]}}`:                                             "contact_filters.seniority: must be a string",
		`{"contact_filters": {"countries": {"x": 1}}}`:                                           "contact_filters.countries: must be a list",
		`{"contact_filters": {"countries": ["Norway", 47]}}`:                                     "contact_filters.countries[1]: must be a string",
		`{"exclude_companies_without_titles": "yes", "tag_existing_accounts": 1}`:                "exclude_companies_without_titles: \"yes\" is not true or false\ntag_existing_accounts: must be true or false",
		`{"tag_existing_contacts": []}`:                                                          "tag_existing_contacts: must be true or false",
		`{"tag_ids": "<account tag>"}`:                                                           "tag_ids: must be a list",
		`{"tag_ids": ["<account tag>", "x", 5]}`:                                                 "tag_ids[1]: \"x\" is neither an id nor a known name\ntag_ids[2]: must be a UUID",
		`{"tag_ids": ["<account tag>", "<account tag>", "<unknown>"]}`:                           "tag_ids[2]: does not exist",
		`{"tag_ids": ["<foreign tag>", "<view>"]}`:                                               "tag_ids[0]: does not exist\ntag_ids[1]: does not exist",
		`{"tag_ids": ["<contact tag>", "<task tag>"]}`:                                           "tag_ids[0]: the tag is for another object type, contact\ntag_ids[1]: the tag is for another object type, task",
		`{"contact_tag_ids": ["<contact tag>", "<account tag>"]}`:                                "contact_tag_ids[1]: the tag is for another object type, account",
		`{"contact_tag_ids": ["<unknown>"]}`:                                                     "contact_tag_ids[0]: does not exist",
		`{"search_input": []}`:                                                                   "search_input: must be an object",
		`{"search_input": {"limit": 5}}`:                                                         "search_input.limit" + isUnknown,
		`{"search_input": {"max_candidates": 0}}`:                                                "search_input.max_candidates: must be between 1 and 100000",
		`{"search_input": {"max_candidates": 100001}}`:                                           "search_input.max_candidates: must be between 1 and 100000",
		`{"search_input": {"max_candidates": 1.5}}`:                                              "search_input.max_candidates: 1.5 is not an integer",
		`{"search_input": {"max_candidates": "10"}}`:                                             "search_input.max_candidates: \"10\" is not an integer",
		`{"search_input": {"query_id": "x", "with_titles": "no"}}`:                               "search_input.query_id: \"x\" is not a UUID\nsearch_input.with_titles: \"no\" is not true or false",
		`{"search_input": {"exclude_companies_in_tam": 0}}`:                                      "search_input.exclude_companies_in_tam: must be true or false",
		`{"search_input": {"account_view_id": "<unknown>"}}`:                                     "search_input.account_view_id: does not exist",
		`{"search_input": {"searching_rule": {"value": null}}}`:                                  "search_input.searching_rule.value: required",
		`{"search_input": {"title_search": "vp"}}`:                                               "search_input.title_search: must be a list",
		`{"search_input": {"title_search": ["&"]}}`:                                              "search_input.title_search[0]: \"&\" contains no letter or digit",
		`{"search_input": {"title_enrichment": "vp"}}`:                                           "search_input.title_enrichment: must be an object",
		`{"search_input": {"title_enrichment": {}}}`:                                             "search_input.title_enrichment.condition: required",
		`{"search_input": {"title_enrichment": {"condition": "equals", "criterias": ["vp"]}}}`:   "search_input.title_enrichment.condition: \"equals\" is not one of: is, contains, not_contains",
		`{"search_input": {"title_enrichment": {"condition": "is", "criterias": "vp"}}}`:         "search_input.title_enrichment.criterias: must be a list",
		`{"search_input": {"title_enrichment": {"condition": "is", "criterias": ["a", 5, ""]}}}`: "search_input.title_enrichment.criterias[1]: must be a string\nsearch_input.title_enrichment.criterias[2]: must not be empty",
		`{"search_input": {"title_enrichment": {"condition": "is", "values": ["a"]}}}`:           "search_input.title_enrichment.values" + isUnknown,
	} {
		refuses(t, org, apptest.PreviewBody(fill(fields)), "validation_failed", strings.Split(want, "\n")...)
	}
	// All problems of all parts of the request are reported at once.
	refuses(t, org, apptest.PreviewBody(fill(`{"colour": 1, "tag_ids": ["<contact tag>"], "contact_tag_ids": ["<unknown>"], "qualifier_signal_id": "<unknown>",
		"company_filters": {"account_view_id": "<unknown>", "filtering_rules": {"filters": [{"field": "x", "condition": "is", "value": 1}]}},
		"contact_filters": {"seniority": "Boss", "include_keywords": ["-"]}, "search_input": {"max_candidates": 0, "account_view_id": "<owner view>",
		"sorting_rules": ["x"], "grouping_rule": {"field": "y"}, "filtering_rules": [{"field": "name", "condition": "like", "value": "a"}]}}`)), "validation_failed",
		"colour"+isUnknown, "tag_ids[0]: the tag is for another", "contact_tag_ids[0]: does not exist", "qualifier_signal_id: does not exist", "qualifier_rule: required",
		"company_filters.account_view_id: does not exist", "company_filters.filtering_rules.filters[0].field", `contact_filters.seniority: "Boss" is not one of`,
		`contact_filters.include_keywords[0]: "-" contains no letter`, "search_input.max_candidates: must", "search_input.account_view_id: the view",
		"search_input.sorting_rules[0]", "search_input.grouping_rule.field", "search_input.filtering_rules[0].condition")
	if org.Dump() != before {
		t.Error("a refused request changed something")
	}
}

func TestPreviewFilterFaults(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	fill := named(org, other)
	for rules, want := range map[string]string{ // of filters: the path after filtering_rules and the message
		`"x"`:                                 ": must be a list of rules or an expression",
		`5`:                                   ": must be a list of rules or an expression",
		`{}`:                                  ".filters: required",
		`{"filters": null}`:                   ".filters: must be a list",
		`{"filters": [], "operator": "xor"}`:  `.operator: "xor" is not one of: and, or`,
		`{"filters": [], "operator": "AND"}`:  `.operator: "AND" is not one of: and, or`,
		`{"filters": [], "colour": 1}`:        ".colour: unknown field",
		`{"filters": ["x"]}`:                  ".filters[0]: must be a rule",
		`[{"field": "name"}]`:                 "[0].condition: required",
		`[{"condition": "is", "value": "x"}]`: "[0].field: required",
		`[{"field": "colour", "condition": "is", "value": "x"}]`:                                                           `[0].field: "colour" is not a field of companies`,
		`[{"field": "owner_id", "condition": "is_empty"}]`:                                                                 `[0].field: "owner_id" is not a field of companies`,
		`[{"field": "created_at", "condition": "is_empty"}]`:                                                               `[0].field: "created_at" is not a field of companies`,
		`[{"field": "custom_field_tier", "condition": "is_empty"}]`:                                                        `[0].field: "custom_field_tier" is not a field of companies`,
		`[{"field": "name", "condition": "greater_than", "value": "x"}]`:                                                   `[0].condition: "greater_than" is not a condition of name`,
		`[{"field": "employee_count", "condition": "contains", "value": 1}]`:                                               `[0].condition: "contains" is not a condition of employee_count`,
		`[{"field": "employee_count", "condition": "is", "value": "many"}]`:                                                `[0].value: "many" is not a number`,
		`[{"field": "employee_count", "condition": "is", "value": [1, "2"]}]`:                                              `[0].value[1]: "2" is not a number`,
		`[{"field": "name", "condition": "is"}]`:                                                                           "[0].value: required",
		`[{"field": "name", "condition": "is", "value": null}]`:                                                            "[0].value: must be a string",
		`[{"field": "name", "condition": "is_empty", "value": "x"}]`:                                                       "[0].value: must be omitted with the condition is_empty",
		`[{"field": "name", "condition": "is", "value": "x", "not": true}]`:                                                "[0].not: unknown field",
		`{"filters": [{"filters": [{"operator": "or", "filters": [{"field": "name", "condition": "is", "value": ""}]}]}]}`: ".filters[0].filters[0].filters[0].value: must not be empty",
	} {
		refuses(t, org, apptest.PreviewBody(`{"company_filters": {"filtering_rules": `+rules+`}}`), "invalid_filter", "company_filters.filtering_rules"+want)
		refuses(t, org, apptest.PreviewBody(`{"search_input": {"filtering_rules": `+rules+`}}`), "invalid_filter", "search_input.filtering_rules"+want)
	}
	for view, want := range map[string]string{
		"<owner view>":  `: the view "Mine" has an unsuitable filter, filtering_rules.filters[1].filters[0].field: "owner_id" is not a field of companies`,
		"<custom view>": `: the view "Tier" has an unsuitable filter, filtering_rules[0].field: "custom_field_tier" is not a field of companies`,
		"<tag view>": `: the view "Tagged" has an unsuitable filter, filtering_rules[0].field: "tags" is not a field of companies` + "\n" +
			`: the view "Tagged" has an unsuitable filter, filtering_rules[1].field: "notes" is not a field of companies`,
	} {
		var inCompanies, inSearch []string
		for line := range strings.SplitSeq(want, "\n") {
			inCompanies, inSearch = append(inCompanies, "company_filters.account_view_id"+line), append(inSearch, "search_input.account_view_id"+line)
		}
		at := fill(`{"account_view_id": "` + view + `"}`)
		refuses(t, org, apptest.PreviewBody(`{"company_filters": `+at+`}`), "invalid_filter", inCompanies...)
		refuses(t, org, apptest.PreviewBody(`{"search_input": `+at+`}`), "invalid_filter", inSearch...)
		refuses(t, org, apptest.PreviewBody(`{"company_filters": `+at+`, "search_input": `+at+`}`), "invalid_filter", append(inCompanies, inSearch...)...)
	}
	for rules, want := range map[string]string{
		`"name"`:                                 ": must be a list",
		`{"field": "name"}`:                      ": must be a list",
		`["colour"]`:                             "[0]",
		`["-colour", "name"]`:                    "[0]",
		`["name", "+country"]`:                   "[1]",
		`["--name"]`:                             "[0]",
		`["keywords"]`:                           "[0]",
		`["description"]`:                        "[0]",
		`["created_at"]`:                         "[0]",
		`[""]`:                                   "[0]",
		`[5]`:                                    "[0]: must be",
		`[["name"]]`:                             "[0]: must be",
		`[null]`:                                 "[0]: must be",
		`[{}]`:                                   "[0].field: required",
		`[{"field": null}]`:                      "[0].field: required",
		`[{"direction": "asc"}]`:                 "[0].field: required",
		`[{"field": "-name"}]`:                   "[0].field",
		`[{"field": "technologies"}]`:            "[0].field",
		`["name", {"field": "x"}]`:               "[1].field",
		`[{"field": "name", "direction": "up"}]`: "[0].direction: must be asc or desc",
		`[{"field": "name", "direction": "DESC"}]`: "[0].direction: must be asc or desc",
		`[{"field": "name", "direction": -1}]`:     "[0].direction: must be asc or desc",
		`[{"field": "name", "order": "asc"}]`:      "[0].order: unknown field",
	} {
		refuses(t, org, apptest.PreviewBody(`{"search_input": {"sorting_rules": `+rules+`}}`), "invalid_sort", "search_input.sorting_rules"+want)
	}
	for rule, want := range map[string]string{`{}`: ".field: required", `{"field": 5}`: ".field: required", `"country"`: ": must be an object",
		`{"field": "name", "direction": "asc"}`: ".direction: unknown field"} {
		refuses(t, org, apptest.PreviewBody(`{"search_input": {"grouping_rule": `+rule+`}}`), "invalid_sort", "search_input.grouping_rule"+want)
	}
	for _, field := range []string{"colour", "keywords", "description", "-name", "custom_field_tier"} {
		refuses(t, org, apptest.PreviewBody(`{"search_input": {"grouping_rule": {"field": "`+field+`"}}}`), "invalid_sort", "search_input.grouping_rule.field")
	}
}

func TestPreviewQualifier(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	fill := named(org, other)
	app.Catalog([]catalog.Company{apptest.Firm("c1")}, nil)
	const signal, rule = "qualifier_signal_id", "qualifier_rule"
	for _, c := range []struct{ id, rule, want string }{
		{`null`, `{"value": "x"}`, signal + ": required together"},
		{`""`, `{"value": "x"}`, signal + ": required together"},
		{`"<text>"`, `null`, rule + ": required together"},
		{`"x"`, `{"value": "x"}`, signal + `: "x" is not a UUID`},
		{`7`, `null`, signal + ": must be a UUID\n" + rule + ": required together"},
		{`"<unknown>"`, `{"value": "x"}`, signal + ": does not exist, or is not an AI-filled field of accounts"},
		{`"<foreign field>"`, `{"value": "x"}`, signal + ": does not exist, or is not an AI-filled field of accounts"},
		{`"<view>"`, `{"value": "x"}`, signal + ": does not exist, or is not an AI-filled field of accounts"},
		{`"<plain field>"`, `{"value": "x"}`, signal + ": the field is not AI-filled"},
		{`"<contact field>"`, `{"value": "x"}`, signal + ": the field is not AI-filled"},
		{`"<text>"`, `"x"`, rule + ": must be an object"},
		{`"<text>"`, `{}`, rule + ".value: required"},
		{`"<text>"`, `{"value": null, "operator": "contains"}`, rule + ".value: required"},
		{`"<text>"`, `{"value": "x", "operator": "is"}`, rule + ".operator: \"is\" is not one of: equals, contains"},
		{`"<text>"`, `{"value": "x", "operator": 5}`, rule + ".operator: must be a string"},
		{`"<text>"`, `{"value": "x", "colour": 5}`, rule + ".colour: unknown field"},
	} {
		refuses(t, org, apptest.PreviewBody(fill(fmt.Sprintf(`{%q: %s, %q: %s}`, signal, c.id, rule, c.rule))), "validation_failed", strings.Split(c.want, "\n")...)
	}
	// Which values are valid for which types and conditions.
	values := []string{`true`, `false`, `0`, `-2.5`, `1e2`, `"true"`, `"7"`, `"2026-02-28"`, `"2026-02-29"`, `"a b"`, `"C"`, `"c"`, `"x"`, `"Z"`, `""`, `["x"]`, `{"x": 1}`}
	text := []string{`"true"`, `"7"`, `"2026-02-28"`, `"2026-02-29"`, `"a b"`, `"C"`, `"c"`, `"x"`, `"Z"`}
	fits := map[string][]string{
		"text equals": text, "text contains": text,
		"boolean equals": {`true`, `false`}, "number equals": {`0`, `-2.5`, `1e2`}, "date equals": {`"2026-02-28"`}, "enum equals": {`"a b"`, `"c"`},
		"multi_select equals": {`"x"`}, "multi_select contains": {`"x"`, `"Z"`},
	}
	for _, c := range apptest.CustomTypes {
		for _, operator := range []string{"equals", "contains"} {
			for _, value := range values {
				body := apptest.PreviewBody(fill(fmt.Sprintf(`{%q: "<%s>", %q: {"operator": %q, "value": %s}}`, signal, c.DataType, rule, operator, value)))
				takes := fits[c.DataType+" "+operator]
				if slices.Contains(takes, value) {
					org.Read.Post(apptest.PreviewsPath+"/estimate", body).Is(200)
					continue
				}
				got := apptest.ProblemsOf(org.Read.Post(apptest.PreviewsPath+"/estimate", body).Fails(422, "validation_failed", rule+"."))
				for _, problem := range got {
					ofValue := strings.HasPrefix(problem, rule+".value: must") ||
						problem == rule+".value: "+value+" is not a date such as 2026-03-01"
					ofOperator := takes == nil && strings.HasPrefix(problem, rule+".operator: must be equals")
					if !ofValue && !ofOperator {
						t.Errorf("%s %s %s: %q", c.DataType, operator, value, problem)
					}
				}
			}
		}
	}
}

// TestPreviewEcho checks that the response contains the request with its defaults.
func TestPreviewEcho(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	fill := named(org, other)
	const id = `"request_id": "0191d8a0-0000-4000-8000-000000000001"`
	const rest = `"exclude_companies_without_titles": false, "tag_ids": [], "contact_tag_ids": [], "tag_existing_accounts": true, "tag_existing_contacts": true`
	const noFilters = `"company_filters": {"account_view_id": null, "filtering_rules": null, "searching_rule": null},
		"contact_filters": {"include_keywords": [], "exclude_keywords": [], "seniority": null, "countries": []}`
	const all = id + `, "company_filters": {"account_view_id": "<wood view>", "searching_rule": {"value": "Oak & ash"}, "filtering_rules": {"operator": "or", "filters": [
			{"operator": "and", "filters": [{"field": "name", "condition": "is_not_empty"}]}, {"field": "employee_count", "condition": "is", "value": [1, 2]}]}},
		"contact_filters": {"include_keywords": ["VP", "head of"], "exclude_keywords": ["intern"], "seniority": "C-Level", "countries": ["Norway"]},
		"exclude_companies_without_titles": true, "tag_ids": ["<account tag>"], "contact_tag_ids": ["<contact tag>"], "tag_existing_accounts": false, "tag_existing_contacts": false,
		"qualifier_signal_id": "<boolean>", "qualifier_rule": {"operator": "equals", "value": false}, "search_input": {"account_view_id": "<view>", "searching_rule": {"value": "x"},
			"filtering_rules": [{"field": "name", "condition": "is", "value": "x"}, {"operator": "or", "filters": []}], "title_enrichment": {"condition": "not_contains", "criterias": ["a", "B"]},
			"grouping_rule": {"field": "country"}, "sorting_rules": ["-name", {"field": "id"}, {"field": "website", "direction": "desc"}], "with_titles": true, "title_search": ["ceo"],
			"exclude_companies_in_tam": true, "max_candidates": 100000, "query_id": "0190b2f0-0000-7000-8000-000000000000"}`
	for asked, want := range map[string]string{
		`{` + id + `, "company_filters": {}, "search_input": {}}`: id + `, ` + noFilters + `, ` + rest + `, "qualifier_signal_id": null, "qualifier_rule": null,
			"search_input": {"account_view_id": null, "searching_rule": null, "filtering_rules": null, "title_enrichment": null, "grouping_rule": null, "sorting_rules": [],
				"with_titles": false, "title_search": [], "exclude_companies_in_tam": false, "max_candidates": 10000, "query_id": null}`,
		`{` + id + `, "company_filters": {"account_view_id": null, "filtering_rules": null, "searching_rule": null}, "contact_filters": null, "tag_ids": null, "contact_tag_ids": null,
			"exclude_companies_without_titles": null, "tag_existing_accounts": null, "tag_existing_contacts": null, "qualifier_signal_id": "", "qualifier_rule": null, "search_input": null}`: id + `, ` +
			noFilters + `, ` + rest + `, "qualifier_signal_id": null, "qualifier_rule": null, "search_input": null`,
		`{` + id + `, "company_filters": {"filtering_rules": {"filters": [{"filters": []}]}}, "qualifier_signal_id": "<text>", "qualifier_rule": {"value": "x"}}`: id + `,
			"company_filters": {"account_view_id": null, "filtering_rules": {"operator": "and", "filters": [{"operator": "and", "filters": []}]}, "searching_rule": null},
			"contact_filters": {"include_keywords": [], "exclude_keywords": [], "seniority": null, "countries": []}, ` + rest + `,
			"qualifier_signal_id": "<text>", "qualifier_rule": {"operator": "equals", "value": "x"}, "search_input": null`,
		`{` + all + `}`: all,
	} {
		t.Run(asked, func(t *testing.T) {
			made := org.Write.In(t).Post(apptest.PreviewsPath, fill(asked)).Is(202)
			if diff := apptest.Diff(fill(`{`+want+`}`), string(apptest.Member(made, "request"))); diff != "" {
				t.Errorf("%s\n%s", asked, diff)
			}
			org.Write.In(t).Delete(apptest.PreviewsPath + "/" + made.Text("data.preview_id")).Is(204)
		})
	}
}
