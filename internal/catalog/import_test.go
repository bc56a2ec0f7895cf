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
		return m.Verify(tx, func(_ bool, format string, args ...any) { m.t.Errorf(format, args...) })
	})
	if err != nil {
		m.t.Error(err)
	}
}

// summary returns the numbers of added, updated and skipped rows, then one line for each error and
// each warning.
func summary(r rows.Result) string {
	lines := []string{fmt.Sprintf("%d+%d-%d", r.Added, r.Updated, r.Skipped)}
	for _, e := range r.Errors {
		lines = append(lines, fmt.Sprintf("%d: %s", e.Line, e.Message))
	}
	return strings.Join(append(lines, r.Warnings...), "\n")
}

func (m *market) load(people bool, text string, renamed map[string]string) (rows.Result, error) {
	m.t.Helper()
	table, err := rows.NewReader(strings.NewReader(text))
	if err != nil {
		m.t.Fatal(err)
	}
	if people {
		return m.ImportPeople(m.t.Context(), m.st, table, renamed)
	}
	return m.ImportCompanies(m.t.Context(), m.st, table, renamed)
}

func (m *market) imports(people bool, text string, want ...string) {
	m.t.Helper()
	r, err := m.load(people, text, nil)
	if got := summary(r); err != nil || got != strings.Join(want, "\n") {
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
	c, err := rows.NewColumns(strings.Split(strings.TrimSpace(header), ","), nil, fields)
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
		"3+0-3", `4: employee_count: "51-200" is not an integer`, "7: name: required", "8: 2 cells, but the header has 8",
		`column "Color" was ignored: companies have no such field`, "rows imported without their invalid website: 2 (line 5, 6)")
	fields := "id name website employee_count keywords technologies description"
	acme := "c1|Acme|acme.com|250|saas|cloud|b2b||makes \"things\",\r\nand more"
	m.wantCompanies(fields, acme, "c3|Hooli||||Go|", "made|Nowhere||0|||")

	// Rows with an id update the company with that id. Empty cells and missing columns change
	// nothing, so the name is not required.
	m.companies("id,name,employee_count,technologies\nc1,,300,\nc3,Hooli Inc.,,Go\n", "0+2-0")
	acme = strings.Replace(acme, "250", "300", 1)
	m.wantCompanies(fields, acme, "c3|Hooli Inc.||||Go|", "made|Nowhere||0|||")
	// Rows without an id update the oldest company with the website.
	m.companies("website,industry\nwww.ACME.com,Tools\nhttps://other.example/,\n", "0+1-1", "3: name: required")
	m.companies("id,website,name\nc6,acme.com,Acme II\n,acme.com,Acme I\n", "1+1-0")
	m.wantCompanies("id name website industry", "c1|Acme I|acme.com|Tools", "c3|Hooli Inc.||", "made|Nowhere||", "c6|Acme II|acme.com|")
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
		"4+0-3", `5: seniority: "Chief" is not one of: Individual Contributor, Senior Individual Contributor, Manager, Senior Manager, Director, Senior Director, VP, SVP, EVP, C-Level, Founder`,
		"7: email: required, or linkedin_url, or first_name or last_name", "8: email: required, or linkedin_url, or first_name or last_name",
		"rows imported without their invalid company_website: 1 (line 6)", "rows imported without their invalid email: 1 (line 6)")
	fields := "id first_name last_name email title seniority company_id"
	m.wantPeople(fields, "p1|Ada||ada@acme.example|VP Sales|VP|c1", "p2||Berg||Engineer|VP|c3", "p3||||||c9", "p5|Eve|||Owner|Founder|")

	// People without an id are found by their LinkedIn URL, or else by their email.
	m.people("linkedin_url,email,first_name,title\nlinkedin.com/in/cid,ADA@acme.example,Cid,\n,ADA@Acme.example,,SVP Sales\nlinkedin.com/in/ada,ada@ACME.example,,\n,zoe@acme.example,Zoe,\n",
		"1+3-0")
	m.wantPeople(fields+" linkedin_url", "p1|Ada||ada@ACME.example|SVP Sales|SVP|c1|linkedin.com/in/ada", "p2||Berg||Engineer|VP|c3|",
		"p3|Cid||ADA@acme.example|||c9|linkedin.com/in/cid", "p5|Eve|||Owner|Founder||", "made|Zoe||zoe@acme.example||||")
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
`, "1+1-9", "3: name: required", "4: name: must not contain NUL characters", "5: website: must be a string", "6: keywords[0]: must be a string",
		"7: id: must be at most 255 characters, not 256", "8: name: must be at most 10000 characters, not 10001", "9: name: given twice", "10: id: must be a string",
		"11: the line must be one JSON object: unexpected end")
	m.wantCompanies("id name website employee_count keywords technologies country", "17|Acme|acme.example|40|saas|cloud|Go|Java|DE")
	m.people(`{"id": 1, "first_name": "Ada", "company_id": 17}
{"id": 2, "first_name": "Bob", "company_website": 17}
`, "1+0-1", "2: company_website: must be a string")
	m.wantPeople("id company_id", "1|17")
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
		{false, "name,Name\na,b\n", nil, `columns "name" and "Name" both set name`},
		{false, "name,web\na,b\n", map[string]string{"web": "company_website"}, `"web" is mapped to "company_website", which is not an importable field of companies`},
		{true, "name,web\na,b\n", map[string]string{"mail": "email"}, `"mail" is mapped, but the file does not have it`},
	} {
		t.Run(c.want, func(t *testing.T) {
			if _, err := m.load(c.people, c.text, c.renamed); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error for %q is %v, want %s", c.text, err, c.want)
			}
		})
	}
	r, err := m.load(true, "Employer,Given name\nacme.example,Ada\n", map[string]string{"Employer": "company_website", "Given name": "first_name"})
	if summary(r) != "1+0-0" || err != nil {
		t.Error(summary(r), err)
	}
	m.wantStats(Stats{0, 1, 1})
}

// TestMerge checks that an update can change every field except the id, and that an empty update
// changes nothing.
func TestMerge(t *testing.T) {
	checkMerge(t, Company{ID: "c1"}, Company.merge)
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
