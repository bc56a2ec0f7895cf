package mail

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// authority issues certificates that its pool trusts.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key, pool: x509.NewCertPool()}
	der := a.sign(t, key, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pool.AddCert(a.cert)
	return a
}

func (a *authority) sign(t *testing.T, key *ecdsa.PrivateKey, c *x509.Certificate) []byte {
	t.Helper()
	parent := a.cert
	if parent == nil {
		parent = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// server returns the configuration of a server whose certificate is for an address and valid until
// a time.
func (a *authority) server(t *testing.T, ip string, until time.Time) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der := a.sign(t, key, &x509.Certificate{
		SerialNumber: big.NewInt(2), NotAfter: until, IPAddresses: []net.IP{net.ParseIP(ip)},
	})
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

func TestEncryption(t *testing.T) {
	ours, other := newAuthority(t), newAuthority(t)
	hour := time.Now().Add(time.Hour)
	old := ours.server(t, "127.0.0.1", hour)
	old.MaxVersion = tls.VersionTLS11
	for _, test := range []struct {
		name    string
		config  *tls.Config
		want    Status
		says    string
		refused string // the answer to STARTTLS
	}{
		{"good", ours.server(t, "127.0.0.1", hour), Sent, "", ""},
		{"another name", ours.server(t, "127.0.0.2", hour), ServerUnavailable, "127.0.0.2, not 127.0.0.1", ""},
		{"expired", ours.server(t, "127.0.0.1", time.Now().Add(-time.Hour)), ServerUnavailable, "expired", ""},
		{"unknown authority", other.server(t, "127.0.0.1", hour), ServerUnavailable, "unknown authority", ""},
		{"old version", old, ServerUnavailable, "protocol version", ""},
		{"hangs up", &tls.Config{}, ServerUnavailable, "", ""},
		{"refused", ours.server(t, "127.0.0.1", hour), ServerUnavailable, "STARTTLS: 454 4.7.0 not now", "454 4.7.0 not now"},
	} {
		for _, how := range []string{StartTLS, TLS} {
			if how == TLS && test.refused != "" {
				continue
			}
			t.Run(test.name+" "+how, func(t *testing.T) {
				t.Parallel()
				s := (&server{
					tls: test.config, implicit: how == TLS, extensions: []string{"STARTTLS"}, answer: only("STARTTLS", test.refused),
				}).start(t)
				c := s.client(func(o *Options) { o.TLS, o.RootCAs = how, ours.pool })
				send(t, c, aMessage(), test.want, test.says)
				if _, commands, _ := s.seen(); test.want != Sent && strings.Contains(strings.Join(commands, "\n"), "MAIL") {
					t.Errorf("the client continued: %q", commands)
				}
			})
		}
	}
}

// A server, or a machine in between, that does not offer the configured encryption gets no message.
func TestStrippedStartTLS(t *testing.T) {
	for _, extensions := range [][]string{{"SIZE 1000000"}, {"XXXXXXXX"}} {
		s := (&server{extensions: extensions, username: "ada", password: "secret"}).start(t)
		c := s.client(func(o *Options) { o.TLS, o.Username, o.Password = StartTLS, "ada", "secret" })
		send(t, c, aMessage(), ServerUnavailable, "STARTTLS: not offered by the server")
		_, commands, _ := s.seen()
		if all := strings.Join(commands, "\n"); strings.Contains(all, "MAIL") || strings.Contains(all, "AUTH") {
			t.Errorf("the client continued: %q", commands)
		}
	}
}

// Plaintext after the answer to STARTTLS is not part of the encrypted dialogue.
func TestInjectedBeforeTLS(t *testing.T) {
	ours := newAuthority(t)
	s := (&server{
		tls: ours.server(t, "127.0.0.1", time.Now().Add(time.Hour)), extensions: []string{"STARTTLS"},
		answer: only("STARTTLS", "220 go\r\n250-evil.example\r\n250 AUTH PLAIN"),
	}).start(t)
	c := s.client(func(o *Options) { o.TLS, o.RootCAs, o.Username, o.Password = StartTLS, ours.pool, "ada", "secret" })
	send(t, c, aMessage(), ServerUnavailable, "")
	if _, commands, _ := s.seen(); strings.Contains(strings.Join(commands, "\n"), "AUTH") {
		t.Errorf("the client logged in: %q", commands)
	}
}

func TestLogin(t *testing.T) {
	ours := newAuthority(t)
	config := ours.server(t, "127.0.0.1", time.Now().Add(time.Hour))
	for _, offered := range []string{"PLAIN", "LOGIN", "CRAM-MD5", "LOGIN PLAIN CRAM-MD5", "GSSAPI LOGIN"} {
		for _, how := range []string{StartTLS, TLS, NoTLS} {
			t.Run(offered+" "+how, func(t *testing.T) {
				t.Parallel()
				s := (&server{
					tls: config, implicit: how == TLS, extensions: []string{"STARTTLS", "AUTH " + offered}, username: "ada", password: "pa ss: wörd",
				}).start(t)
				with := func(password string) *SMTP {
					return s.client(func(o *Options) { o.TLS, o.RootCAs, o.Username, o.Password = how, ours.pool, "ada", password })
				}
				send(t, with("pa ss: wörd"), aMessage(), Sent, "")
				r := with("wrong word").Send(t.Context(), aMessage(), nil)
				if r.Status != ServerUnavailable || !strings.HasPrefix(r.Text, "login: 535 5.7.8 who are you") {
					t.Errorf("got %v %q", r.Status, r.Text)
				}
				base := base64.StdEncoding
				for _, secret := range []string{"wrong word", base.EncodeToString([]byte("wrong word")), base.EncodeToString([]byte("\x00ada\x00wrong word"))} {
					if strings.Contains(r.Text, secret) {
						t.Errorf("the text contains the password: %q", r.Text)
					}
				}
			})
		}
	}
}

// A server that is lost before the login does not fail a message.
func TestServerIsLostWhileOpening(t *testing.T) {
	ours := newAuthority(t)
	config := ours.server(t, "127.0.0.1", time.Now().Add(time.Hour))
	var all sync.WaitGroup
	defer all.Wait()
	for _, test := range []struct{ stage, how, says string }{
		{"STARTTLS", StartTLS, "STARTTLS: "}, {"AUTH", StartTLS, "login: "}, {"AUTH", TLS, "login: "}, {greeting, TLS, "TLS: "},
	} {
		lost := func(answer string) (*server, *SMTP) {
			s := (&server{
				// With implicit TLS, a server that is lost at the greeting is lost before the handshake.
				tls: config, implicit: test.how == TLS && test.stage != greeting, extensions: []string{"STARTTLS", "AUTH PLAIN"},
				username: "ada", password: "secret", answer: only(test.stage, answer), reached: make(chan string, 100),
			}).start(t)
			return s, s.client(func(o *Options) {
				o.TLS, o.RootCAs, o.Username, o.Password, o.CommandTimeout = test.how, ours.pool, "ada", "secret", 3*time.Second
			})
		}
		_, hungUp := lost(drop)
		send(t, hungUp, aMessage(), ServerUnavailable, test.says)
		_, silent := lost(hang)
		all.Go(func() { send(t, silent, aMessage(), ServerUnavailable, test.says+"timed out") })

		s, canceled := lost(hang)
		if r := s.cancelAt(test.stage, canceled); r.Status != ServerUnavailable || !strings.HasSuffix(r.Text, ": canceled") {
			t.Errorf("%s %s: got %v %q", test.stage, test.how, r.Status, r.Text)
		}
	}
}

func TestNoWayToLogIn(t *testing.T) {
	for _, extension := range []string{"SIZE 1000000", "AUTH GSSAPI"} {
		s := (&server{extensions: []string{extension}}).start(t)
		c := s.client(func(o *Options) { o.Username, o.Password = "ada", "secret" })
		send(t, c, aMessage(), ServerUnavailable, "login: the server supports none of PLAIN, LOGIN and CRAM-MD5")
	}
}

// Invalid options are refused.
func TestOptionsAreRefused(t *testing.T) {
	good := Options{Host: "smtp.acme.example"}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*Options){
		"no host":                   func(o *Options) { o.Host = "" },
		"port":                      func(o *Options) { o.Port = 65536 },
		"tls":                       func(o *Options) { o.TLS = "maybe" },
		"connections":               func(o *Options) { o.Connections = -1 },
		"hello":                     func(o *Options) { o.LocalName = "a\r\nMAIL FROM:<eve@evil.example>" },
		"password in the clear":     func(o *Options) { o.TLS, o.Username = NoTLS, "ada" },
		"not quite this machine":    func(o *Options) { o.TLS, o.Username, o.Host = NoTLS, "ada", "localhost.evil.example" },
		"not this machine's number": func(o *Options) { o.TLS, o.Username, o.Host = NoTLS, "ada", "10.0.0.1" },
	} {
		t.Run(name, func(t *testing.T) {
			o := good
			spoil(&o)
			if err := o.Check(); err == nil {
				t.Error("accepted")
			}
			if r := NewSMTP(o).Send(t.Context(), aMessage(), nil); r.Status != ServerUnavailable {
				t.Errorf("got %v %q", r.Status, r.Text)
			}
		})
	}
	for _, host := range []string{"localhost", "127.0.0.1", "127.1.2.3", "::1", "LocalHost"} {
		if !IsLoopback(host) {
			t.Errorf("IsLoopback(%s) is true", host)
		}
	}
}
