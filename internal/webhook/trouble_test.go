package webhook_test

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/service"
)

// wire starts an endpoint that writes arbitrary bytes on each connection after it has read a
// request.
func wire(t *testing.T, talk func(*net.TCPConn)) (url string) {
	t.Helper()
	return "http://" + apptest.Listen(t, func(conn *net.TCPConn) {
		if req, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			_, _ = io.Copy(io.Discard, req.Body)
		}
		talk(conn)
	})
}

// says starts an endpoint that sends a text and closes the connection.
func says(t *testing.T, text string) (url string) {
	return wire(t, func(c *net.TCPConn) { _, _ = io.WriteString(c, text) })
}

// secure starts an endpoint with a TLS certificate that the service does not trust.
func secure(t *testing.T, change func(*tls.Config)) (url string) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{}
	change(s.TLS)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

const (
	dnsText      = "dns: the host has no address that deliveries may use"
	connectText  = "connect: the connection was refused or reset"
	tlsText      = "tls: the TLS handshake failed"
	timeoutText  = "timeout: the endpoint did not answer in time"
	redirectText = "redirect: the endpoint answered with a redirect; redirects are not followed"
)

// trouble is a failing endpoint and the expected record of its attempt.
type trouble struct {
	name, url string
	code      int // 0 means none
	text      string
}

// wantTroubles subscribes all endpoints, causes an event, and requires one recorded attempt of
// each.
func wantTroubles(t *testing.T, troubles []trouble, change func(*service.Config)) {
	t.Helper()
	h := newWebhookFixture(t, nil, change)
	ids := map[string]string{}
	for _, c := range troubles {
		ids[c.name] = h.subscribe(h.org, c.url)
	}
	h.causeEvents(1)
	h.Deliver()
	h.wantRequests(1, "the one without trouble")
	for _, c := range troubles {
		h.wantTrouble(ids[c.name], c)
	}
	h.wantPending(len(troubles), "all that failed")
	if text := h.Log.String(); strings.Contains(text, "127.0.0.1") || strings.Contains(text, "canary") || strings.Contains(text, "level=ERROR") {
		t.Errorf("the log contains %s", text)
	}
}

func (h *webhookFixture) wantTrouble(id string, c trouble) {
	h.t.Helper()
	all := h.history(id)
	if len(all) != 1 {
		h.t.Errorf("%s: %d attempts are recorded", c.name, len(all))
		return
	}
	a, code := all[0], 0
	if a.ResponseCode != nil {
		code = *a.ResponseCode
	}
	if a.Status != "failed" || code != c.code || a.Error != c.text {
		h.t.Errorf("%s: recorded %s %d %q", c.name, a.Status, code, a.Error)
	}
	h.wantState(id, "active - 1 - 0s")
}

func TestWebhookTroubles(t *testing.T) {
	var wrote atomic.Int64
	troubles := []trouble{
		{"no such host", "http://nowhere.invalid/", 0, dnsText},
		{"refused", "http://127.0.0.1:1/", 0, connectText}, // where nothing listens
		{"reset", wire(t, func(c *net.TCPConn) { _ = c.SetLinger(0) }), 0, connectText},
		{"reset in the answer", wire(t, func(c *net.TCPConn) { _, _ = io.WriteString(c, "HTTP/1.1 200"); _ = c.SetLinger(0) }), 0, connectText},
		{"hung up", says(t, ""), 0, connectText},
		{"hung up in the answer", says(t, "HTTP/1.1 200 OK\r\nContent-"), 0, connectText},
		{"no HTTP", says(t, "SSH-2.0-canary\r\n"), 0, connectText},
		{"no status", says(t, "HTTP/1.1 canary OK\r\n\r\n"), 0, connectText},
		{"broken header", says(t, "HTTP/1.1 200 OK\r\ncanary\r\n\r\n"), 0, connectText},
		{"two lengths", says(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc"), 0, connectText},
		{"large headers", wire(t, func(c *net.TCPConn) {
			_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for err == nil && wrote.Load() < 64<<20 {
				var n int
				n, err = io.WriteString(c, "X-Canary: "+strings.Repeat("a", 1000)+"\r\n")
				wrote.Add(int64(n))
			}
		}), 0, connectText},
		{"one large header", wire(t, func(c *net.TCPConn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("a", 4<<20)+"\r\n\r\n")
		}), 0, connectText},
		{"another protocol", wire(t, func(c *net.TCPConn) {
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: canary\r\n\r\n")
			_, _ = io.Copy(io.Discard, c) // until the service closes the connection
		}), 101, "http_101: the endpoint answered with status 101"},
		{"unknown certificate", secure(t, func(*tls.Config) {}), 0, tlsText},
		{"old TLS", secure(t, func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }), 0, tlsText},
		{"wants a certificate", secure(t, func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert }), 0, tlsText},
		{"plain under https", "https" + strings.TrimPrefix(apptest.NewTarget(t, nil).URL, "http"), 0, tlsText},
		{"no TLS under https", "https" + strings.TrimPrefix(says(t, "SSH-2.0-canary\r\n"), "http"), 0, tlsText},
	}
	for _, code := range []int{400, 401, 403, 404, 405, 406, 408, 413, 418, 425, 429, 451, 499, 500, 501, 502, 503, 504, 599, 600, 999} {
		url := says(t, fmt.Sprintf("HTTP/1.1 %d Canary\r\nContent-Length: 6\r\n\r\ncanary", code))
		troubles = append(troubles, trouble{fmt.Sprint("status ", code), url, code, fmt.Sprintf("http_%d: the endpoint answered with status %d", code, code)})
	}
	wantTroubles(t, troubles, func(c *service.Config) { c.Webhooks.Timeout = time.Minute })
	if wrote.Load() >= 64<<20 {
		t.Error("megabytes of response headers were read")
	}
}

// drip writes one byte of text per millisecond, over and over, until the connection is closed.
func drip(c net.Conn, text string) {
	ticks := time.NewTicker(time.Millisecond)
	defer ticks.Stop()
	for i := 0; ; i++ {
		<-ticks.C
		if _, err := io.WriteString(c, text[i%len(text):i%len(text)+1]); err != nil {
			return
		}
	}
}

// TestWebhookTimeouts has endpoints that would never end their response. The timeout ends all of
// them.
func TestWebhookTimeouts(t *testing.T) {
	hang := func(c *net.TCPConn) { _, _ = io.Copy(io.Discard, c) }
	silent := wire(t, hang)
	wantTroubles(t, []trouble{
		{"says nothing", silent, 0, timeoutText},
		{"no handshake", "https" + strings.TrimPrefix(silent, "http"), 0, timeoutText},
		{"half a status", wire(t, func(c *net.TCPConn) { _, _ = io.WriteString(c, "HTTP/1.1 2"); hang(c) }), 0, timeoutText},
		{"no end of headers", wire(t, func(c *net.TCPConn) { _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nA: b\r\n"); hang(c) }), 0, timeoutText},
		{"drips a header", wire(t, func(c *net.TCPConn) { _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nA: "); drip(c, "a") }), 0, timeoutText},
		{"drips headers", wire(t, func(c *net.TCPConn) { _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n"); drip(c, "A: b\r\n") }), 0, timeoutText},
		{"goes on to continue", wire(t, func(c *net.TCPConn) { drip(c, "HTTP/1.1 102 Processing\r\n\r\n") }), 0, timeoutText},
	}, func(c *service.Config) { c.Webhooks.Timeout = 500 * time.Millisecond })
}

// TestWebhookRedirects checks that redirects are not followed.
func TestWebhookRedirects(t *testing.T) {
	canary := apptest.NewTarget(t, nil)
	var troubles []trouble
	for _, code := range []int{300, 301, 302, 303, 304, 305, 307, 308, 399} {
		for _, location := range []string{canary.URL, "//" + strings.TrimPrefix(canary.URL, "http://") + "/x", "/again", ""} {
			to := apptest.NewTarget(t, func(n int, w http.ResponseWriter, _ *http.Request) {
				if n > 1 {
					t.Errorf("redirect %d to %q was followed", code, location)
				}
				if location != "" {
					w.Header().Set("Location", location)
				}
				w.Header().Set("Refresh", "0; url="+canary.URL)
				w.WriteHeader(code)
			})
			troubles = append(troubles, trouble{fmt.Sprint(code, " to ", location), to.URL, code, redirectText})
		}
	}
	wantTroubles(t, troubles, func(*service.Config) {})
	if got := canary.Asked(); len(got) != 0 {
		t.Errorf("the redirect target received a request: %v", got)
	}
}

// TestWebhookBlocked checks that an address that was allowed when the subscription was created is
// refused later.
func TestWebhookBlocked(t *testing.T) {
	h := newWebhookFixture(t, nil)
	for _, url := range []string{"http://169.254.169.254/latest", "http://[fd00:ec2::254]/"} {
		h.org.Admin.Post("/v1/webhooks/subscriptions", map[string]any{"url": url, "triggers": []string{"*"}}).Fails(422, "validation_failed", "url")
	}
	name := h.subscribe(h.org, strings.Replace(h.to.URL, "127.0.0.1", "localhost", 1))
	h.causeEvents(1)
	h.Config.Webhooks.AllowPrivateNetworks = false
	h.Restart()
	h.Deliver()
	h.wantTrouble(h.id, trouble{name: "an address", text: dnsText})
	h.wantTrouble(name, trouble{name: "a name", text: dnsText})
	h.wantRequests(0, "blocked")
	h.Config.Webhooks.AllowPrivateNetworks = true
	h.Restart()
	h.pass(6 * time.Second)
	h.wantRequests(2, "allowed again")
}

// TestWebhookEndlessAnswers checks that the body after the status does not affect the result and is
// not read. The timeout is an hour, so that nothing here waits for it.
func TestWebhookEndlessAnswers(t *testing.T) {
	const most = 64 << 20 // far more than the buffers in between
	flood := func(c net.Conn, head string) {
		_, err := io.WriteString(c, head)
		sent, chunk := 0, "3ff0\r\n"+strings.Repeat("a", 0x3ff0)+"\r\n"
		for err == nil && sent < most {
			var n int
			n, err = io.WriteString(c, chunk)
			sent += n
		}
		if err == nil {
			t.Errorf("%q: all of %d bytes were read", head, sent)
		}
	}
	wait := func(c net.Conn, head string) {
		_, _ = io.WriteString(c, head)
		_, _ = io.Copy(io.Discard, c) // until the service closes the connection
	}
	drip := func(c net.Conn, head string) {
		_, _ = io.WriteString(c, head)
		drip(c, "1\r\na\r\n")
	}
	const chunked = " Fine\r\nTransfer-Encoding: chunked\r\n\r\n"
	h := newWebhookFixture(t, nil, func(c *service.Config) { c.Webhooks.Timeout = time.Hour })
	var over sync.WaitGroup
	want := map[string]string{}
	for _, code := range []string{"200", "500"} {
		for name, talk := range map[string]func(c *net.TCPConn){
			"gigabyte":   func(c *net.TCPConn) { flood(c, "HTTP/1.1 "+code+" Fine\r\nContent-Length: 1073741824\r\n\r\n") },
			"endless":    func(c *net.TCPConn) { flood(c, "HTTP/1.1 "+code+chunked) },
			"one chunk":  func(c *net.TCPConn) { flood(c, "HTTP/1.1 "+code+chunked+"7fffffff\r\n") },
			"no length":  func(c *net.TCPConn) { flood(c, "HTTP/1.0 "+code+" Fine\r\n\r\n") },
			"drips":      func(c *net.TCPConn) { drip(c, "HTTP/1.1 "+code+chunked) },
			"stops":      func(c *net.TCPConn) { wait(c, "HTTP/1.1 "+code+chunked+"5\r\nab") },
			"says none":  func(c *net.TCPConn) { wait(c, "HTTP/1.1 "+code+" Fine\r\nContent-Length: 9\r\n\r\n") },
			"bad chunks": func(c *net.TCPConn) { wait(c, "HTTP/1.1 "+code+chunked+"canary") },
			"bad gzip": func(c *net.TCPConn) {
				_, _ = io.WriteString(c, "HTTP/1.1 "+code+" Fine\r\nContent-Encoding: gzip\r\nContent-Length: 6\r\n\r\ncanary")
			},
		} {
			over.Add(1)
			url := wire(t, func(c *net.TCPConn) { talk(c); over.Done() })
			want[h.subscribe(h.org, url)] = code + " " + name
		}
	}
	h.causeEvents(1)
	h.Deliver()
	for id, name := range want {
		all := h.history(id)
		if len(all) != 1 || !strings.HasPrefix(name, fmt.Sprint(*all[0].ResponseCode)) || (all[0].Status == "succeeded") != strings.HasPrefix(name, "200") {
			t.Errorf("%s: recorded %+v", name, all)
		}
		if dump := h.org.Dump(); strings.Contains(dump, "canary") {
			t.Fatal("the store contains the response of an endpoint")
		}
	}
	h.wantPending(len(want)/2, "those that failed")
	over.Wait() // the service closed each connection
}

// TestWebhookManners checks that a request contains only what Standard Webhooks specifies, and that
// a retry differs only in the time and the signature.
func TestWebhookManners(t *testing.T) {
	h := newWebhookFixture(t, func(n int, w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1", Path: "/", MaxAge: 1000})
		w.Header().Set("WWW-Authenticate", "Basic")
		w.WriteHeader([]int{401, 503, 200}[n-1])
	})
	created := h.org.Admin.Post("/v1/webhooks/subscriptions", map[string]any{"url": h.to.URL + "/a%20b/c?token=x%2Fy&z=", "triggers": []string{"task.*"}}).Is(201)
	h.org.Admin.Patch(h.path(h.id), `{"status": "paused"}`).Is(200)
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(created.Text("data.secret"), "whsec_"))
	if err != nil || len(key) < 24 || len(key) > 64 {
		t.Fatalf("unexpected length of the secret: %d bytes (error %v)", len(key), err)
	}
	h.Clock.Advance(1234 * time.Millisecond)
	task := h.org.Write.Post("/v1/tasks", `{"title": "Call – \u2028 <b>&amp;"}`).Is(201)
	var data struct{ Data json.RawMessage }
	if err := json.Unmarshal(task.Body, &data); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		h.Deliver()
		h.Clock.Advance(time.Hour)
	}
	h.wantRequests(3, "in all")
	id := h.history(created.ID())[0].SourceEventID
	var at []string
	for i, got := range h.to.Asked() {
		names := slices.Sorted(maps.Keys(got.Header))
		if want := []string{"Content-Length", "Content-Type", "User-Agent", "Webhook-Id", "Webhook-Signature", "Webhook-Timestamp"}; !slices.Equal(names, want) {
			t.Errorf("unexpected headers: %v", got.Header)
		}
		for name, want := range map[string]string{
			"Content-Type": "application/json", "User-Agent": "Prospector/" + service.Version(), "Webhook-Id": id, "Content-Length": strconv.Itoa(len(got.Body)),
			"Webhook-Timestamp": strconv.FormatInt(apptest.Start.Add(1234*time.Millisecond+time.Duration(i)*time.Hour).Unix(), 10),
		} {
			if all := got.Header[name]; len(all) != 1 || all[0] != want {
				t.Errorf("%s is %q, want %q", name, all, want)
			}
		}
		stamp := got.Header.Get("Webhook-Timestamp")
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + stamp + "." + got.Body))
		if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); got.Header.Get("Webhook-Signature") != want {
			t.Errorf("the signature is %s, want %s", got.Header.Get("Webhook-Signature"), want)
		}
		if got.Method != "POST" || got.Path != "/a b/c" || got.Query != "token=x%2Fy&z=" || got.Cookies != 0 || len(got.Encoding) != 0 {
			t.Errorf("unexpected request %+v", got)
		}
		want := fmt.Sprintf(`{"id": %q, "trigger_key": "task.created", "created_at": "2026-03-02T09:00:01.234Z", "org_id": %q, "user_id": %q, "data": %s}`, id, h.org.ID, h.org.User, data.Data)
		if diff := apptest.Diff(want, got.Body); diff != "" || strings.TrimSpace(got.Body) != got.Body {
			t.Errorf("%s\n%s", diff, got.Body)
		}
		at = append(at, stamp)
	}
	if len(slices.Compact(at)) != 3 {
		t.Errorf("unexpected times of the attempts: %v", at)
	}
}
