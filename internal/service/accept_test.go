package service

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

// failingListener fails with an error.
type failingListener struct {
	net.Listener
	err error
}

func (l failingListener) Accept() (net.Conn, error) { return nil, l.err }

// TestAcceptReport checks that a lack of file handles is logged at error level, at most once a minute.
func TestAcceptReport(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var log bytes.Buffer
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	short := &net.OpError{Op: "accept", Net: "tcp", Err: syscall.EMFILE}
	l := &acceptReport{Listener: failingListener{ln, short}, log: sparseLog{log: slog.New(slog.NewTextHandler(&log, nil)), now: func() time.Time { return now }}}
	for range 121 { // two minutes, one error a second
		if _, err := l.Accept(); !errors.Is(err, syscall.EMFILE) {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
	}
	if n := strings.Count(log.String(), `level=ERROR msg="connections cannot be accepted"`); n != 3 || !strings.Contains(log.String(), "too many open files") {
		t.Errorf("logged %d times:\n%s", n, &log)
	}
	l.Listener = failingListener{ln, net.ErrClosed}
	log.Reset()
	now = now.Add(time.Hour)
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) || log.Len() > 0 {
		t.Errorf("a closed listener: %v, %s", err, &log)
	}
}
