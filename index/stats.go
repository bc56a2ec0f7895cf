package index

import (
	"sync/atomic"
	"time"

	"prospector/store"
)

// Stats describes the current state of the indexes and counts what happened to them since the
// engine was opened.
type Stats struct {
	Lag       uint64        // changes that are not in their index yet, over all table indexes
	MaxLag    uint64        // changes that the table index furthest behind lacks
	OldestLag time.Duration // the age of the oldest change that is not in its index yet
	Dirty     int           // table indexes that have something to flush
	Building  int           // indexes that do not contain all records yet
	Unindexed int           // records that existed when those were created and are not in them yet
	Open      int           // indexes on disk that are open
	Bytes     int           // memory for data derived from indexes and for rows outside of indexes
	MaxBytes  int           // the limit of Bytes
	Builds    uint64        // indexes that were created empty
	Damaged   uint64        // indexes that were found to be damaged and rebuilt
	Failures  uint64        // how often an index could not be written
}

// counts are the parts of Stats that only increase.
type counts struct{ builds, damaged, failures atomic.Uint64 }

// Stats returns the current statistics. It reads no record, and one entry of the change log for
// each index that is behind.
func (e *Engine) Stats() (Stats, error) {
	st := Stats{
		Bytes: e.cache.size(), MaxBytes: e.cacheBytes,
		Builds: e.counts.builds.Load(), Damaged: e.counts.damaged.Load(), Failures: e.counts.failures.Load(),
	}
	for _, s := range e.tableIndexes() {
		open, size := s.usage()
		st.Open, st.Bytes = st.Open+open, st.Bytes+size
		building := s.building()
		indexed, lag := s.behind()
		if building {
			st.Building++
			st.Unindexed += int(max(0, s.unindexed.Load()))
		}
		if building || lag > 0 || e.isDirty(s) {
			st.Dirty++
		}
		if lag == 0 {
			continue
		}
		st.Lag, st.MaxLag = st.Lag+lag, max(st.MaxLag, lag)
		age, err := s.ageAfter(indexed)
		if err != nil {
			return st, err
		}
		st.OldestLag = max(st.OldestLag, age)
	}
	return st, nil
}

// ageAfter returns the age of the first change after the one with the number.
func (s *tableIndex) ageAfter(number uint64) (age time.Duration, err error) {
	err = s.engine.store.View(s.org, func(tx *store.Tx) error {
		return tx.Changes(s.kind.table, number, func(c store.Change) (bool, error) {
			age = tx.Now().Sub(c.At)
			return false, nil
		})
	})
	return age, err
}

// usage returns the number of open indexes on disk, 0 or 1, and the memory in use outside of the
// cache.
func (s *tableIndex) usage() (open, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.overlay != nil {
		size = s.overlay.size
	}
	if s.view != nil {
		size += s.view.bytes()
		if s.view.bleveSnapshot != nil { // else the index could not be created
			open = 1
		}
	}
	return open, size
}
