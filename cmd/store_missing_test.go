package cmd_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"prospector/store"
)

// TestMissingStore checks that a store which was there before is never silently replaced with an empty
// one: only --new does that, and the log says so.
func TestMissingStore(t *testing.T) {
	t.Parallel()
	const created = "created a new store"
	p := newPlace(t)
	if err := os.MkdirAll(p.path("data", "index"), 0o700); err != nil { // an empty directory shows nothing
		t.Fatal(err)
	}
	s := p.serve()
	_, key := p.org("Acme")
	if log := s.stderr.String(); strings.Count(log, created) != 1 || !strings.Contains(log, p.path("data", store.FileName)) {
		t.Errorf("the log does not report the new store:\n%s", log)
	}
	p.run("backup", p.path("all.backup")).done()
	s.stop()
	s = p.serve()
	s.do(http.StatusOK, key, "GET", "/v1/me", "")
	s.stop()
	if log := s.stderr.String(); strings.Contains(log, created) {
		t.Errorf("the log reports a new store:\n%s", log)
	}

	file := p.path("data", store.FileName)
	remove := func(path string) {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(trace string) {
		t.Helper()
		for _, line := range []string{"serve --addr 127.0.0.1:0", "demo --addr 127.0.0.1:0 --data-dir data", "org create --name Acme"} {
			p.run(strings.Fields(line)...).fails(1, trace, "shows that there was one", "prospector restore", "--new")
			if _, err := os.Stat(file); !os.IsNotExist(err) {
				t.Fatalf("%s created a store (%v)", line, err)
			}
		}
	}
	remove(file)
	p.write("data/index/"+store.FileName, "an index")
	refused(p.path("data", "index"))
	remove(p.path("data", "index"))
	refused(p.path("data", "last-backup.json"))

	s = p.serve("--new")
	if log := s.stderr.String(); strings.Count(log, created) != 1 {
		t.Errorf("the log does not report the new store:\n%s", log)
	}
	s.do(http.StatusUnauthorized, key, "GET", "/v1/me", "")
	s.stop()

	remove(file)
	p.run("restore", p.path("all.backup")).done()
	s = p.serve("--new") // the store exists, so the flag has no effect
	s.do(http.StatusOK, key, "GET", "/v1/me", "")
	s.stop()
}

// TestStoreReplaced checks that a server is not ready and acknowledges nothing when the file behind its path is no
// longer the one that it has open, and that its metrics and one line of its log say so.
func TestStoreReplaced(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	_, key := p.org("Acme")
	s := p.serve()
	file, aside := p.path("data", store.FileName), p.path("data", "aside.db")
	create := func(status int) {
		s.do(status, key, "POST", "/v1/tags", `{"name": "VIP", "color": "red", "object_type": "contact"}`, "Content-Type", "application/json")
	}
	ready := func() { s.do(http.StatusOK, "", "GET", "/readyz", "") }
	notReady := func(reason string) {
		t.Helper()
		if body := string(s.do(http.StatusServiceUnavailable, "", "GET", "/readyz", "").body); !strings.Contains(body, reason) {
			t.Errorf("/readyz does not say %q: %s", reason, body)
		}
	}
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	ready()
	rename(file, aside)
	create(http.StatusServiceUnavailable)
	notReady("removed while the server runs")
	p.write("data/"+store.FileName, "another file")
	create(http.StatusServiceUnavailable)
	notReady("replaced while the server runs")
	if s.metric("prospector_store_out_of_place", "") != 1 || s.metric("prospector_store_file_bytes", "") < 4096 {
		t.Error("the metrics do not show it")
	}
	s.do(http.StatusOK, key, "GET", "/v1/me", "")
	if n := strings.Count(s.stderr.String(), "level=ERROR msg=\"store file is not as the server left it"); n != 1 {
		t.Errorf("%d lines of the log say so:\n%s", n, s.stderr)
	}
	rename(aside, file)
	ready()
	create(http.StatusCreated)
	s.stop()
}
