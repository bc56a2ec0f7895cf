package webhook_test

import (
	"testing"

	"prospector/internal/apptest"
)

// TestWebhookFanOut checks that an event goes to the subscriptions that were active when the change was
// committed, although it is queued for them later, and that a restart in between changes nothing.
func TestWebhookFanOut(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := apptest.NewReceiver(t)
	active, paused, deleted := rec.Subscribe(org, "tag.*"), rec.Subscribe(org, "tag.*"), rec.Subscribe(org, "tag.*")
	org.Write.Post("/v1/tags", `{"name": "First", "color": "red", "object_type": "contact"}`).Is(201)
	org.Admin.Patch(apptest.SubscriptionsPath+"/"+paused, `{"status": "paused"}`).Is(200)
	org.Admin.Delete(apptest.SubscriptionsPath + "/" + deleted).Is(204)
	rec.Subscribe(org, "tag.*") // too late
	pending := func(want int, when string) {
		t.Helper()
		if got, err := app.Webhooks.Pending(); err != nil || got != want {
			t.Errorf("%s: %d deliveries are pending, want %d: %v", when, got, want, err)
		}
		apptest.CheckConsistency(t, app, org)
	}
	pending(2, "before they are queued")
	app.Restart()
	app.Work()
	pending(2, "after a restart")
	app.Deliver()
	if got := rec.Take(); len(got) != 1 || got[0].Path != "/0" {
		t.Errorf("the event was delivered to %v, want the active subscription %s", got, active)
	}
	pending(1, "while one is paused")
	org.Admin.Patch(apptest.SubscriptionsPath+"/"+paused, `{"status": "active"}`).Is(200)
	app.Deliver()
	if got := rec.Take(); len(got) != 1 || got[0].Path != "/1" {
		t.Errorf("the event was delivered to %v, want the one that was paused", got)
	}
	pending(0, "at the end")
}
