package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/egress"
	"prospector/store"
)

const (
	// A response body is read up to maxDrainBytes and for maxDrainTime, so that its connection can be
	// reused.
	maxDrainBytes = 4 << 10
	maxDrainTime  = 100 * time.Millisecond
	// idleConnTimeout is how long an idle connection is kept. Servers commonly close theirs after
	// five seconds, and a request that crosses the close would be lost.
	idleConnTimeout = 4 * time.Second
	// pingTimeout is how long an HTTP/2 connection may be silent before it is pinged, and how long
	// the answer may take. All requests to a host share the connection and would time out with it.
	pingTimeout    = 2 * time.Second
	maxHeaderBytes = 64 << 10
	maxIdleConns   = 512
)

// newClient returns the client for deliveries. It keeps no cookies, follows no redirects, uses no
// proxy, and dials only addresses that the policy allows.
func newClient(g egress.Policy, perHost int, opt Options) *http.Client {
	dialer := &net.Dialer{ControlContext: g.Control, Resolver: opt.Resolver}
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			TLSClientConfig:        &tls.Config{RootCAs: opt.RootCAs, MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2:      true,
			HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingTimeout, PingTimeout: pingTimeout},
			MaxIdleConns:           maxIdleConns,
			MaxIdleConnsPerHost:    perHost,
			IdleConnTimeout:        idleConnTimeout,
			DisableCompression:     true,
			MaxResponseHeaderBytes: maxHeaderBytes,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// withoutKeepAlives returns a copy of a client that opens a connection for every request.
func withoutKeepAlives(c *http.Client) *http.Client {
	transport := c.Transport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	return &http.Client{Transport: transport, CheckRedirect: c.CheckRedirect}
}

// dataPlaceholder is replaced by the data of the event, which is the last member of the envelope.
var dataPlaceholder = []byte("null")

// endpoint is the URL of a subscription and the secrets that sign its deliveries.
type endpoint struct {
	url     string
	secrets secrets
}

// send makes one attempt to deliver.
func (s *Sender) send(ctx context.Context, org uuid.UUID, to endpoint, doc store.Doc[delivery]) (o outcome) {
	o.delivery, o.url = doc, to.url
	o.delivery.Record.data = nil // not needed to record the outcome, which may take a while
	ctx, cancel := context.WithTimeout(ctx, s.webhooks.Timeout)
	defer cancel()
	req, err := s.request(ctx, org, to, &doc.Record)
	if err != nil {
		o.class = connectFailure
		return o
	}
	watch := s.webhooks.store.Stopwatch()
	res, err := s.do(req)
	o.duration = watch()
	if err != nil {
		o.class = classifyError(ctx, err)
		return o
	}
	o.code, o.class = res.StatusCode, classifyStatus(res.StatusCode)
	if !o.succeeded() {
		o.retryAfter = retryAfter(res.Header.Get("Retry-After"), s.webhooks.store.Now())
	}
	if res.StatusCode == http.StatusSwitchingProtocols {
		_ = res.Body.Close() // the body is the connection itself, and no deadline applies to it
		return o
	}
	discard(res.Body, cancel)
	return o
}

// do sends a request. If a kept-alive connection turns out to be closed by the endpoint, it sends
// the request once more over a new connection. net/http does this only if it has written nothing.
// Should the endpoint have read the first request, it recognizes the envelope by its id.
func (s *Sender) do(req *http.Request) (*http.Response, error) {
	var kept, answered atomic.Bool
	trace := &httptrace.ClientTrace{
		GotConn:              func(info httptrace.GotConnInfo) { kept.Store(info.Reused) },
		GotFirstResponseByte: func() { answered.Store(true) },
	}
	res, err := s.client.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	isClosed := kept.Load() && !answered.Load() || answered.Load() && cannotWrite(err)
	if err == nil || !isClosed || req.Context().Err() != nil {
		return res, err
	}
	if req.Body, err = req.GetBody(); err != nil {
		return nil, err
	}
	return s.fresh.Do(req)
}

// cannotWrite reports whether an error is about writing to a connection. After an answer it is of the next request:
// net/http lets that one use the connection shortly before it returns the answer, which is lost if the connection then
// turns out to be closed.
func cannotWrite(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && (failed.Op == "write" || failed.Op == "readfrom")
}

func (s *Sender) request(ctx context.Context, org uuid.UUID, to endpoint, d *delivery) (*http.Request, error) {
	head, err := json.Marshal(envelope(d.Event, d.Trigger, org, d.eventDetail, dataPlaceholder))
	if err != nil {
		return nil, err
	}
	body := slices.Concat(head[:len(head)-len(dataPlaceholder)-1], d.data, []byte("}")) // the data is valid JSON already
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	now := s.webhooks.store.Now()
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": s.webhooks.Agent,
		"Webhook-Id": d.Event.String(), "Webhook-Timestamp": strconv.FormatInt(now.Unix(), 10),
		"Webhook-Signature": to.secrets.valid(now).sign(d.Event.String(), now, body),
	} {
		req.Header[name] = []string{value}
	}
	return req, nil
}

// discard drains a response body within limits, so that the connection can be reused.
func discard(body io.ReadCloser, cancel func()) {
	late := time.AfterFunc(maxDrainTime, cancel)
	_, _ = io.CopyN(io.Discard, body, maxDrainBytes)
	late.Stop()
	_ = body.Close()
}

// retryAfter parses a Retry-After header in seconds or as a date. The result is zero if the header
// is missing or invalid, and at most maxRetryAfter from now.
func retryAfter(header string, now time.Time) time.Time {
	latest := now.Add(maxRetryAfter)
	seconds, err := strconv.ParseUint(strings.TrimSpace(header), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && seconds > uint64(maxRetryAfter/time.Second):
		return latest
	case err == nil:
		return now.Add(time.Duration(seconds) * time.Second)
	}
	at, err := http.ParseTime(header)
	switch {
	case err != nil:
		return time.Time{}
	case at.After(latest):
		return latest
	}
	return at
}
