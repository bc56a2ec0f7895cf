package cmd_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// rowsOf returns a CSV file of contacts.
func rowsOf(names ...string) string {
	rows := "email,external_id,title\n"
	for _, name := range names {
		rows += name + "@" + hushAddress + "," + name + ",Head of " + name + "\n"
	}
	return rows
}

// receivedEach checks that the subscriber received exactly one delivery for every contact, and no
// others.
func (b *subscriber) receivedEach(s *server, ids ...string) {
	b.t.Helper()
	var delivered []string
	for _, d := range b.awaitDeliveries(len(ids)) {
		if want := inOrder(s.item(b.key, "/v1/contacts/"+d.object)); d.trigger != "contact.created" || d.data != want {
			b.t.Errorf("got delivery %+v, want %s", d, want)
		}
		delivered = append(delivered, d.object)
	}
	slices.Sort(delivered)
	slices.Sort(ids)
	if !slices.Equal(delivered, ids) {
		b.t.Errorf("got deliveries for %v, want %v", delivered, ids)
	}
}

// withPendingDeliveries returns a place with deliveries that were queued while no server ran.
func withPendingDeliveries(t *testing.T, names ...string) (*acmePlace, *subscriber) {
	t.Helper()
	d := newWebhookPlace(t)
	b := newSubscriber(t, nil)
	s := d.serve()
	b.subscribe(s, d.key, "contact.created")
	s.stop()
	d.imports("contacts", rowsOf(names...)).says(fmt.Sprintf("Imported contacts: %d added, 0 updated, 0 skipped, 0 values dropped\n", len(names)))
	return d, b
}

// TestWebhookOffline checks that changes made by commands without a server are delivered when one
// runs.
func TestWebhookOffline(t *testing.T) {
	t.Parallel()
	d, b := withPendingDeliveries(t, "ada", "bob", "eve")
	ids := d.ids(d.org)
	d.passesCheck()
	d.imports("contacts", rowsOf("ada", "bob"), "--match-on", "external_id").says("Imported contacts: 0 added, 0 updated, 2 unchanged, 0 skipped, 0 values dropped\n")
	d.imports("contacts", strings.Replace(rowsOf("ada", "joe"), "Head", "Heart", 1), "--match-on", "external_id", "--dry-run").withoutProgress()
	d.imports("accounts", "name\nInitech\n").withoutProgress().ok() // there is no subscription for it
	s := d.serve()
	b.receivedEach(s, ids...)
	all := newSubscriber(t, nil)
	all.subscribe(s, d.key, "*")
	s.awaitNoPending()
	s.stop()
	s.hasNoErrors()
	s.logHasNoSecrets(b, all)

	d.imports("contacts", strings.Replace(rowsOf("ada", "bob"), "Head", "Heart", 1), "--match-on", "external_id").says("Imported contacts: 0 added, 1 updated, 1 unchanged, 0 skipped, 0 values dropped\n")
	d.imports("contacts", rowsOf("zoe")).withoutProgress().ok()
	d.imports("accounts", "name\nInitrode\n").withoutProgress().ok()
	d.passesCheck()
	s = d.serve()
	var delivered []string
	for _, e := range all.awaitDeliveries(6) {
		delivered = append(delivered, e.trigger)
	}
	slices.Sort(delivered)
	if want := []string{"account.created", "contact.created", "contact.updated", "import.completed", "import.completed", "import.completed"}; !slices.Equal(delivered, want) {
		t.Errorf("got events %v, want %v", delivered, want)
	}
	if zoe := b.awaitDeliveries(4)[3]; !strings.Contains(zoe.data, `"zoe@`) {
		t.Errorf("got delivery %+v", zoe)
	}
	s.awaitNoPending()
	s.stop()
	s.hasNoErrors()
	s.logHasNoSecrets(b, all)
	d.passesCheck()
	if len(all.all()) != 6 || len(b.all()) != 4 {
		t.Errorf("got %d and %d deliveries", len(all.all()), len(b.all()))
	}
}

// TestWebhookHeld checks that a restored store delivers nothing, neither pending nor new events,
// through any number of restarts until resume.
func TestWebhookHeld(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{false, true} {
		t.Run(fmt.Sprintf("resumed with server %t", running), func(t *testing.T) {
			t.Parallel()
			if apptest.RaceDetector && !running {
				t.Skip("the race detector already covers this with a server")
			}
			d, b := withPendingDeliveries(t, "ada", "bob")
			d.run("backup", "then").withoutProgress().ok()
			s := d.serve()
			b.receivedEach(s, d.ids(d.org)...) // these were sent before
			s.stop()
			b.forget()
			d.run("restore", "then").withoutProgress().ok()

			var log *server
			for round := range 2 {
				log = d.serve()
				log.await(log.stderr, heldWarning)
				log.contact(d.key, fmt.Sprint("new", round))
				log.do(http.StatusAccepted, d.key, "POST", "/v1/webhooks/subscriptions/"+b.id+"/test", "")
				log.do(http.StatusOK, d.key, "PATCH", "/v1/webhooks/subscriptions/"+b.id, `{"description": "changed"}`)
				d.imports("contacts", rowsOf(fmt.Sprint("row", round))).withoutProgress().ok()
				if n := log.pending(); n != fmt.Sprint(2+3*(round+1)) {
					t.Errorf("%s deliveries are pending", n)
				}
				d.passesCheck()
				if round == 0 || !running {
					log.stop()
					log.logHasNoSecrets(b)
				}
			}
			if got := b.all(); len(got) > 0 {
				t.Errorf("got delivery %+v", got)
			}
			d.run("resume", "--json").prints(`{"campaigns": [], "deliveries": 8}`)
			d.run("resume", "--json").prints(`{"campaigns": [], "deliveries": 0}`)
			s = log
			if !running {
				s = d.serve()
			}
			want := d.ids(d.org)
			if n := len(want); n != 6 {
				t.Errorf("got %d contacts", n)
			}
			tests := 0
			for _, e := range b.awaitDeliveries(8) {
				if e.trigger == "webhook.test" && e.object == b.id {
					tests++
				} else if i := slices.Index(want, e.object); i >= 0 && e.trigger == "contact.created" {
					want = slices.Delete(want, i, i+1)
				}
			}
			if len(want) > 0 || tests != 2 {
				t.Errorf("got %d test deliveries, and none for %v", tests, want)
			}
			s.contact(d.key, "after") // deliveries work as before
			b.awaitDeliveries(9)
			s.awaitNoPending()
			s.stop()
			s.logHasNoSecrets(b)
			if !running {
				s.hasNoErrors()
			}
			d.passesCheck()
			if n := len(b.all()); n != 9 {
				t.Errorf("got %d deliveries", n)
			}
		})
	}
}

// TestWebhookOrgDelete checks that pending deliveries of a deleted organization are not sent, and
// that an attempt in flight during the deletion causes no errors.
func TestWebhookOrgDelete(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{false, true} {
		t.Run(fmt.Sprintf("server %t", running), func(t *testing.T) {
			t.Parallel()
			d := newWebhookPlace(t, "PROSPECTOR_WEBHOOKS_RETRY_SCHEDULE=300ms,300ms")
			gone, key := d.place.org("Gone")
			failing, hanging, other := newSubscriber(t, nil), newSubscriber(t, nil), newSubscriber(t, nil)
			failing.answers(fail)
			hanging.answers(hang)
			s := d.serve()
			failing.subscribe(s, key, "contact.*")
			hanging.subscribe(s, key, "*")
			other.subscribe(s, d.key, "*")
			for i := range 5 { // one is attempted, the others wait behind it
				s.contact(key, i)
			}
			failing.awaitDeliveries(1)
			hanging.awaitDeliveries(1)
			if !running {
				s.kill()
			}
			d.run("org", "delete", "--org", gone, "--yes").ok()
			before := len(failing.all()) + 1 // an attempt may be in flight
			if running {
				hanging.CloseClientConnections()
			} else {
				d.passesCheck()
				s = d.serve()
			}
			other.answers(fail)
			s.contact(d.key, "late")
			other.awaitDeliveries(3) // this takes longer than the retry of the others would
			if n := len(failing.all()); n > before {
				t.Errorf("got %d deliveries before and %d now", before, n)
			}
			if n := len(hanging.all()); n != 1 {
				t.Errorf("got %d deliveries to the hanging endpoint", n)
			}
			s.awaitNoPending()
			d.checkDeleted("Gone", gone)
			s.do(http.StatusUnauthorized, key, "GET", "/v1/me", "")
			d.passesCheck()
			s.stop()
			s.hasNoErrors()
			s.logHasNoSecrets(failing, hanging, other)
			d.passesCheck()
		})
	}
}

// TestWebhookSettings checks that the webhook settings take effect.
func TestWebhookSettings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(t *testing.T){
		"timeout and retry_schedule": func(t *testing.T) {
			d := newWebhookPlace(t, "PROSPECTOR_WEBHOOKS_TIMEOUT=300ms", "PROSPECTOR_WEBHOOKS_RETRY_SCHEDULE=200ms,600ms")
			b := newSubscriber(t, nil)
			b.answers(hang)
			s := d.serve()
			b.subscribe(s, d.key, "contact.*")
			s.contact(d.key, "ada")
			attempts := b.awaitAttempts(s, 3) // latest first
			for i, a := range attempts {
				if a.Attempt != 3-i || a.Error != "timeout: the endpoint did not answer in time" || a.DurationMS < 250 || a.DurationMS > 14_000 { // the default is 15 seconds
					t.Errorf("%+v", a)
				}
			}
			for i, least := range []time.Duration{0.9*600 + 250, 0.9*200 + 250} {
				if after := attempts[i].CreatedAt.Sub(attempts[i+1].CreatedAt); after < least*time.Millisecond {
					t.Errorf("attempt %d is %v after the previous one", attempts[i].Attempt, after)
				}
			}
			s.awaitNoPending() // the delivery is given up
			s.stop()
			s.hasNoErrors()
			s.logHasNoSecrets(b)
			if n := len(b.all()); n != 3 {
				t.Errorf("got %d deliveries", n)
			}
		},
		"no retry_schedule": func(t *testing.T) {
			d := newWebhookPlace(t)
			d.write("settings.yaml", "webhooks: {retry_schedule: []}")
			b := newSubscriber(t, nil)
			b.answers(fail)
			s := d.serve("--config", "settings.yaml")
			b.subscribe(s, d.key, "contact.*")
			s.contact(d.key, "ada")
			b.awaitDeliveries(1)
			s.awaitNoPending()
			if last := b.awaitAttempts(s, 1)[0]; last.Attempt != 1 || !strings.HasPrefix(last.Error, "http_500: ") {
				t.Errorf("%+v", last)
			}
			s.stop()
			s.hasNoErrors()
		},
		"retention": func(t *testing.T) {
			d := newWebhookPlace(t, "PROSPECTOR_WEBHOOKS_RETENTION=3s")
			b := newSubscriber(t, nil)
			s := d.serve()
			b.subscribe(s, d.key, "contact.*")
			s.contact(d.key, "ada")
			b.awaitAttempts(s, 1)
			b.awaitAttempts(s, 0)
			d.passesCheck()
			s.stop()
			s.hasNoErrors()
		},
		"max_pending": func(t *testing.T) {
			d := newWebhookPlace(t, "PROSPECTOR_WEBHOOKS_MAX_PENDING=3")
			b, other := newSubscriber(t, nil), newSubscriber(t, nil)
			b.answers(hang)
			s := d.serve()
			b.subscribe(s, d.key, "contact.*")
			other.subscribe(s, d.key, "account.*")
			s.contact(d.key, "ada")
			b.awaitDeliveries(1)
			disabled := func(b *subscriber) {
				t.Helper()
				shown := string(s.item(d.key, "/v1/webhooks/subscriptions/"+b.id))
				if !strings.Contains(shown, `"status":"disabled","disabled_reason":"backlog"`) {
					t.Errorf("the subscription is not disabled: %s", shown)
				}
			}
			warning := func(b *subscriber) string {
				return `level=WARN msg="webhook subscription disabled" organization=` + d.org + ` subscription=` + b.id + ` reason=backlog`
			}
			d.imports("contacts", rowsOf("bob", "eve", "joe", "zoe")).ok()
			s.await(s.stderr, regexp.MustCompile(warning(b)))
			disabled(b)
			s.kill()
			s.logHasNoSecrets(b, other)
			d.passesCheck()
			// The events of a command that runs without a server are queued when the server starts.
			d.imports("accounts", "name\nA\nB\nC\nD\n").ok()
			d.passesCheck()
			s = d.serve()
			s.await(s.stderr, regexp.MustCompile(warning(other)))
			disabled(b)
			disabled(other)
			if n := s.pending(); n != "6" {
				t.Errorf("%s deliveries are pending, want 3 and 3", n)
			}
			b.answers(nil)
			for _, b := range []*subscriber{b, other} {
				s.do(http.StatusOK, d.key, "PATCH", "/v1/webhooks/subscriptions/"+b.id, `{"status": "active"}`)
			}
			s.awaitNoPending()
			s.stop()
			s.hasNoErrors("webhook subscription disabled")
			if len(b.all()) != 1+3 || len(other.all()) != 3 {
				t.Errorf("got %d and %d deliveries", len(b.all()), len(other.all()))
			}
		},
		"allow_private_networks": func(t *testing.T) {
			d, b := withPendingDeliveries(t, "ada")
			d.env = append(d.env, "PROSPECTOR_WEBHOOKS_ALLOW_PRIVATE_NETWORKS=false")
			s := d.serve()
			if last := b.awaitAttempts(s, 1)[0]; !strings.HasPrefix(last.Error, "dns: ") || len(b.all()) > 0 {
				t.Errorf("%+v", last)
			}
			for _, url := range []string{b.URL, "http://hooks.example.com", "https://127.0.0.1", "https://localhost:8443/"} {
				s.do(http.StatusUnprocessableEntity, d.key, "POST", "/v1/webhooks/subscriptions", fmt.Sprintf(`{"url": %q, "triggers": ["*"]}`, url))
			}
			s.stop()
			s.hasNoErrors()
			s.logHasNoSecrets(b)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// TestWebhookConcurrency checks that one endpoint gets a full quarter of the concurrent deliveries,
// and never more. It gets that many only while it responds promptly, which it may not on a busy
// machine. In that case the test tries again.
func TestWebhookConcurrency(t *testing.T) {
	for concurrency, want := range map[int]int{8: 2, 16: 4} {
		t.Run(fmt.Sprint(concurrency), func(t *testing.T) {
			filled := false
			for try := 0; try < 10 && !filled; try++ {
				filled = fillsEndpoint(t, concurrency, want)
			}
			if !filled {
				t.Errorf("there were never %d deliveries in flight", want)
			}
		})
	}
}

// fillsEndpoint sends many events to one endpoint and reports whether so many were in flight before
// all were answered. There must never be more.
func fillsEndpoint(t *testing.T, concurrency, want int) (filled bool) {
	t.Helper()
	var names []string
	for i := range 600 {
		names = append(names, fmt.Sprint("c", i))
	}
	d, b := withPendingDeliveries(t, names...)
	d.env = append(d.env, fmt.Sprint("PROSPECTOR_WEBHOOKS_CONCURRENCY=", concurrency))
	witness := newSubscriber(t, nil)
	gate, open := b.gate()
	full, decided := make(chan struct{}), make(chan struct{})
	fill, decide := sync.OnceFunc(func() { close(full) }), sync.OnceFunc(func() { close(decided) })
	var underWay, most, come atomic.Int64
	b.answers(func(http.ResponseWriter, *http.Request, receivedDelivery) {
		n := underWay.Add(1)
		defer underWay.Add(-1)
		for is := most.Load(); n > is && !most.CompareAndSwap(is, n); is = most.Load() {
		}
		if n == int64(want) {
			fill()
			decide()
		}
		if come.Add(1) == int64(len(names)) {
			decide()
		}
		select {
		case <-full:
			<-gate
		case <-time.After(15 * time.Millisecond): // respond promptly, so that more are sent
		}
	})
	s := d.serve()
	witness.subscribe(s, d.key, "tag.created")
	within(t, decided, fmt.Sprintf("%d are under way, or all have come", want))
	s.tag(d.key, "Seen") // any further deliveries would be sent before this one
	witness.awaitDeliveries(1)
	open()
	b.awaitDeliveries(len(names))
	if n := most.Load(); n > int64(want) {
		t.Errorf("%d deliveries were in flight, want %d", n, want)
	}
	s.awaitNoPending()
	s.stop()
	s.hasNoErrors()
	return most.Load() == int64(want)
}
