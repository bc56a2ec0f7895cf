package handlers

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
)

// budgetRequest is one request to a parse budget. err is set once done is closed.
type budgetRequest struct {
	bodyMemory
	done chan struct{}
	err  error
}

func (r *budgetRequest) resize(ctx context.Context, b *parseBudget, n int64) {
	r.done = make(chan struct{})
	go func() {
		defer close(r.done)
		r.err = b.resize(ctx, &r.bodyMemory, n)
	}()
	synctest.Wait()
}

// waits reports whether the request still waits for the budget.
func (r *budgetRequest) waits() bool {
	synctest.Wait()
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}

func TestParseBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newParseBudget(400)
		ctx := t.Context()
		ask := func(org uuid.UUID, n int64) *budgetRequest {
			r := &budgetRequest{bodyMemory: bodyMemory{org: org}}
			r.resize(ctx, b, n)
			return r
		}
		want := func(what string, r *budgetRequest, waits bool) {
			t.Helper()
			if r.waits() != waits || r.err != nil {
				t.Errorf("%s: waits %t, want %t; error %v", what, r.waits(), waits, r.err)
			}
		}
		orgs := []uuid.UUID{{1}, {2}, {3}, {4}, {5}}
		first := ask(orgs[0], 60)
		want("the first", first, false)
		second, third := ask(orgs[0], 50), ask(orgs[0], 10)
		want("more than the share", second, true)
		want("one that would overtake in its organization", third, true)
		other := ask(orgs[1], 1000)
		want("a body larger than the share, in another organization", other, false)
		b.giveBack(&first.bodyMemory)
		want("after the release", second, false)
		want("the next after the release", third, false)

		// All that is left of the total is 240, and then 40.
		ask(orgs[2], 100)
		ask(orgs[3], 100)
		fifth := ask(orgs[4], 70)
		want("more than the total", fifth, true)
		small := ask(orgs[4], 1)
		want("one that would overtake a large body", small, true)

		// One that needs more goes first, and gives up what it has while it waits.
		third.resize(ctx, b, 50)
		want("the one that needs more", third, false)
		want("more than the total", fifth, true)
		b.giveBack(&other.bodyMemory)
		want("after the second release", fifth, false)
		want("the one behind it", small, false)
	})
}

func TestParseBudgetTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newParseBudget(400)
		org := uuid.UUID{1}
		first := &budgetRequest{bodyMemory: bodyMemory{org: org}}
		first.resize(t.Context(), b, 100)
		ctx, cancel := context.WithCancel(t.Context())
		gone := &budgetRequest{bodyMemory: bodyMemory{org: org}}
		gone.resize(ctx, b, 1)
		late := &budgetRequest{bodyMemory: bodyMemory{org: org}}
		began := time.Now()
		late.resize(t.Context(), b, 1)

		cancel()
		<-gone.done
		if !errors.Is(gone.err, context.Canceled) {
			t.Error("a client that disconnected:", gone.err)
		}
		<-late.done
		if waited := time.Since(began); fault.CodeOf(late.err) != fault.Unavailable || waited != 5*time.Second {
			t.Errorf("after %s: %v", waited, late.err)
		}
		b.giveBack(&first.bodyMemory)
		if b.used != 0 || len(b.byOrg) != 0 || len(b.queue) != 0 {
			t.Errorf("left over: %d bytes, %v, %d waiting", b.used, b.byOrg, len(b.queue))
		}
		first.resize(t.Context(), b, 100)
		if first.waits() || first.err != nil {
			t.Error("the budget is not free again:", first.err)
		}
	})
}
