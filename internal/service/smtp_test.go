package service

import (
	"log/slog"
	"strings"
	"testing"
)

// TestLinkBase checks that links in messages never contain an address that cannot be reached.
func TestLinkBase(t *testing.T) {
	for served, want := range map[string]string{
		"http://[::]:8080":      "http://localhost:8080",
		"https://0.0.0.0:8443":  "https://localhost:8443",
		"http://127.0.0.1:8080": "http://127.0.0.1:8080",
		"http://[::1]:8080":     "http://[::1]:8080",
		"http://192.0.2.7:80":   "http://192.0.2.7:80",
	} {
		if got := linkBase(served); got != want {
			t.Errorf("%s: the base of links is %s, want %s", served, got, want)
		}
	}
}

// TestMissingPublicURLWarning checks that a service that sends real mail without a public_url warns
// that the links do not work.
func TestMissingPublicURLWarning(t *testing.T) {
	for transport, want := range map[string]int{"outbox": 0, "smtp": 1} {
		var log strings.Builder
		c := &Config{}
		c.Mail.Transport = transport
		c.warnOfLinks(slog.New(slog.NewTextHandler(&log, nil)), "http://localhost:8080")
		if got := strings.Count(log.String(), "public_url is not set"); got != want {
			t.Errorf("with %s it warns %d times", transport, got)
		}
	}
}
