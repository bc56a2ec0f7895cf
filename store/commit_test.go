package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"prospector/internal/fault"
)

// failingDisk returns options with which commits fail with the error in fail, and counts the calls
// of Fatal.
func failingDisk() (opt Options, fail *atomic.Pointer[error], fatal *atomic.Int32) {
	fail, fatal = &atomic.Pointer[error]{}, &atomic.Int32{}
	opt.commit = func(btx *bolt.Tx) error {
		if err := fail.Load(); err != nil {
			_ = btx.Rollback() // as bbolt does before it returns the error
			return *err
		}
		return btx.Commit()
	}
	opt.Fatal = func(error) { fatal.Add(1) }
	return opt, fail, fatal
}

func tryInsert(s *Store, org uuid.UUID, p person) error {
	return s.Update(context.Background(), org, boss, func(tx *Tx) error {
		_, err := people.Insert(tx, tx.NewID(), p)
		return err
	})
}

func TestAFullDisk(t *testing.T) {
	for name, failure := range map[string]error{
		"no space":   &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC},
		"quota":      &fs.PathError{Op: "write", Path: "x", Err: syscall.EDQUOT},
		"file limit": &fs.PathError{Op: "write", Path: "x", Err: syscall.EFBIG},
		"growing":    fmt.Errorf("file resize error: %s", syscall.ENOSPC),
	} {
		t.Run(name, func(t *testing.T) {
			opt, fail, fatal := failingDisk()
			s := open(t, t.TempDir(), opt)
			insert(t, s, orgA, person{Name: "before", Email: "before@x"})
			if err := s.Writable(t.Context()); err != nil {
				t.Fatal(err)
			}
			before, _ := s.Dump(orgA)

			fail.Store(&failure)
			wantCode(t, tryInsert(s, orgA, person{Name: "lost", Email: "lost@x"}), fault.Unavailable)
			wantCode(t, s.Writable(t.Context()), fault.Unavailable)
			if after, err := s.Dump(orgA); after != before || err != nil {
				t.Errorf("something was changed: %v\n%s", err, after)
			}

			fail.Store(nil)
			if err := s.Writable(t.Context()); err != nil {
				t.Errorf("there is room again: %v", err)
			}
			insert(t, s, orgA, person{Name: "after", Email: "lost@x"})
			if got := names(t, s, orgA); got != "before after" || fatal.Load() != 0 {
				t.Errorf("there is %q, fatal %d", got, fatal.Load())
			}
			if found := problems(t, s, orgA); found != nil {
				t.Error(found)
			}
		})
	}
}

// TestDiskStaysFullUntilWritten: refused and empty Updates commit nothing, so they do not end the
// state.
func TestDiskStaysFullUntilWritten(t *testing.T) {
	opt, fail, _ := failingDisk()
	s := open(t, t.TempDir(), opt)
	var failure error = &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	fail.Store(&failure)
	wantCode(t, tryInsert(s, orgA, person{Name: "p"}), fault.Unavailable)
	write(t, s, orgA, func(*Tx) error { return nil })
	wantCode(t, s.Writable(t.Context()), fault.Unavailable)
}

// TestInvalidKey: a key that bbolt refuses fails one caller. It does not end the process or affect
// the shared commit.
func TestInvalidKey(t *testing.T) {
	s := open(t, t.TempDir(), Options{Fatal: func(err error) { t.Errorf("fatal: %v", err) }})
	errs := together(t, s, 5, func(i int, tx *Tx) error {
		if i == 2 {
			tx.put("x", nil, []byte("a value without a key"))
		}
		_, err := people.Insert(tx, tx.NewID(), person{Name: "p"})
		return err
	})
	for i, err := range errs {
		if (err == nil) != (i != 2) {
			t.Errorf("update %d: %v", i, err)
		}
	}
}

func TestAFullDiskFailsAllThatShareTheCommit(t *testing.T) {
	opt, fail, _ := failingDisk()
	s := open(t, t.TempDir(), opt)
	var failure error = &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	fail.Store(&failure)
	errs := together(t, s, 10, func(i int, tx *Tx) error {
		_, err := people.Insert(tx, tx.NewID(), person{Name: "p"})
		return err
	})
	for _, err := range errs {
		wantCode(t, err, fault.Unavailable)
	}
	if got := names(t, s, orgA); got != "" {
		t.Errorf("there is %q", got)
	}
}

func TestAnUnknownOutcomeIsFatal(t *testing.T) {
	for name, failure := range map[string]error{
		"fsync":          syscall.EIO,
		"fsync, no room": syscall.ENOSPC, // with delayed allocation the error comes late, and the state on disk is unknown
		"growing, sync":  &fs.PathError{Op: "sync", Path: "x", Err: syscall.ENOSPC},
		"write":          &fs.PathError{Op: "write", Path: "x", Err: syscall.EIO},
		"growing":        fmt.Errorf("file sync error: %s", syscall.EIO),
	} {
		t.Run(name, func(t *testing.T) {
			opt, fail, fatal := failingDisk()
			s := open(t, t.TempDir(), opt)
			insert(t, s, orgA, person{Name: "before"})
			fail.Store(&failure)
			errs := together(t, s, 3, func(i int, tx *Tx) error {
				_, err := people.Insert(tx, tx.NewID(), person{Name: "unknown"})
				return err
			})
			for _, err := range errs {
				wantCode(t, err, fault.Unavailable)
			}
			if fatal.Load() != 1 {
				t.Errorf("fatal was called %d times", fatal.Load())
			}
			fail.Store(nil)
			wantCode(t, tryInsert(s, orgA, person{Name: "later"}), fault.Unavailable)
			wantCode(t, s.Writable(t.Context()), fault.Unavailable)
			if got := names(t, s, orgA); got != "before" {
				t.Errorf("reads: %q", got)
			}
		})
	}
}

// TestFailureAfterCommitIsFatal: bbolt may report a failure of the last fsync although the new
// state is already visible.
func TestFailureAfterCommitIsFatal(t *testing.T) {
	var fatal atomic.Int32
	failure := error(&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})
	s := open(t, t.TempDir(), Options{
		commit: func(btx *bolt.Tx) error { return errors.Join(btx.Commit(), failure) },
		Fatal:  func(error) { fatal.Add(1) },
	})
	wantCode(t, tryInsert(s, orgA, person{Name: "p"}), fault.Unavailable)
	if fatal.Load() != 1 {
		t.Error("it was taken for a clean failure although the write is visible")
	}
}

func TestMaxSize(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{MaxSize: 1 << 20, Fatal: func(err error) { t.Errorf("fatal: %v", err) }})
	big := strings.Repeat("x", 50_000)
	var err error
	written := 0
	for ; err == nil && written < 100; written++ {
		err = tryInsert(s, orgA, person{Name: big, Email: fmt.Sprint(written)})
	}
	written--
	wantCode(t, err, fault.Unavailable)
	wantCode(t, tryInsert(s, orgA, person{Name: strings.Repeat(big, 10)}), fault.Unavailable)
	count := func(s *Store) (n int) {
		read(t, s, orgA, func(tx *Tx) error {
			n = people.Count(tx)
			return nil
		})
		return n
	}
	if got := count(s); got != written || written == 0 {
		t.Errorf("%d records, %d were written", got, written)
	}
	if found := problems(t, s, orgA); found != nil {
		t.Error(found)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{})
	insert(t, s, orgA, person{Name: big})
	if got := count(s); got != written+1 {
		t.Errorf("%d records after there was room again", got)
	}
}

// TestFileSizeLimit lets the kernel refuse writes. The limit applies to a process, so a child runs
// under it.
func TestFileSizeLimit(t *testing.T) {
	child := exec.Command(os.Args[0], t.TempDir())
	child.Env = append(os.Environ(), childEnv+"=limited")
	out, err := child.Output()
	if err != nil || string(out) != "ok\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

func limitedChild(dir string) {
	signal.Ignore(syscall.SIGXFSZ) // the signal would end the process before write returns
	check := func(what string, ok bool, args ...any) {
		if !ok {
			fmt.Println(append([]any{what}, args...)...)
			os.Exit(1)
		}
	}
	s, err := Open(dir, Options{})
	check("open", err == nil, err)
	var limit syscall.Rlimit
	check("getrlimit", syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit) == nil)
	setLimit := func(size uint64) {
		err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: limit.Max})
		check("setrlimit", err == nil, err)
	}
	p := person{Name: strings.Repeat("x", 100_000)}
	count := func() (n int) {
		err := s.View(orgA, func(tx *Tx) error { n = people.Count(tx); return nil })
		check("count", err == nil, err)
		return n
	}
	check("first", tryInsert(s, orgA, p) == nil)

	// The file is longer than its used part: a limit below its end makes a write fail, one at its
	// end makes growing fail.
	info, err := os.Stat(s.path)
	check("size", err == nil, err)
	for _, at := range []uint64{200_000, uint64(info.Size())} {
		setLimit(at)
		var err error
		before := count()
		for n := 0; n < 500 && err == nil; n++ {
			before = count()
			err = tryInsert(s, orgA, p)
		}
		check("refused", fault.CodeOf(err) == fault.Unavailable, at, err)
		check("nothing changed", count() == before, before, count())
		huge := person{Name: strings.Repeat(p.Name, 300)}
		check("still refused", fault.CodeOf(tryInsert(s, orgA, huge)) == fault.Unavailable, at)
		setLimit(limit.Cur)
		check("writable", s.Writable(context.Background()) == nil)
		check("again", tryInsert(s, orgA, p) == nil)
		check("one more", count() == before+1, before, count())
	}
	check("close", s.Close() == nil)
	s, err = Open(dir, Options{})
	check("open again", err == nil, err)
	err = s.View(orgA, func(tx *Tx) error {
		return people.Verify(tx, func(_ bool, format string, args ...any) { check("verify", false, fmt.Sprintf(format, args...)) })
	})
	check("verify", err == nil, err)
	check("close again", s.Close() == nil)
	fmt.Println("ok")
}
