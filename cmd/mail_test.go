package cmd_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// noPublicURL is logged by a service that sends without a public_url.
const noPublicURL = "public_url is not set"

const oneMail = `"steps": [{"index": 0, "type": "auto_email", "subject": "Hello", "message": "One"}]`

// TestMailNeedsLinks checks that messages are not sent to another machine unless their unsubscribe
// links lead to this service over HTTPS.
func TestMailNeedsLinks(t *testing.T) {
	t.Parallel()
	smtp := func(host, url string) *place {
		return newPlace(t, "PROSPECTOR_MAIL_TRANSPORT=smtp", "PROSPECTOR_MAIL_SMTP_HOST="+host, "PROSPECTOR_PUBLIC_URL="+url)
	}
	for _, c := range []struct{ host, url string }{{"mail.acme.example", ""}, {"mail.acme.example", "http://acme.example"}, {"192.0.2.1", ""}, {"localhost.acme.example", ""}} {
		smtp(c.host, c.url).run("serve", "--addr", "127.0.0.1:0").fails(1, "public_url", "https", "mail.transport")
	}
	for _, c := range []struct{ host, url string }{{"mail.acme.example", "https://acme.example"}, {"localhost", ""}, {"127.0.0.1", ""}, {"127.8.9.1", "http://acme.example"}, {"::1", ""}} {
		s := smtp(c.host, c.url).serve()
		s.stop()
		s.hasNoErrors(noPublicURL)
	}
}

// TestMailLinks checks that unsubscribe links start with public_url, or with the server's address
// by default, and work.
func TestMailLinks(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "https://mail.acme.example", "https://mail.acme.example/out/"} {
		t.Run(base, func(t *testing.T) {
			t.Parallel()
			o := newMailPlace(t, "PROSPECTOR_PUBLIC_URL="+base)
			s := o.serve()
			o.begin(s, o.campaign(s, oneMail, 1))
			mail := o.sink.Await(1)[0]
			want := strings.TrimSuffix(base, "/")
			if want == "" {
				want = s.url
			}
			link := regexp.MustCompile(`^<` + regexp.QuoteMeta(want) + `(/u/[A-Za-z0-9_-]+)>$`).FindStringSubmatch(mail.Header.Get("List-Unsubscribe"))
			if link == nil {
				t.Fatalf("the link is %s", mail.Header.Get("List-Unsubscribe"))
			}
			if r, err := send(client, "POST", s.url+link[1], "List-Unsubscribe=One-Click", "Content-Type", "application/x-www-form-urlencoded"); err != nil || r.status != http.StatusOK {
				t.Errorf("%v %d %s", err, r.status, r.body)
			}
			if n := s.total(o.key, "suppressions", "{}"); n != 1 {
				t.Errorf("%d addresses are suppressed", n)
			}
			s.stop()
			s.hasNoErrors(noPublicURL)
			if token := strings.TrimPrefix(link[1], "/u/"); strings.Contains(s.stderr.String(), token) {
				t.Error("the log contains the token")
			}
			s.logHasNoAddresses()
		})
	}
}

// TestMailEncrypted checks that messages are sent to a server with a trusted certificate after a
// login. The password occurs in no log and no response, even if the server repeats it.
func TestMailEncrypted(t *testing.T) {
	t.Parallel()
	const password = "hush-Correct-Horse"
	pair := newPair(t, "mail", tomorrow)
	certificate, err := tls.X509KeyPair([]byte(pair.cert), []byte(pair.key))
	if err != nil {
		t.Fatal(err)
	}
	o := newMailPlace(t, "PROSPECTOR_MAIL_SMTP_TLS=starttls", "PROSPECTOR_MAIL_SMTP_USERNAME=ada", "PROSPECTOR_MAIL_SMTP_PASSWORD="+password, "SSL_CERT_FILE=cert.pem", "SSL_CERT_DIR=none")
	o.write("cert.pem", pair.cert)
	o.sink.OfferTLS(&tls.Config{Certificates: []tls.Certificate{certificate}})
	o.sink.Login("ada", "another")
	s := o.serve()
	campaign := o.campaign(s, oneMail, 3)
	o.begin(s, campaign)
	s.await(s.stderr, regexp.MustCompile(`level=WARN msg="mail cannot be sent, backing off" retry_in=5s error="login: 535 5\.7\.8 not you, PLAIN \*\*\*"`))
	r := s.do(http.StatusOK, o.key, "GET", "/v1/mail/status", "")
	if !strings.Contains(string(r.body), `"status":"unavailable","stage":"login"`) {
		t.Errorf("the mail status is %s", r.body)
	}
	s.do(http.StatusOK, "", "GET", "/readyz", "")
	said := string(r.body) + string(s.do(http.StatusOK, o.key, "POST", "/v1/outbox/list", "{}").body)
	s.stop()
	said += s.stderr.String()
	o.sink.Login("ada", password)
	s = o.serve()
	o.awaitEnded(s, campaign)
	if sent, unknown := o.checkOutbox(s); sent != 3 || unknown != 0 {
		t.Errorf("%d messages are sent and %d unknown", sent, unknown)
	}
	s.stop()
	s.hasNoErrors(noPublicURL)
	said += s.stderr.String() + o.run("config", "show").stdout
	for _, secret := range []string{password, "AGFkYQ"} { // the latter is how the PLAIN login starts on the wire
		if strings.Contains(said, secret) {
			t.Errorf("the secret is shown: %s", said)
		}
	}
	s.logHasNoAddresses()
}

// TestMailUntrusted checks that nothing is sent to a server whose certificate is not trusted.
func TestMailUntrusted(t *testing.T) {
	t.Parallel()
	pair := newPair(t, "mail", tomorrow)
	certificate, err := tls.X509KeyPair([]byte(pair.cert), []byte(pair.key))
	if err != nil {
		t.Fatal(err)
	}
	o := newMailPlace(t, "PROSPECTOR_MAIL_SMTP_TLS=starttls")
	o.sink.OfferTLS(&tls.Config{Certificates: []tls.Certificate{certificate}})
	s := o.serve()
	o.begin(s, o.campaign(s, oneMail, 1))
	s.await(s.stderr, regexp.MustCompile(`level=WARN msg="mail cannot be sent, backing off" retry_in=5s error="STARTTLS: tls: failed to verify certificate`))
	s.stop()
	if o.sink.Reached("MAIL", "") > 0 {
		t.Error("the message was sent")
	}
}

// TestMailRepeatedStops checks that servers stopped while sending finish the messages in flight and
// leave the rest to the next server. Every message is sent once and none is unknown.
func TestMailRepeatedStops(t *testing.T) {
	t.Parallel()
	contacts, stops := 1200, 3
	if apptest.RaceDetector {
		contacts, stops = 300, 2
	}
	o := newMailPlace(t)
	s := o.serve()
	campaign := o.campaign(s, twoMails, contacts)
	o.sink.Reply(func(stage, _ string) string {
		if stage == apptest.MailContent {
			<-time.After(2 * time.Millisecond) // like a server on another machine
		}
		return ""
	})
	o.begin(s, campaign)
	for i := range stops {
		o.sink.Await((i + 1) * contacts / 10)
		s.stop()
		if n := len(o.sink.Mails()); n > contacts {
			t.Fatalf("%d messages arrived before stop %d: the server does not stop before all are sent", n, i)
		}
		s.hasNoErrors(noPublicURL)
		s = o.serve()
		if sent, unknown := o.checkOutbox(s); unknown > 0 || sent == 0 {
			t.Errorf("%d messages are sent and %d unknown after stop %d", sent, unknown, i)
		}
	}
	o.sink.Await(2 * contacts)
	o.awaitEnded(s, campaign)
	if sent, unknown := o.checkOutbox(s); sent != 2*contacts || unknown > 0 || len(o.sink.Mails()) != 2*contacts {
		t.Errorf("%d messages are sent and %d unknown, %d arrived, want %d", sent, unknown, len(o.sink.Mails()), 2*contacts)
	}
	s.stop()
	s.hasNoErrors(noPublicURL)
	o.passesCheck()
}

// TestMailShutdown checks that a stopping server waits for the response to a transmitted message
// and sends nothing more.
func TestMailShutdown(t *testing.T) {
	t.Parallel()
	o := newMailPlace(t)
	gate, at := make(chan struct{}), make(chan string, 100)
	open := sync.OnceFunc(func() { close(gate) })
	t.Cleanup(open)
	o.sink.Reply(func(stage, to string) string {
		if stage == apptest.MailContent {
			at <- to
			<-gate
		}
		return ""
	})
	s := o.serve()
	campaign := o.campaign(s, oneMail, 1)
	o.begin(s, campaign)
	within(t, at, "the message comes")
	s.signal(syscall.SIGTERM)
	s.await(s.stderr, shuttingDown)
	s.refusesConnections()
	open()
	s.ends(0)
	s.hasNoErrors(noPublicURL)
	s = o.serve()
	if sent, unknown := o.checkOutbox(s); sent != 1 || unknown != 0 {
		t.Errorf("%d messages are sent and %d unknown: %s", sent, unknown, fmt.Sprint(o.outbox(s)))
	}
	s.stop()
}
