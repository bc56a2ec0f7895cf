package cmd_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/apptest"
)

// TestOrgDelete checks that an organization is deleted with all its data, immediately and
// permanently, and that others are unchanged.
func TestOrgDelete(t *testing.T) {
	t.Parallel()
	const n = 2500 // enough for an index
	acmeBothWays(t, func(t *testing.T, d *acmePlace) {
		gone, key := d.place.org("Gone")
		if d.s != nil {
			d.s.stop()
		}
		d.contacts(uuid.MustParse(gone), n)
		d.run("reindex").done()
		if d.s != nil {
			d.s = d.serve()
		}
		d.served(func(s *server) {
			s.everyKind(d.key)
			if got := s.total(key, "contacts", "{}"); got != n {
				t.Errorf("got %d contacts, want %d", got, n)
			}
		})
		before := d.all(d.org)

		for _, c := range []struct{ args, says string }{
			{"", "org delete requires --org"},
			{"--yes", "org delete requires --org"},
			{"--org Gone", "confirm with --yes"},
			{"--org Gone --json", "confirm with --yes"},
			{"--org Gone --yes=false", "confirm with --yes"},
			{"--org Gone --yes now", "takes no arguments"},
		} {
			d.run(append([]string{"org", "delete"}, strings.Fields(c.args)...)...).fails(2, c.says)
		}
		d.run("org", "delete", "--org", "gone", "--yes").fails(1, `there is no organization "gone"`, "prospector org list")
		if _, err := os.Stat(d.path("data", "index", gone)); err != nil {
			t.Error(err)
		}

		d.run("org", "delete", "--org", "Gone", "--yes", "--json").prints(fmt.Sprintf(`{"records": %d}`, n+(n+8)/9+3)) // plus the suppressions of those who opted out, organization, user and key
		d.checkDeleted("Gone", gone)
		d.served(func(s *server) { s.do(http.StatusUnauthorized, key, "GET", "/v1/me", "") })
		d.run("org", "delete", "--org", "Gone", "--yes").fails(1, `there is no organization "Gone"`)
		d.run("org", "delete", "--org", gone, "--yes").fails(1, `there is no organization "`+gone+`"`)
		d.passesCheck()
		if after := d.all(d.org); !bytes.Equal(after, before) {
			t.Errorf("another organization is now\n%s\nit was\n%s", after, before)
		}

		// The name can be used again, and the new organization has none of the old data.
		again, fresh := d.place.org("Gone")
		if again == gone {
			t.Error("the id is reused")
		}
		d.served(func(s *server) {
			s.do(http.StatusUnauthorized, key, "GET", "/v1/me", "")
			if got := s.total(fresh, "contacts", "{}"); got != 0 {
				t.Errorf("the new organization has %d contacts", got)
			}
		})
		d.run("org", "delete", "--org", again, "--yes").says(`Deleted organization "` + again + `" with 3 records` + "\n")
		d.checkDeleted("Gone", gone)
		d.checkDeleted("Gone", again)
	})
}

// all returns all records of an organization but its keys.
func (p *place) all(org string) []byte {
	p.t.Helper()
	p.run("org", "export", "--org", org, "all.jsonl").done()
	content, err := os.ReadFile(p.path("all.jsonl"))
	if err == nil {
		err = os.Remove(p.path("all.jsonl"))
	}
	if err != nil {
		p.t.Fatal(err)
	}
	lines := bytes.SplitAfter(withoutTime(content), []byte{'\n'})
	return bytes.Join(slices.DeleteFunc(lines, func(line []byte) bool { return !bytes.Contains(line, []byte(`"record":`)) }), nil)
}

// checkDeleted checks that nothing is left of an organization.
func (p *place) checkDeleted(name, id string) {
	p.t.Helper()
	if list := p.run("org", "list", "--json").ok().stdout; strings.Contains(list, name) || strings.Contains(list, id) {
		p.t.Errorf("the organization is still listed: %s", list)
	}
	if _, err := os.Stat(p.path("data", "index", id)); !errors.Is(err, os.ErrNotExist) {
		p.t.Errorf("its indexes still exist: %v", err)
	}
}

// TestOrgDeleteInFlight checks that a request accepted before the deletion does not recreate the
// organization.
func TestOrgDeleteInFlight(t *testing.T) {
	t.Parallel()
	d := newAcmePlace(t, true)
	gone, key := d.place.org("Gone")
	ids := d.s.load(key, 3, func(int) string { return `"title": "VP"` })
	var slow []*slowPost
	for _, path := range []string{"contacts", "contacts/list", "contacts/batch", "tags"} {
		slow = append(slow, d.s.slowPost(key, "/v1/"+path, map[string]string{
			"contacts": `{"email": "late@x.example"}`, "contacts/list": `{"page": 1}`, "contacts/batch": `{"records": [{"id": "` + ids[0] + `", "title": "CEO"}]}`,
			"tags": `{"name": "Late", "color": "red", "object_type": "contact"}`,
		}[path]))
	}
	d.run("org", "delete", "--org", "Gone", "--yes", "--json").prints(`{"records": 6}`)
	for _, post := range slow {
		answer := post.finish()
		empty := bytes.Contains(answer.body, []byte(`"data":[],"pagination":{"page":1,"page_size":50,"total_count":0,`))
		if answer.status != http.StatusNotFound && !empty {
			t.Errorf("the request in flight returns %d: %s", answer.status, answer.body)
		}
	}
	d.s.do(http.StatusUnauthorized, key, "GET", "/v1/contacts/"+ids[0], "")
	d.checkDeleted("Gone", gone)
	d.passesCheck()
	d.s.stop() // stopping stores when keys were used
	d.s.hasNoErrors()
	d.s = d.serve()
	d.s.do(http.StatusUnauthorized, key, "GET", "/v1/me", "")
	d.s.do(http.StatusOK, d.key, "GET", "/v1/me", "")
	d.checkDeleted("Gone", gone)
	d.passesCheck()
	d.s.stop()
	d.s.hasNoErrors()
}

// TestKill9OrgDelete kills the server, or the command that runs without one, at any point of the
// deletion of a large organization. The organization is then complete or deleted, and stays
// deleted.
func TestKill9OrgDelete(t *testing.T) {
	t.Parallel()
	n := 3000
	if apptest.RaceDetector {
		n = 1000
	}
	stored := n + (n+8)/9 + 3 // with the suppressions of those who opted out, organization, user and key
	random := rand.New(rand.NewPCG(soakSeed, 20))
	first := newAcmePlace(t, false)
	large, key := first.place.org("Large")
	first.contacts(uuid.MustParse(large), n)
	first.run("reindex").done()

	deletions := []struct {
		name    string
		running bool
		kill    func(d *acmePlace, deleting *server)
	}{
		{"the server, once it is gone", true, func(d *acmePlace, _ *server) {
			for late := time.Now().Add(waitTimeout); ; {
				r, err := send(client, "GET", d.s.url+"/v1/me", "", "Authorization", "Bearer "+key)
				if err == nil && r.status == http.StatusUnauthorized {
					break
				}
				if err != nil || time.Now().After(late) {
					d.t.Fatalf("%v: %d %s", err, r.status, r.body)
				}
			}
			d.s.kill()
		}},
		{"the server, anywhere", true, func(d *acmePlace, _ *server) {
			time.AfterFunc(time.Duration(random.Int64N(int64(30*time.Millisecond))), func() { _ = d.s.process.Kill() })
			d.s.ends(-1)
		}},
		{"the command, anywhere", false, func(_ *acmePlace, deleting *server) {
			time.AfterFunc(time.Duration(random.Int64N(int64(60*time.Millisecond))), func() { _ = deleting.process.Kill() })
		}},
	}
	for _, c := range deletions {
		t.Run(c.name, func(t *testing.T) {
			d := &acmePlace{place: newPlace(t, first.env...), org: first.org, key: first.key}
			if err := os.CopyFS(d.path("data"), os.DirFS(first.path("data"))); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(d.path("data"), 0o700); err != nil {
				t.Fatal(err)
			}
			before := d.all(d.org)
			if c.running {
				d.s = d.serve()
			}
			deleting := d.start("org", "delete", "--org", "Large", "--yes")
			c.kill(d, deleting)
			within(t, deleting.exited, "the command ends")
			t.Logf("the command exits with %d: %s%s", deleting.status, deleting.stdout, deleting.stderr)
			d.s = nil

			d.passesCheck()
			if strings.Contains(d.run("org", "list", "--json").ok().stdout, large) {
				if deleting.status == 0 || strings.HasPrefix(c.name, "the server, once") {
					t.Error("the deleted organization is back")
				}
				if lines := bytes.Count(d.all(large), []byte("\n")); lines != stored-1 {
					t.Errorf("the organization exists with %d of %d records", lines, stored)
				}
				d.run("org", "delete", "--org", large, "--yes", "--json").prints(fmt.Sprintf(`{"records": %d}`, stored))
			}
			d.checkDeleted("Large", large)
			for range 2 {
				d.s = d.serve()
				d.s.do(http.StatusUnauthorized, key, "GET", "/v1/me", "")
				d.passesCheck()
				d.checkDeleted("Large", large)
				d.s.signal(syscall.SIGTERM)
				d.s.ends(0)
				d.s.hasNoErrors()
			}
			d.s = nil
			d.checkDeleted("Large", large)
			d.passesCheck()
			if after := d.all(d.org); !bytes.Equal(after, before) {
				t.Errorf("another organization is now\n%s\nit was\n%s", after, before)
			}
		})
	}
}
