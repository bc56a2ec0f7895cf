package store

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
)

// historyOf returns the history of a record.
func historyOf(t *testing.T, s *Store, org uuid.UUID, table string, id uuid.UUID) (list []Change, err error) {
	t.Helper()
	err = s.View(org, func(tx *Tx) error {
		return tx.History(table, id, func(c Change) (bool, error) {
			list = append(list, c)
			return true, nil
		})
	})
	return list, err
}

func wantHistory(t *testing.T, s *Store, id uuid.UUID, want ...uint64) []Change {
	t.Helper()
	got, err := historyOf(t, s, orgA, "people", id)
	if err != nil || !slices.Equal(numbers(got), want) {
		t.Errorf("the history is %v, want %v, %v", numbers(got), want, err)
	}
	return got
}

// rename changes a person's name in a transaction of its own.
func rename(t *testing.T, s *Store, d Doc[person], name string) Doc[person] {
	t.Helper()
	write(t, s, orgA, func(tx *Tx) (err error) {
		d, err = people.Update(tx, d, person{Name: name}, []string{"name"})
		return err
	})
	return d
}

// TestHistory follows three records with interleaved changes in one log.
func TestHistory(t *testing.T) {
	clock := newClock()
	s := open(t, t.TempDir(), clock.options())
	var docs [3]Doc[person]
	var want [3][]uint64
	for i := range docs {
		docs[i] = insert(t, s, orgA, person{Name: "new"})
		want[i] = []uint64{docs[i].Change}
	}
	for round := range 7 {
		clock.move(time.Hour)
		for i := range docs {
			if (round+i)%(i+1) == 0 {
				docs[i] = rename(t, s, docs[i], fmt.Sprint("round ", round))
				want[i] = append([]uint64{docs[i].Change}, want[i]...)
			}
		}
	}
	for i, d := range docs {
		got := wantHistory(t, s, d.ID, want[i]...)
		for n, c := range got {
			last := n == len(got)-1
			if c.ID != d.ID || c.Actor != boss || (c.Op == Created) != last || (c.Op == Updated) == last || (len(c.Fields) == 0) != last {
				t.Errorf("record %d: change %d of its history is %+v", i, n, c)
			}
			if n > 0 && c.At.After(got[n-1].At) {
				t.Errorf("record %d: %v comes after %v", i, c.At, got[n-1].At)
			}
		}
	}

	write(t, s, orgA, func(tx *Tx) error { // several changes, the last of which deletes the record
		d, err := people.Update(tx, docs[0], person{Name: "last"}, []string{"name"})
		if err == nil {
			err = people.Delete(tx, d)
		}
		return err
	})
	last := numbers(history(t, s, orgA, 0))[len(history(t, s, orgA, 0))-1]
	insert(t, s, orgA, person{Name: "somebody else"})
	if got := wantHistory(t, s, docs[0].ID, append([]uint64{last, last - 1}, want[0]...)...); got[0].Op != Deleted {
		t.Errorf("it ends with %+v", got[0])
	}
	for what, get := range map[string]func() ([]Change, error){
		"what never was":              func() ([]Change, error) { return historyOf(t, s, orgA, "people", numberedID(1, 1)) },
		"another organization":        func() ([]Change, error) { return historyOf(t, s, orgB, "people", docs[1].ID) },
		"another, what went":          func() ([]Change, error) { return historyOf(t, s, orgB, "people", docs[0].ID) },
		"another table":               func() ([]Change, error) { return historyOf(t, s, orgA, "animals", docs[1].ID) },
		"another table, of what went": func() ([]Change, error) { return historyOf(t, s, orgA, "animals", docs[0].ID) },
	} {
		if list, err := get(); list != nil || fault.CodeOf(err) != fault.NotFound {
			t.Errorf("%s has the history %v, %v", what, list, err)
		}
	}
}

func TestHistoryStopsAndFails(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	d := insert(t, s, orgA, person{Name: "a"})
	d = rename(t, s, d, "b")
	d = rename(t, s, d, "c")
	read(t, s, orgA, func(tx *Tx) error {
		seen := 0
		if err := tx.History("people", d.ID, func(Change) (bool, error) { seen++; return seen < 2, nil }); err != nil || seen != 2 {
			t.Errorf("saw %d, %v", seen, err)
		}
		if err := tx.History("people", d.ID, func(Change) (bool, error) { return true, errRefused }); !errors.Is(err, errRefused) {
			t.Errorf("got %v", err)
		}
		return nil
	})
	write(t, s, orgA, func(tx *Tx) error { // includes the transaction's own changes
		own, err := people.Update(tx, d, person{Name: "d"}, nil)
		seen := 0
		return errors.Join(err, tx.History("people", own.ID, func(Change) (bool, error) { seen++; return true, nil }), func() error {
			if seen != 4 {
				return fmt.Errorf("the transaction sees %d changes", seen)
			}
			return nil
		}())
	})
	plant(t, s, orgA, "people.log", numberKey(d.Change-1), func(v []byte) []byte { return flipped(v, len(v)*4) })
	err := s.View(orgA, func(tx *Tx) error {
		return tx.History("people", d.ID, func(Change) (bool, error) { return true, nil })
	})
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("a damaged entry: %v", err)
	}
}

// TestHistoryLastsNinetyDays: a change is visible until it is ninety days old, whether the log
// still has it or not.
func TestHistoryLastsNinetyDays(t *testing.T) {
	const day = 24 * time.Hour
	clock := newClock()
	s := open(t, t.TempDir(), clock.options())
	s.db.NoSync = true
	d := insert(t, s, orgA, person{Name: "day 0"})
	clock.move(30 * day)
	d = rename(t, s, d, "day 30")
	clock.move(40 * day)
	d = rename(t, s, d, "day 70") // 3
	kept := func() []uint64 { return numbers(history(t, s, orgA, 0)) }
	wantHistory(t, s, d.ID, 3, 2, 1)
	clock.move(20*day - time.Millisecond)
	wantHistory(t, s, d.ID, 3, 2, 1)
	clock.move(time.Millisecond)
	wantHistory(t, s, d.ID, 3, 2)
	if !slices.Equal(kept(), []uint64{1, 2, 3}) {
		t.Errorf("the log has %v: what is hidden here is meant to be still there", kept())
	}
	clock.move(30*day - time.Millisecond)
	wantHistory(t, s, d.ID, 3, 2)
	clock.move(time.Millisecond)
	wantHistory(t, s, d.ID, 3)

	for range 16 { // the log is trimmed, and the chain ends where it did
		insert(t, s, orgA, person{Name: "other"})
	}
	if kept()[0] != 3 {
		t.Errorf("the log has %v: it is meant to be trimmed", kept())
	}
	wantHistory(t, s, d.ID, 3)
	d = rename(t, s, d, "day 120")
	wantHistory(t, s, d.ID, 20, 3)
	clock.move(40 * day)
	wantHistory(t, s, d.ID, 20)
	for range 32 {
		insert(t, s, orgA, person{Name: "other"})
	}
	if kept()[0] != 4 {
		t.Errorf("the log has %v", kept())
	}
	wantHistory(t, s, d.ID, 20)
	clock.move(90 * day)
	wantHistory(t, s, d.ID)
	if found := problems(t, s, orgA); found != nil {
		t.Error(found)
	}
}

// TestHistoryOfDeletedRecord: a deletion is visible as long as any other change, and nothing of it
// is kept longer.
func TestHistoryOfDeletedRecord(t *testing.T) {
	clock := newClock()
	s := open(t, t.TempDir(), clock.options())
	s.db.NoSync = true
	d := insert(t, s, orgA, person{Name: "a"})
	clock.move(historyKept / 2)
	write(t, s, orgA, func(tx *Tx) error { return people.Delete(tx, d) })
	wantHistory(t, s, d.ID, 2, 1)
	clock.move(historyKept / 2)
	wantHistory(t, s, d.ID, 2)
	clock.move(historyKept/2 - time.Millisecond)
	wantHistory(t, s, d.ID, 2)
	clock.move(time.Millisecond)
	gone := func(when string) {
		t.Helper()
		if list, err := historyOf(t, s, orgA, "people", d.ID); list != nil || fault.CodeOf(err) != fault.NotFound {
			t.Errorf("%s: %v, %v", when, list, err)
		}
	}
	gone("the log still has it")
	for range 16 {
		insert(t, s, orgA, person{Name: "other"})
	}
	gone("the log is trimmed")
	read(t, s, orgA, func(tx *Tx) error {
		for key := range tx.scan(goneBucket("people"), nil) {
			t.Errorf("left is %x", key)
		}
		return nil
	})
}
