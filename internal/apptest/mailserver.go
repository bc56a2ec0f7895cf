package apptest

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/tls"
	"encoding/base64"
	"io"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"prospector/internal/service"
)

// MailDrop is a reply that makes the mail server close the connection instead.
const MailDrop = "\x00drop"

// MailLink stands for the unsubscribe link of the message in a reply to its content.
const MailLink = "\x00link"

// MailContent is the stage of a dialogue after the whole message was received. The other stages have the
// names of their commands.
const MailContent = "content"

// Mail is a message that the mail server accepted.
type Mail struct {
	From   string
	To     []string // the recipients of the envelope
	Header mail.Header
	Body   string
	Raw    string
}

// MailServer is an SMTP server on the loopback interface. It stores the messages that it accepts, and
// replies as the test configures it.
type MailServer struct {
	Addr *net.TCPAddr
	// RejectSender, if set, returns the reply to MAIL from a sender; "" accepts it. Set it before the first message.
	RejectSender func(from string) string

	t       testing.TB
	running sync.WaitGroup

	state    State // guards the following fields
	listener net.Listener
	open     map[net.Conn]bool
	tls      *tls.Config
	reply    func(stage, to string) string
	login    [2]string         // the credentials that it accepts with AUTH PLAIN, if any
	reached  map[[2]string]int // by stage and recipients
	mails    []Mail
}

// NewMailServer starts a mail server that stops at the end of the test.
func NewMailServer(t testing.TB) *MailServer {
	t.Helper()
	s := &MailServer{t: t, Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, open: map[net.Conn]bool{}, reached: map[[2]string]int{}}
	s.Up()
	t.Cleanup(func() {
		s.Down()
		s.running.Wait()
	})
	return s
}

// Settings configures a service to send its messages to the server.
func (s *MailServer) Settings(cfg *service.Config) {
	cfg.Mail.Transport = "smtp"
	cfg.Mail.SMTP.Host, cfg.Mail.SMTP.Port, cfg.Mail.SMTP.TLS = s.Addr.IP.String(), s.Addr.Port, "none"
}

// Login makes the server offer AUTH PLAIN and accept these credentials.
func (s *MailServer) Login(username, password string) {
	s.state.Change(func() { s.login = [2]string{username, password} })
}

// Up starts listening, at the same address as before.
func (s *MailServer) Up() {
	s.t.Helper()
	listener, err := net.ListenTCP("tcp", s.Addr)
	for deadline := time.Now().Add(Timeout); err != nil && time.Now().Before(deadline); { // another process may use the port for a connection
		listener, err = net.ListenTCP("tcp", s.Addr)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.Addr = listener.Addr().(*net.TCPAddr)
	s.state.Change(func() { s.listener = listener })
	s.running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.running.Go(func() { s.serve(conn) })
		}
	})
}

// Down refuses new connections and closes the open ones.
func (s *MailServer) Down() {
	s.state.Change(func() {
		_ = s.listener.Close()
		for conn := range s.open {
			_ = conn.Close()
		}
	})
}

// OfferTLS makes the server offer STARTTLS, or no longer if with is nil.
func (s *MailServer) OfferTLS(with *tls.Config) {
	s.state.Change(func() { s.tls = with })
}

// Reply sets the function that chooses the replies of the server, given the stage of the dialogue and the
// recipients so far, separated by commas. "" means success. The function may block. A message is rejected if the reply to its content is
// 4xx or 5xx.
func (s *MailServer) Reply(reply func(stage, to string) string) {
	s.state.Change(func() { s.reply = reply })
}

// Mails returns all accepted messages.
func (s *MailServer) Mails() (mails []Mail) {
	s.state.Read(func() { mails = slices.Clone(s.mails) })
	return mails
}

// Reached returns how often dialogues reached the stage with the recipients.
func (s *MailServer) Reached(stage, to string) (n int) {
	s.state.Read(func() { n = s.reached[[2]string{stage, to}] })
	return n
}

// Await waits until the server has accepted n messages, and returns all accepted messages.
func (s *MailServer) Await(n int) (mails []Mail) {
	s.t.Helper()
	s.state.Wait(s.t, strconv.Itoa(n)+" messages", func() bool {
		mails = slices.Clone(s.mails)
		return len(mails) >= n
	})
	return mails
}

// mailDialogue is one connection to a mail server.
type mailDialogue struct {
	*MailServer
	conn net.Conn
	in   *textproto.Reader
	mail Mail
}

func (s *MailServer) serve(conn net.Conn) {
	s.state.Change(func() { s.open[conn] = true })
	defer func() {
		s.state.Change(func() { delete(s.open, conn) })
		_ = conn.Close()
	}()
	d := &mailDialogue{MailServer: s}
	d.use(conn)
	for more := d.at("greeting", "220 mail.example ready"); more; {
		line, err := d.in.ReadLine()
		if err != nil {
			return
		}
		more = d.do(line)
	}
}

func (d *mailDialogue) use(conn net.Conn) {
	d.conn, d.in = conn, textproto.NewReader(bufio.NewReader(conn))
}

// at sends the reply of a stage, and reports whether the dialogue continues.
func (d *mailDialogue) at(stage, success string) (more bool) { return d.send(d.decide(stage, success)) }

// decide returns the reply of a stage: the one that the test chooses, or success.
func (d *mailDialogue) decide(stage, success string) string {
	to := strings.Join(d.mail.To, ",")
	var reply func(stage, to string) string
	d.state.Change(func() {
		reply = d.reply
		d.reached[[2]string{stage, to}]++
	})
	if reply == nil {
		return success
	}
	return cmp.Or(reply(stage, to), success)
}

func (d *mailDialogue) send(reply string) (more bool) {
	if reply == MailDrop {
		return false
	}
	_, err := io.WriteString(d.conn, reply+"\r\n")
	return err == nil
}

// do executes a command, and reports whether the dialogue continues.
func (d *mailDialogue) do(line string) (more bool) {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb = strings.ToUpper(verb); verb {
	case "EHLO":
		return d.hello()
	case "STARTTLS":
		var with *tls.Config
		d.state.Read(func() { with = d.tls })
		if !d.at(verb, "220 go") {
			return false
		}
		d.use(tls.Server(d.conn, with))
		return true
	case "AUTH":
		var login [2]string
		d.state.Read(func() { login = d.login })
		if said, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(rest, "PLAIN ")); err != nil || string(said) != "\x00"+login[0]+"\x00"+login[1] {
			return d.at(verb, "535 5.7.8 not you, "+rest)
		}
		return d.at(verb, "235 2.7.0 welcome")
	case "MAIL":
		d.mail = Mail{From: envelope(rest)}
		if d.RejectSender != nil {
			return d.at(verb, cmp.Or(d.RejectSender(d.mail.From), "250 2.1.0 fine"))
		}
	case "RCPT":
		d.mail.To = append(d.mail.To, envelope(rest))
	case "DATA":
		return d.data()
	}
	return d.at(verb, "250 2.0.0 fine") && verb != "QUIT"
}

func (d *mailDialogue) hello() (more bool) {
	offersTLS, offersLogin := false, false
	d.state.Read(func() { offersTLS, offersLogin = d.tls != nil, d.login[0] != "" })
	offers := "250-mail.example\r\n"
	if _, secure := d.conn.(*tls.Conn); offersTLS && !secure {
		offers += "250-STARTTLS\r\n"
	}
	if offersLogin {
		offers += "250-AUTH PLAIN\r\n"
	}
	return d.at("EHLO", offers+"250 8BITMIME")
}

// envelope returns the address in FROM:<…> or TO:<…>.
func envelope(arg string) string {
	_, arg, _ = strings.Cut(arg, "<")
	address, _, _ := strings.Cut(arg, ">")
	return address
}

func (d *mailDialogue) data() (more bool) {
	reply := d.decide("DATA", "354 go")
	if !d.send(reply) || !strings.HasPrefix(reply, "354") {
		return reply != MailDrop
	}
	content, err := d.in.ReadDotBytes()
	if err != nil {
		return false
	}
	reply = d.decide(MailContent, "250 2.0.0 queued")
	if reply[0] != '4' && reply[0] != '5' {
		d.accept(content)
	}
	if strings.Contains(reply, MailLink) {
		parsed, err := mail.ReadMessage(bytes.NewReader(content))
		if err != nil {
			d.t.Errorf("invalid message: %v\n%s", err, content)
			return false
		}
		reply = strings.ReplaceAll(reply, MailLink, parsed.Header.Get("List-Unsubscribe"))
	}
	return d.send(reply)
}

// accept stores a message.
func (d *mailDialogue) accept(content []byte) {
	m := d.mail
	m.Raw = string(content)
	parsed, err := mail.ReadMessage(strings.NewReader(m.Raw))
	if err != nil {
		d.t.Errorf("invalid message: %v\n%s", err, m.Raw)
		return
	}
	body, err := io.ReadAll(quotedprintable.NewReader(parsed.Body))
	if err != nil {
		d.t.Errorf("invalid message body: %v\n%s", err, m.Raw)
	}
	m.Header, m.Body = parsed.Header, string(body)
	d.state.Change(func() { d.mails = append(d.mails, m) })
}

// Answering returns a function that chooses the reply of a mail server at one stage.
func Answering(at, answer string) func(string, string) string {
	return func(stage, _ string) string {
		if stage == at {
			return answer
		}
		return ""
	}
}
