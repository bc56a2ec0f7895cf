package imports_test

import (
	"fmt"
	"testing"

	"prospector/internal/apptest"
)

// TestAccountIDs checks which account the id of a company in a file of contacts leads to.
func TestAccountIDs(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	accounts := func(want string) {
		t.Helper()
		org.Read.Post("/v1/accounts/list", `{"sort": "name"}`).Has(200, `{"data": [`+want+`]}`)
	}
	const create = `, "create_missing": ["accounts"]`
	imported(t, app, org, "contacts", "Name,Email,Company,Associated Company ID\nAda Berg,ada@globex.example,Globex,12\n", create).Has(200, `{"data": {"added": 1}}`)
	accounts(`{"name": "Globex", "external_id": "hubspot:12", "other_external_ids": []}`)
	// The id of another system is kept beside the first, and both lead to the account.
	imported(t, app, org, "contacts", "Name,Email,Company,Organization - ID\nBo Stone,bo@globex.example,Globex,7\n", create).Has(200, `{"data": {"added": 1}}`)
	imported(t, app, org, "contacts", "Name,Email,Company,Organization - ID\nCy Ray,cy@globex.example,GLOBEX Inc.,7\n", create).Has(200, `{"data": {"added": 1}}`)
	accounts(`{"name": "Globex", "external_id": "hubspot:12", "other_external_ids": ["pipedrive:7"]}`)
	// The id without its system finds it because the name agrees.
	imported(t, app, org, "contacts", "Name,Email,Company,Company ID\nDi Fox,di@globex.example,Globex,7\n", create).Has(200, `{"data": {"added": 1}}`)
	accounts(`{"name": "Globex", "external_id": "hubspot:12", "other_external_ids": ["pipedrive:7"]}`)
	// An id that belongs to another company is reported, and the rest of the row decides.
	imported(t, app, org, "contacts", "Name,Email,Company,Organization - ID\nEd Hall,ed@initech.example,Initech,7\n", create).
		Has(200, `{"data": {"added": 1, "values_dropped": 1, "problems": [{"column": "Organization - ID", "value": "7"}]}}`)
	accounts(`{"name": "Globex", "external_id": "hubspot:12", "other_external_ids": ["pipedrive:7"]}, {"name": "Initech", "external_id": null}`)
	// Of several companies of a name, the one of the row's country is meant.
	for _, country := range []string{"Germany", "Austria"} {
		org.Write.Post("/v1/accounts", fmt.Sprintf(`{"name": "Bär-Werke", "country": %q}`, country)).Is(201)
	}
	imported(t, app, org, "contacts", "Name,Email,Company,Company Country\nFay Low,fay@baer.example,BAER Werke,Austria\nGus Low,gus@baer.example,Bär Werke,\n", create).
		Has(200, `{"data": {"added": 2, "problems": [{"column": "Company", "message": "is the name of 2 accounts; the one that has most in common with the row was taken"}]}}`)
	if got := org.Read.Post("/v1/accounts/list", `{"sort": "name"}`).Is(200).Column("name"); fmt.Sprint(got) != "[Bär-Werke Bär-Werke Globex Initech]" {
		t.Errorf("the accounts are %v", got)
	}
}

// TestBatchIDs checks how a batch finds contacts by their ids.
func TestBatchIDs(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	ada := org.Write.Post("/v1/contacts", `{"first_name": "Ada", "last_name": "Berg", "external_id": "hubspot:12", "other_external_ids": ["pipedrive:7"]}`).Is(201).ID()
	batch := func(record, want string) {
		t.Helper()
		org.Write.Post("/v1/contacts/batch", `{"match_on": "external_id", "records": [`+record+`]}`).Has(200, `{"data": {"results": [`+want+`]}}`)
	}
	is := fmt.Sprintf(`{"id": %q, "created": false}`, ada)
	batch(`{"external_id": "PIPEDRIVE:7", "title": "CEO"}`, is)
	batch(`{"external_id": "12", "first_name": "Ada", "last_name": "Berg", "title": "CTO"}`, is)
	org.Read.Get("/v1/contacts/"+ada).Has(200, `{"data": {"title": "CTO", "external_id": "hubspot:12", "other_external_ids": ["pipedrive:7"]}}`)
	batch(`{"external_id": "12", "first_name": "Maria", "last_name": "Lopez"}`, `{"created": true}`)
	// Each id belongs to one record.
	org.Write.Post("/v1/contacts", `{"first_name": "Bo", "last_name": "Chen", "external_id": "pipedrive:7"}`).Fails(409, "external_id_taken", `external_id: "pipedrive:7" is used by another record`)
	org.Write.Post("/v1/contacts", `{"first_name": "Bo", "last_name": "Chen", "other_external_ids": ["x", "Hubspot:12"]}`).
		Fails(409, "external_id_taken", `other_external_ids[1]: "Hubspot:12" is used by another record`)
	// What a merge folds in leads to the survivor and is not shown as its own; what the survivor gives up stays its own.
	bo := org.Write.Post("/v1/contacts", `{"first_name": "Ada", "last_name": "Berg", "external_id": "hubspot:99", "other_external_ids": ["apollo:z"]}`).Is(201).ID()
	org.Write.Post("/v1/contacts/"+ada+"/merge", fmt.Sprintf(`{"ids": [%q], "fields": {"external_id": %q}}`, bo, bo)).
		Has(200, `{"data": {"external_id": "hubspot:99", "other_external_ids": ["pipedrive:7", "hubspot:12"]}}`)
	batch(`{"external_id": "apollo:z", "title": "CFO"}`, is)
	org.Read.Get("/v1/contacts/"+ada).Has(200, `{"data": {"title": "CFO", "external_id": "hubspot:99", "other_external_ids": ["pipedrive:7", "hubspot:12"]}}`)
}
