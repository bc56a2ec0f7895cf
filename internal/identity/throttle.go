package identity

import (
	"sync"
	"time"

	"prospector/internal/fault"
)

const (
	freeFailures  = 5 // within failureWindow
	failureWindow = time.Minute
	firstWait     = 5 * time.Second
	longestWait   = time.Minute // so that guessing cannot lock anyone out for longer
)

// throttle slows down guessing. It counts failed attempts by name: an address or a client.
type throttle struct {
	mu    sync.Mutex
	names map[string]*failures
	swept time.Time
}

// failures are the recent failed attempts under one name.
type failures struct {
	at    []time.Time // within failureWindow
	waits int         // how often further attempts had to wait
	until time.Time   // of the current wait
}

func newThrottle() *throttle { return &throttle{names: map[string]*failures{}} }

// begin counts an attempt as failed under all names, or refuses it without counting it if there are too
// many under one of them. Attempts are counted before they are made, so that many at once are refused
// too; succeeded and takeBack take the attempt back.
func (t *throttle) begin(now time.Time, names ...string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep(now)
	for _, name := range names {
		if f := t.names[name]; f != nil && now.Before(f.until) {
			refusal := fault.New(fault.RateLimited, "too many failed attempts to sign in; try again later")
			refusal.Wait = f.until.Sub(now)
			return refusal
		}
	}
	for _, name := range names {
		f := t.names[name]
		if f == nil {
			f = &failures{}
			t.names[name] = f
		}
		f.expire(now)
		f.at = append(f.at, now)
		if len(f.at) >= freeFailures {
			f.until = now.Add(min(firstWait<<min(f.waits, 8), longestWait))
			f.waits++
		}
	}
	return nil
}

// succeeded forgets all failures for an address and takes the attempt back from the other names.
func (t *throttle) succeeded(address string, others ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.names, address)
	t.takeBackLocked(others)
}

// takeBack takes back an attempt that was not made.
func (t *throttle) takeBack(names ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.takeBackLocked(names)
}

func (t *throttle) takeBackLocked(names []string) {
	for _, name := range names {
		if f := t.names[name]; f != nil && len(f.at) > 0 {
			f.at = f.at[:len(f.at)-1]
			if len(f.at) < freeFailures {
				f.until = time.Time{}
			}
		}
	}
}

// expire removes the failures that no longer count. The wait is short again once none is left.
func (f *failures) expire(now time.Time) {
	for len(f.at) > 0 && now.Sub(f.at[0]) >= failureWindow {
		f.at = f.at[1:]
	}
	if len(f.at) == 0 {
		f.waits = 0
	}
}

// sweep removes names without recent failures, at most once per window.
func (t *throttle) sweep(now time.Time) {
	if now.Sub(t.swept) < failureWindow {
		return
	}
	t.swept = now
	for name, f := range t.names {
		if f.expire(now); len(f.at) == 0 && !now.Before(f.until) {
			delete(t.names, name)
		}
	}
}
