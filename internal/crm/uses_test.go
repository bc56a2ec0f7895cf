package crm_test

import (
	"fmt"
	"testing"

	"prospector/internal/apptest"
)

// TestUses asks what refers to records of each kind.
func TestUses(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	made := func(path, body string) string { return org.Admin.Post("/v1/"+path, body).Is(201).ID() }
	tag := made("tags", `{"name": "Customer", "color": "red", "object_type": "contact"}`)
	account := made("accounts", `{"name": "Globex"}`)
	field := made("fields", `{"entity": "contacts", "key": "grade", "data_type": "multi_select", "allowed_values": ["a", "b"]}`)
	var contacts []string
	for i := range 12 {
		contacts = append(contacts, made("contacts", fmt.Sprintf(`{"email": "c%d@x.example", "first_name": "C%d", "tags": ["Customer"], "account_id": %q, "custom_field_grade": ["a", "b"]}`, i, i, account)))
	}
	audience := made("audiences", `{"name": "Leads", "type": "dynamic", "filters": {"operator": "or", "filters": [
		{"field": "tags", "condition": "is_not", "value": "`+tag+`"}, {"field": "account_id", "condition": "is", "value": "`+account+`"}, {"field": "custom_field_grade", "condition": "is", "value": "a"}]}}`)
	made("audiences", `{"name": "Others", "type": "dynamic", "filters": [{"field": "tags", "condition": "is_not_empty"}]}`)
	view := made("views", `{"name": "Graded", "entity": "contacts", "columns": ["custom_field_grade"]}`)
	tagged := made("views", `{"name": "Tagged", "entity": "contacts", "filtering_rules": [{"field": "tags", "condition": "is", "value": "`+tag+`"}]}`)
	of := made("account-views", `{"name": "All"}`)
	template := made("sequence-templates", `{"name": "T", "steps": [{"index": 0, "type": "call"}]}`)
	campaign := made("campaigns", `{"name": "C", "template_id": "`+template+`", "audience_ids": ["`+audience+`"]}`)
	opportunity := made("opportunities", `{"name": "Deal", "account_id": "`+account+`"}`)

	ten := ""
	for i, id := range contacts[:10] {
		ten += fmt.Sprintf(`, {"id": %q, "name": "C%d"}`, id, i)
	}
	use := func(entity, field string, count int, records string) string {
		return fmt.Sprintf(`{"entity": %q, "field": %q, "count": %d, "records": [%s]}`, entity, field, count, records)
	}
	one := func(id, name string) string { return fmt.Sprintf(`{"id": %q, "name": %q}`, id, name) }
	leads := use("audiences", "filters", 1, one(audience, "Leads"))
	is := func(path string, total int, uses string) {
		t.Helper()
		org.Read.Get("/v1/"+path+"/uses").Is(200, fmt.Sprintf(`{"data": {"total": %d, "uses": [%s]}, "meta": {"timestamp": "<time>"}}`, total, uses))
	}
	is("tags/"+tag, 14, use("contacts", "tags", 12, ten[2:])+","+leads+","+use("views", "filtering_rules", 1, one(tagged, "Tagged")))
	is("accounts/"+account, 14, use("contacts", "account_id", 12, ten[2:])+","+use("opportunities", "account_id", 1, one(opportunity, "Deal"))+","+leads)
	is("fields/"+field, 14, use("contacts", "custom_field_grade", 12, ten[2:])+","+leads+","+use("views", "filtering_rules", 1, one(view, "Graded")))
	is("audiences/"+audience, 1, use("campaigns", "audiences", 1, one(campaign, "C")))
	is("sequence-templates/"+template, 1, use("campaigns", "template_id", 1, one(campaign, "C")))
	is("views/"+view, 0, "")
	is("account-views/"+of, 0, "")
	org.Read.Get("/v1/account-views/"+view+"/uses").Fails(404, "not_found", "")
	user := made("users", `{"email": "bea@acme.example"}`)
	is("users/"+user, 0, "")
	owned := org.Write.Post("/v1/accounts", `{"name": "Initech", "owner_id": "`+user+`"}`).Is(201).ID()
	is("users/"+user, 1, use("accounts", "owner_id", 1, one(owned, "Initech")))
	if n := app.Org("Umbrella").Read.Get("/v1/tags/" + tag + "/uses").Status; n != 404 {
		t.Errorf("another organization gets %d", n)
	}
}
