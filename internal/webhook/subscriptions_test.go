package webhook_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/service"
)

// publicOnly sets the default of the service, which allows only public networks.
func publicOnly(c *service.Config) { c.Webhooks.AllowPrivateNetworks = false }

func TestWebhookCreate(t *testing.T) {
	app := apptest.New(t, publicOnly)
	org := app.Org("Acme")
	const shown = `"id": "<id>", "created_at": "2026-03-02T09:00:00.000Z", "updated_at": "2026-03-02T09:00:00.000Z", "url": "https://hooks.example.com/in?x=1",
		"disabled_reason": null, "consecutive_failures": 0, "last_success_at": null, "last_failure_at": null`
	for _, c := range []struct{ body, want string }{
		{`{"url": "https://hooks.example.com/in?x=1", "triggers": ["contact.*"]}`, `"triggers": ["contact.*"], "description": null, "status": "active"`},
		{`{"url": "https://hooks.example.com/in?x=1", "triggers": ["*"], "description": null, "status": null}`, `"triggers": ["*"], "description": null, "status": "active"`},
		{`{"url": "https://hooks.example.com/in?x=1", "triggers": ["tag.created", "contact.*", "tag.created", "*"], "description": "For Ada", "status": "paused"}`,
			`"triggers": ["tag.created", "contact.*", "*"], "description": "For Ada", "status": "paused"`},
	} {
		t.Run(c.body, func(t *testing.T) {
			res := org.Admin.In(t).Post(apptest.SubscriptionsPath, c.body).Is(201, `{"data": {"secret": "<any>", `+shown+`, `+c.want+`}, "meta": {"timestamp": "<time>"}}`)
			if secret := res.Text("data.secret"); !strings.HasPrefix(secret, "whsec_") || len(secret) < 6+32 {
				t.Errorf("unexpected secret %q", secret)
			}
			read := org.Write.In(t).Get(apptest.SubscriptionsPath+"/"+res.ID()).Is(200, `{"data": {`+shown+`, `+c.want+`}, "meta": {"timestamp": "<time>"}}`)
			if read.Header.Get("ETag") == "" || read.Header.Get("ETag") != res.Header.Get("ETag") {
				t.Errorf("the ETags are %q and %q", res.Header.Get("ETag"), read.Header.Get("ETag"))
			}
		})
	}
}

// badURLs are refused unless private networks are allowed. worseURLs are always refused.
var (
	badURLs = []string{"http://hooks.example.com/in", "https://127.0.0.1/in", "https://localhost/in", "https://10.1.2.3/", "https://192.168.0.1/", "https://172.16.0.1/", "https://[::1]/",
		"https://[fe80::1]/", "https://[fd00::1]/", "https://[::ffff:127.0.0.1]/", "https://100.64.0.1/", "https://0.0.0.0/"}
	worseURLs = []string{"hooks.example.com/in", "/in", "//hooks.example.com", "ftp://hooks.example.com", "https://", "https:hooks.example.com", "https://u@hooks.example.com/",
		"https://u:p@hooks.example.com/", "https://hooks.example.com/#top", "https://hooks.example.com/#", "https://hooks example.com/", "https://hooks.example.com/a b", "https://hooks.example.com:0/",
		"https://hooks.example.com:65536/", "https://hooks.example.com:x/", "https://a..b/", "https://169.254.169.254/latest", "https://[fd00:ec2::254]/", "https://2130706433/", "https://0x7f.1/",
		"https://hooks.example.com/\u0007", "https://" + strings.Repeat("a", 2000) + ".example/"}
)

func TestWebhookURLs(t *testing.T) {
	strict, open := apptest.New(t, publicOnly), apptest.New(t)
	acme, globex := strict.Org("Acme"), open.Org("Globex")
	id, free := makeHook(acme, "https://hooks.example.com/"), makeHook(globex, "http://127.0.0.1:1/")
	for _, url := range append(badURLs, worseURLs...) {
		apptest.HasProblems(t, acme.Admin.Post(apptest.SubscriptionsPath, map[string]any{"url": url, "triggers": []string{"*"}}), "url")
		apptest.HasProblems(t, acme.Admin.Patch(apptest.SubscriptionsPath+"/"+id, map[string]any{"url": url}), "url")
	}
	for _, url := range badURLs {
		if url != "https://0.0.0.0/" { // the tests of the address policy check which addresses those are
			globex.Admin.Patch(apptest.SubscriptionsPath+"/"+free, map[string]any{"url": url}).Is(200)
		}
	}
	for _, url := range worseURLs {
		apptest.HasProblems(t, globex.Admin.Post(apptest.SubscriptionsPath, map[string]any{"url": url, "triggers": []string{"*"}}), "url")
		apptest.HasProblems(t, globex.Admin.Patch(apptest.SubscriptionsPath+"/"+free, map[string]any{"url": url}), "url")
	}
	for _, url := range []string{"https://no-such-host.invalid/in", "https://hooks.example.com", "https://hooks.example.com:8443/a/b?c=d&e=f%20g", "https://HOOKS.Example.com/", "https://93.184.216.34/",
		"https://[2606:4700:4700::1111]:8443/", "https://bücher.example/in", "https://x.example/" + strings.Repeat("p", 2000-18)} {
		if res := acme.Admin.Patch(apptest.SubscriptionsPath+"/"+id, map[string]any{"url": url}).Is(200); res.Text("data.url") != url {
			t.Errorf("sent %s, stored as %s", url, res.Text("data.url"))
		}
	}
}

func makeHook(o *apptest.Org, url string) string {
	return o.Admin.Post(apptest.SubscriptionsPath, map[string]any{"url": url, "triggers": []string{"*"}}).Is(201).ID()
}

func TestWebhookRefusals(t *testing.T) {
	app := apptest.New(t, publicOnly)
	org := app.Org("Acme")
	id := makeHook(org, "https://hooks.example.com/")
	before := org.Dump()
	for _, c := range []struct {
		body  string
		paths []string
	}{
		{`{}`, []string{"url", "triggers"}},
		{`{"url": "https://x.example"}`, []string{"triggers"}},
		{`{"triggers": ["*"]}`, []string{"url"}},
		{`{"url": null, "triggers": null}`, []string{"url", "triggers"}},
		{`{"url": "", "triggers": []}`, []string{"url", "triggers"}},
		{`{"url": 1, "triggers": "*", "description": 2, "status": 3}`, []string{"url", "triggers", "description", "status"}},
		{`{"url": ["https://x.example"], "triggers": {"0": "*"}}`, []string{"url", "triggers"}},
		{`{"url": "http://x.example", "triggers": ["contact.*", "", "contact.exploded", "nothing.*", "Contact.created", "contact", "*.*", "contact.created.*", ".*", " *"], "status": "asleep"}`,
			[]string{"url", "triggers[1]", "triggers[2]", "triggers[3]", "triggers[4]", "triggers[5]", "triggers[6]", "triggers[7]", "triggers[8]", "triggers[9]", "status"}},
		{`{"url": "https://x.example", "triggers": [1, null, "*"]}`, []string{"triggers[0]", "triggers[1]"}},
		{`{"url": "https://x.example", "triggers": ["*"], "description": "` + strings.Repeat("d", 1001) + `"}`, []string{"description"}},
		{`{"url": "https://x.example", "triggers": ["*"], "status": "disabled"}`, []string{"status"}},
		{`{"url": "https://x.example", "triggers": ["*"], "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}`, []string{"secret"}},
		{`{"url": "https://x.example", "triggers": ["*"], "id": "` + id + `", "created_at": "2026-03-02T09:00:00Z", "disabled_reason": "gone", "consecutive_failures": 1, "last_success_at": "2026-03-02T09:00:00Z"}`,
			[]string{"id", "created_at", "disabled_reason", "consecutive_failures", "last_success_at"}},
	} {
		t.Run(c.body, func(t *testing.T) {
			res := org.Admin.In(t).Post(apptest.SubscriptionsPath, c.body).Fails(422, "validation_failed", "")
			got := apptest.ProblemPaths(res)
			if !slices.Equal(apptest.Sorted(got), apptest.Sorted(c.paths)) {
				t.Errorf("%s\nproblem paths = %q, want %q: %s", c.body, got, c.paths, res.Body)
			}
		})
	}
	for _, c := range []struct{ body, path string }{
		{`{"url": null}`, "url"}, {`{"url": ""}`, "url"}, {`{"triggers": null}`, "triggers"}, {`{"triggers": []}`, "triggers"}, {`{"triggers": ["contact.exploded"]}`, "triggers[0]"},
		{`{"status": "disabled"}`, "status"}, {`{"status": "asleep"}`, "status"}, {`{"description": "` + strings.Repeat("d", 1001) + `"}`, "description"},
		{`{"disabled_reason": "gone"}`, "disabled_reason"}, {`{"consecutive_failures": 7}`, "consecutive_failures"}, {`{"last_success_at": "2026-03-01T09:00:00Z"}`, "last_success_at"},
		{`{"last_failure_at": "2026-03-01T09:00:00Z"}`, "last_failure_at"}, {`{"secret": "x"}`, "secret"}, {`{"created_at": "2026-03-01T09:00:00Z"}`, "created_at"},
	} {
		apptest.HasProblems(t, org.Admin.Patch(apptest.SubscriptionsPath+"/"+id, c.body), c.path)
	}
	if org.Dump() != before {
		t.Error("a refused request changed something")
	}
}

func TestWebhookUpdate(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := apptest.NewReceiver(t)
	id := rec.Subscribe(org, "account.created")
	path := apptest.SubscriptionsPath + "/" + id
	app.Clock.Advance(time.Second)
	first := org.Write.Get(path).Is(200)
	// The response of GET can be sent back and changes nothing.
	same := org.Admin.Do(http.MethodPatch, path, []byte(apptest.DataOf(first)), "If-Match", first.Header.Get("ETag")).Is(200)
	if string(apptest.DataOf(same)) != string(apptest.DataOf(first)) || same.Header.Get("ETag") != first.Header.Get("ETag") {
		t.Errorf("%s, want %s", same.Body, first.Body)
	}
	changed := org.Admin.Patch(path, map[string]any{"url": rec.URL + "/moved", "triggers": []string{"account.deleted", "account.deleted"}, "description": "d"}).Is(200)
	if changed.Text("data.updated_at") != "2026-03-02T09:00:01.000Z" || changed.Header.Get("ETag") == first.Header.Get("ETag") || len(changed.Value("data.triggers").([]any)) != 1 {
		t.Errorf("%s", changed.Body)
	}
	org.Admin.Do(http.MethodPatch, path, `{"description": null}`, "If-Match", first.Header.Get("ETag")).Fails(412, "precondition_failed", "the record has version")
	if res := org.Admin.Do(http.MethodPatch, path, `{"description": null}`, "If-Match", changed.Header.Get("ETag")).Is(200); res.Value("data.description") != nil {
		t.Errorf("%s", res.Body)
	}
	account := org.Write.Post("/v1/accounts", `{"name": "Globex"}`).Is(201).ID()
	org.Write.Delete("/v1/accounts/" + account).Is(204)
	app.Deliver()
	rec.Wants("the new url and triggers", map[string]string{"it": account}, "/moved account.deleted it")

	// Its delivery status is shown without changing the version.
	fares := org.Write.Get(path).Is(200)
	etag := fares.Header.Get("ETag")
	rec.Answers(500)
	app.Clock.Advance(time.Second)
	apptest.AttemptDelivery(app, org, id)
	res := org.Write.Get(path).Is(200)
	if res.Header.Get("ETag") != etag || res.Int("data.consecutive_failures") != 1 || res.Text("data.last_failure_at") != "2026-03-02T09:00:02.000Z" || res.Text("data.last_success_at") != "2026-03-02T09:00:01.000Z" ||
		res.Text("data.updated_at") != fares.Text("data.updated_at") {
		t.Errorf("unexpected subscription: before %s\nafter %s", fares.Body, res.Body)
	}
	// A client with the version before the attempt can still update it.
	stale := apptest.Object(string(apptest.DataOf(fares)))
	delete(stale, "consecutive_failures")
	delete(stale, "last_failure_at")
	stale["description"] = "again"
	if res := org.Admin.Do(http.MethodPatch, path, stale, "If-Match", etag).Is(200); res.Int("data.consecutive_failures") != 1 || res.Text("data.description") != "again" {
		t.Errorf("%s", res.Body)
	}
	list := org.Write.Post(apptest.SubscriptionsPath+"/list", nil).Is(200)
	if list.Int("data.0.consecutive_failures") != 1 || list.Text("data.0.last_failure_at") != "2026-03-02T09:00:02.000Z" {
		t.Errorf("the list does not show the delivery status: %s", list.Body)
	}
	paused := org.Admin.Patch(path, `{"status": "paused"}`).Is(200)
	if paused.Text("data.status") != "paused" || paused.Int("data.consecutive_failures") != 1 {
		t.Errorf("%s", paused.Body)
	}
}

// TestWebhookDisabled updates a subscription that the service has disabled.
func TestWebhookDisabled(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := apptest.NewReceiver(t)
	rec.Answers(410)
	id := rec.Subscribe(org, "account.*")
	path := apptest.SubscriptionsPath + "/" + id
	before := org.Write.Get(path).Header.Get("ETag")
	apptest.AttemptDelivery(app, org, id)
	read := org.Write.Get(path).Is(200)
	if read.Text("data.status") != "disabled" || read.Text("data.disabled_reason") != "gone" || read.Header.Get("ETag") == before {
		t.Errorf("%s", read.Body)
	}
	if same := org.Admin.Patch(path, []byte(apptest.DataOf(read))).Is(200); string(apptest.DataOf(same)) != string(apptest.DataOf(read)) || same.Header.Get("ETag") != read.Header.Get("ETag") {
		t.Errorf("sending back the response of GET returns %s", same.Body)
	}
	for _, c := range []struct {
		body, status string
		reason       any
	}{
		{`{"description": "d"}`, "disabled", "gone"}, {`{"status": "paused"}`, "paused", nil}, {`{"status": "active"}`, "active", nil},
	} {
		if res := org.Admin.Patch(path, c.body).Is(200); res.Text("data.status") != c.status || res.Value("data.disabled_reason") != c.reason {
			t.Errorf("%s: %s", c.body, res.Body)
		}
	}
	apptest.HasProblems(t, org.Admin.Patch(path, `{"status": "disabled"}`), "status")
}

func TestWebhookList(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	makeHook(other, "https://hooks.umbrella.example/")
	for i, body := range []string{
		`{"url": "https://a.example/in", "triggers": ["*"], "description": "Warehouse sync"}`,
		`{"url": "https://b.example/in", "triggers": ["contact.*", "tag.created"], "status": "paused"}`,
		`{"url": "https://c.example/out", "triggers": ["tag.created"], "description": "Alarms"}`,
	} {
		org.Admin.Post(apptest.SubscriptionsPath, body).Is(201)
		app.Clock.Advance(time.Duration(i+1) * time.Second)
	}
	for _, c := range []struct{ body, want string }{
		{``, "c b a"}, {`{"sort": "url"}`, "a b c"}, {`{"sort": "-status,url"}`, "b a c"}, {`{"sort": "updated_at"}`, "a b c"},
		{`{"filters": [{"field": "status", "condition": "is", "value": "paused"}]}`, "b"},
		{`{"filters": [{"field": "triggers", "condition": "is", "value": "tag.created"}]}`, "c b"},
		{`{"filters": [{"field": "triggers", "condition": "contains", "value": ["tag.created", "contact.*"]}]}`, "b"},
		{`{"filters": [{"field": "url", "condition": "contains", "value": "/OUT"}]}`, "c"},
		{`{"filters": [{"field": "description", "condition": "is_empty"}]}`, "b"},
		{`{"filters": [{"field": "disabled_reason", "condition": "is_empty"}]}`, "c b a"},
		{`{"search": "ware"}`, "a"}, {`{"search": "example out"}`, "c"}, {`{"page": 2, "page_size": 2}`, "a"},
	} {
		t.Run(c.body, func(t *testing.T) {
			var body any
			if c.body != "" {
				body = c.body
			}
			var got []string
			for _, url := range org.Write.In(t).Post(apptest.SubscriptionsPath+"/list", body).Is(200).Column("url") {
				got = append(got, url[len("https://"):len("https://")+1])
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s returns %v, want %s", c.body, got, c.want)
			}
		})
	}
	for _, field := range []string{"secret", "secrets", "failing_since"} {
		t.Run(field, func(t *testing.T) {
			org.Write.In(t).Post(apptest.SubscriptionsPath+"/list", `{"filters": [{"field": "`+field+`", "condition": "is_empty"}]}`).Fails(422, "invalid_filter", "filters[0].field")
			org.Write.In(t).Post(apptest.SubscriptionsPath+"/list", `{"sort": "`+field+`"}`).Fails(422, "invalid_sort", field)
		})
	}
}

// TestWebhookListFares lists subscriptions by their delivery status. A list contains everything
// that was recorded before it began.
func TestWebhookListFares(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	good, bad := apptest.NewReceiver(t), apptest.NewReceiver(t)
	bad.Answers(500)
	names := map[string]string{good.Subscribe(org, "account.*"): "good", bad.Subscribe(org, "account.*"): "bad", makeHook(org, "http://127.0.0.1:1/"): "never"}
	org.Admin.Patch(apptest.SubscriptionsPath+"/"+apptest.Sorted(slices.Collect(maps.Keys(names)))[2], `{"triggers": ["tag.created"]}`).Is(200)
	lists := func(body, want string) {
		t.Helper()
		var got []string
		for _, id := range org.Write.Post(apptest.SubscriptionsPath+"/list", body).Is(200).Column("id") {
			got = append(got, names[id])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s returns %v, want %s", body, got, want)
		}
	}
	lists(`{"filters": [{"field": "consecutive_failures", "condition": "greater_than", "value": 0}]}`, "")
	for range 3 {
		app.Clock.Advance(time.Second)
		org.Write.Post("/v1/accounts", `{"name": "Globex"}`).Is(201)
		app.Deliver()
	}
	lists(`{"filters": [{"field": "consecutive_failures", "condition": "is", "value": 3}]}`, "bad")
	lists(`{"filters": [{"field": "consecutive_failures", "condition": "is", "value": 0}], "sort": "created_at"}`, "good never")
	lists(`{"filters": [{"field": "last_success_at", "condition": "is_empty"}], "sort": "created_at"}`, "bad never")
	lists(`{"filters": [{"field": "last_failure_at", "condition": "is_after", "value": "2026-03-02T09:00:02Z"}]}`, "bad")
	lists(`{"filters": [{"field": "last_success_at", "condition": "is", "value": "2026-03-02T09:00:03Z"}]}`, "good")
	lists(`{"sort": "-consecutive_failures,created_at"}`, "bad good never")
	lists(`{"sort": "last_success_at,created_at"}`, "good bad never")
	bad.Answers(410)
	apptest.AttemptDelivery(app, org, apptest.Sorted(slices.Collect(maps.Keys(names)))[1])
	lists(`{"filters": [{"field": "disabled_reason", "condition": "is", "value": "gone"}]}`, "bad")
	lists(`{"filters": [{"field": "status", "condition": "is", "value": "disabled"}]}`, "bad")
}

func TestWebhookDelete(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	rec := apptest.NewReceiver(t)
	id, stays := rec.Subscribe(org, "account.*"), rec.Subscribe(org, "account.created")
	path := apptest.SubscriptionsPath + "/" + id
	org.Write.Post("/v1/accounts", `{"name": "First"}`).Is(201)
	app.Deliver()
	rec.Take()
	rec.Answers(500)
	account := org.Write.Post("/v1/accounts", `{"name": "Second"}`).Is(201).ID()
	app.Deliver()
	rec.Take()
	apptest.HasPending(t, app, 2)
	etag := org.Read.Get(path).Header.Get("ETag")
	history := apptest.DataOf(org.Read.Get(path + "/deliveries").Is(200))
	org.Admin.Do(http.MethodDelete, path, nil, "If-Match", `"9999"`).Fails(412, "precondition_failed", "")
	if res := org.Admin.Do(http.MethodDelete, path, nil, "If-Match", etag).Is(204); len(res.Body) > 0 {
		t.Errorf("%s", res.Body)
	}
	gone := func() {
		t.Helper()
		for _, res := range []*apptest.Response{org.Read.Get(path), org.Admin.Patch(path, `{"status": "active"}`), org.Admin.Delete(path), org.Admin.Post(path+"/test", nil),
			org.Admin.Post(path+"/rotate-secret", nil), org.Admin.Post(path+"/deliveries/"+org.Read.Get(path+"/deliveries").Text("data.0.id")+"/redeliver", nil), other.Read.Get(path + "/deliveries")} {
			res.Fails(404, "not_found", "Resource not found")
		}
		if list := org.Read.Post(apptest.SubscriptionsPath+"/list", nil).Is(200).Column("id"); !slices.Equal(list, []string{stays}) {
			t.Errorf("unexpected list %v", list)
		}
		if got := apptest.DataOf(org.Read.Get(path + "/deliveries").Is(200)); string(got) != string(history) {
			t.Errorf("history changed from\n%s\nto\n%s", history, got)
		}
	}
	gone()
	rec.Answers(200)
	app.Clock.Advance(time.Minute)
	org.Write.Delete("/v1/accounts/" + account).Is(204)
	app.Deliver()
	rec.Wants("after the deletion", map[string]string{"second": account}, "/1 account.created second")
	app.Work()
	apptest.HasPending(t, app, 0)
	gone()
	app.Restart()
	app.Clock.Advance(time.Hour)
	app.Deliver()
	rec.Wants("after a restart", nil)
	gone()
}

// TestWebhookTriggers compares the trigger registry with the specification.
func TestWebhookTriggers(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	want := apptest.TriggerKeys()
	res := org.Read.Get("/v1/webhooks/triggers").Is(200)
	if got := res.Column("key"); !slices.Equal(apptest.Sorted(got), want) {
		t.Errorf("the triggers are\n%v, want\n%v", apptest.Sorted(got), want)
	}
	var answer struct {
		Data []struct {
			Key, Description string
			Example          apptest.Event
		}
	}
	if err := json.Unmarshal(res.Body, &answer); err != nil {
		t.Fatal(err)
	}
	for _, tr := range answer.Data {
		if tr.Description == "" || tr.Example.TriggerKey != tr.Key || tr.Example.ID == "" || tr.Example.OrgID == "" || tr.Example.CreatedAt == "" {
			t.Errorf("%+v", tr)
		}
		if strings.HasSuffix(tr.Key, ".deleted") {
			if diff := apptest.Diff(`{"id": "<id>"}`, string(tr.Example.Data)); diff != "" {
				t.Errorf("%s: %s", tr.Key, diff)
			}
		}
		if len(tr.Example.Data) == 0 || strings.Contains(string(tr.Example.Data), `"members"`) {
			t.Errorf("%s: %s", tr.Key, tr.Example.Data)
		}
		id := org.Admin.Post(apptest.SubscriptionsPath, map[string]any{"url": "http://127.0.0.1:1/", "triggers": []string{tr.Key, strings.Split(tr.Key, ".")[0] + ".*"}}).Is(201).ID()
		org.Admin.Delete(apptest.SubscriptionsPath + "/" + id).Is(204)
	}
}

// TestWebhookURLForReaders checks that a key with read access sees nothing of the path and query of a URL,
// which often contain a token, and cannot find out either by filtering, sorting or searching.
func TestWebhookURLForReaders(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	endpoint := httptest.NewServer(http.NotFoundHandler())
	defer endpoint.Close()
	url := endpoint.URL + "/services/T0K3N?key=s3cr3t"
	id := org.Admin.Post(apptest.SubscriptionsPath, `{"url": "`+url+`", "triggers": ["*"], "description": "chat"}`).Is(201).ID()
	org.Admin.Post(apptest.SubscriptionsPath, `{"url": "https://other.example.com/in", "triggers": ["*"], "status": "paused"}`).Is(201)
	byURL := `{"filters": [{"field": "url", "condition": "%s", "value": "T0K3N"}]}`

	for name, c := range map[string]apptest.Client{"write": org.Write, "admin": org.Admin} {
		if got := c.Get(apptest.SubscriptionsPath + "/" + id).Is(200).Text("data.url"); got != url {
			t.Errorf("a key with %s access sees %q", name, got)
		}
		if got := c.Post(apptest.SubscriptionsPath+"/list", fmt.Sprintf(byURL, "contains")).Is(200).Column("url"); !slices.Equal(got, []string{url}) {
			t.Errorf("a key with %s access finds %q", name, got)
		}
		if got := c.Post(apptest.SubscriptionsPath+"/list", `{"search": "T0K3N"}`).Is(200).Column("url"); !slices.Equal(got, []string{url}) {
			t.Errorf("a key with %s access finds %q", name, got)
		}
	}

	got := org.Read.Get(apptest.SubscriptionsPath + "/" + id).Is(200)
	if got.Text("data.url") != endpoint.URL || got.Text("data.description") != "chat" || got.Text("data.triggers.0") != "*" {
		t.Errorf("%s", got.Body)
	}
	if urls := org.Read.Post(apptest.SubscriptionsPath+"/list", `{"sort": "created_at"}`).Is(200).Column("url"); !slices.Equal(urls, []string{endpoint.URL, "https://other.example.com"}) {
		t.Errorf("%q", urls)
	}
	for _, condition := range []string{"is", "is_not", "contains", "not_contains", "is_empty"} {
		org.Read.Post(apptest.SubscriptionsPath+"/list", fmt.Sprintf(byURL, condition)).Fails(422, "invalid_filter", `filters[0].field: "url" is not a field of subscriptions`)
	}
	for _, sort := range []string{"url", "-url", "created_at,url"} {
		org.Read.Post(apptest.SubscriptionsPath+"/list", `{"sort": "`+sort+`"}`).Fails(422, "invalid_sort", `"url"`)
	}
	for _, word := range []string{"T0K3N", "s3cr3t", "t0", "services", "127"} {
		if found := org.Read.Post(apptest.SubscriptionsPath+"/list", `{"search": "`+word+`"}`).Is(200).Column("id"); len(found) != 0 {
			t.Errorf("%s finds %q", word, found)
		}
	}
	if found := org.Read.Post(apptest.SubscriptionsPath+"/list", `{"search": "chat"}`).Is(200).Column("id"); !slices.Equal(found, []string{id}) {
		t.Errorf("the description is not found: %q", found)
	}
	for _, f := range org.Read.Get("/v1/schemas/subscriptions").Is(200).Value("data.fields").([]any) {
		if f := f.(map[string]any); f["key"] == "url" && (f["filterable"] == true || f["sortable"] == true || len(f["conditions"].([]any)) > 0) {
			t.Errorf("%v", f)
		}
	}

	org.Admin.Post(apptest.SubscriptionsPath+"/"+id+"/test", nil).Is(202)
	app.Deliver()
	for _, path := range []string{apptest.SubscriptionsPath + "/" + id + "/deliveries", "/v1/webhooks/triggers", "/v1/indexes"} {
		if body := string(org.Read.Get(path).Is(200).Body); strings.Contains(body, "T0K3N") || strings.Contains(body, "s3cr3t") {
			t.Errorf("%s: %s", path, body)
		}
	}
}
