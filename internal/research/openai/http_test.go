package openai

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"prospector/internal/catalog"
	"prospector/internal/research"
)

// writeStatus answers with a status, and with a model's answer if it is 200.
func writeStatus(w http.ResponseWriter, status int) {
	w.WriteHeader(status)
	body := replyWith(trueReply)
	if status != http.StatusOK {
		body = `{"error":{"message":"no chocolate for ` + testKey + `"}}`
	}
	io.WriteString(w, body)
}

// nearWait reports whether a back-off is within a quarter of want.
func nearWait(got, want time.Duration) bool { return got >= want*3/4 && got <= want*5/4 }

func TestRetries(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	date := func(in time.Duration) string { return now.Add(in).Format(http.TimeFormat) }
	const own = -1 // an exponential back-off
	ok := http.StatusOK
	for _, c := range []struct {
		statuses   []int
		retryAfter string
		want       string
		waits      []time.Duration
	}{
		{statuses: []int{ok}, want: trueShown},
		{statuses: []int{500, 502, ok}, want: trueShown, waits: []time.Duration{own, own}},
		{statuses: []int{503, ok}, want: trueShown, waits: []time.Duration{own}},
		{statuses: []int{500, 503, 502}, want: failed("http_502"), waits: []time.Duration{own, own}},
		{statuses: []int{500, 500, 500}, want: failed("http_500"), waits: []time.Duration{own, own}},
		{statuses: []int{429, 429, 429}, want: failed("http_429"), waits: []time.Duration{own, own}},
		{statuses: []int{429, 429, ok}, retryAfter: "7", want: trueShown, waits: []time.Duration{7 * time.Second, 7 * time.Second}},
		{statuses: []int{503, ok}, retryAfter: " 60 ", want: trueShown, waits: []time.Duration{time.Minute}},
		{statuses: []int{429, ok}, retryAfter: "61", want: trueShown, waits: []time.Duration{time.Minute}},
		{statuses: []int{429, ok}, retryAfter: "4294967295", want: trueShown, waits: []time.Duration{time.Minute}},
		{statuses: []int{429, ok}, retryAfter: "99999999999999999999999", want: trueShown, waits: []time.Duration{time.Minute}},
		{statuses: []int{429, ok}, retryAfter: "0", want: trueShown, waits: []time.Duration{0}},
		{statuses: []int{429, ok}, retryAfter: date(20 * time.Second), want: trueShown, waits: []time.Duration{20 * time.Second}},
		{statuses: []int{429, ok}, retryAfter: date(24 * time.Hour), want: trueShown, waits: []time.Duration{time.Minute}},
		{statuses: []int{429, ok}, retryAfter: date(-time.Hour), want: trueShown, waits: []time.Duration{0}},
		{statuses: []int{429, ok}, retryAfter: "soon", want: trueShown, waits: []time.Duration{own}},
		{statuses: []int{429, ok}, retryAfter: "-5", want: trueShown, waits: []time.Duration{own}},
		{statuses: []int{401}, want: failed("http_401")},
		{statuses: []int{403}, retryAfter: "7", want: failed("http_403")},
		{statuses: []int{402}, want: failed("http_402")},
		{statuses: []int{418}, want: failed("http_418")},
		{statuses: []int{300}, want: failed("http_300")},
		{statuses: []int{204}, want: failed("invalid_answer")},
		// Each of these is one refusal in all six forms, which does not count as a try.
		{statuses: []int{400, 400, 400, 400, 400, 400}, want: failed("http_400")},
		{statuses: []int{404, 404, 404, 404, 404, 404}, want: failed("http_404")},
		{statuses: []int{422, 422, 422, 422, 422, 422}, want: failed("http_422")},
		{statuses: []int{501, 501, 501}, want: failed("http_501"), waits: []time.Duration{own, own}},
		{statuses: []int{400, 500, 400, 500, 400, 400, 400}, want: failed("http_400"), waits: []time.Duration{own, own}},
	} {
		name := fmt.Sprint(c.statuses, c.retryAfter)
		b := newTestServer(t, func(n int, w http.ResponseWriter, _ *http.Request) {
			if c.retryAfter != "" {
				w.Header().Set("Retry-After", c.retryAfter)
			}
			writeStatus(w, c.statuses[min(n, len(c.statuses))-1])
		})
		if got := b.ask(yesQuestion); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if len(b.asked) != len(c.statuses) {
			t.Errorf("%s: asked %d times", name, len(b.asked))
		}
		for i, wait := range c.waits {
			if wait == own && len(b.waits) > i && nearWait(b.waits[i], []time.Duration{time.Second, 4 * time.Second}[i]) {
				c.waits[i] = b.waits[i]
			}
		}
		if !slices.Equal(b.waits, c.waits) {
			t.Errorf("%s: waited %v, want %v", name, b.waits, c.waits)
		}
	}
}

// TestRedirect answers with a redirect to another host, which must not receive the key.
func TestRedirect(t *testing.T) {
	elsewhere := newTestServer(t, func(_ int, w http.ResponseWriter, _ *http.Request) { writeStatus(w, http.StatusOK) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		b := newTestServer(t, func(_ int, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.server.URL+"/v1/chat/completions", status)
		})
		if got, want := b.ask(yesQuestion), failed(fmt.Sprint("http_", status)); got != want || len(b.asked) != 1 {
			t.Errorf("%d: %s after %d requests", status, got, len(b.asked))
		}
	}
	if len(elsewhere.asked) > 0 {
		t.Error("a redirect was followed")
	}
}

// TestEndlessBody limits how much of an endless body is read.
func TestEndlessBody(t *testing.T) {
	left := make(chan struct{})
	b := newTestServer(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		defer close(left)
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})
	if got := b.ask(yesQuestion); got != failed("answer_too_large") {
		t.Error(got)
	}
	<-left
}

// breakConnection writes raw bytes and closes the connection.
func breakConnection(t *testing.T, w http.ResponseWriter, raw string) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	io.WriteString(conn, raw)
	conn.Close()
}

func TestBrokenConnections(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	for name, raw := range map[string]string{
		"at once":             "",
		"in the headers":      "HTTP/1.1 200 OK\r\nContent-",
		"in the body":         head + "Content-Length: 1000\r\n\r\n{\"choices\"",
		"in a chunk":          head + "Transfer-Encoding: chunked\r\n\r\n400\r\n{\"choices\"",
		"garbage":             "\x00\xff chocolate \x16\x03\x01",
		"endless headers":     head + "X: " + strings.Repeat("x", 1<<20) + "\r\n\r\n",
		"a bad chunk":         head + "Transfer-Encoding: chunked\r\n\r\nchocolate\r\n",
		"a bad length":        head + "Content-Length: -1\r\n\r\n",
		"another status line": "ICY 200 OK\r\n\r\n",
	} {
		b := newTestServer(t, func(_ int, w http.ResponseWriter, _ *http.Request) { breakConnection(t, w, raw) })
		if got := b.ask(yesQuestion); got != failed("connection_broken") || len(b.asked) != maxTries {
			t.Errorf("%s: %s after %d requests", name, got, len(b.asked))
		}
		mended := newTestServer(t, func(n int, w http.ResponseWriter, _ *http.Request) {
			if n < maxTries {
				breakConnection(t, w, raw)
				return
			}
			writeStatus(w, http.StatusOK)
		})
		if got := mended.ask(yesQuestion); got != trueShown {
			t.Errorf("%s, mended: %s", name, got)
		}
	}
}

func TestUnreachable(t *testing.T) {
	b := newTestServer(t, func(_ int, w http.ResponseWriter, _ *http.Request) { t.Error("asked") })
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	unknownCA := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("asked") }))
	unknownCA.Config.ErrorLog = log.New(io.Discard, "", 0)
	unknownCA.StartTLS()
	defer unknownCA.Close()
	for url, waits := range map[string]int{"http://" + closed.Addr().String(): 2, unknownCA.URL: 2, "gopher://example": 2, "http://a b": 0, "": 2} {
		b.model.url, b.waits = url, nil
		if got := b.ask(yesQuestion); got != failed(research.ProviderUnreachable) || len(b.waits) != waits {
			t.Errorf("%s: %s after %d waits", url, got, len(b.waits))
		}
	}

	// The question reached the server once, so the reason must not be that it is unreachable.
	for raw, reason := range map[string]string{
		"": "connection_broken",
		"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n": "http_400",
	} {
		var gone *testServer
		gone = newTestServer(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			gone.server.Listener.Close()
			breakConnection(t, w, raw)
		})
		if got := gone.ask(yesQuestion); got != failed(reason) || len(gone.asked) != 1 {
			t.Errorf("gone after the first: %s after %d requests", got, len(gone.asked))
		}
	}
}

// TestConcurrent asks about many companies at once. The server does not support schemas and fails
// at first.
func TestConcurrent(t *testing.T) {
	const atOnce, rounds = 8, 8
	var b *testServer
	b = newTestServer(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		b.mu.Lock()
		form := b.asked[n-1].form()
		b.mu.Unlock()
		switch {
		case n <= 2:
			writeStatus(w, http.StatusServiceUnavailable)
		case strings.HasPrefix(form, "json_schema"):
			writeStatus(w, http.StatusBadRequest)
		default:
			writeStatus(w, http.StatusOK)
		}
	})
	b.askAtOnce(atOnce * rounds)
	if warned := strings.Count(b.log.String(), "simpler form"); warned != 1 {
		t.Errorf("warned %d times: %s", warned, b.log.String())
	}
}

// TestConnections checks that concurrent questions reuse the connections of earlier ones.
func TestConnections(t *testing.T) {
	const atOnce, rounds = 8, 8
	come, leave := make(chan struct{}), make(chan struct{})
	b := newTestServer(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		come <- struct{}{}
		<-leave
		writeStatus(w, http.StatusOK)
	})
	for range rounds {
		var all sync.WaitGroup
		all.Go(func() { b.askAtOnce(atOnce) })
		for range atOnce {
			<-come
		}
		for range atOnce {
			leave <- struct{}{}
		}
		all.Wait()
	}
	connections := map[string]bool{}
	for _, a := range b.asked {
		connections[a.from] = true
	}
	if len(connections) > 2*atOnce { // a connection may become idle slightly too late
		t.Errorf("%d connections", len(connections))
	}
}

// askAtOnce asks about many companies concurrently. All of them must be answered.
func (b *testServer) askAtOnce(companies int) {
	var all sync.WaitGroup
	for range companies {
		all.Go(func() {
			got, err := b.model.Research(b.t.Context(), yesQuestion, &catalog.Company{Name: testCompany})
			if err != nil || shown(b.t, got) != trueShown {
				b.t.Error(shown(b.t, got), err)
			}
		})
	}
	all.Wait()
}

// TestWarnings checks that each kind of failure is logged once a minute.
func TestWarnings(t *testing.T) {
	status := http.StatusUnauthorized
	b := newTestServer(t, func(_ int, w http.ResponseWriter, _ *http.Request) { writeStatus(w, status) })
	for range 5 {
		b.ask(yesQuestion)
	}
	status = http.StatusForbidden
	b.ask(yesQuestion)
	status = http.StatusUnauthorized
	b.now = b.now.Add(time.Minute)
	b.ask(yesQuestion)
	var lines []string
	for line := range strings.Lines(b.log.String()) {
		_, line, _ = strings.Cut(line, "level=")
		lines = append(lines, strings.TrimSpace(line))
	}
	const says = `WARN msg="research endpoint returned no usable answer" reason=`
	want := []string{says + "http_401 companies=1", says + "http_403 companies=1", says + "http_401 companies=5"}
	if !slices.Equal(lines, want) {
		t.Errorf("logged %q, want %q", lines, want)
	}
}
