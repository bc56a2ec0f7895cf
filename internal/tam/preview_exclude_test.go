package tam_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
)

// exclusion summarizes an exclusion: the numbers of companies and contacts, then the four lists.
func exclusion(t *testing.T, res *apptest.Response) string {
	t.Helper()
	list := func(name string) string {
		texts := []string{}
		for _, s := range res.Value("data.exclusion." + name).([]any) {
			texts = append(texts, s.(string))
		}
		return strings.Join(texts, ",")
	}
	return fmt.Sprintf("%d %d | %s | %s | %s | %s", res.Int("data.exclusion.excluded.companies"), res.Int("data.exclusion.excluded.contacts"),
		list("already_excluded"), list("unknown_ids"), list("unknown_websites"), list("companies_without_people"))
}

func TestPreviewExclude(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	again, noSite := apptest.Firm("c1b"), apptest.Firm("c5")
	again.Website, noSite.Website = "c1.example", ""
	app.Catalog([]catalog.Company{apptest.Firm("c1"), again, apptest.Firm("c2"), apptest.Firm("c3"), apptest.Firm("c4"), noSite, apptest.Firm("c6"), apptest.Firm("c7")}, []catalog.Person{
		apptest.Worker("p1", "c1", "CEO"), apptest.Worker("p2", "c1", "CEO"), apptest.Worker("p3", "c2", "CEO"), apptest.Worker("p4", "c2", "CEO"), apptest.Worker("p5", "c4", "CEO"),
		apptest.Worker("p6", "c5", "CEO"), apptest.Worker("p7", "c6", "CEO"), apptest.Worker("p8", "c6", "CEO"), apptest.Worker("p9", "c7", "CEO"),
	})
	for _, body := range []string{`{"domain": "c3.example"}`, `{"email": "p8@mail.example"}`} {
		org.Admin.Post("/v1/suppressions", body).Is(201)
	}
	org.Write.Post("/v1/accounts", `{"name": "Two", "website": "c2.example"}`).Is(201)
	org.Write.Post("/v1/contacts", `{"email": "p1@mail.example"}`).Is(201)
	ids := map[string]string{"other": previewRows(t, org, apptest.ReadyPreview(org, `{}`), "", 50)[0].MemberID}
	id := apptest.ReadyPreview(org, `{}`)
	path := apptest.PreviewsPath + "/" + id + "/exclude"
	for _, m := range previewRows(t, org, id, "", 50) {
		ids[m.SourceID] = m.MemberID
	}
	fill := func(text string) string {
		for name, id := range ids {
			text = strings.ReplaceAll(text, "<"+name+">", id)
		}
		return text
	}
	rows := addUp(t, org, id)
	apptest.SameTexts(t, "before", rows, "c1", "c1/p1+", "c1/p2", "c1b duplicate", "c2+", "c2/p3", "c2/p4", "c3 SUPPRESSED", "c4", "c4/p5", "c5", "c5/p6", "c6", "c6/p7", "c6/p8 SUPPRESSED", "c7", "c7/p9")
	for _, c := range []struct{ body, want, removed string }{
		{``, "0 0 |  |  |  | ", ""},
		{`{}`, "0 0 |  |  |  | ", ""},
		{`{"company_ids": [], "person_ids": null, "member_ids": [], "company_websites": null}`, "0 0 |  |  |  | ", ""},
		// What the Preview does not contain: unknown ids, ids of the other kind or of another
		// Preview, and similar websites.
		{`{"company_ids": ["c0", "p1", "C1", "<c1>", "c0"], "person_ids": ["c1", "p0", "c0"], "member_ids": ["<other>", "` + id + `"]}`,
			"0 0 |  | c0,p1,C1,<c1>,c1,p0,<other>," + id + " |  | ", ""},
		{`{"company_websites": ["1.example", "sub.c1.example", "c1.example.org", "c1", "no domain", "example"]}`,
			"0 0 |  |  | 1.example,sub.c1.example,c1.example.org,c1,no domain,example | ", ""},
		// Members that were never selected: duplicates and those excluded by the preparation.
		{`{"company_ids": ["c1b", "c3"], "person_ids": ["p8"], "member_ids": ["<c3>", "<p8>"], "company_websites": ["http://c3.example/x"]}`,
			"0 0 | c1b,c3,p8,http://c3.example/x,<c3>,<p8> |  |  | ", ""},
		// A person is excluded alone; a company that loses its last person is reported.
		{`{"person_ids": ["p1", "p0"]}`, "0 1 |  | p0 |  | ", "p1"},
		{`{"person_ids": ["p1", "p2", "p2"], "member_ids": ["<p2>"]}`, "0 1 | p1 |  |  | c1", "p2"},
		{`{"member_ids": ["<p1>"], "person_ids": ["p7"]}`, "0 1 | <p1> |  |  | c6", "p7"},
		// A company is excluded with its remaining people. A repeated identifier counts once.
		{`{"company_websites": ["https://WWW.C1.example/about"]}`, "1 0 |  |  |  | ", "c1"},
		{`{"company_ids": ["c2", "c2"], "person_ids": ["p3"], "member_ids": ["<p4>", "<c2>"], "company_websites": ["c2.example", "www.c2.example"]}`, "1 2 |  |  |  | ", "c2 p3 p4"},
		{`{"person_ids": ["p5", "p6", "p9"], "company_ids": ["c4"]}`, "1 3 |  |  |  | c5,c7", "c4 p5 p6 p9"},
		{`{"member_ids": ["<c5>"]}`, "1 0 |  |  |  | ", "c5"},
		// When repeated, everything is reported as already excluded.
		{`{"company_ids": ["c2", "c2"], "person_ids": ["p3"], "member_ids": ["<p4>", "<c2>", "<c7>"], "company_websites": ["https://C2.example", "c1.example", "c9.example"]}`,
			"1 0 | c2,p3,https://C2.example,c1.example,<p4>,<c2> |  | c9.example | ", "c7"},
	} {
		app.Clock.Advance(time.Second)
		was := org.Read.Get(apptest.PreviewsPath + "/" + id).Is(200)
		res := org.Write.Post(path, fill(c.body)).Is(200)
		if got := exclusion(t, res); got != fill(c.want) {
			t.Errorf("%s\ngot %s\nwant %s", c.body, got, c.want)
		}
		for _, removed := range strings.Fields(c.removed) {
			for i, row := range rows {
				source, _, _ := strings.Cut(row[strings.IndexByte(row, '/')+1:], "+")
				if source == removed {
					rows[i] += " EXCLUDED_BY_USER"
				}
			}
		}
		apptest.SameTexts(t, c.body, addUp(t, org, id), rows...)
		// The response is the Preview. A later GET contains no exclusion.
		now := org.Read.Get(apptest.PreviewsPath + "/" + id).Is(200)
		answered := res.Value("data").(map[string]any)
		delete(answered, "exclusion")
		if diff := apptest.Diff(string(apptest.DataOf(now)), apptest.AsJSON(answered)); diff != "" || res.Header.Get("ETag") != now.Header.Get("ETag") {
			t.Errorf("%s: reading the Preview again returned a difference: %s", c.body, diff)
		}
		changed := now.Header.Get("ETag") != was.Header.Get("ETag")
		if changed != (c.removed != "") || (now.Text("data.updated_at") != was.Text("data.updated_at")) != changed {
			t.Errorf("%s: changed is %t", c.body, changed)
		}
	}
	// The other Preview is unchanged.
	if n := org.Read.Post("/v1/tam/previews/list", `{"filters": [{"field": "preview_id", "condition": "is_not", "value": "`+id+`"}]}`).Is(200).Int("data.0.totals.people.eligible"); n != 8 {
		t.Error(n)
	}

	before := org.Dump()
	many := func(n int, entry string) string { return "[" + strings.Repeat(entry+", ", n-1) + entry + "]" }
	for body, want := range map[string]string{
		`{"company_ids": "c1"}`:                          "company_ids: must be a list",
		`{"company_ids": ["c1", 5]}`:                     "company_ids[1]: must be a string",
		`{"person_ids": [null]}`:                         "person_ids[0]: must be a string",
		`{"member_ids": ["` + id + `", "c1"]}`:           `member_ids[1]: "c1" is not a UUID`,
		`{"company_websites": {"a": 1}}`:                 "company_websites: must be a list",
		`{"websites": ["c1.example"]}`:                   "websites: unknown field",
		`{"company_ids": ` + many(1001, `"c7"`) + `}`:    "company_ids: must have at most 1000 entries",
		`{"person_ids": ` + many(1001, `"p"`) + `}`:      "person_ids: must have at most 1000 entries",
		`{"member_ids": ` + many(1001, `"<c7>"`) + `}`:   "member_ids: must have at most 1000 entries",
		`{"company_websites": ` + many(1001, `""`) + `}`: "company_websites: must have at most 1000 entries",
	} {
		t.Run(body, func(t *testing.T) {
			res := org.Write.In(t).Post(path, fill(body)).Fails(422, "validation_failed", want)
			if got := apptest.ProblemsOf(res); len(got) != 1 {
				t.Errorf("%s: %q", want, got)
			}
		})
	}
	if got := apptest.ProblemsOf(org.Write.Post(path, `{"company_ids": [7], "person_ids": 7, "member_ids": ["x"], "x": 1}`).Is(422)); len(got) != 4 {
		t.Errorf("%q", got)
	}
	if org.Dump() != before {
		t.Error("a refused exclusion changed something")
	}
	if got := exclusion(t, org.Write.Post(path, fill(`{"company_ids": `+many(1000, `"c6"`)+`}`)).Is(200)); got != "1 0 |  |  |  | " {
		t.Error(got)
	}
}

// TestPreviewFixed checks that members cannot be excluded from a Preview that is not READY or whose
// Import was accepted.
func TestPreviewFixed(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	const body = `{"company_ids": ["c1"]}`
	failed := apptest.ReadyPreview(org, `{}`) // the catalog is empty
	app.Catalog([]catalog.Company{apptest.Firm("c1")}, nil)
	cancelled, ready := apptest.AskedPreview(org, `{}`), apptest.ReadyPreview(org, `{}`)
	org.Write.Post(apptest.PreviewsPath+"/"+cancelled+"/cancel", nil).Fails(409, "preview_not_preparing", "READY")
	cancelled = apptest.AskedPreview(org, `{}`)
	org.Write.Post(apptest.PreviewsPath+"/"+cancelled+"/cancel", nil).Is(200)
	preparing := apptest.AskedPreview(org, `{}`)
	apptest.AcceptImport(org, ready)
	before := org.Dump()
	for id, status := range map[string]string{failed: "FAILED", cancelled: "CANCELLED", preparing: "PREPARING"} {
		org.Write.Post(apptest.PreviewsPath+"/"+id+"/exclude", body).Fails(409, "preview_not_ready", status)
		org.Write.Post(apptest.PreviewsPath+"/"+id+"/exclude", `{}`).Fails(409, "preview_not_ready", status)
	}
	org.Write.Post(apptest.PreviewsPath+"/"+ready+"/exclude", body).Fails(409, "import_accepted", "Import")
	if org.Dump() != before {
		t.Error("a refused exclusion changed something")
	}
	apptest.SameTexts(t, "an accepted Preview", addUp(t, org, ready), "c1")
}

// TestPreviewExcludeAtOnce excludes the same and different members concurrently. Each member is
// excluded by exactly one request.
func TestPreviewExcludeAtOnce(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	var people []catalog.Person
	for i := range 30 {
		people = append(people, apptest.Worker(fmt.Sprintf("p%02d", i), fmt.Sprintf("c%d", i%3), "CEO"))
	}
	app.Catalog([]catalog.Company{apptest.Firm("c0"), apptest.Firm("c1"), apptest.Firm("c2")}, people)
	id := apptest.ReadyPreview(org, `{}`)
	var mu sync.Mutex
	var wg sync.WaitGroup
	companies, contacts, last := 0, 0, 0
	for i := range 12 {
		wg.Go(func() {
			body := fmt.Sprintf(`{"person_ids": ["p%02d", "p%02d"]}`, i, i+12)
			if i%4 == 0 {
				body = `{"company_ids": ["c0"], "person_ids": ["p01", "p04"]}`
			}
			res := org.Write.Post(apptest.PreviewsPath+"/"+id+"/exclude", body).Is(200)
			mu.Lock()
			defer mu.Unlock()
			companies, contacts = companies+res.Int("data.exclusion.excluded.companies"), contacts+res.Int("data.exclusion.excluded.contacts")
			last += len(res.Value("data.exclusion.companies_without_people").([]any))
		})
	}
	wg.Wait()
	addUp(t, org, id)
	res := org.Read.Get(apptest.PreviewsPath + "/" + id).Is(200)
	removed := res.Int("data.result.contacts.exclusions.EXCLUDED_BY_USER")
	if companies != 1 || res.Int("data.result.accounts.exclusions.EXCLUDED_BY_USER") != 1 || contacts != removed || last != 0 {
		t.Errorf("removed %d companies and %d contacts, of which %d were counted; %d companies lost their last contact", companies, contacts, removed, last)
	}
}
