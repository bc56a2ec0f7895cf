package cmd_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

// listedColumn returns one column of an unfiltered list in its default order.
func (s *server) listedColumn(key, entity, field string) string {
	s.t.Helper()
	var column []string
	for _, record := range s.records(key, entity) {
		column = append(column, fmt.Sprint(record[field]))
	}
	return strings.Join(column, ", ")
}

func TestCatalogImport(t *testing.T) {
	t.Parallel()
	acmeBothWays(t, func(t *testing.T, d *acmePlace) {
		d.write("companies.csv", "\ufeffID,Firm,Net,Staff,Keywords,Location\r\n"+
			"c1,Acme,HTTPS://WWW.Acme.example/about,250,saas|cloud,\"Street 1, \"\"the\"\"\r\ntown\"\r\n"+
			"c2,Globex,http://,51-200,,\r\n"+
			"c3,Hooli,http://,,,\r\n"+
			"c4,,umbrella.example,,,\r\n")
		d.write("people.jsonl.gz", zipped(`{"id": 1, "first_name": "Ada", "title": "VP Sales", "company_website": "acme.example", "Net": "https://linkedin.com/in/ada"}
{"id": 2, "first_name": "Bob", "company_website": "later.example"}
{"id": 3, "title": "CEO"}
`))
		args := []string{"catalog", "import", "--companies", "companies.csv", "--people", "people.jsonl.gz", "--map", "Firm=name", "--map", "Staff=employee_count"}
		// Without a mapping, the website column is unknown.
		ignored := "warning: companies.csv: column \"Net\" was ignored: companies have no such field\n" +
			"warning: people.jsonl.gz: column \"Net\" was ignored: people have no such field\n"
		first := d.run(append(args, "--json", "--dry-run")...).withoutProgress().reports(ignored)
		counts := `{"companies": {"rows": 4, "added": 3, "updated": 0, "skipped": 1, "values_dropped": 0, "encoding": "utf-8", "delimiter": ","},
			"people": {"rows": 3, "added": 2, "updated": 0, "skipped": 1, "values_dropped": 0, "encoding": "utf-8"}, "problems": [
			{"file": "companies.csv", "column": "", "value": "", "message": "name: required", "count": 1, "first_line": 6},
			{"file": "people.jsonl.gz", "column": "", "value": "", "message": "email: required, or linkedin_url, or first_name or last_name", "count": 1, "first_line": 3}], "warnings": "<any>"}`
		first.prints(counts)
		d.run("catalog", "stats", "--json").withoutProgress().prints(`{"companies": 0, "people": 0, "people_without_employer": 0}`)
		d.run(append(args, "--json")...).withoutProgress().reports(ignored).prints(counts)
		d.run("catalog", "stats", "--json").withoutProgress().prints(`{"companies": 3, "people": 2, "people_without_employer": 2}`)
		// With a mapping it is known in the file that has it: companies have no company_website,
		// and people no website.
		d.run(append(args, "--map", "Net=website", "--rejects", "rejects.csv")...).withoutProgress().reports("warning: people.jsonl.gz: column \"Net\" was ignored: people have no such field\n" +
			"companies.csv: 2 rows, first line 4: Net: \"http://\" is not a website or domain such as acme.example\ncompanies.csv: line 6: name: required\n" +
			"people.jsonl.gz: line 3: email: required, or linkedin_url, or first_name or last_name\n").
			says("Imported companies: 0 added, 3 updated, 1 skipped, 2 values dropped\nImported people: 0 added, 2 updated, 1 skipped, 0 values dropped\n")
		if got, err := os.ReadFile(d.place.path("rejects-companies.csv")); err != nil || string(got) != "\ufeffID,Firm,Net,Staff,Keywords,Location,why skipped\nc4,,umbrella.example,,,,name: required\n" {
			t.Errorf("the rejects are %q, %v", got, err)
		}
		d.run("catalog", "stats").withoutProgress().says("The catalog has 3 companies and 2 people, 1 of them without an employer\n")
		// Either file can be imported alone, also from standard input. The company that a person
		// refers to may come later.
		d.feed(strings.NewReader("name;website\nLater;later.example\n"), "catalog", "import", "--companies", "-").
			says("Imported companies: 1 added, 0 updated, 0 skipped, 0 values dropped\n")
		d.feed(strings.NewReader("LinkedIn,Name\nlinkedin.com/in/cid,Cid\n"), "catalog", "import", "--people", "-", "--map", "LinkedIn=linkedin_url", "--map", "Name=last_name").
			says("Imported people: 1 added, 0 updated, 0 skipped, 0 values dropped\n")
		d.run("catalog", "stats", "--json").withoutProgress().prints(`{"companies": 4, "people": 3, "people_without_employer": 1}`)

		d.served(func(s *server) {
			if got := s.listedColumn(d.key, "companies", "name"); got != "Acme, Globex, Hooli, Later" {
				t.Error(got)
			}
			if got := s.listedColumn(d.key, "companies", "location"); got != "Street 1, \"the\"\r\ntown, <nil>, <nil>, <nil>" {
				t.Errorf("%q", got)
			}
			if got := s.listedColumn(d.key, "companies", "website"); got != "acme.example, <nil>, <nil>, later.example" {
				t.Error(got)
			}
			if got := s.listedColumn(d.key, "people", "seniority"); got != "<nil>, VP, <nil>" { // Cid has a last name
				t.Error(got)
			}
		})
		d.passesCheck()
	})
}

// records returns all records of a list in its default order.
func (s *server) records(key, entity string) []map[string]any {
	s.t.Helper()
	var page struct{ Data []map[string]any }
	decodeInto(s.t, s.do(http.StatusOK, key, "POST", "/v1/"+entity+"/list", `{"page_size": 500}`).body, &page)
	return page.Data
}

// TestCatalogMapping checks that mappings apply to both files, and that a mapping is reported if
// neither file has its column.
func TestCatalogMapping(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("c.csv", "Key,Land,Firm\nc1,DE,Acme\n")
	p.write("p.csv", "Key,Given,Employer\np1,Ada,c1\n")
	args := []string{"catalog", "import", "--companies", "c.csv", "--people", "p.csv", "--map", "Key=id", "--map", "Firm=name", "--map", "Given=first_name", "--map", "Employer=company_id"}
	p.run(append(args, "--map", "Land=country")...).withoutProgress().reports("warning: p.csv: the file has no column \"Land\", which is mapped\n").
		says("Imported companies: 1 added, 0 updated, 0 skipped, 0 values dropped\nImported people: 1 added, 0 updated, 0 skipped, 0 values dropped\n")
	p.run("catalog", "stats", "--json").withoutProgress().prints(`{"companies": 1, "people": 1, "people_without_employer": 0}`)
	p.run(append(args, "--map", "Land=land")...).fails(1, `--map: "Land" is mapped to "land", which is not a field of companies or people`)
	p.run(append(args, "--map", "Town=sub_industry")...).withoutProgress().fails(1, `c.csv: mapping: column "Town" is mapped, but the file does not have it; its columns are: Key, Land, Firm`)
	p.run("catalog", "import", "--companies", "c.csv", "--map", "Key=id", "--map", "Town=country").withoutProgress().fails(1, `c.csv: mapping: column "Town" is mapped, but the file does not have it`)
}

// TestCatalogRefusals checks that invalid input imports nothing, and that rows imported before an
// invalid file are reported.
func TestCatalogRefusals(t *testing.T) {
	t.Parallel()
	acmeBothWays(t, func(t *testing.T, d *acmePlace) {
		d.write("good.csv", "name\nAcme\n")
		d.write("bad.csv", "name,employee_count\n,5\nGlobex,many\n")
		d.write("header.csv", "name\n")
		d.write("other.csv", "pet\nRex\n")
		for _, c := range []struct{ line, says string }{
			{"", "catalog import requires --companies or --people"},
			{"--companies - --people -", "only one of --companies and --people can be standard input"},
			{"--companies good.csv --on-bad-value guess", `--on-bad-value: "guess" is not one of: drop_value, skip_row`},
			{"--companies good.csv --map x", `--map: "x" is not of the form column=field`},
		} {
			d.run(append([]string{"catalog", "import"}, strings.Fields(c.line)...)...).fails(2, c.says)
		}
		imports := func(args ...string) result {
			t.Helper()
			return d.run(append([]string{"catalog", "import"}, args...)...).withoutProgress()
		}
		imports("--companies", "good.csv", "--people", "nosuch.csv").fails(1, "nosuch.csv", "no such file")
		imports("--companies", "other.csv").fails(1, "other.csv: mapping: no column is a field of companies: pet")
		imports("--companies", "header.csv").fails(1, "the files contain no rows; nothing was imported")
		imports("--companies", "bad.csv", "--json", "--on-bad-value", "skip_row").failsWithOutput(`{"companies": "<any>", "people": {"rows": 0, "added": 0, "updated": 0, "skipped": 0, "values_dropped": 0}, "problems": [
			{"file": "bad.csv", "column": "", "value": "", "message": "name: required", "count": 1, "first_line": 2},
			{"file": "bad.csv", "column": "", "value": "", "message": "employee_count: \"many\" is not an integer", "count": 1, "first_line": 3},
			{"file": "bad.csv", "column": "employee_count", "value": "many", "message": "is not an integer", "count": 1, "first_line": 3}], "warnings": []}`,
			"no row is valid; nothing was imported")
		d.run("catalog", "stats", "--json").withoutProgress().prints(`{"companies": 0, "people": 0, "people_without_employer": 0}`)
		imports("--companies", "good.csv", "--people", "other.csv", "--json").failsWithOutput(`{"companies": "<any>", "people": "<any>",
			"problems": [], "warnings": [], "failed": "other.csv: mapping: no column is a field of people: pet; map the columns to fields"}`,
			"the import stopped early: other.csv: mapping: no column", "1 companies and 0 people were added or updated before and are kept")
		// One valid row in either file is enough.
		d.write("person.csv", "first_name\nAda\n")
		r := imports("--companies", "bad.csv", "--people", "person.csv", "--json")
		if r.status != 0 {
			t.Errorf("%+v", r)
		}
	})
}

func TestCatalogGenerate(t *testing.T) {
	t.Parallel()
	acmeBothWays(t, func(t *testing.T, d *acmePlace) {
		d.run("catalog", "generate", "--companies", "400", "--people-per-company", "2", "--seed", "7").withoutProgress().
			says(`The catalog has 400 companies and 800 people, \d+ of them without an employer\n`)
		d.run("catalog", "generate", "--companies", "300", "--people-per-company", "2", "--seed", "7", "--json").withoutProgress().
			prints(`{"companies": 400, "people": 800, "people_without_employer": "<any>"}`)
		d.run("catalog", "generate", "--companies", "500", "--people-per-company", "3", "--seed", "7", "--json").withoutProgress().
			prints(`{"companies": 500, "people": 1500, "people_without_employer": "<any>"}`)
		d.run("catalog", "generate", "--companies", "10", "--people-per-company", "0", "--seed", "8", "--json").withoutProgress().
			prints(`{"companies": 510, "people": 1500, "people_without_employer": "<any>"}`)
		d.served(func(s *server) {
			if n := s.total(d.key, "companies", `{"filters": [{"field": "website", "condition": "contains", "value": ".example"}]}`); n < 450 {
				t.Errorf("%d companies have a reserved domain", n)
			}
			if n := s.total(d.key, "people", `{"filters": [{"field": "seniority", "condition": "is", "value": "VP"}]}`); n < 50 {
				t.Errorf("%d people have the seniority VP", n)
			}
		})
		d.passesCheck()
		for _, c := range []struct{ line, says string }{
			{"--companies 0", "--companies must be at least 1"},
			{"--companies 5 --people-per-company -1", "--people-per-company must be at least 0"},
			{"--companies 1000000 --people-per-company 1000", "must make at most 100000000 people"},
			{"--companies many", "invalid argument"},
			{"--seed -1", "invalid argument"},
		} {
			d.run(append([]string{"catalog", "generate"}, strings.Fields(c.line)...)...).fails(2, c.says)
		}
	})
}

// TestCatalogCreatesStore checks that catalog import creates a store if there is none.
func TestCatalogCreatesStore(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.run("catalog", "stats").fails(1, "there is no store in")
	p.run("catalog", "generate", "--companies", "2", "--people-per-company", "1", "--json").withoutProgress().prints(`{"companies": 2, "people": 2, "people_without_employer": "<any>"}`)
	if _, key := p.org("Acme"); key == "" {
		t.Error("no key was printed")
	}
	p.passesCheck()
}
