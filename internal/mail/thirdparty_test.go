package mail

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// mailbox is the backend of a third-party server. It accepts mail for bob from clients that logged
// in.
type mailbox struct {
	mu   sync.Mutex
	mail []received
}

func (b *mailbox) NewSession(*smtp.Conn) (smtp.Session, error) { return &session{box: b}, nil }

type session struct {
	box      *mailbox
	loggedIn bool
	mail     received
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, username, password string) error {
		if username != "ada" || password != "secret" {
			return errors.New("wrong")
		}
		s.loggedIn = true
		return nil
	}), nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if !s.loggedIn {
		return smtp.ErrAuthRequired
	}
	s.mail.from = from
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if !strings.HasPrefix(to, "bob@") {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
	}
	s.mail.to = to
	return nil
}

func (s *session) Data(r io.Reader) error {
	data, err := io.ReadAll(r)
	s.mail.data = string(data)
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	s.box.mail = append(s.box.mail, s.mail)
	return err
}

func (s *session) Reset()        { s.mail = received{} }
func (s *session) Logout() error { return nil }

func TestServerOfOthers(t *testing.T) {
	ours := newAuthority(t)
	box := &mailbox{}
	s := smtp.NewServer(box)
	s.Domain, s.EnableSMTPUTF8 = "server.example", true
	s.TLSConfig = ours.server(t, "127.0.0.1", time.Now().Add(time.Hour))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }()
	defer func() {
		_ = s.Close()
		await(t, done)
	}()
	with := func(password string) *SMTP {
		c := NewSMTP(Options{
			Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port, Username: "ada", Password: password, RootCAs: ours.pool,
		})
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	c := with("secret")
	m := aMessage()
	m.Subject, m.Body = "日本語の件名 "+strings.Repeat("und mehr ", 50), "..\n.\n\n"+strings.Repeat("ü", 5000)
	send(t, c, m, Sent, "250 ")
	nobody := aMessage()
	nobody.To.Email = "nobody@globex.example"
	send(t, c, nobody, Bounced, "550 5.1.1 no such user")
	send(t, c, m, Sent, "250 ")
	send(t, with("wrong"), m, ServerUnavailable, "login: ")
	if len(box.mail) != 2 || box.mail[0] != box.mail[1] {
		t.Fatalf("%d messages", len(box.mail))
	}
	got := parse(t, []byte(box.mail[1].data))
	if box.mail[1].from != "ada@acme.example" || box.mail[1].to != "bob@globex.example" || got.subject != clean(m.Subject) || got.body != lines(m.Body) {
		t.Errorf("got %.300q", box.mail[1].data)
	}
}
