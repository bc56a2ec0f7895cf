// Package worker is the loop that every background job runs in: it finds the jobs that are due, runs some at a time, puts
// off those that failed, and stops when it is told to, with nothing half done. What a job does is its handler's; the job
// stays in the store until a transaction of the handler's ends it.
package worker

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/store"
)

// Handler does a job, and ends or reschedules it in a transaction of its own. When it fails, or is cut short by the end
// of ctx, the job is done again.
type Handler func(ctx context.Context, job store.Job) error

const (
	// atOnce is how many jobs run at the same time.
	atOnce = 8
	// A job that failed is tried again after firstDelay, and after twice as long each time, up to lastDelay.
	firstDelay = time.Second
	lastDelay  = 10 * time.Minute
	// One that could not be done because the disk refuses writes is tried again after fullDelay, and that is no try.
	fullDelay = 10 * time.Second
)

// Worker runs the jobs of a store.
type Worker struct {
	store    *store.Store
	handlers map[string]Handler
	log      *slog.Logger

	running sync.WaitGroup
	free    chan struct{} // holds one for each job that may be begun
	ended   chan struct{} // receives when a job has ended

	limits map[string]int // how many of a kind may run at the same time, where fewer than of all

	mu   sync.Mutex
	held map[uuid.UUID]string // the jobs that are running, with their kinds

	runs map[Run]*store.Timings // of every kind and outcome there can be
}

// New makes a worker with the handlers of each kind of job.
func New(s *store.Store, log *slog.Logger, handlers map[string]Handler) *Worker {
	return &Worker{store: s, log: log, handlers: handlers, free: make(chan struct{}, atOnce), ended: make(chan struct{}, 1), held: map[uuid.UUID]string{}, limits: map[string]int{},
		runs: newRuns(handlers)}
}

// Limit lets no more than so many jobs of a kind run at the same time. It must be called before the worker runs.
func (w *Worker) Limit(kind string, most int) { w.limits[kind] = most }

// Run runs jobs until ctx ends, and returns when those that run have ended.
func (w *Worker) Run(ctx context.Context) {
	defer w.running.Wait()
	for ctx.Err() == nil {
		next := w.begin(ctx)
		if next.IsZero() {
			next = w.store.Now().Add(lastDelay)
		}
		due := time.NewTimer(next.Sub(w.store.Now()))
		select {
		case <-ctx.Done():
		case <-w.store.Wake():
		case <-w.ended:
		case <-due.C:
		}
		due.Stop()
	}
}

// Once runs the jobs that are due now, and those that become so meanwhile, and returns when there are none.
func (w *Worker) Once(ctx context.Context) {
	for ctx.Err() == nil {
		if due, _, _ := w.store.Due(w.store.Now(), 1, nil); len(due) == 0 {
			return
		}
		w.begin(ctx)
		w.running.Wait()
	}
}

// begin begins as many of the due jobs as may run at once, and tells when to look again.
func (w *Worker) begin(ctx context.Context) (next time.Time) {
	jobs, next, err := w.store.Due(w.store.Now(), atOnce, w.mustWait)
	if err != nil { // those that can be read are done all the same
		w.log.Error("jobs cannot be read", "error", err)
	}
	for _, job := range jobs {
		select {
		case w.free <- struct{}{}:
		default:
			return next
		}
		if !w.hold(job) {
			<-w.free
			continue
		}
		w.running.Go(func() {
			if w.isDue(job) {
				w.do(ctx, job)
			}
			w.release(job)
			<-w.free
			select {
			case w.ended <- struct{}{}:
			default:
			}
		})
	}
	return next
}

// isDue tells whether a job that is held now is still to be done: it may have been done while the due ones were read.
func (w *Worker) isDue(job store.Job) bool {
	err := w.store.View(job.Org, func(tx *store.Tx) error {
		now, err := tx.Job(job.ID)
		if err == nil && now.Due != job.Due {
			err = fault.ErrNotFound // it was put off
		}
		return err
	})
	return err == nil
}

// isGone tells whether a job is not there any more: its organization was deleted while it ran.
func (w *Worker) isGone(job store.Job) bool {
	err := w.store.View(job.Org, func(tx *store.Tx) error {
		_, err := tx.Job(job.ID)
		return err
	})
	return fault.CodeOf(err) == fault.NotFound
}

// mustWait tells whether a job is running, or as many of its kind as may.
func (w *Worker) mustWait(job store.Job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, held := w.held[job.ID]; held {
		return true
	}
	most, limited := w.limits[job.Kind]
	if !limited {
		return false
	}
	for _, kind := range w.held {
		if kind == job.Kind {
			most--
		}
	}
	return most <= 0
}

// hold notes that a job is running, unless it must wait after all.
func (w *Worker) hold(job store.Job) bool {
	if w.mustWait(job) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held[job.ID] = job.Kind
	return true
}

func (w *Worker) release(job store.Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.held, job.ID)
}

// do runs a job, and puts it off when it fails.
func (w *Worker) do(ctx context.Context, job store.Job) {
	watch := w.store.Stopwatch()
	err := w.handle(ctx, job)
	w.count(job.Kind, outcomeOf(ctx, err), watch())
	if err == nil || ctx.Err() != nil || fault.CodeOf(err) == fault.NotFound && w.isGone(job) {
		return
	}
	delay, tries := min(firstDelay<<min(job.Tries, 20), lastDelay), job.Tries+1
	if fault.CodeOf(err) == fault.Unavailable {
		delay, tries = fullDelay, job.Tries
	}
	w.log.Error("a job failed and will be tried again", "kind", job.Kind, "job", job.ID, "organization", job.Org, "tries", tries, "after", delay, "error", err)
	err = w.store.Update(ctx, job.Org, store.Actor{Operation: job.Kind}, func(tx *store.Tx) error {
		return tx.Reschedule(job.ID, tx.Now().Add(delay), tries)
	})
	if err != nil { // it stays due: it must not be tried over and over meanwhile
		w.log.Error("a job cannot be put off", "job", job.ID, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(delay):
		}
	}
}

func (w *Worker) handle(ctx context.Context, job store.Job) error {
	handler := w.handlers[job.Kind]
	if handler == nil {
		return fmt.Errorf("no handler for jobs of kind %q", job.Kind)
	}
	return fault.CatchPanic(func() error { return handler(ctx, job) })
}
