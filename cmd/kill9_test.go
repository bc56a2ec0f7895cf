package cmd_test

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"reflect"
	"strconv"
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

// TestKill9 kills the server while clients write, again and again, and looks at what is on the disk each time.
// PROSPECTOR_SOAK is the number of rounds, 4 when it is not set.
//
// What a client has made only that client changes, one request at a time. So at any moment its records are as they
// were before its last request or as they are after it, all of them together: a kill may leave either, and nothing else.
func TestKill9(t *testing.T) {
	t.Parallel()
	rounds := 4
	if raceDetector {
		rounds = 2
	}
	if v := os.Getenv("PROSPECTOR_SOAK"); v != "" {
		var err error
		if rounds, err = strconv.Atoi(v); err != nil {
			t.Fatalf("PROSPECTOR_SOAK must be a number of rounds: %v", err)
		}
	}
	t.Logf("seed %d, %d rounds", soakSeed, rounds)
	random := rand.New(rand.NewPCG(soakSeed, 0))
	p := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0", "PROSPECTOR_LOG_LEVEL=info")
	org, key := p.org("Acme")
	clients := make([]*soakClient, soakClients)
	for i := range clients {
		clients[i] = &soakClient{t: t, number: i, random: rand.New(rand.NewPCG(soakSeed, uint64(i)+1)), key: key, world: world{}}
	}
	for round := range rounds {
		// A commit takes some milliseconds: the kill comes anywhere in one.
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
		// The lists, which are made anew from the store, agree.
		s := p.serve()
		for entity, n := range found.counts {
			if got := s.total(key, entity, "{}"); got != n {
				t.Errorf("there are %d %s, the list has %d", n, entity, got)
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

// wrote counts an acknowledged write. When there are enough the server is killed, while all clients go on.
func (r *soakRound) wrote() {
	if r.writes.Add(1) != r.killAfter {
		return
	}
	time.AfterFunc(r.delay, func() {
		r.killed.Store(true)
		_ = r.server.process.Kill() // the round waits for its end
	})
}

// entry is a record as a client knows it.
type entry struct {
	ID      string
	Notes   string // of a contact: the number of the last change
	Account string // of a contact: the id of its account
}

// world is all that a client has made, by what the client calls it: "contact 7", "account 3", "tag red hot".
type world map[string]entry

// soakClient makes records and remembers what it was told about them.
type soakClient struct {
	t      *testing.T
	number int
	random *rand.Rand
	key    string
	http   *http.Client

	made    int
	world   world // as it was acknowledged
	pending *step // the request that the kill left without an answer
	kept    []*step
	repeats []*step
}

// step is one request and what it does to the world.
type step struct {
	method, path, body string
	creates            string // the name of what it makes
	idempotencyKey     string
	id                 string // what a request with an Idempotency-Key made, once that is known
	apply              func(w world, id string)
}

func (s *step) after(w world, id string) world {
	w = maps.Clone(w)
	if s.id == "" { // else it was done before, and is not done again
		s.apply(w, id)
	}
	return w
}

// run makes requests until the server is gone.
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

// acknowledge takes note of an answer.
func (c *soakClient) acknowledge(r *soakRound, s *step, answer reply) error {
	e, err := answer.item()
	if err != nil {
		return err
	}
	replayed := answer.header.Get("Idempotent-Replayed") == "true"
	switch {
	case s.id != "" && (!replayed || e.Data.ID != s.id):
		return fmt.Errorf("made %s before, now it is answered %d, replayed %v: %s", s.id, answer.status, replayed, answer.body)
	case s.id == "" && replayed:
		return fmt.Errorf("nothing was made before, but the answer is a replayed one: %s", answer.body)
	case strings.HasPrefix(s.creates, "tag ") && answer.status == http.StatusConflict && e.Error.Code == "tag_name_taken":
		return nil
	case answer.status != map[string]int{"POST": http.StatusCreated, "PATCH": http.StatusOK, "DELETE": http.StatusNoContent}[s.method]:
		return fmt.Errorf("answered %d: %s", answer.status, answer.body)
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

// settle holds what is on the disk against what the client knows, and takes it as what goes on from here. It tells
// whether the request that got no answer was done.
func (c *soakClient) reconcile(found world) (done bool) {
	c.t.Helper()
	if c.pending == nil {
		c.t.Errorf("client %d stopped without a request under way", c.number)
		return false
	}
	s := c.pending
	c.pending = nil
	// Whoever got no answer does not know the id either.
	made := found[s.creates]
	if reflect.DeepEqual(found, c.world) {
		return false
	}
	if after := s.after(c.world, made.ID); !reflect.DeepEqual(found, after) {
		c.t.Errorf("client %d: on the disk is\n%v\nwhich is neither as before its last request, %s %s %s,\n%v\nnor as after it\n%v",
			c.number, found, s.method, s.path, s.body, c.world, after)
	}
	c.world = found
	if s.idempotencyKey != "" {
		s.id = made.ID
	}
	return true
}

// disk is what the store has, taken apart by client.
type disk struct {
	worlds  [soakClients]world
	counts  map[string]int
	records int
}

// onDisk opens the data directory as the next server would, and reads everything.
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
			t.Errorf("nobody made the %s %q, %s", entity, name, e.ID)
			return
		}
		if other, twice := d.worlds[client][name]; twice {
			t.Errorf("%s of client %d is there twice: %s, %s", name, client, other.ID, e.ID)
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
					t.Errorf("contact %s names the account %s, which is not there", c.ID, e.Account)
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
				t.Errorf("two tags are called %q: %s, %s", name, other, g.ID)
			}
			folds[name] = g.ID.String()
			put("tags", client, "tag "+name, entry{ID: g.ID.String()})
			return true, nil
		}); err != nil {
			return err
		}
		return s.Kinds.Verify(tx, func(_ bool, format string, args ...any) { t.Errorf(format, args...) })
	})
	if err != nil {
		t.Error(err)
	}
	return d
}
