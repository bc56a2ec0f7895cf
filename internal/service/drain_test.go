package service

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// TestReadinessWhileShuttingDown checks that /readyz fails while a request in flight delays the
// shutdown, and that the request still completes.
func TestReadinessWhileShuttingDown(t *testing.T) {
	cfg := Config{DataDir: t.TempDir()}
	cfg.Limits.BodyBytes, cfg.Limits.ShutdownTime = 1<<20, time.Minute
	s, err := Open(cfg, Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	key := keyOf(t, s)
	ln, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready, stopped := make(chan struct{}), make(chan error, 1)
	go func() { stopped <- s.Run(ctx, ln, nil, func(context.Context) error { close(ready); return nil }) }()
	select {
	case <-ready:
	case err := <-stopped:
		t.Fatalf("the service ended before it was ready: %v", err)
	}

	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	const contact = `{"email": "bill@initech.example"}`
	fmt.Fprintf(conn, "POST /v1/contacts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", key, len(contact))
	answers := bufio.NewReader(conn)
	if line, err := answers.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
		t.Fatalf("%q, %v", line, err) // the request is in flight once the server asks for its body
	}

	cancel()
	awaitDraining(t, s)
	fmt.Fprint(conn, contact)
	rest, err := io.ReadAll(answers)
	if err != nil || !strings.Contains(string(rest), "201 Created") {
		t.Errorf("%s, %v", rest, err)
	}
	select {
	case err := <-stopped:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the service does not stop")
	}
}

// TestRequestsOnAcceptedConnections checks that a service that shuts down answers the requests on
// connections that the client has established before.
func TestRequestsOnAcceptedConnections(t *testing.T) {
	const request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
	certificate := httptest.NewUnstartedServer(nil)
	certificate.StartTLS()
	defer certificate.Close()
	for _, c := range []struct {
		name         string
		secure       bool
		conns        int
		before, then string // what is sent before the shutdown, and what after it has begun
	}{
		{name: "waiting to be accepted", conns: 50, before: request},
		{name: "used before", conns: 1, before: request, then: request},
		{name: "used before, with TLS", secure: true, conns: 1, before: request, then: request},
		{name: "used before, header half sent", conns: 1, before: request + request[:20], then: request[20:]},
		{name: "header half sent", conns: 1, before: request[:20], then: request[20:]},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := Config{DataDir: t.TempDir()}
			cfg.Limits.BodyBytes, cfg.Limits.ShutdownTime = 1<<20, time.Minute
			s, err := Open(cfg, Options{Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			ln, err := listen("127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var secure *tls.Config
			if c.secure {
				secure = &tls.Config{Certificates: certificate.TLS.Certificates}
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stopped := make(chan error, 1)
			run := func() {
				go func() { stopped <- s.Run(ctx, ln, secure, func(context.Context) error { return nil }) }()
			}
			if c.then != "" {
				run()
			}
			var clients []*bufio.ReadWriter
			for range c.conns {
				conn := dial(t, ln.Addr().String(), c.secure)
				clients = append(clients, bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn)))
			}
			for _, client := range clients {
				send(t, client, c.before)
				if strings.HasPrefix(c.before, request) && c.then != "" {
					wantHealthy(t, client, false)
				}
			}
			cancel()
			if c.then == "" {
				run() // the shutdown begins before anything is accepted
			} else {
				awaitDraining(t, s)
			}
			for _, client := range clients {
				send(t, client, c.then)
				wantHealthy(t, client, c.then != "")
			}
			if err := <-stopped; err != nil {
				t.Error(err)
			}
		})
	}
}

func dial(t *testing.T, address string, secure bool) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err == nil && secure {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	}
	if err == nil {
		err = conn.SetDeadline(time.Now().Add(time.Minute))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func send(t *testing.T, client *bufio.ReadWriter, text string) {
	t.Helper()
	_, err := client.WriteString(text)
	if err := errors.Join(err, client.Flush()); err != nil {
		t.Fatal(err)
	}
}

// wantHealthy reads the response of /healthz, which says whether the connection will be closed.
func wantHealthy(t *testing.T, client *bufio.ReadWriter, closes bool) {
	t.Helper()
	res, err := http.ReadResponse(client.Reader, nil)
	if err != nil {
		t.Fatalf("no response: %v", err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK || closes && !res.Close {
		t.Errorf("%s, closing: %v, want %v (%v)", res.Status, res.Close, closes, err)
	}
}

// awaitDraining waits until /readyz reports the shutdown.
func awaitDraining(t *testing.T, s *Service) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; runtime.Gosched() {
		w := httptest.NewRecorder()
		s.API.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if w.Code == http.StatusServiceUnavailable {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("/readyz still succeeds")
		}
	}
}

// keyOf creates an organization with a user and returns an API key.
func keyOf(t *testing.T, s *Service) (key string) {
	t.Helper()
	object := func(body string) shape.Value {
		v, err := shape.ParseObject([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	actor := store.Actor{Operation: "test"}
	org, err := s.Identity.CreateOrganization(t.Context(), actor, object(`{"name": "Acme"}`))
	if err != nil {
		t.Fatal(err)
	}
	err = s.Store.Update(t.Context(), org.ID, actor, func(tx *store.Tx) error {
		_, err := s.Identity.Users.Create(tx, record.NewDraft[identity.User](object(`{"email": "ada@acme.example"}`)))
		if err == nil {
			_, key, err = s.Identity.CreateKey(tx, record.NewDraft[identity.Key](object(`{"name": "k"}`)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return key
}
