package cmd_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// indexedContacts is enough contacts for an index.
const indexedContacts = 2100

var indexBuilt = regexp.MustCompile(`msg="index built"`)

// shortage is a place with an organization whose contacts have an index.
type shortage struct {
	*place
	key      string
	contacts int // that were acknowledged
}

func newShortage(t *testing.T) *shortage {
	t.Helper()
	return &shortage{place: newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0").withoutRaceDetector()}
}

// fill creates the organization and its contacts.
func (p *shortage) fill() {
	p.t.Helper()
	_, p.key = p.org("Acme")
	s := p.serve()
	p.contacts = len(s.load(p.key, indexedContacts, func(i int) string { return fmt.Sprintf(`"title": "VP %d"`, i%7) }))
	s.await(s.stderr, indexBuilt)
	s.stop()
}

// create tries to create a contact and reports whether it was accepted.
func (p *shortage) create(s *server, notes string) bool {
	p.t.Helper()
	r, err := send(client, "POST", s.url+"/v1/contacts", fmt.Sprintf(`{"email": "new%d@acme.example", "notes": %q}`, p.contacts, notes),
		"Authorization", "Bearer "+p.key, "Content-Type", "application/json")
	if err != nil {
		p.t.Fatal(err)
	}
	switch r.status {
	case http.StatusCreated:
		p.contacts++
		return true
	case http.StatusServiceUnavailable:
		if r.header.Get("Retry-After") == "" {
			p.t.Errorf("no Retry-After: %s", r.body)
		}
		return false
	}
	p.t.Fatalf("status %d: %s", r.status, r.body)
	return false
}

// lists requires that lists with and without an index have every contact, and that no index was built or
// found damaged.
func (p *shortage) lists(s *server) {
	p.t.Helper()
	for _, body := range []string{`{}`, `{"sort": "title"}`, `{"filters": [{"field": "email", "condition": "contains", "value": "@acme.example"}]}`} {
		if n := s.total(p.key, "contacts", body); n != p.contacts {
			p.t.Errorf("%s: %d contacts, want %d", body, n, p.contacts)
		}
	}
	for _, metric := range []string{"prospector_index_builds_total", "prospector_index_damaged_total"} {
		if n := s.metric(metric, ""); n != 0 {
			p.t.Errorf("%s is %v", metric, n)
		}
	}
}

// recovers requires that nothing is missing once there is enough of everything.
func (p *shortage) recovers() {
	p.t.Helper()
	p.setup = ""
	s := p.serve()
	if !p.create(s, "") {
		p.t.Error("a write is refused")
	}
	p.lists(s)
	s.stop()
	s.hasNoErrors()
	p.passesCheck()
}

// TestShortageOfHandles runs a server with 48 file handles and more clients than that, each of which keeps
// its connection. All of them are answered, because idle connections are closed.
func TestShortageOfHandles(t *testing.T) {
	t.Parallel()
	p := newShortage(t)
	p.fill()
	for range soakRounds(t, 1) {
		p.setup = "ulimit -n 48"
		s := p.serve()
		address := strings.TrimPrefix(s.url, "http://")
		for range 60 {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "GET /v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", p.key)
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || res.StatusCode != http.StatusOK {
				t.Fatalf("%v, %v", res, err)
			}
		}
		for range 10 {
			if !p.create(s, "") {
				t.Error("a write is refused")
			}
			p.lists(s)
		}
		p.run("backup", fmt.Sprint("backup of ", p.contacts)).withoutProgress().ok()
		s.await(s.stderr, regexp.MustCompile(`level=ERROR msg="file handles are short`))
		s.stop()
		p.recovers()
	}
}

// mountSmall mounts a file system of 32 MB at a new directory, and returns the function that unmounts it.
func (p *shortage) mountSmall(dir string) (unmount func()) {
	p.t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=32m,mode=0700"); err != nil {
		p.t.Skipf("mounting a small file system requires root: %v", err)
	}
	return func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			p.t.Error(err)
		}
	}
}

// TestShortageOfSpace fills the disk of a server. Writes are refused until there is space again, and the index
// is kept although it cannot be written.
func TestShortageOfSpace(t *testing.T) {
	t.Parallel()
	p := newShortage(t)
	data := p.path("data")
	defer p.mountSmall(data)()
	p.fill()
	notes := strings.Repeat("x", 50_000)
	for range soakRounds(t, 1) {
		s := p.serve()
		p.lists(s)
		ballast := p.path("data", "ballast")
		if err := fillDisk(ballast); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("the disk cannot be filled: %v", err)
		}
		for n := 0; p.create(s, notes); n++ {
			if n > 1000 {
				t.Fatal("the disk is full, but writes are accepted")
			}
		}
		p.lists(s)
		s.await(s.stderr, regexp.MustCompile(`level=ERROR msg="disk is full.*no space left on device`))
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		if !p.create(s, "") {
			t.Error("a write is refused although there is space")
		}
		p.lists(s)
		s.stop()
		p.recovers()
	}
}

// fillDisk writes a file until that fails.
func fillDisk(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	return err
}

// TestShortageOfMemory runs a server in a cgroup with 96 MB of memory or, if the test cannot make one, with
// Go's memory limit.
func TestShortageOfMemory(t *testing.T) {
	t.Parallel()
	p := newShortage(t)
	p.fill()
	for range soakRounds(t, 1) {
		group, err := memoryGroup(t, 96<<20)
		if err == nil {
			p.setup = `echo $$ > "` + group + `/cgroup.procs"`
		} else {
			t.Logf("with GOMEMLIMIT, because a cgroup cannot be made: %v", err)
			p.setup = "export GOMEMLIMIT=76MiB"
		}
		s := p.serve()
		if err == nil {
			s.await(s.stderr, regexp.MustCompile(`msg="memory limit set to 80 % of the cgroup's" cgroup_bytes=100663296 `))
		}
		notes := strings.Repeat("x", 50_000)
		for range 40 {
			if !p.create(s, notes) {
				t.Error("a write is refused")
			}
		}
		p.lists(s)
		s.stop()
		p.recovers()
	}
}

// memoryGroup makes a cgroup with a limit.
func memoryGroup(t *testing.T, limit int) (dir string, err error) {
	t.Helper()
	root, file := "/sys/fs/cgroup", "memory.max" // version 2
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err != nil {
		root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	}
	dir, err = os.MkdirTemp(root, "prospector-test-")
	if err != nil {
		return "", err
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	limited, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
	if err != nil {
		return "", err // the controller is not available here
	}
	_, err = limited.WriteString(strconv.Itoa(limit))
	return dir, errors.Join(err, limited.Close())
}

// TestShortageOfSpaceForFiles uploads a file that does not fit on the disk. It is refused and leaves nothing, and smaller
// files can still be imported.
func TestShortageOfSpaceForFiles(t *testing.T) {
	t.Parallel()
	p := newShortage(t)
	data := p.path("data")
	defer p.mountSmall(data)()
	_, p.key = p.org("Acme")
	s := p.serve()
	body, contentType := formOf(t, strings.Repeat("a line of a file that is too large\n", 1<<20), `{"entity": "contacts"}`)
	r := s.do(http.StatusServiceUnavailable, p.key, "POST", "/v1/imports", body, "Content-Type", contentType)
	if !strings.Contains(string(r.body), "no space on the disk for the file") || r.header.Get("Retry-After") == "" {
		t.Errorf("%s", r.body)
	}
	if files, err := os.ReadDir(p.path("data", "imports")); err != nil || len(files) > 0 {
		t.Errorf("the files %v are left (%v)", files, err)
	}
	if n := s.total(p.key, "imports", `{}`); n != 0 {
		t.Errorf("%d imports are left", n)
	}
	m := s.upload(p.key, importRows(100), `{"entity": "contacts"}`)
	if m = s.onlyImport(p.key, fileImport.hasEnded); m.Status != "completed" || m.Added != 90 {
		t.Errorf("%+v", m)
	}
	s.stop()
	s.hasNoErrors()
}
