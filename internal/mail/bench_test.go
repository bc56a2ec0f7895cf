package mail

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// sink accepts every message as fast as it can and discards it.
func sink(b *testing.B) *net.TCPAddr {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { swallow(c) })
		}
	})
	b.Cleanup(func() {
		_ = listener.Close()
		all.Wait()
	})
	return listener.Addr().(*net.TCPAddr)
}

func swallow(c net.Conn) {
	defer func() { _ = c.Close() }()
	in := bufio.NewReader(c)
	_, err := io.WriteString(c, "220 sink\r\n")
	for inContent := false; err == nil; {
		var line []byte
		if line, err = in.ReadSlice('\n'); err != nil {
			return
		}
		switch {
		case inContent && string(line) != ".\r\n":
			continue
		case bytes.HasPrefix(line, []byte("DATA")):
			inContent = true
			_, err = io.WriteString(c, "354 go\r\n")
		default:
			inContent = false
			_, err = io.WriteString(c, "250 fine\r\n")
		}
	}
}

// bare is the SMTP dialogue with nothing around it, for messages that are built already.
type bare struct {
	conn net.Conn
	in   *bufio.Reader
}

func dialBare(b *testing.B, addr *net.TCPAddr) *bare {
	b.Helper()
	c, err := net.DialTCP("tcp", nil, addr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	l := &bare{c, bufio.NewReader(c)}
	if _, err := l.in.ReadSlice('\n'); err != nil {
		b.Fatal(err)
	}
	return l
}

func (l *bare) send(commands [][]byte) error {
	for _, command := range commands {
		if _, err := l.conn.Write(command); err != nil {
			return err
		}
		if _, err := l.in.ReadSlice('\n'); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkSMTP builds and sends messages over eight connections and compares that with a bare loop
// of the same dialogue over as many. Both alternate every few hundred messages, so that they run
// under the same conditions.
func BenchmarkSMTP(b *testing.B) {
	const connections, turn = 8, 400
	addr := sink(b)
	template := aMessage()
	template.Body = strings.Repeat("A line of a message that is about as long as one is.\n", 15)
	commands := [][]byte{
		[]byte("MAIL FROM:<ada@acme.example>\r\n"), []byte("RCPT TO:<bob@globex.example>\r\n"), []byte("DATA\r\n"), append(template.appendTo(nil), ".\r\n"...),
	}
	loops := make([]*bare, connections)
	for i := range loops {
		loops[i] = dialBare(b, addr)
	}
	client := NewSMTP(Options{Host: "127.0.0.1", Port: addr.Port, TLS: NoTLS, Connections: connections})
	defer func() { _ = client.Close() }()

	spread := func(send func(worker, i int) error) time.Duration {
		start := time.Now()
		var all sync.WaitGroup
		for worker := range connections {
			all.Go(func() {
				for i := range turn / connections {
					if err := send(worker, i); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		return time.Since(start)
	}
	ours := func(worker, i int) error {
		m := *template
		m.ID = fmt.Sprintf("%d-%d@acme.example", worker, i)
		if r := client.Send(b.Context(), &m, nil); r.Status != Sent {
			return fmt.Errorf("%v %s", r.Status, r.Text)
		}
		return nil
	}
	theirs := func(worker, _ int) error { return loops[worker].send(commands) }
	spread(ours)
	spread(theirs)
	var sent, looped time.Duration
	messages := 0
	for b.Loop() {
		sent += spread(ours)
		looped += spread(theirs)
		messages += turn
	}
	b.ReportMetric(float64(messages)/sent.Seconds(), "messages/s")
	b.ReportMetric(float64(messages)/looped.Seconds(), "bare/s")
	b.ReportMetric(sent.Seconds()/looped.Seconds(), "ratio")
}
