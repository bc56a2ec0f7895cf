package cmd_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

// TestDropDamaged checks the way out of damage: a backup without the damaged records, taking them out,
// and bringing one back from an older backup.
func TestDropDamaged(t *testing.T) {
	t.Parallel()
	whole := newCheckFixture(t)
	whole.p.run("backup", "good.backup").done()
	for _, how := range []string{"without a server", "with a server"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c := whole.copy(t)
			good := whole.p.path("good.backup")
			c.editStore(func(_ *bolt.Tx, of func(string) *bolt.Bucket) error { // the creation of Bob
				key := []byte{0, 0, 0, 0, 0, 0, 0, 2}
				value := bytes.Clone(of("contacts.log").Get(key))
				value[10] ^= 4
				return of("contacts.log").Put(key, value)
			})
			c.damage()
			if how == "with a server" {
				defer c.p.serve().stop()
			}
			gone := fmt.Sprintf(`[{"organization": %q, "kind": "contacts", "id": %q}, {"organization": %q, "kind": "contacts", "id": null, "change": 2}]`,
				c.org, c.ann, c.org)
			c.p.run("check", "--drop", "out.jsonl").fails(2, "--drop requires --repair")
			c.p.run("restore", "--record", "contacts/"+c.bob, "--from", good).withoutProgress().fails(1, c.bob, "exists and is not damaged")

			c.p.run("backup", "some.backup").withoutProgress().fails(1, "no backup was made", c.ann)
			c.p.run("backup", "some.backup", "--accept-damage", "--json").withoutProgress().prints(fmt.Sprintf(
				`{"file": "some.backup", "bytes": "<any>", "sha256": "<any>", "records": %d, "missing": %s}`, checkFixtureRecords-1, gone))
			other := newPlace(t)
			other.run("restore", c.p.path("some.backup")).done()
			other.passesCheck()

			dropped := c.p.run("check", "--repair", "--drop", "out.jsonl", "--json").withoutProgress()
			dropped.stderr = damageLines.ReplaceAllString(dropped.stderr, "")
			dropped.prints(fmt.Sprintf(`{"ok": true, "records": %d, "problems": [], "dropped": %s}`, checkFixtureRecords-1, gone))
			checkSalvage(t, c)
			c.p.passesCheck()
			c.p.run("backup", "after.backup").done()
			c.p.run("check", "--repair", "--drop", "none.jsonl").done()
			if _, err := os.Stat(c.p.path("none.jsonl")); !os.IsNotExist(err) {
				t.Errorf("a file was written although nothing was dropped (%v)", err)
			}

			c.p.run("restore", "--record", "contacts/"+c.ann, "--from", good, "--json").withoutProgress().prints(fmt.Sprintf(
				`{"organization": %q, "kind": "contacts", "id": %q}`, c.org, c.ann))
			c.p.passesCheck()
		})
	}
}

// checkSalvage checks the file with what could be saved of the damaged records.
func checkSalvage(t *testing.T, c *checkFixture) {
	t.Helper()
	b, err := os.ReadFile(c.p.path("out.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var first struct {
		ID     string
		Raw    string
		Record struct{ Email, Notes string }
	}
	line, rest, _ := bytes.Cut(b, []byte("\n"))
	if err := json.Unmarshal(line, &first); err != nil || bytes.Count(rest, []byte("\n")) != 1 {
		t.Fatalf("%v: %s", err, b)
	}
	raw, err := base64.StdEncoding.DecodeString(first.Raw)
	if err != nil || first.ID != c.ann || first.Record.Email != "ann@acme.example" || first.Record.Notes != spoilt || !bytes.Contains(raw, []byte(spoilt)) {
		t.Errorf("saved %s (%v)", line, err)
	}
}

// TestDropLostPage checks how check reports a page of the file that was lost with the contacts on it.
func TestDropLostPage(t *testing.T) {
	t.Parallel()
	c := newCheckFixture(t)
	s := c.p.serve()
	eve := s.id(s.do(http.StatusCreated, c.key, "POST", "/v1/contacts", // the contacts get a page of their own
		fmt.Sprintf(`{"email": "eve@acme.example", "notes": %q}`, strings.Repeat("a note ", 200))))
	s.stop()
	file := c.p.path("data", "prospector.db")
	db, err := bolt.Open(file, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var page, size int64
	err = db.View(func(tx *bolt.Tx) error {
		page = int64(tx.Bucket([]byte("orgs")).Bucket(c.org[:]).Bucket([]byte("contacts.rec")).Root())
		size = int64(db.Info().PageSize)
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil || page == 0 {
		t.Fatalf("the contacts have page %d (%v)", page, err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(make([]byte, size), page*size)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}

	got := c.p.run("check", "--repair", "--drop", "out.jsonl")
	want := fmt.Sprintf(`Dropped contacts %[2]s of organization %[1]s
Dropped contacts %[3]s of organization %[1]s
Dropped contacts %[6]s of organization %[1]s
Dropped page %[4]d of the file with entries of contacts.rec of organization %[1]s
Wrote what could be saved to out.jsonl
Checked %[5]d records, found 0 problems
`, c.org, c.ann, c.bob, page, checkFixtureRecords-2, eve)
	if got.status != 0 || got.stdout != want {
		t.Errorf("check exits with %d and prints\n%s, want\n%s", got.status, got.stdout, want)
	}
	c.p.passesCheck()
}

// TestRestoreRecord checks that a damaged record is replaced by that of a backup, with its keys and
// without references to what no longer exists.
func TestRestoreRecord(t *testing.T) {
	t.Parallel()
	c := newCheckFixture(t)
	c.p.run("backup", "good.backup").done()
	id := "contacts/" + c.ann
	for _, bad := range []struct{ args, message string }{
		{"--record " + id, "--record and --from are required together"},
		{"--record contacts --from good.backup", `"contacts" is not KIND/ID`},
		{"--record " + id + " --from good.backup more", "takes no arguments"},
	} {
		c.p.run(strings.Fields("restore "+bad.args)...).fails(2, bad.message)
	}
	c.damage()
	s := c.p.serve()
	s.do(http.StatusInternalServerError, c.key, "GET", "/v1/contacts/"+c.ann, "")
	c.p.run("restore", "--record", "nothing/"+c.ann, "--from", "good.backup").withoutProgress().fails(1, `"nothing" is not a kind of record that can be restored; these are: `, "contacts, ")
	c.p.run("restore", "--record", "contacts/"+c.account, "--from", "good.backup").withoutProgress().fails(1, "the backup has no contacts "+c.account)
	c.p.run("restore", "--record", "webhooks/subscriptions/"+c.ann, "--from", "good.backup").withoutProgress().fails(1, "the backup has no subscriptions "+c.ann)
	c.p.run("restore", "--record", id, "--from", "good.backup").done().says("Restored contacts " + c.ann + ` of organization \S+\n`)
	if got := s.get(c.key, c.ann); got.ID != c.ann {
		t.Errorf("got %+v", got)
	}
	s.do(http.StatusConflict, c.key, "POST", "/v1/contacts", `{"email": "b@acme.example", "external_id": "ann"}`)
	s.do(http.StatusNoContent, c.key, "DELETE", "/v1/contacts/"+c.ann, "")
	c.p.run("restore", "--record", id, "--from", "good.backup").withoutProgress().fails(1, "is in the trash")
	s.do(http.StatusNoContent, c.key, "DELETE", "/v1/contacts/"+c.ann+"?permanent=true", "")
	s.do(http.StatusNoContent, c.key, "DELETE", "/v1/accounts/"+c.account, "")
	c.p.run("restore", "--record", id, "--from", "good.backup").done().says(`Restored .*\nCleared references to records that no longer exist: account_id\n`)
	body := string(s.do(http.StatusOK, c.key, "GET", "/v1/contacts/"+c.ann, "").body)
	if !strings.Contains(body, `"account_id":null`) || !strings.Contains(body, marker) {
		t.Errorf("got %s", body)
	}
	s.stop()
	c.p.passesCheck()
}

// TestBackupNamesMissing checks that a backup of a damaged store names what is missing apart from what is replaced, and
// warns about addresses that are no longer suppressed.
func TestBackupNamesMissing(t *testing.T) {
	t.Parallel()
	c := newCheckFixture(t)
	s := c.p.serve()
	s.do(http.StatusCreated, c.key, "POST", "/v1/suppressions", `{"email": "eve@acme.example"}`)
	lost := s.id(s.do(http.StatusCreated, c.key, "POST", "/v1/suppressions", `{"email": "gus@acme.example"}`))
	s.stop()
	c.damage()
	var user uuid.UUID
	c.editStore(func(_ *bolt.Tx, of func(string) *bolt.Bucket) error {
		flip := func(b *bolt.Bucket, key []byte) error {
			value := bytes.Clone(b.Get(key))
			value[len(value)-3] ^= 4
			return b.Put(key, value)
		}
		key, _ := of("users.rec").Cursor().First()
		user = uuid.UUID(key)
		id := uuid.MustParse(lost)
		subject, _ := of("suppressions.key.subject").Cursor().Seek([]byte("gus@"))
		return errors.Join(flip(of("users.rec"), user[:]), flip(of("suppressions.rec"), id[:]),
			of("suppressions.key.subject").Delete(bytes.Clone(subject)))
	})
	got := c.p.run("backup", "some.backup", "--accept-damage")
	_, said, _ := strings.Cut(got.stdout, "\n")
	want := fmt.Sprintf(`Missing because it is damaged: contacts %[2]s of organization %[1]s
Missing because it is damaged: suppressions %[3]s of organization %[1]s
Replaced because it is damaged: users %[4]s of organization %[1]s
WARNING: suppressions %[3]s of organization %[1]s: what it suppressed is not known and can receive email again; restore it from a backup
`, c.org, c.ann, lost, user)
	if got.status != 0 || !strings.HasPrefix(got.stdout, "Wrote some.backup: ") || said != want {
		t.Errorf("backup exits with %d and prints\n%s, want\n%s", got.status, got.stdout, want)
	}
}
