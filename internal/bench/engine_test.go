package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/smtp"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/identity"
	"prospector/internal/mail"
	"prospector/internal/service"
	"prospector/internal/shape"
	"prospector/store"
)

const (
	mailed      = 20_000
	overdue     = 10_000
	waiting     = 100_000
	connections = 8 // the same number as the service
)

// BenchmarkEngine measures how fast campaigns send: over SMTP, compared with a bare loop, and to
// the outbox, compared with bare group commits.
func BenchmarkEngine(b *testing.B) {
	b.Run("smtp", func(b *testing.B) {
		addr := sink(b)
		var c comparison
		for range 3 {
			c.note(newCampaignBench(b, mailed, 0, addr).send(), bareMails(b, addr))
		}
		fmt.Printf("\n%d messages to a sink on loopback, each durable before its content is sent, compared with a bare loop over %d connections with a group commit per message:\n",
			mailed, connections)
		c.print("sending", 2.5)
	})
	b.Run("outbox", func(b *testing.B) {
		var c comparison
		for range 3 {
			c.note(newCampaignBench(b, overdue, 0, "").send(), bareCommits(b))
		}
		fmt.Printf("\n%d overdue steps to the outbox, compared with as many bare group commits by %d writers:\n",
			overdue, bareWriters)
		c.print("sending (bar: 10 times as long)", 10)
	})
}

// campaignBench is a campaign whose contacts wait for a message that is due at nine on some day.
type campaignBench struct {
	outreachBench
	s        *service.Service
	campaign uuid.UUID
	final    string       // the status of a message that was sent or, without a mail server, captured
	clock    atomic.Int64 // offset from the wall clock
}

func newCampaignBench(b *testing.B, contacts, day int, addr string) *campaignBench {
	c := &campaignBench{outreachBench: outreachBench{b: b, client: &http.Client{}}, final: "captured"}
	eight := time.Now().UTC().Truncate(24 * time.Hour).Add(8 * time.Hour)
	c.clock.Store(int64(time.Until(eight)))
	cfg := settings(b.TempDir())
	cfg.Mail.DailyCap, cfg.Mail.MinGap, cfg.RateLimit.PerMinute = 0, 0, 0
	cfg.PublicURL = "http://127.0.0.1:8080"
	if host, port, err := net.SplitHostPort(addr); err == nil {
		cfg.Mail.Transport, cfg.Mail.SMTP.Host, cfg.Mail.SMTP.TLS = "smtp", host, mail.NoTLS
		cfg.Mail.SMTP.Port, _ = strconv.Atoi(port)
		c.final = "sent"
	}
	s, err := service.Open(cfg, service.Options{
		Log:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Clock: func() time.Time { return time.Now().Add(time.Duration(c.clock.Load())) },
	})
	if err != nil {
		b.Fatal(err)
	}
	c.s = s
	b.Cleanup(func() { s.Close() })
	c.org = newTenant(b, s, "Sending", 1)
	server := httptest.NewServer(s.API)
	b.Cleanup(server.Close)
	c.url = server.URL
	c.campaign = c.begin(contacts, 9, day)
	return c
}

// begin creates a running campaign and waits until all its sequences have begun.
func (c *campaignBench) begin(contacts, hour, day int) uuid.UUID {
	b, s := c.b, c.s
	ids := make([]uuid.UUID, 0, contacts)
	err := s.Store.Update(context.Background(), c.org.id, store.Actor{}, func(tx *store.Tx) error {
		org, err := s.Identity.Organizations.Get(tx, c.org.id)
		if err != nil {
			return err
		}
		always := org.Record
		always.BusinessDays = []int{1, 2, 3, 4, 5, 6, 7}
		always.SendingWindow = identity.SendingWindow{FromHour: 0, ToHour: 24}
		if _, err = s.Identity.Organizations.Replace(tx, org, always); err != nil {
			return err
		}
		for i := range contacts {
			doc, err := s.CRM.Contacts.Insert(tx, crm.Contact{FirstName: "Ada", LastName: "Smith", Email: mailbox(i)})
			if err != nil {
				return err
			}
			ids = append(ids, doc.ID)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	template := fmt.Sprintf(`{"name": "One", "steps": [{"index": 0, "type": "auto_email", "hour": %d, "day": %d, "subject": "Hello {{recipient.first_name}}", "message": %q}]}`, hour, day, letterText)
	chosen, _ := c.post("/v1/sequence-templates", template, http.StatusCreated)
	audience, _ := c.post("/v1/audiences", `{"name": "All"}`, http.StatusCreated)
	for len(ids) > 0 {
		n := min(len(ids), 10_000)
		c.post("/v1/audiences/"+audience.String()+"/contacts/add", map[string]any{"contact_ids": ids[:n]}, http.StatusOK)
		ids = ids[n:]
	}
	campaign, _ := c.post("/v1/campaigns", map[string]any{"name": "All", "template_id": chosen, "audience_ids": []uuid.UUID{audience}, "status": "active"}, http.StatusCreated)
	s.Worker.Once(context.Background())
	if err := s.Index.Flush(); err != nil {
		b.Fatal(err)
	}
	return campaign
}

const letterText = "Hello {{recipient.first_name}},\n\nteams like yours lose a day a week to lists that nobody trusts. Ours are right.\nShall we talk about it on Thursday?\n\n{{sender.first_name}}"

func mailbox(i int) shape.Text { return shape.Text(fmt.Sprintf("contact%d@sink.example", i)) }

// send advances the clock to the due time and returns how long it takes until every message is sent
// and recorded. It reads lists concurrently.
func (c *campaignBench) send() time.Duration {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	total := c.stats().Active
	c.clock.Add(int64(time.Hour))
	start := time.Now()
	running.Go(func() { c.s.Worker.Run(ctx) })
	var took time.Duration
	var looked time.Time
	before := 0
	await(c.b, func() bool {
		stats := c.stats()
		if stats.MessagesFailed > 0 {
			c.b.Fatal("some messages failed")
		}
		after := stats.MessagesSent + stats.MessagesCaptured
		took = time.Since(start)
		if time.Since(looked) >= time.Second { // as a person who watches the campaign
			listed := c.listed()
			stats = c.stats()
			if most := stats.MessagesSent + stats.MessagesCaptured; listed < before || listed > most {
				c.b.Fatalf("list reports %d messages, want between %d (before) and %d (after)", listed, before, most)
			}
			looked = time.Now()
		}
		before = after
		return after >= total
	})
	cancel()
	running.Wait()
	c.s.Sequences.Wait()
	if n := c.listed(); n != total {
		c.b.Fatalf("list reports %d messages, want %d", n, total)
	}
	return took
}

type campaignStats struct {
	Active, Completed int
	MessagesSent      int `json:"messages_sent"`
	MessagesCaptured  int `json:"messages_captured"`
	MessagesFailed    int `json:"messages_failed"`
}

func (c *campaignBench) stats() campaignStats {
	answer, err := send(c.client, c.org, http.MethodGet, c.url+"/v1/campaigns/"+c.campaign.String()+"/stats", "")
	var stats struct{ Data campaignStats }
	if err == nil {
		err = json.Unmarshal(answer, &stats)
	}
	if err != nil {
		c.b.Fatal(err)
	}
	return stats.Data
}

// listed returns how many messages a list reports as sent or captured.
func (c *campaignBench) listed() int {
	answer, err := send(c.client, c.org, http.MethodPost, c.url+"/v1/outbox/list", fmt.Sprintf(`{"filters": [{"field": "status", "condition": "is", "value": %q}], "page_size": 1}`, c.final))
	var page struct {
		Pagination struct {
			TotalCount int `json:"total_count"`
		}
	}
	if err == nil {
		err = json.Unmarshal(answer, &page)
	}
	if err != nil {
		c.b.Fatal(err)
	}
	return page.Pagination.TotalCount
}

// bareMails sends the same number of messages of the same size over the same number of connections.
// Before the content of each it makes a group commit, so that a crash cannot send it twice.
func bareMails(b *testing.B, addr string) time.Duration {
	m := mail.Message{
		ID: uuid.NewString() + "@bench.example", Date: time.Now(), Subject: "Hello Ada", Body: letterText,
		From: mail.Address{Name: "Ann Smith", Email: "ann@bench.example"}, To: mail.Address{Name: "Ada Smith", Email: "contact10000@sink.example"},
		Unsubscribe: "http://127.0.0.1:8080/u/" + strings.Repeat("x", 64),
	}
	var text strings.Builder
	for name, value := range m.Headers() {
		fmt.Fprintf(&text, "%s: %s\r\n", name, value)
	}
	text.WriteString("\r\n" + strings.ReplaceAll(letterText, "\n", "\r\n") + "\r\n")
	content := []byte(text.String())
	ids := make([]uuid.UUID, mailed)
	for i := range ids {
		ids[i] = uuid.Must(uuid.NewV7())
	}
	committer := newBareCommitter(b, ids, len(content))
	start := time.Now()
	var all sync.WaitGroup
	for i := range connections {
		all.Go(func() {
			if err := bareMail(committer, addr, content, mailed/connections, i); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
	return time.Since(start)
}

func bareMail(committer *bareCommitter, addr string, content []byte, n, first int) error {
	c, err := smtp.Dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	for i := range n {
		if err := c.Mail("ann@bench.example"); err != nil {
			return err
		}
		if err := c.Rcpt(string(mailbox(first*n + i))); err != nil {
			return err
		}
		if err := committer.update(first*n + i); err != nil {
			return err
		}
		w, err := c.Data()
		if err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
	}
	return c.Quit()
}

// bareWriters is the number of concurrent writers.
const bareWriters = 64

// bareCommits makes the same number of bare group commits.
func bareCommits(b *testing.B) time.Duration {
	ids := make([]uuid.UUID, overdue)
	for i := range ids {
		ids[i] = uuid.Must(uuid.NewV7())
	}
	c := newBareCommitter(b, ids, 1000)
	start := time.Now()
	var all sync.WaitGroup
	for range bareWriters {
		all.Go(func() {
			for i := range overdue / bareWriters {
				if err := c.update(i); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	return time.Since(start)
}

// sink starts a mail server on loopback that accepts everything: Postfix's smtp-sink if it is
// installed, otherwise ownSink.
func sink(b *testing.B) (addr string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	addr = ln.Addr().String()
	program, err := exec.LookPath("smtp-sink")
	if err != nil {
		fmt.Println("smtp-sink is not installed: the sink is one in this process")
		b.Cleanup(func() { ln.Close() })
		go ownSink(ln)
		return addr
	}
	ln.Close()
	command := exec.Command(program, addr, "1000")
	command.Stderr = os.Stderr
	if os.Geteuid() == 0 {
		command.Args = append(command.Args[:1], append([]string{"-u", "nobody"}, command.Args[1:]...)...)
	}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	await(b, func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return addr
}

// ownSink answers each command and each message with 250.
func ownSink(ln net.Listener) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			r := bufio.NewReader(conn)
			fmt.Fprint(conn, "220 sink\r\n")
			for content := false; ; {
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				switch {
				case content && line != ".\r\n":
					continue
				case !content && strings.HasPrefix(line, "DATA"):
					content = true
					fmt.Fprint(conn, "354 go\r\n")
					continue
				case !content && strings.HasPrefix(line, "QUIT"):
					fmt.Fprint(conn, "221 bye\r\n")
					return
				}
				content = false
				fmt.Fprint(conn, "250 ok\r\n")
			}
		}()
	}
}
