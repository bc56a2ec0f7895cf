package mail

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"prospector/internal/address"
)

// The answer of the server at each stage determines the result.
func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		stage, answer string
		want          Status
		text          string
	}{
		{"EHLO", "", Sent, "250 2.0.0 queued"},
		{greeting, "554 5.7.1 not you", ServerUnavailable, "greeting: 554 5.7.1 not you"},
		{greeting, "421 busy", ServerUnavailable, "greeting: 421 busy"},
		{greeting, "hello there", ServerUnavailable, "greeting: "},
		{"MAIL", "451 4.3.0 later", Deferred, "451 4.3.0 later"},
		{"MAIL", "550 5.1.8 not that sender", Rejected, "550 5.1.8 not that sender"},
		{"MAIL", "550 5.1.1 not that sender", Rejected, "550 5.1.1 not that sender"},
		{"MAIL", "421 closing" + last, ServerUnavailable, "MAIL FROM: 421 closing"},
		{"MAIL", "what?", ServerUnavailable, "MAIL FROM: "},
		{"MAIL", "354 go", ServerUnavailable, "MAIL FROM: 354 go"},
		{"RCPT", "450 4.2.0 greylisted", Deferred, "450 4.2.0 greylisted"},
		{"RCPT", "450 greylisted", Deferred, "450 greylisted"},
		{"RCPT", "421 closing" + last, Deferred, "421 closing"},
		{"RCPT", "251 will forward", Sent, ""},
		{"RCPT", "550 5.1.1 no such user", Bounced, "550 5.1.1 no such user"},
		{"RCPT", "550-5.1.1 no such\r\n550 5.1.1 user", Bounced, "550 5.1.1 no such 5.1.1 user"},
		{"RCPT", "550 no such user", RecipientRejected, "550 no such user"},
		{"RCPT", "551 moved", RecipientRejected, "551 moved"},
		{"RCPT", "553 5.1.3 bad address", Bounced, "553 5.1.3 bad address"},
		{"RCPT", "550 5.1.2 no such domain", Bounced, "550 5.1.2 no such domain"},
		{"RCPT", "550 5.1.6 moved", Bounced, "550 5.1.6 moved"},
		{"RCPT", "556 5.1.10 null MX", Bounced, "556 5.1.10 null MX"},
		{"RCPT", "550 5.1.7 bad sender", Rejected, "550 5.1.7 bad sender"},
		{"RCPT", "550 5.1.8 bad sender", Rejected, "550 5.1.8 bad sender"},
		{"RCPT", "550 5.1.0 other", Rejected, "550 5.1.0 other"},
		{"RCPT", "553 5.10.1 odd", Rejected, "553 5.10.1 odd"},
		{"RCPT", "550 5.7.1 policy", Rejected, "550 5.7.1 policy"},
		{"RCPT", "550 4.1.1 confused", Rejected, "550 4.1.1 confused"},
		{"RCPT", "552 5.2.2 full", Rejected, "552 5.2.2 full"},
		{"RCPT", "554 no", Rejected, "554 no"},
		{"RCPT", "503 5.1.1 sequence", Bounced, "503 5.1.1 sequence"},
		{"RCPT", "eh", Deferred, ""},
		{"RCPT", "354 go", Deferred, "354 go"},
		{"DATA", "451 4.3.0 later", Deferred, "451 4.3.0 later"},
		{"DATA", "554 5.5.1 no valid recipients", Rejected, "554 5.5.1 no valid recipients"},
		{"DATA", "550 5.1.1 no such user", Bounced, "550 5.1.1 no such user"},
		{"DATA", "421 closing" + last, Deferred, "421 closing"},
		{"DATA", "250 what", Deferred, "250 what"},
		{"DATA", "\xff\x00\xfe", Deferred, ""},
		{content, "451 4.7.1 later", Deferred, "451 4.7.1 later"},
		{content, "421 closing" + last, Deferred, "421 closing"},
		{content, "552 5.3.4 too big", Rejected, "552 5.3.4 too big"},
		{content, "550 5.1.1 no such user", Bounced, "550 5.1.1 no such user"},
		{content, "550 spam", Rejected, "550 spam"},
		{content, "251 forwarded", Sent, "251 forwarded"},
		{content, "354 go on", Unknown, "354 go on"},
		{content, "!!!", Unknown, ""},
		{greeting, "220 hello\r\n250 hello", ServerUnavailable, "greeting: the server sent an unexpected extra answer"},
		{"MAIL", "250 fine\r\n250 fine", ServerUnavailable, "MAIL FROM: the server sent an unexpected extra answer"},
		{"RCPT", "250 fine\r\n354 go", Deferred, "unexpected extra answer"},
		{"DATA", "354 go\r\n250 fine", Deferred, "unexpected extra answer"},
		{middle, "552 5.3.4 too big", Rejected, "552 5.3.4 too big"},
	} {
		t.Run(test.stage+" "+strings.TrimSuffix(test.answer, last), func(t *testing.T) {
			t.Parallel()
			s := (&server{answer: only(test.stage, test.answer)}).start(t)
			send(t, s.client(nil), aMessage(), test.want, test.text)
		})
	}
}

// stages are those of a message to a server without encryption and login, with the result if the
// connection is lost there.
var stages = []struct {
	name string
	lost Status
}{
	{greeting, ServerUnavailable}, {"EHLO", ServerUnavailable}, {"MAIL", ServerUnavailable}, {"RCPT", Deferred}, {"DATA", Deferred}, {middle, Unknown}, {content, Unknown},
}

func TestServerHangsUp(t *testing.T) {
	for _, stage := range stages {
		t.Run(stage.name, func(t *testing.T) {
			t.Parallel()
			s := (&server{answer: only(stage.name, drop)}).start(t)
			r := s.client(nil).Send(t.Context(), aMessage(), nil)
			if r.Status != stage.lost || !strings.Contains(r.Text, "closed the connection") && !strings.Contains(r.Text, "reset") && !strings.Contains(r.Text, "broken pipe") {
				t.Errorf("got %v %q, want %v", r.Status, r.Text, stage.lost)
			}
		})
	}
}

func TestServerIsSilent(t *testing.T) {
	var all sync.WaitGroup
	defer all.Wait()
	for _, stage := range stages {
		s := (&server{answer: only(stage.name, hang)}).start(t)
		c := s.client(func(o *Options) { o.CommandTimeout, o.AnswerTimeout = 3*time.Second, 3*time.Second })
		all.Go(func() { send(t, c, aMessage(), stage.lost, "timed out") })
	}
}

// The time-out of the content is independent of that of a command.
func TestContentHasItsOwnTimeout(t *testing.T) {
	s := (&server{answer: only(content, hang)}).start(t)
	c := s.client(func(o *Options) { o.CommandTimeout, o.AnswerTimeout = deadline, 10*time.Millisecond })
	send(t, c, aMessage(), Unknown, "timed out")
}

func TestCancel(t *testing.T) {
	for _, stage := range stages {
		t.Run(stage.name, func(t *testing.T) {
			t.Parallel()
			s := (&server{answer: only(stage.name, hang), reached: make(chan string, 100)}).start(t)
			if r := s.cancelAt(stage.name, s.client(nil)); r.Status != stage.lost || !strings.Contains(r.Text, "canceled") {
				t.Errorf("got %v %q, want %v", r.Status, r.Text, stage.lost)
			}
		})
	}
}

func TestCanceledBefore(t *testing.T) {
	s := (&server{}).start(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := s.client(nil).Send(ctx, aMessage(), nil); r.Status != ServerUnavailable || !strings.Contains(r.Text, "canceled") {
		t.Errorf("got %v %q", r.Status, r.Text)
	}
	if _, _, messages := s.seen(); len(messages) != 0 {
		t.Error("the message was sent")
	}
}

func TestNobodyListens(t *testing.T) {
	s := (&server{}).start(t)
	c := s.client(nil)
	_ = s.listener.Close()
	send(t, c, aMessage(), ServerUnavailable, "connect: connection refused")
}

// The answers of a server are bounded, in memory and in the text of the result.
func TestEndlessAnswers(t *testing.T) {
	for name, part := range map[string]string{"line": strings.Repeat("x", 1000), "lines": "250-and more\r\n", "nothing": "\r\n"} {
		for _, stage := range stages {
			t.Run(name+" at "+stage.name, func(t *testing.T) {
				t.Parallel()
				s := (&server{answer: only(stage.name, strings.Repeat(part, 1<<20/len(part)))}).start(t)
				r := s.client(nil).Send(t.Context(), aMessage(), nil)
				if r.Status != stage.lost || utf8.RuneCountInString(r.Text) > maxTextLength {
					t.Errorf("got %v with a text of %d, want %v", r.Status, len(r.Text), stage.lost)
				}
			})
		}
	}
}

func TestTextIsOneLine(t *testing.T) {
	s := (&server{answer: only("RCPT", "550-5.7.1 "+strings.Repeat("ä", 300)+"\r\n550 5.7.1 \x1b[31m\xff\ttail")}).start(t)
	r := s.client(nil).Send(t.Context(), aMessage(), nil)
	if n := utf8.RuneCountInString(r.Text); r.Status != Rejected || n != maxTextLength || !strings.HasPrefix(r.Text, "550 5.7.1 ää") {
		t.Errorf("got %v, %d characters: %q", r.Status, n, r.Text)
	}
	s = (&server{answer: only("RCPT", "550-5.7.1 first\r\n550 5.7.1 \x1b[31m\xff\ttail")}).start(t)
	if r := s.client(nil).Send(t.Context(), aMessage(), nil); r.Text != "550 5.7.1 first 5.7.1  [31m\uFFFD tail" {
		t.Errorf("got %q", r.Text)
	}
}

// An invalid message does not reach the server.
func TestNoMessage(t *testing.T) {
	s := (&server{}).start(t)
	m := aMessage()
	m.To.Email = "bob@globex.example>\r\nRCPT TO:<eve@evil.example"
	send(t, s.client(nil), m, Rejected, `to: "bob@globex.example>\r\nRCPT TO:<eve@evil.example" is not an email address`)
	if connections, _, _ := s.seen(); connections != 0 {
		t.Error("the client connected")
	}
}

func TestLongerThanTheServerTakes(t *testing.T) {
	s := (&server{extensions: []string{"SIZE 2000"}}).start(t)
	c := s.client(nil)
	m := aMessage()
	m.Body = strings.Repeat("x", 2000)
	send(t, c, m, Rejected, "the server accepts at most 2000")
	send(t, c, aMessage(), Sent, "")
}

func TestInternationalAddresses(t *testing.T) {
	for _, test := range []struct {
		email    string
		ext      string
		want     Status
		envelope string
	}{
		{"bob@bücher.example", "X", Sent, "TO:<bob@xn--bcher-kva.example>"},
		{"bob@bücher.example", "SMTPUTF8", Sent, "TO:<bob@xn--bcher-kva.example>"},
		{"jörg@globex.example", "X", Rejected, ""},
		{"jörg@bücher.example", "SMTPUTF8", Sent, "TO:<jörg@xn--bcher-kva.example>"},
	} {
		t.Run(test.email+" "+test.ext, func(t *testing.T) {
			s := (&server{extensions: []string{test.ext}}).start(t)
			m := aMessage()
			m.To.Email = test.email
			send(t, s.client(nil), m, test.want, "")
			_, _, messages := s.seen()
			if test.want != Sent {
				if len(messages) != 0 {
					t.Error("the message was sent")
				}
				return
			}
			if messages[0].to != test.envelope {
				t.Errorf("to %q", messages[0].to)
			}
			if asks := strings.Contains(messages[0].from, "SMTPUTF8"); asks == address.IsASCII(test.envelope) {
				t.Errorf("from %q", messages[0].from)
			}
		})
	}
}
