package handlers

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
)

const (
	// smallBody is the size from which a body counts against the budget.
	smallBody = 64 << 10
	// parsedValueBytes is about what a parsed JSON value takes, without its text.
	parsedValueBytes = 128
	// parseWait is how long a body waits for its part of the budget.
	parseWait = 5 * time.Second
)

// parseBudget limits the memory of the bodies that are being read, parsed and used, over all requests.
// One organization can use a quarter of it. What does not fit waits in the order of arrival.
type parseBudget struct {
	total int64 // 0 means no limit

	mu    sync.Mutex
	used  int64
	byOrg map[uuid.UUID]int64
	queue []*bodyMemory
}

// bodyMemory is what one request has, or waits for, of the budget.
type bodyMemory struct {
	org     uuid.UUID
	bytes   int64         // granted
	wanted  int64         // while it is in the queue
	granted chan struct{} // closed when it leaves the queue
}

func newParseBudget(total int64) *parseBudget {
	return &parseBudget{total: total, byOrg: map[uuid.UUID]int64{}}
}

// perOrganization is the part of the budget that one organization can use.
func (b *parseBudget) perOrganization() int64 { return max(1, b.total/4) }

// resize changes what m has to n bytes, and waits until they fit. A body larger than the share of an
// organization fits if it is the only one. If resize returns an error, m has nothing.
//
// While m waits, it gives up what it has, so that two bodies never wait for each other. It waits before
// bodies that have nothing yet. Therefore the bodies in memory never exceed twice the budget.
func (b *parseBudget) resize(ctx context.Context, m *bodyMemory, n int64) error {
	if b.total == 0 {
		return nil
	}
	b.mu.Lock()
	at := len(b.queue)
	if m.bytes > 0 {
		at = 0
	}
	b.free(m)
	m.wanted, m.granted = min(n, b.perOrganization()), make(chan struct{})
	b.queue = slices.Insert(b.queue, at, m)
	b.grant()
	b.mu.Unlock()

	waiting, cancel := context.WithTimeout(ctx, parseWait)
	defer cancel()
	select {
	case <-m.granted:
		return nil
	case <-waiting.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.queue, m); i >= 0 {
		b.queue = slices.Delete(b.queue, i, i+1)
	}
	b.free(m)
	b.grant()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return fault.New(fault.Unavailable, "too many large request bodies are being processed; try again in %d seconds", seconds(parseWait))
}

// giveBack gives back what m has.
func (b *parseBudget) giveBack(m *bodyMemory) {
	if m.bytes == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free(m)
	b.grant()
}

func (b *parseBudget) free(m *bodyMemory) {
	b.used -= m.bytes
	if b.byOrg[m.org] -= m.bytes; b.byOrg[m.org] == 0 {
		delete(b.byOrg, m.org)
	}
	m.bytes = 0
}

// grant serves the queue. A body that exceeds the share of its organization holds up only that
// organization.
func (b *parseBudget) grant() {
	blocked := map[uuid.UUID]bool{}
	b.queue = slices.DeleteFunc(b.queue, func(m *bodyMemory) bool {
		switch {
		case len(blocked) > 0 && (blocked[m.org] || blocked[uuid.Nil]):
			return false
		case b.used+m.wanted > b.total:
			blocked[uuid.Nil] = true // nothing overtakes a large body, which would otherwise never be served
			return false
		case b.byOrg[m.org]+m.wanted > b.perOrganization():
			blocked[m.org] = true
			return false
		}
		m.bytes = m.wanted
		b.used += m.bytes
		b.byOrg[m.org] += m.bytes
		close(m.granted)
		return true
	})
}
