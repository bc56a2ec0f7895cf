package sequence_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/mail"
	engine "prospector/internal/sequence"
	"prospector/internal/service"
)

const (
	mailDown   = "mail cannot be sent, backing off"
	mailAgain  = "mail is sent again"
	mailSecret = "correct-horse"
)

// mailTrouble is a problem that prevents all messages from being sent.
type mailTrouble struct {
	name    string
	breaks  func(*mailer)
	mends   func(*mailer)
	reason  string
	encrypt bool
}

func mailTroubles(t *testing.T, right, wrong *tls.Config) []mailTrouble {
	t.Helper()
	answers := func(name, stage, answer, reason string) mailTrouble {
		return mailTrouble{name, func(m *mailer) { m.server.Reply(apptest.Answering(stage, answer)) }, func(m *mailer) { m.server.Reply(nil) }, reason, false}
	}
	offers := func(name string, bad *tls.Config, reason string) mailTrouble {
		return mailTrouble{name, func(m *mailer) { m.server.OfferTLS(bad) }, func(m *mailer) { m.server.OfferTLS(right) }, reason, true}
	}
	return []mailTrouble{
		{"refuses connections", func(m *mailer) { m.server.Down() }, func(m *mailer) { m.server.Up() }, "connect: connection refused", false},
		answers("hangs up", "greeting", apptest.MailDrop, "greeting: the server closed the connection"),
		answers("is too busy", "greeting", "421 4.3.2 too busy", "greeting: 421 4.3.2 too busy"),
		answers("refuses the login", "AUTH", "535 5.7.8 not with "+mailSecret, "login: 535 5.7.8 not with ***"),
		answers("hangs up at the sender", "MAIL", "421 4.7.1 slowly", "MAIL FROM: 421 4.7.1 slowly"),
		offers("does not encrypt", nil, "STARTTLS: not offered by the server"),
		offers("is another", wrong, "STARTTLS: tls: failed to verify certificate"),
	}
}

// TestMailTrouble checks that no message fails while none can be sent. The delays between attempts
// increase, the service reports the problem, and every message is sent exactly once when sending
// works again.
func TestMailTrouble(t *testing.T) {
	web := httptest.NewUnstartedServer(nil)
	web.StartTLS()
	defer web.Close()
	right := &tls.Config{Certificates: web.TLS.Certificates}
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	for _, c := range mailTroubles(t, right, selfMade(t)) {
		t.Run(c.name, func(t *testing.T) {
			m := newMailer(t, func(cfg *service.Config) { cfg.Mail.SMTP.Username, cfg.Mail.SMTP.Password = "ada", mailSecret })
			m.server.Login("ada", mailSecret)
			if c.encrypt {
				m.encrypts(roots)
			}
			m.testBackoff(c)
		})
	}
}

// encrypts makes the service send over STARTTLS and trust the roots.
func (m *mailer) encrypts(roots *x509.CertPool) {
	m.t.Helper()
	s := mail.NewSMTP(mail.Options{Host: m.server.Addr.IP.String(), Port: m.server.Addr.Port, Username: "ada", Password: mailSecret, RootCAs: roots})
	m.t.Cleanup(func() { _ = s.Close() })
	m.app.Sequences.Options.Transport = func(uuid.UUID) engine.Transport { return s }
}

// selfMade returns a certificate that is not trusted.
func selfMade(t *testing.T) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

// testBackoff tests a problem from its beginning to its end.
func (m *mailer) testBackoff(c mailTrouble) {
	m.t.Helper()
	const all = 20
	var names, first, both []string
	for i := range all {
		names = append(names, fmt.Sprint("c", i))
		first = append(first, fmt.Sprintf("c%d Hello c%d", i, i))
		both = append(both, first[i], fmt.Sprintf("c%d Re: Hello c%d", i, i))
	}
	m.ready("")
	c.breaks(m)
	campaign := m.sends(twoMails, "", apptest.ContactsOf(m.Org, names...)...)
	m.run()
	for i, hold := range []time.Duration{5, 10, 20, 40, 80, 160, 300, 300} {
		hold *= time.Second
		m.wantReported(c)
		if n := strings.Count(m.app.Log.String(), mailDown); n != i+1 {
			m.t.Fatalf("the log reports %d times that sending is paused, want %d:\n%s", n, i+1, m.app.Log)
		}
		if !strings.Contains(m.app.Log.String(), fmt.Sprintf("%q retry_in=%v", mailDown, hold)) {
			m.t.Fatalf("sending is not paused for %v:\n%s", hold, m.app.Log)
		}
		greeted := m.server.Reached("greeting", "") // connections so far
		m.after(hold - time.Millisecond)
		if n := m.server.Reached("greeting", ""); n != greeted {
			m.t.Errorf("%d connections were made while sending was paused for %v", n-greeted, hold)
		}
		m.after(time.Millisecond)
		if n := m.server.Reached("greeting", ""); n > greeted+1 {
			m.t.Errorf("%d connections were made to see whether mail can be sent after %v", n-greeted, hold)
		}
	}
	m.arrived()
	stopped := 0
	for _, p := range m.outbox() {
		isTried := p.Status == "retrying" && strings.Contains(p.Error, c.reason)
		if !isTried && (p.Status != "queued" || p.Error != "") {
			m.t.Errorf("unexpected message status %s: %s", p.Status, p.Error)
		}
		stopped++
	}
	if stopped == 0 {
		m.t.Error("no message was sent")
	}
	if n := m.Read.Get(campaign + "/stats").Is(200).Int("data.messages_failed"); n != 0 || len(m.suppressed()) > 0 {
		m.t.Errorf("%d messages failed, suppressions = %q", n, m.suppressed())
	}
	apptest.Scrape(m.t, m.app).Has(m.t, apptest.Sample{"prospector_mail_in_hand": 0, `prospector_mail_handed_over_total{result="sent"}`: 0})
	c.mends(m)
	m.after(5 * time.Minute) // one message is sent as a probe
	m.after(time.Second)     // the most that may be in flight
	m.after(time.Second)     // the others
	m.arrived(first...)
	m.ready("")
	if n := strings.Count(m.app.Log.String(), mailAgain); n != 1 {
		m.t.Errorf("the log reports %d times that sending works again", n)
	}
	m.after(2 * time.Hour)
	m.arrived(both...)
	apptest.Scrape(m.t, m.app).Has(m.t, apptest.Sample{"prospector_mail_held": 0, "prospector_mail_in_hand": 0, `prospector_mail_handed_over_total{result="sent"}`: 2 * all})
	if log := m.app.Log.String(); strings.Contains(log, mailSecret) {
		m.t.Errorf("the log has the password:\n%s", log)
	}
	m.checkConsistency()
}

// wantReported requires that the service reports the problem to admins, without quoting the server, and
// that it stays ready: only sending is affected.
func (m *mailer) wantReported(c mailTrouble) {
	m.t.Helper()
	stage, _, _ := strings.Cut(c.reason, ": ")
	m.ready(stage)
	apptest.Scrape(m.t, m.app).Has(m.t, apptest.Sample{"prospector_mail_held": 1})
}

// TestMailTroubleForgotten checks that a problem is reported as long as messages wait because of it,
// and a few minutes longer.
func TestMailTroubleForgotten(t *testing.T) {
	m := newMailer(t)
	m.server.Down()
	campaign := m.sends(apptest.OneMail, "", apptest.ContactsOf(m.Org, "bob")...)
	m.run()
	m.ready("connect")
	m.Write.Patch(campaign, `{"status": "archived"}`).Is(200)
	m.after(5*time.Minute + 5*time.Second - time.Millisecond)
	m.ready("connect")
	m.after(time.Millisecond)
	m.ready("")
	m.server.Up()
	m.sends(apptest.OneMail, "", apptest.ContactsOf(m.Org, "eve")...)
	m.run()
	m.arrived("eve Hello eve")
	m.ready("")
}

// TestMailTroubleAgain checks that a new problem after the end of another starts with the shortest
// delay.
func TestMailTroubleAgain(t *testing.T) {
	m := newMailer(t)
	campaign := m.sends(apptest.OneMail, "")
	audience := m.Read.Get(campaign).Text("data.audiences.0.id")
	for i := range 3 {
		m.server.Reply(apptest.Answering("greeting", "421 4.3.2 too busy"))
		m.server.Down() // closes the idle connections
		m.server.Up()
		m.Write.Post("/v1/audiences/"+audience+"/contacts/add", apptest.ContactIDs(apptest.ContactsOf(m.Org, fmt.Sprint("c", i))...)).Is(200)
		m.run()
		m.ready("greeting")
		m.server.Reply(nil)
		m.after(5 * time.Second)
		m.ready("")
	}
	m.arrived("c0 Hello c0", "c1 Hello c1", "c2 Hello c2")
	if n := strings.Count(m.app.Log.String(), "retry_in=5s"); n != 3 || strings.Count(m.app.Log.String(), mailDown) != 3 {
		t.Errorf("%s", m.app.Log)
	}
}

// TestMailTroubleOverWindow checks that messages that were delayed past the end of the sending
// window are sent when it opens again, also after a restart.
func TestMailTroubleOverWindow(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprintf("restarted %t", restarted), func(t *testing.T) {
			m := newMailer(t)
			m.Admin.Patch("/v1/organization", `{"sending_window": {"from_hour": 8, "to_hour": 10}}`).Is(200)
			m.app.Clock.Advance(59*time.Minute + 58*time.Second) // it is two seconds to ten
			m.server.Down()
			ids := apptest.ContactsOf(m.Org, "bob", "eve", "zoe")
			campaign := m.sends(apptest.OneMail, "", ids...)
			m.run()
			m.ready("connect")
			m.server.Up()
			if restarted {
				m.app.Restart()
			}
			m.after(5 * time.Second)
			m.after(22*time.Hour - 4*time.Second)
			m.arrived()
			m.wantSequence(campaign, ids[0], "active waiting")
			m.after(time.Second)
			m.after(time.Second) // one message was sent as a probe at eight
			m.arrived("bob Hello bob", "eve Hello eve", "zoe Hello zoe")
			m.wantSequence(campaign, ids[0], "completed sent")
			m.ready("")
		})
	}
}
