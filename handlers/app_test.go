package handlers_test

import (
	"bytes"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// preload is a module that the browser loads along with the page.
var preload = regexp.MustCompile(`<link rel="modulepreload" href="([^"]+)">\n`)

func withoutPreloads(page []byte) string { return preload.ReplaceAllString(string(page), "") }

// TestApp checks how the console is served: every address under /app/ shows the same page with a strict
// policy, but for the modules to load, and its files never change under their addresses.
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
	for _, path := range []string{"/", "/app", "/app/nothing", "/app/contacts", "/app/campaigns/1?tab=people"} {
		t.Run(path, func(t *testing.T) {
			if got := anyone.In(t).Get(path).Is(http.StatusOK); withoutPreloads(got.Body) != withoutPreloads(shell.Body) {
				t.Error("another page")
			}
		})
	}
	link := regexp.MustCompile(`(?:href|src)="(/app/-/[^"]+)"`)
	if links := link.FindAllString(withoutPreloads(shell.Body), -1); len(links) != 6 {
		t.Fatalf("the page loads %d files, want four style sheets, a script and an icon", len(links))
	}
	links := link.FindAllStringSubmatch(string(shell.Body), -1)
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

// TestAppSize limits what each page loads on the first visit, as it is sent: 120 KB. Every coding has the same content.
func TestAppSize(t *testing.T) {
	app := apptest.New(t)
	files := map[string]appFile{}
	read := func(name string) appFile {
		if file, known := files[name]; known {
			return file
		}
		sent, body := content(t, remote(app, "GET", name, "", "", "Accept-Encoding", "gzip, deflate, br, zstd"))
		gzipped, unzipped := content(t, remote(app, "GET", name, "", "", "Accept-Encoding", "gzip, br;q=0"))
		_, plain := content(t, remote(app, "GET", name, "", ""))
		if len(plain) == 0 || !bytes.Equal(body, plain) || !bytes.Equal(unzipped, plain) {
			t.Errorf("%s: %d bytes from brotli, %d from gzip, %d plain", name, len(body), len(unzipped), len(plain))
		}
		files[name] = appFile{len(plain), len(sent), len(gzipped)}
		return files[name]
	}
	linked := regexp.MustCompile(`(?:href|src)="(/app/-/[^"]+\.(?:js|css))"`)
	const kB = 1024
	for _, address := range []string{
		"/app/", "/app/contacts", "/app/contacts/1", "/app/contacts/duplicates", "/app/audiences/1", "/app/imports/new", "/app/market",
		"/app/campaigns/1", "/app/templates/1", "/app/operations", "/app/settings/users",
	} {
		t.Run(address, func(t *testing.T) {
			_, shell := content(t, remote(app, "GET", address, "", ""))
			var all appFile
			links := linked.FindAllSubmatch(shell, -1)
			for _, m := range links {
				all.add(read(string(m[1])))
			}
			t.Logf("%d files: %+v", len(links), all)
			if all.sent > 120*kB || all.gzipped > 120*kB || all.plain < 50*kB {
				t.Errorf("%d bytes as sent, %d with gzip, want at most %d", all.sent, all.gzipped, 120*kB)
			}
		})
	}
}
