package turn

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
)

func TestScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(1)
		// pause pauses work in a goroutine of its own. The result is closed when it continues.
		pause := func(ctx context.Context, w *Work) chan struct{} {
			goesOn := make(chan struct{})
			go func() {
				defer close(goesOn)
				w.Pause(ctx)
			}()
			synctest.Wait()
			return goesOn
		}
		waits := func(what string, goesOn chan struct{}, want bool) {
			t.Helper()
			synctest.Wait()
			select {
			case <-goesOn:
				if want {
					t.Errorf("%s continues", what)
				}
			default:
				if !want {
					t.Errorf("%s waits", what)
				}
			}
		}
		start := func(org byte) (context.Context, *Work) { return s.Start(t.Context(), uuid.UUID{org}) }
		ctx, a1 := start(1)
		_, b := start(2)
		if Of(ctx) != a1 || Of(t.Context()) != nil {
			t.Error("the context does not have the work")
		}
		for _, w := range []*Work{nil, a1, b} {
			waits("short work", pause(ctx, w), false)
		}
		time.Sleep(slice)
		synctest.Wait()
		waits("the first", pause(ctx, a1), false)
		_, a2 := start(1) // needs a permit from the beginning, since its organization has long work
		second, third := pause(ctx, a2), pause(ctx, b)
		waits("the second", second, true)
		waits("the third", third, true)
		waits("the first within its slice", pause(ctx, a1), false)
		time.Sleep(maxKept - time.Millisecond)
		waits("the second while the first does not pause", second, true)
		time.Sleep(time.Millisecond) // the first is blocked elsewhere
		waits("the second after the first was blocked", second, false)
		first := pause(ctx, a1)
		waits("the second within its slice", pause(ctx, a2), false)
		time.Sleep(slice)
		synctest.Wait()
		fourth := pause(ctx, a2)
		waits("the other organization before the first", third, false)
		waits("the first", first, true)
		b.End()
		waits("the first after the end of another", first, false)
		a1.Block()
		waits("the second after the first has blocked", fourth, false)
		waits("the first after it has blocked", pause(ctx, a1), true)
		a1.End()
		a2.End()

		// So does more work than there are permits.
		ctx, short := start(1)
		waits("short work", pause(ctx, short), false)
		_, more := start(1)
		waits("the only work that asks for a permit", pause(ctx, more), false)
		_, most := start(1)
		waits("work without a permit", pause(ctx, most), true)
		for _, w := range []*Work{short, more, most} {
			w.End()
		}

		// Work that has waited for long, or whose caller has gone, continues without a permit.
		_, busy := start(3)
		busy.Queue()
		waits("long work", pause(ctx, busy), false)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_, left := start(4)
		left.Queue()
		waits("work without a caller", pause(gone, left), false)
		busy.End()
		left.End()
		if s.taken != 0 || len(s.orgs) != 0 {
			t.Errorf("%d permits are taken, and %d organizations have work", s.taken, len(s.orgs))
		}
	})
}

func TestSchedulerPermits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(4)
		permits := func(want int) {
			t.Helper()
			s.mu.Lock()
			defer s.mu.Unlock()
			if got := s.permits(); got != want {
				t.Errorf("got %d permits, want %d", got, want)
			}
		}
		_, a := s.Start(t.Context(), uuid.UUID{1})
		time.Sleep(aloneAfter)
		permits(4)
		_, b := s.Start(t.Context(), uuid.UUID{2})
		permits(2)
		b.End()
		time.Sleep(aloneAfter)
		permits(4)
		_, b = s.Start(t.Context(), uuid.UUID{2}) // again, while the other one still works
		permits(2)
		a.End()
		b.End()
	})
}

func TestReader(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := Reader(ctx, strings.NewReader("text"))
	if got, err := io.ReadAll(io.LimitReader(r, 2)); err != nil || string(got) != "te" {
		t.Errorf("got %q, %v", got, err)
	}
	cancel()
	if _, err := r.Read(make([]byte, 2)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v after the end", err)
	}
}
