package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

// TestTouch: a touch is in the change log and keeps the version until the next change.
func TestTouch(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	ann := insert(t, s, orgA, person{Name: "ann", Email: "a@x"})
	version := ann.Version()
	for n := range 3 {
		write(t, s, orgA, func(tx *Tx) error {
			d, err := people.Get(tx, ann.ID)
			if err != nil {
				return err
			}
			rec := d.Record
			rec.Count++
			return people.Touch(tx, d, rec, []string{"count"})
		})
		read(t, s, orgA, func(tx *Tx) error {
			d, err := people.Get(tx, ann.ID)
			if d.Version() != version || d.Record.Count != n+1 || d.Change != uint64(n+2) || tx.LastChange("people") != d.Change {
				t.Errorf("after %d touches: version %s, was %s; change %d of %d: %+v", n+1, d.Version(), version, d.Change, tx.LastChange("people"), d.Record)
			}
			return err
		})
	}
	write(t, s, orgA, func(tx *Tx) error {
		d, err := people.Get(tx, ann.ID)
		if err != nil {
			return err
		}
		if err := people.Touch(tx, ann, d.Record, nil); err == nil {
			return errors.New("a record that was changed since it was read was touched")
		}
		d, err = people.Update(tx, d, person{Name: "anna"}, []string{"name"})
		if d.Version() != "5" {
			err = fmt.Errorf("the version after a change is %s", d.Version())
		}
		return err
	})
	if found := problems(t, s, orgA); len(found) > 0 {
		t.Error(found)
	}
}

// TestShortHistory: the change log of a short-history table is trimmed after a day.
func TestShortHistory(t *testing.T) {
	clock := newClock()
	s := open(t, t.TempDir(), clock.options())
	brief, lasting := NewTable[person]("brief", nil, nil).ShortHistory(), NewTable[person]("lasting", nil, nil)
	for range 40 {
		for _, table := range []*Table[person]{brief, lasting} {
			write(t, s, orgA, func(tx *Tx) error {
				_, err := table.Insert(tx, tx.NewID(), person{Name: "x"})
				return err
			})
		}
		clock.move(time.Hour)
	}
	for table, want := range map[string]uint64{"brief": 8, "lasting": 0} {
		first := uint64(0)
		read(t, s, orgA, func(tx *Tx) error {
			return tx.Changes(table, 0, func(c Change) (bool, error) {
				first = c.Number
				return false, nil
			})
		})
		if first <= want || want == 0 && first != 1 {
			t.Errorf("the log of %s begins with %d", table, first)
		}
	}
}

// TestDerived: a derived value is computed again when its counter changes, within a transaction
// that has incremented it, and when a commit failed after its counter was seen.
func TestDerived(t *testing.T) {
	fails := false
	s := open(t, t.TempDir(), Options{commit: func(btx *bolt.Tx) error {
		if fails {
			return errors.Join(btx.Rollback(), fmt.Errorf("file resize error: no room"))
		}
		return btx.Commit()
	}})
	made := 0
	d := NewDerived(people.Counter(), func(tx *Tx) (string, error) {
		made++
		var all string
		err := people.Scan(tx, func(d Doc[person]) (bool, error) {
			all += d.Record.Name
			return true, nil
		})
		return all, err
	})
	is := func(tx *Tx, want string, makes int) error {
		before := made
		if got, err := d.Of(tx); err != nil || got != want || made-before != makes {
			return fmt.Errorf("got %q (%v), made %d times, want %q and %d", got, err, made-before, want, makes)
		}
		return nil
	}
	add := func(tx *Tx, name string) error {
		_, err := people.Insert(tx, tx.NewID(), person{Name: name})
		return err
	}
	check := func(org uuid.UUID, want string, makes int) {
		t.Helper()
		read(t, s, org, func(tx *Tx) error { return is(tx, want, makes) })
	}
	check(orgA, "", 1)
	check(orgA, "", 0)
	write(t, s, orgA, func(tx *Tx) error { return errors.Join(add(tx, "a"), is(tx, "a", 1), is(tx, "a", 1)) })
	check(orgA, "a", 1)
	check(orgA, "a", 0)
	check(orgB, "", 1)
	write(t, s, orgA, func(tx *Tx) error { return is(tx, "a", 0) })

	// The second Update shares the commit of the first and sees its writes; both fail.
	fails = true
	var seen error
	shared := []*pending{
		{fn: func(tx *Tx) error { return add(tx, "lost") }},
		{fn: func(tx *Tx) error { seen = is(tx, "alost", 1); return nil }},
	}
	s.mu.Lock()
	for _, p := range shared {
		p.ctx, p.org, p.done = context.Background(), orgA, make(chan struct{})
		s.queue.Add(orgA, p)
	}
	s.arrived.Signal()
	s.mu.Unlock()
	for _, p := range shared {
		if <-p.done; p.err == nil {
			t.Error("a commit that failed was acknowledged")
		}
	}
	if seen != nil {
		t.Error(seen)
	}
	fails = false
	write(t, s, orgA, func(tx *Tx) error { return add(tx, "b") })
	check(orgA, "ab", 1)
}

func TestRangeAndAfterCommit(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	called := 0
	err := s.Update(context.Background(), orgA, boss, func(tx *Tx) error {
		tx.AfterCommit(func() { called++ })
		return errRefused
	})
	if !errors.Is(err, errRefused) || called != 0 {
		t.Errorf("%v, called %d times", err, called)
	}
	write(t, s, orgA, func(tx *Tx) error {
		tx.AfterCommit(func() { called++ })
		tx.AfterCommit(func() {
			called += 10
			if names(t, s, orgA) != "a b c" {
				t.Error("called before the commit")
			}
		})
		for _, p := range []person{{Name: "a", Tags: []string{"red", "blue"}}, {Name: "b", Tags: []string{"green"}}, {Name: "c", Tags: []string{"red"}}} {
			if _, err := people.Insert(tx, tx.NewID(), p); err != nil {
				return err
			}
		}
		return nil
	})
	if called != 11 {
		t.Errorf("called %d times", called)
	}
	read(t, s, orgA, func(tx *Tx) error {
		var got string
		err := people.Range(tx, "tag", []byte("c"), func(key []byte, id uuid.UUID) bool {
			d, err := people.Get(tx, id)
			if err != nil {
				t.Error(err)
			}
			got += string(key) + "=" + d.Record.Name + " "
			return d.Record.Name != "a"
		})
		if got != "green=b red=a " {
			t.Errorf("got %q", got)
		}
		return err
	})
}
