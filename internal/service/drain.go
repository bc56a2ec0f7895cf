package service

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
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
	acceptLimit = time.Second

	// idleGrace is how long a connection that was used before may wait for another request at shutdown.
	idleGrace = time.Second
	// requestGrace is how long a new connection may wait for its first request at shutdown, and any
	// connection for the next bytes of a request that has begun.
	requestGrace = 5 * time.Second

	drainInterval = 10 * time.Millisecond

	// maxSilence is how long a connection may send nothing of a request, or of the rest of it, before it counts as idle
	// when file handles are short.
	maxSilence = 500 * time.Millisecond
)

// drainListener tracks the connections that it accepts. It has at most maxConns in use, so that the service
// has file handles left for itself, and closes idle ones to use others. At shutdown the server answers the
// requests that arrive on its connections. http.Server.Shutdown alone resets connections that wait to be
// accepted, and closes those that were used before even if a request is on its way or half received.
type drainListener struct {
	*net.TCPListener
	maxConns int
	log      sparseLog
	ended    func() // closes done
	done     chan struct{}

	mu       sync.Mutex
	conns    map[*drainConn]struct{}
	changed  *sync.Cond // a connection was closed or became idle, or the listener is no longer needed
	draining time.Time  // when the shutdown began
	closed   bool
}

func newDrainListener(ln *net.TCPListener, maxConns int, log *slog.Logger) *drainListener {
	done := make(chan struct{})
	l := &drainListener{
		TCPListener: ln, maxConns: maxConns, log: sparseLog{log: log, now: time.Now},
		done: done, ended: sync.OnceFunc(func() { close(done) }), conns: map[*drainConn]struct{}{},
	}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// Accept returns net.ErrClosed once the queue is empty after drain was called.
func (l *drainListener) Accept() (net.Conn, error) {
	c, err := l.AcceptTCP()
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(err, os.ErrDeadlineExceeded) && l.extend() {
		// On a busy machine the time may have passed before the queue was looked at.
		l.mu.Unlock()
		c, err = l.AcceptTCP()
		l.mu.Lock()
	}
	switch {
	case lacksHandles(err):
		l.closeIdle() // net/http tries again
	case err == nil:
		l.awaitRoom()
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

// awaitRoom waits until there is room for another connection. The caller holds mu.
func (l *drainListener) awaitRoom() {
	for len(l.conns) >= l.maxConns && l.draining.IsZero() && !l.closed {
		if !l.closeIdle() {
			silent := time.AfterFunc(maxSilence, func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.changed.Broadcast()
			})
			l.changed.Wait()
			silent.Stop()
		}
	}
}

// closeIdle closes the connection that has been idle the longest and reports whether there was one. The
// caller holds mu.
func (l *drainListener) closeIdle() bool {
	l.log.error("file handles are short, idle connections are closed and others wait: raise the limit of open files",
		"address", l.Addr().String(), "connections", len(l.conns), "limit", l.maxConns)
	var longest *drainConn
	var since time.Time
	now := time.Now()
	for c := range l.conns {
		if at, idle := c.idleSince(now); idle && (longest == nil || at.Before(since)) {
			longest, since = c, at
		}
	}
	if longest == nil {
		return false
	}
	delete(l.conns, longest)
	_ = longest.TCPConn.Close() // net/http finds it closed
	return true
}

// Close closes the listener, but not its connections.
func (l *drainListener) Close() error {
	l.mu.Lock()
	l.closed = true
	l.changed.Broadcast()
	l.mu.Unlock()
	l.ended()
	return l.TCPListener.Close()
}

// extend sets until when connections are accepted during a shutdown, and reports whether any are. The caller holds mu.
func (l *drainListener) extend() bool {
	if l.draining.IsZero() {
		return false
	}
	until, last := time.Now().Add(acceptPause), l.draining.Add(acceptLimit)
	if until.After(last) {
		until = last
	}
	_ = l.SetDeadline(until) // fails only if the listener is closed
	return time.Now().Before(until)
}

// drain stops accepting connections and returns when no request is in progress or expected on those that
// were accepted, or when ctx ends.
func (l *drainListener) drain(ctx context.Context) {
	l.mu.Lock()
	l.draining = time.Now()
	l.extend()
	l.changed.Broadcast()
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
	c.state, c.since = state, time.Now()
	c.mu.Unlock()
	if state == http.StateIdle {
		l.mu.Lock()
		l.changed.Broadcast()
		l.mu.Unlock()
	}
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
	c.listener.changed.Broadcast()
	c.listener.mu.Unlock()
	return c.TCPConn.Close()
}

// idleSince returns since when the connection waits for a request, if it does. A new connection, and one on which a request
// has begun, must be silent for a while.
func (c *drainConn) idleSince(now time.Time) (since time.Time, idle bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	since = latest(c.since, c.received)
	switch c.state {
	case http.StateIdle:
		return since, !c.received.After(c.since) || now.Sub(since) >= maxSilence
	case http.StateNew:
		return since, now.Sub(since) >= maxSilence
	}
	return since, false
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
