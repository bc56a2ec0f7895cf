package cmd_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// everything is everyKind with what else an organization may have: history, merged records, journals, dismissed duplicates,
// erased people, filters with ids, and preferences.
func (s *server) everything(key string) {
	s.t.Helper()
	s.everyKind(key)
	made := func(path, body string) string { return s.id(s.do(http.StatusCreated, key, "POST", "/v1/"+path, body)) }
	tag := made("tags", `{"name": "Buyer", "color": "blue", "object_type": "contact"}`)
	made("fields", `{"entity": "contacts", "key": "plan", "data_type": "enum", "allowed_values": ["gold", "silver"]}`)
	account := made("accounts", `{"name": "Globex", "website": "globex.example"}`)
	var contacts []string
	for _, name := range []string{"Hank", "Homer", "Frank", "Marge"} {
		contacts = append(contacts, made("contacts", fmt.Sprintf(
			`{"first_name": %q, "last_name": "Scorpio", "email": "%s@globex.example", "account_id": %q, "tags": [%q], "custom_field_plan": "gold"}`, name, name, account, tag)))
	}
	s.do(http.StatusOK, key, "PATCH", "/v1/contacts/"+contacts[0], `{"title": "Boss", "tags": []}`)
	s.do(http.StatusOK, key, "POST", "/v1/contacts/"+contacts[0]+"/merge", `{"ids": ["`+contacts[2]+`"]}`)
	s.do(http.StatusOK, key, "POST", "/v1/contacts/duplicates/dismiss", fmt.Sprintf(`{"ids": [%q, %q]}`, contacts[0], contacts[1]))
	made("audiences", fmt.Sprintf(`{"name": "Tagged", "type": "dynamic", "filters": [{"field": "tags", "condition": "is", "value": %q}]}`, tag))
	made("views", fmt.Sprintf(`{"name": "Globex", "entity": "contacts", "filtering_rules": [{"field": "account_id", "condition": "is", "value": %q}]}`, account))
	bulk := s.id(s.do(http.StatusAccepted, key, "POST", "/v1/contacts/bulk", fmt.Sprintf(`{"ids": [%q, %q], "set": {"title": "Henchman"}, "add_tags": [%q]}`, contacts[0], contacts[1], tag)))
	s.awaitMilestone(milestone{"the bulk operation is over", func() bool {
		return strings.Contains(string(s.do(http.StatusOK, key, "GET", "/v1/operations/"+bulk, "").body), `"status":"completed"`)
	}})
	s.do(http.StatusNoContent, key, "DELETE", "/v1/accounts/"+account, "")
}

// apiOf returns everything that the API shows of the organization of a key, by path.
func (s *server) apiOf(key string) map[string]string {
	s.t.Helper()
	var document struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal(s.do(http.StatusOK, key, "GET", "/openapi.json", "").body, &document); err != nil {
		s.t.Fatal(err)
	}
	all, ids := map[string]string{}, map[string][]string{}
	keep := func(method, path string) {
		body := ""
		if method == "POST" {
			body = `{"page_size": 500}`
		}
		r, err := send(client, method, s.url+path, body, "Authorization", "Bearer "+key, "Content-Type", "application/json")
		if err != nil {
			s.t.Fatal(err)
		}
		all[method+" "+path] = fmt.Sprint(r.status, " ", string(r.body))
		var list struct {
			Data []struct{ ID string }
		}
		if json.Unmarshal(r.body, &list) == nil {
			base := strings.TrimSuffix(path, "/list")
			for _, record := range list.Data {
				ids[base] = append(ids[base], record.ID)
			}
		}
	}
	skipped := regexp.MustCompile(`^/(docs|healthz|readyz|metrics|openapi)|^/v1/(api-keys|sessions|me|indexes|mail|webhooks/(attempts|triggers|events)|catalog|companies|people|tam/preview|outbox/planned|users/.id./uses)`)
	var paths []string
	for path := range document.Paths {
		if !skipped.MatchString(path) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		switch {
		case strings.Contains(path, "{"):
		case document.Paths[path]["get"] != nil:
			keep("GET", path)
		case strings.HasSuffix(path, "/list"):
			keep("POST", path)
		}
	}
	for _, path := range paths {
		base, rest, _ := strings.Cut(path, "/{id}")
		if strings.Contains(rest, "{") || document.Paths[path]["get"] == nil && !strings.HasSuffix(path, "/list") {
			continue
		}
		for _, id := range ids[base] {
			method := "GET"
			if document.Paths[path]["get"] == nil {
				method = "POST"
			}
			keep(method, base+"/"+id+rest)
		}
	}
	return all
}

var (
	anyID      = regexp.MustCompile(`([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3})-[0-9a-f]{4}-[0-9a-f]{12}`)
	importHold = regexp.MustCompile(`"held":(null|\{[^}]*\})`)
	importTime = regexp.MustCompile(`"updated_at":"` + aTime + `"`)
	timestamp  = regexp.MustCompile(`"timestamp":"` + aTime + `"`)
)

// withoutImport returns a history without what the import itself has changed.
func withoutImport(t *testing.T, body string) string {
	var history struct{ Data []map[string]any }
	if err := json.Unmarshal([]byte(body[len("200 "):]), &history); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return fmt.Sprint(slices.DeleteFunc(history.Data, func(c map[string]any) bool { return c["operation"] == "org import" }))
}

// sameAPI compares what two organizations show. The copy is held, its subscriptions are paused, and its ids may have other
// ends.
func sameAPI(t *testing.T, want, have map[string]string) {
	t.Helper()
	plain := func(all map[string]string) map[string]string {
		normal := map[string]string{}
		for path, body := range all {
			if strings.HasSuffix(path, "/history") {
				body = withoutImport(t, body)
			}
			body = timestamp.ReplaceAllString(body, "")
			if strings.Contains(path, "/campaigns") || strings.Contains(path, "/subscriptions") {
				body = importTime.ReplaceAllString(importHold.ReplaceAllString(body, `"held":0`), `"updated_at":0`)
				body = strings.ReplaceAll(body, `"status":"active","disabled_reason"`, `"status":"paused","disabled_reason"`)
			}
			normal[anyID.ReplaceAllString(path, "$1")] = anyID.ReplaceAllString(body, "$1")
		}
		return normal
	}
	wanted, had := plain(want), plain(have)
	for path, body := range wanted {
		if had[path] != body {
			t.Errorf("%s differs:\n%s\n%s", path, body, had[path])
		}
	}
	for path := range had {
		if _, has := wanted[path]; !has {
			t.Errorf("%s exists only in the copy", path)
		}
	}
}

// TestOrgRoundTrip exports an organization with everything and imports it into an empty installation, and again beside it
// with other ids: the API shows no difference.
func TestOrgRoundTrip(t *testing.T) {
	t.Parallel()
	acmeBothWays(t, func(t *testing.T, d *acmePlace) {
		var want map[string]string
		d.served(func(s *server) {
			s.everything(d.key)
			s.do(http.StatusCreated, d.key, "POST", "/v1/contacts", `{"email": "erased@acme.example"}`)
			d.run("erase", "--org", "Acme", "--email", "erased@acme.example", "--yes").withoutProgress().ok()
			want = s.apiOf(d.key)
		})
		if len(want) < 80 {
			t.Errorf("only %d paths are compared", len(want))
		}
		d.run("org", "export", "--org", "Acme", "acme.jsonl.gz").done()
		p := &acmePlace{place: newPlace(t, d.place.env...)}
		file := d.path("acme.jsonl.gz")
		if d.s != nil {
			p.s = p.serve()
		}
		id := p.run("org", "import", file, "--json").withoutProgress().text("id")
		if id != d.org {
			t.Errorf("the organization has the id %s, want %s", id, d.org)
		}
		copied := p.run("org", "import", file, "--new-ids", "--organization", "Acme copy", "--json").withoutProgress().text("id")
		p.run("check", "--json").withoutProgress().ok()
		ids := uuidsIn(t, p.place, copied, "copy.jsonl")
		for id := range uuidsIn(t, p.place, id, "same.jsonl") {
			if ids[id] && anyID.MatchString(id) {
				t.Errorf("the copy has the id %s of the original", id)
			}
		}
		for _, org := range []string{id, copied} {
			key := p.run("key", "create", "--org", org, "--name", "test", "--access", "admin", "--json").text("key")
			var have map[string]string
			p.served(func(s *server) { have = s.apiOf(key) })
			if org == copied {
				have["GET /v1/organization"] = strings.ReplaceAll(have["GET /v1/organization"], "Acme copy", "Acme")
			}
			sameAPI(t, want, have)
		}
		if p.s != nil {
			p.s.stop()
			p.s.hasNoErrors()
		}
	})
}

// uuidsIn returns the ids in the export of an organization, but those of requests and of steps within a template, and those in
// texts that emails have shown.
func uuidsIn(t *testing.T, p *place, org, name string) map[string]bool {
	t.Helper()
	p.run("org", "export", "--org", org, name).done()
	file, err := os.ReadFile(p.path(name))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, id := range anyID.FindAllString(messageID.ReplaceAllString(string(file), ""), -1) {
		ids[id] = true
	}
	return ids
}

var messageID = regexp.MustCompile(`[0-9a-f-]{36}@[a-z.]+|"(request_id|RequestID)":"[0-9a-f-]{36}"|"id":"[0-9a-f-]{36}","type":"(auto_email|call)"`)

// TestOrgImportRefusals checks that whatever is wrong with a file is said, and that nothing is left of it.
func TestOrgImportRefusals(t *testing.T) {
	t.Parallel()
	d := newAcmePlace(t, true)
	d.s.everyKind(d.key)
	d.run("org", "export", "--org", "Acme", "acme.jsonl").done()
	d.s.stop()
	d.s = nil
	content, err := os.ReadFile(d.path("acme.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	good := string(content)
	lines := strings.SplitAfter(good, "\n")
	packed := func(text string) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write([]byte(text)); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	whole := packed(good)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	// rehashed is a file that was changed by somebody who knows its format.
	rehashed := func(text string) string {
		text = text[:strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n")+1]
		return text + fmt.Sprintf("{\"entity\":\"end\",\"lines\":%d,\"sha256\":\"%x\"}\n", strings.Count(text, "\n"), sha256.Sum256([]byte(text)))
	}
	contact := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, `{"entity":"contacts"`) })
	p := newPlace(t)
	for name, c := range map[string]struct {
		file []byte
		says string
	}{
		"cut in a line":         {[]byte(good[:len(good)/2]), "the file is cut off after line"},
		"cut at a line":         {[]byte(strings.Join(lines[:len(lines)/2], "")), "its last line is missing"},
		"a line is missing":     {[]byte(strings.Join(slices.Delete(slices.Clone(lines), contact, contact+1), "")), "the file was changed after it was exported"},
		"edited":                {[]byte(strings.Replace(good, "bill@initech", "will@initech", 1)), "the file was changed after it was exported"},
		"not JSON":              {[]byte(strings.Replace(good, `{"entity":"contacts"`, `{"entity":contacts`, 1)), "is damaged or from a newer version of prospector"},
		"goes on":               {[]byte(good + "{}\n"), "the file goes on after line"},
		"twice":                 {[]byte(good + good), "the file goes on after line"},
		"packed and cut":        {whole[:len(whole)/2], "the file is cut off"},
		"packed and damaged":    {flipped, "damaged"},
		"a header of gzip only": {whole[:6], "the file is"},
		"newer format":          {[]byte(rehashed(strings.Replace(good, `"format":1`, `"format":2`, 1))), "whose format 2 is newer than the format 1 of this version"},
		"newer table":           {[]byte(rehashed(strings.Replace(good, lines[contact], `{"entity":"robots","record":{}}`+"\n"+lines[contact], 1))), `"robots" is not known to this version`},
		"newer member":          {[]byte(rehashed(strings.Replace(good, `{"entity":"contacts"`, `{"colour":1,"entity":"contacts"`, 1))), "newer version"},
		"a record twice":        {[]byte(rehashed(strings.Replace(good, lines[contact], lines[contact]+lines[contact], 1))), "is there twice"},
		"another file":          {[]byte("email\nann@x.example\n"), "this is not a file of 'prospector org export'"},
		"an earlier version":    {[]byte(`{"entity":"organizations","record":{}}` + "\n"), "export the organization again"},
		"empty":                 {nil, "the file is cut off after line 0"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &place{t: t, dir: p.dir, env: p.env}
			p.write("file", string(c.file))
			r := p.run("org", "import", "file").withoutProgress()
			r.fails(1, "nothing was imported", c.says)
			p.run("org", "list", "--json").prints(`{"organizations": []}`)
		})
	}
	p.write("good.jsonl", good)
	id := p.run("org", "import", "good.jsonl", "--json").withoutProgress().text("id")
	p.run("org", "import", "good.jsonl").withoutProgress().fails(1, "exists, as \"Acme\"", "--new-ids")
	p.run("org", "import", "good.jsonl", "--new-ids").withoutProgress().fails(1, `there is an organization "Acme" already`, "--organization")
	p.run("org", "import", "missing.jsonl").fails(1, "missing.jsonl", "no such file")
	p.run("org", "import").fails(2, "the file, or - for standard input")
	// What was deleted can come back.
	p.run("org", "delete", "--org", id, "--yes").ok()
	p.run("org", "import", "good.jsonl", "--json").withoutProgress().ok()
	p.run("check").withoutProgress().ok()
}

// TestOrgMoves moves an organization in the middle of a campaign: the old one sends nothing any more, the new one goes on after
// resume with the steps that were not done, and its links and webhooks are as they should be.
func TestOrgMoves(t *testing.T) {
	t.Parallel()
	d := newAcmePlace(t, true)
	s, key := d.s, d.key
	made := func(path, body string) string { return s.id(s.do(http.StatusCreated, key, "POST", "/v1/"+path, body)) }
	s.do(http.StatusOK, key, "PATCH", "/v1/organization", `{"business_days": [1, 2, 3, 4, 5, 6, 7], "sending_window": {"from_hour": 0, "to_hour": 24}}`)
	hook := made("webhooks/subscriptions", `{"url": "https://hooks.example.com/in", "triggers": ["tag.updated"]}`)
	contact := made("contacts", `{"email": "bill@initech.example"}`)
	audience := made("audiences", fmt.Sprintf(`{"name": "Buyers", "contact_ids": [%q]}`, contact))
	template := made("sequence-templates", `{"name": "Mail", "steps": [
		{"index": 0, "type": "auto_email", "hour": 0, "subject": "Hello", "message": "Hello"}, {"index": 1, "type": "call", "day": 30, "hour": 0}]}`)
	campaign := made("campaigns", fmt.Sprintf(`{"name": "Spring", "status": "active", "template_id": %q, "audience_ids": [%q]}`, template, audience))
	list := "/v1/campaigns/" + campaign + "/sequences/list"
	s.awaitMilestone(milestone{"the first email is captured", func() bool {
		return strings.Contains(string(s.do(http.StatusOK, key, "POST", list, "{}").body), `"status":"captured"`)
	}})
	held := func(s *server, key, reason string) {
		t.Helper()
		body := string(s.do(http.StatusOK, key, "GET", "/v1/campaigns/"+campaign, "").body)
		if reason == "" && !strings.Contains(body, `"held":null`) || reason != "" && !strings.Contains(body, `"held":{"reason":"`+reason+`"`) {
			t.Errorf("the campaign is not held with the reason %q: %s", reason, body)
		}
	}
	progress := regexp.MustCompile(`"(status|due_at|at|message_id)":("[^"]*"|null)`)
	history := func(s *server, key string) []string {
		return progress.FindAllString(string(s.do(http.StatusOK, key, "POST", list, "{}").body), -1)
	}
	before := history(s, key)

	d.run("org", "export", "--org", "Acme", "--hold", "acme.jsonl").done()
	held(s, key, "moved")
	d.run("resume").withoutProgress().ok()
	held(s, key, "moved")
	other := made("campaigns", fmt.Sprintf(`{"name": "Summer", "template_id": %q, "audience_ids": [%q]}`, template, audience))
	s.do(http.StatusOK, key, "PATCH", "/v1/campaigns/"+other, `{"status": "active"}`)
	if body := string(s.do(http.StatusOK, key, "GET", "/v1/campaigns/"+other, "").body); !strings.Contains(body, `"reason":"moved"`) {
		t.Errorf("a campaign that became active is not held: %s", body)
	}

	p := newPlace(t, d.place.env...)
	there := p.serve()
	p.run("org", "import", d.path("acme.jsonl")).done().says("Imported organization \"Acme\", " + d.org + ", with .*\n.*resume --org " + d.org + "'.\n")
	newKey := p.run("key", "create", "--org", "Acme", "--name", "new", "--access", "admin", "--json").text("key")
	held(there, newKey, "imported")
	there.do(http.StatusUnprocessableEntity, newKey, "PATCH", "/v1/webhooks/subscriptions/"+hook, `{"status": "active"}`)
	there.do(http.StatusOK, newKey, "POST", "/v1/webhooks/subscriptions/"+hook+"/rotate-secret", "")
	there.do(http.StatusOK, newKey, "PATCH", "/v1/webhooks/subscriptions/"+hook, `{"status": "active"}`)
	if after := history(there, newKey); !slices.Equal(before, after) {
		t.Errorf("the sequence was %s and is %s", before, after)
	}
	p.run("resume", "--org", "Acme", "--overdue", "send").withoutProgress().ok()
	held(there, newKey, "")
	if after := history(there, newKey); !slices.Equal(before, after) {
		t.Errorf("after resume the sequence was %s and is %s", before, after)
	}
	there.stop()
	there.hasNoErrors()

	d.run("resume", "--org", "Acme", "--overdue", "skip").withoutProgress().ok() // it does not move after all
	held(s, key, "")
	s.stop()
	s.hasNoErrors()
}

// TestKill9OrgImport kills the import of an organization again and again: nothing of it is left, and the next one succeeds.
func TestKill9OrgImport(t *testing.T) {
	t.Parallel()
	d := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
	org, _ := d.org("Acme")
	d.contacts(uuid.MustParse(org), 20_000)
	d.run("org", "export", "--org", org, "acme.jsonl").done()
	p := newPlace(t)
	p.org("Beta")
	for i := range 5 {
		s := p.start("org", "import", d.path("acme.jsonl"))
		// A part of the file has been read when this much progress was printed.
		s.await(s.stderr, regexp.MustCompile(`(?s)(bytes\n.*){`+fmt.Sprint(1+2*i)+`}`))
		s.kill()
		p.run("org", "list").says(`ID +NAME +CREATED\n[0-9a-f-]+ +Beta .*\n`)
		p.run("check").withoutProgress().says("Checked 3 records, found 0 problems\n")
	}
	p.run("org", "import", d.path("acme.jsonl")).done()
	p.run("check").withoutProgress().ok()
}
