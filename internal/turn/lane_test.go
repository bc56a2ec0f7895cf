package turn

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
)

func TestLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Lane{free: 1}
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
		start := func(org byte) (context.Context, *Work) { return l.Start(t.Context(), uuid.UUID{org}) }
		ctx, a1 := start(1)
		_, a2 := start(1)
		_, b := start(2)
		if Of(ctx) != a1 || Of(t.Context()) != nil {
			t.Error("the context does not have the work")
		}
		for _, w := range []*Work{nil, a1, a2, b} {
			waits("short work", pause(ctx, w), false)
		}
		time.Sleep(slice)
		synctest.Wait()
		waits("the first", pause(ctx, a1), false)
		second, third := pause(ctx, a2), pause(ctx, b)
		waits("the second", second, true)
		waits("the third", third, true)
		waits("the first within its slice", pause(ctx, a1), false)
		time.Sleep(slice) // the first does not pause: it is blocked elsewhere
		waits("the second after a slice of the first", second, false)
		first := pause(ctx, a1)
		time.Sleep(slice)
		waits("the other organization before the first", third, false)
		waits("the first", first, true)
		b.End()
		waits("the first after the end of another", first, false)
		a1.End()

		// Work that has waited for long, or whose caller has gone, continues without a place.
		_, busy := start(3)
		busy.Queue()
		waits("long work", pause(ctx, busy), false)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_, left := start(4)
		left.Queue()
		waits("work without a caller", pause(gone, left), false)
		for _, w := range []*Work{busy, left, a2} {
			w.End()
		}
		if l.free != 1 {
			t.Errorf("%d places are free", l.free)
		}
	})
}
