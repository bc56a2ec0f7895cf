package index

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"prospector/store"
)

// isOpen tells whether a tableIndex has an index open.
func (s *tableIndex) isOpen() bool {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.disk != nil
}

// closeIndex closes a tableIndex that the engine may be at work on.
func (w *world) closeIndex(s *tableIndex) {
	s.writing.Lock()
	s.unload()
	s.writing.Unlock()
}

// still calls fn while the engine does nothing by itself.
func (w *world) still(fn func()) {
	e := w.engine
	close(e.stop)
	<-e.stopped
	fn()
	e.stop, e.stopped = make(chan struct{}), make(chan struct{})
	signal(e.wake) // for what it was told of before it stopped
	go e.run()
}

// What was not used for some looks is closed, no earlier, and comes back with the next list.
func TestIdleIsClosed(t *testing.T) {
	for _, small := range []int{20, 10_000} {
		w := grown(t, 101)
		w.close()
		w.opt.maxSmall = small
		w.open()
		w.agree(`{"page_size": 500}`)
		w.flushAll()
		s := w.engine.tableIndex(w.org, things)
		for look := range maxIdleRounds + 1 { // the first one notes the use
			if !s.isLoaded() {
				t.Fatalf("closed after %d looks", look)
			}
			if look == maxIdleRounds/2 {
				w.agree(`{"page_size": 1}`) // a use begins the count anew
				for range maxIdleRounds / 2 {
					w.engine.maintain()
				}
			}
			if look < maxIdleRounds/2 {
				w.engine.maintain()
			}
		}
		w.agree(`{"page_size": 1}`)
		for look := range maxIdleRounds {
			w.engine.maintain()
			if !s.isLoaded() {
				t.Fatalf("closed after %d looks", look)
			}
		}
		w.engine.maintain()
		if s.isLoaded() || s.isOpen() {
			t.Error("still open")
		}
		if size := w.engine.cache.size(); size != 0 {
			t.Errorf("%d bytes are kept of what is closed", size)
		}
		w.agree(`{"page_size": 500}`)
		w.change(30)
		w.agree(`{"page_size": 500, "sort": "name"}`)
		w.flushAll()
		w.check()
	}
}

// A tableIndex that is being written is not closed under the writer.
func TestBusyStays(t *testing.T) {
	w := grown(t, 102)
	w.agree(`{}`)
	s := w.engine.tableIndex(w.org, things)
	s.writing.Lock()
	if s.close() || !s.isLoaded() {
		t.Error("closed")
	}
	s.writing.Unlock()
	w.still(func() {
		if !s.close() || s.isLoaded() || s.isOpen() {
			t.Error("not closed")
		}
	})
}

// TestFit has more organizations than may have their index open, and less memory than their rows
// need: those used last stay, and all answer.
func TestFit(t *testing.T) {
	w := newWorld(t, 103)
	w.close()
	w.opt.maxSmall, w.opt.maxBatchDocs = 1, 100
	w.open()
	ids := map[uuid.UUID][]uuid.UUID{}
	var orgs []uuid.UUID
	for range maxOpen + 6 {
		w.org, w.ids = uuid.New(), nil
		w.update(w.insert)
		w.update(w.insert)
		w.flushAll()
		orgs, ids[w.org] = append(orgs, w.org), w.ids
	}
	w.still(func() {
		for _, org := range orgs {
			w.org, w.ids = org, ids[org]
			w.agree(`{"page_size": 500}`)
		}
		w.engine.enforceLimits()
		for i, org := range orgs {
			if s := w.engine.tableIndex(org, things); s.isOpen() != (i >= len(orgs)-maxOpen) {
				t.Errorf("the %d. of %d is open: %t", i+1, len(orgs), s.isOpen())
			}
		}
	})
	for _, org := range orgs {
		w.org, w.ids = org, ids[org]
		w.update(w.insert)
		w.agree(`{"page_size": 500}`)
	}
}

// Rows that are over the limit of memory are dropped, but for those of the tableIndex used last.
func TestFitMemory(t *testing.T) {
	w := newWorld(t, 104)
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
			t.Fatalf("100 rows take %d bytes", s.overlay.size)
		}
		tables = append(tables, s)
	}
	w.still(func() {
		w.engine.tableIndex(tables[0].org, things) // is used
		w.engine.cacheBytes = tables[0].overlay.size + tables[2].overlay.size
		w.engine.enforceLimits()
		if !tables[0].isLoaded() || tables[1].isLoaded() || !tables[2].isLoaded() {
			t.Error("not the least used one is closed")
		}
		w.engine.cacheBytes = 1
		w.engine.enforceLimits()
		if !tables[0].isLoaded() || tables[2].isLoaded() {
			t.Error("not all but the one used last are closed")
		}
	})
	for _, s := range tables {
		w.org = s.org
		w.agree(`{"page_size": 500}`)
	}
}

// What is in the directory of indexes and of no organization is removed at the start; an index that
// is missing is made without a list or a change.
func TestFindMissing(t *testing.T) {
	w := grown(t, 107)
	path := w.path()
	w.close()
	w.must(os.RemoveAll(path))
	gone := filepath.Join(w.opt.Dir, uuid.New().String())
	w.must(os.MkdirAll(filepath.Join(gone, "things"), 0o700))
	w.must(os.WriteFile(filepath.Join(w.opt.Dir, "stray"), nil, 0o600))
	former := filepath.Join(filepath.Dir(path), "former") // the index of a kind that has another name by now
	w.must(os.MkdirAll(former, 0o700))
	w.open()
	s := w.engine.tableIndex(w.org, things)
	for {
		w.engine.mu.Lock()
		moved := w.engine.progress
		w.engine.mu.Unlock()
		s.mu.Lock()
		done := s.view != nil && s.view.cursor == end
		s.mu.Unlock()
		if done {
			break
		}
		<-moved
	}
	if _, err := os.Stat(former); !os.IsNotExist(err) {
		t.Errorf("an index of no kind is still there: %v", err)
	}
	entries, err := os.ReadDir(w.opt.Dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != w.org.String() {
		t.Errorf("the directory has %v: %v", entries, err)
	}
	w.check()
}

// When so many records are deleted that few are left, the index stays until it is opened next and
// lists are right.
func TestFewAreLeft(t *testing.T) {
	w := grown(t, 108)
	for len(w.ids) > 5 {
		w.update(func(tx *store.Tx) error { return w.remove(tx, 0) })
		w.agree(`{"page_size": 500}`)
	}
	w.flushAll()
	w.check()
	w.close()
	w.open()
	w.agree(`{"page_size": 500}`)
	if _, err := w.engine.Reindex(context.Background(), quiet); err != nil {
		t.Fatal(err)
	}
	if diskIndexExists(w.path()) {
		t.Error("few records have an index")
	}
	w.agree(`{"page_size": 500}`)
	w.check()
}
