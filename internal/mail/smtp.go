package mail

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// Modes of encryption.
const (
	StartTLS = "starttls"
	TLS      = "tls"
	NoTLS    = "none"
)

// Options are the settings of an SMTP client. Zero values select defaults.
type Options struct {
	Host string
	Port int
	// Username is empty if the server requires no login. A password is sent only over TLS or to
	// this machine.
	Username, Password string
	// TLS is StartTLS, TLS or NoTLS. The client never falls back to another mode.
	TLS string
	// Connections is the maximum number of connections.
	Connections int
	// LocalName is the host name sent in EHLO.
	LocalName string
	// RootCAs verify the certificate of the server; nil means those of the system.
	RootCAs *x509.CertPool
	// DialTimeout applies to connecting, CommandTimeout to the answer to a command, AnswerTimeout
	// to sending the content and the answer to it, and IdleTimeout to connections that are kept for
	// later messages.
	DialTimeout, CommandTimeout, AnswerTimeout, IdleTimeout time.Duration
}

func (o Options) withDefaults() Options {
	o.Port = cmp.Or(o.Port, 587)
	o.TLS = cmp.Or(o.TLS, StartTLS)
	o.Connections = cmp.Or(o.Connections, 8)
	o.LocalName = cmp.Or(o.LocalName, "localhost")
	o.DialTimeout = cmp.Or(o.DialTimeout, 15*time.Second)
	o.CommandTimeout = cmp.Or(o.CommandTimeout, 30*time.Second)
	o.AnswerTimeout = cmp.Or(o.AnswerTimeout, 2*time.Minute)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 30*time.Second)
	return o
}

// Check returns what is wrong with the settings. A client with invalid settings sends nothing.
func (o Options) Check() error {
	o = o.withDefaults()
	switch {
	case o.Host == "":
		return errors.New("host: required")
	case o.Port < 1 || o.Port > 65535:
		return fmt.Errorf("port: must be from 1 to 65535, not %d", o.Port)
	case o.TLS != StartTLS && o.TLS != TLS && o.TLS != NoTLS:
		return fmt.Errorf("tls: %q is not one of: starttls, tls, none", o.TLS)
	case o.TLS == NoTLS && o.Username != "" && !IsLoopback(o.Host):
		return errors.New("tls: must not be none for a login to another machine")
	case o.Connections < 1:
		return errors.New("connections: must be at least 1")
	case !isToken(o.LocalName):
		return errors.New("local name: not a host name")
	}
	return nil
}

// IsLoopback reports whether a host is this machine.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// SMTP sends messages to one mail server. It keeps connections open for later messages.
type SMTP struct {
	options Options
	invalid error // the result of Options.Check
	redact  *strings.Replacer
	slots   chan struct{} // one per connection
	mu      sync.Mutex
	idle    []*conn // most recently used last
	closed  bool
}

// NewSMTP returns a client. It connects when the first message is sent.
func NewSMTP(o Options) *SMTP {
	o = o.withDefaults()
	return &SMTP{options: o, invalid: o.Check(), redact: redactor(o), slots: make(chan struct{}, max(o.Connections, 1))}
}

// redactor removes the password from a text, also in its encoded forms, because some servers repeat
// what they reject.
func redactor(o Options) *strings.Replacer {
	if o.Password == "" {
		return strings.NewReplacer()
	}
	base := base64.StdEncoding
	return strings.NewReplacer(
		base.EncodeToString([]byte("\x00"+o.Username+"\x00"+o.Password)), "***",
		base.EncodeToString([]byte(o.Password)), "***",
		o.Password, "***",
	)
}

// Send sends a message and returns its result. It is safe for concurrent use; calls wait for a
// connection. When ctx ends, the result is ServerUnavailable before the server has accepted the
// sender, Deferred before the content is sent, and Unknown from then on. Send calls mayContinue
// right before it sends the content, however long the server took until then, and returns Canceled
// if it reports false. A nil mayContinue means always.
func (s *SMTP) Send(ctx context.Context, m *Message, mayContinue func() bool) Result {
	r := s.send(ctx, m, mayContinue)
	r.Text = singleLine(s.redact.Replace(r.Text))
	return r
}

func (s *SMTP) send(ctx context.Context, m *Message, mayContinue func() bool) Result {
	if s.invalid != nil {
		return Result{ServerUnavailable, s.invalid.Error()}
	}
	if err := m.Check(); err != nil {
		return Result{Rejected, err.Error()}
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return Result{ServerUnavailable, describe(ctx, ctx.Err())}
	}
	kept, err := s.takeIdle()
	if err != nil {
		return Result{ServerUnavailable, err.Error()}
	}
	if kept != nil {
		if r, lost := s.sendOn(ctx, kept, m, mayContinue); !lost {
			return r
		}
	}
	fresh, err := open(ctx, &s.options)
	if err != nil {
		return Result{ServerUnavailable, err.Error()}
	}
	r, _ := s.sendOn(ctx, fresh, m, mayContinue)
	return r
}

// sendOn sends a message over a connection and then keeps or closes it. lost reports that the
// connection was lost before the server answered to this message, so that it may be sent over
// another connection.
func (s *SMTP) sendOn(ctx context.Context, c *conn, m *Message, mayContinue func() bool) (r Result, lost bool) {
	release := context.AfterFunc(ctx, c.cut)
	r, lost = c.send(ctx, m, mayContinue)
	if release() && !c.broken {
		s.putIdle(c)
	} else {
		c.drop()
	}
	return r, lost && ctx.Err() == nil
}

// takeIdle returns the most recently used idle connection, or nil.
func (s *SMTP) takeIdle() (*conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("closed")
	}
	last := len(s.idle) - 1
	if last < 0 {
		return nil, nil
	}
	c := s.idle[last]
	s.idle = s.idle[:last]
	c.idle.Stop() // if it fires concurrently, expire finds that the connection is taken
	return c, nil
}

func (s *SMTP) putIdle(c *conn) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		c.quit()
		return
	}
	defer s.mu.Unlock()
	s.idle = append(s.idle, c)
	if c.idle == nil {
		c.idle = time.AfterFunc(s.options.IdleTimeout, func() { s.expire(c) })
	} else {
		c.idle.Reset(s.options.IdleTimeout)
	}
}

// expire closes a connection that was idle for too long, unless it is in use again.
func (s *SMTP) expire(c *conn) {
	s.mu.Lock()
	at := slices.Index(s.idle, c)
	if at >= 0 {
		s.idle = slices.Delete(s.idle, at, at+1)
	}
	s.mu.Unlock()
	if at >= 0 {
		c.quit()
	}
}

// Close closes the idle connections at once and the others when their message is done. Later
// messages are not sent.
func (s *SMTP) Close() error {
	s.mu.Lock()
	idle := s.idle
	s.idle, s.closed = nil, true
	s.mu.Unlock()
	var all sync.WaitGroup
	for _, c := range idle {
		c.idle.Stop()
		all.Go(c.quit)
	}
	all.Wait()
	return nil
}
