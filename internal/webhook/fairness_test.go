package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/service"
)

// blockingEndpoint is an endpoint that blocks requests until the test releases them, and counts the
// blocked ones by path.
type blockingEndpoint struct {
	*apptest.Target
	state apptest.State // guards there and most
	there map[string]int
	most  map[string]int
	gate  chan struct{}
	opens sync.Once
}

func newBlockingEndpoint(t *testing.T, waits func(n int, r *http.Request) bool) *blockingEndpoint {
	c := &blockingEndpoint{there: map[string]int{}, most: map[string]int{}, gate: make(chan struct{})}
	c.Target = apptest.NewTarget(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if !waits(n, r) {
			return
		}
		c.count(r.URL.Path, 1)
		<-c.gate
		c.count(r.URL.Path, -1)
	})
	t.Cleanup(c.open) // before the server is closed, which waits for its requests
	return c
}

func (c *blockingEndpoint) count(path string, by int) {
	c.state.Change(func() {
		for _, name := range []string{path, ""} {
			c.there[name] += by
			c.most[name] = max(c.most[name], c.there[name])
		}
	})
}

// open releases all requests, now and from now on.
func (c *blockingEndpoint) open() { c.opens.Do(func() { close(c.gate) }) }

// fill waits until n requests are waiting on a path, or on all paths if path is empty.
func (c *blockingEndpoint) fill(t *testing.T, path string, n int) {
	t.Helper()
	c.state.Wait(t, fmt.Sprintf("%d waiting requests on %q", n, path), func() bool { return c.there[path] >= n })
}

// now returns how many requests are waiting on a path, and the maximum so far.
func (c *blockingEndpoint) now(path string) (there, most int) {
	c.state.Read(func() { there, most = c.there[path], c.most[path] })
	return there, most
}

// delivering makes deliveries in the background. done releases the waiting requests, and waits until all
// deliveries have ended.
func (h *webhookFixture) delivering(waiting *blockingEndpoint) (done func()) {
	var running sync.WaitGroup
	running.Go(h.Deliver)
	h.t.Cleanup(func() { waiting.open(); running.Wait() })
	return func() { waiting.open(); running.Wait() }
}

func patient(c *service.Config) { c.Webhooks.Timeout = 10 * time.Minute }

// TestWebhookHealthyAmongHanging checks that an endpoint gets its events however many others hang,
// even if it is as new as they are and was subscribed last.
func TestWebhookHealthyAmongHanging(t *testing.T) {
	const hanging = 49
	h := newWebhookFixture(t, nil, patient)
	h.org.Admin.Delete(h.path(h.id)).Is(204)
	dead := newBlockingEndpoint(t, func(int, *http.Request) bool { return true })
	for i := range hanging {
		h.subscribe(h.org, fmt.Sprint(dead.URL, "/", i))
	}
	h.subscribe(h.org, h.to.URL)
	h.causeEvents(1)
	done := h.delivering(dead)
	h.to.Await(t, 1)
	dead.fill(t, "", hanging) // they do not block each other either
	for i := 2; i < 6; i++ {
		h.causeEvents(1)
		h.to.Await(t, i)
	}
	if there, most := dead.now(""); there != hanging || most != hanging {
		t.Errorf("%d requests are hanging and at most %d did, want %d", there, most, hanging)
	}
	done()
	h.wantPending(0, "at the end")
}

// TestWebhookPerSubscription checks that a fast endpoint gets a quarter of the concurrency, and no
// more.
func TestWebhookPerSubscription(t *testing.T) {
	for _, c := range []struct{ concurrency, most int }{{64, 16}, {8, 2}, {1, 1}} {
		t.Run(strconv.Itoa(c.concurrency), func(t *testing.T) {
			h := newWebhookFixture(t, nil, patient, func(cfg *service.Config) { cfg.Webhooks.Concurrency = c.concurrency })
			if c.most > 1 { // an endpoint must not lose its share because this machine is slow
				h.Webhooks.SlowAfter = time.Hour
			}
			busy := newBlockingEndpoint(t, func(n int, _ *http.Request) bool { return n > 40 })
			h.subscribe(h.org, busy.URL+"/busy")
			h.org.Write.Post("/v1/tasks/batch", `{"records": [`+strings.TrimSuffix(strings.Repeat(`{"title": "Call"},`, 100), ",")+`]}`).Is(200)
			done := h.delivering(busy)
			h.to.Await(t, 100)
			busy.fill(t, "/busy", c.most)
			for i := range 5 { // the other endpoint still receives its events
				h.causeEvents(1)
				h.to.Await(t, 101+i)
			}
			if there, _ := busy.now("/busy"); there != c.most {
				t.Errorf("%d requests wait at one endpoint, want %d", there, c.most)
			}
			done()
			if _, got := busy.now("/busy"); got > c.most {
				t.Errorf("%d requests were at one endpoint at once, want at most %d", got, c.most)
			}
			h.wantPending(0, "at the end")
		})
	}
}

// TestWebhookPerOrganization checks that failing endpoints have a limited share of the concurrency,
// per organization and in total, and that events are delivered to other endpoints at the same time.
func TestWebhookPerOrganization(t *testing.T) {
	const (
		each  = 20
		share = 16 // a quarter of 64 for each attempt that an organization may start
	)
	var bad *blockingEndpoint
	hang := make(chan struct{})
	h := newWebhookFixture(t, nil, patient, func(c *service.Config) { c.Webhooks.Concurrency = 2 })
	bad = newBlockingEndpoint(t, func(int, *http.Request) bool {
		select {
		case <-hang:
			return true
		default:
			panic(http.ErrAbortHandler) // the connection is aborted
		}
	})
	orgs := []*apptest.Org{h.org, h.Org("Umbrella"), h.Org("Initech")}
	for i, org := range orgs {
		for range each {
			h.subscribe(org, fmt.Sprint(bad.URL, "/", i))
		}
		happen(org, &h.n, 1)
	}
	quiet := h.Org("Hooli")
	h.subscribe(quiet, h.to.URL)
	happen(quiet, &h.n, 1)
	h.Deliver()
	for _, later := range []time.Duration{6 * time.Second, 6 * time.Minute} { // the third failure makes them failing endpoints
		h.Clock.Advance(later)
		h.Deliver()
	}
	h.wantRequests(2, "the first time")
	close(hang)
	h.Clock.Advance(40 * time.Minute)
	done := h.delivering(bad)
	bad.fill(t, "", 2*share)
	for i := range 3 {
		happen(quiet, &h.n, 1)
		h.to.Await(t, 3+2*i)
		h.causeEvents(1) // in an organization with many of them
		h.to.Await(t, 4+2*i)
	}
	if there, most := bad.now(""); there != 2*share || most != 2*share {
		t.Errorf("%d requests are waiting in all and at most %d did, want %d", there, most, 2*share)
	}
	for i := range orgs {
		if _, most := bad.now(fmt.Sprint("/", i)); most > share {
			t.Errorf("%d requests of one organization were waiting, want at most %d", most, share)
		}
	}
	done()
	h.wantPending(0, "at the end")
}

// running runs the sender as the service does, until stop is called. No endpoint counts as slow, however slow
// the machine is, so stop waits for the answers.
func (h *webhookFixture) running() (stop func()) {
	h.Webhooks.SlowAfter = time.Hour
	ctx, cancel := context.WithCancel(context.Background())
	ends := h.sends(ctx)
	stop = func() { cancel(); ends() }
	h.t.Cleanup(stop)
	return stop
}

// sends runs the sender. ends waits until it has stopped.
func (h *webhookFixture) sends(ctx context.Context) (ends func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.Webhooks.Sender.Run(ctx)
	}()
	return func() { apptest.Receive(h.t, ended, "the end of the sender") }
}

// TestWebhookRest checks that an overloaded endpoint gets no requests until the time that it
// requested, or until a user asks for one.
func TestWebhookRest(t *testing.T) {
	const events = 8
	for _, c := range []struct {
		name string
		wake func(h *webhookFixture)
		want int // requests in all
	}{
		{"time", func(h *webhookFixture) { h.Clock.Advance(10 * time.Minute); h.causeEvents(1) }, 1 + events + 1},
		{"PATCH", func(h *webhookFixture) { h.org.Admin.Patch(h.path(h.id), `{"description": "Now"}`).Is(200) }, 1 + events},
		{"test", func(h *webhookFixture) { h.org.Admin.Post(h.path(h.id)+"/test", nil).Is(202) }, 1 + events + 1},
		{"redeliver", func(h *webhookFixture) {
			h.org.Admin.Post(h.path(h.id)+"/deliveries/"+h.history(h.id)[0].ID+"/redeliver", nil).Is(202)
		}, 1 + events},
	} {
		for _, code := range []int{429, 503} {
			t.Run(fmt.Sprint(c.name, " ", code), func(t *testing.T) {
				h := newWebhookFixture(t, func(n int, w http.ResponseWriter, _ *http.Request) {
					if n == 1 {
						w.Header().Set("Retry-After", "600")
						w.WriteHeader(code)
					}
				})
				beside := apptest.NewTarget(t, nil)
				h.subscribe(h.org, beside.URL)
				stop := h.running()
				for i := range events {
					h.causeEvents(1)
					h.to.Await(t, 1)
					beside.Await(t, i+1)
				}
				for len(h.history(h.id)) == 0 { // recorded at the same time
				}
				h.wantRequests(1, "while it rests")
				c.wake(h)
				h.to.Await(t, c.want)
				stop()
				h.wantRequests(c.want, "at the end")
			})
		}
	}
	t.Run("another status", func(t *testing.T) { // does not affect the other pending deliveries
		h := newWebhookFixture(t, func(n int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "600")
			w.WriteHeader(500)
		})
		h.causeEvents(events)
		h.Deliver()
		h.wantRequests(events, "each once")
	})
}

// TestWebhookNoneIsForgotten checks that a subscription without anything to send does not delay
// those queued behind it.
func TestWebhookNoneIsForgotten(t *testing.T) {
	for name, silence := range map[string]func(h *webhookFixture, id string){
		"paused":  func(h *webhookFixture, id string) { h.org.Admin.Patch(h.path(id), `{"status": "paused"}`).Is(200) },
		"deleted": func(h *webhookFixture, id string) { h.org.Admin.Delete(h.path(id)).Is(204) },
	} {
		var h *webhookFixture
		var between []string
		h = newWebhookFixture(t, func(n int, _ http.ResponseWriter, _ *http.Request) {
			if n == 1 {
				for _, id := range between {
					silence(h, id)
				}
			}
		}, patient, func(c *service.Config) { c.Webhooks.Concurrency = 4 }) // one at a time for unproven endpoints
		last := apptest.NewTarget(t, nil)
		for range 3 {
			between = append(between, h.subscribe(h.org, last.URL+"/silent"))
		}
		h.subscribe(h.org, last.URL+"/last")
		h.causeEvents(1)
		h.Deliver()
		if !slices.ContainsFunc(last.Asked(), func(a apptest.Asked) bool { return a.Path == "/last" }) {
			t.Errorf("%s: the endpoint queued after them received no request", name)
		}
	}
}

// TestWebhookHangingAfterHealth checks that endpoints that were fast and then all hang do not stop
// another one.
func TestWebhookHangingAfterHealth(t *testing.T) {
	if apptest.RaceDetector {
		t.Skip("skipped under the race detector: it mostly waits, and other tests cover the same code")
	}
	const many = 49 // more slow ones than may wait in an organization that starts one at a time
	hang := make(chan struct{})
	h := newWebhookFixture(t, nil, patient, func(c *service.Config) { c.Webhooks.Concurrency = 2 })
	dead := newBlockingEndpoint(t, func(int, *http.Request) bool {
		select {
		case <-hang:
			return true
		default:
			return false
		}
	})
	for i := range many {
		h.subscribe(h.org, fmt.Sprint(dead.URL, "/", i))
	}
	slowAfter := h.Webhooks.SlowAfter
	h.Webhooks.SlowAfter = time.Hour // none must seem slow because this machine is
	h.causeEvents(1)
	h.Deliver()
	h.wantPending(0, "while all are healthy")
	h.Webhooks.SlowAfter = 2 * slowAfter
	close(hang)
	h.causeEvents(1)
	done := h.delivering(dead)
	h.to.Await(t, 2)
	dead.fill(t, "", 45)
	for i := range 10 {
		h.causeEvents(1)
		h.to.Await(t, 3+i)
	}
	done()
	h.wantPending(0, "at the end")
}

// TestWebhookRestOverRotation checks that an expired secret no longer signs deliveries, however
// long they have waited.
func TestWebhookRestOverRotation(t *testing.T) {
	h := newWebhookFixture(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.Header().Set("Retry-After", "7200")
			w.WriteHeader(503)
		}
	})
	h.org.Admin.Post(h.path(h.id)+"/rotate-secret", nil).Is(200)
	h.Clock.Advance(23 * time.Hour)
	h.causeEvents(5)
	beside := apptest.NewTarget(t, nil)
	h.subscribe(h.org, beside.URL)
	stop := h.running()
	for len(h.history(h.id)) == 0 { // until the answer is recorded, by the clock of now
	}
	for i := range 3 {
		h.causeEvents(1)
		beside.Await(t, i+1)
	}
	h.wantRequests(1, "while it rests")
	h.Clock.Advance(2 * time.Hour)
	h.causeEvents(1)
	h.to.Await(t, 10)
	stop()
	for i, got := range h.to.Asked() {
		signatures := strings.Fields(got.Header.Get("Webhook-Signature"))
		if i == 0 && len(signatures) != 2 || i > 0 && len(signatures) != 1 {
			t.Errorf("request %d has %d signatures", i+1, len(signatures))
		}
	}
}
