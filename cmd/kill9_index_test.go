package cmd_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/crm"
	"prospector/internal/record"
	"prospector/internal/service"
	"prospector/store"
)

// TestKill9Indexing kills the server while it indexes and clients write, and then damages the
// index. From the first response of the next server on, lists must match the store.
func TestKill9Indexing(t *testing.T) {
	t.Parallel()
	rounds, contacts := soakRounds(t, 5), 5000 // a round for each damage, and enough contacts for an index
	if apptest.RaceDetector {
		rounds, contacts = soakRounds(t, 3), 2500
	}
	random := rand.New(rand.NewPCG(soakSeed, 99))
	p := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
	org, key := p.org("Acme")
	ids := p.contacts(uuid.MustParse(org), contacts)
	older := p.path("older")
	for round := range rounds {
		s := p.serve()
		s.writeUntilKilled(key, ids, 50+random.Int64N(400))
		damage := p.damage(random, round%5, older)
		want := p.storedContacts(uuid.MustParse(org))
		s = p.serve()
		for _, l := range indexLists {
			if got := s.pages(key, l.body); !slices.Equal(got, l.of(want)) {
				t.Errorf("round %d, %s: %s lists %d contacts, want %d, or lists the wrong ones", round, damage, l.body, len(got), len(l.of(want)))
			}
		}
		if t.Failed() {
			return
		}
		t.Logf("round %d: %s, %d contacts", round, damage, len(want))
		s.kill()
	}
	for _, flags := range [][]string{{"--repair", "--json"}, {"--json"}} {
		if r := p.run(append([]string{"check"}, flags...)...); r.status != 0 || !strings.Contains(r.stdout, `"ok": true`) {
			t.Errorf("check %v: %d %s %s", flags, r.status, r.stdout, r.stderr)
		}
	}
}

// contacts creates contacts through the service, without a server, and returns their ids.
func (p *place) contacts(org uuid.UUID, n int) (ids []uuid.UUID) {
	p.t.Helper()
	s, err := service.Open(apptest.Config(p.path("data")), service.Options{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		p.t.Fatal(err)
	}
	for len(ids) < n && err == nil {
		err = s.Store.Update(context.Background(), org, store.Actor{}, func(tx *store.Tx) error {
			for range min(500, n-len(ids)) {
				i := len(ids)
				doc, err := s.CRM.Contacts.Create(tx, record.NewDraft[crm.Contact](apptest.Body(p.t, map[string]any{
					"first_name": fmt.Sprintf("Ann%d", i%7), "last_name": fmt.Sprintf("Smith %d", i%101), "title": []string{"VP Sales", "Director", "vp"}[i%3],
					"email": fmt.Sprintf("ann%d@acme.example", i), "do_not_contact": i%9 == 0,
				})))
				if err != nil {
					return err
				}
				ids = append(ids, doc.ID)
			}
			return nil
		})
	}
	if err != nil {
		p.t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		p.t.Fatal(err)
	}
	return ids
}

// writeUntilKilled changes contacts from many concurrent clients and kills the server after so many
// responses.
func (s *server) writeUntilKilled(key string, ids []uuid.UUID, after int64) {
	var answers atomic.Int64
	var clients sync.WaitGroup
	transport := &http.Transport{MaxIdleConnsPerHost: soakClients}
	defer transport.CloseIdleConnections()
	for range soakClients {
		clients.Go(func() {
			c := &http.Client{Transport: transport, Timeout: waitTimeout}
			for i := 0; ; i++ {
				method, path, body := http.MethodPatch, "/v1/contacts/"+ids[rand.IntN(len(ids))].String(), fmt.Sprintf(`{"title": "VP %d", "do_not_contact": %t}`, rand.IntN(50), i%2 == 0)
				switch i % 10 {
				case 8:
					method, path, body = http.MethodPost, "/v1/contacts", fmt.Sprintf(`{"first_name": "Bo", "last_name": "Smi%d"}`, rand.IntN(1000))
				case 9:
					method, body = http.MethodDelete, ""
				}
				if _, err := send(c, method, s.url+path, body, "Authorization", "Bearer "+key, "Content-Type", "application/json"); err != nil {
					return
				}
				if answers.Add(1) == after {
					_ = s.process.Kill()
				}
			}
		})
	}
	clients.Wait()
	s.ends(-1)
}

// damage damages the index of a stopped server and returns a description. The first time it only
// makes a copy.
func (p *place) damage(random *rand.Rand, how int, older string) string {
	p.t.Helper()
	check := func(err error) {
		if err != nil {
			p.t.Fatal(err)
		}
	}
	index := p.path("data", "index")
	files, err := filepath.Glob(filepath.Join(index, "*", "contacts", "*"))
	check(err)
	if len(files) == 0 {
		p.t.Fatal("there is no index")
	}
	file := files[random.IntN(len(files))]
	info, err := os.Stat(file)
	check(err)
	place := random.Int64N(max(1, info.Size()))
	switch how {
	case 1:
		check(os.Truncate(file, place))
		return "truncated " + filepath.Ext(file)
	case 2:
		b, err := os.ReadFile(file)
		check(err)
		if len(b) > 0 {
			b[place] ^= 1 << random.IntN(8)
		}
		check(os.WriteFile(file, b, 0o600))
		return "flipped a bit of " + filepath.Ext(file)
	case 3:
		check(os.RemoveAll(index))
		check(os.CopyFS(index, os.DirFS(older)))
		return "replaced by an older copy"
	case 4:
		check(os.RemoveAll(index))
		return "removed"
	}
	check(os.RemoveAll(older))
	check(os.CopyFS(older, os.DirFS(index)))
	return "as it was"
}

// storedContacts returns the contacts in the store in order of creation.
func (p *place) storedContacts(org uuid.UUID) (contacts []crm.Contact) {
	p.t.Helper()
	s, err := store.Open(p.path("data"), store.Options{})
	if err != nil {
		p.t.Fatal(err)
	}
	err = s.View(org, func(tx *store.Tx) error {
		return tx.Records("contacts", uuid.Nil, func(_ uuid.UUID, _ uint64, public []byte) (bool, error) {
			var c crm.Contact
			err := json.Unmarshal(public, &c)
			contacts = append(contacts, c)
			return true, err
		})
	})
	if err != nil {
		p.t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		p.t.Fatal(err)
	}
	return contacts
}

// indexList is a list request and the same query in plain Go.
type indexList struct {
	body  string
	keep  func(*crm.Contact) bool
	order func(a, b crm.Contact) int
}

var indexLists = []indexList{
	{`{"sort": "id", "page_size": 500}`, func(*crm.Contact) bool { return true }, byID},
	{`{"filters": [{"field": "title", "condition": "contains", "value": "vp 1"}, {"field": "do_not_contact", "condition": "is", "value": true}], "sort": "-last_name", "page_size": 100}`,
		func(c *crm.Contact) bool {
			return strings.Contains(strings.ToLower(string(c.Title)), "vp 1") && c.DoNotContact
		},
		func(a, b crm.Contact) int {
			return -cmp.Or(strings.Compare(strings.ToLower(string(a.LastName)), strings.ToLower(string(b.LastName))), byID(a, b))
		}},
	{`{"filters": [{"field": "email", "condition": "is_empty"}], "search": "bo smi1", "sort": "id", "page_size": 50}`,
		func(c *crm.Contact) bool { return c.Email == "" && strings.HasPrefix(string(c.LastName), "Smi1") }, byID},
}

func byID(a, b crm.Contact) int { return bytes.Compare(a.ID[:], b.ID[:]) }

// of returns the ids that the list must contain.
func (l *indexList) of(contacts []crm.Contact) (ids []string) {
	kept := slices.DeleteFunc(slices.Clone(contacts), func(c crm.Contact) bool { return !l.keep(&c) })
	slices.SortFunc(kept, l.order)
	for _, c := range kept {
		ids = append(ids, c.ID.String())
	}
	return ids
}

// pages reads a whole list page by page and returns its ids.
func (s *server) pages(key, body string) (ids []string) {
	s.t.Helper()
	for page := 1; ; page++ {
		r := s.do(http.StatusOK, key, "POST", "/v1/contacts/list", strings.Replace(body, "{", fmt.Sprintf(`{"page": %d, `, page), 1))
		var got struct {
			Data       []struct{ ID string }
			Pagination struct {
				TotalCount int `json:"total_count"`
			}
		}
		if err := json.Unmarshal(r.body, &got); err != nil {
			s.t.Fatal(err)
		}
		for _, c := range got.Data {
			ids = append(ids, c.ID)
		}
		if len(got.Data) == 0 {
			if len(ids) != got.Pagination.TotalCount {
				s.t.Errorf("%s: got %d contacts, but the total is %d", body, len(ids), got.Pagination.TotalCount)
			}
			return ids
		}
	}
}
