package handlers_test

import (
	"bytes"
	"net/http"
	"net/url"
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
	if len(links) != 3 {
		t.Fatalf("the page loads %d files, want a style sheet, a script and an icon", len(links))
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

// appFile is how much a file of the console takes: plain, as it is sent to a browser, and with gzip.
type appFile struct{ plain, sent, gzipped int }

func (f *appFile) add(other appFile) {
	f.plain, f.sent, f.gzipped = f.plain+other.plain, f.sent+other.sent, f.gzipped+other.gzipped
}

// TestAppSize limits what a page loads on the first visit, as it is sent: 120 KB. A page loads all scripts and style sheets at
// most. Every coding has the same content.
func TestAppSize(t *testing.T) {
	app := apptest.New(t)
	files := map[string]appFile{}
	imports := regexp.MustCompile(`["'](\.\.?/[\w./-]+\.js)["']`)
	var follow func(name string)
	follow = func(name string) {
		if _, known := files[name]; known {
			return
		}
		sent, body := content(t, remote(app, "GET", name, "", "", "Accept-Encoding", "gzip, deflate, br, zstd"))
		gzipped, unzipped := content(t, remote(app, "GET", name, "", "", "Accept-Encoding", "gzip, br;q=0"))
		_, plain := content(t, remote(app, "GET", name, "", ""))
		if len(plain) == 0 || !bytes.Equal(body, plain) || !bytes.Equal(unzipped, plain) {
			t.Errorf("%s: %d bytes from brotli, %d from gzip, %d plain", name, len(body), len(unzipped), len(plain))
		}
		files[name] = appFile{len(plain), len(sent), len(gzipped)}
		for _, m := range imports.FindAllSubmatch(plain, -1) {
			follow((&url.URL{Path: name}).JoinPath("..", string(m[1])).Path)
		}
	}
	_, shell := content(t, remote(app, "GET", "/app/", "", ""))
	loaded := regexp.MustCompile(`(?:href|src)="(/app/-/[^"]+\.(?:js|css))"`).FindAllSubmatch(shell, -1)
	var first, all appFile
	for _, m := range loaded {
		follow(string(m[1]))
		first.add(files[string(m[1])])
	}
	for _, file := range files {
		all.add(file)
	}
	t.Logf("%d files: %+v; first page: %d files, %+v", len(files), all, len(loaded), first)
	const kB = 1024
	for _, c := range []struct {
		what      string
		is, limit int
	}{
		{"all files as sent", all.sent, 120 * kB}, {"all files with gzip", all.gzipped, 120 * kB}, // see docs/console.md
		{"requests of the first page", len(loaded), 2},
	} {
		if c.is > c.limit {
			t.Errorf("%s: %d, want at most %d", c.what, c.is, c.limit)
		}
	}
}
