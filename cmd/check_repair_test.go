package cmd_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// repairableProblem is damage to the store that check repairs, the report that check must print,
// and what works again afterwards.
type repairableProblem struct {
	name  string
	plant func(c *checkFixture, tx *bolt.Tx, of func(bucket string) *bolt.Bucket) error
	says  []string // all in one reported problem
	after func(c *checkFixture, s *server)
}

// entryOf returns the key in a bucket that ends with the id.
func entryOf(b *bolt.Bucket, id string) (found []byte) {
	_ = b.ForEach(func(k, _ []byte) error { // ForEach only returns the error of the function, which returns none
		if bytes.HasSuffix(k, raw(id)) {
			found = bytes.Clone(k)
		}
		return nil
	})
	return found
}

var ailments = []repairableProblem{
	{"an API key cannot be found", func(_ *checkFixture, tx *bolt.Tx, _ func(string) *bolt.Bucket) error {
		b := tx.Bucket([]byte("global.api_keys.hash"))
		k, _ := b.Cursor().First()
		return b.Delete(k)
	}, []string{"api_keys ", "unique key hash"}, func(c *checkFixture, s *server) {
		s.do(http.StatusOK, c.key, "GET", "/v1/me", "")
	}},
	{"an API key is that of nobody", func(_ *checkFixture, tx *bolt.Tx, _ func(string) *bolt.Bucket) error {
		b := tx.Bucket([]byte("global.api_keys.hash"))
		k, v := b.Cursor().First()
		return b.Put(k, slices.Concat(raw(absent), v[16:]))
	}, []string{"belongs to an organization that does not exist"}, func(c *checkFixture, s *server) {
		s.do(http.StatusOK, c.key, "GET", "/v1/me", "")
	}},
	{"an external id is lost", func(_ *checkFixture, _ *bolt.Tx, of func(string) *bolt.Bucket) error {
		return of("contacts.uniq.external_id").Delete([]byte("ann"))
	}, []string{"contacts <ann>", "unique key external_id"}, func(c *checkFixture, s *server) {
		s.do(http.StatusConflict, c.key, "POST", "/v1/contacts", `{"email": "a@acme.example", "external_id": "ann"}`)
	}},
	{"an external id is another's", func(c *checkFixture, _ *bolt.Tx, of func(string) *bolt.Bucket) error {
		return of("contacts.uniq.external_id").Put([]byte("ann"), raw(c.bob))
	}, []string{"contacts <ann>", "unique key external_id"}, func(c *checkFixture, s *server) {
		r := s.do(http.StatusOK, c.key, "POST", "/v1/contacts/batch", `{"match_on": "external_id", "records": [{"external_id": "ann", "title": "CEO"}]}`)
		if title := s.get(c.key, c.ann).Title; title == nil || *title != "CEO" {
			s.t.Errorf("want Ann, got %s", r.body)
		}
	}},
	{"an external id is nobody's", func(c *checkFixture, _ *bolt.Tx, of func(string) *bolt.Bucket) error {
		return of("contacts.uniq.external_id").Put([]byte("ghost"), raw(absent))
	}, []string{"contacts: ", "unique key external_id", "ghost"}, func(c *checkFixture, s *server) {
		s.do(http.StatusCreated, c.key, "POST", "/v1/contacts", `{"email": "a@acme.example", "external_id": "ghost"}`)
	}},
	{"a reference is lost", func(c *checkFixture, _ *bolt.Tx, of func(string) *bolt.Bucket) error {
		b := of("contacts.key.account_id")
		return b.Delete(entryOf(b, c.ann))
	}, []string{"contacts <ann>", "key account_id is missing"}, func(c *checkFixture, s *server) {
		s.do(http.StatusNoContent, c.key, "DELETE", "/v1/accounts/"+c.account, "")
		if s.get(c.key, c.ann).AccountID != nil {
			s.t.Error("a contact refers to a deleted account")
		}
	}},
	{"an email is lost", func(c *checkFixture, _ *bolt.Tx, of func(string) *bolt.Bucket) error {
		b := of("contacts.key.match.email")
		return b.Delete(entryOf(b, c.bob))
	}, []string{"contacts <bob>", "key match.email is missing"}, func(c *checkFixture, s *server) {
		r := s.do(http.StatusOK, c.key, "POST", "/v1/contacts/batch", `{"match_on": "email", "records": [{"email": "bob@acme.example"}]}`)
		if !bytes.Contains(r.body, []byte(`"id":"`+c.bob+`","created":false`)) {
			s.t.Errorf("want Bob, got %s", r.body)
		}
	}},
	{"an email is nobody's", func(c *checkFixture, _ *bolt.Tx, of func(string) *bolt.Bucket) error {
		b := of("contacts.key.match.email")
		k := entryOf(b, c.bob)
		return b.Put(append(k[:len(k)-16], raw(absent)...), nil)
	}, []string{"contacts: ", "key match.email", "bob@acme.example"}, nil},
	{"the count is wrong", func(c *checkFixture, _ *bolt.Tx, of func(string) *bolt.Bucket) error {
		return of("contacts.rec").SetSequence(1)
	}, []string{"contacts: the count is 1, but there are 2"}, nil},
	{"a queue entry without a job", func(c *checkFixture, tx *bolt.Tx, _ func(string) *bolt.Bucket) error {
		return tx.Bucket([]byte("due")).Put(slices.Concat(bytes.Repeat([]byte{0x10}, 8), c.org[:], raw(absent)), nil)
	}, []string{"jobs: the queue entry of job " + absent}, nil},
	{"a queue entry that is noise", func(c *checkFixture, tx *bolt.Tx, _ func(string) *bolt.Bucket) error {
		return tx.Bucket([]byte("due")).Put([]byte("noise"), nil)
	}, []string{"jobs: the queue entry", "does not belong to a job"}, nil},
}

// TestCheckRepairsStore checks that damage to data derived from records is reported and repaired by
// --repair, with and without a running server.
func TestCheckRepairsStore(t *testing.T) {
	t.Parallel()
	whole := newCheckFixture(t)
	for half := range 2 { // some cannot be planted together
		var planted []repairableProblem
		for i := half; i < len(ailments); i += 2 {
			planted = append(planted, ailments[i])
		}
		t.Run("without a server", func(t *testing.T) {
			t.Parallel()
			c := whole.copy(t)
			c.plantAll(planted)
			c.checkRepairs(planted)
			s := c.p.serve()
			c.checkWorksAgain(planted, s)
		})
		t.Run("with a server", func(t *testing.T) {
			t.Parallel()
			c := whole.copy(t)
			c.plantAll(planted)
			s := c.p.serve()
			c.checkRepairs(planted)
			c.checkWorksAgain(planted, s)
		})
	}
}

func (c *checkFixture) plantAll(from []repairableProblem) {
	c.p.t.Helper()
	for _, a := range from {
		c.editStore(func(tx *bolt.Tx, of func(string) *bolt.Bucket) error { return a.plant(c, tx, of) })
	}
}

// checkRepairs checks that each problem is reported, is repaired only with --repair, and is gone
// afterwards.
func (c *checkFixture) checkRepairs(planted []repairableProblem) {
	t := c.p.t
	t.Helper()
	for _, repair := range []bool{false, true} {
		found := c.p.runCheck(fmt.Sprint("--repair=", repair))
		if found.OK != repair {
			t.Errorf("with --repair=%t, ok is %t", repair, found.OK)
		}
		for _, a := range planted {
			var says []string
			for _, text := range a.says {
				says = append(says, strings.NewReplacer("<ann>", c.ann, "<bob>", c.bob).Replace(text))
			}
			if found.has(t, says...) != repair {
				t.Errorf("%s: wrong repaired value with --repair=%t: %+v", a.name, repair, found.Problems)
			}
		}
	}
	c.p.run("check", "--json").withoutProgress().prints(fmt.Sprintf(`{"ok": true, "records": %d, "problems": []}`, checkFixtureRecords))
}

// checkWorksAgain checks that what the problems had broken works again.
func (c *checkFixture) checkWorksAgain(planted []repairableProblem, s *server) {
	c.p.t.Helper()
	for _, a := range planted {
		if a.after != nil {
			a.after(c, s)
		}
	}
	s.stop()
	// What was planted.
	s.hasNoErrors("queue entry 6e6f697365 does not belong to a job", "table does not have as many records as it counts")
	c.p.passesCheck()
}
