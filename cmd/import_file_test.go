package cmd_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"

	"prospector/internal/apptest"
)

// zipped returns a text compressed with gzip.
func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

// utf16le encodes a text as spreadsheets do for "Unicode" files.
func utf16le(text string) string {
	b := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(text)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// TestImportFormats checks that the format is detected from the content, whatever the name or
// source of the file.
func TestImportFormats(t *testing.T) {
	t.Parallel()
	acmeBothWays(t, func(t *testing.T, d *acmePlace) {
		csv := func(title string) string {
			return "email,title,notes\nada@x.example," + title + ",\"a, b\"\nbob@x.example," + title + ",\n"
		}
		jsonl := func(title string) string {
			return fmt.Sprintf("{\"email\": \"ada@x.example\", \"title\": %q, \"notes\": \"a, b\"}\n{\"email\": \"bob@x.example\", \"title\": %q}\n", title, title)
		}
		apart := func(comma string) func(string) string {
			return func(title string) string {
				return strings.NewReplacer(",\"a, b\"", comma+"a, b", ",", comma).Replace(csv(title))
			}
		}
		made, readAs := "2 added, 0 updated", map[string]string{"UTF-16": "; read as utf-16le"}
		for name, of := range map[string]func(title string) string{
			"CSV":                csv,
			"without a last end": func(title string) string { return strings.TrimSuffix(csv(title), "\n") },
			"CRLF and a mark":    func(title string) string { return "\ufeff" + strings.ReplaceAll(csv(title), "\n", "\r\n") },
			"UTF-16":             func(title string) string { return utf16le(csv(title)) },
			"semicolons":         apart(";"),
			"tabs":               apart("\t"),
			"JSON lines":         jsonl,
			"gzipped CSV":        func(title string) string { return zipped(csv(title)) },
			"gzipped JSON lines": func(title string) string { return zipped(jsonl(title)) },
		} {
			args := []string{"import", "contacts", "-", "--org", "Acme", "--match-on", "email"}
			d.feed(strings.NewReader(of("piped "+name)), args...).says("Imported contacts: " + made + ", 0 skipped, 0 values dropped" + readAs[name] + "\n")
			made = "0 added, 2 updated"
			d.hasTitle("piped " + name)
			args[2] = "file.txt"
			d.write("file.txt", of(name))
			d.run(args...).withoutProgress().says("Imported contacts: " + made + ", 0 skipped, 0 values dropped" + readAs[name] + "\n")
			d.hasTitle(name)
		}
	})
}

// hasTitle checks that the contacts of TestImportFormats have a title.
func (d *acmePlace) hasTitle(title string) {
	d.t.Helper()
	d.hasRecords("contacts", imported("contacts", `"email": "ada@x.example", "notes": "a, b", "title": `+asJSON(title)),
		imported("contacts", `"email": "bob@x.example", "title": `+asJSON(title)))
}

// TestImportUsage covers errors found before any input is read. They need neither a file nor a
// store.
func TestImportUsage(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, c := range []struct{ line, says string }{
		{"import", "missing subcommand (see 'prospector import --help')"},
		{"import tags people.csv --org Acme", `unknown command "import tags"`},
		{"import contacts --org Acme", "requires one argument: the file, or - for standard input"},
		{"import contacts a.csv b.csv --org Acme", "requires one argument"},
		{"import contacts people.csv", "import contacts requires --org"},
		{"import accounts people.csv --org=", "import accounts requires --org"},
		{"import suppressions people.csv", "import suppressions requires --org"},
		{"import contacts people.csv --org Acme --match-on title", `--match-on: "title" is not one of: auto, none, email, linkedin_url, external_id`},
		{"import contacts people.csv --org Acme --match-on Email", `--match-on: "Email" is not one of: auto, none, email`},
		{"import contacts people.csv --org Acme --match-on website", `--match-on: "website" is not one of: auto, none, email`},
		{"import contacts people.csv --org Acme --match-on or", `--match-on: "or" is not one of: auto, none, email`},
		{"import accounts people.csv --org Acme --match-on email", `--match-on: "email" is not one of: auto, none, website, external_id`},
		{"import accounts people.csv --org Acme --match-on or", `--match-on: "or" is not one of: auto, none, website, external_id`},
		{"import suppressions people.csv --org Acme --match-on email", "unknown flag: --match-on"},
		{"import contacts people.csv --org Acme --map email", `--map: "email" is not of the form column=field`},
		{"import contacts people.csv --org Acme --map =email", `--map: "=email" is not of the form column=field`},
		{"import contacts people.csv --org Acme --map Mail=email --map Mail=title", `--map: column "Mail" is mapped twice`},
		{"import contacts people.csv --org Acme --on-bad-value guess", `--on-bad-value: "guess" is not one of: drop_value, skip_row`},
		{"import contacts people.csv --org Acme --create-missing users", `--create-missing: "users" is not one of: tags, accounts`},
		{"import accounts people.csv --org Acme --create-missing accounts", `--create-missing: "accounts" is not one of: tags`},
		{"import contacts people.csv --org Acme --frobnicate", "unknown flag: --frobnicate"},
	} {
		p.run(strings.Fields(c.line)...).fails(2, c.says)
	}
	p.run("import", "contacts", "people.csv", "--org", "Acme").fails(1, "people.csv", "no such file")
	p.write("people.csv", "email\nada@x.example\n")
	p.run("import", "contacts", "people.csv", "--org", "Acme").withoutProgress().fails(1, "no store in "+p.path("data"), "prospector org create")
	if made, err := os.ReadDir(p.dir); err != nil || len(made) != 1 {
		t.Errorf("imports without a store created %v (%v)", made, err)
	}
}

// TestImportRefusals covers errors in the file, the organization or the column mapping. They change
// nothing.
func TestImportRefusals(t *testing.T) {
	t.Parallel()
	acmeBothWays(t, func(t *testing.T, d *acmePlace) {
		first := d.run("org", "create", "--name", "Twin", "--json").text("id")
		second := d.run("org", "create", "--name", "Twin", "--json").text("id")
		d.write("people.csv", "email,Job,Rank\nada@x.example,VP,1\n")
		d.write("empty.csv", "")
		d.write("blank.csv", "\n  \n\r\n")
		d.write("other.csv", "Name of pet,Color\nRex,brown\n")
		d.write("quote.csv", "email,\"title\nada@x.example,VP\n")
		d.write("nobody.csv", "email,title\n,CEO\n")
		d.write("header.csv", "email,title\n")
		d.write("not.gz", "\x1f\x8bnot gzip at all")
		if err := os.Mkdir(d.path("people"), 0o700); err != nil {
			t.Fatal(err)
		}
		type refusal struct {
			file, flags string
			says        []string
		}
		refused := []refusal{
			{"nosuch.csv", "", []string{"nosuch.csv", "no such file or directory"}},
			{"people.csv/more", "", []string{"people.csv/more", "not a directory"}},
			{"people", "", []string{"people is a directory"}},
			{"empty.csv", "", []string{"the file is empty"}},
			{"/dev/null", "", []string{"the file is empty"}},
			{"blank.csv", "", []string{"the file is empty"}},
			{"not.gz", "", []string{"invalid gzip header"}},
			{"quote.csv", "", []string{"header: ", "unclosed quote"}},
			{"other.csv", "", []string{"no column is a field of contacts: Name of pet, Color", "map the columns to fields"}},
			{"people.csv", "--map Rank=rank", []string{`"Rank" is mapped to "rank"`, "first_name", "title"}},
			{"people.csv", "--map Rank=source", []string{`"Rank" is mapped to "source"`}},
			{"people.csv", "--map Rank=created_at", []string{`"Rank" is mapped to "created_at"`}},
			{"people.csv", "--map Rank=custom_field_rank", []string{`"Rank" is mapped to "custom_field_rank"`}},
			{"people.csv", "--map Salary=notes", []string{`"Salary" is mapped`, "does not have it", "email, Job, Rank"}},
			{"people.csv", "--org Nobody", []string{`there is no organization "Nobody"`, "prospector org list"}},
			{"people.csv", "--org " + absent, []string{`there is no organization "` + absent + `"`}},
			{"people.csv", "--org Twin", []string{`2 organizations are named "Twin"`, first, second}},
		}
		if os.Geteuid() != 0 { // file modes do not apply to root
			d.write("secret.csv", "email\nada@x.example\n")
			if err := os.Chmod(d.path("secret.csv"), 0); err != nil {
				t.Fatal(err)
			}
			refused = append(refused, refusal{"secret.csv", "", []string{"secret.csv", "permission denied"}})
		}
		if runtime.GOOS == "linux" { // it can be opened but not read
			refused = append(refused, refusal{"/proc/self/mem", "", []string{"the file cannot be read", "input/output error"}})
		}
		for _, c := range refused {
			args := append([]string{"import", "contacts", c.file, "--org", "Acme"}, strings.Fields(c.flags)...)
			d.run(append(args, "--json")...).withoutProgress().fails(1, c.says...)
			if !apptest.RaceDetector {
				d.run(args...).withoutProgress().fails(1, c.says...)
			}
		}
		d.run("import", "contacts", "header.csv", "--org", "Acme", "--json").withoutProgress().
			failsWithOutput(`{"id": "<id>", "dry_run": false, "encoding": "utf-8", "delimiter": ",", "rows": 0, "added": 0, "updated": 0, "unchanged": 0, "skipped": 0,
				"values_dropped": 0, "opt_outs_kept": 0, "erased": 0, "suppressed": 0, "changes": [], "problems": [], "warnings": []}`, "the file contains no rows; nothing was imported")
		r := d.run("import", "contacts", "nobody.csv", "--org", "Acme").withoutProgress()
		if r.status != 1 || r.stdout != "Imported contacts: 0 added, 0 updated, 1 skipped, 0 values dropped\n" ||
			r.stderr != "line 2: email: required, unless linkedin_url or both first_name and last_name are set\nprospector: no row of the file is valid; nothing was imported\n" {
			t.Errorf("%+v", r)
		}
		d.hasRecords("contacts")
		// A column name may contain any character, including the separator of --map.
		d.imports("contacts", "a=b, Mail \nCEO,ada@x.example\n", "--map", "a=b=title", "--map", "Mail=email").says("Imported contacts: 1 added, 0 updated, 0 skipped, 0 values dropped\n")
		// A mapped column overrides a column of the same name as the field.
		d.imports("contacts", "title,Job,email\nDr.,CTO,bob@x.example\n", "--map", "Job=title").reports("warning: column \"title\" was ignored: another column sets this field\n").ok()
		d.hasRecords("contacts", imported("contacts", `"email": "ada@x.example", "title": "CEO"`), imported("contacts", `"email": "bob@x.example", "title": "CTO"`))
	})
}

// TestImportQuestions checks that an import with a question imports nothing, exits with 1 and names the option, and that the
// option answers it.
func TestImportQuestions(t *testing.T) {
	t.Parallel()
	acmeBothWays(t, func(t *testing.T, d *acmePlace) {
		d.served(func(s *server) {
			s.do(http.StatusCreated, d.key, "POST", "/v1/fields", `{"entity": "contacts", "key": "since", "label": "Since", "data_type": "date"}`)
		})
		d.write("dates.csv", "Email,Since\nada@x.example,03/04/2025\n")
		d.write("words.csv", "Email,Remark\nada@x.example,unsubscribed\nbo@x.example,nice\n")
		asks := func(file, code string, texts ...string) {
			d.run("import", "contacts", file, "--org", "Acme").withoutProgress().fails(1, texts...)
			for _, flag := range []string{"--json", "--dry-run"} {
				r := d.run("import", "contacts", file, "--org", "Acme", flag).withoutProgress()
				if flag == "--json" && !strings.Contains(r.stdout, `"code": "`+code+`"`) {
					t.Errorf("%s\nprints no question %s: %s", r.what, code, r.stdout)
				}
				r.stdout = ""
				r.fails(1, texts...)
			}
		}
		asks("dates.csv", "ambiguous_dates", "nothing was imported", `column "Since"`, "03/04/2025", "--date-order to dmy or mdy")
		asks("words.csv", "mapping_required", "nothing was imported", `--map "Remark=do_not_contact"`, `--map "Remark="`)
		d.hasRecords("contacts")
		d.run("import", "contacts", "dates.csv", "--org", "Acme", "--date-order", "dmy").withoutProgress().
			reports("warning: column \"Since\": dates such as 03/04/2025 were read as day/month\n").says("Imported contacts: 1 added, 0 updated, 0 skipped, 0 values dropped\n")
		d.run("import", "contacts", "words.csv", "--org", "Acme", "--map", "Remark=").withoutProgress().says("Imported contacts: 1 added, 0 updated, 1 unchanged, 0 skipped, 0 values dropped\n")
		d.run("import", "contacts", "words.csv", "--org", "Acme", "--map", "Remark=opt_out_status").withoutProgress().
			reports("warning: column \"Remark\" was read for opt-outs only\n").says("Imported contacts: 0 added, 1 updated, 1 unchanged, 0 skipped, 0 values dropped\n")
		d.hasRecords("contacts", imported("contacts", `"email": "ada@x.example", "custom_field_since": "2025-04-03", "do_not_contact": true`), imported("contacts", `"email": "bo@x.example"`))
		// A file all of whose rows were skipped was imported before, if that is why, and else is a failure.
		d.write("bad.csv", "Email,Title\nnobody,CEO\n")
		d.run("import", "contacts", "words.csv", "--org", "Acme", "--map", "Remark=", "--on-existing", "skip").withoutProgress().reports("2 rows, first line 2: there is such a contact already, and on_existing is skip\n").says("Imported contacts: 0 added, 0 updated, 2 skipped, 0 values dropped\n")
		bad := d.run("import", "contacts", "bad.csv", "--org", "Acme", "--on-existing", "skip").withoutProgress()
		if bad.status != 1 || !strings.Contains(bad.stderr, "no row of the file is valid") {
			t.Errorf("%s\nexits with %d: %s", bad.what, bad.status, bad.stderr)
		}
	})
}

// TestImportRefusedFile checks that a large file whose columns are wrong is refused and removed.
func TestImportRefusedFile(t *testing.T) {
	t.Parallel()
	acmeBothWays(t, func(t *testing.T, d *acmePlace) {
		pets := "Pet,Shoe,Words\n" + strings.Repeat("Rex,39,many words\n", 10_000)
		d.write("large.csv", pets)
		d.write("large.csv.gz", zipped(pets))
		args := []string{"import", "contacts", "large.csv", "--org", "Acme"}
		d.run(args...).withoutProgress().fails(1, "no column is a field of contacts: Pet, Shoe, Words")
		d.run("import", "contacts", "large.csv.gz", "--org", "Acme").withoutProgress().fails(1, "no column is a field of contacts: Pet, Shoe, Words")
		d.run(append(args, "--map", "Pet=pet")...).withoutProgress().fails(1, `"Pet" is mapped to "pet"`)
		d.run(append(args, "--locale", "klingon please")...).withoutProgress().fails(1, "locale", "klingon please")
		// The command does not wait for the end of a pipe if the organization does not exist.
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if _, err := w.WriteString("email\n"); err != nil {
			t.Fatal(err)
		}
		args[2], args[4] = "-", "Nobody"
		d.feed(r, args...).fails(1, `no organization "Nobody"`)
		r.Close()
		d.hasRecords("contacts")
		if files, err := os.ReadDir(d.path("data", "imports")); err != nil || len(files) > 0 {
			t.Errorf("the files %v are left (%v)", files, err)
		}
	})
}

// TestImportsAtOnce checks that two concurrent imports keep all rows of both, and that lists
// contain them as soon as the commands finish.
func TestImportsAtOnce(t *testing.T) {
	t.Parallel()
	const n = 1500 // of each; together they are enough for an index
	acmeBothWays(t, func(t *testing.T, d *acmePlace) {
		var running sync.WaitGroup
		for _, name := range []string{"one", "two"} {
			var b strings.Builder
			b.WriteString("email,title,external_id\n")
			for i := range n {
				fmt.Fprintf(&b, "%s%d@x.example,%s,%s-%d\n", name, i, name, name, i)
			}
			d.write(name, b.String())
			running.Go(func() {
				r, err := d.try("import", "contacts", name, "--org", "Acme")
				if err != nil || r.status != 0 || r.stdout != fmt.Sprintf("Imported contacts: %d added, 0 updated, 0 skipped, 0 values dropped\n", n) {
					t.Errorf("%v: %d %s%s", err, r.status, r.stdout, r.stderr)
				}
			})
		}
		running.Wait()
		d.served(func(s *server) {
			s.counts(d.key, "title", "is", `"one"`, n)
			s.counts(d.key, "title", "is", `"two"`, n)
			s.exports(d.key, 2*n, "three")
			ids := s.pages(d.key, `{"sort": "id", "page_size": 500}`)
			slices.Sort(ids)
			if distinct := len(slices.Compact(ids)); distinct != 2*n {
				t.Errorf("the list has %d contacts, want %d", distinct, 2*n)
			}
			s.do(http.StatusConflict, d.key, "POST", "/v1/contacts", `{"email": "late@x.example", "external_id": "two-7"}`)
		})
		// Two imports match the same records: one creates a record and the other finds it.
		for range 2 {
			running.Go(func() {
				if r, err := d.try("import", "contacts", "one", "--org", "Acme", "--match-on", "external_id"); err != nil || r.status != 0 || !strings.Contains(r.stdout, fmt.Sprintf(" 0 added, 0 updated, %d unchanged", n)) {
					t.Errorf("%v: %d %s%s", err, r.status, r.stdout, r.stderr)
				}
			})
		}
		running.Wait()
		d.passesCheck()
	})
}

// TestImportManyBadRows checks that equal problems of many rows are reported once: why the rows were skipped, and which
// value they have instead. The valid row among them is imported.
func TestImportManyBadRows(t *testing.T) {
	t.Parallel()
	d := newAcmePlace(t, true)
	d.imports("contacts", "email,title\n"+strings.Repeat("no address,VP\n", 10_500)+"ada@x.example,VP\n").
		reports("10500 rows, first line 2: email: required, unless linkedin_url or both first_name and last_name are set\n" +
			"10500 rows, first line 2: email: \"no address\" is not an email address\n").
		says("Imported contacts: 1 added, 0 updated, 10500 skipped, 0 values dropped\n")
}
