package store

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// storeOf creates a store with one person of the given name in its own directory, and closes it.
func storeOf(t *testing.T, dir, name string) {
	t.Helper()
	s := open(t, dir, newClock().options())
	insert(t, s, orgA, person{Name: name})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// wantStore opens the store in dir, checks it, and checks that its person has the name.
func wantStore(t *testing.T, dir, name string) {
	t.Helper()
	s := open(t, dir, newClock().options())
	if got := names(t, s, orgA); got != name {
		t.Errorf("%s has %q, want %q", dir, got, name)
	}
	if found := look(t, s, false); found != nil {
		t.Errorf("%s: %q", dir, found)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// listing returns the names in a directory.
func listing(t *testing.T, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, f := range files {
		list = append(list, f.Name())
	}
	return strings.Join(list, " ")
}

const keptName = "before-restore-20260301T120000.000Z" // by newClock

func TestReplace(t *testing.T) {
	root := t.TempDir()
	dir, from := filepath.Join(root, "data"), filepath.Join(root, "data", "work")
	storeOf(t, dir, "old")
	storeOf(t, from, "new")
	aside, err := Replace(dir, from, newClock().Now())
	if want := dir + "." + keptName; err != nil || aside != want {
		t.Fatalf("aside is %q, %v, want %q", aside, err, want)
	}
	wantStore(t, dir, "new")
	wantStore(t, aside, "old")
	if got := listing(t, root) + ", " + listing(t, dir) + ", " + listing(t, from) + ", " + listing(t, aside); got !=
		"data data."+keptName+", "+FileName+" work, , "+FileName {
		t.Errorf("there is %s", got)
	}
	if info, err := os.Stat(aside); err != nil || info.Mode() != os.ModeDir|0o700 {
		t.Errorf("aside has mode %v, %v", info.Mode(), err)
	}

	// The old store is independent of the new one: writes to one are not in the other.
	s := open(t, dir, Options{})
	insert(t, s, orgA, person{Name: "newer"})
	wantStore(t, aside, "old")
}

func TestReplaceOfNothing(t *testing.T) {
	dir, from := t.TempDir(), t.TempDir()
	storeOf(t, from, "new")
	if aside, err := Replace(dir, from, newClock().Now()); err != nil || aside != "" {
		t.Fatalf("aside is %q, %v", aside, err)
	}
	wantStore(t, dir, "new")
	if got := listing(t, dir); got != FileName {
		t.Errorf("there is %s", got)
	}
}

// TestReplaceDamagedStore is the purpose of a restore.
func TestReplaceDamagedStore(t *testing.T) {
	for name, old := range map[string]string{"garbage": "this is no store", "an empty file": ""} {
		dir, from := filepath.Join(t.TempDir(), "data"), t.TempDir()
		path := filepath.Join(dir, FileName)
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(path, []byte(old), 0o600)); err != nil {
			t.Fatal(err)
		}
		storeOf(t, from, "new")
		aside, err := Replace(dir, from, newClock().Now())
		if err != nil {
			t.Fatal(name, err)
		}
		wantStore(t, dir, "new")
		if kept, err := os.ReadFile(filepath.Join(aside, FileName)); err != nil || string(kept) != old {
			t.Errorf("%s: kept is %q, %v", name, kept, err)
		}
	}
}

// TestReplaceKeepsInside: if nothing can be created beside the directory, the old store is kept
// within it. If it cannot be kept at all, nothing changes.
func TestReplaceKeepsInside(t *testing.T) {
	dir, from := filepath.Join(t.TempDir(), "data"), t.TempDir()
	storeOf(t, dir, "old")
	storeOf(t, from, "new")
	if err := os.WriteFile(dir+"."+keptName, nil, 0o600); err != nil { // is in the way
		t.Fatal(err)
	}
	aside, err := Replace(dir, from, newClock().Now())
	if want := filepath.Join(dir, keptName); err != nil || aside != want {
		t.Fatalf("aside is %q, %v, want %q", aside, err, want)
	}
	wantStore(t, dir, "new")
	wantStore(t, aside, "old")

	storeOf(t, from, "newest")
	if aside, err := Replace(dir, from, newClock().Now()); !errors.Is(err, os.ErrExist) || aside != "" {
		t.Errorf("with both in the way: %q, %v", aside, err)
	}
	wantStore(t, dir, "new")
	wantStore(t, filepath.Join(dir, keptName), "old")
	wantStore(t, from, "newest")
}

func TestReplaceByNothing(t *testing.T) {
	root := t.TempDir()
	dir, from := filepath.Join(root, "data"), t.TempDir()
	storeOf(t, dir, "old")
	if _, err := Replace(dir, from, newClock().Now()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it answers %v", err)
	}
	wantStore(t, dir, "old")
	if got := listing(t, root); got != "data" {
		t.Errorf("it left %s", got)
	}
}

// TestAsideOfInterruptedRestore has the link of a restore that was killed. The next open removes it
// and nothing else, such as the stores that other restores have kept.
func TestAsideOfInterruptedRestore(t *testing.T) {
	for _, name := range []string{"data", "data[1]", "[data", "da*ta", "da\\ta"} {
		for _, inside := range []bool{false, true} {
			root := t.TempDir()
			dir, from := filepath.Join(root, name), t.TempDir()
			storeOf(t, dir, "old")
			storeOf(t, from, "new")
			clock := newClock()
			kept, err := Replace(dir, from, clock.Now())
			if err != nil {
				t.Fatal(err)
			}
			clock.move(time.Minute)
			inTheWay := dir + ".before-restore-20260301T120100.000Z"
			if inside {
				if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			aside, err := keepAside(dir, clock.Now())
			if err != nil || (aside == inTheWay) == inside {
				t.Fatalf("aside is %s, %v", aside, err)
			}
			wantStore(t, dir, "new")
			if _, err := os.Stat(aside); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: %s is still there: %v", name, aside, err)
			}
			wantStore(t, kept, "old")
			wantStore(t, dir, "new")
		}
	}
}

func TestReplaceWhileItIsOpen(t *testing.T) {
	root := t.TempDir()
	dir, from := filepath.Join(root, "data"), t.TempDir()
	storeOf(t, from, "new")
	refused := func(who string) {
		t.Helper()
		if err := CheckUnlocked(dir); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: free answers %v", who, err)
		}
		aside, err := Replace(dir, from, newClock().Now())
		if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) || aside != "" {
			t.Errorf("%s: replace answers %q, %v", who, aside, err)
		}
		if got := listing(t, root) + ", " + listing(t, from); got != "data, "+FileName {
			t.Errorf("%s: there is %s", who, got)
		}
	}
	s := open(t, dir, Options{})
	insert(t, s, orgA, person{Name: "old"})
	refused("this process")
	insert(t, s, orgA, person{Name: "still"})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	release := holdInAnother(t, dir)
	refused("another process")
	release()
	if err := CheckUnlocked(dir); err != nil {
		t.Errorf("free of a closed one: %v", err)
	}
	if err := CheckUnlocked(filepath.Join(root, "none")); err != nil {
		t.Errorf("free of none: %v", err)
	}
	wantStore(t, dir, "old still")
	if _, err := Replace(dir, from, newClock().Now()); err != nil {
		t.Fatal(err)
	}
	wantStore(t, dir, "new")
}

// holdInAnother keeps the store open in another process until release is called.
func holdInAnother(t *testing.T, dir string) (release func()) {
	t.Helper()
	child := exec.Command(os.Args[0], dir)
	child.Env = append(os.Environ(), childEnv+"=holder")
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the child says %q, %v", line, err)
	}
	return func() {
		if err := errors.Join(in.Close(), child.Wait()); err != nil {
			t.Error(err)
		}
	}
}

// holderChild keeps the store open until its input ends.
func holderChild(dir string) {
	s, err := Open(dir, Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("open")
	_, _ = os.Stdin.Read(make([]byte, 1))
	if err := s.Close(); err != nil {
		os.Exit(1)
	}
}

// TestStoreIsNeverMissing looks for the store continuously while others replace it.
func TestStoreIsNeverMissing(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "data")
	storeOf(t, dir, "old")
	path := filepath.Join(dir, FileName)
	const times = 150
	for i := range times {
		from := filepath.Join(root, fmt.Sprint(i))
		if err := os.Mkdir(from, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, FileName), []byte("store"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var stop, looks atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for stop.Load() == 0 {
			looks.Add(1)
			f, err := os.Open(path)
			if err != nil {
				t.Errorf("there is none: %v", err)
				return
			}
			if info, err := f.Stat(); err != nil || info.Size() == 0 {
				t.Errorf("there is %v, %v", info, err)
			}
			f.Close()
		}
	}()
	now := newClock().Now()
	for i := range times {
		if _, err := Replace(dir, filepath.Join(root, fmt.Sprint(i)), now.Add(time.Duration(i)*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
	stop.Store(1)
	<-done
	if looks.Load() < times {
		t.Errorf("only %d looks at it", looks.Load())
	}
}

// TestOpenAfterReplace waits for the lock of a file that is replaced twice.
func TestOpenAfterReplace(t *testing.T) {
	if _, err := os.ReadDir("/proc/self/fd"); err != nil {
		t.Skip("nobody tells which files are open:", err)
	}
	root := t.TempDir()
	dir := filepath.Join(root, "data")
	storeOf(t, dir, "old")
	for _, name := range []string{"newer", "newest"} {
		storeOf(t, filepath.Join(root, name), name)
	}
	opened := make(chan *Store, 1)
	var last *os.File
	for _, name := range []string{"newer", "newest"} {
		held, err := lock(dir)
		if err != nil {
			t.Fatal(err)
		}
		if last == nil {
			go func() {
				s, err := Open(dir, Options{LockTimeout: 30 * time.Second})
				if err != nil {
					t.Error(err)
				}
				opened <- s
			}()
		} else {
			last.Close() // the waiting Open notices the first exchange and waits for the second
		}
		inTime(t, "the open", func() { // it has the file open beside this test
			for timesOpen(t, held) < 2 {
				runtime.Gosched()
			}
		})
		if err := os.Rename(filepath.Join(root, name, FileName), filepath.Join(dir, FileName)); err != nil {
			t.Fatal(err)
		}
		last = held
	}
	last.Close()
	inTime(t, "the open", func() {
		s := <-opened
		if s == nil {
			return
		}
		if got := names(t, s, orgA); got != "newest" {
			t.Errorf("it opened the %s store", got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// timesOpen returns how often this process has the file open.
func timesOpen(t *testing.T, f *os.File) (n int) {
	want, err := f.Stat()
	if err != nil {
		t.Error(err)
		return 2
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Error(err)
		return 2
	}
	for _, fd := range fds {
		if info, err := os.Stat("/proc/self/fd/" + fd.Name()); err == nil && os.SameFile(info, want) {
			n++
		}
	}
	return n
}
