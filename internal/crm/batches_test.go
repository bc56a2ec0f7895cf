package crm_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// outcome summarizes the results of a batch: + for created, = for updated, or the code of the
// error.
func outcome(t *testing.T, res *apptest.Response) string {
	t.Helper()
	var words []string
	succeeded, failed := 0, 0
	for i, r := range res.Is(200).Value("data.results").([]any) {
		r := r.(map[string]any)
		if r["index"] != float64(i) {
			t.Fatalf("result %d has index %v", i, r["index"])
		}
		switch {
		case r["error"] != nil:
			failed++
			words = append(words, fmt.Sprint(r["error"].(map[string]any)["code"]))
			if len(r) != 2 {
				t.Fatalf("unexpected result of a failed record: %v", r)
			}
		case r["created"] == true:
			succeeded++
			words = append(words, "+")
		default:
			succeeded++
			words = append(words, "=")
		}
	}
	if res.Int("data.succeeded") != succeeded || res.Int("data.failed") != failed {
		t.Fatalf("the counts do not match the results: %s", res.Body)
	}
	return strings.Join(words, " ")
}

func TestBatch(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	account := apptest.Makers["accounts"](org)
	for entity := range apptest.EntityBodies {
		path := "/v1/" + entity
		first := org.Write.Post(path, apptest.EntityBody(entity, account, `"external_id": "first"`)).Is(201).ID()
		foreign := apptest.Makers[entity](other)
		app.Clock.Advance(time.Minute)
		records := []string{
			apptest.EntityBody(entity, account, `"external_id": "new"`),
			fmt.Sprintf(`{"id": %q, "external_id": "changed"}`, first),
			`7`,
			apptest.EntityBody(entity, account, `"nope": 1, "tags": 2`),
			`{"id": "0190b2f0-0000-7000-8000-000000000000"}`,
			fmt.Sprintf(`{"id": %q, "external_id": "stolen"}`, foreign),
			`{"id": "first"}`,
			`{"id": 7}`,
			apptest.EntityBody(entity, account, `"external_id": "NEW"`),
			apptest.EntityBody(entity, account, `"id": null, "external_id": "first"`), // free again
			fmt.Sprintf(`{"id": %q}`, first),
			`null`, `[]`,
			apptest.EntityBody(entity, account, `"created_at": null`),
			apptest.EntityBody(entity, account, `"add_tags": []`),
		}
		res := org.Write.Post(path+"/batch", `{"records": [`+strings.Join(records, ",")+`]}`)
		const want = "+ = validation_failed validation_failed not_found not_found not_found not_found external_id_taken + = validation_failed validation_failed validation_failed validation_failed"
		if got := outcome(t, res); got != want {
			t.Errorf("%s: %s", entity, got)
		}
		ids := apptest.ResultIDs(res)
		if ids[1] != first || ids[10] != first || ids[0] >= ids[9] {
			t.Errorf("%s: %v", entity, ids)
		}
		// An error has the same form as in a single request.
		if diff := apptest.Diff(`{"code": "validation_failed", "message": "nope: unknown field", "details": [
			{"path": "nope", "message": "unknown field"}, {"path": "tags", "message": "must be a list"}]}`, apptest.JSONAt(t, res, "data.results.3.error")); diff != "" {
			t.Errorf("%s: %s", entity, diff)
		}
		if diff := apptest.Diff(fmt.Sprintf(`{"code": "external_id_taken", "message": "external_id: \"NEW\" is used by another record",
			"details": [{"path": "external_id", "message": "\"NEW\" is used by another record", "id": %q}]}`, ids[0]), apptest.JSONAt(t, res, "data.results.8.error")); diff != "" {
			t.Errorf("%s: %s", entity, diff)
		}
		if diff := apptest.Diff(`{"index": 4, "error": {"code": "not_found", "message": "Resource not found"}}`, apptest.JSONAt(t, res, "data.results.4")); diff != "" {
			t.Errorf("%s: %s", entity, diff)
		}
		// The successful records were stored, and nothing else.
		got := org.Read.Get(path + "/" + first).Is(200)
		if got.Text("data.external_id") != "changed" || got.Text("data.created_at") == got.Text("data.updated_at") {
			t.Error(string(got.Body))
		}
		made := org.Read.Post(path+"/list", `{"sort": "created_at,id", "filters": [{"field": "external_id", "condition": "is_not_empty"}]}`).Is(200)
		if got := made.Column("external_id"); !slices.Equal(got, []string{"changed", "new", "first"}) {
			t.Errorf("%s has the external ids %q", entity, got)
		}
		if got := other.Read.Get(path + "/" + foreign).Is(200); got.Value("data.external_id") != nil {
			t.Errorf("%s of another organization was changed", entity)
		}
	}
}

func TestBatchBounds(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	many := func(n int) string {
		return `{"records": [` + strings.TrimSuffix(strings.Repeat(`{"title": "Call"},`, n), ",") + `]}`
	}
	before := org.Dump()
	for body, message := range map[string]string{
		``:                  "records: required",
		`{}`:                "records: required",
		`{"records": []}`:   "records: must not be empty",
		`{"records": {}}`:   "records: must be a list",
		`{"records": null}`: "records: required",
		many(1001):          "records: must have at most 1000 entries",
		`{"records": [{"title": "Call"}], "match_on": "title"}`:         "match_on: \"title\" is not one of: external_id",
		`{"records": [{"title": "Call"}], "match_on": "id"}`:            "match_on: \"id\" is not one of: external_id",
		`{"records": [{"title": "Call"}], "match_on": ["external_id"]}`: "match_on: must be a string",
		`{"records": [{"title": "Call"}], "atomic": true}`:              "atomic: unknown field",
	} {
		t.Run(message, func(t *testing.T) {
			org.Write.In(t).Post("/v1/tasks/batch", body).Fails(422, "validation_failed", message)
		})
	}
	for entity, fields := range map[string]string{"accounts": "website, external_id", "contacts": "email, linkedin_url, external_id", "opportunities": "external_id", "meetings": "external_id"} {
		for _, field := range []string{"name", "Email", "website", "email"} {
			if !strings.Contains(fields, field) {
				org.Write.Post("/v1/"+entity+"/batch", map[string]any{"records": []any{7}, "match_on": field}).Fails(422, "validation_failed", fmt.Sprintf("match_on: %q is not one of: %s", field, fields))
			}
		}
	}
	if org.Dump() != before {
		t.Error("a refused batch changed something")
	}
	if res := org.Write.Post("/v1/tasks/batch", many(1000)); res.Int("data.succeeded") != 1000 || res.Int("data.failed") != 0 {
		t.Error(res.Int("data.succeeded"))
	}
	org.Write.Post("/v1/tasks/batch", `{"records": [{"title": "Call"}], "match_on": null}`).Is(200)
	if n := org.Read.Post("/v1/tasks/list", nil).Is(200).Int("pagination.total_count"); n != 1001 {
		t.Error(n)
	}
}

// TestMatchOn checks which spellings of a value count as equal.
func TestMatchOn(t *testing.T) {
	app := apptest.New(t)
	for _, c := range []struct {
		entity, field, value string
		same, others         []string
	}{
		{"contacts", "email", "Bill.Ö@Initech.example", []string{"bill.ö@initech.example", "BILL.Ö@INITECH.EXAMPLE", "BILL.O\u0308@ini\u00adtech。example"}, []string{"bill.o@initech.example", "bill@initech.example"}},
		{"contacts", "linkedin_url", "https://www.linkedin.com/in/Bill-L", []string{"http://linkedin.com/in/bill-l/", "linkedin.com/in/bill-l", "HTTPS://DE.LinkedIn.com/in/BILL-L?trk=x&y=/z",
			"//uk.linkedin.com/in/bill-l//", "https://www.linkedin.com/in/bill-l/?x", "https://linkedin.com/in/bill-l#about"},
			[]string{"https://linkedin.com/in/bill", "https://linkedin.com/company/bill-l", "https://linkedin.example/in/bill-l", "bill-l"}},
		{"accounts", "website", "https://www.Initech.example/about", []string{"initech.example", "HTTP://INITECH.EXAMPLE:80/?q=1", "www.initech.example.", "shop.initech.example", "initech。example"},
			[]string{"initech.com", "initech.example.com", "https://www.linkedin.com/company/initech", "linkedin.com/company/initech"}},
		{"contacts", "external_id", "SF 1", []string{"sf 1", "Sf 1"}, []string{"SF1", "SF 1 "}},
		{"opportunities", "external_id", "Ä", []string{"ä"}, []string{"a"}},
		{"tasks", "external_id", "T", []string{"t"}, []string{"tt"}},
		{"meetings", "external_id", "M", []string{"m"}, []string{"mm"}},
		{"accounts", "external_id", "A", []string{"a"}, []string{"aa"}},
	} {
		org := app.Org(c.entity + c.field)
		account := apptest.Makers["accounts"](org)
		path := "/v1/" + c.entity
		put := func(value string) *apptest.Response {
			var body map[string]any
			if err := json.Unmarshal([]byte(apptest.EntityBody(c.entity, account, "")), &body); err != nil {
				t.Fatal(err)
			}
			body[c.field] = value
			return org.Write.Post(path+"/batch", map[string]any{"match_on": c.field, "records": []any{body}})
		}
		res := put(c.value)
		if got := outcome(t, res); got != "+" {
			t.Fatalf("%s %s: %s", c.entity, c.field, got)
		}
		id := apptest.ResultIDs(res)[0]
		for _, v := range c.same {
			if res := put(v); outcome(t, res) != "=" || apptest.ResultIDs(res)[0] != id {
				t.Errorf("%s %s: %q is not taken for %q: %s", c.entity, c.field, v, c.value, res.Body)
			}
		}
		for _, v := range c.others {
			if res := put(v); outcome(t, res) != "+" {
				t.Errorf("%s %s: %q is taken for %q: %s", c.entity, c.field, v, c.value, res.Body)
			}
		}
	}
}

func TestMatchedRecords(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	batch := func(match string, records ...string) *apptest.Response {
		return org.Write.Post("/v1/contacts/batch", fmt.Sprintf(`{"match_on": %q, "records": [%s]}`, match, strings.Join(records, ",")))
	}
	apptest.Makers["contacts"](other) // hank@globex.example of another organization
	var ids []string
	for range 3 {
		ids = append(ids, org.Write.Post("/v1/contacts", `{"email": "ann@globex.example", "title": "VP"}`).Is(201).ID())
	}
	res := batch("email",
		`{"email": "ANN@globex.example", "title": "CEO"}`,                                // of several, the oldest
		`{"first_name": "No", "last_name": "Mail"}`,                                      // without the value it is new,
		`{"first_name": "No", "last_name": "Mail", "email": null}`,                       // and so is the next
		`{"first_name": "No", "last_name": "Mail", "email": ""}`,                         //
		fmt.Sprintf(`{"id": %q, "email": "ann@globex.example", "title": "CFO"}`, ids[2]), // the id takes precedence
		`{"email": "new@globex.example", "title": "A", "notes": "kept"}`,
		`{"email": "New@globex.example", "title": "B"}`, // the previous one
		`{"email": "hank@globex.example"}`,
		`{"email": "no address", "first_name": "A", "last_name": "B"}`,
		`{"email": 7, "first_name": "A", "last_name": "B"}`,
		`{"id": "0190b2f0-0000-7000-8000-000000000000", "email": "ann@globex.example"}`,
		`{"title": "Nobody"}`,
	)
	if got := outcome(t, res); got != "= + + + = + = + validation_failed validation_failed not_found validation_failed" {
		t.Error(got)
	}
	got := apptest.ResultIDs(res)
	if got[0] != ids[0] || got[4] != ids[2] || got[5] != got[6] {
		t.Error(got, ids)
	}
	for id, want := range map[string]string{ids[0]: "CEO", ids[1]: "VP", ids[2]: "CFO", got[5]: "B"} {
		if title := org.Read.Get("/v1/contacts/" + id).Is(200).Text("data.title"); title != want {
			t.Errorf("the title is %s, want %s", title, want)
		}
	}
	// A match is an update: absent fields stay unchanged, and the last value is stored.
	if c := org.Read.Get("/v1/contacts/" + got[5]); c.Text("data.notes") != "kept" || c.Text("data.email") != "New@globex.example" {
		t.Error(string(c.Body))
	}
	// If the record with the value has changed or was deleted, the next oldest one matches.
	org.Write.Patch("/v1/contacts/"+ids[0], `{"email": "other@globex.example"}`).Is(200)
	if res := batch("email", `{"email": "ann@globex.example"}`); apptest.ResultIDs(res)[0] != ids[1] {
		t.Error(string(res.Body))
	}
	org.Write.Delete("/v1/contacts/" + ids[1]).Is(204)
	if res := batch("email", `{"email": "ann@globex.example"}`); apptest.ResultIDs(res)[0] != ids[2] {
		t.Error(string(res.Body))
	}
	// Matching by one field ignores the others.
	if got := outcome(t, batch("linkedin_url", `{"email": "ann@globex.example"}`)); got != "+" {
		t.Error(got)
	}
	// A matched update follows the same rules as a PATCH.
	if got := outcome(t, batch("email", `{"email": "ann@globex.example", "source": "csv"}`, `{"email": "fresh@globex.example", "source": "csv"}`)); got != "validation_failed +" {
		t.Error(got)
	}
}

func TestBatchReplay(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	const body = `{"records": [{"title": "Call"}, {"title": ""}]}`
	first := org.Write.Do("POST", "/v1/tasks/batch", body, "Idempotency-Key", "k").Is(200)
	app.Clock.Advance(time.Hour)
	again := org.Write.Do("POST", "/v1/tasks/batch", body, "Idempotency-Key", "k").Is(200)
	if string(first.Body) != string(again.Body) || again.Header.Get("Idempotent-Replayed") != "true" || outcome(t, again) != "+ validation_failed" {
		t.Error(string(again.Body))
	}
	if n := org.Read.Post("/v1/tasks/list", nil).Int("pagination.total_count"); n != 1 {
		t.Error(n)
	}
	org.Write.Do("POST", "/v1/meetings/batch", body, "Idempotency-Key", "k").Fails(409, "idempotency_key_reused", "")
	org.Write.Do("POST", "/v1/tasks/batch", `{"records": []}`, "Idempotency-Key", "l").Fails(422, "validation_failed", "")
	org.Write.Do("POST", "/v1/tasks/batch", body, "Idempotency-Key", "l").Is(200) // failed responses are not stored
}

// TestBatchMembers checks that custom fields and tags work in a batch as in a single request, and
// that a failed record changes nothing.
func TestBatchMembers(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	ids := apptest.NewTags(org, "contact", "A", "B", "C")
	ids["account"] = apptest.Makers["tags"](org)
	apptest.NewField(org, "contacts", "score", "number", "")
	apptest.NewField(org, "contacts", "tier", "enum", `, "allowed_values": ["gold"]`)
	batch := func(match string, records ...string) *apptest.Response {
		return org.Write.Post("/v1/contacts/batch", apptest.WithIDs(fmt.Sprintf(`{"match_on": %s, "records": [%s]}`, match, strings.Join(records, ",")), ids))
	}
	res := batch("null",
		`{"email": "a@x.example", "custom_field_score": 1, "tags": ["{A}", "{B}"]}`,
		`{"email": "b@x.example", "custom_field_score": "1"}`,
		`{"email": "c@x.example", "custom_field_nope": 1}`,
		`{"email": "d@x.example", "tags": ["{account}"], "external_id": "D", "custom_field_tier": "gold"}`,
		`{"email": "e@x.example", "external_id": "D", "add_tags": ["{A}"]}`,
		`{"email": "f@x.example", "external_id": "D", "account_id": "0190b2f0-0000-7000-8000-000000000000"}`,
		`{"email": "g@x.example", "external_id": "D"}`)
	if got := outcome(t, res); got != "+ validation_failed validation_failed validation_failed validation_failed validation_failed +" {
		t.Fatal(got)
	}
	for i, path := range map[string]string{"1": "custom_field_score", "2": "custom_field_nope", "3": "tags[0]", "4": "add_tags", "5": "account_id"} {
		if got := res.Text("data.results." + i + ".error.details.0.path"); got != path {
			t.Errorf("record %s fails at %s, want %s", i, got, path)
		}
	}
	first := apptest.ResultIDs(res)[0]
	for body, want := range map[string][]string{
		`{"sort": "email"}`: {"a@x.example", "g@x.example"},
		`{"filters": [{"field": "custom_field_tier", "condition": "is_not_empty"}]}`: {},
		`{"filters": [{"field": "tags", "condition": "is_not_empty"}]}`:              {"a@x.example"},
		`{"search": "d"}`: {"g@x.example"},
	} {
		t.Run(body, func(t *testing.T) {
			if got := org.Read.In(t).Post("/v1/contacts/list", body).Is(200).Column("email"); !slices.Equal(got, want) {
				t.Errorf("the list contains %q, want %q", got, want)
			}
		})
	}
	app.Clock.Advance(time.Minute)
	was := org.Read.Get("/v1/contacts/" + first)
	for _, step := range []struct{ match, record, outcome, tags string }{
		{`null`, `{"id": "` + first + `", "add_tags": ["{C}"], "remove_tags": ["{A}"]}`, "=", "B C"},
		{`null`, `{"id": "` + first + `", "add_tags": ["{account}"]}`, "validation_failed", "B C"},
		{`"email"`, `{"email": "a@x.example", "add_tags": ["{A}"], "custom_field_score": null}`, "=", "B C A"},
		{`"email"`, `{"email": "a@x.example", "tags": ["{C}"], "add_tags": ["{B}"], "remove_tags": ["{A}"]}`, "=", "C B"},
		{`"email"`, `{"email": "a@x.example", "add_tags": ["{A}"], "remove_tags": ["{A}"]}`, "validation_failed", "C B"},
	} {
		if got := outcome(t, batch(step.match, step.record)); got != step.outcome {
			t.Errorf("%s is %s", step.record, got)
		}
		if got := apptest.NamesOf(ids, org.Read.Get("/v1/contacts/"+first).Value("data.tags").([]any)); got != step.tags {
			t.Errorf("%s leaves the tags %s, want %s", step.record, got, step.tags)
		}
	}
	is := org.Read.Get("/v1/contacts/" + first).Is(200)
	if strings.Contains(string(is.Body), "custom_field") || is.Text("data.updated_at") == was.Text("data.updated_at") {
		t.Error(string(is.Body))
	}
	// With match_on, a new record may contain tag edits: its tags are those that it adds.
	res = batch(`"email"`, `{"email": "n1@x.example", "add_tags": ["{A}", "{A}"], "remove_tags": ["{B}"]}`, `{"email": "n2@x.example", "tags": ["{B}"], "add_tags": ["{C}"]}`,
		`{"email": "n3@x.example", "remove_tags": ["{B}"]}`, `{"email": "n4@x.example", "add_tags": ["{account}"]}`, `{"email": "n5@x.example", "add_tags": "{A}"}`)
	if got := outcome(t, res); got != "+ + + validation_failed validation_failed" {
		t.Error(got)
	}
	for i, want := range []string{"A", "B C", ""} {
		if got := apptest.NamesOf(ids, org.Read.Get("/v1/contacts/"+apptest.ResultIDs(res)[i]).Value("data.tags").([]any)); got != want {
			t.Errorf("new record %d has the tags %s, want %s", i, got, want)
		}
	}
	// An update without changes creates no version.
	was = org.Read.Get("/v1/contacts/" + first)
	app.Clock.Advance(time.Minute)
	if got := outcome(t, batch(`"email"`, `{"email": "a@x.example"}`)); got != "=" {
		t.Error(got)
	}
	if is := org.Read.Get("/v1/contacts/" + first); is.Header.Get("ETag") != was.Header.Get("ETag") || is.Text("data.updated_at") != was.Text("data.updated_at") {
		t.Error("an unchanged record has a new version")
	}
}
