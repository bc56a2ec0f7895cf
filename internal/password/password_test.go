package password

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"prospector/internal/fault"
)

// TestHashingIsBounded checks that few passwords are hashed at once, and that of the others few wait: a part of
// them from one client.
func TestHashingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHasher()
		ctx, cancel := context.WithCancel(t.Context())
		var began []string
		wait := func(ctx context.Context, client string) {
			go func() {
				if err := h.enter(ctx, client); err == nil {
					began = append(began, client)
				} else if !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", client, err)
				}
			}()
			synctest.Wait()
		}
		refuses := func(client string) {
			t.Helper()
			var refusal *fault.Error
			if err := h.enter(t.Context(), client); !errors.As(err, &refusal) || refusal.Code != fault.RateLimited || refusal.Wait != hashingWait {
				t.Errorf("%s: got %v, want rate_limited", client, err)
			}
		}
		for range maxInHandOfClient {
			wait(t.Context(), "flood")
		}
		refuses("flood")
		wait(t.Context(), "other")
		if len(began) != maxHashing {
			t.Errorf("%d passwords are hashed at once, want %d", len(began), maxHashing)
		}
		for i := maxInHandOfClient + 1; i < maxInHand; i++ {
			wait(ctx, fmt.Sprint(i))
		}
		refuses("last")
		cancel() // these clients leave, and give their places back
		synctest.Wait()
		for range maxInHandOfClient {
			h.leave("flood")
			synctest.Wait()
		}
		if n := len(began); n != maxInHandOfClient+1 || began[n-1] != "other" {
			t.Errorf("the passwords of %v were hashed", began)
		}
		h.leave("other")
		if h.inHand != 0 || len(h.clients) != 0 || len(h.running) != 0 {
			t.Errorf("%d places are taken at the end, by %v", h.inHand, h.clients)
		}
	})
}
