package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

func unwatched(int64, int64) {}

// snapshot copies a store and opens the copy.
func snapshot(t *testing.T, s *Store, progress func(done, total int64)) *Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	if err := s.Snapshot(t.Context(), dir, progress); err != nil {
		t.Fatal(err)
	}
	return open(t, dir, Options{Clock: s.opt.Clock})
}

// wantSound checks the file's structure with bbolt: no page is lost and none is used twice.
func wantSound(t *testing.T, s *Store) {
	t.Helper()
	err := s.db.View(func(btx *bolt.Tx) error {
		for err := range btx.Check() {
			t.Error(err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSnapshot(t *testing.T) {
	s, _ := healthy(t)
	dir := filepath.Join(t.TempDir(), "copy")
	last, total := int64(0), int64(0)
	err := s.Snapshot(t.Context(), dir, func(done, of int64) {
		if done < last || done > of || of != total && total != 0 {
			t.Errorf("%d of %d after %d of %d", done, of, last, total)
		}
		last, total = done, of
	})
	if err != nil {
		t.Fatal(err)
	}
	copied := open(t, dir, newClock().options())
	if a, b := everything(t, s), everything(t, copied); a != b {
		t.Errorf("the copy is another:\n%s", difference(a, b))
	}
	wantSound(t, copied)
	if found := look(t, copied, false); found != nil {
		t.Errorf("the copy: %q", found)
	}
	if copied.Epoch() != s.Epoch() {
		t.Error("the copy has another epoch")
	}
	for path, mode := range map[string]os.FileMode{dir: os.ModeDir | 0o700, filepath.Join(dir, FileName): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, FileName)); err != nil || last != total || last > info.Size() {
		t.Errorf("%d of %d bytes were told, there are %d, %v", last, total, info.Size(), err)
	}
	// Both stores are independent from here on.
	insert(t, s, orgA, person{Name: "later"})
	insert(t, copied, orgB, person{Name: "elsewhere"})
	if a, b := names(t, copied, orgA), names(t, s, orgB); a != "ann bob" || b != "eve" {
		t.Errorf("the copy has %q, the store %q", a, b)
	}
}

// TestSnapshotIsConsistent copies a store while a writer alternates between records of two
// organizations. Each piece of the copy waits for more writes: writers are not blocked, and the
// copy contains none of their later writes.
func TestSnapshotIsConsistent(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	s.db.NoSync = true
	for i := range 30 { // enough for several pieces
		insert(t, s, orgA, person{Name: strings.Repeat("x", 10_000), Tags: []string{fmt.Sprint(i)}})
	}
	first := insert(t, s, orgA, person{Name: "first"})
	second := insert(t, s, orgB, person{Name: "second"})
	count := func(s *Store, org, id uuid.UUID) (n int) {
		read(t, s, org, func(tx *Tx) error {
			d, err := people.Get(tx, id)
			n = d.Record.Count
			return err
		})
		return n
	}
	add := func(org, id uuid.UUID) error {
		return s.Update(context.Background(), org, boss, func(tx *Tx) error {
			d, err := people.Get(tx, id)
			if err != nil {
				return err
			}
			p := d.Record
			p.Count++
			p.Tags = []string{fmt.Sprint("count", p.Count)}
			_, err = people.Update(tx, d, p, []string{"count"})
			return err
		})
	}
	stop, counted, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			if err = add(orgA, first.ID); err == nil {
				err = add(orgB, second.ID)
			}
			select {
			case counted <- struct{}{}:
			case <-stop:
				ended <- err
				return
			default:
			}
		}
		ended <- err
	}()
	for range 3 {
		before, pieces := count(s, orgB, second.ID), 0
		inTime(t, "the copy", func() {
			copied := snapshot(t, s, func(int64, int64) {
				pieces++
				<-counted
			})
			a, b := count(copied, orgA, first.ID), count(copied, orgB, second.ID)
			if a != b && a != b+1 || b < before {
				t.Errorf("the copy has %d and %d, before it was %d", a, b, before)
			}
			if now := count(s, orgB, second.ID); now < b+pieces/2 {
				t.Errorf("the copy has %d, there is %d after %d pieces", b, now, pieces)
			}
			if found := look(t, copied, false); found != nil {
				t.Errorf("the copy: %q", found)
			}
			wantSound(t, copied)
		})
		if pieces < 5 {
			t.Errorf("the copy had %d pieces", pieces)
		}
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestASnapshotThatFails(t *testing.T) {
	s, _ := healthy(t)
	dir := filepath.Join(t.TempDir(), "copy")
	for pieces := range 3 { // the first two are written differently from the rest
		ctx, cancel := context.WithCancel(context.Background())
		stop := func(int64, int64) {
			if pieces--; pieces <= 0 {
				cancel()
			}
		}
		if pieces == 0 {
			cancel()
		}
		err := s.Snapshot(ctx, fmt.Sprint(dir, pieces), stop)
		if err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
			t.Errorf("cancelled: %v", err)
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Snapshot(t.Context(), dir, unwatched); !errors.Is(err, os.ErrExist) {
		t.Errorf("into a directory that is there: %v", err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("it left %v, %v", files, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Snapshot(t.Context(), dir+"9", unwatched); err == nil {
		t.Error("a closed store was copied")
	}
}

// packedStore is a small store and its backup.
func packedStore(t *testing.T) (store, backup []byte, m Manifest) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	s := open(t, t.TempDir(), newClock().options())
	insert(t, s, orgA, person{Name: "ann", Email: "a@x", hidden: hidden{Token: "secret-token"}})
	m = Manifest{Version: "v1", CreatedAt: s.Now(), Epoch: s.Epoch(), Organizations: 1, Records: 1}
	if err := s.Snapshot(t.Context(), dir, unwatched); err != nil {
		t.Fatal(err)
	}
	store, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	done, total := int64(0), int64(0)
	if err := Pack(t.Context(), &b, dir, m, func(d, of int64) { done, total = d, of }); err != nil {
		t.Fatal(err)
	}
	if done != total || total != int64(len(store)) {
		t.Errorf("told of %d of %d bytes, there are %d", done, total, len(store))
	}
	return store, b.Bytes(), m
}

func TestPackAndUnpack(t *testing.T) {
	store, backup, m := packedStore(t)
	dir := t.TempDir()
	got, err := Unpack(t.Context(), bytes.NewReader(backup), dir)
	if err != nil {
		t.Fatal(err)
	}
	m.Bytes, m.SHA256 = int64(len(store)), got.SHA256
	if !got.CreatedAt.Equal(m.CreatedAt) {
		t.Errorf("it was made %v", got.CreatedAt)
	}
	if got.CreatedAt = m.CreatedAt; got != m || len(got.SHA256) != 64 {
		t.Errorf("the manifest is %+v, want %+v", got, m)
	}
	path := filepath.Join(dir, FileName)
	if unpacked, err := os.ReadFile(path); err != nil || !bytes.Equal(unpacked, store) {
		t.Errorf("%d of %d bytes, %v", len(unpacked), len(store), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("it has mode %v, %v", info.Mode(), err)
	}
	if s := open(t, dir, Options{}); names(t, s, orgA) != "ann" {
		t.Errorf("it has %q", names(t, s, orgA))
	}

	// Packing the same store with the same manifest gives the same bytes.
	var again bytes.Buffer
	m.Bytes, m.SHA256 = 0, ""
	if err := errors.Join(os.WriteFile(path, store, 0o600), Pack(t.Context(), &again, dir, m, unwatched)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Bytes(), backup) {
		t.Error("the second backup is another")
	}
}

// failing is a writer that fails as a full disk does after some bytes.
type failing struct{ room int }

func (f *failing) Write(b []byte) (int, error) {
	if len(b) > f.room {
		return f.room, errRefused
	}
	f.room -= len(b)
	return len(b), nil
}

func TestAPackThatFails(t *testing.T) {
	store, backup, m := packedStore(t)
	dir := t.TempDir()
	if err := Pack(t.Context(), io.Discard, dir, m, unwatched); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a store that is not there: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, FileName), store, 0o600); err != nil {
		t.Fatal(err)
	}
	step := 1
	if raceDetector {
		step = 23
	}
	for room := 0; room < len(backup); room += step {
		if err := Pack(t.Context(), &failing{room}, dir, m, unwatched); !errors.Is(err, errRefused) {
			t.Fatalf("%d of %d bytes: %v", room, len(backup), err)
		}
	}
	if err := Pack(t.Context(), &failing{len(backup)}, dir, m, unwatched); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Pack(ctx, io.Discard, dir, m, unwatched); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	if err := Pack(ctx, io.Discard, dir, m, func(int64, int64) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled meanwhile: %v", err)
	}
}
