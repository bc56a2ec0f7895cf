package tam_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
	"prospector/internal/shape"
)

// manyMembers returns a Preview that distinguishes all filters of its members, and whose bitmaps
// have several words.
func manyMembers(t *testing.T) (app *apptest.App, org *apptest.Org, id string) {
	app = apptest.New(t)
	org = app.Org("Acme")
	var companies []catalog.Company
	var people []catalog.Person
	for i := range 60 {
		c := apptest.Firm(fmt.Sprintf("c%02d", i))
		if i%7 == 3 {
			c.Website = companies[i-1].Website
		}
		companies = append(companies, c)
		for j := range i % 6 {
			p := apptest.Worker(fmt.Sprintf("p%02d%d", i, j), c.ID, "CEO")
			if j == 4 {
				p.Email = people[len(people)-1].Email
			}
			people = append(people, p)
		}
		if i%5 == 1 {
			org.Write.Post("/v1/accounts", map[string]any{"name": "X", "website": c.Website}).Is(201)
			for _, p := range people[max(0, len(people)-2):] {
				org.Write.Post("/v1/contacts", map[string]any{"email": p.Email}).Is(201)
			}
		}
		if i%11 == 4 {
			org.Admin.Post("/v1/suppressions", map[string]any{"domain": c.Website}).Is(201)
		}
	}
	for _, n := range []int{5, 20, 50} {
		org.Admin.Post("/v1/suppressions", map[string]shape.Text{"email": people[n].Email}).Is(201)
	}
	app.Catalog(companies, people)
	id = apptest.ReadyPreview(org, `{}`)
	org.Write.Post(apptest.PreviewsPath+"/"+id+"/exclude", `{"company_ids": ["c09", "c22", "c36"], "person_ids": ["p100", "p111", "p280", "p391"]}`).Is(200)
	return app, org, id
}

func TestPreviewMembers(t *testing.T) {
	_, org, id := manyMembers(t)
	addUp(t, org, id)
	all := previewRows(t, org, id, "", 500)
	if len(all) < 130 {
		t.Fatalf("only %d members", len(all))
	}
	ids := map[string]bool{}
	for _, m := range all {
		ids[m.MemberID] = true
	}
	if len(ids) != len(all) {
		t.Error("two members have one id")
	}
	// Every combination of filters returns the expected members.
	sizes, reached := []int{500, 50, 13, 29}, 0
	choices := []string{"", "true", "false"}
	if apptest.RaceDetector { // sequential requests
		choices = choices[:2]
	}
	for _, kind := range []string{"", "company", "person"} {
		for _, selected := range choices {
			for _, existing := range choices {
				for _, qualified := range choices {
					query := ""
					for name, value := range map[string]string{"kind": kind, "selected": selected, "existing": existing, "is_qualified": qualified} {
						if value != "" {
							query += "&" + name + "=" + value
						}
					}
					fits := func(m previewRow) bool {
						return (kind == "" || m.Kind == kind) && (selected == "" || m.Selected == (selected == "true")) &&
							(existing == "" || m.Existing == (existing == "true")) && (qualified == "" || m.Qualified != nil && *m.Qualified == (qualified == "true"))
					}
					want := slices.DeleteFunc(slices.Clone(all), func(m previewRow) bool { return !fits(m) })
					if qualified == "" && len(want) < 3 {
						t.Errorf("%s matches too few to tell: %d", query, len(want))
					}
					reached += len(want)
					got := previewRows(t, org, id, query, sizes[reached%len(sizes)])
					if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
						t.Errorf("%s lists\n%v\nwant\n%v", query, got, want)
					}
				}
			}
		}
	}
	// The Preview has the same pages.
	for _, size := range []int{1, 63, 64, 65, 500} {
		last := (len(all) + size - 1) / size
		for _, page := range []int{1, 2, last, last + 1, 9007199254740991} {
			query := fmt.Sprintf("?page_size=%d&current_page=%d", size, page)
			of, listed := org.Read.Get(apptest.PreviewsPath+"/"+id+query).Is(200), org.Read.Get(apptest.PreviewsPath+"/"+id+"/members"+query).Is(200)
			for _, part := range []string{"members", "pagination_meta"} {
				if string(apptest.Member(of, part)) != string(apptest.Member(listed, part)) {
					t.Errorf("%s: %s differ: %s and %s", query, part, apptest.Member(of, part), apptest.Member(listed, part))
				}
			}
			want := max(0, min(size, len(all)-(page-1)*min(size, len(all))))
			if page > last {
				want = 0
			}
			if n := len(of.Value("data.members").([]any)); n != want || of.Int("data.pagination_meta.total_count") != len(all) || of.Int("data.pagination_meta.total_pages") != last {
				t.Errorf("%s: %d members, want %d: %s", query, n, want, apptest.Member(of, "pagination_meta"))
			}
		}
	}
	if n := len(org.Read.Get(apptest.PreviewsPath + "/" + id).Is(200).Value("data.members").([]any)); n != 50 {
		t.Errorf("a page has %d members", n)
	}
	for query, message := range map[string]string{
		"current_page=0": "current_page: must be at least 1", "current_page=-1": "current_page: must be at least 1", "current_page=1.5": `current_page: "1.5" is not an integer`,
		"current_page=x": `current_page: "x" is not an integer`, "page_size=0": "page_size: must be between 1 and 500", "page_size=501": "page_size: must be between 1 and 500",
		"page_size=ten": `page_size: "ten" is not an integer`, "page=1": "page: unknown query parameter",
	} {
		t.Run(message, func(t *testing.T) {
			for _, path := range []string{"", "/members"} {
				org.Read.In(t).Get(apptest.PreviewsPath+"/"+id+path+"?"+query).Fails(422, "validation_failed", message)
			}
		})
	}
	for query, message := range map[string]string{
		"kind=companies": `kind: "companies" is not one of: company, person`, "kind=Company": `kind: "Company" is not one of: company, person`, "selected=yes": `selected: "yes" is not true or false`,
		"existing=1": `existing: "1" is not true or false`, "is_qualified=null": `is_qualified: "null" is not true or false`, "search=x": "search: unknown query parameter",
		"reason=suppressed": `reason: "suppressed" is not one of: ALREADY_IN_TAM, `,
	} {
		t.Run(message, func(t *testing.T) {
			org.Read.In(t).Get(apptest.PreviewsPath+"/"+id+"/members?"+query).Fails(422, "validation_failed", message)
			name, _, _ := strings.Cut(query, "=")
			org.Read.In(t).Get(apptest.PreviewsPath+"/"+id+"?"+query).Fails(422, "validation_failed", name+": unknown query parameter")
		})
	}
}

// TestPreviewLarge has more members than fit into one part of a bitmap, nearly all of one company.
func TestPreviewLarge(t *testing.T) {
	if apptest.RaceDetector { // a single Preview, which the detector makes ten times as slow
		t.Skip()
	}
	app := apptest.New(t)
	org := app.Org("Acme")
	const piece = 1 << 16
	people := make([]catalog.Person, piece+100)
	for i := range people {
		people[i] = catalog.Person{ID: fmt.Sprintf("p%05d", i), CompanyID: "c1"}
	}
	people[piece-1].Email, people[piece+1].Email = "known@c1.example", "known@c1.example"
	org.Write.Post("/v1/contacts", `{"email": "known@c1.example"}`).Is(201)
	app.Catalog([]catalog.Company{apptest.Firm("c1"), apptest.Firm("c2")}, people)
	id := apptest.ReadyPreview(org, `{}`)
	path := apptest.PreviewsPath + "/" + id
	// Person n is member n+1, because the company comes first.
	page := func(query string) (sources []string, total int) {
		res := org.Read.Get(path + "/members?" + query).Is(200)
		for _, m := range res.Value("data.members").([]any) {
			sources = append(sources, m.(map[string]any)["source_id"].(string))
		}
		return sources, res.Int("data.pagination_meta.total_count")
	}
	wants := func(query string, total int, want ...string) {
		t.Helper()
		got, n := page(query)
		apptest.SameTexts(t, query, got, want...)
		if n != total {
			t.Errorf("%s: %d in all, want %d", query, n, total)
		}
	}
	all := len(people) + 2
	wants("page_size=4&current_page=16384", all, "p65531", "p65532", "p65533", "p65534")
	wants("page_size=3&current_page=21846", all, "p65534", "p65535", "p65536")
	wants("kind=person&page_size=3&current_page=21846", len(people), "p65535", "p65536", "p65537")
	wants("existing=true", 2, "p65535", "p65537")
	wants("selected=false", 1, "p65537")
	wants("kind=company", 2, "c1", "c2")
	if got := exclusion(t, org.Write.Post(path+"/exclude", `{"person_ids": ["p65534", "p65535", "p65537", "p00000"]}`).Is(200)); got != "0 3 | p65537 |  |  | " {
		t.Error(got)
	}
	wants("selected=false", 4, "p00000", "p65534", "p65535", "p65537")
	wants("selected=true&page_size=2&current_page=32767", all-4, "p65532", "p65533")
	wants("selected=true&page_size=2&current_page=32768", all-4, "p65536", "p65538")
	// Excluding a company excludes each of its people once.
	if got := exclusion(t, org.Write.Post(path+"/exclude", `{"company_ids": ["c1"]}`).Is(200)); got != fmt.Sprintf("1 %d |  |  |  | ", len(people)-4) {
		t.Error(got)
	}
	wants("selected=true", 1, "c2")
	res := org.Read.Get(path).Is(200)
	if diff := apptest.Diff(fmt.Sprintf(`{"matched": %d, "eligible": 0, "new": 0, "existing": 0, "duplicate_source_rows": 1, "exclusions": {"EXCLUDED_BY_USER": %d}}`, len(people), len(people)-1),
		apptest.AsJSON(res.Value("data.result.contacts"))); diff != "" {
		t.Error(diff)
	}
}
