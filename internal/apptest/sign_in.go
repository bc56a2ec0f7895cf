package apptest

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"prospector/store"
)

// SessionOf returns a client with the session that a response has opened.
func SessionOf(app *App, res *Response) Client {
	c := app.Anonymous()
	c.Cookie = res.Is(201).Cookie()
	return c
}

// Stamp returns the time of the clock as the API writes it.
func Stamp(app *App) string { return app.Clock.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

// Password is a password that is strong enough.
const Password = "correct horse battery"

// SetPassword sets the password of the organization's first user.
func SetPassword(t *testing.T, app *App, org *Org, password string) {
	t.Helper()
	hash, err := app.Identity.Passwords.Hash(context.Background(), "test", password)
	if err == nil {
		err = app.Store.Update(context.Background(), org.ID, store.Actor{}, func(tx *store.Tx) error {
			return app.Identity.SetPassword(tx, org.User, hash, uuid.Nil)
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// SignIn requests a session.
func SignIn(app *App, email, password string) *Response {
	return app.Anonymous().Post("/v1/sessions", map[string]string{"email": email, "password": password})
}
