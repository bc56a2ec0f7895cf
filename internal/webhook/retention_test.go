package webhook_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/service"
)

func (h *webhookFixture) patch(status string) {
	h.t.Helper()
	h.org.Admin.Patch(h.path(h.id), map[string]any{"status": status}).Is(200)
}

// wantSilent requires that an inactive subscription neither receives events nor sends any.
func (h *webhookFixture) wantSilent(waiting int, status string) {
	h.t.Helper()
	before := len(h.to.Asked())
	h.causeEvents(3)
	h.pass(48 * time.Hour)
	h.wantRequests(before, "while it is "+status)
	h.wantPending(waiting, "while it is "+status)
	h.org.Admin.Post(h.path(h.id)+"/test", nil).Fails(409, "subscription_not_active", status)
	if all := h.history(h.id); len(all) > 0 {
		h.org.Admin.Post(h.path(h.id)+"/deliveries/"+all[0].ID+"/redeliver", nil).Fails(409, "subscription_not_active", status)
	}
}

func TestWebhookGone(t *testing.T) {
	h := newWebhookFixture(t, answers(200, 410, 200))
	h.causeEvents(1)
	h.Deliver()
	h.Clock.Advance(time.Minute)
	h.causeEvents(5)
	h.Deliver()
	h.wantRequests(2, "by the time that it is gone")
	h.wantState(h.id, "disabled gone 1 0s 1m0s")
	if a := h.history(h.id)[1]; a.Error != "http_410: the endpoint answered with status 410" || *a.ResponseCode != 410 || a.Status != "failed" {
		t.Errorf("unexpected recorded attempt: %+v", a)
	}
	h.wantSilent(5, "disabled")
	h.patch("active")
	h.wantState(h.id, "active - 1 0s 1m0s")
	h.Deliver()
	h.wantRequests(7, "active again")
	h.wantState(h.id, "active - 0 48h1m0s 1m0s")
	h.wantPending(0, "at the end")
	h.causeEvents(1)
	h.Deliver()
	h.wantRequests(8, "active again")
}

func TestWebhookFailing(t *testing.T) {
	const day = 24 * time.Hour
	good := map[int]bool{}
	h := newWebhookFixture(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if !good[n] {
			w.WriteHeader(502)
		}
	}, func(c *service.Config) { c.Webhooks.RetrySchedule = nil })
	fail := func(after time.Duration, want string) {
		t.Helper()
		h.Clock.Advance(after)
		h.causeEvents(1)
		h.Deliver()
		h.wantState(h.id, want)
	}
	fail(0, "active - 1 - 0s")
	fail(4*day, "active - 2 - 96h0m0s")
	good[3] = true
	fail(0, "active - 0 96h0m0s 96h0m0s")
	fail(day, "active - 1 96h0m0s 120h0m0s") // starts again
	fail(5*day-time.Millisecond, "active - 2 96h0m0s 239h59m59.999s")
	fail(time.Millisecond, "disabled failing 3 96h0m0s 240h0m0s")
	h.wantSilent(0, "disabled")
	h.patch("active")
	h.wantState(h.id, "active - 3 96h0m0s 240h0m0s")
	fail(0, "active - 4 96h0m0s 288h0m0s")
	fail(5*day-time.Millisecond, "active - 5 96h0m0s 407h59m59.999s")
	fail(time.Millisecond, "disabled failing 6 96h0m0s 408h0m0s")
}

// TestWebhookBacklog checks that a subscription is disabled at exactly the maximum of pending
// deliveries, and that none of them is lost.
func TestWebhookBacklog(t *testing.T) {
	var bad = true
	h := newWebhookFixture(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		if bad {
			w.WriteHeader(500)
		}
	}, func(c *service.Config) { c.Webhooks.MaxPending = 5 })
	h.causeEvents(4)
	h.wantState(h.id, "active - 0 - -")
	h.Deliver() // they are pending until their next attempt
	h.wantState(h.id, "active - 4 - 0s")
	h.org.Admin.Post(h.path(h.id)+"/deliveries/"+h.history(h.id)[0].ID+"/redeliver", nil).Is(202) // already pending
	h.wantState(h.id, "active - 4 - 0s")
	h.Deliver()
	h.wantState(h.id, "active - 5 - 0s")
	h.causeEvents(1)
	h.Deliver()
	h.wantState(h.id, "disabled backlog 5 - 0s")
	h.wantSilent(5, "disabled")
	bad = false
	h.patch("active")
	h.wantState(h.id, "active - 5 - 0s")
	h.Deliver()
	h.wantRequests(10, "active again")
	h.wantState(h.id, "active - 0 48h0m0s 0s")
	h.wantPending(0, "active again")
	seen := map[string]int{}
	for _, got := range h.to.Asked() {
		seen[got.Header.Get("Webhook-Id")]++
	}
	if len(seen) != 5 {
		t.Errorf("the events delivered are %v", seen)
	}
	res := h.org.Write.Post("/v1/tasks/batch", `{"records": [`+strings.Repeat(`{"title": "a"},`, 9)+`{"title": "b"}]}`)
	if res.Is(200).Int("data.succeeded") != 10 {
		t.Errorf("a backlog prevented a write: %s", res.Body)
	}
	h.Deliver()
	h.wantState(h.id, "disabled backlog 0 48h0m0s 0s")
	h.wantPending(5, "after a batch")
}

func TestWebhookPaused(t *testing.T) {
	var h *webhookFixture
	h = newWebhookFixture(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			h.patch("paused") // while others are pending
			w.WriteHeader(500)
		}
	})
	h.causeEvents(4)
	h.Deliver()
	h.wantRequests(1, "paused after the first")
	h.wantState(h.id, "paused - 1 - 0s")
	h.wantSilent(4, "paused")
	h.patch("active")
	h.Deliver()
	h.wantRequests(5, "active again")
	if all := h.history(h.id); len(all) != 5 || all[0].Attempt != 1 {
		t.Errorf("unexpected history: %+v", all)
	}
	h.wantPending(0, "active again")
}

// TestWebhookRestart checks that pending deliveries are made after a restart, with the same id and
// on time.
func TestWebhookRestart(t *testing.T) {
	h := newWebhookFixture(t, answers(500, 500, 200))
	h.causeEvents(2)
	h.Restart()
	h.wantPending(2, "after a restart")
	h.Deliver()
	h.Restart()
	h.pass(4499 * time.Millisecond)
	h.wantRequests(2, "too early")
	h.Restart()
	h.causeEvents(1)
	h.pass(time.Second + time.Millisecond)
	h.wantRequests(5, "in time")
	h.wantState(h.id, "active - 0 5.5s 0s")
	all, asked := h.history(h.id), h.to.Asked()
	ids, came := map[string]int{}, map[string]int{}
	for i, a := range all {
		ids[a.SourceEventID]++
		came[asked[i].Header.Get("Webhook-Id")]++ // some are concurrent, and may be recorded in another order
		if a.Attempt != ids[a.SourceEventID] {
			t.Errorf("attempt %d: unexpected %+v", i, a)
		}
	}
	if !maps.Equal(ids, came) {
		t.Errorf("recorded %v, received %v", ids, came)
	}
	if len(all) != 5 || len(ids) != 3 {
		t.Errorf("unexpected attempts: %+v", all)
	}
	h.Restart()
	h.pass(24 * time.Hour)
	h.wantRequests(5, "when all is delivered")
	h.wantPending(0, "when all is delivered")
}

// wantHistory requires this many attempts of each status, with correct pages.
func (h *webhookFixture) wantHistory(succeeded, failed int) {
	h.t.Helper()
	all := h.history(h.id)
	h.wantCount("status=succeeded&page_size=2", succeeded)
	h.wantCount("status=failed&page_size=2", failed)
	if len(all) != succeeded+failed {
		h.t.Fatalf("%d attempts are recorded, want %d and %d", len(all), succeeded, failed)
	}
}

func (h *webhookFixture) wantCount(query string, want int) {
	h.t.Helper()
	seen := map[string]bool{}
	for page := 1; ; page++ {
		res := h.org.Read.Get(fmt.Sprintf("%s/deliveries?%s&page=%d", h.path(h.id), query, page)).Is(200)
		if got := res.Int("pagination.total_count"); got != want {
			h.t.Fatalf("%s: %d attempts, want %d", query, got, want)
		}
		ids := res.Column("id")
		for _, id := range ids {
			seen[id] = true
		}
		if len(ids) == 0 {
			break
		}
	}
	if len(seen) != want {
		h.t.Fatalf("%s: the pages have %d attempts, want %d", query, len(seen), want)
	}
}

// days lets days pass and runs the jobs of each.
func (h *webhookFixture) days(n int) {
	for range n {
		h.Clock.Advance(24 * time.Hour)
		h.Work()
	}
}

func TestWebhookRetention(t *testing.T) {
	h := newWebhookFixture(t, answers(500, 200, 200, 500, 200))
	h.causeEvents(1)
	h.Deliver()
	first := h.history(h.id)[0].SourceEventID
	h.pass(time.Minute) // 1 failed, 1 succeeded
	h.wantHistory(1, 1)
	h.days(10)
	h.causeEvents(2)
	h.Deliver() // 1 succeeded, 1 failed and pending
	h.wantHistory(2, 2)
	h.days(19)
	h.Clock.Advance(24*time.Hour - time.Minute - time.Millisecond)
	h.Work()
	h.wantHistory(2, 2)
	h.Clock.Advance(time.Millisecond)
	h.Work() // the very first is thirty days old
	h.wantHistory(2, 1)
	h.wantCount("source_event_id="+first, 1)
	h.Clock.Advance(time.Minute)
	h.Work()
	h.wantHistory(1, 1)
	h.wantCount("source_event_id="+first, 0)
	h.wantCount("source_event_id="+first+"&status=failed", 0)
	h.Deliver() // the pending one
	h.wantHistory(2, 1)
	h.days(10)
	h.wantHistory(1, 0)
	last := h.history(h.id)[0]
	if last.Attempt != 2 {
		t.Errorf("unexpected last attempt: %+v", last)
	}
	h.org.Admin.Post(h.path(h.id)+"/deliveries/"+last.ID+"/redeliver", nil).Is(202)
	h.Deliver()
	if all := h.history(h.id); len(all) != 2 || all[1].Attempt != 3 || all[1].SourceEventID != last.SourceEventID {
		t.Errorf("unexpected attempts after redelivery: %+v", all)
	}
	h.days(40)
	h.wantHistory(0, 0)
	h.org.Admin.Post(h.path(h.id)+"/deliveries/"+last.ID+"/redeliver", nil).Fails(404, "not_found", "")
	h.causeEvents(1)
	h.Deliver()
	h.wantHistory(1, 0)
	h.days(31)
	h.wantHistory(0, 0)
	h.wantPending(0, "at the end")
}

// TestWebhookDeleted checks that the history of a deleted subscription is kept for the retention
// time. Its pending deliveries and secrets are deleted immediately.
func TestWebhookDeleted(t *testing.T) {
	many := 600 // more than are deleted at once
	if apptest.RaceDetector {
		many = 50
	}
	h := newWebhookFixture(t, nil)
	created := h.org.Admin.Do("POST", "/v1/webhooks/subscriptions", map[string]any{"url": h.to.URL, "triggers": []string{"task.*"}}, "Idempotency-Key", "one").Is(201)
	h.org.Admin.Delete(h.path(h.id)).Is(204)
	h.id = created.ID()
	secrets := []string{created.Text("data.secret"), h.org.Admin.Post(h.path(h.id)+"/rotate-secret", nil).Is(200).Text("data.secret")}
	has := func(secret string) (has bool) {
		raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil {
			t.Fatal(err)
		}
		dump, quoted := h.org.Dump(), fmt.Sprintf("%q", raw)
		return strings.Contains(dump, strings.TrimPrefix(secret, "whsec_")) || strings.Contains(dump, quoted[1:len(quoted)-1])
	}
	batch := `{"records": [` + strings.TrimSuffix(strings.Repeat(`{"title": "Call"},`, many), ",") + `]}`
	h.org.Write.Post("/v1/tasks/batch", batch).Is(200)
	h.Deliver()
	h.wantRequests(many, "before")
	h.org.Write.Post("/v1/tasks/batch", batch).Is(200)
	h.wantPending(many, "before")
	for _, secret := range secrets {
		if !has(secret) {
			t.Fatal("this test does not find a secret that exists")
		}
	}
	h.days(1)
	h.org.Admin.Delete(h.path(h.id)).Is(204)
	for _, secret := range secrets {
		if has(secret) {
			t.Error("the store has the secret of a deleted subscription")
		}
	}
	h.Deliver()
	h.wantRequests(many, "deleted")
	h.Work()
	h.wantPending(0, "deleted")
	h.causeEvents(1)
	h.Restart()
	h.Deliver()
	h.wantRequests(many, "deleted")
	h.wantHistory(many, 0)
	h.org.Read.Get(h.path(h.id)).Fails(404, "not_found", "")
	h.days(28)
	h.wantHistory(many, 0)
	h.days(1)
	h.wantHistory(0, 0)
	h.days(1) // thirty days since its deletion
	h.org.Read.Get(h.path(h.id)+"/deliveries").Fails(404, "not_found", "")
	h.checkConsistency()
	if dump := h.org.Dump(); strings.Contains(dump, h.id) && strings.Contains(dump, "webhook.expire") {
		t.Error("the deleted subscription still has an expiry job")
	}
}

// TestWebhookDeletedInFlight checks that an attempt in flight when its subscription is deleted is
// recorded, and is the last one.
func TestWebhookDeletedInFlight(t *testing.T) {
	for _, code := range []int{200, 500, 410} {
		var h *webhookFixture
		h = newWebhookFixture(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			h.org.Admin.Delete(h.path(h.id)).Is(204)
			w.WriteHeader(code)
		})
		h.causeEvents(3)
		h.Deliver()
		h.wantRequests(1, "deleted")
		h.Work()
		h.wantPending(0, "deleted")
		if all := h.history(h.id); len(all) != 1 || *all[0].ResponseCode != code {
			t.Errorf("unexpected history: %+v", all)
		}
		h.pass(24 * time.Hour)
		h.wantRequests(1, "deleted")
		h.days(31)
		h.org.Read.Get(h.path(h.id)+"/deliveries").Fails(404, "not_found", "")
		if text := h.Log.String(); strings.Contains(text, "level=ERROR") {
			t.Errorf("the log contains %s", text)
		}
		h.checkConsistency()
	}
}

// TestWebhookRecord checks the recorded attempts, and the state of a subscription after each.
func TestWebhookRecord(t *testing.T) {
	var h *webhookFixture
	codes := []int{500, 404, 204, 299, 200, 429, 201, 400}
	h = newWebhookFixture(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		h.Clock.Advance(time.Duration(n)*100*time.Millisecond + 999*time.Microsecond)
		w.WriteHeader(codes[n-1])
	})
	h.wantState(h.id, "active - 0 - -")
	h.causeEvents(1)
	h.Deliver()
	h.wantState(h.id, "active - 1 - 100ms")
	h.pass(time.Minute)
	h.wantState(h.id, "active - 2 - 1m0.301s")
	h.pass(time.Hour)
	h.wantState(h.id, "active - 0 1h1m0.602s 1m0.301s")
	h.causeEvents(2)
	h.Deliver()
	h.wantState(h.id, "active - 0 1h1m1.504s 1m0.301s")
	h.causeEvents(1)
	h.Deliver()
	h.pass(time.Minute)
	h.wantState(h.id, "active - 0 1h2m2.806s 1h1m2.105s")
	h.causeEvents(1)
	h.Deliver()
	h.wantState(h.id, "active - 1 1h2m2.806s 1h2m3.607s")
	numbers := []int{1, 2, 3, 1, 1, 1, 2, 1}
	for i, a := range h.history(h.id) {
		status, text := "failed", fmt.Sprintf("http_%d: the endpoint answered with status %d", codes[i], codes[i])
		if codes[i] < 300 {
			status, text = "succeeded", ""
		}
		if a.Status != status || a.Error != text || *a.ResponseCode != codes[i] || a.Attempt != numbers[i] || a.DurationMS != (i+1)*100 {
			t.Errorf("attempt %d is recorded as %+v", i+1, a)
		}
		if event := h.to.Asked()[i].Header.Get("Webhook-Id"); a.SourceEventID != event {
			t.Errorf("attempt %d is recorded for %s, but %s was sent", i+1, a.SourceEventID, event)
		}
	}
	h.wantPending(1, "at the end")
}
