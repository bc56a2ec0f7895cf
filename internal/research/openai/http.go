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
	// openAIBodyMost is how many bytes of a reply are read, after decompression.
	maxBodyBytes = 1 << 20
	// openAIHeaderMost is how many bytes its headers may have.
	maxHeaderBytes = 64 << 10
	// openAIIdle is how many connections are kept for the next companies: no fewer than anybody asks about at once.
	maxIdleConns = 100
)

// newOpenAIClient makes the client: its connections are its own, and it follows no redirect, which would carry the key elsewhere.
func newClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = maxIdleConns, maxIdleConns
	t.MaxResponseHeaderBytes = maxHeaderBytes
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// openAIReply is what one request came to: a body, or why there is none.
type reply struct {
	body       []byte
	status     int
	retryAfter string
	failure    string
	again      bool // another try may help
}

func (r *reply) ok() bool { return r.failure == "" }

// refusesForm tells whether the server may not know a part of the request. Which one, and whether it is that at all, servers say
// in too many ways: a simpler request shows.
func (r *reply) refusesForm() bool {
	switch r.status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// send asks once. The time-out covers all of it, so that a server cannot hold it up by dripping.
func (a *Provider) send(ctx context.Context, form requestForm, q research.Question, user string) reply {
	ctx, cancel := context.WithTimeout(ctx, a.o.Timeout)
	defer cancel()
	var connected atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
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

// openAICause says why a request failed on the way. Its error is not looked at: it may hold addresses.
func transportFailure(ctx context.Context, connected bool) string {
	switch {
	case !connected:
		return research.ProviderUnreachable
	case ctx.Err() != nil:
		return reasonTimeout
	}
	return reasonConnectionBroken
}

// openAIRetryAfter reads a Retry-After header, seconds or a date, and tells whether there is one.
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
