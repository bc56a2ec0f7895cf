package store

import (
	"errors"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Stats are the counters of a store since it was opened, and its current state.
type Stats struct {
	Commits       Durations // successful ones
	FailedCommits uint64
	Updates       uint64 // that wrote something
	Queued        int    // Updates that wait for their commit
	DiskFull      bool   // the last commit failed because the disk is full
	OutOfPlace    bool   // the file was removed, replaced or truncated; see InPlace
	FileBytes     int64
	FreeBytes     int64 // within the file; they are reused before it grows
	// DamagedRecords is the number of unreadable records that were found since the store was opened.
	DamagedRecords int
	Jobs           JobStats
}

// JobStats counts the unfinished jobs of all organizations.
type JobStats struct {
	All int // due or not
	Due int // including running ones
	// Late is how long the oldest due job has been due.
	Late time.Duration
}

// counts are the counters behind Stats.
type counts struct {
	commits Timings
	failed  atomic.Uint64
	updates atomic.Uint64
}

// Stats returns the current statistics. It reads no records, and only the due times of jobs. Of a file that was
// truncated it knows no jobs.
func (s *Store) Stats() (Stats, error) {
	st := Stats{
		Commits: s.counts.commits.Read(), FailedCommits: s.counts.failed.Load(), Updates: s.counts.updates.Load(),
		DamagedRecords: s.DamagedRecords(),
	}
	s.mu.Lock()
	st.Queued, st.DiskFull = s.queue.Len(), s.full != nil
	s.mu.Unlock()
	if err := s.InPlace(); errors.Is(err, errClosed) {
		return st, err
	}
	st.OutOfPlace = s.isOutOfPlace()
	file, err := s.handle.Stat() // also if it has another path now
	if err != nil {
		return st, err
	}
	if st.FileBytes = file.Size(); s.fileState.truncated.Load() {
		return st, nil
	}
	err = s.read(func(btx *bolt.Tx) error {
		pages := s.db.Stats()
		// The file grows ahead of its last page.
		st.FreeBytes = int64(pages.FreePageN+pages.PendingPageN)*int64(s.db.Info().PageSize) + max(0, st.FileBytes-btx.Size())
		st.Jobs = jobStats(btx, s.Now())
		return nil
	})
	return st, err
}

func jobStats(btx *bolt.Tx, now time.Time) (st JobStats) {
	c := btx.Bucket(dueBucket).Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		st.All++
		if len(k) != dueKeySize {
			continue // noise, which check reports
		}
		if due, _, _ := readDueKey(k); due.After(now) {
			continue
		} else if st.Due++; st.Due == 1 {
			st.Late = now.Sub(due)
		}
	}
	return st
}
