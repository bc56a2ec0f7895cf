package apptest

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"prospector/cmd"
	"prospector/internal/service"
	"prospector/store"
)

// previousBuild is the service of this build on data that the build before wrote (see testdata/README.md).
type previousBuild struct {
	*App
	acme, globex Client
}

// unpackPreviousBuild puts the data into a new directory and returns the keys of its organizations.
func unpackPreviousBuild(t *testing.T) (dir string, keys map[string]string) {
	t.Helper()
	return unpackFixture(t, "previous-build")
}

func unpackFixture(t *testing.T, name string) (dir string, keys map[string]string) {
	t.Helper()
	dir = t.TempDir()
	backup, err := os.ReadFile(filepath.Join("testdata", name+".backup"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Unpack(t.Context(), bytes.NewReader(backup), dir); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(filepath.Join("testdata", name+".keys"))
	if err != nil {
		t.Fatal(err)
	}
	keys = map[string]string{}
	for line := range strings.Lines(string(list)) {
		at := strings.LastIndexByte(line, ' ')
		keys[line[:at]] = strings.TrimSpace(line[at:])
	}
	return dir, keys
}

func openPreviousBuild(t *testing.T, dir string, keys map[string]string) *previousBuild {
	t.Helper()
	app := New(t, func(cfg *service.Config) { cfg.DataDir = dir })
	return &previousBuild{App: app, acme: Client{app: app, Key: keys["Acme Sales"]}, globex: Client{app: app, Key: keys["Globex"]}}
}

// records lists what a key can see of a kind, as JSON objects by id.
func (c Client) records(list, filters string) map[string]map[string]any {
	c.app.t.Helper()
	data := c.Post(list, `{"page_size": 500, "filters": [`+filters+`]}`).Is(200).Value("data").([]any)
	records := make(map[string]map[string]any, len(data))
	for _, record := range data {
		object := record.(map[string]any)
		for _, key := range []string{"id", "preview_id", "operation_id"} {
			if id, is := object[key].(string); is {
				records[id] = object
				break
			}
		}
	}
	if len(records) != len(data) {
		c.app.t.Errorf("%s has %d records with %d ids", list, len(data), len(records))
	}
	return records
}

// agrees checks that lists, filters, exports and reads of single records show the same, for every kind that has a list.
// What they answer is held against the API document by the client.
func (p *previousBuild) agrees(t *testing.T, c Client) (kinds int) {
	t.Helper()
	has := map[string]bool{}
	for _, op := range p.API.Operations() {
		has[op.Method+" "+op.Path] = true
	}
	for _, path := range slices.Sorted(maps.Keys(has)) {
		list, isList := strings.CutPrefix(path, "POST ")
		if !isList || !strings.HasSuffix(list, "/list") || strings.Contains(list, "{") {
			continue
		}
		kinds++
		collection := strings.TrimSuffix(list, "/list")
		records := c.records(list, "")
		if has["GET "+collection+"/{id}"] {
			for id, record := range records {
				answer := c.Get(collection + "/" + id).Is(200)
				if got := answer.Value("data"); !reflect.DeepEqual(got, any(record)) {
					t.Errorf("%s/%s is %v, its list has %v", collection, id, got, record)
				}
			}
		}
		if has["POST "+collection+"/export"] {
			lines := c.Post(collection+"/export", `{"format": "jsonl"}`).Is(200).Body
			exported := 0
			for line := range bytes.Lines(lines) {
				var record map[string]any
				if err := json.Unmarshal(line, &record); err != nil {
					t.Fatal(err)
				}
				exported++
				for _, name := range []string{"account_name", "contact_name", "campaign_name", "owner_email", "tag_names"} {
					if _, listed := records[record["id"].(string)][name]; !listed {
						delete(record, name) // exports have the names of referred records too
					}
				}
				if listed := records[record["id"].(string)]; !reflect.DeepEqual(listed, record) {
					t.Errorf("the export of %s has %v, the list %v", collection, record, listed)
				}
			}
			if exported != len(records) {
				t.Errorf("the export of %s has %d records, the list %d", collection, exported, len(records))
			}
		}
		if entity := strings.TrimPrefix(collection, "/v1/"); has["GET /v1/schemas/{entity}"] && len(records) > 0 {
			p.filtersAgree(t, c, list, entity, records)
		}
	}
	return kinds
}

// filtersAgree filters by every field of a kind and compares the result with the values that the records show.
func (p *previousBuild) filtersAgree(t *testing.T, c Client, list, entity string, records map[string]map[string]any) {
	t.Helper()
	schema := c.Get("/v1/schemas/" + entity)
	if schema.Status != 200 {
		return
	}
	for _, field := range schema.Value("data.fields").([]any) {
		field := field.(map[string]any)
		key := field["key"].(string)
		want := map[string]bool{}
		for id, record := range records {
			if v := member(record, key); v == nil || reflect.DeepEqual(v, []any{}) || reflect.DeepEqual(v, map[string]any{}) {
				want[id] = true
			}
		}
		empty := c.records(list, `{"field": "`+key+`", "condition": "is_empty"}`)
		if !slices.Equal(slices.Sorted(maps.Keys(empty)), slices.Sorted(maps.Keys(want))) {
			t.Errorf("%s: %s is_empty finds %d records, %d show no value", list, key, len(empty), len(want))
		}
		if field["type"] != "enum" {
			continue
		}
		for id, record := range records {
			if v, is := member(record, key).(string); is {
				if found := c.records(list, `{"field": "`+key+`", "condition": "is", "value": "`+v+`"}`); found[id] == nil {
					t.Errorf("%s: %s is %s does not find %s", list, key, v, id)
				}
			}
		}
	}
}

// member is the value at a path such as scoring.heat_score.
func member(record map[string]any, path string) any {
	name, rest, nested := strings.Cut(path, ".")
	if !nested {
		return record[name]
	}
	inner, _ := record[name].(map[string]any)
	return member(inner, rest)
}

// checked runs prospector check on the data while the service is stopped.
func (p *previousBuild) checked(t *testing.T, when string) {
	t.Helper()
	p.Stop()
	var out, problems bytes.Buffer
	if code := cmd.Execute([]string{"check", "--data-dir", p.Config.DataDir}, &out, &problems); code != 0 {
		t.Errorf("check %s: exit code %d\n%s%s", when, code, &out, &problems)
	}
	p.Start()
}

// TestPreviousBuild serves data that the build before wrote.
func TestPreviousBuild(t *testing.T) {
	dir, keys := unpackPreviousBuild(t)
	p := openPreviousBuild(t, dir, keys)
	for _, when := range []string{"at first", "after all records were completed"} {
		if kinds := p.agrees(t, p.acme); kinds < 15 {
			t.Errorf("%s: %d kinds have lists", when, kinds)
		}
		p.agrees(t, p.globex)
		if n := len(p.acme.records("/v1/contacts/list", "")); n < 3 {
			t.Errorf("%s: there are %d contacts", when, n)
		}
		p.checked(t, when)
		p.Work()
	}
	p.Restart()
	if jobs, err := p.Store.Stats(); err != nil || strings.Contains(p.Log.String(), "level=ERROR") {
		t.Errorf("%+v, %v; the log:\n%s", jobs, err, p.Log)
	}
}

// TestRecordsGainFields takes members from records of the previous build, as an even older build would have written them,
// and serves the rest.
func TestRecordsGainFields(t *testing.T) {
	dir, keys := unpackPreviousBuild(t)
	stripped := strip(t, dir, "contacts", "source", "linkedin_url", "scoring")
	tasks := strip(t, dir, "tasks", "type", "status")
	p := openPreviousBuild(t, dir, keys)
	id := slices.Sorted(maps.Keys(p.acme.records("/v1/contacts/list", `{"field": "email", "condition": "is", "value": "bill@initech.example"}`)))[0]
	if !stripped[id] || len(tasks) == 0 {
		t.Fatalf("%d contacts and %d tasks lack members, %s does not", len(stripped), len(tasks), id)
	}
	path := "/v1/contacts/" + id
	etag := p.acme.Get(path).Header.Get("ETag")
	if !strings.Contains(etag, "-") {
		t.Errorf("the ETag %s does not name what completed the record", etag)
	}
	for _, when := range []string{"at first", "after all records were completed"} {
		got := p.acme.Get(path).Is(200)
		for key, want := range map[string]any{"source": "api", "linkedin_url": nil, "scoring": map[string]any{"heat_score": nil}} {
			if value := got.Value("data." + key); !reflect.DeepEqual(value, want) {
				t.Errorf("%s: %s is %v", when, key, value)
			}
		}
		if order := string(got.Body); strings.Index(order, `"linkedin_url"`) > strings.Index(order, `"source"`) {
			t.Errorf("%s: the members are in another order than a new record's: %s", when, order)
		}
		if found := p.acme.records("/v1/contacts/list", `{"field": "source", "condition": "is", "value": "api"}`); found[id] == nil {
			t.Errorf("%s: a filter does not find the default", when)
		}
		if found := p.acme.records("/v1/tasks/list", `{"field": "type", "condition": "is", "value": "todo"}`); len(found) == 0 {
			t.Errorf("%s: a filter does not find the default type of a task", when)
		}
		p.agrees(t, p.acme)
		p.checked(t, when)
		p.Work()
	}
	if swept := p.acme.Get(path).Header.Get("ETag"); swept == etag || strings.Contains(swept, "-") {
		t.Errorf("the record was rewritten and its ETag is %s, before it was %s", swept, etag)
	}
	newest := p.acme.Get(path + "/history").Is(200)
	if newest.Text("data.0.operation") != "upgrade" || !containsAll(newest.Value("data.0.fields"), "linkedin_url", "scoring", "source") {
		t.Errorf("the history is %s", newest.Body)
	}
	p.acme.Do("PATCH", path, `{"title": "CEO"}`, "If-Match", p.acme.Get(path).Header.Get("ETag")).Is(200)
}

// containsAll reports whether a list of strings in a response contains all the given ones.
func containsAll(list any, want ...string) bool {
	have, _ := list.([]any)
	for _, w := range want {
		if !slices.Contains(have, any(w)) {
			return false
		}
	}
	return true
}

// strip takes members from the records of a table in every organization and returns the ids of the records.
func strip(t *testing.T, dir, table string, members ...string) map[string]bool {
	t.Helper()
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	orgs, err := s.Organizations()
	if err != nil {
		t.Fatal(err)
	}
	raw, stripped := store.NewTable[map[string]json.RawMessage](table, nil, nil), map[string]bool{}
	for _, org := range orgs {
		err := s.Update(t.Context(), org, store.Actor{Operation: "strip"}, func(tx *store.Tx) error {
			var all []store.Doc[map[string]json.RawMessage]
			err := raw.Scan(tx, func(d store.Doc[map[string]json.RawMessage]) (bool, error) {
				all = append(all, d)
				return true, nil
			})
			for _, d := range all {
				if string(d.Record["source"]) == `"tam_import"` { // it has keys and a private part that would be lost
					continue
				}
				rest := maps.Clone(d.Record)
				for _, name := range members {
					delete(rest, name)
				}
				if err == nil {
					_, err = raw.Update(tx, d, rest, members)
				}
				stripped[d.ID.String()] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return stripped
}

// TestPreviousBuildKeepsSettings checks what organizations and users of the build before show of the fields that they did
// not have, and that they keep the sending window that new organizations no longer have.
func TestPreviousBuildKeepsSettings(t *testing.T) {
	dir, keys := unpackPreviousBuild(t)
	p := openPreviousBuild(t, dir, keys)
	org := p.acme.Get("/v1/organization").Is(200)
	if org.Int("data.sending_window.from_hour") != 0 || org.Int("data.sending_window.to_hour") != 24 {
		t.Errorf("the sending window has changed: %s", org.Body)
	}
	if footer := org.Text("data.mail_footer"); !strings.Contains(footer, "{{unsubscribe_url}}") || org.Value("data.postal_address") != nil {
		t.Errorf("the footer is %q: %s", footer, org.Body)
	}
	for _, active := range p.acme.Get("/v1/users").Is(200).Column("active") {
		if active != "true" {
			t.Errorf("a user is not active: %s", active)
		}
	}
}

// TestPreviousBuildHidesLinks checks that messages of the build before, which stored their unsubscribe links, no longer
// show them anywhere, before and after they are rewritten.
func TestPreviousBuildHidesLinks(t *testing.T) {
	dir, keys := unpackPreviousBuild(t)
	link := regexp.MustCompile(`/u/[A-Za-z0-9_-]{64}`)
	before, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stored := 0
	orgs, err := before.Organizations()
	for _, org := range orgs {
		text, failed := before.Dump(org)
		if failed != nil {
			err = failed
		}
		stored += len(link.FindAllString(text, -1))
	}
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil || stored == 0 {
		t.Fatalf("the build before stored %d links (%v)", stored, err)
	}
	p := openPreviousBuild(t, dir, keys)
	for _, when := range []string{"at first", "after all records were completed"} {
		shown := 0
		for _, message := range p.acme.records("/v1/outbox/list", "") {
			text, err := json.Marshal(message)
			if err != nil || link.Match(text) {
				t.Errorf("%s: a message shows its link (%v): %s", when, err, text)
			}
			shown += strings.Count(string(text), "/u/[hidden]")
		}
		if shown == 0 {
			t.Errorf("%s: no message has a link", when)
		}
		exported := filepath.Join(t.TempDir(), "acme.jsonl")
		p.Stop()
		var out, problems bytes.Buffer
		code := cmd.Execute([]string{"org", "export", "--org", "Acme Sales", exported, "--data-dir", p.Config.DataDir}, &out, &problems)
		if text, err := os.ReadFile(exported); code != 0 || err != nil || link.Match(text) {
			t.Errorf("%s: the export shows a link (%d, %v) %s", when, code, err, &problems)
		}
		p.Start()
		p.Work()
	}
	for _, org := range orgs {
		if text, err := p.Store.Dump(org); err != nil || link.MatchString(text) {
			t.Errorf("a link is still stored (%v)", err)
		}
	}
}
