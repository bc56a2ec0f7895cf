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
	// grace is how long work runs before it needs a permit of the scheduler. Most requests take less.
	grace = time.Millisecond
	// slice is how long work has its permit before it pauses for others.
	slice = 5 * time.Millisecond
	// maxKept is how long work that does not pause keeps its permit: it may be blocked elsewhere.
	maxKept = 50 * time.Millisecond
	// maxPause is how long work waits for a permit. Work that holds a lock continues after that, so that works
	// that wait for each other do not block forever.
	maxPause = time.Second
)

// Scheduler lets work take turns at the processors, so that short requests find one free however much other work there
// is. Work needs one of a few permits to continue when it takes longer than a millisecond, or when its organization has
// other such work or more work than there are permits. It has the permit for a moment and then queues up again.
// Organizations take turns. There is a permit for each processor while one organization is alone, and for half of them
// otherwise.
type Scheduler struct {
	processors int

	mu         sync.Mutex
	taken      int // permits
	waiting    Queue[*Work]
	orgs       map[uuid.UUID]*orgWork
	last       uuid.UUID // the organization whose work began last
	lastShared time.Time // when work began last while there was some of another organization, or after that
}

// orgWork counts the work of an organization.
type orgWork struct {
	all  int
	long int // work that needed a permit
}

// aloneAfter is for how long no other organization has begun work when one is alone.
const aloneAfter = 100 * time.Millisecond

// NewScheduler returns a scheduler for the processors of the program.
func NewScheduler() *Scheduler { return newScheduler(processors) }

func newScheduler(processors int) *Scheduler {
	return &Scheduler{processors: processors, orgs: map[uuid.UUID]*orgWork{}}
}

// permits returns how many works may have a permit. The caller holds mu.
func (s *Scheduler) permits() int {
	if time.Since(s.lastShared) < aloneAfter {
		return max(1, s.processors/2)
	}
	return s.processors
}

// Work is work of an organization. Several goroutines may do it.
type Work struct {
	scheduler *Scheduler
	org       uuid.UUID

	mustPause atomic.Bool // it has run for its grace or its slice

	// The fields below are guarded by scheduler.mu.
	timer     *time.Timer // ends the grace, the slice or what follows it
	isLong    bool        // it counts in orgWork.long
	hasPermit bool
	permit    chan struct{} // while it waits for a permit: closed when it has one
	hasEnded  bool
}

type workKey struct{}

// Start begins work. The result passes it to Pause and must be ended.
func (s *Scheduler) Start(ctx context.Context, org uuid.UUID) (context.Context, *Work) {
	w := &Work{scheduler: s, org: org}
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.orgs[org]
	if of == nil {
		of = &orgWork{}
		s.orgs[org] = of
	}
	if s.last != org || len(s.orgs) > 1 {
		s.last, s.lastShared = org, time.Now()
	}
	w.mustPause.Store(of.long > 0 || of.all >= s.permits())
	of.all++
	w.timer = time.AfterFunc(grace, w.expire)
	return context.WithValue(ctx, workKey{}, w), w
}

// End ends work.
func (w *Work) End() {
	s := w.scheduler
	s.mu.Lock()
	defer s.mu.Unlock()
	w.hasEnded = true
	w.timer.Stop()
	w.leave()
	of := s.orgs[w.org]
	if w.isLong {
		of.long--
	}
	if of.all--; of.all == 0 {
		delete(s.orgs, w.org)
	}
}

// Of returns the work of a context, or nil.
func Of(ctx context.Context) *Work {
	w, _ := ctx.Value(workKey{}).(*Work)
	return w
}

// Pause waits for a permit if the work has run for long enough. It is cheap enough to be called for every
// term or record. The work may be nil.
func (w *Work) Pause(ctx context.Context) {
	if w != nil && w.mustPause.Load() {
		w.wait(ctx)
	}
}

// Pause calls Pause of the work of the context, if there is one.
func Pause(ctx context.Context) { Of(ctx).Pause(ctx) }

// Continue calls Pause, and returns the error of a context that has ended.
func Continue(ctx context.Context) error {
	Pause(ctx)
	return ctx.Err()
}

// Queue makes the next Pause wait for a permit at once, for work that is known to be long.
func (w *Work) Queue() {
	if w != nil {
		w.mustPause.Store(true)
	}
}

// Block gives up the permit of work that is about to wait for something other than a processor. Its next Pause waits
// for another one. The work may be nil.
func (w *Work) Block() {
	if w == nil {
		return
	}
	w.scheduler.mu.Lock()
	defer w.scheduler.mu.Unlock()
	if w.hasPermit {
		w.leave()
		w.mustPause.Store(true)
	}
}

func (w *Work) wait(ctx context.Context) {
	s := w.scheduler
	s.mu.Lock()
	if w.hasEnded {
		s.mu.Unlock()
		return
	}
	if !w.isLong {
		w.isLong = true
		s.orgs[w.org].long++
	}
	if w.permit == nil {
		w.leave() // to the one whose turn is next
		if s.taken < s.permits() {
			w.enter()
			s.mu.Unlock()
			return
		}
		w.permit = make(chan struct{})
		s.waiting.Add(w.org, w)
	}
	permit := w.permit
	s.mu.Unlock()
	limit := time.NewTimer(maxPause)
	defer limit.Stop()
	select {
	case <-permit:
		return
	case <-ctx.Done():
	case <-limit.C:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.mustPause.Store(false)
	w.timer.Reset(slice)
}

// enter begins a slice with a permit. The caller holds scheduler.mu.
func (w *Work) enter() {
	w.scheduler.taken++
	w.hasPermit = true
	w.mustPause.Store(false)
	w.timer.Reset(slice)
}

// expire ends the grace, the slice or what follows it.
func (w *Work) expire() {
	w.scheduler.mu.Lock()
	defer w.scheduler.mu.Unlock()
	switch {
	case w.hasEnded:
	case w.hasPermit && w.mustPause.Load():
		w.leave()
	default:
		w.mustPause.Store(true)
		if w.hasPermit {
			w.timer.Reset(maxKept - slice)
		}
	}
}

// leave gives up the permit of the work, if it has one, and gives free permits to those that wait. The caller holds
// scheduler.mu.
func (w *Work) leave() {
	if !w.hasPermit {
		return
	}
	s := w.scheduler
	w.hasPermit = false
	s.taken--
	for s.taken < s.permits() {
		next, ok := s.waiting.Next()
		if !ok {
			return
		}
		close(next.permit)
		next.permit = nil
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
