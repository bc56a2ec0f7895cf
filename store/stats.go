package store

import (
	"os"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Stats is what a store has done since it was opened, and how it stands.
type Stats struct {
	Commits       Durations // that are on the disk
	FailedCommits uint64
	Updates       uint64 // that wrote something and shared those commits
	Queued        int    // Updates that wait for their commit
	DiskFull      bool   // the last commit found no room: writes are refused
	FileBytes     int64
	FreeBytes     int64 // within the file: they are used again before it grows
	Jobs          JobStats
}

// JobStats are the jobs of all organizations that are not done.
type JobStats struct {
	All int // due and not
	Due int // their time has come; those that run are among them
	// Late is how long the first of the due ones has been due.
	Late time.Duration
}

// counts are the parts of Stats that add up.
type counts struct {
	commits Timings
	failed  atomic.Uint64
	updates atomic.Uint64
}

// Stats tells how the store stands. It reads no record, and of the jobs nothing but when they are due.
func (s *Store) Stats() (Stats, error) {
	st := Stats{Commits: s.counts.commits.Read(), FailedCommits: s.counts.failed.Load(), Updates: s.counts.updates.Load()}
	s.mu.Lock()
	st.Queued, st.DiskFull = len(s.queue), s.full != nil
	s.mu.Unlock()
	file, err := os.Stat(s.path)
	if err != nil {
		return st, err
	}
	st.FileBytes = file.Size()
	err = guard(func() error {
		return s.db.View(func(btx *bolt.Tx) error {
			pages := s.db.Stats()
			// The file grows ahead of its last page.
			st.FreeBytes = int64(pages.FreePageN+pages.PendingPageN)*int64(s.db.Info().PageSize) + max(0, st.FileBytes-btx.Size())
			st.Jobs = jobStats(btx, s.Now())
			return nil
		})
	})
	return st, err
}

func jobStats(btx *bolt.Tx, now time.Time) (st JobStats) {
	c := btx.Bucket(dueBucket).Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		st.All++
		if due, _, _ := readDueKey(k); due.After(now) {
			continue
		} else if st.Due++; st.Due == 1 {
			st.Late = now.Sub(due)
		}
	}
	return st
}
