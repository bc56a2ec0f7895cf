package mail

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestConnectionsAreKept(t *testing.T) {
	s := (&server{}).start(t)
	c := s.client(nil)
	for range 20 {
		send(t, c, aMessage(), Sent, "")
	}
	connections, commands, messages := s.seen()
	if connections != 1 || len(messages) != 20 || slices.Contains(commands, "RSET") {
		t.Errorf("%d connections for %d messages: %q", connections, len(messages), commands)
	}
}

// Concurrent messages have a connection each, up to the maximum. Further messages wait.
func TestConnectionsAtMost(t *testing.T) {
	const most = 3
	inside, proceed := make(chan struct{}, 100), make(chan struct{})
	var at, peak atomic.Int32
	s := (&server{answer: func(_ int, stage string) string {
		if stage == content {
			now := at.Add(1)
			for old := peak.Load(); now > old && !peak.CompareAndSwap(old, now); old = peak.Load() {
			}
			inside <- struct{}{}
			<-proceed
			at.Add(-1)
		}
		return ""
	}}).start(t)
	c := s.client(func(o *Options) { o.Connections = most })
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() { send(t, c, aMessage(), Sent, "") })
	}
	for range most {
		await(t, inside)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan Result, 1)
	go func() { waiting <- c.Send(ctx, aMessage(), nil) }()
	cancel()
	if r := await(t, waiting); r.Status != ServerUnavailable || r.Text != "canceled" {
		t.Errorf("canceled while waiting for a connection: %v %q", r.Status, r.Text)
	}
	close(proceed)
	all.Wait()
	connections, _, messages := s.seen()
	if connections != most || len(messages) != 12 {
		t.Errorf("%d connections, %d at once, %d messages", connections, peak.Load(), len(messages))
	}
}

// A refusal ends the transaction, not the connection.
func TestConnectionIsKeptAfterRefusal(t *testing.T) {
	for _, stage := range []string{"RCPT", "DATA", content} {
		t.Run(stage, func(t *testing.T) {
			var refused atomic.Bool
			s := &server{answer: func(_ int, at string) string {
				if at != stage || refused.Swap(true) {
					return ""
				}
				return "550 5.7.1 not this one"
			}}
			s.start(t)
			c := s.client(nil)
			send(t, c, aMessage(), Rejected, "550 5.7.1 not this one")
			send(t, c, aMessage(), Sent, "")
			connections, commands, _ := s.seen()
			if connections != 1 || !slices.Contains(commands, "RSET") {
				t.Errorf("%d connections: %q", connections, commands)
			}
		})
	}
}

// A kept connection that turns out to be closed does not fail the message.
func TestKeptConnectionIsGone(t *testing.T) {
	for name, answer := range map[string]func(stage string, messages int) string{
		"hung up while idle": func(stage string, messages int) string {
			if stage == content {
				return "250 fine" + last
			}
			return ""
		},
		"421": func(stage string, messages int) string {
			if stage == "MAIL" && messages > 0 {
				return "421 4.4.2 too long idle" + last
			}
			return ""
		},
		"hung up at MAIL": func(stage string, messages int) string {
			if stage == "MAIL" && messages > 0 {
				return drop
			}
			return ""
		},
		"garbage": func(stage string, messages int) string {
			if stage == "MAIL" && messages > 0 {
				return "bye"
			}
			return ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{}
			s.answer = func(n int, stage string) string {
				if n > 1 {
					return ""
				}
				_, _, messages := s.seen()
				return answer(stage, len(messages))
			}
			s.start(t)
			c := s.client(nil)
			send(t, c, aMessage(), Sent, "")
			send(t, c, aMessage(), Sent, "")
			if connections, _, messages := s.seen(); connections != 2 || len(messages) != 2 {
				t.Errorf("%d connections, %d messages", connections, len(messages))
			}
		})
	}
}

// A connection on which the server sent an extra answer is not reused, because that answer would be
// taken for one to the next message.
func TestConnectionIsNotKeptAfterTooManyAnswers(t *testing.T) {
	for stage, want := range map[string]Status{content: Sent, middle: Rejected, "RCPT": RecipientRejected} {
		t.Run(stage, func(t *testing.T) {
			s := (&server{answer: func(n int, at string) string {
				if n > 1 || at != stage {
					return ""
				}
				if stage == content {
					return "250 fine\r\n250 fine"
				}
				return "550 no\r\n250 fine"
			}}).start(t)
			c := s.client(nil)
			send(t, c, aMessage(), want, "")
			send(t, c, aMessage(), Sent, "queued")
			if connections, _, _ := s.seen(); connections != 2 {
				t.Errorf("%d connections", connections)
			}
		})
	}
}

// After a refused RSET the next message uses another connection.
func TestResetIsRefused(t *testing.T) {
	s := (&server{answer: func(n int, stage string) string {
		if n > 1 {
			return ""
		}
		return map[string]string{"RCPT": "550 no such user", "RSET": "502 what?"}[stage]
	}}).start(t)
	c := s.client(nil)
	send(t, c, aMessage(), RecipientRejected, "550 no such user")
	send(t, c, aMessage(), Sent, "")
	if connections, _, _ := s.seen(); connections != 2 {
		t.Errorf("%d connections", connections)
	}
}

// A failure on a new connection too means that the server is unavailable. The message is sent over
// another connection only once.
func TestFreshConnectionFailsToo(t *testing.T) {
	s := &server{}
	s.answer = func(_ int, stage string) string {
		if _, _, messages := s.seen(); stage == "MAIL" && len(messages) > 0 {
			return "421 4.3.2 going down" + last
		}
		return ""
	}
	s.start(t)
	c := s.client(nil)
	send(t, c, aMessage(), Sent, "")
	send(t, c, aMessage(), ServerUnavailable, "MAIL FROM: 421 4.3.2 going down")
	if connections, _, _ := s.seen(); connections != 2 {
		t.Errorf("%d connections", connections)
	}
}

// A message that the server has answered to is not sent over another connection.
func TestNothingIsSentTwice(t *testing.T) {
	for _, stage := range []string{"RCPT", "DATA", content} {
		t.Run(stage, func(t *testing.T) {
			s := &server{}
			s.answer = func(_ int, at string) string {
				if _, commands, _ := s.seen(); at == stage && strings.Count(strings.Join(commands, "\n"), "MAIL FROM") == 2 {
					return drop
				}
				return ""
			}
			s.start(t)
			c := s.client(nil)
			send(t, c, aMessage(), Sent, "")
			if r := c.Send(t.Context(), aMessage(), nil); r.Status == Sent || r.Status == ServerUnavailable {
				t.Errorf("got %v %q", r.Status, r.Text)
			}
			if connections, _, _ := s.seen(); connections != 1 {
				t.Errorf("%d connections", connections)
			}
		})
	}
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	s := (&server{reached: make(chan string, 100)}).start(t)
	c := s.client(func(o *Options) { o.IdleTimeout = time.Millisecond })
	send(t, c, aMessage(), Sent, "")
	s.await("QUIT")
	send(t, c, aMessage(), Sent, "")
	if connections, _, _ := s.seen(); connections != 2 {
		t.Errorf("%d connections", connections)
	}
}

func TestClose(t *testing.T) {
	s := (&server{reached: make(chan string, 100)}).start(t)
	c := s.client(nil)
	send(t, c, aMessage(), Sent, "")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	s.await("QUIT")
	send(t, c, aMessage(), ServerUnavailable, "closed")
}

// A message that is in flight while the client is closed is sent.
func TestCloseWhileSending(t *testing.T) {
	inside, proceed := make(chan struct{}), make(chan struct{})
	s := (&server{reached: make(chan string, 100), answer: func(_ int, stage string) string {
		if stage == content {
			close(inside)
			<-proceed
		}
		return ""
	}}).start(t)
	c := s.client(nil)
	result := make(chan Result, 1)
	go func() { result <- c.Send(t.Context(), aMessage(), nil) }()
	await(t, inside)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	close(proceed)
	if r := await(t, result); r.Status != Sent {
		t.Errorf("got %v %q", r.Status, r.Text)
	}
	s.await("QUIT")
}

// Every message arrives once and unchanged, whatever the concurrency.
func TestManyAtOnce(t *testing.T) {
	s := (&server{}).start(t)
	c := s.client(func(o *Options) { o.Connections = 4 })
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			m := aMessage()
			m.To.Email = fmt.Sprintf("to%d@globex.example", i)
			m.Body = fmt.Sprintf("This is %d.", i)
			send(t, c, m, Sent, "")
		})
	}
	all.Wait()
	connections, _, messages := s.seen()
	if connections > 4 || len(messages) != 200 {
		t.Fatalf("%d connections, %d messages", connections, len(messages))
	}
	to := map[string]bool{}
	for _, m := range messages {
		n := strings.TrimSuffix(strings.TrimPrefix(m.to, "TO:<to"), "@globex.example>")
		if to[n] || !strings.HasSuffix(m.data, "\n\nThis is "+n+".\n") {
			t.Errorf("%s has %q", m.to, m.data)
		}
		to[n] = true
	}
}
