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
)

const (
	answerMost  = 64 << 10 // of what a server may say at once
	quitTimeout = time.Second
)

// conn is a connection whose server has greeted and taken the login. One goroutine has it at a time.
type conn struct {
	raw     net.Conn // under the encryption
	client  *smtp.Client
	options *Options
	late    *time.Timer // cuts the connection when an answer takes too long
	idle    *time.Timer // belongs to the SMTP that keeps the connection
	message []byte      // the last one that was sent: the next is made in its place
	size    int         // the largest message that the server takes, 0 for any
	utf8    bool        // whether it takes addresses that are not ASCII
	begun   bool        // whether a transaction was begun and not finished
	broken  bool        // whether what the server says next cannot be trusted
}

// open connects, encrypts and logs in. Its error tells at which stage it failed.
func open(ctx context.Context, o *Options) (*conn, error) {
	dialer := net.Dialer{Timeout: o.DialTimeout}
	raw, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(o.Host, strconv.Itoa(o.Port)))
	if err != nil {
		return nil, fmt.Errorf("connect: %s", why(ctx, err))
	}
	c := &conn{raw: &bounded{Conn: raw, left: answerMost}, options: o}
	c.late = time.AfterFunc(o.CommandTimeout, c.cut)
	release := context.AfterFunc(ctx, c.cut)
	stage, err := c.begin(ctx)
	if !release() && err == nil {
		stage, err = "connect", ctx.Err()
	}
	if err != nil {
		c.drop()
		return nil, fmt.Errorf("%s: %s", stage, why(ctx, err))
	}
	return c, nil
}

// begin brings the connection to where messages can be sent, or tells the stage that failed.
func (c *conn) begin(ctx context.Context) (stage string, err error) {
	o := c.options
	settings := &tls.Config{ServerName: o.Host, RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12}
	over := c.raw
	if o.TLS == TLS {
		secure := tls.Client(c.raw, settings)
		if err := c.command(func() error { return secure.HandshakeContext(ctx) }); err != nil {
			return "TLS", err
		}
		over = secure
	}
	if err := c.command(func() (err error) { c.client, err = smtp.NewClient(over, o.Host); return err }); err != nil {
		return "greeting", err
	}
	if err := c.command(func() error { return c.client.Hello(o.LocalName) }); err != nil {
		return "EHLO", err
	}
	if o.TLS == StartTLS {
		if offered, _ := c.client.Extension("STARTTLS"); !offered {
			return "STARTTLS", errors.New("the server does not offer it")
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

// login tells the server who sends, in the first way of these that it offers. The options were checked: the connection is encrypted,
// or the server is on this machine.
func (c *conn) login() error {
	o := c.options
	_, offered := c.client.Extension("AUTH")
	for _, way := range []struct {
		name string
		auth smtp.Auth
	}{
		{"PLAIN", smtp.PlainAuth("", o.Username, o.Password, o.Host, true)},
		{"LOGIN", smtp.LoginAuth(o.Username, o.Password, o.Host, true)},
		{"CRAM-MD5", smtp.CRAMMD5Auth(o.Username, o.Password)},
	} {
		for name := range strings.FieldsSeq(offered) {
			if strings.EqualFold(name, way.name) {
				return c.command(func() error { return c.client.Auth(way.auth) })
			}
		}
	}
	return errors.New("the server offers none of PLAIN, LOGIN and CRAM-MD5")
}

// send sends a message. The connection is gone if it was lost, or the server wanted no more of it, before the server had answered
// to this message.
func (c *conn) send(ctx context.Context, m *Message, wanted func() bool) (r Result, gone bool) {
	from, to := asciiDomain(m.From.Email), asciiDomain(m.To.Email)
	international := !isASCII(from) || !isASCII(to)
	if international && !c.utf8 {
		return Result{Rejected, "the server takes no address with letters outside ASCII before the @ (SMTPUTF8)"}, false
	}
	c.message = m.appendTo(c.message[:0])
	if c.size > 0 && len(c.message) > c.size {
		return Result{Rejected, fmt.Sprintf("the message has %d bytes, and the server takes %d", len(c.message), c.size)}, false
	}
	if c.begun {
		if err := c.command(c.client.Reset); err != nil {
			c.broken = true
			return trouble(ctx, "RSET", err), true
		}
	}
	c.client.SkipSMTPUTF8(!international)
	if err := c.command(func() error { return c.client.Mail("<" + from + ">") }); err != nil {
		r := trouble(ctx, "MAIL FROM", err)
		if _, answered := errors.AsType[*textproto.Error](err); answered && !c.broken {
			r.Status = SenderRejected
		}
		return r, c.broken
	}
	c.begun = true
	if err := c.command(func() error { return c.client.Rcpt("<" + to + ">") }); err != nil {
		return ofRecipient(ctx, err), false
	}
	if wanted != nil && !wanted() {
		return Result{}, false // the next message begins with RSET
	}
	return c.data(ctx), false
}

// data sends the content of the message that was made. It does without the library's writer, which looks at every byte for dots
// and line ends that are as they should be.
func (c *conn) data(ctx context.Context) Result {
	text := c.client.Text
	if err := c.command(func() error {
		if err := text.PrintfLine("DATA"); err != nil {
			return err
		}
		_, _, err := text.ReadResponse(354)
		return err
	}); err != nil {
		return ofCommand(ctx, err)
	}
	said := ""
	if err := c.within(c.options.AnswerTimeout, func() (err error) {
		_, _ = text.W.Write(c.message)
		_ = text.PrintfLine(".") // a server that hung up may have said why
		_, said, err = text.ReadResponse(250)
		return err
	}); err != nil {
		return ofContent(ctx, err)
	}
	c.begun = false
	return Result{Sent, "250 " + said}
}

// command is within the time that a command has. It fails too if the server's next answer would not be to the next command.
func (c *conn) command(f func() error) error {
	err := c.within(c.options.CommandTimeout, f)
	if err == nil && c.broken {
		return errors.New("the server's answers are out of step")
	}
	return err
}

// within does what waits for the server, cuts the connection after a time, and notes whether it can be used after that.
func (c *conn) within(d time.Duration, f func() error) error {
	c.late.Reset(d)
	err := f()
	inTime := c.late.Stop()
	answer, answered := errors.AsType[*textproto.Error](err)
	lost := err != nil && (!answered || answer.Code < 400 || answer.Code == closing)
	saysMore := c.client != nil && c.client.Text.R.Buffered() > 0
	if !inTime || lost || saysMore {
		c.broken = true
	}
	return err
}

// cut ends what the connection waits for. It may be called by any goroutine.
func (c *conn) cut() {
	_ = c.raw.SetDeadline(time.Unix(1, 0))
}

func (c *conn) drop() {
	c.late.Stop()
	_ = c.raw.Close()
}

// quit takes leave of the server, which may be gone.
func (c *conn) quit() {
	_ = c.within(quitTimeout, c.client.Quit)
	c.drop()
}

// bounded is a connection over which the other side may say only so much before it is spoken to again.
type bounded struct {
	net.Conn
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errors.New("the server does not stop talking")
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

func (b *bounded) Write(p []byte) (int, error) {
	b.left = answerMost
	return b.Conn.Write(p)
}
