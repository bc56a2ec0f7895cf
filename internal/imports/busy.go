package imports

import (
	"context"
	"sync"

	"github.com/google/uuid"
)

// busyImports are the imports that this process receives or runs now. The job of such an import waits, and
// cancelling it stops the work at once instead of at the next write.
type busyImports struct {
	mu        sync.Mutex
	stops     map[uuid.UUID]context.CancelCauseFunc
	postponed map[uuid.UUID]bool // those that the next process continues
}

func newBusyImports() *busyImports {
	return &busyImports{stops: map[uuid.UUID]context.CancelCauseFunc{}, postponed: map[uuid.UUID]bool{}}
}

// claim registers work on an import, unless there is some already. The caller must release it.
func (b *busyImports) claim(id uuid.UUID, stop context.CancelCauseFunc) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stops[id] != nil {
		return false
	}
	b.stops[id] = stop
	return true
}

// end ends the claim on an import, unless it was postponed.
func (b *busyImports) end(id uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.postponed[id] {
		delete(b.stops, id)
	}
}

// postpone keeps the claim on an import until the process ends.
func (b *busyImports) postpone(id uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.postponed[id] = true
}

func (b *busyImports) isPostponed(id uuid.UUID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.postponed[id]
}

// stop stops the work on an import, if there is some.
func (b *busyImports) stop(id uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if stop := b.stops[id]; stop != nil {
		stop(errEnded)
	}
}
