package cmd_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"prospector/internal/apptest"
)

// everyKind creates a record of every kind that the API can create, and returns all records of the
// organization by id, as the API returns them.
func (s *server) everyKind(key string) map[string]string {
	s.t.Helper()
	answers := map[string]string{}
	keep := func(record json.RawMessage) (id string) {
		var head struct{ ID string }
		if err := json.Unmarshal(record, &head); err != nil || head.ID == "" {
			s.t.Fatalf("%v: %s", err, record)
		}
		answers[head.ID] = string(record)
		return head.ID
	}
	one := func(r reply) string {
		var item struct{ Data json.RawMessage }
		if err := json.Unmarshal(r.body, &item); err != nil {
			s.t.Fatal(err)
		}
		return keep(item.Data)
	}
	made := func(path, body string) (id string) {
		id = s.id(s.do(http.StatusCreated, key, "POST", "/v1/"+path, body))
		one(s.do(http.StatusOK, key, "GET", "/v1/"+path+"/"+id, ""))
		return id
	}
	tag := made("tags", `{"name": "Champion", "color": "red", "object_type": "contact"}`)
	s.do(http.StatusCreated, key, "POST", "/v1/fields", `{"entity": "contacts", "key": "score", "label": "Score", "data_type": "number"}`)
	account := made("accounts", `{"name": "Initech <&> Söhne", "website": "initech.example", "notes": "two\nlines\u2028and more"}`)
	contact := made("contacts", fmt.Sprintf(`{"email": "bill@initech.example", "account_id": %q, "tags": [%q], "custom_field_score": 7.5}`, account, tag))
	made("opportunities", fmt.Sprintf(`{"name": "Printers", "account_id": %q}`, account))
	made("tasks", fmt.Sprintf(`{"title": "Call", "type": "call", "contact_id": %q}`, contact))
	made("meetings", `{"title": "Demo", "starts_at": "2026-12-01T10:00:00Z", "ends_at": "2026-12-01T11:00:00Z"}`)
	made("account-views", `{"name": "Software", "filtering_rules": [{"field": "industry", "condition": "is", "value": "Software"}]}`)
	made("webhooks/subscriptions", `{"url": "https://hooks.example.com/in", "triggers": ["tag.updated"]}`)
	audience := made("audiences", fmt.Sprintf(`{"name": "Buyers", "contact_ids": [%q]}`, contact))
	s.do(http.StatusOK, key, "PATCH", "/v1/organization", `{"business_days": [1, 2, 3, 4, 5, 6, 7], "sending_window": {"from_hour": 0, "to_hour": 24}}`)
	template := made("sequence-templates", `{"name": "Mail", "steps": [{"index": 0, "type": "auto_email", "hour": 0, "subject": "Hello", "message": "Hello"}]}`)
	campaign := made("campaigns", fmt.Sprintf(`{"name": "Spring", "status": "active", "template_id": %q, "audience_ids": [%q]}`, template, audience))
	sequences := "/v1/campaigns/" + campaign + "/sequences/list"
	s.awaitMilestone(milestone{"the sequence is over", func() bool {
		return strings.Contains(string(s.do(http.StatusOK, key, "POST", sequences, "{}").body), `"status":"completed"`)
	}})
	s.do(http.StatusCreated, key, "POST", "/v1/suppressions", `{"domain": "never.example", "reason": "asked to"}`)
	var trash []reply
	for entity, body := range map[string]string{
		"tags": `{"name": "Gone", "color": "red", "object_type": "contact"}`, "fields": `{"entity": "contacts", "key": "gone", "data_type": "text"}`,
		"audiences": `{"name": "Gone"}`, "sequence-templates": `{"name": "Gone", "steps": [{"index": 0, "type": "call"}]}`,
		"campaigns": fmt.Sprintf(`{"name": "Gone", "template_id": %q, "audience_ids": [%q]}`, template, audience),
		"accounts":  `{"name": "Gone"}`, "contacts": `{"email": "gone@initech.example"}`, "opportunities": fmt.Sprintf(`{"name": "Gone", "account_id": %q}`, account),
		"tasks": `{"title": "Gone", "type": "call"}`, "meetings": `{"title": "Gone", "starts_at": "2026-12-02T10:00:00Z", "ends_at": "2026-12-02T11:00:00Z"}`,
	} {
		id := s.id(s.do(http.StatusCreated, key, "POST", "/v1/"+entity, body))
		s.do(http.StatusNoContent, key, "DELETE", "/v1/"+entity+"/"+id, "")
		trash = append(trash, s.do(http.StatusOK, key, "POST", "/v1/"+entity+"/trash/list", "{}"))
	}
	one(s.do(http.StatusOK, key, "GET", "/v1/organization", ""))
	for _, list := range append(trash,
		s.do(http.StatusOK, key, "GET", "/v1/users", ""),
		s.do(http.StatusOK, key, "GET", "/v1/fields", ""), s.do(http.StatusOK, key, "POST", "/v1/suppressions/list", "{}"),
		s.do(http.StatusOK, key, "POST", sequences, "{}"), s.do(http.StatusOK, key, "POST", "/v1/outbox/list", "{}"),
	) {
		var all struct{ Data []json.RawMessage }
		if err := json.Unmarshal(list.body, &all); err != nil || len(all.Data) == 0 {
			s.t.Fatalf("%v: %s", err, list.body)
		}
		for _, record := range all.Data {
			keep(record)
		}
	}
	return answers
}

// kinds returns the names of the kinds of records that have an organization's data, with those of sequences.
func (p *place) kinds() (entities []string) {
	p.t.Helper()
	service, _, end := p.open(0)
	defer end()
	others := append(slices.Concat(service.Catalog.Lists(), service.Previews.Lists(), service.Files.Lists()), service.Operations.List)
	for _, k := range service.Kinds.Lists() {
		if !slices.Contains(others, k) {
			entities = append(entities, k.Entity)
		}
	}
	slices.Sort(entities)
	return entities
}

// withoutTime returns an export without when it was made.
func withoutTime(file []byte) []byte {
	lines := bytes.SplitAfter(file, []byte{'\n'})
	lines[0] = exportedAt.ReplaceAll(lines[0], nil)
	return bytes.Join(lines[:len(lines)-2], nil) // without the hash
}

var exportedAt = regexp.MustCompile(`"exported_at":"[^"]*"`)

// TestOrgExport checks that the file has every record of the organization as the API returns it, no
// record of another organization, and no secret.
func TestOrgExport(t *testing.T) {
	t.Parallel()
	acmeBothWays(t, func(t *testing.T, d *acmePlace) {
		_, foreign := d.place.org("Beta")
		var answers map[string]string
		var fresh string // a key whose plaintext the server returned
		d.served(func(s *server) {
			s.do(http.StatusCreated, foreign, "POST", "/v1/contacts", `{"email": "other@beta.example"}`)
			r := s.do(http.StatusCreated, d.key, "POST", "/v1/api-keys", `{"name": "fresh"}`)
			e, err := r.item()
			if err != nil || e.Data.Key == "" {
				t.Fatalf("%v: %s", err, r.body)
			}
			fresh = e.Data.Key
			answers = s.everyKind(d.key)
		})
		d.run("org", "export", "--org", "Acme", "acme.jsonl", "--json").done().prints(fmt.Sprintf(`{"records": %d}`, len(answers)))
		r := d.run("org", "export", "--org", d.org, d.path("again.jsonl")).done()
		r.says(fmt.Sprintf("Wrote %d records to %s\n", len(answers), d.path("again.jsonl")))
		if !strings.HasSuffix(r.progress, fmt.Sprintf("%d of %d records\n", len(answers), len(answers))) {
			t.Errorf("the progress output is %q", r.progress)
		}
		file, err := os.ReadFile(d.path("acme.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		again, err := os.ReadFile(d.path("again.jsonl"))
		if err != nil || !bytes.Equal(withoutTime(file), withoutTime(again)) {
			t.Errorf("the second export differs (%v)", err)
		}
		if info, err := os.Stat(d.path("acme.jsonl")); err != nil || info.Mode() != 0o600 {
			t.Errorf("the file has mode %v (%v), want 0600", info.Mode(), err)
		}

		entities, inAudiences, all := map[string]bool{}, 0, maps.Clone(answers)
		for line := range bytes.Lines(file) {
			var l struct {
				Entity  string
				Record  json.RawMessage
				Names   map[string]any
				Private struct{ Secrets []any }
			}
			var head struct {
				ID         string
				AudienceID string `json:"audience_id"`
				ContactID  string `json:"contact_id"`
			}
			if err := json.Unmarshal(line, &l); err != nil || l.Record != nil && json.Unmarshal(l.Record, &head) != nil {
				t.Fatalf("%v: %s", err, line)
			}
			if len(l.Private.Secrets) > 0 {
				t.Errorf("it has secrets: %s", line)
			}
			if len(entities) == 0 && l.Entity != "organizations" {
				t.Errorf("the first line is %s", line)
			}
			if l.Entity == "contacts" && strings.Contains(string(l.Record), "bill@") &&
				(l.Names["account_name"] != "Initech <&> Söhne" || fmt.Sprint(l.Names["tag_names"]) != "[Champion]") {
				t.Errorf("the names of the contact are %v", l.Names)
			}
			if l.Record == nil || l.Entity == "preferences" {
				continue
			}
			if l.Entity == "audience-contacts" {
				if !strings.Contains(all[head.AudienceID], `"contact_count":1`) || !strings.Contains(all[head.ContactID], `"bill@initech.example"`) {
					t.Errorf("%s is in no audience", line)
				}
				inAudiences++
				continue
			}
			entities[l.Entity] = true
			want, has := answers[head.ID]
			if !has {
				t.Errorf("the API returns no such %s: %s", l.Entity, line)
				continue
			}
			if diff := apptest.Diff(want, string(l.Record)); diff != "" {
				t.Errorf("the %s of the API and of the file differ: %s", l.Entity, diff)
			}
			delete(answers, head.ID)
		}
		if len(answers) > 0 || inAudiences != 1 {
			t.Errorf("the file lacks %v, and has %d contacts in audiences", answers, inAudiences)
		}
		hash := sha256.Sum256([]byte(d.key))
		for _, secret := range []string{
			d.key, fresh, d.key[len(d.key)-12:], "pro_", "hash", "whsec_", "other@beta.example", string(hash[:]), hex.EncodeToString(hash[:]),
			strings.TrimRight(base64.StdEncoding.EncodeToString(hash[:]), "="), strings.TrimRight(base64.URLEncoding.EncodeToString(hash[:]), "="),
		} {
			if bytes.Contains(file, []byte(secret)) {
				t.Errorf("the file contains %q", secret)
			}
		}
		if left, err := filepath.Glob(d.path("data", "tmp", "*")); err != nil || len(left) > 0 {
			t.Errorf("files are left in the data directory: %v (%v)", left, err)
		}
		if d.s != nil {
			d.s.stop()
		}
		for _, entity := range d.kinds() {
			// Keys and deliveries belong to the installation.
			if !entities[entity] && entity != "api_keys" && entity != "webhook-deliveries" {
				t.Errorf("the file has no %s", entity)
			}
		}
		if d.s != nil {
			d.s = d.serve()
		}
	})
}

// TestOrgExportRefusals checks that an output path that cannot be written is reported and leaves
// nothing behind.
func TestOrgExportRefusals(t *testing.T) {
	t.Parallel()
	acmeBothWays(t, func(t *testing.T, d *acmePlace) {
		first := d.run("org", "create", "--name", "Twin", "--json").text("id")
		second := d.run("org", "create", "--name", "Twin", "--json").text("id")
		d.write("there.jsonl", "precious")
		if err := os.Symlink("nowhere", d.path("dangling")); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			args   string
			status int
			says   []string
		}{
			{"--org Acme", 2, []string{"requires one argument: the file to write"}},
			{"--org Acme one two", 2, []string{"requires one argument"}},
			{"out.jsonl", 2, []string{"org export requires --org"}},
			{"--org Acme there.jsonl", 1, []string{"there.jsonl already exists", "remove it or choose another file"}},
			{"--org Acme dangling", 1, []string{"dangling already exists"}},
			{"--org Acme data", 1, []string{"data already exists"}},
			{"--org Acme missing/out.jsonl", 1, []string{"cannot write missing/out.jsonl", "no such file or directory"}},
			{"--org Acme there.jsonl/out.jsonl", 1, []string{"there.jsonl/out.jsonl", "not a directory"}},
			{"--org Nobody out.jsonl", 1, []string{`there is no organization "Nobody"`, "prospector org list"}},
			{"--org Twin out.jsonl", 1, []string{`2 organizations are named "Twin"`, first, second}},
		} {
			args := append([]string{"org", "export"}, strings.Fields(c.args)...)
			d.run(append(args, "--json")...).fails(c.status, c.says...)
			if !apptest.RaceDetector {
				d.run(args...).fails(c.status, c.says...)
			}
		}
		var names []string
		entries, err := os.ReadDir(d.dir)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if err != nil || !slices.Equal(names, []string{"dangling", "data", "there.jsonl"}) {
			t.Errorf("unexpected files: %v (%v)", names, err)
		}
		if content, err := os.ReadFile(d.path("there.jsonl")); err != nil || string(content) != "precious" {
			t.Errorf("the existing file is now %q (%v)", content, err)
		}
		if left, err := filepath.Glob(d.path("data", "tmp", "*")); err != nil || len(left) > 0 {
			t.Errorf("files are left in the data directory: %v (%v)", left, err)
		}
	})
}

// TestOrgExportConsistent checks that an export written while all contacts are repeatedly changed
// together has all of them from the same change.
func TestOrgExportConsistent(t *testing.T) {
	t.Parallel()
	d := newAcmePlace(t, true)
	ids := d.s.load(d.key, 500, func(int) string { return `"title": "Round 0"` })
	stop, ended := make(chan struct{}), sync.WaitGroup{}
	ended.Go(func() {
		for round := 1; ; round++ {
			select {
			case <-stop:
				return
			default:
			}
			var records []string
			for _, id := range ids {
				records = append(records, fmt.Sprintf(`{"id": %q, "title": "Round %d"}`, id, round))
			}
			r, err := send(client, "POST", d.s.url+"/v1/contacts/batch", `{"records": [`+strings.Join(records, ", ")+`]}`,
				"Authorization", "Bearer "+d.key, "Content-Type", "application/json")
			if err != nil || r.status != http.StatusOK {
				t.Errorf("%v: %d %.200s", err, r.status, r.body)
				return
			}
		}
	})
	halt := sync.OnceFunc(func() { close(stop); ended.Wait() })
	defer halt()
	rounds := map[string]bool{}
	for range 8 {
		var contacts []contact
		if err := json.Unmarshal([]byte(d.exported(d.org, "contacts")), &contacts); err != nil {
			t.Fatal(err)
		}
		first := *contacts[0].Title
		rounds[first] = true
		for _, c := range contacts {
			if *c.Title != first {
				t.Fatalf("one contact is from change %s, another from %s", first, *c.Title)
			}
		}
		if len(contacts) != len(ids) {
			t.Fatalf("got %d contacts, want %d", len(contacts), len(ids))
		}
	}
	halt()
	if len(rounds) < 2 {
		t.Errorf("nothing changed during the export: %v", rounds)
	}
	d.s.stop()
	d.s.hasNoErrors()
}
