package cmd_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
)

// mergeClient merges its own contacts, one request at a time.
type mergeClient struct {
	random  *rand.Rand
	live    []string            // the contacts that were not merged
	notes   map[string][]string // what the notes of the live contacts are joined of
	tasks   map[string]string   // from a task to its contact
	merged  map[string]string   // from a merged contact to the surviving one
	pending [2]string           // the surviving and the merged contact of the request that was left unanswered
}

// TestKill9Merge kills the server while clients merge contacts that are in a campaign, and while the sweep of merged
// accounts runs. Every merge is done as a whole or not at all, those that were acknowledged are done, and nothing is
// lost. PROSPECTOR_SOAK is the number of rounds, 2 by default.
func TestKill9Merge(t *testing.T) {
	t.Parallel()
	const clients, swept = 6, 1500
	rounds := soakRounds(t, 2)
	p := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
	org, key := p.org("Acme")
	s := p.serve()
	account := func(name string) string {
		return s.id(s.do(http.StatusCreated, key, "POST", "/v1/accounts", fmt.Sprintf(`{"name": %q}`, name)))
	}
	kept, gone := account("Kept"), account("Gone")
	ids := s.load(key, swept, func(int) string { return fmt.Sprintf(`"account_id": %q`, gone) })
	m := &mergeRun{t: t, p: p, key: key}
	m.begin(s, clients, 30+6*rounds)
	s.do(http.StatusOK, key, "POST", "/v1/accounts/"+kept+"/merge", fmt.Sprintf(`{"ids": [%q]}`, gone))

	random := rand.New(rand.NewPCG(soakSeed, 21))
	for round := range rounds {
		m.run(s, 8+random.Int64N(clients*2), time.Duration(random.Int64N(int64(5*time.Millisecond))))
		p.passesCheck()
		s = p.serve()
		done := m.compare(s)
		t.Logf("round %d: %d merges acknowledged, %d done without an answer", round, m.acknowledged.Load(), done)
		s.counts(key, "account_id", "is", asJSON(kept), swept)
		s.counts(key, "account_id", "is", asJSON(gone), 0)
		if t.Failed() {
			return
		}
	}
	w := &sweep{p: p, org: uuid.MustParse(org), key: key, ids: ids, operation: "merge_accounts"}
	s.awaitSwept(w, ids[swept-1])
	for _, i := range []int{0, swept / 2, swept - 1} {
		if c := s.get(key, ids[i]); c.AccountID == nil || *c.AccountID != kept {
			t.Errorf("contact %d has the account %v", i, c.AccountID)
		}
	}
	s.stop()
	p.passesCheck()
	service, _, end := p.open(0)
	defer end()
	isSwept(t, service, w.org)
}

// mergeRun is an organization whose contacts are merged.
type mergeRun struct {
	t            *testing.T
	p            *place
	key          string
	audience     string
	clients      []*mergeClient
	acknowledged atomic.Int64
}

// begin creates the contacts of all clients, with a task each, and a campaign that writes to them.
func (m *mergeRun) begin(s *server, clients, each int) {
	m.t.Helper()
	ids := s.load(m.key, clients*each, func(i int) string {
		return fmt.Sprintf(`"notes": "note %d.", "title": "Client"`, i)
	})
	for i := range clients {
		c := &mergeClient{random: rand.New(rand.NewPCG(soakSeed, 30+uint64(i))), notes: map[string][]string{}, tasks: map[string]string{}, merged: map[string]string{}}
		for j := range each {
			n := i*each + j
			c.live, c.notes[ids[n]] = append(c.live, ids[n]), []string{fmt.Sprintf("note %d.", n)}
			if j%4 == 0 {
				task := s.id(s.do(http.StatusCreated, m.key, "POST", "/v1/tasks", fmt.Sprintf(`{"title": "Call", "contact_id": %q}`, ids[n])))
				c.tasks[task] = ids[n]
			}
		}
		m.clients = append(m.clients, c)
	}
	m.audience = s.id(s.do(http.StatusCreated, m.key, "POST", "/v1/audiences", fmt.Sprintf(`{"name": "All", "contact_ids": %s}`, asJSON(ids))))
	template := s.id(s.do(http.StatusCreated, m.key, "POST", "/v1/sequence-templates",
		`{"name": "One", "steps": [{"index": 0, "type": "auto_email", "hour": 9, "subject": "Hello", "message": "Hello"}], "transitions": []}`))
	s.do(http.StatusCreated, m.key, "POST", "/v1/campaigns", fmt.Sprintf(`{"name": "Mail", "status": "active", "template_id": %q, "audience_ids": [%q], "missing_values": "send"}`, template, m.audience))
}

// run merges until the server is killed, which happens some time after a number of merges was acknowledged.
func (m *mergeRun) run(s *server, killAfter int64, delay time.Duration) {
	m.t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: len(m.clients)}
	defer transport.CloseIdleConnections()
	web := &http.Client{Transport: transport, Timeout: waitTimeout}
	m.acknowledged.Store(0)
	var killed atomic.Bool
	var running sync.WaitGroup
	for _, c := range m.clients {
		running.Go(func() {
			for len(c.live) > 2 {
				i := c.random.IntN(len(c.live) - 1)
				c.pending = [2]string{c.live[i], c.live[i+1]}
				res, err := send(web, "POST", s.url+"/v1/contacts/"+c.live[i]+"/merge", fmt.Sprintf(`{"ids": [%q]}`, c.live[i+1]),
					"Authorization", "Bearer "+m.key, "Content-Type", "application/json")
				if err != nil {
					if !killed.Load() {
						m.t.Error(err)
					}
					return
				}
				if res.status != http.StatusOK {
					m.t.Errorf("status %d: %s", res.status, res.body)
					return
				}
				c.done()
				if m.acknowledged.Add(1) == killAfter {
					time.AfterFunc(delay, func() {
						killed.Store(true)
						_ = s.process.Kill()
					})
				}
			}
		})
	}
	running.Wait()
	if !killed.Load() {
		m.t.Fatal("all contacts were merged before the server was killed")
	}
	s.ends(-1)
}

// done notes that the pending merge is done.
func (c *mergeClient) done() {
	into, other := c.pending[0], c.pending[1]
	c.pending = [2]string{}
	c.live = slices.DeleteFunc(c.live, func(id string) bool { return id == other })
	c.notes[into] = append(c.notes[into], c.notes[other]...)
	delete(c.notes, other)
	c.merged[other] = into
}

// survivor returns the contact that a contact lives on in.
func (c *mergeClient) survivor(id string) string {
	for c.merged[id] != "" {
		id = c.merged[id]
	}
	return id
}

// compare checks that each merge is done or not, and returns how many are done that were not acknowledged.
func (m *mergeRun) compare(s *server) (unanswered int) {
	m.t.Helper()
	live := 0
	for _, c := range m.clients {
		if other := c.pending[1]; other != "" {
			r, err := send(client, "GET", s.url+"/v1/contacts/"+other, "", "Authorization", "Bearer "+m.key)
			if err != nil {
				m.t.Fatal(err)
			}
			if r.status == http.StatusNotFound {
				c.done()
				unanswered++
			}
			c.pending = [2]string{}
		}
		live += len(c.live)
		for _, id := range c.live {
			var item struct{ Data struct{ Notes string } }
			r := s.do(http.StatusOK, m.key, "GET", "/v1/contacts/"+id, "")
			if err := json.Unmarshal(r.body, &item); err != nil || item.Data.Notes != strings.Join(c.notes[id], "\n\n") {
				m.t.Errorf("contact %s has the notes %q, want %q", id, item.Data.Notes, c.notes[id])
			}
		}
		for id := range c.merged {
			r := s.do(http.StatusNotFound, m.key, "GET", "/v1/contacts/"+id, "")
			if survivor := c.survivor(id); !strings.Contains(string(r.body), `"id":"`+survivor+`"`) {
				m.t.Errorf("contact %s was merged into %s: %s", id, survivor, r.body)
			}
		}
		for task, contact := range c.tasks {
			if item := string(s.item(m.key, "/v1/tasks/"+task)); !strings.Contains(item, `"contact_id":"`+c.survivor(contact)+`"`) {
				m.t.Errorf("the task of %s is %s", contact, item)
			}
		}
	}
	s.counts(m.key, "title", "is", `"Client"`, live)
	if item := string(s.item(m.key, "/v1/audiences/"+m.audience)); !strings.Contains(item, fmt.Sprintf(`"contact_count":%d`, live)) {
		m.t.Errorf("%d contacts are left, and the audience is %s", live, item)
	}
	if n := s.total(m.key, "audiences/"+m.audience+"/contacts", "{}"); n != live {
		m.t.Errorf("%d contacts are left, and the audience lists %d", live, n)
	}
	return unanswered
}
