package handlers_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"prospector/internal/apptest"
)

// TestWebhookDamagedEvent checks that an event that cannot be read is left out. It does not hold up the others,
// and is logged and counted once, like other damaged records.
func TestWebhookDamagedEvent(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	rec := apptest.NewReceiver(t)
	rec.Subscribe(org, "tag.created")
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
	if got := rec.Take(); len(got) != 2 {
		t.Errorf("%d events were delivered, want 2", len(got))
	}
	org.Write.Post("/v1/tags", `{"name": "Fourth", "color": "red", "object_type": "contact"}`).Is(201)
	app.Clock.Advance(time.Hour)
	app.Deliver()
	if got := rec.Take(); len(got) != 1 {
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
	rec := apptest.NewReceiver(t)
	broken := rec.Subscribe(org, "tag.created")
	rec.Subscribe(org, "tag.created")
	org.Write.Post("/v1/tags", `{"name": "First", "color": "red", "object_type": "contact"}`).Is(201)
	damage(t, app, org.ID, "subscriptions.rec", key(broken))
	app.Deliver()
	if got := rec.Take(); len(got) != 1 || got[0].Path != "/1" {
		t.Errorf("the event was delivered to %v, want the other subscription", got)
	}

	org.Write.Post("/v1/tags", `{"name": "Second", "color": "red", "object_type": "contact"}`).Is(201)
	app.Deliver()
	if got := rec.Take(); len(got) != 1 || got[0].Path != "/1" {
		t.Errorf("the second event was delivered to %v, want the other subscription", got)
	}
	requireList(org.Admin.Post(apptest.SubscriptionsPath+"/list", nil), 1, 1)
	rec.Subscribe(org, "tag.created")
	org.Admin.Get(apptest.SubscriptionsPath+"/"+broken).Fails(500, "damaged", broken)
	org.Admin.Patch(apptest.SubscriptionsPath+"/"+broken, `{"status": "paused"}`).Fails(500, "damaged", broken)
	org.Admin.Delete(apptest.SubscriptionsPath + "/" + broken).Is(204)
	if log := app.Log.String(); strings.Count(log, "level=ERROR msg=\"record is damaged") != 1 {
		t.Errorf("the log does not report the subscription once:\n%s", log)
	}
}
