package handlers_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/service"
	"prospector/store"
)

func TestSessionEnds(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	ended := func(c apptest.Client) {
		t.Helper()
		c.Get("/v1/me").Is(401, `{"detail": "the session has ended; sign in again"}`)
	}
	current := func(c apptest.Client) string {
		sessions := c.Get("/v1/sessions").Is(200)
		at := slices.Index(sessions.Column("current"), "true")
		if at < 0 {
			t.Fatalf("no session is the current one: %s", sessions.Body)
		}
		return sessions.Column("id")[at]
	}

	// Signing out, and ending another session of the user.
	first, second := org.Session(), org.Session()
	first.Delete("/v1/sessions/" + current(second)).Is(204)
	ended(second)
	res := first.Delete("/v1/sessions/current").Is(204)
	if res.Header.Get("Clear-Site-Data") != `"cache", "storage"` || !strings.Contains(res.Header.Get("Set-Cookie"), "prospector_session=;") {
		t.Fatal(res.Header)
	}
	ended(first)

	// No use for 12 hours. Each request counts, also across restarts.
	idle := org.Session()
	for range 3 {
		app.Clock.Advance(12*time.Hour - time.Second)
		idle.Get("/v1/me").Is(200)
	}
	app.Clock.Advance(12 * time.Hour)
	ended(idle)

	// 30 days, whatever the use.
	old := org.Session()
	for range 60 {
		app.Clock.Advance(12*time.Hour - time.Minute)
		old.Get("/v1/me").Is(200)
	}
	sessions := old.Get("/v1/sessions").Is(200)
	at := slices.Index(sessions.Column("current"), "true")
	if idle, last := sessions.Column("idle_expires_at")[at], sessions.Column("expires_at")[at]; idle != last {
		t.Errorf("without use the session ends at %s, with use at %s", idle, last)
	}
	app.Clock.Advance(time.Hour)
	ended(old)

	// Another password ends the other sessions, deactivation all.
	own, other := org.Session(), org.Session()
	apptest.Shows(t, own.Patch("/v1/me", `{"password": "correct horse battery", "first_name": "Augusta"}`).Is(200), `{"data.user_first_name": "Augusta"}`)
	ended(other)
	own.Patch("/v1/me", `{"password": "another horse", "old_password": "wrong"}`).Fails(422, "validation_failed", "old_password: is not the current password")
	own.Patch("/v1/me", `{"password": "short", "old_password": "correct horse battery"}`).Fails(422, "validation_failed", "password: must have")
	for weak, why := range map[string]string{
		"password12": "it is a common password; use four or more unrelated words", "ada@acme.example": "it contains your name, your address or",
	} {
		own.Patch("/v1/me", `{"password": "`+weak+`", "old_password": "correct horse battery"}`).
			Fails(422, "validation_failed", "password: is too easy to guess: "+why)
	}
	own.Patch("/v1/me", `{"password": "yet another horse", "old_password": "correct horse battery"}`).Is(200)
	apptest.SignIn(app, "ada@acme.example", "yet another horse").Is(201)
	admin := org.Admin.Post("/v1/api-keys", map[string]any{"name": "another", "access": "admin", "user_id": apptest.Makers["users"](org)}).Is(201)
	as := app.Anonymous()
	as.Key = admin.Text("data.key")
	as.Post("/v1/users/"+org.User.String()+"/deactivate", `{}`).Is(200)
	ended(own)
	apptest.SignIn(app, "ada@acme.example", "yet another horse").Is(401)
	as.Post("/v1/users/"+org.User.String()+"/activate", `{}`).Is(200)
	ended(own)
}

func TestAPIKeyIsNoSession(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	org.Admin.Get("/v1/sessions").Fails(403, "forbidden", "requires a session")
	apptest.SignIn(app, "ada@acme.example", org.Admin.Key).Is(401)
	app.Anonymous().Post("/v1/sessions/redeem", map[string]string{"token": org.Admin.Key}).Is(401)
	as := app.Anonymous()
	as.Cookie = "prospector_session=" + org.Admin.Key
	as.Get("/v1/me").Is(401)

	// A request with both a key and a cookie is one of the key.
	both := org.Session()
	both.Key = org.Read.Key
	apptest.Shows(t, both.Get("/v1/me").Is(200), `{"data.access": "read"}`)
	both.Get("/v1/sessions").Fails(403, "forbidden", "requires a session")
	both.Key = "pro_unknown"
	both.Get("/v1/me").Is(401)
}

func TestSessionEvents(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := apptest.NewReceiver(t)
	hook := rec.Subscribe(org, "contact.created")
	user := apptest.Makers["users"](org)
	link := org.Admin.Post("/v1/users/"+user+"/invite", `{}`).Is(200).Text("data.url")
	session := app.Redeem(link[strings.Index(link, "=")+1:])
	contact := session.Post("/v1/contacts", `{"email": "bill@initech.example"}`).Is(201).ID()
	apptest.Shows(t, session.Get("/v1/contacts/"+contact+"/history").Is(200), `{"data.0.user_id": "`+user+`", "data.0.key_id": null}`)
	app.Deliver()
	if e := rec.One().Event(t); e.UserID != user {
		t.Errorf("the event is %+v", e)
	}
	attempt := org.Read.Get(apptest.SubscriptionsPath + "/" + hook + "/deliveries").Is(200).Text("data.0.id")
	org.Admin.Post(apptest.SubscriptionsPath+"/"+hook+"/deliveries/"+attempt+"/redeliver", nil).Is(202)
	app.Deliver()
	if e := rec.One().Event(t); e.UserID != user {
		t.Errorf("the redelivered event is %+v", e)
	}
	org.Write.Post("/v1/contacts", `{"email": "peter@initech.example"}`).Is(201)
	app.Deliver()
	if e := rec.One().Event(t); e.UserID != org.User.String() {
		t.Errorf("the event of a change with a key is %+v", e)
	}
	err := app.Store.Update(t.Context(), org.ID, store.Actor{}, func(tx *store.Tx) error {
		return tx.Emit(store.Event{Trigger: "contact.created", ID: uuid.MustParse(contact), Data: []byte(`{"id": "` + contact + `"}`)})
	})
	if err != nil {
		t.Fatal(err)
	}
	app.Deliver()
	if h := rec.One(); !strings.Contains(h.Body, `"user_id":null`) {
		t.Errorf("the event of the service is %s", h.Body)
	}
}

func TestSessionAcrossRestart(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	session := org.Session()
	app.Restart()
	session.Get("/v1/me").Is(200)
}

func TestCrossSite(t *testing.T) {
	app := apptest.New(t)
	session := app.Org("Acme").Session()
	for name, headers := range map[string][]string{
		"no header":         {"X-Prospector-Console", ""},
		"another value":     {"X-Prospector-Console", "yes"},
		"a foreign origin":  {"Origin", "https://elsewhere.example"},
		"an opaque origin":  {"Origin", "null"},
		"another port":      {"Origin", "http://127.0.0.1:1"},
		"a similar host":    {"Origin", app.URL + ".elsewhere.example"},
		"no origin":         {"Origin", ""},
		"a referrer's path": {"Origin", "https://elsewhere.example/" + app.URL},
	} {
		t.Run(name, func(t *testing.T) {
			session.In(t).Do("POST", "/v1/contacts", `{"email": "bill@initech.example"}`, headers...).Fails(403, "forbidden", "")
			if name != "no origin" {
				session.In(t).Do("GET", "/v1/me", nil, headers...).Fails(403, "forbidden", "")
			}
		})
	}
	session.Do("GET", "/v1/me", nil, "Origin", app.URL).Is(200)
	apptest.Shows(t, session.Post("/v1/contacts/list", `{}`).Is(200), `{"pagination.total_count": 0}`)
}

func TestSessionRate(t *testing.T) {
	app := apptest.New(t, func(c *service.Config) { c.RateLimit.PerMinute = 1 })
	org := app.Org("Acme")
	session := org.Session()
	org.Read.Get("/v1/me").Is(200)
	org.Read.Get("/v1/me").Fails(429, "rate_limited", "")
	if limit := session.Get("/v1/me").Is(200).Header.Get("X-RateLimit-Limit"); limit != "600" {
		t.Errorf("the limit is %s", limit)
	}
	same := org.Session() // of the same user
	for range 599 {
		same.Get("/v1/me").Is(200)
	}
	if wait := session.Get("/v1/me").Fails(429, "rate_limited", "").Header.Get("Retry-After"); wait == "" {
		t.Error("there is no Retry-After")
	}
}

func TestSecureCookie(t *testing.T) {
	app := apptest.New(t, func(c *service.Config) { c.PublicURL = "https://crm.example.com" })
	org := app.Org("Acme")
	apptest.SetPassword(t, app, org, apptest.Password)
	signedIn := apptest.SignIn(app, "ada@acme.example", apptest.Password).Is(201)
	isSecure := func(h http.Header) {
		t.Helper()
		cookie, err := http.ParseSetCookie(h.Get("Set-Cookie"))
		if err != nil || cookie.Name != "__Host-prospector_session" || !cookie.Secure || cookie.Path != "/" || cookie.Domain != "" {
			t.Errorf("the cookie is %v, %v", cookie, err)
		}
		if h.Get("Strict-Transport-Security") != "max-age=31536000" {
			t.Errorf("Strict-Transport-Security is %q", h.Get("Strict-Transport-Security"))
		}
	}
	isSecure(signedIn.Header)
	for _, path := range []string{"/app/", "/docs", "/v1/accounts", "/healthz"} { // pages, and errors too
		if res := app.Anonymous().Get(path); res.Header.Get("Strict-Transport-Security") == "" {
			t.Errorf("%s has no Strict-Transport-Security", path)
		}
	}
	session := org.Session()
	session.Get("/v1/me").Is(200)
	isSecure(session.Do("DELETE", "/v1/sessions/current", nil, "Origin", "https://crm.example.com").Is(204).Header)
	session = org.Session()
	unprefixed := session
	unprefixed.Cookie = strings.TrimPrefix(session.Cookie, "__Host-") // which a page of another host of the domain can set
	unprefixed.Get("/v1/me").Is(401)
	session.Do("POST", "/v1/contacts", `{"email": "bill@initech.example"}`, "Origin", "https://crm.example.com").Is(201)
	session.Do("POST", "/v1/contacts", `{"email": "bill@initech.example"}`, "Origin", "http://crm.example.com").Fails(403, "forbidden", "Origin")

	// Under TLS, without public_url.
	plain := apptest.New(t)
	apptest.SetPassword(t, plain, plain.Org("Acme"), apptest.Password)
	req := httptest.NewRequest("POST", "https://crm.example.com/v1/sessions", strings.NewReader(`{"email": "ada@acme.example", "password": "`+apptest.Password+`"}`))
	req.Header.Set("Content-Type", "application/json")
	res := httptest.NewRecorder()
	plain.API.ServeHTTP(res, req)
	if res.Code != 201 {
		t.Errorf("%d: %s", res.Code, res.Body)
	}
	isSecure(res.Header())
	if res := apptest.SignIn(plain, "ada@acme.example", apptest.Password).Is(201); res.Header.Get("Strict-Transport-Security") != "" || !strings.HasPrefix(res.Cookie(), "prospector_session=") {
		t.Errorf("without TLS, the header is %v", res.Header)
	}
}

// TestPreferences checks that each user has preferences, which only sessions of the user see.
func TestPreferences(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	session := org.Session()
	session.Get("/v1/me/preferences").Is(200, `{"data": {"values": {}}, "meta": "<any>"}`)
	session.Do("PUT", "/v1/me/preferences", `{"values": {"theme": "dark", "columns": {"contacts": ["name", "title"]}}}`).Is(200)
	app.Restart()
	session.Get("/v1/me/preferences").Is(200, `{"data": {"values": {"theme": "dark", "columns": {"contacts": ["name", "title"]}}}, "meta": "<any>"}`)
	session.Do("PUT", "/v1/me/preferences", `{"values": {"theme": "light"}}`).Is(200, `{"data": {"values": {"theme": "light"}}, "meta": "<any>"}`)
	org.Session().Get("/v1/me/preferences").Is(200, `{"data": {"values": {"theme": "light"}}, "meta": "<any>"}`)

	link := org.Admin.Post("/v1/users/"+apptest.Makers["users"](org)+"/invite", `{}`).Is(200).Text("data.url")
	eve := app.Redeem(link[strings.Index(link, "=")+1:])
	eve.Get("/v1/me/preferences").Is(200, `{"data": {"values": {}}, "meta": "<any>"}`)
	org.Admin.Patch("/v1/users/"+org.User.String(), `{"access": "read"}`).Is(200)
	session.Do("PUT", "/v1/me/preferences", `{"values": {"theme": "dark"}}`).Is(200)

	session.Do("PUT", "/v1/me/preferences", `{}`).Fails(422, "validation_failed", "values: required")
	session.Do("PUT", "/v1/me/preferences", `{"values": [1]}`).Fails(422, "validation_failed", "values: must be an object")
	session.Do("PUT", "/v1/me/preferences", `{"values": {"a": "`+strings.Repeat("a", 16<<10)+`"}}`).Fails(422, "validation_failed", "values: must have at most 16384 bytes, not 16392")
	session.Get("/v1/me/preferences").Is(200, `{"data": {"values": {"theme": "dark"}}, "meta": "<any>"}`)
}

// TestUserOfPage requires that a page acts only for the user for whom it was loaded.
func TestUserOfPage(t *testing.T) {
	app := apptest.New(t)
	acme, other := app.Org("Acme"), app.Org("Initech")
	session := acme.Session()
	session.Do("POST", "/v1/contacts", `{"email": "bill@initech.example"}`, "X-Prospector-User", acme.User.String()).Is(201)
	for _, user := range []string{other.User.String(), "nobody"} {
		session.Do("POST", "/v1/contacts", `{"email": "peter@initech.example"}`, "X-Prospector-User", user).Is(401)
		session.Do("GET", "/v1/me", nil, "X-Prospector-User", user).Is(401)
	}
	apptest.Shows(t, session.Post("/v1/contacts/list", `{}`).Is(200), `{"pagination.total_count": 1}`)
}
