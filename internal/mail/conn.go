package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail/smtp"

	"prospector/internal/address"
)

const (
	maxAnswerBytes = 64 << 10 // maximum length of an answer
	quitTimeout    = time.Second
)

// conn is a connection after greeting and login. One goroutine uses it at a time.
type conn struct {
	raw           net.Conn // below TLS
	client        *smtp.Client
	options       *Options
	deadline      *time.Timer // cuts the connection if an answer takes too long
	idle          *time.Timer // owned by the SMTP that keeps the connection
	message       []byte      // buffer of the last message, reused for the next
	size          int         // maximum message size of the server; 0: unlimited
	utf8          bool        // whether the server accepts non-ASCII addresses
	inTransaction bool        // whether a mail transaction was started and not finished
	broken        bool        // whether the next answer of the server cannot be trusted
}

// open connects, encrypts and logs in. Its error starts with the stage that failed.
func open(ctx context.Context, o *Options) (*conn, error) {
	dialer := net.Dialer{Timeout: o.DialTimeout}
	raw, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(o.Host, strconv.Itoa(o.Port)))
	if err != nil {
		return nil, fmt.Errorf("connect: %s", describe(ctx, err))
	}
	c := &conn{raw: &boundedConn{Conn: raw, left: maxAnswerBytes}, options: o}
	c.deadline = time.AfterFunc(o.CommandTimeout, c.cut)
	release := context.AfterFunc(ctx, c.cut)
	stage, err := c.begin(ctx)
	if !release() && err == nil {
		stage, err = "connect", ctx.Err()
	}
	if err != nil {
		c.drop()
		return nil, fmt.Errorf("%s: %s", stage, describe(ctx, err))
	}
	return c, nil
}

// begin brings the connection to the point where messages can be sent. On failure it returns the
// stage.
func (c *conn) begin(ctx context.Context) (stage string, err error) {
	o := c.options
	settings := &tls.Config{ServerName: o.Host, RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12}
	stream := c.raw
	if o.TLS == TLS {
		secure := tls.Client(c.raw, settings)
		if err := c.command(func() error { return secure.HandshakeContext(ctx) }); err != nil {
			return "TLS", err
		}
		stream = secure
	}
	if err := c.command(func() (err error) { c.client, err = smtp.NewClient(stream, o.Host); return err }); err != nil {
		return "greeting", err
	}
	if err := c.command(func() error { return c.client.Hello(o.LocalName) }); err != nil {
		return "EHLO", err
	}
	if o.TLS == StartTLS {
		if offered, _ := c.client.Extension("STARTTLS"); !offered {
			return "STARTTLS", errors.New("not offered by the server")
		}
		if err := c.command(func() error { return c.client.StartTLS(settings) }); err != nil {
			return "STARTTLS", err
		}
	}
	if o.Username != "" {
		if err := c.login(); err != nil {
			return "login", err
		}
	}
	_, size := c.client.Extension("SIZE")
	c.size, _ = strconv.Atoi(size)
	c.utf8, _ = c.client.Extension("SMTPUTF8")
	return "", nil
}

// login authenticates with the first of these mechanisms that the server offers. Options.Check made
// sure that the connection is encrypted or the server is on this machine.
func (c *conn) login() error {
	o := c.options
	_, offered := c.client.Extension("AUTH")
	for _, mechanism := range []struct {
		name string
		auth smtp.Auth
	}{
		{"PLAIN", smtp.PlainAuth("", o.Username, o.Password, o.Host, true)},
		{"LOGIN", smtp.LoginAuth(o.Username, o.Password, o.Host, true)},
		{"CRAM-MD5", smtp.CRAMMD5Auth(o.Username, o.Password)},
	} {
		for name := range strings.FieldsSeq(offered) {
			if strings.EqualFold(name, mechanism.name) {
				return c.command(func() error { return c.client.Auth(mechanism.auth) })
			}
		}
	}
	return errors.New("the server supports none of PLAIN, LOGIN and CRAM-MD5")
}

// send sends a message. lost reports that the connection was lost, or closed by the server, before
// the server answered to this message.
func (c *conn) send(ctx context.Context, m *Message, mayContinue func() bool) (r Result, lost bool) {
	from, to := address.WithASCIIDomain(m.From.Email), address.WithASCIIDomain(m.To.Email)
	international := !address.IsASCII(from) || !address.IsASCII(to)
	if international && !c.utf8 {
		return Result{Rejected, "the server does not support non-ASCII characters before the @ (SMTPUTF8)"}, false
	}
	c.message = m.appendTo(c.message[:0])
	if c.size > 0 && len(c.message) > c.size {
		text := fmt.Sprintf("the message has %d bytes, the server accepts at most %d", len(c.message), c.size)
		return Result{Rejected, text}, false
	}
	if c.inTransaction {
		if err := c.command(c.client.Reset); err != nil {
			c.broken = true
			return serverUnavailable(ctx, "RSET", err), true
		}
	}
	c.client.SkipSMTPUTF8(!international)
	if err := c.command(func() error { return c.client.Mail("<" + from + ">") }); err != nil {
		if _, answered := errors.AsType[*textproto.Error](err); answered && !c.broken {
			return senderResult(ctx, err), false
		}
		return serverUnavailable(ctx, "MAIL FROM", err), c.broken
	}
	c.inTransaction = true
	if err := c.command(func() error { return c.client.Rcpt("<" + to + ">") }); err != nil {
		return recipientResult(ctx, err), false
	}
	return c.data(ctx, mayContinue), false
}

// data sends the content of the message in the buffer once the server waits for it, if mayContinue
// agrees. Otherwise it gives up the connection, because only the content can follow. It bypasses the writer of the library, which
// would check every byte for dots and line ends that are correct already.
func (c *conn) data(ctx context.Context, mayContinue func() bool) Result {
	text := c.client.Text
	if err := c.command(func() error {
		if err := text.PrintfLine("DATA"); err != nil {
			return err
		}
		_, _, err := text.ReadResponse(354)
		return err
	}); err != nil {
		return commandResult(ctx, err)
	}
	if mayContinue != nil && !mayContinue() {
		c.broken = true
		return Result{}
	}
	said := ""
	if err := c.withDeadline(c.options.AnswerTimeout, func() (err error) {
		_, _ = text.W.Write(c.message)
		_ = text.PrintfLine(".") // a server that closed the connection may have answered before
		_, said, err = text.ReadResponse(250)
		return err
	}); err != nil {
		return contentResult(ctx, err)
	}
	c.inTransaction = false
	return Result{Sent, "250 " + said}
}

// command runs f with the time-out of a command. It also fails if the server sent more than one
// answer, because the next answer would belong to the wrong command.
func (c *conn) command(f func() error) error {
	err := c.withDeadline(c.options.CommandTimeout, f)
	if err == nil && c.broken {
		return errors.New("the server sent an unexpected extra answer")
	}
	return err
}

// withDeadline runs f, cuts the connection after d, and records whether the connection is still usable.
func (c *conn) withDeadline(d time.Duration, f func() error) error {
	c.deadline.Reset(d)
	err := f()
	inTime := c.deadline.Stop()
	answer, answered := errors.AsType[*textproto.Error](err)
	lost := err != nil && (!answered || answer.Code < 400 || answer.Code == replyClosing)
	saysMore := c.client != nil && c.client.Text.R.Buffered() > 0
	if !inTime || lost || saysMore {
		c.broken = true
	}
	return err
}

// cut makes pending reads and writes fail. It is safe for concurrent use.
func (c *conn) cut() {
	_ = c.raw.SetDeadline(time.Unix(1, 0))
}

func (c *conn) drop() {
	c.deadline.Stop()
	_ = c.raw.Close()
}

// quit sends QUIT and closes the connection. Errors are ignored.
func (c *conn) quit() {
	_ = c.withDeadline(quitTimeout, c.client.Quit)
	c.drop()
}

// boundedConn limits how much the server may send before the client writes again.
type boundedConn struct {
	net.Conn
	left int
}

func (b *boundedConn) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errors.New("the answer of the server is too long")
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

func (b *boundedConn) Write(p []byte) (int, error) {
	b.left = maxAnswerBytes
	return b.Conn.Write(p)
}
