package crm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	utf16 "golang.org/x/text/encoding/unicode"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/crm"
	"prospector/internal/record"
	"prospector/internal/rows"
	"prospector/store"
)

// imported is the result of an import.
type imported struct {
	rows.Report
	Encoding string
	Warnings []string
	IDs      []string // of the rows, "" if they were skipped
}

// importFile imports a file into an organization, as the import job does.
func importFile(t *testing.T, app *apptest.App, org *apptest.Org, entity, text string, o record.ImportOptions) (r imported) {
	t.Helper()
	r, err := tryImport(t, app, org, entity, text, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func tryImport(t *testing.T, app *apptest.App, org *apptest.Org, entity, text string, o record.ImportOptions) (r imported, err error) {
	t.Helper()
	table, err := rows.Open(strings.NewReader(text), rows.Options{})
	if err != nil {
		return r, err
	}
	defer table.Close()
	var im *record.Importer
	err = app.Store.View(org.ID, func(tx *store.Tx) (err error) {
		im, err = app.Service.CRM.NewImporter(tx, entity, table, o)
		return err
	})
	if err != nil {
		return r, err
	}
	err = rows.Load(t.Context(), table, func(table []rows.Row) (b *record.ImportBatch, err error) {
		err = app.Store.View(org.ID, func(tx *store.Tx) error {
			b, err = im.Prepare(tx, table, func() {})
			return err
		})
		return b, err
	}, func(b *record.ImportBatch) error {
		var outcomes []rows.Outcome
		err := app.Store.Update(t.Context(), org.ID, store.Actor{Operation: "import"}, func(tx *store.Tx) (err error) {
			if _, err = im.Write(tx, b); err != nil { // as if the transaction had to be repeated
				return err
			}
			return errRepeat
		})
		if err != errRepeat {
			return fmt.Errorf("the transaction is not repeated: %w", err)
		}
		err = app.Store.Update(t.Context(), org.ID, store.Actor{Operation: "import"}, func(tx *store.Tx) (err error) {
			outcomes, err = im.Write(tx, b)
			return err
		})
		for i := range outcomes {
			r.Report.Add(&b.Rows[i], &outcomes[i])
			id := ""
			if outcomes[i].Skipped == "" {
				id = outcomes[i].ID.String()
			}
			r.IDs = append(r.IDs, id)
		}
		return err
	})
	r.Warnings, r.Encoding = im.Warnings(), table.Encoding()
	return r, err
}

var errRepeat = fmt.Errorf("again")

// inEncodings returns a text in every encoding that has its characters.
func inEncodings(t *testing.T, text string) map[string]string {
	t.Helper()
	texts := map[string]string{"utf-8": text, "utf-8 with a mark": "\ufeff" + text}
	for name, e := range map[string]encoding.Encoding{
		"utf-16le": utf16.UTF16(utf16.LittleEndian, utf16.UseBOM), "utf-16be": utf16.UTF16(utf16.BigEndian, utf16.IgnoreBOM),
		"windows-1252": charmap.Windows1252, "iso-8859-1": charmap.ISO8859_1,
	} {
		if encoded, err := e.NewEncoder().String(text); err == nil {
			texts[name] = encoded
		}
	}
	return texts
}

// files are tables as other programs write them. usable is the number of rows with a usable email or
// name, dropped are values that must be reported, and records are members of records by external id.
var files = []struct {
	name, entity  string
	rows, usable  int
	added         int
	dropped       []string
	records       map[string]string
	withoutCreate []string // values that are kept if tags and accounts are created
}{
	{
		name: "hubspot-contacts", entity: "contacts", rows: 9, usable: 8, added: 8,
		dropped: []string{"n/a", "not given", "maybe", "hans@@acme.example"},
		records: map[string]string{
			"101": `{"first_name": "Ada", "last_name": "Berg", "email": "ada.berg@acme.example", "title": "Head of Sales", "phone_number": "+49 30 901820", "location": "Berlin", "do_not_contact": false, "linkedin_url": "https://www.linkedin.com/in/ada-berg/"}`,
			"102": `{"email": "bo.lum@globex.example", "do_not_contact": true}`,
			"103": `{"email": "carla@hooli.example", "title": null}`,
			"104": `{"first_name": "Dan", "last_name": "O'Neil", "email": null}`,
			"106": `{"email": "finn@umbrella.example", "last_name": "Graß", "do_not_contact": true}`,
			"108": `{"email": null, "linkedin_url": "https://www.linkedin.com/in/hansmueller"}`,
			"109": `{"last_name": "=cmd|' /C calc'!A0"}`,
		},
		withoutCreate: []string{"Acme GmbH", "Globex", "Umbrella"},
	},
	{
		name: "salesforce-contacts", entity: "contacts", rows: 9, usable: 6, added: 6,
		dropped: []string{"-", "pat@"},
		records: map[string]string{
			"0035g00000AbCdE": `{"first_name": "John", "title": "VP Operations", "location": "Austin", "phone_number": "(512) 555-0100", "do_not_contact": false}`,
			"0035g00000AbCdF": `{"do_not_contact": true, "email": "JANE.ROE@INITECH.EXAMPLE"}`,
			"0035g00000AbCdH": `{"last_name": "Smith", "email": null}`,
			"0035g00000AbCdJ": `{"title": "Sales Manager"}`,
		},
		withoutCreate: []string{"Initech", "Hooli"},
	},
	{
		name: "pipedrive-people", entity: "contacts", rows: 6, usable: 6, added: 6,
		dropped: []string{"-", "keine", "日本"},
		records: map[string]string{
			"1": `{"first_name": "Ada", "last_name": "Berg", "title": "Head of Sales"}`,
			"2": `{"first_name": "Hans", "last_name": "van der Berg", "email": "hans@acme.example"}`,
			"3": `{"first_name": "Eva", "last_name": "Müller"}`,
			"4": `{"first_name": null, "last_name": "Cher", "email": "cher@hooli.example"}`,
			"5": `{"first_name": "Lena", "last_name": "von der Heide"}`,
		},
		withoutCreate: []string{"Grosskunde", "Hot lead", "Muster KG"},
	},
	{
		name: "apollo-contacts", entity: "contacts", rows: 5, usable: 4, added: 3,
		records: map[string]string{
			"60a1": `{"email": "ada@acme.example", "phone_number": "+49 30 901820", "linkedin_url": "http://www.linkedin.com/in/ada-berg", "location": "Berlin"}`,
			"60a2": `{"email": null, "last_name": "Lum"}`,
			"60a3": `{"title": "CFO"}`,
		},
		withoutCreate: []string{"Q4 list", "Germany", "Acme GmbH"},
	},
	{
		name: "sales-navigator", entity: "contacts", rows: 4, usable: 4, added: 4,
		records: map[string]string{
			"ACwAAA1": `{"first_name": "Ada", "last_name": "Berg", "linkedin_url": "https://www.linkedin.com/in/ada-berg", "location": "Berlin, Germany"}`,
			"ACwAAA3": `{"first_name": "Žofia", "last_name": "Łukasik", "title": null}`,
			"ACwAAA4": `{"first_name": "LinkedIn", "last_name": "Member"}`,
		},
		withoutCreate: []string{"Acme GmbH", "Hooli"},
	},
	{
		name: "linkedin-connections", entity: "contacts", rows: 2, usable: 2, added: 2,
		withoutCreate: []string{"Acme GmbH", "Globex"},
	},
	{
		name: "excel-de", entity: "contacts", rows: 7, usable: 6, added: 6,
		dropped: []string{"k.A.", "-", "vielleicht"},
		records: map[string]string{
			"K-1": `{"first_name": "Hans", "last_name": "Müller", "email": "hans.mueller@acme.example", "title": "Geschäftsführer", "location": "Berlin", "do_not_contact": true}`,
			"K-2": `{"do_not_contact": false, "last_name": "Schröder"}`,
			"K-3": `{"last_name": "de la Cruz", "phone_number": null, "title": null}`,
			"K-4": `{"email": "juergen@gross", "do_not_contact": true}`,
			"K-7": `{"last_name": "Müller \"Bär\"", "do_not_contact": true}`,
		},
		withoutCreate: []string{"Grosskunde", "Messe 2025", "A B", "Groß & Söhne KG"},
	},
	{
		name: "excel-fr", entity: "contacts", rows: 4, usable: 4, added: 4,
		dropped: []string{"n/a", "non disponible", "peut-être"},
		records: map[string]string{
			"C-1": `{"first_name": "François", "last_name": "Lefèvre", "title": "Directeur général", "do_not_contact": true}`,
			"C-2": `{"last_name": "d'Arc", "do_not_contact": false}`,
		},
		withoutCreate: []string{"Fidele", "Cle", "Acme SARL"},
	},
	{
		name: "excel-es", entity: "contacts", rows: 4, usable: 4, added: 4,
		dropped: []string{"desconocido", "-", "quizás"},
		records: map[string]string{
			"N-1": `{"first_name": "Íñigo", "last_name": "Muñoz García", "title": "Director", "do_not_contact": true}`,
			"N-4": `{"title": "¿CEO?", "location": "A Coruña"}`,
		},
		withoutCreate: []string{"Senal", "VIP", "Acme S.L."},
	},
	{
		name: "accounts-de", entity: "accounts", rows: 6, usable: 5, added: 5,
		dropped: []string{"k.A.", "viel", "im Jahr 1999", "n/a"},
		records: map[string]string{
			"1": `{"name": "Acme GmbH", "website": "acme.example", "employee_count": 51, "annual_revenue": 1250.5, "founded_year": 1999, "country": "Deutschland", "location": "Köln", "notes": "Zeile 1\nZeile 2"}`,
			"2": `{"employee_count": 1200, "annual_revenue": 1200000, "website": "globex.example"}`,
			"3": `{"website": "linkedin.com/company/hooli", "employee_count": 50, "annual_revenue": 5000000}`,
			"4": `{"employee_count": 10000, "website": null, "annual_revenue": null, "founded_year": null}`,
		},
	},
	{
		name: "hubspot-companies", entity: "accounts", rows: 4, usable: 4, added: 4,
		dropped: []string{"n/a"},
		records: map[string]string{
			"9001": `{"name": "Acme GmbH", "employee_count": 51, "linkedin_url": "https://www.linkedin.com/company/acme"}`,
			"9002": `{"employee_count": 1200, "annual_revenue": 1250.5}`,
			"9003": `{"country": "Austria", "employee_count": 2}`,
			"9004": `{"employee_count": 10001, "annual_revenue": 1200000000}`,
		},
	},
}

// TestImportFiles imports tables of other programs in every encoding, without any option and then with
// tags and accounts created, and imports each a second time.
func TestImportFiles(t *testing.T) {
	app := apptest.New(t)
	for _, f := range files {
		raw, err := os.ReadFile("../rows/testdata/" + f.name + ".csv")
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range inEncodings(t, string(raw)) {
			t.Run(f.name+" in "+name, func(t *testing.T) {
				org := app.Org(f.name + name)
				plain := importFile(t, app, org, f.entity, text, record.ImportOptions{})
				want, _, _ := strings.Cut(name, " ")
				if isASCII := text == string(raw); plain.Encoding != want && !isASCII && !(want == "windows-1252" && plain.Encoding == "iso-8859-1") {
					t.Errorf("it is read as %s", plain.Encoding)
				}
				if kept := plain.Added + plain.Updated + plain.Unchanged; 100*kept < 95*f.usable || plain.Rows != f.rows || plain.Added != f.added {
					t.Errorf("%d of %d rows added, %d updated, %d skipped: %v", plain.Added, plain.Rows, plain.Updated, plain.Skipped, plain.Problems.List())
				}
				reports(t, &plain.Report, slices.Concat(f.dropped, f.withoutCreate), nil)
				hasRecords(t, app, org, f.entity, f.records)
				again := importFile(t, app, org, f.entity, text, record.ImportOptions{})
				if again.Added != 0 || again.Updated != 0 || again.Unchanged != plain.Added+plain.Updated+plain.Unchanged || again.Skipped != plain.Skipped {
					t.Errorf("a second import adds %d, updates %d, skips %d: %v", again.Added, again.Updated, again.Skipped, again.Problems.List())
				}

				other := app.Org(f.name + name + " created")
				creating := record.ImportOptions{CreateMissing: []string{"tags", "accounts"}, DryRun: true}
				dry := importFile(t, app, other, f.entity, text, creating)
				if n := len(recordsOf(t, app, other, f.entity)); n != 0 {
					t.Errorf("the dry run has made %d records", n)
				}
				creating.DryRun = false
				full := importFile(t, app, other, f.entity, text, creating)
				if got, want := counts(&dry.Report), counts(&full.Report); got != want {
					t.Errorf("the dry run counts %s, the import %s", got, want)
				}
				reports(t, &full.Report, f.dropped, f.withoutCreate)
				if again := importFile(t, app, other, f.entity, text, creating); again.Added != 0 {
					t.Errorf("a second import adds %d", again.Added)
				}
			})
		}
	}
}

// counts returns a report without the ids of the records, which a dry run does not know if an earlier row has added them.
func counts(r *rows.Report) string {
	for _, c := range r.Changes {
		for i := range c.Samples {
			c.Samples[i].ID = uuid.NullUUID{}
		}
	}
	text, _ := json.Marshal(r)
	return string(text)
}

// reports checks that a report lists values, and not others.
func reports(t *testing.T, r *rows.Report, want, not []string) {
	t.Helper()
	var values []string
	for _, p := range r.Problems.List() {
		values = append(values, strings.TrimSpace(p.Value))
	}
	for _, v := range want {
		if !slices.Contains(values, v) {
			t.Errorf("%q is not reported: %q", v, values)
		}
	}
	for _, v := range not {
		if slices.Contains(values, v) {
			t.Errorf("%q is dropped", v)
		}
	}
}

// recordsOf returns the records of an entity by external id without its system, or by their id. Ids of Salesforce have 15
// characters.
func recordsOf(t *testing.T, app *apptest.App, org *apptest.Org, entity string) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	err := app.Store.View(org.ID, func(tx *store.Tx) error {
		keep := func(raw []byte) (bool, error) {
			var rec map[string]any
			if err := json.Unmarshal(raw, &rec); err != nil {
				return false, err
			}
			key, _ := rec["external_id"].(string)
			if system, bare, has := strings.Cut(key, ":"); has {
				if key = bare; system == "salesforce" {
					key = bare[:15]
				}
			}
			if key == "" {
				key, _ = rec["id"].(string)
			}
			all[key] = rec
			return true, nil
		}
		if entity == "accounts" {
			return app.Service.CRM.Accounts.Table.Scan(tx, func(d store.Doc[crm.Account]) (bool, error) { return keep(d.JSON) })
		}
		return app.Service.CRM.Contacts.Table.Scan(tx, func(d store.Doc[crm.Contact]) (bool, error) { return keep(d.JSON) })
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func hasRecords(t *testing.T, app *apptest.App, org *apptest.Org, entity string, want map[string]string) {
	t.Helper()
	all := recordsOf(t, app, org, entity)
	for id, members := range want {
		var expected map[string]any
		if err := json.Unmarshal([]byte(members), &expected); err != nil {
			t.Fatal(err)
		}
		for key, v := range expected {
			have, _ := json.Marshal(all[id][key])
			wanted, _ := json.Marshal(v)
			if !bytes.Equal(have, wanted) {
				t.Errorf("%s of %s is %s, want %s", key, id, have, wanted)
			}
		}
	}
}

// TestImportCreatesAccounts checks that contacts of one company get one account, with what the rows say
// of it, and that an existing account is found.
func TestImportCreatesAccounts(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme Sales")
	globex := org.Write.Post("/v1/accounts", map[string]any{"name": "GLOBEX", "country": "Germany"}).Is(201).ID()
	raw, err := os.ReadFile("../rows/testdata/apollo-contacts.csv")
	if err != nil {
		t.Fatal(err)
	}
	r := importFile(t, app, org, "contacts", string(raw), record.ImportOptions{CreateMissing: []string{"accounts", "tags"}, Tags: []string{"Apollo"}})
	if r.ValuesDropped != 1 || r.Added != 3 || r.Updated+r.Unchanged != 1 { // Company Name for Emails has another name
		t.Errorf("%+v", r)
	}
	contacts, accounts := recordsOf(t, app, org, "contacts"), recordsOf(t, app, org, "accounts")
	if id := contacts["60a2"]["account_id"]; id != globex || len(accounts) != 3 {
		t.Errorf("the account of Bo is %v of %d, want %v", id, len(accounts), globex)
	}
	hasRecords(t, app, org, "accounts", map[string]string{"50a1": `{"name": "Acme GmbH", "website": "acme.example", "employee_count": 120, "annual_revenue": 25000000,
		"industry": "machinery", "country": "Germany", "linkedin_url": "http://www.linkedin.com/company/acme", "source": "csv"}`})
	if tags, _ := contacts["60a1"]["tags"].([]any); len(tags) != 3 { // Q4 list, Germany and Apollo
		t.Errorf("Ada has the tags %v", tags)
	}
	// Another spelling of the company and a person without an address.
	r = importFile(t, app, org, "contacts", "Name,Company\nAda Berg,acme  gmbh\nNew Person,ACME GMBH\nNew Person,Hooli\n", record.ImportOptions{CreateMissing: []string{"accounts"}})
	if r.Added != 2 || r.Updated+r.Unchanged != 1 || len(recordsOf(t, app, org, "accounts")) != 3 {
		t.Errorf("%+v", r)
	}
	if _, err := tryImport(t, app, org, "contacts", "email\na@x.example\n", record.ImportOptions{Tags: []string{"Unknown"}}); err == nil || !strings.Contains(err.Error(), `tags: "Unknown" does not exist`) {
		t.Error(err)
	}
}

// TestImportMatchesAuto checks which record a row updates by default.
func TestImportMatchesAuto(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme Sales")
	header := "external_id,email,linkedin_url,first_name,last_name,title\n"
	importFile(t, app, org, "contacts", header+
		"E1,ada@x.example,linkedin.com/in/ada,Ada,Berg,1\n"+
		",bo@x.example,,Bo,Lum,2\n"+
		",,linkedin.com/in/cy,Cy,Ray,3\n"+
		",,,Di,Fox,4\n", record.ImportOptions{})
	for _, c := range []struct {
		row     string
		updates bool
	}{
		{"e1,other@x.example,,Ada,,a", true},
		{",OTHER@x.example,,,,b", true},
		{",new@x.example,https://www.LinkedIn.com/in/ada/,,,c", true},
		{",,,bo,LUM,d", true},
		{",bo2@x.example,,Bo,Lum,e", false}, // another address, so perhaps somebody else
		{"E2,,,Di,Fox,f", true},
		{"E3,,,Di,Fox,g", false},
		{",,https://de.linkedin.com/in/cy,Cyrus,Ray,h", true},
	} {
		options := record.ImportOptions{DryRun: true}
		dry := importFile(t, app, org, "contacts", header+c.row+"\n"+c.row+"\n", options)
		options.DryRun = false
		r := importFile(t, app, org, "contacts", header+c.row+"\n"+c.row+"\n", options)
		if (r.Added == 0) != c.updates || r.Added+r.Updated+r.Unchanged != 2 || r.Added > 1 || counts(&dry.Report) != counts(&r.Report) {
			t.Errorf("%s: %d added, %d updated; dry run: %s", c.row, r.Added, r.Updated, counts(&dry.Report))
		}
	}
	r := importFile(t, app, org, "contacts", header+",bo@x.example,,Bo,Lum,x\n", record.ImportOptions{MatchOn: record.MatchNone})
	if r.Added != 1 {
		t.Errorf("without a match, a row is not added: %+v", r)
	}
	accounts := "name,website,country\n"
	importFile(t, app, org, "accounts", accounts+"Acme,acme.example,Germany\nGlobex,,\nHooli,linkedin.com/company/hooli,USA\n", record.ImportOptions{})
	for _, c := range []struct {
		row     string
		updates bool
	}{
		{"ACME,,germany", true},
		{"Acme,,Austria", false},
		{"Acme,acme.test,Germany", false},
		{"Acme Inc,shop.acme.example,", true},
		{"globex,,France", true},
		{"Hooli,linkedin.com/company/other,USA", true},
	} {
		if r := importFile(t, app, org, "accounts", accounts+c.row+"\n", record.ImportOptions{}); (r.Updated+r.Unchanged == 1) != c.updates {
			t.Errorf("%s: %+v", c.row, r)
		}
	}
}

// TestDryRunOfBatches checks that a dry run counts rows that match rows of earlier batches as the import
// does, also by the name and an account that does not exist yet.
func TestDryRunOfBatches(t *testing.T) {
	app := apptest.New(t)
	var b strings.Builder
	b.WriteString("Email,First name,Last name,Company\n")
	for i := range 3300 {
		switch i % 3 {
		case 0:
			fmt.Fprintf(&b, "p%d@x.example,Ada,Berg,Acme %d\n", i%1500, i%7)
		case 1:
			fmt.Fprintf(&b, ",P%d,Berg,Acme %d\n", i%1400, i%7)
		default:
			fmt.Fprintf(&b, "q%d@x.example,Q%d,Berg,\n", i%1600, i%800)
		}
	}
	options := record.ImportOptions{CreateMissing: []string{"accounts"}, DryRun: true}
	org := app.Org("Acme Sales")
	dry := importFile(t, app, org, "contacts", b.String(), options)
	options.DryRun = false
	real := importFile(t, app, org, "contacts", b.String(), options)
	if counts(&dry.Report) != counts(&real.Report) || real.Updated == 0 || real.Added == 0 {
		t.Errorf("the dry run counts %s, the import %s", counts(&dry.Report), counts(&real.Report))
	}
	text := "E-Mail\n" + strings.Repeat("a@x.example\nA@X.example\n", 700)
	dry = importFile(t, app, org, "suppressions", text, record.ImportOptions{DryRun: true})
	real = importFile(t, app, org, "suppressions", text, record.ImportOptions{})
	if counts(&dry.Report) != counts(&real.Report) || real.Added != 1 {
		t.Errorf("the dry run counts %s, the import %s", counts(&dry.Report), counts(&real.Report))
	}
}

// TestNaughtyStrings imports cells that break programs: each is kept as it is, made one line, or
// dropped and reported, and every row with an address is imported.
func TestNaughtyStrings(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme Sales")
	naughty := []string{
		"undefined", "null", "NaN", "Infinity", "-1E2", "0x0", "\\", "\\\\", "<script>alert(1)</script>", "'; DROP TABLE contacts; --", "1' OR 1=1 -- ", "$(touch x)", "`id`", "{{7*7}}", "%s%s%n", "../../etc/passwd",
		"=1+1", "+1", "-1", "@SUM(A1)", "'=1", "\tx", "a\x00b", "\x01\x02\x1f\x7f", "\u0085\u200b\u180e\ufeff\u00ad", "\u202eevil\u202c", "\u2066test\u2069", "ثم نفس سقطت", "הָיְתָהtestالصفحات", "田中さん", "😍👩‍👩‍👧‍👦🇩🇪", "Ṱ̺̺̕o͞ ̷i̲̬͇", "z̷̛a̸l̵g̷o̸", "ﷺﷺ", "K\u0301", "I\u0307ı",
		"\xff\xfe\xfd", "\xed\xa0\x80", "\"quoted\"", "a\r\nb", "a\u2028b", strings.Repeat("長", 20_000), strings.Repeat("a ", 60_000), "CON", "about:blank", "\x1b[31mred\x1b[0m", "Robert'); --", "\u2029",
	}
	quoted := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
	var b strings.Builder
	b.WriteString("Email;First Name;Last Name;Notes;Tags;Company;LinkedIn;Phone\nzoë@x.example;Zoë;Müller;äöü äöü äöü äöü äöü äöü äöü;;;;\n")
	for i, s := range naughty {
		fmt.Fprintf(&b, "n%d@x.example;%s\n", i, strings.Join(slices.Repeat([]string{quoted(s)}, 7), ";"))
	}
	for _, options := range []record.ImportOptions{{DryRun: true}, {}, {CreateMissing: []string{"tags", "accounts"}}} {
		r := importFile(t, app, org, "contacts", b.String(), options)
		if r.Skipped != 0 || r.Rows != len(naughty)+1 || r.Encoding != "utf-8" {
			t.Errorf("%+v", r.Problems.List())
		}
		for _, p := range r.Problems.List() {
			if len(p.Value) > 1000 || !utf8.ValidString(p.Value) {
				t.Errorf("%q is shown", p.Value)
			}
		}
	}
	for _, c := range recordsOf(t, app, org, "contacts") {
		for _, key := range []string{"first_name", "last_name"} {
			if text, _ := c[key].(string); strings.ContainsFunc(text, unicode.IsControl) || !utf8.ValidString(text) {
				t.Errorf("%s is %q", key, text)
			}
		}
	}
	org.Read.Post("/v1/contacts/list", map[string]any{}).Is(200)
}
