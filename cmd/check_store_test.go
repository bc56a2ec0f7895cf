package cmd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

// checkReport is the output of check.
type checkReport struct {
	OK       bool
	Records  int
	Problems []struct {
		What     string
		Repaired bool
	}
	Notes []string
}

// indexLines matches log lines about the rebuild of an index. Without a server the command itself
// prints them.
var indexLines = regexp.MustCompile(`(?m)^time=\S+ level=\w+ msg="index (damaged, rebuilding it|is of an earlier state, rebuilding it|built)".*\n`)

// damageLines matches log lines about damaged records, which a command without a server prints too.
var damageLines = regexp.MustCompile(`(?m)^time=\S+ level=ERROR msg="record is damaged and left out of lists".*\n`)

// runCheck runs check. It checks that stdout is one JSON object and that the exit status and stderr
// agree with it.
func (p *place) runCheck(flags ...string) (c checkReport) {
	p.t.Helper()
	r := p.run(append([]string{"check", "--json"}, flags...)...).withoutProgress()
	if strings.Contains(r.stdout, "index of ") {
		r.stderr = indexLines.ReplaceAllString(r.stderr, "")
	}
	r.stderr = damageLines.ReplaceAllString(r.stderr, "")
	d := json.NewDecoder(strings.NewReader(r.stdout))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil || d.More() || c.Problems == nil {
		p.t.Fatalf("%s prints (%v) %s\n%s", r.what, err, r.stdout, r.stderr)
	}
	ok := true
	for _, problem := range c.Problems {
		ok = ok && problem.Repaired
	}
	if c.OK != ok {
		p.t.Errorf("ok is %t: %s", c.OK, r.stdout)
	}
	r.stdout = ""
	if c.OK {
		r.ok()
	} else {
		r.fails(1, "the check found problems", "--repair", "prospector restore")
	}
	return c
}

// has checks that one problem contains all the texts, and returns whether it was repaired.
func (c checkReport) has(t *testing.T, texts ...string) (repaired bool) {
	t.Helper()
	for _, problem := range c.Problems {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(problem.What, text) }) {
			return problem.Repaired
		}
	}
	t.Errorf("no problem contains %q: %+v", texts, c.Problems)
	return false
}

// checkFixture is a store with a record of every kind that check examines.
type checkFixture struct {
	p                 *place
	org               uuid.UUID
	key               string
	account, ann, bob string
}

const (
	checkFixtureRecords = 6 // including the organization, its user and its key
	marker              = "Marker of a damaged record"
	spoilt              = "Warker of a damaged record"
)

func newCheckFixture(t *testing.T) *checkFixture {
	c := &checkFixture{p: newPlace(t)}
	org, key := c.p.org("Acme")
	c.org, c.key = uuid.MustParse(org), key
	s := c.p.serve()
	c.account = s.id(s.do(http.StatusCreated, key, "POST", "/v1/accounts", `{"name": "Initech"}`))
	c.ann = s.id(s.do(http.StatusCreated, key, "POST", "/v1/contacts",
		fmt.Sprintf(`{"email": "ann@acme.example", "external_id": "ann", "account_id": %q, "notes": %q}`, c.account, marker)))
	c.bob = s.id(s.do(http.StatusCreated, key, "POST", "/v1/contacts", `{"email": "bob@acme.example", "external_id": "bob"}`))
	s.stop()
	return c
}

// copy returns a copy of the fixture in a place of its own.
func (c *checkFixture) copy(t *testing.T) *checkFixture {
	t.Helper()
	b, err := os.ReadFile(c.p.path("data", "prospector.db"))
	if err != nil {
		t.Fatal(err)
	}
	other := *c
	other.p = newPlace(t)
	other.p.dataFile("prospector.db", string(bytes.TrimRight(b, "\x00")))
	if err := os.Truncate(other.p.path("data", "prospector.db"), int64(len(b))); err != nil {
		t.Fatal(err)
	}
	return &other
}

// editStore changes the store file directly, bypassing the service.
func (c *checkFixture) editStore(change func(tx *bolt.Tx, of func(bucket string) *bolt.Bucket) error) {
	c.p.t.Helper()
	c.p.editStore(c.p.path("data", "prospector.db"), func(tx *bolt.Tx) error {
		return change(tx, func(bucket string) *bolt.Bucket {
			return tx.Bucket([]byte("orgs")).Bucket(c.org[:]).Bucket([]byte(bucket))
		})
	})
}

// damage changes a byte of Ann's record wherever it occurs in the file.
func (c *checkFixture) damage() {
	c.p.t.Helper()
	file := c.p.path("data", "prospector.db")
	b, err := os.ReadFile(file)
	if err != nil {
		c.p.t.Fatal(err)
	}
	after := bytes.ReplaceAll(b, []byte(marker), []byte(spoilt))
	if bytes.Equal(b, after) {
		c.p.t.Fatal("the record is not found in the file")
	}
	if err := os.WriteFile(file, after, 0o600); err != nil {
		c.p.t.Fatal(err)
	}
}

// raw returns the bytes of a record id as they occur in keys.
func raw(id string) []byte {
	u := uuid.MustParse(id)
	return u[:]
}

// TestCheckDamagedRecord checks that a damaged record is reported and left unchanged, and that
// other problems are still repaired. A store with a damaged record cannot be backed up.
func TestCheckDamagedRecord(t *testing.T) {
	t.Parallel()
	whole := newCheckFixture(t)
	for _, how := range []string{"without a server", "with a server"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c := whole.copy(t)
			c.editStore(func(_ *bolt.Tx, of func(string) *bolt.Bucket) error {
				return of("contacts.uniq.external_id").Delete([]byte("bob"))
			})
			c.damage()
			var s *server
			if how == "with a server" {
				s = c.p.serve()
			}
			for _, flag := range []string{"--repair=false", "--repair", "--repair=false", "--repair"} {
				found := c.p.runCheck(flag)
				if found.OK || found.has(t, "contacts "+c.ann, "checksum") || found.Records != checkFixtureRecords {
					t.Errorf("%s: %+v", flag, found)
				}
			}
			if found := c.p.runCheck(); len(found.Problems) > 2 || strings.Contains(fmt.Sprint(found), c.bob) {
				t.Errorf("check reports more than the record: %+v", found.Problems)
			}
			r := c.p.run("check").withoutProgress()
			if r.status != 1 || !strings.Contains(r.stdout, c.ann) || !strings.Contains(r.stdout, "Checked 6 records, found ") {
				t.Errorf("%d %s", r.status, r.stdout)
			}
			c.p.run("backup", "file").withoutProgress().fails(1, "no backup was made", "contacts "+c.ann, "prospector check")
			c.p.run("backup", "file", "--json").withoutProgress().fails(1, "contacts "+c.ann)
			if names := c.p.names(".") + c.p.names("data", "tmp"); names != "data" {
				t.Errorf("unexpected files: %s", names)
			}
			if s == nil {
				s = c.p.serve()
			}
			s.do(http.StatusInternalServerError, c.key, "GET", "/v1/contacts/"+c.ann, "")
			s.do(http.StatusConflict, c.key, "POST", "/v1/contacts", `{"email": "b@acme.example", "external_id": "bob"}`)
			if got := s.get(c.key, c.bob); got.ID != c.bob {
				t.Errorf("got %+v for Bob", got)
			}
			s.stop()
			if b, err := os.ReadFile(c.p.path("data", "prospector.db")); err != nil || !bytes.Contains(b, []byte(spoilt)) {
				t.Errorf("the record is no longer in the file (%v)", err)
			}
		})
	}
}

// TestCheckIrreparable checks that problems that cannot be derived from records are reported each
// time and left unchanged.
func TestCheckIrreparable(t *testing.T) {
	t.Parallel()
	whole := newCheckFixture(t)
	for name, a := range map[string]struct {
		plant func(c *checkFixture, of func(string) *bolt.Bucket) error
		says  []string
	}{
		"a record is gone": {func(c *checkFixture, of func(string) *bolt.Bucket) error {
			return of("contacts.rec").Delete(raw(c.ann))
		}, []string{"contacts <ann>", "the change log has it, but it does not exist"}},
		"a change is gone": {func(c *checkFixture, of func(string) *bolt.Bucket) error {
			return of("contacts.log").Delete([]byte{0, 0, 0, 0, 0, 0, 0, 2})
		}, []string{"contacts: the last change is 1, but the counter says 2"}},
		"a record under another's id": {func(c *checkFixture, of func(string) *bolt.Bucket) error {
			b := of("contacts.rec")
			return b.Put(raw(c.bob), bytes.Clone(b.Get(raw(c.ann))))
		}, []string{"contacts <bob>", "checksum"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := whole.copy(t)
			c.editStore(func(_ *bolt.Tx, of func(string) *bolt.Bucket) error { return a.plant(c, of) })
			for i := range a.says {
				a.says[i] = strings.NewReplacer("<ann>", c.ann, "<bob>", c.bob).Replace(a.says[i])
			}
			for _, flag := range []string{"--repair=false", "--repair", "--repair=false"} {
				if found := c.p.runCheck(flag); found.OK || found.has(t, a.says...) {
					t.Errorf("%s: %+v", flag, found)
				}
			}
			c.p.run("backup", "file").withoutProgress().fails(1, "no backup was made")
		})
	}
}
