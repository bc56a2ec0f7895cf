package crm_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/handlers"
	"prospector/internal/apptest"
	"prospector/internal/crm"
	"prospector/internal/filter"
	"prospector/internal/record"
	"prospector/store"
)

// TestCustomFields tests a field of each type on each entity from its creation to its deletion.
func TestCustomFields(t *testing.T) {
	app := apptest.New(t)
	for entity := range apptest.EntityBodies {
		for _, c := range apptest.CustomTypes {
			org, other := app.Org("Acme "+entity+c.DataType), app.Org("Umbrella "+entity+c.DataType)
			account := apptest.Makers["accounts"](org)
			key := "my_" + c.DataType
			field := "custom_field_" + key
			path := "/v1/" + entity
			body := func(value string) string {
				return apptest.EntityBody(entity, account, fmt.Sprintf(`%q: %s`, field, value))
			}
			org.Write.Post(path, body(c.Low)).Fails(422, "validation_failed", field+": unknown field")
			id := apptest.NewField(org, entity, key, c.DataType, c.More)
			other.Write.Post(path, body(c.Low)).Fails(422, "validation_failed", field+": unknown field")

			low, high := org.Write.Post(path, body(c.Low)).Is(201).ID(), org.Write.Post(path, body(c.High)).Is(201).ID()
			none := org.Write.Post(path, body("null")).Is(201)
			if _, shown := none.Value("data").(map[string]any)[field]; shown {
				t.Errorf("%s %s is shown without a value", entity, c.DataType)
			}
			for id, want := range map[string]string{low: c.Low, high: c.High} {
				if diff := apptest.Diff(want, string(apptest.Member(org.Read.Get(path+"/"+id).Is(200), field))); diff != "" {
					t.Errorf("%s %s: %s", entity, c.DataType, diff)
				}
			}
			org.Write.Post(path, body(c.Bad)).Fails(422, "validation_failed", field+c.Message)
			org.Write.Patch(path+"/"+low, fmt.Sprintf(`{%q: %s}`, field, c.Bad)).Fails(422, "validation_failed", field+c.Message)
			customConditions(t, org, entity, c.DataType, field, map[string]string{low: "low", high: "high", none.ID(): "none"})

			// The response of GET can be sent back. An absent field stays unchanged, and null and
			// empty values clear it.
			app.Clock.Advance(time.Second)
			was := org.Read.Get(path + "/" + low).Is(200)
			if is := org.Write.Patch(path+"/"+low, was.Value("data")).Is(200); is.Header.Get("ETag") != was.Header.Get("ETag") {
				t.Errorf("%s %s: repeating the update created a new version", entity, c.DataType)
			}
			if got := org.Write.Patch(path+"/"+low, `{"external_id": "`+key+`"}`).Is(200); apptest.Diff(c.Low, string(apptest.Member(got, field))) != "" {
				t.Errorf("%s %s was not preserved: %s", entity, c.DataType, got.Body)
			}
			org.Write.Patch(path+"/"+low, fmt.Sprintf(`{%q: %s}`, field, c.High)).Is(200)
			empties := []string{"null"}
			if c.DataType == "text" || c.DataType == "enum" {
				empties = append(empties, `""`)
			} else if c.DataType == "multi_select" {
				empties = append(empties, `[]`)
			}
			for _, empty := range empties {
				org.Write.Patch(path+"/"+low, fmt.Sprintf(`{%q: %s}`, field, c.Low)).Is(200)
				res := org.Write.Patch(path+"/"+low, fmt.Sprintf(`{%q: %s}`, field, empty)).Is(200)
				if strings.Contains(string(res.Body), field) || strings.Contains(string(org.Read.Get(path+"/"+low).Body), field) {
					t.Errorf("%s %s is not cleared by %s", entity, c.DataType, empty)
				}
			}

			// A deleted field disappears everywhere immediately. A new field with the same key starts
			// empty.
			org.Admin.Delete("/v1/fields/" + id).Is(204)
			forgotten(t, org, entity, high, field, body(c.Low))
			again := map[string]string{"text": "number", "number": "text", "boolean": "date", "date": "enum", "enum": "multi_select", "multi_select": "boolean"}[c.DataType]
			more := ""
			if again == "enum" || again == "multi_select" {
				more = `, "allowed_values": ["c", "2026-02-28"]`
			}
			apptest.NewField(org, entity, key, again, more)
			if res := org.Read.Post(path+"/list", fmt.Sprintf(`{"filters": [{"field": %q, "condition": "is_not_empty"}]}`, field)).Is(200); res.Int("pagination.total_count") != 0 ||
				strings.Contains(string(org.Read.Get(path+"/"+high).Body), field) {
				t.Errorf("%s %s does not start empty", entity, again)
			}
		}
	}
}

// customConditions checks every condition, the sort and the search of a custom field.
func customConditions(t *testing.T, org *apptest.Org, entity, dataType, field string, names map[string]string) {
	t.Helper()
	list := func(body, want string) {
		t.Helper()
		got := []string{}
		for _, id := range org.Read.Post("/v1/"+entity+"/list", body).Is(200).Column("id") {
			if names[id] != "" {
				got = append(got, names[id])
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s %s: %s lists %v, want %s", entity, dataType, body, got, want)
		}
	}
	for rule, want := range map[string]map[string]string{
		"text": {`is", "value": "Apple pie`: "low", `is", "value": "apple pie`: "", `equals", "value": "banana = split`: "high", `is_not", "value": "Apple pie`: "high none",
			`contains", "value": "E PI`: "low", `not_contains", "value": "pie`: "high none"},
		"number": {`is", "value": "-2.5`: "low", `equals", "value": "1000`: "high", `is_not", "value": "1000`: "low none", `greater_than", "value": "-3`: "low high",
			`less_than", "value": "1000`: "low"},
		"boolean": {`is", "value": "true`: "high", `equals", "value": "false`: "low", `is_not", "value": "true`: "low none"},
		"date": {`is", "value": "2026-01-31`: "low", `is_before", "value": "2026-02-28`: "low", `is_after", "value": "2026-01-31`: "high",
			`less_than", "value": "2026-01-31`: "", `greater_than", "value": "2026-01-30`: "low high"},
		"enum":         {`is", "value": "a b`: "low", `is_not", "value": "a b`: "high none"},
		"multi_select": {`is", "value": "x`: "low", `is_not", "value": "x`: "high none", `contains", "value": "y`: "low", `not_contains", "value": "z`: "low none"},
	}[dataType] {
		body := fmt.Sprintf(`{"sort": "created_at", "filters": [{"field": %q, "condition": "%s"}]}`, field, rule)
		if dataType == "number" || dataType == "boolean" {
			at := strings.LastIndex(body, `": "`) + 3
			body = body[:at] + strings.Replace(body[at+1:], `"`, "", 1)
		}
		list(body, want)
	}
	list(fmt.Sprintf(`{"sort": "created_at", "filters": [{"field": %q, "condition": "is_empty"}]}`, field), "none")
	list(fmt.Sprintf(`{"sort": "-created_at", "filters": [{"field": %q, "condition": "is_not_empty"}]}`, field), "high low")
	if dataType == "multi_select" {
		list(fmt.Sprintf(`{"sort": "created_at", "filters": [{"field": %q, "condition": "is", "value": ["y", "z"]}]}`, field), "low high")
		list(fmt.Sprintf(`{"sort": "created_at", "filters": [{"field": %q, "condition": "contains", "value": ["y", "x"]}]}`, field), "low")
		list(fmt.Sprintf(`{"sort": "created_at", "filters": [{"field": %q, "condition": "not_contains", "value": ["y", "z"]}]}`, field), "low high none")
		org.Read.Post("/v1/"+entity+"/list", map[string]string{"sort": field}).Fails(422, "invalid_sort", field)
	} else {
		list(fmt.Sprintf(`{"sort": "%s,-created_at"}`, field), "low high none")
		list(fmt.Sprintf(`{"sort": "-%s"}`, field), "high low none")
	}
	if dataType == "text" {
		list(`{"search": "PIE app"}`, "low")
		list(`{"search": "split banana"}`, "high")
		list(`{"search": "ple"}`, "")
	}
}

// forgotten requires that a deleted field can no longer be seen, found or set.
func forgotten(t *testing.T, org *apptest.Org, entity, id, field, body string) {
	t.Helper()
	path := "/v1/" + entity
	for _, res := range []*apptest.Response{
		org.Read.Get(path + "/" + id), org.Read.Post(path+"/list", nil), org.Read.Get("/v1/schemas/" + entity), org.Read.Get("/v1/fields?entity=" + entity),
		org.Read.Post(path+"/export", nil), org.Read.Post(path+"/export", `{"format": "csv"}`), org.Write.Patch(path+"/"+id, `{}`),
	} {
		if res.Is(200); strings.Contains(string(res.Body), field) {
			t.Errorf("%s: %s is still there: %s", entity, field, res.Body)
		}
	}
	if keys := org.Read.Get("/v1/fields?entity=" + entity).Column("key"); slices.Contains(keys, strings.TrimPrefix(field, "custom_field_")) {
		t.Errorf("%s has the fields %v", entity, keys)
	}
	if n := org.Read.Post(path+"/list", `{"search": "banana"}`).Is(200).Int("pagination.total_count"); n != 0 {
		t.Errorf("%s: %d records match a word of deleted field %s", entity, n, field)
	}
	filter := fmt.Sprintf(`{"filters": [{"field": %q, "condition": "is_not_empty"}]}`, field)
	org.Read.Post(path+"/list", filter).Fails(422, "invalid_filter", fmt.Sprintf("filters[0].field: %q is not a field of %s", field, entity))
	org.Read.Post(path+"/export", filter).Fails(422, "invalid_filter", field)
	org.Read.Post(path+"/list", map[string]string{"sort": field}).Fails(422, "invalid_sort", field)
	org.Write.Post(path, body).Fails(422, "validation_failed", field+": unknown field")
	org.Write.Patch(path+"/"+id, fmt.Sprintf(`{%q: null}`, field)).Fails(422, "validation_failed", field+": unknown field")
	batch := org.Write.Post(path+"/batch", `{"records": [`+body+`]}`).Is(200)
	if batch.Int("data.failed") != 1 || batch.Text("data.results.0.error.details.0.path") != field {
		t.Errorf("%s: %s", entity, batch.Body)
	}
}

func TestFieldRules(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	made := org.Admin.Post("/v1/fields", `{"entity": "accounts", "key": "number_of_2_vans", "data_type": "number"}`).Is(201, `{"data": {"id": "<id>",
		"created_at": "2026-03-02T09:00:00.000Z", "updated_at": "2026-03-02T09:00:00.000Z", "entity": "accounts", "key": "number_of_2_vans", "label": "Number of 2 vans",
		"data_type": "number", "allowed_values": [], "personal": true, "ai": null}, "meta": {"timestamp": "<time>"}}`)
	ai := org.Admin.Post("/v1/fields", `{"entity": "accounts", "key": "fleet", "label": "  Fleet & Co ", "data_type": "enum", "allowed_values": ["big", "small", "big"],
		"ai": {"question": "Do they have vans?"}}`).Is(201, `{"data": {"id": "<id>", "created_at": "<time>", "updated_at": "<time>", "entity": "accounts", "key": "fleet",
		"label": "  Fleet & Co ", "data_type": "enum", "allowed_values": ["big", "small"], "personal": true, "ai": {"question": "Do they have vans?", "field": null}}, "meta": {"timestamp": "<time>"}}`).ID()
	before := org.Dump()
	for _, c := range []struct{ body, message string }{
		{`{"key": "x", "data_type": "text"}`, "entity: required"},
		{`{"entity": "tags", "key": "x", "data_type": "text"}`, "entity: \"tags\" is not one of: accounts, contacts, opportunities, tasks, meetings"},
		{`{"entity": "account", "key": "x", "data_type": "text"}`, `entity: "account" is not one of: `},
		{`{"entity": "contacts", "data_type": "text"}`, "key: required"},
		{`{"entity": "contacts", "key": "", "data_type": "text"}`, "key: required"},
		{`{"entity": "contacts", "key": "X", "data_type": "text"}`, "key: must be a lower-case letter followed by up to 62"},
		{`{"entity": "contacts", "key": "1x", "data_type": "text"}`, "key: must be a lower-case letter"},
		{`{"entity": "contacts", "key": "_x", "data_type": "text"}`, "key: must be a lower-case letter"},
		{`{"entity": "contacts", "key": "x-y", "data_type": "text"}`, "key: must be a lower-case letter"},
		{`{"entity": "contacts", "key": "x\n", "data_type": "text"}`, "key: must be a lower-case letter"},
		{`{"entity": "contacts", "key": "ü", "data_type": "text"}`, "key: must be a lower-case letter"},
		{`{"entity": "contacts", "key": "` + strings.Repeat("k", 64) + `", "data_type": "text"}`, "key: must be a lower-case letter"},
		{`{"entity": "contacts", "key": "x"}`, "data_type: required"},
		{`{"entity": "contacts", "key": "x", "data_type": "datetime"}`, "data_type: \"datetime\" is not one of: text, number, boolean, date, enum, multi_select"},
		{`{"entity": "contacts", "key": "x", "data_type": "text", "label": "` + strings.Repeat("l", 256) + `"}`, "label: must be at most 255 characters"},
		{`{"entity": "contacts", "key": "x", "data_type": "enum"}`, "allowed_values: required for enum"},
		{`{"entity": "contacts", "key": "x", "data_type": "multi_select", "allowed_values": []}`, "allowed_values: required for multi_select"},
		{`{"entity": "contacts", "key": "x", "data_type": "text", "allowed_values": ["a"]}`, "allowed_values: not allowed for text"},
		{`{"entity": "contacts", "key": "x", "data_type": "enum", "allowed_values": "a"}`, "allowed_values: must be a list"},
		{`{"entity": "contacts", "key": "x", "data_type": "enum", "allowed_values": ["a", 1]}`, "allowed_values[1]: must be a string"},
		{`{"entity": "contacts", "key": "x", "data_type": "enum", "allowed_values": ["a", ""]}`, "allowed_values[1]: must not be empty"},
		{`{"entity": "contacts", "key": "x", "data_type": "enum", "allowed_values": ["` + strings.Repeat("v", 256) + `"]}`, "allowed_values[0]: must be at most 255 characters"},
		{`{"entity": "contacts", "key": "x", "data_type": "multi_select", "allowed_values": ["a", "b|c", "d;e"]}`, "allowed_values[1]: must not contain | or ;"},
		{`{"entity": "contacts", "key": "x", "data_type": "text", "ai": {"question": "Why?"}}`, "ai: not allowed for contacts, only for accounts"},
		{`{"entity": "accounts", "key": "x", "data_type": "text", "ai": {}}`, "ai.question: required"},
		{`{"entity": "accounts", "key": "x", "data_type": "text", "ai": {"question": ""}}`, "ai.question: required"},
		{`{"entity": "accounts", "key": "x", "data_type": "text", "ai": true}`, "ai: must be an object"},
		{`{"entity": "accounts", "key": "x", "data_type": "text", "ai": {"question": "a", "model": "b"}}`, "ai.model: unknown field"},
		{`{"entity": "accounts", "key": "x", "data_type": "text", "ai": {"question": "a", "field": "shoes"}}`, "ai.field: \"shoes\" is not a field of companies that answers a text; these do: id, name, website, industry"},
		{`{"entity": "accounts", "key": "x", "data_type": "text", "ai": {"question": "a", "field": "keywords"}}`, "ai.field: \"keywords\" is not a field of companies that answers a text"},
		{`{"entity": "accounts", "key": "x", "data_type": "text", "ai": {"question": "a", "field": "description"}}`, "ai.field: \"description\" is not a field"},
		{`{"entity": "accounts", "key": "x", "data_type": "number", "ai": {"question": "a", "field": "name"}}`, "these do: employee_count, annual_revenue, founded_year"},
		{`{"entity": "accounts", "key": "x", "data_type": "boolean", "ai": {"question": "a", "field": "name"}}`, "ai.field: no field of companies answers a boolean"},
		{`{"entity": "accounts", "key": "x", "data_type": "date", "ai": {"question": "a", "field": "founded_year"}}`, "ai.field: no field of companies answers a date"},
		{`{"entity": "accounts", "key": "x", "data_type": "text", "required": true}`, "required: unknown field"},
	} {
		t.Run(c.message, func(t *testing.T) {
			org.Admin.In(t).Post("/v1/fields", c.body).Fails(422, "validation_failed", c.message)
		})
	}
	// The type of a field cannot change.
	for _, body := range []string{`{"entity": "contacts"}`, `{"key": "vans"}`, `{"data_type": "text"}`, `{"key": null}`, `{"id": null}`} {
		t.Run(body, func(t *testing.T) {
			org.Admin.In(t).Patch("/v1/fields/"+made.ID(), body).Fails(422, "validation_failed", "read-only field")
		})
	}
	org.Admin.Patch("/v1/fields/"+ai, `{"allowed_values": null}`).Fails(422, "validation_failed", "allowed_values: required for enum")
	org.Admin.Patch("/v1/fields/"+made.ID(), `{"allowed_values": ["a"]}`).Fails(422, "validation_failed", "allowed_values: not allowed for number")
	for _, c := range []apptest.Client{org.Read, org.Write} {
		c.Patch("/v1/fields/"+ai, `{"label": "x"}`).Fails(403, "forbidden", "admin")
	}
	if org.Dump() != before {
		t.Error("a refused request changed something")
	}
	org.Admin.Patch("/v1/fields/"+made.ID(), made.Value("data")).Is(200)
	org.Admin.Post("/v1/fields", `{"entity": "contacts", "key": "`+strings.Repeat("k", 63)+`", "data_type": "text", "ai": null, "allowed_values": [], "label": ""}`).Is(201)

	// The schema shows a new label. Without a label, it is derived from the key.
	label := func() string {
		for _, f := range org.Read.Get("/v1/schemas/accounts").Is(200).Value("data.fields").([]any) {
			if f := f.(map[string]any); f["key"] == "custom_field_fleet" {
				return fmt.Sprintf("%s %v %v", f["label"], f["custom"], f["enum_field_settings"])
			}
		}
		return "none"
	}
	for _, step := range []struct{ body, want string }{
		{`{}`, "  Fleet & Co  true map[allowed_values:[big small] labels:map[big:big small:small]]"},
		{`{"label": "Vans"}`, "Vans true map[allowed_values:[big small] labels:map[big:big small:small]]"},
		{`{"label": null, "ai": null, "allowed_values": ["tiny one", "big", "small"]}`, "Fleet true map[allowed_values:[tiny one big small] labels:map[big:big small:small tiny one:tiny one]]"},
	} {
		org.Admin.Patch("/v1/fields/"+ai, step.body).Is(200)
		if got := label(); got != step.want {
			t.Errorf("%s: the schema has %q, want %q", step.body, got, step.want)
		}
	}
}

// TestAllowedValues checks that an allowed value cannot be removed while records have it, and that
// a new one can be used immediately.
func TestAllowedValues(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account := apptest.Makers["accounts"](org)
	for entity := range apptest.EntityBodies {
		for dataType, quote := range map[string]string{"enum": `"%s"`, "multi_select": `["c", "%s"]`} {
			key := "my_" + dataType
			field := apptest.NewField(org, entity, key, dataType, `, "allowed_values": ["a", "b", "c"]`)
			value := func(v string) string { return fmt.Sprintf(`"custom_field_%s": %s`, key, fmt.Sprintf(quote, v)) }
			first := org.Write.Post("/v1/"+entity, apptest.EntityBody(entity, account, value("a"))).Is(201).ID()
			second := org.Write.Post("/v1/"+entity, apptest.EntityBody(entity, account, value("a"))).Is(201).ID()
			lose := func(left string) *apptest.Response {
				return org.Admin.Patch("/v1/fields/"+field, `{"allowed_values": `+left+`}`)
			}
			lose(`["c"]`).Is(409, fmt.Sprintf(`{"error": {"code": "in_use", "message": "allowed_values: cannot remove \"a\": a record has this value",
				"details": [{"path": "allowed_values", "message": "cannot remove \"a\": a record has this value", "id": %q}]}}`, first))
			org.Write.Delete("/v1/" + entity + "/" + first).Is(204)
			if res := lose(`["c", "b"]`).Fails(409, "in_use", "a"); res.Text("error.details.0.id") != second {
				t.Error(string(res.Body))
			}
			lose(`["c", "a"]`).Is(200)
			org.Write.Patch("/v1/"+entity+"/"+second, "{"+value("b")+"}").Fails(422, "validation_failed", `"b" is not one of: c, a`)
			lose(`["d", "c", "a"]`).Is(200)
			org.Write.Patch("/v1/"+entity+"/"+second, "{"+value("d")+"}").Is(200)
			lose(`["d", "c"]`).Is(200)
			org.Read.Post("/v1/"+entity+"/list", fmt.Sprintf(`{"filters": [{"field": "custom_field_%s", "condition": "is", "value": "a"}]}`, key)).Fails(422, "invalid_filter", `"a" is not one of: d, c`)
			org.Write.Patch("/v1/"+entity+"/"+second, fmt.Sprintf(`{"custom_field_%s": null}`, key)).Is(200)
			lose(`["e"]`).Is(200)
		}
	}
}

func TestListFields(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	for _, f := range []string{"tasks one", "accounts two", "tasks three", "accounts one"} {
		entity, key, _ := strings.Cut(f, " ")
		apptest.NewField(org, entity, key, "text", "")
	}
	all := org.Read.Get("/v1/fields").Is(200)
	if got := all.Column("entity"); !slices.Equal(got, []string{"accounts", "accounts", "tasks", "tasks"}) {
		t.Errorf("unexpected entities of the fields: %q", got)
	}
	if got := all.Column("key"); !slices.Equal(got, []string{"two", "one", "one", "three"}) {
		t.Errorf("unexpected keys: %q", got)
	}
	res := org.Read.Get("/v1/fields?entity=tasks").Is(200)
	if got := res.Column("key"); !slices.Equal(got, []string{"one", "three"}) {
		t.Errorf("unexpected keys of tasks: %q", got)
	}
	if got := res.Value("pagination"); !apptest.EqualsJSON(got, `{"page": 1, "page_size": 2, "total_count": 2, "total_pages": 1}`) {
		t.Errorf("pagination %v", got)
	}
	if got := org.Read.Get("/v1/fields?entity=contacts").Is(200).Column("key"); len(got) != 0 {
		t.Error(got)
	}
	if got := other.Read.Get("/v1/fields").Is(200).Column("key"); len(got) != 0 {
		t.Error(got)
	}
	for query, message := range map[string]string{
		"?entity=tags":               `entity: "tags" is not one of: accounts, contacts, opportunities, tasks, meetings`,
		"?entity=Tasks":              `entity: "Tasks" is not one of: `,
		"?entity=tasks&entity=tasks": "entity: given more than once",
		"?entity=tasks&page=1":       "page: unknown query parameter",
		"?entity=%zz":                "query: malformed",
		"?entity=accounts%20":        `entity: "accounts " is not one of: `,
	} {
		t.Run(query, func(t *testing.T) {
			org.Read.In(t).Get("/v1/fields"+query).Fails(422, "validation_failed", message)
		})
	}
}

// TestMostFields checks that an entity has at most 500 custom fields.
func TestMostFields(t *testing.T) {
	if apptest.RaceDetector {
		t.Skip("skipped under the race detector: nothing here is concurrent")
	}
	app := apptest.New(t)
	org := app.Org("Acme")
	var last string
	err := app.Store.Update(context.Background(), org.ID, store.Actor{}, func(tx *store.Tx) error {
		for i := range 499 {
			doc, err := app.CRM.Fields.Create(tx, record.NewDraft[crm.Field](apptest.Body(t, map[string]any{"entity": "tasks", "key": fmt.Sprint("f", i), "data_type": "text"})))
			if err != nil {
				return err
			}
			last = doc.ID.String()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	apptest.NewField(org, "tasks", "almost", "text", "")
	one := `{"entity": "tasks", "key": "more", "data_type": "text"}`
	org.Admin.Post("/v1/fields", one).Fails(422, "validation_failed", "entity: must have at most 500 custom fields")
	apptest.NewField(org, "meetings", "more", "text", "")
	org.Admin.Delete("/v1/fields/" + last).Is(204)
	org.Admin.Post("/v1/fields", one).Is(201)
	if n := len(org.Read.Get("/v1/fields?entity=tasks").Is(200).Column("id")); n != 500 {
		t.Error(n)
	}
}

// TestEverySchema compares the schema of every kind, with a custom field of each type where
// possible, with its list. The list must accept exactly what the schema describes.
func TestEverySchema(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	for entity := range apptest.EntityBodies {
		for _, c := range apptest.CustomTypes {
			apptest.NewField(org, entity, "my_"+c.DataType, c.DataType, c.More)
		}
	}
	apptest.NewField(org, "tasks", "tasks_alone", "text", "")
	sorts := map[string]string{"companies": "name", "people": "last_name", "sequences": "-started_at"}
	ops := app.API.Operations()
	i := slices.IndexFunc(ops, func(op handlers.Operation) bool { return op.Name == "get_schema" })
	for _, entity := range ops[i].Entities {
		var schema struct{ Data filter.Schema }
		if err := json.Unmarshal(org.Write.Get("/v1/schemas/"+entity).Is(200).Body, &schema); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(entity, "-trash") {
			sorts[entity] = "-deleted_at"
		}
		if schema.Data.Entity != entity || schema.Data.DefaultSort != cmp.Or(sorts[entity], "-created_at") {
			t.Fatalf("%+v", schema)
		}
		var customs []string
		for _, f := range schema.Data.Fields {
			schemaField(t, org, entity, f)
			if f.Custom {
				customs = append(customs, f.Key+" "+f.Type)
			}
		}
		want := []string{"custom_field_my_text text", "custom_field_my_number number", "custom_field_my_boolean boolean", "custom_field_my_date date", "custom_field_my_enum enum", "custom_field_my_multi_select multi"}
		if kind := strings.TrimSuffix(entity, "-trash"); kind == "tasks" {
			want = append(want, "custom_field_tasks_alone text")
		} else if apptest.EntityBodies[kind] == "" {
			want = nil
		}
		if !slices.Equal(customs, want) {
			t.Errorf("%s has the custom fields %v, want %v", entity, customs, want)
		}
	}
}

// schemaField compares one field of a schema with the list.
func schemaField(t *testing.T, org *apptest.Org, entity string, f filter.SchemaField) {
	t.Helper()
	list := "/v1/" + strings.Replace(entity, "-trash", "/trash", 1) + "/list"
	switch entity {
	case "previews", "tam-imports":
		list = "/v1/tam/" + strings.TrimPrefix(entity, "tam-") + "/list"
	case "subscriptions":
		list = "/v1/webhooks/" + entity + "/list"
	case "sequences":
		list = "/v1/campaigns/" + apptest.Makers["campaigns"](org) + "/sequences/list"
	}
	value := map[string]string{"text": `"x"`, "number": `1`, "boolean": `true`, "date": `"2026-03-01"`, "datetime": `"2026-03-01"`,
		"multi": `"0190b2f0-0000-7000-8000-000000000000"`, "reference": `"0190b2f0-0000-7000-8000-000000000000"`}[f.Type]
	if f.Enum != nil {
		value = fmt.Sprintf("%q", f.Enum.AllowedValues[0])
	}
	if value == "" || f.Label == "" || !f.Filterable || (f.Enum != nil) != (f.Type == "enum" || f.Type == "multi" && f.Custom) {
		t.Errorf("%s: %+v", entity, f)
	}
	var taken, refused []string
	for _, condition := range append(slices.Clone(filter.AllConditions), "starts_with") {
		rule := fmt.Sprintf(`{"field": %q, "condition": %q, "value": %s}`, f.Key, condition, value)
		switch {
		case strings.HasSuffix(string(condition), "_empty"):
			rule = fmt.Sprintf(`{"field": %q, "condition": %q}`, f.Key, condition)
		case condition == filter.Between:
			rule = fmt.Sprintf(`{"field": %q, "condition": %q, "value": [%s, %s]}`, f.Key, condition, value, value)
		}
		if slices.Contains(f.Conditions, condition) {
			taken = append(taken, rule)
		} else {
			refused = append(refused, rule)
		}
	}
	org.Write.Post(list, `{"filters": [`+strings.Join(taken, ",")+`]}`).Is(200)
	// All problems are reported at once: the others must be among them.
	res := org.Write.Post(list, `{"filters": [`+strings.Join(refused, ",")+`]}`).Fails(422, "invalid_filter", "filters[0].condition")
	for i, d := range res.Value("error.details").([]any) {
		if d.(map[string]any)["path"] != fmt.Sprintf("filters[%d].condition", i) || len(res.Value("error.details").([]any)) != len(refused) {
			t.Errorf("%s.%s: %s", entity, f.Key, res.Body)
		}
	}
	for _, s := range []string{f.Key, "-" + f.Key} {
		if res := org.Write.Post(list, map[string]string{"sort": s}); f.Sortable {
			res.Is(200)
		} else {
			res.Fails(422, "invalid_sort", f.Key)
		}
	}
	if unsortable := f.Type == "multi" || f.Key == "notes" || f.Key == "description" || f.Key == "body"; f.Sortable == unsortable {
		t.Errorf("%s.%s: sortable is %v", entity, f.Key, f.Sortable)
	}
	fixed := []string{"id", "created_at", "updated_at", "source", "object_type", "completed_at",
		"disabled_reason", "consecutive_failures", "last_success_at", "last_failure_at", "deleted_at", "deleted_by"}
	readOnly := slices.Contains([]string{"companies", "people", "previews", "tam-imports", "imports", "operations", "sequences", "outbox", "webhook-deliveries"}, entity)
	fixedOf := map[string][]string{"fields": {"entity", "key", "data_type"}, "views": {"entity"}, "account-views": {"entity"}, "audiences": {"type", "contact_count"}, "campaigns": {"template_name", "audiences", "newcomers", "transport"},
		"sequence-templates": {"kind", "owner_id", "is_default", "archived_at"}}
	if f.ReadOnly != (readOnly || slices.Contains(fixed, f.Key) || slices.Contains(fixedOf[strings.TrimSuffix(entity, "-trash")], f.Key)) {
		t.Errorf("%s.%s: read_only is %v", entity, f.Key, f.ReadOnly)
	}
}
