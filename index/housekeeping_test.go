package index

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"prospector/store"
)

// isOpen reports whether the index on disk is open.
func (s *tableIndex) isOpen() bool {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.disk != nil
}

// unloadIndex closes a table index. It waits for the engine if that is writing it.
func (w *fixture) unloadIndex(s *tableIndex) {
	s.writing.Lock()
	s.unload()
	s.writing.Unlock()
}

// whilePaused calls fn while the engine does not run.
func (w *fixture) whilePaused(fn func()) {
	e := w.engine
	close(e.stop)
	<-e.stopped
	defer func() {
		e.stop, e.stopped = make(chan struct{}), make(chan struct{})
		signal(e.wake) // for changes from before the pause
		go e.run()
	}()
	fn()
}

// An index that was idle for maxIdleRounds is closed, not earlier, and opened again by the next
// list.
func TestIdleIndexIsClosed(t *testing.T) {
	for _, small := range []int{20, 10_000} {
		w := newLargeFixture(t, 101)
		w.close()
		w.opt.maxSmall = small
		w.open()
		w.agree(`{"page_size": 500}`)
		w.flushAll()
		s := w.engine.tableIndex(w.org, things)
		for round := range maxIdleRounds + 1 { // the first one notes the use
			if !s.loaded.Load() {
				t.Fatalf("closed after %d rounds", round)
			}
			if round == maxIdleRounds/2 {
				w.agree(`{"page_size": 1}`) // a use restarts the count
				for range maxIdleRounds / 2 {
					w.engine.maintain()
				}
			}
			if round < maxIdleRounds/2 {
				w.engine.maintain()
			}
		}
		w.agree(`{"page_size": 1}`)
		for round := range maxIdleRounds {
			w.engine.maintain()
			if !s.loaded.Load() {
				t.Fatalf("closed after %d rounds", round)
			}
		}
		w.engine.maintain()
		if s.loaded.Load() || s.isOpen() {
			t.Error("the idle index is still open")
		}
		if size := w.engine.cache.size(); size != 0 {
			t.Errorf("the cache keeps %d bytes of a closed index", size)
		}
		w.agree(`{"page_size": 500}`)
		w.change(30)
		w.agree(`{"page_size": 500, "sort": "name"}`)
		w.flushAll()
		w.check()
	}
}

// A table index is not closed while it is being written.
func TestCloseSkipsIndexBeingWritten(t *testing.T) {
	w := newLargeFixture(t, 102)
	w.agree(`{}`)
	s := w.engine.tableIndex(w.org, things)
	s.writing.Lock()
	if s.close() || !s.loaded.Load() {
		t.Error("closed while it is being written")
	}
	s.writing.Unlock()
	w.whilePaused(func() {
		if !s.close() || s.loaded.Load() || s.isOpen() {
			t.Error("not closed")
		}
	})
}

// With more indexes than Options.MaxOpen, the most recently used ones remain open, and lists of all are
// correct.
func TestLimitOfOpenIndexes(t *testing.T) {
	w := newFixture(t, 103)
	w.close()
	w.opt.maxSmall, w.opt.maxBatchDocs = 1, 100
	w.open()
	ids := map[uuid.UUID][]uuid.UUID{}
	var orgs []uuid.UUID
	for range w.engine.maxOpen + 6 {
		w.org, w.ids = uuid.New(), nil
		w.update(w.insert)
		w.update(w.insert)
		w.flushAll()
		orgs, ids[w.org] = append(orgs, w.org), w.ids
	}
	w.whilePaused(func() {
		for _, org := range orgs {
			w.org, w.ids = org, ids[org]
			w.agree(`{"page_size": 500}`)
		}
		w.engine.enforceLimits()
		for i, org := range orgs {
			if s := w.engine.tableIndex(org, things); s.isOpen() != (i >= len(orgs)-w.engine.maxOpen) {
				t.Errorf("index %d of %d is open: %t", i+1, len(orgs), s.isOpen())
			}
		}
	})
	for _, org := range orgs {
		w.org, w.ids = org, ids[org]
		w.update(w.insert)
		w.agree(`{"page_size": 500}`)
	}
}

// If rows exceed the memory limit, the least recently used table indexes are closed, but never the
// most recently used one.
func TestLimitOfMemory(t *testing.T) {
	w := newFixture(t, 104)
	w.close()
	w.opt.maxSmall = 10_000
	w.open()
	var tables []*tableIndex
	for range 3 {
		w.org, w.ids = uuid.New(), nil
		for range 100 {
			w.update(w.insert)
		}
		w.agree(`{}`)
		s := w.engine.tableIndex(w.org, things)
		if s.overlay.size < 100*100 {
			t.Fatalf("100 rows have an estimated size of %d bytes", s.overlay.size)
		}
		tables = append(tables, s)
	}
	w.whilePaused(func() {
		w.engine.tableIndex(tables[0].org, things) // marks it as used
		w.engine.cacheBytes = tables[0].overlay.size + tables[2].overlay.size
		w.engine.enforceLimits()
		if !tables[0].loaded.Load() || tables[1].loaded.Load() || !tables[2].loaded.Load() {
			t.Error("the wrong table index is closed")
		}
		w.engine.cacheBytes = 1
		w.engine.enforceLimits()
		if !tables[0].loaded.Load() || tables[2].loaded.Load() {
			t.Error("more or less than the most recently used table index is open")
		}
	})
	for _, s := range tables {
		w.org = s.org
		w.agree(`{"page_size": 500}`)
	}
}

// At startup the engine removes files that belong to no organization or kind, and builds a missing
// index without waiting for a list or a change.
func TestReconcile(t *testing.T) {
	w := newLargeFixture(t, 107)
	path := w.path()
	w.close()
	w.must(os.RemoveAll(path))
	gone := filepath.Join(w.opt.Dir, uuid.New().String())
	w.must(os.MkdirAll(filepath.Join(gone, "things"), 0o700))
	w.must(os.WriteFile(filepath.Join(w.opt.Dir, "stray"), nil, 0o600))
	former := filepath.Join(filepath.Dir(path), "former") // the index of a kind that was renamed
	w.must(os.MkdirAll(former, 0o700))
	w.open()
	s := w.engine.tableIndex(w.org, things)
	for {
		w.engine.mu.Lock()
		progress := w.engine.progress
		w.engine.mu.Unlock()
		s.mu.Lock()
		done := s.view != nil && s.view.cursor == end
		s.mu.Unlock()
		if done {
			break
		}
		<-progress
	}
	if _, err := os.Stat(former); !os.IsNotExist(err) {
		t.Errorf("the index of an unknown kind was not removed: %v", err)
	}
	entries, err := os.ReadDir(w.opt.Dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != w.org.String() {
		t.Errorf("the index directory has %v: %v", entries, err)
	}
	w.check()
}

// If so many records are deleted that the table becomes small, the index remains until it is
// rebuilt, and lists are correct.
func TestTableBecomesSmall(t *testing.T) {
	w := newLargeFixture(t, 108)
	for len(w.ids) > 5 {
		w.update(func(tx *store.Tx) error { return w.remove(tx, 0) })
		w.agree(`{"page_size": 500}`)
	}
	w.flushAll()
	w.check()
	w.close()
	w.open()
	w.agree(`{"page_size": 500}`)
	if _, err := w.engine.Reindex(context.Background(), noProgress); err != nil {
		t.Fatal(err)
	}
	if diskIndexExists(w.path()) {
		t.Error("a small table has an index")
	}
	w.agree(`{"page_size": 500}`)
	w.check()
}
