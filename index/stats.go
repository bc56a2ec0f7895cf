package index

import (
	"sync/atomic"
	"time"

	"prospector/store"
)

// Stats is how the indexes stand, and what became of them since the engine was opened.
type Stats struct {
	Lag       uint64        // changes that are not in their index yet, over all kinds of all organizations
	MostLag   uint64        // those of the kind of an organization that has most of them
	OldestLag time.Duration // how long ago the first of them was made
	Dirty     int           // kinds of organizations that have something to write to their index
	Building  int           // indexes that do not hold all records yet
	Open      int           // indexes
	Bytes     int           // of memory for what lists keep ready
	MostBytes int           // what those may be
	Builds    uint64        // indexes that were begun from nothing
	Damaged   uint64        // indexes that were found wrong, and made anew
	Failures  uint64        // how often an index could not be kept
}

// counts are the parts of Stats that add up.
type counts struct{ builds, damaged, failures atomic.Uint64 }

// Stats tells how the indexes stand. It reads no record, and of the change log one entry for each index that is behind.
func (e *Engine) Stats() (Stats, error) {
	st := Stats{
		Bytes: e.cache.size(), MostBytes: e.limit,
		Builds: e.counts.builds.Load(), Damaged: e.counts.damaged.Load(), Failures: e.counts.failures.Load(),
	}
	for _, s := range e.all() {
		open, size := s.takes()
		st.Open, st.Bytes = st.Open+open, st.Bytes+size
		building := s.building()
		indexed, lag := s.behind()
		if building {
			st.Building++
		}
		if building || lag > 0 || e.isDirty(s) {
			st.Dirty++
		}
		if lag == 0 {
			continue
		}
		st.Lag, st.MostLag = st.Lag+lag, max(st.MostLag, lag)
		age, err := s.ageAfter(indexed)
		if err != nil {
			return st, err
		}
		st.OldestLag = max(st.OldestLag, age)
	}
	return st, nil
}

func (e *Engine) isDirty(s *shelf) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, dirty := e.dirty[s]
	return dirty
}

// ageAfter is how long ago the change was made that comes after the one of this number.
func (s *shelf) ageAfter(number uint64) (age time.Duration, err error) {
	err = s.engine.store.View(s.org, func(tx *store.Tx) error {
		return tx.Changes(s.kind.table, number, func(c store.Change) (bool, error) {
			age = tx.Now().Sub(c.At)
			return false, nil
		})
	})
	return age, err
}

// takes tells whether an index is open, as 0 or 1, and how much memory the shelf takes beside the cache.
func (s *shelf) takes() (open, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows != nil {
		size = s.rows.size
	}
	if s.view != nil {
		size += s.view.bytes()
		if s.view.snapshot != nil { // else it could not be made
			open = 1
		}
	}
	return open, size
}
