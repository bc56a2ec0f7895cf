package handlers_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// TestApp checks how the console is served: every address under /app/ shows the same page with a strict
// policy, and its files never change under their addresses.
func TestApp(t *testing.T) {
	app := apptest.New(t)
	anyone := app.Anonymous()
	shell := anyone.Get("/app/").Is(http.StatusOK)
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "X-Content-Type-Options": "nosniff",
	} {
		if got := shell.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	policy := shell.Header.Get("Content-Security-Policy")
	for _, part := range []string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "form-action 'self'", "base-uri 'none'",
		"frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types console",
	} {
		if !strings.Contains(policy+";", part+";") {
			t.Errorf("the policy %q lacks %s", policy, part)
		}
	}
	for _, path := range []string{"/", "/app", "/app/contacts", "/app/campaigns/1?tab=people"} {
		t.Run(path, func(t *testing.T) {
			if got := anyone.In(t).Get(path).Is(http.StatusOK); string(got.Body) != string(shell.Body) {
				t.Error("another page")
			}
		})
	}
	links := regexp.MustCompile(`(?:href|src)="(/app/-/[^"]+)"`).FindAllStringSubmatch(string(shell.Body), -1)
	if len(links) < 10 {
		t.Fatalf("the page loads %d files", len(links))
	}
	for _, link := range links {
		t.Run(link[1], func(t *testing.T) {
			if got := anyone.In(t).Get(link[1]).Is(http.StatusOK).Header.Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
				t.Errorf("Cache-Control is %q", got)
			}
		})
	}
	anyone.Get("/app/-/nothing").Fails(http.StatusNotFound, "not_found", "")
	anyone.Post("/app/", nil).Fails(http.StatusMethodNotAllowed, "method_not_allowed", "")
}
