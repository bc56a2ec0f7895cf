package cmd_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// slowPost is a request that the server is reading, with half of its body sent.
type slowPost struct {
	t    *testing.T
	conn net.Conn
	from *bufio.Reader
	rest string
}

func (s *server) slowPost(key, path, body string) *slowPost {
	s.t.Helper()
	addr := strings.TrimPrefix(s.url, "http://")
	conn, err := net.DialTimeout("tcp", addr, waitTimeout)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(waitTimeout)); err != nil {
		s.t.Fatal(err)
	}
	// The server responds 100 when it begins to read the body. Only then is the request certainly
	// in flight.
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n", path, addr, key, len(body))
	p := &slowPost{t: s.t, conn: conn, from: bufio.NewReader(conn), rest: body[len(body)/2:]}
	if line, err := p.from.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100 ") {
		s.t.Fatalf("want 100 Continue, got %q (%v)", line, err)
	}
	if _, err := p.from.ReadString('\n'); err != nil { // the empty line after it
		s.t.Fatal(err)
	}
	p.write(body[:len(body)/2])
	return p
}

func (p *slowPost) write(s string) {
	p.t.Helper()
	if _, err := io.WriteString(p.conn, s); err != nil {
		p.t.Fatal(err)
	}
}

// finish sends the rest and reads the response.
func (p *slowPost) finish() reply {
	p.t.Helper()
	p.write(p.rest)
	res, err := http.ReadResponse(p.from, &http.Request{Method: http.MethodPost})
	if err != nil {
		p.t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return reply{status: res.StatusCode, header: res.Header, body: body}
}

var shuttingDown = regexp.MustCompile(`msg="shutting down"`)

// TestShutdown checks that after a signal the server finishes requests in flight, accepts no new
// ones and loses no data.
func TestShutdown(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			s := p.serve()
			org, key := p.org("Acme")
			var ids []string
			for i := range 10 {
				ids = append(ids, s.id(s.do(http.StatusCreated, key, "POST", "/v1/contacts", fmt.Sprintf(`{"email": "c%d@acme.example"}`, i))))
			}
			idle, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer idle.Close()
			if err := idle.SetDeadline(time.Now().Add(2 * waitTimeout)); err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(idle, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") // then the connection is kept alive, idle
			if line, err := bufio.NewReader(idle).ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
				t.Fatalf("healthz returns %q (%v)", line, err)
			}

			slow := s.slowPost(key, "/v1/contacts", `{"email": "slow@acme.example", "notes": "sent in two halves"}`)
			s.signal(sig)
			s.await(s.stderr, shuttingDown)
			s.refusesConnections()
			p.run("user", "create", "--org", org, "--email", "late@acme.example").ok() // commands still reach the server
			answer := slow.finish()
			if answer.status != http.StatusCreated {
				t.Fatalf("the request in flight returns %d: %s", answer.status, answer.body)
			}
			ids = append(ids, s.id(answer))
			s.ends(0)
			if out := s.stdout.String(); out != "" {
				t.Errorf("serve printed %q", out)
			}

			s = p.serve()
			for _, id := range ids {
				s.do(http.StatusOK, key, "GET", "/v1/contacts/"+id, "")
			}
			if n := s.total(key, "contacts", "{}"); n != len(ids) {
				t.Errorf("got %d contacts, want %d", n, len(ids))
			}
			if out := p.run("user", "list", "--org", org).ok().stdout; !strings.Contains(out, "late@acme.example") {
				t.Errorf("the user created during the shutdown is missing: %s", out)
			}
			s.stop()
		})
	}
}

// TestLastUseIsStored checks that the last use of keys is stored at the latest when the server
// stops.
func TestLastUseIsStored(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve()
	org, key := p.org("Acme")
	s.do(http.StatusOK, key, "GET", "/v1/me", "")
	s.stop()
	if out := p.run("key", "list", "--org", org, "--json").ok().stdout; !regexp.MustCompile(`"last_used_at": "` + aTime + `"`).MatchString(out) {
		t.Errorf("the last use of the key is lost: %s", out)
	}
}

// refusesConnections waits until the server no longer listens. There is no signal for that, because
// the log line is written just before.
func (s *server) refusesConnections() {
	s.t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for late := time.After(waitTimeout); ; {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if errors.Is(err, syscall.ECONNREFUSED) {
			return
		}
		if err == nil {
			conn.Close()
		}
		select {
		case <-again.C:
		case <-late:
			s.t.Fatalf("the server still accepts connections (%v)", err)
		}
	}
}

// TestSecondSignal checks that a second signal stops a server that waits for a hanging request.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	for _, signals := range [][2]os.Signal{{syscall.SIGTERM, syscall.SIGTERM}, {syscall.SIGINT, syscall.SIGINT}, {syscall.SIGTERM, syscall.SIGINT}} {
		t.Run(fmt.Sprintf("%v and %v", signals[0], signals[1]), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			s := p.serve()
			_, key := p.org("Acme")
			kept := s.id(s.do(http.StatusCreated, key, "POST", "/v1/contacts", `{"email": "kept@acme.example"}`))
			s.slowPost(key, "/v1/contacts", `{"email": "slow@acme.example"}`)
			s.signal(signals[0])
			s.await(s.stderr, shuttingDown)
			select {
			case <-s.exited:
				t.Fatal("the server does not wait for the request in flight")
			default:
			}
			asked := time.Now()
			s.signal(signals[1])
			s.ends(1)
			if took := time.Since(asked); took > shutdownLimit {
				t.Errorf("the server took %v to stop after the second signal", took)
			}

			s = p.serve()
			s.do(http.StatusOK, key, "GET", "/v1/contacts/"+kept, "")
			if n := s.total(key, "contacts", "{}"); n != 1 {
				t.Errorf("got %d contacts, want 1", n)
			}
			s.stop()
		})
	}
}

// TestShutdownWhateverRuns checks that a signal ends the server within limits.shutdown_time while a client
// does not read its export, another does not send its body, a list takes very long, and a webhook endpoint
// does not answer. Each of them alone would take minutes.
func TestShutdownWhateverRuns(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "PROSPECTOR_LIMITS_SHUTDOWN_TIME=4s", "PROSPECTOR_LIMITS_LIST_TIME=1h", "PROSPECTOR_WEBHOOKS_TIMEOUT=1h",
		"PROSPECTOR_WEBHOOKS_ALLOW_PRIVATE_NETWORKS=true", "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
	_, key := p.org("Acme")
	s := p.serve()
	asked := make(chan struct{}, 1)
	endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server notices a closed connection only then
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer endpoint.Close()
	s.do(http.StatusCreated, key, "POST", "/v1/webhooks/subscriptions", fmt.Sprintf(`{"url": %q, "triggers": ["tag.created"]}`, endpoint.URL))
	s.tag(key, "Champion")
	<-asked
	notes := strings.Repeat("lorem ipsum ", 8000)
	var ids []string
	for range 5 {
		ids = append(ids, s.load(key, 60, func(int) string { return fmt.Sprintf(`"notes": %q`, notes) })...)
	}
	s.slowExport(key, "stalled")
	s.slowPost(key, "/v1/contacts", `{"email": "half@acme.example"}`)
	var rules []string
	for i := range 1000 {
		rules = append(rules, fmt.Sprintf(`{"field": "notes", "condition": "contains", "value": "ipsum lorem %d"}`, i))
	}
	filter := s.slowPost(key, "/v1/contacts/list", `{"filters": {"operator": "or", "filters": [`+strings.Join(rules, ",")+`]}}`)
	filter.write(filter.rest)

	s.signal(syscall.SIGTERM)
	select {
	case <-s.exited:
	case <-time.After(shutdownLimit): // far more than the limit, and far less than what runs
		t.Fatalf("the server does not stop:\n%s", s.stderr)
	}

	endpoint.CloseClientConnections()
	endpoint.Close()
	s = p.serve()
	if n := s.total(key, "contacts", `{}`); n != len(ids) {
		t.Errorf("got %d contacts, want %d", n, len(ids))
	}
	s.stop()
	p.passesCheck()
}
