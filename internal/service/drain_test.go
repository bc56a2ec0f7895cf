package service

import (
	"bufio"
	"context"
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
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready, stopped := make(chan struct{}), make(chan error, 1)
	go func() { stopped <- s.Run(ctx, ln, func() { close(ready) }) }()
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
	readiness := func() int {
		w := httptest.NewRecorder()
		s.API.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		return w.Code
	}
	for deadline := time.Now().Add(time.Minute); readiness() != http.StatusServiceUnavailable; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("/readyz still succeeds")
		}
	}
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
