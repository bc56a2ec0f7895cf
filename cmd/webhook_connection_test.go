package cmd_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"prospector/internal/apptest"
)

// metric returns the sum of a metric over the labels that match the pattern.
func (s *server) metric(name, labels string) (sum float64) {
	s.t.Helper()
	r, err := send(client, "GET", s.url+"/metrics", "")
	if err != nil {
		s.t.Fatal(err)
	}
	all := regexp.MustCompile(`(?m)^`+name+`(?:\{`+labels+`\})? (\S+)$`).FindAllSubmatch(r.body, -1)
	if all == nil {
		s.t.Fatalf("the metrics do not contain %s: %s", name, r.body)
	}
	for _, m := range all {
		n, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			s.t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// TestWebhookExtraResponseData checks that data an endpoint sends beyond its response is not
// logged at any level.
func TestWebhookExtraResponseData(t *testing.T) {
	t.Parallel()
	d := newWebhookPlace(t, "PROSPECTOR_WEBHOOKS_RETRY_SCHEDULE=1h")
	s := d.serve()
	ended := make(chan string, 100)
	answers := []string{
		"HTTP/1.1 204 No Content\r\nContent-Length: 11\r\n\r\nhush canary",
		"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhush canary",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokhush canary",
		"HTTP/1.1 500 Hush canary\r\nContent-Length: 0\r\n\r\nhush canary",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nlevel=ERROR msg=hush canary",
		"HTTP/1.1 103 Early Hints\r\nLink: <hush canary>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nhush canary",
	}
	var all []*subscriber
	for _, answer := range answers {
		address := apptest.Listen(t, func(conn *net.TCPConn) {
			req, err := http.ReadRequest(bufio.NewReader(conn))
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
			_, _ = io.WriteString(conn, answer)
			_, _ = io.Copy(io.Discard, conn) // until the service closes the connection, after everything it might log about it
			ended <- answer
		})
		b := &subscriber{t: t, Server: &httptest.Server{URL: "http://" + address}}
		b.subscribe(s, d.key, "contact.created")
		all = append(all, b)
	}
	s.contact(d.key, "ada")
	for range answers {
		within(t, ended, "the service hangs up on all of them")
	}
	for i, b := range all {
		if code := *b.awaitAttempts(s, 1)[0].ResponseCode; !strings.Contains(answers[i], fmt.Sprint(" ", code, " ")) {
			t.Errorf("the attempt answered by %q is recorded as %d", answers[i], code)
		}
	}
	s.stop()
	s.hasNoErrors()
	for _, text := range []string{"canary", "nsolicited", "idle HTTP"} {
		if strings.Contains(s.stderr.String(), text) {
			t.Errorf("the log contains %q", text)
		}
	}
}

// TestWebhookOrgDeleteMany checks that no delivery of an organization starts after the response to
// its deletion, although thousands were pending and some were claimed.
func TestWebhookOrgDeleteMany(t *testing.T) {
	t.Parallel()
	d := newWebhookPlace(t)
	gone, key := d.place.org("Gone")
	b, other := newSubscriber(t, nil), newSubscriber(t, nil)
	s := d.serve()
	b.subscribe(s, key, "contact.created")
	other.subscribe(s, d.key, "contact.created")
	var started, held atomic.Int64
	gate, open := b.gate()
	b.answers(func(http.ResponseWriter, *http.Request, receivedDelivery) {
		if started.Add(1) > 300 { // by then many are claimed
			held.Add(1)
			<-gate
		}
	})
	s.load(key, 3000, func(i int) string { return fmt.Sprintf(`"notes": "%d %s"`, i, hushAddress) })
	running := func() int64 { return int64(s.metric("prospector_webhook_attempts_running", "")) }
	s.awaitMilestone(milestone{"some are under way", func() bool { n := held.Load(); return n > 0 && running() == n }})
	d.run("org", "delete", "--org", gone, "--yes").ok()
	begun := running() + int64(s.metric("prospector_webhook_attempts_total", `[^}]*`))
	if begun < 300 || begun > 1000 {
		t.Fatalf("%d of 3,000 deliveries started", begun)
	}
	open()
	s.awaitMilestone(milestone{"nothing is under way", func() bool { return running() == 0 }})
	s.awaitNoPending()
	s.contact(d.key, "late")
	other.awaitAttempts(s, 1)
	s.stop()
	s.hasNoErrors()
	if n := int64(len(b.all())); n != begun {
		t.Errorf("%d deliveries had started, now there are %d", begun, n)
	}
	d.checkDeleted("Gone", gone)
	d.passesCheck()
	s.logHasNoSecrets(b, other)
}

// gateway forwards connections until forget is called. From then on it discards data on the
// existing connections and forwards only new ones.
type gateway struct {
	address string
	mu      sync.Mutex
	epoch   int
	dialled int
}

func newGateway(t *testing.T, to string) *gateway {
	g := &gateway{}
	g.address = apptest.Listen(t, func(conn *net.TCPConn) {
		server, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer server.Close()
		g.mu.Lock()
		g.dialled++
		epoch := g.epoch
		g.mu.Unlock()
		pass := func(to io.Writer, from io.Reader) {
			for piece := make([]byte, 32<<10); ; {
				n, err := from.Read(piece)
				if err != nil {
					return
				}
				g.mu.Lock()
				known := g.epoch == epoch
				g.mu.Unlock()
				if known {
					_, _ = to.Write(piece[:n])
				}
			}
		}
		go pass(conn, server)
		pass(server, conn)
	})
	return g
}

// forget stops forwarding the existing connections.
func (g *gateway) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.epoch++
}

// connections returns how many connections were opened.
func (g *gateway) connections() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dialled
}

// TestWebhookSilentConnection checks that a connection shared by all deliveries to a host is
// replaced if it goes silent without being closed.
func TestWebhookSilentConnection(t *testing.T) {
	t.Parallel()
	d := newWebhookPlace(t, "PROSPECTOR_WEBHOOKS_TIMEOUT=3s", "PROSPECTOR_WEBHOOKS_RETRY_SCHEDULE=1s,1s,1s")
	trusted := newPair(t, "trusted", tomorrow)
	d.write("trusted.pem", trusted.cert)
	d.env = append(d.env, "SSL_CERT_FILE="+d.path("trusted.pem"), "SSL_CERT_DIR="+d.dir)
	b := newSubscriber(t, &trusted)
	g := newGateway(t, b.Listener.Addr().String())
	b.URL = "https://" + g.address
	s := d.serve()
	b.subscribe(s, d.key, "contact.created")
	s.contact(d.key, "first")
	b.awaitDeliveries(1)
	b.awaitAttempts(s, 1)
	before := g.connections()
	g.forget()
	for i := range 3 {
		s.contact(d.key, i)
	}
	for _, got := range b.awaitDeliveries(4) {
		if got.proto != 2 {
			t.Errorf("the delivery used HTTP/%d", got.proto)
		}
	}
	if after := g.connections(); after <= before {
		t.Errorf("got %d connections before and %d after", before, after)
	}
	s.awaitMilestone(milestone{"all are on record", func() bool {
		_, n := b.attempts(s, "status=succeeded")
		return n == 4
	}})
	s.awaitNoPending()
	failed, _ := b.attempts(s, "status=failed")
	if len(failed) == 0 {
		t.Error("no connection went silent")
	}
	for _, a := range failed {
		if !regexp.MustCompile("^(timeout|connect): ").MatchString(a.Error) {
			t.Errorf("the recorded attempt is %+v", a)
		}
	}
	s.stop()
	s.hasNoErrors()
	s.logHasNoSecrets(b)
}
