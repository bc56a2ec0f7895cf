package catalog

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

// market is a catalog with its own store.
type market struct {
	*Catalog
	t  *testing.T
	st *store.Store
}

func newMarket(t *testing.T) *market {
	t.Helper()
	st, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := &market{Catalog: New(nil), t: t, st: st}
	t.Cleanup(func() {
		if !t.Failed() {
			m.verify()
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// verify checks the tables against their keys.
func (m *market) verify() {
	m.t.Helper()
	err := m.st.View(Org, func(tx *store.Tx) error {
		return store.VerifyPortions(tx, func(_ bool, format string, args ...any) { m.t.Errorf(format, args...) }, m.Portions()...)
	})
	if err != nil {
		m.t.Error(err)
	}
}

// summary returns the numbers of added, updated and skipped rows, then one line for each error and
// each warning.
func summary(r rows.Report, warnings []string) string {
	lines := []string{fmt.Sprintf("%d+%d-%d", r.Added, r.Updated, r.Skipped)}
	for _, p := range r.Problems.List() {
		lines = append(lines, p.String())
	}
	return strings.Join(append(lines, warnings...), "\n")
}

func (m *market) load(people bool, text string, o ImportOptions) (rows.Report, []string, error) {
	m.t.Helper()
	table, err := rows.Open(strings.NewReader(text), rows.Options{})
	if err != nil {
		m.t.Fatal(err)
	}
	if people {
		return m.ImportPeople(m.t.Context(), m.st, table, o)
	}
	return m.ImportCompanies(m.t.Context(), m.st, table, o)
}

func (m *market) imports(people bool, text string, want ...string) {
	m.t.Helper()
	r, warnings, err := m.load(people, text, ImportOptions{})
	if got := summary(r, warnings); err != nil || got != strings.Join(want, "\n") {
		m.t.Fatalf("%s\nreturns %s, %v\nwant    %s", text, got, err, strings.Join(want, "\n"))
	}
}

func (m *market) companies(text string, want ...string) {
	m.t.Helper()
	m.imports(false, text, want...)
}
func (m *market) people(text string, want ...string) { m.t.Helper(); m.imports(true, text, want...) }

// valuesOf returns one line for each record of a table in the order of creation, with the values of
// the given fields separated by |. An id that the catalog generated is shown as "made".
func valuesOf[T any](m *market, table *store.Table[T], fields ...string) string {
	m.t.Helper()
	var lines []string
	err := m.st.View(Org, func(tx *store.Tx) error {
		return table.Scan(tx, func(d store.Doc[T]) (bool, error) {
			var values []string
			for _, key := range fields {
				value := shape.TextOf(shape.Of[T]().Field(key).Get(&d.Record))
				if value == d.ID.String() {
					value = "made"
				}
				values = append(values, value)
			}
			lines = append(lines, strings.Join(values, "|"))
			return true, nil
		})
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func (m *market) wantCompanies(fields string, want ...string) {
	m.t.Helper()
	if got := valuesOf(m, m.Companies, strings.Fields(fields)...); got != strings.Join(want, "\n") {
		m.t.Fatalf("the catalog has the companies\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func (m *market) wantPeople(fields string, want ...string) {
	m.t.Helper()
	if got := valuesOf(m, m.People, strings.Fields(fields)...); got != strings.Join(want, "\n") {
		m.t.Fatalf("the catalog has the people\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// columnsOf returns the columns of a header. Together with rowOf it makes a table of one row.
func columnsOf(t *testing.T, header string, fields rows.Fields[*rows.Target]) *rows.Columns[*rows.Target] {
	t.Helper()
	table, err := rows.Open(strings.NewReader(header), rows.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := rows.NewColumns(table, nil, rows.Writing{}, fields)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func rowOf(cells ...string) *rows.Row { return &rows.Row{Line: 2, Cells: cells} }

func TestImportCompanies(t *testing.T) {
	m := newMarket(t)
	m.companies("\ufeffID,Name,Website,Employee Count,Keywords,technologies,description,Color\r\n"+
		"c1,Acme,HTTPS://WWW.Acme.com/about,250,saas| cloud ;b2b|saas,,\"makes \"\"things\"\",\r\nand more\",red\r\n"+
		" c2 ,Globex,http://,51-200,,,,\r\n"+
		"c3,Hooli,http://,,,Go;;| ,,\r\n"+
		",Nowhere,n/a,0,,,,\r\n"+
		"c4,,nameless.example,,,,,\r\n"+
		"c5,Short\r\n",
		"5+0-1", `2 rows, first line 4: Website: "http://" is not a website or domain such as acme.example`,
		`line 6: Website: "n/a" means no value`, "line 7: name: required", `column "Color" was ignored: companies have no such field`)
	fields := "id name website employee_count keywords technologies description"
	acme := "c1|Acme|acme.com|250|saas|cloud|b2b||makes \"things\",\r\nand more"
	m.wantCompanies(fields, acme, "c2|Globex||51|||", "c3|Hooli||||Go|", "made|Nowhere||0|||", "c5|Short|||||")

	// Rows with an id update the company with that id. Empty cells and missing columns change
	// nothing, so the name is not required.
	m.companies("id,name,employee_count,technologies\nc1,,300,\nc3,Hooli Inc.,,Go\n", "0+2-0")
	acme = strings.Replace(acme, "250", "300", 1)
	m.wantCompanies(fields, acme, "c2|Globex||51|||", "c3|Hooli Inc.||||Go|", "made|Nowhere||0|||", "c5|Short|||||")
	// Rows without an id update the oldest company with the website.
	m.companies("website,industry\nwww.ACME.com,Tools\nhttps://other.example/,\n", "0+1-1", "line 3: name: required")
	m.companies("id,website,name\nc6,acme.com,Acme II\n,acme.com,Acme I\n", "1+1-0")
	m.wantCompanies("id name website industry", "c1|Acme I|acme.com|Tools", "c2|Globex||", "c3|Hooli Inc.||", "made|Nowhere||", "c5|Short||", "c6|Acme II|acme.com|")
	// Rows with neither always add a company, even if the name exists.
	m.companies("name\nNowhere\nNowhere\n", "2+0-0")
}

// TestImportDomains imports 400 rows with the same domain. Without ids they are one company, with
// ids they are 400.
func TestImportDomains(t *testing.T) {
	m := newMarket(t)
	rows, withIDs := "name,website\n", "id,name,website\n"
	for i := range 400 {
		rows += fmt.Sprintf("Acme %d,https://acme%s/%d\n", i, []string{".example", ".EXAMPLE"}[i%2], i)
		withIDs += fmt.Sprintf("x%d,Acme,acme.example\n", i)
	}
	m.companies(rows, "1+399-0")
	m.wantCompanies("name website", "Acme 399|acme.example")
	m.companies(withIDs, "400+0-0")
	m.companies("website,name\nacme.example,The first\n", "0+1-0")
	if got := strings.Split(valuesOf(m, m.Companies, "id", "name"), "\n"); len(got) != 401 || got[0] != "made|The first" || got[1] != "x0|Acme" {
		t.Error(len(got), got[:2])
	}
}

func TestImportPeople(t *testing.T) {
	m := newMarket(t)
	m.companies("id,name,website\nc1,Acme,acme.example\nc2,Acme II,acme.example\nc3,Globex,globex.example\n", "3+0-0")
	m.people("id,first_name,last_name,email,linkedin_url,title,seniority,company_id,company_website\n"+
		"p1,Ada,,ada@acme.example,,VP Sales,,,https://acme.example/team\n"+
		"p2,,Berg,,,Engineer,vp,c3,acme.example\n"+
		"p3,,,,https://www.linkedin.com/in/Cid/?x=1,,,c9,\n"+
		"p4,Dan,,not an address,,Boss,Chief,,\n"+
		"p5,Eve,,not an address,,Owner,,,n/a\n"+
		"p6,,,not an address,,CEO,,,\n"+
		"p7,,,,,CEO,,c1,\n",
		"5+0-2", `3 rows, first line 5: email: "not an address" is not an email address`,
		`line 5: seniority: "Chief" is not one of: Individual Contributor, Senior Individual Contributor, Manager, Senior Manager, Director, Senior Director, VP, SVP, EVP, C-Level, Founder`,
		`line 6: company_website: "n/a" means no value`, "2 rows, first line 7: email: required, or linkedin_url, or first_name or last_name")
	fields := "id first_name last_name email title seniority company_id"
	m.wantPeople(fields, "p1|Ada||ada@acme.example|VP Sales|VP|c1", "p2||Berg||Engineer|VP|c3", "p3||||||c9", "p4|Dan|||Boss|Individual Contributor|", "p5|Eve|||Owner|Founder|")

	// People without an id are found by their LinkedIn URL, or else by their email.
	m.people("linkedin_url,email,first_name,title\nlinkedin.com/in/cid,ADA@acme.example,Cid,\n,ADA@Acme.example,,SVP Sales\nlinkedin.com/in/ada,ada@ACME.example,,\n,zoe@acme.example,Zoe,\n",
		"1+3-0")
	m.wantPeople(fields+" linkedin_url", "p1|Ada||ada@ACME.example|SVP Sales|SVP|c1|linkedin.com/in/ada", "p2||Berg||Engineer|VP|c3|",
		"p3|Cid||ADA@acme.example|||c9|linkedin.com/in/cid", "p4|Dan|||Boss|Individual Contributor||", "p5|Eve|||Owner|Founder||", "made|Zoe||zoe@acme.example||||")
}

// TestEmployers imports people before their employers, which they name by website or by id.
func TestEmployers(t *testing.T) {
	m := newMarket(t)
	m.people("id,first_name,company_website,company_id\np1,Ada,https://www.Acme.example/,\np2,Bob,acme.example,\np3,Cid,,c1\np4,Dan,globex.example,\np5,Eve,,\n", "5+0-0")
	m.wantStats(Stats{0, 5, 5})
	m.companies("id,name,website\nc1,Acme,ACME.example\n", "1+0-0")
	m.wantPeople("id company_id", "p1|c1", "p2|c1", "p3|c1", "p4|", "p5|")
	m.wantStats(Stats{1, 5, 2})
	// The company exists, and gets its website later.
	m.companies("id,name\nc2,Globex\n", "1+0-0")
	m.companies("id,website\nc2,globex.example\n", "0+1-0")
	m.wantPeople("id company_id", "p1|c1", "p2|c1", "p3|c1", "p4|c2", "p5|")
	// A second company with the same domain changes nothing.
	m.companies("id,name,website\nc3,Globex,globex.example\n", "1+0-0")
	m.wantPeople("id company_id", "p1|c1", "p2|c1", "p3|c1", "p4|c2", "p5|")
	// A new employer that the catalog does not contain is pending. company_id takes precedence over
	// company_website.
	m.people("id,company_website,company_id\np1,new.example,\np2,new.example,c2\np3,globex.example,\n", "0+3-0")
	m.wantPeople("id company_id", "p1|", "p2|c2", "p3|c2", "p4|c2", "p5|")
	m.people("id,company_id\np1,c9\n", "0+1-0") // which replaces the pending employer
	m.companies("name,website\nNew,new.example\n", "1+0-0")
	m.wantPeople("id company_id", "p1|c9", "p2|c2", "p3|c2", "p4|c2", "p5|")
	m.wantStats(Stats{4, 5, 2})
	// Every person without an employer is counted, also among colleagues.
	m.people("id,first_name,company_id\nq1,A,c1\nq2,B,c9\nq3,C,c9\nq4,D,c1\n", "4+0-0")
	m.wantStats(Stats{4, 9, 4})
}

func (m *market) wantStats(want Stats) {
	m.t.Helper()
	if got, err := m.Stats(m.t.Context(), m.st, func(int, int) {}); err != nil || got != want {
		m.t.Fatalf("the stats are %+v, %v; want %+v", got, err, want)
	}
}

// TestDerivedSeniority checks that a derived seniority follows the title, and that a given one
// stays.
func TestDerivedSeniority(t *testing.T) {
	m := newMarket(t)
	m.people("id,first_name,title,seniority\np1,Ada,Engineer,\np2,Bob,Engineer,VP\np3,Cid,,\np4,Dan,,Director\n", "4+0-0")
	m.wantPeople("id seniority", "p1|Individual Contributor", "p2|VP", "p3|", "p4|Director")
	m.people("id,title\np1,Head of Sales\np2,Head of Sales\np3,CEO\np4,CEO\n", "0+4-0")
	m.wantPeople("id seniority", "p1|Director", "p2|VP", "p3|C-Level", "p4|Director")
	m.people("id,title,seniority\np1,Head of Marketing,manager\np2,,\n", "0+2-0")
	m.wantPeople("id title seniority", "p1|Head of Marketing|Manager", "p2|Head of Sales|VP", "p3|CEO|C-Level", "p4|CEO|Director")
}

// TestImportLines imports values that only JSON lines can express.
func TestImportLines(t *testing.T) {
	m := newMarket(t)
	m.companies(`{"id": 17, "name": "Acme", "keywords": ["saas", " cloud ", "", "saas"], "technologies": "Go; Java|", "employee_count": "40", "website": " ACME.example "}
{"id": " 17 ", "name": null, "country": "DE", "keywords": [], "description": ""}
{"id": "18", "name": "   "}
{"id": 19, "name": "Nul\u0000"}
{"id": 20, "name": "Number", "website": 5}
{"id": 21, "name": "List", "keywords": [1]}
{"id": "`+strings.Repeat("x", 256)+`", "name": "Long"}
{"id": 22, "name": "`+strings.Repeat("x", 10_001)+`"}
{"id": 23, "name": "Twice", "Name": "Again"}
{"id": true, "name": "True"}
{"id": 24, "name": "Half"
`, "5+1-5", "2 rows, first line 3: name: required", `line 5: website: "5" is not a website or domain such as acme.example`, `line 6: keywords: "1" must be a string`,
		"line 7: id: must be at most 255 characters, not 256", `line 8: name: "`+strings.Repeat("x", 200)+`…" must be at most 10000 characters, not 10001`,
		`line 9: Name was left out: another column sets this field`, "line 10: id: must be a string", "line 11: the line must be one JSON object: unexpected end")
	m.wantCompanies("id name website employee_count keywords technologies country", "17|Acme|acme.example|40|saas|cloud|Go|Java|DE",
		"19|Nul|||||", "20|Number|||||", "21|List|||||", "23|Twice|||||")
	m.people(`{"id": 1, "first_name": "Ada", "company_id": 17}
{"id": 2, "first_name": "Bob", "company_website": 17}
`, "2+0-0", `line 2: company_website: "17" is not a website or domain such as acme.example`)
	m.wantPeople("id company_id", "1|17", "2|")
}

// TestImportRefusals checks which columns cause the whole table to be refused.
func TestImportRefusals(t *testing.T) {
	m := newMarket(t)
	for _, c := range []struct {
		people  bool
		text    string
		renamed map[string]string
		want    string
	}{
		{false, "pet,color\nRex,red\n", nil, "no column is a field of companies"},
		{false, "name,web\na,b\n", map[string]string{"web": "company_website"}, `"web" is mapped to "company_website", which is not an importable field of companies`},
		{true, "name,web\na,b\n", map[string]string{"mail": "email"}, `"mail" is mapped, but the file does not have it`},
	} {
		t.Run(c.want, func(t *testing.T) {
			if _, _, err := m.load(c.people, c.text, ImportOptions{Mapping: c.renamed}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error for %q is %v, want %s", c.text, err, c.want)
			}
		})
	}
	r, warnings, err := m.load(true, "Employer,Given name\nacme.example,Ada\n", ImportOptions{Mapping: map[string]string{"Employer": "company_website", "Given name": "first_name"}})
	if summary(r, warnings) != "1+0-0" || err != nil {
		t.Error(summary(r, warnings), err)
	}
	m.wantStats(Stats{0, 1, 1})
}

// TestMerge checks that an update can change every field except the id, and that an empty update
// changes nothing.
func TestMerge(t *testing.T) {
	checkMerge(t, Company{ID: "c1"}, func(rec, in Company) Company {
		merge(&rec, &in)
		return rec
	})
	checkMerge(t, Person{ID: "p1"}, Person.merge)
}

func checkMerge[T any](t *testing.T, old T, merge func(T, T) T) {
	t.Helper()
	for _, f := range shape.Of[T]().Fields {
		if f.Key == "id" {
			continue
		}
		var in, none T
		switch v := f.Get(&in).(type) {
		case shape.Number:
			f.Set(&in, shape.NumberOf(0))
		case []string:
			f.Set(&in, []string{"x"})
		case shape.Text:
			f.Set(&in, shape.Text("x"))
		case string:
			f.Set(&in, "x")
		default:
			t.Fatalf("%s is a %T", f.Key, v)
		}
		rec := merge(old, in)
		if shape.TextOf(f.Get(&rec)) != shape.TextOf(f.Get(&in)) {
			t.Errorf("an update does not change %s", f.Key)
		}
		same := merge(rec, none)
		if changed := shape.Of[T]().Diff(&rec, &same); changed != nil {
			t.Errorf("an empty update changes %v", changed)
		}
	}
}

// TestImportSharedHosts checks that companies whose websites are on a shared host are not merged, and
// that people are not assigned to one of them. Other spellings of a website are the same company.
func TestImportSharedHosts(t *testing.T) {
	m := newMarket(t)
	m.imports(false, "name,website\nAlpha,https://www.linkedin.com/company/alpha\nBeta,linkedin.com/company/beta\nZürich,zürich.example\n", "3+0-0")
	m.imports(false, "name,website\nGamma,http://de.linkedin.com/company/alpha/\nZürich AG,https://shop.xn--zrich-kva.example/about\n", "1+1-0")
	m.imports(true, "first_name,email,company_website\nAnn,ann@a.example,linkedin.com/company/alpha\nBob,bob@b.example,www.ZÜRICH.example\n"+
		"Cem,cem@c.example,shop.later.example\nDee,dee@d.example,facebook.com/later\n", "4+0-0")
	m.imports(false, "name,website\nLater,later.example\nDelta,facebook.com/later\n", "2+0-0")
	m.imports(true, "email,title\nANN@a。example,CEO\n", "0+1-0")

	companies, employers := map[string]string{}, map[string]string{}
	err := m.st.View(Org, func(tx *store.Tx) error {
		websites := map[string]string{}
		err := m.Companies.Scan(tx, func(d store.Doc[Company]) (bool, error) {
			companies[d.Record.Name] = string(d.Record.Website)
			websites[d.Record.ID] = d.Record.Name
			return true, nil
		})
		if err != nil {
			return err
		}
		return m.People.Scan(tx, func(d store.Doc[Person]) (bool, error) {
			employers[string(d.Record.FirstName)] = websites[string(d.Record.CompanyID)]
			return true, nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"Alpha": "linkedin.com/company/alpha", "Beta": "linkedin.com/company/beta", "Gamma": "de.linkedin.com/company/alpha",
		"Zürich AG": "shop.xn--zrich-kva.example", "Later": "later.example", "Delta": "facebook.com/later"}; !maps.Equal(companies, want) {
		t.Errorf("the companies are %q, want %q", companies, want)
	}
	if want := map[string]string{"Ann": "", "Bob": "Zürich AG", "Cem": "Later", "Dee": ""}; !maps.Equal(employers, want) {
		t.Errorf("people work for %q, want %q", employers, want)
	}
}

// TestImportWithOptions imports the same dirty table as a dry run, strictly, and then for good.
func TestImportWithOptions(t *testing.T) {
	m := newMarket(t)
	text := "Firma;Webseite;Mitarbeiter;Umsatz;Gründungsjahr\n" +
		"Acme GmbH;www.acme.example;51-200;1.250,50;1999\n" +
		"Globex AG;globex.example;1.200+;1,2 Mio. €;k.A.\n" +
		"Hooli;hooli.example;viele;$5M;2001\n" +
		";;;;1999\n"
	problems := []string{`line 3: Gründungsjahr: "k.A." means no value`, `line 4: Mitarbeiter: "viele" is not an integer`, "line 5: name: required"}
	dry, _, err := m.load(false, text+strings.Repeat("Acme GmbH;acme.example;;;\n", 1500), ImportOptions{DryRun: true})
	if want := strings.Join(append([]string{"3+1500-1"}, problems...), "\n"); err != nil || summary(dry, nil) != want || dry.ValuesDropped != 2 {
		t.Errorf("the dry run returns %s, %v", summary(dry, nil), err)
	}
	m.wantCompanies("name")
	var rejects strings.Builder
	table, err := rows.Open(strings.NewReader(text), rows.Options{})
	if err != nil {
		t.Fatal(err)
	}
	to, err := rows.NewRejects(&rejects, table)
	if err != nil {
		t.Fatal(err)
	}
	strict, _, err := m.ImportCompanies(t.Context(), m.st, table, ImportOptions{OnBadValue: "skip_row", Rejects: to})
	want := "\ufeffFirma;Webseite;Mitarbeiter;Umsatz;Gründungsjahr;why skipped\n" +
		"Hooli;hooli.example;viele;$5M;2001;\"Mitarbeiter: \"\"viele\"\" is not an integer\"\n;;;;1999;name: required\n"
	if err != nil || strict.Added != 2 || strict.Skipped != 2 || rejects.String() != want {
		t.Errorf("%+v, %v, %q", strict, err, rejects.String())
	}
	m.companies(text, append([]string{"1+2-1"}, problems...)...)
	m.wantCompanies("name website employee_count annual_revenue founded_year",
		"Acme GmbH|acme.example|51|1250.5|1999", "Globex AG|globex.example|1200|1200000|", "Hooli|hooli.example||5000000|2001")
	if r, _, err := m.load(false, text, ImportOptions{Locale: "klingon!"}); err == nil {
		t.Errorf("an unknown locale is accepted: %+v", r)
	}
}
