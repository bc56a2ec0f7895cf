package handlers_test

import (
	"fmt"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// TestFacets counts the values of fields of every type, before and after records change.
func TestFacets(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	tags := apptest.NewTags(org, "contact", "A", "B")
	apptest.NewField(org, "contacts", "score", "number", "")
	account := apptest.Makers["accounts"](org)
	var ids []string
	for i := range 6 {
		ids = append(ids, org.Write.Post("/v1/contacts", fmt.Sprintf(`{"email": "c%d@x.example", "title": %q, "location": "Café %d", "do_not_contact": %t, "custom_field_score": %d,
			"tags": %s, "account_id": %s}`, i, []string{"CTO", "cto", "CTO"}[i%3], i/5, i < 2, -i/3, []string{`["A"]`, `["A", "B"]`, `[]`}[i%3], []string{`null`, `"` + account + `"`}[i%2])).Is(201).ID())
	}
	facet := func(value, name string, count int) string {
		return fmt.Sprintf(`{"value": %s, "name": %s, "count": %d}`, value, name, count)
	}
	answers := func(body string, total, empty, distinct int, values string) {
		t.Helper()
		org.Read.Post("/v1/contacts/facets", apptest.WithIDs(body, tags)).Is(200, apptest.WithIDs(fmt.Sprintf(`{"data": {"field": "<any>", "total_count": %d, "empty_count": %d, "distinct_count": %d,
			"values": [%s]}, "meta": {"timestamp": "<any>"}}`, total, empty, distinct, values), tags))
	}
	answers(`{"field": "title"}`, 6, 0, 2, facet(`"CTO"`, "null", 4)+","+facet(`"cto"`, "null", 2))
	answers(`{"field": "title", "limit": 1}`, 6, 0, 2, facet(`"CTO"`, "null", 4))
	answers(`{"field": "tags"}`, 6, 2, 2, facet(`"{A}"`, `"A"`, 4)+","+facet(`"{B}"`, `"B"`, 2))
	answers(`{"field": "tags", "filters": [{"field": "tags", "condition": "is", "value": "b"}]}`, 2, 0, 2, facet(`"{A}"`, `"A"`, 2)+","+facet(`"{B}"`, `"B"`, 2))
	answers(`{"field": "account_id"}`, 6, 3, 1, facet(`"`+account+`"`, `"Globex"`, 3))
	answers(`{"field": "do_not_contact"}`, 6, 0, 2, facet(`false`, "null", 4)+","+facet(`true`, "null", 2))
	answers(`{"field": "custom_field_score", "search": "c3 x"}`, 1, 0, 1, facet(`-1`, "null", 1))
	answers(`{"field": "phone_number", "search": "nobody"}`, 0, 0, 0, "")

	// What has just changed is counted.
	org.Write.Patch("/v1/contacts/"+ids[0], `{"title": "cto", "remove_tags": ["A"]}`).Is(200)
	org.Write.Delete("/v1/contacts/" + ids[5]).Is(204)
	answers(`{"field": "title"}`, 5, 0, 2, facet(`"cto"`, "null", 3)+","+facet(`"CTO"`, "null", 2))
	org.Write.Delete("/v1/tags/" + tags["A"]).Is(204)
	answers(`{"field": "tags"}`, 5, 3, 1, facet(`"{B}"`, `"B"`, 2))

	for body, message := range map[string]string{
		`{}`:                                  "field: required",
		`{"field": "notes"}`:                  `field: the values of "notes" cannot be counted`,
		`{"field": "created_at"}`:             `field: the values of "created_at" cannot be counted`,
		`{"field": "id"}`:                     `field: the values of "id" cannot be counted`,
		`{"field": "size"}`:                   `field: "size" is not a field of contacts`,
		`{"field": "title", "limit": 501}`:    "limit: must be between 1 and 500",
		`{"field": "title", "sort": "title"}`: "sort: unknown field",
	} {
		t.Run(body, func(t *testing.T) {
			org.Read.In(t).Post("/v1/contacts/facets", body).Fails(422, "validation_failed", message)
		})
	}
}

// TestTagNames gives tags by name wherever their ids are accepted.
func TestTagNames(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	tags := apptest.NewTags(org, "contact", "Champion", "Old Friend")
	apptest.NewTags(org, "account", "Gold")
	org.Write.Post("/v1/contacts", `{"email": "a@x.example", "tags": ["champion", "{id}"]}`).Fails(422, "validation_failed", `tags[1]: "{id}" is neither an id nor a known name`)
	path := "/v1/contacts/" + org.Write.Post("/v1/contacts", apptest.WithIDs(`{"email": "a@x.example", "tags": ["champion", "{Champion}"]}`, tags)).Is(201).ID()
	has := func(want string) {
		t.Helper()
		if got := apptest.NamesOf(tags, org.Read.Get(path).Is(200).Value("data.tags").([]any)); got != want {
			t.Errorf("the tags are %s, want %s", got, want)
		}
	}
	has("Champion")
	org.Write.Patch(path, `{"add_tags": [" OLD  friend"]}`).Is(200)
	has("Champion Old Friend")
	org.Write.Patch(path, `{"remove_tags": ["Champion"]}`).Is(200)
	has("Old Friend")
	org.Write.Patch(path, `{"add_tags": ["Gold"]}`).Fails(422, "validation_failed", `add_tags[0]: "Gold" is neither an id nor a known name`)
	org.Write.Patch(path, `{"remove_tags": ["Champion", "Nobody"]}`).Fails(422, "validation_failed", `remove_tags[1]: "Nobody" is neither an id nor a known name`)
	org.Write.Post("/v1/contacts/batch", `{"records": [{"email": "a@x.example", "add_tags": ["champion"]}, {"email": "b@x.example", "tags": ["Champion"]}], "match_on": "email"}`).Is(200)
	has("Old Friend Champion")

	total := func(rule string, want int) {
		t.Helper()
		if got := org.Read.Post("/v1/contacts/list", `{"filters": [{"operator": "or", "filters": [{"field": "tags", "condition": `+rule+`}]}]}`).Is(200).Int("pagination.total_count"); got != want {
			t.Errorf("%s: %d contacts, want %d", rule, got, want)
		}
	}
	total(`"is", "value": "CHAMPION"`, 2)
	total(apptest.WithIDs(`"contains", "value": ["Champion", "{Old Friend}"]`, tags), 1)
	total(`"is_not", "value": ["old friend"]`, 1)
	org.Read.Post("/v1/contacts/list", `{"filters": [{"field": "tags", "condition": "is", "value": ["Champion", "Gold"]}]}`).
		Fails(422, "invalid_filter", `filters[0].value[1]: "Gold" is neither an id nor a known name`)

	// A view keeps the id, so that the tag can be renamed.
	view := org.Write.Post("/v1/views", `{"entity": "contacts", "name": "C", "filtering_rules": [{"field": "tags", "condition": "is", "value": "Champion"}]}`).Is(201)
	if got := view.Text("data.filtering_rules.0.value"); got != tags["Champion"] {
		t.Errorf("the view has %s", got)
	}
}

// TestExportNames exports the names of the records that others refer to.
func TestExportNames(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	tags := apptest.NewTags(org, "task", "A", "B")
	account, contact := apptest.Makers["accounts"](org), apptest.Makers["contacts"](org)
	campaign := apptest.Makers["campaigns"](org)
	org.Write.Post("/v1/tasks", apptest.WithIDs(fmt.Sprintf(`{"title": "Call", "account_id": %q, "contact_id": %q, "campaign_id": %q, "owner_id": %q, "tags": ["{B}", "{A}"]}`,
		account, contact, campaign, org.User), tags)).Is(201)
	org.Write.Post("/v1/tasks", `{"title": "Rest"}`).Is(201)
	_, rows := records(t, org.Read.Post("/v1/tasks/export", `{"format": "csv", "sort": "title"}`).Is(200))
	email := org.Read.Get("/v1/me").Is(200).Text("data.user_email")
	for column, want := range map[string]string{"account_name": "Globex", "contact_name": "hank@globex.example", "campaign_name": "Outreach", "owner_email": email, "tag_names": "B|A"} {
		if rows[0][column] != want || rows[1][column] != "" {
			t.Errorf("%s is %q and %q, want %q", column, rows[0][column], rows[1][column], want)
		}
	}
	exported := lines(org.Read.Post("/v1/tasks/export", `{"sort": "title"}`).Is(200))
	for i, want := range []string{
		`,"contact_name":"hank@globex.example","account_name":"Globex","campaign_name":"Outreach","owner_email":"` + email + `","tag_names":["B","A"]}`,
		`,"contact_name":null,"account_name":null,"campaign_name":null,"owner_email":null,"tag_names":[]}`,
	} {
		if !strings.HasSuffix(exported[i], want) {
			t.Errorf("the export is %s", exported[i])
		}
	}
}
