package tam_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
	"prospector/internal/shape"
	"prospector/internal/tam"
)

// previewRow is a member of a Preview in a response.
type previewRow struct {
	MemberID      string         `json:"member_id"`
	Ordinal       int            `json:"source_ordinal"`
	Kind          string         `json:"kind"`
	SourceID      string         `json:"source_id"`
	CompanyID     string         `json:"company_id"`
	Selected      bool           `json:"selected"`
	Importable    bool           `json:"is_importable"`
	Qualified     *bool          `json:"is_qualified"`
	Preparation   string         `json:"preparation_exclusion_reason"`
	Duplicate     bool           `json:"is_duplicate_source_row"`
	Existing      bool           `json:"existing"`
	Exclusion     string         `json:"exclusion_reason"`
	Data          map[string]any `json:"data"`
	Qualification map[string]any `json:"qualification"`
}

// String summarizes a member: c1 is a company and c1/p1 one of its people, followed by + if it
// already exists, and by the reason of its exclusion.
func (m previewRow) String() string {
	s := m.SourceID
	if m.Kind == "person" {
		s = m.CompanyID + "/" + s
	}
	if m.Existing {
		s += "+"
	}
	if m.Duplicate {
		s += " duplicate"
	}
	for _, reason := range []string{m.Preparation, m.Exclusion} {
		if reason != "" {
			s += " " + reason
		}
	}
	return s
}

// previewRows reads all pages of the members that match a query, whose parameters begin with &.
func previewRows(t *testing.T, o *apptest.Org, id, query string, size int) []previewRow {
	t.Helper()
	var rows []previewRow
	for page := 1; ; page++ {
		res := o.Read.Get(fmt.Sprintf("%s/%s/members?current_page=%d&page_size=%d%s", apptest.PreviewsPath, id, page, size, query)).Is(200)
		var got []previewRow
		if err := json.Unmarshal(apptest.Member(res, "members"), &got); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, got...)
		total, pages := res.Int("data.pagination_meta.total_count"), res.Int("data.pagination_meta.total_pages")
		if res.Text("data.preview_id") != id || res.Int("data.pagination_meta.current_page") != page || res.Int("data.pagination_meta.page_size") != size || pages != (total+size-1)/size {
			t.Fatalf("page %d of %d: %s", page, size, res.Body)
		}
		if page >= pages {
			if len(rows) != total {
				t.Fatalf("%s: %d members, and a total_count of %d", query, len(rows), total)
			}
			return rows
		}
	}
}

// selectedRows prepares a Preview and returns the summaries of its members. Its counts must add up.
func selectedRows(t *testing.T, o *apptest.Org, fields string) []string {
	t.Helper()
	return addUp(t, o, apptest.ReadyPreview(o, fields))
}

// selects prepares Previews of several requests together, and requires the members of each.
func selects(t *testing.T, o *apptest.Org, cases map[string][]string) {
	t.Helper()
	ids := map[string]string{}
	for fields := range cases {
		ids[fields] = apptest.AskedPreview(o, fields)
	}
	o.Work()
	for fields, want := range cases {
		apptest.SameTexts(t, fields, addUp(t, o, ids[fields]), want...)
	}
}

// previewCounts are the counts of a Preview that can be computed from its members.
type previewCounts struct {
	Result struct {
		Accounts tam.Counts `json:"accounts"`
		Contacts tam.Counts `json:"contacts"`
	} `json:"result"`
	Totals            tam.PreviewTotals     `json:"totals"`
	ContactsByAccount tam.ContactsByAccount `json:"contacts_by_account"`
}

// addUp compares the counts of a Preview with its members, and the members with each other. It
// returns their summaries.
func addUp(t *testing.T, o *apptest.Org, id string) []string {
	t.Helper()
	res := o.Read.Get(apptest.PreviewsPath + "/" + id).Is(200)
	if res.Text("data.status") != "READY" {
		t.Fatalf("%s", res.Body)
	}
	var want, got previewCounts
	if err := json.Unmarshal(apptest.DataOf(res), &got); err != nil {
		t.Fatal(err)
	}
	want.Result.Accounts.Exclusions, want.Result.Contacts.Exclusions = map[string]int{}, map[string]int{}
	short := []string{}
	var company previewRow
	for i, m := range previewRows(t, o, id, "", 7) {
		counts := &want.Result.Contacts
		if m.Kind == "company" {
			counts, company = &want.Result.Accounts, m
		}
		counts.Matched++
		switch {
		case m.Duplicate:
			counts.Duplicates++
		case m.Preparation != "":
			counts.Exclusions[m.Preparation]++
		case m.Exclusion != "":
			counts.Exclusions[m.Exclusion]++
		default:
			counts.Eligible++
			group := &want.ContactsByAccount.NewAccounts
			if company.Existing {
				group = &want.ContactsByAccount.ExistingAccounts
			}
			if m.Kind == "company" {
				group = &tam.ContactCounts{}
			}
			group.Total++
			if m.Existing {
				counts.Existing++
				group.Existing++
			} else {
				counts.New++
				group.New++
			}
		}
		out := m.Duplicate || m.Preparation != "" || m.Exclusion != ""
		if m.Ordinal != i || m.Selected == out || m.Selected && !m.Importable || m.Importable != (!out || m.Exclusion == "EXCLUDED_BY_USER") ||
			m.CompanyID != company.SourceID || m.Data["id"] != m.SourceID || m.Preparation != "" && m.Exclusion != "" {
			t.Errorf("member %d is inconsistent or follows the wrong company: %+v", i, m)
		}
		if m.Kind == "person" && (m.Data["company_name"] != company.Data["name"] || m.Data["company_id"] != company.SourceID) {
			t.Errorf("%+v is a person of %+v", m.Data, company.Data)
		}
		short = append(short, m.String())
	}
	a, c := want.Result.Accounts, want.Result.Contacts
	want.Totals = tam.PreviewTotals{
		Companies: tam.CompanyTotals{Matched: a.Matched, Eligible: a.Eligible, New: a.New, Existing: a.Existing, Excluded: a.Matched - a.Eligible},
		People:    tam.PersonTotals{Matched: c.Matched, Eligible: c.Eligible, Excluded: c.Matched - c.Eligible},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the counts are\n%+v\nbut the members add up to\n%+v\n%v", got, want, short)
	}
	if total := res.Int("data.pagination_meta.total_count"); total != len(short) {
		t.Errorf("total_count = %d, with %d members listed", total, len(short))
	}
	for kind, exclusions := range map[string]map[string]int{"company": a.Exclusions, "person": c.Exclusions} {
		for reason, n := range exclusions {
			rows := previewRows(t, o, id, "&kind="+kind+"&reason="+reason, min(500, n/2+1)) // on two pages
			for _, m := range rows {
				if m.Kind != kind || m.Preparation+m.Exclusion != reason {
					t.Errorf("the filter by %s lists %+v", reason, m)
				}
			}
			if len(rows) != n {
				t.Errorf("the filter by %s lists %d of %d members", reason, len(rows), n)
			}
		}
	}
	return short
}

func TestPreview(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	app.Catalog([]catalog.Company{
		{ID: "c1", Name: "Alder", Website: "alder.example", Industry: "Wood", SubIndustry: "Saws", EmployeeCount: shape.NumberOf(12), AnnualRevenue: shape.NumberOf(1.5),
			FoundedYear: shape.NumberOf(1999), Description: "They \"saw\"", Keywords: []string{"saw", "log"}, Technologies: []string{"Go"}, Country: "Norway",
			Location: "Oslo", LinkedinURL: "linkedin.com/company/alder", PhoneNumber: "+47 1"},
		{ID: "c2", Name: "Birch"},
	}, []catalog.Person{{ID: "p1", CompanyID: "c1", FirstName: "Ada", LastName: "Ås", Title: "CEO", Seniority: "C-Level", Department: "Board", Email: "ada@alder.example",
		PhoneNumber: "+47 2", LinkedinURL: "linkedin.com/in/ada", Country: "Norway", Location: "Oslo"}})
	org.Write.Post("/v1/accounts", `{"name": "Alder", "website": "alder.example"}`).Is(201)

	const head = `"preview_id": "<id>", "request_id": "0191d8a0-0000-4000-8000-000000000001", "request": {"request_id": "0191d8a0-0000-4000-8000-000000000001",
		"company_filters": {"account_view_id": null, "filtering_rules": null, "searching_rule": null},
		"contact_filters": {"include_keywords": [], "exclude_keywords": [], "seniority": null, "countries": []},
		"exclude_companies_without_titles": false, "tag_ids": [], "contact_tag_ids": [], "tag_existing_accounts": true, "tag_existing_contacts": true,
		"qualifier_signal_id": null, "qualifier_rule": null, "search_input": null},
		"failure_reason": null, "operation_id": null, "tam_import_balance": null, "created_at": "2026-03-02T09:00:00.000Z",
		"research": {"status": "skipped", "reason": null, "field_id": null, "field_name": null, "question": null, "passed": null, "not_matched": null, "failed": null,
			"started_at": null, "finished_at": null, "cost": null}`
	const preparing = `{"data": {` + head + `, "status": "PREPARING", "progress": 0, "available_total": null, "truncated": false, "result": null, "totals": null, "contacts_by_account": null,
		"members": [], "pagination_meta": {"current_page": 1, "page_size": 50, "total_pages": 0, "total_count": null}, "updated_at": "2026-03-02T09:00:00.000Z"},
		"meta": {"timestamp": "<time>"}}`
	asked := org.Write.Post(apptest.PreviewsPath, `{"request_id": "0191D8A0-0000-4000-8000-000000000001", "company_filters": {}}`).Is(202, preparing)
	path := apptest.PreviewsPath + "/" + asked.Text("data.preview_id")
	before := org.Read.Get(path).Is(200, preparing)
	if tag := before.Header.Get("ETag"); tag == "" || tag != asked.Header.Get("ETag") {
		t.Error(tag)
	}
	org.Read.Get(path+"/members?page_size=3&current_page=2&kind=person&selected=true").Is(200, `{"data": {"preview_id": "`+asked.Text("data.preview_id")+`", "members": [],
		"pagination_meta": {"current_page": 2, "page_size": 3, "total_pages": 0, "total_count": null}}, "meta": {"timestamp": "<time>"}}`)

	app.Clock.Advance(1e9)
	app.Work()
	const person = `{"member_id": "<id>", "source_ordinal": 1, "kind": "person", "source_id": "p1", "company_id": "c1", "selected": true, "is_importable": true,
		"is_qualified": null, "preparation_exclusion_reason": null, "is_duplicate_source_row": false, "existing": false, "exclusion_reason": null, "qualification": null,
		"data": {"id": "p1", "company_id": "c1", "first_name": "Ada", "last_name": "Ås", "title": "CEO", "seniority": "C-Level", "department": "Board",
			"email": "ada@alder.example", "phone_number": "+47 2", "linkedin_url": "linkedin.com/in/ada", "country": "Norway", "location": "Oslo", "company_name": "Alder"}}`
	after := org.Read.Get(path).Is(200, `{"data": {`+head+`, "status": "READY", "progress": 1, "available_total": 2, "truncated": false, "updated_at": "2026-03-02T09:00:01.000Z",
		"result": {"qualifier": null, "available_total": 2, "truncated": false, "rules": [],
			"accounts": {"matched": 2, "eligible": 2, "new": 1, "existing": 1, "duplicate_source_rows": 0, "exclusions": {}},
			"contacts": {"matched": 1, "eligible": 1, "new": 1, "existing": 0, "duplicate_source_rows": 0, "exclusions": {}}},
		"totals": {"companies": {"matched": 2, "eligible": 2, "new": 1, "existing": 1, "excluded": 0}, "people": {"matched": 1, "eligible": 1, "excluded": 0}},
		"contacts_by_account": {"new_accounts": {"new": 0, "existing": 0, "total": 0}, "existing_accounts": {"new": 1, "existing": 0, "total": 1}},
		"pagination_meta": {"current_page": 1, "page_size": 50, "total_pages": 1, "total_count": 3},
		"members": [
			{"member_id": "<id>", "source_ordinal": 0, "kind": "company", "source_id": "c1", "company_id": "c1", "selected": true, "is_importable": true,
				"is_qualified": null, "preparation_exclusion_reason": null, "is_duplicate_source_row": false, "existing": true, "exclusion_reason": null, "qualification": null,
				"data": {"id": "c1", "name": "Alder", "website": "alder.example", "industry": "Wood", "sub_industry": "Saws", "employee_count": 12, "annual_revenue": 1.5,
					"founded_year": 1999, "description": "They \"saw\"", "keywords": ["saw", "log"], "technologies": ["Go"], "country": "Norway", "location": "Oslo",
					"linkedin_url": "linkedin.com/company/alder", "phone_number": "+47 1"}},
			`+person+`,
			{"member_id": "<id>", "source_ordinal": 2, "kind": "company", "source_id": "c2", "company_id": "c2", "selected": true, "is_importable": true,
				"is_qualified": null, "preparation_exclusion_reason": null, "is_duplicate_source_row": false, "existing": false, "exclusion_reason": null, "qualification": null,
				"data": {"id": "c2", "name": "Birch", "website": null, "industry": null, "sub_industry": null, "employee_count": null, "annual_revenue": null,
					"founded_year": null, "description": null, "keywords": [], "technologies": [], "country": null, "location": null, "linkedin_url": null, "phone_number": null}}]},
		"meta": {"timestamp": "<time>"}}`)
	if after.Header.Get("ETag") == before.Header.Get("ETag") {
		t.Error("the ETag did not change from PREPARING to READY")
	}
	org.Read.Get(path+"/members?page_size=1&current_page=2").Is(200, `{"data": {"preview_id": "<id>", "members": [`+person+`],
		"pagination_meta": {"current_page": 2, "page_size": 1, "total_pages": 3, "total_count": 3}}, "meta": {"timestamp": "<time>"}}`)

	// A Preview is fixed: later changes do not affect it.
	org.Write.Post("/v1/contacts", `{"email": "ada@alder.example"}`).Is(201)
	org.Admin.Post("/v1/suppressions", `{"domain": "alder.example"}`).Is(201)
	app.Catalog([]catalog.Company{apptest.Firm("c3")}, []catalog.Person{apptest.Worker("p2", "c1", "CTO")})
	app.Work()
	if now := org.Read.Get(path).Is(200); string(apptest.DataOf(now)) != string(apptest.DataOf(after)) || now.Header.Get("ETag") != after.Header.Get("ETag") {
		t.Errorf("the Preview changed: %s", now.Body)
	}
	apptest.SameTexts(t, "the next one", selectedRows(t, org, `{}`), "c1+ SUPPRESSED", "c2", "c3")
}
