package store

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
)

func history(t *testing.T, s *Store, org uuid.UUID, after uint64) (list []Change) {
	t.Helper()
	read(t, s, org, func(tx *Tx) error {
		return tx.Changes("people", after, func(c Change) (bool, error) {
			list = append(list, c)
			return true, nil
		})
	})
	return list
}

func numbers(list []Change) (n []uint64) {
	for _, c := range list {
		n = append(n, c.Number)
	}
	return n
}

func TestChangeLog(t *testing.T) {
	clock := newClock()
	s := open(t, t.TempDir(), clock.options())
	ann := insert(t, s, orgA, person{Name: "ann"})
	bob := insert(t, s, orgA, person{Name: "bob"})
	insert(t, s, orgB, person{Name: "other"}) // has its own numbers
	clock.move(time.Hour)
	var ann2 Doc[person]
	write(t, s, orgA, func(tx *Tx) (err error) {
		ann2, err = people.Update(tx, ann, person{Name: "anna"}, []string{"name", "email"})
		return err
	})
	if err := s.Update(t.Context(), orgA, Actor{}, func(tx *Tx) error { return people.Delete(tx, ann2) }); err != nil {
		t.Fatal(err)
	}
	early, late := clock.after(-1), clock.Now()
	want := []Change{
		{Number: 1, Op: Created, ID: ann.ID, At: early, Actor: boss},
		{Number: 2, Op: Created, ID: bob.ID, At: early, Actor: boss},
		{Number: 3, Prev: 1, Op: Updated, ID: ann.ID, At: late, Actor: boss, Fields: []string{"name", "email"}},
		{Number: 4, Prev: 3, Op: Deleted, ID: ann.ID, At: late},
	}
	if got := history(t, s, orgA, 0); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if got := numbers(history(t, s, orgA, 2)); !slices.Equal(got, []uint64{3, 4}) {
		t.Errorf("after 2: %v", got)
	}
	if got := history(t, s, orgA, 4); got != nil {
		t.Errorf("after the last: %v", got)
	}
	if got := numbers(history(t, s, orgB, 0)); !slices.Equal(got, []uint64{1}) {
		t.Errorf("of the other organization: %v", got)
	}
	if ann.Change != 1 || ann2.Change != 3 {
		t.Errorf("the records have versions %d and %d", ann.Change, ann2.Change)
	}
}

func TestChangesStopsAndFails(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	insert(t, s, orgA, person{Name: "a"})
	insert(t, s, orgA, person{Name: "b"})
	read(t, s, orgA, func(tx *Tx) error {
		seen := 0
		if err := tx.Changes("people", 0, func(Change) (bool, error) { seen++; return false, nil }); err != nil || seen != 1 {
			t.Errorf("saw %d, %v", seen, err)
		}
		if err := tx.Changes("people", 0, func(Change) (bool, error) { return true, errRefused }); !errors.Is(err, errRefused) {
			t.Errorf("got %v", err)
		}
		return nil
	})
}

// Every sixteenth change removes up to twice as many expired entries.
func TestOldChangesAreTrimmed(t *testing.T) {
	clock := newClock()
	s := open(t, t.TempDir(), clock.options())
	insert(t, s, orgB, person{Name: "elsewhere"})
	add := func(n int) {
		write(t, s, orgA, func(tx *Tx) error {
			for range n {
				if _, err := people.Insert(tx, tx.NewID(), person{Name: "p"}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	kept := func() (first, last uint64) {
		all := numbers(history(t, s, orgA, 0))
		return all[0], all[len(all)-1]
	}
	wantKept := func(first, last uint64) {
		t.Helper()
		if f, l := kept(); f != first || l != last {
			t.Fatalf("kept %d to %d, want %d to %d", f, l, first, last)
		}
	}
	add(100)
	clock.move(historyKept - time.Millisecond)
	add(12)
	wantKept(1, 112) // not expired yet
	clock.move(time.Millisecond)
	add(15)
	wantKept(1, 127)
	add(1)
	wantKept(33, 128)
	add(64) // several trims in one transaction continue from each other and stop at the first entry that has not expired
	wantKept(101, 192)
	add(64)
	wantKept(101, 256)
	if got := len(history(t, s, orgB, 0)); got != 1 {
		t.Errorf("the other organization has %d changes", got)
	}
	if found := problems(t, s, orgA); found != nil {
		t.Errorf("a trimmed log is reported: %v", found)
	}
}
