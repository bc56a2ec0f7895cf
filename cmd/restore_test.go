package cmd_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/apptest"
)

var heldWarning = regexp.MustCompile(`level=WARN msg="the store was restored or copied: campaigns and deliveries are held until you run 'prospector resume'" reason=restored`)

// aside returns the only directory where restore kept a replaced store.
func (p *place) aside() string {
	p.t.Helper()
	found, err := filepath.Glob(p.path("data.before-restore-*"))
	if err != nil || len(found) != 1 {
		p.t.Fatalf("kept aside: %v (%v)", found, err)
	}
	return found[0]
}

// TestRestore restores an earlier state: records, lists, keys and organizations are immediately as
// they were, although the indexes are newer. The replaced store is kept aside and works.
func TestRestore(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
	org, key := p.org("Acme")
	id := uuid.MustParse(org)
	ids := p.contacts(id, 2050)
	then := p.storedContacts(id)
	s := p.serve()
	p.run("backup", "then.backup").withoutProgress().ok()

	var changes []string
	for _, id := range ids[:400] {
		changes = append(changes, `{"id": "`+id.String()+`", "title": "VP 1", "do_not_contact": true}`)
	}
	s.batch(key, changes)
	for _, id := range ids[2000:2010] {
		s.do(http.StatusNoContent, key, "DELETE", "/v1/contacts/"+id.String(), "")
	}
	s.do(http.StatusCreated, key, "POST", "/v1/contacts", `{"first_name": "Bo", "last_name": "Smi1"}`)
	p.run("org", "create", "--name", "Later").ok()
	later := p.run("key", "create", "--org", org, "--name", "later", "--json").text("key")
	keyID := ""
	for line := range strings.Lines(p.run("key", "list", "--org", org).ok().stdout) {
		if strings.Contains(line, " test ") {
			keyID = strings.Fields(line)[0]
		}
	}
	p.run("key", "deactivate", "--org", org, keyID).ok()
	p.run("reindex").done()
	s.stop()
	newer := p.path("newer index")
	if err := os.CopyFS(newer, os.DirFS(p.path("data", "index"))); err != nil {
		t.Fatal(err)
	}
	before := p.run("org", "list", "--json").ok().stdout

	said := p.run("restore", "then.backup").withoutProgress().ok().stdout
	aside := p.aside()
	if want := "Restored 2281 records from then.backup to " + p.path("data") + "\nThe old store was moved to " + aside + "\nCampaigns and deliveries are held until you run 'prospector resume'\n"; said != want {
		t.Errorf("restore prints %q", said)
	}
	// The store that was replaced counts as a copy.
	if now := p.run("org", "list", "--json", "--data-dir", aside).done().stdout; now != before {
		t.Errorf("the store kept aside has the organizations %s, before it had %s", now, before)
	}
	p.withoutRaceDetector().run("check", "--data-dir", aside).withoutProgress().says(`Checked 2639 records, found 0 problems\n`)
	if now := p.storedContacts(id); !reflect.DeepEqual(now, then) {
		t.Errorf("got %d contacts, want %d, or the wrong ones", len(now), len(then))
	}
	for _, index := range []string{"", newer} { // without an index, and with one of the replaced store
		if apptest.RaceDetector && index == "" {
			continue
		}
		if index != "" {
			if err := os.RemoveAll(p.path("data", "index")); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(p.path("data", "index"), os.DirFS(index)); err != nil {
				t.Fatal(err)
			}
		}
		s = p.serve()
		for _, l := range indexLists {
			if got := s.pages(key, l.body); !slices.Equal(got, l.of(then)) {
				t.Errorf("index %q, %s: got %d contacts, want %d, or the wrong ones", index, l.body, len(got), len(l.of(then)))
			}
		}
		s.do(http.StatusUnauthorized, later, "GET", "/v1/me", "")
		if orgs := p.run("org", "list", "--json").ok().stdout; strings.Contains(orgs, "Later") {
			t.Errorf("an organization exists that was created after the backup: %s", orgs)
		}
		s.await(s.stderr, heldWarning)
		s.stop()
	}
	s = p.serve()
	s.await(s.stderr, heldWarning)
	p.run("resume", "--json").prints(`{"campaigns": [], "deliveries": 0}`)
	s.stop()
	s = p.serve()
	p.run("resume").says("Released 0 campaigns and 0 deliveries\n") // nothing to resume is not an error
	s.stop()
	s.hasNoErrors()
	p.passesCheck()
	p.run("backup", "again.backup").withoutProgress().ok()
	if then, now := p.epoch("then.backup"), p.epoch("again.backup"); then == now {
		t.Errorf("the epoch is still %s, although the store was restored", now)
	}
}

// epoch returns the epoch of the store that a backup was made from.
func (p *place) epoch(backup string) string {
	p.t.Helper()
	var m struct{ Epoch string }
	if err := json.Unmarshal(p.unpack(backup)[0].content, &m); err != nil || m.Epoch == "" {
		p.t.Fatalf("%s: %v", backup, err)
	}
	return m.Epoch
}

// TestRestoreIntoEmptyOrUnreadable checks that a backup can be restored where there is no store,
// and over a store that cannot be opened, which is still kept aside.
func TestRestoreIntoEmptyOrUnreadable(t *testing.T) {
	t.Parallel()
	from := newPlace(t)
	_, key := from.org("Acme")
	from.run("backup", "file").withoutProgress().ok()
	file := from.path("file")
	for name, prepare := range map[string]func(p *place){
		"a missing directory": func(p *place) {},
		"an empty directory":  func(p *place) { p.dataFile("", "") },
		"another's leftovers": func(p *place) {
			p.dataFile("index/some/contacts/root.bolt", "noise")
			p.dataFile("tmp/prospector.db", "x")
		},
		"an empty store":   func(p *place) { p.dataFile("prospector.db", "") },
		"a store of noise": func(p *place) { p.dataFile("prospector.db", strings.Repeat("noise", 5000)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			prepare(p)
			old, err := os.ReadFile(p.path("data", "prospector.db"))
			if err == nil {
				p.run("restore", file).withoutProgress().says(`Restored 3 records from ` + file + ` to ` + p.path("data") + `\nThe old store was moved to .*\n.*'prospector resume'\n`)
				if kept, err := os.ReadFile(filepath.Join(p.aside(), "prospector.db")); err != nil || string(kept) != string(old) {
					t.Errorf("the file kept aside is %.20q (%v)", kept, err)
				}
			} else {
				p.run("restore", file, "--json").withoutProgress().prints(`{"records": 3}`)
				if names := p.names("."); names != "data" {
					t.Errorf("unexpected files: %s", names)
				}
			}
			if names := p.names("data"); names != "prospector.db" {
				t.Errorf("the data directory has %s", names)
			}
			for path, mode := range map[string]os.FileMode{p.path("data"): 0o700 | os.ModeDir, p.path("data", "prospector.db"): 0o600} {
				if info, err := os.Stat(path); err != nil || info.Mode() != mode {
					t.Errorf("%s: %v, %v, want mode %v", path, info.Mode(), err, mode)
				}
			}
			p.run("resume").says("Released 0 campaigns and 0 deliveries\n")
			s := p.serve()
			s.do(http.StatusOK, key, "GET", "/v1/me", "")
			s.stop()
			s.hasNoErrors()
			p.passesCheck()
		})
	}
}

// dataFile creates a file in the data directory, or only the directory if the name is empty.
func (p *place) dataFile(name, content string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path("data", name)+"x"), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if name != "" {
		p.write(filepath.Join("data", name), content)
	}
}

// TestRestoreWithServerRunning checks that restore is refused while a server runs, and that the
// server is not affected.
func TestRestoreWithServerRunning(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	_, key := p.org("Acme")
	p.run("backup", "file").withoutProgress().ok()
	s := p.serve()
	s.do(http.StatusCreated, key, "POST", "/v1/contacts", `{"email": "late@acme.example"}`)
	before := p.tree(".")
	for range 2 {
		p.run("restore", "file").fails(1, "nothing was changed", p.path("data"), "in use", "stop the server first")
		p.run("restore", "file", "--json").fails(1, "stop the server first")
	}
	if changes := p.changes(".", before); changes != "" {
		t.Errorf("files changed:%s", changes)
	}
	if n := s.total(key, "contacts", `{}`); n != 1 {
		t.Errorf("got %d contacts", n)
	}
	s.stop()
	s.hasNoErrors()
	r := p.run("restore", "file", "--json").withoutProgress()
	s = p.serve()
	if n := s.total(key, "contacts", `{}`); n != 0 {
		t.Errorf("got %d contacts", n)
	}
	s.stop()
	r.prints(`{"records": 3, "aside": ` + asJSON(p.aside()) + `}`)
}

// TestRestoreWithConcurrentCommand checks that a command that opens the store during a restore
// finds the old data or the new data, and that the restore either completes or changes nothing.
func TestRestoreWithConcurrentCommand(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	org, _ := p.org("Then")
	p.contacts(uuid.MustParse(org), 500)
	p.run("backup", "then").withoutProgress().ok()
	p.run("org", "create", "--name", "Later").ok()
	p.run("backup", "later").withoutProgress().ok()
	has := func() string { return p.run("org", "list").ok().stdout }
	want := map[string]string{"later": has()}
	p.run("restore", "then").withoutProgress().ok()
	want["then"] = has()
	now := "then"
	for round := range 6 {
		if apptest.RaceDetector && round >= 3 {
			break
		}
		other := map[string]string{"then": "later", "later": "then"}[now]
		asides := p.asides()
		c := p.start("restore", other)
		m := []milestone{p.fileExists("data/tmp/prospector.db"), c.progressLines(1), p.fileExists("data/index").not()}[round%3]
		c.awaitMilestone(m)
		concurrent := has()
		within(t, c.exited, "the restore ends")
		t.Logf("round %d, %s: restore exited with %d", round, m.name, c.status)
		if concurrent != want["then"] && concurrent != want["later"] {
			t.Errorf("the concurrent command found the organizations %s", concurrent)
		}
		switch c.status {
		case 0:
			now = other
		case 1:
			result{t: t, what: "restore", stderr: c.stderr.String(), status: 1}.withoutProgress().fails(1)
			if kept := p.asides(); len(kept) != len(asides) {
				t.Errorf("restore failed, but the directories kept aside are %v, before they were %v", kept, asides)
			}
		default:
			t.Errorf("it exited with %d: %s", c.status, c.stderr)
		}
		if is := has(); is != want[now] {
			t.Errorf("the organizations are %s, want %s", is, want[now])
		}
		if names := p.names("data"); names != "index last-backup.json prospector.db" {
			t.Errorf("the data directory has %s", names)
		}
	}
	p.passesCheck()
}
