package store

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// remember opens the store in dir as the service does, and returns whether its campaigns were held and why outbound
// traffic is.
func remember(t *testing.T, dir string, hold error) (held bool, reason HoldReason, err error) {
	t.Helper()
	s := open(t, dir, Options{})
	err = s.RememberFile(t.Context(), func(context.Context) error {
		held = true
		return hold
	})
	h, heldErr := s.Held()
	if closed := errors.Join(heldErr, s.Close()); closed != nil {
		t.Fatal(closed)
	}
	return held, h.Reason, err
}

func wantHold(t *testing.T, what, dir string, wantHeld bool, want HoldReason) {
	t.Helper()
	if held, reason, err := remember(t, dir, nil); held != wantHeld || reason != want || err != nil {
		t.Errorf("%s: campaigns held: %v, outbound traffic: %q, %v; want %v, %q", what, held, reason, err, wantHeld, want)
	}
}

// newFile returns the directory of a store that is closed.
func newFile(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	wantHold(t, "new", dir, false, "")
	return dir
}

func copyStore(t *testing.T, from string) (to string) {
	t.Helper()
	to = t.TempDir()
	body, err := os.ReadFile(filepath.Join(from, FileName))
	if err == nil {
		err = os.WriteFile(filepath.Join(to, FileName), body, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// TestCopy: a copy is held once, also if holding it was interrupted. The original is not.
func TestCopy(t *testing.T) {
	dir := newFile(t)
	copied := copyStore(t, dir)
	broken := errors.New("interrupted")
	if held, reason, err := remember(t, copied, broken); !held || reason != "" || !errors.Is(err, broken) {
		t.Errorf("interrupted: %v, %q, %v", held, reason, err)
	}
	wantHold(t, "the copy", copied, true, HeldCopied)
	wantHold(t, "the copy again", copied, false, HeldCopied)
	s := open(t, copied, Options{})
	resume(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantHold(t, "resumed", copied, false, "")
	wantHold(t, "the original", dir, false, "")
}

// TestRenamedStore: the file is the same after its directory was renamed.
func TestRenamedStore(t *testing.T) {
	dir := newFile(t)
	renamed := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Rename(dir, renamed); err != nil {
		t.Fatal(err)
	}
	wantHold(t, "renamed", renamed, false, "")
}

// TestReplacedFile: what replaces the file on purpose is no copy, unless the replaced file was one.
func TestReplacedFile(t *testing.T) {
	t.Run("compact", func(t *testing.T) {
		dir := newFile(t)
		copied := copyStore(t, dir)
		for _, d := range []string{dir, copied} {
			if err := CompactInPlace(d, filepath.Join(d, "work")); err != nil {
				t.Fatal(err)
			}
		}
		wantHold(t, "compacted", dir, false, "")
		wantHold(t, "a compacted copy", copied, true, HeldCopied)
	})
	t.Run("rebuild", func(t *testing.T) {
		dir := newFile(t)
		s := open(t, dir, Options{})
		for range 300 {
			insert(t, s, orgA, person{Name: "Ann"})
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		damageLeaf(t, dir)
		copied := copyStore(t, dir)
		for _, d := range []string{dir, copied} {
			s, err := Open(d, Options{Rebuild: true})
			if err != nil {
				t.Fatal(err)
			}
			if !s.Rebuilt() {
				t.Fatal("the file was not rebuilt")
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		wantHold(t, "rebuilt", dir, false, "")
		wantHold(t, "a rebuilt copy", copied, true, HeldCopied)
	})
	t.Run("restore", func(t *testing.T) {
		dir := newFile(t)
		work := copyStore(t, dir)
		s := open(t, work, Options{})
		if err := errors.Join(s.BeginEpoch(t.Context()), s.Close()); err != nil {
			t.Fatal(err)
		}
		aside, err := Replace(dir, work, newClock().Now())
		if err == nil {
			err = ForgetFile(aside)
		}
		if err != nil {
			t.Fatal(err)
		}
		wantHold(t, "restored", dir, false, HeldRestored)
		wantHold(t, "the store kept aside", aside, true, HeldCopied)
	})
}

// TestEarlierStore: a store of a version that remembered no file is not held. Its copies are, from then on.
func TestEarlierStore(t *testing.T) {
	dir := newFile(t)
	forget(t, dir)
	copied := copyStore(t, dir)
	for _, d := range []string{dir, copied} {
		wantHold(t, "the first start", d, false, "")
		wantHold(t, "a copy", copyStore(t, d), true, HeldCopied)
	}
	forget(t, dir)
	if err := CompactInPlace(dir, filepath.Join(dir, "work")); err != nil {
		t.Fatal(err)
	}
	wantHold(t, "compacted before the first start", dir, false, "")
}

func forget(t *testing.T, dir string) {
	t.Helper()
	db, err := bolt.Open(filepath.Join(dir, FileName), 0o600, nil)
	if err == nil {
		err = db.Update(func(btx *bolt.Tx) error { return btx.Bucket(metaBucket).Delete(fileKey) })
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestBirthTime: a file system that does not tell when a file was created leaves only the inode number.
func TestBirthTime(t *testing.T) {
	with, without := fileID{7, 99}, fileID{7, 0}
	for _, c := range []struct {
		what       string
		now        fileID
		remembered fileID
		want       bool
	}{
		{"the same", with, with, true},
		{"not known any more", without, with, true},
		{"known now", with, without, true},
		{"another time", fileID{7, 98}, with, false},
		{"another inode", fileID{8, 99}, with, false},
		{"another inode, times not known", fileID{8, 0}, without, false},
	} {
		if got := c.now.isRemembered(c.remembered.bytes()); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
}

// damageLeaf clears a page of records.
func damageLeaf(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, FileName)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	size, used := os.Getpagesize(), usedPages(t, path)
	for at := len(file) - size; at > 2*size; at -= size {
		if bytes.Count(file[at:at+size], []byte(`"name":"Ann"`)) < 10 || used[at/size].typ == "" {
			continue
		}
		clear(file[at : at+size])
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("no page has records")
}
