package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/service"
)

// marked is a text that the tests search for in the data of an organization.
const marked = "Zyzzyva"

// stored returns how often the data of webhooks contains the text.
func stored(org *apptest.Org) (times int) {
	of := false
	for line := range strings.Lines(org.Dump()) {
		switch {
		case !strings.HasPrefix(line, " "):
			of = strings.Contains(line, "webhook")
		case of:
			times += strings.Count(line, marked)
		}
	}
	return times
}

// everywhere returns how often all data contains the text.
func everywhere(org *apptest.Org) int { return strings.Count(org.Dump(), marked) }

// mark creates a task with the text, and returns its id.
func (h *webhookFixture) mark() (id string) {
	h.t.Helper()
	return h.org.Write.Post("/v1/tasks", `{"title": "`+marked+`"}`).Is(201).ID()
}

// TestWebhookStoredOnce checks that the data of an event is stored once for all subscriptions, and
// deleted when no delivery needs it any more.
func TestWebhookStoredOnce(t *testing.T) {
	const subscriptions = 20
	for _, c := range []struct {
		name  string
		codes []int // of all endpoints
		some  func(h *webhookFixture, ids []string)
		rest  func(h *webhookFixture, ids []string)
	}{
		{
			name: "delivered", codes: []int{200},
			some: func(h *webhookFixture, ids []string) { h.Deliver() },
		}, {
			name: "given up", codes: []int{500},
			some: func(h *webhookFixture, ids []string) { h.pass(0) },
			rest: func(h *webhookFixture, ids []string) { h.pass(time.Minute) },
		}, {
			name: "deleted", codes: []int{500},
			some: func(h *webhookFixture, ids []string) {
				h.Deliver()
				for _, id := range ids[1:] {
					h.org.Admin.Delete(h.path(id)).Is(204)
				}
				h.Work()
			},
			rest: func(h *webhookFixture, ids []string) { h.org.Admin.Delete(h.path(ids[0])).Is(204); h.Work() },
		}, {
			name: "paused and deleted", codes: []int{500},
			some: func(h *webhookFixture, ids []string) {
				for _, id := range ids {
					h.org.Admin.Patch(h.path(id), `{"status": "paused"}`).Is(200)
				}
				h.pass(time.Hour)
				h.wantRequests(0, "paused")
			},
			rest: func(h *webhookFixture, ids []string) {
				for _, id := range ids {
					h.org.Admin.Delete(h.path(id)).Is(204)
				}
				h.Work()
			},
		}, {
			name: "delivered, given up and deleted", codes: []int{500, 200},
			some: func(h *webhookFixture, ids []string) { h.Deliver() },
			rest: func(h *webhookFixture, ids []string) {
				for _, id := range ids[:subscriptions/2] {
					h.org.Admin.Delete(h.path(id)).Is(204)
				}
				h.Work()
				h.pass(time.Minute)
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			per := map[string]int{}
			h := newWebhookFixture(t, nil, func(cfg *service.Config) { cfg.Webhooks.RetrySchedule = []time.Duration{5 * time.Second} })
			h.org.Admin.Delete(h.path(h.id)).Is(204)
			h.Work()
			h.mark() // without a subscription
			alone := everywhere(h.org)
			if alone == 0 || stored(h.org) != 0 {
				t.Fatalf("the text of a task alone occurs %d times", alone)
			}
			h.to = apptest.NewTarget(t, func(_ int, w http.ResponseWriter, r *http.Request) {
				var n int
				h.to.State.Read(func() {
					per[r.URL.Path]++
					n = per[r.URL.Path]
				})
				w.WriteHeader(c.codes[min(n, len(c.codes))-1])
			})
			var ids []string
			for i := range subscriptions {
				ids = append(ids, h.subscribe(h.org, fmt.Sprint(h.to.URL, "/", i)))
			}
			h.mark()
			if n, all := stored(h.org), everywhere(h.org); n != 1 || all != 2*alone+1 {
				t.Errorf("while %d deliveries are pending, an event is stored %d times, and the text occurs %d times; for a task alone %d times", subscriptions, n, all, alone)
			}
			h.checkConsistency()
			c.some(h, ids)
			if c.rest != nil {
				if n := stored(h.org); n != 1 {
					t.Errorf("while some deliveries are pending, the event is stored %d times, want 1", n)
				}
				h.checkConsistency()
				h.Restart()
				c.rest(h, ids)
			}
			if n, all := stored(h.org), everywhere(h.org); n != 0 || all != 2*alone {
				t.Errorf("at the end it is stored %d times, and the text occurs %d times, want %d", n, all, 2*alone)
			}
			h.wantPending(0, "at the end")
		})
	}
}

// TestWebhookStoredForOthers checks that a redelivery to one subscription contains the current
// object, while a pending first delivery to another contains the object as it was.
func TestWebhookStoredForOthers(t *testing.T) {
	for _, again := range []int{200, 500} { // the response to the second delivery of the first one
		t.Run(fmt.Sprint(again), func(t *testing.T) {
			h := newWebhookFixture(t, answers(200, again, 200))
			slow := apptest.NewTarget(t, answers(500, 500, 200))
			other := h.subscribe(h.org, slow.URL)
			task := h.mark()
			h.Deliver()
			h.org.Write.Patch("/v1/tasks/"+task, `{"title": "Changed"}`).Is(200)
			first := h.history(h.id)[0]
			h.org.Admin.Post(h.path(h.id)+"/deliveries/"+first.ID+"/redeliver", nil).Is(202)
			h.checkConsistency()
			h.Deliver()
			h.wantRequests(2, "delivered again")
			if got := stored(h.org); got != 1 {
				t.Errorf("while the other delivery is pending, the event is stored %d times", got)
			}
			h.pass(6 * time.Second)
			h.Restart()
			h.org.Write.Delete("/v1/tasks/" + task).Is(204)
			h.pass(6 * time.Minute)
			titles := func(of *apptest.Target) (titles string) {
				for _, got := range of.Asked() {
					switch {
					case strings.Contains(got.Body, marked):
						titles += " before"
					case strings.Contains(got.Body, `"title":"Changed"`):
						titles += " after"
					default:
						titles += " " + got.Body
					}
				}
				return titles
			}
			want := " before after"
			if again == 500 {
				want += " after" // its retry contains the data rendered for it
			}
			if got := titles(h.to); got != want {
				t.Errorf("the subscriber received%s, want%s", got, want)
			}
			if got := titles(slow); got != " before before before" {
				t.Errorf("the other subscriber received unexpected events:%s", got)
			}
			if all := h.history(other); len(all) != 3 || all[2].SourceEventID != first.SourceEventID || all[2].Status != "succeeded" {
				t.Errorf("unexpected recorded attempt: %+v", all)
			}
			if got := stored(h.org); got != 0 {
				t.Errorf("at the end the event is stored %d times", got)
			}
			h.wantPending(0, "at the end")
		})
	}
}

// TestWebhookOnceFailedAmongDead checks that one failure does not put an endpoint into the tier of
// failing endpoints, whether these belong to its own organization or to others.
func TestWebhookOnceFailedAmongDead(t *testing.T) {
	const (
		each  = 49
		share = 32 // how many failing endpoints of one organization may hang at a time
	)
	hang := make(chan struct{})
	h := newWebhookFixture(t, nil, patient, func(c *service.Config) { c.Webhooks.Concurrency = 4 })
	h.org.Admin.Delete(h.path(h.id)).Is(204)
	dead := newBlockingEndpoint(t, func(int, *http.Request) bool {
		select {
		case <-hang:
			return true
		default:
			panic(http.ErrAbortHandler) // the connection is aborted
		}
	})
	orgs := []*apptest.Org{h.org, h.Org("Umbrella")}
	for i, org := range orgs {
		for range each {
			h.subscribe(org, fmt.Sprint(dead.URL, "/", i))
		}
		happen(org, &h.n, 1)
	}
	h.Deliver()
	for _, later := range []time.Duration{6 * time.Second, 6 * time.Minute} { // until they count as failing
		h.pass(later)
	}
	close(hang)
	h.Clock.Advance(time.Hour)
	done := h.delivering(dead)
	dead.fill(t, "", 2*share) // there is no room for another failing one
	quiet := h.Org("Hooli")
	for name, org := range map[string]*apptest.Org{"among its own": h.org, "elsewhere": quiet} {
		failing := apptest.NewTarget(t, answers(500, 200))
		id := h.subscribe(org, failing.URL)
		happen(org, &h.n, 1)
		failing.Await(t, 1)
		path := h.path(id) + "/deliveries"
		for org.Read.Get(path).Is(200).Int("pagination.total_count") < 1 {
		}
		h.Clock.Advance(6 * time.Second)
		happen(org, &h.n, 1) // moving the clock wakes no worker
		failing.Await(t, 3)
		var again int
		for _, got := range failing.Asked() {
			if got.Header.Get("Webhook-Id") == failing.Asked()[0].Header.Get("Webhook-Id") {
				again++
			}
		}
		if again != 2 {
			t.Errorf("%s: the event that failed was sent %d times", name, again)
		}
	}
	if there, most := dead.now(""); there != 2*share || most != 2*share {
		t.Errorf("%d requests are hanging and at most %d did, want %d", there, most, 2*share)
	}
	done()
}

// brief is a context that ends after it was checked n times.
type brief struct {
	context.Context
	times int
}

func (b *brief) Err() error {
	if b.times--; b.times < 0 {
		return context.Canceled
	}
	return nil
}

// TestWebhookStops checks that a response or a record that arrives while the service stops is
// processed, and that the sender then stops.
func TestWebhookStops(t *testing.T) {
	for times := 2; times <= 3; times++ { // the first time it queues the event
		h := newWebhookFixture(t, nil)
		h.Webhooks.SlowAfter = time.Hour // stopping cuts off attempts that take longer
		h.causeEvents(1)
		h.sends(&brief{t.Context(), times})()
		h.wantRequests(1, "before it stopped")
		h.wantPending(0, "after it stopped")
	}
}
