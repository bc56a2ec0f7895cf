package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"prospector/internal/egress"
	"prospector/internal/egress/dnstest"
)

func TestRetryAfterHeader(t *testing.T) {
	in := func(d time.Duration) string { return monday.Add(d).Format(http.TimeFormat) }
	day := monday.Add(24 * time.Hour)
	for header, want := range map[string]time.Time{
		"": {}, " ": {}, "soon": {}, "-1": {}, "+1": {}, "1.5": {}, "0x10": {}, "1_000": {}, "1,2": {}, "Inf": {}, "1 0": {},
		"0": monday, "00": monday, "60": monday.Add(time.Minute), " 60\t": monday.Add(time.Minute), "060": monday.Add(time.Minute),
		"86399": day.Add(-time.Second), "86400": day, "86401": day, "4294967295": day, "4294967296": day,
		"9223372036854775807": day, "18446744073709551616": day, strings.Repeat("9", 400): day,
		in(time.Minute): monday.Add(time.Minute), in(0): monday, in(-time.Hour): monday.Add(-time.Hour), in(24 * time.Hour): day, in(25 * time.Hour): day,
		monday.Add(time.Hour).Format("Monday, 02-Jan-06 15:04:05 MST"): monday.Add(time.Hour), monday.Add(time.Hour).Format(time.ANSIC): monday.Add(time.Hour),
		monday.Add(time.Hour).Format(time.RFC3339): {}, "Fri, 31 Dec 9999 23:59:59 GMT": day, "Thu, 01 Jan 1970 00:00:00 GMT": time.Unix(0, 0),
	} {
		if got := retryAfter(header, monday); !got.Equal(want) {
			t.Errorf("%.60q is %v, want %v", header, got, want)
		}
	}
}

// The next attempt is within a tenth of its delay, spread over that interval.
func TestNextAttemptAt(t *testing.T) {
	w := &Webhooks{Options: Options{RetrySchedule: []time.Duration{5 * time.Second, 14 * time.Hour, 0}}}
	for tries, delay := range w.RetrySchedule {
		earliest, latest := 2*delay, time.Duration(0)
		for range 2000 {
			after := w.nextAttemptAt(monday, tries, monday.Add(-time.Hour)).Sub(monday)
			earliest, latest = min(earliest, after), max(latest, after)
		}
		if earliest < delay/10*9 || latest > delay/10*11 || delay > 0 && (earliest > delay/100*91 || latest < delay/100*109) {
			t.Errorf("delay %v became %v to %v", delay, earliest, latest)
		}
		if at := w.nextAttemptAt(monday, tries, monday.Add(20*time.Hour)); !at.Equal(monday.Add(20 * time.Hour)) {
			t.Errorf("delay %v: Retry-After ignored, the next attempt is at %v", delay, at)
		}
	}
}

func TestFailureClasses(t *testing.T) {
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	over, stop := context.WithCancel(t.Context())
	stop()
	on := t.Context()
	op := func(name string, err error) error { return &net.OpError{Op: name, Net: "tcp", Err: err} }
	call := func(no syscall.Errno) error { return op("dial", os.NewSyscallError("connect", no)) }
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want failureClass
	}{
		{on, egress.ErrBlocked, dnsFailure}, {on, op("dial", egress.ErrBlocked), dnsFailure}, {late, op("dial", egress.ErrBlocked), dnsFailure},
		{on, call(syscall.ECONNREFUSED), connectFailure}, {on, call(syscall.ECONNRESET), connectFailure}, {on, call(syscall.EHOSTUNREACH), connectFailure},
		{on, call(syscall.ENETUNREACH), connectFailure}, {on, call(syscall.EPIPE), connectFailure}, {on, call(syscall.ETIMEDOUT), timeoutFailure},
		{on, io.EOF, connectFailure}, {on, io.ErrUnexpectedEOF, connectFailure}, {on, errors.New("malformed HTTP response"), connectFailure},
		{on, call(syscall.EMFILE), localFailure}, {on, call(syscall.ENFILE), localFailure}, {on, call(syscall.ENOBUFS), localFailure},
		{on, &net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}, dnsFailure},
		{on, op("dial", &net.DNSError{Err: "server misbehaving", Name: "x", IsTemporary: true}), dnsFailure},
		{on, op("dial", &net.DNSError{Err: "i/o timeout", Name: "x", IsTimeout: true}), dnsFailure},
		{late, context.DeadlineExceeded, timeoutFailure}, {late, io.EOF, timeoutFailure}, {on, os.ErrDeadlineExceeded, timeoutFailure},
		{over, context.Canceled, connectFailure},
		{on, &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, tlsFailure},
		{on, tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, tlsFailure},
		{on, tls.AlertError(40), tlsFailure}, {on, op("remote error", tls.AlertError(40)), tlsFailure}, {on, errors.New("tls: no cipher suite"), tlsFailure},
		{on, errors.New("http: server gave HTTP response to HTTPS client"), tlsFailure},
	} {
		for _, err := range []error{c.err, &url.Error{Op: "Post", URL: "https://x.example/in", Err: c.err}, fmt.Errorf("somewhere: %w", c.err)} {
			if got := classifyError(c.ctx, err); got != c.want {
				t.Errorf("%v is %s, want %s", err, got, c.want)
			}
		}
	}
	for code := 100; code < 1000; code++ {
		want := statusFailure
		switch {
		case code/100 == 2:
			want = ""
		case code/100 == 3:
			want = redirectFailure
		case code == 410:
			want = statusFailure
		}
		if got := classifyStatus(code); got != want {
			t.Errorf("%d is %q, want %q", code, got, want)
		}
	}
}

// The client uses no proxy and no cookies, adds no headers and follows no redirects.
func TestClientIsBare(t *testing.T) {
	c := newClient(egress.Policy{AllowPrivate: true}, 4, Options{})
	transport := c.Transport.(*http.Transport)
	if c.Jar != nil || transport.Proxy != nil || !transport.DisableCompression || transport.TLSClientConfig.InsecureSkipVerify {
		t.Errorf("client is %+v with %+v", c, transport)
	}
	if c.Timeout != 0 { // it would also apply to draining the body
		t.Errorf("client has a time-out of its own: %v", c.Timeout)
	}
}

// A name that does not resolve, and certificates for another name or from an untrusted authority,
// have their own classes.
func TestClientFailures(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	here := func(kind dnsmessage.Type, _ int) []string {
		if kind == dnsmessage.TypeA {
			return []string{"127.0.0.1"}
		}
		return nil
	}
	for _, c := range []struct {
		host   string
		answer dnstest.Answers
		roots  *x509.CertPool
		want   failureClass
	}{
		{"nowhere.example", func(dnsmessage.Type, int) []string { return nil }, trusted, dnsFailure},
		{"example.com", here, trusted, ""}, // the name in the certificate
		{"another.example", here, trusted, tlsFailure},
		{"example.com", here, x509.NewCertPool(), tlsFailure},
	} {
		client := newClient(egress.Policy{AllowPrivate: true}, 1, Options{Resolver: dnstest.Resolver(t, c.answer), RootCAs: c.roots})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+c.host+":"+port, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got failureClass
		if res, err := client.Do(req); err != nil {
			got = classifyError(t.Context(), err)
		} else {
			res.Body.Close()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.host, got, c.want)
		}
		client.CloseIdleConnections()
	}
}
