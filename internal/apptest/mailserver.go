package apptest

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"encoding/base64"
	"io"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"prospector/cmd"
)

// MailDrop is what a mail server does in place of an answer: it hangs up.
const MailDrop = "\x00drop"

// MailContent is the stage of a dialogue at which the whole message is there. The others are named by their commands.
const MailContent = "content"

// Mail is a message as a mail server has taken it.
type Mail struct {
	From   string
	To     []string // of the envelope
	Header mail.Header
	Body   string
	Raw    string
}

// MailServer is a mail server on loopback. It keeps what it takes, and answers as it is told.
type MailServer struct {
	Addr *net.TCPAddr
	// Username and Password, if set, are those of whom it takes mail from, by AUTH PLAIN.
	Username, Password string
	// Unwelcome, if set, is what it answers to MAIL of a sender; "" takes it. It is set before any message comes.
	Unwelcome func(from string) string

	t       testing.TB
	running sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener
	open     map[net.Conn]bool
	tls      *tls.Config
	answer   func(stage, to string) string
	asked    map[[2]string]int // by stage and recipient
	mails    []Mail
	grown    chan struct{} // closed at the next message
}

// NewMailServer starts a mail server, which ends with the test.
func NewMailServer(t testing.TB) *MailServer {
	t.Helper()
	s := &MailServer{t: t, Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, open: map[net.Conn]bool{}, asked: map[[2]string]int{}, grown: make(chan struct{})}
	s.Up()
	t.Cleanup(func() {
		s.Down()
		s.running.Wait()
	})
	return s
}

// Settings make a service send its messages to the server.
func (s *MailServer) Settings(cfg *cmd.Config) {
	cfg.Mail.Transport = "smtp"
	cfg.Mail.SMTP.Host, cfg.Mail.SMTP.Port, cfg.Mail.SMTP.TLS = s.Addr.IP.String(), s.Addr.Port, "none"
}

// Up makes it listen, at the same address as before.
func (s *MailServer) Up() {
	s.t.Helper()
	listener, err := net.ListenTCP("tcp", s.Addr)
	for late := time.Now().Add(mailPatience); err != nil && time.Now().Before(late); { // somebody may have had the port meanwhile
		listener, err = net.ListenTCP("tcp", s.Addr)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.Addr = listener.Addr().(*net.TCPAddr)
	s.mu.Lock()
	s.listener = listener
	s.mu.Unlock()
	s.running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.running.Go(func() { s.talk(conn) })
		}
	})
}

// Down makes it refuse connections, and hang up on all there are.
func (s *MailServer) Down() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.listener.Close()
	for conn := range s.open {
		_ = conn.Close()
	}
}

// OfferTLS makes it offer STARTTLS; nil that it does not.
func (s *MailServer) OfferTLS(with *tls.Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tls = with
}

// Answers changes what it says at a stage of a dialogue, which may have a recipient already; "" is what a good server says. It may take
// its time. A message whose content is answered with 4xx or 5xx is not taken.
func (s *MailServer) Answers(answer func(stage, to string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// Mails are all messages that it has taken.
func (s *MailServer) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mails)
}

// Asked is how often a stage was reached with a recipient.
func (s *MailServer) Asked(stage, to string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[[2]string{stage, to}]
}

// mailPatience bounds every wait. It only ever passes when something is broken.
const mailPatience = 30 * time.Second

// Await waits until it has so many messages, and gives them.
func (s *MailServer) Await(n int) []Mail {
	s.t.Helper()
	late := time.After(mailPatience)
	for {
		s.mu.Lock()
		mails, grown := slices.Clone(s.mails), s.grown
		s.mu.Unlock()
		if len(mails) >= n {
			return mails
		}
		select {
		case <-grown:
			late = time.After(mailPatience)
		case <-late:
			s.t.Fatalf("%d messages came, want %d", len(mails), n)
		}
	}
}

// mailDialogue is one connection of a mail server.
type mailDialogue struct {
	*MailServer
	conn net.Conn
	in   *textproto.Reader
	mail Mail
}

func (s *MailServer) talk(conn net.Conn) {
	s.mu.Lock()
	s.open[conn] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.open, conn)
		s.mu.Unlock()
		_ = conn.Close()
	}()
	d := &mailDialogue{MailServer: s}
	d.use(conn)
	for goes := d.at("greeting", "220 mail.example ready"); goes; {
		line, err := d.in.ReadLine()
		if err != nil {
			return
		}
		goes = d.do(line)
	}
}

func (d *mailDialogue) use(conn net.Conn) {
	d.conn, d.in = conn, textproto.NewReader(bufio.NewReader(conn))
}

// at answers at a stage, and tells whether the dialogue goes on.
func (d *mailDialogue) at(stage, good string) (goes bool) { return d.say(d.decide(stage, good)) }

func (d *mailDialogue) decide(stage, good string) string {
	to := strings.Join(d.mail.To, ",")
	d.mu.Lock()
	answer := d.answer
	d.asked[[2]string{stage, to}]++
	d.mu.Unlock()
	if answer == nil {
		return good
	}
	return cmp.Or(answer(stage, to), good)
}

func (d *mailDialogue) say(answer string) (goes bool) {
	if answer == MailDrop {
		return false
	}
	_, err := io.WriteString(d.conn, answer+"\r\n")
	return err == nil
}

func (d *mailDialogue) do(line string) (goes bool) {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb = strings.ToUpper(verb); verb {
	case "EHLO":
		return d.hello()
	case "STARTTLS":
		d.mu.Lock()
		with := d.tls
		d.mu.Unlock()
		if !d.at(verb, "220 go") {
			return false
		}
		d.use(tls.Server(d.conn, with))
		return true
	case "AUTH":
		if said, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(rest, "PLAIN ")); err != nil || string(said) != "\x00"+d.Username+"\x00"+d.Password {
			return d.at(verb, "535 5.7.8 not you, "+rest)
		}
		return d.at(verb, "235 2.7.0 welcome")
	case "MAIL":
		d.mail = Mail{From: envelope(rest)}
		if d.Unwelcome != nil {
			return d.at(verb, cmp.Or(d.Unwelcome(d.mail.From), "250 2.1.0 fine"))
		}
	case "RCPT":
		d.mail.To = append(d.mail.To, envelope(rest))
	case "DATA":
		return d.data()
	}
	return d.at(verb, "250 2.0.0 fine") && verb != "QUIT"
}

func (d *mailDialogue) hello() (goes bool) {
	d.mu.Lock()
	offers := "250-mail.example\r\n"
	if _, secure := d.conn.(*tls.Conn); d.tls != nil && !secure {
		offers += "250-STARTTLS\r\n"
	}
	if d.Username != "" {
		offers += "250-AUTH PLAIN\r\n"
	}
	d.mu.Unlock()
	return d.at("EHLO", offers+"250 8BITMIME")
}

// envelope is the address in FROM:<…> and TO:<…>.
func envelope(arg string) string {
	_, arg, _ = strings.Cut(arg, "<")
	address, _, _ := strings.Cut(arg, ">")
	return address
}

func (d *mailDialogue) data() (goes bool) {
	answer := d.decide("DATA", "354 go")
	if !d.say(answer) || !strings.HasPrefix(answer, "354") {
		return answer != MailDrop
	}
	content, err := d.in.ReadDotBytes()
	if err != nil {
		return false
	}
	answer = d.decide(MailContent, "250 2.0.0 queued")
	if answer[0] != '4' && answer[0] != '5' {
		d.keep(content)
	}
	return d.say(answer)
}

func (d *mailDialogue) keep(content []byte) {
	m := d.mail
	m.Raw = string(content)
	parsed, err := mail.ReadMessage(strings.NewReader(m.Raw))
	if err != nil {
		d.t.Errorf("a message came that is none: %v\n%s", err, m.Raw)
		return
	}
	body, err := io.ReadAll(quotedprintable.NewReader(parsed.Body))
	if err != nil {
		d.t.Errorf("the body of a message: %v\n%s", err, m.Raw)
	}
	m.Header, m.Body = parsed.Header, string(body)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mails = append(d.mails, m)
	close(d.grown)
	d.grown = make(chan struct{})
}
