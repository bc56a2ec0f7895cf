package index

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
)

// newStalledEngine returns an engine that does not run, with a table index so far behind that
// commits wait for it.
func newStalledEngine() (*Engine, *tableIndex) {
	e := &Engine{
		log: slog.New(slog.DiscardHandler), byTable: map[string]*Kind{things.table: things},
		tables: map[tableKey]*tableIndex{}, dirty: map[*tableIndex]int{}, progress: make(chan struct{}),
		wake: make(chan struct{}, 1), flushNow: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	s := e.tableIndex(uuid.Nil, things)
	s.indexed.Store(5)
	s.lastChange.Store(5 + usualPolicy.maxBehind + 1)
	return e, s
}

// Committed waits for an index that is far behind until the index has advanced, the context ends,
// the engine stops, or the index turns out to fail.
func TestCommittedWaitsForIndex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, release := range map[string]func(e *Engine, s *tableIndex, cancel func()){
			"advanced": func(e *Engine, s *tableIndex, _ func()) { s.indexed.Store(6); e.signalProgress() },
			"canceled": func(_ *Engine, _ *tableIndex, cancel func()) { cancel() },
			"stopped":  func(e *Engine, _ *tableIndex, _ func()) { close(e.stop) },
			"failed":   func(_ *Engine, s *tableIndex, _ func()) { s.reportFailure(errors.New("no room")) },
		} {
			e, s := newStalledEngine()
			ctx, cancel := context.WithCancel(t.Context())
			var done atomic.Bool
			go func() {
				e.Committed(ctx, s.org, map[string]uint64{things.table: s.lastChange.Load()})
				done.Store(true)
			}()
			synctest.Wait()
			e.signalProgress() // of another table index
			synctest.Wait()
			if done.Load() {
				t.Errorf("%s: Committed did not wait", name)
			}
			release(e, s, cancel)
			synctest.Wait()
			if !done.Load() {
				t.Errorf("%s: Committed still waits", name)
			}
			cancel()
			s.lastChange.Store(s.indexed.Load() + usualPolicy.maxBehind)
			e.waitForIndex(t.Context(), s) // maxBehind is not exceeded
		}
	})
}

// While changes keep coming, an index with busyPolicy is flushed after maxRounds, after flushAfter
// changes, or when no more changes are made. An index with usualPolicy is flushed in every round.
func TestFlushPolicy(t *testing.T) {
	busy := *things
	busy.flush = busyPolicy
	e, s := newStalledEngine()
	taken := func(all bool) bool {
		_, is := e.takeDirty(all)[s]
		e.round++
		return is
	}
	e.markDirty(s)
	if !taken(false) {
		t.Error("an index with usualPolicy is not flushed")
	}
	s.kind = &busy
	s.lastChange.Store(s.indexed.Load() + 1)
	for round := range 2 * busyPolicy.maxRounds {
		e.markDirty(s)
		if got, want := taken(false), round == busyPolicy.maxRounds+1; got != want {
			t.Errorf("round %d: flushed is %t", round, got)
		} else if got {
			break
		}
	}
	e.markDirty(s)
	if !taken(true) {
		t.Error("not flushed although no more changes are made")
	}
	e.markDirty(s)
	s.lastChange.Store(s.indexed.Load() + busyPolicy.flushAfter)
	if !taken(false) {
		t.Error("not flushed after flushAfter changes")
	}
}

// Committed notes a change before it waits, and ignores an older change that arrives late.
func TestCommittedNotesChangeBeforeWaiting(t *testing.T) {
	w := newLargeFixture(t, 105)
	s := w.engine.tableIndex(w.org, things)
	s.writing.Lock() // prevents a flush
	before := s.lastChange.Load()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.engine.Committed(ctx, w.org, map[string]uint64{things.table: before + usualPolicy.maxBehind + 2, "another": 7})
	if s.lastChange.Load() != before+usualPolicy.maxBehind+2 || s.lag() <= usualPolicy.maxBehind {
		t.Errorf("the last change is %d, the lag %d", s.lastChange.Load(), s.lag())
	}
	w.engine.Committed(ctx, w.org, map[string]uint64{things.table: before + 1}) // arrives late
	if s.lastChange.Load() != before+usualPolicy.maxBehind+2 {
		t.Error("the last change number decreased")
	}
	s.writing.Unlock()
	s.lastChange.Store(before)
	w.flushAll()
	w.check()
}

// Commits that wait for an index continue when the index cannot be written.
func TestFailingIndexReleasesWriters(t *testing.T) {
	w := newLargeFixture(t, 63)
	s := w.engine.tableIndex(w.org, things)
	w.whilePaused(func() {
		if !s.close() {
			t.Fatal("the index is in use")
		}
		w.must(os.RemoveAll(filepath.Dir(s.path)))
		w.must(os.WriteFile(filepath.Dir(s.path), []byte("x"), 0o600)) // the index can be neither opened nor removed
		s.lastChange.Store(s.indexed.Load() + usualPolicy.maxBehind + 1)
	})
	done := make(chan struct{})
	go func() {
		w.engine.waitForIndex(context.Background(), s)
		close(done)
	}()
	w.engine.markDirty(s)
	<-done
}

// A file blocks the directory of the organization. Lists are correct without an index, and the
// index is created when the file is gone.
func TestIndexThatCannotBeCreated(t *testing.T) {
	w := newFixture(t, 106)
	w.change(5)
	w.close()
	w.must(os.WriteFile(filepath.Join(w.opt.Dir, w.org.String()), []byte("x"), 0o600))
	w.open()
	s := w.engine.tableIndex(w.org, things)
	for range 5 {
		w.change(30)
		for range 5 {
			w.listAgrees(w.body())
		}
	}
	w.whilePaused(func() {
		w.engine.maintain()
		w.engine.flushDirty(nil, true)
		w.listAgrees(`{"page_size": 500}`)
		if s.isOpen() || s.lag() != 0 {
			t.Errorf("the index is open, or commits wait for it: lag %d", s.lag())
		}
		w.must(os.Remove(filepath.Dir(s.path)))
		w.engine.maintain() // retries
		w.engine.flushDirty(nil, true)
	})
	if !s.isOpen() || s.disk.state.Cursor != end {
		t.Error("the index is not complete")
	}
	w.listAgrees(`{"page_size": 500}`)
	w.check()
}
