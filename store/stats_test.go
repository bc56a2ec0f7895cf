package store

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
)

func stats(t testing.TB, s *Store) Stats {
	t.Helper()
	st, err := s.Stats()
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// TestStatsOfCommits: a shared commit counts once. Updates that wrote nothing or were refused do
// not count.
func TestStatsOfCommits(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	before := stats(t, s)
	insert(t, s, orgA, person{Name: "alone"})
	write(t, s, orgA, func(*Tx) error { return nil })
	if err := s.Update(t.Context(), orgA, boss, func(*Tx) error { return errRefused }); err == nil {
		t.Fatal("it was not refused")
	}
	if st := stats(t, s); st.Commits.Count != before.Commits.Count+1 || st.Updates != before.Updates+1 || st.Commits.Sum <= 0 {
		t.Errorf("%+v", st)
	}

	errs := together(t, s, 7, func(i int, tx *Tx) error {
		switch i {
		case 0:
			return nil
		case 1:
			return errRefused
		}
		_, err := people.Insert(tx, tx.NewID(), person{Name: fmt.Sprint(i)})
		return err
	})
	for i, err := range errs {
		if (err != nil) != (i == 1) {
			t.Errorf("update %d: %v", i, err)
		}
	}
	if st := stats(t, s); st.Commits.Count != before.Commits.Count+2 || st.Updates != before.Updates+6 || st.Queued != 0 || st.FailedCommits != 0 {
		t.Errorf("%+v", st)
	}
}

func TestStatsOfTheQueue(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	release, done := hold(t, s), make(chan error, 1)
	go func() { done <- tryInsert(s, orgA, person{Name: "p"}) }()
	waitQueued(s, 1)
	if got := stats(t, s).Queued; got != 1 {
		t.Errorf("%d wait", got)
	}
	release()
	if err := <-done; err != nil || stats(t, s).Queued != 0 {
		t.Errorf("%v, %d wait", err, stats(t, s).Queued)
	}
}

func TestStatsOfAFullDisk(t *testing.T) {
	opt, fail, _ := failingDisk()
	s := open(t, t.TempDir(), opt)
	var failure error = &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	fail.Store(&failure)
	wantCode(t, tryInsert(s, orgA, person{Name: "lost"}), fault.Unavailable)
	if st := stats(t, s); !st.DiskFull || st.FailedCommits != 1 || st.Commits.Count != 0 || st.Updates != 0 {
		t.Errorf("%+v", st)
	}
	fail.Store(nil)
	insert(t, s, orgA, person{Name: "after"})
	if st := stats(t, s); st.DiskFull || st.FailedCommits != 1 || st.Commits.Count != 1 {
		t.Errorf("%+v", st)
	}
}

// TestStatsOfFreeSpace: deleted data is free space within the file, also after the store was
// reopened.
func TestStatsOfTheFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	write(t, s, orgA, func(tx *Tx) error { tx.put("large.gone", []byte("k"), make([]byte, 8<<20)); return nil })
	full := stats(t, s)
	if used := full.FileBytes - full.FreeBytes; used < 8<<20 || used > 9<<20 { // the file grows by more than it needs
		t.Errorf("%d bytes are in use: %+v", used, full)
	}
	write(t, s, orgA, func(tx *Tx) error { tx.delete("large.gone", []byte("k")); return nil })
	empty := stats(t, s)
	file, err := os.Stat(s.path)
	if err != nil || empty.FileBytes != file.Size() {
		t.Errorf("%d bytes, not %v: %v", empty.FileBytes, file, err)
	}
	if freed := empty.FreeBytes - full.FreeBytes; freed < 7<<20 || freed > 9<<20 || empty.FreeBytes > empty.FileBytes {
		t.Errorf("%d bytes were freed: %+v, %+v", freed, full, empty)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if again := stats(t, open(t, dir, Options{})); again.FileBytes != empty.FileBytes || again.FreeBytes < 8<<20 || again.FreeBytes > again.FileBytes {
		t.Errorf("opened again: %+v", again)
	}
}

func TestStatsOfJobs(t *testing.T) {
	clock := newClock()
	s := open(t, t.TempDir(), clock.options())
	if got := stats(t, s).Jobs; got != (JobStats{}) {
		t.Errorf("%+v", got)
	}
	var first uuid.UUID
	for i, org := range []uuid.UUID{orgB, orgA, orgA, orgB} { // due now, in one, two and three hours
		write(t, s, org, func(tx *Tx) error {
			id, err := tx.Enqueue("k", clock.after(i), nil)
			if i == 0 {
				first = id
			}
			return err
		})
	}
	clock.move(90 * time.Minute)
	if got := stats(t, s).Jobs; got != (JobStats{All: 4, Due: 2, Late: 90 * time.Minute}) {
		t.Errorf("%+v", got)
	}
	write(t, s, orgB, func(tx *Tx) error { return tx.Done(first) })
	if got := stats(t, s).Jobs; got != (JobStats{All: 3, Due: 1, Late: 30 * time.Minute}) {
		t.Errorf("%+v", got)
	}
}

func TestTimings(t *testing.T) {
	var times Timings
	for _, d := range []time.Duration{-time.Second, time.Millisecond, time.Millisecond + 1, time.Second, time.Hour} {
		times.Add(d)
	}
	got := times.Read()
	for bound, want := range map[time.Duration]uint64{
		time.Millisecond: 2, 2500 * time.Microsecond: 3, 500 * time.Millisecond: 3, time.Second: 4, 30 * time.Second: 4,
	} {
		if got.Within[bound] != want {
			t.Errorf("%d within %v, not %d", got.Within[bound], bound, want)
		}
	}
	if want := time.Hour + time.Second + 2*time.Millisecond + 1; got.Count != 5 || got.Sum != want || len(got.Within) != len(durationBounds) {
		t.Errorf("%+v", got)
	}
}
