package handlers_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/handlers"
	"prospector/internal/apptest"
	"prospector/internal/service"
	"prospector/store"
)

func limited(n int) func(*service.Config) {
	return func(c *service.Config) { c.RateLimit.PerMinute = n }
}

func TestRateLimit(t *testing.T) {
	app := apptest.New(t, limited(3))
	org, other := app.Org("Acme"), app.Org("Umbrella")
	reset := strconv.FormatInt(apptest.Start.Add(time.Minute).Unix(), 10)
	rate := func(r *apptest.Response) string {
		return fmt.Sprint(r.Header.Get("X-RateLimit-Limit"), " ", r.Header.Get("X-RateLimit-Remaining"), " ", r.Header.Get("X-RateLimit-Reset"), " ", r.Header.Get("Retry-After"))
	}
	want := func(r *apptest.Response, remaining int, retry string) {
		t.Helper()
		if got := rate(r); got != fmt.Sprintf("3 %d %s %s", remaining, reset, retry) {
			t.Errorf("unexpected rate-limit headers %q", got)
		}
	}
	// All authenticated requests count, including refused ones; others do not.
	want(org.Read.Get("/v1/me").Is(200), 2, "")
	app.Anonymous().Get("/v1/me").Is(401)
	want(org.Read.Get("/v1/nothing").Is(404), 1, "")
	app.Clock.Advance(20*time.Second + 300*time.Millisecond)
	want(org.Write.Post("/v1/contacts", `{`).Is(400), 0, "")
	// A 429 does not count, and is checked before 404, 403 and 400.
	want(org.Read.Get("/v1/me").Fails(429, "rate_limited", "rate limit of 3 requests per minute exceeded"), 0, "40")
	want(org.Read.Get("/v1/nothing").Fails(429, "rate_limited", ""), 0, "40")
	want(org.Read.Post("/v1/contacts", `{`).Fails(429, "rate_limited", ""), 0, "40")
	other.Read.Get("/v1/me").Is(200)
	app.Anonymous().Get("/healthz").Is(200)
	// The window is fixed from its first request.
	app.Clock.Advance(39*time.Second + 699*time.Millisecond)
	want(org.Read.Get("/v1/me").Fails(429, "rate_limited", ""), 0, "1")
	app.Clock.Advance(time.Millisecond)
	if got := rate(org.Read.Get("/v1/me").Is(200)); got != fmt.Sprintf("3 2 %d ", apptest.Start.Add(2*time.Minute).Unix()) {
		t.Errorf("unexpected rate-limit headers in the next window: %q", got)
	}
}

func TestRateLimitOfOneOrganization(t *testing.T) {
	app := apptest.New(t, limited(1))
	org := app.Org("Acme")
	set := func(body string) {
		err := app.Store.Update(context.Background(), org.ID, store.Actor{}, func(tx *store.Tx) error {
			_, err := app.Identity.Configure(tx, apptest.Body(t, apptest.JSONText(body)))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	set(`{"rate_limit_per_minute": 2}`)
	org.Read.Get("/v1/me").Is(200)
	org.Read.Get("/v1/me").Is(200)
	org.Read.Get("/v1/me").Is(429)
	set(`{"rate_limit_per_minute": 0}`)
	if h := org.Read.Get("/v1/me").Is(200).Header; h.Get("X-RateLimit-Limit") != "" {
		t.Error("rate-limit headers are present although there is no limit")
	}
	if org.Read.Get("/v1/organization").Is(200).Int("data.limits.rate_limit_per_minute") != 0 {
		t.Error("the limit is not shown")
	}
	set(`{"rate_limit_per_minute": null}`)
	org.Read.Get("/v1/me").Is(429)
}

func TestNoRateLimit(t *testing.T) {
	app := apptest.New(t, limited(0))
	if h := app.Org("Acme").Read.Get("/v1/me").Is(200).Header; h.Get("X-RateLimit-Limit") != "" {
		t.Error("rate-limit headers are present although there is no limit")
	}
}

func TestOrderOfChecks(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	big := `{"x": "` + strings.Repeat("a", 1<<20) + `"}`
	app.Anonymous().Post("/v1/nothing", big).Is(401)
	org.Read.Post("/v1/nothing", big).Is(404)
	org.Read.Do("PUT", "/v1/contacts", big).Is(405)
	org.Read.Do("POST", "/v1/contacts", big, "Content-Type", "text/plain").Is(403)
	org.Write.Do("POST", "/v1/contacts", big, "Content-Type", "text/plain").Is(415)
	org.Write.Post("/v1/contacts", big).Is(413)
	org.Write.Patch("/v1/contacts/no-uuid", `{`).Is(400)
}

func TestBodies(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	for body, message := range map[string]string{
		`[]`:                          "not an object",
		`null`:                        "not an object",
		`"x"`:                         "not an object",
		` `:                           "unexpected end",
		`{"email": "a@b.example"`:     "unexpected end",
		`{"email": "a@b.example"} {}`: "unexpected data after the object",
		`{"email": "a@b.example"}x`:   "unexpected data after the object",
		`{"email": "a@b.example", "email": "b@b.example"}`:        "duplicate key \"email\"",
		`{"scoring": {"heat_score": "hot", "heat_score": "hot"}}`: "duplicate key",
		"{\"title\": \"\xff\"}":                                   "UTF-8",
		`{"title": "\ud800"}`:                                     "invalid",
		`{"title": 01}`:                                           "invalid",
		`{'title': 1}`:                                            "invalid",
		`{"title": NaN}`:                                          "invalid",
		"{\"title\": \"a\nb\"}":                                   "invalid",
		`{"tags": ` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`: "nested deeper than 512 levels",
		"\xef\xbb\xbf{}": "invalid",
		`{"tags": ` + strings.Repeat("[", 512) + strings.Repeat("]", 512) + `}`: "nested deeper than 512 levels",
	} {
		t.Run(message, func(t *testing.T) {
			org.Write.In(t).Post("/v1/contacts", body).Fails(400, "invalid_json", message)
		})
	}
	org.Write.Do("POST", "/v1/contacts", `{"email": "a@b.example"}`, "Content-Type", "Application/JSON; charset=utf-8").Is(201)
	org.Write.Do("POST", "/v1/contacts", `{"email": "a@b.example"}`, "Content-Encoding", "gzip").Fails(415, "unsupported_media_type", "without a content encoding")
	org.Write.Do("POST", "/v1/contacts", `{"email": "a@b.example"}`, "Content-Encoding", "identity").Is(201)
	org.Write.Post("/v1/contacts", `{"tags": `+strings.Repeat("[", 511)+strings.Repeat("]", 511)+`}`).Is(422)
	id := org.Write.Post("/v1/accounts", `{"name": "A"}`).Is(201).ID()
	org.Write.Patch("/v1/accounts/"+id, nil).Fails(400, "invalid_json", "the request body is missing")
	// Escapes are decoded, also in keys.
	if got := org.Write.Post("/v1/contacts", `{"\u0065mail": "\u0061@b.example", "title": "\ud83d\ude00"}`).Is(201); got.Text("data.email") != "a@b.example" || got.Text("data.title") != "😀" {
		t.Error(string(got.Body))
	}
	// A body of unknown length that is empty.
	req, err := http.NewRequest("POST", app.URL+"/v1/contacts/list", io.MultiReader())
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = -1
	req.Header.Set("Authorization", "Bearer "+org.Read.Key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 200 {
		t.Error("status for an empty body of unknown length:", res.Status)
	}
}

func TestIdempotency(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	post := func(c apptest.Client, path, body, key string) *apptest.Response {
		return c.Do("POST", path, body, "Idempotency-Key", key)
	}
	count := func() int { return org.Read.Post("/v1/contacts/list", nil).Is(200).Int("pagination.total_count") }
	const body = `{"email": "a@x.example"}`
	first := post(org.Write, "/v1/contacts", body, "k").Is(201)
	app.Clock.Advance(time.Hour)
	again := post(org.Write, "/v1/contacts", body, "k").Is(201)
	if string(first.Body) != string(again.Body) || again.Header.Get("Idempotent-Replayed") != "true" || again.Header.Get("ETag") != first.Header.Get("ETag") || count() != 1 {
		t.Errorf("%s\n%s", first.Body, again.Body)
	}
	// Byte for byte, and per path and organization.
	post(org.Write, "/v1/contacts", body+" ", "k").Fails(409, "idempotency_key_reused", "used before with a different request")
	post(org.Write, "/v1/accounts", `{"name": "A"}`, "k").Fails(409, "idempotency_key_reused", "used before with a different request")
	if post(other.Write, "/v1/contacts", body, "k").Is(201).ID() == first.ID() {
		t.Error("an idempotency key of another organization was replayed")
	}
	// Errors are not stored: the same key can be used for a valid request.
	post(org.Write, "/v1/contacts", `{"email": 1}`, "r").Is(422)
	post(org.Write, "/v1/contacts", `{"email": "r@x.example"}`, "r").Is(201)
	// The key is checked after the access, and ignored by other methods and by operations that
	// change nothing.
	post(org.Read, "/v1/contacts", body, "k").Is(403)
	org.Write.Do("PATCH", "/v1/contacts/"+first.ID(), `{"title": "A"}`, "Idempotency-Key", "k").Is(200)
	if h := post(org.Read, "/v1/contacts/list", `{}`, "k").Is(200).Header; h.Get("Idempotent-Replayed") != "" {
		t.Error("a list was replayed")
	}
	post(org.Write, "/v1/contacts", body, strings.Repeat("~ ", 127)+"x").Is(201)
}

// TestIdempotencyOverRestartAndTime checks that stored responses survive a restart and expire after
// 24 hours.
func TestIdempotencyOverRestartAndTime(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	const body = `{"email": "a@x.example"}`
	post := func() *apptest.Response {
		return org.Write.Do("POST", "/v1/contacts", body, "Idempotency-Key", "k").Is(201)
	}
	first := post()
	app.Restart()
	app.Clock.Advance(24*time.Hour - time.Millisecond)
	if post().ID() != first.ID() {
		t.Error("the idempotency key expired too early")
	}
	app.Clock.Advance(time.Millisecond)
	if second := post(); second.ID() == first.ID() || second.Header.Get("Idempotent-Replayed") != "" {
		t.Error("the idempotency key did not expire")
	}
}

// TestIdempotencyAtOnce checks that two concurrent requests with one key count as one.
func TestIdempotencyAtOnce(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	ids := make([]string, 16)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			ids[i] = org.Write.Do("POST", "/v1/contacts", `{"email": "a@x.example"}`, "Idempotency-Key", "k").Is(201).ID()
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatal(ids)
		}
	}
	if n := org.Read.Post("/v1/contacts/list", nil).Is(200).Int("pagination.total_count"); n != 1 {
		t.Errorf("%d contacts", n)
	}
}

func TestVersions(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	made := org.Write.Post("/v1/accounts", `{"name": "A"}`).Is(201)
	path, v1 := "/v1/accounts/"+made.ID(), made.Header.Get("ETag")
	if !regexp.MustCompile(`^"\d+"$`).MatchString(v1) || org.Read.Get(path).Header.Get("ETag") != v1 {
		t.Fatal(v1)
	}
	v2 := org.Write.Do("PATCH", path, `{"name": "B"}`, "If-Match", v1).Is(200).Header.Get("ETag")
	if v2 == v1 {
		t.Fatal("a change did not create a new version")
	}
	org.Write.Do("PATCH", path, `{"name": "C"}`, "If-Match", v1).Fails(412, "precondition_failed", v2)
	org.Write.Do("PATCH", path, `{"name": "C"}`, "If-Match", "W/"+v2).Is(412)
	org.Write.Do("PATCH", path, `{"name": "B"}`, "If-Match", "*").Is(200)
	org.Write.Do("PATCH", path, `{"industry": "X"}`, "If-Match", v1+", "+v2).Is(200)
	org.Write.Do("DELETE", path, nil, "If-Match", v2).Is(412)
	org.Write.Do("DELETE", path, nil, "If-Match", org.Read.Get(path).Header.Get("ETag")).Is(204)
	org.Write.Do("PATCH", path, `{}`, "If-Match", "*").Is(404)
}

func TestRequestIDs(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	for _, id := range []string{"a", "A-z_0.9", strings.Repeat("x", 128)} {
		if got := org.Read.Do("GET", "/v1/me", nil, "X-Request-Id", id).Header.Get("X-Request-Id"); got != id {
			t.Errorf("sent %q, returned %q", id, got)
		}
	}
	for _, id := range []string{"", "a b", "ümlaut", strings.Repeat("x", 129), "a/b"} {
		if got := org.Read.Do("GET", "/v1/me", nil, "X-Request-Id", id).Header.Get("X-Request-Id"); len(got) != 36 {
			t.Errorf("sent %q, returned %q", id, got)
		}
	}
	app.Anonymous().Do("GET", "/v1/me", nil, "X-Request-Id", "denied-1").Is(401)
	app.Stop() // the log line is written after the response
	for _, want := range []string{"request_id=A-z_0.9 method=GET path=/v1/me status=200", "operation=get_me org=" + org.ID.String(), "request_id=denied-1 method=GET path=/v1/me status=401"} {
		if !strings.Contains(app.Log.String(), want) {
			t.Errorf("the log has no %q", want)
		}
	}
	if strings.Contains(app.Log.String(), org.Read.Key) {
		t.Error("the log has an API key")
	}
}

// TestChangeLogHasTheActor checks that the change log contains who made each change.
func TestChangeLogHasTheActor(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	id := org.Write.Do("POST", "/v1/contacts", `{"email": "a@x.example"}`, "X-Request-Id", "r-1").Is(201).ID()
	org.Write.Do("PATCH", "/v1/contacts/"+id, `{"title": "CEO", "location": "Berlin", "email": "a@x.example"}`, "X-Request-Id", "r-2").Is(200)
	org.Write.Do("DELETE", "/v1/contacts/"+id, nil, "X-Request-Id", "r-3").Is(204)
	var got []string
	err := app.Store.View(org.ID, func(tx *store.Tx) error {
		return tx.Changes("contacts", 0, func(c store.Change) (bool, error) {
			if c.Actor.User != org.User || c.Actor.Key.String() == "" || c.ID.String() != id {
				t.Errorf("%+v", c)
			}
			got = append(got, fmt.Sprintf("%c %s %s %v", c.Op, c.Actor.Operation, c.Actor.RequestID, c.Fields))
			return true, nil
		})
	})
	changes := []string{"c create_contact r-1 []", "u update_contact r-2 [title location]", "d delete_contact r-3 []"}
	if err != nil || !slices.Equal(got, changes) {
		t.Errorf("the changes are %q, want %q: %v", got, changes, err)
	}
}

func TestService(t *testing.T) {
	app := apptest.New(t)
	nobody := app.Anonymous()
	nobody.Get("/healthz").Is(200, `{"data": {"status": "ok"}, "meta": {"timestamp": "<time>"}}`)
	nobody.Get("/readyz").Is(200, `{"data": {"status": "ok"}, "meta": {"timestamp": "<time>"}}`)
	doc := nobody.Get("/openapi.json").Is(200)
	if doc.Text("openapi") != "3.1.0" || doc.Text("info.version") != "1.0.0" {
		t.Error(string(doc.Body))
	}
	paths := doc.Value("paths").(map[string]any)
	for _, op := range app.API.Operations() {
		method := paths[op.Path].(map[string]any)[strings.ToLower(op.Method)].(map[string]any)
		needs := "Requires no API key."
		if op.Access != handlers.Public {
			needs = "Requires an API key with " + string(op.Access) + " access."
		}
		if op.Access == handlers.SignedIn {
			needs = "Requires a session. An API key cannot perform it."
		}
		if method["operationId"] != op.Name || method["summary"] == "" || method["description"] != needs {
			t.Errorf("%s is documented as %v", op.Name, method)
		}
	}
	app.API.Drain()
	nobody.Get("/readyz").Fails(503, "unavailable", "shutting down")
	nobody.Get("/healthz").Is(200)
}

// TestHEAD checks that HEAD responds like GET without a body. It reads the raw connection, on which
// the next response must follow immediately, because a client library would hide a body.
func TestHEAD(t *testing.T) {
	app := apptest.New(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(app.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\nHEAD /v1/me HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	answers, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	heads := strings.Split(string(answers), "HTTP/1.1 ")
	if len(heads) != 4 || !strings.HasPrefix(heads[1], "200") || !strings.HasSuffix(heads[1], "\r\n\r\n") ||
		!strings.HasPrefix(heads[2], "401") || !strings.HasSuffix(heads[2], "\r\n\r\n") || !strings.HasSuffix(heads[3], "}}") {
		t.Errorf("%s", answers)
	}
}

// TestCostlyBodies checks that bodies that would be expensive to process are refused early.
func TestCostlyBodies(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	var ids []string
	for range 1001 {
		ids = append(ids, `"`+uuid.NewString()+`"`)
	}
	org.Write.Post("/v1/contacts", `{"email": "a@x.example", "tags": [`+strings.Join(ids, ",")+`]}`).Fails(422, "validation_failed", "tags: must have at most 1000 entries")
	many := org.Write.Post("/v1/contacts", `{"email": "a@x.example", "tags": [`+strings.Join(ids[:1000], ",")+`], "x": 1}`).Fails(422, "validation_failed", "x: unknown field")
	if n := len(many.Value("error.details").([]any)); n != 1001 {
		t.Errorf("%d details", n)
	}
	org.Write.Post("/v1/accounts", `{"name": "A", "annual_revenue": 9007199254740992.`+strings.Repeat("0", 1<<19)+`}`).Fails(422, "validation_failed", "annual_revenue: must be between")
	org.Write.Post("/v1/accounts", `{"name": "A", "annual_revenue": 9007199254740992.000}`).Is(201)
	var unknown []string
	for i := range 1500 {
		unknown = append(unknown, fmt.Sprintf(`"x%d": 1`, i))
	}
	refused := org.Write.Post("/v1/accounts", `{"name": "A", `+strings.Join(unknown, ",")+`}`).Fails(422, "validation_failed", "x0: unknown field")
	details := refused.Value("error.details").([]any)
	if last := fmt.Sprint(details[len(details)-1]); len(details) != 1001 || !strings.Contains(last, "first of 1500 problems; 500 are not listed") {
		t.Error(len(details), last)
	}
}

func TestQueries(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	org.Read.Get("/v1/me?b=1&a=2").Is(422, `{"error": {"code": "validation_failed", "message": "a: unknown query parameter", "details": [
		{"path": "a", "message": "unknown query parameter"}, {"path": "b", "message": "unknown query parameter"}]}}`)
	org.Read.Get("/v1/me?%zz").Fails(422, "validation_failed", "query: malformed")
	org.Read.Get("/v1/me?").Is(200)
}

// TestUnavailable checks that the service is unavailable when the store is closed.
func TestUnavailable(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	if err := app.Store.Close(); err != nil {
		t.Fatal(err)
	}
	org.Write.Post("/v1/contacts", `{"email": "a@x.example"}`).Fails(503, "unavailable", "shutting down")
	if again := org.Read.Get("/v1/me").Fails(503, "unavailable", "shutting down").Header.Get("Retry-After"); again != "5" {
		t.Errorf("Retry-After is %q", again)
	}
	app.Anonymous().Get("/readyz").Fails(503, "unavailable", "shutting down")
}
