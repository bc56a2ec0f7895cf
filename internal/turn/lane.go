package turn

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

const (
	// grace is how long work runs before it needs a place of the lane. Most requests take less.
	grace = time.Millisecond
	// slice is how long work has its place before it pauses for others.
	slice = 5 * time.Millisecond
	// maxHold is how long work that does not pause keeps its place: it may be blocked elsewhere.
	maxHold = 50 * time.Millisecond
	// maxPause is how long work waits for a place. Work that holds a lock continues after that, so that works
	// that wait for each other do not block forever.
	maxPause = time.Second
)

// Lane lets work take turns at the processors, so that short requests find one free however much other work there
// is. Work needs one of a few places to continue when it takes longer than a millisecond, or when its organization has
// other such work or more work than there are places. It has the place for a moment and then queues up again.
// Organizations take turns. There is a place for each processor while one organization is alone, and for half of them
// otherwise.
type Lane struct {
	processors int

	mu      sync.Mutex
	taken   int // places
	waiting Queue[*Work]
	orgs    map[uuid.UUID]*orgWork
	last    uuid.UUID // the organization whose work began last
	shared  time.Time // when work began last while there was some of another organization, or after that
}

// orgWork counts the work of an organization.
type orgWork struct {
	all  int
	long int // work that needed a place
}

// aloneAfter is for how long no other organization has begun work when one is alone.
const aloneAfter = 100 * time.Millisecond

// NewLane returns a lane for the processors of the program.
func NewLane() *Lane { return newLane(processors) }

func newLane(processors int) *Lane {
	return &Lane{processors: processors, orgs: map[uuid.UUID]*orgWork{}}
}

// places returns how many works may have a place. The caller holds mu.
func (l *Lane) places() int {
	if time.Since(l.shared) < aloneAfter {
		return max(1, l.processors/2)
	}
	return l.processors
}

// Work is work of an organization. Several goroutines may do it.
type Work struct {
	lane *Lane
	org  uuid.UUID

	mustPause atomic.Bool // it has run for its grace or its slice

	// The fields below are guarded by lane.mu.
	timer    *time.Timer // ends the grace, the slice or the hold
	isLong   bool        // it counts in orgWork.long
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
	of := l.orgs[org]
	if of == nil {
		of = &orgWork{}
		l.orgs[org] = of
	}
	if l.last != org || len(l.orgs) > 1 {
		l.last, l.shared = org, time.Now()
	}
	w.mustPause.Store(of.long > 0 || of.all >= l.places())
	of.all++
	w.timer = time.AfterFunc(grace, w.expire)
	return context.WithValue(ctx, workKey{}, w), w
}

// End ends work.
func (w *Work) End() {
	l := w.lane
	l.mu.Lock()
	defer l.mu.Unlock()
	w.hasEnded = true
	w.timer.Stop()
	w.leave()
	of := l.orgs[w.org]
	if w.isLong {
		of.long--
	}
	if of.all--; of.all == 0 {
		delete(l.orgs, w.org)
	}
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

// Block gives up the place of work that is about to wait for something other than a processor. Its next Pause waits
// for another one. The work may be nil.
func (w *Work) Block() {
	if w == nil {
		return
	}
	w.lane.mu.Lock()
	defer w.lane.mu.Unlock()
	if w.hasPlace {
		w.leave()
		w.mustPause.Store(true)
	}
}

func (w *Work) wait(ctx context.Context) {
	l := w.lane
	l.mu.Lock()
	if w.hasEnded {
		l.mu.Unlock()
		return
	}
	if !w.isLong {
		w.isLong = true
		l.orgs[w.org].long++
	}
	if w.place == nil {
		w.leave() // to the one whose turn is next
		if l.taken < l.places() {
			w.enter()
			l.mu.Unlock()
			return
		}
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
	w.lane.taken++
	w.hasPlace = true
	w.mustPause.Store(false)
	w.timer.Reset(slice)
}

// expire ends the grace, the slice or the hold.
func (w *Work) expire() {
	w.lane.mu.Lock()
	defer w.lane.mu.Unlock()
	switch {
	case w.hasEnded:
	case w.hasPlace && w.mustPause.Load():
		w.leave()
	default:
		w.mustPause.Store(true)
		if w.hasPlace {
			w.timer.Reset(maxHold - slice)
		}
	}
}

// leave gives up the place of the work, if it has one, and gives free places to those that wait. The caller holds
// lane.mu.
func (w *Work) leave() {
	if !w.hasPlace {
		return
	}
	l := w.lane
	w.hasPlace = false
	l.taken--
	for l.taken < l.places() {
		next, ok := l.waiting.Next()
		if !ok {
			return
		}
		close(next.place)
		next.place = nil
		if !next.hasEnded {
			next.enter()
		}
	}
}

// Reader returns a reader of r that pauses the work of the context before it reads, and fails when the context has
// ended.
func Reader(ctx context.Context, r io.Reader) io.Reader { return &reader{ctx, Of(ctx), r} }

type reader struct {
	ctx  context.Context
	work *Work
	r    io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	r.work.Pause(r.ctx)
	select {
	case <-r.ctx.Done():
		return 0, context.Cause(r.ctx)
	default:
		return r.r.Read(p)
	}
}
