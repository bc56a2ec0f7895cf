package identity

import (
	"maps"
	"net/netip"
	"sync"
	"time"

	"prospector/internal/fault"
)

const (
	freeFailures  = 5 // within failureWindow
	failureWindow = time.Minute
	firstWait     = 5 * time.Second
	longestWait   = time.Minute // so that guessing cannot lock anyone out for longer
	maxTurns      = 300         // of networks under one name, which limits the guesses in a minute
)

// throttle slows down guessing. It counts failed attempts by name: an address or a client.
//
// A network that is refused gets a turn: when the wait that it was told is over, one attempt is admitted, whatever
// others have done in the meantime. So guessing the password of an address without a pause does not keep its
// owner out.
type throttle struct {
	mu    sync.Mutex
	names map[string]*failures
	swept time.Time
}

// failures are the recent failed attempts under one name.
type failures struct {
	at    []time.Time          // within failureWindow
	waits int                  // how often further attempts had to wait
	until time.Time            // of the current wait
	turns map[string]time.Time // by network: from when on one attempt is admitted
}

func newThrottle() *throttle { return &throttle{names: map[string]*failures{}} }

// begin counts an attempt of a client as failed under all names, or refuses it without counting it if there are
// too many under one of them. Attempts are counted before they are made, so that many at once are refused
// too; succeeded and takeBack take the attempt back.
func (t *throttle) begin(now time.Time, client string, names ...string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep(now)
	from, wait := network(client), time.Duration(0)
	for _, name := range names {
		if f := t.names[name]; f != nil {
			wait = max(wait, f.wait(from, now))
		}
	}
	if wait > 0 {
		refusal := fault.New(fault.RateLimited, "too many failed attempts to sign in; try again later")
		refusal.Wait = wait
		return refusal
	}
	for _, name := range names {
		f := t.names[name]
		if f == nil {
			f = &failures{turns: map[string]time.Time{}}
			t.names[name] = f
		}
		f.expire(now)
		delete(f.turns, from)
		f.at = append(f.at, now)
		if len(f.at) >= freeFailures {
			f.until = now.Add(min(firstWait<<min(f.waits, 8), longestWait))
			f.waits++
		}
	}
	return nil
}

// wait returns for how long attempts of a network are refused. If it has no turn yet, it gets one.
func (f *failures) wait(from string, now time.Time) time.Duration {
	if !now.Before(f.until) {
		return 0
	}
	turn, given := f.turns[from]
	if !given {
		turn = f.until
		if f.expire(now); len(f.turns) < maxTurns {
			f.turns[from] = turn
		}
	}
	return turn.Sub(now)
}

// network returns the network of a client that has turns. Whoever has a /64 of IPv6, as which a client counts,
// often has the 65,536 of a /48.
func network(client string) string {
	prefix, err := netip.ParsePrefix(client)
	if err != nil {
		return client
	}
	wider, err := prefix.Addr().Prefix(min(prefix.Bits(), 48))
	if err != nil {
		return client
	}
	return wider.String()
}

// succeeded forgets all failures for an address and takes the attempt back from the other names.
func (t *throttle) succeeded(address string, others ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.names, address)
	t.takeBackLocked(others)
}

// takeBack takes back an attempt of a client that was not made. The client may make it at once.
func (t *throttle) takeBack(now time.Time, client string, names ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.takeBackLocked(names)
	for _, name := range names {
		if f := t.names[name]; f != nil && len(f.turns) < maxTurns {
			f.turns[network(client)] = now
		}
	}
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

// expire removes the failures that no longer count, and turns that were not used within the window. The wait is
// short again once no failure is left.
func (f *failures) expire(now time.Time) {
	for len(f.at) > 0 && now.Sub(f.at[0]) >= failureWindow {
		f.at = f.at[1:]
	}
	if len(f.at) == 0 {
		f.waits = 0
	}
	maps.DeleteFunc(f.turns, func(_ string, from time.Time) bool { return now.Sub(from) >= failureWindow })
}

// sweep removes names without recent failures and turns, at most once per window.
func (t *throttle) sweep(now time.Time) {
	if now.Sub(t.swept) < failureWindow {
		return
	}
	t.swept = now
	for name, f := range t.names {
		if f.expire(now); len(f.at) == 0 && len(f.turns) == 0 {
			delete(t.names, name)
		}
	}
}
