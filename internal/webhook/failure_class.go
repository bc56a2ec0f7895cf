package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"strings"
	"syscall"

	"prospector/internal/egress"
	"prospector/internal/shape"
)

// failureClass says why an attempt failed. The text of each class is fixed, because the text of an
// error may contain an address or something the endpoint sent.
type failureClass string

const (
	// dnsFailure does not tell whether a name has no address or only blocked ones. It would otherwise
	// reveal which names the network of the service knows.
	dnsFailure      failureClass = "dns"
	connectFailure  failureClass = "connect"
	tlsFailure      failureClass = "tls"
	timeoutFailure  failureClass = "timeout"
	redirectFailure failureClass = "redirect"
	statusFailure   failureClass = "http"
	// localFailure is a failure of this machine. It is not recorded as an attempt.
	localFailure failureClass = "local"
)

// text is the error that is stored with the attempt.
func (c failureClass) text(code int) shape.Text {
	words := map[failureClass]string{
		dnsFailure:      "the host has no address that deliveries may use",
		connectFailure:  "the connection was refused or reset",
		tlsFailure:      "the TLS handshake failed",
		timeoutFailure:  "the endpoint did not answer in time",
		redirectFailure: "the endpoint answered with a redirect; redirects are not followed",
	}[c]
	if words == "" {
		status := strconv.Itoa(code)
		return shape.Text("http_" + status + ": the endpoint answered with status " + status)
	}
	return shape.Text(string(c) + ": " + words)
}

// classifyStatus returns the class of an answer; empty for success.
func classifyStatus(code int) failureClass {
	switch {
	case code >= 200 && code < 300:
		return ""
	case code >= 300 && code < 400:
		return redirectFailure
	}
	return statusFailure
}

// classifyError returns the class of an error of the HTTP client.
func classifyError(ctx context.Context, err error) failureClass {
	var lookup *net.DNSError
	var slow net.Error
	switch {
	case errors.Is(err, egress.ErrBlocked):
		return dnsFailure
	case errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOBUFS):
		return localFailure
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return timeoutFailure
	case errors.As(err, &lookup):
		return dnsFailure
	case errors.As(err, &slow) && slow.Timeout():
		return timeoutFailure
	case isTLS(err):
		return tlsFailure
	}
	return connectFailure
}

// isTLS reports whether an error is a failed handshake. Some of these errors have no type of their
// own.
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
