package cmd_test

import (
	"encoding/json"
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

	"prospector/internal/apptest"
)

// milestone is a point in the run of a command that can be observed from outside.
type milestone struct {
	name string
	come func() bool
}

// fileExists is reached when a file in the place matches the pattern.
func (p *place) fileExists(pattern string) milestone {
	return milestone{"there is " + pattern, func() bool {
		found, err := filepath.Glob(p.path(pattern))
		return err != nil || len(found) > 0
	}}
}

// not is reached when the milestone no longer holds.
func (m milestone) not() milestone {
	return milestone{"no more " + m.name, func() bool { return !m.come() }}
}

// and is reached when both milestones hold.
func (m milestone) and(other milestone) milestone {
	return milestone{m.name + " and " + other.name, func() bool { return m.come() && other.come() }}
}

// progressLines is reached when a command has printed so many progress lines.
func (s *server) progressLines(times int) milestone {
	return milestone{fmt.Sprintf("it has told %d times how far it is", times), func() bool {
		return strings.Count(s.stderr.String(), " of ") >= times
	}}
}

// awaitMilestone waits until a command reaches a milestone or exits.
func (s *server) awaitMilestone(m milestone) {
	s.t.Helper()
	for late := time.Now().Add(waitTimeout); !m.come(); runtime.Gosched() {
		select {
		case <-s.exited:
			return
		default:
		}
		if time.Now().After(late) {
			s.t.Fatalf("the command never reaches the milestone %s:\n%s", m.name, s.stderr)
		}
	}
}

// killAt kills the victim some time after a command reaches a milestone or exits, and waits until
// the victim has exited.
func (s *server) killAt(m milestone, delay time.Duration, victim *server) {
	s.t.Helper()
	s.awaitMilestone(m)
	time.AfterFunc(delay, func() { _ = victim.process.Kill() }) // the process may have exited already
	select {
	case <-s.exited:
	case <-time.After(waitTimeout):
		s.t.Fatalf("the command does not exit:\n%s", s.stderr)
	}
}

// TestKill9Backup kills a backup command, and a server that makes a backup. A file with the name of
// the backup is always complete, and the next start removes all temporary files.
func TestKill9Backup(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(soakSeed, 7))
	p := newPlace(t)
	org, _ := p.org("Acme")
	p.contacts(uuid.MustParse(org), 1000)
	const alone, besideServer, ofServer = 0, 1, 2
	for round := range 15 {
		if apptest.RaceDetector && round%2 == 1 {
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
		m := []milestone{
			p.fileExists("data/tmp/*"), p.fileExists("data/tmp/*/copy/prospector.db"), c.progressLines(1), p.fileExists("data/tmp/*/file"), c.progressLines(5),
		}[round/3]
		delay := time.Duration(random.Int64N(int64(4 * time.Millisecond)))
		c.killAt(m, delay, victim)
		t.Logf("round %d: killed %v after %s; the command exited with %d", round, delay, m.name, c.status)
		p.checkBackup(file, c)
		if s != nil {
			_ = s.process.Kill() // it may have been killed already
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
	p.run("backup", "backup after all").withoutProgress().ok()
	p.passesCheck()
}

// checkBackup checks that the backup file is complete or does not exist, in agreement with the exit
// status of the command.
func (p *place) checkBackup(file string, c *server) {
	p.t.Helper()
	_, err := os.Stat(p.path(file))
	if c.status == 0 && err != nil {
		p.t.Errorf("the command succeeded, but %v", err)
	}
	if err == nil {
		p.run("restore", file, "--data-dir", file+" restored").withoutProgress().says(`(?s)Restored 1115 records from .*`)
	}
	if c.status == 1 { // the command noticed that its server was killed
		result{t: p.t, what: "backup", stderr: c.stderr.String(), status: c.status}.withoutProgress().fails(1, "server")
	}
	if partial := p.fileExists("." + file + ".partial-*"); partial.come() {
		p.t.Errorf("the command exited with %d, but %s", c.status, partial.name)
	}
}

// TestKill9Restore kills restore repeatedly. The data directory then has either the complete old
// store or the complete new one, and the replaced store is kept aside.
func TestKill9Restore(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(soakSeed, 8))
	p := newPlace(t)
	records := map[int]string{}
	for n, name := range map[int]string{2050: "First", 2100: "Second"} { // enough records for an index
		records[n+(n+8)/9+3] = name // with the suppressions of those who opted out, organization, user and key
		if err := os.RemoveAll(p.path("data")); err != nil {
			t.Fatal(err)
		}
		org, _ := p.org(name)
		p.contacts(uuid.MustParse(org), n)
		p.withoutRaceDetector().run("backup", name).withoutProgress().ok()
	}
	whole := func(dir string) string { // returns which store a directory has
		t.Helper()
		var c struct {
			OK      bool
			Records int
		}
		r := p.withoutRaceDetector().run("check", "--json", "--data-dir", dir).withoutProgress()
		if err := json.Unmarshal([]byte(r.stdout), &c); err != nil || r.status != 0 || !c.OK || records[c.Records] == "" {
			t.Fatalf("%s: %v, %d %s %s", dir, err, r.status, r.stdout, r.stderr)
		}
		return records[c.Records]
	}
	old, asides := whole("data"), p.asides()
	for round := range 12 {
		if apptest.RaceDetector && (round < 2 || round > 5) {
			continue
		}
		other := map[string]string{"First": "Second", "Second": "First"}[old]
		before, err := os.Stat(p.path("data", "prospector.db"))
		if err != nil {
			t.Fatal(err)
		}
		c := p.start("restore", other)
		replaced := milestone{"the store is another", func() bool {
			now, err := os.Stat(p.path("data", "prospector.db"))
			if err != nil {
				t.Error("the store is missing: ", err)
			}
			return err != nil || !os.SameFile(before, now)
		}}
		keptAside := milestone{"something is kept aside", func() bool { return len(p.asides()) > len(asides) }}
		m := []milestone{
			p.fileExists("data/tmp"), p.fileExists("data/tmp/prospector.db"), c.progressLines(1), keptAside, replaced, replaced.and(p.fileExists("data/index").not()),
		}[round%6]
		delay := time.Duration(random.Int64N(1 + int64(round/6)*int64(20*time.Millisecond)))
		c.killAt(m, delay, c)
		now, kept := whole("data"), p.asides()
		t.Logf("round %d: killed %v after %s; it exited with %d, the store was %s and is now %s", round, delay, m.name, c.status, old, now)
		if c.status == 1 || c.status == 0 && now != other {
			t.Errorf("it exited with %d: %s", c.status, c.stderr)
		}
		if names := p.names("data"); strings.Replace(names, "last-backup.json ", "", 1) != "index prospector.db" {
			t.Errorf("the next start left %s", names)
		}
		if now == other {
			if len(kept) != len(asides)+1 {
				t.Errorf("the directories kept aside are %v, before they were %v", kept, asides)
			} else if aside := whole(kept[len(asides)]); aside != old {
				t.Errorf("the store was %s, but %s is kept aside", old, aside)
			}
		} else if len(kept) != len(asides) { // it would be the store itself under another name
			t.Errorf("the store was not replaced, but the directories kept aside are %v, before they were %v", kept, asides)
		}
		if t.Failed() {
			return
		}
		old, asides = now, kept
	}
}

// asides returns the directories where restores kept replaced stores, oldest first.
func (p *place) asides() []string {
	p.t.Helper()
	found, err := filepath.Glob(p.path("data.before-restore-*"))
	if err != nil {
		p.t.Fatal(err)
	}
	slices.Sort(found)
	return found
}
