package handlers

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
)

// turnWait is how long a request waits until fewer requests of its organization are in progress.
const turnWait = time.Second

// concurrencyLimiter limits how many requests of each organization are in progress. A request is in progress
// from its admission to the end of its response, also while it waits for the rest of its body or for a client
// that reads slowly. Further requests wait in the order of arrival.
type concurrencyLimiter struct {
	limit int    // 0 means no limit
	what  string // is limited, for the message

	mu   sync.Mutex
	orgs map[uuid.UUID]*orgRequests // that have requests in progress
}

type orgRequests struct {
	inProgress int
	waiting    []chan struct{} // each is closed when its request is admitted
}

func newConcurrencyLimiter(limit int, what string) *concurrencyLimiter {
	return &concurrencyLimiter{limit: limit, what: what, orgs: map[uuid.UUID]*orgRequests{}}
}

// enter admits a request, which must call leave when it ends. It returns rate_limited if the request would have
// to wait for longer than turnWait, and the cause if ctx ends first.
func (l *concurrencyLimiter) enter(ctx context.Context, org uuid.UUID) error {
	l.mu.Lock()
	of := l.orgs[org]
	if of == nil {
		of = &orgRequests{}
		l.orgs[org] = of
	}
	if l.limit == 0 || of.inProgress < l.limit {
		of.inProgress++
		l.mu.Unlock()
		return nil
	}
	admitted := make(chan struct{})
	of.waiting = append(of.waiting, admitted)
	l.mu.Unlock()

	turn, cancel := context.WithTimeout(ctx, turnWait)
	defer cancel()
	select {
	case <-admitted:
		return nil
	case <-turn.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.Index(of.waiting, admitted)
	if at < 0 {
		return nil // it was admitted in this moment
	}
	of.waiting = slices.Delete(of.waiting, at, at+1)
	if err := context.Cause(ctx); err != nil {
		return err // the client has disconnected
	}
	refusal := fault.New(fault.RateLimited, "%d %s of the organization are in progress; try again when some have ended", l.limit, l.what)
	refusal.Wait = turnWait
	return refusal
}

// leave ends a request and admits the one that has waited for the longest time.
func (l *concurrencyLimiter) leave(org uuid.UUID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.orgs[org]
	if len(of.waiting) > 0 {
		close(of.waiting[0])
		of.waiting = of.waiting[1:]
		return
	}
	if of.inProgress--; of.inProgress == 0 {
		delete(l.orgs, org)
	}
}
