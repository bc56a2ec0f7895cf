package handlers_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"prospector/internal/apptest"
)

// remote sends a request as a client on another machine does. Tests over the network are on loopback,
// where responses are not compressed.
func remote(app *apptest.App, method, path, key, body string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr = "192.0.2.1:4711"
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	app.API.ServeHTTP(w, r)
	return w.Result()
}

// content returns the body of a response as it was sent, and decompressed.
func content(t *testing.T, res *http.Response) (sent, plain []byte) {
	t.Helper()
	sent, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var decoded io.Reader = bytes.NewReader(sent)
	switch coding := res.Header.Get("Content-Encoding"); coding {
	case "":
	case "br":
		decoded = brotli.NewReader(decoded)
	case "gzip":
		if decoded, err = gzip.NewReader(decoded); err != nil {
			t.Fatalf("%s %v: %v", res.Status, res.Header, err)
		}
	default:
		t.Fatalf("Content-Encoding: %s", coding)
	}
	if plain, err = io.ReadAll(decoded); err != nil {
		t.Fatal(err)
	}
	return sent, plain
}

// TestDocsTransfer checks that the first view of any page of the documentation transfers at most 100 KB,
// with everything that the browser loads for it, and that a second view transfers nothing.
func TestDocsTransfer(t *testing.T) {
	app := apptest.New(t)
	for _, path := range append(docsPages(t, app), "/openapi.json") {
		t.Run(path, func(t *testing.T) {
			res := remote(app, "GET", path, "", "", "Accept-Encoding", "gzip")
			sent, plain := content(t, res)
			if len(sent) > 100_000 || res.StatusCode != http.StatusOK {
				t.Errorf("%s, %d bytes", res.Status, len(sent))
			}
			if len(plain) >= 1024 && len(sent) > len(plain)*2/3 {
				t.Errorf("%d of %d bytes are sent", len(sent), len(plain))
			}
			if path != "/openapi.json" { // the pages load nothing else
				for _, e := range parsePage(t, plain) {
					if e.attr["src"] != "" || e.name == "link" {
						t.Errorf("the page loads %s %v", e.name, e.attr)
					}
				}
			}
			whole := remote(app, "GET", path, "", "")
			if _, body := content(t, whole); !bytes.Equal(body, plain) || whole.Header.Get("Content-Encoding") != "" {
				t.Error("the response without compression differs")
			}
			for _, r := range []*http.Response{res, whole} {
				tag := r.Header.Get("ETag")
				if tag == "" || r.Header.Get("Cache-Control") != "public, no-cache" || r.Header.Get("Vary") != "Accept-Encoding" {
					t.Errorf("%v", r.Header)
				}
				for _, condition := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
					again := remote(app, "GET", path, "", "", "If-None-Match", condition, "Accept-Encoding", "gzip")
					if body, _ := content(t, again); again.StatusCode != http.StatusNotModified || len(body) > 0 || again.Header.Get("ETag") == "" {
						t.Errorf("If-None-Match: %s returns %s and %d bytes", condition, again.Status, len(body))
					}
				}
			}
			if len(plain) >= 1024 && res.Header.Get("ETag") == whole.Header.Get("ETag") {
				t.Error("both encodings have the same ETag")
			}
			if other := remote(app, "GET", path, "", "", "If-None-Match", `"other"`); other.StatusCode != http.StatusOK {
				t.Errorf("If-None-Match with another tag returns %s", other.Status)
			}
			head := remote(app, "HEAD", path, "", "", "Accept-Encoding", "gzip")
			if got := head.Header.Get("Content-Length"); got != strconv.Itoa(len(sent)) {
				t.Errorf("HEAD returns the length %s, GET %d", got, len(sent))
			}
		})
	}
	app.Anonymous().Do("GET", "/openapi.json", nil, "If-None-Match", "*").Is(304)
}

// TestCompression checks which responses are compressed.
func TestCompression(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	key := org.Admin.Key
	notes := strings.Repeat("Met at the fair in Hannover. ", 60)
	id := org.Write.Post("/v1/contacts", map[string]any{"email": "ada@acme.example", "notes": notes}).Is(201).ID()
	for i := range 20 {
		org.Write.Post("/v1/contacts", map[string]any{"email": fmt.Sprintf("c%d@acme.example", i)}).Is(201)
	}
	const list = "/v1/contacts/list"
	for _, c := range []struct {
		name, method, path, body, accept, from string
		compressed, varies                     bool
	}{
		{"list", "POST", list, "{}", "gzip, deflate, br", "", true, true},
		{"list, any encoding", "POST", list, "{}", "*", "", true, true},
		{"list, upper case", "POST", list, "{}", "GZIP;q=0.5", "", true, true},
		{"list over IPv6", "POST", list, "{}", "gzip", "[2001:db8::1]:4711", true, true},
		{"list on loopback", "POST", list, "{}", "gzip", "127.0.0.1:4711", false, true},
		{"list on loopback over IPv6", "POST", list, "{}", "gzip", "[::1]:4711", false, true},
		{"list on mapped loopback", "POST", list, "{}", "gzip", "[::ffff:127.0.0.1]:4711", false, true},
		{"list without Accept-Encoding", "POST", list, "{}", "", "", false, true},
		{"list, gzip refused", "POST", list, "{}", "gzip;q=0, *", "", false, true},
		{"list, another encoding", "POST", list, "{}", "br", "", false, true},
		{"short list", "POST", list, `{"search": "nobody"}`, "gzip", "", false, false},
		{"record", "GET", "/v1/contacts/" + id, "", "gzip", "", true, true},
		{"export", "POST", "/v1/contacts/export", "{}", "gzip", "", true, true},
		{"CSV export", "POST", "/v1/contacts/export", `{"format": "csv"}`, "gzip", "", true, true},
		{"empty export", "POST", "/v1/contacts/export", `{"search": "nobody"}`, "gzip", "", true, true},
		{"export on loopback", "POST", "/v1/contacts/export", "{}", "gzip", "127.0.0.1:4711", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			request := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
			request.Header = http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}}
			request.RemoteAddr = "192.0.2.1:4711"
			if c.from != "" {
				request.RemoteAddr = c.from
			}
			if c.accept != "" {
				request.Header.Set("Accept-Encoding", c.accept)
			}
			w := httptest.NewRecorder()
			app.API.ServeHTTP(w, request)
			res := w.Result()
			sent, plain := content(t, res)
			want := org.Read.In(t).Do(c.method, c.path, []byte(c.body)).Is(200)
			if !bytes.Equal(plain, want.Body) { // the clock stands still
				t.Errorf("the body is %s\nwant %s", plain, want.Body)
			}
			if res.Header.Get("Content-Encoding") == "gzip" != c.compressed || (res.Header.Get("Vary") == "Accept-Encoding") != c.varies {
				t.Errorf("%s %v", res.Status, res.Header)
			}
			if length := res.Header.Get("Content-Length"); length != "" && length != strconv.Itoa(len(sent)) {
				t.Errorf("the length is %s, %d bytes are sent", length, len(sent))
			}
			if c.compressed && len(plain) > 1024 && len(sent) > len(plain)*2/3 {
				t.Errorf("%d of %d bytes are sent", len(sent), len(plain))
			}
			if tag := res.Header.Get("ETag"); tag != want.Header.Get("ETag") {
				t.Errorf("the ETag is %s, want %s", tag, want.Header.Get("ETag"))
			}
		})
	}
}

// TestCompressedReplay checks that the response to a repeated request is encoded as the repeated request asks
// for, whatever the first one did, and that a response with a secret is never compressed.
func TestCompressedReplay(t *testing.T) {
	app := apptest.New(t)
	key := app.Org("Acme").Admin.Key
	body := fmt.Sprintf(`{"email": "ada@acme.example", "notes": %q}`, strings.Repeat("note ", 400))
	var plain []string
	for i, accept := range []string{"gzip", "identity", "gzip"} {
		res := remote(app, "POST", "/v1/contacts", key, body, "Idempotency-Key", "once", "Accept-Encoding", accept)
		_, text := content(t, res)
		plain = append(plain, string(text))
		if res.StatusCode != 201 || (res.Header.Get("Content-Encoding") == "gzip") != (accept == "gzip") || (res.Header.Get("Idempotent-Replayed") == "true") != (i > 0) {
			t.Errorf("%s %v", res.Status, res.Header)
		}
	}
	if plain[0] != plain[1] || plain[1] != plain[2] {
		t.Errorf("the bodies differ: %v", plain)
	}
	secret := fmt.Sprintf(`{"url": "https://hooks.example/x", "triggers": ["contact.created"], "description": %q}`, strings.Repeat("note ", 200))
	res := remote(app, "POST", "/v1/webhooks/subscriptions", key, secret, "Accept-Encoding", "gzip")
	sent, _ := content(t, res)
	var created struct{ Data struct{ Secret string } }
	if err := json.Unmarshal(sent, &created); err != nil || created.Data.Secret == "" || len(sent) < 1024 || res.Header.Get("Content-Encoding") != "" {
		t.Errorf("%s %v: %s", res.Status, res.Header, sent)
	}
}
