package webhook_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/service"
	"prospector/store"
)

// webhookFixture is an organization with a subscription to new tasks.
type webhookFixture struct {
	*apptest.App
	t   *testing.T
	org *apptest.Org
	to  *apptest.Target
	id  string
	n   int // events so far
}

func newWebhookFixture(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request), change ...func(*service.Config)) *webhookFixture {
	t.Helper()
	h := &webhookFixture{t: t, App: apptest.New(t, change...), to: apptest.NewTarget(t, answer)}
	h.org = h.Org("Acme")
	h.id = h.subscribe(h.org, h.to.URL+"/in")
	return h
}

func (h *webhookFixture) subscribe(org *apptest.Org, url string) (id string) {
	h.t.Helper()
	return org.Admin.Post("/v1/webhooks/subscriptions", map[string]any{"url": url, "triggers": []string{"task.created"}}).Is(201).ID()
}

func (h *webhookFixture) path(id string) string { return "/v1/webhooks/subscriptions/" + id }

// causeEvents causes events.
func (h *webhookFixture) causeEvents(events int) {
	h.t.Helper()
	happen(h.org, &h.n, events)
}

func happen(org *apptest.Org, n *int, events int) {
	for range events {
		*n++
		org.Write.Post("/v1/tasks", map[string]any{"title": fmt.Sprint("Task ", *n)}).Is(201)
	}
}

// attempt is a row of the delivery history.
type attempt struct {
	ID            string `json:"id"`
	SourceEventID string `json:"source_event_id"`
	Attempt       int    `json:"attempt"`
	Status        string `json:"status"`
	DurationMS    int    `json:"duration_ms"`
	CreatedAt     string `json:"created_at"`
	ResponseCode  *int   `json:"response_code"`
	Error         string `json:"error"`
}

// history returns all attempts of a subscription, oldest first.
func (h *webhookFixture) history(id string) (all []attempt) {
	h.t.Helper()
	for page := 1; ; page++ {
		res := h.org.Read.Get(h.path(id) + "/deliveries?page_size=100&page=" + strconv.Itoa(page)).Is(200)
		var body struct{ Data []attempt }
		if err := json.Unmarshal(res.Body, &body); err != nil {
			h.t.Fatal(err)
		}
		all = append(all, body.Data...)
		if len(body.Data) < 100 {
			if total := res.Int("pagination.total_count"); total != len(all) {
				h.t.Fatalf("%d attempts, but %d are reported", len(all), total)
			}
			slices.Reverse(all)
			return all
		}
	}
}

// pass moves the clock forward and makes the deliveries that are due.
func (h *webhookFixture) pass(d time.Duration) {
	h.t.Helper()
	h.Clock.Advance(d)
	h.Deliver()
}

// wantRequests requires that the endpoint has received n requests.
func (h *webhookFixture) wantRequests(want int, when string) {
	h.t.Helper()
	if got := len(h.to.Asked()); got != want {
		h.t.Fatalf("%s: %d requests arrived, want %d", when, got, want)
	}
}

// wantPending requires that n deliveries are pending, and that the store is consistent.
func (h *webhookFixture) wantPending(want int, when string) {
	h.t.Helper()
	if got, err := h.Webhooks.Pending(); err != nil || got != want {
		h.t.Fatalf("%s: %d deliveries wait, want %d: %v", when, got, want, err)
	}
	h.checkConsistency()
}

// checkConsistency performs the checks of prospector check.
func (h *webhookFixture) checkConsistency() {
	h.t.Helper()
	apptest.CheckConsistency(h.t, h.App, h.org)
	report := func(_ bool, format string, args ...any) { h.t.Errorf("webhooks: "+format, args...) }
	if err := h.Store.View(h.org.ID, func(tx *store.Tx) error { return store.VerifyPortions(tx, report, h.Webhooks.Portions()...) }); err != nil {
		h.t.Fatal(err)
	}
	if err := h.Store.Verify(h.t.Context(), false, report); err != nil {
		h.t.Fatal(err)
	}
}

// wantState requires the state of a subscription: status, reason, failures, and the times of the
// last success and failure, relative to the start of the test or "-".
func (h *webhookFixture) wantState(id, want string) {
	h.t.Helper()
	res := h.org.Read.Get(h.path(id)).Is(200)
	after := func(field string) string {
		text, ok := res.Value("data." + field).(string)
		if !ok {
			return "-"
		}
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			h.t.Fatal(err)
		}
		return at.Sub(apptest.Start).String()
	}
	reason, ok := res.Value("data.disabled_reason").(string)
	if !ok {
		reason = "-"
	}
	got := fmt.Sprint(res.Text("data.status"), " ", reason, " ", res.Int("data.consecutive_failures"), " ", after("last_success_at"), " ", after("last_failure_at"))
	if got != want {
		h.t.Fatalf("the state is %s, want %s", got, want)
	}
}

// answers returns the statuses in turn, and then the last one forever.
func answers(codes ...int) func(int, http.ResponseWriter, *http.Request) {
	return func(n int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(codes[min(n, len(codes))-1]) }
}

var schedule = []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour}

func TestWebhookSchedule(t *testing.T) {
	h := newWebhookFixture(t, answers(500))
	h.causeEvents(1)
	h.Deliver()
	h.wantRequests(1, "at once")
	var at []string
	at = append(at, h.Clock.Now().Format("2006-01-02T15:04:05.000Z"))
	for i, delay := range schedule {
		early := delay/10*9 - time.Millisecond
		h.pass(early)
		h.wantRequests(i+1, fmt.Sprint("before 0.9 of ", delay))
		h.wantPending(1, "before it is given up")
		h.pass(delay/10*11 - early)
		h.wantRequests(i+2, fmt.Sprint("by 1.1 of ", delay))
		at = append(at, h.Clock.Now().Format("2006-01-02T15:04:05.000Z"))
	}
	h.wantPending(0, "after eight attempts")
	h.pass(24 * time.Hour)
	h.wantRequests(8, "after it was given up")
	first := h.to.Asked()[0].Header.Get("Webhook-Id")
	for i, a := range h.history(h.id) {
		if a.Attempt != i+1 || a.Status != "failed" || a.SourceEventID != first || a.ResponseCode == nil || *a.ResponseCode != 500 || a.CreatedAt != at[i] {
			t.Errorf("attempt %d is %+v, want it at %s", i+1, a, at[i])
		}
	}
	for i, got := range h.to.Asked() {
		if got.Header.Get("Webhook-Id") != first || got.Body != h.to.Asked()[0].Body {
			t.Errorf("attempt %d has a different id or body: %v", i+1, got)
		}
	}
	// A redelivery continues the numbering, and goes through the whole schedule.
	last := h.history(h.id)[7]
	h.org.Admin.Post(h.path(h.id)+"/deliveries/"+last.ID+"/redeliver", nil).Is(202)
	h.Deliver()
	for _, delay := range schedule {
		h.pass(delay/10*11 + time.Second)
	}
	if all := h.history(h.id); len(all) != 16 || all[15].Attempt != 16 || all[8].SourceEventID != first {
		t.Errorf("unexpected history on the second read: %+v", all)
	}
	h.wantPending(0, "after eight more")
}

// TestWebhookJitter checks that deliveries that failed together are not retried at the same time.
func TestWebhookJitter(t *testing.T) {
	const events = 60
	h := newWebhookFixture(t, answers(500))
	h.causeEvents(events)
	h.Deliver()
	h.wantRequests(events, "at once")
	h.pass(4499 * time.Millisecond)
	h.wantRequests(events, "before 0.9 of the delay")
	before, steps := events, 0
	h.pass(time.Millisecond)
	for range 10 {
		h.pass(100 * time.Millisecond)
		if now := len(h.to.Asked()); now > before {
			before, steps = now, steps+1
		}
	}
	h.wantRequests(2*events, "by 1.1 of the delay")
	if steps < 6 { // the probability that sixty fall into five of ten steps is one in a billion
		t.Errorf("the second attempts were spread over %d of ten intervals", steps)
	}
}

func TestWebhookOtherSchedules(t *testing.T) {
	for _, delays := range [][]time.Duration{nil, {time.Hour}, {time.Minute, time.Second, time.Minute}} {
		h := newWebhookFixture(t, answers(503), func(c *service.Config) { c.Webhooks.RetrySchedule = delays })
		h.causeEvents(1)
		h.Deliver()
		for i, delay := range delays {
			h.pass(delay/10*9 - time.Millisecond)
			h.wantRequests(i+1, fmt.Sprint(delays, ": before ", delay))
			h.pass(delay/5 + time.Millisecond)
		}
		h.wantRequests(len(delays)+1, fmt.Sprint(delays))
		h.wantPending(0, fmt.Sprint(delays))
	}
}

func TestWebhookRetryAfter(t *testing.T) {
	h := newWebhookFixture(t, nil)
	var checks []func(passed time.Duration)
	in := func(d time.Duration) string { return apptest.Start.Add(d).Format(http.TimeFormat) }
	for _, c := range []struct {
		code   int
		header string
		after  time.Duration // 0: as scheduled
	}{
		{503, "60", time.Minute}, {429, "60", time.Minute}, {500, "60", time.Minute}, {404, " 60 ", time.Minute}, {302, "60", time.Minute},
		{503, in(10 * time.Minute), 10 * time.Minute}, {429, in(23 * time.Hour), 23 * time.Hour},
		{503, "86400", 24 * time.Hour}, {503, "86401", 24 * time.Hour}, {503, "4294967296", 24 * time.Hour},
		{503, "99999999999999999999999", 24 * time.Hour}, {429, in(25 * time.Hour), 24 * time.Hour}, {503, "Fri, 31 Dec 9999 23:59:59 GMT", 24 * time.Hour},
		{503, "0", 0}, {503, "1", 0}, {503, in(-time.Hour), 0}, {503, "Thu, 01 Jan 1970 00:00:00 GMT", 0}, {503, "", 0},
		{503, "soon", 0}, {503, "-60", 0}, {503, "+60", 0}, {503, "60.5", 0}, {503, "1e3", 0}, {503, "60, 120", 0}, {503, "60s", 0},
		{503, "2026-03-02T10:00:00Z", 0}, {503, "Mon, 02 Mar 2026", 0}, {503, strings.Repeat("9", 1000), 24 * time.Hour},
	} {
		to := apptest.NewTarget(t, func(n int, w http.ResponseWriter, _ *http.Request) {
			if n == 1 {
				w.Header().Set("Retry-After", c.header)
				w.WriteHeader(c.code)
			}
		})
		h.subscribe(h.org, to.URL)
		early, late := 4500*time.Millisecond, 5500*time.Millisecond
		if c.after != 0 {
			early, late = c.after, c.after
		}
		checks = append(checks, func(passed time.Duration) {
			switch got := len(to.Asked()); {
			case passed < early && got != 1:
				t.Errorf("%d %.40q: asked %d times after %v", c.code, c.header, got, passed)
			case passed >= late && got != 2:
				t.Errorf("%d %.40q: asked %d times after %v", c.code, c.header, got, passed)
			}
		})
	}
	h.causeEvents(1)
	h.Deliver()
	var passed time.Duration
	for _, at := range []time.Duration{5 * time.Second, time.Minute, 10 * time.Minute, 23 * time.Hour, 24 * time.Hour} {
		before, after := at-time.Millisecond, at
		if at == 5*time.Second {
			before, after = 4499*time.Millisecond, 5500*time.Millisecond
		}
		for _, now := range []time.Duration{before, after} {
			h.pass(now - passed)
			passed = now
			for _, check := range checks {
				check(now)
			}
		}
	}
}

// TestWebhookRetryAfterLater checks that Retry-After can delay a retry, but not make it earlier
// than scheduled.
func TestWebhookRetryAfterLater(t *testing.T) {
	h := newWebhookFixture(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(503)
	})
	h.causeEvents(1)
	h.Deliver()
	for i, delay := range schedule {
		early, late := max(delay/10*9, time.Hour)-time.Millisecond, max(delay/10*11, time.Hour)
		h.pass(early)
		h.wantRequests(i+1, fmt.Sprint("before ", early))
		h.pass(late - early)
		h.wantRequests(i+2, fmt.Sprint("by ", late))
	}
	h.wantPending(0, "at the end")
}
