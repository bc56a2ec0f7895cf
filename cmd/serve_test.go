package cmd_test

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"prospector/store"
)

func TestSecondServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve()
	org, key := p.org("Acme")
	p.run("serve", "--addr", "127.0.0.1:0").fails(1, p.path("data"), "in use by another process")

	// The first server and its socket are not affected.
	s.do(http.StatusOK, key, "GET", "/v1/me", "")
	p.run("user", "create", "--org", org, "--email", "bob@acme.example").ok()
	s.stop()
	p.serve().stop()
}

// TestServeWarnsOfReadableData has a data directory that other users can read.
func TestServeWarnsOfReadableData(t *testing.T) {
	t.Parallel()
	const warning = "other users can read private data"
	p := newPlace(t)
	s := p.serve()
	s.stop()
	if log := s.stderr.String(); strings.Contains(log, warning) {
		t.Errorf("it warns of a private directory:\n%s", log)
	}
	if err := os.Chmod(p.path("data"), 0o755); err != nil {
		t.Fatal(err)
	}
	s = p.serve()
	s.stop()
	if log := s.stderr.String(); !strings.Contains(log, warning) || !strings.Contains(log, p.path("data")) {
		t.Errorf("it does not warn:\n%s", log)
	}
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	first, second := newPlace(t), newPlace(t)
	addr := strings.TrimPrefix(first.serve().url, "http://")
	second.run("org", "create", "--name", "Acme").ok() // otherwise the log reports the new store
	second.run("serve", "--addr", addr).fails(1, addr, "address already in use")
	second.run("demo", "--addr", addr, "--data-dir", "demo").fails(1, addr, "address already in use")
	second.run("serve", "--addr", "nonsense").fails(2, "--addr", "nonsense")
	second.serve().stop()
}

// TestDamagedStore checks that a damaged store file is refused in one line and left unchanged for
// repair.
func TestDamagedStore(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve()
	_, key := p.org("Acme")
	notes := strings.Repeat("words ", 2000)
	for range 20 {
		s.do(http.StatusCreated, key, "POST", "/v1/contacts", `{"email": "x@acme.example", "notes": "`+notes+`"}`)
	}
	s.stop()
	whole, err := os.ReadFile(p.path("data", store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	used := usedBytes(t, p.path("data", store.FileName))
	random := rand.NewChaCha8([32]byte{1})
	noise := func(n int) []byte {
		b := make([]byte, n)
		_, _ = random.Read(b) // it never fails
		return b
	}
	page := os.Getpagesize() // bbolt uses the page size of the system
	metaPages := 2 * page    // they locate everything else

	for _, c := range []struct {
		name    string
		content []byte
	}{
		{name: "cut to half of what is in it", content: whole[:used/2]},
		{name: "cut by one page", content: whole[:used-page]},
		{name: "cut in the middle of a page", content: whole[:used-1000]},
		{name: "cut to its first page", content: whole[:page]},
		{name: "cut to its first two pages", content: whole[:metaPages]},
		{name: "cut to 100 bytes", content: whole[:100]},
		{name: "empty", content: nil},
		{name: "noise", content: noise(len(whole))},
		{name: "noise of one line", content: []byte("this is no store\n")},
		{name: "zeroes", content: make([]byte, len(whole))},
		{name: "noise after the first two pages", content: append(bytes.Clone(whole[:metaPages]), noise(len(whole)-metaPages)...)},
		{name: "zeroes after the first two pages", content: append(bytes.Clone(whole[:metaPages]), make([]byte, len(whole)-metaPages)...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t).withoutRaceDetector() // a server that does not start has no concurrency
			file := p.path("data", store.FileName)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, c.content, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, line := range []string{"serve --addr 127.0.0.1:0", "demo --addr 127.0.0.1:0 --data-dir data", "org list", "org create --name Acme"} {
				p.run(strings.Fields(line)...).fails(1, file, "damaged")
				if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, c.content) {
					t.Fatalf("%s changed the file (%v)", line, err)
				}
			}
			if names, err := os.ReadDir(p.path("data")); err != nil || len(names) != 1 {
				t.Errorf("the data directory contains %v (%v)", names, err)
			}
		})
	}
}

// usedBytes returns how much of the file is in use. The file grows in large steps, and damage to
// its unused end has no effect.
func usedBytes(t *testing.T, file string) (n int) {
	t.Helper()
	db, err := bolt.Open(file, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.View(func(tx *bolt.Tx) error { n = int(tx.Size()); return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}
