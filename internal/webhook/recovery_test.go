package webhook_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestWebhookRecovery checks that the deliveries that wait for a retry go out at once when the
// endpoint accepts one.
func TestWebhookRecovery(t *testing.T) {
	const events = 3
	for _, c := range []struct {
		name    string
		headers map[string]string // of the answers while it fails
		outage  []time.Duration
	}{
		{"after one attempt", nil, nil},
		{"after an outage", nil, []time.Duration{6 * time.Second, 6 * time.Minute, 34 * time.Minute}},
		{"although it asked to repeat each later", map[string]string{"Retry-After": "86400"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var fine atomic.Bool
			h := newWebhookFixture(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
				if !fine.Load() {
					for name, value := range c.headers {
						w.Header().Set(name, value)
					}
					w.WriteHeader(500)
				}
			})
			h.causeEvents(events)
			h.Deliver()
			for _, d := range c.outage {
				h.pass(d)
			}
			failed := events * (1 + len(c.outage))
			h.wantRequests(failed, "while it fails")
			fine.Store(true)
			h.Deliver()
			h.wantRequests(failed, "before it accepts an event")
			h.causeEvents(1)
			h.Deliver()
			h.wantRequests(failed+1+events, "without any time passing")
			h.wantPending(0, "at the end")
			h.pass(48 * time.Hour)
			h.wantRequests(failed+1+events, "two days later")
		})
	}
}

// TestWebhookRecoversAgain checks that waiting deliveries go out each time that the endpoint
// recovers, with increasing delays between the attempts that fail again.
func TestWebhookRecoversAgain(t *testing.T) {
	var h *webhookFixture
	var fine atomic.Bool
	h = newWebhookFixture(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if !fine.Load() && !strings.Contains(h.to.Asked()[n-1].Body, "accepted") {
			w.WriteHeader(500)
		}
	})
	recovers := func() {
		h.org.Write.Post("/v1/tasks", `{"title": "accepted"}`).Is(201)
		h.Deliver()
	}
	h.causeEvents(1)
	h.Deliver()
	for _, step := range schedule[:3] {
		h.pass(step * 12 / 10)
	}
	requests := 4 // the next attempt by the schedule is in two hours
	h.wantRequests(requests, "while it fails")
	recovers()
	requests += 2
	h.wantRequests(requests, "when it recovers")
	for i, gap := range schedule[:3] {
		h.Clock.Advance(gap - time.Second)
		recovers()
		requests++
		h.wantRequests(requests, "when it recovers again")
		fine.Store(i == 2)
		h.pass(time.Second)
		requests++
		h.wantRequests(requests, "after the delay")
	}
	h.wantPending(0, "at the end")
}

// TestWebhookRecoversWithManyWaiting checks that a job makes the rest of very many retries due.
func TestWebhookRecoversWithManyWaiting(t *testing.T) {
	const events = 1100
	h := failedOften(t, events)
	h.causeEvents(1)
	h.Deliver()
	h.Work()
	h.Deliver()
	h.wantRequests(2*events+1, "without any time passing")
	h.wantPending(0, "at the end")
}

// TestWebhookRefusedEvent checks that an endpoint that refuses one event and accepts the others all
// the time gets it a few times more than the retry schedule says, and until the schedule ends.
func TestWebhookRefusedEvent(t *testing.T) {
	const interval, mostAttempts = 30 * time.Minute, 40
	var h *webhookFixture
	var attempts atomic.Int64
	h = newWebhookFixture(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if strings.Contains(h.to.Asked()[n-1].Body, `"Task 1"`) {
			attempts.Add(1)
			w.WriteHeader(422)
		}
	})
	h.causeEvents(1)
	h.Deliver()
	for range 3 {
		h.causeEvents(2)
		h.Deliver()
		h.wantPending(1, "without any time passing")
	}
	if n := attempts.Load(); n != 2 {
		t.Errorf("it was sent %d times without any time passing, want 2", n)
	}
	lasted := time.Duration(0)
	for pending := 1; pending > 0 && lasted < 48*time.Hour; lasted += interval {
		h.causeEvents(1)
		h.pass(interval)
		var err error
		if pending, err = h.Webhooks.Pending(); err != nil {
			t.Fatal(err)
		}
	}
	if n := attempts.Load(); lasted < 28*time.Hour || lasted > 40*time.Hour || n < 10 || n > mostAttempts {
		t.Errorf("it was given up after %v and %d attempts", lasted, n)
	}
}

// TestWebhookSuccessDuringBackOff checks that the success of an attempt that started before the
// endpoint asked for a pause does not end the pause.
func TestWebhookSuccessDuringBackOff(t *testing.T) {
	const before = 8 // so that several attempts may be in flight
	var both sync.WaitGroup
	both.Add(2)
	paused := make(chan struct{})
	h := newWebhookFixture(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		switch n {
		case before + 1:
			both.Done()
			both.Wait()
			w.Header().Set("Retry-After", "600")
			w.WriteHeader(429)
		case before + 2:
			both.Done()
			<-paused
		}
	})
	stop := h.running()
	h.causeEvents(before)
	for len(h.history(h.id)) < before {
	}
	h.causeEvents(2)
	for len(h.history(h.id)) < before+1 {
	}
	close(paused)
	for len(h.history(h.id)) < before+2 {
	}
	h.causeEvents(1)
	stop()
	h.Deliver()
	h.wantRequests(before+2, "during the pause")
	h.wantPending(2, "during the pause")
	h.pass(10*time.Minute - time.Second)
	h.wantRequests(before+2, "at the end of the pause")
	h.pass(time.Second)
	h.wantRequests(before+4, "after the pause")
	h.wantPending(0, "after the pause")
}
