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

func TestConcurrencyLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newConcurrencyLimiter(2, "requests")
		a, b := uuid.UUID{1}, uuid.UUID{2}
		// enter starts a request. err receives what the limiter answers.
		enter := func(ctx context.Context, org uuid.UUID) (err chan error) {
			err = make(chan error, 1)
			go func() { err <- l.enter(ctx, org) }()
			synctest.Wait()
			return err
		}
		admitted := func(what string, err chan error, want bool) {
			t.Helper()
			synctest.Wait()
			select {
			case got := <-err:
				if got != nil || !want {
					t.Errorf("%s: admitted %t (error %v), want %t", what, got == nil, got, want)
				}
			default:
				if want {
					t.Errorf("%s: it waits", what)
				}
			}
		}
		admitted("the first", enter(t.Context(), a), true)
		admitted("the second", enter(t.Context(), a), true)
		third, fourth := enter(t.Context(), a), enter(t.Context(), a)
		admitted("the third", third, false)
		admitted("another organization", enter(t.Context(), b), true)
		time.Sleep(turnWait / 2)
		l.leave(a)
		admitted("the third after one has ended", third, true)
		admitted("the fourth before it is its turn", fourth, false)
		time.Sleep(turnWait / 2)
		synctest.Wait()
		if err := <-fourth; fault.CodeOf(err) != fault.RateLimited {
			t.Errorf("the fourth after a second: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		gone := enter(ctx, a)
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("a request whose client has gone: %v", err)
		}
		l.leave(a)
		l.leave(a)
		l.leave(b)
		if len(l.orgs) != 0 {
			t.Errorf("%d organizations are left", len(l.orgs))
		}
		unlimited := newConcurrencyLimiter(0, "requests")
		for range 100 {
			if err := unlimited.enter(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
	})
}
