package bench

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/service"
	"prospector/store"
)

const (
	// hanging is the number of endpoints that accept requests and never respond.
	hanging = 49
	samples = 300
)

// fairness is an organization with one endpoint that responds and many that hang.
type fairness struct {
	b       *testing.B
	s       *service.Service
	t       tenant
	contact uuid.UUID
	hanging []uuid.UUID
	arrived chan time.Time
	updates int
}

// measureFairness measures the time from the commit of an event to its arrival at an endpoint that
// responds: alone, and when each event also goes to many hanging endpoints of the same
// organization.
func measureFairness(b *testing.B, s *service.Service) {
	f := &fairness{b: b, s: s, t: newTenant(b, s, "Fair", 10), arrived: make(chan time.Time, 1)}
	f.contact = load(b, s, f.t, 1, 1)[0]
	answers := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { f.arrived <- time.Now() }))
	defer answers.Close()
	hangs := hang(b)
	for i := range hanging {
		if i == hanging/2 {
			subscribe(b, s, f.t, "contact.updated", answers.URL)
		}
		f.hanging = append(f.hanging, subscribe(b, s, f.t, "contact.updated", fmt.Sprintf("http://%s/%d", hangs, i)))
	}
	f.set("paused")
	defer sending(s)()

	f.sample(samples) // warm up
	alone := f.sample(samples)
	debug.FreeOSMemory()
	before := rssAnon(b)

	f.set("active")
	var first []time.Duration
	for f.timeouts() == 0 && s.Webhooks.Sender.Running() < hanging {
		first = append(first, f.sample(1)...)
	}
	debug.FreeOSMemory()
	during, waiting := rssAnon(b), s.Webhooks.Sender.Running()
	for f.timeouts() < hanging { // until every hanging endpoint has timed out
		first = append(first, f.sample(1)...)
	}
	beside := f.sample(samples)
	debug.FreeOSMemory()
	fmt.Printf("\nmemory (RssAnon) before: %d MB; with %d attempts waiting for a response: %d MB; with %d more events queued per endpoint: %d MB\n",
		before, waiting, during, len(first)+len(beside), rssAnon(b))

	f.set("paused")
	for s.Webhooks.Sender.Running() > 1 { // one attempt may have just arrived
		f.sample(1)
	}
	alone = append(alone, f.sample(samples)...)

	fmt.Printf("time from commit to endpoint (p50, p90, p99): alone (%d events): %s; with %d hanging endpoints (%d events): %s; while these were new (%d events): %s\n",
		len(alone), spread(alone), hanging, len(beside), spread(beside), len(first), spread(first))
	ratio := float64(percentile(beside, 99)) / float64(percentile(alone, 99))
	fmt.Printf("p99 with hanging endpoints compared with alone: ratio %.2f, target 3 %s\n", ratio, verdict(ratio <= 3))
}

// set sets the status of the hanging endpoints.
func (f *fairness) set(status string) {
	err := f.s.Store.Update(context.Background(), f.t.id, store.Actor{}, func(tx *store.Tx) error {
		for _, id := range f.hanging {
			if _, err := f.s.Webhooks.Update(tx, id, nil, value(f.b, fmt.Sprintf(`{"status":%q}`, status))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		f.b.Fatal(err)
	}
}

func (f *fairness) timeouts() uint64 {
	stats, err := f.s.Webhooks.Stats()
	if err != nil {
		f.b.Fatal(err)
	}
	return stats.Attempts["timeout"]
}

// sample causes n events, each after the previous one has arrived, and returns how long each was in
// transit.
func (f *fairness) sample(n int) []time.Duration {
	took := make([]time.Duration, n)
	for i := range took {
		f.updates++
		var committed time.Time
		err := f.s.Store.Update(context.Background(), f.t.id, store.Actor{}, func(tx *store.Tx) error {
			tx.AfterCommit(func() { committed = time.Now() })
			_, err := f.s.CRM.Contacts.Update(tx, f.contact, nil, benchBody(f.updates))
			return err
		})
		if err != nil {
			f.b.Fatal(err)
		}
		took[i] = (<-f.arrived).Sub(committed)
	}
	return took
}

// hang listens on an address that accepts connections and never responds. It closes the oldest
// connections once no request can be waiting on them.
func hang(b *testing.B) net.Addr {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { ln.Close() })
	go func() {
		open := make(chan net.Conn, 2*hanging)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			if len(open) == cap(open) {
				(<-open).Close()
			}
			open <- conn
		}
	}()
	return ln.Addr()
}

func percentile(of []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)*p/100]
}

func spread(of []time.Duration) string {
	var all []string
	for _, p := range []int{50, 90, 99} {
		all = append(all, percentile(of, p).Round(10*time.Microsecond).String())
	}
	return strings.Join(all, " ")
}
