package bench

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// buildingShapes are the lists that run while an index is being built.
var buildingShapes = []string{
	`{}`,
	`{"sort": "last_name"}`,
	`{"filters": [{"field": "title", "condition": "contains", "value": "sales"}]}`,
	`{"search": "smi ann", "sort": "email"}`,
}

// BenchmarkBuilding measures lists while contacts are loaded in batches over HTTP, until their index is
// complete, and compares them with the same lists afterwards.
func BenchmarkBuilding(b *testing.B) {
	n := size(b)
	s := openService(b, b.TempDir())
	b.Cleanup(func() { s.Close() })
	t := newTenant(b, s, "Loaded", 60)
	server := httptest.NewServer(s.API)
	b.Cleanup(server.Close)

	stop, during := make(chan struct{}), make(chan [][]time.Duration)
	go func() { during <- listRepeatedly(b, server.URL, t, 50*time.Millisecond, stop) }()
	var most atomic.Int64
	go func() {
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
				most.Store(max(most.Load(), int64(rssAnon(b))))
			}
		}
	}()
	start := time.Now()
	loadBatches(b, server, t, n)
	written := time.Since(start)
	if err := s.Index.Flush(); err != nil {
		b.Fatal(err)
	}
	loading := time.Since(start)
	close(stop)
	building := <-during
	after := listTimes(b, server.URL, t, 200)

	fmt.Printf("\n%d contacts in batches of %d over HTTP, with lists: written in %s, indexed in %s\n",
		n, batchRecords, written.Round(time.Millisecond), loading.Round(time.Millisecond))
	for i, shape := range buildingShapes {
		before, later := p99(building[i]), p99(after[i])
		fmt.Printf("%-80s p50 %8s, p99 %8s in %d lists; afterwards p99 %8s", shape,
			p50(building[i]).Round(10*time.Microsecond), before.Round(10*time.Microsecond), len(building[i]), later.Round(10*time.Microsecond))
		if i == 0 {
			fmt.Printf("; ratio %.1f, target 10 %s\n", float64(before)/float64(later), verdict(before <= 10*later))
		} else {
			fmt.Printf("; target 1s %s\n", verdict(before <= time.Second))
		}
	}
	memory := 150
	if n >= 1_000_000 {
		memory = 800
	}
	fmt.Printf("memory (RssAnon): at most %d MB while loading, afterwards %d MB, target %d MB %s\n",
		most.Load(), rssAnon(b), memory, verdict(rssAnon(b) <= memory))
	bare := newBareBleve(b, &lists{b: b, s: s, org: t.id, kind: s.CRM.Contacts.List})
	ours, theirs := float64(n)/loading.Seconds(), float64(n)/bare.took.Seconds()
	fmt.Printf("loading until indexed: %.0f records/s; bare bleve in batches of %d: %.0f/s; ratio %.2f, target 0.6 %s\n",
		ours, bareBatch, theirs, ours/theirs, verdict(ours/theirs >= 0.6))
}

// loadBatches creates n contacts in batches over HTTP. It makes the bodies as it goes, because all of
// them would take more memory than the service.
func loadBatches(b *testing.B, server *httptest.Server, t tenant, n int) {
	bodies := make(chan string, batchClients)
	var wg sync.WaitGroup
	for range batchClients {
		wg.Go(func() {
			for body := range bodies {
				answer, err := send(http.DefaultClient, t, http.MethodPost, server.URL+"/v1/contacts/batch", body)
				if err != nil || !bytes.Contains(answer, []byte(`"failed":0`)) {
					b.Errorf("%v: %.300s", err, answer)
				}
			}
		})
	}
	r := rand.New(rand.NewPCG(3, 7))
	for made := 0; made < n; made += batchRecords {
		var batch struct {
			Records []any `json:"records"`
		}
		for i := range min(batchRecords, n-made) {
			batch.Records = append(batch.Records, contactBody(r, made+i, t.tags))
		}
		body, err := json.Marshal(batch)
		if err != nil {
			b.Fatal(err)
		}
		bodies <- string(body)
	}
	close(bodies)
	wg.Wait()
}

// listRepeatedly runs the shapes one after the other until it is stopped, with a pause after each round,
// and returns their durations.
func listRepeatedly(b *testing.B, url string, t tenant, pause time.Duration, stop chan struct{}) [][]time.Duration {
	times := make([][]time.Duration, len(buildingShapes))
	for {
		for i, round := range listTimes(b, url, t, 1) {
			times[i] = append(times[i], round...)
		}
		select {
		case <-stop:
			return times
		case <-time.After(pause):
		}
	}
}

// listTimes runs each of the shapes some times and returns their durations.
func listTimes(b *testing.B, url string, t tenant, rounds int) [][]time.Duration {
	list, times := listHTTP(url, t), make([][]time.Duration, len(buildingShapes))
	for range rounds {
		for i, body := range buildingShapes {
			start := time.Now()
			if err := list(body); err != nil {
				b.Error(err)
			}
			times[i] = append(times[i], time.Since(start))
		}
	}
	return times
}

func p50(times []time.Duration) time.Duration { return quantile(times, 0.5) }
func p99(times []time.Duration) time.Duration { return quantile(times, 0.99) }

func quantile(times []time.Duration, q float64) time.Duration {
	times = slices.Sorted(slices.Values(times))
	return times[int(q*float64(len(times)-1)+0.5)]
}
