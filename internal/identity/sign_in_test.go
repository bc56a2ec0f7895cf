package identity_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/store"
)

// TestSignInFlood checks that a sign-in is refused while too many passwords wait to be hashed, which does not
// count as a failure, and that a request with an unknown session needs no hashing.
func TestSignInFlood(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	const password = "correct horse battery"
	hash, err := app.Identity.Passwords.Hash(t.Context(), "test", password)
	if err != nil {
		t.Fatal(err)
	}
	err = app.Store.Update(t.Context(), org.ID, store.Actor{}, func(tx *store.Tx) error {
		return app.Identity.SetPassword(tx, org.User, hash, uuid.Nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	signIn := func() *apptest.Response {
		return app.Anonymous().Post("/v1/sessions", map[string]string{"email": "ada@acme.example", "password": password})
	}
	var clients []string
	for app.Identity.Passwords.Reserve(fmt.Sprint(len(clients))) == nil {
		clients = append(clients, fmt.Sprint(len(clients)))
	}
	for range 10 { // more than the failures after which a client must wait
		res := signIn().Fails(429, "rate_limited", "too many sign-ins are in progress")
		if wait := res.Header.Get("Retry-After"); wait != "2" {
			t.Fatalf("Retry-After is %q", wait)
		}
	}
	app.Anonymous().Do("GET", "/v1/sessions", nil, "X-Prospector-Console", "1", "Cookie", "prospector_session="+strings.Repeat("A", 43)).
		Is(401, `{"detail": "the session has ended; sign in again"}`)
	for _, client := range clients {
		app.Identity.Passwords.Unreserve(client)
	}
	signIn().Is(201)
}
