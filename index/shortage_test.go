package index

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	ossignal "os/signal"
	"strings"
	"syscall"
	"testing"

	berrors "go.etcd.io/bbolt/errors"
)

// TestIsShortage checks which errors leave an index as it is.
func TestIsShortage(t *testing.T) {
	for text, c := range map[string]struct {
		err  error
		want bool
	}{
		"no space":       {&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, true},
		"quota":          {&os.PathError{Op: "write", Path: "x", Err: syscall.EDQUOT}, true},
		"handles":        {&os.PathError{Op: "open", Path: "x", Err: syscall.EMFILE}, true},
		"system handles": {&os.PathError{Op: "open", Path: "x", Err: syscall.ENFILE}, true},
		"memory":         {os.NewSyscallError("mmap", syscall.ENOMEM), true},
		"as text":        {fmt.Errorf("persister: got err persisting snapshot: write x: %v", syscall.ENOSPC), true},
		"locked":         {fmt.Errorf("open: %w", berrors.ErrTimeout), true},
		"wrapped":        {fmt.Errorf("%w: %w", errIndex, syscall.ENOSPC), true},
		"input/output":   {&os.PathError{Op: "read", Path: "x", Err: syscall.EIO}, false},
		"missing":        {&os.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}, false},
		"damaged":        {errIndex, false},
	} {
		t.Run(text, func(t *testing.T) {
			if got := isShortage(c.err); got != c.want {
				t.Errorf("%v: %v", c.err, got)
			}
		})
	}
}

// inChild runs the rest of the test in a process of its own, whose limits it can change.
func inChild(t *testing.T) (isChild bool) {
	t.Helper()
	const env = "PROSPECTOR_INDEX_CHILD"
	if os.Getenv(env) == t.Name() {
		return true
	}
	child := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), env+"="+t.Name())
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// withLimit calls fn while a resource of the process is limited.
func (w *fixture) withLimit(resource int, limit uint64, fn func()) {
	w.t.Helper()
	var was syscall.Rlimit
	w.must(syscall.Getrlimit(resource, &was))
	w.must(syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit, Max: was.Max}))
	fn()
	w.must(syscall.Setrlimit(resource, &was))
}

// wantKept requires that no index was discarded, and that the lists are right.
func (w *fixture) wantKept(when string, builds uint64) {
	w.t.Helper()
	if st := w.stats(); st.Builds != builds || st.Damaged != 0 {
		w.t.Errorf("%s: %+v", when, st)
	}
	for range 5 {
		w.agree(w.body())
	}
}

// TestFullDisk checks that an index that cannot be written because files cannot grow is kept, that lists
// are right meanwhile, and that the index is written when it can be.
func TestFullDisk(t *testing.T) {
	if !inChild(t) {
		return
	}
	ossignal.Ignore(syscall.SIGXFSZ)
	w := newLargeFixture(t, 1)
	s := w.engine.tableIndex(w.org, things)
	builds := w.stats().Builds
	w.whilePaused(func() {
		w.change(60)
		w.withLimit(syscall.RLIMIT_FSIZE, 100, func() {
			for range 3 {
				w.engine.maintain() // opens it again; bleve may fail at once or only when it is flushed
				if _, err := s.flush(); !errors.Is(err, errShort) || !strings.Contains(err.Error(), "file too large") {
					t.Errorf("flushing returns %v", err)
				}
				w.wantKept("while the disk is full", builds)
			}
			if st := w.stats(); st.Failures == 0 || st.Open != 1 {
				t.Errorf("%+v", st)
			}
		})
		w.wantKept("with space", builds)
		w.engine.maintain()
		w.flushAll()
		w.wantKept("after it was written", builds)
		if lag := s.lag(); lag != 0 || s.failed.Load() || s.paused.Load() != nil {
			t.Errorf("the index is %d changes behind", lag)
		}
	})
}

// TestFewHandles checks that an index that cannot be opened or written for lack of file handles is kept,
// however far it gets, that lists are right meanwhile, and that it is opened when it can be.
func TestFewHandles(t *testing.T) {
	if !inChild(t) {
		return
	}
	w := newLargeFixture(t, 2)
	builds := w.stats().Builds
	s := w.engine.tableIndex(w.org, things)
	w.whilePaused(func() {
		for _, free := range []int{0, 1, 2, 4, 7} {
			w.unloadIndex(s)
			w.withLimit(syscall.RLIMIT_NOFILE, handlesWith(free), func() {
				w.wantKept("without handles", builds)
				w.change(5)
				if err := s.flushAll(); !errors.Is(err, errShort) && (err != nil || free == 0) {
					t.Errorf("%d handles: flushing returns %v", free, err)
				}
				w.wantKept("without handles, after a change", builds)
				if problems, err := s.check(func(string) {}); len(problems) > 0 || !errors.Is(err, errShort) && (err != nil || free == 0) {
					t.Errorf("%d handles: checking returns %q, %v", free, problems, err)
				}
			})
			w.engine.maintain()
			w.flushAll()
			w.wantKept("with handles", builds)
		}
	})
}

// handlesWith returns the limit that leaves the process n free file handles.
func handlesWith(n int) (limit uint64) {
	for ; ; limit++ {
		if _, err := os.Lstat(fmt.Sprint("/proc/self/fd/", limit)); err == nil {
			continue
		}
		if n--; n < 0 {
			return limit
		}
	}
}

// TestBackgroundShortage checks that an index is kept when bleve lacks something in the background, and
// that the engine notices without a change.
func TestBackgroundShortage(t *testing.T) {
	w := newLargeFixture(t, 3)
	s := w.engine.tableIndex(w.org, things)
	builds := w.stats().Builds
	w.whilePaused(func() {
		d := s.disk
		d.fail(fmt.Errorf("merging err: write x: %v", syscall.ENOSPC))
		if !w.engine.isDirty(s) {
			t.Error("the engine did not notice")
		}
		if _, err := s.flush(); !errors.Is(err, errShort) {
			t.Errorf("flushing returns %v", err)
		}
		w.wantKept("while it is paused", builds)
		w.engine.maintain()
		w.flushAll()
		w.wantKept("afterwards", builds)
		if s.disk == d || s.disk == nil {
			t.Error("the index was not opened again")
		}
	})
}
