package service

import (
	"errors"
	"net"
)

// acceptReport is a listener that logs why it cannot accept connections, such as a lack of file
// handles. net/http retries without telling.
type acceptReport struct {
	net.Listener
	log sparseLog
}

// Accept is called by one goroutine at a time.
func (l *acceptReport) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		l.log.error("connections cannot be accepted", "address", l.Addr().String(), "error", err)
	}
	return c, err
}
