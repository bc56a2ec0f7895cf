package handlers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"prospector/cmd"
	"prospector/internal/apptest"
)

const hooksPath = "/v1/webhooks/subscriptions"

// hook is a request that a receiver got.
type hook struct {
	header http.Header
	body   string
	path   string
}

// receiver is the endpoint of a subscriber. answer, if set, replaces the 200 response. Requests to
// a path with a known secret are verified by an independent library.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	got     []hook
	answer  http.HandlerFunc
	secrets map[string]string // by path
	t       *testing.T
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{secrets: map[string]string{}, t: t}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		h := hook{req.Header, string(body), req.URL.Path}
		r.mu.Lock()
		r.got = append(r.got, h)
		answer, secret := r.answer, r.secrets[h.path]
		r.mu.Unlock()
		if secret != "" {
			if err := h.verifies(secret); err != nil {
				t.Errorf("%s %v: %v", h.path, h.header, err)
			}
		}
		if answer != nil {
			answer(w, req)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) all() []hook {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]hook{}, r.got...)
}

// take returns the requests since the last call, in the order of the events.
func (r *receiver) take() []hook {
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.got
	r.got = nil
	slices.SortStableFunc(got, func(a, b hook) int { return strings.Compare(a.event(r.t).ID, b.event(r.t).ID) })
	return got
}

// one returns the only request since the last call.
func (r *receiver) one() hook {
	r.t.Helper()
	got := r.take()
	if len(got) != 1 {
		r.t.Fatalf("%d deliveries arrived, want one: %v", len(got), got)
	}
	return got[0]
}

func (r *receiver) answers(status int) {
	r.answersWith(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
}

func (r *receiver) answersWith(answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// subscribe subscribes a new path of the receiver.
func (r *receiver) subscribe(o *apptest.Org, triggers ...string) (id string) {
	r.t.Helper()
	r.mu.Lock()
	path := fmt.Sprintf("/%d", len(r.secrets))
	r.mu.Unlock()
	res := o.Admin.Post(hooksPath, map[string]any{"url": r.URL + path, "triggers": triggers}).Is(201)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets[path] = res.Text("data.secret")
	return res.ID()
}

// wants requires exactly these requests since the last call: the path, the trigger, and the name of
// the object.
func (r *receiver) wants(what string, names map[string]string, want ...string) {
	r.t.Helper()
	var got []string
	for _, h := range r.take() {
		e := h.event(r.t)
		var object struct{ ID string }
		if err := json.Unmarshal(e.Data, &object); err != nil {
			r.t.Fatal(err)
		}
		name := object.ID
		for n, id := range names {
			if id == object.ID {
				name = n
			}
		}
		got = append(got, strings.TrimSpace(h.path+" "+e.TriggerKey+" "+name))
	}
	if !slices.Equal(sorted(got), sorted(want)) {
		r.t.Errorf("%s: got\n%s\nwant\n%s", what, strings.Join(sorted(got), "\n"), strings.Join(sorted(want), "\n"))
	}
}

// event is an envelope as a subscriber decodes it.
type event struct {
	ID         string          `json:"id"`
	TriggerKey string          `json:"trigger_key"`
	CreatedAt  string          `json:"created_at"`
	OrgID      string          `json:"org_id"`
	UserID     string          `json:"user_id"`
	Changed    []string        `json:"changed"`
	Data       json.RawMessage `json:"data"`
}

func (h hook) event(t *testing.T) (e event) {
	t.Helper()
	if err := json.Unmarshal([]byte(h.body), &e); err != nil {
		t.Fatalf("%s: %v", h.body, err)
	}
	return e
}

// verifies verifies the signature, ignoring the time.
func (h hook) verifies(secret string) error {
	v, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return err
	}
	return v.VerifyIgnoringTimestamp([]byte(h.body), h.header)
}

// signatures returns the number of signatures.
func (h hook) signatures() int { return len(strings.Fields(h.header.Get("webhook-signature"))) }

// attempted tests a subscription, and returns the id of the attempt.
func attempted(app *apptest.App, o *apptest.Org, subscription string) string {
	o.Admin.Post(hooksPath+"/"+subscription+"/test", nil).Is(202)
	app.Deliver()
	return o.Read.Get(hooksPath + "/" + subscription + "/deliveries").Is(200).Text("data.0.id")
}

// hasPending requires that n deliveries are pending.
func hasPending(t *testing.T, app *apptest.App, want int) {
	t.Helper()
	if got, err := app.Webhooks.Pending(); got != want || err != nil {
		t.Errorf("%d deliveries wait, want %d: %v", got, want, err)
	}
}

// TestWebhookEnvelope compares a delivery with the specification in every detail.
func TestWebhookEnvelope(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := newReceiver(t)
	rec.subscribe(org, "contact.*")
	app.Clock.Advance(1500 * time.Millisecond)
	contact := org.Write.Post("/v1/contacts", `{"email": "a@b.example", "first_name": "Æ <&> \u2028"}`).Is(201)
	app.Clock.Advance(time.Minute)
	app.Deliver()
	got := rec.one()
	e := got.event(t)
	if diff := apptest.Diff(`{"id": "<id>", "trigger_key": "contact.created", "created_at": "2026-03-02T09:00:01.500Z", "org_id": "`+org.ID.String()+`", "user_id": "`+org.User.String()+`", "data": "<any>"}`, got.body); diff != "" {
		t.Error(diff)
	}
	if read := org.Read.Get("/v1/contacts/" + contact.ID()).Is(200); string(e.Data) != string(dataOf(read)) {
		t.Errorf("sent\n%s, GET returns\n%s", e.Data, dataOf(read))
	}
	h := got.header
	if h.Get("webhook-id") != e.ID || h.Get("webhook-timestamp") != strconv.FormatInt(app.Clock.Now().Unix(), 10) || h.Get("content-type") != "application/json" || got.signatures() != 1 {
		t.Errorf("%v", h)
	}
	app.Deliver()
	if again := rec.take(); len(again) > 0 {
		t.Errorf("unexpected redelivery: %v", again)
	}
}

// TestWebhookVerify verifies events with the library, including the time, and requires that altered
// events are refused.
func TestWebhookVerify(t *testing.T) {
	app := apptest.New(t)
	app.Clock.Advance(time.Since(app.Clock.Now()))
	org := app.Org("Acme")
	rec := newReceiver(t)
	res := org.Admin.Post(hooksPath, map[string]any{"url": rec.URL, "triggers": []string{"*"}}).Is(201)
	verifier, err := standardwebhooks.NewWebhook(res.Text("data.secret"))
	if err != nil {
		t.Fatal(err)
	}
	org.Write.Post("/v1/accounts", `{"name": "Globex"}`).Is(201)
	app.Deliver()
	sent := rec.one()
	if err := verifier.Verify([]byte(sent.body), sent.header); err != nil {
		t.Error(err)
	}
	refuses := func(what string, body string, want error, header ...string) {
		t.Helper()
		h := sent.header.Clone()
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		if err := verifier.Verify([]byte(body), h); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	tampered := standardwebhooks.ErrNoMatchingSignature
	refuses("another body", strings.Replace(sent.body, "Globex", "Globe", 1), tampered)
	refuses("a space more", sent.body+" ", tampered)
	refuses("another id", sent.body, tampered, "webhook-id", res.ID())
	refuses("another time", sent.body, tampered, "webhook-timestamp", fmt.Sprint(app.Clock.Now().Unix()-60))
	refuses("no signature", sent.body, standardwebhooks.ErrRequiredHeaders, "webhook-signature", "")

	app.Clock.Advance(-10 * time.Minute)
	org.Admin.Post(hooksPath+"/"+res.ID()+"/test", nil).Is(202)
	app.Deliver()
	sent = rec.one()
	refuses("a stale one", sent.body, standardwebhooks.ErrMessageTooOld)
	if err := verifier.VerifyIgnoringTimestamp([]byte(sent.body), sent.header); err != nil {
		t.Error(err)
	}
}

// TestWebhookRotation checks that deliveries are also signed with the old secret for one day.
func TestWebhookRotation(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := newReceiver(t)
	created := org.Admin.Post(hooksPath, map[string]any{"url": rec.URL, "triggers": []string{"*"}}).Is(201)
	path := hooksPath + "/" + created.ID()
	secrets := []string{created.Text("data.secret")}
	// signedWith returns which of the secrets sign the next delivery.
	signedWith := func(what string, want ...int) {
		t.Helper()
		org.Admin.Post(path+"/test", nil).Is(202)
		app.Deliver()
		sent := rec.one()
		var got []int
		for i, secret := range secrets {
			if sent.verifies(secret) == nil {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, want) || sent.signatures() != len(want) {
			t.Errorf("%s: signed with %v, want %v: %s", what, got, want, sent.header.Get("webhook-signature"))
		}
	}
	rotate := func() {
		t.Helper()
		before := org.Read.Get(path).Is(200)
		res := org.Admin.Post(path+"/rotate-secret", nil).Is(200)
		for _, secret := range secrets {
			if res.Text("data.secret") == secret {
				t.Error("rotation returned an old secret")
			}
		}
		if after := org.Read.Get(path).Is(200); after.Header.Get("ETag") == before.Header.Get("ETag") || after.Header.Get("ETag") != res.Header.Get("ETag") {
			t.Errorf("the ETag was %s and is %s", before.Header.Get("ETag"), after.Header.Get("ETag"))
		}
		secrets = append(secrets, res.Text("data.secret"))
	}
	signedWith("one secret", 0)
	rotate()
	signedWith("rotated", 0, 1)
	app.Clock.Advance(12 * time.Hour)
	rotate()
	signedWith("rotated twice", 0, 1, 2)
	app.Clock.Advance(12*time.Hour - time.Millisecond)
	signedWith("just before the day is over", 0, 1, 2)
	app.Clock.Advance(time.Millisecond)
	signedWith("a day later", 1, 2)
	app.Clock.Advance(12 * time.Hour)
	signedWith("a day after the second", 2)

	// Pending deliveries are signed with the secrets that are valid at the time of the attempt.
	rec.answers(500)
	org.Write.Post("/v1/accounts", `{"name": "Globex"}`).Is(201)
	app.Deliver()
	rec.one()
	rotate()
	rec.answers(200)
	app.Clock.Advance(time.Minute)
	app.Deliver()
	if sent := rec.one(); sent.verifies(secrets[2]) != nil || sent.verifies(secrets[3]) != nil {
		t.Error("the retried request is not signed with both secrets")
	}
	app.Restart()
	signedWith("after a restart", 2, 3)
}

// TestWebhookSecretHidden searches for the secret everywhere except in the response that contained
// it.
func TestWebhookSecretHidden(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := newReceiver(t)
	body := map[string]any{"url": rec.URL, "triggers": []string{"*"}}
	created := org.Admin.Do("POST", hooksPath, body, "Idempotency-Key", "k").Is(201)
	path := hooksPath + "/" + created.ID()
	again := org.Admin.Do("POST", hooksPath, body, "Idempotency-Key", "k").Is(201)
	rotated := org.Admin.Do("POST", path+"/rotate-secret", nil, "Idempotency-Key", "r").Is(200)
	rotatedAgain := org.Admin.Do("POST", path+"/rotate-secret", nil, "Idempotency-Key", "r").Is(200)
	secrets := []string{created.Text("data.secret"), rotated.Text("data.secret")}
	org.Write.Post("/v1/accounts", `{"name": "Globex"}`).Is(201)
	app.Deliver()
	attempt := attempted(app, org, created.ID())
	shown := []*apptest.Response{again, rotatedAgain, org.Read.Get(path), org.Admin.Get(path), org.Read.Post(hooksPath+"/list", nil),
		org.Admin.Patch(path, `{"description": "d"}`), org.Read.Get(path + "/deliveries"), org.Admin.Post(path+"/deliveries/"+attempt+"/redeliver", nil),
		app.Anonymous().Get("/metrics")}
	app.Deliver()
	var texts []string
	for _, res := range shown {
		texts = append(texts, string(res.Body))
		if strings.HasPrefix(string(res.Body), "{") && strings.Contains(string(res.Body), "secret") {
			t.Errorf("%s", res.Body)
		}
	}
	for _, h := range rec.take() {
		texts = append(texts, h.body, fmt.Sprint(h.header))
	}
	app.Stop()
	texts = append(texts, app.Log.String())
	file := filepath.Join(t.TempDir(), "acme")
	var out strings.Builder
	if code := cmd.Execute([]string{"org", "export", file, "--org", org.ID.String(), "--data-dir", app.Config.DataDir}, &out, &out); code != 0 {
		t.Fatal(out.String())
	}
	export, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	app.Start()
	if texts = append(texts, string(export), out.String()); !strings.Contains(string(export), created.ID()) {
		t.Errorf("the export lacks the subscription: %.300s", export)
	}
	for _, secret := range secrets {
		bare := strings.TrimPrefix(secret, "whsec_")
		for _, text := range texts {
			if strings.Contains(text, bare) || strings.Contains(text, "whsec_") {
				t.Errorf("the secret appears in %.500s", text)
			}
		}
	}
}
