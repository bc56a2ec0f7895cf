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

// held is an engine that has a shelf so far behind that writers wait, and nothing that runs.
func held() (*Engine, *shelf) {
	e := &Engine{moved: make(chan struct{}), stop: make(chan struct{}), dirty: map[*shelf]int{}, wake: make(chan struct{}, 1), plenty: make(chan struct{}, 1),
		byTable: map[string]*Kind{things.table: things}, shelves: map[shelfKey]*shelf{}, log: slog.New(slog.DiscardHandler)}
	s := e.shelf(uuid.Nil, things)
	s.indexed.Store(5)
	s.told.Store(5 + usualPace.most + 1)
	return e, s
}

// TestHold has writers wait for an index that is far behind, until it has advanced enough, they give up, or the engine
// stops. An index that cannot be kept holds nobody.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, release := range map[string]func(e *Engine, s *shelf, cancel func()){
			"advanced":  func(e *Engine, s *shelf, _ func()) { s.indexed.Store(6); e.advanced() },
			"cancelled": func(_ *Engine, _ *shelf, cancel func()) { cancel() },
			"stopped":   func(e *Engine, _ *shelf, _ func()) { close(e.stop) },
			"given up":  func(_ *Engine, s *shelf, _ func()) { s.fail(errors.New("no room")) },
		} {
			e, s := held()
			ctx, cancel := context.WithCancel(t.Context())
			var done atomic.Bool
			go func() {
				e.Committed(ctx, s.org, map[string]uint64{things.table: s.told.Load()})
				done.Store(true)
			}()
			synctest.Wait()
			e.advanced() // of another shelf
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
			s.told.Store(s.indexed.Load() + usualPace.most)
			e.hold(t.Context(), s) // no longer too far
		}
	})
}

// TestPace: while changes keep coming, the index of what changes all the time is passed over for some rounds, unless there is plenty or
// there are none any more; any other is not.
func TestPace(t *testing.T) {
	restless := *things
	restless.pace = restlessPace
	e, s := held()
	taken := func(all bool) bool {
		_, is := e.takeDirty(all)[s]
		e.round++
		return is
	}
	e.stir(s)
	if !taken(false) {
		t.Error("an index of the usual kind is passed over")
	}
	s.kind = &restless
	s.told.Store(s.indexed.Load() + 1)
	for round := range 2 * restlessPace.rounds {
		e.stir(s)
		if got, want := taken(false), round == restlessPace.rounds+1; got != want {
			t.Errorf("round %d: it is taken: %t", round, got)
		} else if got {
			break
		}
	}
	e.stir(s)
	if !taken(true) {
		t.Error("it is passed over when there are no more changes")
	}
	e.stir(s)
	s.told.Store(s.indexed.Load() + restlessPace.plenty)
	if !taken(false) {
		t.Error("it is passed over with plenty of changes")
	}
}

// A writer is held in Committed, and what it wrote is told before.
func TestCommittedHolds(t *testing.T) {
	w := grown(t, 105)
	s := w.engine.shelf(w.org, things)
	s.writing.Lock() // nothing can be followed
	before := s.told.Load()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.engine.Committed(ctx, w.org, map[string]uint64{things.table: before + usualPace.most + 2, "another": 7})
	if s.told.Load() != before+usualPace.most+2 || s.lag() <= usualPace.most {
		t.Errorf("told of %d, behind by %d", s.told.Load(), s.lag())
	}
	w.engine.Committed(ctx, w.org, map[string]uint64{things.table: before + 1}) // an older one comes late
	if s.told.Load() != before+usualPace.most+2 {
		t.Error("the number went back")
	}
	s.writing.Unlock()
	s.told.Store(before)
	w.settle()
	w.check()
}

// Writers that wait for an index go on when it turns out that it cannot be kept.
func TestWaitersOfFailingIndex(t *testing.T) {
	w := grown(t, 63)
	s := w.engine.shelf(w.org, things)
	w.still(func() {
		if !s.close() {
			t.Fatal("it is in use")
		}
		w.must(os.RemoveAll(filepath.Dir(s.path)))
		w.must(os.WriteFile(filepath.Dir(s.path), []byte("x"), 0o600)) // so that it can be neither opened nor removed
		s.told.Store(s.indexed.Load() + usualPace.most + 1)
	})
	done := make(chan struct{})
	go func() {
		w.engine.hold(context.Background(), s)
		close(done)
	}()
	w.engine.stir(s)
	<-done
}

// TestIndexThatCannotBeMade has a file where the directory of the organization should be. Lists are right, and when it
// is gone the index is made.
func TestIndexThatCannotBeMade(t *testing.T) {
	w := newWorld(t, 106)
	w.change(5)
	w.close()
	w.must(os.WriteFile(filepath.Join(w.opt.Dir, w.org.String()), []byte("x"), 0o600))
	w.open()
	s := w.engine.shelf(w.org, things)
	for range 5 {
		w.change(30)
		for range 5 {
			w.listAgrees(w.body())
		}
	}
	w.still(func() {
		w.engine.look()
		w.engine.followDirty(nil, true)
		w.listAgrees(`{"page_size": 500}`)
		if s.isOpen() || s.lag() != 0 {
			t.Errorf("it has an index, or writers wait for it: %d behind", s.lag())
		}
		w.must(os.Remove(filepath.Dir(s.path)))
		w.engine.look() // tries again
		w.engine.followDirty(nil, true)
	})
	if !s.isOpen() || s.disk.state.Cursor != end {
		t.Error("it has no index yet")
	}
	w.listAgrees(`{"page_size": 500}`)
	w.check()
}
