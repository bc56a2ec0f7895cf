package crm_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// TestViews checks that views save filters, order and columns of every kind of records.
func TestViews(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	field := org.Admin.Post("/v1/fields", `{"entity": "contacts", "key": "tier", "data_type": "text"}`).Is(201).ID()
	view := org.Write.Post("/v1/views", `{"entity": "contacts", "name": "Hot VPs", "filtering_rules": [{"field": "title", "condition": "contains", "value": "vp"}],
		"searching_rule": {"value": "anna"}, "sort": "last_name,-created_at", "columns": ["title", "custom_field_tier"]}`).Is(201, `{"data": {"id": "<id>",
		"created_at": "<time>", "updated_at": "<time>", "entity": "contacts", "name": "Hot VPs", "filtering_rules": [{"field": "title", "condition": "contains", "value": "vp"}],
		"searching_rule": {"value": "anna"}, "sort": "last_name,-created_at", "columns": ["title", "custom_field_tier"]}, "meta": "<any>"}`).ID()
	for _, entity := range []string{"accounts", "opportunities", "audiences", "campaigns", "sequence-templates", "sequences", "outbox", "tasks", "meetings", "suppressions", "companies", "people", "webhook-deliveries"} {
		t.Run(entity, func(t *testing.T) {
			field := cmp.Or(map[string]string{"sequences": "started_at", "companies": "name", "people": "last_name"}[entity], "created_at")
			// Names are unique for each entity.
			org.Write.In(t).Post("/v1/views", `{"entity": "`+entity+`", "name": "Hot VPs", "sort": "-`+field+`", "columns": ["`+field+`"]}`).Is(201)
			org.Write.In(t).Post("/v1/views", `{"entity": "`+entity+`", "name": "hot vps"}`).Fails(409, "view_name_taken", "")
			org.Write.In(t).Post("/v1/views", `{"entity": "`+entity+`", "name": "x", "columns": ["nope"]}`).Fails(422, "validation_failed", `columns[0]: "nope" is not a field of `+entity)
		})
	}
	for _, c := range []struct{ body, code, says string }{
		{`{"entity": "users", "name": "x"}`, "validation_failed", `entity: "users" is not one of`},
		{`{"entity": "contacts", "name": "x", "filtering_rules": [{"field": "industry", "condition": "is_empty"}]}`, "invalid_filter", "filtering_rules[0].field"},
		{`{"entity": "contacts", "name": "x", "sort": "industry"}`, "invalid_sort", `sort: "industry" is not a field that contacts can be sorted by`},
		{`{"entity": "contacts", "name": "x", "columns": ["` + strings.Repeat(`email", "`, 100) + `title"]}`, "validation_failed", "columns"},
	} {
		t.Run(apptest.RowName(c.body), func(t *testing.T) { org.Write.In(t).Post("/v1/views", c.body).Fails(422, c.code, c.says) })
	}
	org.Write.Patch("/v1/views/"+view, `{"entity": "accounts"}`).Fails(422, "validation_failed", "entity")
	org.Write.Patch("/v1/views/"+view, `{"sort": "nope"}`).Fails(422, "invalid_sort", "nope")
	org.Write.Patch("/v1/views/"+view, `{"filtering_rules": [{"field": "nope", "condition": "is_empty"}]}`).Fails(422, "invalid_filter", "filtering_rules[0].field")
	other := org.Write.Post("/v1/views", `{"entity": "contacts", "name": "Other"}`).Is(201).ID()
	org.Write.Patch("/v1/views/"+other, `{"name": "HOT VPS"}`).Fails(409, "view_name_taken", "")
	org.Write.Delete("/v1/views/" + other).Is(204)

	// A view with a deleted column can still be renamed.
	org.Admin.Delete("/v1/fields/" + field).Is(204)
	apptest.Shows(t, org.Write.Patch("/v1/views/"+view, `{"name": "VPs"}`).Is(200), `{"data.name": "VPs", "data.columns.1": "custom_field_tier"}`)
	apptest.Shows(t, org.Read.Post("/v1/views/list", `{"filters": [{"field": "entity", "condition": "is", "value": "contacts"}]}`).Is(200), `{"pagination.total_count": 1}`)
	apptest.Shows(t, org.Read.Post("/v1/views/list", `{}`).Is(200), `{"pagination.total_count": 14}`)
}

// TestAccountViewsAreViews checks that views of accounts are the same records at both paths, and that
// other views do not exist at the older one.
func TestAccountViewsAreViews(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	old := org.Write.Post("/v1/account-views", `{"name": "Large"}`).Is(201).ID()
	apptest.Shows(t, org.Read.Get("/v1/views/"+old).Is(200), `{"data.entity": "accounts", "data.name": "Large"}`)
	org.Write.Patch("/v1/views/"+old, `{"columns": ["website"]}`).Is(200)
	apptest.Shows(t, org.Read.Get("/v1/account-views/"+old).Is(200), `{"data.columns.0": "website"}`)
	org.Write.Post("/v1/account-views", `{"name": "Small", "sort": "nope"}`).Fails(422, "invalid_sort", "nope")
	org.Write.Patch("/v1/account-views/"+old, `{"sort": "nope"}`).Fails(422, "invalid_sort", "nope")
	other := org.Write.Post("/v1/views", `{"entity": "contacts", "name": "Large"}`).Is(201).ID()
	org.Read.Get("/v1/account-views/"+other).Fails(404, "not_found", "")
	org.Write.Patch("/v1/account-views/"+other, `{"name": "x"}`).Fails(404, "not_found", "")
	org.Write.Delete("/v1/account-views/"+other).Fails(404, "not_found", "")
	if ids := org.Read.Post("/v1/account-views/list", `{}`).Is(200).Column("id"); !slices.Equal(ids, []string{old}) {
		t.Errorf("the account views are %v", ids)
	}
	org.Write.Post("/v1/account-views", `{"entity": "contacts", "name": "New"}`).Fails(422, "validation_failed", "entity: must be accounts")
	apptest.Shows(t, org.Read.Post("/v1/views/list", `{}`).Is(200), `{"pagination.total_count": 2}`)
	org.Write.Post("/v1/tam/preview", map[string]any{"request_id": old, "company_filters": map[string]any{"account_view_id": other}}).
		Fails(422, "validation_failed", "company_filters.account_view_id: does not exist")
	org.Write.Delete("/v1/account-views/" + old).Is(204)
	org.Read.Get("/v1/views/"+old).Fails(404, "not_found", "")
}
