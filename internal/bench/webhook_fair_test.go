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
	// hanging is how many endpoints take what they are sent, and never answer.
	hanging = 1000
	samples = 300
)

// fairness is an organization with an endpoint that answers, amid others that hang.
type fairness struct {
	b       *testing.B
	s       *service.Service
	t       tenant
	contact uuid.UUID
	hanging []uuid.UUID
	arrived chan time.Time
	updates int
}

// measureFairness prints how long an event takes from its commit to an endpoint that answers: alone, and when each event also goes to
// a thousand endpoints of the same organization that hang.
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

	f.sample(samples) // to warm up
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
	for f.timeouts() < hanging { // until all are known to hang
		first = append(first, f.sample(1)...)
	}
	beside := f.sample(samples)
	debug.FreeOSMemory()
	fmt.Printf("\nmemory (RssAnon) before: %d MB, with %d attempts that wait for an answer: %d MB, and when %d more events wait for each endpoint: %d MB\n",
		before, waiting, during, len(first)+len(beside), rssAnon(b))

	f.set("paused")
	for s.Webhooks.Sender.Running() > 1 { // one may be that which has just arrived
		f.sample(1)
	}
	alone = append(alone, f.sample(samples)...)

	fmt.Printf("from the commit to the endpoint, p50, p90 and p99 of %d events, alone: %s; beside %d that hang, of %d: %s; when these were new, of %d: %s\n",
		len(alone), spread(alone), hanging, len(beside), spread(beside), len(first), spread(first))
	ratio := float64(percentile(beside, 99)) / float64(percentile(alone, 99))
	fmt.Printf("p99 beside those that hang: %.2f of that alone, bar 3 %s\n", ratio, verdict(ratio <= 3))
}

// set sets the status of the endpoints that hang.
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

// sample causes n events, each when the one before has arrived, and tells how long they were on their way.
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

// hang listens at an address that takes connections and says nothing. The oldest are closed when nobody can wait for them any more.
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
