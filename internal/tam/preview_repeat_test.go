package tam_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
)

// TestPreviewRepeated repeats a request_id. A request with the same meaning returns the same
// Preview, any other is refused.
func TestPreviewRepeated(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	fill := named(org, other)
	app.Catalog([]catalog.Company{apptest.Firm("c1")}, nil)

	for first, c := range map[string]struct{ same, others []string }{
		`{"company_filters": {}}`: {
			same: []string{
				`{"company_filters": {"account_view_id": null, "filtering_rules": null, "searching_rule": null}}`,
				`{"company_filters": {"filtering_rules": []}}`,
				`{"company_filters": {"filtering_rules": {"filters": [], "operator": "and"}}}`,
				`{"company_filters": {}, "contact_filters": {}}`,
				`{"company_filters": {}, "contact_filters": null, "tag_ids": [], "contact_tag_ids": null}`,
				`{"company_filters": {}, "contact_filters": {"include_keywords": [], "exclude_keywords": null, "seniority": null, "countries": []}}`,
				`{"company_filters": {}, "exclude_companies_without_titles": false, "tag_existing_accounts": true, "tag_existing_contacts": null}`,
				`{"company_filters": {}, "qualifier_signal_id": null, "qualifier_rule": null, "search_input": null}`,
				`{"company_filters": {}, "qualifier_signal_id": "", "search_input": {}}`,
				`{"company_filters": {}, "search_input": {"max_candidates": 1e4, "sorting_rules": [], "title_search": [], "with_titles": false, "exclude_companies_in_tam": null}}`,
				`{"company_filters": {}, "search_input": {"filtering_rules": {"filters": []}, "grouping_rule": null, "title_enrichment": null, "query_id": null, "sorting_rules": null}}`,
			},
			others: []string{
				`{"company_filters": {"filtering_rules": [{"field": "name", "condition": "is_not_empty"}]}}`,
				`{"company_filters": {"account_view_id": "<view>"}}`, `{"company_filters": {"searching_rule": {"value": "x"}}}`,
				`{"company_filters": {}, "contact_filters": {"include_keywords": ["x"]}}`, `{"company_filters": {}, "contact_filters": {"exclude_keywords": ["x"]}}`,
				`{"company_filters": {}, "contact_filters": {"seniority": "VP"}}`, `{"company_filters": {}, "contact_filters": {"countries": ["x"]}}`,
				`{"company_filters": {}, "exclude_companies_without_titles": true}`, `{"company_filters": {}, "tag_existing_accounts": false}`,
				`{"company_filters": {}, "tag_existing_contacts": false}`, `{"company_filters": {}, "tag_ids": ["<account tag>"]}`,
				`{"company_filters": {}, "contact_tag_ids": ["<contact tag>"]}`,
				`{"company_filters": {}, "qualifier_signal_id": "<boolean>", "qualifier_rule": {"value": true}}`,
				`{"company_filters": {}, "search_input": {"filtering_rules": [{"field": "name", "condition": "is_not_empty"}]}}`,
				`{"company_filters": {}, "search_input": {"account_view_id": "<view>"}}`, `{"company_filters": {}, "search_input": {"searching_rule": {"value": "x"}}}`,
				`{"company_filters": {}, "search_input": {"with_titles": true}}`, `{"company_filters": {}, "search_input": {"title_search": ["x"]}}`,
				`{"company_filters": {}, "search_input": {"title_enrichment": {"condition": "is", "criterias": ["x"]}}}`,
				`{"company_filters": {}, "search_input": {"exclude_companies_in_tam": true}}`, `{"company_filters": {}, "search_input": {"max_candidates": 9999}}`,
				`{"company_filters": {}, "search_input": {"query_id": "<unknown>"}}`, `{"company_filters": {}, "search_input": {"grouping_rule": {"field": "name"}}}`,
				`{"company_filters": {}, "search_input": {"sorting_rules": ["-name"]}}`,
			},
		},
		`{"company_filters": {"filtering_rules": {"filters": [{"field": "employee_count", "condition": "greater_than", "value": 100}, {"filters": [{"field": "name", "condition": "is", "value": "x"}]}]}},
			"tag_ids": ["<account tag>"], "qualifier_signal_id": "<number>", "qualifier_rule": {"value": 7},
			"contact_filters": {"include_keywords": ["vp", "head of"], "countries": ["Norway", "Chile"]},
			"search_input": {"sorting_rules": ["country", "-name"], "title_search": ["a", "b"], "title_enrichment": {"condition": "contains", "criterias": ["x", "y"]}}}`: {
			same: []string{
				`{"search_input": {"title_enrichment": {"criterias": ["y", "x", "x"], "condition": "contains"}, "title_search": ["b", "a", "b"], "max_candidates": 10000,
					"sorting_rules": [{"field": "country"}, {"direction": "desc", "field": "name"}]}, "contact_filters": {"countries": ["Chile", "Norway"], "include_keywords": ["head of", "vp"]},
					"qualifier_rule": {"value": 7.0, "operator": "equals"}, "qualifier_signal_id": "<NUMBER>", "tag_ids": ["<ACCOUNT TAG>", "<account tag>"], "tag_existing_accounts": true,
					"company_filters": {"filtering_rules": {"operator": "and", "filters": [{"value": 1e2, "condition": "greater_than", "field": "employee_count"},
						{"operator": "and", "filters": [{"condition": "is", "field": "name", "value": "x"}]}]}}}`,
				`{"company_filters": {"filtering_rules": [{"field": "employee_count", "condition": "greater_than", "value": 100.0}, {"filters": [{"field": "name", "condition": "is", "value": "\u0078"}]}]},
					"tag_ids": ["<account tag>"], "qualifier_signal_id": "<number>", "qualifier_rule": {"value": 70e-1, "operator": null},
					"contact_filters": {"include_keywords": ["vp", "head of"], "countries": ["Norway", "Chile"]},
					"search_input": {"sorting_rules": [{"field": "country", "direction": "asc"}, "-name"], "title_search": ["a", "b"], "title_enrichment": {"condition": "contains", "criterias": ["x", "y"]}}}`,
			},
			others: []string{
				`{"company_filters": {"filtering_rules": {"operator": "or", "filters": [{"field": "employee_count", "condition": "greater_than", "value": 100}, {"filters": [{"field": "name", "condition": "is", "value": "x"}]}]}},
					"tag_ids": ["<account tag>"], "qualifier_signal_id": "<number>", "qualifier_rule": {"value": 7}, "contact_filters": {"include_keywords": ["vp", "head of"], "countries": ["Norway", "Chile"]},
					"search_input": {"sorting_rules": ["country", "-name"], "title_search": ["a", "b"], "title_enrichment": {"condition": "contains", "criterias": ["x", "y"]}}}`,
				`{"company_filters": {"filtering_rules": {"filters": [{"field": "employee_count", "condition": "greater_than", "value": 100}, {"filters": [{"field": "name", "condition": "is", "value": "x"}]}]}},
					"tag_ids": ["<account tag>"], "qualifier_signal_id": "<number>", "qualifier_rule": {"value": 7}, "contact_filters": {"include_keywords": ["vp", "head of"], "countries": ["Norway", "Chile"]},
					"search_input": {"sorting_rules": ["-name", "country"], "title_search": ["a", "b"], "title_enrichment": {"condition": "contains", "criterias": ["x", "y"]}}}`,
				`{"company_filters": {"filtering_rules": {"filters": [{"field": "employee_count", "condition": "greater_than", "value": 100}, {"filters": [{"field": "name", "condition": "is", "value": "x"}]}]}},
					"tag_ids": ["<account tag>"], "qualifier_signal_id": "<number>", "qualifier_rule": {"value": 8}, "contact_filters": {"include_keywords": ["vp", "head of"], "countries": ["Norway", "Chile"]},
					"search_input": {"sorting_rules": ["country", "-name"], "title_search": ["a", "b"], "title_enrichment": {"condition": "contains", "criterias": ["x", "y"]}}}`,
				`{"company_filters": {"filtering_rules": {"filters": [{"field": "employee_count", "condition": "greater_than", "value": 100}, {"filters": [{"field": "name", "condition": "is", "value": "x"}]}]}},
					"tag_ids": ["<account tag>"], "qualifier_signal_id": "<number>", "qualifier_rule": {"value": 7}, "contact_filters": {"include_keywords": ["vp", "head of"], "countries": ["Norway", "Chile"]},
					"search_input": {"sorting_rules": ["country", "-name"], "title_search": ["a", "b"], "title_enrichment": {"condition": "not_contains", "criterias": ["x", "y"]}}}`,
			},
		},
	} {
		id := uuid.NewString()
		body := func(fields, id string) string {
			return strings.Replace(upperIDs(fill, fields), "{", `{"request_id": "`+id+`", `, 1)
		}
		made := org.Write.Post(apptest.PreviewsPath, body(first, id)).Is(202)
		preview, before := made.Text("data.preview_id"), org.Dump()
		for i, fields := range append(c.same, first) {
			if i%2 == 0 {
				id = strings.ToUpper(id)
			}
			again := org.Write.Post(apptest.PreviewsPath, body(fields, id)).Is(200)
			if string(apptest.DataOf(again)) != string(apptest.DataOf(made)) || again.Header.Get("ETag") != made.Header.Get("ETag") {
				t.Errorf("%s\nreturned another Preview: %s", fields, again.Body)
			}
		}
		for _, fields := range c.others {
			res := org.Write.Post(apptest.PreviewsPath, body(fields, id))
			if res.Status != 409 {
				t.Errorf("%s\nreturned %d", fields, res.Status)
				continue
			}
			res.Fails(409, "request_id_reused", "request_id")
			if res.Text("error.details.0.path") != "request_id" || res.Text("error.details.0.id") != preview {
				t.Errorf("%s", res.Body)
			}
		}
		if org.Dump() != before {
			t.Error("asking again changed something")
		}
		// An estimate creates nothing, so that it may have any request_id.
		org.Read.Post(apptest.PreviewsPath+"/estimate", body(`{"company_filters": {}}`, id)).Is(200)
		// Another organization has its own request_ids.
		theirs := other.Write.Post(apptest.PreviewsPath, body(`{"company_filters": {}}`, id)).Is(202)
		if theirs.Text("data.preview_id") == preview {
			t.Error("two organizations have one Preview")
		}
	}
}

// upperIDs fills in ids. Placeholders in capitals get ids in capitals.
func upperIDs(fill func(string) string, text string) string {
	for _, name := range []string{"<NUMBER>", "<ACCOUNT TAG>"} {
		text = strings.ReplaceAll(text, name, strings.ToUpper(fill(strings.ToLower(name))))
	}
	return fill(text)
}

// TestPreviewRepeatedLater repeats a request after the status of the Preview has changed.
func TestPreviewRepeatedLater(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	app.Catalog([]catalog.Company{apptest.Firm("c1")}, nil)
	view := org.Write.Post("/v1/account-views", `{"name": "All"}`).Is(201).ID()
	body := fmt.Sprintf(`{"request_id": %q, "company_filters": {"account_view_id": %q}}`, uuid.New(), view)
	ask := func(status int) *apptest.Response { return org.Write.Post(apptest.PreviewsPath, body).Is(status) }
	id := ask(202).Text("data.preview_id")
	app.Work()
	ready := ask(200)
	if ready.Text("data.preview_id") != id || ready.Text("data.status") != "READY" || ready.Text("data.members.0.source_id") != "c1" {
		t.Errorf("%s", ready.Body)
	}
	// It returns the existing Preview, even if the records in the request were deleted or the
	// Preview was changed.
	org.Write.Delete("/v1/account-views/" + view).Is(204)
	org.Write.Post(apptest.PreviewsPath+"/"+id+"/exclude", `{"company_ids": ["c1"]}`).Is(200)
	if again := ask(200); again.Text("data.members.0.exclusion_reason") != "EXCLUDED_BY_USER" {
		t.Errorf("%s", again.Body)
	}
	// Problems are reported before the request_id is checked.
	org.Write.Post(apptest.PreviewsPath, strings.Replace(body, "{", `{"colour": 1, `, 1)).Fails(422, "validation_failed", "colour")
	// The request_id of a deleted Preview is free: the request is new, and is checked again.
	org.Write.Delete(apptest.PreviewsPath + "/" + id).Is(204)
	org.Write.Post(apptest.PreviewsPath, body).Fails(422, "validation_failed", "company_filters.account_view_id: does not exist")
	body = strings.Replace(body, `"account_view_id": "`+view+`"`, "", 1)
	second := ask(202).Text("data.preview_id")
	org.Write.Post(apptest.PreviewsPath+"/"+second+"/cancel", nil).Is(200)
	if again := ask(200); again.Text("data.preview_id") != second || second == id || again.Text("data.status") != "CANCELLED" {
		t.Errorf("%s", again.Body)
	}
	app.Work()
	org.Read.Get(apptest.PreviewsPath+"/"+id).Fails(404, "not_found", "")
	if n := org.Read.Post("/v1/tam/previews/list", nil).Is(200).Int("pagination.total_count"); n != 1 {
		t.Error(n)
	}
}

// TestPreviewAtOnce makes the same request many times concurrently, and different requests with one
// request_id.
func TestPreviewAtOnce(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	app.Catalog([]catalog.Company{apptest.Firm("c1")}, nil)
	at := func(n int, body func(i int) string) (statuses map[int]int, ids map[string]bool) {
		answers := make([]*apptest.Response, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() { answers[i] = org.Write.Post(apptest.PreviewsPath, body(i)) })
		}
		wg.Wait()
		statuses, ids = map[int]int{}, map[string]bool{}
		for _, res := range answers {
			statuses[res.Status]++
			path := "data.preview_id"
			if res.Status == 409 {
				path = "error.details.0.id"
			}
			ids[res.Text(path)] = true
		}
		return statuses, ids
	}
	same := fmt.Sprintf(`{"request_id": %q, "company_filters": {}}`, uuid.New())
	statuses, ids := at(16, func(int) string { return same })
	if statuses[202] != 1 || statuses[200] != 15 || len(ids) != 1 {
		t.Errorf("same requests: unexpected statuses %v, ids %v", statuses, ids)
	}
	request := uuid.New()
	statuses, ids = at(16, func(i int) string {
		b, _ := json.Marshal(map[string]any{"request_id": request, "company_filters": map[string]any{}, "tag_existing_accounts": i%2 == 0})
		return string(b)
	})
	if statuses[202] != 1 || statuses[200] != 7 || statuses[409] != 8 || len(ids) != 1 {
		t.Errorf("different requests: unexpected statuses %v, ids %v", statuses, ids)
	}
	app.Work()
	list := org.Read.Post("/v1/tam/previews/list", nil).Is(200)
	apptest.SameTexts(t, "the list", list.Column("status"), "READY", "READY")
}
