package cmd_test

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// acmePlace is a place with one organization, Acme.
type acmePlace struct {
	*place
	org, key string
	s        *server // nil if no server is running
}

// acmeBothWays runs a test without a server, where commands open the store themselves, and with a
// server. The race detector only covers the latter: the former has no concurrency, and every
// command would be slow.
func acmeBothWays(t *testing.T, test func(t *testing.T, d *acmePlace)) {
	for _, running := range []bool{false, true} {
		if apptest.RaceDetector && !running {
			continue
		}
		name := "without a server"
		if running {
			name = "with a server"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newAcmePlace(t, running)
			test(t, d)
			if running {
				d.s.stop()
				d.s.hasNoErrors()
			}
		})
	}
}

func newAcmePlace(t *testing.T, running bool) *acmePlace {
	t.Helper()
	d := &acmePlace{place: newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")}
	d.org, d.key = d.place.org("Acme")
	if running {
		d.s = d.serve()
	}
	return d
}

// served calls fn with the running server, or with one started for the call.
func (d *acmePlace) served(fn func(s *server)) {
	d.t.Helper()
	if d.s != nil {
		fn(d.s)
		return
	}
	s := d.serve()
	fn(s)
	s.stop()
}

// imports imports a file with the content.
func (p *place) imports(entity, content string, flags ...string) result {
	p.t.Helper()
	p.write("rows", content)
	return p.run(append([]string{"import", entity, "rows", "--org", "Acme"}, flags...)...).withoutProgress()
}

// reports checks that stderr is exactly this text, and removes it.
func (r result) reports(stderr string) result {
	r.t.Helper()
	if r.stderr != stderr {
		r.t.Fatalf("%s\nprints %q on stderr, want %q", r.what, r.stderr, stderr)
	}
	r.stderr = ""
	return r
}

// exported returns all records of an entity in order of creation.
func (p *place) exported(org, entity string) string {
	p.t.Helper()
	file := p.path("records.jsonl")
	p.run("org", "export", "--org", org, file, "--json").done()
	content, err := os.ReadFile(file)
	if err == nil {
		err = os.Remove(file)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	var records []string
	for line := range strings.Lines(string(content)) {
		var l struct {
			Entity string
			Record json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			p.t.Fatalf("%v: %s", err, line)
		}
		if l.Entity == entity {
			records = append(records, string(l.Record))
		}
	}
	return "[" + strings.Join(records, ", ") + "]"
}

// hasRecords checks that Acme has exactly these records of an entity.
func (d *acmePlace) hasRecords(entity string, records ...string) {
	d.t.Helper()
	got := d.exported(d.org, entity)
	if diff := apptest.Diff("["+strings.Join(records, ", ")+"]", got); diff != "" {
		d.t.Errorf("the %s: %s\n%s", entity, diff, got)
	}
}

// imported returns a record as an import creates it, with the given members and defaults for the
// others.
func imported(entity, members string) string {
	if entity != "suppressions" {
		members = `"source": "csv", ` + members
	}
	return apptest.Record(entity, "{"+members+"}")
}

func TestImportContacts(t *testing.T) {
	t.Parallel()
	acmeBothWays(t, func(t *testing.T, d *acmePlace) {
		var tag, account string
		d.served(func(s *server) {
			tag = s.tag(d.key, "Champion")
			account = s.id(s.do(http.StatusCreated, d.key, "POST", "/v1/accounts", `{"name": "Initech", "website": "initech.example"}`))
			s.do(http.StatusCreated, d.key, "POST", "/v1/fields", `{"entity": "contacts", "key": "tier", "label": "Tier", "data_type": "enum", "allowed_values": ["gold", "silver"]}`)
		})
		const file = `First Name,location,E-Mail,custom_field_tier,Tags,account_website,Shoe size,scoring.heat_score,source
Ada,"Love
lace",ada@x.example,gold,champion,https://www.initech.example/,39,hot,api
Bob,Stone,not an address,silver,,,,,
Eve,Short

Cid,Ray,cid@x.example,bronze,,,,,
Dan,Fox,dan@x.example,,Nosuch,nowhere.example,,,
,,,,,,,,
Fay,"""Q"", etc.",fay@x.example,silver,,,,,
`
		const warnings = "warning: column \"Shoe size\" was ignored: contacts have no such field\n"
		const nobody = "email: required, unless linkedin_url or both first_name and last_name are set"
		problems := []string{
			`2 rows, first line 4: ` + nobody,
			`line 4: E-Mail: "not an address" is not an email address`,
			`line 7: custom_field_tier: "bronze" is not one of: gold, silver`,
			`line 8: account_website: "nowhere.example" belongs to no account; create_missing can create it`,
			`line 8: Tags: "Nosuch" is not the name of a tag; create_missing can create it`,
		}
		outcome := func(more string) string {
			return `{"id": "<id>", "encoding": "utf-8", "delimiter": ",", "rows": 6, "unchanged": 0, "skipped": 2, "values_dropped": 3, "opt_outs_kept": 0, "erased": 0, "suppressed": 0, "changes": [], "problems": [
				{"column": "", "value": "", "message": "` + nobody + `", "count": 2, "first_line": 4},
				{"column": "E-Mail", "value": "not an address", "message": "is not an email address", "count": 1, "first_line": 4},
				{"column": "custom_field_tier", "value": "bronze", "message": "is not one of: gold, silver", "count": 1, "first_line": 7},
				{"column": "account_website", "value": "nowhere.example", "message": "<any>", "count": 1, "first_line": 8},
				{"column": "Tags", "value": "Nosuch", "message": "<any>", "count": 1, "first_line": 8}], "warnings": "<any>", ` + more + `}`
		}
		ada := `"first_name": "Ada", "location": "Love\nlace", "email": "ada@x.example", "custom_field_tier": "gold", "tags": ["` + tag + `"],
			"account_id": "` + account + `", "scoring": {"heat_score": "hot"}`
		cid := `"first_name": "Cid", "location": "Ray", "email": "cid@x.example"`
		dan := `"first_name": "Dan", "location": "Fox", "email": "dan@x.example"`
		fay := `"first_name": "Fay", "location": "\"Q\", etc.", "email": "fay@x.example", "custom_field_tier": "silver"`
		others := []string{imported("contacts", cid), imported("contacts", dan), imported("contacts", fay)}
		has := func(ada string, more ...string) {
			t.Helper()
			d.hasRecords("contacts", slices.Concat([]string{imported("contacts", ada)}, others, more)...)
		}

		d.imports("contacts", file, "--dry-run", "--json").reports(warnings).prints(outcome(`"added": 4, "updated": 0, "dry_run": true`))
		d.hasRecords("contacts")
		d.imports("contacts", file, "--json").reports(warnings).prints(outcome(`"added": 4, "updated": 0, "dry_run": false`))
		has(ada)
		// Importing again updates the same contacts with the same values.
		again := d.exported(d.org, "contacts")
		d.imports("contacts", file, "--map", "E-Mail=email", "--match-on", "email", "--rejects", d.path("rejects.csv")).reports(warnings + strings.Join(problems, "\n") + "\n").
			says("Imported contacts: 0 added, 0 updated, 4 unchanged, 2 skipped, 3 values dropped\n")
		if now := d.exported(d.org, "contacts"); now != again {
			t.Errorf("importing again changed the records to\n%s\nfrom\n%s", now, again)
		}
		rejects, err := os.ReadFile(d.path("rejects.csv"))
		if lines := strings.Split(string(rejects), "\n"); err != nil || len(lines) != 4 || !strings.HasSuffix(lines[0], ",source,why skipped") ||
			lines[1] != `Bob,Stone,not an address,silver,,,,,,"E-Mail: ""not an address"" is not an email address; `+nobody+`"` {
			t.Errorf("the rejects are %s (%v)", rejects, err)
		}
		d.imports("contacts", file, "--rejects", d.path("rejects.csv")).fails(1, "rejects.csv already exists")
		// Empty cells and missing columns leave existing values unchanged.
		d.imports("contacts", "email,title,first_name,tags,account_id,scoring.heat_score\nADA@x.example,CEO,, ,,\n").
			says("Imported contacts: 0 added, 1 updated, 0 skipped, 0 values dropped\n")
		ada = strings.Replace(ada, `"ada@x.example"`, `"ADA@x.example", "title": "CEO"`, 1)
		has(ada)
		// Without a field to match by, the same rows create new contacts.
		d.imports("contacts", "email\nfay@x.example\n", "--match-on", "none").says("Imported contacts: 1 added, 0 updated, 0 skipped, 0 values dropped\n")
		has(ada, imported("contacts", `"email": "fay@x.example"`))
		d.imports("contacts", "email,employee_count\nnew@x.example,\nbob@x.example,\n", "--on-bad-value", "skip_row", "--tag", "Nosuch").fails(1, "tags", "Nosuch")

		d.served(func(s *server) {
			s.counts(d.key, "source", "is", `"csv"`, 5)
			s.counts(d.key, "custom_field_tier", "is", `"gold"`, 1)
			id := s.pages(d.key, `{"sort": "id"}`)[0]
			if n := strings.Count(s.history(d.key, id), `"operation":"import contacts"`); n != 2 {
				t.Errorf("the history has %d imports, want 2: %s", n, s.history(d.key, id))
			}
		})
		d.passesCheck()
	})
}

func TestImportAccounts(t *testing.T) {
	t.Parallel()
	acmeBothWays(t, func(t *testing.T, d *acmePlace) {
		const file = `{"name": "Initech", "website": "https://www.initech.example", "employee_count": 250, "external_id": "a1", "color": "red"}
{"name": "Hooli", "employee_count": "40"}
{"website": "nameless.example"}
{"name": "Half"
{"name": "Umbrella", "employee_count": "many"}
["name", "List"]

{"name": "Hooli", "name": "Twice"}
`
		const warnings = "warning: column \"color\" was ignored: accounts have no such field\n"
		first := d.imports("accounts", file, "--json").reports(warnings)
		if strings.Contains(first.stdout, "invalid_json") {
			t.Errorf("the output contains the code of an error, which is only for programs: %s", first.stdout)
		}
		first.prints(`{"id": "<id>", "dry_run": false, "encoding": "utf-8", "delimiter": "", "rows": 7, "added": 3, "updated": 0, "unchanged": 0, "skipped": 4, "values_dropped": 1, "opt_outs_kept": 0, "erased": 0, "suppressed": 0, "changes": [], "problems": [
			{"column": "", "value": "", "message": "name: required", "count": 1, "first_line": 3},
			{"column": "", "value": "", "message": "<any>", "count": 1, "first_line": 4},
			{"column": "employee_count", "value": "many", "message": "is not an integer", "count": 1, "first_line": 5},
			{"column": "", "value": "", "message": "<any>", "count": 1, "first_line": 6},
			{"column": "", "value": "", "message": "<any>", "count": 1, "first_line": 8}], "warnings": "<any>"}`)
		initech := `"name": "Initech", "website": "initech.example", "employee_count": 250, "external_id": "a1"`
		hooli, umbrella := `"name": "Hooli", "employee_count": 40`, imported("accounts", `"name": "Umbrella"`)
		d.hasRecords("accounts", imported("accounts", initech), imported("accounts", hooli), umbrella)

		// A matched record needs no name. null and an empty string also leave values unchanged.
		d.imports("accounts", `{"website": "INITECH.example", "industry": "Software", "employee_count": null, "external_id": ""}`, "--match-on", "website").
			says("Imported accounts: 0 added, 1 updated, 0 skipped, 0 values dropped\n")
		initech += `, "industry": "Software"`
		d.hasRecords("accounts", imported("accounts", initech), imported("accounts", hooli), umbrella)
		d.imports("accounts", "external_id,name,country\nA1,Initech Inc.,US\na2,Umbrella,GB\n", "--match-on", "external_id").
			says("Imported accounts: 1 added, 1 updated, 0 skipped, 0 values dropped\n")
		initech = strings.NewReplacer(`"Initech"`, `"Initech Inc.", "country": "US"`, `"a1"`, `"A1"`).Replace(initech)
		d.hasRecords("accounts", imported("accounts", initech), imported("accounts", hooli), umbrella, imported("accounts", `"name": "Umbrella", "country": "GB", "external_id": "a2"`))
		// An id that does not exist is dropped like any other value that cannot be used.
		d.imports("accounts", "id,name,country\n"+absent+",Nobody,DE\n", "--json").prints(`{"id": "<id>", "dry_run": false, "encoding": "utf-8", "delimiter": ",",
			"rows": 1, "added": 1, "updated": 0, "unchanged": 0, "skipped": 0, "values_dropped": 1, "opt_outs_kept": 0, "erased": 0, "suppressed": 0, "changes": [], "problems": [
			{"column": "id", "value": "` + absent + `", "message": "does not exist", "count": 1, "first_line": 2}], "warnings": []}`)
		d.passesCheck()
	})
}

func TestImportSuppressions(t *testing.T) {
	t.Parallel()
	acmeBothWays(t, func(t *testing.T, d *acmePlace) {
		const file = "Email,domain,reason\nstop@x.example,,asked to\n,never.example,\nSTOP@X.example,,again\n,,nobody\nboth@x.example,x.example,\nno address,,\n"
		d.imports("suppressions", file, "--json").prints(`{"id": "<id>", "dry_run": false, "encoding": "utf-8", "delimiter": ",",
			"rows": 6, "added": 3, "updated": 0, "unchanged": 1, "skipped": 2, "values_dropped": 1, "opt_outs_kept": 0, "erased": 0, "suppressed": 0, "changes": [], "problems": [
			{"column": "", "value": "", "message": "email: required, unless domain is set", "count": 2, "first_line": 5},
			{"column": "domain", "value": "x.example", "message": "not allowed together with email", "count": 1, "first_line": 6},
			{"column": "Email", "value": "no address", "message": "is not an email address", "count": 1, "first_line": 7}], "warnings": []}`)
		list := []string{
			imported("suppressions", `"email": "stop@x.example", "reason": "asked to"`), imported("suppressions", `"domain": "never.example"`),
			imported("suppressions", `"email": "both@x.example"`),
		}
		d.hasRecords("suppressions", list...)
		// An existing suppression is valid and stays unchanged.
		before := d.exported(d.org, "suppressions")
		d.imports("suppressions", "email,reason\nstop@x.example,another\n").says("Imported suppressions: 0 added, 0 updated, 1 unchanged, 0 skipped, 0 values dropped\n")
		d.imports("suppressions", "Address,note\nstop@x.example,another\n", "--map", "Address=email", "--map", "note=reason").
			says("Imported suppressions: 0 added, 0 updated, 1 unchanged, 0 skipped, 0 values dropped\n")
		if after := d.exported(d.org, "suppressions"); after != before {
			t.Errorf("the existing suppression is now %s, it was %s", after, before)
		}
		d.served(func(s *server) {
			if n := s.total(d.key, "suppressions", `{}`); n != 3 {
				t.Errorf("the list has %d suppressions, want 3", n)
			}
		})
		d.passesCheck()
	})
}

// failsWithOutput checks that the exit status is 1, that stderr is one line, and that the command
// still printed its JSON object.
func (r result) failsWithOutput(want string, texts ...string) {
	r.t.Helper()
	if diff := apptest.Diff(want, r.stdout); diff != "" {
		r.t.Errorf("%s\n%s\nstdout: %s", r.what, diff, r.stdout)
	}
	r.stdout = ""
	r.fails(1, texts...)
}
