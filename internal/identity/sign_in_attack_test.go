package identity_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/service"
)

// TestSignInDuringAttack checks that the owner of an address signs in within a minute, from a client that was never
// seen before, while others guess its password without a pause: from several clients, and from all networks of a
// block of IPv6. It also checks that the attackers make few guesses.
func TestSignInDuringAttack(t *testing.T) {
	t.Parallel()
	for name, attacker := range map[string]func(n int) string{
		"clients":  func(n int) string { return fmt.Sprintf("203.0.113.%d", n%8) },
		"networks": func(n int) string { return fmt.Sprintf("2001:db8:1:%x::1", n) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := apptest.New(t, func(c *service.Config) { c.TrustedProxies = []string{"127.0.0.1"} })
			apptest.SetPassword(t, app, app.Org("Acme"), apptest.Password)
			from := func(client, password string) *apptest.Response {
				return app.Anonymous().Do("POST", "/v1/sessions",
					map[string]string{"email": "ada@acme.example", "password": password}, "X-Forwarded-For", client)
			}
			attempts, guesses := 0, 0
			attack := func(d time.Duration) {
				for end := app.Clock.Now().Add(d); ; app.Clock.Advance(time.Second) {
					for range 8 {
						if attempts++; from(attacker(attempts), "wrong horse battery").Status == 401 {
							guesses++
						}
					}
					if !app.Clock.Now().Before(end) {
						return
					}
				}
			}
			attack(3 * time.Minute)
			for i := range 3 {
				owner := fmt.Sprintf("198.51.100.%d", i)
				res := from(owner, apptest.Password).Fails(429, "rate_limited", "too many failed attempts")
				wait, err := strconv.Atoi(res.Header.Get("Retry-After"))
				if err != nil || wait > 60 {
					t.Fatalf("Retry-After is %q", res.Header.Get("Retry-After"))
				}
				attack(time.Duration(wait) * time.Second)
				from(owner, apptest.Password).Is(201)
				attack(time.Minute)
			}
			if attempts < 2000 || guesses > 200 {
				t.Errorf("%d of %d attempts were guesses", guesses, attempts)
			}
		})
	}
}
