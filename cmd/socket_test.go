package cmd_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommandsReachTheServer checks that the next request sees the effect of a command.
func TestCommandsReachTheServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve()
	org, _ := p.org("Acme")

	made := p.run("key", "create", "--org", org, "--name", "sync", "--json")
	key := made.text("key")
	s.do(http.StatusOK, key, "GET", "/v1/me", "")
	p.run("key", "deactivate", "--org", org, made.text("id")).ok()
	s.do(http.StatusUnauthorized, key, "GET", "/v1/me", "")

	reader := p.run("key", "create", "--org", org, "--name", "reports", "--access", "read", "--json").text("key")
	s.do(http.StatusForbidden, reader, "POST", "/v1/contacts", `{"email": "x@acme.example"}`)

	limit := func(value, header string) {
		t.Helper()
		p.run("org", "set", "--org", org, "--rate-limit", value).ok()
		if got := s.do(http.StatusOK, reader, "GET", "/v1/me", "").header.Get("X-RateLimit-Limit"); got != header {
			t.Errorf("with --rate-limit %s the next request has the limit %q, want %q", value, got, header)
		}
	}
	limit("50", "50")
	limit("0", "")
	limit("default", "100")
	p.run("org", "set", "--org", org, "--rate-limit", "1").ok()
	s.do(http.StatusTooManyRequests, reader, "GET", "/v1/me", "")

	// Conversely, a command shows changes made over HTTP.
	p.run("org", "set", "--org", org, "--rate-limit", "0").ok()
	admin := p.run("key", "create", "--org", org, "--name", "boss", "--access", "admin", "--json").text("key")
	s.do(http.StatusCreated, admin, "POST", "/v1/users", `{"email": "carl@acme.example"}`)
	if out := p.run("user", "list", "--org", org).ok().stdout; !strings.Contains(out, "carl@acme.example") {
		t.Errorf("user list does not show the user created over HTTP: %s", out)
	}
	s.stop()
}

func TestSocketFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	socket := p.path("data", "admin.sock")
	gone := func() bool {
		_, err := os.Lstat(socket)
		return errors.Is(err, os.ErrNotExist)
	}

	s := p.serve()
	info, err := os.Lstat(socket)
	if err != nil || info.Mode().Type() != os.ModeSocket || info.Mode().Perm() != 0o600 {
		t.Fatalf("admin.sock: %v, %v, want a socket of mode 0600", info, err)
	}
	p.run("org", "create", "--name", "Acme").ok()
	s.stop()
	if !gone() {
		t.Error("admin.sock exists after the server stopped")
	}

	p.serve().kill()
	if gone() {
		t.Fatal("a killed server removed its socket, but this test needs one that is left behind")
	}
	p.run("org", "list").ok()
	p.run("user", "create", "--org", "Acme", "--email", "ada@acme.example").ok()
	s = p.serve()
	p.run("key", "create", "--org", "Acme", "--name", "sync").ok()
	s.stop()
	if !gone() {
		t.Error("admin.sock exists after the server stopped")
	}
}

// TestLongDataDirectory checks that a data directory may have a longer path than the 108 bytes of a
// socket name.
func TestLongDataDirectory(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	relative := filepath.Join(strings.Repeat("long-", 30), "data")
	absolute := p.path(relative)
	for _, serveIn := range []string{relative, absolute} {
		s := p.serve("--data-dir", serveIn)
		_, key := p.org("Acme in "+serveIn, "--data-dir", absolute)
		s.do(http.StatusOK, key, "GET", "/v1/me", "")
		p.run("org", "set", "--org", "Acme in "+serveIn, "--rate-limit", "7", "--data-dir", relative).ok()
		if got := s.do(http.StatusOK, key, "GET", "/v1/me", "").header.Get("X-RateLimit-Limit"); got != "7" {
			t.Errorf("the limit is %q, want 7", got)
		}
		if info, err := os.Lstat(filepath.Join(absolute, "admin.sock")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("admin.sock: %v, %v, want mode 0600", info, err)
		}
		s.stop()
		if _, err := os.Lstat(filepath.Join(absolute, "admin.sock")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("admin.sock exists after the server stopped (%v)", err)
		}
	}
	p.run("org", "list", "--data-dir", absolute).ok()
}
