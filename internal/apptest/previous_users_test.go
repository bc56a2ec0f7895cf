package apptest

import "testing"

// TestUsersOfPreviousBuild opens a store from before users could sign in. Its users have write access, and
// sign in with a one-time link.
func TestUsersOfPreviousBuild(t *testing.T) {
	dir, keys := unpackFixture(t, "format-4")
	p := openPreviousBuild(t, dir, keys)
	users := p.acme.Get("/v1/users").Is(200)
	for _, access := range users.Column("access") {
		if access != "write" {
			t.Errorf("a user has %s access", access)
		}
	}
	const prefix = "/app/welcome#token="
	link := p.acme.Post("/v1/users/"+users.Text("data.0.id")+"/invite", `{}`).Is(200).Text("data.url")
	session := p.Redeem(link[len(p.URL+prefix):])
	if id := session.Get("/v1/me").Is(200).Text("data.user_id"); id != users.Text("data.0.id") {
		t.Errorf("the session is of user %s", id)
	}
	p.checked(t, "after a sign-in")
	session.Get("/v1/me").Is(200)
}
