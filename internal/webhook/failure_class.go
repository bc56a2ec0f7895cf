package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"strings"
	"syscall"

	"prospector/internal/shape"
)

// class is why an attempt failed. What is said of it is fixed: an error's own words may have an address in them, or what the
// endpoint said.
type class string

const (
	dnsClass      class = "dns"
	connectClass  class = "connect"
	tlsClass      class = "tls"
	timeoutClass  class = "timeout"
	blockedClass  class = "blocked_address"
	redirectClass class = "redirect"
	statusClass   class = "http"
	// localClass is a failure that is none of the endpoint's, and no attempt.
	localClass class = "local"
)

// text is what a record of an attempt says.
func (c class) text(code int) shape.Text {
	words := map[class]string{
		dnsClass:      "the host name could not be resolved",
		connectClass:  "the connection was refused or broken",
		tlsClass:      "no secure connection could be made",
		timeoutClass:  "the endpoint did not answer in time",
		blockedClass:  "the host is at an address that nothing is sent to",
		redirectClass: "the endpoint answered with a redirect, which is not followed",
	}[c]
	if words == "" {
		status := strconv.Itoa(code)
		return shape.Text("http_" + status + ": the endpoint answered with status " + status)
	}
	return shape.Text(string(c) + ": " + words)
}

// classOfStatus is what an answer means.
func classOfStatus(code int) class {
	switch {
	case code >= 200 && code < 300:
		return ""
	case code >= 300 && code < 400:
		return redirectClass
	}
	return statusClass
}

// classOf is what an error of a request means.
func classOf(ctx context.Context, err error) class {
	var lookup *net.DNSError
	var slow net.Error
	switch {
	case errors.Is(err, errBlocked):
		return blockedClass
	case errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOBUFS):
		return localClass
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return timeoutClass
	case errors.As(err, &lookup):
		return dnsClass
	case errors.As(err, &slow) && slow.Timeout():
		return timeoutClass
	case isTLS(err):
		return tlsClass
	}
	return connectClass
}

// isTLS tells the failures of a handshake. Some of them have no type of their own.
func isTLS(err error) bool {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	if errors.As(err, &certificate) || errors.As(err, &record) || errors.As(err, &alert) {
		return true
	}
	var op *net.OpError
	if errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error") {
		return true
	}
	text := err.Error()
	return strings.Contains(text, "tls: ") || strings.Contains(text, "HTTP response to HTTPS client")
}
