// Package worker owns the loop that runs background jobs. It finds due jobs, runs several at a time, gives
// organizations turns, reschedules jobs that failed, and stops without interrupting a transaction. It does
// not know what jobs do: a handler does the work and ends the job in a transaction of its own.
package worker

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/turn"
	"prospector/store"
)

// Handler runs a job, and ends or reschedules it in a transaction of its own. If it fails, or ctx
// ends first, the job runs again.
type Handler func(ctx context.Context, job store.Job) error

const (
	// maxRunning is how many jobs run at the same time. An organization may have half of them.
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
	ended   chan struct{} // receives when a job has ended

	limits map[string]int // by kind: how many may run at the same time

	mu      sync.Mutex
	current map[uuid.UUID]store.Job // the running jobs
	turns   map[uuid.UUID]int       // by organization: the number of its last turn
	turn    int                     // the number of the last turn

	runs map[Run]*store.Timings // for every kind and outcome
}

// New returns a worker with a handler for each kind of job.
func New(s *store.Store, log *slog.Logger, handlers map[string]Handler) *Worker {
	return &Worker{
		store: s, log: log, handlers: handlers,
		ended:   make(chan struct{}, 1),
		current: map[uuid.UUID]store.Job{}, turns: map[uuid.UUID]int{}, limits: map[string]int{}, runs: newRuns(handlers),
	}
}

// Limit sets how many jobs of a kind may run at the same time, of which an organization may have half. They are long and
// give way to requests. It must be called before Run.
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
		if due, _, _ := w.store.Due(w.store.Now(), 1, nil, nil); len(due) == 0 {
			return
		}
		w.begin(ctx)
		w.running.Wait()
	}
}

// begin starts as many due jobs as may run, and returns when the next job is due, or zero if a job has to end first.
func (w *Worker) begin(ctx context.Context) time.Time {
	for w.countRunning() < maxRunning {
		jobs, next, err := w.store.Due(w.store.Now(), maxRunning, w.mustWait, w.order())
		if err != nil { // the readable jobs still run
			w.log.Error("unreadable jobs are skipped", "error", err)
		}
		started := 0
		for _, job := range jobs {
			if w.claim(job) {
				started++
				w.running.Go(func() { w.run(ctx, job) })
			}
		}
		if started == 0 || started == len(jobs) {
			return next
		}
		select {
		case <-ctx.Done(): // those that have started do nothing any more and stay due
			return next
		default:
		}
		// Jobs that reached a limit with those that have started may have hidden others.
	}
	return time.Time{}
}

func (w *Worker) countRunning() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.current)
}

// run runs a claimed job and makes room for another one.
func (w *Worker) run(ctx context.Context, job store.Job) {
	select {
	case <-ctx.Done(): // the job may have been interrupted after Due read it
	default:
		if stored, err := w.readAgain(job); err == nil && stored.Due == job.Due {
			if _, isLong := w.limits[job.Kind]; isLong {
				turn.GiveWay()
			}
			w.do(ctx, job)
		}
	}
	w.forget(job)
	select {
	case w.ended <- struct{}{}:
	default:
	}
}

// readAgain reads a job that Due has read. Since then it may have been done or rescheduled by a run that was interrupted or
// that ended in between, or deleted with its organization.
func (w *Worker) readAgain(job store.Job) (store.Job, error) {
	return store.Read(w.store, job.Org, func(tx *store.Tx) (store.Job, error) { return tx.Job(job.ID) })
}

// order returns the order in which organizations take turns: first those with the fewest running jobs, and of
// those the one whose last turn is the longest ago.
func (w *Worker) order() func(a, b uuid.UUID) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	running, turns := map[uuid.UUID]int{}, maps.Clone(w.turns)
	for _, job := range w.current {
		running[job.Org]++
	}
	return func(a, b uuid.UUID) int {
		return cmp.Or(running[a]-running[b], turns[a]-turns[b])
	}
}

// half is the part of a limit that one organization may use.
func half(limit int) int { return (limit + 1) / 2 }

// mustWait reports whether a job is running already, or a limit is reached: of all jobs, of its kind, or of its
// organization.
func (w *Worker) mustWait(job store.Job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, isRunning := w.current[job.ID]; isRunning || len(w.current) == maxRunning {
		return true
	}
	var ofKind, ofOrg, ofBoth int
	for _, other := range w.current {
		if other.Kind == job.Kind {
			ofKind++
		}
		if other.Org == job.Org {
			ofOrg++
			if other.Kind == job.Kind {
				ofBoth++
			}
		}
	}
	limit, limited := w.limits[job.Kind]
	return ofOrg >= half(maxRunning) || limited && (ofKind >= limit || ofBoth >= half(limit))
}

// claim records that a job is running, and returns false if it must wait after all.
func (w *Worker) claim(job store.Job) bool {
	if w.mustWait(job) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.current[job.ID] = job
	w.turn++
	w.turns[job.Org] = w.turn
	return true
}

func (w *Worker) forget(job store.Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.current, job.ID)
	if len(w.current) == 0 {
		clear(w.turns)
	}
}

// do runs a job and reschedules it if it fails.
func (w *Worker) do(ctx context.Context, job store.Job) {
	watch := w.store.Stopwatch()
	err := w.handle(ctx, job)
	w.count(job.Kind, outcomeOf(ctx, err), watch())
	if err == nil || ctx.Err() != nil {
		return
	}
	if fault.CodeOf(err) == fault.NotFound {
		if _, err := w.readAgain(job); fault.CodeOf(err) == fault.NotFound {
			return // its organization was deleted while it ran
		}
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
