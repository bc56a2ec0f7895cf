package cmd_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// TestRequestLog checks that each request is logged in one line with its caller and operation, and
// that the log never contains a key.
func TestRequestLog(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "PROSPECTOR_LOG_FORMAT=json", "PROSPECTOR_LOG_LEVEL=debug")
	s := p.serve()
	org := p.run("org", "create", "--name", "Acme", "--json").text("id")
	p.run("user", "create", "--org", org, "--email", "ada@acme.example").ok()
	made := p.run("key", "create", "--org", org, "--name", "test", "--access", "admin", "--json")
	key, keyID := made.text("key"), made.text("id")

	type entry struct {
		Msg       string
		RequestID string `json:"request_id"`
		Method    string
		Path      string
		Status    int
		Duration  float64 `json:"duration_ms"`
		Operation string
		Org       string
		Key       string
	}
	expected := map[string]entry{}
	request := func(status int, key, method, path, body, operation, org, keyID string) reply {
		t.Helper()
		trace := "trace-" + string(rune('a'+len(expected)))
		r := s.do(status, key, method, path, body, "X-Request-Id", trace)
		if got := r.header.Get("X-Request-Id"); got != trace {
			t.Errorf("the response has request id %q, want the caller's, %q", got, trace)
		}
		path, _, _ = strings.Cut(path, "?")
		expected[trace] = entry{Msg: "request", RequestID: trace, Method: method, Path: path, Status: status, Operation: operation, Org: org, Key: keyID}
		return r
	}
	contact := s.id(request(http.StatusCreated, key, "POST", "/v1/contacts", `{"email": "x@acme.example"}`, "create_contact", org, keyID))
	request(http.StatusOK, key, "GET", "/v1/contacts/"+contact, "", "get_contact", org, keyID)
	request(http.StatusUnprocessableEntity, key, "PATCH", "/v1/contacts/"+contact, `{"email": 5}`, "update_contact", org, keyID)
	request(http.StatusNotFound, key, "GET", "/v1/contacts/"+absent, "", "get_contact", org, keyID)
	request(http.StatusNoContent, key, "DELETE", "/v1/contacts/"+contact, "", "delete_contact", org, keyID)
	request(http.StatusNotFound, key, "GET", "/v1/nowhere", "", "", org, keyID)
	request(http.StatusUnauthorized, key[:len(key)-1]+"!", "GET", "/v1/me", "", "", "", "")
	request(http.StatusOK, key, "GET", "/healthz", "", "get_health", "", "")
	// A key in the query is not accepted and must not be logged either.
	request(http.StatusUnprocessableEntity, key, "GET", "/v1/me?api_key="+key, "", "get_me", org, keyID)
	fresh := request(http.StatusCreated, key, "POST", "/v1/api-keys", `{"name": "fresh"}`, "create_api_key", org, keyID)
	e, err := fresh.item()
	if err != nil || !plaintextKey.MatchString(e.Data.Key) {
		t.Fatalf("create_api_key returns no key (%v): %s", err, fresh.body)
	}
	request(http.StatusOK, e.Data.Key, "GET", "/v1/me", "", "get_me", org, e.Data.ID)

	// An invalid request id is replaced, and a missing one is generated.
	var ids []string
	for _, given := range []string{"two words", strings.Repeat("x", 129)} {
		ids = append(ids, s.do(http.StatusOK, key, "GET", "/v1/me", "", "X-Request-Id", given).header.Get("X-Request-Id"))
	}
	ids = append(ids, s.do(http.StatusOK, key, "GET", "/v1/me", "").header.Get("X-Request-Id"))
	for _, id := range ids {
		if !regexp.MustCompile(`\A[A-Za-z0-9._-]{1,128}\z`).MatchString(id) {
			t.Errorf("the request id is %q", id)
		}
		expected[id] = entry{Msg: "request", RequestID: id, Method: "GET", Path: "/v1/me", Status: 200, Operation: "get_me", Org: org, Key: keyID}
	}
	s.stop() // a request may be logged after its response, but not after the server stops

	seen := map[string]int{}
	for line := range strings.Lines(s.stderr.String()) {
		var got entry
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if got.Msg != "request" {
			continue
		}
		seen[got.RequestID]++
		if got.Duration <= 0 {
			t.Errorf("no duration: %s", line)
		}
		got.Duration = 0
		if want := expected[got.RequestID]; got != want {
			t.Errorf("the log has\n%+v, want\n%+v", got, want)
		}
	}
	for id := range expected {
		if seen[id] != 1 {
			t.Errorf("the log has %d lines of request %s, want 1", seen[id], id)
		}
	}
	for name, output := range map[string]*output{"stdout": s.stdout, "stderr": s.stderr} {
		if text := output.String(); strings.Contains(text, key) || strings.Contains(text, e.Data.Key) || plaintextKey.MatchString(text) {
			t.Errorf("%s contains an API key", name)
		}
	}
	if out := s.stdout.String(); out != "" {
		t.Errorf("serve printed %q", out)
	}
}

// TestTextLog checks the same in the text format.
func TestTextLog(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve()
	org, key := p.org("Acme")
	s.do(http.StatusOK, key, "GET", "/v1/me", "", "X-Request-Id", "trace.1_a-B")
	s.do(http.StatusNotFound, key, "GET", "/v1/"+strings.Repeat("x", 20_000), "", "X-Request-Id", "long")
	s.stop()
	for line := range strings.Lines(s.stderr.String()) {
		isCut := strings.HasSuffix(line, " cut=true\n")
		if isLong := strings.Contains(line, "request_id=long "); len(line) > 8<<10 || isCut != isLong {
			t.Errorf("%d bytes: %s", len(line), line)
		}
	}
	line := regexp.MustCompile(`(?m)^time=\S+ level=INFO msg=request request_id=trace\.1_a-B method=GET path=/v1/me status=200 ` +
		`duration_ms=\S+ operation=get_me org=` + org + ` key=` + anID + `$`)
	if log := s.stderr.String(); len(line.FindAllString(log, -1)) != 1 {
		t.Errorf("want one line that matches %s:\n%s", line, log)
	}
}
