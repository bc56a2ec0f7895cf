package handlers_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"prospector/internal/apptest"
)

// TestWebhookFanOut checks that an event goes to the subscriptions that were active when the change was
// committed, although it is queued for them later, and that a restart in between changes nothing.
func TestWebhookFanOut(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := newReceiver(t)
	active, paused, deleted := rec.subscribe(org, "tag.*"), rec.subscribe(org, "tag.*"), rec.subscribe(org, "tag.*")
	org.Write.Post("/v1/tags", `{"name": "First", "color": "red", "object_type": "contact"}`).Is(201)
	org.Admin.Patch(hooksPath+"/"+paused, `{"status": "paused"}`).Is(200)
	org.Admin.Delete(hooksPath + "/" + deleted).Is(204)
	rec.subscribe(org, "tag.*") // too late
	pending := func(want int, when string) {
		t.Helper()
		if got, err := app.Webhooks.Pending(); err != nil || got != want {
			t.Errorf("%s: %d deliveries are pending, want %d: %v", when, got, want, err)
		}
		sound(t, app, org)
	}
	pending(2, "before they are queued")
	app.Restart()
	app.Work()
	pending(2, "after a restart")
	app.Deliver()
	if got := rec.take(); len(got) != 1 || got[0].path != "/0" {
		t.Errorf("the event was delivered to %v, want the active subscription %s", got, active)
	}
	pending(1, "while one is paused")
	org.Admin.Patch(hooksPath+"/"+paused, `{"status": "active"}`).Is(200)
	app.Deliver()
	if got := rec.take(); len(got) != 1 || got[0].path != "/1" {
		t.Errorf("the event was delivered to %v, want the one that was paused", got)
	}
	pending(0, "at the end")
}

// TestWebhookDamagedEvent checks that an event that cannot be read is left out. It does not hold up the others,
// and is logged and counted once, like other damaged records.
func TestWebhookDamagedEvent(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := newReceiver(t)
	rec.subscribe(org, "tag.created")
	for _, name := range []string{"First", "Second", "Third"} {
		org.Write.Post("/v1/tags", map[string]string{"name": name, "color": "red", "object_type": "contact"}).Is(201)
	}
	var first []byte
	edit(t, app, func(tx *bolt.Tx) error {
		k, _ := tx.Bucket([]byte("orgs")).Bucket(org.ID[:]).Bucket([]byte("webhook_new_events.rec")).Cursor().First()
		first = bytes.Clone(k)
		return nil
	})
	damage(t, app, org.ID, "webhook_new_events.rec", first)
	app.Deliver()
	if got := rec.take(); len(got) != 2 {
		t.Errorf("%d events were delivered, want 2", len(got))
	}
	org.Write.Post("/v1/tags", `{"name": "Fourth", "color": "red", "object_type": "contact"}`).Is(201)
	app.Clock.Advance(time.Hour)
	app.Deliver()
	if got := rec.take(); len(got) != 1 {
		t.Errorf("%d events were delivered, want 1", len(got))
	}
	log := app.Log.String()
	if n := strings.Count(log, "level=ERROR"); n != 1 || !strings.Contains(log, `"record is damaged`) || !strings.Contains(log, "table=webhook_new_events") {
		t.Errorf("%d errors are logged, want one about the event:\n%s", n, log)
	}
	if n := damagedRecords(t, app); n != "1" {
		t.Errorf("%s damaged records are counted, want 1", n)
	}
}

// TestWebhookDamagedSubscription checks that a subscription that cannot be read receives no events. It neither
// holds up the events of others nor stops the organization from writing.
func TestWebhookDamagedSubscription(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := newReceiver(t)
	broken := rec.subscribe(org, "tag.created")
	rec.subscribe(org, "tag.created")
	org.Write.Post("/v1/tags", `{"name": "First", "color": "red", "object_type": "contact"}`).Is(201)
	damage(t, app, org.ID, "subscriptions.rec", key(broken))
	app.Deliver()
	if got := rec.take(); len(got) != 1 || got[0].path != "/1" {
		t.Errorf("the event was delivered to %v, want the other subscription", got)
	}

	org.Write.Post("/v1/tags", `{"name": "Second", "color": "red", "object_type": "contact"}`).Is(201)
	app.Deliver()
	if got := rec.take(); len(got) != 1 || got[0].path != "/1" {
		t.Errorf("the second event was delivered to %v, want the other subscription", got)
	}
	requireList(org.Admin.Post(hooksPath+"/list", nil), 1, 1)
	rec.subscribe(org, "tag.created")
	org.Admin.Get(hooksPath+"/"+broken).Fails(500, "damaged", broken)
	org.Admin.Patch(hooksPath+"/"+broken, `{"status": "paused"}`).Fails(500, "damaged", broken)
	org.Admin.Delete(hooksPath + "/" + broken).Is(204)
	if log := app.Log.String(); strings.Count(log, "level=ERROR msg=\"record is damaged") != 1 {
		t.Errorf("the log does not report the subscription once:\n%s", log)
	}
}
