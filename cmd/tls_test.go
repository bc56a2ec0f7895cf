package cmd_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// pair is a self-signed certificate and its key, in PEM.
type pair struct {
	cert, key string
	pool      *x509.CertPool // trusts the certificate
}

func newPair(t *testing.T, name string, expires time.Time) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: expires, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	made := pair{
		cert: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		key:  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})),
		pool: x509.NewCertPool(),
	}
	made.pool.AppendCertsFromPEM([]byte(made.cert))
	return made
}

// client returns a client that trusts only the certificate. It uses HTTP/2 where that is offered.
func (c pair) client(t *testing.T) *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.pool}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Timeout: waitTimeout, Transport: transport}
}

// secure returns a place whose settings name cert.pem and key.pem, which contain the pair.
func secure(t *testing.T, c pair) *place {
	t.Helper()
	p := newPlace(t, "PROSPECTOR_TLS_CERT_FILE=cert.pem", "PROSPECTOR_TLS_KEY_FILE=key.pem")
	p.write("cert.pem", c.cert)
	p.write("key.pem", c.key)
	return p
}

var tomorrow = time.Now().Add(24 * time.Hour)

func TestHTTPS(t *testing.T) {
	t.Parallel()
	c := newPair(t, "first", tomorrow)
	p := secure(t, c)
	s := p.serve()
	if !strings.HasPrefix(s.url, "https://") {
		t.Fatalf("the log contains %s", s.url)
	}
	_, key := p.org("Acme") // through the admin socket, which does not use TLS
	trusting := c.client(t)
	res, err := trusting.Get(s.url + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK || res.ProtoMajor != 2 || res.TLS.Version != tls.VersionTLS13 {
		t.Errorf("the response uses %s with TLS %x", res.Proto, res.TLS.Version)
	}
	auth := []string{"Authorization", "Bearer " + key, "Content-Type", "application/json"}
	if r, err := send(trusting, "POST", s.url+"/v1/contacts", `{"email": "x@acme.example"}`, auth...); err != nil || r.status != http.StatusCreated {
		t.Errorf("a contact over HTTP/2: %v %d %s", err, r.status, r.body)
	}
	if r, err := send(trusting, "POST", s.url+"/v1/contacts/export", `{"format": "csv"}`, auth...); err != nil || !strings.Contains(string(r.body), "x@acme.example") {
		t.Errorf("an export over HTTP/2: %v %s", err, r.body)
	}

	addr := strings.TrimPrefix(s.url, "https://")
	if r, err := send(client, "GET", "http://"+addr+"/v1/me", "", auth...); err != nil || r.status != http.StatusBadRequest || !strings.Contains(string(r.body), "HTTPS server") {
		t.Errorf("plain HTTP: %v %d %s", err, r.status, r.body)
	}
	if _, err := send(client, "GET", s.url+"/v1/me", "", auth...); err == nil {
		t.Error("a client that does not trust the certificate was shown another one")
	}
	for _, version := range []uint16{tls.VersionTLS11, tls.VersionTLS12} {
		conn, err := tls.DialWithDialer(&net.Dialer{Timeout: waitTimeout}, "tcp", addr, &tls.Config{RootCAs: c.pool, MinVersion: tls.VersionTLS10, MaxVersion: version})
		if (err == nil) != (version == tls.VersionTLS12) {
			t.Errorf("TLS %x: %v", version, err)
		}
		if err == nil {
			conn.Close()
		}
	}
	s.stop() // with the HTTP/2 connection still open
	if log := s.stderr.String(); strings.Contains(log, "level=WARN") || strings.Contains(log, "canceled at shutdown") {
		t.Errorf("an uneventful run warns: %s", log)
	}
}

func TestBadCertificates(t *testing.T) {
	t.Parallel()
	good, other := newPair(t, "first", tomorrow), newPair(t, "second", tomorrow)
	for _, c := range []struct {
		name, cert, key string
		says            []string
	}{
		{"no certificate file", "", good.key, []string{"tls.cert_file", "cert.pem", "no such file"}},
		{"no key file", good.cert, "", []string{"tls.key_file", "key.pem", "no such file"}},
		{"no certificate in it", "nonsense", good.key, []string{"tls.cert_file", "cert.pem", "certificate"}},
		{"no key in it", good.cert, "nonsense", []string{"tls.key_file", "key.pem", "key"}},
		{"the key of another", good.cert, other.key, []string{"tls.cert_file", "tls.key_file", "does not match"}},
		{"one for the other", good.key, good.cert, []string{"tls.cert_file", "tls.key_file"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := secure(t, pair{cert: c.cert, key: c.key}).withoutRaceDetector() // a server that does not start has no concurrency
			for name, content := range map[string]string{"cert.pem": c.cert, "key.pem": c.key} {
				if content == "" {
					if err := os.Remove(p.path(name)); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, command := range []string{"serve", "demo"} {
				p.run(command, "--addr", "127.0.0.1:0", "--data-dir", "data").fails(1, c.says...)
			}
			if _, err := os.Stat(p.path("data")); err == nil {
				t.Error("a store was created")
			}
			p.run("org", "create", "--name", "Acme").ok() // a command needs no certificate
		})
	}
	t.Run("expired", func(t *testing.T) {
		old := newPair(t, "old", time.Now().Add(-time.Hour))
		s := secure(t, old).serve()
		s.await(s.stderr, regexp.MustCompile(`level=WARN.*tls\.cert_file`))
		if _, err := send(old.client(t), "GET", s.url+"/healthz", ""); err == nil || !strings.Contains(err.Error(), "expired") {
			t.Errorf("the certificate was not shown: %v", err)
		}
		s.stop()
	})
}

// TestRenewedCertificate checks that new files are used without a restart, as soon as certificate
// and key match.
func TestRenewedCertificate(t *testing.T) {
	t.Parallel()
	first, second, third := newPair(t, "first", tomorrow), newPair(t, "second", tomorrow), newPair(t, "third", tomorrow)
	p := secure(t, first)
	s := p.serve()
	addr := strings.TrimPrefix(s.url, "https://")
	shown := func() string {
		t.Helper()
		conn, err := tls.DialWithDialer(&net.Dialer{Timeout: waitTimeout}, "tcp", addr, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	// connect connects repeatedly until the test is satisfied. Until then it must be shown the
	// previous certificate.
	connect := func(before string, done func(name string) bool) {
		t.Helper()
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for late := time.After(waitTimeout); ; {
			name := shown()
			if done(name) {
				return
			}
			if name != before {
				t.Fatalf("%s is shown after %s", name, before)
			}
			select {
			case <-tick.C:
			case <-late:
				t.Fatalf("%s is still in use", before)
			}
		}
	}
	if name := shown(); name != "first" {
		t.Fatalf("%s is shown", name)
	}
	p.write("cert.pem", second.cert)
	p.write("key.pem", second.key)
	connect("first", func(name string) bool { return name == "second" })

	p.write("cert.pem", third.cert) // its key follows later
	trouble := regexp.MustCompile(`level=ERROR msg="the certificate cannot be renewed[^\n]*does not match`)
	connect("second", func(string) bool { return trouble.MatchString(s.stderr.String()) })
	p.write("key.pem", third.key)
	connect("second", func(name string) bool { return name == "third" })
	s.stop() // after this the log is complete
	if n := len(trouble.FindAllString(s.stderr.String(), -1)); n != 1 {
		t.Errorf("the failed renewal is logged %d times", n)
	}
	if n := strings.Count(s.stderr.String(), "certificate renewed"); n != 2 {
		t.Errorf("two renewals are logged %d times", n)
	}
}

func TestDemoHTTPS(t *testing.T) {
	t.Parallel()
	c := newPair(t, "demo", tomorrow)
	d := secure(t, c).demo()
	if !strings.HasPrefix(d.url, "https://") || strings.Contains(d.stdout.String(), "http://") {
		t.Errorf("the demo prints %s", d.stdout)
	}
	if r, err := send(c.client(t), "GET", d.url+"/v1/me", "", "Authorization", "Bearer "+d.key); err != nil || r.status != http.StatusOK {
		t.Errorf("%v %d %s", err, r.status, r.body)
	}
	d.stop()
}
