package store

import (
	"context"
	"errors"
	"testing"
)

// TestRetryAfter: an Update that returns RetryAfter keeps nothing of its first run, and its next
// run sees the work that was done in between. Parts.Before returns a part as it was before the
// transaction.
func TestRetryAfter(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	ctx, parts := context.Background(), NewParts("parts")
	put := func(n uint32, value string) error {
		return s.Update(ctx, orgA, Actor{}, func(tx *Tx) error {
			parts.Put(tx, orgA, n, []byte(value))
			return nil
		})
	}
	runs := 0
	waits := func(do func(context.Context) error) func(*Tx) error {
		return func(tx *Tx) error {
			runs++
			before, err := parts.Get(tx.Before(), orgA, 1)
			if err != nil {
				return err
			}
			parts.Put(tx, orgA, 1, []byte("own"))
			if again, err := parts.Get(tx.Before(), orgA, 1); err != nil || string(again) != string(before) {
				t.Errorf("before it was %q, and then %q: %v", before, again, err)
			}
			if string(before) != "ready" {
				parts.Put(tx, orgA, 2, []byte("in vain"))
				return tx.Try(func() error { return &RetryAfter{Do: do} })
			}
			return nil
		}
	}
	if err := s.Update(ctx, orgA, Actor{}, waits(func(context.Context) error { return errRefused })); !errors.Is(err, errRefused) || runs != 1 {
		t.Errorf("%v after %d runs", err, runs)
	}
	steps := []string{"not yet", "ready"}
	err := s.Update(ctx, orgA, Actor{}, waits(func(context.Context) error {
		next := steps[0]
		steps = steps[1:]
		return put(1, next)
	}))
	if err != nil || runs != 4 {
		t.Errorf("%v after %d runs", err, runs)
	}
	err = s.View(orgA, func(tx *Tx) error {
		for n, want := range map[uint32]string{1: "own", 2: ""} {
			if got, err := parts.Get(tx, orgA, n); err != nil || string(got) != want {
				t.Errorf("part %d is %q: %v", n, got, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
