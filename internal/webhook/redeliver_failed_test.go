package webhook_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/service"
)

// TestRedeliverFailed checks the filters of deliveries, and that events which were given up can be delivered
// again together.
func TestRedeliverFailed(t *testing.T) {
	app := apptest.New(t, func(c *service.Config) { c.Webhooks.RetrySchedule = []time.Duration{time.Second} })
	org := app.Org("Acme")
	rec := apptest.NewReceiver(t)
	id := rec.Subscribe(org, "contact.created", "account.created")
	path := apptest.SubscriptionsPath + "/" + id
	giveUp := func(kind string) (at string) {
		at = apptest.Stamp(app)
		apptest.Makers[kind](org)
		for range 2 {
			app.Deliver()
			app.Clock.Advance(2 * time.Second)
		}
		app.Clock.Advance(time.Minute)
		return at
	}
	rec.Answers(500)
	first := giveUp("contacts")
	second := giveUp("accounts")
	rec.Take()

	history := func(query string, want ...string) {
		t.Helper()
		if got := historyOf(org, id, query); !slices.Equal(got, want) {
			t.Errorf("%s gives\n%s\nwant\n%s", query, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	contact := []string{"contact.created 1 failed 500", "contact.created 2 failed 500"}
	account := []string{"account.created 1 failed 500", "account.created 2 failed 500"}
	history("", slices.Concat(contact, account)...)
	history("&from="+second, account...)
	history("&status=failed&before="+second, contact...)
	history("&from=" + first + "&before=" + second + "&status=succeeded")
	history("&trigger_key=account.created", account...)
	history("&trigger_key=account.created&before=" + second)
	if res := org.Read.Get(path + "/deliveries?page_size=1&page=2&trigger_key=account.created").Is(200); res.Int("pagination.total_count") != 2 || res.Int("data.0.attempt") != 1 {
		t.Errorf("the second page is %s", res.Body)
	}
	org.Read.Get(path+"/deliveries?from=yesterday").Fails(422, "validation_failed", "from")

	again := func(body string, queued int) {
		t.Helper()
		if res := org.Admin.Post(path+"/redeliver-failed", body).Is(200); res.Int("data.queued") != queued || res.Int("data.remaining") != 0 {
			t.Errorf("%s gives %s", body, res.Body)
		}
	}
	before := org.Dump()
	again(`{"since": "`+first+`", "dry_run": true}`, 2)
	again(`{"since": "`+second+`", "dry_run": true}`, 1)
	again(`{"since": "`+first+`", "trigger_key": "contact.created", "dry_run": true}`, 1)
	again(`{"since": "`+apptest.Stamp(app)+`"}`, 0)
	if org.Dump() != before {
		t.Error("a dry run changed something")
	}
	// An event that is pending is left to its schedule.
	apptest.Makers["contacts"](org)
	app.Deliver()
	again(`{"since": "`+first+`", "dry_run": true}`, 2)
	app.Clock.Advance(2 * time.Second)
	app.Deliver()
	again(`{"since": "`+first+`", "dry_run": true}`, 3)
	rec.Take()

	rec.Answers(200)
	again(`{"since": "`+first+`"}`, 3)
	again(`{"since": "`+first+`"}`, 0) // they are pending
	app.Deliver()
	if got := rec.Take(); len(got) != 3 || got[0].Event(t).TriggerKey != "contact.created" || got[1].Event(t).TriggerKey != "account.created" {
		t.Errorf("%d events arrived: %v", len(got), got)
	}
	again(`{"since": "`+first+`"}`, 0)

	org.Admin.Post(path+"/redeliver-failed", `{}`).Fails(422, "validation_failed", "since: required")
	org.Admin.Patch(path, `{"status": "paused"}`).Is(200)
	org.Admin.Post(path+"/redeliver-failed", `{"since": "`+first+`"}`).Fails(409, "subscription_not_active", "paused")
}
