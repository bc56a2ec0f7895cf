package apptest

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// WriteAlways changes a contact of another organization again and again. Time passes meanwhile.
func (a *App) WriteAlways() (stop func()) {
	a.t.Helper()
	other := a.Org("Other")
	contact := "/v1/contacts/" + other.Write.Post("/v1/contacts", `{"email": "other@x.example"}`).Is(201).ID()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				other.Write.Patch(contact, fmt.Sprintf(`{"title": "Number %d"}`, i)).Is(200)
			}
		})
	}
	a.Clock.Tick(time.Millisecond)
	return func() {
		cancel()
		all.Wait()
		a.Clock.Tick(0)
	}
}
