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

// listAgrees is agree through the engine, which mends what it finds damaged. Nothing may be written
// meanwhile.
func (w *world) listAgrees(body string) {
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
		w.t.Fatalf("%s\nhas %d: %s\nnot %d: %s", body, got.Total, got.Records, want.Total, want.Records)
	}
}

// TestRestarts closes and opens the engine over and over, in whatever state its index is, with
// plenty of memory and with none: columns are dropped then and come back, and the tableIndex itself
// is closed and opened.
func TestRestarts(t *testing.T) {
	for i, bytes := range []int{1 << 20, 10_000, 1} {
		t.Run(fmt.Sprint(bytes), func(t *testing.T) {
			w := newWorld(t, 31+uint64(i))
			w.close()
			w.opt.CacheBytes = bytes
			w.open()
			for range 25 {
				w.change(1 + w.rand.IntN(40))
				if w.rand.IntN(3) == 0 {
					w.flushAll()
				}
				if w.rand.IntN(8) == 0 {
					if n, err := w.engine.Reindex(context.Background(), quiet); err != nil || n != len(w.ids) {
						t.Errorf("made %d of %d anew: %v", n, len(w.ids), err)
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
				t.Errorf("keeps %d bytes of at most 1", size)
			}
		})
	}
}

// A closed engine has written everything down: the next one has nothing to follow.
func TestCloseWritesDown(t *testing.T) {
	w := grown(t, 34)
	w.change(100)
	w.close()
	w.open()
	s := w.engine.tableIndex(w.org, things)
	if err := s.load(); err != nil {
		t.Fatal(err)
	}
	if s.disk == nil || s.disk.state.Cursor != end || s.disk.state.Number != s.lastChange.Load() || s.lastChange.Load() == 0 {
		t.Errorf("the index is not at change %d: %+v", s.lastChange.Load(), s.disk)
	}
	w.check()
}

// An index that is half made goes on where it was.
func TestRestartInTheMiddle(t *testing.T) {
	w := newWorld(t, 35)
	w.change(19)
	s := w.engine.tableIndex(w.org, things)
	for len(w.ids) < 100 {
		w.change(10)
	}
	w.still(func() {
		if err := s.rebuildBecause(fmt.Errorf("asked for")); err != nil {
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
				t.Fatalf("from %s to %s", cursor, s.disk.state.Cursor)
			}
			cursor = s.disk.state.Cursor
			w.agree(w.body())
			w.change(3) // above the cursor and below it
			w.closeIndex(s)
			if err := s.load(); err != nil {
				t.Fatal(err)
			}
			if s.disk.state.Cursor != cursor {
				t.Fatalf("began anew at %s", s.disk.state.Cursor)
			}
			w.agree(`{"page_size": 500}`)
		}
	})
	w.check()
}

// An index that was half made when the process ended is finished when it is opened, without waiting
// for a change.
func TestHalfMadeIsFinished(t *testing.T) {
	w := grown(t, 61)
	w.change(100)
	w.flushAll()
	s := w.engine.tableIndex(w.org, things)
	path, aside := w.path(), filepath.Join(t.TempDir(), "aside")
	w.still(func() {
		w.must(s.rebuildBecause(errors.New("asked for")))
		if more, err := s.flush(); !more || err != nil {
			t.Fatal(more, err)
		}
		w.closeIndex(s)
		w.copyDir(path, aside) // what a kill leaves
	})
	w.close()
	w.copyDir(aside, path)
	w.open()
	w.listAgrees(`{}`)
	s = w.engine.tableIndex(w.org, things)
	for {
		w.engine.mu.Lock()
		moved := w.engine.progress
		w.engine.mu.Unlock()
		s.mu.Lock()
		cursor := s.view.cursor
		s.mu.Unlock()
		if cursor == end {
			return
		}
		<-moved
	}
}

// TestRestoredStore puts an older file of the store under an index that is ahead of it.
func TestRestoredStore(t *testing.T) {
	for i, after := range []int{0, 5, 60, 300} {
		w := newWorld(t, 41+uint64(i))
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
			w.change(after) // other changes under the same numbers, fewer, as many or more
		}
		w.listAgrees(`{"page": 400, "page_size": 500}`) // the number alone: a record that is not there would tell
		w.listAgrees(`{"page_size": 500}`)
		for range 20 {
			w.listAgrees(w.body())
		}
		w.flushAll()
		w.listAgrees(`{"page_size": 500, "sort": "name"}`)
		w.check()
	}
}

// TestTrimmedLog brings an index back of which the change log no longer knows what it has missed.
func TestTrimmedLog(t *testing.T) {
	w := newWorld(t, 51)
	many := func() { // changes that no record of before has, so that none of those is read for another reason
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
	outdate := func() { // the index is as it was before changes that the log no longer has
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

	// So it is for rows that were in memory for so long.
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

	// And for an index that finds it while it follows.
	w.close()
	w.opt.maxSmall = 20
	w.open()
	w.flushAll()
	outdate()
	w.flushAll()
	w.check()
	w.listAgrees(`{"page_size": 500}`)
}

// A batch ends also where its records are large, so that building takes no more memory for them.
func TestBatchesOfLargeRecords(t *testing.T) {
	w := newWorld(t, 36)
	w.many(40, thing{Remark: shape.Text(strings.Repeat("long words ", maxBatchBytes/4/len("long words ")))})
	s := w.engine.tableIndex(w.org, things)
	w.still(func() {
		w.must(s.rebuildBecause(errors.New("asked for")))
		for more, before := true, 0; more; before = s.view.count {
			var err error
			more, err = s.flush()
			w.must(err)
			if got := s.view.count - before; got > 5 {
				t.Errorf("%d large records came at once", got)
			}
		}
	})
	w.check()
	w.agree(`{"search": "wor", "page_size": 500}`)
}
