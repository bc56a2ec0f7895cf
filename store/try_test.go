package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// attempt is one operation of a transaction, or several that it tries.
type attempt struct {
	do    func(*Tx) error
	try   []attempt // what Try runs, if do is nil
	fails bool      // at its end
}

// run runs a list. If skip is set, it leaves out what is going to fail.
func run(tx *Tx, list []attempt, skip bool) error {
	for _, a := range list {
		if a.do != nil {
			if err := a.do(tx); err != nil {
				return err
			}
			continue
		}
		if a.fails && skip {
			continue
		}
		err := tx.Try(func() error {
			if err := run(tx, a.try, skip); err != nil {
				return err
			}
			if a.fails {
				return errRefused
			}
			return nil
		})
		if a.fails != errors.Is(err, errRefused) {
			return fmt.Errorf("it is meant to fail: %t, and it said %w", a.fails, errors.Join(err))
		}
	}
	return nil
}

// state returns the content of a store, including the shared buckets.
func state(t *testing.T, s *Store) string {
	t.Helper()
	dump, err := s.Dump(orgA)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(dump)
	jobs, next, err := s.Due(s.Now(), 1000, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(&b, len(jobs), next)
	for _, j := range jobs {
		fmt.Fprintf(&b, "%s %s %s %d %s\n", j.ID, j.Kind, j.Due, j.Tries, j.Payload)
	}
	for n := range 40 {
		org, id, found, err := s.Lookup("people", "token", fmt.Append(nil, "t", n))
		fmt.Fprintln(&b, n, org, id, found, err)
	}
	return b.String()
}

func tried(n int) uuid.UUID { return numberedID(1, n) }

func triedPerson(n, v int) person {
	return person{Name: fmt.Sprint(n, v), Email: fmt.Sprint((n+v)%40, "@x"), Tags: []string{fmt.Sprint("tag", v%3), fmt.Sprint("tag", v%5)},
		hidden: hidden{Token: fmt.Sprint("t", (n+v)%40)}}
}

// putPerson inserts or updates a person. A taken key changes nothing and is not an error.
func putPerson(tx *Tx, n, v int) {
	if d, err := people.Get(tx, tried(n)); err == nil {
		_, _ = people.Update(tx, d, triedPerson(n, v), []string{fmt.Sprint("field", v)})
		return
	}
	_, _ = people.Insert(tx, tried(n), triedPerson(n, v))
}

func deletePerson(tx *Tx, n int) error {
	d, err := people.Get(tx, tried(n))
	if err != nil {
		return nil // it does not exist
	}
	return people.Delete(tx, d)
}

func deadTag(v int) Tombstone {
	tag := fmt.Sprint("tag", v)
	return Tombstone{Field: "tags", Value: tag, Key: "tag", Prefix: append([]byte(tag), 0)}
}

func putTried(tx *Tx, n int, due time.Time) error {
	id := numberedID(2, n)
	if _, err := tx.Job(id); err == nil {
		return tx.Reschedule(id, due, n)
	}
	return tx.putJob(Job{ID: id, Kind: fmt.Sprint("kind", n), Due: due})
}

// prepared returns a store that has some of everything, and a log that the next changes trim.
func prepared(t *testing.T, clock *fakeClock) *Store {
	t.Helper()
	opt := clock.options()
	s := open(t, t.TempDir(), opt)
	s.db.NoSync = true
	write(t, s, orgA, func(tx *Tx) error {
		for n := range 20 {
			putPerson(tx, n, n)
		}
		_, err := people.AddTombstone(tx, deadTag(4))
		return errors.Join(err, deletePerson(tx, 3), putTried(tx, 0, tx.Now()), putTried(tx, 1, tx.Now().Add(time.Hour)))
	})
	return s
}

// TestTry runs a transaction with nested attempts, some of which fail, and in another store the
// same transaction without those that fail. Both must end with the same bytes.
func TestTry(t *testing.T) {
	for seed := range uint64(15) {
		rng := rand.New(rand.NewPCG(seed, 2))
		clock := newClock()
		one, other := prepared(t, clock), prepared(t, clock)
		if state(t, one) != state(t, other) {
			t.Fatal("they do not begin alike")
		}
		clock.move(historyKept + time.Hour)
		for range 4 {
			list := attempts(rng, 0)
			for s, skip := range map[*Store]bool{one: false, other: true} {
				write(t, s, orgA, func(tx *Tx) error {
					if _, err := tx.Tombstones("people"); err != nil {
						return err
					}
					if err := run(tx, list, skip); err != nil {
						return err
					}
					// What is read after all attempts is written too, so that it is compared.
					var seen []string
					err := people.Scan(tx, func(d Doc[person]) (bool, error) {
						seen = append(seen, string(d.JSON))
						return true, nil
					})
					tx.put("seen", []byte("seen"), fmt.Append(nil, seen, people.Count(tx), tx.LastChange("people"), tx.Changed("people"), tx.bytes))
					return err
				})
			}
			if got, want := state(t, one), state(t, other); got != want {
				t.Fatalf("seed %d: got\n%s\nwant\n%s", seed, got, want)
			}
			clock.move(time.Minute)
		}
		if found := problems(t, one, orgA); found != nil {
			t.Errorf("seed %d: %v", seed, found)
		}
	}
}

// attempts returns random operations.
func attempts(rng *rand.Rand, depth int) (list []attempt) {
	for range 1 + rng.IntN(5) {
		n, v := rng.IntN(30), rng.IntN(60)
		var do func(*Tx) error
		switch rng.IntN(10) {
		case 0, 1, 2:
			do = func(tx *Tx) error { putPerson(tx, n, v); return nil }
		case 3:
			do = func(tx *Tx) error { // enough changes to trim the log on the way
				for i := range 20 {
					putPerson(tx, (n+i)%30, v+i)
				}
				return nil
			}
		case 4:
			do = func(tx *Tx) error { return deletePerson(tx, n) }
		case 5:
			do = func(tx *Tx) error { return putTried(tx, n%4, tx.Now().Add(time.Duration(v-30)*time.Minute)) }
		case 6:
			do = func(tx *Tx) error { return tx.Done(numberedID(2, n%4)) }
		case 7:
			do = func(tx *Tx) error {
				tomb, err := people.AddTombstone(tx, deadTag(v%5))
				if err == nil && v%2 == 0 {
					_, err = people.Sweep(tx, tomb, 2)
				}
				return err
			}
		default:
			if depth < 3 {
				list = append(list, attempt{try: attempts(rng, depth+1), fails: rng.IntN(2) == 0})
			}
			continue
		}
		list = append(list, attempt{do: do})
	}
	return list
}

// TestFailedTryAlone has a transaction that does nothing else: it makes no commit and sends no
// signal.
func TestFailedTryAlone(t *testing.T) {
	opt, commits := counting()
	s := open(t, t.TempDir(), opt)
	write(t, s, orgA, func(tx *Tx) error {
		err := tx.Try(func() error {
			if _, err := people.Insert(tx, tx.NewID(), triedPerson(1, 1)); err != nil {
				return err
			}
			if _, err := tx.Enqueue("mail", tx.Now(), nil); err != nil {
				return err
			}
			if !tx.Changed("people") || people.Count(tx) != 1 {
				return errors.New("it does not see what it did")
			}
			return errRefused
		})
		if !errors.Is(err, errRefused) {
			return fmt.Errorf("it said %w", err)
		}
		if tx.Changed("people") || people.Count(tx) != 0 || tx.changed() != nil {
			return errors.New("the table is changed")
		}
		return nil
	})
	write(t, s, orgB, func(*Tx) error { return nil }) // starts only after the other has sent its signals
	select {
	case <-s.Wake():
		t.Error("it woke somebody")
	default:
	}
	if commits.Load() != 0 {
		t.Errorf("%d commits", commits.Load())
	}
	if dump, err := s.Dump(orgA); err != nil || dump != "" {
		t.Errorf("left is %q, %v", dump, err)
	}
}

// A job that was enqueued before a failed attempt still wakes its receiver.
func TestATryThatFailedKeepsTheWake(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	write(t, s, orgA, func(tx *Tx) error {
		_, err := tx.Enqueue("mail", tx.Now(), nil)
		if failed := tx.Try(func() error { return errRefused }); !errors.Is(failed, errRefused) {
			return fmt.Errorf("it said %w", errors.Join(failed))
		}
		return err
	})
	write(t, s, orgB, func(*Tx) error { return nil })
	select {
	case <-s.Wake():
	default:
		t.Error("nobody was woken")
	}
}

// TestTombstoneReverted reads the record as it was after the tombstone was reverted, and without
// the deleted value when it was not.
func TestTombstoneReverted(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	d := insert(t, s, orgA, person{Name: "a", Tags: []string{"tag1", "tag2"}})
	reads := func(tx *Tx, want string) error {
		got, err := people.Get(tx, d.ID)
		_, public, second := tx.Reader("people").Public(d.ID)
		if string(got.JSON) != want || string(public) != want {
			return fmt.Errorf("it reads %s and %s, want %s", got.JSON, public, want)
		}
		return errors.Join(err, second)
	}
	before, after := string(d.JSON), `{"name":"a","tags":["tag2"]}`
	write(t, s, orgA, func(tx *Tx) error {
		if err := reads(tx, before); err != nil {
			return err
		}
		for _, fails := range []error{errRefused, nil} {
			err := tx.Try(func() error {
				if _, err := people.AddTombstone(tx, deadTag(1)); err != nil {
					return err
				}
				return errors.Join(reads(tx, after), fails)
			})
			if !errors.Is(err, fails) {
				return err
			}
			if fails != nil {
				err = reads(tx, before)
			} else {
				err = reads(tx, after)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	read(t, s, orgA, func(tx *Tx) error { return reads(tx, after) })
}

// A failed attempt leaves no bucket behind either.
func TestATryThatFailedLeavesNoBucket(t *testing.T) {
	dump := func(try bool) string {
		s := open(t, t.TempDir(), newClock().options())
		write(t, s, orgA, func(tx *Tx) error {
			if try {
				_ = tx.Try(func() error { _, _ = people.Insert(tx, tried(1), triedPerson(1, 1)); return errRefused })
			}
			tx.put("x", []byte("x"), nil)
			return nil
		})
		d, _ := s.Dump(orgA)
		return d
	}
	if a, b := dump(true), dump(false); a != b {
		t.Errorf("with a failed attempt:\n%swithout:\n%s", a, b)
	}
}
