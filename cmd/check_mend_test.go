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

// ailment is something wrong in the store that check mends, what it says of it, and what works again afterwards.
type ailment struct {
	name  string
	plant func(c *clinic, tx *bolt.Tx, of func(bucket string) *bolt.Bucket) error
	says  []string // all of it in one problem
	after func(c *clinic, s *server)
}

// entryOf is the entry of a bucket that ends with the id.
func entryOf(b *bolt.Bucket, id string) (found []byte) {
	_ = b.ForEach(func(k, _ []byte) error { // which gives back what the function does: nothing
		if bytes.HasSuffix(k, raw(id)) {
			found = bytes.Clone(k)
		}
		return nil
	})
	return found
}

var ailments = []ailment{
	{"an API key cannot be found", func(_ *clinic, tx *bolt.Tx, _ func(string) *bolt.Bucket) error {
		b := tx.Bucket([]byte("global.api_keys.hash"))
		k, _ := b.Cursor().First()
		return b.Delete(k)
	}, []string{"api_keys ", "unique key hash"}, func(c *clinic, s *server) {
		s.do(http.StatusOK, c.key, "GET", "/v1/me", "")
	}},
	{"an API key is that of nobody", func(_ *clinic, tx *bolt.Tx, _ func(string) *bolt.Bucket) error {
		b := tx.Bucket([]byte("global.api_keys.hash"))
		k, v := b.Cursor().First()
		return b.Put(k, slices.Concat(raw(absent), v[16:]))
	}, []string{"belongs to an organization that does not exist"}, func(c *clinic, s *server) {
		s.do(http.StatusOK, c.key, "GET", "/v1/me", "")
	}},
	{"an external id is lost", func(_ *clinic, _ *bolt.Tx, of func(string) *bolt.Bucket) error {
		return of("contacts.uniq.external_id").Delete([]byte("ann"))
	}, []string{"contacts <ann>", "unique key external_id"}, func(c *clinic, s *server) {
		s.do(http.StatusConflict, c.key, "POST", "/v1/contacts", `{"email": "a@acme.example", "external_id": "ann"}`)
	}},
	{"an external id is another's", func(c *clinic, _ *bolt.Tx, of func(string) *bolt.Bucket) error {
		return of("contacts.uniq.external_id").Put([]byte("ann"), raw(c.bob))
	}, []string{"contacts <ann>", "unique key external_id"}, func(c *clinic, s *server) {
		r := s.do(http.StatusOK, c.key, "POST", "/v1/contacts/batch", `{"match_on": "external_id", "records": [{"external_id": "ann", "title": "CEO"}]}`)
		if title := s.get(c.key, c.ann).Title; title == nil || *title != "CEO" {
			s.t.Errorf("it was not Ann who was found: %s", r.body)
		}
	}},
	{"an external id is nobody's", func(c *clinic, _ *bolt.Tx, of func(string) *bolt.Bucket) error {
		return of("contacts.uniq.external_id").Put([]byte("ghost"), raw(absent))
	}, []string{"contacts: ", "unique key external_id", "ghost"}, func(c *clinic, s *server) {
		s.do(http.StatusCreated, c.key, "POST", "/v1/contacts", `{"email": "a@acme.example", "external_id": "ghost"}`)
	}},
	{"a reference is lost", func(c *clinic, _ *bolt.Tx, of func(string) *bolt.Bucket) error {
		b := of("contacts.key.account_id")
		return b.Delete(entryOf(b, c.ann))
	}, []string{"contacts <ann>", "key account_id is missing"}, func(c *clinic, s *server) {
		s.do(http.StatusNoContent, c.key, "DELETE", "/v1/accounts/"+c.account, "")
		if s.get(c.key, c.ann).AccountID != nil {
			s.t.Error("a contact names an account that is gone")
		}
	}},
	{"an email is lost", func(c *clinic, _ *bolt.Tx, of func(string) *bolt.Bucket) error {
		b := of("contacts.key.match.email")
		return b.Delete(entryOf(b, c.bob))
	}, []string{"contacts <bob>", "key match.email is missing"}, func(c *clinic, s *server) {
		r := s.do(http.StatusOK, c.key, "POST", "/v1/contacts/batch", `{"match_on": "email", "records": [{"email": "bob@acme.example"}]}`)
		if !bytes.Contains(r.body, []byte(`"id":"`+c.bob+`","created":false`)) {
			s.t.Errorf("it was not Bob who was found: %s", r.body)
		}
	}},
	{"an email is nobody's", func(c *clinic, _ *bolt.Tx, of func(string) *bolt.Bucket) error {
		b := of("contacts.key.match.email")
		k := entryOf(b, c.bob)
		return b.Put(append(k[:len(k)-16], raw(absent)...), nil)
	}, []string{"contacts: ", "key match.email", "bob@acme.example"}, nil},
	{"the count is wrong", func(c *clinic, _ *bolt.Tx, of func(string) *bolt.Bucket) error {
		return of("contacts.rec").SetSequence(7)
	}, []string{"contacts: the count is 7, but there are 2"}, nil},
	{"a queue entry without a job", func(c *clinic, tx *bolt.Tx, _ func(string) *bolt.Bucket) error {
		return tx.Bucket([]byte("due")).Put(slices.Concat(bytes.Repeat([]byte{0x10}, 8), c.org[:], raw(absent)), nil)
	}, []string{"jobs: the queue entry of job " + absent}, nil},
	{"a queue entry that is noise", func(c *clinic, tx *bolt.Tx, _ func(string) *bolt.Bucket) error {
		return tx.Bucket([]byte("due")).Put([]byte("noise"), nil)
	}, []string{"jobs: the queue entry", "does not belong to a job"}, nil},
}

// TestCheckMends: what follows from the records is found, named, and mended by --repair, with a server and without one.
func TestCheckMends(t *testing.T) {
	t.Parallel()
	whole := newClinic(t)
	for half := range 2 { // some are in each other's way
		var planted []ailment
		for i := half; i < len(ailments); i += 2 {
			planted = append(planted, ailments[i])
		}
		t.Run("without a server", func(t *testing.T) {
			t.Parallel()
			c := whole.copy(t)
			c.suffers(planted)
			c.mends(planted)
			s := c.p.serve()
			c.works(planted, s)
		})
		t.Run("with a server", func(t *testing.T) {
			t.Parallel()
			c := whole.copy(t)
			c.suffers(planted)
			s := c.p.serve()
			c.mends(planted)
			c.works(planted, s)
		})
	}
}

func (c *clinic) suffers(from []ailment) {
	c.p.t.Helper()
	for _, a := range from {
		c.plant(func(tx *bolt.Tx, of func(string) *bolt.Bucket) error { return a.plant(c, tx, of) })
	}
}

// mends wants each ailment to be found, to be mended by --repair and by nothing else, and to be gone then.
func (c *clinic) mends(planted []ailment) {
	t := c.p.t
	t.Helper()
	for _, repair := range []bool{false, true} {
		found := c.p.checked(fmt.Sprint("--repair=", repair))
		if found.OK != repair {
			t.Errorf("with --repair=%t ok is %t", repair, found.OK)
		}
		for _, a := range planted {
			var says []string
			for _, text := range a.says {
				says = append(says, strings.NewReplacer("<ann>", c.ann, "<bob>", c.bob).Replace(text))
			}
			if found.has(t, says...) != repair {
				t.Errorf("%s: with --repair=%t it must be repaired so: %+v", a.name, repair, found.Problems)
			}
		}
	}
	c.p.run("check", "--json").past().prints(fmt.Sprintf(`{"ok": true, "records": %d, "problems": []}`, clinicRecords))
}

// works wants that to work again which the ailments had broken.
func (c *clinic) works(planted []ailment, s *server) {
	c.p.t.Helper()
	for _, a := range planted {
		if a.after != nil {
			a.after(c, s)
		}
	}
	s.stop()
	s.hasNoErrors("queue entry 6e6f697365 does not belong to a job") // the planted noise
	c.p.sound()
}
