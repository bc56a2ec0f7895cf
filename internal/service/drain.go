package service

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

const (
	// Connections that wait in the kernel's queue at shutdown are still accepted: the listener closes when
	// none has come for acceptPause, and after acceptLimit at the latest.
	acceptPause = 10 * time.Millisecond
	acceptLimit = 250 * time.Millisecond

	// idleGrace is how long a connection that was used before may wait for another request at shutdown.
	idleGrace = time.Second
	// requestGrace is how long a new connection may wait for its first request at shutdown, and any
	// connection for the next bytes of a request that has begun.
	requestGrace = 5 * time.Second

	drainInterval = 10 * time.Millisecond
)

// drainListener tracks the connections that it accepts, so that at shutdown the server answers the requests
// that arrive on them. http.Server.Shutdown alone resets connections that wait to be accepted, and closes
// those that were used before even if a request is on its way or half received.
type drainListener struct {
	*net.TCPListener
	ended func() // closes done
	done  chan struct{}

	mu       sync.Mutex
	conns    map[*drainConn]struct{}
	draining time.Time // when the shutdown began
}

func newDrainListener(ln *net.TCPListener) *drainListener {
	done := make(chan struct{})
	return &drainListener{
		TCPListener: ln, done: done, ended: sync.OnceFunc(func() { close(done) }), conns: map[*drainConn]struct{}{},
	}
}

// Accept returns net.ErrClosed once the queue is empty after drain was called.
func (l *drainListener) Accept() (net.Conn, error) {
	c, err := l.AcceptTCP()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		conn := &drainConn{TCPConn: c, listener: l, since: time.Now()}
		l.conns[conn] = struct{}{}
		l.extend()
		return conn, nil
	case !l.draining.IsZero() && errors.Is(err, os.ErrDeadlineExceeded):
		l.ended()
		return nil, net.ErrClosed
	}
	return nil, err
}

// Close closes the listener, but not its connections.
func (l *drainListener) Close() error {
	l.ended()
	return l.TCPListener.Close()
}

// extend sets until when connections are accepted during a shutdown.
func (l *drainListener) extend() {
	if l.draining.IsZero() {
		return
	}
	until, last := time.Now().Add(acceptPause), l.draining.Add(acceptLimit)
	if until.After(last) {
		until = last
	}
	_ = l.SetDeadline(until) // fails only if the listener is closed
}

// drain stops accepting connections and returns when no request is in progress or expected on those that
// were accepted, or when ctx ends.
func (l *drainListener) drain(ctx context.Context) {
	l.mu.Lock()
	l.draining = time.Now()
	l.extend()
	l.mu.Unlock()
	select {
	case <-l.done:
	case <-ctx.Done():
	}
	tick := time.NewTicker(drainInterval)
	defer tick.Stop()
	for l.isBusy(time.Now()) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// isBusy reports whether a request is in progress or expected on any connection.
func (l *drainListener) isBusy(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		if c.isBusy(now, l.draining) {
			return true
		}
	}
	return false
}

// connState is the ConnState hook of the server.
func (l *drainListener) connState(conn net.Conn, state http.ConnState) {
	if secure, is := conn.(*tls.Conn); is {
		conn = secure.NetConn()
	}
	c, is := conn.(*drainConn)
	if !is {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state, c.since = state, time.Now()
}

// drainConn is an accepted connection. It embeds the type and not the interface because net/http uses
// CloseWrite and ReadFrom.
type drainConn struct {
	*net.TCPConn
	listener *drainListener

	mu       sync.Mutex
	state    http.ConnState
	since    time.Time // when the state began
	received time.Time // when bytes were last received
}

func (c *drainConn) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	if n > 0 {
		c.mu.Lock()
		c.received = time.Now()
		c.mu.Unlock()
	}
	return n, err
}

func (c *drainConn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.conns, c)
	c.listener.mu.Unlock()
	return c.TCPConn.Close()
}

// isBusy reports whether a request is in progress or expected. net/http reports a request as active only
// when its header is complete.
func (c *drainConn) isBusy(now, draining time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	quiet, grace := latest(draining, c.since), requestGrace
	switch c.state {
	case http.StateActive, http.StateHijacked:
		return true
	case http.StateIdle:
		if !c.received.After(c.since) {
			grace = idleGrace
		}
	}
	return now.Sub(latest(quiet, c.received)) < grace
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
