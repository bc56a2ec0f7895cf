package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

func TestOpenMakesAndFindsTheStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	s := open(t, dir, Options{})
	ann := insert(t, s, orgA, person{Name: "ann"})
	epoch := s.Epoch()
	if epoch.Version() != 4 {
		t.Errorf("epoch %s", epoch)
	}
	info, err := os.Stat(filepath.Join(dir, FileName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	// What a killed creation leaves behind.
	leftover := filepath.Join(dir, FileName+".new-123")
	if err := os.WriteFile(leftover, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{})
	if s.Epoch() != epoch {
		t.Errorf("the epoch was %s and is %s", epoch, s.Epoch())
	}
	read(t, s, orgA, func(tx *Tx) error {
		d, err := people.Get(tx, ann.ID)
		if err != nil || d.Record.Name != "ann" || d.Change != ann.Change {
			t.Errorf("got %+v, %v", d, err)
		}
		return nil
	})
	if other := open(t, t.TempDir(), Options{}); other.Epoch() == epoch {
		t.Error("two stores have the same epoch")
	}
}

func TestCreationLeavesOneFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName+".new-123"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, dir, Options{})
	files, err := filepath.Glob(filepath.Join(dir, FileName+"*"))
	if err != nil || len(files) != 2 {
		t.Errorf("files: %v, %v", files, err)
	}
}

func TestASecondOpenIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	_, err := Open(dir, Options{LockTimeout: time.Millisecond})
	if !errors.Is(err, ErrLocked) {
		t.Fatalf("got %v", err)
	}
	wantLine(t, err, dir)
	insert(t, s, orgA, person{Name: "the first goes on"})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir, Options{})
}

func TestADirectoryThatCannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(filepath.Join(file, "data"), Options{})
	wantLine(t, err, file)
}

// wantLine wants a one-line error that names the path.
func wantLine(t testing.TB, err error, path string) {
	t.Helper()
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), path) {
		t.Errorf("want an error of one line about %s, got: %v", path, err)
	}
}

// marks returns migrations that record in the store and in ran that they ran.
func marks(n int, ran *[]int) []migration {
	var list []migration
	for i := range n {
		list = append(list, func(btx *bolt.Tx) error {
			*ran = append(*ran, i+1)
			return btx.Bucket(metaBucket).Put(fmt.Append(nil, "mark ", i+1), []byte("x"))
		})
	}
	return list
}

// metaOf returns the format of the store in dir and the marks of its migrations.
func metaOf(t *testing.T, dir string) (format uint64, marked []string) {
	t.Helper()
	db, err := bolt.Open(filepath.Join(dir, FileName), 0o600, &bolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.View(func(btx *bolt.Tx) error {
		format = binary.BigEndian.Uint64(btx.Bucket(metaBucket).Get(formatKey))
		return btx.Bucket(metaBucket).ForEach(func(k, _ []byte) error {
			if mark, ok := strings.CutPrefix(string(k), "mark "); ok {
				marked = append(marked, mark)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return format, marked
}

func TestMigrations(t *testing.T) {
	dir := t.TempDir()
	var ran []int
	step := func(list []migration, fails bool, wantRan []int, wantFormat uint64, wantMarks string) {
		t.Helper()
		ran = nil
		s, err := Open(dir, Options{migrations: list, Log: slog.New(slog.DiscardHandler)})
		if (err != nil) != fails {
			t.Fatalf("open: %v", err)
		}
		if err == nil {
			err = s.Close()
		}
		format, marked := metaOf(t, dir)
		if !slices.Equal(ran, wantRan) || format != wantFormat || strings.Join(marked, " ") != wantMarks {
			t.Fatalf("ran %v, format %d, marks %v; want %v, %d, %s (%v)", ran, format, marked, wantRan, wantFormat, wantMarks, err)
		}
	}
	step(marks(1, &ran), false, nil, 1, "") // a new store has the current format
	step(marks(3, &ran), false, []int{2, 3}, 3, "2 3")
	step(marks(3, &ran), false, nil, 3, "2 3")

	failing := marks(6, &ran)
	for i, fail := range []func() error{func() error { return errRefused }, func() error { panic("oops") }} {
		whole := failing[4]
		failing[4] = func(btx *bolt.Tx) error { return errors.Join(whole(btx), fail()) }
		if i == 0 {
			step(failing, true, []int{4, 5}, 4, "2 3 4") // the migrations before it are done and recorded
		}
		step(failing, true, []int{5}, 4, "2 3 4") // and do not run again
		failing[4] = whole
	}
	step(failing, false, []int{5, 6}, 6, "2 3 4 5 6")
}

func TestFailedMigrationNamesPath(t *testing.T) {
	dir := t.TempDir()
	if err := open(t, dir, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	list := append(slices.Clone(migrations), func(*bolt.Tx) error { return errRefused })
	_, err := Open(dir, Options{migrations: list})
	wantLine(t, err, dir)
	if !errors.Is(err, errRefused) || !strings.Contains(err.Error(), fmt.Sprintf("migrate to format %d", len(list))) {
		t.Errorf("got %v", err)
	}
}

func TestANewerFormatIsRefusedAndLeftAlone(t *testing.T) {
	dir := t.TempDir()
	var ran []int
	s := open(t, dir, Options{migrations: marks(7, &ran)})
	insert(t, s, orgA, person{Name: "ann"})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(dir, Options{migrations: marks(4, &ran)})
	wantLine(t, err, dir)
	if !strings.Contains(err.Error(), "format 7") || !strings.Contains(err.Error(), "up to 4") {
		t.Errorf("got %v", err)
	}
	after, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was changed (%v)", err)
	}
	s = open(t, dir, Options{migrations: marks(7, &ran)}) // the refusal has released the lock
	if got := names(t, s, orgA); got != "ann" || ran != nil {
		t.Errorf("there is %q, ran %v", got, ran)
	}
}
