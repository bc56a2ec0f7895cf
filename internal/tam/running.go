package tam

import (
	"context"
	"sync"

	"github.com/google/uuid"
)

// runningPreparations are the preparations that run now, so that cancelling a Preview stops its work at
// once instead of at its next write.
type runningPreparations struct {
	mu    sync.Mutex
	stops map[uuid.UUID]context.CancelCauseFunc // by Preview
}

// add registers a preparation. The caller must call remove when it ends.
func (r *runningPreparations) add(preview uuid.UUID, stop context.CancelCauseFunc) (remove func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stops[preview] = stop
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.stops, preview)
	}
}

// stop stops the preparation of a Preview, if it runs.
func (r *runningPreparations) stop(preview uuid.UUID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if stop := r.stops[preview]; stop != nil {
		stop(errNotPreparing)
	}
}
