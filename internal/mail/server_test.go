package mail

import (
	"bufio"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/md5"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"
)

// The stages of a dialogue at which a server can misbehave: the verbs of the commands, and these.
const (
	greeting = "greeting"
	middle   = "middle" // the first line of the content has arrived; a correct server sends nothing
	content  = "content"
)

// What a server can do instead of answering.
const (
	drop = "\x00drop" // close the connection
	hang = "\x00hang" // send nothing until the client disconnects
	last = "\x00last" // after an answer: close the connection
)

// deadline is how long a test waits for something that must happen.
const deadline = time.Minute

// server is a scripted mail server on loopback.
type server struct {
	t          *testing.T
	listener   net.Listener
	tls        *tls.Config
	implicit   bool
	extensions []string
	username   string
	password   string
	// answer returns the answer at a stage of the n-th connection, from 1; "" selects the correct one.
	answer func(n int, stage string) string
	// reached, if set, receives every stage before it is answered.
	reached chan string

	mu          sync.Mutex
	connections int
	commands    []string
	messages    []received
}

type received struct{ from, to, data string }

// start makes the server listen until the test ends.
func (s *server) start(t *testing.T) *server {
	t.Helper()
	s.t = t
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.listener = listener
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.connections++
			n := s.connections
			s.mu.Unlock()
			all.Go(func() { (&dialogue{server: s, n: n}).run(c) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		all.Wait()
	})
	return s
}

// client returns an SMTP client for the server.
func (s *server) client(change func(*Options)) *SMTP {
	s.t.Helper()
	o := Options{Host: "127.0.0.1", Port: s.listener.Addr().(*net.TCPAddr).Port, TLS: NoTLS, LocalName: "client.example"}
	if change != nil {
		change(&o)
	}
	if err := o.Check(); err != nil {
		s.t.Fatal(err)
	}
	c := NewSMTP(o)
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// seen returns the connections, commands and messages so far.
func (s *server) seen() (connections int, commands []string, messages []received) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connections, append([]string(nil), s.commands...), append([]received(nil), s.messages...)
}

// await waits until the server reaches a stage.
func (s *server) await(stage string) {
	s.t.Helper()
	for at := ""; at != stage; {
		at = await(s.t, s.reached)
	}
}

// cancelAt sends a message and cancels it when the server reaches a stage.
func (s *server) cancelAt(stage string, c *SMTP) Result {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	result := make(chan Result, 1)
	go func() { result <- c.Send(ctx, aMessage(), nil) }()
	s.await(stage)
	cancel()
	return await(s.t, result)
}

// dialogue is one connection of a server.
type dialogue struct {
	server *server
	n      int
	conn   net.Conn
	in     *textproto.Reader
	mail   received
}

func (d *dialogue) run(c net.Conn) {
	defer func() { _ = d.conn.Close() }()
	d.use(c)
	if d.server.implicit {
		d.use(tls.Server(c, d.server.tls))
	}
	if !d.at(greeting, "220 server.example ready") {
		return
	}
	for {
		command, err := d.in.ReadLine()
		if err != nil {
			return
		}
		d.server.mu.Lock()
		d.server.commands = append(d.server.commands, command)
		d.server.mu.Unlock()
		if !d.do(command) {
			return
		}
	}
}

func (d *dialogue) use(c net.Conn) {
	d.conn, d.in = c, textproto.NewReader(bufio.NewReader(c))
}

// at answers at a stage and reports whether the dialogue continues.
func (d *dialogue) at(stage, good string) bool {
	return d.say(d.answer(stage, good))
}

// answer returns the answer at a stage.
func (d *dialogue) answer(stage, good string) string {
	if d.server.reached != nil {
		d.server.reached <- stage
	}
	if d.server.answer != nil {
		return cmp.Or(d.server.answer(d.n, stage), good)
	}
	return good
}

func (d *dialogue) say(answer string) bool {
	if answer == hang {
		_, _ = io.Copy(io.Discard, d.conn)
		return false
	}
	if answer == drop {
		return false
	}
	answer, isLast := strings.CutSuffix(answer, last)
	_, err := io.WriteString(d.conn, answer+"\r\n")
	return err == nil && !isLast
}

func (d *dialogue) do(command string) bool {
	verb, rest, _ := strings.Cut(command, " ")
	switch verb = strings.ToUpper(verb); verb {
	case "EHLO":
		return d.at(verb, "250-server.example\r\n250-"+strings.Join(d.server.extensions, "\r\n250-")+"\r\n250 8BITMIME")
	case "STARTTLS":
		if !d.at(verb, "220 go") {
			return false
		}
		d.use(tls.Server(d.conn, d.server.tls))
		return true
	case "AUTH":
		return d.auth(rest)
	case "MAIL":
		d.mail = received{from: rest}
	case "RCPT":
		d.mail.to = rest
	case "DATA":
		return d.data()
	}
	return d.at(verb, "250 fine") && verb != "QUIT"
}

func (d *dialogue) data() bool {
	answer := d.answer("DATA", "354 go")
	if !d.say(answer) {
		return false
	}
	if !strings.HasPrefix(answer, "354") {
		return true
	}
	first, err := d.in.ReadLine()
	if err != nil {
		return false
	}
	if misbehaves := d.answer(middle, ""); misbehaves != "" {
		return d.say(misbehaves)
	}
	rest, err := io.ReadAll(d.in.DotReader())
	if err != nil {
		return false
	}
	d.mail.data = first + "\n" + string(rest)
	d.server.mu.Lock()
	d.server.messages = append(d.server.messages, d.mail)
	d.server.mu.Unlock()
	return d.at(content, "250 2.0.0 queued")
}

// auth accepts the three login mechanisms of the client.
func (d *dialogue) auth(how string) bool {
	mechanism, initial, _ := strings.Cut(how, " ")
	s, ok := d.server, false
	switch mechanism {
	case "PLAIN":
		ok = decoded(initial) == "\x00"+s.username+"\x00"+s.password
	case "LOGIN":
		user, pass := d.challenge("Username:"), d.challenge("Password:")
		ok = user == s.username && pass == s.password
	case "CRAM-MD5":
		sum := hmac.New(md5.New, []byte(s.password))
		_, _ = io.WriteString(sum, "<1@server.example>")
		ok = d.challenge("<1@server.example>") == fmt.Sprintf("%s %x", s.username, sum.Sum(nil))
	}
	if !ok {
		return d.at("AUTH", "535 5.7.8 who are you, "+initial)
	}
	return d.at("AUTH", "235 2.7.0 welcome")
}

func (d *dialogue) challenge(text string) string {
	_, _ = fmt.Fprintf(d.conn, "334 %s\r\n", base64.StdEncoding.EncodeToString([]byte(text)))
	answer, _ := d.in.ReadLine()
	return decoded(answer)
}

func decoded(s string) string {
	plain, _ := base64.StdEncoding.DecodeString(s)
	return string(plain)
}

// only answers at one stage of every connection.
func only(at, answer string) func(int, string) string {
	return func(_ int, stage string) string {
		if stage == at {
			return answer
		}
		return ""
	}
}

// aMessage returns a message that every correct server accepts.
func aMessage() *Message {
	return &Message{
		ID:          "0198c9a2-1@acme.example",
		Date:        time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC),
		From:        Address{"Ada Lovelace", "ada@acme.example"},
		To:          Address{"Bob", "bob@globex.example"},
		Subject:     "Hello",
		Body:        "Hello Bob,\n\nshall we talk?\n",
		Unsubscribe: "https://mail.acme.example/u/token",
	}
}

// send sends one message and checks its result.
func send(t *testing.T, c *SMTP, m *Message, want Status, text string) {
	t.Helper()
	r := c.Send(t.Context(), m, nil)
	if r.Status != want || !strings.Contains(r.Text, text) {
		t.Errorf("got %v %q, want %v with %q", r.Status, r.Text, want, text)
	}
}

// await receives from a channel, or fails the test after the deadline.
func await[T any](t *testing.T, from <-chan T) (v T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	select {
	case v = <-from:
	case <-ctx.Done():
		t.Fatal("nothing received")
	}
	return v
}
