package webhook_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"prospector/cmd"
	"prospector/internal/apptest"
)

// TestWebhookEnvelope compares a delivery with the specification in every detail.
func TestWebhookEnvelope(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := apptest.NewReceiver(t)
	rec.Subscribe(org, "contact.*")
	app.Clock.Advance(1500 * time.Millisecond)
	contact := org.Write.Post("/v1/contacts", `{"email": "a@b.example", "first_name": "Æ <&> \u2028"}`).Is(201)
	app.Clock.Advance(time.Minute)
	app.Deliver()
	got := rec.One()
	e := got.Event(t)
	if diff := apptest.Diff(`{"id": "<id>", "trigger_key": "contact.created", "created_at": "2026-03-02T09:00:01.500Z", "org_id": "`+org.ID.String()+`", "user_id": "`+org.User.String()+`", "data": "<any>"}`, got.Body); diff != "" {
		t.Error(diff)
	}
	if read := org.Read.Get("/v1/contacts/" + contact.ID()).Is(200); string(e.Data) != string(apptest.DataOf(read)) {
		t.Errorf("sent\n%s, GET returns\n%s", e.Data, apptest.DataOf(read))
	}
	h := got.Header
	if h.Get("webhook-id") != e.ID || h.Get("webhook-timestamp") != strconv.FormatInt(app.Clock.Now().Unix(), 10) || h.Get("content-type") != "application/json" || got.Signatures() != 1 {
		t.Errorf("%v", h)
	}
	app.Deliver()
	if again := rec.Take(); len(again) > 0 {
		t.Errorf("unexpected redelivery: %v", again)
	}
}

// TestWebhookVerify verifies events with the library, including the time, and requires that altered
// events are refused.
func TestWebhookVerify(t *testing.T) {
	app := apptest.New(t)
	app.Clock.Advance(time.Since(app.Clock.Now()))
	org := app.Org("Acme")
	rec := apptest.NewReceiver(t)
	res := org.Admin.Post(apptest.SubscriptionsPath, map[string]any{"url": rec.URL, "triggers": []string{"*"}}).Is(201)
	verifier, err := standardwebhooks.NewWebhook(res.Text("data.secret"))
	if err != nil {
		t.Fatal(err)
	}
	org.Write.Post("/v1/accounts", `{"name": "Globex"}`).Is(201)
	app.Deliver()
	sent := rec.One()
	if err := verifier.Verify([]byte(sent.Body), sent.Header); err != nil {
		t.Error(err)
	}
	refuses := func(what string, body string, want error, header ...string) {
		t.Helper()
		h := sent.Header.Clone()
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		if err := verifier.Verify([]byte(body), h); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	tampered := standardwebhooks.ErrNoMatchingSignature
	refuses("another body", strings.Replace(sent.Body, "Globex", "Globe", 1), tampered)
	refuses("a space more", sent.Body+" ", tampered)
	refuses("another id", sent.Body, tampered, "webhook-id", res.ID())
	refuses("another time", sent.Body, tampered, "webhook-timestamp", fmt.Sprint(app.Clock.Now().Unix()-60))
	refuses("no signature", sent.Body, standardwebhooks.ErrRequiredHeaders, "webhook-signature", "")

	app.Clock.Advance(-10 * time.Minute)
	org.Admin.Post(apptest.SubscriptionsPath+"/"+res.ID()+"/test", nil).Is(202)
	app.Deliver()
	sent = rec.One()
	refuses("a stale one", sent.Body, standardwebhooks.ErrMessageTooOld)
	if err := verifier.VerifyIgnoringTimestamp([]byte(sent.Body), sent.Header); err != nil {
		t.Error(err)
	}
}

// TestWebhookRotation checks that deliveries are also signed with the old secret for one day.
func TestWebhookRotation(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := apptest.NewReceiver(t)
	created := org.Admin.Post(apptest.SubscriptionsPath, map[string]any{"url": rec.URL, "triggers": []string{"*"}}).Is(201)
	path := apptest.SubscriptionsPath + "/" + created.ID()
	secrets := []string{created.Text("data.secret")}
	// signedWith returns which of the secrets sign the next delivery.
	signedWith := func(what string, want ...int) {
		t.Helper()
		org.Admin.Post(path+"/test", nil).Is(202)
		app.Deliver()
		sent := rec.One()
		var got []int
		for i, secret := range secrets {
			if sent.Verifies(secret) == nil {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, want) || sent.Signatures() != len(want) {
			t.Errorf("%s: signed with %v, want %v: %s", what, got, want, sent.Header.Get("webhook-signature"))
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
	rec.Answers(500)
	org.Write.Post("/v1/accounts", `{"name": "Globex"}`).Is(201)
	app.Deliver()
	rec.One()
	rotate()
	rec.Answers(200)
	app.Clock.Advance(time.Minute)
	app.Deliver()
	if sent := rec.One(); sent.Verifies(secrets[2]) != nil || sent.Verifies(secrets[3]) != nil {
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
	rec := apptest.NewReceiver(t)
	body := map[string]any{"url": rec.URL, "triggers": []string{"*"}}
	created := org.Admin.Do("POST", apptest.SubscriptionsPath, body, "Idempotency-Key", "k").Is(201)
	path := apptest.SubscriptionsPath + "/" + created.ID()
	again := org.Admin.Do("POST", apptest.SubscriptionsPath, body, "Idempotency-Key", "k").Is(201)
	rotated := org.Admin.Do("POST", path+"/rotate-secret", nil, "Idempotency-Key", "r").Is(200)
	rotatedAgain := org.Admin.Do("POST", path+"/rotate-secret", nil, "Idempotency-Key", "r").Is(200)
	secrets := []string{created.Text("data.secret"), rotated.Text("data.secret")}
	org.Write.Post("/v1/accounts", `{"name": "Globex"}`).Is(201)
	app.Deliver()
	attempt := apptest.AttemptDelivery(app, org, created.ID())
	shown := []*apptest.Response{again, rotatedAgain, org.Read.Get(path), org.Admin.Get(path), org.Read.Post(apptest.SubscriptionsPath+"/list", nil),
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
	for _, h := range rec.Take() {
		texts = append(texts, h.Body, fmt.Sprint(h.Header))
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
