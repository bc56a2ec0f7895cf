package service

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
)

// client is a connection that stays open after a request.
type client struct {
	net.Conn
	answers *bufio.Reader
}

func (c client) get(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
}

// TestIdleConnectionsMakeRoom checks that a listener with all its connections in use closes the one that has
// been idle the longest to accept another, and none in which a request is in progress.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	ln, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	const limit = 3
	l := newDrainListener(ln, limit, slog.New(slog.NewTextHandler(&log, nil)))
	entered, leave := make(chan struct{}), make(chan struct{})
	idle := make(chan struct{}, 10)
	connState := func(conn net.Conn, state http.ConnState) {
		l.connState(conn, state)
		if state == http.StateIdle {
			idle <- struct{}{}
		}
	}
	server := &http.Server{ConnState: connState, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			entered <- struct{}{}
			<-leave
		}
	})}
	go func() { _ = server.Serve(l) }()
	dial := func() client {
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return client{conn, bufio.NewReader(conn)}
	}
	closed := func(c client) {
		t.Helper()
		if _, err := c.answers.ReadByte(); err == nil {
			t.Error("the connection is open")
		}
	}

	slow, first, second := dial(), dial(), dial()
	if _, err := io.WriteString(slow, "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-entered
	get := func(c client) {
		t.Helper()
		c.get(t)
		<-idle // the server says so after it has answered
	}
	get(first)
	get(second)
	third := dial()
	get(third)
	closed(first)
	fourth := dial()
	get(fourth)
	closed(second)
	get(third)

	close(leave)
	if res, err := http.ReadResponse(slow.answers, nil); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("the request in progress got %v, %v", res, err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if text := log.String(); strings.Count(text, "file handles are short") != 1 || !strings.Contains(text, "limit=3") {
		t.Errorf("the log has %s", text)
	}
}

// TestSilentConnectionsMakeRoom checks that connections on which nothing or half a request was sent do not keep others out.
func TestSilentConnectionsMakeRoom(t *testing.T) {
	ln, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newDrainListener(ln, 2, slog.New(slog.DiscardHandler))
	server := &http.Server{ConnState: l.connState, Handler: http.NotFoundHandler()}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	dial := func(text string) client {
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err == nil {
			_, err = io.WriteString(conn, text)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return client{conn, bufio.NewReader(conn)}
	}
	for range 2 {
		dial("")
		dial("GET / HTTP/1.1\r\nHost")
	}
	dial("").get(t)
}

// TestWaitingListenerCloses checks that a listener that waits for room can be closed. The connection is then
// closed with the others.
func TestWaitingListenerCloses(t *testing.T) {
	ln, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newDrainListener(ln, 0, slog.New(slog.DiscardHandler))
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	accepted := make(chan error)
	go func() {
		c, err := l.Accept()
		if err == nil {
			err = c.Close()
		}
		accepted <- err
	}()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-accepted; err != nil && !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// TestHandleBudget checks that the service keeps file handles for itself, whatever its limit is.
func TestHandleBudget(t *testing.T) {
	for all, want := range map[int]handleBudget{
		48: {connections: 24, indexes: 1}, 1024: {connections: 512, indexes: 32}, 4096: {connections: 3072, indexes: 64},
	} {
		if got := budgetOf(all); got != want {
			t.Errorf("of %d handles: %+v, want %+v", all, got, want)
		}
	}
}
