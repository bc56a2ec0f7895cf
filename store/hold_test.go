package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
)

// restored gives a store with jobs of both kinds, as it is after a restore. Mails reach outside.
func restored(t *testing.T, clock *fakeClock, before func(*Store)) *Store {
	t.Helper()
	dir := t.TempDir()
	opt := clock.options()
	opt.Outward = []string{"mail", "hook"}
	s := open(t, dir, opt)
	before(s)
	epoch := s.Epoch()
	if err := s.BeginLife(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, opt)
	if s.Epoch() == epoch || s.Epoch() == uuid.Nil {
		t.Errorf("the epoch is %s, before it was %s", s.Epoch(), epoch)
	}
	return s
}

func wantDue(t *testing.T, s *Store, now time.Time, want string) {
	t.Helper()
	if got, _ := dueKinds(t, s, now, 99); got != want {
		t.Errorf("due is %q, want %q", got, want)
	}
}

func wantHeld(t *testing.T, s *Store, want time.Time) {
	t.Helper()
	if since, err := s.Held(); err != nil || !since.Equal(want) {
		t.Errorf("it holds since %v, %v, want %v", since, err, want)
	}
}

func wantResumed(t *testing.T, s *Store, want int) {
	t.Helper()
	if n, err := s.Resume(t.Context()); err != nil || n != want {
		t.Errorf("resumed %d, %v, want %d", n, err, want)
	}
}

func TestJobsAreHeld(t *testing.T) {
	clock := newClock()
	s := restored(t, clock, func(s *Store) {
		wantHeld(t, s, time.Time{})
		enqueue(t, s, orgA, "mail", clock.Now())
		enqueue(t, s, orgB, "hook", clock.after(1))
		enqueue(t, s, orgA, "sweep", clock.after(2))
		enqueue(t, s, orgB, "mail", clock.after(3))
		enqueue(t, s, orgB, "sweep", clock.after(4))
		wantDue(t, s, clock.after(9), "a:mail b:hook a:sweep b:mail b:sweep")
	})
	wantHeld(t, s, clock.Now())
	wantDue(t, s, clock.after(9), "a:sweep b:sweep")
	if _, next := dueKinds(t, s, clock.Now(), 9); !next.Equal(clock.after(2)) {
		t.Errorf("the next is due at %v", next)
	}
	if found := look(t, s, true); found != nil {
		t.Errorf("while it holds: %q", found)
	}
	clock.move(time.Hour)
	wantHeld(t, s, clock.after(-1))
	wantResumed(t, s, 3)
	wantHeld(t, s, time.Time{})
	wantDue(t, s, clock.after(9), "a:mail b:hook a:sweep b:mail b:sweep")
	wantResumed(t, s, 0)
	wantDue(t, s, clock.after(9), "a:mail b:hook a:sweep b:mail b:sweep")
	if found := look(t, s, false); found != nil {
		t.Errorf("at the end: %q", found)
	}
}

// TestJobsWhileOthersAreHeld has them come, be put off and be done meanwhile, those that are held and those that are not.
func TestJobsWhileOthersAreHeld(t *testing.T) {
	clock := newClock()
	var mail, late, gone, sweep uuid.UUID
	s := restored(t, clock, func(s *Store) {
		mail = enqueue(t, s, orgA, "mail", clock.Now())
		late = enqueue(t, s, orgB, "mail", clock.after(9))
		gone = enqueue(t, s, orgA, "mail", clock.Now())
		sweep = enqueue(t, s, orgA, "sweep", clock.Now())
	})
	enqueue(t, s, orgB, "hook", clock.Now())
	enqueue(t, s, orgB, "sweep", clock.after(1))
	short := enqueue(t, s, orgB, "mail", clock.Now())
	write(t, s, orgA, func(tx *Tx) error {
		return errors.Join(tx.Reschedule(mail, clock.after(2), 1), tx.Reschedule(sweep, clock.after(3), 1), tx.Done(gone))
	})
	write(t, s, orgB, func(tx *Tx) error { return errors.Join(tx.Reschedule(late, clock.Now(), 7), tx.Done(short)) })
	write(t, s, orgB, func(tx *Tx) error { // all of it at once
		id, err := tx.Enqueue("mail", clock.Now(), nil)
		return errors.Join(err, tx.Reschedule(id, clock.after(1), 1), tx.Done(id))
	})
	wantDue(t, s, clock.after(8), "b:sweep a:sweep")
	if found := look(t, s, false); found != nil {
		t.Errorf("while it holds: %q", found)
	}
	wantResumed(t, s, 3)
	wantDue(t, s, clock.Now(), "b:mail b:hook")
	wantDue(t, s, clock.after(8), "b:mail b:hook b:sweep a:mail a:sweep")
	read(t, s, orgB, func(tx *Tx) error {
		j, err := tx.Job(late)
		if err != nil || j.Tries != 7 || !j.Due.Equal(clock.Now()) {
			t.Errorf("the job that was put off is %+v, %v", j, err)
		}
		return nil
	})

	// What comes later is not held, and what was held can be done.
	enqueue(t, s, orgA, "mail", clock.after(4))
	write(t, s, orgA, func(tx *Tx) error { return tx.Done(mail) })
	write(t, s, orgB, func(tx *Tx) error { return tx.Done(late) })
	wantDue(t, s, clock.after(8), "b:hook b:sweep a:sweep a:mail")
	wantResumed(t, s, 0)
	if found := look(t, s, false); found != nil {
		t.Errorf("at the end: %q", found)
	}
}

func TestResumeWakes(t *testing.T) {
	clock := newClock()
	s := restored(t, clock, func(s *Store) { enqueue(t, s, orgA, "mail", clock.Now()) })
	settle := func() { write(t, s, orgB, func(*Tx) error { return nil }) }
	settle()
	select {
	case <-s.Wake():
		t.Error("woken by nothing")
	default:
	}
	wantResumed(t, s, 1)
	settle()
	select {
	case <-s.Wake():
	default:
		t.Error("not woken")
	}
}

// TestHoldingTwice is a restore of what was restored, with nobody having resumed.
func TestHoldingTwice(t *testing.T) {
	clock := newClock()
	s := restored(t, clock, func(s *Store) { enqueue(t, s, orgA, "mail", clock.Now()) })
	enqueue(t, s, orgB, "mail", clock.Now())
	clock.move(time.Hour)
	if err := s.BeginLife(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantHeld(t, s, clock.Now())
	wantDue(t, s, clock.Now(), "")
	wantResumed(t, s, 2)
	wantDue(t, s, clock.Now(), "a:mail b:mail")
}

// TestRepairWhileJobsAreHeld puts a job back where it belongs: one that reaches outside does not come loose.
func TestRepairWhileJobsAreHeld(t *testing.T) {
	clock := newClock()
	s := restored(t, clock, func(s *Store) {
		enqueue(t, s, orgA, "mail", clock.Now())
		enqueue(t, s, orgB, "mail", clock.Now())
		enqueue(t, s, orgA, "sweep", clock.Now())
	})
	before := everything(t, s)
	var keys [][]byte
	read(t, s, orgA, func(tx *Tx) error {
		for _, queue := range []string{dueShared, heldShared} {
			if err := tx.scan(queue, nil, func(k, _ []byte) (bool, error) { keys = append(keys, k); return true, nil }); err != nil {
				return err
			}
		}
		return nil
	})
	for _, k := range keys {
		plantShared(t, s, "due", k, nothing)
		plantShared(t, s, "held", k, nothing)
	}
	plantShared(t, s, "held", (&Job{ID: nobody, Org: orgA, Due: clock.Now()}).dueKey(), exactly([]byte{}))
	plantShared(t, s, "held", []byte("short"), exactly([]byte{}))
	if found := look(t, s, true); len(found) != 5 {
		t.Errorf("it found %q", found)
	}
	if after := everything(t, s); after != before {
		t.Errorf("it is not what it was:\n%s", difference(before, after))
	}
	wantDue(t, s, clock.Now(), "a:sweep")
}

// TestJobsInTheWrongQueue are found and put where they belong: what is held must not run, and what is not must.
func TestJobsInTheWrongQueue(t *testing.T) {
	clock := newClock()
	var jobs [2]Job // a mail and a sweep
	s := restored(t, clock, func(s *Store) {
		for i, kind := range []string{"mail", "sweep"} {
			id := enqueue(t, s, orgA, kind, clock.Now())
			read(t, s, orgA, func(tx *Tx) (err error) { jobs[i], err = tx.Job(id); return err })
		}
	})
	for _, c := range []struct {
		held       bool
		job        int
		due, holds bool // where it stands
		right      bool
	}{
		{true, 0, false, true, true},
		{true, 0, true, false, false},
		{true, 0, true, true, false},
		{true, 1, true, false, true},
		{true, 1, false, true, false},
		{true, 1, true, true, false},
		{false, 0, true, false, true},
		{false, 0, false, true, false},
		{false, 0, true, true, false},
	} {
		if since, err := s.Held(); err != nil || since.IsZero() == c.held {
			wantResumed(t, s, 1)
		}
		before := everything(t, s)
		stand := func(in bool) func([]byte) []byte {
			if in {
				return exactly([]byte{})
			}
			return nothing
		}
		j := jobs[c.job]
		plantShared(t, s, "due", j.dueKey(), stand(c.due))
		plantShared(t, s, "held", j.dueKey(), stand(c.holds))
		var want findings
		if !c.right {
			want = findings{fmt.Sprintf(wasMended+"organization %s: job %s stands in the wrong queue", orgA, j.ID)}
		}
		if found := look(t, s, true); !slices.Equal(found, want) {
			t.Errorf("%+v: it found %q", c, found)
		}
		if after := everything(t, s); after != before {
			t.Errorf("%+v: it is not what it was:\n%s", c, difference(before, after))
		}
	}
}

func TestHoldingWhatIsDamaged(t *testing.T) {
	clock := newClock()
	opt := clock.options()
	opt.Outward = []string{"mail"}
	s := open(t, t.TempDir(), opt)
	enqueue(t, s, orgA, "mail", clock.Now())
	id := enqueue(t, s, orgB, "mail", clock.Now())
	plant(t, s, orgB, jobsBucket, id[:], func(v []byte) []byte { return flipped(v, len(v)*4) })
	before := everything(t, s)
	if err := s.BeginLife(t.Context()); !errors.Is(err, ErrDamaged) {
		t.Errorf("with a job that cannot be read: %v", err)
	}
	if after := everything(t, s); after != before {
		t.Errorf("a life that did not begin changed\n%s", difference(before, after))
	}
	wantHeld(t, s, time.Time{})

	// One that is found out while it is held is let go with the others, and told of by those who look for it.
	plant(t, s, orgB, jobsBucket, id[:], func(v []byte) []byte { return flipped(v, len(v)*4) })
	if err := s.BeginLife(t.Context()); err != nil {
		t.Fatal(err)
	}
	plant(t, s, orgB, jobsBucket, id[:], func(v []byte) []byte { return flipped(v, len(v)*4) })
	wantResumed(t, s, 2)
	jobs, _, err := s.Due(clock.Now(), 9, nil)
	if len(jobs) != 1 || jobs[0].Org != orgA || !errors.Is(err, ErrDamaged) {
		t.Errorf("due is %v, %v", jobs, err)
	}

	plantShared(t, s, "meta", heldKey, exactly([]byte("yesterday")))
	if _, err := s.Held(); err == nil {
		t.Error("a time that is none is taken")
	}
	enqueue(t, s, orgA, "mail", clock.Now()) // whatever the time is, they are held
	if got, _, _ := s.Due(clock.Now(), 9, nil); len(got) != 1 {
		t.Errorf("due is %v", got)
	}
	wantResumed(t, s, 1)
	wantHeld(t, s, time.Time{})
}

func TestResumeThatFails(t *testing.T) {
	clock := newClock()
	s := restored(t, clock, func(s *Store) { enqueue(t, s, orgA, "mail", clock.Now()) })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if n, err := s.Resume(ctx); !errors.Is(err, context.Canceled) || n != 0 {
		t.Errorf("cancelled: %d, %v", n, err)
	}
	wantDue(t, s, clock.Now(), "")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Resume(t.Context()); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("closed: %v", err)
	}
	if _, err := s.Held(); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("closed: %v", err)
	}
}
