package cmd_test

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"prospector/internal/apptest"
	"prospector/internal/crm"
)

// indexFixture is a store with an index, and other indexes that can be put in its place.
type indexFixture struct {
	p         *place
	org       uuid.UUID
	key       string
	contacts  []crm.Contact
	older     string // an earlier index of the same store
	otherPast string
}

func newIndexFixture(t *testing.T) *indexFixture {
	t.Helper()
	l := &indexFixture{p: newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")}
	org, key := l.p.org("Acme")
	l.org, l.key = uuid.MustParse(org), key
	ids := l.p.contacts(l.org, 2050)
	l.p.run("reindex").done()
	other := l.copy(t)
	// From here on the two stores diverge.
	change := func(p *place, id uuid.UUID) {
		s := p.serve()
		s.do(http.StatusOK, key, "PATCH", "/v1/contacts/"+id.String(), `{"title": "VP 1", "do_not_contact": true}`)
		s.stop()
	}
	l.older, l.otherPast = l.p.path("older"), other.p.path("data", "index")
	if err := os.CopyFS(l.older, os.DirFS(l.p.path("data", "index"))); err != nil {
		t.Fatal(err)
	}
	change(l.p, ids[7])
	change(other.p, ids[8])
	l.contacts = l.p.storedContacts(l.org)
	return l
}

// copy returns a copy of the fixture in a place of its own.
func (l *indexFixture) copy(t *testing.T) *indexFixture {
	t.Helper()
	other := *l
	other.p = newPlace(t, l.p.env...)
	if err := os.CopyFS(other.p.path("data"), os.DirFS(l.p.path("data"))); err != nil {
		t.Fatal(err)
	}
	return &other
}

// replace replaces the index by another one, or removes it.
func (l *indexFixture) replace(index string) {
	l.p.t.Helper()
	err := os.RemoveAll(l.p.path("data", "index"))
	if err == nil && index != "" {
		err = os.CopyFS(l.p.path("data", "index"), os.DirFS(index))
	}
	if err != nil {
		l.p.t.Fatal(err)
	}
}

// segment changes the largest file of the index.
func (l *indexFixture) segment(change func(file string, content []byte) error) {
	l.p.t.Helper()
	files, err := filepath.Glob(l.p.path("data", "index", l.org.String(), "contacts", "*.zap"))
	if err != nil || len(files) == 0 {
		l.p.t.Fatal(files, err)
	}
	var largest []byte
	file := ""
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			l.p.t.Fatal(err)
		}
		if len(b) > len(largest) {
			file, largest = f, b
		}
	}
	if err := change(file, largest); err != nil {
		l.p.t.Fatal(err)
	}
}

// rewrite changes the stored bytes of a contact, so that the index cannot notice.
func (l *indexFixture) rewrite(id uuid.UUID, from, to string) {
	l.p.t.Helper()
	l.p.editStore(l.p.path("data", "prospector.db"), func(tx *bolt.Tx) error {
		records := tx.Bucket([]byte("orgs")).Bucket(l.org[:]).Bucket([]byte("contacts.rec"))
		v := bytes.ReplaceAll(records.Get(id[:]), []byte(from), []byte(to))
		sum := crc32.MakeTable(crc32.Castagnoli)
		place := crc32.Checksum(slices.Concat(l.org[:], []byte("contacts.rec"), id[:]), sum)
		crc := crc32.Update(place, sum, v[5:])
		copy(v[1:], []byte{byte(crc >> 24), byte(crc >> 16), byte(crc >> 8), byte(crc)})
		return records.Put(id[:], v)
	})
	i := slices.IndexFunc(l.contacts, func(c crm.Contact) bool { return c.ID == id })
	l.contacts = slices.Clone(l.contacts)
	if err := json.Unmarshal([]byte(`{"title": "`+to+`"}`), &l.contacts[i]); err != nil {
		l.p.t.Fatal(err)
	}
}

// repairs checks that check reports the expected problem, if any, and fixes it with --repair.
func (l *indexFixture) repairs(says string) {
	t := l.p.t
	t.Helper()
	texts := []string{"index of contacts of organization " + l.org.String(), says}
	if strings.HasSuffix(says, "store") { // an unreadable index is removed as soon as it is opened
		if found := l.p.runCheck(); found.OK || found.has(t, texts...) {
			t.Errorf("without --repair: %+v", found)
		}
	}
	if found := l.p.runCheck("--repair"); !found.OK || found.Records != 2282 || says == "" && len(found.Problems) > 0 || says != "" && !found.has(t, texts...) {
		t.Errorf("with --repair: %+v", found)
	}
	if found := l.p.runCheck(); !found.OK || found.Records != 2282 || len(found.Problems) > 0 {
		t.Errorf("after the repair: %+v", found)
	}
}

// TestCheckOldIndex: an index that is merely old is no problem, and the output says so. One that contradicts the store is.
func TestCheckOldIndex(t *testing.T) {
	t.Parallel()
	l := newIndexFixture(t)
	l.replace(l.older)
	r := l.p.run("check")
	if r.status != 0 || !strings.Contains(r.stdout, "it is old but not damaged: 1 changes are missing, which the server adds") {
		t.Errorf("an index that is behind: status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	restored := l.copy(t)
	restored.p.run("backup", restored.p.path("all.backup")).done()
	index := restored.p.path("index")
	if err := os.CopyFS(index, os.DirFS(restored.p.path("data", "index"))); err != nil {
		t.Fatal(err)
	}
	restored.p.run("restore", restored.p.path("all.backup")).done()
	restored.replace(index)
	if r := restored.p.run("check"); r.status != 0 || !strings.Contains(r.stdout, "the index is old but not damaged, and is rebuilt") {
		t.Errorf("an index of before a restore: status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	l.replace(l.otherPast)
	if r := l.p.run("check"); r.status != 1 || !strings.Contains(r.stdout, "the index is damaged") {
		t.Errorf("an index of another past: status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
}

// TestCheckIndex checks that an index that differs from the store is reported, and rebuilt with
// --repair, and that lists are correct afterwards. A missing or outdated index is not a problem.
func TestCheckIndex(t *testing.T) {
	t.Parallel()
	whole := newIndexFixture(t)
	for i, c := range []struct {
		name  string
		spoil func(l *indexFixture)
		says  string // empty if there is no problem
		how   []string
	}{
		{"a segment is cut", func(l *indexFixture) {
			l.segment(func(file string, b []byte) error { return os.WriteFile(file, b[:len(b)/2], 0o600) })
		}, "the index is damaged", []string{"without a server"}},
		{"a bit is flipped", func(l *indexFixture) {
			l.segment(func(file string, b []byte) error {
				b[len(b)/3] ^= 4
				return os.WriteFile(file, b, 0o600)
			})
		}, "the index is damaged", []string{"with a server"}},
		{"a segment is gone", func(l *indexFixture) {
			l.segment(func(file string, _ []byte) error { return os.Remove(file) })
		}, "the index is damaged", []string{"with a server"}},
		{"it is of another past", func(l *indexFixture) { l.replace(l.otherPast) }, "is not in the change log or is another change", []string{"without a server"}},
		{"it is an older one", func(l *indexFixture) { l.replace(l.older) }, "", []string{"without a server", "with a server"}},
		{"there is none", func(l *indexFixture) { l.replace("") }, "", []string{"without a server", "under a server"}},
		{"a record is another", func(l *indexFixture) {
			l.rewrite(l.contacts[9].ID, "VP Sales", "VP 1")
		}, whole.contacts[9].ID.String() + " differs from the record in the store", []string{"without a server", "with a server"}},
	} {
		if apptest.RaceDetector && i%3 > 0 {
			continue
		}
		for _, how := range c.how {
			t.Run(c.name+" "+how, func(t *testing.T) {
				t.Parallel()
				l := whole.copy(t)
				var s *server
				if how == "under a server" {
					s = l.p.serve()
					s.total(l.key, "contacts", `{"search": "ann"}`)
				}
				c.spoil(l)
				if how == "with a server" {
					s = l.p.serve()
				}
				l.repairs(c.says)
				if s == nil {
					s = l.p.serve()
				}
				for _, list := range indexLists[:2] {
					if got := s.pages(l.key, list.body); !slices.Equal(got, list.of(l.contacts)) {
						t.Errorf("%s lists %d contacts, want %d, or lists the wrong ones", list.body, len(got), len(list.of(l.contacts)))
					}
				}
				s.stop()
			})
		}
	}
}
