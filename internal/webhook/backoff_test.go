package webhook_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/service"
)

// TestWebhookSwitching checks that an endpoint that switches protocols fails, and that its
// connection is closed without waiting for a deadline.
func TestWebhookSwitching(t *testing.T) {
	ended := make(chan error, 2)
	h := newWebhookFixture(t, nil, patient)
	id := h.subscribe(h.org, wire(t, func(c *net.TCPConn) {
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: canary\r\n\r\n")
		_ = c.SetReadDeadline(time.Now().Add(2 * time.Minute)) // passes only if the service keeps the connection open
		_, err := io.Copy(io.Discard, c)
		ended <- err
	}))
	h.causeEvents(1)
	for i := 1; i <= 2; i++ {
		h.pass(6 * time.Second) // returns although the endpoint keeps the connection open
		if err := <-ended; err != nil {
			t.Fatalf("attempt %d: the connection stayed open: %v", i, err)
		}
		all := h.history(id)
		if len(all) != i {
			t.Fatalf("%d attempts are recorded, want %d", len(all), i)
		}
		if a := all[i-1]; a.Attempt != i || a.Status != "failed" || *a.ResponseCode != 101 || a.Error != "http_101: the endpoint answered with status 101" {
			t.Errorf("unexpected recorded attempt: %+v", a)
		}
	}
	h.wantState(id, "active - 2 - 12s")
	h.wantPending(1, "after two attempts")
}

// hangsUp starts an endpoint that answers one request per connection with 200 and "Connection:
// keep-alive", and closes the connection when end returns. It counts the deliveries by their ids.
func hangsUp(t *testing.T, end func(*net.TCPConn, *bufio.Reader)) (url string, read func() map[string]int) {
	t.Helper()
	var mu sync.Mutex
	ids := map[string]int{}
	addr := apptest.Listen(t, func(conn *net.TCPConn) {
		from := bufio.NewReader(conn)
		req, err := http.ReadRequest(from)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		mu.Lock()
		ids[req.Header.Get("Webhook-Id")]++
		mu.Unlock()
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n")
		end(conn, from)
	})
	return "http://" + addr, func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return ids
	}
}

// TestWebhookHangsUp checks that a delivery does not fail because the endpoint closes an idle
// connection: the request is repeated over a new one.
func TestWebhookHangsUp(t *testing.T) {
	events, bursts, burst := 100, 3, 30
	if apptest.RaceDetector {
		events, bursts = 30, 2
	}
	long := strings.Repeat("d", 30_000)
	var crossed atomic.Int64
	for name, end := range map[string]func(*net.TCPConn, *bufio.Reader){
		"immediately": func(*net.TCPConn, *bufio.Reader) {},
		"after an idle timeout": func(conn *net.TCPConn, r *bufio.Reader) {
			_ = conn.SetReadDeadline(time.Now().Add(3 * time.Millisecond))
			_, _ = r.Peek(1)
		},
		"when the next request arrives": func(_ *net.TCPConn, r *bufio.Reader) {
			if _, err := r.Peek(1); err == nil {
				crossed.Add(1)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newWebhookFixture(t, nil)
			url, read := hangsUp(t, end)
			id := h.subscribe(h.org, url)
			for i := range events {
				h.n++
				// Some are larger than one packet.
				h.org.Write.Post("/v1/tasks", map[string]any{"title": fmt.Sprint("Task ", h.n), "notes": strings.Repeat("d", i%3*30_000)}).Is(201)
				h.Deliver()
			}
			for range bursts { // over many concurrent connections
				h.org.Write.Post("/v1/tasks/batch", `{"records": [`+strings.TrimSuffix(strings.Repeat(`{"title": "Call", "notes": "`+long+`"},`, burst), ",")+`]}`).Is(200)
				h.Deliver()
			}
			for _, a := range h.history(id) {
				if a.Status != "succeeded" || a.Attempt != 1 {
					t.Errorf("unexpected recorded attempt: %+v", a)
				}
			}
			if got := read(); len(got) != events+bursts*burst {
				t.Errorf("%d events arrived, want %d", len(got), events+bursts*burst)
			}
			h.wantState(id, "active - 0 0s -")
			h.wantPending(0, "at the end")
		})
	}
	if crossed.Load() < int64(events)/4 {
		t.Errorf("only %d requests arrived while the endpoint closed the connection", crossed.Load())
	}
}

// gated returns an endpoint that answers 500 first, and then the code when open is called.
func gated(code int, headers ...string) (answer func(int, http.ResponseWriter, *http.Request), open func()) {
	gate := make(chan struct{})
	return func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.WriteHeader(500)
			return
		}
		<-gate
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
	}, sync.OnceFunc(func() { close(gate) })
}

// TestWebhookFormerURL checks that the response of a previous URL is recorded but does not affect
// the new URL, which immediately gets the deliveries that the previous one did not accept.
func TestWebhookFormerURL(t *testing.T) {
	for _, code := range []int{410, 500, 200} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			answer, open := gated(code)
			h := newWebhookFixture(t, answer)
			defer open()
			now := apptest.NewTarget(t, answers(500))
			h.causeEvents(1)
			h.Deliver()
			h.wantState(h.id, "active - 1 - 0s")
			h.Clock.Advance(6 * time.Second)
			var delivering sync.WaitGroup
			delivering.Go(h.Deliver)
			h.to.Await(t, 2)
			h.org.Admin.Patch(h.path(h.id), map[string]any{"url": now.URL}).Is(200)
			h.Clock.Advance(time.Minute)
			open()
			delivering.Wait()
			all := h.history(h.id)
			if len(all) < 2 || all[1].Attempt != 2 || *all[1].ResponseCode != code {
				t.Fatalf("unexpected recorded attempt: %+v", all)
			}
			h.wantRequests(2, "of the former url")
			if code == 200 {
				h.wantState(h.id, "active - 1 - 0s") // unchanged
				h.wantPending(0, "it is delivered")
				return
			}
			if got := now.Asked(); len(got) != 1 || len(all) != 3 || all[2].Attempt != 3 || *all[2].ResponseCode != 500 {
				t.Fatalf("the new url got %d requests, and recorded is %+v", len(got), all)
			}
			h.wantState(h.id, "active - 2 - 1m6s") // not three
			h.wantPending(1, "for the new url")
		})
	}
}

// TestWebhookFormerRest checks that the Retry-After of a previous URL does not affect the new one.
func TestWebhookFormerRest(t *testing.T) {
	answer, open := gated(503, "Retry-After", "3600")
	h := newWebhookFixture(t, answer)
	defer open()
	now := apptest.NewTarget(t, nil)
	h.causeEvents(1)
	h.Deliver()
	h.Clock.Advance(6 * time.Second)
	stop := h.running()
	h.to.Await(t, 2)
	h.org.Admin.Patch(h.path(h.id), map[string]any{"url": now.URL}).Is(200)
	open()
	for len(h.history(h.id)) < 2 {
	}
	now.Await(t, 1) // the deliveries that the other did not accept
	h.causeEvents(1)
	now.Await(t, 2)
	stop()
	h.wantRequests(2, "of the former url")
	h.wantPending(0, "at the end")
}

// TestWebhookRestOverRestart checks that the Retry-After of an endpoint survives restarts, for
// pending and new deliveries, until a user asks for a delivery before or after the restart.
func TestWebhookRestOverRestart(t *testing.T) {
	type move func(h *webhookFixture)
	restart := func(h *webhookFixture) { h.Restart() }
	patch := func(h *webhookFixture) { h.org.Admin.Patch(h.path(h.id), `{"description": "Now"}`).Is(200) }
	test := func(h *webhookFixture) { h.org.Admin.Post(h.path(h.id)+"/test", nil).Is(202) }
	for _, c := range []struct {
		name  string
		moves []move
		want  int // requests after that, with 3 pending events; a success makes the refused one due again
	}{
		{"rests", []move{restart}, 1},
		{"rests after two", []move{restart, (*webhookFixture).Deliver, restart}, 1},
		{"PATCH before", []move{patch, restart}, 4},
		{"PATCH after", []move{restart, patch}, 4},
		{"test before", []move{test, restart}, 5},
		{"test after", []move{restart, test}, 5},
		{"rotation", []move{restart, func(h *webhookFixture) { h.org.Admin.Post(h.path(h.id)+"/rotate-secret", nil).Is(200) }}, 4},
		{"paused meanwhile", []move{func(h *webhookFixture) { h.patch("paused") }, restart, func(h *webhookFixture) { h.patch("active") }}, 4},
	} {
		for _, code := range []int{429, 503} {
			t.Run(fmt.Sprint(c.name, " ", code), func(t *testing.T) {
				h := newWebhookFixture(t, func(n int, w http.ResponseWriter, _ *http.Request) {
					if n == 1 {
						w.Header().Set("Retry-After", "600")
						w.WriteHeader(code)
					}
				})
				h.causeEvents(1)
				h.Deliver()
				h.causeEvents(2)
				h.Deliver()
				h.wantRequests(1, "while it rests")
				for _, move := range c.moves {
					move(h)
				}
				h.Deliver()
				h.wantRequests(c.want, "after all that")
				h.causeEvents(1)
				h.pass(10*time.Minute - time.Millisecond)
				if c.want == 1 {
					h.wantRequests(1, "right before its time")
				}
				h.pass(time.Millisecond)
				h.wantPending(0, "at its time")
				h.checkConsistency()
			})
		}
	}
}

// TestWebhookHurried checks that pending retries are made immediately when the subscription is
// activated again or its URL changes, and not otherwise.
func TestWebhookHurried(t *testing.T) {
	const events = 3
	for _, c := range []struct {
		name  string
		codes []int // of the first attempts; then 200
		patch []string
		want  int
	}{
		{"paused and active", []int{500, 500, 500}, []string{`{"status": "paused"}`, `{"status": "active"}`}, events},
		{"disabled and active", []int{500, 500, 410}, []string{`{"status": "active"}`}, events},
		{"disabled, paused and active", []int{500, 500, 410}, []string{`{"status": "paused"}`, `{"status": "active"}`}, events},
		{"another url", []int{500, 500, 500}, []string{`{"url": "<another>"}`}, events},
		{"another url while it is paused", []int{500, 500, 500}, []string{`{"status": "paused"}`, `{"url": "<another>"}`, `{"status": "active"}`}, events},
		{"paused with another url", []int{500, 500, 500}, []string{`{"status": "paused", "url": "<another>"}`}, 0},
		{"pausing", []int{500, 500, 500}, []string{`{"status": "paused"}`}, 0},
		{"description", []int{500, 500, 500}, []string{`{"description": "Now"}`}, 0},
		{"triggers", []int{500, 500, 500}, []string{`{"triggers": ["*"]}`}, 0},
		{"as it is", []int{500, 500, 500}, []string{`{"status": "active", "url": "<same>"}`}, 0},
		{"disabled", []int{500, 500, 410}, []string{`{"description": "Now"}`}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newWebhookFixture(t, answers(append(c.codes, 200)...))
			h.causeEvents(events)
			h.Deliver()
			h.wantRequests(events, "the first time")
			another := strings.NewReplacer("<another>", h.to.URL+"/another", "<same>", h.to.URL+"/in")
			for _, patch := range c.patch {
				h.org.Admin.Patch(h.path(h.id), another.Replace(patch)).Is(200)
			}
			h.Deliver()
			h.Work()
			h.Deliver()
			h.wantRequests(events+c.want, "without any time passing")
			h.wantPending(events-c.want, "without any time passing")
			for _, got := range h.to.Asked()[events:] {
				if want := map[bool]string{true: "/another", false: "/in"}[strings.Contains(fmt.Sprint(c.patch), "<another>")]; got.Path != want {
					t.Errorf("request path = %s, want %s", got.Path, want)
				}
			}
		})
	}
}

// failedOften returns an endpoint that works again after it has refused a number of events once.
func failedOften(t *testing.T, events int) *webhookFixture {
	t.Helper()
	var fine atomic.Bool
	h := newWebhookFixture(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		if !fine.Load() {
			w.WriteHeader(500)
		}
	})
	for range 2 {
		h.org.Write.Post("/v1/tasks/batch", `{"records": [`+strings.TrimSuffix(strings.Repeat(`{"title": "Call"},`, events/2), ",")+`]}`).Is(200)
	}
	h.Deliver()
	h.wantRequests(events, "while it fails")
	fine.Store(true)
	return h
}

// TestWebhookManyRetriesMadeDue checks that a job makes the rest of very many retries due.
func TestWebhookManyRetriesMadeDue(t *testing.T) {
	const events = 1100
	h := failedOften(t, events)
	h.org.Admin.Patch(h.path(h.id), map[string]any{"url": h.to.URL + "/another"}).Is(200)
	h.Deliver()
	if got := len(h.to.Asked()); got <= events || got == 2*events {
		t.Errorf("%d requests arrived before the job", got)
	}
	h.Work()
	h.Deliver()
	h.wantRequests(2*events, "after the job")
	h.wantPending(0, "at the end")
}

// TestWebhookHurriedAndGivenUp checks that an event is given up after the eighth attempt, however
// often its retries are made due.
func TestWebhookHurriedAndGivenUp(t *testing.T) {
	h := newWebhookFixture(t, answers(500))
	h.causeEvents(1)
	for i := range 8 {
		h.Deliver()
		h.wantRequests(i+1, "made due")
		switch i % 2 {
		case 0:
			h.patch("paused")
			h.patch("active")
		default:
			h.org.Admin.Patch(h.path(h.id), map[string]any{"url": fmt.Sprint(h.to.URL, "/", i)}).Is(200)
		}
	}
	h.pass(48 * time.Hour)
	h.wantRequests(8, "given up")
	h.wantPending(0, "given up")
	for i, a := range h.history(h.id) {
		if a.Attempt != i+1 || a.Status != "failed" {
			t.Errorf("unexpected recorded attempt: %+v", a)
		}
	}
}

// TestWebhookQueries checks that the query of a URL must be ASCII, as a request line is.
func TestWebhookQueries(t *testing.T) {
	h := newWebhookFixture(t, nil)
	for _, query := range []string{"y=ä", "ä", "a=b&c=\u00a0", "a=日本", "%C3%A4=ä", "a=\U0001F600"} {
		url := h.to.URL + "/in?" + query
		apptest.HasProblems(t, h.org.Admin.Post(apptest.SubscriptionsPath, map[string]any{"url": url, "triggers": []string{"*"}}), "url")
		apptest.HasProblems(t, h.org.Admin.Patch(h.path(h.id), map[string]any{"url": url}), "url")
	}
	for i, query := range []string{"y=%C3%A4", "%c3%a4", "a=b&a=c;d", "a=%E6%97%A5+%20", "a=b%0D%0AX:%20y"} {
		h.org.Admin.Patch(h.path(h.id), map[string]any{"url": h.to.URL + "/in?" + query}).Is(200)
		h.causeEvents(1)
		h.Deliver()
		h.wantRequests(i+1, query)
		if got := h.to.Asked()[i]; got.Query != query || got.Header.Get("X") != "" {
			t.Errorf("query %s was sent as %s", query, got.Query)
		}
	}
}

// TestWebhookMany checks that an organization has at most 50 subscriptions, and that other
// organizations cannot see how many.
func TestWebhookMany(t *testing.T) {
	const most = 50
	app := apptest.New(t)
	acme, globex := app.Org("Acme"), app.Org("Globex")
	make := map[string]any{"url": "http://127.0.0.1:1/in", "triggers": []string{"*"}}
	var last string
	for range most {
		last = acme.Admin.Post(apptest.SubscriptionsPath, make).Is(201).ID()
	}
	refused := func() {
		t.Helper()
		acme.Admin.Post(apptest.SubscriptionsPath, make).Fails(409, "too_many_subscriptions", "an organization can have at most 50 subscriptions")
	}
	refused()
	if got := acme.Read.Post(apptest.SubscriptionsPath+"/list", `{}`).Is(200).Int("pagination.total_count"); got != most {
		t.Errorf("unexpected number of subscriptions: %d", got)
	}
	acme.Admin.Patch(apptest.SubscriptionsPath+"/"+last, `{"url": "http://127.0.0.1:1/other", "status": "paused"}`).Is(200) // existing subscriptions can be changed
	refused()                                                                                                               // whatever its status
	globex.Admin.Post(apptest.SubscriptionsPath, make).Is(201)
	acme.Admin.Delete(apptest.SubscriptionsPath + "/" + last).Is(204)
	acme.Admin.Post(apptest.SubscriptionsPath, make).Is(201)
	refused()
}

// TestWebhookTestAlone checks that a test event is sent only to the tested subscription.
func TestWebhookTestAlone(t *testing.T) {
	app := apptest.New(t, func(c *service.Config) { c.Webhooks.RetrySchedule = nil })
	acme, globex := app.Org("Acme"), app.Org("Globex")
	rec := apptest.NewReceiver(t)
	var ids []string
	for _, trigger := range []string{"*", "webhook.*", "webhook.test", "tag.created"} {
		ids = append(ids, rec.Subscribe(acme, trigger))
	}
	rec.Subscribe(globex, "*")
	for i, id := range ids {
		acme.Admin.Post(apptest.SubscriptionsPath+"/"+id+"/test", nil).Is(202)
		app.Deliver()
		rec.Wants("a test", map[string]string{"it": id}, fmt.Sprintf("/%d webhook.test it", i))
		for _, other := range slices.Concat(ids[:i], ids[i+1:]) {
			if all := historyOf(acme, other, ""); len(all) > 1 { // its own event
				t.Errorf("unexpected recorded attempts: %v", all)
			}
		}
	}
	apptest.HasPending(t, app, 0)
}
