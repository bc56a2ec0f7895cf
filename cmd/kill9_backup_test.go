package cmd_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// moment is a point on a command's way that can be seen from outside.
type moment struct {
	name string
	come func() bool
}

// there is the moment when a file of the place is there, by a pattern.
func (p *place) there(pattern string) moment {
	return moment{"there is " + pattern, func() bool {
		found, err := filepath.Glob(p.path(pattern))
		return err != nil || len(found) > 0
	}}
}

// not is the moment when another is over.
func (m moment) not() moment {
	return moment{"no more " + m.name, func() bool { return !m.come() }}
}

// said is the moment when a command has told so many times how far it is.
func (s *server) said(times int) moment {
	return moment{fmt.Sprintf("it has told %d times how far it is", times), func() bool {
		return strings.Count(s.stderr.String(), " of ") >= times
	}}
}

// killAt waits for a moment on the way of a command, which may also end before, and kills the victim some time later.
func (s *server) killAt(m moment, delay time.Duration, victim *server) {
	s.t.Helper()
	for late := time.Now().Add(patience); !m.come(); runtime.Gosched() {
		select {
		case <-s.exited:
			return
		default:
		}
		if time.Now().After(late) {
			s.t.Fatalf("there is no moment when %s:\n%s", m.name, s.stderr)
		}
	}
	time.AfterFunc(delay, func() { _ = victim.process.Kill() }) // one that has ended cannot be killed
	select {
	case <-s.exited:
	case <-time.After(patience):
		s.t.Fatalf("the command does not end:\n%s", s.stderr)
	}
}

// TestKill9Backup kills a backup, and the server that makes one. What then has the backup's name is a whole backup, and of the
// work nothing outlives the next start.
func TestKill9Backup(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(soakSeed, 7))
	p := newPlace(t)
	org, _ := p.org("Acme")
	p.contacts(uuid.MustParse(org), 1500)
	const alone, besideServer, ofServer = 0, 1, 2
	for round := range 15 {
		if raceDetector && round%2 == 1 {
			continue
		}
		kind, file := round%3, fmt.Sprint("backup ", round)
		var s *server
		if kind != alone {
			s = p.serve()
		}
		c := p.start("backup", file)
		victim := c
		if kind == ofServer {
			victim = s
		}
		m := []moment{
			p.there("." + file + ".partial-*"), p.there("data/tmp/*/copy/prospector.db"), c.said(1), p.there("data/tmp/*/file"), c.said(5),
		}[round/3]
		delay := time.Duration(random.Int64N(int64(4 * time.Millisecond)))
		c.killAt(m, delay, victim)
		t.Logf("round %d: killed %v after %s; the command ended with %d", round, delay, m.name, c.status)
		p.backedUp(file, c)
		if s != nil {
			_ = s.process.Kill() // it may be that already
			s.ends(-1)
		}
		p.run("org", "list").ok()
		if names := p.names("data", "tmp"); names != "" {
			t.Errorf("round %d: the next start left tmp/%s", round, names)
		}
		if t.Failed() {
			return
		}
	}
	p.run("backup", "backup after all").past().ok()
	p.sound()
}

// backedUp wants the file of a backup to be whole or not there, as the command has ended.
func (p *place) backedUp(file string, c *server) {
	p.t.Helper()
	_, err := os.Stat(p.path(file))
	if c.status == 0 && err != nil {
		p.t.Errorf("it was made, and %v", err)
	}
	if err == nil {
		p.run("restore", file, "--data-dir", file+" restored").past().says(`(?s)Restored 1503 records from .*`)
	}
	if c.status == 1 { // it saw its server go
		result{t: p.t, what: "backup", stderr: c.stderr.String(), status: c.status}.past().fails(1, "server")
	}
	if partial := p.there("." + file + ".partial-*"); c.status != -1 && partial.come() {
		p.t.Errorf("it ended with %d, and %s", c.status, partial.name)
	}
}

// TestKill9Restore kills restore again and again. The data directory has the old store then or the new one, whole, and what was
// there before a new one is aside.
func TestKill9Restore(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(soakSeed, 8))
	p := newPlace(t)
	records := map[string]int{"First": 2103, "Second": 2203}
	for name, n := range records {
		from := &place{t: t, dir: p.dir, env: []string{"PROSPECTOR_DATA_DIR=" + p.path("data")}}
		if err := os.RemoveAll(p.path("data")); err != nil {
			t.Fatal(err)
		}
		org, _ := from.org(name)
		from.contacts(uuid.MustParse(org), n-3)
		from.run("backup", name).past().ok()
	}
	has := func(dir string) string {
		t.Helper()
		orgs := p.run("org", "list", "--data-dir", dir).ok().stdout
		for name := range records {
			if strings.Contains(orgs, name) && strings.Count(orgs, "\n") == 2 {
				return name
			}
		}
		t.Fatalf("%s has the organizations\n%s", dir, orgs)
		return ""
	}
	old := has("data")
	asides := p.asides()
	for round := range 12 {
		if raceDetector && round%3 > 0 {
			continue
		}
		if round%3 == 0 {
			p.run("reindex").done() // so that there is one to go
		}
		other := map[string]string{"First": "Second", "Second": "First"}[old]
		c := p.start("restore", other)
		before, err := os.Stat(p.path("data", "prospector.db"))
		if err != nil {
			t.Fatal(err)
		}
		replaced := moment{"the store is another", func() bool {
			now, err := os.Stat(p.path("data", "prospector.db"))
			return err != nil || !os.SameFile(before, now)
		}}
		keptAside := moment{"something is kept aside", func() bool { return len(p.asides()) > len(asides) }}
		m := []moment{
			p.there("data/tmp"), p.there("data/tmp/prospector.db"), c.said(1), keptAside, replaced, p.there("data/index").not(),
		}[round%6]
		delay := time.Duration(random.Int64N(1 + int64(round/6)*int64(20*time.Millisecond)))
		c.killAt(m, delay, c)
		if c.status == 1 {
			t.Fatalf("it failed: %s", c.stderr)
		}
		now := has("data")
		t.Logf("round %d: killed %v after %s; it ended with %d, there was %s, there is %s", round, delay, m.name, c.status, old, now)
		if c.status == 0 && now != other {
			t.Errorf("it ended well, and there is %s", now)
		}
		r := p.run("check", "--json").past()
		if want := fmt.Sprintf("{\n  \"ok\": true,\n  \"records\": %d,\n  \"problems\": []\n}\n", records[now]); r.status != 0 || r.stdout != want {
			t.Errorf("check: %d %s %s", r.status, r.stdout, r.stderr)
		}
		if names := p.names("data", "tmp"); names != "" {
			t.Errorf("the next start left tmp/%s", names)
		}
		if kept := p.asides(); now == other {
			if len(kept) != len(asides)+1 {
				t.Errorf("kept aside are %v", kept[len(asides):])
			} else if aside := has(kept[len(asides)]); aside != old {
				t.Errorf("there was %s, kept aside is %s", old, aside)
			}
		}
		old, asides = now, p.asides()
		if t.Failed() {
			return
		}
	}
}

// asides are the directories where restores have kept what was there, the oldest first.
func (p *place) asides() []string {
	p.t.Helper()
	found, err := filepath.Glob(p.path("data.before-restore-*"))
	if err != nil {
		p.t.Fatal(err)
	}
	slices.Sort(found)
	return found
}
