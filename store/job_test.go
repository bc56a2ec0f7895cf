package store

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
)

func enqueue(t *testing.T, s *Store, org uuid.UUID, kind string, due time.Time) (id uuid.UUID) {
	t.Helper()
	write(t, s, org, func(tx *Tx) (err error) {
		id, err = tx.Enqueue(kind, due, map[string]string{"for": kind})
		return err
	})
	return id
}

// dueKinds lists the due jobs as "first letter of the organization:kind".
func dueKinds(t *testing.T, s *Store, now time.Time, limit int, skip ...uuid.UUID) (string, time.Time) {
	t.Helper()
	jobs, next, err := s.Due(now, limit, func(j Job) bool {
		for _, s := range skip {
			if s == j.ID {
				return true
			}
		}
		return false
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, j := range jobs {
		list = append(list, map[uuid.UUID]string{orgA: "a:", orgB: "b:"}[j.Org]+j.Kind)
	}
	return strings.Join(list, " "), next
}

func TestDue(t *testing.T) {
	clock := newClock()
	dir := t.TempDir()
	s := open(t, dir, clock.options())
	late := enqueue(t, s, orgB, "late", clock.after(5))
	second := enqueue(t, s, orgA, "second", clock.after(2))
	enqueue(t, s, orgB, "third", clock.after(3))
	enqueue(t, s, orgA, "third", clock.after(3).Add(time.Microsecond)) // in the same millisecond
	enqueue(t, s, orgB, "first", clock.after(1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, clock.options())

	none := time.Time{}
	for _, c := range []struct {
		hours, limit int
		skip         []uuid.UUID
		want         string
		next         time.Time
	}{
		{hours: 0, limit: 9, want: "", next: clock.after(1)},
		{hours: 1, limit: 9, want: "b:first", next: clock.after(2)},
		{hours: 4, limit: 9, want: "b:first a:second b:third a:third", next: clock.after(5)},
		{hours: 4, limit: 9, skip: []uuid.UUID{second}, want: "b:first a:third b:third", next: clock.after(5)},
		{hours: 4, limit: 2, skip: []uuid.UUID{second}, want: "b:first a:third", next: none},
		{hours: 9, limit: 9, skip: []uuid.UUID{late}, want: "b:first a:second b:third a:third", next: none},
		{hours: 9, limit: 9, want: "b:first a:second b:third a:third b:late", next: none},
	} {
		got, next := dueKinds(t, s, clock.after(c.hours), c.limit, c.skip...)
		if got != c.want || !next.Equal(c.next) {
			t.Errorf("%d hours, limit %d: got %q, next %v; want %q, next %v", c.hours, c.limit, got, next, c.want, c.next)
		}
	}
}

// TestJobDueAtZeroTime: the zero time counts as due now.
func TestJobDueAtZeroTime(t *testing.T) {
	clock := newClock()
	s := open(t, t.TempDir(), clock.options())
	enqueue(t, s, orgA, "later", clock.after(1))
	enqueue(t, s, orgA, "at once", time.Time{})
	if got, next := dueKinds(t, s, clock.Now(), 9); got != "a:at once" || !next.Equal(clock.after(1)) {
		t.Errorf("got %q, next %v", got, next)
	}
}

func TestRescheduleAndDone(t *testing.T) {
	clock := newClock()
	s := open(t, t.TempDir(), clock.options())
	id := enqueue(t, s, orgA, "mail", clock.Now())
	write(t, s, orgA, func(tx *Tx) error { return tx.Reschedule(id, clock.after(1), 3) })
	if got, next := dueKinds(t, s, clock.Now(), 9); got != "" || !next.Equal(clock.after(1)) {
		t.Errorf("put off: %q, next %v", got, next)
	}
	read(t, s, orgA, func(tx *Tx) error {
		j, err := tx.Job(id)
		if err != nil || j.ID != id || j.Org != orgA || j.Kind != "mail" || j.Tries != 3 ||
			!j.Due.Equal(clock.after(1)) || string(j.Payload) != `{"for":"mail"}` {
			t.Errorf("got %+v, %v", j, err)
		}
		return nil
	})

	// Another organization cannot see, reschedule or end the job.
	read(t, s, orgB, func(tx *Tx) error {
		_, err := tx.Job(id)
		wantCode(t, err, fault.NotFound)
		return nil
	})
	err := s.Update(context.Background(), orgB, boss, func(tx *Tx) error { return tx.Reschedule(id, clock.after(2), 0) })
	wantCode(t, err, fault.NotFound)
	write(t, s, orgB, func(tx *Tx) error { return tx.Done(id) })
	if got, _ := dueKinds(t, s, clock.after(1), 9); got != "a:mail" {
		t.Fatalf("due: %q", got)
	}

	for range 2 { // Done is idempotent
		write(t, s, orgA, func(tx *Tx) error { return tx.Done(id) })
	}
	if got, next := dueKinds(t, s, clock.after(9), 9); got != "" || !next.IsZero() {
		t.Errorf("done: %q, next %v", got, next)
	}
	write(t, s, orgA, func(tx *Tx) error { // all in one transaction
		id, err := tx.Enqueue("short", clock.Now(), nil)
		if err == nil {
			err = tx.Reschedule(id, clock.after(1), 1)
		}
		if err == nil {
			err = tx.Done(id)
		}
		return err
	})
	if got, next := dueKinds(t, s, clock.after(9), 9); got != "" || !next.IsZero() {
		t.Errorf("done at once: %q, next %v", got, next)
	}
}

func TestWake(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	woken := func() bool {
		select {
		case <-s.Wake():
			return true
		default:
			return false
		}
	}
	// The signal comes after the result: an empty Update starts only after the signal was sent.
	settle := func() { write(t, s, orgB, func(*Tx) error { return nil }) }

	id := enqueue(t, s, orgA, "mail", s.Now())
	settle()
	if !woken() {
		t.Error("not woken by a new job")
	}
	write(t, s, orgA, func(tx *Tx) error { return tx.Reschedule(id, s.Now(), 1) })
	settle()
	if !woken() {
		t.Error("not woken by a rescheduled job")
	}
	insert(t, s, orgA, person{Name: "no job"})
	err := s.Update(context.Background(), orgA, boss, func(tx *Tx) error {
		_, _ = tx.Enqueue("mail", s.Now(), nil)
		return errRefused
	})
	if !errors.Is(err, errRefused) {
		t.Error(err)
	}
	settle()
	if woken() {
		t.Error("woken by nothing")
	}
	for range 3 { // without a receiver the commit loop must not wait
		enqueue(t, s, orgA, "mail", s.Now())
	}
}

func TestADamagedJobIsAnError(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	id := enqueue(t, s, orgA, "mail", s.Now())
	plant(t, s, orgA, jobsBucket, id[:], func(v []byte) []byte { return flipped(v, len(v)*4) })
	if _, _, err := s.Due(s.Now(), 9, nil, nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

func TestAPayloadThatCannotBeEncoded(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	err := s.Update(context.Background(), orgA, boss, func(tx *Tx) error {
		_, err := tx.Enqueue("mail", tx.Now(), func() {})
		return err
	})
	if err == nil || !strings.HasPrefix(err.Error(), "enqueue mail: ") {
		t.Errorf("got %v", err)
	}
}
