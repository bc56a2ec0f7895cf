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
