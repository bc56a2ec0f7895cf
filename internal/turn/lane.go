package turn

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

const (
	// grace is how long work runs before it needs a place of the lane. Most requests take less.
	grace = time.Millisecond
	// slice is how long work has its place.
	slice = 5 * time.Millisecond
	// maxPause is how long work waits for a place. Work that holds a lock continues after that, so that works
	// that wait for each other do not block forever.
	maxPause = time.Second
)

// Lane lets long work take turns at the processors, so that short requests find one free however much other work
// there is. Work that takes longer than a millisecond needs one of a few places to continue. It has the place
// for a moment and then queues up again. Organizations take turns.
type Lane struct {
	mu      sync.Mutex
	free    int
	waiting Queue[*Work]
}

// NewLane returns a lane with places for half of the processors.
func NewLane() *Lane { return &Lane{free: max(1, runtime.GOMAXPROCS(0)/2)} }

// Work is work of an organization. Several goroutines may do it.
type Work struct {
	lane *Lane
	org  uuid.UUID

	mustPause atomic.Bool // it has run for its grace or its slice

	// The fields below are guarded by lane.mu.
	timer    *time.Timer // ends the slice
	hasPlace bool
	place    chan struct{} // while it waits for a place: closed when it has one
	hasEnded bool
}

type workKey struct{}

// Start begins work. The result passes it to Pause and must be ended.
func (l *Lane) Start(ctx context.Context, org uuid.UUID) (context.Context, *Work) {
	w := &Work{lane: l, org: org}
	l.mu.Lock()
	defer l.mu.Unlock()
	w.timer = time.AfterFunc(grace, w.expire)
	return context.WithValue(ctx, workKey{}, w), w
}

// End ends work.
func (w *Work) End() {
	w.lane.mu.Lock()
	defer w.lane.mu.Unlock()
	w.hasEnded = true
	w.timer.Stop()
	w.leave()
}

// Of returns the work of a context, or nil.
func Of(ctx context.Context) *Work {
	w, _ := ctx.Value(workKey{}).(*Work)
	return w
}

// Pause waits for a place if the work has run for long enough. It is cheap enough to be called for every
// term or record. The work may be nil.
func (w *Work) Pause(ctx context.Context) {
	if w != nil && w.mustPause.Load() {
		w.wait(ctx)
	}
}

// Pause calls Pause of the work of the context, if there is one.
func Pause(ctx context.Context) { Of(ctx).Pause(ctx) }

// Queue makes the next Pause wait for a place at once, for work that is known to be long.
func (w *Work) Queue() {
	if w != nil {
		w.mustPause.Store(true)
	}
}

func (w *Work) wait(ctx context.Context) {
	l := w.lane
	l.mu.Lock()
	switch {
	case w.hasEnded || w.hasPlace:
		w.mustPause.Store(false)
		l.mu.Unlock()
		return
	case w.place == nil && l.free > 0:
		l.free--
		w.enter()
		l.mu.Unlock()
		return
	case w.place == nil:
		w.place = make(chan struct{})
		l.waiting.Add(w.org, w)
	}
	place := w.place
	l.mu.Unlock()
	limit := time.NewTimer(maxPause)
	defer limit.Stop()
	select {
	case <-place:
		return
	case <-ctx.Done():
	case <-limit.C:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	w.mustPause.Store(false)
	w.timer.Reset(slice)
}

// enter begins a slice with a place. The caller holds lane.mu.
func (w *Work) enter() {
	w.hasPlace = true
	w.mustPause.Store(false)
	w.timer.Reset(slice)
}

// expire ends a slice. Work that is blocked elsewhere thereby gives up its place too.
func (w *Work) expire() {
	w.lane.mu.Lock()
	defer w.lane.mu.Unlock()
	w.leave()
	w.mustPause.Store(true)
}

// leave gives the place of the work to the next one. The caller holds lane.mu.
func (w *Work) leave() {
	if !w.hasPlace {
		return
	}
	w.hasPlace = false
	for {
		next, ok := w.lane.waiting.Next()
		if !ok {
			w.lane.free++
			return
		}
		place := next.place
		next.place = nil
		close(place)
		if !next.hasEnded {
			next.enter()
			return
		}
	}
}
