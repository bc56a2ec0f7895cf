package cmd_test

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"prospector/internal/apptest"
)

const hookClients = 8

// TestKill9Webhook repeatedly kills the server while many deliveries are in flight, clients cause
// more of them, and the subscriber fails, closes connections or hangs. In the end every
// acknowledged change was delivered, repeated deliveries have the same event id, and every event
// matches the store. PROSPECTOR_SOAK is the number of kills, with 20,000 events pending at the
// first of them.
func TestKill9Webhook(t *testing.T) {
	t.Parallel()
	queued, rounds := 800, soakRounds(t, 2)
	if soaking() {
		queued = 20_000
	} else if apptest.RaceDetector {
		queued = 300
	}
	random := rand.New(rand.NewPCG(soakSeed, 30))
	d := newWebhookPlace(t, "PROSPECTOR_LOG_LEVEL=info", "PROSPECTOR_WEBHOOKS_TIMEOUT=500ms",
		"PROSPECTOR_WEBHOOKS_RETRY_SCHEDULE="+strings.TrimSuffix(strings.Repeat("100ms,", 40), ","))
	k := &hookKills{subscriber: newSubscriber(t, nil), tries: map[string]int{}, acknowledged: map[string]string{}}
	k.answers(k.receive)
	s := d.serve()
	k.subscribe(s, d.key, "contact.*")
	s.stop()
	names := make([]string, queued)
	for i := range names {
		names[i] = fmt.Sprint("row", i)
	}
	d.imports("contacts", rowsOf(names...)).withoutProgress().ok()

	for round := range rounds {
		// Every other life of the server ends after so many writes, the others after so many
		// deliveries.
		life := &hookLife{ofWrites: round%2 == 0, left: 40 + random.Int64N(40), over: make(chan struct{})}
		if !life.ofWrites {
			life.left = 1 + random.Int64N(int64(1+queued/rounds))
		}
		k.run(d, life, time.Duration(random.Int64N(int64(5*time.Millisecond))))
		if t.Failed() {
			return
		}
	}
	s = d.serve()
	late := time.Now().Add(waitTimeout)
	for more := -1; s.pending() != "0"; { // as long as there is progress
		if n := len(k.all()); n != more {
			more, late = n, time.Now().Add(waitTimeout)
		} else if time.Now().After(late) {
			t.Fatalf("%s deliveries are pending, but none is attempted", s.pending())
		}
	}
	k.verify(s, d)
	s.stop()
	s.hasNoErrors()
	s.logHasNoSecrets(k.subscriber)
	d.passesCheck()
}

// hookKills is the state of the clients and the subscriber.
type hookKills struct {
	*subscriber
	life atomic.Pointer[hookLife]

	noting       sync.Mutex
	made         int
	tries        map[string]int    // delivery attempts by event
	acknowledged map[string]string // the contact, by trigger and data of the acknowledged change
	unanswered   int
}

// hookLife is one life of the server.
type hookLife struct {
	url      string
	ofWrites bool // counts writes, otherwise deliveries
	killed   atomic.Bool

	mu   sync.Mutex
	left int64
	over chan struct{} // closed when the count is reached
}

// count counts a write or a delivery.
func (l *hookLife) count(written bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if written == l.ofWrites {
		if l.left--; l.left == 0 {
			close(l.over)
		}
	}
}

// receive responds to a delivery. For some events the first one or two attempts fail.
func (k *hookKills) receive(w http.ResponseWriter, r *http.Request, d receivedDelivery) {
	k.life.Load().count(false)
	k.noting.Lock()
	k.tries[d.id]++
	tries := k.tries[d.id]
	k.noting.Unlock()
	if kind := crc32.ChecksumIEEE([]byte(d.id)) % 200; kind < 11 && tries <= 1+int(kind)%2 {
		switch {
		case kind < 5:
			fail(w, r, d)
		case kind < 10:
			panic(http.ErrAbortHandler) // closes the connection
		default:
			hang(w, r, d)
		}
	}
}

// run lets the clients write until the count is reached, and then kills the server while they
// continue.
func (k *hookKills) run(d *acmePlace, life *hookLife, delay time.Duration) {
	k.t.Helper()
	k.life.Store(life)
	s := d.serve()
	life.url = s.url
	transport := &http.Transport{MaxIdleConnsPerHost: hookClients}
	defer transport.CloseIdleConnections()
	var running sync.WaitGroup
	for range hookClients {
		running.Go(func() { k.write(life, &http.Client{Transport: transport, Timeout: waitTimeout}, d.key) })
	}
	select {
	case <-life.over:
	case <-time.After(waitTimeout):
		k.t.Error("the count was not reached in one life of the server")
	}
	time.AfterFunc(delay, func() {
		life.killed.Store(true)
		_ = s.process.Kill()
	})
	s.ends(-1)
	running.Wait()
}

// write creates contacts, changes and deletes some of them, and records what is acknowledged.
func (k *hookKills) write(life *hookLife, client *http.Client, key string) {
	for !k.t.Failed() {
		k.noting.Lock()
		k.made++
		n := k.made
		k.noting.Unlock()
		id, ok := k.ask(life, client, key, "contact.created", "POST", "", fmt.Sprintf(`{"email": "c%d@%s"}`, n, hushAddress), "")
		if ok && n%3 == 0 {
			_, ok = k.ask(life, client, key, "contact.updated", "PATCH", "/"+id, fmt.Sprintf(`{"title": "VP %d"}`, n), id)
		}
		if ok && n%5 == 0 {
			_, ok = k.ask(life, client, key, "contact.deleted", "DELETE", "/"+id, "", id)
		}
		if !ok {
			return
		}
	}
}

// ask sends a request and reports whether there was a response.
func (k *hookKills) ask(life *hookLife, client *http.Client, key, trigger, method, path, body, id string) (made string, answered bool) {
	answer, err := send(client, method, life.url+"/v1/contacts"+path, body, "Authorization", "Bearer "+key, "Content-Type", "application/json")
	k.noting.Lock()
	defer k.noting.Unlock()
	if err != nil {
		k.unanswered++
		if !life.killed.Load() {
			k.t.Errorf("%s %s: %v", method, path, err)
		}
		return "", false
	}
	if answer.status/100 != 2 {
		k.t.Errorf("%s %s %s: %d %s", method, path, body, answer.status, answer.body)
		return "", false
	}
	data := fmt.Sprintf(`{"id":%q}`, id)
	if method != "DELETE" {
		var item struct{ Data json.RawMessage }
		if err := json.Unmarshal(answer.body, &item); err != nil {
			k.t.Error(err)
			return "", false
		}
		e, _ := answer.item()
		id, data = e.Data.ID, inOrder(item.Data)
	}
	k.acknowledged[trigger+" "+data] = id
	life.count(true)
	return id, true
}

// verify compares the deliveries with the acknowledged changes, the store and the recorded
// attempts.
func (k *hookKills) verify(s *server, d *acmePlace) {
	t := k.t
	t.Helper()
	type event struct{ trigger, object, data string }
	events := map[string]event{}
	idOf := map[string]string{}    // event id by trigger and data
	created := map[string]string{} // event id by contact
	deliveries := k.all()
	for _, got := range deliveries {
		e := event{got.trigger, got.object, got.data}
		if other, again := events[got.id]; again && other != e {
			t.Errorf("the event %s is\n%v and\n%v", got.id, other, e)
		}
		events[got.id] = e
		if id := idOf[e.trigger+" "+e.data]; id != "" && id != got.id {
			t.Errorf("events %s and %s are duplicates: %v", id, got.id, e)
		}
		idOf[e.trigger+" "+e.data] = got.id
		if e.trigger == "contact.created" {
			created[e.object] = got.id
		}
	}
	for what, id := range k.acknowledged {
		if idOf[what] == "" {
			t.Errorf("no delivery for contact %s: %s", id, what)
		}
	}
	rows, contacts := 0, d.ids(d.org)
	for _, id := range contacts {
		e, delivered := events[created[id]]
		if !delivered {
			t.Errorf("no delivery for the existing contact %s", id)
		}
		if !strings.Contains(e.data, `"email":"row`) {
			continue
		}
		if rows++; rows%20 == 0 {
			if want := inOrder(s.item(d.key, "/v1/contacts/"+id)); e.data != want {
				t.Errorf("the event of contact %s is\n%s, want\n%s", id, e.data, want)
			}
		}
	}
	extra := len(events) - len(k.acknowledged) - rows
	if extra < 0 || extra > k.unanswered {
		t.Errorf("got %d events for %d acknowledged writes, %d unanswered writes and %d imported rows", len(events), len(k.acknowledged), k.unanswered, rows)
	}
	if _, total := k.attempts(s, "status=succeeded"); total != len(events) {
		t.Errorf("%d successful attempts are recorded for %d events", total, len(events))
	}
	_, failed := k.attempts(s, "status=failed")
	if failed == 0 || len(deliveries) < len(events)+failed/2 {
		t.Errorf("%d failed attempts are recorded, but there were %d deliveries", failed, len(deliveries))
	}
	t.Logf("%d events in %d deliveries, %d of which failed; %d writes acknowledged, %d unanswered, %d of them done; %d contacts",
		len(events), len(deliveries), failed, len(k.acknowledged), k.unanswered, extra, len(contacts))
}

// TestWebhookShutdown checks that a stopping server does not wait for an endpoint that does not answer, and
// sends the delivery again after the next start.
func TestWebhookShutdown(t *testing.T) {
	t.Parallel()
	d := newWebhookPlace(t, "PROSPECTOR_WEBHOOKS_TIMEOUT=1h", "PROSPECTOR_LIMITS_SHUTDOWN_TIME=5s")
	b := newSubscriber(t, nil)
	b.answers(hang)
	s := d.serve()
	b.subscribe(s, d.key, "contact.created")
	id, _ := s.contact(d.key, "ada")
	b.awaitDeliveries(1)
	s.stop() // the status shows that it did not take the whole shutdown_time
	s.hasNoErrors()
	s.logHasNoSecrets(b)
	d.passesCheck()

	s = d.serve()
	again := b.awaitDeliveries(2)
	if again[0] != again[1] || again[0].object != id {
		t.Errorf("the repeated delivery is %+v", again)
	}
	if _, total := b.attempts(s, ""); total != 0 {
		t.Errorf("%d unfinished attempts are recorded", total)
	}
	b.answers(nil)
	s.kill()
	s = d.serve()
	if last := b.awaitAttempts(s, 1)[0]; last.Status != "succeeded" || last.Attempt != 1 || last.SourceEventID != again[0].id {
		t.Errorf("the recorded attempt is %+v", last)
	}
	s.awaitNoPending()
	s.stop()
	s.hasNoErrors()
	d.passesCheck()
}

// TestWebhookRepeatedStops checks that servers stopped in the middle of many deliveries together
// deliver each of them, and record each success once.
func TestWebhookRepeatedStops(t *testing.T) {
	t.Parallel()
	n := 600
	if apptest.RaceDetector {
		n = 200
	}
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint("c", i))
	}
	d, b := withPendingDeliveries(t, names...)
	const stops = 4
	for i := range stops {
		enough := (i + 1) * n / (stops + 2)
		b.answers(func(w http.ResponseWriter, r *http.Request, d receivedDelivery) {
			if len(b.all()) > enough { // these are in flight when the server stops
				hang(w, r, d)
			}
		})
		s := d.serve()
		b.awaitDeliveries(enough + 1)
		s.stop()
		s.hasNoErrors()
	}
	b.answers(nil)
	s := d.serve()
	s.awaitNoPending()
	if _, total := b.attempts(s, "status=succeeded"); total != n {
		t.Errorf("%d attempts are recorded, want %d", total, n)
	}
	events := map[string]receivedDelivery{}
	for _, e := range b.all() {
		if first, repeated := events[e.object]; repeated && e != first {
			t.Errorf("the repeated delivery is %+v, the first was %+v", e, first)
		}
		events[e.object] = e
	}
	for _, id := range d.ids(d.org) {
		if events[id].trigger != "contact.created" {
			t.Errorf("no delivery for contact %s", id)
		}
	}
	if got := len(b.all()); got < n+stops {
		t.Errorf("got %d deliveries of %d events, but at least %d were cut off", got, n, stops)
	}
	s.stop()
	s.hasNoErrors()
	d.passesCheck()
}
