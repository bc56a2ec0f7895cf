package handlers

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
)

const rateWindow = time.Minute

// rateLimiter counts the requests of each organization in fixed windows. A window begins with its first
// request.
type rateLimiter struct {
	mu      sync.Mutex
	windows map[uuid.UUID]*window
	swept   time.Time
}

type window struct {
	began time.Time
	used  int
}

func newRateLimiter() *rateLimiter { return &rateLimiter{windows: map[uuid.UUID]*window{}} }

// allow counts one request and sets the rate limit headers. Above the limit it returns rate_limited and
// does not count the request. A limit of 0 means no limit.
func (r *rateLimiter) allow(org uuid.UUID, limit int, now time.Time, h http.Header) error {
	if limit == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep(now)
	w := r.windows[org]
	if w == nil || now.Sub(w.began) >= rateWindow || now.Before(w.began) {
		w = &window{began: now}
		r.windows[org] = w
	}
	ends := w.began.Add(rateWindow)
	allowed := w.used < limit
	if allowed {
		w.used++
	}
	h.Set("X-RateLimit-Limit", strconv.Itoa(limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(0, limit-w.used)))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(ends.Add(time.Second-1).Unix(), 10))
	if allowed {
		return nil
	}
	wait := seconds(ends.Sub(now))
	h.Set("Retry-After", strconv.Itoa(wait))
	return fault.New(fault.RateLimited, "rate limit of %d requests per minute exceeded; try again in %d seconds", limit, wait)
}

// sweep removes windows that have ended, at most once per window.
func (r *rateLimiter) sweep(now time.Time) {
	if now.Sub(r.swept) < rateWindow {
		return
	}
	r.swept = now
	for org, w := range r.windows {
		if now.Sub(w.began) >= rateWindow {
			delete(r.windows, org)
		}
	}
}
