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

// held is an engine that has a tableIndex so far behind that writers wait, and nothing that runs.
func held() (*Engine, *tableIndex) {
	e := &Engine{progress: make(chan struct{}), stop: make(chan struct{}), dirty: map[*tableIndex]int{}, wake: make(chan struct{}, 1), flushNow: make(chan struct{}, 1),
		byTable: map[string]*Kind{things.table: things}, tables: map[tableKey]*tableIndex{}, log: slog.New(slog.DiscardHandler)}
	s := e.tableIndex(uuid.Nil, things)
	s.indexed.Store(5)
	s.lastChange.Store(5 + usualPolicy.maxBehind + 1)
	return e, s
}

// TestHold has writers wait for an index that is far behind, until it has advanced enough, they
// give up, or the engine stops. An index that cannot be kept holds nobody.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, release := range map[string]func(e *Engine, s *tableIndex, cancel func()){
			"advanced":  func(e *Engine, s *tableIndex, _ func()) { s.indexed.Store(6); e.signalProgress() },
			"cancelled": func(_ *Engine, _ *tableIndex, cancel func()) { cancel() },
			"stopped":   func(e *Engine, _ *tableIndex, _ func()) { close(e.stop) },
			"given up":  func(_ *Engine, s *tableIndex, _ func()) { s.reportFailure(errors.New("no room")) },
		} {
			e, s := held()
			ctx, cancel := context.WithCancel(t.Context())
			var done atomic.Bool
			go func() {
				e.Committed(ctx, s.org, map[string]uint64{things.table: s.lastChange.Load()})
				done.Store(true)
			}()
			synctest.Wait()
			e.signalProgress() // of another tableIndex
			synctest.Wait()
			if done.Load() {
				t.Errorf("%s: it did not wait", name)
			}
			release(e, s, cancel)
			synctest.Wait()
			if !done.Load() {
				t.Errorf("%s: it waits", name)
			}
			cancel()
			s.lastChange.Store(s.indexed.Load() + usualPolicy.maxBehind)
			e.waitForIndex(t.Context(), s) // no longer too far
		}
	})
}

// TestPace: while changes keep coming, the index of what changes all the time is passed over for
// some rounds, unless there is plenty or there are none any more; any other is not.
func TestPace(t *testing.T) {
	restless := *things
	restless.flush = busyPolicy
	e, s := held()
	taken := func(all bool) bool {
		_, is := e.takeDirty(all)[s]
		e.round++
		return is
	}
	e.markDirty(s)
	if !taken(false) {
		t.Error("an index of the usual kind is passed over")
	}
	s.kind = &restless
	s.lastChange.Store(s.indexed.Load() + 1)
	for round := range 2 * busyPolicy.maxRounds {
		e.markDirty(s)
		if got, want := taken(false), round == busyPolicy.maxRounds+1; got != want {
			t.Errorf("round %d: it is taken: %t", round, got)
		} else if got {
			break
		}
	}
	e.markDirty(s)
	if !taken(true) {
		t.Error("it is passed over when there are no more changes")
	}
	e.markDirty(s)
	s.lastChange.Store(s.indexed.Load() + busyPolicy.flushAfter)
	if !taken(false) {
		t.Error("it is passed over with plenty of changes")
	}
}

// A writer is held in Committed, and what it wrote is told before.
func TestCommittedHolds(t *testing.T) {
	w := grown(t, 105)
	s := w.engine.tableIndex(w.org, things)
	s.writing.Lock() // nothing can be followed
	before := s.lastChange.Load()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.engine.Committed(ctx, w.org, map[string]uint64{things.table: before + usualPolicy.maxBehind + 2, "another": 7})
	if s.lastChange.Load() != before+usualPolicy.maxBehind+2 || s.lag() <= usualPolicy.maxBehind {
		t.Errorf("told of %d, behind by %d", s.lastChange.Load(), s.lag())
	}
	w.engine.Committed(ctx, w.org, map[string]uint64{things.table: before + 1}) // an older one comes late
	if s.lastChange.Load() != before+usualPolicy.maxBehind+2 {
		t.Error("the number went back")
	}
	s.writing.Unlock()
	s.lastChange.Store(before)
	w.flushAll()
	w.check()
}

// Writers that wait for an index go on when it turns out that it cannot be kept.
func TestWaitersOfFailingIndex(t *testing.T) {
	w := grown(t, 63)
	s := w.engine.tableIndex(w.org, things)
	w.still(func() {
		if !s.close() {
			t.Fatal("it is in use")
		}
		w.must(os.RemoveAll(filepath.Dir(s.path)))
		w.must(os.WriteFile(filepath.Dir(s.path), []byte("x"), 0o600)) // so that it can be neither opened nor removed
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

// TestIndexThatCannotBeMade has a file where the directory of the organization should be. Lists are
// right, and when it is gone the index is made.
func TestIndexThatCannotBeMade(t *testing.T) {
	w := newWorld(t, 106)
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
	w.still(func() {
		w.engine.maintain()
		w.engine.flushDirty(nil, true)
		w.listAgrees(`{"page_size": 500}`)
		if s.isOpen() || s.lag() != 0 {
			t.Errorf("it has an index, or writers wait for it: %d behind", s.lag())
		}
		w.must(os.Remove(filepath.Dir(s.path)))
		w.engine.maintain() // tries again
		w.engine.flushDirty(nil, true)
	})
	if !s.isOpen() || s.disk.state.Cursor != end {
		t.Error("it has no index yet")
	}
	w.listAgrees(`{"page_size": 500}`)
	w.check()
}
