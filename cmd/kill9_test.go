package cmd_test

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/crm"
	"prospector/internal/service"
	"prospector/store"
)

const (
	soakClients = 16
	soakSeed    = 20260302
)

// TestKill9 repeatedly kills the server while clients write, and checks the store each time.
// PROSPECTOR_SOAK is the number of rounds, 2 by default.
//
// Each client only changes its own records, one request at a time. So its records are always in the
// state before its last request or in the state after it. A kill may leave either state and no
// other.
func TestKill9(t *testing.T) {
	t.Parallel()
	rounds := soakRounds(t, 2)
	t.Logf("seed %d, %d rounds", soakSeed, rounds)
	random := rand.New(rand.NewPCG(soakSeed, 0))
	p := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0", "PROSPECTOR_LOG_LEVEL=info")
	org, key := p.org("Acme")
	clients := make([]*soakClient, soakClients)
	for i := range clients {
		clients[i] = &soakClient{t: t, number: i, random: rand.New(rand.NewPCG(soakSeed, uint64(i)+1)), key: key, world: world{}}
	}
	for round := range rounds {
		// A commit takes some milliseconds. The kill happens at any point of it.
		r := &soakRound{killAfter: 250 + random.Int64N(100), delay: time.Duration(random.Int64N(int64(5 * time.Millisecond)))}
		r.run(p, clients)
		found := onDisk(t, p.path("data"), uuid.MustParse(org))
		unanswered := 0
		for _, c := range clients {
			if c.reconcile(found.worlds[c.number]) {
				unanswered++
			}
		}
		t.Logf("round %d: %d writes acknowledged, %d done without an answer, %d repeated; %d records",
			round, r.writes.Load(), unanswered, r.replays.Load(), found.records)
		if t.Failed() {
			return
		}
		// The lists, whose indexes are rebuilt from the store, agree.
		s := p.serve()
		for entity, n := range found.counts {
			if got := s.total(key, entity, "{}"); got != n {
				t.Errorf("the store has %d %s, the list has %d", n, entity, got)
			}
		}
		s.stop()
	}
}

// soakRound is one life of the server.
type soakRound struct {
	killAfter       int64
	delay           time.Duration
	writes, replays atomic.Int64
	killed          atomic.Bool
	server          *server
}

func (r *soakRound) run(p *place, clients []*soakClient) {
	p.t.Helper()
	r.server = p.serve()
	transport := &http.Transport{MaxIdleConnsPerHost: soakClients}
	defer transport.CloseIdleConnections()
	var running sync.WaitGroup
	for _, c := range clients {
		c.http = &http.Client{Transport: transport, Timeout: waitTimeout}
		running.Go(func() { c.run(r) })
	}
	running.Wait()
	if !r.killed.Load() {
		p.t.Fatal("all clients gave up before the server was killed")
	}
	r.server.ends(-1)
}

// wrote counts an acknowledged write. It kills the server when there are enough, while all clients
// continue.
func (r *soakRound) wrote() {
	if r.writes.Add(1) != r.killAfter {
		return
	}
	time.AfterFunc(r.delay, func() {
		r.killed.Store(true)
		_ = r.server.process.Kill() // the round waits until the server has exited
	})
}

// entry is a record as the client expects it.
type entry struct {
	ID      string
	Notes   string // contacts only: the number of the last change
	Account string // contacts only: the id of the account
}

// world contains all records of a client by the client's name for them: "contact 7", "account 3",
// "tag red hot".
type world map[string]entry

// soakClient writes records and remembers the acknowledged state.
type soakClient struct {
	t      *testing.T
	number int
	random *rand.Rand
	key    string
	http   *http.Client

	made    int
	world   world // the acknowledged state
	pending *step // the request that was left unanswered by the kill
	kept    []*step
	repeats []*step
}

// step is one request and its effect on the world.
type step struct {
	method, path, body string
	creates            string // the name of the record that it creates
	idempotencyKey     string
	id                 string // the id created by a request with an Idempotency-Key, once known
	apply              func(w world, id string)
}

func (s *step) after(w world, id string) world {
	w = maps.Clone(w)
	if s.id == "" { // otherwise it was done before and has no effect now
		s.apply(w, id)
	}
	return w
}

// run sends requests until the server is gone.
func (c *soakClient) run(r *soakRound) {
	const repeated = 4
	c.repeats = c.kept[max(0, len(c.kept)-repeated):]
	for !c.t.Failed() {
		s := c.next()
		headers := []string{"Authorization", "Bearer " + c.key, "Content-Type", "application/json"}
		if s.idempotencyKey != "" {
			headers = append(headers, "Idempotency-Key", s.idempotencyKey)
		}
		answer, err := send(c.http, s.method, r.server.url+s.path, s.body, headers...)
		if err != nil {
			c.pending = s
			if !r.killed.Load() {
				c.t.Errorf("%s %s: %v", s.method, s.path, err)
			}
			return
		}
		if err := c.acknowledge(r, s, answer); err != nil {
			c.t.Errorf("client %d: %s %s %s: %v", c.number, s.method, s.path, s.body, err)
			return
		}
	}
}

// acknowledge records a response.
func (c *soakClient) acknowledge(r *soakRound, s *step, answer reply) error {
	e, err := answer.item()
	if err != nil {
		return err
	}
	replayed := answer.header.Get("Idempotent-Replayed") == "true"
	switch {
	case s.id != "" && (!replayed || e.Data.ID != s.id):
		return fmt.Errorf("the first request created %s, but repeating it returns %d, replayed %v: %s", s.id, answer.status, replayed, answer.body)
	case s.id == "" && replayed:
		return fmt.Errorf("nothing was created before, but the response is a replayed one: %s", answer.body)
	case strings.HasPrefix(s.creates, "tag ") && answer.status == http.StatusConflict && e.Error.Code == "tag_name_taken":
		return nil
	case answer.status != map[string]int{"POST": http.StatusCreated, "PATCH": http.StatusOK, "DELETE": http.StatusNoContent}[s.method]:
		return fmt.Errorf("status %d: %s", answer.status, answer.body)
	}
	if replayed {
		r.replays.Add(1)
		return nil
	}
	c.world = s.after(c.world, e.Data.ID)
	if s.idempotencyKey != "" {
		s.id = e.Data.ID
	}
	r.wrote()
	return nil
}

// reconcile compares the store with the client's expected state and adopts it for the next round.
// It reports whether the unanswered request was done.
func (c *soakClient) reconcile(found world) (done bool) {
	c.t.Helper()
	if c.pending == nil {
		c.t.Errorf("client %d stopped without a request in flight", c.number)
		return false
	}
	s := c.pending
	c.pending = nil
	// A client without a response does not know the id either.
	made := found[s.creates]
	if reflect.DeepEqual(found, c.world) {
		return false
	}
	if after := s.after(c.world, made.ID); !reflect.DeepEqual(found, after) {
		c.t.Errorf("client %d: the store has\n%v\nwhich is neither the state before its last request, %s %s %s,\n%v\nnor the state after it\n%v",
			c.number, found, s.method, s.path, s.body, c.world, after)
	}
	c.world = found
	if s.idempotencyKey != "" {
		s.id = made.ID
	}
	return true
}

// disk is the content of the store by client.
type disk struct {
	worlds  [soakClients]world
	counts  map[string]int
	records int
}

// onDisk opens the data directory as the next server would and reads everything.
func onDisk(t *testing.T, dir string, org uuid.UUID) disk {
	t.Helper()
	s, err := service.Open(apptest.Config(dir), service.Options{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	d := disk{counts: map[string]int{}}
	for i := range d.worlds {
		d.worlds[i] = world{}
	}
	put := func(entity string, client int, name string, e entry) {
		if client < 0 || client >= soakClients {
			t.Errorf("no client created the %s %q, %s", entity, name, e.ID)
			return
		}
		if other, twice := d.worlds[client][name]; twice {
			t.Errorf("%s of client %d exists twice: %s, %s", name, client, other.ID, e.ID)
		}
		d.worlds[client][name] = e
		d.counts[entity]++
		d.records++
	}
	accounts, folds := map[uuid.UUID]bool{}, map[string]string{}
	err = s.Store.View(org, func(tx *store.Tx) error {
		if err := s.CRM.Accounts.Table.Scan(tx, func(a store.Doc[crm.Account]) (bool, error) {
			accounts[a.ID] = true
			client, name := unlabel(a.Record.Name)
			put("accounts", client, name, entry{ID: a.ID.String()})
			return true, nil
		}); err != nil {
			return err
		}
		if err := s.CRM.Contacts.Table.Scan(tx, func(c store.Doc[crm.Contact]) (bool, error) {
			client, name := unlabel(string(c.Record.Title))
			e := entry{ID: c.ID.String(), Notes: string(c.Record.Notes)}
			if account := c.Record.AccountID; account.Valid {
				e.Account = account.UUID.String()
				if !accounts[account.UUID] {
					t.Errorf("contact %s refers to account %s, which does not exist", c.ID, e.Account)
				}
			}
			put("contacts", client, name, e)
			return true, nil
		}); err != nil {
			return err
		}
		if err := s.CRM.Tags.Table.Scan(tx, func(g store.Doc[crm.Tag]) (bool, error) {
			client, name := unspell(g.Record.Name)
			if other, twice := folds[name]; twice {
				t.Errorf("two tags are named %q: %s, %s", name, other, g.ID)
			}
			folds[name] = g.ID.String()
			put("tags", client, "tag "+name, entry{ID: g.ID.String()})
			return true, nil
		}); err != nil {
			return err
		}
		return store.VerifyPortions(tx, func(_ bool, format string, args ...any) { t.Errorf(format, args...) }, s.Kinds.Portions()...)
	})
	if err != nil {
		t.Error(err)
	}
	return d
}
