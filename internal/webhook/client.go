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

	"prospector/store"
)

const (
	// What an endpoint says is read to drainMost, and for drainTime, so that its connection can be used again.
	drainMost = 4 << 10
	drainTime = 100 * time.Millisecond
	// idleTime is how long a connection is kept. Servers commonly keep them for five seconds: a request that crosses their hanging up
	// would be lost.
	idleTime = 4 * time.Second
	// silentTime is how long an HTTP/2 connection may be silent before it is asked whether it lives, and how long it may take to say
	// so: all requests to a host share it, and would all time out with it.
	silentTime  = 2 * time.Second
	headersMost = 64 << 10
	idleMost    = 512
)

// newClient makes the client that deliveries go through. It has no cookies, follows nothing, asks no proxy, and dials no address
// that the guard refuses.
func newClient(g addressPolicy, perHost int, opt Options) *http.Client {
	dialer := &net.Dialer{ControlContext: g.control, Resolver: opt.Resolver}
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			TLSClientConfig:        &tls.Config{RootCAs: opt.RootCAs, MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2:      true,
			HTTP2:                  &http.HTTP2Config{SendPingTimeout: silentTime, PingTimeout: silentTime},
			MaxIdleConns:           idleMost,
			MaxIdleConnsPerHost:    perHost,
			IdleConnTimeout:        idleTime,
			DisableCompression:     true,
			MaxResponseHeaderBytes: headersMost,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// keepingNone is a client like another that makes a connection for every request.
func keepingNone(c *http.Client) *http.Client {
	transport := c.Transport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	return &http.Client{Transport: transport, CheckRedirect: c.CheckRedirect}
}

// noData stands where the data of an event, its last member, goes.
var noData = []byte("null")

// endpoint is where a subscription's deliveries go, and how they are signed.
type endpoint struct {
	url     string
	secrets secrets
}

// send makes one attempt to deliver.
func (s *Sender) send(ctx context.Context, org uuid.UUID, to endpoint, doc store.Doc[delivery]) (o outcome) {
	o.delivery, o.url = doc, to.url
	o.delivery.Record.Data = nil // which may wait for a while to be written down, and is not
	ctx, cancel := context.WithTimeout(ctx, s.hooks.Timeout)
	defer cancel()
	req, err := s.request(ctx, org, to, &doc.Record)
	if err != nil {
		o.class = connectClass
		return o
	}
	watch := s.hooks.store.Stopwatch()
	res, err := s.do(req)
	o.took = watch()
	if err != nil {
		o.class = classOf(ctx, err)
		return o
	}
	o.code, o.class = res.StatusCode, classOfStatus(res.StatusCode)
	if !o.succeeded() {
		o.retryAfter = retryAfter(res.Header.Get("Retry-After"), s.hooks.store.Now())
	}
	if res.StatusCode == http.StatusSwitchingProtocols {
		_ = res.Body.Close() // it is the connection itself, which no deadline ends
		return o
	}
	discard(res.Body, cancel)
	return o
}

// do makes a request. One that went over a kept connection which the endpoint had hung up goes once more, over a connection of its
// own: net/http does so by itself only when it had written nothing. The envelope has its id, should the endpoint have read it.
func (s *Sender) do(req *http.Request) (*http.Response, error) {
	var kept, answered atomic.Bool
	trace := &httptrace.ClientTrace{
		GotConn:              func(info httptrace.GotConnInfo) { kept.Store(info.Reused) },
		GotFirstResponseByte: func() { answered.Store(true) },
	}
	res, err := s.client.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err == nil || !kept.Load() || answered.Load() || req.Context().Err() != nil {
		return res, err
	}
	if req.Body, err = req.GetBody(); err != nil {
		return nil, err
	}
	return s.fresh.Do(req)
}

func (s *Sender) request(ctx context.Context, org uuid.UUID, to endpoint, d *delivery) (*http.Request, error) {
	head, err := json.Marshal(envelope(d.Event, d.Trigger, org, noData))
	if err != nil {
		return nil, err
	}
	body := slices.Concat(head[:len(head)-len(noData)-1], d.Data, []byte("}")) // it is JSON: it need not be read again
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	now := s.hooks.store.Now()
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": s.hooks.Agent,
		"Webhook-Id": d.Event.String(), "Webhook-Timestamp": strconv.FormatInt(now.Unix(), 10),
		"Webhook-Signature": to.secrets.valid(now).sign(d.Event.String(), now, body),
	} {
		req.Header[name] = []string{value}
	}
	return req, nil
}

// discard reads what an endpoint says as far as it costs nothing, and throws it away.
func discard(body io.ReadCloser, cancel func()) {
	late := time.AfterFunc(drainTime, cancel)
	_, _ = io.CopyN(io.Discard, body, drainMost)
	late.Stop()
	_ = body.Close()
}

// retryAfter reads the header that says, in seconds or as a date, when an endpoint wants to be asked again; zero when it says
// nothing that can be read.
func retryAfter(header string, now time.Time) time.Time {
	most := now.Add(retryAfterMost)
	seconds, err := strconv.ParseUint(strings.TrimSpace(header), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && seconds > uint64(retryAfterMost/time.Second):
		return most
	case err == nil:
		return now.Add(time.Duration(seconds) * time.Second)
	}
	at, err := http.ParseTime(header)
	switch {
	case err != nil:
		return time.Time{}
	case at.After(most):
		return most
	}
	return at
}
