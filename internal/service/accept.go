package service

import (
	"errors"
	"log/slog"
	"net"
	"time"
)

// acceptReport is a listener that logs why it cannot accept connections, such as a lack of file
// handles, at most once a minute. net/http retries without telling.
type acceptReport struct {
	net.Listener
	log  *slog.Logger
	now  func() time.Time
	last time.Time // when it was logged
}

const acceptReportInterval = time.Minute

// Accept is called by one goroutine at a time.
func (l *acceptReport) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil || errors.Is(err, net.ErrClosed) {
		return c, err
	}
	if now := l.now(); l.last.IsZero() || now.Sub(l.last) >= acceptReportInterval {
		l.last = now
		l.log.Error("connections cannot be accepted", "address", l.Addr().String(), "error", err)
	}
	return c, err
}
