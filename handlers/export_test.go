package handlers_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// lines returns the records of an export as text.
func lines(res *apptest.Response) []string {
	out := []string{}
	for line := range strings.Lines(string(res.Body)) {
		out = append(out, strings.TrimSuffix(line, "\n"))
	}
	return out
}

// nameMembers are the last members of an exported record, which lists do not have.
var nameMembers = regexp.MustCompile(`,"[a-z]+_(?:name|email|names)":(?:null|"[^"]*"|\[[^\]]*\])(?:,"[a-z]+_(?:name|email|names)":(?:null|"[^"]*"|\[[^\]]*\]))*}$`)

// listedLines returns the records of an export without the names of the records that they refer to.
func listedLines(res *apptest.Response) []string {
	out := lines(res)
	for i := range out {
		out[i] = nameMembers.ReplaceAllString(out[i], "}")
	}
	return out
}

// TestExport compares exports with lists: the same records in the same form and order.
func TestExport(t *testing.T) {
	_, org, ids := listed(t)
	apptest.NewField(org, "accounts", "score", "number", "")
	org.Write.Patch("/v1/accounts/"+ids["cedar"], `{"custom_field_score": 7}`).Is(200)
	for _, body := range []string{
		`{}`,
		`{"sort": "name"}`,
		`{"sort": "-country,name"}`,
		`{"sort": "-custom_field_score,-name"}`,
		`{"search": "cedar", "sort": "-name"}`,
		`{"search": "nothing like it"}`,
		`{"filters": [{"field": "tags", "condition": "contains", "value": "{Gold}"}], "sort": "name"}`,
		`{"filters": {"operator": "or", "filters": [{"field": "custom_field_score", "condition": "is", "value": 7}, {"field": "source", "condition": "is", "value": "csv"}]}}`,
		`{"filters": null, "sort": null, "search": null, "format": null}`,
	} {
		t.Run(body, func(t *testing.T) {
			body = apptest.WithIDs(body, ids)
			var list struct{ Data []json.RawMessage }
			if err := json.Unmarshal(org.Read.In(t).Post("/v1/accounts/list", strings.Replace(body, `, "format": null`, "", 1)).Is(200).Body, &list); err != nil {
				t.Fatal(err)
			}
			want := []string{}
			for _, r := range list.Data {
				want = append(want, string(r))
			}
			res := org.Read.In(t).Post("/v1/accounts/export", body).Is(200)
			if got := listedLines(res); !slices.Equal(got, want) {
				t.Errorf("%s exports\n%s\nand lists\n%s", body, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if h := res.Header; h.Get("Content-Type") != "application/x-ndjson" || h.Get("Content-Disposition") != `attachment; filename="accounts.jsonl"` || h.Get("ETag") != "" {
				t.Error(h)
			}
		})
	}
	// Without a body, everything is exported.
	if got := lines(org.Read.Post("/v1/accounts/export", nil).Is(200)); len(got) != 5 {
		t.Error(got)
	}
	for body, message := range map[string]string{
		`{"page": 1}`: "page: unknown field", `{"page_size": 10}`: "page_size: unknown field", `{"format": "xlsx"}`: "format: \"xlsx\" is not one of: jsonl, csv",
		`{"format": 1}`: "format: must be a string", `{"search": 1}`: "search: must be a string", `{"fields": []}`: "fields: unknown field",
	} {
		t.Run(message, func(t *testing.T) {
			org.Read.In(t).Post("/v1/accounts/export", body).Fails(422, "validation_failed", message)
		})
	}
	org.Read.Post("/v1/accounts/export", `{"format": "pdf", "sort": "x", "filters": [{"field": "x", "condition": "is", "value": 1}]}`).Is(422, `{"error": {"code": "validation_failed",
		"message": "<any>", "details": [{"path": "format", "message": "<any>"}, {"path": "sort", "message": "<any>"}, {"path": "filters[0].field", "message": "<any>"}]}}`)
}

// records reads a table into its header and its cells by column.
func records(t *testing.T, res *apptest.Response) (header []string, rows []map[string]string) {
	t.Helper()
	all, err := csv.NewReader(bytes.NewReader(res.Body)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, cells := range all[1:] {
		row := map[string]string{}
		for i, c := range cells {
			row[all[0][i]] = c
		}
		rows = append(rows, row)
	}
	return all[0], rows
}

// columns returns the columns of a table: the fields of the entity, and beside those that refer to records what these
// are called.
func columns(entity string) string {
	var all []string
	for _, f := range apptest.Fields(entity) {
		all = append(all, f.Key)
		switch of, refers := strings.CutSuffix(f.Key, "_id"); {
		case f.Key == "tags":
			all = append(all, "tag_names")
		case f.Key == "owner_id":
			all = append(all, "owner_email")
		case refers && of != "external":
			all = append(all, of+"_name")
		}
	}
	return strings.Join(all, ",")
}

// isWithin reports whether part is in all, in the same order.
func isWithin(part, all []string) bool {
	for _, column := range all {
		if len(part) > 0 && part[0] == column {
			part = part[1:]
		}
	}
	return len(part) == 0
}

func TestExportTables(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account := apptest.Makers["accounts"](org)
	common := "external_id,tags,tag_names"
	for entity, header := range map[string]string{
		"accounts":      "id,created_at,updated_at,name,website,industry,employee_count,annual_revenue,founded_year,description,country,location,linkedin_url,phone_number,source,owner_id,owner_email,notes,other_external_ids," + common,
		"contacts":      "id,created_at,updated_at,account_id,account_name,first_name,last_name,email,other_emails,title,phone_number,other_phones,linkedin_url,location,city,country,source,do_not_contact,notes,scoring.heat_score,other_external_ids," + common,
		"opportunities": "id,created_at,updated_at,name,account_id,account_name,contact_id,contact_name,owner_id,owner_email,stage,amount,currency,close_date,notes," + common,
		"tasks":         "id,created_at,updated_at,title,type,status,due_at,completed_at,contact_id,contact_name,account_id,account_name,campaign_id,campaign_name,owner_id,owner_email,notes," + common,
		"meetings":      "id,created_at,updated_at,title,starts_at,ends_at,status,location,contact_id,contact_name,account_id,account_name,owner_id,owner_email,notes," + common,
	} {
		const nobody = `"filters": [{"field": "external_id", "condition": "is", "value": "nobody"}]`
		// An empty table has a header.
		res := org.Read.Post("/v1/"+entity+"/export", `{"format": "csv", `+nobody+`}`).Is(200)
		if got := string(res.Body); got != columns(entity)+"\n" || !isWithin(strings.Split(header, ","), strings.Split(columns(entity), ",")) {
			t.Errorf("%s: an empty table is %q", entity, got)
		}
		header = columns(entity)
		if h := res.Header; h.Get("Content-Type") != "text/csv; charset=utf-8" || h.Get("Content-Disposition") != `attachment; filename="`+entity+`.csv"` {
			t.Error(h)
		}
		if got := org.Read.Post("/v1/"+entity+"/export", `{`+nobody+`}`).Is(200).Body; len(got) != 0 {
			t.Errorf("%s: an empty export is %q", entity, got)
		}
		for _, c := range apptest.CustomTypes {
			apptest.NewField(org, entity, "my_"+c.DataType, c.DataType, c.More)
		}
		org.Write.Post("/v1/"+entity, apptest.EntityBody(entity, account, `"external_id": "one", "custom_field_my_text": "a \"b\", c\nd", "custom_field_my_number": -0.5,
			"custom_field_my_boolean": false, "custom_field_my_date": "2026-02-28", "custom_field_my_enum": "a b", "custom_field_my_multi_select": ["z", "x"]`)).Is(201)
		got, rows := records(t, org.Read.Post("/v1/"+entity+"/export", `{"format": "csv", "sort": "external_id"}`).Is(200))
		if want := header + ",custom_field_my_text,custom_field_my_number,custom_field_my_boolean,custom_field_my_date,custom_field_my_enum,custom_field_my_multi_select"; strings.Join(got, ",") != want {
			t.Errorf("%s has the columns\n%s, want\n%s", entity, strings.Join(got, ","), want)
		}
		for column, want := range map[string]string{"external_id": "one", "created_at": "2026-03-02T09:00:00.000Z", "notes": "", "tags": "", "custom_field_my_text": "a \"b\", c\nd",
			"custom_field_my_number": "-0.5", "custom_field_my_boolean": "false", "custom_field_my_date": "2026-02-28", "custom_field_my_enum": "a b", "custom_field_my_multi_select": "z|x"} {
			if rows[0][column] != want {
				t.Errorf("%s: %s is %q, want %q", entity, column, rows[0][column], want)
			}
		}
		if len(rows) == 2 && rows[1]["custom_field_my_text"] != "" { // the account that the others refer to
			t.Error(rows[1])
		}
	}
}

func TestExportCells(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	ids := apptest.NewTags(org, "account", "A", "B")
	account := org.Write.Post("/v1/accounts", apptest.WithIDs(`{"name": "Söhne, \"& Co\"", "website": "x.example", "employee_count": 9007199254740992, "annual_revenue": -1.5e-7, "tags": ["{A}", "{B}"],
		"owner_id": "`+org.User.String()+`", "notes": "one\r\ntwo\rthree\n"}`, ids)).Is(201)
	res := org.Read.Post("/v1/accounts/export", `{"format": "csv"}`).Is(200)
	if !bytes.Contains(res.Body, []byte("\"one\r\ntwo\rthree\n\"")) { // the reader turns them into one character
		t.Errorf("text was not exported unchanged: %q", res.Body)
	}
	_, rows := records(t, res)
	for column, want := range map[string]string{"id": account.ID(), "name": `Söhne, "& Co"`, "website": "x.example", "industry": "", "employee_count": "9007199254740992", "annual_revenue": "-0.00000015",
		"tags": ids["A"] + "|" + ids["B"], "owner_id": org.User.String(), "source": "api", "notes": "one\ntwo\rthree\n"} {
		if rows[0][column] != want {
			t.Errorf("%s is %q, want %q", column, rows[0][column], want)
		}
	}
	org.Write.Post("/v1/contacts", `{"email": "a@x.example", "do_not_contact": true, "scoring": {"heat_score": "hot"}}`).Is(201)
	_, rows = records(t, org.Read.Post("/v1/contacts/export", `{"format": "csv"}`).Is(200))
	if rows[0]["do_not_contact"] != "true" || rows[0]["scoring.heat_score"] != "hot" || rows[0]["account_id"] != "" {
		t.Error(rows[0])
	}
}

// TestExportFormulas checks that text that a spreadsheet would run as a formula is escaped, and
// that other text is unchanged.
func TestExportFormulas(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	apptest.NewField(org, "opportunities", "text", "text", "")
	apptest.NewField(org, "opportunities", "choice", "enum", `, "allowed_values": ["=1+1", "plain"]`)
	apptest.NewField(org, "opportunities", "choices", "multi_select", `, "allowed_values": ["@SUM(A1)", "plain", "-1"]`)
	apptest.NewField(org, "opportunities", "delta", "number", "")
	account := apptest.Makers["accounts"](org)
	post := func(members map[string]any) {
		members["account_id"] = account
		org.Write.Post("/v1/opportunities", members).Is(201)
	}
	harmful := []string{"=1+1", "+1", "-1", "@SUM(A1)", "\t=1+1", "\r=1+1", "=cmd|' /C calc'!A0", "-", " =1+1", "'=1+1"}
	for _, v := range harmful {
		post(map[string]any{"name": strings.Trim(v, "\t\r"), "custom_field_text": v, "currency": v, "notes": v})
	}
	harmless := []string{"1=1", "a+b", "a'b", "a@b.example", "3-4", "(=1)"}
	for _, v := range harmless {
		post(map[string]any{"name": v, "custom_field_text": v})
	}
	post(map[string]any{"name": "last", "amount": -5, "custom_field_delta": -1.5, "custom_field_choice": "=1+1", "custom_field_choices": []string{"@SUM(A1)", "plain"}})
	res := org.Read.Post("/v1/opportunities/export", `{"format": "csv", "sort": "created_at"}`).Is(200)
	_, rows := records(t, res)
	for i, v := range append(harmful, harmless...) {
		want := v
		if i < len(harmful) {
			want = "'" + v
		}
		for _, column := range []string{"custom_field_text", "currency", "notes", "name"} {
			if column == "name" { // it has no control characters
				want = strings.NewReplacer("\t", "", "\r", "").Replace(want)
			}
			if got := rows[i][column]; got != want && (i < len(harmful) || got != "") {
				t.Errorf("%q exported as %q in column %s", v, got, column)
			}
		}
	}
	last := rows[len(rows)-1]
	for column, want := range map[string]string{
		"amount": "-5", "custom_field_delta": "-1.5", "custom_field_choice": "'=1+1", "custom_field_choices": "'@SUM(A1)|plain",
	} {
		if got := last[column]; got != want {
			t.Errorf("%s is %q, want %q", column, got, want)
		}
	}
	// JSON contains the text unchanged.
	if got := lines(org.Read.Post("/v1/opportunities/export", `{"sort": "created_at"}`).Is(200)); !strings.Contains(got[0], `"name":"=1+1"`) {
		t.Error(got[0])
	}
}

// TestExportOfMany checks that an export equals all pages of the list, with and without an index.
func TestExportOfMany(t *testing.T) {
	app := apptest.New(t)
	sizes := []int{1500, 2500}
	if apptest.RaceDetector { // sequential requests; other tests export few records
		sizes = sizes[1:]
	}
	for _, n := range sizes {
		org := app.Org(fmt.Sprint("Acme ", n))
		apptest.Crowd(t, org, n, func(i int) string { return fmt.Sprintf(`"email": "c%d@x.example", "title": "T%d"`, i*7%n, i%13) })
		if err := app.Index.Flush(); err != nil {
			t.Fatal(err)
		}
		for _, more := range []string{`"sort": "title,-email"`, `"sort": "email", "filters": [{"field": "title", "condition": "is_not", "value": "T3"}]`} {
			listed := []string{}
			for page := 1; ; page++ {
				var list struct {
					Data       []json.RawMessage
					Pagination struct {
						Pages int `json:"total_pages"`
					}
				}
				if err := json.Unmarshal(apptest.PostRaw(t, org, "/v1/contacts/list", fmt.Sprintf(`{"page_size": 500, "page": %d, %s}`, page, more)), &list); err != nil {
					t.Fatal(err)
				}
				for _, r := range list.Data {
					listed = append(listed, string(r))
				}
				if page >= list.Pagination.Pages {
					break
				}
			}
			exported := listedLines(org.Read.Post("/v1/contacts/export", "{"+more+"}").Is(200))
			if !slices.Equal(exported, listed) {
				t.Errorf("%d: %s exports %d records, which are not the %d listed", n, more, len(exported), len(listed))
			}
			if _, rows := records(t, org.Read.Post("/v1/contacts/export", `{"format": "csv", `+more+`}`).Is(200)); len(rows) != len(listed) || !strings.Contains(listed[len(rows)-1], rows[len(rows)-1]["id"]) {
				t.Errorf("%d: %s has %d rows", n, more, len(rows))
			}
		}
	}
}

// TestExportForExcel checks the tables that people open in a spreadsheet.
func TestExportForExcel(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	org.Admin.Patch("/v1/organization", `{"time_zone": "Europe/Berlin"}`).Is(200)
	apptest.NewField(org, "contacts", "rate", "number", "")
	account := org.Write.Post("/v1/accounts", `{"name": "Bär; Söhne"}`).Is(201).ID()
	tags := org.Write.Post("/v1/tags", `{"name": "Press", "object_type": "contact", "color": "green"}`).Is(201).ID()
	org.Write.Post("/v1/contacts", fmt.Sprintf(`{"first_name": "Zoë", "last_name": "=Ray", "account_id": %q, "tags": [%q], "custom_field_rate": 1250.5, "email": "zoe@x.example"}`, account, tags)).Is(201)
	org.Write.Post("/v1/contacts", `{"first_name": "Ann", "last_name": "Lee"}`).Is(201)
	view := org.Write.Post("/v1/views", `{"entity": "contacts", "name": "Reachable", "columns": ["last_name", "account_id", "custom_field_rate", "tags", "created_at"],
		"filtering_rules": [{"field": "email", "condition": "is_not_empty"}]}`).Is(201).ID()
	of := org.Write.Post("/v1/views", `{"entity": "accounts", "name": "All"}`).Is(201).ID()
	const path = "/v1/contacts/export?for=excel"
	for query, want := range map[string]string{
		"&locale=de&view_id=" + view: "\ufeffLast name;Account;Rate;Tags;Created at\n'=Ray;\"Bär; Söhne\";1250,5;Press;2026-03-02 10:00:00\n",
		"&locale=en&view_id=" + view: "\ufeffLast name,Account,Rate,Tags,Created at\n'=Ray,Bär; Söhne,1250.5,Press,2026-03-02 10:00:00\n",
	} {
		res := org.Read.Post(path+query, `{}`).Is(200)
		if string(res.Body) != want || res.Header.Get("Content-Type") != "text/csv; charset=utf-8" {
			t.Errorf("%s: %q, want %q", query, res.Body, want)
		}
	}
	// The body wins over the view, and without either all fields are written.
	res := org.Read.Post(path+"&view_id="+view, `{"filters": [{"field": "first_name", "condition": "is", "value": "Ann"}], "columns": ["first_name", "email"]}`).Is(200)
	if string(res.Body) != "\ufeffFirst name,Email\nAnn,\n" {
		t.Errorf("%q", res.Body)
	}
	all := string(org.Read.Post(path, nil).Is(200).Body)
	header, _, _ := strings.Cut(all, "\n")
	if n := strings.Count(header, ","); !strings.HasPrefix(header, "\ufeffId,") && !strings.HasPrefix(header, "\ufeffID,") || n < 20 || strings.Count(all, "\n") != 3 {
		t.Errorf("%q", all)
	}
	for query, problem := range map[string]string{
		"?for=pdf": "for", "?locale=de": "locale: requires for=excel", "?for=excel&locale=xx-": "locale", "?for=excel&view_id=" + of: "view_id: is a view of accounts",
		"?for=excel&view_id=" + account: "view_id: " + account + " does not exist", "?for=excel&view_id=x": "view_id", "?what=1": "what: unknown query parameter",
	} {
		org.Read.Post("/v1/contacts/export"+query, `{}`).Fails(422, "validation_failed", problem)
	}
	org.Read.Post(path, `{"columns": ["first_name", "nothing"]}`).Fails(422, "validation_failed", `columns[1]: "nothing" is not a field of contacts`)
	org.Read.Post("/v1/contacts/export", `{"columns": ["first_name"]}`).Fails(422, "validation_failed", "columns: requires for=excel")
}
