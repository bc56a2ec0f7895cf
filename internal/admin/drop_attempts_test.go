package admin

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"prospector/internal/apptest"
)

// attemptFixture is a subscription with seven attempts, of which the last two failed.
type attemptFixture struct {
	*apptest.Org
	t        *testing.T
	app      *apptest.App
	id       string
	path     string   // of the list of its attempts
	all      []string // the ids of the attempts, newest first
	response atomic.Int32
}

func newAttemptFixture(t *testing.T) *attemptFixture {
	app := apptest.New(t)
	f := &attemptFixture{Org: app.Org("Acme"), t: t, app: app}
	f.response.Store(200)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(f.response.Load())) }))
	t.Cleanup(server.Close)
	f.id = f.Admin.Post("/v1/webhooks/subscriptions", fmt.Sprintf(`{"url": %q, "triggers": ["contact.created"]}`, server.URL)).Is(201).ID()
	f.path = "/v1/webhooks/subscriptions/" + f.id + "/deliveries"
	for i := range 7 {
		if i == 5 {
			f.response.Store(500)
		}
		f.deliver(i)
	}
	f.response.Store(200)
	f.all = f.list("", 7, 0)
	return f
}

// deliver makes an attempt.
func (f *attemptFixture) deliver(n int) {
	f.t.Helper()
	f.Write.Post("/v1/contacts", fmt.Sprintf(`{"email": "c%d@x.example"}`, n)).Is(201)
	f.app.Clock.Advance(time.Second)
	f.app.Deliver()
}

// list returns the ids of the attempts on all pages.
func (f *attemptFixture) list(query string, total, damaged int) (ids []string) {
	f.t.Helper()
	for page := 1; page <= 1+total/2; page++ {
		r := f.Read.Get(fmt.Sprintf("%s?page_size=2&page=%d%s", f.path, page, query)).Is(200)
		ids = append(ids, r.Column("id")...)
		got, _ := r.Value("meta").(map[string]any)["damaged"].(float64)
		if n := r.Int("pagination.total_count"); n != total || int(got) != damaged {
			f.t.Errorf("%s: page %d has %d attempts in all and %v damaged ones, want %d and %d", query, page, n, got, total, damaged)
		}
	}
	if len(ids) != total || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != total {
		f.t.Errorf("%s: the pages have %v, want %d attempts", query, ids, total)
	}
	return ids
}

// damage flips a bit of each record.
func (f *attemptFixture) damage(table string, ids ...string) {
	f.t.Helper()
	f.app.Stop()
	edit(f.t, f.app, f.Org.ID, table+".rec", func(b *bolt.Bucket) error {
		for _, id := range ids {
			key := uuid.MustParse(id)
			value := bytes.Clone(b.Get(key[:]))
			value[len(value)-1] ^= 1
			if err := b.Put(key[:], value); err != nil {
				return err
			}
		}
		return nil
	})
	f.app.Start()
}

func (f *attemptFixture) check(in CheckInput) CheckResult {
	f.t.Helper()
	result, err := Check.doLong(f.t.Context(), f.app.Service, in, func(int, int) {})
	if err != nil {
		f.t.Fatal(err)
	}
	return result
}

// TestDamagedAttempts checks that damaged attempts to deliver events are left out of lists, which say so, and that lists
// are exact after the damage was dropped.
func TestDamagedAttempts(t *testing.T) {
	f := newAttemptFixture(t)
	event := f.Read.Get(f.path + "?page_size=1&page=2").Is(200).Text("data.0.source_event_id")
	f.damage("webhook_attempts", f.all[0], f.all[3])
	left := slices.Concat(f.all[1:3], f.all[4:])
	if got := f.list("", 5, 2); !slices.Equal(got, left) {
		t.Errorf("the attempts are %v, want %v", got, left)
	}
	f.list("&status=succeeded", 4, 2)
	f.list("&status=failed", 1, 2)
	f.list("&source_event_id="+event, 1, 2)
	f.list("&source_event_id=none", 0, 2)
	f.list("&trigger_key=contact.created", 5, 2)
	f.list("&trigger_key=contact.deleted", 0, 2)
	f.list("&from=2026-03-02T09:00:06Z", 1, 2)
	f.list("&before=2026-03-02T09:00:03Z", 2, 2)
	f.Admin.Post(f.path+"/"+f.all[3]+"/redeliver", nil).Fails(500, "damaged", f.all[3])
	f.Admin.Post(f.path+"/"+f.all[5]+"/redeliver", nil).Is(202)
	f.app.Deliver() // the failed events too, because the endpoint has recovered
	f.list("", 8, 2)
	if n := f.Admin.Post(f.path[:len(f.path)-len("deliveries")]+"redeliver-failed", `{"since": "2026-03-02T09:00:00Z", "dry_run": true}`).Is(200).
		Int("data.queued"); n != 0 {
		t.Errorf("%d events would be delivered again, want none", n)
	}

	result := f.check(CheckInput{Repair: true, Drop: true})
	if !result.OK || len(result.Dropped) != 2 {
		t.Errorf("%+v", result)
	}
	f.list("", 8, 0)
	f.list("&status=succeeded", 7, 0)
	f.list("&status=failed", 1, 0)
	f.list("&source_event_id="+event, 2, 0)
	f.deliver(7)
	f.list("&status=succeeded", 8, 0)
	if again := f.check(CheckInput{}); len(again.Problems) > 0 {
		t.Errorf("%+v", again)
	}
}

// TestDamagedAttemptKeys removes what leads to attempts. Lists are complete, and a repair writes it again.
func TestDamagedAttemptKeys(t *testing.T) {
	for _, bucket := range []string{"webhook_attempts.key.event", "webhook_attempts.key.failed"} {
		t.Run(bucket, func(t *testing.T) {
			f := newAttemptFixture(t)
			event := f.Read.Get(f.path + "?page_size=1").Is(200).Text("data.0.source_event_id")
			f.app.Stop()
			damage(t, f.app, f.Org.ID, bucket, func(b *bolt.Bucket, key, _ []byte) error { return b.Delete(key) })
			f.app.Start()
			lists := func() {
				t.Helper()
				f.list("", 7, 0)
				f.list("&status=succeeded", 5, 0)
				f.list("&status=failed", 2, 0)
				f.list("&source_event_id="+event, 1, 0)
			}
			lists()
			if result := f.check(CheckInput{Repair: true, Drop: true}); !result.OK || len(result.Problems) == 0 || len(result.Dropped) != 0 {
				t.Errorf("%+v", result)
			}
			lists()
			f.deliver(7) // and the failed events
			f.list("", 10, 0)
			if again := f.check(CheckInput{}); len(again.Problems) > 0 {
				t.Errorf("%+v", again)
			}
		})
	}
}

// TestDamagedAttemptExpires checks that damaged attempts are deleted when the others of their time are.
func TestDamagedAttemptExpires(t *testing.T) {
	f := newAttemptFixture(t)
	f.damage("webhook_attempts", f.all[0], f.all[6])
	f.list("", 5, 2)
	f.app.Clock.Advance(31 * 24 * time.Hour)
	f.app.Work()
	f.list("", 0, 0)
	f.deliver(7)
	f.list("&status=succeeded", 3, 0) // both failed events were delivered, too
	if again := f.check(CheckInput{}); len(again.Problems) > 0 {
		t.Errorf("%+v", again)
	}
}
