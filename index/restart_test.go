package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

// listAgrees compares a list with the predicate. Unlike agree it goes through Engine.List, which
// repairs a damaged index. Nothing may be written concurrently.
func (w *fixture) listAgrees(body string) {
	w.t.Helper()
	plan, got := w.list(body)
	var want Page
	err := w.store.View(w.org, func(tx *store.Tx) (err error) {
		want, err = reference(tx, plan)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if got.Total != want.Total || !slices.EqualFunc(got.Records, want.Records, slices.Equal) {
		w.t.Fatalf("%s\nhas %d: %s\nwant %d: %s", body, got.Total, got.Records, want.Total, want.Records)
	}
}

// The engine is closed and opened many times, whatever state its index is in. With little memory,
// columns are evicted and table indexes are closed all the time.
func TestRestarts(t *testing.T) {
	for i, bytes := range []int{1 << 20, 10_000, 1} {
		t.Run(fmt.Sprint(bytes), func(t *testing.T) {
			w := newFixture(t, 31+uint64(i))
			w.close()
			w.opt.CacheBytes = bytes
			w.open()
			for range soaked(100, 15, 15) {
				w.change(1 + w.rand.IntN(40))
				if w.rand.IntN(3) == 0 {
					w.flushAll()
				}
				if w.rand.IntN(8) == 0 {
					if n, err := w.engine.Reindex(context.Background(), noProgress); err != nil || n != len(w.ids) {
						t.Errorf("rebuilt %d of %d records: %v", n, len(w.ids), err)
					}
				}
				if w.rand.IntN(2) == 0 {
					w.close()
					w.open()
				}
				for range 8 {
					w.agree(w.body())
				}
			}
			w.check()
			w.flushAll()
			w.check()
			if size := w.engine.cache.size(); bytes == 1 && size > 100_000 {
				t.Errorf("the cache has %d bytes, with a limit of 1", size)
			}
		})
	}
}

// Close flushes all changes: after the next open there is nothing to flush.
func TestCloseFlushes(t *testing.T) {
	w := newLargeFixture(t, 34)
	w.change(100)
	w.close()
	w.open()
	s := w.engine.tableIndex(w.org, things)
	if err := s.load(); err != nil {
		t.Fatal(err)
	}
	last := s.lastChange.Load()
	if last == 0 || s.disk == nil || s.disk.state.Cursor != end || s.disk.state.Number != last {
		t.Errorf("the index is not at change %d: %+v", last, s.disk)
	}
	w.check()
}

// Building an index continues where it was when the index is closed and opened.
func TestBuildContinuesAfterReopen(t *testing.T) {
	w := newFixture(t, 35)
	w.change(19)
	s := w.engine.tableIndex(w.org, things)
	for len(w.ids) < 100 {
		w.change(10)
	}
	w.whilePaused(func() {
		if err := s.rebuildBecause(errors.New("test")); err != nil {
			t.Fatal(err)
		}
		cursor := uuid.Nil
		for {
			more, err := s.flush()
			if err != nil {
				t.Fatal(err)
			}
			if !more {
				break
			}
			if s.disk.state.Cursor == uuid.Nil || cursor.String() >= s.disk.state.Cursor.String() {
				t.Fatalf("the cursor moved from %s to %s", cursor, s.disk.state.Cursor)
			}
			cursor = s.disk.state.Cursor
			w.agree(w.body())
			w.change(3) // above the cursor and below it
			w.unloadIndex(s)
			if err := s.load(); err != nil {
				t.Fatal(err)
			}
			if s.disk.state.Cursor != cursor {
				t.Fatalf("the cursor is %s after reopening, want %s", s.disk.state.Cursor, cursor)
			}
			w.agree(`{"page_size": 500}`)
		}
	})
	w.check()
}

// An index that was half built when the process ended is completed when it is opened, without
// waiting for a change.
func TestBuildIsCompletedAfterOpen(t *testing.T) {
	w := newLargeFixture(t, 61)
	w.change(100)
	w.flushAll()
	s := w.engine.tableIndex(w.org, things)
	path, aside := w.path(), filepath.Join(t.TempDir(), "aside")
	w.whilePaused(func() {
		w.must(s.rebuildBecause(errors.New("test")))
		if more, err := s.flush(); !more || err != nil {
			t.Fatal(more, err)
		}
		w.unloadIndex(s)
		w.copyDir(path, aside) // what a killed process leaves
	})
	w.close()
	w.copyDir(aside, path)
	w.open()
	w.listAgrees(`{}`)
	s = w.engine.tableIndex(w.org, things)
	for {
		w.engine.mu.Lock()
		progress := w.engine.progress
		w.engine.mu.Unlock()
		s.mu.Lock()
		cursor := s.view.cursor
		s.mu.Unlock()
		if cursor == end {
			return
		}
		<-progress
	}
}

// A restored store is older than its index. Lists are correct, whether fewer, as many or more
// changes follow than the index has seen.
func TestRestoredStore(t *testing.T) {
	for i, after := range []int{0, 5, 60, 300} {
		w := newFixture(t, 41+uint64(i))
		for range 6 {
			w.change(30)
		}
		w.flushAll()
		file, ids := filepath.Join(w.dir, store.FileName), slices.Clone(w.ids)
		w.close()
		older, err := os.ReadFile(file)
		w.must(err)
		w.open()
		for range 6 {
			w.change(10)
		}
		w.flushAll()
		w.close()
		w.must(os.WriteFile(file, older, 0o600))
		w.ids = ids
		w.open()
		if after > 0 {
			w.change(after) // other changes with the same numbers
		}
		// The total only, because reading a missing record would reveal the damage.
		w.listAgrees(`{"page": 400, "page_size": 500}`)
		w.listAgrees(`{"page_size": 500}`)
		for range 20 {
			w.listAgrees(w.body())
		}
		w.flushAll()
		w.listAgrees(`{"page_size": 500, "sort": "name"}`)
		w.check()
	}
}

// An old index is brought back, and the change log no longer has the changes that the index lacks.
func TestTrimmedChangeLog(t *testing.T) {
	w := newFixture(t, 51)
	many := func() { // inserts only, so that no earlier record is read for another reason
		w.update(func(tx *store.Tx) error {
			for range 200 {
				if err := w.insert(tx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	now := time.Now()
	w.close()
	w.clock = func() time.Time { return now }
	w.open()
	for len(w.ids) < 40 {
		w.change(30)
	}
	w.flushAll()
	path, aside := w.path(), filepath.Join(t.TempDir(), "aside")
	outdate := func() { // replace the index by one that lacks trimmed changes
		w.close()
		w.copyDir(path, aside)
		w.open()
		w.change(40)
		now = now.Add(91 * 24 * time.Hour)
		many()
		w.close()
		w.copyDir(aside, path)
		w.open()
	}
	outdate()
	w.listAgrees(`{"page_size": 500}`)
	for range 10 {
		w.listAgrees(w.body())
	}
	w.flushAll()
	w.check()

	// The same for rows in memory.
	w.close()
	w.must(os.RemoveAll(path))
	w.opt.maxSmall = 10_000
	w.open()
	w.listAgrees(`{"page_size": 500}`)
	w.change(40)
	now = now.Add(91 * 24 * time.Hour)
	many()
	w.listAgrees(`{"page": 400, "page_size": 500}`)
	w.listAgrees(`{"page_size": 500}`)

	// The same for an index that finds the gap during a flush.
	w.close()
	w.opt.maxSmall = 20
	w.open()
	w.flushAll()
	outdate()
	w.flushAll()
	w.check()
	w.listAgrees(`{"page_size": 500}`)
}

// A batch of large records has fewer of them, so that building needs no more memory.
func TestLimitOfBatchBytes(t *testing.T) {
	w := newFixture(t, 36)
	w.insertMany(40, thing{Remark: shape.Text(strings.Repeat("long words ", maxBatchBytes/4/len("long words ")))})
	s := w.engine.tableIndex(w.org, things)
	w.whilePaused(func() {
		w.must(s.rebuildBecause(errors.New("test")))
		for more, before := true, 0; more; before = s.view.count {
			var err error
			more, err = s.flush()
			w.must(err)
			if got := s.view.count - before; got > 5 {
				t.Errorf("a batch has %d large records", got)
			}
		}
	})
	w.check()
	w.agree(`{"search": "wor", "page_size": 500}`)
}
