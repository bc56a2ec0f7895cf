package index

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/store"
)

func (w *fixture) stats() Stats {
	w.t.Helper()
	st, err := w.engine.Stats()
	if err != nil {
		w.t.Fatal(err)
	}
	return st
}

// wantLag reports an error unless the statistics have the given lag.
func (w *fixture) wantLag(lag, highest uint64, oldest time.Duration, dirty int) {
	w.t.Helper()
	if st := w.stats(); st.Lag != lag || st.MaxLag != highest || st.OldestLag != oldest || st.Dirty != dirty {
		w.t.Errorf("want %d, %d, %v, %d: %+v", lag, highest, oldest, dirty, st)
	}
}

// While the engine is paused, one organization writes a second after the other.
func TestStatsLag(t *testing.T) {
	w := newFixture(t, 130)
	w.close()
	var now atomic.Int64
	now.Store(time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC).UnixMilli())
	w.clock = func() time.Time { return time.UnixMilli(now.Load()).UTC() }
	w.open()
	insert := func(n int) {
		for range n {
			w.update(w.insert)
		}
		now.Add(1000)
	}
	first, second := w.org, uuid.New()
	for _, org := range []uuid.UUID{first, second} {
		w.org = org
		insert(30)
		w.flushAll()
	}
	w.whilePaused(func() {
		w.engine.flushDirty(nil, true)
		w.wantLag(0, 0, 0, 0)
		w.org = first
		insert(2)
		w.wantLag(2, 2, time.Second, 1)
		w.org = second
		insert(3)
		w.wantLag(5, 3, 2*time.Second, 2)
		w.org = first
		w.flushAll()
		w.wantLag(3, 3, time.Second, 2) // the engine has not noticed the flush yet
		w.engine.flushDirty(nil, true)
		w.wantLag(0, 0, 0, 0)
	})
}

// The statistics count an index that is built, rebuilt, closed, damaged, and cannot be created.
func TestStatsBuilds(t *testing.T) {
	w := newFixture(t, 131)
	counts := func(what string, open int, builds, damaged, failures uint64) {
		t.Helper()
		if st := w.stats(); st.Open != open || st.Builds != builds || st.Damaged != damaged || st.Failures != failures {
			t.Errorf("%s: want %d, %d, %d, %d: %+v", what, open, builds, damaged, failures, st)
		}
	}
	w.flushAll()
	counts("small table", 0, 0, 0, 0)
	w.update(func(tx *store.Tx) (err error) {
		for range 100 {
			if err == nil {
				err = w.insert(tx)
			}
		}
		return err
	})
	w.flushAll()
	counts("built", 1, 1, 0, 0)
	if st := w.stats(); st.Bytes < 100*20 || st.MaxBytes != w.opt.CacheBytes || st.Building != 0 {
		t.Errorf("%+v", st)
	}
	s := w.engine.tableIndex(w.org, things)
	w.whilePaused(func() {
		w.must(s.rebuildBecause(nil))
		clear(w.engine.dirty) // as during flushDirty
		if st := w.stats(); st.Building != 1 || st.Dirty != 1 {
			t.Errorf("during the build: %+v", st)
		}
		w.flushAll()
		counts("rebuilt", 1, 2, 0, 0)
		s.close()
		counts("closed", 0, 2, 0, 0)
		w.must(os.Truncate(w.file(s.path, rootFile), 100))
		w.listAgrees(`{}`)
		counts("damaged", 1, 3, 1, 0)
		w.flushAll()
		s.close()
		w.must(os.RemoveAll(filepath.Dir(s.path)))
		w.must(os.WriteFile(filepath.Dir(s.path), []byte("x"), 0o600)) // the index can be neither opened nor created
		w.listAgrees(`{}`)
		counts("cannot be created", 0, 3, 1, 1)
		w.must(os.Remove(filepath.Dir(s.path)))
	})
}
