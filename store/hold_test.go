package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"prospector/internal/fault"
)

// restored returns a store in the state in which a restore leaves it, after before has filled it.
func restored(t *testing.T, clock *fakeClock, before func(*Store)) *Store {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir, clock.options())
	before(s)
	epoch := s.Epoch()
	if err := s.BeginEpoch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, clock.options())
	if s.Epoch() == epoch || s.Epoch() == uuid.Nil {
		t.Errorf("the epoch is %s, before the restore it was %s", s.Epoch(), epoch)
	}
	return s
}

func wantDue(t *testing.T, s *Store, now time.Time, want string) {
	t.Helper()
	if got, _ := dueKinds(t, s, now, 99); got != want {
		t.Errorf("due jobs are %q, want %q", got, want)
	}
}

func wantHeld(t *testing.T, s *Store, want time.Time) {
	t.Helper()
	if held, err := s.Held(); err != nil || !held.Since.Equal(want) {
		t.Errorf("Held() = %v, %v, want %v", held, err, want)
	}
}

func resume(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestHold: a restored store is held, also after it was opened again, until Resume. Its jobs stay due.
func TestHold(t *testing.T) {
	clock := newClock()
	s := restored(t, clock, func(s *Store) {
		wantHeld(t, s, time.Time{})
		enqueue(t, s, orgA, "mail", clock.Now())
		enqueue(t, s, orgB, "sweep", clock.after(1))
	})
	wantHeld(t, s, clock.Now())
	wantDue(t, s, clock.after(9), "a:mail b:sweep")
	if found := look(t, s, true); found != nil {
		t.Errorf("a check of a held store found %q", found)
	}
	clock.move(time.Hour)
	wantHeld(t, s, clock.after(-1))
	for range 2 {
		resume(t, s)
		wantHeld(t, s, time.Time{})
		wantDue(t, s, clock.after(9), "a:mail b:sweep")
	}
}

// TestHoldTwice restores a store that was restored and never resumed.
func TestHoldTwice(t *testing.T) {
	clock := newClock()
	s := restored(t, clock, func(*Store) {})
	clock.move(time.Hour)
	if err := s.BeginEpoch(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantHeld(t, s, clock.Now())
	resume(t, s)
	wantHeld(t, s, time.Time{})
}

func TestHeldDamaged(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	plantShared(t, s, "meta", heldKey, exactly([]byte("yesterday")))
	if _, err := s.Held(); err == nil {
		t.Error("an invalid time is accepted")
	}
	resume(t, s)
	wantHeld(t, s, time.Time{})
}

func TestResumeFails(t *testing.T) {
	clock := newClock()
	s := restored(t, clock, func(*Store) {})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Resume(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	wantHeld(t, s, clock.Now())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Resume(t.Context()); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("closed: %v", err)
	}
	if _, err := s.Held(); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("closed: %v", err)
	}
}

// TestMigrateHeldJobs opens a store of format 2, in which jobs of some kinds could wait in the bucket "held".
func TestMigrateHeldJobs(t *testing.T) {
	clock := newClock()
	dir := t.TempDir()
	opt := clock.options()
	opt.migrations = migrations[:2]
	s := open(t, dir, opt)
	enqueue(t, s, orgA, "mail", clock.Now())
	enqueue(t, s, orgB, "sweep", clock.after(1))
	if err := s.BeginEpoch(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := s.db.Update(func(btx *bolt.Tx) error {
		due := btx.Bucket(dueBucket)
		held, err := btx.CreateBucket(heldBucket)
		if err != nil {
			return err
		}
		first, _ := due.Cursor().First()
		return errors.Join(held.Put(first, nil), due.Delete(first))
	})
	if err != nil {
		t.Fatal(err)
	}
	wantDue(t, s, clock.after(9), "b:sweep")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = open(t, dir, clock.options())
	wantDue(t, s, clock.after(9), "a:mail b:sweep")
	wantHeld(t, s, clock.Now())
	wantSound(t, s)
	read(t, s, orgA, func(tx *Tx) error {
		if tx.btx.Bucket(heldBucket) != nil {
			t.Error("the bucket of held jobs is still there")
		}
		return nil
	})
}
