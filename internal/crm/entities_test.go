package crm_test

import (
	"fmt"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

func TestExternalIDs(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	account := apptest.Makers["accounts"](org)
	foreign := apptest.Makers["accounts"](other)
	for entity := range apptest.EntityBodies {
		path := "/v1/" + entity
		first := org.Write.Post(path, apptest.EntityBody(entity, account, `"external_id": "SF-1"`)).Is(201).ID()
		res := org.Write.Post(path, apptest.EntityBody(entity, account, `"external_id": "sf-1"`)).Fails(409, "external_id_taken", `external_id: "sf-1" is used by another record`)
		if res.Text("error.details.0.id") != first || res.Text("error.details.0.path") != "external_id" {
			t.Error(string(res.Body))
		}
		other.Write.Post(path, apptest.EntityBody(entity, foreign, `"external_id": "SF-1"`)).Is(201)
		second := org.Write.Post(path, apptest.EntityBody(entity, account, "")).Is(201).ID()
		org.Write.Post(path, apptest.EntityBody(entity, account, `"external_id": ""`)).Is(201)
		org.Write.Patch(path+"/"+second, `{"external_id": "SF-1"}`).Fails(409, "external_id_taken", "")
		if entity == "contacts" {
			org.Write.Patch("/v1/preview/contacts/"+second, `{"external_id": "SF-1"}`).Fails(409, "external_id_taken", "")
		}
		org.Write.Patch(path+"/"+first, `{"external_id": "sf-1"}`).Is(200)
		org.Write.Patch(path+"/"+first, `{"external_id": null}`).Is(200)
		org.Write.Patch(path+"/"+second, `{"external_id": "SF-1"}`).Is(200)
		org.Write.Delete(path + "/" + second).Is(204)
		org.Write.Post(path, apptest.EntityBody(entity, account, `"external_id": "SF-1"`)).Is(201)
	}
}

func TestAccountViews(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	const rules = `{"operator": "or", "filters": [{"field": "employee_count", "condition": "greater_than", "value": 1.50}, {"field": "custom_field_tier", "condition": "is", "value": "gold"}]}`
	org.Write.Post("/v1/account-views", `{"name": "Large", "filtering_rules": `+rules+`}`).Fails(422, "invalid_filter", `filtering_rules.filters[1].field: "custom_field_tier" is not a field of accounts`)
	field := org.Admin.Post("/v1/fields", `{"entity": "accounts", "key": "tier", "data_type": "text"}`).Is(201).ID()
	view := `{"data": {"id": "<id>", "created_at": "<time>", "updated_at": "<time>", "entity": "accounts", "name": "Large", "filtering_rules": ` + rules + `,
		"searching_rule": {"value": "paper"}, "sort": null, "columns": []}, "meta": {"timestamp": "<time>"}}`
	id := org.Write.Post("/v1/account-views", `{"name": "Large", "filtering_rules": `+rules+`, "searching_rule": {"value": "paper"}}`).Is(201, view).ID()
	org.Read.Get("/v1/account-views/"+id).Is(200, view)
	taken := org.Write.Post("/v1/account-views", `{"name": "  lARGE "}`).Fails(409, "view_name_taken", "is the name of another view")
	if taken.Text("error.details.0.id") != id {
		t.Error(string(taken.Body))
	}
	for body, message := range map[string]string{
		`{"name": "  "}`:                           "name: must not be blank",
		`{}`:                                       "name: required",
		`{"name": "x", "filtering_rules": 1}`:      "filtering_rules: must be a list of rules or an expression",
		`{"name": "x", "searching_rule": {}}`:      "searching_rule.value: required",
		`{"name": "x", "searching_rule": "paper"}`: "searching_rule: must be an object",
		`{"name": "x", "filtering_rules": [{"field": "name"}]}`:      "filtering_rules[0].condition: required",
		`{"name": "` + strings.Repeat("x", 256) + `"}`:               "name: must be at most 255 characters",
		`{"name": "x", "searching_rule": {"value": "a", "more": 1}}`: "searching_rule.more: unknown field",
	} {
		t.Run(message, func(t *testing.T) {
			res := org.Write.In(t).Post("/v1/account-views", body).Is(422)
			if !strings.Contains(res.Text("error.message"), message) {
				t.Errorf("%s: %s", body, res.Body)
			}
		})
	}
	other := org.Write.Post("/v1/account-views", `{"name": "All"}`).Is(201).ID()
	org.Write.Patch("/v1/account-views/"+other, `{"name": "large"}`).Fails(409, "view_name_taken", "")
	org.Write.Patch("/v1/account-views/"+other, `{"filtering_rules": [{"field": "nope", "condition": "is_empty"}]}`).Fails(422, "invalid_filter", "filtering_rules[0].field")
	// A view with a deleted field can still be renamed, and its rules removed.
	org.Admin.Delete("/v1/fields/" + field).Is(204)
	org.Write.Patch("/v1/account-views/"+id, `{"name": "Larger"}`).Is(200)
	org.Write.Patch("/v1/account-views/"+id, `{"filtering_rules": null, "searching_rule": null}`).Is(200, `{"data": {"id": "<id>", "created_at": "<time>", "updated_at": "<time>", "entity": "accounts", "name": "Larger",
		"filtering_rules": null, "searching_rule": null, "sort": null, "columns": []}, "meta": {"timestamp": "<time>"}}`)
	if res := org.Read.Post("/v1/account-views/list", `{"sort": "-name", "search": "larg"}`).Is(200); res.Int("pagination.total_count") != 1 {
		t.Error(string(res.Body))
	}
}

func TestFieldConflicts(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	id := org.Admin.Post("/v1/fields", `{"entity": "contacts", "key": "tier", "data_type": "enum", "allowed_values": ["gold", "silver"]}`).Is(201).ID()
	taken := org.Admin.Post("/v1/fields", `{"entity": "contacts", "key": "tier", "data_type": "text"}`).Fails(409, "field_key_taken", `key: "tier" is the key of another field of contacts`)
	if taken.Text("error.details.0.id") != id {
		t.Error(string(taken.Body))
	}
	org.Admin.Post("/v1/fields", `{"entity": "accounts", "key": "tier", "data_type": "text"}`).Is(201)
	contact := org.Write.Post("/v1/contacts", `{"email": "a@b.example", "custom_field_tier": "gold"}`).Is(201).ID()
	held := org.Admin.Patch("/v1/fields/"+id, `{"allowed_values": ["silver"]}`).Fails(409, "in_use", `allowed_values: cannot remove "gold": a record has this value`)
	if held.Text("error.details.0.id") != contact {
		t.Error(string(held.Body))
	}
	org.Write.Patch("/v1/contacts/"+contact, `{"custom_field_tier": "silver"}`).Is(200)
	org.Admin.Patch("/v1/fields/"+id, `{"allowed_values": ["silver"]}`).Is(200)
	org.Write.Patch("/v1/contacts/"+contact, `{"custom_field_tier": "gold"}`).Fails(422, "validation_failed", "custom_field_tier: \"gold\" is not one of: silver")
}

// TestAccountInUse checks that an account with opportunities cannot be deleted. References from
// other entities do not prevent the deletion and are removed.
func TestAccountInUse(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account := apptest.Makers["accounts"](org)
	opportunity := org.Write.Post("/v1/opportunities", apptest.EntityBody("opportunities", account, "")).Is(201).ID()
	contact := org.Write.Post("/v1/contacts", apptest.EntityBody("contacts", "", fmt.Sprintf(`"account_id": %q`, account))).Is(201).ID()
	res := org.Write.Delete("/v1/accounts/"+account).Fails(409, "in_use", "account_id: an opportunity refers to this record")
	if res.Text("error.details.0.id") != opportunity || org.Read.Get("/v1/contacts/"+contact).Text("data.account_id") != account {
		t.Error(string(res.Body))
	}
	org.Write.Patch("/v1/opportunities/"+opportunity, `{"account_id": null}`).Fails(422, "validation_failed", "account_id: required")
	org.Write.Delete("/v1/opportunities/" + opportunity).Is(204)
	org.Write.Delete("/v1/accounts/" + account).Is(204)
	if v := org.Read.Get("/v1/contacts/" + contact).Value("data.account_id"); v != nil {
		t.Error(v)
	}
}
