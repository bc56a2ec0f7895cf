package bench

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// BenchmarkBulk measures a bulk update of all contacts and its undo. It compares the rate of the update with that of
// creating the contacts in batches over HTTP, and the rate of the undo with that of the update. Meanwhile another organization writes and lists, as it does before.
func BenchmarkBulk(b *testing.B) {
	n := size(b)
	s := openService(b, b.TempDir())
	b.Cleanup(func() { s.Close() })
	t, other := newTenant(b, s, "Large", 60), newTenant(b, s, "Other", 10)
	server := httptest.NewServer(s.API)
	defer server.Close()
	ctx, stop := context.WithCancel(context.Background())
	var worker sync.WaitGroup
	worker.Go(func() { s.Worker.Run(ctx) })
	defer worker.Wait()
	defer stop()

	load(b, s, other, 5000, 2)
	bodies := batchBodies(b, t, n)
	start := time.Now()
	sendBatches(b, server, t, "contacts", bodies)
	created := float64(n) / time.Since(start).Seconds()
	if err := s.Index.Flush(); err != nil {
		b.Fatal(err)
	}
	post := func(t tenant, path, body string, status int) []byte {
		answer, err := sendFor(http.DefaultClient, t, http.MethodPost, server.URL+path, body, status)
		if err != nil {
			b.Error(path, err)
		}
		return answer
	}
	foreground := func(until func() bool) float64 {
		var took []float64
		for i := 0; !until(); i++ {
			start := time.Now()
			post(other, "/v1/contacts", fmt.Sprintf(`{"email": "new%d@bench.example"}`, time.Now().UnixNano()), http.StatusCreated)
			post(other, "/v1/contacts/list", `{}`, http.StatusOK)
			took = append(took, time.Since(start).Seconds())
		}
		slices.Sort(took)
		return took[len(took)*99/100] * 1e3
	}
	quiet := time.Now().Add(4 * time.Second)
	before := foreground(func() bool { return time.Now().After(quiet) })

	// operate starts an operation, waits until it has ended and returns its id and how many records a second it took.
	operate := func(what, path, body, result string) (id string, rate float64) {
		start := time.Now()
		var accepted struct{ Data struct{ ID string } }
		if err := json.Unmarshal(post(t, path, body, http.StatusAccepted), &accepted, json.MatchCaseInsensitiveNames(true)); err != nil {
			b.Fatal(err)
		}
		id = accepted.Data.ID
		var end time.Duration
		during := foreground(func() bool {
			answer, err := send(http.DefaultClient, t, http.MethodGet, server.URL+"/v1/operations/"+id, "")
			if err != nil {
				b.Fatal(err)
			}
			if end == 0 && !bytes.Contains(answer, []byte(`"running"`)) {
				if end = time.Since(start); !bytes.Contains(answer, fmt.Appendf(nil, `"%s":%d`, result, n)) {
					b.Errorf("the operation is %s", answer)
				}
			}
			return end > 0
		})
		fmt.Printf("write and list of another organization during the %s, p99: %.1f ms before, %.1f ms during; ratio %.1f, target 3 %s\n",
			what, before, during, during/before, verdict(during/before <= 3))
		return id, float64(n) / end.Seconds()
	}
	id, rate := operate("bulk update", "/v1/contacts/bulk", `{"filters": [], "set": {"location": "Elsewhere"}}`, "changed")
	fmt.Printf("bulk update of %d contacts: %.0f/s, batches over HTTP: %.0f/s; ratio %.2f, target 0.5 %s\n",
		n, rate, created, rate/created, verdict(rate/created >= 0.5))
	_, back := operate("undo", "/v1/operations/"+id+"/undo", `{}`, "undone")
	fmt.Printf("undo of that: %.0f/s; ratio to the bulk update %.2f, target 0.5 %s\n", back, back/rate, verdict(back/rate >= 0.5))
}
