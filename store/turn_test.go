package store

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
)

// Organizations take turns at the writer. An Update that runs for long ends its commit, and one of another
// organization that arrived meanwhile runs before the rest of the queue.
func TestWritersTakeTurns(t *testing.T) {
	clock := newClock()
	s := open(t, t.TempDir(), clock.options())
	orgC := uuid.UUID{0xc, 15: 1}
	release := hold(t, s)
	var all sync.WaitGroup
	var order []string // written by the commit loop alone
	queued := 0
	write := func(org uuid.UUID, what string, during func()) {
		all.Go(func() {
			err := s.Update(context.Background(), org, boss, func(tx *Tx) error {
				order = append(order, what)
				tx.put("values", []byte(what), []byte("x"))
				if during != nil {
					during()
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		queued++
		waitQueued(s, queued)
	}
	write(orgA, "a1", func() {
		clock.move(maxBatchTime)
		all.Go(func() {
			if err := s.Update(context.Background(), orgC, boss, func(*Tx) error { order = append(order, "c1"); return nil }); err != nil {
				t.Error(err)
			}
		})
		waitQueued(s, 4)
	})
	write(orgA, "a2", nil)
	write(orgA, "a3", nil)
	write(orgB, "b1", nil)
	release()
	all.Wait()
	if want := []string{"a1", "b1", "a2", "c1", "a3"}; !slices.Equal(order, want) {
		t.Errorf("the order is %v, want %v", order, want)
	}
	if st, err := s.Stats(); err != nil || st.Commits.Count != 2 {
		t.Errorf("%d commits, want 2: the long one and the rest (error %v)", st.Commits.Count, err)
	}
}

// An Update that can be continued yields when it has run for its share and others wait for its commit, or are part of it.
func TestMustYield(t *testing.T) {
	clock := newClock()
	s := open(t, t.TempDir(), clock.options())
	var all sync.WaitGroup
	update := func(fn func(*Tx)) {
		if err := s.Update(context.Background(), orgA, boss, func(tx *Tx) error { fn(tx); return nil }); err != nil {
			t.Error(err)
		}
	}
	yields := func(tx *Tx, when string, want bool) {
		t.Helper()
		if got := tx.MustYield(); got != want {
			t.Errorf("%s: %t, want %t", when, got, want)
		}
	}
	update(func(tx *Tx) {
		clock.move(share)
		yields(tx, "alone", false)
		all.Go(func() { update(func(*Tx) {}) })
		waitQueued(s, 1)
		yields(tx, "while another one waits", true)
		all.Go(func() {
			update(func(tx *Tx) {
				yields(tx, "at the beginning", false)
				clock.move(share)
				yields(tx, "after another one of the same commit", true)
			})
		})
		waitQueued(s, 2)
	})
	all.Wait()
}
