// Package worker owns the loop that runs background jobs. It finds due jobs, runs several at a
// time, reschedules those that failed, and stops without interrupting a transaction. It does not
// know what jobs do: a handler does the work and ends the job in a transaction of its own.
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

// Handler runs a job, and ends or reschedules it in a transaction of its own. If it fails, or ctx
// ends first, the job runs again.
type Handler func(ctx context.Context, job store.Job) error

const (
	// maxRunning is how many jobs run at the same time.
	maxRunning = 8
	// A failed job is retried after firstDelay. The delay doubles with each try, up to lastDelay.
	firstDelay = time.Second
	lastDelay  = 10 * time.Minute
	// A job that failed because the store is unavailable is retried after fullDelay, which does not
	// count as a try.
	fullDelay = 10 * time.Second
)

// Worker runs the jobs of a store.
type Worker struct {
	store    *store.Store
	handlers map[string]Handler
	log      *slog.Logger

	running sync.WaitGroup
	free    chan struct{} // has an element for each running job
	ended   chan struct{} // receives when a job has ended

	limits map[string]int // by kind: how many may run at the same time

	mu    sync.Mutex
	kinds map[uuid.UUID]string // the kinds of the running jobs

	runs map[Run]*store.Timings // for every kind and outcome
}

// New returns a worker with a handler for each kind of job.
func New(s *store.Store, log *slog.Logger, handlers map[string]Handler) *Worker {
	return &Worker{
		store: s, log: log, handlers: handlers,
		free: make(chan struct{}, maxRunning), ended: make(chan struct{}, 1),
		kinds: map[uuid.UUID]string{}, limits: map[string]int{}, runs: newRuns(handlers),
	}
}

// Limit sets how many jobs of a kind may run at the same time. It must be called before Run.
func (w *Worker) Limit(kind string, limit int) { w.limits[kind] = limit }

// Run runs jobs until ctx ends, and returns when the running jobs have ended.
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

// Once runs due jobs until none is due.
func (w *Worker) Once(ctx context.Context) {
	for ctx.Err() == nil {
		if due, _, _ := w.store.Due(w.store.Now(), 1, nil); len(due) == 0 {
			return
		}
		w.begin(ctx)
		w.running.Wait()
	}
}

// begin starts as many due jobs as may run, and returns when the next job is due.
func (w *Worker) begin(ctx context.Context) (next time.Time) {
	jobs, next, err := w.store.Due(w.store.Now(), maxRunning, w.mustWait)
	if err != nil { // the readable jobs still run
		w.log.Error("unreadable jobs are skipped", "error", err)
	}
	for _, job := range jobs {
		select {
		case w.free <- struct{}{}:
		default:
			return next
		}
		if !w.claim(job) {
			<-w.free
			continue
		}
		w.running.Go(func() {
			select {
			case <-ctx.Done(): // the job may have been interrupted after Due read it
			default:
				if w.isDue(job) {
					w.do(ctx, job)
				}
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

// isDue reports whether a claimed job is still due. It may have been done after Due read it.
func (w *Worker) isDue(job store.Job) bool {
	err := w.store.View(job.Org, func(tx *store.Tx) error {
		now, err := tx.Job(job.ID)
		if err == nil && now.Due != job.Due {
			err = fault.ErrNotFound // it was rescheduled
		}
		return err
	})
	return err == nil
}

// isGone reports whether a job no longer exists, because its organization was deleted while it ran.
func (w *Worker) isGone(job store.Job) bool {
	err := w.store.View(job.Org, func(tx *store.Tx) error {
		_, err := tx.Job(job.ID)
		return err
	})
	return fault.CodeOf(err) == fault.NotFound
}

// mustWait reports whether a job is running already, or its kind has reached its limit.
func (w *Worker) mustWait(job store.Job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, running := w.kinds[job.ID]; running {
		return true
	}
	left, limited := w.limits[job.Kind]
	if !limited {
		return false
	}
	for _, kind := range w.kinds {
		if kind == job.Kind {
			left--
		}
	}
	return left <= 0
}

// claim records that a job is running, and returns false if it must wait after all.
func (w *Worker) claim(job store.Job) bool {
	if w.mustWait(job) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kinds[job.ID] = job.Kind
	return true
}

func (w *Worker) release(job store.Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.kinds, job.ID)
}

// do runs a job and reschedules it if it fails.
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
	w.log.Error("job failed, will retry",
		"kind", job.Kind, "job", job.ID, "organization", job.Org, "tries", tries, "retry_in", delay, "error", err)
	err = w.store.Update(ctx, job.Org, store.Actor{Operation: job.Kind}, func(tx *store.Tx) error {
		return tx.Reschedule(job.ID, tx.Now().Add(delay), tries)
	})
	if err != nil { // it stays due and must not be retried in a busy loop
		w.log.Error("cannot reschedule job", "job", job.ID, "error", err)
		wait, cancel := context.WithTimeout(ctx, delay)
		defer cancel()
		<-wait.Done()
	}
}

func (w *Worker) handle(ctx context.Context, job store.Job) error {
	handler := w.handlers[job.Kind]
	if handler == nil {
		return fmt.Errorf("no handler for jobs of kind %q", job.Kind)
	}
	return fault.CatchPanic(func() error { return handler(ctx, job) })
}
