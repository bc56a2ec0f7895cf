package webhook_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
)

// historyOf summarizes the attempts of a subscription, oldest first: trigger, number of the
// attempt, status and response.
func historyOf(o *apptest.Org, subscription, query string) (short []string) {
	res := o.Read.Get(apptest.SubscriptionsPath + "/" + subscription + "/deliveries?page_size=100" + query).Is(200)
	for _, rec := range res.Value("data").([]any) {
		a := rec.(map[string]any)
		short = append(short, fmt.Sprintf("%v %v %v %v", a["trigger_key"], a["attempt"], a["status"], a["response_code"]))
	}
	slices.Reverse(short)
	return short
}

func hasHistory(t *testing.T, o *apptest.Org, subscription string, want ...string) {
	t.Helper()
	if got := historyOf(o, subscription, ""); !slices.Equal(got, want) {
		t.Errorf("got attempts\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestWebhookTest(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := apptest.NewReceiver(t)
	id, other := rec.Subscribe(org, "tag.created"), rec.Subscribe(org, "*")
	path := apptest.SubscriptionsPath + "/" + id
	read := apptest.DataOf(org.Write.Get(path).Is(200))
	asked := org.Admin.Post(path+"/test", `{}`).Is(202, `{"data": {"source_event_id": "<id>"}, "meta": {"timestamp": "<time>"}}`)
	app.Deliver()
	got := rec.One()
	if e := got.Event(t); got.Path != "/0" || e.ID != asked.Text("data.source_event_id") || e.TriggerKey != "webhook.test" || string(e.Data) != string(read) {
		t.Errorf("%s, want %s", got.Body, read)
	}
	hasHistory(t, org, id, "webhook.test 1 succeeded 200")
	hasHistory(t, org, other)
	if one := historyOf(org, id, "&source_event_id="+asked.Text("data.source_event_id")); len(one) != 1 {
		t.Error(one)
	}
	for range 2 { // the second is the stored response of the first
		org.Admin.Do("POST", path+"/test", nil, "Idempotency-Key", "k").Is(202)
	}
	app.Deliver()
	rec.One()
	rec.Answers(410)
	attempt := apptest.AttemptDelivery(app, org, id)
	rec.One()
	refused := func(status string) {
		t.Helper()
		before := org.Dump()
		org.Admin.Post(path+"/test", nil).Fails(409, "subscription_not_active", status)
		org.Admin.Post(path+"/deliveries/"+attempt+"/redeliver", nil).Fails(409, "subscription_not_active", status)
		if org.Dump() != before {
			t.Error("a refused request changed something")
		}
	}
	rec.Answers(200)
	refused("disabled")
	org.Admin.Patch(path, `{"status": "paused"}`).Is(200)
	refused("paused")
	org.Admin.Post(path+"/rotate-secret", nil).Is(200) // sends nothing
	app.Clock.Advance(time.Hour)
	app.Deliver()
	rec.Wants("not active", nil)
}

// TestWebhookRedeliver checks that a redelivery sends the same event with the current state of the
// object.
func TestWebhookRedeliver(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	rec := apptest.NewReceiver(t)
	id, second, foreign := rec.Subscribe(org, "contact.*"), rec.Subscribe(org, "account.*"), rec.Subscribe(other, "contact.*")
	path := apptest.SubscriptionsPath + "/" + id
	contact := apptest.Makers["contacts"](org)
	app.Deliver()
	first := rec.One().Event(t)
	attempt := org.Read.Get(path + "/deliveries").Text("data.0.id")
	redeliver := func(attempt string) apptest.Event {
		t.Helper()
		app.Clock.Advance(time.Second)
		org.Admin.Post(path+"/deliveries/"+attempt+"/redeliver", nil).Is(202, `{"data": {"source_event_id": "`+first.ID+`"}, "meta": {"timestamp": "<time>"}}`)
		app.Deliver()
		got := rec.One()
		e := got.Event(t)
		if e.ID != first.ID || e.TriggerKey != "contact.created" || e.CreatedAt != first.CreatedAt || e.OrgID != first.OrgID || got.Header.Get("webhook-id") != first.ID ||
			got.Header.Get("webhook-timestamp") != strconv.FormatInt(app.Clock.Now().Unix(), 10) {
			t.Errorf("event %+v was redelivered as %s", first, got.Body)
		}
		return e
	}
	if e := redeliver(attempt); string(e.Data) != string(first.Data) {
		t.Errorf("data %s was redelivered as %s", first.Data, e.Data)
	}
	org.Write.Patch("/v1/contacts/"+contact, `{"title": "VP"}`).Is(200)
	app.Deliver()
	updated := rec.One()
	if e := redeliver(attempt); string(e.Data) != string(apptest.DataOf(org.Read.Get("/v1/contacts/"+contact))) {
		t.Errorf("unexpected event data: %s", e.Data)
	}
	org.Write.Delete("/v1/contacts/" + contact).Is(204)
	app.Deliver()
	rec.One()
	newest := org.Read.Get(path + "/deliveries?source_event_id=" + first.ID).Text("data.0.id")
	if e := redeliver(newest); string(e.Data) != `{"id":"`+contact+`","deleted":true}` {
		t.Errorf("unexpected data of an event about a deleted record: %s", e.Data)
	}
	hasHistory(t, org, id, "contact.created 1 succeeded 200", "contact.created 2 succeeded 200", "contact.updated 1 succeeded 200", "contact.created 3 succeeded 200",
		"contact.deleted 1 succeeded 200", "contact.created 4 succeeded 200")
	if got := historyOf(org, id, "&source_event_id="+updated.Event(t).ID); !slices.Equal(got, []string{"contact.updated 1 succeeded 200"}) {
		t.Error(got)
	}

	apptest.Makers["contacts"](other)
	apptest.Makers["accounts"](org)
	app.Deliver()
	rec.Take()
	before := org.Dump()
	theirs, ofSecond := other.Read.Get(apptest.SubscriptionsPath+"/"+foreign+"/deliveries").Text("data.0.id"), org.Read.Get(apptest.SubscriptionsPath+"/"+second+"/deliveries").Text("data.0.id")
	for _, at := range []string{path + "/deliveries/" + theirs, path + "/deliveries/" + ofSecond, path + "/deliveries/" + uuid.NewString(), path + "/deliveries/" + uuid.Max.String(), path + "/deliveries/x",
		path + "/deliveries/" + first.ID, path + "/deliveries/" + contact, apptest.SubscriptionsPath + "/" + second + "/deliveries/" + attempt, apptest.SubscriptionsPath + "/" + foreign + "/deliveries/" + theirs} {
		org.Admin.Post(at+"/redeliver", nil).Fails(404, "not_found", "Resource not found")
	}
	if org.Dump() != before {
		t.Error("a refused request changed something")
	}
	app.Deliver()
	rec.Wants("refusals", nil)
}

// TestWebhookRedeliverKinds redelivers each kind of event.
func TestWebhookRedeliverKinds(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := apptest.NewReceiver(t)
	id := rec.Subscribe(org, "*")
	app.Catalog([]catalog.Company{apptest.Firm("c1")}, nil)
	for _, kind := range []string{"opportunities", "tasks", "meetings", "tags"} {
		apptest.Makers[kind](org)
	}
	apptest.RunImport(t, org, apptest.ReadyPreview(org, `{}`))
	org.Admin.Post(apptest.SubscriptionsPath+"/"+id+"/test", nil).Is(202)
	app.Deliver()
	sent := map[string]apptest.Event{}
	for _, h := range rec.Take() {
		e := h.Event(t)
		sent[e.ID] = e
	}
	attempts := org.Read.Get(apptest.SubscriptionsPath + "/" + id + "/deliveries").Is(200).Column("id")
	app.Clock.Advance(time.Second)
	for _, a := range attempts {
		org.Admin.Post(apptest.SubscriptionsPath+"/"+id+"/deliveries/"+a+"/redeliver", nil).Is(202)
	}
	app.Deliver()
	again := rec.Take()
	if len(again) != len(sent) || len(sent) != 10 { // an account twice, an opportunity, a task, a meeting, a tag, a Preview, an Import twice, the test
		t.Errorf("%d events arrived, %d of them again", len(sent), len(again))
	}
	for _, h := range again {
		e := h.Event(t)
		var now string
		switch e.TriggerKey {
		case "webhook.test":
			now = strings.Replace(string(sent[e.ID].Data), `"last_success_at":null`, `"last_success_at":"2026-03-02T09:00:00.000Z"`, 1)
		case "tam_preview.ready", "tam_import.accepted": // one was imported since, the other is over
			continue
		default:
			now = string(sent[e.ID].Data)
		}
		if string(e.Data) != now || e.TriggerKey != sent[e.ID].TriggerKey {
			t.Errorf("%s was\n%s\nand was redelivered as\n%s", e.TriggerKey, sent[e.ID].Data, e.Data)
		}
	}
}

// TestWebhookRedeliverEarly redelivers a pending event. There is still one delivery, and its retry
// schedule starts again.
func TestWebhookRedeliverEarly(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := apptest.NewReceiver(t)
	id := rec.Subscribe(org, "contact.created")
	path := apptest.SubscriptionsPath + "/" + id
	rec.Answers(500)
	apptest.Makers["contacts"](org)
	app.Deliver()
	for range 2 { // the first retry was made, the next is in five minutes
		app.Clock.Advance(6 * time.Second)
		app.Deliver()
	}
	hasHistory(t, org, id, "contact.created 1 failed 500", "contact.created 2 failed 500")
	attempts := org.Read.Get(path + "/deliveries").Column("id")
	for _, a := range attempts {
		org.Admin.Post(path+"/deliveries/"+a+"/redeliver", nil).Is(202)
	}
	apptest.HasPending(t, app, 1)
	app.Deliver()
	hasHistory(t, org, id, "contact.created 1 failed 500", "contact.created 2 failed 500", "contact.created 3 failed 500")
	app.Clock.Advance(6 * time.Second)
	app.Deliver() // five seconds after the request
	rec.Answers(200)
	app.Clock.Advance(6 * time.Minute)
	app.Deliver()
	apptest.HasPending(t, app, 0)
	app.Clock.Advance(24 * time.Hour)
	app.Deliver()
	hasHistory(t, org, id, "contact.created 1 failed 500", "contact.created 2 failed 500", "contact.created 3 failed 500", "contact.created 4 failed 500", "contact.created 5 succeeded 200")
	ids := map[string]bool{}
	for _, h := range rec.Take() {
		ids[h.Header.Get("webhook-id")] = true
	}
	if len(ids) != 1 {
		t.Errorf("%d ids", len(ids))
	}

	// While an attempt is in flight it is not repeated; a redelivery requested in the meantime
	// follows it.
	attempt := org.Read.Get(path + "/deliveries").Text("data.0.id")
	begun, end, once := make(chan struct{}), make(chan struct{}), sync.Once{}
	rec.AnswersWith(func(http.ResponseWriter, *http.Request) {
		once.Do(func() {
			close(begun)
			<-end
		})
	})
	org.Admin.Post(path+"/deliveries/"+attempt+"/redeliver", nil).Is(202)
	done := make(chan struct{})
	go func() {
		app.Deliver()
		close(done)
	}()
	<-begun
	org.Admin.Post(path+"/deliveries/"+attempt+"/redeliver", nil).Is(202)
	if n := len(rec.All()); n != 1 {
		t.Errorf("unexpected number of requests in flight: %d", n)
	}
	close(end)
	<-done
	if got := historyOf(org, id, ""); !slices.Equal(got[5:], []string{"contact.created 6 succeeded 200", "contact.created 7 succeeded 200"}) || len(rec.Take()) != 2 {
		t.Error(got)
	}
	apptest.HasPending(t, app, 0)
}

// TestWebhookClockBack checks that the history contains every attempt after the clock was set back.
func TestWebhookClockBack(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := apptest.NewReceiver(t)
	id := rec.Subscribe(org, "contact.*")
	var attempts []string
	for range 3 {
		attempts = append(attempts, apptest.AttemptDelivery(app, org, id), apptest.AttemptDelivery(app, org, id))
		app.Clock.Advance(-time.Hour)
		app.Restart()
	}
	rec.Take()
	for _, a := range attempts {
		org.Admin.Post(apptest.SubscriptionsPath+"/"+id+"/deliveries/"+a+"/redeliver", nil).Is(202)
	}
	app.Deliver()
	if n := len(rec.Take()); n != len(attempts) {
		t.Errorf("%d events arrived again, want %d", n, len(attempts))
	}
}

// TestWebhookDeliveries reads the pages of the history.
func TestWebhookDeliveries(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := apptest.NewReceiver(t)
	id, silent := rec.Subscribe(org, "account.created"), rec.Subscribe(org, "tag.created")
	path := apptest.SubscriptionsPath + "/" + id + "/deliveries"
	var mu sync.Mutex
	seen, failed := map[string]bool{}, map[string]bool{} // the events, and those whose first attempt failed
	rec.AnswersWith(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		event := req.Header.Get("webhook-id")
		if !seen[event] && len(seen)%3 == 0 {
			failed[event] = true
			w.WriteHeader(503)
		}
		seen[event] = true
		_, _ = w.Write([]byte("the body of an answer"))
	})
	var batch []map[string]any
	for i := range 120 {
		batch = append(batch, map[string]any{"name": fmt.Sprintf("A name %d", i)})
	}
	org.Write.Post("/v1/accounts/batch", map[string]any{"records": batch}).Is(200)
	app.Deliver()
	app.Clock.Advance(6 * time.Second)
	app.Deliver()
	apptest.HasPending(t, app, 0)

	type row struct {
		ID            string `json:"id"`
		SourceEventID string `json:"source_event_id"`
		Attempt       int    `json:"attempt"`
		Status        string `json:"status"`
	}
	// page reads a page and checks it.
	page := func(query string, number, size, total int) (rows []row) {
		t.Helper()
		res := org.Read.Get(path + "?" + query)
		pages := (total + size - 1) / size
		res.Is(200, fmt.Sprintf(`{"data": "<any>", "pagination": {"page": %d, "page_size": %d, "total_count": %d, "total_pages": %d}, "meta": {"timestamp": "<time>"}}`, number, size, total, pages))
		if err := json.Unmarshal(apptest.DataOf(res), &rows); err != nil {
			t.Fatal(err)
		}
		if want := min(size, max(0, total-(number-1)*size)); len(rows) != want {
			t.Errorf("%s has %d rows, want %d", query, len(rows), want)
		}
		for _, never := range []string{"A name", "the body", "whsec_", rec.URL, "payload", "secret"} {
			if strings.Contains(string(res.Body), never) {
				t.Errorf("%s shows %s: %s", query, never, res.Body)
			}
		}
		return rows
	}
	all := append(page("page_size=100", 1, 100, 160), page("page=2&page_size=100", 2, 100, 160)...)
	if !slices.IsSortedFunc(all, func(a, b row) int { return strings.Compare(b.ID, a.ID) }) {
		t.Error("attempts are not sorted newest first")
	}
	byStatus, byEvent := map[string][]row{}, map[string][]row{}
	for _, r := range all {
		byStatus[r.Status] = append(byStatus[r.Status], r)
		byEvent[r.SourceEventID] = append(byEvent[r.SourceEventID], r)
	}
	if len(byStatus["succeeded"]) != 120 || len(byStatus["failed"]) != 40 || len(byEvent) != 120 || len(failed) != 40 {
		t.Errorf("%d succeeded, %d failed, of %d events", len(byStatus["succeeded"]), len(byStatus["failed"]), len(byEvent))
	}
	for _, size := range []int{1, 7, 50, 100} {
		for status, want := range map[string][]row{"": all, "succeeded": byStatus["succeeded"], "failed": byStatus["failed"]} {
			for _, number := range []int{1, 2, (len(want) + size - 1) / size, 1 + (len(want)+size-1)/size, 1 << 40} {
				query := fmt.Sprintf("page=%d&page_size=%d", number, size)
				if status != "" {
					query += "&status=" + status
				}
				from := min((number-1)*size, len(want))
				if got := page(query, number, size, len(want)); !slices.Equal(got, want[from:min(from+size, len(want))]) {
					t.Errorf("%s returns %v", query, got)
				}
			}
		}
	}
	if got := page("", 1, 50, 160); !slices.Equal(got, all[:50]) {
		t.Error("the default page size is not 50")
	}
	looked := 0
	for event, want := range byEvent {
		if looked++; apptest.RaceDetector && looked > 20 {
			break
		}
		numbers := map[bool][]int{false: {1}, true: {2, 1}}[failed[event]]
		for i, r := range page("source_event_id="+event, 1, 50, len(numbers)) {
			if r != want[i] || r.Attempt != numbers[i] || (r.Status == "failed") != (failed[event] && r.Attempt == 1) {
				t.Errorf("%s: %+v", event, r)
			}
		}
		page("status=failed&source_event_id="+event, 1, 50, len(numbers)-1)
		page("status=succeeded&page=2&page_size=1&source_event_id="+event, 2, 1, 1)
	}
	for _, unknown := range []string{uuid.NewString(), "x", id, all[0].ID} {
		page("source_event_id="+unknown, 1, 50, 0)
	}
	for query, parameter := range map[string]string{"page=0": "page", "page=-1": "page", "page=x": "page", "page=1.5": "page", "page_size=0": "page_size", "page_size=101": "page_size", "page_size=": "page_size",
		"status=pending": "status", "status=FAILED": "status", "event=1": "event"} {
		org.Read.Get(path+"?"+query).Fails(422, "validation_failed", parameter)
	}
	org.Read.Get(path+"?page=0&page_size=101&status=x").Fails(422, "validation_failed", "page")
	org.Read.Get(apptest.SubscriptionsPath+"/"+silent+"/deliveries").Is(200, `{"data": [], "pagination": {"page": 1, "page_size": 50, "total_count": 0, "total_pages": 0}, "meta": {"timestamp": "<time>"}}`)

	// Each row has exactly these fields.
	const shape = `{"id": "<id>", "subscription_id": "%s", "source_event_id": "<id>", "trigger_key": "account.created", "attempt": 1, "status": "%s", "duration_ms": "<any>",
		"created_at": "2026-03-02T09:00:00.000Z", "response_code": %d, "error": %s}`
	for _, c := range []struct{ got, want string }{
		{string(apptest.DataOf(org.Read.Get(path + "?page_size=1&page=40&status=failed"))), fmt.Sprintf(shape, id, "failed", 503, `"http_503: the endpoint answered with status 503"`)},
		{string(apptest.DataOf(org.Read.Get(path + "?page_size=1&page=120&status=succeeded"))), fmt.Sprintf(shape, id, "succeeded", 200, "null")},
	} {
		if diff := apptest.Diff("["+c.want+"]", c.got); diff != "" {
			t.Error(diff)
		}
	}
}
