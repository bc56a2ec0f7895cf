package cmd_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"prospector/internal/apptest"
)

// hostileTexts returns texts that tables and spreadsheets often mishandle.
func hostileTexts() []string {
	texts := []string{"=1+1", "+49 30", "-5", "@me", "＝1", "\t=1", "\r=1", "\n=1", " =1", "\u00a0=1", "|x", "%x", "'", "''", "'tis", "'=1", " 'x", "=cmd|' /C calc'!A0",
		`"`, `""`, `a "b" c`, `"a"`, ` "a`, "a,b", "a;b", "a|b", "a\tb", "a\nb", "a\r\nb", "a\rb", "a\n", "a\r", "\na\n", " a ", "  ' ", "{\"a\": 1}", "😀", "\ufeffa", "a\u2028b",
		"null", "NULL", "true", "0", "007", "1e5", "2026-01-31", `\`, `\n`, `\.`, "<b>&amp;", "Zoë 名前", "e\u0301", "\x01\x7f", "#", "--", strings.Repeat("long \"text\",\n", 300)}
	r := rand.New(rand.NewPCG(7, 7))
	parts := strings.Split("= + - @ ' \" , ; | a é 😀 \\", " ")
	parts = append(parts, " ", "\n", "\r", "\t")
	for !apptest.RaceDetector && len(texts) < 120 {
		text := ""
		for range 1 + r.IntN(6) {
			text += parts[r.IntN(len(parts))]
		}
		if strings.TrimSpace(text) != "" { // a cell of spaces counts as empty
			texts = append(texts, text)
		}
	}
	return texts
}

// withoutControls replaces control characters, which names and titles do not have.
func withoutControls(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '_'
		}
		return r
	}, text)
}

// importableEntities are the entities whose exports can be imported, with their text fields and
// their other fields.
var importableEntities = []struct {
	entity string
	texts  []string
	more   func(i int) map[string]any
}{
	{"contacts", []string{"first_name", "last_name", "title", "phone_number", "linkedin_url", "location", "notes"}, func(i int) map[string]any {
		return map[string]any{"email": fmt.Sprintf("c%d@x.example", i), "do_not_contact": i%2 == 0, "scoring": map[string]any{"heat_score": []any{"hot", "cold", nil}[i%3]}}
	}},
	{"accounts", []string{"name", "industry", "description", "country", "location", "linkedin_url", "phone_number", "notes"}, func(i int) map[string]any {
		return map[string]any{"website": fmt.Sprintf("a%d.example", i), "employee_count": i * 1000, "annual_revenue": float64(i)*1e6 - 0.125, "founded_year": []any{nil, 1999}[i%2]}
	}},
}

// market is a server with organizations that have the same custom fields.
type market struct {
	*place
	*server
}

// newOrg creates an organization with a custom field of each type for each entity.
func (m *market) newOrg(name string) (key string) {
	m.place.t.Helper()
	_, key = m.place.org(name)
	for _, e := range importableEntities {
		for dataType, more := range map[string]string{"text": "", "number": "", "boolean": "", "date": "",
			"enum": `, "allowed_values": ["=1+1", "'x", "a,\"b\"|c", "plain"]`, "multi_select": `, "allowed_values": ["-1", "'x", "a,\"b\"", "plain"]`} {
			m.do(http.StatusCreated, key, "POST", "/v1/fields", fmt.Sprintf(`{"entity": %q, "key": "my_%s", "data_type": %q%s}`, e.entity, dataType, dataType, more))
		}
	}
	return key
}

// exportOf exports all records of an entity.
func (m *market) exportOf(key, entity, format string) string {
	m.place.t.Helper()
	return string(m.do(http.StatusOK, key, "POST", "/v1/"+entity+"/export", fmt.Sprintf(`{"format": %q, "sort": "id"}`, format)).body)
}

// recordsOf returns the records of an entity, keyed by one of their fields.
func (m *market) recordsOf(key, entity, by string) map[string]map[string]any {
	m.place.t.Helper()
	records := map[string]map[string]any{}
	for line := range strings.Lines(m.exportOf(key, entity, "jsonl")) {
		var rec map[string]any
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			m.place.t.Fatal(err)
		}
		records[fmt.Sprint(rec[by])] = rec
	}
	return records
}

// importInto imports a file and checks that all rows are valid.
func (m *market) importInto(org, entity, content string, want string, flags ...string) {
	m.place.t.Helper()
	m.write("table", content)
	r := m.run(append([]string{"import", entity, "table", "--org", org, "--json"}, flags...)...)
	var got struct {
		Added, Updated, Unchanged, Skipped int
		Problems                           []any
	}
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || r.status != 0 {
		m.place.t.Fatalf("%s: %d %v\n%.600s\n%.600s", r.what, r.status, err, r.stdout, r.stderr)
	}
	if summary := fmt.Sprint(got.Added, " ", got.Unchanged, " ", got.Skipped, got.Problems); summary != want {
		m.place.t.Errorf("%s\n%.1000s\nwant %s", r.what, summary, want)
	}
}

// TestImportRoundTrip checks that an export can be imported. Importing it into another organization
// creates the same records. Importing it into its own organization changes nothing.
func TestImportRoundTrip(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
	m := &market{p, p.serve()}
	home := m.newOrg("Home")
	for _, e := range importableEntities {
		texts := hostileTexts()
		var records []any
		for i, text := range texts {
			rec := e.more(i)
			for n, field := range e.texts {
				rec[field] = texts[(i+n)%len(texts)]
				if strings.HasSuffix(field, "name") || field == "title" {
					rec[field] = withoutControls(texts[(i+n)%len(texts)])
				}
			}
			rec["custom_field_my_text"], rec["custom_field_my_number"], rec["custom_field_my_boolean"] = text, -float64(i)/8, i%2 == 1
			rec["custom_field_my_date"] = fmt.Sprintf("2026-01-%02d", 1+i%28)
			rec["custom_field_my_enum"] = []string{"=1+1", "'x", "a,\"b\"|c", "plain"}[i%4]
			rec["custom_field_my_multi_select"] = [][]string{{}, {"-1"}, {"'x", "-1"}, {"plain", "a,\"b\"", "'x"}}[i%4]
			records = append(records, rec)
		}
		records = append(records, map[string]any{"email": "bare@x.example"})
		if e.entity == "accounts" {
			records[len(records)-1] = map[string]any{"name": "bare"}
		}
		m.do(http.StatusOK, home, "POST", "/v1/"+e.entity+"/batch", asJSON(map[string]any{"records": records}))
		n := len(records)
		if all := m.recordsOf(home, e.entity, "id"); len(all) != n {
			t.Fatalf("want %d %s, got %d", n, e.entity, len(all))
		}
		for _, format := range []string{"csv", "jsonl"} {
			other := "Other " + e.entity + " " + format
			key := m.newOrg(other)
			m.importInto(other, e.entity, m.exportOf(home, e.entity, format), fmt.Sprint(n, " 0 0 []"), "--map", "id=external_id", "--match-on", "none")
			m.sameRecords(m.recordsOf(home, e.entity, "id"), m.recordsOf(key, e.entity, "external_id"))
			// The second import finds the records by it.
			m.importInto(other, e.entity, m.exportOf(home, e.entity, format), fmt.Sprint("0 ", n, " 0 []"), "--map", "id=external_id", "--match-on", "external_id")
		}
	}
	m.references(home)
	for _, e := range importableEntities {
		before := m.versions(home, e.entity)
		for _, format := range []string{"csv", "jsonl"} {
			m.importInto("Home", e.entity, m.exportOf(home, e.entity, format), fmt.Sprint("0 ", len(before), " 0 []"))
		}
		if after := m.versions(home, e.entity); !maps.Equal(after, before) {
			t.Errorf("the %s have changed", e.entity)
		}
	}
	m.stop()
	m.hasNoErrors()
}

// sameRecords compares records with their copies.
func (m *market) sameRecords(want, got map[string]map[string]any) {
	m.place.t.Helper()
	if len(got) != len(want) {
		m.place.t.Errorf("got %d records, want %d", len(got), len(want))
	}
	for id, rec := range want {
		for key, v := range rec {
			if !slices.Contains([]string{"id", "created_at", "updated_at", "source", "external_id"}, key) && !reflect.DeepEqual(got[id][key], v) {
				m.place.t.Errorf("%s was %q and is now %q", key, v, got[id][key])
			}
		}
		if got[id]["source"] != "csv" {
			m.place.t.Errorf("the source of %s is %v", id, got[id]["source"])
		}
	}
}

// references sets tags, an account, an owner and an external id on some records.
func (m *market) references(key string) {
	m.place.t.Helper()
	var user struct {
		Data struct {
			ID string `json:"user_id"`
		}
	}
	if err := json.Unmarshal(m.do(http.StatusOK, key, "GET", "/v1/me", "").body, &user); err != nil {
		m.place.t.Fatal(err)
	}
	var tags []string
	for _, object := range []string{"contact", "contact", "account", "account"} {
		r := m.do(http.StatusCreated, key, "POST", "/v1/tags", fmt.Sprintf(`{"name": "tag %d", "color": "green", "object_type": %q}`, len(tags), object))
		tags = append(tags, m.id(r))
	}
	account := m.id(m.do(http.StatusCreated, key, "POST", "/v1/accounts", fmt.Sprintf(`{"name": "Ref", "owner_id": %q, "tags": [%q, %q], "external_id": "=EX, \"1\""}`, user.Data.ID, tags[3], tags[2])))
	m.do(http.StatusCreated, key, "POST", "/v1/contacts", fmt.Sprintf(`{"email": "r1@x.example", "account_id": %q, "tags": [%q], "external_id": "'EX"}`, account, tags[0]))
	m.do(http.StatusCreated, key, "POST", "/v1/contacts", fmt.Sprintf(`{"email": "r2@x.example", "account_id": %q, "tags": [%q, %q], "source": "api"}`, account, tags[1], tags[0]))
}

// versions returns the versions of all records of an entity.
func (m *market) versions(key, entity string) map[string]string {
	m.place.t.Helper()
	versions := map[string]string{}
	for id := range m.recordsOf(key, entity, "id") {
		versions[id] = m.do(http.StatusOK, key, "GET", "/v1/"+entity+"/"+id, "").header.Get("ETag")
	}
	return versions
}

// TestImportOfAnExport imports one kind of record from an organization export into another
// organization.
func TestImportOfAnExport(t *testing.T) {
	t.Parallel()
	acmeBothWays(t, func(t *testing.T, d *acmePlace) {
		_, key := d.place.org("Beta")
		d.served(func(s *server) {
			s.do(http.StatusCreated, d.key, "POST", "/v1/accounts", `{"name": "Initech", "website": "initech.example"}`)
			s.do(http.StatusCreated, d.key, "POST", "/v1/contacts", `{"email": "bill@initech.example", "title": "=VP"}`)
			s.do(http.StatusCreated, d.key, "POST", "/v1/suppressions", `{"domain": "never.example"}`)
		})
		d.run("org", "export", "--org", "Acme", "acme.jsonl").done()
		take := func(entity string, flags ...string) result {
			return d.run(append([]string{"import", entity, "acme.jsonl", "--org", "Beta"}, flags...)...).withoutProgress()
		}
		for entity, flags := range map[string][]string{"accounts": {"--map", "id=external_id"}, "contacts": {"--map", "id=external_id"}, "suppressions": nil} {
			if r := take(entity, flags...); r.status != 0 || r.stdout != "Imported "+entity+": 1 added, 0 updated, 0 skipped, 0 values dropped\n" {
				t.Errorf("%+v", r)
			}
		}
		d.served(func(s *server) {
			list := s.do(http.StatusOK, key, "POST", "/v1/contacts/list", "{}").body
			if !strings.Contains(string(list), `"email":"bill@initech.example","other_emails":[],"title":"=VP"`) || !strings.Contains(string(list), `"external_id":"0`) {
				t.Errorf("%s", list)
			}
		})
	})
}
