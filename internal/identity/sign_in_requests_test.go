package identity_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/service"
)

func TestSignIn(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	apptest.SetPassword(t, app, org, apptest.Password)

	res := apptest.SignIn(app, "ADA@acme.example", apptest.Password).Is(201)
	cookie, err := http.ParseSetCookie(res.Header.Get("Set-Cookie"))
	if err != nil || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Secure || cookie.Path != "/" {
		t.Fatalf("the cookie is %v, %v", cookie, err)
	}
	if strings.Contains(org.Dump(), cookie.Value) || strings.Contains(string(res.Body), cookie.Value) {
		t.Fatal("the token is stored or shown")
	}
	session := apptest.SessionOf(app, res)
	apptest.Shows(t, session.Get("/v1/me").Is(200), `{"data.user_email": "ada@acme.example", "data.access": "write", "data.org_name": "Acme"}`)
	session.Get("/v1/sessions").Is(200, `{"data": [{"id": "`+res.ID()+`", "created_at": "`+apptest.Stamp(app)+`", "last_seen_at": "`+apptest.Stamp(app)+`",
		"expires_at": "2026-04-01T09:00:00.000Z", "idle_expires_at": "2026-03-02T21:00:00.000Z", "current": true}],
		"pagination": {"page": 1, "page_size": 1, "total_count": 1, "total_pages": 1}, "meta": {"timestamp": "<time>"}}`)
	apptest.Shows(t, org.Read.Get("/v1/me").Is(200), `{"data.access": "read"}`)
	apptest.Shows(t, org.Admin.Post("/v1/users", `{"email": "grace@acme.example"}`).Is(201), `{"data.access": "write", "data.active": true, "data.last_seen_at": null}`)

	// It acts for its user, with the user's access.
	contact := session.Post("/v1/contacts", `{"email": "bill@initech.example"}`).Is(201).ID()
	apptest.Shows(t, session.Get("/v1/contacts/"+contact+"/history").Is(200), `{"data.0.user_id": "`+org.User.String()+`", "data.0.key_id": null}`)
	session.Get("/v1/api-keys").Fails(403, "forbidden", "admin")
	apptest.Shows(t, org.Admin.Patch("/v1/users/"+org.User.String(), `{"access": "read"}`).Is(200), `{"data.access": "read"}`)
	session.Post("/v1/contacts", `{"email": "bob@initech.example"}`).Fails(403, "forbidden", "write")
	apptest.Shows(t, org.Admin.Get("/v1/users").Is(200), `{"data.0.last_seen_at": "`+apptest.Stamp(app)+`"}`)

	for _, wrong := range [][2]string{{"ada@acme.example", "wrong horse battery"}, {"nobody@acme.example", apptest.Password}} {
		apptest.SignIn(app, wrong[0], wrong[1]).Is(401, `{"detail": "the email address or the password is wrong"}`)
	}
	app.Anonymous().Post("/v1/sessions", `{"email": "ada@acme.example"}`).Fails(422, "validation_failed", "password: required")
	app.Anonymous().Post("/v1/sessions", `{"email": `).Fails(400, "invalid_json", "")
	app.Anonymous().Do("POST", "/v1/sessions", `{}`, "Content-Type", "text/plain").Fails(415, "unsupported_media_type", "")
	app.Anonymous().Post("/v1/sessions", `{"email": "`+strings.Repeat("a", 1<<20)+`"}`).Fails(413, "body_too_large", "")
	app.Anonymous().Do("POST", "/v1/sessions", `{}`, "Origin", "https://elsewhere.example").Fails(403, "forbidden", "Origin")
}

// TestSignInOrganizations checks that the password decides between users of several organizations with
// the same address.
func TestSignInOrganizations(t *testing.T) {
	app := apptest.New(t)
	acme, umbrella := app.Org("Acme"), app.Org("Umbrella")
	umbrella.Admin.Patch("/v1/users/"+umbrella.User.String(), `{"email": "ada@acme.example"}`).Is(200)
	apptest.SetPassword(t, app, acme, apptest.Password)
	apptest.SetPassword(t, app, umbrella, "yet another horse")
	apptest.Shows(t, apptest.SessionOf(app, apptest.SignIn(app, "ada@acme.example", "yet another horse")).Get("/v1/me").Is(200), `{"data.org_name": "Umbrella"}`)

	apptest.SetPassword(t, app, umbrella, apptest.Password)
	res := apptest.SignIn(app, "ada@acme.example", apptest.Password).Fails(409, "several_organizations", "organization_id")
	offered := []string{res.Text("error.details.0.id"), res.Text("error.details.1.id")}
	if !slices.Contains(offered, acme.ID.String()) || !slices.Contains(offered, umbrella.ID.String()) {
		t.Errorf("the organizations are %v", offered)
	}
	chosen := apptest.SessionOf(app, app.Anonymous().Post("/v1/sessions", map[string]any{
		"email": "ada@acme.example", "password": apptest.Password, "organization_id": acme.ID,
	}))
	apptest.Shows(t, chosen.Get("/v1/me").Is(200), `{"data.org_name": "Acme"}`)

	// A changed address is the one to sign in with.
	umbrella.Admin.Patch("/v1/users/"+umbrella.User.String(), `{"email": "ada@umbrella.example"}`).Is(200)
	apptest.SignIn(app, "ada@acme.example", apptest.Password).Is(201)
	apptest.SignIn(app, "ada@umbrella.example", apptest.Password).Is(201)
}

// TestRedeem checks that a one-time link works once, until it expires or a newer one voids it, and that
// it can set a password.
func TestRedeem(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	invite := func() string {
		url := org.Admin.Post("/v1/users/"+org.User.String()+"/invite", `{}`).Is(200).Text("data.url")
		token, found := strings.CutPrefix(url, app.URL+"/app/welcome#token=")
		if !found {
			t.Fatalf("the link is %s", url)
		}
		return token
	}
	redeem := func(token, password string) *apptest.Response {
		return app.Anonymous().Post("/v1/sessions/redeem", map[string]string{"token": token, "password": password})
	}
	void := invite()
	token := invite()
	apptest.Shows(t, org.Admin.Post("/v1/users/"+apptest.Makers["users"](org)+"/invite", `{}`).Is(200), `{"data.expires_at": "2026-03-05T09:00:00.000Z"}`)
	// Programs that look at links in mail do not use it up.
	for _, path := range []string{"/app/welcome", "/v1/sessions/redeem", "/v1/sessions/redeem?token=" + token} {
		app.Anonymous().Get(path)
	}
	if strings.Contains(org.Dump(), token) {
		t.Fatal("the token is stored")
	}
	redeem(void, apptest.Password).Is(401)
	redeem(token, "short").Fails(422, "validation_failed", "password: must have at least 10 characters, not 5")
	redeem(token, "ada@acme.example").Fails(422, "validation_failed", "password: is too easy to guess: ")
	apptest.SessionOf(app, redeem(token, apptest.Password)).Get("/v1/me").Is(200)
	redeem(token, apptest.Password).Is(401)
	apptest.SignIn(app, "ada@acme.example", apptest.Password).Is(201)

	// Without a password, the link only signs in.
	app.Redeem(invite()).Get("/v1/me").Is(200)
	apptest.SignIn(app, "ada@acme.example", apptest.Password).Is(201)

	expired := invite()
	app.Clock.Advance(72 * time.Hour)
	redeem(expired, "").Is(401)

	org.Admin.Post("/v1/users/"+org.User.String()+"/invite", `{}`).Is(200)
	eve := apptest.Makers["users"](org)
	org.Admin.Post("/v1/users/"+eve+"/deactivate", `{}`).Is(200)
	org.Admin.Post("/v1/users/"+eve+"/invite", `{}`).Fails(409, "user_inactive", "deactivated")

	app.Anonymous().Post("/v1/sessions/redeem", `{}`).Fails(422, "validation_failed", "token: required")
	app.Anonymous().Post("/v1/sessions/redeem", `{"token": `).Fails(400, "invalid_json", "")
	app.Anonymous().Do("POST", "/v1/sessions/redeem", `{}`, "Content-Type", "text/plain").Fails(415, "unsupported_media_type", "")
	app.Anonymous().Post("/v1/sessions/redeem", `{"token": "`+strings.Repeat("a", 1<<20)+`"}`).Fails(413, "body_too_large", "")
	app.Anonymous().Do("POST", "/v1/sessions/redeem", `{}`, "Origin", "https://elsewhere.example").Fails(403, "forbidden", "Origin")
}

// TestSameAddress checks that two active users of an organization cannot have the same address.
func TestSameAddress(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	ada := "/v1/users/" + org.User.String()
	taken := "email: the active user " + org.User.String() + ` has the same address "ada@acme.example"`
	org.Admin.Post("/v1/users", `{"email": "Ada@ACME.example"}`).Fails(422, "validation_failed", taken)
	bob := "/v1/users/" + org.Admin.Post("/v1/users", `{"email": "bob@acme.example"}`).Is(201).ID()
	org.Admin.Patch(bob, `{"email": "ada@acme.example"}`).Fails(422, "validation_failed", taken)
	org.Admin.Patch(ada, `{"email": "Ada@acme.example"}`).Is(200)

	org.Admin.Post(bob+"/deactivate", `{}`).Is(200)
	carol := "/v1/users/" + org.Admin.Post("/v1/users", `{"email": "bob@acme.example"}`).Is(201).ID()
	org.Admin.Post(bob+"/activate", `{}`).Fails(422, "validation_failed", "has the same address")
	org.Admin.Patch(carol, `{"email": "carol@acme.example"}`).Is(200)
	org.Admin.Post(bob+"/activate", `{}`).Is(200)
}

// TestLastAdmin checks that an organization keeps an active admin once it has one.
func TestLastAdmin(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	ada, grace := "/v1/users/"+org.User.String(), "/v1/users/"+apptest.Makers["users"](org)
	org.Admin.Patch(ada, `{"access": "admin"}`).Is(200)
	org.Admin.Post(ada+"/deactivate", `{}`).Fails(409, "last_admin", "the last active admin")
	org.Admin.Patch(ada, `{"access": "write"}`).Fails(409, "last_admin", "the last active admin")
	org.Admin.Patch(grace, `{"access": "admin"}`).Is(200)
	org.Admin.Patch(ada, `{"access": "write"}`).Is(200)
	org.Admin.Post(grace+"/deactivate", `{}`).Fails(409, "last_admin", "")
}

// TestSignInGuessing checks that after five failures for an address, or from a client, further attempts
// wait, longer and longer, and that nobody is locked out.
func TestSignInGuessing(t *testing.T) {
	app := apptest.New(t, func(c *service.Config) { c.TrustedProxies = []string{"127.0.0.1"} })
	org := app.Org("Acme")
	apptest.SetPassword(t, app, org, apptest.Password)
	from := func(client, email, password string) *apptest.Response {
		return app.Anonymous().Do("POST", "/v1/sessions", map[string]string{"email": email, "password": password}, "X-Forwarded-For", client)
	}
	wait := func(res *apptest.Response) string {
		t.Helper()
		return res.Fails(429, "rate_limited", "too many failed attempts").Header.Get("Retry-After")
	}
	for _, address := range []string{"ada@acme.example", "nobody@acme.example"} {
		for i := range 5 {
			from("203.0.113."+string(rune('1'+i)), address, "wrong horse battery").Is(401)
		}
		if got := wait(from("203.0.113.9", address, apptest.Password)); got != "5" {
			t.Fatalf("Retry-After is %s", got)
		}
		app.Clock.Advance(5 * time.Second)
		from("203.0.113.10", address, "wrong horse battery").Is(401)
		if got := wait(from("203.0.113.11", address, apptest.Password)); got != "10" {
			t.Fatalf("Retry-After is %s", got)
		}
		app.Clock.Advance(10 * time.Second)
	}
	from("203.0.113.12", "ada@acme.example", apptest.Password).Is(201)
	from("203.0.113.12", "ada@acme.example", "wrong horse battery").Is(401) // the count began again

	// A client that guesses addresses. Its network is one client; others are not affected.
	for i := range 5 {
		from("2001:db8:1:2::"+string(rune('1'+i)), string(rune('a'+i))+"@acme.example", apptest.Password).Is(401)
	}
	wait(from("2001:db8:1:2::99", "ada@acme.example", apptest.Password))
	from("2001:db8:1:3::1", "ada@acme.example", apptest.Password).Is(201)
	app.Clock.Advance(time.Minute)
	from("2001:db8:1:2::99", "ada@acme.example", apptest.Password).Is(201)
}

// TestSignInLog checks that failures are logged, and that the log does not tell whether an address exists.
func TestSignInLog(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	apptest.SetPassword(t, app, org, apptest.Password)
	failure := func(email string) (line string) {
		app.Anonymous().Do("POST", "/v1/sessions", map[string]string{"email": email, "password": "wrong horse battery"}, "X-Request-Id", "r").Is(401)
		for l := range strings.Lines(app.Log.String()) {
			if strings.Contains(l, "sign-in failed") {
				line = l
			}
		}
		_, line, _ = strings.Cut(line, " ") // without the time
		return line
	}
	known, unknown := failure("ada@acme.example"), failure("nobody@acme.example")
	if known == "" || known != unknown || !strings.Contains(known, "client=127.0.0.1") {
		t.Errorf("the log has %q for an address that exists and %q for another", known, unknown)
	}
	if strings.Contains(app.Log.String(), "horse") {
		t.Error("the log contains a password")
	}
}

// TestForwardedFor checks that X-Forwarded-For counts only from a trusted proxy.
func TestForwardedFor(t *testing.T) {
	app := apptest.New(t)
	for i := range 5 {
		app.Anonymous().Do("POST", "/v1/sessions", map[string]string{"email": string(rune('a'+i)) + "@acme.example", "password": apptest.Password},
			"X-Forwarded-For", "203.0.113."+string(rune('1'+i))).Is(401)
	}
	app.Anonymous().Do("POST", "/v1/sessions", map[string]string{"email": "z@acme.example", "password": apptest.Password},
		"X-Forwarded-For", "203.0.113.9").Fails(429, "rate_limited", "")
}

// TestTrustedProxies checks which address of X-Forwarded-For counts behind several proxies.
func TestTrustedProxies(t *testing.T) {
	app := apptest.New(t, func(c *service.Config) { c.TrustedProxies = []string{"127.0.0.1", "10.0.0.0/8"} })
	guess := func(n int, forwarded string) *apptest.Response {
		return app.Anonymous().Do("POST", "/v1/sessions", map[string]string{"email": fmt.Sprintf("a%d@acme.example", n), "password": apptest.Password},
			"X-Forwarded-For", forwarded)
	}
	// A client can write anything in front of what the proxies add.
	for n := range 5 {
		guess(n, fmt.Sprintf("198.51.100.%d, 203.0.113.1, 10.1.2.3", n)).Is(401)
	}
	guess(5, "198.51.100.9, 203.0.113.1, 10.1.2.3").Fails(429, "rate_limited", "")
	guess(6, "203.0.113.1, 203.0.113.2, 10.1.2.3").Is(401)
	guess(7, "203.0.113.1, nonsense").Is(401) // counts for the proxy
}
