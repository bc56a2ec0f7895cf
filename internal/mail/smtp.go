package mail

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// How a connection is encrypted.
const (
	StartTLS = "starttls"
	TLS      = "tls"
	NoTLS    = "none"
)

// Options are the settings of an SMTP. What is zero has a default.
type Options struct {
	Host string
	Port int
	// Username is empty where the server wants no login. A password goes only over TLS, or to this machine.
	Username, Password string
	// TLS is StartTLS, TLS or NoTLS. There is no way back from one to another.
	TLS string
	// Connections is how many there may be at once.
	Connections int
	// LocalName is the host name sent in EHLO.
	LocalName string
	// RootCAs are whom certificates must come from; nil for those that the machine trusts.
	RootCAs *x509.CertPool
	// DialTimeout is for a connection, CommandTimeout for the answer to each command, AnswerTimeout for a message to go and the server
	// to say that it has it, IdleTimeout for how long a connection is kept that nothing goes over.
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

// Check tells what is wrong with the settings. Nothing is sent with such.
func (o Options) Check() error {
	o = o.withDefaults()
	switch {
	case o.Host == "":
		return errors.New("the host is missing")
	case o.Port < 1 || o.Port > 65535:
		return errors.New("the port must be from 1 to 65535")
	case o.TLS != StartTLS && o.TLS != TLS && o.TLS != NoTLS:
		return errors.New("tls must be starttls, tls or none")
	case o.TLS == NoTLS && o.Username != "" && !IsLoopback(o.Host):
		return errors.New("a password must not go over an unencrypted connection to another machine")
	case o.Connections < 1:
		return errors.New("there must be a connection at least")
	case !isToken(o.LocalName):
		return errors.New("the name to say hello with is none")
	}
	return nil
}

// IsLoopback tells whether a host is this machine.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// SMTP hands messages to one mail server. Its connections are kept for the messages that follow.
type SMTP struct {
	options Options
	wrong   error // what Check says of the options
	secrets *strings.Replacer
	turns   chan struct{} // one for each connection that there may be
	mu      sync.Mutex
	idle    []*conn // the last one was used last
	closed  bool
}

// NewSMTP makes an SMTP, which connects when there is a message.
func NewSMTP(o Options) *SMTP {
	o = o.withDefaults()
	return &SMTP{options: o, wrong: o.Check(), secrets: hiding(o), turns: make(chan struct{}, max(o.Connections, 1))}
}

// hiding takes the password out of a text, and what it is on the wire: some servers repeat what they refuse.
func hiding(o Options) *strings.Replacer {
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

// Send hands a message to the server, and tells what became of it. Many may be sent at once: they wait for a connection. A ctx that
// is done ends it wherever it is: that is ServerUnavailable before the server has taken the sender, Deferred before the content goes, and Unknown
// from then on. wanted is asked last before the content goes, however long the server took until then; nil: it is.
func (s *SMTP) Send(ctx context.Context, m *Message, wanted func() bool) Result {
	r := s.send(ctx, m, wanted)
	r.Text = line(s.secrets.Replace(r.Text))
	return r
}

func (s *SMTP) send(ctx context.Context, m *Message, wanted func() bool) Result {
	if s.wrong != nil {
		return Result{ServerUnavailable, s.wrong.Error()}
	}
	if err := m.Check(); err != nil {
		return Result{Rejected, err.Error()}
	}
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	case <-ctx.Done():
		return Result{ServerUnavailable, why(ctx, ctx.Err())}
	}
	kept, err := s.take()
	if err != nil {
		return Result{ServerUnavailable, err.Error()}
	}
	if kept != nil {
		if r, gone := s.over(ctx, kept, m, wanted); !gone {
			return r
		}
	}
	fresh, err := open(ctx, &s.options)
	if err != nil {
		return Result{ServerUnavailable, err.Error()}
	}
	r, _ := s.over(ctx, fresh, m, wanted)
	return r
}

// over sends a message over a connection and then keeps or drops it. A connection is gone if it was lost before the server had
// answered to this message: then the message may go over another.
func (s *SMTP) over(ctx context.Context, c *conn, m *Message, wanted func() bool) (r Result, gone bool) {
	release := context.AfterFunc(ctx, c.cut)
	r, gone = c.send(ctx, m, wanted)
	if release() && !c.broken {
		s.keep(c)
	} else {
		c.drop()
	}
	return r, gone && ctx.Err() == nil
}

// take is the connection that was used last, or nil.
func (s *SMTP) take() (*conn, error) {
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
	c.idle.Stop() // one that runs already finds that the connection is taken
	return c, nil
}

func (s *SMTP) keep(c *conn) {
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

// expire closes a connection that has been idle for long, unless it was taken meanwhile.
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

// Close closes the connections that are idle, and each of the others as its message is over. Nothing is sent from then on.
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
