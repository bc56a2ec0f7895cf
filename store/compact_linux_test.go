package store

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// opened returns how often this process has the file open.
func opened(t *testing.T, file os.FileInfo) (n int) {
	t.Helper()
	handles, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, handle := range handles {
		if info, err := os.Stat(filepath.Join("/proc/self/fd", handle.Name())); err == nil && os.SameFile(info, file) {
			n++
		}
	}
	return n
}

// TestCompactTwice: while a compaction waits for another one, that ends, and a server writes to the new file. The
// compaction that has waited takes the new file, not the one that it waited for.
func TestCompactTwice(t *testing.T) {
	dir, newer := t.TempDir(), t.TempDir()
	s := open(t, dir, Options{})
	insert(t, s, orgA, person{Name: "before", Email: "before@x"})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(filepath.Join(dir, FileName))
	if err == nil {
		err = os.WriteFile(filepath.Join(newer, FileName), body, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s = open(t, newer, Options{})
	insert(t, s, orgA, person{Name: "after", Email: "after@x"})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	first, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	file, err := first.Stat()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- CompactInPlace(dir, filepath.Join(dir, "work")) }()
	for opened(t, file) < 2 {
		runtime.Gosched()
	}
	if err := os.Rename(filepath.Join(newer, FileName), filepath.Join(dir, FileName)); err != nil {
		t.Fatal(err)
	}
	unlock(first)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := names(t, open(t, dir, Options{}), orgA); got != "before after" {
		t.Errorf("there is %q", got)
	}
}

// TestCompactAfterKill: what a killed compaction left is replaced, and nothing is left. A store that is in use stays as
// it is, and so does the directory in which another compaction may be working.
func TestCompactAfterKill(t *testing.T) {
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	s := open(t, dir, Options{})
	insert(t, s, orgA, person{Name: "before", Email: "before@x"})
	if err := errors.Join(os.Mkdir(work, 0o700), os.WriteFile(filepath.Join(work, FileName), []byte(strings.Repeat("half", 5000)), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := CompactInPlace(dir, work); !errors.Is(err, ErrLocked) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(work); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := CompactInPlace(dir, work); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("there are %v, %v", left, err)
	}
	if got := names(t, open(t, dir, Options{}), orgA); got != "before" {
		t.Errorf("there is %q", got)
	}
}
