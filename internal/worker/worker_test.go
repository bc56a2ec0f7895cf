package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/store"
)

// bench is a store with a fake clock and a captured log.
type bench struct {
	t     *testing.T
	store *store.Store
	milli atomic.Int64

	mu  sync.Mutex
	log []string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t}
	b.milli.Store(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMilli())
	st, err := store.Open(t.TempDir(), store.Options{Clock: b.now})
	if err != nil {
		t.Fatal(err)
	}
	b.store = st
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bench) now() time.Time        { return time.UnixMilli(b.milli.Load()).UTC() }
func (b *bench) move(by time.Duration) { b.milli.Add(by.Milliseconds()) }

func (b *bench) worker(handlers map[string]Handler) *Worker {
	return New(b.store, slog.New(slog.NewTextHandler(b, nil)), handlers)
}

// Write receives a line of the log.
func (b *bench) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.log = append(b.log, string(line))
	return len(line), nil
}

func (b *bench) logged(text string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.log, func(line string) bool { return strings.Contains(line, text) })
}

func (b *bench) enqueue(org uuid.UUID, kind string, due time.Time, payload any) (id uuid.UUID) {
	b.t.Helper()
	err := b.store.Update(b.t.Context(), org, store.Actor{}, func(tx *store.Tx) (err error) {
		id, err = tx.Enqueue(kind, due, payload)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// job reads a job; nil if it is done.
func (b *bench) job(org, id uuid.UUID) (job *store.Job) {
	_ = b.store.View(org, func(tx *store.Tx) error {
		if j, err := tx.Job(id); err == nil {
			job = &j
		}
		return nil
	})
	return job
}

// running counts the running jobs of an organization by kind.
func (b *bench) running(w *Worker, org uuid.UUID) map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	kinds := map[string]int{}
	for _, job := range w.current {
		if job.Org == org {
			kinds[job.Kind]++
		}
	}
	return kinds
}

// done ends a job, as a handler does.
func (b *bench) done(ctx context.Context, job store.Job) error {
	return b.store.Update(ctx, job.Org, store.Actor{}, func(tx *store.Tx) error { return tx.Done(job.ID) })
}

var (
	orgA = uuid.UUID{0xa, 15: 1}
	orgB = uuid.UUID{0xb, 15: 1}
)

var errFailed = errors.New("the other side hung up")

func receive[T any](b *bench, from <-chan T, what string) (v T) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 2*time.Minute)
	defer cancel()
	select {
	case v = <-from:
	case <-ctx.Done():
		b.t.Fatal("timed out waiting for " + what)
	}
	return v
}

func TestOnceRunsEachDueJobOnce(t *testing.T) {
	b := newBench(t)
	var mu sync.Mutex
	runs := map[string]int{}
	w := b.worker(map[string]Handler{
		"mail": func(ctx context.Context, job store.Job) error {
			var to string
			if err := json.Unmarshal(job.Payload, &to); err != nil {
				return err
			}
			mu.Lock()
			runs[fmt.Sprintf("%x %s", job.Org[0], to)]++
			mu.Unlock()
			return b.done(ctx, job)
		},
		"parent": func(ctx context.Context, job store.Job) error {
			return b.store.Update(ctx, job.Org, store.Actor{}, func(tx *store.Tx) error {
				_, err := tx.Enqueue("mail", tx.Now(), "child")
				return errors.Join(err, tx.Done(job.ID))
			})
		},
	})
	want := map[string]int{"a child": 1}
	for i := range 3 * maxRunning { // more than run at once
		org := []uuid.UUID{orgA, orgB}[i%2]
		b.enqueue(org, "mail", b.now(), fmt.Sprint(i))
		want[fmt.Sprintf("%x %d", org[0], i)] = 1
	}
	b.enqueue(orgA, "parent", b.now(), nil)
	later := b.enqueue(orgA, "mail", b.now().Add(time.Hour), "later")
	for range 2 {
		w.Once(t.Context())
	}
	if !maps.Equal(runs, want) {
		t.Errorf("ran %v, want %v", runs, want)
	}
	if b.job(orgA, later) == nil {
		t.Error("what is due later is gone")
	}
	b.move(time.Hour - time.Millisecond)
	if w.Once(t.Context()); runs["a later"] != 0 {
		t.Error("it ran a millisecond early")
	}
	b.move(time.Millisecond)
	if w.Once(t.Context()); runs["a later"] != 1 || b.job(orgA, later) != nil {
		t.Errorf("ran %v", runs)
	}
}

// TestFailuresBackOff has a job that fails in each possible way, and checks when it is retried.
func TestFailuresBackOff(t *testing.T) {
	b := newBench(t)
	var runs atomic.Int32
	heal := false
	w := b.worker(map[string]Handler{
		"fails": func(ctx context.Context, job store.Job) error {
			if int(runs.Add(1)) != job.Tries+1 {
				t.Errorf("run %d is told of %d tries", runs.Load(), job.Tries)
			}
			if heal {
				return b.done(ctx, job)
			}
			return errFailed
		},
		"panics": func(context.Context, store.Job) error { panic("a nil map, say") },
	})
	failing := b.enqueue(orgA, "fails", b.now(), nil)
	others := map[uuid.UUID]string{b.enqueue(orgB, "panics", b.now(), nil): "a nil map, say", b.enqueue(orgB, "unheard of", b.now(), nil): "no handler for jobs of kind"}

	delays := []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600, 600}
	for tries, delay := range delays {
		delay *= time.Second
		w.Once(t.Context())
		if j := b.job(orgA, failing); j == nil || j.Tries != tries+1 || !j.Due.Equal(b.now().Add(delay)) {
			t.Fatalf("after try %d: %+v at %v, want it due in %v", tries+1, j, b.now(), delay)
		}
		b.move(delay - time.Millisecond)
		if w.Once(t.Context()); int(runs.Load()) != tries+1 {
			t.Fatalf("it was tried again before %v had passed", delay)
		}
		b.move(time.Millisecond)
	}
	for id, word := range others {
		if j := b.job(orgB, id); j == nil || j.Tries != len(delays) || !b.logged(word) {
			t.Errorf("%s: it is %+v now, logged: %t", word, j, b.logged(word))
		}
	}
	if !b.logged(errFailed.Error()) {
		t.Error("the failure was not logged")
	}
	heal = true
	w.Once(t.Context())
	if b.job(orgA, failing) != nil {
		t.Error("it is not done after it was")
	}
}

// TestFullDiskIsNotATry: a failure because of a full disk does not count as a try.
func TestFullDiskIsNotATry(t *testing.T) {
	b := newBench(t)
	id := b.enqueue(orgA, "writes", b.now(), nil)
	w := b.worker(map[string]Handler{"writes": func(context.Context, store.Job) error { return fault.New(fault.Unavailable, "no room") }})
	for range 5 {
		w.Once(t.Context())
		if j := b.job(orgA, id); j == nil || j.Tries != 0 || !j.Due.Equal(b.now().Add(fullDelay)) {
			t.Fatalf("it is %+v at %v", j, b.now())
		}
		b.move(fullDelay)
	}
}

// TestJobOfDeletedOrganization: a job whose organization is deleted while it runs ends without a
// log line.
func TestJobOfDeletedOrganization(t *testing.T) {
	b := newBench(t)
	b.enqueue(orgA, "writes", b.now(), nil)
	b.worker(map[string]Handler{"writes": func(ctx context.Context, job store.Job) error {
		err := b.store.Update(ctx, orgA, store.Actor{}, func(tx *store.Tx) error {
			tx.DropOrganization()
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		return b.done(ctx, job)
	}}).Once(t.Context())
	if b.logged("ERROR") {
		t.Error("it is told as a failure")
	}
}

// TestDelayIsBounded: the delay never exceeds lastDelay, however often a job has failed.
func TestDelayIsBounded(t *testing.T) {
	b := newBench(t)
	id := b.enqueue(orgA, "fails", b.now(), nil)
	for _, tries := range []int{20, 33, 62, 63, 64, 1 << 40} {
		err := b.store.Update(t.Context(), orgA, store.Actor{}, func(tx *store.Tx) error { return tx.Reschedule(id, tx.Now(), tries) })
		if err != nil {
			t.Fatal(err)
		}
		b.worker(nil).Once(t.Context())
		if j := b.job(orgA, id); j == nil || j.Tries != tries+1 || !j.Due.Equal(b.now().Add(lastDelay)) {
			t.Errorf("after %d tries: %+v", tries, j)
		}
	}
}

// running is a worker that runs until the test stops it.
type running struct {
	stop  context.CancelFunc
	ended chan struct{}
}

func (b *bench) run(w *Worker) running {
	ctx, stop := context.WithCancel(b.t.Context())
	r := running{stop, make(chan struct{})}
	go func() {
		w.Run(ctx)
		close(r.ended)
	}()
	b.t.Cleanup(func() {
		stop()
		<-r.ended
	})
	return r
}

// TestRunIsWoken enqueues jobs while the worker waits, while it works, and for later.
func TestRunIsWoken(t *testing.T) {
	b := newBench(t)
	ran := make(chan string, 100)
	w := b.worker(map[string]Handler{"mail": func(ctx context.Context, job store.Job) error {
		if err := b.done(ctx, job); err != nil {
			return err
		}
		ran <- string(job.Payload)
		return nil
	}})
	b.enqueue(orgA, "mail", b.now(), 0)
	r := b.run(w)
	for i := range 50 {
		if got := receive(b, ran, "a job"); got != fmt.Sprint(i) {
			t.Fatalf("ran %s, want %d", got, i)
		}
		b.enqueue(orgA, "mail", b.now(), i+1)
	}
	receive(b, ran, "the last job")
	b.enqueue(orgB, "mail", b.now().Add(time.Hour), "later")
	b.enqueue(orgA, "mail", b.now(), "now")
	if got := receive(b, ran, "the job that is due"); got != `"now"` {
		t.Fatalf("ran %s", got)
	}
	b.move(time.Hour)
	b.enqueue(orgA, "mail", b.now(), "after")
	got := []string{receive(b, ran, "a job"), receive(b, ran, "a job")}
	if slices.Sort(got); !slices.Equal(got, []string{`"after"`, `"later"`}) {
		t.Errorf("ran %v", got)
	}
	r.stop()
	receive(b, r.ended, "the end")
	if len(ran) != 0 {
		t.Errorf("%s ran a second time", <-ran)
	}
}

// TestRunWaitsForNextJob: a job that becomes due while nothing else happens starts in time, by the
// real clock.
func TestRunWaitsForNextJob(t *testing.T) {
	b := newBench(t)
	begin := time.Now()
	base := b.now()
	st, err := store.Open(t.TempDir(), store.Options{Clock: func() time.Time { return base.Add(time.Since(begin)) }})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	b.store = st
	ran := make(chan time.Time, 1)
	due := st.Now().Add(50 * time.Millisecond)
	b.enqueue(orgA, "mail", due, nil)
	r := b.run(b.worker(map[string]Handler{"mail": func(ctx context.Context, job store.Job) error {
		ran <- st.Now()
		return b.done(ctx, job)
	}}))
	if at := receive(b, ran, "the job"); at.Before(due) {
		t.Errorf("it ran at %v, before %v", at, due)
	}
	r.stop()
	receive(b, r.ended, "the end")
}

// TestMaxRunning blocks as many jobs as may run, checks that no other starts, and that one starts
// when one ends.
func TestMaxRunning(t *testing.T) {
	b := newBench(t)
	begun, release := make(chan uuid.UUID), make(chan struct{})
	var most, now atomic.Int32
	w := b.worker(map[string]Handler{"hold": func(ctx context.Context, job store.Job) error {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		begun <- job.ID
		<-release
		now.Add(-1)
		return b.done(ctx, job)
	}})
	const jobs = 3 * maxRunning
	for i := range jobs {
		b.enqueue([]uuid.UUID{orgA, orgB}[i%2], "hold", b.now(), nil)
	}
	r := b.run(w)
	seen := map[uuid.UUID]bool{}
	for range maxRunning {
		seen[receive(b, begun, "a job")] = true
	}
	for range 5 { // whatever wakes it, no job may start
		b.enqueue(orgB, "hold", b.now().Add(time.Hour), nil)
	}
	for range jobs - maxRunning {
		release <- struct{}{}
		seen[receive(b, begun, "the next job")] = true
	}
	close(release)
	r.stop()
	receive(b, r.ended, "the end")
	if len(seen) != jobs || most.Load() != maxRunning {
		t.Errorf("%d jobs ran, at most %d at once", len(seen), most.Load())
	}
}

// TestTurns has organizations with many jobs before one with a single job. Each organization runs at most half of
// what may run, and at most half of a limit. When a job ends, the organization that runs the fewest jobs is next.
func TestTurns(t *testing.T) {
	b := newBench(t)
	begun, release := make(chan uuid.UUID), map[uuid.UUID]chan struct{}{}
	orgC := uuid.UUID{0xc, 15: 1}
	for _, org := range []uuid.UUID{orgA, orgB, orgC} {
		release[org] = make(chan struct{})
	}
	hold := func(ctx context.Context, job store.Job) error {
		begun <- job.Org
		<-release[job.Org]
		return b.done(ctx, job)
	}
	w := b.worker(map[string]Handler{"hold": hold, "limited": hold})
	w.Limit("limited", 3)
	for range 4 {
		b.enqueue(orgA, "limited", b.now(), nil)
	}
	for range 2 * maxRunning {
		b.enqueue(orgA, "hold", b.now(), nil)
	}
	r := b.run(w)
	started := func(n int) map[uuid.UUID]int {
		orgs := map[uuid.UUID]int{}
		for range n {
			orgs[receive(b, begun, "a job")]++
		}
		return orgs
	}
	started(maxRunning / 2)
	if got := b.running(w, orgA); got["limited"] != 2 || got["hold"] != maxRunning/2-2 {
		t.Errorf("one organization runs %v", got)
	}
	for range 2 * maxRunning { // longer due than those of the third
		b.enqueue(orgB, "hold", b.now().Add(-time.Hour), nil)
	}
	started(maxRunning / 2)
	if got := b.running(w, orgB)["hold"]; got != maxRunning/2 {
		t.Errorf("the second organization runs %d jobs", got)
	}
	b.enqueue(orgC, "limited", b.now(), nil)
	release[orgA] <- struct{}{}
	if got := started(1); got[orgC] != 1 {
		t.Errorf("the third organization had no turn: %v", got)
	}
	release[orgB] <- struct{}{}
	started(1)
	for _, end := range release {
		close(end)
	}
	go func() {
		for range begun { // the rest
		}
	}()
	r.stop()
	receive(b, r.ended, "the end")
	close(begun)
}

// TestRunEnds has a job that heeds the end of its context, one that finishes despite it, and one
// that never started. Run returns when the running ones have ended, and unfinished jobs are
// unchanged in the store.
func TestRunEnds(t *testing.T) {
	b := newBench(t)
	begun := make(chan string)
	finish := make(chan struct{})
	w := b.worker(map[string]Handler{
		"heeds": func(ctx context.Context, job store.Job) error {
			begun <- job.Kind
			<-ctx.Done()
			return ctx.Err()
		},
		"finishes": func(ctx context.Context, job store.Job) error {
			begun <- job.Kind
			<-finish
			return b.done(context.WithoutCancel(ctx), job)
		},
	})
	heeds, finishes := b.enqueue(orgA, "heeds", b.now(), nil), b.enqueue(orgA, "finishes", b.now(), nil)
	never := b.enqueue(orgB, "heeds", b.now().Add(time.Minute), nil)
	r := b.run(w)
	receive(b, begun, "a job")
	receive(b, begun, "a job")
	r.stop()
	b.move(time.Minute)
	select {
	case <-r.ended:
		t.Fatal("it ended with a job at work")
	default:
	}
	close(finish)
	receive(b, r.ended, "the end")
	if b.job(orgA, finishes) != nil {
		t.Error("what was finished is not done")
	}
	for id, org := range map[uuid.UUID]uuid.UUID{heeds: orgA, never: orgB} {
		if j := b.job(org, id); j == nil || j.Tries != 0 || j.Due.After(b.now()) {
			t.Errorf("what was not finished is %+v", j)
		}
	}
	if b.logged("failed") {
		t.Errorf("being told to stop is logged as a failure: %q", b.log)
	}
	again := make(chan uuid.UUID, 2)
	b.worker(map[string]Handler{"heeds": func(ctx context.Context, job store.Job) error {
		again <- job.ID
		return b.done(ctx, job)
	}}).Once(t.Context())
	if len(again) != 2 {
		t.Errorf("%d jobs were begun again", len(again))
	}
}

// TestJobEndsWhileDueIsRead: a job that ends while Due runs is not started again.
func TestJobEndsWhileDueIsRead(t *testing.T) {
	b := &bench{t: t}
	b.milli.Store(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMilli())
	var reads atomic.Int32 // how often the clock is read before the hook runs; 0 is never
	var hook func()
	st, err := store.Open(t.TempDir(), store.Options{Clock: func() time.Time {
		if reads.Load() > 0 && reads.Add(-1) == 0 {
			hook()
		}
		return b.now()
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	b.store = st
	var runs atomic.Int32
	begun, release := make(chan struct{}, 10), make(chan struct{})
	w := b.worker(map[string]Handler{
		"long": func(ctx context.Context, job store.Job) error {
			runs.Add(1)
			begun <- struct{}{}
			<-release
			return b.done(ctx, job)
		},
		"short": func(ctx context.Context, job store.Job) error { return b.done(ctx, job) },
	})
	b.enqueue(orgA, "long", b.now(), nil)
	w.begin(t.Context())
	receive(b, begun, "the long job")
	b.enqueue(orgA, "short", b.now().Add(-time.Second), nil)
	hook = func() { // within Due, whose transaction has both jobs: the long one ends
		close(release)
		receive(b, w.ended, "its end")
	}
	reads.Store(2) // begin reads the clock, and then Due does for the short job
	w.begin(t.Context())
	w.running.Wait()
	if runs.Load() != 1 {
		t.Errorf("the long job ran %d times", runs.Load())
	}
}
