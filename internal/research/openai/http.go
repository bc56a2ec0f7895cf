package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"prospector/internal/research"
)

const (
	// maxBodyBytes is how many bytes of a reply are read, after decompression.
	maxBodyBytes = 1 << 20
	// maxHeaderBytes bounds the headers of a reply.
	maxHeaderBytes = 64 << 10
	// maxIdleConns is how many idle connections are kept. It is at least the highest concurrency of
	// callers.
	maxIdleConns = 100
)

// newClient returns a client with its own connections. It follows no redirects, which would send
// the key to another host.
func newClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = maxIdleConns, maxIdleConns
	t.MaxResponseHeaderBytes = maxHeaderBytes
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// reply is the result of one request: a body, or why there is none.
type reply struct {
	body       []byte
	status     int
	retryAfter string
	failure    string
	again      bool // whether another try may help
}

func (r *reply) ok() bool { return r.failure == "" }

// refusesForm reports whether the server may not support a part of the request. Servers report that
// in too many ways to recognize it, so a simpler request has to show it.
func (r *reply) refusesForm() bool {
	switch r.status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// send makes one request. The time-out covers the whole reply, so that a slow server cannot delay
// it.
func (a *Provider) send(ctx context.Context, form requestForm, q research.Question, user string) reply {
	ctx, cancel := context.WithTimeout(ctx, a.o.Timeout)
	defer cancel()
	var connected atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	body, err := requestBody(a.o.Model, form, q, user)
	if err != nil {
		return reply{failure: reasonInvalid}
	}
	req, err := http.NewRequestWithContext(traced, http.MethodPost, a.url, bytes.NewReader(body))
	if err != nil {
		return reply{failure: research.ProviderUnreachable}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "prospector")
	if a.o.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+a.o.APIKey)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return reply{failure: transportFailure(ctx, connected.Load()), again: true}
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return reply{
			failure: fmt.Sprint("http_", resp.StatusCode), status: resp.StatusCode, retryAfter: resp.Header.Get("Retry-After"),
			again: resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500,
		}
	}
	got, err := io.ReadAll(io.LimitReader(resp.Body, maxBodyBytes+1))
	switch {
	case len(got) > maxBodyBytes:
		return reply{failure: reasonTooLarge}
	case err != nil:
		return reply{failure: transportFailure(ctx, true), again: true}
	}
	return reply{body: got, status: resp.StatusCode}
}

// transportFailure returns why a request failed without an answer. It does not use the error text,
// which may contain addresses.
func transportFailure(ctx context.Context, connected bool) string {
	switch {
	case !connected:
		return research.ProviderUnreachable
	case ctx.Err() != nil:
		return reasonTimeout
	}
	return reasonConnectionBroken
}

// parseRetryAfter parses a Retry-After header in seconds or as a date, and reports whether it is
// valid.
func parseRetryAfter(header string, now time.Time) (time.Duration, bool) {
	header = strings.TrimSpace(header)
	if seconds, err := strconv.ParseUint(header, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, maxWait), true
	} else if errors.Is(err, strconv.ErrRange) {
		return maxWait, true
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, min(at.Sub(now), maxWait)), true
	}
	return 0, false
}
